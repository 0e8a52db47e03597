"""Paths of files that others may rename, replace or remove at the same moment: resolved, and opened.

Where a server may read only some folders, every path is opened part by part from one of these roots, without following
any link: to look at a path and then to open it leaves a moment in which a part of it can become a link to somewhere
else. The path is resolved first; a link that came in between is an error.
"""

import errno
import os
import stat
from collections.abc import Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import IO

#: How often a path is resolved anew when somebody changes it meanwhile; a rename takes microseconds.
ATTEMPTS = 16


def real_path(path: str) -> str:
    """The path without links, as `os.path.realpath` gives it. Raises FileMissing for one that never holds still.

    Before Python 3.13, `os.path.realpath` raises OSError when a link is replaced between its look and its use.
    """
    for _ in range(ATTEMPTS):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    raise errors.FileMissing(path=path, reason="it is being renamed all the time")


# --- opening ----------------------------------------------------------------------------------------------------------

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
#: How a folder is opened, which must be no link.
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK

#: Whether the system can open a file seen from an open folder; one that cannot (Windows) checks and then opens.
_CAN_WALK = os.open in os.supports_dir_fd
_MODE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_file(path: str, max_bytes: int, roots: Sequence[str] | None = None) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file. Raises DocumentUnreadable with the reason in words; never blocks on a pipe.

    roots  folders that the file must be in, whatever links do meanwhile; None: it may be anywhere
    """
    try:
        fd = os.open(path, _MODE) if roots is None else open_inside(os.path.realpath(path), roots, _MODE)
        with os.fdopen(fd, "rb", buffering=0) as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise errors.DocumentUnreadable(path=path, reason="it is not a regular file")
            if info.st_size > max_bytes:
                raise errors.DocumentUnreadable(path=path, reason=too_large(info.st_size, max_bytes))
            return file.readall(), info
    except OSError as exc:
        raise errors.DocumentUnreadable(path=path, reason=exc.strerror or str(exc)) from exc


def open_regular(path: str) -> "IO[bytes]":
    """A regular file to read, which is no link. Raises OSError; never blocks on a pipe that stands there meanwhile."""
    number = os.open(path, _MODE | _NO_LINK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(0, "it is not a regular file")
    return open(number, "rb")


def too_large(size: int, limit: int) -> str:
    """The sentence for a file over the limit."""
    mega = 1024 * 1024
    if limit < mega:
        return f"its {size:,} bytes are over the limit of {limit:,}"
    return f"{size / mega:.0f} MB is over the limit of {limit // mega} MB (ingest.max_file_mb in config.json)"


def open_inside(place: str, roots: Sequence[str], flags: int) -> int:
    """A descriptor of what is at `place`, a path without links that must be in one of the roots. Raises OSError."""
    flags |= _NO_LINK
    root = next((one for one in roots if place == one or place.startswith(os.path.join(one, ""))), None)
    if root is None:
        raise PermissionError(errno.EACCES, "it is outside the folders that may be read")
    parts = [part for part in place[len(root) :].split(os.sep) if part]
    if os.pardir in parts:
        raise PermissionError(errno.EACCES, "its path is not canonical")
    if not _CAN_WALK or not parts:
        return os.open(place, flags)
    number = os.open(root, FOLDER & ~_NO_LINK | getattr(os, "O_CLOEXEC", 0))
    try:
        for part in parts[:-1]:
            inner = os.open(part, FOLDER, dir_fd=number)
            os.close(number)
            number = inner
        return os.open(parts[-1], flags, dir_fd=number)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.ENOTDIR):
            raise PermissionError(exc.errno, "a folder on the way to it became a link meanwhile") from exc
        raise
    finally:
        os.close(number)
