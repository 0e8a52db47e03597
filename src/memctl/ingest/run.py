"""Documents into the store, in bulk. Re-ingest is a diff: unchanged passages stay, changed ones supersede, gone ones
are archived. `push --source`, `ingest` and `sync` share this one path.

Reading, cutting and judging happen outside the transaction, in several processes where that pays; a batch is then
compared with what the store holds and written in one transaction, so that two runs at once, or a killed one, leave
neither halves nor doubles.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors, ids
from memctl.ingest.files import too_large
from memctl.ingest.plan import FileReport, IngestOutcome, IngestPlan, MovedFiles, lost_report, make_plan, read_tasks
from memctl.ingest.prepare import FileTask, Options, Prepared, Preparer, sign_recipe
from memctl.ingest.sources import STDIN, Target
from memctl.ingest.writer import FORMER, BatchWriter
from memctl.store.database import Database
from memctl.store.documents import corpus
from memctl.store.documents.corpus import DocumentRoot, GoneFile, IngestedFile, UnreadFile
from memctl.store.documents.passages import temp_tables_in_memory
from memctl.store.items import events, items

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: In characters: a batch is committed when it holds this many, which is large enough for one fsync to be cheap, small
#: in memory, and soon enough for the others to read on meanwhile.
BATCH_CHARS = 3_000_000
#: In characters: where several processes read, batches get smaller towards the end, as large as what is still to come:
#: they wait for nobody, and have nothing to do while the last one is written.
LAST_CHARS = 500_000
#: What a file counts beside its text, in characters.
FILE_CHARS = 1000
#: In bytes: from here on starting processes that read side by side pays.
SIDE_BY_SIDE = 3_000_000
#: How many files a careful run archives without asking how many there are.
FEW_FILES = 5
#: How many files the store is asked about at a time.
_GROUP = 500


class Progress(NamedTuple):
    """How far a run is: files and bytes done and in all. Before `files` is known (0), `done` are those found so far."""

    done: int
    files: int
    bytes_done: int
    bytes: int
    path: str


class IngestRun:
    """One run over many files.

    warn      takes one line for each problem
    progress  takes how far the run is
    full      read and store every file anew, whatever it looks like
    report    keep a line for each file in `IngestOutcome.reports`
    workers   processes that read files side by side; 0: one for each processor
    root      the mount that the files lie in
    careful   archive nothing when more than half of the files, and more than a few, would go
    """

    def __init__(
        self,
        db: Database,
        options: Options,
        policy: "MemoryPolicy | None",
        *,
        warn: Callable[[str], None],
        progress: Callable[[Progress], None] | None = None,
        full: bool = False,
        report: bool = False,
        workers: int = 1,
        root: DocumentRoot | None = None,
        careful: bool = False,
    ) -> None:
        self.db, self.options, self.root = db, options, root
        self.full, self.report, self.workers, self.careful = full, report, workers, careful
        self.warn, self.progress = warn, progress
        self.outcome = IngestOutcome()
        self._preparer = Preparer(options, policy)
        self._read = 0  # files
        self._batch: list[Prepared] = []
        self._chars = 0
        self._to_come = inf  # what the files count that other processes are still to read
        self._lost: dict[str, str] = {}
        self._there = 0  # files that the store has had so far
        self._unread: dict[str, IngestedFile] = {}
        self._in_vain: dict[str, UnreadFile] = {}
        self._moves: MovedFiles

    def run(self, targets: Iterable[Target], stdin: Callable[[], bytes], folders: Sequence[str] = ()) -> IngestOutcome:
        """Ingest the targets. Files that cannot be read are reported and counted, the others go on.

        `folders`: canonical paths given as a whole; passages of files that disappeared from them are archived.
        """
        progress = self.progress
        looked = (lambda found: progress(Progress(found, 0, 0, 0, ""))) if progress else None
        plan = make_plan(
            self.db, targets, folders, self._preparer.recipe, full=self.full, looked=looked, root=self.root
        )
        done = self.outcome
        done.files, done.unchanged = plan.files, len(plan.unchanged)
        if self.report:
            known = corpus.get_files(self.db, plan.unchanged)
            done.reports += [FileReport(path, "unchanged", len(known[path].item_ids)) for path in plan.unchanged]
        for target in plan.failed:
            self._fail(target.path, target.problem)
        self._lost = dict(plan.lost)
        self._there = len(plan.lost) + len(plan.unchanged) + sum(task.is_known for task in plan.tasks)
        corpus.forget_unread(self.db, plan.readable)
        self._moves = MovedFiles(self.db, plan)
        with temp_tables_in_memory(self.db):
            try:
                for prepared in self._prepared(plan, stdin):
                    self._take(prepared)
                self._commit()
                if self._in_vain:
                    self._put_unread()
                if self._lost:
                    self._archive_lost(self._lost)
            except BaseException as exc:
                if not isinstance(exc, Exception):  # ^C, a signal: what is read is kept
                    self._commit()
                    if plan.tasks and self._read:
                        done_so_far = f"stopped after {self._read} of {len(plan.tasks)} files"
                        self.warn(f"{done_so_far}; they are stored, the same command goes on from there")
                raise
        return self.outcome

    def _prepared(self, plan: IngestPlan, stdin: Callable[[], bytes]) -> Iterator[Prepared]:
        """The files of the plan as they are read, standard input first."""
        tasks = [task for task in plan.tasks if task.path != STDIN]
        size, read, number, workers = sum(task.size for task in tasks), 0, 0, 0
        if size >= SIDE_BY_SIDE:
            from memctl.ingest.workers import usual_workers

            workers = self.workers or usual_workers()
        if workers:
            self._to_come = size + FILE_CHARS * len(tasks)
        if len(tasks) < len(plan.tasks):
            number = 1
            yield self._prepare_stdin(stdin())
        for task, prepared in zip(tasks, read_tasks(self._preparer, self._hashed(tasks), workers), strict=True):
            number, read = number + 1, read + task.size
            self._to_come -= task.size + FILE_CHARS
            if self.progress:
                self.progress(Progress(number, len(plan.tasks), read, size, self._preparer.shown(prepared.path)))
            yield prepared

    def _hashed(self, tasks: Sequence[FileTask]) -> Iterator[FileTask]:
        """The tasks, those that may turn out to be the same with the hash that would say so."""
        for at in range(0, len(tasks), _GROUP):
            group = tasks[at : at + _GROUP]
            known = corpus.get_files(self.db, [task.path for task in group if task.is_current])
            for task in group:
                yield task._replace(sha256=known[task.path].sha256) if task.path in known else task

    def _prepare_stdin(self, data: bytes) -> Prepared:
        # Two different inputs are two documents: one name for both would make each supersede the other.
        limit = self.options.limits.bytes
        problem = "standard input is empty" if not data.strip() else ""
        problem = too_large(len(data), limit) if len(data) > limit else problem
        if problem:
            return Prepared("<stdin>", None, problem=problem)
        return self._preparer.prepare(f"<stdin:{ids.bytes_hash(data)[:12]}>", data)

    # --- one file after the other ----------------------------------------------------------------------------------

    def _take(self, prepared: Prepared) -> None:
        self._read += 1
        root, file = self.root, prepared.file
        if file is not None and root is not None and root.owner_of(file.path) is not root:
            file = file._replace(recipe=sign_recipe(root.owner_of(file.path).recipe, file.sha256))
            prepared = prepared._replace(file=file)
        if prepared.problem:
            self._fail(prepared.path, prepared.problem)
            if file is not None:  # what the store has of it is out of date, and it need not be tried again
                self._unread[file.path] = file
                self._lost[file.path] = ""
                if prepared.lasting and file.size is not None and file.mtime_ns and file.ctime_ns and file.inode:
                    reason = self._preparer.shown(prepared.problem)  # it may name a part of the file
                    unread = UnreadFile(file.size, file.mtime_ns, file.ctime_ns, file.inode, reason)
                    self._in_vain[file.path] = unread
            return
        for note in prepared.notes:
            self.warn(f"{self._preparer.shown(prepared.path)}: {note}")
        self._batch.append(prepared)
        self._chars += sum(len(p.content) for p in prepared.passages or ()) + FILE_CHARS
        if self._chars >= min(BATCH_CHARS, max(LAST_CHARS, self._to_come)):
            self._commit()

    def _fail(self, path: str, reason: str) -> None:
        shown = self._preparer.shown(path)
        self.outcome.failed.append(Target(shown, reason))
        if self.report:
            self.outcome.reports.append(FileReport(shown, "failed", 0, reason))
        self.warn(f"skipped {shown}: {reason}")

    def _commit(self) -> None:
        batch = self._batch  # it stays until it is stored: ^C may come in between
        if not batch:
            return
        moved, policy = self._moves.find([p.file for p in batch if p.file]), self._preparer.policy
        with events.judged_write(self.db, policy.switches if policy else None):
            writer = BatchWriter(
                self.db, self.options, policy, moved=moved, full=self.full, root=self.root, report=self.report
            )
            done = writer.write(batch)
        self._batch, self._chars = [], 0
        self.outcome.add(done)

    def _put_unread(self) -> None:
        """Remember what could not be read, until it changes or would be read in another way."""
        by: dict[str, dict[str, UnreadFile]] = {}
        for path, unread in self._in_vain.items():
            recipe = self.root.owner_of(path).recipe if self.root else self._preparer.recipe
            by.setdefault(recipe, {})[self._preparer.stored(path)] = unread
        for recipe, files in by.items():
            corpus.put_unread(self.db, files, recipe)

    def _archive_lost(self, lost: dict[str, str]) -> None:
        """Archive what is left of files that are gone; it is remembered, to come back with them."""
        done = IngestOutcome()
        with self.db.atomic():
            gone: dict[str, GoneFile] = {}
            past = corpus.get_gone(self.db, lost)
            known = corpus.get_files(self.db, lost)  # without those that were found elsewhere
            if self.careful and len(known) > max(FEW_FILES, self._there // 2):
                raise errors.TooManyGone(count=len(known), there=self._there)
            for file in known.values():
                if file.path in self._unread and self._unread[file.path].sha256 == file.sha256:
                    continue  # it cannot be read today, but what was read is what it is
                active = [i for i, old in items.get_summaries(self.db, file.item_ids).items() if not old.archived]
                done.archived += sum(items.archive(self.db, i, "ingest") for i in active)
                former = past[file.path].item_ids if file.path in past else ()
                gone[file.path] = GoneFile(file.sha256, (*file.item_ids, *former)[:FORMER])
                if lost[file.path]:
                    done.deleted += 1
                    done.reports += [lost_report(file.path, lost[file.path])] if self.report else []
            corpus.record_gone(self.db, {self._preparer.stored(path): one for path, one in gone.items()})
            corpus.forget_gone(self.db, [path for path in gone if self._preparer.stored(path) != path])
            corpus.forget_files(self.db, gone)
        self.outcome.add(done)
