"""From what a user typed to files: folders are walked, globs expanded, nothing is read outside what was given.

What a user names, or a pattern without `**` names for him, is read whatever the ignore rules say; they are for what
walking finds.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors
from memctl.extract import is_ingestable
from memctl.paths import FOLDER, open_inside, real_path

if TYPE_CHECKING:
    from memctl.ingest.ignore import IgnoreScope, RuleFiles

STDIN = "-"
STORE_ITSELF = "it belongs to the store itself"
NOT_UTF8 = "its name is not UTF-8: rename it"

#: Called with (path, reason) for whatever is left out; a folder, with a slash at its end, stands for all in it.
Report = Callable[[str, str], None]

_KINDS = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a named pipe (use - to read standard input)"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


class Target(NamedTuple):
    """A file to ingest (path absolute), or one that cannot be, with the reason in words.

    `info` is what the system said about the file when it was found; None for standard input and for problems.
    """

    path: str
    problem: str = ""
    info: os.stat_result | None = None


def resolve(
    sources: Iterable[str],
    cwd: str,
    *,
    ignore: Iterable[str] = (),
    never: Iterable[str] = (),
    report: Report | None = None,
) -> Iterator[Target]:
    """The files that the sources name, each once, folders in sorted order and by their canonical path.

    `ignore`, `never` and `report` are those of `walk`; a file in `never` that was named is a problem. Raises
    SourceNotFound before anything is yielded when a source that is no glob does not exist.
    """
    wanted = []
    for source in sources:
        path = os.path.normpath(os.path.join(cwd, os.path.expanduser(source)))
        there = source == STDIN or (source.strip() and "\0" not in path and (os.path.lexists(path) or _is_glob(source)))
        if not there:
            raise errors.SourceNotFound(source=source, path=path if source.strip() else "")
        wanted.append((source, path))
    ignored, kept_out = tuple(ignore), frozenset(map(real_path, never))
    seen: set[str] = set()
    for source, path in wanted:
        found: Iterable[Target]
        if source == STDIN:
            found = [Target(STDIN)]
        elif os.path.isdir(path):
            found = walk(real_path(path), ignore=ignored, never=kept_out, report=report)
        elif os.path.lexists(path):
            found = [_named_target(path, kept_out)]
        elif _is_glob(source):
            found = _expand(path, ignored, kept_out, report)
        else:
            found = [Target(path, "it disappeared while memctl was looking")]
        for target in found:
            if target.path not in seen:
                seen.add(target.path)
                yield target


def file_target(path: str, info: os.stat_result | None = None) -> Target:
    """A file by its path, links followed where `info`, what the system says of it, is not given; with a problem when
    it is no file that can be read.
    """
    try:
        path.encode()
        info = info or os.stat(path)
    except UnicodeEncodeError:
        return Target(path, NOT_UTF8)
    except OSError as exc:
        return Target(path, "it is a link to nothing" if os.path.islink(path) else exc.strerror or str(exc))
    if stat.S_ISREG(info.st_mode):
        return Target(path, "", info)
    return Target(path, next((reason for test, reason in _KINDS if test(info.st_mode)), "it is no file"))


def _named_target(path: str, never: frozenset[str]) -> Target:
    """A file that was named: by its path without links in the folders that lead to it, but with its own name."""
    target = file_target(_without_links(path))
    if target.problem != NOT_UTF8 and real_path(target.path) in never:
        return Target(target.path, STORE_ITSELF)
    return target


def _without_links(path: str) -> str:
    """The path without links in the folders that lead to it; the last part stays as it is."""
    folder, name = os.path.split(path)
    return os.path.join(real_path(folder), name)


# --- patterns ---------------------------------------------------------------------------------------------------------


def _is_glob(source: str) -> bool:
    return any(c in source for c in "*?[")


def _expand(pattern: str, ignore: tuple[str, ...], never: frozenset[str], report: Report | None) -> Iterator[Target]:
    """The files that a pattern names; a problem when it names none.

    Without `**` they are what a shell would make of it: `docs/*` means the folders in docs too, but not the ignored
    ones. With it, the files below the folders before `**` that the rest names, or that are in folders it names.
    """
    import glob

    from memctl.ingest.ignore import RuleFiles

    parts = pattern.split("/")
    deep = parts.index("**") if "**" in parts else None
    accept: Callable[[str], bool] = is_ingestable
    if deep is None:
        named = sorted(glob.glob(pattern))
    else:
        head, accept = "/".join(parts[:deep]) or "/", _deep_filter("/".join(parts[deep:]))
        named = [path for path in (sorted(glob.glob(head)) if _is_glob(head) else [head]) if os.path.isdir(path)]
    wild = deep is None and _is_glob(os.path.basename(pattern))
    is_any = False
    for path in named:
        found: Iterable[Target] = []
        if os.path.isdir(path):
            real = real_path(path)
            reason = RuleFiles(os.path.dirname(real), ignore).why_not(real, is_folder=True) if wild else ""
            if not reason:
                found = walk(real, ignore=ignore, never=never, report=report, accept=accept)
            elif report:
                report(os.path.join(real, ""), reason)
        elif is_ingestable(path) or not os.path.islink(path):
            found = [_named_target(path, never)]
        for target in found:
            is_any = True
            yield target
    if not is_any:
        hint = "" if deep is None else " (ignored ones do not count)"
        yield Target(pattern, f"no file matches this pattern{hint}")


def _deep_filter(tail: str) -> Callable[[str], bool]:
    """Which files below a folder a pattern such as `**/*.md` means; hidden ones only if it has a dot for them."""
    from memctl.ingest.ignore import path_test

    fits = path_test(tail)
    everything = not tail.strip("*/")
    shows_hidden = any(part.startswith(".") for part in tail.split("/"))

    def accept(path: str) -> bool:
        if not shows_hidden and (path.startswith(".") or "/." in path):
            return False
        if fits(path) and not everything:
            return True
        above = path.split("/")[:-1]
        return is_ingestable(path) and (everything or any(fits("/".join(above[: n + 1])) for n in range(len(above))))

    return accept


# --- folders -----------------------------------------------------------------------------------------------------


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


@contextmanager
def list_folder(folder: str, roots: Sequence[str] | None) -> Iterator["Iterator[os.DirEntry[str]]"]:
    """The entries of a folder, to be named by it: their own paths may lack it. Raises OSError.

    roots  folders that it must be in, and no part of its path may be a link; None: it may be anywhere
    """
    number = None if roots is None else open_inside(folder, roots, FOLDER)
    try:
        with os.scandir(folder if number is None or os.scandir not in os.supports_fd else number) as found:
            yield found
    finally:
        if number is not None:
            os.close(number)


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
        from memctl.ingest import ignore as ignoring

        self.root, self.accept, self.within, self.roots = root, accept, within, roots
        self.report = report or (lambda _path, _reason: None)
        self.never = frozenset(path for given in never for path in (_without_links(given), real_path(given)))
        self.rules: RuleFiles = ignoring.RuleFiles(root, ignore)
        self.skip = len(self.rules.lead)  # what the rules' paths have before the path below the root

    def targets(self) -> Iterator[Target]:
        # The path, the same as the rules know it, the rules, whether a user or a rule wants it whatever it says.
        from memctl.ingest.ignore import TELLING, tagged

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
        scope: "IgnoreScope",
        below: "list[tuple[str, str, IgnoreScope, bool]]",
    ) -> Iterator[Target]:
        """The files of one folder; the folders in it that are wanted come to `below`."""
        for entry in entries:
            name, path, known_as = entry.name, os.path.join(folder, entry.name), base + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            reason, asked_for = scope.left_out(name, known_as, is_folder=is_folder)
            if reason:
                self.report(os.path.join(path, "") if is_folder else path, reason)
            elif is_folder:
                below.append((path, known_as + "/", scope, asked_for))
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
                    yield file_target(path, entry.stat(follow_symlinks=False))
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
