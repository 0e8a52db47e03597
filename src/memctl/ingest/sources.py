"""From what a user typed to files: folders are walked, globs expanded, nothing is read outside what was given.

What a user names, or a pattern without `**` names for him, is read whatever the ignore rules say; they are for what
walking finds.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from memctl import errors
from memctl.extract import is_ingestable
from memctl.ingest.ignore import fits
from memctl.ingest.rules import RuleFiles
from memctl.ingest.walk import NOT_UTF8, STORE_ITSELF, Report, Target, canonical, file_target, is_text, walk
from memctl.paths import real_path

__all__ = ["STDIN", "Target", "resolve"]

STDIN = "-"


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
    sources = list(sources)
    for source in sources:
        if not source.strip():
            raise errors.SourceNotFound(source=source, path="")
    wanted = [(source, os.path.normpath(os.path.join(cwd, os.path.expanduser(source)))) for source in sources]
    for source, path in wanted:
        if "\0" in path or (source != STDIN and not os.path.lexists(path) and not _is_glob(source)):
            raise errors.SourceNotFound(source=source, path=path)
    find = _Finder(ignore, never, report)
    seen: set[str] = set()
    for source, path in wanted:
        for target in [Target(STDIN)] if source == STDIN else find.expand(source, path):
            if target.path not in seen:
                seen.add(target.path)
                yield target


def _is_glob(source: str) -> bool:
    return any(c in source for c in "*?[")


def _at_deep_star(pattern: str) -> tuple[str, str]:
    """The pattern before its first `**` and the pattern from there on, which is "" when there is none."""
    parts = pattern.split("/")
    at = parts.index("**") if "**" in parts else len(parts)
    return "/".join(parts[:at]) or "/", "/".join(parts[at:])


class _Finder:
    """What the sources of one command have in common."""

    def __init__(self, ignore: Iterable[str], never: Iterable[str], report: Report | None) -> None:
        self.ignore, self.report = tuple(ignore), report
        self.never = frozenset(map(real_path, never))
        self.walk = partial(walk, ignore=self.ignore, never=self.never, report=report)

    def expand(self, source: str, path: str) -> Iterator[Target]:
        if os.path.isdir(path):
            yield from self.walk(real_path(path))
        elif os.path.lexists(path):
            yield self._named(path)
        elif _is_glob(source):
            yield from self._glob(path)
        else:
            yield Target(path, "it disappeared while memctl was looking")

    def _named(self, path: str) -> Target:
        path = canonical(path)
        if not is_text(path):
            return Target(path, NOT_UTF8)
        return Target(path, STORE_ITSELF) if real_path(path) in self.never else file_target(path)

    def _glob(self, pattern: str) -> Iterator[Target]:
        head, tail = _at_deep_star(pattern)
        found = False
        for target in self._deep(head, tail) if tail else self._flat(pattern):
            found = True
            yield target
        if not found:
            yield Target(pattern, "no file matches this pattern" + (" (ignored ones do not count)" if tail else ""))

    def _flat(self, pattern: str) -> Iterator[Target]:
        """What a shell would make of the pattern. `docs/*` means the folders in docs too, but not the ignored ones."""
        import glob

        wild = _is_glob(os.path.basename(pattern))
        for path in sorted(glob.glob(pattern)):
            if os.path.isdir(path):
                real = real_path(path)
                reason = RuleFiles(os.path.dirname(real), self.ignore).why_not(real, is_folder=True) if wild else ""
                if not reason:
                    yield from self.walk(real)
                elif self.report:
                    self.report(os.path.join(real, ""), reason)
            elif is_ingestable(path) or not os.path.islink(path):
                yield self._named(path)

    def _deep(self, head: str, tail: str) -> Iterator[Target]:
        """The files below the folders `head` that the rest of the pattern names, or that are in folders it names."""
        import glob

        accept = _accept(tail)
        for folder in sorted(glob.glob(head)) if _is_glob(head) else [head]:
            if os.path.isdir(folder):
                yield from self.walk(real_path(folder), accept=accept)


def _accept(tail: str) -> Callable[[str], bool]:
    """Which files below a folder a pattern such as `**/*.md` means; hidden ones only if it has a dot for them."""
    fit = fits(tail)
    everything = not tail.strip("*/")
    shows_hidden = any(part.startswith(".") for part in tail.split("/"))

    def accept(path: str) -> bool:
        if not shows_hidden and (path.startswith(".") or "/." in path):
            return False
        if fit(path) and not everything:
            return True
        above = path.split("/")[:-1]
        return is_ingestable(path) and (everything or any(fit("/".join(above[: n + 1])) for n in range(len(above))))

    return accept
