"""JSON lines into a store: each line validated, judged by policy, compared with what is there; a batch at a time.

Same or not. A line without a counterpart is imported. Its counterpart is an item of the same scope and content that is
just as alive (an archived item is none for an active line); a passage of a document has one only in the same place of
the same document. Two lines of one file are the same only if their titles, types and sources are, too: a backup
restores what it was made of. A counterpart gets the tags it lacks, and a higher importance. An item that is held back
is no counterpart of a line that may be injected.

Without `preserve_ids` every item gets a new id, references among the lines are rewritten to the new ones, and
statements are brought into the form that every write gives them; with it, what comes back is what was exported.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from memctl import ids
from memctl.item_policy import REFUSED, ItemPolicy, tidy_statement
from memctl.lifecycle.record import InvalidLine, Record, from_bytes
from memctl.lifecycle.unvouched import unvouched
from memctl.store import rule_versions
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.items import items as store
from memctl.store.items.attributes import ImportanceChanges
from memctl.text import clean, trust
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

BATCH = 1000
#: A longer line is an error: nothing we write comes near, and a file without line ends must not fill the memory.
LINE_BYTES = 32 * 1024 * 1024

#: So many lines with problems are told one by one; the counts say the rest.
_TOLD = 20


class Counts:
    """What became of the lines.

    imported, skipped_dedup, skipped_policy, skipped_conflict and errors together are total_lines. Of the imported,
    some are restored (archived here, active in the file, the same id), redacted or quarantined; of the duplicates,
    some are merged (their new tags or higher importance went to the item that is there).
    """

    __slots__ = (
        "errors", "imported", "merged", "quarantined", "redacted", "restored", "skipped_conflict", "skipped_dedup",
        "skipped_policy", "total_lines",
    )  # fmt: skip

    def __init__(self) -> None:
        self.total_lines = self.imported = self.skipped_dedup = self.skipped_policy = self.errors = 0
        self.skipped_conflict = self.merged = self.redacted = self.quarantined = self.restored = 0


class Line(NamedTuple):
    """A line that may be imported: its number, what it holds, and whether policy changed or held back anything."""

    number: int
    record: Record
    redacted: bool = False
    rules: tuple[str, ...] = ()


class _Key(NamedTuple):
    """What makes two items the same; `place` is where a passage stands in its document, () for a statement."""

    content_hash: str
    scope: str
    gone: bool
    place: tuple[str, ...]


def import_lines(
    db: Database | None,
    policy: "MemoryPolicy",
    stream: BinaryIO,
    *,
    preserve_ids: bool = False,
    dry_run: bool = False,
    vouched: bool = True,
    warn: Callable[[str], None],
    progress: Callable[[str], None] = lambda _: None,
) -> Counts:
    """Import every line of `stream`, one transaction per batch; the counts.

    db       None for a store that does not exist yet (only in a dry run)
    dry_run  count, write nothing
    vouched  a person says that the lines are what they say they are; those of a model are not (see `unvouched`), and
             bring nothing back that is archived here, be it under another id, title or scope
    warn     takes one line per problem
    """
    how = Import(db, policy, preserve_ids=preserve_ids, dry_run=dry_run, vouched=vouched, warn=warn)
    return how.run(stream, progress)


class Import:
    """One run over one stream."""

    def __init__(
        self,
        db: Database | None,
        policy: "MemoryPolicy",
        *,
        preserve_ids: bool,
        dry_run: bool,
        warn: Callable[[str], None],
        vouched: bool = True,
    ) -> None:
        self.db, self.policy, self.preserve_ids, self.dry_run = db, policy, preserve_ids, dry_run
        self.vouched = vouched
        self.buried: set[str] = set()  # content hashes (of this batch) of what is archived here
        self.warn, self.told = warn, 0
        self.counts = Counts()
        self.alias: dict[str, str] = {}  # a line's id -> the id it has here, where that is another one
        self.waiting: dict[str, list[str]] = {}  # an id that no line had yet -> items that refer to it
        self.written: set[str] = set()  # ids that this run made or met by id
        self.seen: dict[tuple[object, ...], str] = {}  # what the lines (of this batch) are -> their ids here
        self.keys: dict[str, _Key] = {}  # ids (of this batch) -> what they are
        self.held: set[str] = set()  # ids (of this batch's counterparts) of what is held back here
        self.batch: dict[str, MemoryItem] = {}
        self.changed: dict[str, MemoryItem] = {}
        self.said = ImportanceChanges()

    def run(self, stream: BinaryIO, progress: Callable[[str], None] = lambda _: None) -> Counts:
        """Import everything; the counts."""
        numbered = read_lines(stream)
        while batch := list(islice(numbered, BATCH)):
            lines = [line for line in map(self._checked, batch) if line is not None]
            if self.db is None or self.dry_run:
                self._take(lines)
            else:
                with rule_versions.judged_write(self.db, self.policy.switches):
                    self._write(self._take(lines))
            progress(f"[import] {self.counts.total_lines} lines")
        if self.db is not None and not self.dry_run:
            self._refer_again()
        if self.told > _TOLD:
            self.warn(f"[import] … and {self.told - _TOLD} more lines with problems")
        return self.counts

    def _tell(self, message: str) -> None:
        self.told += 1
        if self.told <= _TOLD:
            self.warn(f"[import] {message}")

    # --- one line ------------------------------------------------------------------------------------------------

    def _checked(self, numbered: tuple[int, bytes | None]) -> Line | None:
        number, data = numbered
        self.counts.total_lines += 1
        try:
            if data is None:
                raise InvalidLine(f"longer than {LINE_BYTES // 1024 // 1024} MB")
            found = from_bytes(data)
            if not self.vouched:
                found = unvouched(self.db, found)
            is_backup = self.preserve_ids and self.vouched  # it comes back as it was
            if not (is_backup or found.item.provenance.is_passage):  # a passage stays as it is in its document
                tidy_statement(found.item)
            if clean.is_blank(found.item.content) and not (self.preserve_ids and found.item.title.strip()):
                raise InvalidLine("content is blank")
        except InvalidLine as exc:
            self.counts.errors += 1
            message = str(exc)
            if message.startswith("Malformed"):
                what, _, why = message.partition(": ")
                self._tell(f"{what} on line {number}: {why}")
            else:
                self._tell(f"Invalid item on line {number}: {message}")
            return None
        line, reasons = self._judge(Line(number, found))
        if not reasons:
            return line
        self.counts.skipped_policy += 1
        self._tell(f"Rejected by policy on line {number}: {'; '.join(reasons)}")
        return None

    def _judge(self, line: Line) -> tuple[Line, list[str]]:
        """The line as it may be stored, and the reasons why it may not.

        A statement is judged as a write is: a secret or an instruction rejects it, and so does its length. A passage
        of a document is judged as ingest does it, whatever its length: secrets are blotted out. So is a turn of a
        conversation that is too long for a statement: nobody chose its words to be remembered, and it is stored whole.
        """
        record = line.record
        item, source = record.item, record.item.provenance
        is_turn = source.source_kind == "chat" and bool(source.source_id.strip()) and bool(source.chunk_ids)
        judge = ItemPolicy(self.policy)
        if source.is_passage or (is_turn and len(item.content) > self.policy.max_content_length):
            change = judge.redact(item, place=record.place)
            if change is None:
                return line, []
            if judge.refuses_references(item, record.place):
                return line, [REFUSED]
            record = record._replace(item=change.apply_to(item), place=change.place or record.place)
            return line._replace(record=record, redacted=change.redacted, rules=tuple(sorted(change.held_by))), []
        verdict = judge.judge(item, record.place)
        if verdict.rejected:
            return line, verdict.reasons
        if not verdict.forced_non_injectable:
            return line, []
        judge.hold(item, verdict)
        return line._replace(rules=tuple(sorted({f.rule for f in verdict.findings}))), []

    # --- one batch -----------------------------------------------------------------------------------------------

    def _take(self, lines: list[Line]) -> list[Line]:
        """Decide about each line; those that are to be written, with their ids here."""
        self.batch, self.changed = {}, {}
        self.said.forget()
        if not self.dry_run:
            self.seen, self.keys = {}, {}  # the store itself knows what earlier batches wrote
        by_id = self._by_id(lines)
        there = self._counterparts(lines)
        if self.db is not None and any(line.record.importance is not None for line in lines):
            self.said.look(self.db, {*by_id, *(item.id for items in there.values() for item in items)})
        return [line for line in lines if self._decide(line, by_id, there)]

    def _by_id(self, lines: list[Line]) -> dict[str, MemoryItem]:
        if not self.preserve_ids or self.db is None:
            return {}
        return {i.id: i for i in store.get_many(self.db, [x.record.given_id for x in lines if x.record.given_id])}

    def _counterparts(self, lines: list[Line]) -> dict[_Key, list[MemoryItem]]:
        out: dict[_Key, list[MemoryItem]] = {}
        if self.db is None:
            return out
        keys = {key_of(line.record.item) for line in lines}
        scopes = {(key.content_hash, key.scope) for key in keys}
        known = store.ids_by_hash(self.db, {key.content_hash for key in keys})
        wanted = [k.id for content_hash, ks in known.items() for k in ks if (content_hash, k.scope) in scopes]
        why = store.withheld_reasons(self.db, wanted)
        self.buried = set() if self.vouched else {h for h, ks in known.items() if any(k.archived for k in ks)}
        self.held = set()
        for item in store.get_many(self.db, wanted):
            key = key_of(item)
            if is_held(item, why.get(item.id, "")):
                self.held.add(item.id)
            if key in keys:
                out.setdefault(key, []).append(item)
        return out

    def _decide(self, line: Line, by_id: dict[str, MemoryItem], there: dict[_Key, list[MemoryItem]]) -> bool:
        item, given_id = line.record.item, line.record.given_id
        key = key_of(item)
        if self.preserve_ids and given_id:
            owner = self.batch.get(given_id) or by_id.get(given_id)
            owned = self.keys.get(given_id) or (key_of(owner) if owner else None)
            if owned is not None:
                return self._same_id(line, key, owned, owner)
        same = self._same(line, key, there)
        if same is not None:
            if given_id and given_id != same:
                self.alias.setdefault(given_id, same)
            return self._duplicate(line, self._loaded(same, there.get(key, ())))
        if key.content_hash in self.buried and not key.gone:
            return self._left_alone(line, "what it says was archived here")
        if given_id and not self.preserve_ids:
            item.id = ids.new_id()
            self.alias.setdefault(given_id, item.id)
        return self._accept(line, key)

    def _same_id(self, line: Line, key: _Key, owned: _Key, owner: MemoryItem | None) -> bool:
        given_id = line.record.given_id
        if owned[:2] != key[:2]:
            return self._left_alone(line, f"{given_id} is here with other content or in another scope")
        if owned.gone and not key.gone and given_id not in self.written:
            if not self.vouched:
                return self._left_alone(line, f"{given_id} was archived here")
            self.counts.restored += 1
            if owner is not None and not owner.injectable:
                line.record.item.injectable = False  # what was held back here is not released by a file
            return self._accept(line, key)
        return self._duplicate(line, owner)

    def _left_alone(self, line: Line, why: str) -> bool:
        self.counts.skipped_conflict += 1
        self._tell(f"line {line.number}: {why}; left alone")
        return False

    def _same(self, line: Line, key: _Key, there: dict[_Key, list[MemoryItem]]) -> str | None:
        """The id of the item here that this line is; None when it is new."""
        exact = _exactly(line.record.item, key, line.record.withheld)
        if exact in self.seen:
            return self.seen[exact]
        held = is_held(line.record.item, line.record.withheld)
        candidates = [c for c in there.get(key, []) if held or c.id not in self.held]
        for candidate in candidates:
            if _exactly(candidate, key, "" if candidate.id in self.held else "raw") == exact:
                return candidate.id
        return next((c.id for c in candidates if c.id not in self.written), None)

    def _loaded(self, item_id: str, candidates: Iterable[MemoryItem]) -> MemoryItem | None:
        return self.batch.get(item_id) or next((c for c in candidates if c.id == item_id), None)

    def _duplicate(self, line: Line, there: MemoryItem | None) -> bool:
        self.counts.skipped_dedup += 1
        # What is held back must not change what may be injected.
        if there is not None and not (line.rules or line.record.withheld == "policy"):
            matters = self.said.rises(there.id, line.record.importance)
            self.counts.merged += self._tagged(there, line.record.item.tags) or matters
        return False

    def _tagged(self, there: MemoryItem, more: list[str]) -> bool:
        """Give an item the tags it lacks; whether there were any."""
        tags = clean.union(there.tags, more)
        if len(tags) <= len(there.tags):
            return False
        there.tags = tags
        if there.id not in self.batch:
            self.changed[there.id] = there
        return True

    def _accept(self, line: Line, key: _Key) -> bool:
        item = line.record.item
        self.counts.imported += 1
        self.counts.redacted += line.redacted
        self.counts.quarantined += bool(line.rules)
        self.seen[_exactly(item, key, line.record.withheld)] = item.id
        self.keys[item.id] = key
        self.batch[item.id] = item
        self.said.take(item.id, line.record.importance)
        self.written.add(item.id)
        return True

    # --- writing -------------------------------------------------------------------------------------------------

    def _write(self, lines: list[Line]) -> None:
        assert self.db is not None  # noqa: S101 - a dry run does not come here
        for line in lines:
            self._refer(line.record.item, waiting=self.waiting)
        store.write_many(self.db, [line.record.item for line in lines], "import", compact=True)
        for line in lines:
            reason = "policy" if line.rules else line.record.withheld
            if reason and not line.record.item.injectable:
                store.set_withheld(self.db, line.record.item.id, reason, line.rules)
        places = {x.record.item.id: x.record.place for x in lines if x.record.place is not None}
        passages.set_positions(self.db, places)
        self.said.write(self.db)
        documents = {line.record.item.provenance.source_id for line in lines if line.record.item.provenance.is_passage}
        corpus.expect_files(self.db, filter(os.path.isabs, documents))
        for item in self.changed.values():
            item.touch()
        store.write_many(self.db, list(self.changed.values()), "merge")

    def _refer(self, item: MemoryItem, waiting: dict[str, list[str]] | None = None) -> bool:
        """Point an item's references to the ids that the lines have here; whether any changed."""

        def here(old: str) -> str:
            new = self.alias.get(old)
            if new is None and waiting is not None:
                waiting.setdefault(old, []).append(item.id)
            return old if new is None else new

        before = (item.superseded_by, item.links, item.provenance.chunk_ids)
        if item.superseded_by:
            item.superseded_by = here(item.superseded_by)
        item.links = [{k: v if k == "rel" else here(v) for k, v in link.items()} for link in item.links]
        if not item.provenance.is_passage:  # a passage's chunk ids are places in its document
            item.provenance.chunk_ids = [here(chunk) for chunk in item.provenance.chunk_ids]
        return before != (item.superseded_by, item.links, item.provenance.chunk_ids)

    def _refer_again(self) -> None:
        """Rewrite references to lines that came later than the item that refers to them."""
        assert self.db is not None  # noqa: S101 - a dry run does not come here
        late = dict.fromkeys(i for old, held in self.waiting.items() if old in self.alias for i in held)
        for start in range(0, len(late), BATCH):
            with rule_versions.judged_write(self.db, self.policy.switches):
                found = store.get_many(self.db, list(late)[start : start + BATCH])
                store.write_many(self.db, [item for item in found if self._refer(item)], "import", compact=True)


# --- pure parts --------------------------------------------------------------------------------------------------


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Each line that is not blank with its 1-based number; None for one that is too long. A BOM is passed over."""
    number = 0
    while data := stream.readline(LINE_BYTES + 1):
        number += 1
        long = len(data) > LINE_BYTES
        while long and not data.endswith(b"\n"):
            data = stream.readline(LINE_BYTES)
            if not data:
                break
        if number == 1 and not long:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if long:
            yield number, None
        elif data.strip():
            yield number, data.rstrip(b"\r\n")


def key_of(item: MemoryItem) -> _Key:
    """What an item is, for the question whether it is here already."""
    gone = item.archived or (item.expires_at is not None and item.expires_at <= ids.timestamp())
    source = item.provenance
    place = (source.source_id, *trust.unmarked(source.chunk_ids)) if source.is_passage else ()
    return _Key(item.content_hash, item.scope, gone, place)


def is_held(item: MemoryItem, withheld: str) -> bool:
    """Whether an item is kept from injection for another reason than being raw."""
    return not item.injectable and withheld != "raw"


def _exactly(item: MemoryItem, key: _Key, withheld: str) -> tuple[object, ...]:
    source = item.provenance
    return (key, item.title, item.type, source.source_kind, source.source_id, is_held(item, withheld))
