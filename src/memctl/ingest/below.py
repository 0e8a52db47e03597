"""Opening files and folders in given folders, and never outside of them, whatever links do meanwhile.

To look at a path and then to open it leaves a moment in which a part of it can become a link to somewhere else. Here
the path is resolved first, and what it came to is opened part by part from its root, without following any link: one
that came in between is an error.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK

#: Whether the system can open a file seen from an open folder; one that cannot (Windows) checks and then opens.
_CAN_WALK = os.open in os.supports_dir_fd


def open_file(path: str, roots: Sequence[str], flags: int) -> int:
    """A descriptor of the file that `path` leads to, links followed. Raises OSError, also when that is in no root."""
    return _opened(os.path.realpath(path), roots, flags | _NO_LINK)


class Below:
    """An entry of an open folder, as os.DirEntry is one; good as long as the folder is open."""

    __slots__ = ("_entry", "name", "path")

    def __init__(self, entry: "os.DirEntry[str]", folder: str) -> None:
        self._entry, self.name = entry, entry.name
        self.path = os.path.join(folder, entry.name)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_symlink(self) -> bool:
        """Whether it is a link."""
        return self._entry.is_symlink()

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """What the system says of it."""
        return self._entry.stat(follow_symlinks=follow_symlinks)


Entry: TypeAlias = "os.DirEntry[str] | Below"


@contextmanager
def listing(folder: str, roots: Sequence[str] | None) -> Iterator[Iterator[Entry]]:
    """The entries of a folder. Raises OSError.

    roots  folders that it must be in, and no part of its path may be a link; None: it may be anywhere
    """
    if roots is None:
        with os.scandir(folder) as found:
            yield found
        return
    number = _opened(folder, roots, _FOLDER)
    try:
        if os.scandir not in os.supports_fd:  # Windows
            with os.scandir(folder) as found:
                yield found
            return
        with os.scandir(number) as found:
            yield (Below(entry, folder) for entry in found)
    finally:
        os.close(number)


def _opened(place: str, roots: Sequence[str], flags: int) -> int:
    root = next((one for one in roots if place == one or place.startswith(os.path.join(one, ""))), None)
    if root is None:
        raise PermissionError(errno.EACCES, "it is outside the folders that may be read")
    parts = [part for part in place[len(root) :].split(os.sep) if part]
    if os.pardir in parts:
        raise PermissionError(errno.EACCES, "its path is not canonical")
    if not _CAN_WALK or not parts:
        return os.open(place, flags)
    number = os.open(root, _FOLDER & ~_NO_LINK | getattr(os, "O_CLOEXEC", 0))
    try:
        for part in parts[:-1]:
            inner = _step(part, _FOLDER, number)
            os.close(number)
            number = inner
        return _step(parts[-1], flags, number)
    finally:
        os.close(number)


def _step(part: str, flags: int, folder: int) -> int:
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.ENOTDIR):
            raise PermissionError(exc.errno, "a folder on the way to it became a link meanwhile") from exc
        raise
