"""From what a user typed to files: folders are walked, globs expanded, nothing is read outside what was given."""

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memctl import errors
from memctl.extract import is_ingestable

STDIN = "-"

#: Folders that hold no documents of their own: version control, caches, installed packages, and the store.
SKIPPED_FOLDERS = frozenset({
    ".git", ".hg", ".svn", ".memory", "node_modules", "__pycache__", ".venv", "venv", ".venvs", ".tox", ".nox",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".cache", ".idea", ".eggs",
})  # fmt: skip


class Target(NamedTuple):
    """A file to ingest (path absolute), or one that cannot be, with the reason in words."""

    path: str
    problem: str = ""


def resolve(sources: Iterable[str], cwd: str) -> Iterator[Target]:
    """The files that the sources name, each once, folders in sorted order.

    Raises SourceNotFound before anything is yielded when a source that is no glob does not exist.
    """
    wanted = [(source, os.path.normpath(os.path.join(cwd, os.path.expanduser(source)))) for source in sources]
    for source, path in wanted:
        if source != STDIN and not os.path.lexists(path) and not _is_glob(source):
            raise errors.SourceNotFound(source=source, path=path)
    seen: set[str] = set()
    for source, path in wanted:
        found = [Target(STDIN)] if source == STDIN else _expand(source, path)
        for target in found:
            if target.path not in seen:
                seen.add(target.path)
                yield target if _is_text(target.path) else Target(target.path, "its name is not UTF-8: rename it")


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_glob(source: str) -> bool:
    return any(c in source for c in "*?[")


def _expand(source: str, path: str) -> Iterator[Target]:
    if os.path.isdir(path):
        yield from _walk(path)
    elif os.path.lexists(path):
        yield _file(path)
    elif _is_glob(source):
        yield from _glob(path)
    else:
        yield Target(path, "it disappeared while memctl was looking")


def _glob(pattern: str) -> Iterator[Target]:
    import glob

    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        yield Target(pattern, "no file matches this pattern")
    for path in found:
        if os.path.isdir(path):
            if not pattern.endswith("**"):  # `docs/*` means the folders in docs too; `**` has walked them already
                yield from _walk(path)
        elif is_ingestable(path) or not os.path.islink(path):
            yield _file(path)


def _walk(root: str) -> Iterator[Target]:
    """The documents below a folder. Links to folders are not followed, links to files only inside the folder."""
    inside = os.path.realpath(root) + os.sep
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as exc:
            yield Target(folder, f"the folder cannot be read: {exc.strerror}")
            continue
        below = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not _skipped(entry):
                    below.append(entry.path)
            elif is_ingestable(entry.name):
                yield _entry(entry, inside)
        pending.extend(reversed(below))


def _skipped(entry: os.DirEntry[str]) -> bool:
    return entry.name in SKIPPED_FOLDERS or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))


def _entry(entry: os.DirEntry[str], inside: str) -> Target:
    if entry.is_symlink():
        if not os.path.realpath(entry.path).startswith(inside):
            return Target(entry.path, "it is a link to something outside the folder")
        return _file(entry.path)
    return Target(entry.path) if entry.is_file() else _file(entry.path)


_KINDS = (
    (stat.S_ISFIFO, "it is a named pipe (use - to read standard input)"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


def _file(path: str) -> Target:
    try:
        mode = os.stat(path).st_mode
    except OSError as exc:
        reason = "it is a link to nothing" if os.path.islink(path) else exc.strerror or str(exc)
        return Target(path, reason)
    for test, reason in _KINDS:
        if test(mode):
            return Target(path, reason)
    return Target(path)
