"""Documents into the store, in bulk. Re-ingest is a diff: unchanged passages stay, changed ones supersede, gone ones
are archived. `push --source` and `ingest` share this one path.

Reading, cutting and judging happen outside the transaction; a batch is then compared with what the store holds and
written in one transaction, so that two runs at once, or a killed one, leave neither halves nor doubles.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from memctl import errors, ids
from memctl.ingest.prepare import Options, Passage, Prepared, Preparer, read_file, record, too_large
from memctl.ingest.sources import STDIN, Target
from memctl.store import corpus, items, links, sources
from memctl.store.connect import Database
from memctl.store.corpus import File
from memctl.store.items import Stored
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: A batch is committed when it holds this many characters: large enough for one fsync to be cheap, small in memory.
BATCH_CHARS = 8_000_000


class Outcome:
    """What a run did, in counts, and the item ids it made."""

    __slots__ = (
        "archived", "changed", "deleted", "failed", "files", "item_ids", "kept", "moved", "new", "quarantined",
        "redacted", "refiled", "superseded", "unchanged",
    )  # fmt: skip

    def __init__(self) -> None:
        self.files = 0  # files given
        self.new = self.changed = self.unchanged = 0  # files stored for the first time, changed, or skipped
        self.refiled = 0  # files whose text is as before, read again for other tags, scope, rules ...
        self.deleted = 0  # files that are gone from a folder that was given as a whole
        self.failed: list[Target] = []
        self.kept = self.superseded = self.archived = 0  # passages of changed files
        self.moved = 0  # kept passages that were in another scope
        self.redacted = self.quarantined = 0  # passages
        self.item_ids: list[str] = []


class Ingest:
    """One run over many files. `warn` takes one line per problem, `progress` (done so far, path)."""

    def __init__(
        self,
        db: Database,
        options: Options,
        policy: "MemoryPolicy | None",
        *,
        warn: Callable[[str], None],
        progress: Callable[[int, str], None] | None = None,
    ) -> None:
        self.db, self.options = db, options
        self._preparer = Preparer(options, policy)
        self.warn, self.progress = warn, progress
        self.outcome = Outcome()
        self._recipe = options.recipe(f"{_rules_version()} {policy.switches}" if policy else "")
        self._batch: list[Prepared] = []
        self._chars = 0

    def run(self, targets: Iterable[Target], stdin: Callable[[], bytes], folders: Iterable[str] = ()) -> Outcome:
        """Ingest the targets. Files that cannot be read are reported and counted, the others go on.

        `folders`: absolute paths given as a whole; passages of files that were deleted from them are archived.
        """
        for group in _groups(targets):
            known = corpus.known_files(self.db, [t.path for t in group if not t.problem])
            for target in group:
                self._one(target, known.get(target.path), stdin)
        self._commit()
        for folder in folders:
            self._forget_deleted(folder)
        return self.outcome

    def _forget_deleted(self, folder: str) -> None:
        below = os.path.join(folder, "")
        gone = [path for path in corpus.paths_below(self.db, below) if _is_gone(path)]
        if not gone:
            return
        with self.db.atomic():
            for file in corpus.known_files(self.db, gone).values():
                archived = [i for i in file.item_ids if items.archive(self.db, i, "ingest")]
                self.outcome.archived += len(archived)
            corpus.forget_files(self.db, gone)
        self.outcome.deleted += len(gone)

    def _one(self, target: Target, known: File | None, stdin: Callable[[], bytes]) -> None:
        self.outcome.files += 1
        if self.progress:
            self.progress(self.outcome.files, target.path)
        try:
            if target.problem:
                raise errors.DocumentUnreadable(path=target.path, reason=target.problem)
            if target.path == STDIN:
                self._stdin(stdin())
            elif not self._untouched(target.path, known):
                self._file(target.path, known)
        except errors.DocumentUnreadable as exc:
            reason = str(exc.fields.get("reason", exc.message))
            shown = self._preparer.shown(target.path)
            self.outcome.failed.append(Target(shown, reason))
            self.warn(f"skipped {shown}: {reason}")

    def _untouched(self, path: str, known: File | None) -> bool:
        """Whether size, nanosecond time and inode say that the file is as it was; otherwise its hash decides."""
        if known is None or known.mtime_ns is None or known.recipe != self._recipe_of(known.sha256):
            return False
        try:
            info = os.stat(path)
        except OSError:
            return False
        same = (info.st_size, info.st_mtime_ns, info.st_ino) == (known.size, known.mtime_ns, known.inode)
        self.outcome.unchanged += same
        return same

    def _file(self, path: str, known: File | None) -> None:
        data, info = read_file(path, self.options.max_bytes)
        file = self._record(path, data, info)
        if known is not None and known.sha256 == file.sha256 and known.recipe == file.recipe:
            self._add(Prepared(file, None, [], ()))  # only its time stamp is news
        else:
            self._add(self._preparer.prepare(file, data))

    def _stdin(self, data: bytes) -> None:
        if not data.strip():
            raise errors.DocumentUnreadable(path="<stdin>", reason="standard input is empty")
        if len(data) > self.options.max_bytes:
            raise errors.DocumentUnreadable(path="<stdin>", reason=too_large(len(data), self.options.max_bytes))
        # Two different inputs are two documents: one name for both would make each supersede the other.
        file = self._record(f"<stdin:{ids.bytes_hash(data)[:12]}>", data, None)
        self._add(self._preparer.prepare(file, data))

    def _record(self, path: str, data: bytes, info: os.stat_result | None) -> File:
        file = record(path, data, info)
        return file._replace(recipe=self._recipe_of(file.sha256))

    def _recipe_of(self, sha256: str) -> str:
        # With the hash in it, a record that another program has written since is known by its recipe not fitting.
        return f"{self._recipe}:{sha256[:12]}"

    def _add(self, prepared: Prepared) -> None:
        for note in prepared.notes:
            self.warn(f"{prepared.file.path}: {note}")
        self._batch.append(prepared)
        self._chars += sum(len(p.content) for p in prepared.passages or ()) + 1000
        if self._chars >= BATCH_CHARS:
            self._commit()

    def _commit(self) -> None:
        batch, self._batch, self._chars = self._batch, [], 0
        if not batch:
            return
        tally = Outcome()
        with self.db.atomic():
            known = corpus.known_files(self.db, [p.file.path for p in batch])
            foreign = [f.path for f in known.values() if not f.recipe.endswith(f":{f.sha256[:12]}")]
            writer = _Writer(self.db, self.options, tally, items.of_documents(self.db, foreign))
            files = [writer.file(prepared, known.get(prepared.file.path)) for prepared in batch]
            writer.flush()
            corpus.put_files(self.db, [file for file in files if file])
        _add_counts(self.outcome, tally)


def _add_counts(total: Outcome, part: Outcome) -> None:
    for name in (
        "new",
        "changed",
        "unchanged",
        "refiled",
        "kept",
        "moved",
        "superseded",
        "archived",
        "redacted",
        "quarantined",
    ):
        setattr(total, name, getattr(total, name) + getattr(part, name))
    total.item_ids += part.item_ids


class _Writer:
    """Collects the rows of a batch, so that they are written by a few bulk statements."""

    def __init__(self, db: Database, options: Options, tally: Outcome, found: dict[str, list[str]]) -> None:
        self.db, self.options, self.tally = db, options, tally
        self.found = found  # path -> active items, of files whose record another program or an import has written
        self.items: list[MemoryItem] = []
        self.places: dict[str, sources.Source] = {}
        self.withheld: dict[str, str] = {}
        self.rules: dict[str, tuple[str, ...]] = {}
        self.replaced: list[tuple[str, str | None]] = []  # old id, new id or None
        self.put_away: set[str] = set()  # old passages that were archived by somebody else
        self.now = ids.timestamp()  # one moment for the batch

    def file(self, prepared: Prepared, known: File | None) -> File | None:
        """Compare one file with what the store holds of it; the record to keep, None to leave the one there is."""
        if known is not None and known.sha256 == prepared.file.sha256 and known.recipe == prepared.file.recipe:
            self.tally.unchanged += 1
            return prepared.file._replace(item_ids=known.item_ids)
        if prepared.passages is None:  # another process has stored it anew since we looked: theirs is as new as ours
            self.tally.unchanged += 1
            return None
        held = self._held(known)
        if known is not None and known.sha256 == prepared.file.sha256:
            self.tally.refiled += 1
        elif held:
            self.tally.changed += 1
        else:
            self.tally.new += 1
        new_hashes = [ids.content_hash(p.content) for p in prepared.passages]
        kept, gone = _align(held, new_hashes)
        item_ids = [
            self._keep(old, passage, prepared.tags) if old else self._make(prepared, passage)
            for passage, old in zip(prepared.passages, kept, strict=True)
        ]
        self._succeed(_successors(held, kept, gone, item_ids), {old.id: old for old in gone})
        return prepared.file._replace(
            item_ids=tuple(item_ids), mount_id=known.mount_id if known else None,
            rel_path=known.rel_path if known else None, lang_hint=known.lang_hint if known else None,
        )  # fmt: skip

    def _succeed(self, pairs: list[tuple[str, str | None]], gone: dict[str, Stored]) -> None:
        """Let new passages stand for old ones; they take over tags that somebody gave the old."""
        self.replaced += pairs
        fresh = {item.id: item for item in self.items}
        for old_id, new_id in pairs:
            if new_id is not None and not gone[old_id].archived:
                fresh[new_id].tags = list(dict.fromkeys([*gone[old_id].tags, *fresh[new_id].tags]))

    def _held(self, known: File | None) -> list[Stored]:
        if known is None:
            return []
        held_ids = dict.fromkeys([*known.item_ids, *self.found.get(known.path, ())])
        found = items.stored(self.db, held_ids)
        self.put_away.update(old.id for old in found.values() if old.archived)
        return [found[i] for i in held_ids if i in found]

    def _make(self, prepared: Prepared, passage: Passage) -> str:
        path = prepared.file.path
        source = MemoryProvenance(
            "doc", path, [f"{path}:{passage.place.position}"], [f"sha256:{prepared.file.sha256}"], self.now
        )
        item = MemoryItem(
            title=passage.title, content=passage.content, tags=prepared.tags, provenance=source,
            scope=self.options.scope, corpus_id=self.options.corpus_id or "",
            injectable=self.options.injectable and not passage.quarantined, created_at=self.now, updated_at=self.now,
        )  # fmt: skip
        self.items.append(item)
        self.places[item.id] = passage.place
        self._count(item.id, passage)
        return item.id

    def _count(self, item_id: str, passage: Passage) -> None:
        self.tally.redacted += passage.redacted
        if passage.quarantined:
            self.tally.quarantined += 1
            self.withheld[item_id] = "policy"
            self.rules[item_id] = passage.quarantined
        elif not self.options.injectable:
            self.withheld[item_id] = "raw"

    def _keep(self, old: Stored, passage: Passage, tags: list[str]) -> str:
        """An unchanged passage keeps its item; its place moves along, and what this run adds is added."""
        self.tally.kept += 1
        self.places[old.id] = passage.place
        if old.archived:  # somebody put it away: that its document is read again does not bring it back
            return old.id
        changes: dict[str, object] = {}
        merged = list(dict.fromkeys([*old.tags, *tags]))
        if merged != list(old.tags):
            changes["tags"] = merged
        if old.scope != self.options.scope:
            changes["scope"] = self.options.scope
            self.tally.moved += 1
        if self.options.corpus_id and old.corpus_id != self.options.corpus_id:
            changes["corpus_id"] = self.options.corpus_id
        if passage.quarantined:  # newer rules may see what older ones did not
            items.set_withheld(self.db, old.id, "policy", passage.quarantined)
            if old.injectable:
                changes["injectable"] = False
        if changes:
            items.update(self.db, old.id, changes, "ingest", compact=True)
        if self.options.injectable and not old.injectable and not passage.quarantined:
            items.release_raw(self.db, [old.id], "ingest")
        return old.id

    def flush(self) -> None:
        """Write what was collected."""
        items.write_many(self.db, self.items, "ingest", compact=True)
        sources.put_many(self.db, self.places)
        for item_id, why in self.withheld.items():
            items.set_withheld(self.db, item_id, why, self.rules.get(item_id, ()))
        for old_id, new_id in self.replaced:
            if old_id in self.put_away:
                continue
            items.archive(self.db, old_id, "ingest", superseded_by=new_id)
            if new_id is None:
                self.tally.archived += 1
            else:
                self.tally.superseded += 1
                links.put(self.db, new_id, old_id, "supersedes")
        self.tally.item_ids += [item.id for item in self.items]


def _align(held: list[Stored], new_hashes: list[str]) -> tuple[list[Stored | None], list[Stored]]:
    """For each new passage the old one with the same content (each used once, in order), and the old ones left."""
    waiting: dict[str, deque[Stored]] = {}
    for old in held:
        waiting.setdefault(old.content_hash, deque()).append(old)
    kept = [waiting[h].popleft() if waiting.get(h) else None for h in new_hashes]
    used = {old.id for old in kept if old}
    return kept, [old for old in held if old.id not in used]


def _successors(
    held: list[Stored], kept: list[Stored | None], gone: list[Stored], item_ids: list[str]
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


def _is_gone(path: str) -> bool:
    # Only "there is no such file": a folder that may not be entered, say, proves nothing.
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _rules_version() -> str:
    from memctl.policy import RULES_VERSION

    return RULES_VERSION


def _groups(targets: Iterable[Target], size: int = 500) -> Iterator[list[Target]]:
    group: list[Target] = []
    for target in targets:
        group.append(target)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
