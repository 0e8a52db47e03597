"""Documents into the store, in bulk. Re-ingest is a diff: unchanged passages stay, changed ones supersede, gone ones
are archived. `push --source`, `ingest` and `sync` share this one path.

Reading, cutting and judging happen outside the transaction, in several processes where that pays; a batch is then
compared with what the store holds and written in one transaction, so that two runs at once, or a killed one, leave
neither halves nor doubles.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from memctl import errors, ids
from memctl.ingest.plan import (
    FileReport,
    FileStatus,
    IngestOutcome,
    IngestPlan,
    MovedFiles,
    is_same_file,
    lost_report,
    make_plan,
    read_tasks,
)
from memctl.ingest.prepare import FileTask, Options, Prepared, PreparedPassage, Preparer, inferred_tags
from memctl.ingest.sources import STDIN, Target
from memctl.item_policy import ItemPolicy
from memctl.paths import too_large
from memctl.store import purge
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.documents.corpus import DocumentRoot, GoneFile, IngestedFile, UnreadFile
from memctl.store.documents.passages import PassageRows
from memctl.store.items import attributes, events, items
from memctl.store.items.items import ItemSummary
from memctl.store.quarantine import standings
from memctl.types import MemoryProvenance

if TYPE_CHECKING:
    from memctl.citing import Follower, Pieces
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
#: How many archived passages of a file are remembered, to come back when their text does.
FORMER = 1000

#: Takes how far a run is: files and bytes done and in all (done, files, bytes done, bytes), and the file at hand.
#: Before the number of files is known (0), `done` are those found so far.
Progress = Callable[[int, int, int, int, str], None]


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
        progress: Progress | None = None,
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
        self._citations: Follower | None = None

    def run(self, targets: Iterable[Target], stdin: Callable[[], bytes], folders: Sequence[str] = ()) -> IngestOutcome:
        """Ingest the targets. Files that cannot be read are reported and counted, the others go on.

        `folders`: canonical paths given as a whole; passages of files that disappeared from them are archived.
        """
        progress = self.progress
        looked = (lambda found: progress(found, 0, 0, 0, "")) if progress else None
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
        with passages.temp_tables_in_memory(self.db):
            try:
                for prepared in self._prepared(plan, stdin):
                    self._take(prepared)
                self._commit()
                if self._lost:
                    self._archive_lost(self._lost)
                if done.purged:
                    self.warn(f"{done.purged} passage(s) were purged before, and are not stored again")
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
            data, limit = stdin(), self.options.limits.bytes
            problem = "standard input is empty" if not data.strip() else ""
            problem = too_large(len(data), limit) if len(data) > limit else problem
            # Two different inputs are two documents: one name for both would make each supersede the other.
            name = f"<stdin:{ids.bytes_hash(data)[:12]}>"
            yield Prepared("<stdin>", None, problem=problem) if problem else self._preparer.prepare(name, data)
        for task, prepared in zip(tasks, read_tasks(self._preparer, self._hashed(tasks), workers), strict=True):
            number, read = number + 1, read + task.size
            self._to_come -= task.size + FILE_CHARS
            if self.progress:
                self.progress(number, len(plan.tasks), read, size, self._preparer.shown(prepared.path))
            yield prepared

    def _hashed(self, tasks: Sequence[FileTask]) -> Iterator[FileTask]:
        """The tasks, those that may turn out to be the same with the hash that would say so."""
        for at in range(0, len(tasks), _GROUP):
            group = tasks[at : at + _GROUP]
            known = corpus.get_files(self.db, [task.path for task in group if task.is_current])
            for task in group:
                yield task._replace(sha256=known[task.path].sha256) if task.path in known else task

    # --- one file after the other ----------------------------------------------------------------------------------

    def _take(self, prepared: Prepared) -> None:
        self._read += 1
        root, file = self.root, prepared.file
        if file is not None and root is not None and root.owner_of(file.path) is not root:
            file = file._replace(recipe=f"{root.owner_of(file.path).recipe}:{file.sha256[:12]}")
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
            texts = {
                one.path: [(p.place.line_start, p.content) for p in one.passages]
                for one in batch if one.passages is not None
            }  # fmt: skip
            self._follow(texts, {new: old for new, old in moved.items() if new in writer.moved})
        self._batch, self._chars = [], 0
        self.outcome.add(done)

    def _follow(self, documents: "Mapping[str, Pieces | None]", moved: dict[str, str]) -> None:
        """Let what statements cite follow these documents, where there is any."""
        if self._citations is None and corpus.is_cited(self.db):
            from memctl.citing import Follower

            self._citations = Follower(self.db)
        if self._citations is not None:
            self._citations.follow(documents, moved)

    def _archive_lost(self, lost: dict[str, str]) -> None:
        """Archive what is left of files that are gone; it is remembered, to come back with them.

        What could not be read is remembered, too, until it changes or would be read in another way.
        """
        in_vain: dict[str, dict[str, UnreadFile]] = {}
        for path, unread in self._in_vain.items():
            recipe = self.root.owner_of(path).recipe if self.root else self._preparer.recipe
            in_vain.setdefault(recipe, {})[self._preparer.stored(path)] = unread
        for recipe, files in in_vain.items():
            corpus.put_unread(self.db, files, recipe)
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
            corpus.forget_files(self.db, [path for path in gone if self._preparer.stored(path) != path], gone=True)
            corpus.forget_files(self.db, gone)
            self._follow(dict.fromkeys(gone), {})
        self.outcome.add(done)


# --- a batch against the store --------------------------------------------------------------------------------------


class BatchWriter:
    """Writes one batch, inside the caller's transaction, by a few bulk statements.

    policy  what judged the passages
    moved   where a file of the batch may have been before: new path -> old path
    full    files are taken as changed even if nothing says so
    root    the mount that the files lie in: it, or the innermost one within, says where they are filed
    report  keep a line for each file
    """

    def __init__(
        self,
        db: Database,
        options: Options,
        policy: "MemoryPolicy | None",
        *,
        moved: dict[str, str],
        full: bool,
        root: DocumentRoot | None,
        report: bool,
    ) -> None:
        self.db, self.options, self.policy, self.full, self.root, self.report = db, options, policy, full, root, report
        self.done = IngestOutcome()
        self._moved = moved
        self.moved: set[str] = set()  # new paths of files that are what they were elsewhere
        self._known: dict[str, IngestedFile] = {}
        self._past: dict[str, GoneFile] = {}  # by path: what was archived of it earlier on
        self._former: dict[str, GoneFile] = {}  # the same as it will be
        self._back: list[str] = []  # passages that are active again
        self._found: dict[str, list[str]] = {}  # active items, of files whose record another program has written
        self._ids: Iterator[str] = iter(())  # for new passages
        self._rows: list[tuple[Any, ...]] = []  # of them
        self._places: dict[str, passages.SourcePosition] = {}
        self._withheld: dict[str, tuple[str, tuple[str, ...]]] = {}  # item -> why, and the rules that say so
        self._replaced: list[tuple[str, str | None]] = []  # old id, new id or None
        self._away: set[str] = set()  # old passages that are archived
        self._now = ids.timestamp()  # one moment for the batch
        self._purged: set[str] = set()  # hashes of passages that nobody wants back

    def write(self, batch: Sequence[Prepared]) -> IngestOutcome:
        """Write the batch; what was done, to be counted once the transaction is through."""
        paths = [*(prepared.path for prepared in batch), *self._moved.values()]
        self._known = corpus.get_files(self.db, paths)
        self._past = corpus.get_gone(self.db, paths)
        foreign = [f.path for f in self._known.values() if not f.recipe.endswith(f":{f.sha256[:12]}")]
        self._found = items.passages_by_document(self.db, foreign) if foreign else {}
        self._ids = iter(ids.new_ids("MEM", sum(len(prepared.passages or ()) for prepared in batch)))
        made = (passage.content_hash for prepared in batch for passage in prepared.passages or ())
        self._purged = purge.purged_hashes(self.db, made)
        files = [self._file(prepared, prepared.file) for prepared in batch if prepared.file]
        if len(self._rows) >= passages.WORTHWHILE:
            places = [self._places.pop(row[0]) for row in self._rows]
            passages.bulk_insert(self.db, self._rows, places, "ingest")
        else:
            items.write_rows(self.db, self._rows, "ingest")
        passages.set_positions(self.db, self._places)
        if self._back:
            corpus.unlink_superseding(self.db, self._back)
        items.set_withheld(self.db, self._withheld)
        replaced = [(old_id, new_id) for old_id, new_id in self._replaced if old_id not in self._away]
        for old_id, new_id in replaced:
            items.archive(self.db, old_id, "ingest", superseded_by=new_id)
            if new_id is None:
                self.done.archived += 1
            else:
                self.done.superseded += 1
                attributes.add_link(self.db, new_id, old_id, "supersedes")
        if replaced:
            attributes.inherit_importance(self.db, [(old_id, new_id) for old_id, new_id in replaced if new_id])
        self.done.item_ids += [row[0] for row in self._rows]
        kept = [file for file in files if file]
        corpus.put_files(self.db, kept)
        corpus.forget_unread(self.db, [file.path for file in kept])
        if self._former:
            corpus.forget_files(self.db, [path for path, gone in self._former.items() if not gone.item_ids], gone=True)
            corpus.record_gone(self.db, {path: gone for path, gone in self._former.items() if gone.item_ids})
        return self.done

    # --- one file --------------------------------------------------------------------------------------------------

    def _file(self, prepared: Prepared, file: IngestedFile) -> IngestedFile | None:
        """Compare one file with what the store holds of it; the record to keep, None to leave the one there is."""
        known = self._known.get(file.path)
        if self.root is not None:  # the mount it belongs to; where none of ours is given, the one it had
            owner = self.root.owner_of(file.path)
            rel_path = file.path.removeprefix(owner.prefix)
            file = file._replace(mount_id=owner.mount_id, rel_path=rel_path, lang_hint=owner.lang_hint)
        elif known is not None:
            file = file._replace(mount_id=known.mount_id, rel_path=known.rel_path, lang_hint=known.lang_hint)
        same = known is not None and known.sha256 == file.sha256
        full = self.full and (self.root is None or self.root.forces(file.path))
        if same and known and (prepared.passages is None or (known.recipe == file.recipe and not full)):
            self.done.count("unchanged", file.path, len(known.item_ids), report=self.report)
            recipe = known.recipe if prepared.passages is None else file.recipe
            return file._replace(item_ids=known.item_ids, recipe=recipe)
        if prepared.passages is None:  # another process has stored it anew since we looked: theirs is as new as ours
            self.done.count("unchanged", file.path, report=self.report)
            return None
        status: FileStatus = "refiled" if same else "changed" if known else "new"
        was = self._moved.get(file.path, "") if known is None else ""
        if was:
            known = self._known.get(was)
            if is_same_file(self.db, file, prepared.passages, known, self._past.get(was)):
                corpus.forget_files(self.db, [was])
                self.moved.add(file.path)
            else:
                was, known = "", None
        item_ids = self._compare(prepared, file, known, was)
        self.done.count(
            "moved" if was else status, file.path, len(item_ids), f"was {was}" if was else "", report=self.report
        )
        return file._replace(item_ids=tuple(item_ids))

    def _compare(self, prepared: Prepared, file: IngestedFile, known: IngestedFile | None, was: str) -> list[str]:
        """Keep, bring back or make each passage of a file that was at `was` before; their ids, in order."""
        scope = self.options.scope if self.root is None else self.root.owner_of(file.path).scope
        rows = PassageRows(
            file.path, file.sha256, tags=prepared.tags, scope=scope, corpus_id=self.options.corpus_id, now=self._now
        )
        held: list[ItemSummary] = []
        if known is not None:
            held_ids = list(dict.fromkeys([*known.item_ids, *self._found.get(file.path, ())]))
            found = items.get_summaries(self.db, held_ids)
            held = [found[i] for i in held_ids if i in found]
            self._away.update(one.id for one in held if one.archived)
        held_hashes, wanted = {one.content_hash for one in held}, prepared.passages or []
        new = [one for one in wanted if one.content_hash not in self._purged or one.content_hash in held_hashes]
        self.done.purged += len(wanted) - len(new)
        if known is None and not was and file.path not in self._past:  # nothing to compare it with
            return [self._make(next(self._ids), passage, rows) for passage in new]
        kept, gone = _align(held, [passage.content_hash for passage in new])
        missing = [passage.content_hash for passage, one in zip(new, kept, strict=True) if not one]
        again = self._again(file, was, missing, gone)
        before = [one or again.popleft() for one in kept]
        item_ids = [one.id if one else next(self._ids) for one in before]
        pairs = _successors(held, kept, gone, item_ids)
        self._replaced += pairs
        given = {old.id: old.tags for old in gone if not old.archived}
        heirs = {new_id: given[old_id] for old_id, new_id in pairs if new_id and old_id in given}
        for item_id, passage, one in zip(item_ids, new, before, strict=True):
            if one:
                self._keep(one, passage, prepared, file, scope, was)
            else:  # it takes over the tags that somebody gave the old one
                tags = [*heirs.pop(item_id), *prepared.tags] if item_id in heirs else None
                self._make(item_id, passage, rows, tags and list(dict.fromkeys(tags)))
        for item_id, old_tags in heirs.items():  # passages that came back
            if (heir := items.get(self.db, item_id)) and not set(old_tags) <= set(heir.tags):
                tags = list(dict.fromkeys([*heir.tags, *old_tags]))
                items.update(self.db, item_id, {"tags": tags}, "ingest", compact=True)
        return item_ids

    def _again(
        self, file: IngestedFile, was: str, hashes: list[str], gone: list[ItemSummary]
    ) -> deque[ItemSummary | None]:
        """For each of these hashes the passage that was archived of this file earlier on, if there is one; notes which
        ones are now.
        """
        paths = [path for path in (file.path, was) if path in self._past]
        past = list(dict.fromkeys(i for path in paths for i in self._past[path].item_ids))
        stored = items.get_summaries(self.db, past) if past and hashes else {}
        found, _ = _align([stored[i] for i in past if i in stored], hashes)
        away = [old.id for old in found if old and old.archived]
        self._back += corpus.archived_by_ingest(self.db, away) if away else []
        used = {old.id for old in found if old}
        former = [*(old.id for old in gone), *(i for i in past if i not in used)]
        self._former |= {path: GoneFile(file.sha256, ()) for path in paths}
        if former:
            self._former[file.path] = GoneFile(file.sha256, tuple(former[:FORMER]))
        return deque(found)

    # --- one passage -----------------------------------------------------------------------------------------------

    def _make(
        self, item_id: str, passage: PreparedPassage, rows: PassageRows, tags: Sequence[str] | None = None
    ) -> str:
        """A new passage; with `tags` where it has others than its file."""
        self._rows.append(rows.row(
            item_id, passage.title, passage.content, passage.content_hash, position=passage.place.position or 0,
            injectable=self.options.injectable and not passage.quarantined, tags=tags,
        ))  # fmt: skip
        self._places[item_id] = passage.place
        self.done.redacted += passage.redacted
        if passage.quarantined:
            self.done.quarantined += 1
            self._withheld[item_id] = ("policy", passage.quarantined)
        elif not self.options.injectable:
            self._withheld[item_id] = ("raw", ())
        return item_id

    def _keep(
        self, old: ItemSummary, passage: PreparedPassage, prepared: Prepared, file: IngestedFile, scope: str, was: str
    ) -> None:
        """An unchanged passage keeps its item; its place moves along, and what this run adds is added."""
        self._places[old.id] = passage.place
        back = old.id in self._back
        if old.archived and not back:  # somebody put it away: that its document is read again does not bring it back
            self.done.kept += 1
            return
        changes: dict[str, object] = {}
        tags = list(dict.fromkeys([*old.tags, *prepared.tags]))
        if tags != list(old.tags):
            changes["tags"] = tags
        if old.scope != scope:
            changes["scope"] = scope
            self.done.rescoped += 1
        if self.options.corpus_id and old.corpus_id != self.options.corpus_id:
            changes["corpus_id"] = self.options.corpus_id
        if passage.quarantined and not self._is_released(old, passage.quarantined):
            # Newer rules see what older ones did not.
            items.set_withheld(self.db, {old.id: ("policy", passage.quarantined)})
            changes |= {"injectable": False} if old.injectable else {}
        self.done.restored += back
        self.done.kept += not back
        if back:
            changes |= {"archived": False, "superseded_by": None}
        if was:
            changes |= self._moved_changes(old, passage, prepared, file, was)
        if changes:
            items.update(self.db, old.id, changes, "ingest", compact=True)
        if self.options.injectable and not old.injectable and not passage.quarantined:
            items.release_raw(self.db, [old.id], "ingest")

    def _moved_changes(
        self, old: ItemSummary, passage: PreparedPassage, prepared: Prepared, file: IngestedFile, was: str
    ) -> dict[str, object]:
        """What a passage says of where it is: source, tags of the old folder, and a title made from the old name."""
        chunk = f"{file.path}:{passage.place.position}"
        source = MemoryProvenance("doc", file.path, [chunk], [f"sha256:{file.sha256}"], self._now)
        changes: dict[str, object] = {"provenance": source.to_dict()}
        if self.options.infer:
            stale = set(inferred_tags(was)) - set(prepared.tags)
            changes["tags"] = list(dict.fromkeys([*(t for t in old.tags if t not in stale), *prepared.tags]))
        item = items.get(self.db, old.id)
        if item is not None and item.title.startswith(os.path.splitext(os.path.basename(was))[0]):
            changes["title"] = passage.title
        return changes

    def _is_released(self, old: ItemSummary, rules: tuple[str, ...]) -> bool:
        """Whether a person has let this passage, as it is, out of a quarantine that covers these rules."""
        found = standings(self.db, items.get_many(self.db, [old.id]))
        return self.policy is not None and ItemPolicy(self.policy).is_released(found[old.id], rules)


def _align(held: list[ItemSummary], new_hashes: list[str]) -> tuple[list[ItemSummary | None], list[ItemSummary]]:
    """For each new passage the old one with the same content (each used once, in order), and the old ones left."""
    waiting: dict[str, deque[ItemSummary]] = {}
    for old in held:
        waiting.setdefault(old.content_hash, deque()).append(old)
    kept = [waiting[h].popleft() if waiting.get(h) else None for h in new_hashes]
    used = {old.id for old in kept if old}
    return kept, [old for old in held if old.id not in used]


def _successors(
    held: list[ItemSummary], kept: list[ItemSummary | None], gone: list[ItemSummary], item_ids: list[str]
) -> list[tuple[str, str | None]]:
    """Which new passage stands for each old one that is gone: the one made after the same unchanged neighbour."""
    made: dict[str, deque[str]] = {}
    before = ""
    for old, item_id in zip(kept, item_ids, strict=True):
        if old:
            before = old.id
        else:
            made.setdefault(before, deque()).append(item_id)
    lost = {old.id for old in gone}
    out: list[tuple[str, str | None]] = []
    before = ""
    for old in held:
        if old.id in lost:
            heirs = made.get(before)
            out.append((old.id, heirs.popleft() if heirs else None))
        else:
            before = old.id
    return out
