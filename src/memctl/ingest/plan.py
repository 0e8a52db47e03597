"""What a run over files has to do, and what it did: every file is looked at, none is opened.

Size, both time stamps and the inode say that a file is as it was; otherwise its hash decides, when it is read.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Literal, NamedTuple

from memctl import errors, ids
from memctl.extract import needs_worker
from memctl.ingest.prepare import FileTask, Prepared, PreparedPassage, Preparer
from memctl.ingest.sources import STDIN, Target
from memctl.paths import read_file
from memctl.store.database import Database
from memctl.store.documents import corpus
from memctl.store.documents.corpus import DocumentRoot, GoneFile, IngestedFile, SeenFile, UnreadFile
from memctl.store.items import items

if TYPE_CHECKING:
    from memctl.ingest.workers import Team

FileStatus = Literal["new", "changed", "moved", "refiled", "unchanged", "deleted", "left out", "failed"]

#: In bytes: a larger file is read by a process of its own even where others are not, because that can be stopped.
LARGE = 500_000

#: Why a known file is lost.
DELETED = "deleted"
LEFT_OUT = "no longer taken in"
NO_FILE = "no longer a regular file"


class FileReport(NamedTuple):
    """What happened to one file: how many active passages it has now, and why."""

    path: str
    status: FileStatus
    chunks: int = 0
    reason: str = ""


def lost_report(path: str, why: str) -> FileReport:
    """The line for a file whose passages were archived; `why` is DELETED, LEFT_OUT or NO_FILE."""
    return FileReport(path, "deleted") if why == DELETED else FileReport(path, "left out", 0, why)


class IngestOutcome:
    """What a run did, in counts, and the item ids it made."""

    __slots__ = (
        "archived", "changed", "deleted", "failed", "files", "item_ids", "kept", "moved", "new", "purged",
        "quarantined", "redacted", "refiled", "reports", "rescoped", "restored", "superseded", "unchanged",
    )  # fmt: skip

    def __init__(self) -> None:
        self.files = 0  # files found
        self.new = self.changed = self.unchanged = 0  # files stored for the first time, changed, or skipped
        self.moved = 0  # files that are now somewhere else, or have another name
        self.refiled = 0  # files whose text is as before, read again for other tags, scope, rules ...
        self.deleted = 0  # files that are gone from a folder that was given as a whole, or no longer taken in
        self.failed: list[Target] = []
        self.kept = self.superseded = self.archived = 0  # passages of changed files
        self.restored = 0  # passages that were archived, and whose text is back
        self.rescoped = 0  # kept passages that were in another scope
        self.redacted = self.quarantined = 0  # passages
        self.purged = 0  # passages that somebody purged, and that are not stored again
        self.item_ids: list[str] = []
        self.reports: list[FileReport] = []

    def count(self, status: FileStatus, path: str, chunks: int = 0, reason: str = "", *, report: bool = True) -> None:
        """Count a file, and report on it if that is wanted."""
        setattr(self, status, getattr(self, status) + 1)
        if report:
            self.reports.append(FileReport(path, status, chunks, reason))

    def passages(self) -> dict[str, int]:
        """What happened to passages that were there, and what policy did, by the keys of `--json`."""
        names = ("kept", "superseded", "archived", "restored", "redacted", "quarantined")
        return {f"chunks_{name}": getattr(self, name) for name in names}

    def note_left_out(self, left_out: list[FileReport]) -> None:
        """Report what the walk left out, but for files of which there is a line already."""
        said = {one.path for one in self.reports}
        self.reports += [one for one in left_out if one.path not in said]

    def show_paths(self, shown: Callable[[str], str]) -> None:
        """Let the reports, and what is said of files that failed, name files as they may be shown."""
        self.reports = [one._replace(path=shown(one.path), reason=shown(one.reason)) for one in self.reports]
        self.failed = [one._replace(path=shown(one.path), problem=shown(one.problem)) for one in self.failed]

    def add(self, part: "IngestOutcome") -> None:
        """Take over the counts of a part that has been committed."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(part, name))


class IngestPlan(NamedTuple):
    """What a run has to do.

    tasks      files to read, in the order they were found
    unchanged  files that are as they were
    failed     files that cannot be read
    lost       known files that are not there any more, or no longer taken in: path -> why
    readable   files that could not be read at the time, and are gone
    """

    tasks: list[FileTask]
    unchanged: list[str]
    failed: list[Target]
    lost: dict[str, str]
    readable: list[str]

    def without(self, done: Collection[str]) -> "IngestPlan":
        """The plan of a run after an earlier one that will have seen to these files."""
        return self._replace(
            tasks=[task for task in self.tasks if task.path not in done],
            unchanged=[*self.unchanged, *(task.path for task in self.tasks if task.path in done)],
            lost={path: why for path, why in self.lost.items() if path not in done},
        )

    @property
    def files(self) -> int:
        """How many files were found."""
        return len(self.tasks) + len(self.unchanged) + len(self.failed)


def make_plan(
    db: Database | None,
    targets: Iterable[Target],
    roots: Sequence[str],
    recipe: str,
    *,
    full: bool = False,
    root: DocumentRoot | None = None,
    looked: Callable[[int], None] | None = None,
) -> IngestPlan:
    """Compare the files that were found with what the store remembers of them; no store means that all are new.

    roots   folders (canonical paths) that the targets cover: what is known below them and was not found is lost
    full    read everything again
    root    the mount that the targets lie in: each is to belong to it, or to the innermost mount within that it lies in
    looked  called with the number of files found so far
    """
    found = []
    for number, target in enumerate(targets, 1):
        if looked and number % 500 == 0:
            looked(number)
        found.append(target)
    known, unread = _remembered(db, roots, found, recipe, root) if db else ({}, {})
    hidden = corpus.find_stand_ins(unread) if unread else {}
    plan = IngestPlan([], [], [], {}, [])
    for target in found:
        path, info = target.path, target.info
        if target.problem:
            plan.failed.append(target)
            continue
        was = known.pop(path, None)
        tried = unread.pop(path, None)
        if tried is None and hidden:
            tried = unread.pop(hidden.get(corpus.path_hash(path), ""), None)
        if tried and info and not full and _stamps(info) == tried[:4]:
            plan.failed.append(target._replace(problem=tried.reason))
        elif was is None or info is None or path == STDIN:
            plan.tasks.append(FileTask(path, info.st_size if info else 0, was is not None))
        else:
            is_current = was.current and not (full and (root is None or root.forces(path)))
            is_ours = root is None or was.mount_id == root.owner_of(path).mount_id
            if is_current and is_ours and _stamps(info) == was[:4]:
                plan.unchanged.append(path)
            else:
                plan.tasks.append(FileTask(path, info.st_size, is_known=True, is_current=is_current))
    if known:
        plan.lost.update(_find_lost(known, {target.path for target in plan.failed}, root))
    plan.readable.extend(
        path for path in sorted(unread) if root is None or root.owner_of(path) is root or not os.path.lexists(path)
    )
    return plan


def _remembered(
    db: Database, roots: Sequence[str], found: Iterable[Target], recipe: str, root: DocumentRoot | None
) -> tuple[dict[str, SeenFile], dict[str, UnreadFile]]:
    """What the store knows of the files below the roots and of others that were found: of those that were read, and of
    those that could not be.
    """
    known: dict[str, SeenFile] = {}
    unread: dict[str, UnreadFile] = {}
    below = tuple(os.path.join(folder, "") for folder in roots)
    inner = [(one.prefix, one.recipe) for one in root.inner] if root else []
    # Outer folders first: files of mounts within come out by another recipe.
    for prefix, how in [*((prefix, recipe) for prefix in below), *inner]:
        known |= corpus.get_seen(db, how, below=prefix)
        unread = {path: was for path, was in unread.items() if not path.startswith(prefix)}
        unread |= corpus.get_unread_below(db, prefix, how)
    outside = [target.path for target in found if not (target.problem or target.path.startswith(below))]
    return known | corpus.get_seen(db, recipe, paths=outside), unread


def _find_lost(known: dict[str, SeenFile], failed: Collection[str], root: DocumentRoot | None) -> dict[str, str]:
    """Of the known files that were not found, those that are lost, and why; `failed`: what could not be looked at."""
    lost = {}
    shut = tuple(os.path.join(path, "") for path in failed)
    for path, was in sorted(known.items()):
        mode = _mode(path)
        if mode is None or path.startswith(shut):  # what lies in a folder that cannot be read is not lost
            continue
        if not mode:
            lost[path] = DELETED
        elif stat.S_ISDIR(mode) or (path in failed and not stat.S_ISREG(mode)):
            lost[path] = NO_FILE
        elif path not in failed and was.mount_id is not None and (root is None or root.owner_of(path) is root):
            # Any other was named by itself at the time, or belongs to a mount within: only what came with a folder
            # goes with it.
            lost[path] = LEFT_OUT
    return lost


def _mode(path: str) -> int | None:
    """What is at a path, 0 where there is nothing; None where that cannot be told: a folder may not be entered."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError:
        return None


def _stamps(info: os.stat_result) -> tuple[int, int, int, int]:
    return (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


# --- files that were moved or renamed ---------------------------------------------------------------------------------


class MovedFiles:
    """Files that are not there any more; each can have become one other: those that a plan found to be deleted, then
    those of other folders.
    """

    def __init__(self, db: Database, plan: IngestPlan) -> None:
        self._db = db
        self._known = {task.path for task in plan.tasks if task.is_known}  # these have a record of their own
        self._waiting: set[str] = set()
        self._found: dict[str, str] = {}
        self._by: dict[tuple[str, object], deque[str]] = {}
        deleted = [path for path, why in plan.lost.items() if why == DELETED]
        for path, file in sorted(corpus.get_files(db, deleted).items()) if deleted else ():
            self._waiting.add(path)
            for key in _keys(file):
                self._by.setdefault(key, deque()).append(path)

    def find(self, files: Sequence[IngestedFile]) -> dict[str, str]:
        """Where these files may have been before, new path -> old path: a file with the same bytes, at best with the
        same name, else one with the same inode.
        """
        strangers = [file for file in files if file.path not in self._known]
        out = {file.path: self._found[file.path] for file in strangers if file.path in self._found}
        for keys in zip(*map(_keys, strangers), strict=True) if self._waiting else ():
            for file, key in zip(strangers, keys, strict=True):  # the best sort of key for all, then the next one
                queue = self._by.get(key)
                while queue and file.path not in out:
                    path = queue.popleft()
                    if path in self._waiting:
                        self._waiting.remove(path)
                        out[file.path] = path
        self._found |= out
        taken = set(self._found.values())
        wanted = [file for file in strangers if file.path not in out and file.size]
        where = corpus.paths_with(self._db, [file.sha256 for file in wanted])
        for file in wanted:
            for path in where.get(file.sha256, ()):
                if path not in taken and path != file.path and os.path.isabs(path) and _mode(path) == 0:
                    out[file.path] = self._found[file.path] = path
                    taken.add(path)
                    break
        return out


def _keys(file: IngestedFile) -> tuple[tuple[str, object], ...]:
    """What a file has in common with what it was before it was moved, the surest first."""
    name = os.path.basename(file.path)
    return (f"named {name}", file.sha256), ("bytes", file.sha256), ("inode", file.inode or file.path)


def is_same_file(
    db: Database,
    file: IngestedFile,
    passages: Iterable[PreparedPassage],
    old: IngestedFile | None,
    gone: GoneFile | None,
) -> bool:
    """Whether a file is the one that was elsewhere, moved and perhaps edited, and not another one that was given its
    inode: then they share neither bytes nor a passage.

    old, gone  what the store knows of the one elsewhere: as it was last, and what was archived of it before
    """
    if file.sha256 in [one.sha256 for one in (old, gone) if one]:
        return True
    ours = {passage.content_hash for passage in passages}
    before = [item_id for one in (old, gone) if one for item_id in one.item_ids]
    return any(one.content_hash in ours for one in items.get_summaries(db, before).values())


# --- what a run would do ----------------------------------------------------------------------------------------------


def read_tasks(preparer: Preparer, tasks: Iterable[FileTask], workers: int = 0) -> Iterator[Prepared]:
    """The files, in order: read by `workers` processes side by side, or here, but for what must be possible to stop."""
    if workers:
        from memctl.ingest import workers as processes

        with closing(processes.Team(preparer, workers)) as several:
            yield from several.prepare(tasks)
        return
    team: Team | None = None
    try:
        for task in tasks:
            if task.size < LARGE and not needs_worker(task.path):
                yield preparer.read(task.path, task.sha256)
            else:
                if team is None:
                    from memctl.ingest import workers as processes

                    team = processes.Team(preparer, 1)
                yield from team.read([task])
    finally:
        if team is not None:
            team.close()


def preview(db: Database | None, plan: IngestPlan, preparer: Preparer) -> IngestOutcome:
    """The counts of files that a run with this plan would end with, and a report on each file.

    Nothing is written, and text is made of a file only to see whether it is one that was moved and edited. A file that
    can be read, and then turns out to hold no text, is not foreseen.
    """
    done = IngestOutcome()
    done.files = plan.files
    for path in plan.unchanged:
        done.count("unchanged", path)
    done.failed = list(plan.failed)
    found: dict[str, IngestedFile] = {}
    for task in plan.tasks:
        try:
            preparer.check_path(task.path)
            data, info = read_file(task.path, preparer.options.limits.bytes)
        except errors.DocumentUnreadable as exc:
            done.failed.append(Target(task.path, str(exc.fields["reason"])))
            continue
        found[task.path] = IngestedFile(task.path, ids.bytes_hash(data), size=len(data), inode=info.st_ino)
    done.reports += [FileReport(target.path, "failed", 0, target.problem) for target in done.failed]
    known = corpus.get_files(db, [task.path for task in plan.tasks if task.is_known]) if db else {}
    before: dict[str, str] = {}  # where files were before they were moved
    if db:
        before = MovedFiles(db, plan).find(list(found.values()))
        olds, gone = corpus.get_files(db, before.values()), corpus.get_gone(db, before.values())
        edited = [found[new] for new, was in before.items() if was in olds and olds[was].sha256 != found[new].sha256]
        for prepared in read_tasks(preparer, [FileTask(file.path, file.size or 0) for file in edited]):
            path = prepared.path
            was_at = before[path]
            if not is_same_file(db, found[path], prepared.passages or (), olds.get(was_at), gone.get(was_at)):
                del before[path]
    lost = dict(plan.lost)
    for task in plan.tasks:
        if task.path not in found:
            continue
        was, old = known.get(task.path), before.get(task.path, "")
        lost.pop(old, None)
        status: FileStatus = "moved" if old else "new"
        if was is not None:
            status = "unchanged" if task.is_current else "refiled"
            status = "changed" if found[task.path].sha256 != was.sha256 else status
        done.count(status, task.path, 0, f"was {old}" if old else "")
    for path, why in lost.items():
        done.deleted += 1
        done.reports.append(lost_report(path, why))
    return done
