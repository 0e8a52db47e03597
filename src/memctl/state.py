"""The user's state folder: what memctl keeps for itself, such as which stores are trusted and reports of faults."""

import os
import stat
from contextlib import suppress

#: Bytes of a file of ours that are read at most.
MOST = 8 << 20


def folder() -> str:
    """`$XDG_STATE_HOME/memctl`, by default `~/.local/state/memctl`; that of `fallback` for a user without a home."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    home = os.environ.get("HOME")  # None: the account's
    if not os.path.isabs(base) and (home is None or os.path.isabs(home)):
        base = os.path.expanduser("~/.local/state")
    return os.path.join(base, "memctl") if os.path.isabs(base) else fallback()


def fallback() -> str:
    """Where it is when no home can be written to, as in many containers: it lasts as long as the temporary folder."""
    base = os.environ.get("TMPDIR") or ""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return os.path.join(base if os.path.isabs(base) else "/tmp", f"memctl-{user}")  # noqa: S108 - checked by `private`


def private(path: str) -> bool:
    """Whether a folder is this user's, no link, and nobody else may write to it."""
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and not _open_to_others(info)


def _open_to_others(info: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return False
    return info.st_uid != os.geteuid() or bool(info.st_mode & 0o022)


def read(path: str) -> bytes:
    """What a file of ours holds; nothing when it is not there, is no regular file, or others may write to it."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    try:
        info = os.fstat(number)
        if not stat.S_ISREG(info.st_mode) or _open_to_others(info) or info.st_size > MOST:
            return b""
        parts = []
        while part := os.read(number, 1 << 20):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(number)


def sweep(path: str) -> None:
    """Take away what writes that were killed left beside a file; whoever calls keeps others from writing it."""
    import re

    part = re.compile(re.escape(os.path.basename(path)) + r"(\.bak\.[0-9_]+(-\d+)?)?\.[0-9a-f]{8}\.part")
    with suppress(OSError):
        for name in filter(part.fullmatch, os.listdir(os.path.dirname(path))):
            os.unlink(os.path.join(os.path.dirname(path), name))


def write(path: str, data: bytes, mode: int = 0o600) -> None:
    """Put a file there as a whole, in a folder of 0700 if it is missing. Raises OSError."""
    here = os.path.dirname(path)
    os.makedirs(here, mode=0o700, exist_ok=True)
    part = f"{path}.{os.urandom(4).hex()}.part"
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(number, "wb") as file:
            if mode != 0o600:
                os.fchmod(number, mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
