"""The token file: who may call over HTTP, and what for.

A line for each token, words after it say what it is for; or one JSON object, token by token:

    # comment
    TOKEN
    TOKEN read-only workspace=docs name=ci
    {"TOKEN": {"access": "read-only", "workspace": "docs", "name": "ci"}}
"""

import os
import re
import stat
from hmac import compare_digest

from memctl import errors
from memctl.annotations import Any
from memctl.mcp.grant import Grant

MIN_TOKEN_CHARS = 16
MAX_FILE_BYTES = 1_048_576
ACCESS = {"read-only": False, "read-write": True}
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_KEYS = frozenset({"access", "workspace", "name"})


class Tokens:
    """The tokens of one file. What is kept is their hash; a token is compared with every one of them."""

    __slots__ = ("_grants",)

    def __init__(self, grants: dict[str, Grant]) -> None:
        self._grants = [(_digest(token.encode()), grant) for token, grant in grants.items()]

    def __len__(self) -> int:
        return len(self._grants)

    def grant(self, token: bytes) -> Grant | None:
        """What a token allows, None if it is no token. How long that takes tells nothing about the tokens."""
        digest, found = _digest(token), None
        for known, grant in self._grants:
            if compare_digest(digest, known):
                found = grant
        return found


def made_token() -> tuple[str, Tokens]:
    """A token for this run, for a server that was given none, and the tokens of a server that takes it alone."""
    from secrets import token_urlsafe

    token = token_urlsafe(32)
    return token, Tokens({token: Grant("this-run", writes=True, workspace=None)})


def read_tokens(path: str) -> Tokens:
    """The tokens in a file. Raises TokenFileInvalid, also when others could read the file."""
    text = _read(path)
    try:
        grants = _of_json(text) if text.lstrip().startswith("{") else _of_lines(text)
    except ValueError as exc:
        raise errors.TokenFileInvalid(path=path, reason=str(exc)) from None
    if not grants:
        raise errors.TokenFileInvalid(path=path, reason="there is no token in it")
    return Tokens(grants)


def _digest(token: bytes) -> bytes:
    from hashlib import sha256

    return sha256(token).digest()


def _read(path: str) -> str:
    try:
        number = os.open(os.path.expanduser(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(number, "rb") as file:
            reason = _why_not(os.fstat(number))
            if reason:
                raise errors.TokenFileInvalid(path=path, reason=reason)
            return file.read().decode("utf-8-sig")
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else "it is not UTF-8 text"
        raise errors.TokenFileInvalid(path=path, reason=reason) from exc


def _why_not(info: os.stat_result) -> str:
    if not stat.S_ISREG(info.st_mode):
        return "it is no file"
    if info.st_size > MAX_FILE_BYTES:
        return "it is too large"
    if os.name == "posix":
        if info.st_mode & 0o077:
            return f"others may use it (mode {stat.S_IMODE(info.st_mode):04o})"
        if info.st_uid not in (0, os.geteuid()):
            return "it belongs to another user"
    return ""


def _of_lines(text: str) -> dict[str, Grant]:
    grants: dict[str, Grant] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"line {number}"
        fields: dict[str, Any] = {}
        for word in words[1:]:
            key, equals, value = word.partition("=")
            _set(fields, *((key, value) if equals else ("access", word)), where)
        _add(grants, words[0], fields, where)
    return grants


def _of_json(text: str) -> dict[str, Grant]:
    import json

    try:
        found = json.loads(text, object_pairs_hook=list)
    except RecursionError:
        raise ValueError("it is no JSON object of tokens") from None
    except ValueError as exc:
        raise ValueError(f"it is no JSON: {exc}") from None
    grants: dict[str, Grant] = {}
    for number, (token, value) in enumerate(found, 1):
        where = f"token {number}"
        pairs = [("access", value)] if isinstance(value, str) else value
        if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
            raise ValueError(f"{where}: what a token is for is an object, or its access")
        fields: dict[str, Any] = {}
        for key, one in pairs:
            _set(fields, key, one, where)
        _add(grants, token, fields, where)
    return grants


def _set(fields: dict[str, Any], key: str, value: Any, where: str) -> None:
    if key not in _KEYS:
        raise ValueError(f"{where}: '{key[:40]}' is none of {', '.join(sorted(_KEYS))}")
    if key in fields:
        raise ValueError(f"{where}: {key} is given twice")
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where}: {key} has no value")
    if key == "access" and value not in ACCESS:
        raise ValueError(f"{where}: '{value[:40]}' is neither read-only nor read-write")
    fields[key] = value


def _add(grants: dict[str, Grant], token: str, fields: dict[str, Any], where: str) -> None:
    # The token itself is in no message: messages end in logs.
    if len(token) < MIN_TOKEN_CHARS:
        raise ValueError(f"{where}: the token has fewer than {MIN_TOKEN_CHARS} characters")
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"{where}: a token has only letters, digits and ._~+/=-")
    if token in grants:
        raise ValueError(f"{where}: the token stands there twice")
    grants[token] = Grant(
        fields.get("name") or f"token-{len(grants) + 1}",
        writes=ACCESS[fields.get("access", "read-write")],
        workspace=fields.get("workspace"),
    )
