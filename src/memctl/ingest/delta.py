"""What changed since the last time: every file is looked at, none is opened.

Size, both time stamps and the inode say that a file is as it was; otherwise its hash decides, when it is read.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from memctl.ingest.sources import STDIN, Target
from memctl.store.database import Database
from memctl.store.documents import corpus
from memctl.store.documents.corpus import DocumentRoot, SeenFile, UnreadFile


class Task(NamedTuple):
    """A file to read: its size in bytes as far as known, and whether the store holds it (`known`), and as it would come
    out today (`current`), so that equal bytes need no further work.
    """

    path: str
    size: int
    known: bool
    current: bool


class Plan:
    """What a run has to do.

    tasks      files to read, in the order they were found
    unchanged  files that are as they were
    failed     files that cannot be read
    cured      files that could not be read at the time, and are gone
    lost       known files that are not there any more, or no longer taken in: path -> why
    """

    __slots__ = ("cured", "failed", "lost", "tasks", "unchanged")

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.unchanged: list[str] = []
        self.failed: list[Target] = []
        self.lost: dict[str, str] = {}
        self.cured: list[str] = []

    def leave(self, done: Collection[str]) -> None:
        """Take these files as they are: an earlier run will have seen to them."""
        self.unchanged += [task.path for task in self.tasks if task.path in done]
        self.tasks = [task for task in self.tasks if task.path not in done]
        self.lost = {path: why for path, why in self.lost.items() if path not in done}

    @property
    def files(self) -> int:
        """How many files were found."""
        return len(self.tasks) + len(self.unchanged) + len(self.failed)

    @property
    def bytes(self) -> int:
        """The size of what there is to read."""
        return sum(task.size for task in self.tasks)


DELETED = "deleted"
LEFT_OUT = "no longer taken in"
NO_FILE = "no longer a regular file"


def plan(
    db: Database | None,
    targets: Iterable[Target],
    roots: Sequence[str],
    recipe: str,
    *,
    full: bool = False,
    home: DocumentRoot | None = None,
    looked: Callable[[int], None] | None = None,
) -> Plan:
    """Compare the files that were found with what the store remembers of them; no store means that all are new.

    roots   folders (canonical secret_paths) that the targets cover: what is known below them and was not found is lost
    full    read everything again
    home    the mount that the targets lie in: each is to belong to it, or to the innermost mount within that it lies in
    looked  called with the number of files found so far
    """
    out = Plan()
    known: dict[str, SeenFile] = {}
    unread: dict[str, UnreadFile] = {}
    below = tuple(os.path.join(root, "") for root in roots)
    if db is not None:
        for prefix, how in [*((prefix, recipe) for prefix in below), *_within(home)]:
            known.update(corpus.get_seen_below(db, prefix, how))
            unread = {path: was for path, was in unread.items() if not path.startswith(prefix)}
            unread.update(corpus.get_unread_below(db, prefix, how))
    waiting: list[Target] = []
    hidden = corpus.find_stand_ins(unread)
    for number, target in enumerate(targets, 1):
        if looked and number % 500 == 0:
            looked(number)
        if target.problem:
            out.failed.append(target)
        elif (tried := _tried(unread, hidden, target.path)) and not full and _stamps(target) == tried[:4]:
            known.pop(target.path, None)
            out.failed.append(target._replace(problem=tried.reason))
        elif target.path.startswith(below) or db is None:
            _compare(out, target, known.pop(target.path, None), full, home)
        else:
            waiting.append(target)
    if waiting and db is not None:
        others = corpus.get_seen(db, [target.path for target in waiting], recipe)
        for target in waiting:
            _compare(out, target, others.get(target.path), full, home)
    out.lost = _lost(known, out.failed, home)
    out.cured = sorted(path for path in unread if home is None or home.of(path) is home or not os.path.lexists(path))
    return out


def _tried(unread: dict[str, UnreadFile], hidden: Mapping[str, str], path: str) -> UnreadFile | None:
    """What is known of a file that could not be read, which is taken out of `unread`."""
    return unread.pop(path, None) or unread.pop(corpus.stand_in_of(path, hidden), None)


def _within(home: DocumentRoot | None) -> list[tuple[str, str]]:
    """Where files lie that come out by another recipe than the run's, outer folders first; and by which."""
    return [(one.prefix, one.recipe) for one in home.inner] if home else []


def _compare(out: Plan, target: Target, was: SeenFile | None, full: bool, home: DocumentRoot | None) -> None:
    info = target.info
    if was is None or info is None or target.path == STDIN:
        out.tasks.append(Task(target.path, info.st_size if info else 0, was is not None, current=False))
        return
    current = was.current and not (full and (home is None or home.forces(target.path)))
    if current and _stamps(target) == was[:4] and (home is None or was.mount_id == home.of(target.path).mount_id):
        out.unchanged.append(target.path)
    else:
        out.tasks.append(Task(target.path, info.st_size, known=True, current=current))


def _stamps(target: Target) -> tuple[int, int, int, int] | None:
    info = target.info
    return (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino) if info else None


def _lost(known: dict[str, SeenFile], failed: Sequence[Target], home: DocumentRoot | None) -> dict[str, str]:
    """Which known files that were not found are lost; what lies in a folder that cannot be read is not."""
    shut = tuple(os.path.join(target.path, "") for target in failed)
    problems = {target.path for target in failed}
    out = {}
    for path, was in sorted(known.items()):
        ours = was.mount_id is not None and (home is None or home.of(path) is home)
        why = _why_lost(path, path in problems, ours)
        if why and not path.startswith(shut):
            out[path] = why
    return out


def _why_lost(path: str, failed: bool, ours: bool) -> str:
    # Only "there is no such file" proves that: a folder that may not be entered, say, proves nothing.
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return DELETED
    except OSError:
        return ""
    if failed:
        return "" if stat.S_ISREG(mode) else NO_FILE
    if stat.S_ISDIR(mode):
        return NO_FILE
    # It was named by itself at the time, or belongs to a mount within: only what came with a folder goes with it.
    return LEFT_OUT if ours else ""
