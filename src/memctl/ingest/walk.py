"""The documents below a folder, one folder at a time: nothing outside it, nothing twice, and a word about the rest."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from memctl.extract import is_ingestable
from memctl.ingest.below import Entry, listing
from memctl.ingest.rules import TELLING, RuleFiles, Scope, left_out, tagged
from memctl.paths import real_path

STORE_ITSELF = "it belongs to the store itself"
NOT_UTF8 = "its name is not UTF-8: rename it"


class Target(NamedTuple):
    """A file to ingest (path absolute), or one that cannot be, with the reason in words.

    `info` is what the system said about the file when it was found; None for standard input and for problems.
    """

    path: str
    problem: str = ""
    info: os.stat_result | None = None


class _Folder(NamedTuple):
    path: str
    base: str  # the path as the rules know it, with a slash at its end
    scope: Scope
    asked_for: bool  # a user or a rule wants it, whatever it says about itself


Report = Callable[[str, str], None]


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
    report  called with (path, reason) for whatever is left out; a folder, with a slash at its end, stands for all in it
    within  folders (canonical paths) with patterns of their own: one that the walk comes to is walked as if it were
            the root
    roots   canonical folders that nothing is looked at outside of, whatever links do meanwhile (see `below`)
    """
    walker = _Walk(root, ignore, never, accept, report or _to_nobody)
    walker.roots = roots
    if within:
        walker.apart = {
            folder: partial(
                walk, folder, ignore=own, never=never, accept=accept, report=report, within=within, roots=roots
            )
            for folder, own in within.items()
            if folder != root
        }
    return walker.targets()


def canonical(path: str) -> str:
    """The path without links in the folders that lead to it; the last part stays as it is."""
    folder, name = os.path.split(path)
    return os.path.join(real_path(folder), name)


def file_target(path: str) -> Target:
    """A file by its path, links followed; with a problem when it is no file that can be read."""
    try:
        info = os.stat(path)
    except OSError as exc:
        reason = "it is a link to nothing" if os.path.islink(path) else exc.strerror or str(exc)
        return Target(path, reason)
    return _judged(path, info)


def is_text(path: str) -> bool:
    """Whether a path can be stored: its bytes are UTF-8."""
    if path.isascii():
        return True
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Walk:
    def __init__(
        self, root: str, ignore: Iterable[str], never: Iterable[str], accept: Callable[[str], bool], report: Report
    ) -> None:
        self.root, self.accept, self.report = root, accept, report
        self.never = frozenset(path for given in never for path in (canonical(given), real_path(given)))
        self.files = RuleFiles(root, ignore)
        self.inside = os.path.join(root, "")
        self.skip = len(self.files.lead)  # what the rules' paths have before the path below the root
        self.apart: Mapping[str, Callable[[], Iterator[Target]]] = {}  # folders that have a walk of their own
        self.roots: Sequence[str] | None = None

    def targets(self) -> Iterator[Target]:
        pending = [_Folder(self.root, self.files.lead, self.files.start, asked_for=True)]
        yield from self._problems()
        while pending:
            folder = pending.pop()
            if folder.path in self.apart:
                yield from self.apart[folder.path]()
                continue
            below: list[_Folder] = []
            try:
                yield from self._folder(folder, below)
            except OSError as exc:
                yield Target(folder.path, f"the folder cannot be read: {exc.strerror}")
            pending.extend(reversed(below))

    def _folder(self, folder: _Folder, below: list[_Folder]) -> Iterator[Target]:
        """The files of one folder; the folders in it that are wanted come to `below`."""
        with listing(folder.path, self.roots) as found:
            entries = sorted(found, key=_name)
            present = [entry.name for entry in entries if entry.name in TELLING]
            scope = folder.scope
            if present:
                reason = "" if folder.asked_for else tagged(folder.path, present)
                if reason:
                    self.report(os.path.join(folder.path, ""), reason)
                    return
                scope = self.files.inside(scope, folder.path, folder.base, present)
                yield from self._problems()
            yield from self._entries(entries, folder.base, scope, below)

    def _entries(self, entries: list[Entry], base: str, scope: Scope, below: list[_Folder]) -> Iterator[Target]:
        for entry in entries:
            name = entry.name
            path = base + name
            if entry.is_dir(follow_symlinks=False):
                reason, asked_for = left_out(scope, name, path, is_folder=True)
                if reason:
                    self.report(os.path.join(entry.path, ""), reason)
                else:
                    below.append(_Folder(entry.path, path + "/", scope, asked_for))
                continue
            rule = scope.rule(name, path, folder=False)
            if rule is not None and not rule.negated:
                self.report(entry.path, f"ignored by {rule.place}: {rule.text}")
            elif entry.path in self.never:
                self.report(entry.path, STORE_ITSELF)
            elif entry.is_symlink():
                yield from self._link(entry, path[self.skip :])
            elif self.accept(path[self.skip :]):
                yield _found(entry)
            else:
                self.report(entry.path, "no reader for this kind of file")

    def _link(self, entry: Entry, path: str) -> Iterator[Target]:
        """A link counts as the file that it leads to, if a walk would come to that one, too."""
        if os.path.isdir(entry.path):
            self.report(entry.path, "links to folders are not followed")
            return
        if not self.accept(path):
            self.report(entry.path, "no reader for this kind of file")
            return
        real = real_path(entry.path)
        if not real.startswith(self.inside):
            yield Target(entry.path, "it is a link to something outside the folder")
        elif real in self.never:
            self.report(entry.path, STORE_ITSELF)
        else:
            reason = self.files.why_not(real, is_folder=False)
            if reason:
                self.report(entry.path, f"what it links to is left out: {reason}")
            else:
                yield file_target(entry.path) if is_text(entry.path) else Target(entry.path, NOT_UTF8)

    def _problems(self) -> list[Target]:
        found = [Target(path, reason) for path, reason in self.files.problems]
        self.files.problems.clear()
        return found


def _found(entry: Entry) -> Target:
    if not is_text(entry.path):
        return Target(entry.path, NOT_UTF8)
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError as exc:
        return Target(entry.path, exc.strerror or str(exc))
    return _judged(entry.path, info)


_KINDS = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a named pipe (use - to read standard input)"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


def _judged(path: str, info: os.stat_result) -> Target:
    if stat.S_ISREG(info.st_mode):
        return Target(path, "", info)
    return Target(path, next((reason for test, reason in _KINDS if test(info.st_mode)), "it is no file"))


def _name(entry: Entry) -> str:
    return entry.name


def _to_nobody(_path: str, _reason: str) -> None:
    pass
