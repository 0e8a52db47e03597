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
from memctl.ingest import delta
from memctl.ingest.moves import Moves
from memctl.ingest.outcome import FileReport, Outcome, lost_report
from memctl.ingest.prepare import Options, Prepared, Preparer, record, signed, too_large
from memctl.ingest.sources import STDIN, Target
from memctl.ingest.writer import FORMER, Writer
from memctl.store import rule_versions
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.documents.corpus import DocumentRoot, GoneFile, IngestedFile, UnreadFile
from memctl.store.items import items

if TYPE_CHECKING:
    from memctl.ingest.workers import Job
    from memctl.policy import MemoryPolicy

#: A batch is committed when it holds this many characters: large enough for one fsync to be cheap, small in memory, and
#: soon enough for the others to read on meanwhile.
BATCH_CHARS = 3_000_000
#: Where several processes read, smaller ones towards the end, as large as what is still to come: they wait for nobody,
#: and have nothing to do while the last one is written.
LAST_CHARS = 500_000
#: What a file counts beside its text.
FILE_CHARS = 1000
#: A careful run archives so many files without asking how many there are.
FEW_FILES = 5


class Progress(NamedTuple):
    """How far a run is: files and bytes done and in all. Before `files` is known (0), `done` are those found so far."""

    done: int
    files: int
    bytes_done: int
    bytes: int
    path: str


class Run(NamedTuple):
    """How a run goes, beside what `Options` says of each document.

    full     read and store every file anew, whatever it looks like
    report   keep a line for each file in `Outcome.reports`
    workers  processes that read files side by side; 0: one for each processor
    mount    the mount that the files lie in
    careful  archive nothing when more than half of the files, and more than a few, would go
    """

    full: bool = False
    report: bool = False
    workers: int = 1
    mount: DocumentRoot | None = None
    careful: bool = False


class Ingest:
    """One run over many files. `warn` takes one line per problem, `progress` how far it is."""

    def __init__(
        self,
        db: Database,
        options: Options,
        policy: "MemoryPolicy | None",
        *,
        warn: Callable[[str], None],
        progress: Callable[[Progress], None] | None = None,
        run: Run | None = None,
    ) -> None:
        self.db, self.options, self.how = db, options, run or Run()
        self.recipe = recipe_of(options, policy)
        self._preparer = Preparer(options, policy, self.recipe)
        self.warn, self.progress = warn, progress
        self.outcome = Outcome()
        self._taken = 0  # files that were read
        self._batch: list[Prepared] = []
        self._chars = 0
        self._to_come = inf  # what the files count that other processes are still to read
        self._lost: dict[str, str] = {}
        self._there = 0  # files that the store has had so far
        self._unread: dict[str, IngestedFile] = {}
        self._in_vain: dict[str, UnreadFile] = {}
        self._moves: Moves | None = None

    def run(self, targets: Iterable[Target], stdin: Callable[[], bytes], roots: Sequence[str] = ()) -> Outcome:
        """Ingest the targets. Files that cannot be read are reported and counted, the others go on.

        `roots`: folders (canonical paths) given as a whole; passages of files that disappeared from them are archived.
        """
        plan = self.plan(targets, roots)
        self._begin(plan)
        with passages.temp_tables_in_memory(self.db):
            self._follow(plan, stdin)
        return self.outcome

    def _follow(self, plan: delta.Plan, stdin: Callable[[], bytes]) -> None:
        """Do what the plan says."""
        try:
            for prepared in self._prepared(plan, stdin):
                self._take(prepared)
            self._commit()
            self._put_unread()
            self._lose(self._lost)
        except BaseException as exc:
            if not isinstance(exc, Exception):  # ^C, a signal: what is read is kept
                self._keep_what_is_done(plan)
            raise

    def plan(self, targets: Iterable[Target], roots: Sequence[str] = ()) -> delta.Plan:
        """What there is to do; nothing is read or written yet."""
        progress = self.progress
        looked = (lambda found: progress(Progress(found, 0, 0, 0, ""))) if progress else None
        return delta.plan(self.db, targets, roots, self.recipe, full=self.how.full, looked=looked, home=self.how.mount)

    def _begin(self, plan: delta.Plan) -> None:
        done = self.outcome
        done.files, done.unchanged = plan.files, len(plan.unchanged)
        if self.how.report:
            known = corpus.get_files(self.db, plan.unchanged)
            done.reports += [FileReport(path, "unchanged", len(known[path].item_ids)) for path in plan.unchanged]
        for target in plan.failed:
            self._fail(target.path, target.problem)
        self._lost = dict(plan.lost)
        self._there = len(plan.lost) + len(plan.unchanged) + sum(task.known for task in plan.tasks)
        corpus.forget_unread(self.db, plan.cured)
        self._moves = Moves(self.db, plan)

    def _prepared(self, plan: delta.Plan, stdin: Callable[[], bytes]) -> Iterator[Prepared]:
        if not plan.tasks:
            return
        from memctl.ingest.workers import Team, usual_workers

        with Team(self._preparer, self.how.workers or usual_workers()) as team:
            size, read, number = plan.bytes, 0, 0
            if team.is_side_by_side(size):
                self._to_come = size + FILE_CHARS * len(plan.tasks)
            if any(task.path == STDIN for task in plan.tasks):
                yield self._stdin(stdin())
                number += 1
            sizes = (task.size for task in plan.tasks if task.path != STDIN)
            for prepared, one in zip(team.prepare(self._jobs(plan), size), sizes, strict=True):
                number, read = number + 1, read + one
                self._to_come -= one + FILE_CHARS
                if self.progress:
                    self.progress(Progress(number, len(plan.tasks), read, size, self._preparer.shown(prepared.path)))
                yield prepared

    def _jobs(self, plan: delta.Plan) -> "Iterator[Job]":
        """The tasks, those that may turn out to be the same with the hash that would say so."""
        from memctl.ingest.workers import Job

        for group in _groups([task for task in plan.tasks if task.path != STDIN]):
            known = corpus.get_files(self.db, [task.path for task in group if task.current])
            for task in group:
                yield Job(task.path, task.size, known[task.path].sha256 if task.path in known else None)

    def _stdin(self, data: bytes) -> Prepared:
        # Two different inputs are two documents: one name for both would make each supersede the other.
        limit = self.options.limits.bytes
        problem = "standard input is empty" if not data.strip() else ""
        problem = too_large(len(data), limit) if len(data) > limit else problem
        if problem:
            return Prepared("<stdin>", None, problem=problem)
        sha256 = ids.bytes_hash(data)
        return self._preparer.prepare(record(f"<stdin:{sha256[:12]}>", sha256, len(data), None, 0), data)

    # --- one file after the other ----------------------------------------------------------------------------------

    def _take(self, prepared: Prepared) -> None:
        self._taken += 1
        prepared = self._filed(prepared)
        if prepared.problem:
            self._fail(prepared.path, prepared.problem)
            if prepared.file is not None:
                self._unread[prepared.path] = prepared.file
                self._note_unread(prepared, prepared.file)
            return
        for note in prepared.notes:
            self.warn(f"{self._preparer.shown(prepared.path)}: {note}")
        self._batch.append(prepared)
        self._chars += sum(len(p.content) for p in prepared.passages or ()) + FILE_CHARS
        if self._chars >= min(BATCH_CHARS, max(LAST_CHARS, self._to_come)):
            self._commit()

    def _filed(self, prepared: Prepared) -> Prepared:
        """The same, with the recipe of the mount that the file belongs to."""
        mount, file = self.how.mount, prepared.file
        if file is None or mount is None or mount.of(file.path) is mount:
            return prepared
        return prepared._replace(file=file._replace(recipe=signed(mount.of(file.path).recipe, file.sha256)))

    def _put_unread(self) -> None:
        """Remember what could not be read, until it changes or would be read in another way."""
        mount = self.how.mount
        by: dict[str, dict[str, UnreadFile]] = {}
        for path, unread in self._in_vain.items():
            by.setdefault(mount.of(path).recipe if mount else self.recipe, {})[self._preparer.stored(path)] = unread
        for recipe, files in by.items():
            corpus.put_unread(self.db, files, recipe)

    def _note_unread(self, prepared: Prepared, file: IngestedFile) -> None:
        """What the store has of a file that cannot be read now is out of date, and it need not be tried again."""
        self._lost[prepared.path] = ""
        if prepared.lasting and file.size is not None and file.mtime_ns and file.ctime_ns and file.inode:
            reason = self._preparer.shown(prepared.problem)  # it may name a part of the file
            self._in_vain[prepared.path] = UnreadFile(file.size, file.mtime_ns, file.ctime_ns, file.inode, reason)

    def _fail(self, path: str, reason: str) -> None:
        shown = self._preparer.shown(path)
        self.outcome.failed.append(Target(shown, reason))
        if self.how.report:
            self.outcome.reports.append(FileReport(shown, "failed", 0, reason))
        self.warn(f"skipped {shown}: {reason}")

    def _commit(self) -> None:
        batch = self._batch  # it stays until it is stored: ^C may come in between
        if not batch:
            return
        moved = self._moves.of([p.file for p in batch if p.file]) if self._moves else {}
        policy = self._preparer.policy
        with rule_versions.judged_write(self.db, policy.switches if policy else None):
            writer = Writer(
                self.db, self.options, moved=moved, full=self.how.full, mount=self.how.mount,
                policy=policy, reporting=self.how.report,
            )  # fmt: skip
            done = writer.write(batch)
        self._batch, self._chars = [], 0
        self.outcome.add(done)

    def _lose(self, lost: dict[str, str]) -> None:
        """Archive what is left of files that are gone; it is remembered, to come back with them."""
        if not lost:
            return
        tally = Outcome()
        with self.db.atomic():
            gone: dict[str, GoneFile] = {}
            past = corpus.get_gone(self.db, lost)
            known = corpus.get_files(self.db, lost)  # without those that were found elsewhere
            if self.how.careful and len(known) > max(FEW_FILES, self._there // 2):
                raise errors.TooManyGone(count=len(known), there=self._there)
            for file in known.values():
                if file.path in self._unread and self._unread[file.path].sha256 == file.sha256:
                    continue  # it cannot be read today, but what was read is what it is
                active = [i for i, old in items.get_summaries(self.db, file.item_ids).items() if not old.archived]
                tally.archived += sum(items.archive(self.db, i, "ingest") for i in active)
                former = past[file.path].item_ids if file.path in past else ()
                gone[file.path] = GoneFile(file.sha256, (*file.item_ids, *former)[:FORMER])
                if lost[file.path]:
                    tally.deleted += 1
                    self._report_lost(tally, file.path, lost[file.path])
            corpus.record_gone(self.db, {self._preparer.stored(path): one for path, one in gone.items()})
            corpus.forget_gone(self.db, [path for path in gone if self._preparer.stored(path) != path])
            corpus.forget_files(self.db, gone)
        self.outcome.add(tally)

    def _report_lost(self, tally: Outcome, path: str, why: str) -> None:
        if self.how.report:
            tally.reports.append(lost_report(path, why))

    def _keep_what_is_done(self, plan: delta.Plan) -> None:
        self._commit()
        if plan.tasks and self._taken:
            total = len(plan.tasks)
            self.warn(
                f"stopped after {self._taken} of {total} files; they are stored, the same command goes on from there"
            )


def recipe_of(options: Options, policy: "MemoryPolicy | None") -> str:
    """What a record says of how its file was cut, judged and filed."""
    return options.recipe("" if policy is None else rule_versions.name_rules(policy.switches))


def _groups(tasks: list[delta.Task], size: int = 500) -> Iterator[list[delta.Task]]:
    return (tasks[i : i + size] for i in range(0, len(tasks), size))
