"""The grants that tokens give to callers over HTTP.

The token file has a line for each token, words after it say what it is for; or it is one JSON object, token by token:

    # comment
    TOKEN
    TOKEN read-only workspace=docs name=ci
    {"TOKEN": {"access": "read-only", "workspace": "docs", "name": "ci"}}

The HTTP layer sets the grant for the time of a request. Tasks and threads that are started in it inherit it, because
asyncio and anyio copy the context; a thread pool of one's own must run in `contextvars.copy_context()`.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memctl import errors
from memctl.annotations import Any, NamedTuple
from memctl.mcp.guard import GuardError

MIN_TOKEN_CHARS = 16
MAX_FILE_BYTES = 1_048_576
ACCESS = {"read-only": False, "read-write": True}
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_KEYS = frozenset({"access", "workspace", "name"})
#: Tools that say nothing of what a store holds: open to a caller who is bound to a workspace.
_HARMLESS = frozenset({"memory_metrics"})


class Grant(NamedTuple):
    """What the token of a caller allows.

    name       for rate limits and the audit log; never the token itself
    writes     whether tools that change the store may run
    workspace  the one workspace that the caller sees; None = the whole store
    """

    name: str
    writes: bool
    workspace: str | None = None

    def check(self, tool: str, writes: bool, arguments: dict[str, Any], parameters: frozenset[str]) -> None:
        """Raise GuardError if the call is not allowed; bind `arguments` to the grant's workspace."""
        if writes and not self.writes:
            raise GuardError(f"This token may only read: {tool} changes the store")
        if self.workspace is None or tool in _HARMLESS:
            return
        if "workspace" not in parameters:
            raise GuardError(f"This token sees only the workspace {self.workspace}: {tool} goes beyond workspaces")
        given = arguments.get("workspace")
        if given not in (None, "", self.workspace) or arguments.get("all_scopes"):
            raise GuardError(f"This token sees only the workspace {self.workspace}")
        arguments.pop("scope", None)  # the workspace says which
        arguments["workspace"] = self.workspace


#: Whoever calls over a connection that needs no token: the person whose machine it is.
FULL = Grant("local", writes=True)

_CURRENT: ContextVar[Grant | None] = ContextVar("memctl_grant", default=None)


def current_grant() -> Grant | None:
    """The grant of the request that is being answered; None outside of HTTP."""
    return _CURRENT.get()


@contextmanager
def granted(grant: Grant) -> Iterator[None]:
    """The time of one request."""
    token = _CURRENT.set(grant)
    try:
        yield
    finally:
        _CURRENT.reset(token)


class Tokens:
    """The tokens of a server. What is kept is their hash; a token is compared with every one of them."""

    __slots__ = ("_grants",)

    def __init__(self, grants: dict[str, Grant]) -> None:
        self._grants = [(_digest(token.encode()), grant) for token, grant in grants.items()]

    def grant(self, token: bytes) -> Grant | None:
        """What a token allows, None if it is no token. How long that takes tells nothing about the tokens."""
        from hmac import compare_digest

        digest, found = _digest(token), None
        for known, grant in self._grants:
            if compare_digest(digest, known):
                found = grant
        return found


def _digest(token: bytes) -> bytes:
    from hashlib import sha256

    return sha256(token).digest()


# --- the token file --------------------------------------------------------------------------------------------------


def read_tokens(path: str) -> Tokens:
    """The tokens in a file. Raises TokenFileInvalid, also when it is no private file of this user."""
    try:
        number = os.open(os.path.expanduser(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(number, "rb") as file:
            info = os.fstat(number)
            if not stat.S_ISREG(info.st_mode):
                raise ValueError("it is no file")
            if info.st_size > MAX_FILE_BYTES:
                raise ValueError("it is too large")
            if os.name == "posix" and info.st_mode & 0o077:
                raise ValueError(f"others may use it (mode {stat.S_IMODE(info.st_mode):04o})")
            if os.name == "posix" and info.st_uid not in (0, os.geteuid()):
                raise ValueError("it belongs to another user")
            text = file.read().decode("utf-8-sig")
        grants: dict[str, Grant] = {}
        for token, fields, where in _entries(text):
            _add(grants, token, fields, where)
        if not grants:
            raise ValueError("there is no token in it")
    except OSError as exc:
        raise errors.TokenFileInvalid(path=path, reason=exc.strerror or str(exc)) from exc
    except UnicodeDecodeError as exc:
        raise errors.TokenFileInvalid(path=path, reason="it is not UTF-8 text") from exc
    except ValueError as exc:
        raise errors.TokenFileInvalid(path=path, reason=str(exc)) from None
    return Tokens(grants)


#: A token, what stands behind it as pairs of a key and a value, and where.
_TokenEntry = tuple[str, list[tuple[str, Any]], str]


def _entries(text: str) -> Iterator[_TokenEntry]:
    """Those of a JSON object, else one a line."""
    if not text.lstrip().startswith("{"):
        for number, line in enumerate(text.splitlines(), 1):
            token, *words = line.split() or ["#"]
            if not token.startswith("#"):
                parts = [word.partition("=") for word in words]
                yield (
                    token,
                    [(key, value) if equals else ("access", key) for key, equals, value in parts],
                    f"line {number}",
                )
        return
    import json

    try:
        found = json.loads(text, object_pairs_hook=list)
    except RecursionError:
        raise ValueError("it is no JSON object of tokens") from None
    except ValueError as exc:
        raise ValueError(f"it is no JSON: {exc}") from None
    for number, (token, value) in enumerate(found, 1):
        pairs = [("access", value)] if isinstance(value, str) else value
        if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
            raise ValueError(f"token {number}: what a token is for is an object, or its access")
        yield token, pairs, f"token {number}"


def _add(grants: dict[str, Grant], token: str, pairs: list[tuple[str, Any]], where: str) -> None:
    """Add a token to the others. Raises ValueError; the token itself is in no message, since messages end in logs."""
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key not in _KEYS:
            raise ValueError(f"{where}: '{key[:40]}' is none of {', '.join(sorted(_KEYS))}")
        if key in fields:
            raise ValueError(f"{where}: {key} is given twice")
        if not isinstance(value, str) or not value:
            raise ValueError(f"{where}: {key} has no value")
        if key == "access" and value not in ACCESS:
            raise ValueError(f"{where}: '{value[:40]}' is neither read-only nor read-write")
        fields[key] = value
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
