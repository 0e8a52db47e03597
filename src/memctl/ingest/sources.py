"""From what a user typed to files: folders are walked, globs expanded, nothing is read outside what was given.

What a user names, or a pattern without `**` names for him, is read whatever the ignore rules say; they are for what
walking finds.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from memctl import errors
from memctl.extract import is_ingestable
from memctl.paths import real_path

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
    for source in list(sources):
        path = os.path.normpath(os.path.join(cwd, os.path.expanduser(source)))
        if not source.strip():
            raise errors.SourceNotFound(source=source, path="")
        wanted.append((source, path))
    for source, path in wanted:
        if "\0" in path or (source != STDIN and not os.path.lexists(path) and not _is_glob(source)):
            raise errors.SourceNotFound(source=source, path=path)
    ignored, kept_out = tuple(ignore), frozenset(map(real_path, never))
    seen: set[str] = set()
    for source, path in wanted:
        found: Iterable[Target]
        if source == STDIN:
            found = [Target(STDIN)]
        elif os.path.isdir(path):
            from memctl.ingest.walk import walk

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


def file_target(path: str) -> Target:
    """A file by its path, links followed; with a problem when it is no file that can be read."""
    try:
        path.encode()
        return stat_target(path, os.stat(path))
    except UnicodeEncodeError:
        return Target(path, NOT_UTF8)
    except OSError as exc:
        return Target(path, "it is a link to nothing" if os.path.islink(path) else exc.strerror or str(exc))


def stat_target(path: str, info: os.stat_result) -> Target:
    """A file by what the system says of it; with a problem when it is no regular one."""
    if stat.S_ISREG(info.st_mode):
        return Target(path, "", info)
    return Target(path, next((reason for test, reason in _KINDS if test(info.st_mode)), "it is no file"))


def _named_target(path: str, never: frozenset[str]) -> Target:
    """A file that was named: by its path without links in the folders that lead to it, but with its own name."""
    folder, name = os.path.split(path)
    target = file_target(os.path.join(real_path(folder), name))
    if target.problem != NOT_UTF8 and real_path(target.path) in never:
        return Target(target.path, STORE_ITSELF)
    return target


# --- patterns ---------------------------------------------------------------------------------------------------------


def _is_glob(source: str) -> bool:
    return any(c in source for c in "*?[")


def _expand(pattern: str, ignore: tuple[str, ...], never: frozenset[str], report: Report | None) -> Iterator[Target]:
    """The files that a pattern names; a problem when it names none."""
    import glob

    from memctl.ingest.walk import walk

    parts = pattern.split("/")
    deep = parts.index("**") if "**" in parts else None
    found = False
    if deep is None:
        for target in _expand_flat(pattern, ignore, never, report):
            found = True
            yield target
    else:  # the files below the folders before `**` that the rest names, or that are in folders it names
        head, accept = "/".join(parts[:deep]) or "/", _deep_filter("/".join(parts[deep:]))
        for folder in sorted(glob.glob(head)) if _is_glob(head) else [head]:
            if os.path.isdir(folder):
                for target in walk(real_path(folder), ignore=ignore, never=never, report=report, accept=accept):
                    found = True
                    yield target
    if not found:
        hint = "" if deep is None else " (ignored ones do not count)"
        yield Target(pattern, f"no file matches this pattern{hint}")


def _expand_flat(
    pattern: str, ignore: tuple[str, ...], never: frozenset[str], report: Report | None
) -> Iterator[Target]:
    """What a shell would make of the pattern. `docs/*` means the folders in docs too, but not the ignored ones."""
    import glob

    from memctl.ingest.ignore import RuleFiles
    from memctl.ingest.walk import walk

    wild = _is_glob(os.path.basename(pattern))
    for path in sorted(glob.glob(pattern)):
        if os.path.isdir(path):
            real = real_path(path)
            reason = RuleFiles(os.path.dirname(real), ignore).why_not(real, is_folder=True) if wild else ""
            if not reason:
                yield from walk(real, ignore=ignore, never=never, report=report)
            elif report:
                report(os.path.join(real, ""), reason)
        elif is_ingestable(path) or not os.path.islink(path):
            yield _named_target(path, never)


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
