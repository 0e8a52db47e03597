"""What a run would do, as far as bytes tell: nothing is written, and text is made of a file only to see whether it is
one that was moved and edited.
"""

from memctl import errors, ids
from memctl.ingest.delta import Plan, Task
from memctl.ingest.moves import Moves, related
from memctl.ingest.outcome import FileReport, FileStatus, Outcome, lost_report
from memctl.ingest.prepare import Preparer, read_file
from memctl.ingest.sources import Target
from memctl.ingest.workers import Job, Team
from memctl.store.database import Database
from memctl.store.documents import corpus
from memctl.store.documents.corpus import IngestedFile


def preview(db: Database | None, plan: Plan, preparer: Preparer) -> Outcome:
    """The counts of files that a run with this plan would end with, and a report on each file.

    A file that can be read, and then turns out to hold no text, is not foreseen.
    """
    done = Outcome()
    done.files = plan.files
    for path in plan.unchanged:
        _count(done, path, "unchanged")
    for target in plan.failed:
        _fail(done, target)
    known = corpus.get_files(db, [task.path for task in plan.tasks if task.known]) if db else {}
    lost = dict(plan.lost)
    found = _read(done, plan, preparer)
    before = _before(db, plan, found, preparer) if db else {}
    for task in plan.tasks:
        if task.path in found:
            old = before.get(task.path, "")
            lost.pop(old, None)
            status = _status(task, known.get(task.path), found[task.path], old)
            _count(done, task.path, status, f"was {old}" if old else "")
    for path, why in lost.items():
        done.deleted += 1
        done.reports.append(lost_report(path, why))
    return done


def _read(done: Outcome, plan: Plan, preparer: Preparer) -> dict[str, IngestedFile]:
    """The files that can be read, with their hashes."""
    found = {}
    for task in plan.tasks:
        try:
            preparer.check_path(task.path)
            data, info = read_file(task.path, preparer.options.limits.bytes)
        except errors.DocumentUnreadable as exc:
            _fail(done, Target(task.path, str(exc.fields["reason"])))
            continue
        found[task.path] = IngestedFile(task.path, ids.bytes_hash(data), size=len(data), inode=info.st_ino)
    return found


def _before(db: Database, plan: Plan, found: dict[str, IngestedFile], preparer: Preparer) -> dict[str, str]:
    """Where files were before they were moved."""
    moved = Moves(db, plan).of(list(found.values()))
    old = corpus.get_files(db, moved.values())
    edited = [found[path] for path, was in moved.items() if was in old and old[was].sha256 != found[path].sha256]
    with Team(preparer, 0) as team:
        for prepared in team.prepare([Job(file.path, file.size or 0, None) for file in edited], 0):
            if not related(db, old[moved[prepared.path]], prepared.passages or ()):
                del moved[prepared.path]
    return moved


def _status(task: Task, was: IngestedFile | None, now: IngestedFile, before: str) -> FileStatus:
    if was is None:
        return "moved" if before else "new"
    if now.sha256 != was.sha256:
        return "changed"
    return "unchanged" if task.current else "refiled"


def _count(done: Outcome, path: str, status: FileStatus, reason: str = "") -> None:
    setattr(done, status, getattr(done, status) + 1)
    done.reports.append(FileReport(path, status, 0, reason))


def _fail(done: Outcome, target: Target) -> None:
    done.failed.append(target)
    done.reports.append(FileReport(target.path, "failed", 0, target.problem))
