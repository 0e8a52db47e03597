"""Lines into a store: each validated, judged by policy, compared with what is there; all of it or nothing.

Same or not. A line without a counterpart is imported. Its counterpart is an item of the same scope and content that is
just as alive (an archived item is none for an active line); a passage of a document has one only in the same place of
the same document. Two lines of one file are the same only if their titles, types and sources are, too: a backup
restores what it was made of. A counterpart gets the tags it lacks, and a higher importance. An item that is held back
is no counterpart of a line that may be injected.

Without `preserve_ids` every item gets a new id, references among the lines are rewritten to the new ones, and
statements are brought into the form that every write gives them; with it, what comes back is what was exported. A
complete export keeps its ids in any case, and brings what stands beside its items (`import_records`).
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memctl import citing, ids
from memctl.item_policy import REFUSED, ItemPolicy, references, tidy_statement
from memctl.lifecycle.import_records import RecordImport, RecordRefused
from memctl.lifecycle.jsonl import (
    HEADER,
    LINE_BYTES,
    InvalidLine,
    ItemLine,
    RecordLine,
    parse_line,
    read_item,
    read_record,
    set_aside,
)
from memctl.store import purge, quarantine
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.items import citations, events
from memctl.store.items import items as store
from memctl.store.items.attributes import ImportanceChanges
from memctl.store.search import rebuild
from memctl.text import clean, source_trust
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: Lines that are read and written at once.
BATCH = 1000
#: Bytes that may be in memory at once of lines as they lie in a file, and what each takes beside them once it is read.
_AT_ONCE, _LINE_OBJECTS = 16 * 1024 * 1024, 1000
#: Lines with problems that are told one by one; the counts say the rest.
_MOST_TOLD = 20
#: The tool that took a model's line, where the line may name no source of its own.
_TOOL = "memory_import"


class ImportCounts:
    """What became of the lines.

    imported, skipped_dedup, skipped_policy, skipped_conflict and errors together are total_lines. Of the imported,
    some are restored (archived here, active in the file, the same id), redacted or quarantined; of the duplicates,
    some are merged (their new tags or higher importance went to the item that is there). `records` are those of the
    imported that are no items, by kind.
    """

    total_lines = imported = skipped_dedup = skipped_policy = skipped_conflict = errors = 0
    merged = redacted = quarantined = restored = 0

    def __init__(self) -> None:
        self.records: dict[str, int] = {}


class _JudgedLine(NamedTuple):
    """A line that may be imported.

    rules       hold it back, by what it says itself and by what policy finds in it
    free_until  the end of an item that may be injected by what the line says; None: it may not
    """

    place: str
    line: ItemLine
    redacted: bool
    rules: tuple[str, ...]
    is_quarantined: bool
    free_until: tuple[str | None] | None


class _ItemKey(NamedTuple):
    """What makes two items the same; `place` is where a passage stands in its document, () for a statement."""

    content_hash: str
    scope: str
    gone: bool
    place: tuple[str, ...]


#: Lines as they may be stored, records with where they stand.
_Batch = list[_JudgedLine | tuple[str, RecordLine]]
#: A line as it lies in a file, as a reader of another format has made it (a value, or why there is none), or None for
#: one that is too long.
GivenLine = bytes | dict[str, object] | InvalidLine | None


def import_lines(
    db: Database | None,
    policy: "MemoryPolicy",
    lines: Iterable[tuple[int | str, GivenLine]],
    *,
    preserve_ids: bool = False,
    dry_run: bool = False,
    vouched: bool = True,
    released: bool = False,
    warn: Callable[[str], None],
    progress: Callable[[str], None] = lambda _: None,
) -> ImportCounts:
    """Import every line, in one transaction; the counts. All lines are judged before it begins.

    lines    where each stands (the number of a line, or words), and what stands there
    db       None for a store that does not exist yet (only in a dry run)
    dry_run  count, write nothing
    vouched  a person says that the lines are what they say they are; those of a model are not (see
             `distrust_line`), and bring nothing back that is archived here, be it under another id, title or scope
    released a person says that what was released from quarantine there stays so here
    warn     takes one line per problem
    """
    run = _ImportRun(db, policy, preserve_ids=preserve_ids, dry_run=dry_run, vouched=vouched, warn=warn)
    run.records.takes_releases = released and vouched
    batches = run.read_batches(lines, progress)
    if db is None or dry_run:
        for read in batches:
            run.take_batch(None, read)
        run.counts.quarantined -= run.records.let_go(None)
    else:
        with set_aside(batches, run.has_read_little) as judged, events.judged_write(db, policy.switches):
            run.records.begin(db)
            for read in judged:
                run.take_batch(db, read)
            run.finish(db)
    if run.told > _MOST_TOLD:
        warn(f"[import] … and {run.told - _MOST_TOLD} more lines with problems")
    if run.records.orphans:
        count = f"{run.records.orphans} time(s) a record stands beside an item that is not here"
        warn(f"[import] {count}; memctl doctor --fix takes such records away")
    return run.counts


class _ImportRun:
    """One run over one stream."""

    def __init__(
        self,
        db: Database | None,
        policy: "MemoryPolicy",
        *,
        preserve_ids: bool,
        dry_run: bool,
        vouched: bool,
        warn: Callable[[str], None],
    ) -> None:
        self.db, self.policy, self.preserve_ids, self.dry_run = db, policy, preserve_ids, dry_run
        self.vouched, self.warn, self.told = vouched, warn, 0
        self.counts = ImportCounts()
        self.alias: dict[str, str] = {}  # a line's id -> the id it has here, where that is another one
        self.waiting: dict[str, list[str]] = {}  # an id that no line had yet -> items that refer to it
        self.written: set[str] = set()  # ids that this run made or met by id
        self.fresh: set[str] = set()  # ids that this run made
        self.size = 0  # of what was read, in bytes
        self.citing: set[str] = set()  # those of which that may cite something
        self.refused: set[str] = set()  # ids of lines that policy refused
        self.documents: set[str] = set()  # whose passages came in
        self.records = RecordImport(policy, self._judge_state, self.alias, self.fresh, self.refused)
        self.counts.records = self.records.counts
        self.seen: dict[tuple[object, ...], str] = {}  # what the lines (of this batch) are -> their ids here
        self.keys: dict[str, _ItemKey] = {}  # ids (of this batch) -> what they are
        # What is here of this batch: items by the lines' ids, items by key, ids of what is held back, hashes of
        # what is archived.
        self.by_id: dict[str, MemoryItem] = {}
        self.there: dict[_ItemKey, list[MemoryItem]] = {}
        self.held: set[str] = set()
        self.archived: set[str] = set()
        self.purged: set[str] = set()  # hashes and ids of what somebody purged here
        self.protected: set[str] = set()  # ids of what a tool may not change
        self.batch: dict[str, MemoryItem] = {}  # what is to be written of this batch, and what is to change
        self.changed: dict[str, MemoryItem] = {}
        self.importance = ImportanceChanges()

    def _tell(self, message: str) -> None:
        self.told += 1
        if self.told <= _MOST_TOLD:
            self.warn(f"[import] {message}")

    def read_batches(
        self, lines: Iterable[tuple[int | str, GivenLine]], progress: Callable[[str], None]
    ) -> "Iterator[_Batch]":
        """The lines that may be stored, judged, as many at a time as are in memory at once."""
        numbered = iter(lines)
        while batch := list(islice(numbered, BATCH)):
            sizes = [len(data) if isinstance(data, bytes) else LINE_BYTES for _, data in batch]
            self.size += sum(sizes) + _LINE_OBJECTS * len(batch)
            placed = ((f"line {at}" if isinstance(at, int) else clean.one_line(at), data) for at, data in batch)
            yield [line for place, data in placed if (line := self.read_line(place, data)) is not None]
            progress(f"[import] {self.counts.total_lines} lines")

    def has_read_little(self) -> bool:
        """Whether all lines that were read until now may be in memory at once."""
        return self.size <= _AT_ONCE

    def take_batch(self, db: Database | None, read: "_Batch") -> None:
        """Bring a batch in; without a store to write to, only count."""
        lines = [line for line in read if isinstance(line, _JudgedLine)]
        self.batch, self.changed = {}, {}
        self.importance = ImportanceChanges()
        if not self.dry_run:
            self.seen, self.keys = {}, {}  # the store itself knows what earlier batches wrote
        if self.db is not None:
            self._look_up(self.db, [judged.line for judged in lines])
        chosen = [judged for judged in lines if self._decide(judged)]
        if db is not None:
            made = [judged.line.item for judged in chosen]
            for item in made:
                self.rewrite_references(item, waiting=self.waiting)
            store.write_many(db, made, "import", compact=True)
            reasons = [
                (j, "policy" if j.is_quarantined else j.line.withheld) for j in chosen if not j.line.item.injectable
            ]
            store.set_withheld(db, {j.line.item.id: (reason, j.rules) for j, reason in reasons if reason})
            passages.set_positions(db, {j.line.item.id: j.line.place for j in chosen if j.line.place is not None})
            self.importance.write(db)
            self.citing.update(item.id for item in made if item.id in self.fresh and citing.may_cite(item))
            self.documents.update(item.provenance.source_id for item in made if item.provenance.is_passage)
            for item in self.changed.values():
                item.touch()
            store.write_many(db, list(self.changed.values()), "merge")
        for line in read:
            if not isinstance(line, _JudgedLine):
                self.take_record(*line)

    # --- one line ------------------------------------------------------------------------------------------------

    def read_line(self, place: str, data: GivenLine) -> "_JudgedLine | tuple[str, RecordLine] | None":
        """The line as it may be stored; None when it is none, or policy refuses it."""
        self.counts.total_lines += 1
        try:
            if data is None:
                raise InvalidLine(f"longer than {LINE_BYTES // 1024 // 1024} MB")
            if isinstance(data, InvalidLine):
                raise data
            value = parse_line(data) if isinstance(data, bytes) else data
            if isinstance(value, dict) and isinstance(value.get("record"), str) and "content" not in value:
                if not self.vouched:
                    raise InvalidLine("a tool brings items only")
                if value["record"] != HEADER["record"]:
                    return place, self.records.judge(read_record(value))
                if value.get("version") != HEADER["version"]:
                    raise InvalidLine("it is the export of a newer memctl, of which this one may not know all")
                self.counts.total_lines -= 1  # it says how the lines are meant, and is none of them
                self.preserve_ids = self.records.is_complete = True
                return None
            is_backup = self.preserve_ids and self.vouched  # it comes back as it was
            line = read_item(value)
            if not self.vouched:
                line = distrust_line(self.db, line)
            if not (is_backup or line.item.provenance.is_passage):  # a passage stays as it is in its document
                tidy_statement(line.item)
            if clean.is_blank(line.item.content) and not (self.preserve_ids and line.item.title.strip()):
                raise InvalidLine("content is blank")
        except (InvalidLine, RecordRefused) as exc:
            self._tell_record(place, exc)
            return None
        judged, reasons = _judge_line(self.policy, place, line)
        if judged is None:
            self.counts.skipped_policy += 1
            self.refused.add(line.given_id)
            self._tell(f"Rejected by policy on {place}: {'; '.join(reasons)}")
        return judged

    def take_record(self, place: str, line: RecordLine) -> None:
        """Bring in what stands beside items."""
        try:
            self.records.take(self.db, line, write=not self.dry_run)
            self.counts.imported += 1
        except (InvalidLine, RecordRefused) as exc:
            self._tell_record(place, exc)

    def _tell_record(self, place: str, exc: InvalidLine | RecordRefused) -> None:
        if isinstance(exc, InvalidLine):
            self.counts.errors += 1
            what, _, why = str(exc).partition(": ")
            if what.startswith("Malformed"):
                self._tell(f"{what} on {place}: {why}")
            else:
                self._tell(f"Invalid item on {place}: {exc}")
            return
        setattr(self.counts, exc.what, getattr(self.counts, exc.what) + 1)
        if str(exc):
            is_refused = exc.what == "skipped_policy"
            self._tell(f"Rejected by policy on {place}: {exc}" if is_refused else f"{place}: {exc}; left alone")

    def _judge_state(self, line: ItemLine) -> tuple[ItemLine | None, list[str]]:
        judged, reasons = _judge_line(self.policy, "", line)
        return (judged.line if judged is not None else None), reasons

    # --- one batch -----------------------------------------------------------------------------------------------

    def _look_up(self, db: Database, lines: list[ItemLine]) -> None:
        """Read what is here of these lines."""
        given = [line.given_id for line in lines if line.given_id] if self.preserve_ids else []
        self.by_id = {item.id: item for item in store.get_many(db, given)}
        keys = {make_key(line.item) for line in lines}
        scopes = {(key.content_hash, key.scope) for key in keys}
        self.purged = purge.purged_hashes(db, {key.content_hash for key in keys}) | purge.purged_ids(db, given)
        known = store.ids_by_hash(db, {key.content_hash for key in keys})
        wanted = [k.id for content_hash, ks in known.items() for k in ks if (content_hash, k.scope) in scopes]
        why = store.withheld_reasons(db, wanted)
        self.archived = set() if self.vouched else {h for h, ks in known.items() if any(k.archived for k in ks)}
        self.held, self.there = set(), {}
        here = store.get_many(db, wanted)
        self.protected = set() if self.vouched else set(quarantine.protected_items(db, [*here, *self.by_id.values()]))
        for item in here:
            key = make_key(item)
            if _is_held(item, why.get(item.id, "")):
                self.held.add(item.id)
            if key in keys:
                self.there.setdefault(key, []).append(item)
        if any(line.importance is not None for line in lines):
            self.importance.look(db, {*self.by_id, *(item.id for some in self.there.values() for item in some)})

    def _decide(self, judged: _JudgedLine) -> bool:
        """Whether a line is to be written."""
        item, given_id = judged.line.item, judged.line.given_id
        key = make_key(item)
        if self.preserve_ids and given_id:
            owner = self.batch.get(given_id) or self.by_id.get(given_id)
            owned = self.keys.get(given_id) or (make_key(owner) if owner else None)
            if owned is not None:
                return self._decide_same_id(judged, key, owned, owner)
        same = self._find_same(judged.line, key)
        if same is not None:
            if given_id and given_id != same:
                self.alias.setdefault(given_id, same)
            candidates = self.there.get(key, ())
            return self._merge(judged, self.batch.get(same) or next((c for c in candidates if c.id == same), None))
        if key.content_hash in self.purged or given_id in self.purged:  # an earlier state of it was meant, too
            self.records.purged.add(given_id)
            return self._leave_alone(judged, "what it says was purged here")
        if key.content_hash in self.archived and not key.gone:
            return self._leave_alone(judged, "what it says was archived here")
        if given_id and not self.preserve_ids:
            item.id = ids.new_id()
            self.alias.setdefault(given_id, item.id)
        return self._accept(judged, key)

    def _decide_same_id(self, judged: _JudgedLine, key: _ItemKey, owned: _ItemKey, owner: MemoryItem | None) -> bool:
        given_id = judged.line.given_id
        if owned[:2] != key[:2]:
            self.records.differing[given_id] = judged.line.item.to_dict()
            return self._leave_alone(judged, f"{given_id} is here with other content or in another scope")
        if owned.gone and not key.gone and given_id not in self.written:
            if not self.vouched:
                return self._leave_alone(judged, f"{given_id} was archived here")
            self.counts.restored += 1
            if owner is not None and not owner.injectable:
                judged.line.item.injectable = False  # what was held back here is not released by a file
            return self._accept(judged, key)
        return self._merge(judged, owner)

    def _find_same(self, line: ItemLine, key: _ItemKey) -> str | None:
        """The id of the item here that this line is; None when it is new."""
        exact = _make_exact_key(line.item, key, line.withheld)
        if exact in self.seen:
            return self.seen[exact]
        held = _is_held(line.item, line.withheld)
        candidates = [c for c in self.there.get(key, []) if held or c.id not in self.held]
        for candidate in candidates:
            if _make_exact_key(candidate, key, "" if candidate.id in self.held else "raw") == exact:
                return candidate.id
        return next((c.id for c in candidates if c.id not in self.written), None)

    def _leave_alone(self, judged: _JudgedLine, why: str) -> bool:
        self.counts.skipped_conflict += 1
        self._tell(f"{judged.place}: {why}; left alone")
        return False

    def _merge(self, judged: _JudgedLine, there: MemoryItem | None) -> bool:
        """Give the item that is there the tags it lacks, and a higher importance; the line itself is not written."""
        self.counts.skipped_dedup += 1
        # What is held back must not change what may be injected, nor a tool what a person vouches for.
        if there is None or judged.is_quarantined or there.id in self.protected:
            return False
        matters = self.importance.rises(there.id, judged.line.importance)
        tags = clean.union(there.tags, judged.line.item.tags)
        is_tagged = len(tags) > len(there.tags)
        if is_tagged:
            there.tags = tags
            if there.id not in self.batch:
                self.changed[there.id] = there
        self.counts.merged += is_tagged or matters
        return False

    def _accept(self, judged: _JudgedLine, key: _ItemKey) -> bool:
        line = judged.line
        self.counts.imported += 1
        self.counts.redacted += judged.redacted
        self.counts.quarantined += judged.is_quarantined
        self.seen[_make_exact_key(line.item, key, line.withheld)] = line.item.id
        self.keys[line.item.id] = key
        self.batch[line.item.id] = line.item
        self.importance.rises(line.item.id, line.importance, new=True)
        self.written.add(line.item.id)
        if line.item.id not in self.by_id:
            self.fresh.add(line.item.id)
            if judged.is_quarantined and judged.free_until is not None:
                self.records.held[line.item.id] = (judged.rules, *judged.free_until, key.content_hash)
        return True

    # --- writing -------------------------------------------------------------------------------------------------

    def finish(self, db: Database) -> None:
        """Write what only all lines together say."""
        # References to lines that came later than the item that refers to them.
        late = list(dict.fromkeys(i for old, some in self.waiting.items() if old in self.alias for i in some))
        for start in range(0, len(late), BATCH):
            found = store.get_many(db, late[start : start + BATCH])
            store.write_many(db, [item for item in found if self.rewrite_references(item)], "import", compact=True)
        corpus.expect_files(db, filter(os.path.isabs, self.documents))
        self.records.finish(db)
        self.counts.quarantined -= self.records.let_go(db)
        citing_ids = sorted(self.citing)
        for start in range(0, len(citing_ids), BATCH):
            some = citing_ids[start : start + BATCH]
            known = citations.of_items(db, some)  # which have come as records
            citing.cite(db, store.get_many(db, [item_id for item_id in some if item_id not in known]))
        rebuild.join_pieces(db, len(self.fresh))

    def rewrite_references(self, item: MemoryItem, waiting: dict[str, list[str]] | None = None) -> bool:
        """Point an item's references to the ids that the lines have here; whether any changed."""
        source, alias = item.provenance, self.alias
        before = (item.superseded_by, item.links, source.chunk_ids)
        chunks = [] if source.is_passage else source.chunk_ids  # a passage's are places in its document
        named = [item.superseded_by or "", *chunks, *(v for link in item.links for k, v in link.items() if k != "rel")]
        for old in named:
            if old and old not in alias and waiting is not None:
                waiting.setdefault(old, []).append(item.id)
        item.superseded_by = alias.get(item.superseded_by or "", item.superseded_by)
        item.links = [{k: v if k == "rel" else alias.get(v, v) for k, v in link.items()} for link in item.links]
        if not source.is_passage:
            source.chunk_ids = [alias.get(chunk, chunk) for chunk in chunks]
        return before != (item.superseded_by, item.links, source.chunk_ids)


# --- pure parts ------------------------------------------------------------------------------------------------------


def _judge_line(policy: "MemoryPolicy", place: str, line: ItemLine) -> tuple[_JudgedLine | None, list[str]]:
    """The line as it may be stored, or the reasons why it may not.

    A statement is judged as a write is: a secret or an instruction rejects it, and so does its length. A passage of a
    document is judged as ingest does it, whatever its length: secrets are blotted out. So is what is too long for a
    statement and is from a document, or is a turn of a conversation: nobody chose its words to be remembered, and it is
    stored whole.
    """
    item, source = line.item, line.item.provenance
    is_text = bool(source.source_id.strip()) and (
        source.source_kind == "doc" or (source.source_kind == "chat" and bool(source.chunk_ids))
    )
    items, rules, redacted = ItemPolicy(policy), {*line.held_by}, False
    free_until = (item.expires_at,) if item.injectable else None
    if source.is_passage or (is_text and len(item.content) > policy.max_content_length):
        change = items.redact(item, place=line.place)
        if change is not None:
            chunks = set(source.chunk_ids)  # these are paths: they are redacted
            if items.refuses(*(word for word in references(item, line.place) if word not in chunks)):
                return None, [REFUSED]
            line = line._replace(item=change.apply_to(item), place=change.place or line.place)
            redacted = change.redacted
            rules.update(change.held_by)
    else:
        verdict = items.judge(item, line.place)
        if verdict.rejected:
            return None, verdict.reasons
        if verdict.forced_non_injectable:
            expires_at = item.expires_at
            items.hold(item, verdict)
            if free_until is None:  # it was kept from models before, too: its time is what it was given then
                item.expires_at = expires_at
            rules.update(f.rule for f in verdict.findings)
    is_quarantined = bool(rules) or line.withheld == "policy"
    return _JudgedLine(place, line, redacted, tuple(sorted(rules)), is_quarantined, free_until), []


def distrust_line(db: Database | None, line: ItemLine) -> ItemLine:
    """What a model hands in as an export, without what it claims of itself, but for what holds it back.

    A model can write any line: that a person said it, that it was verified, that it is a passage of a document. (A file
    that a person imports is another matter; it says what an earlier export said.) So its item, changed in place, is
    unverified, at most MTM, of default confidence and importance, never used, not from a person, made now at the
    latest. It is a passage of a document only if the store knows that very file with that very hash.
    """
    item, now = line.item, ids.timestamp()
    default = MemoryItem(content=item.content)
    item.tier = "mtm" if item.tier == "ltm" else item.tier
    item.validation, item.confidence = default.validation, default.confidence
    item.usage_count, item.last_used_at = 0, None
    item.created_at, item.updated_at = min(item.created_at, now), now
    source = item.provenance
    source.source_kind = source_trust.claimed(source.source_kind.strip(), "tool")
    is_document = source.source_kind.strip().lower() == "doc"
    files = corpus.get_files(db, [source.source_id]) if is_document and db is not None else {}
    is_known = source.content_hashes == [f"sha256:{file.sha256}" for file in files.values() if file.sha256] != []
    if is_document and not is_known:
        named = [source.source_id] if source.source_id.strip() else []
        item.provenance = source = MemoryProvenance("tool", _TOOL, named)
    elif not source.source_id.strip():
        source.source_kind, source.source_id = "tool", _TOOL
    if not (is_document and source.source_kind == "doc"):
        line = line._replace(place=None)
    marks = source_trust.mark(source.source_kind, source.source_id, _TOOL)
    source.chunk_ids = [*source_trust.unmarked(source.chunk_ids), *marks]
    return line._replace(importance=None, held_by=())


def make_key(item: MemoryItem) -> _ItemKey:
    """What an item is, for the question whether it is here already."""
    gone = item.archived or (item.expires_at is not None and item.expires_at <= ids.timestamp())
    source = item.provenance
    place = (source.source_id, *source_trust.unmarked(source.chunk_ids)) if source.is_passage else ()
    return _ItemKey(item.content_hash, item.scope, gone, place)


def _is_held(item: MemoryItem, withheld: str) -> bool:
    """Whether an item is kept from injection for another reason than being raw."""
    return not item.injectable and withheld != "raw"


def _make_exact_key(item: MemoryItem, key: _ItemKey, withheld: str) -> tuple[object, ...]:
    source = item.provenance
    return (key, item.title, item.type, source.source_kind, source.source_id, _is_held(item, withheld))
