"""The documents below a folder, one folder at a time: nothing outside it, nothing twice, and a word about the rest.

Where a server may read only some folders, every path is opened part by part from one of these roots, without following
any link: to look at a path and then to open it leaves a moment in which a part of it can become a link to somewhere
else. The path is resolved first; a link that came in between is an error.
"""

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from memctl.extract import is_ingestable
from memctl.ingest.ignore import TELLING, IgnoreScope, RuleFiles, left_out, tagged
from memctl.ingest.sources import NOT_UTF8, STORE_ITSELF, Report, Target, file_target, stat_target
from memctl.paths import real_path

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK

#: Whether the system can open a file seen from an open folder; one that cannot (Windows) checks and then opens.
_CAN_WALK = os.open in os.supports_dir_fd


def walk(
    root: str,
    *,
    ignore: Iterable[str] = (),
    never: Iterable[str] = (),
    accept: Callable[[str], bool] = is_ingestable,
    report: Report | None = None,
    within: Mapping[str, Iterable[str]] | None = None,
    roots: Sequence[str] | None = None,
) -> Iterator[Target]:
    """The files below `root`, a canonical path: in each folder its files, then its folders, sorted by name.

    ignore  patterns in the syntax of .gitignore, relative to `root`; stronger than any ignore file
    never   files that are not read whatever the rules say: those of the store
    accept  which kinds of files are wanted, by their path below `root`
    report  called for whatever is left out
    within  folders (canonical paths) with patterns of their own: one that the walk comes to is walked as if it were
            the root
    roots   canonical folders that nothing is looked at outside of, whatever links do meanwhile
    """
    return _FolderWalk(root, ignore, never, accept, report, within or {}, roots).targets()


class _FolderWalk:
    def __init__(
        self,
        root: str,
        ignore: Iterable[str],
        never: Iterable[str],
        accept: Callable[[str], bool],
        report: Report | None,
        within: Mapping[str, Iterable[str]],
        roots: Sequence[str] | None,
    ) -> None:
        self.root, self.accept, self.within, self.roots = root, accept, within, roots
        self.report = report or (lambda _path, _reason: None)
        self.never = frozenset(path for given in never for path in (_named(given), real_path(given)))
        self.rules = RuleFiles(root, ignore)
        self.skip = len(self.rules.lead)  # what the rules' paths have before the path below the root

    def targets(self) -> Iterator[Target]:
        # The path, the same as the rules know it, the rules, whether a user or a rule wants it whatever it says.
        pending = [(self.root, self.rules.lead, self.rules.start, True)]
        while pending:
            path, base, scope, asked_for = pending.pop()
            if path in self.within and path != self.root:
                yield from walk(
                    path, ignore=self.within[path], never=self.never, accept=self.accept, report=self.report,
                    within=self.within, roots=self.roots,
                )  # fmt: skip
                continue
            below: list[tuple[str, str, IgnoreScope, bool]] = []
            try:
                with list_folder(path, self.roots) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
                    present = [entry.name for entry in entries if entry.name in TELLING]
                    reason = tagged(path, present) if present and not asked_for else ""
                    if reason:
                        self.report(os.path.join(path, ""), reason)
                        continue
                    scope = self.rules.inside(scope, path, base, present)
                    while self.rules.problems:
                        yield Target(*self.rules.problems.pop(0))
                    yield from self._entries(entries, path, base, scope, below)
            except OSError as exc:
                yield Target(path, f"the folder cannot be read: {exc.strerror}")
            pending.extend(reversed(below))

    def _entries(
        self,
        entries: "list[os.DirEntry[str]]",
        folder: str,
        base: str,
        scope: IgnoreScope,
        below: list[tuple[str, str, IgnoreScope, bool]],
    ) -> Iterator[Target]:
        """The files of one folder; the folders in it that are wanted come to `below`."""
        for entry in entries:
            name, path, known_as = entry.name, os.path.join(folder, entry.name), base + entry.name
            if entry.is_dir(follow_symlinks=False):
                reason, asked_for = left_out(scope, name, known_as, is_folder=True)
                if reason:
                    self.report(os.path.join(path, ""), reason)
                else:
                    below.append((path, known_as + "/", scope, asked_for))
                continue
            rule = scope.find(name, known_as, is_folder=False)
            if rule is not None and not rule.negated:
                self.report(path, f"ignored by {rule.place}: {rule.text}")
            elif path in self.never:
                self.report(path, STORE_ITSELF)
            elif entry.is_symlink() and os.path.isdir(path):
                self.report(path, "links to folders are not followed")
            elif not self.accept(known_as[self.skip :]):
                self.report(path, "no reader for this kind of file")
            elif entry.is_symlink():
                yield from self._link(path)
            else:
                try:
                    path.encode()
                    yield stat_target(path, entry.stat(follow_symlinks=False))
                except UnicodeEncodeError:
                    yield Target(path, NOT_UTF8)
                except OSError as exc:
                    yield Target(path, exc.strerror or str(exc))

    def _link(self, path: str) -> Iterator[Target]:
        """A link counts as the file that it leads to, if a walk would come to that one, too."""
        real = real_path(path)
        if not real.startswith(os.path.join(self.root, "")):
            yield Target(path, "it is a link to something outside the folder")
        elif real in self.never:
            self.report(path, STORE_ITSELF)
        elif reason := self.rules.why_not(real, is_folder=False):
            self.report(path, f"what it links to is left out: {reason}")
        else:
            yield file_target(path)


def _named(path: str) -> str:
    """The path without links in the folders that lead to it; the last part stays as it is."""
    folder, name = os.path.split(path)
    return os.path.join(real_path(folder), name)


# --- opening, and never outside -----------------------------------------------------------------------------------


def open_file(path: str, roots: Sequence[str], flags: int) -> int:
    """A descriptor of the file that `path` leads to, links followed. Raises OSError, also when that is in no root."""
    return open_inside(os.path.realpath(path), roots, flags | _NO_LINK)


@contextmanager
def list_folder(folder: str, roots: Sequence[str] | None) -> Iterator["Iterator[os.DirEntry[str]]"]:
    """The entries of a folder, to be named by it: their own paths may lack it. Raises OSError.

    roots  folders that it must be in, and no part of its path may be a link; None: it may be anywhere
    """
    number = None if roots is None else open_inside(folder, roots, _FOLDER)
    try:
        with os.scandir(folder if number is None or os.scandir not in os.supports_fd else number) as found:
            yield found
    finally:
        if number is not None:
            os.close(number)


def open_inside(place: str, roots: Sequence[str], flags: int) -> int:
    """A descriptor of what is at `place`, a path without links that must be in one of the roots. Raises OSError."""
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
            inner = os.open(part, _FOLDER, dir_fd=number)
            os.close(number)
            number = inner
        return os.open(parts[-1], flags, dir_fd=number)
    except OSError as exc:
        if exc.errno in (errno.ELOOP, errno.ENOTDIR):
            raise PermissionError(exc.errno, "a folder on the way to it became a link meanwhile") from exc
        raise
    finally:
        os.close(number)
