"""Passages of documents: where in its source each stands, and how many new ones are stored at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from memctl import ids
from memctl.annotations import Any, NamedTuple
from memctl.store.database import Database
from memctl.store.items.items import COLUMNS, UNCHANGED
from memctl.text import jsons
from memctl.text.source_trust import STRANGER


class SourcePosition(NamedTuple):
    """A place in a source: its order there, 1-based inclusive lines, and a heading path, definition, page or sheet."""

    position: int | None = None
    line_start: int | None = None
    line_end: int | None = None
    anchor: str = ""


class UntrustedPosition(SourcePosition):
    """The same in a store of somebody else, whose every item is shown as such."""

    __slots__ = ()
    trust = STRANGER


def get_positions(db: Database, item_ids: Iterable[str]) -> dict[str, SourcePosition]:
    """The places of these items; those without one are left out."""
    if "memory_sources" not in db.tables:
        return {}
    wanted, known = list(item_ids), db.cached("positions")
    unknown = [item_id for item_id in wanted if item_id not in known]
    sql = "SELECT item_id, position, line_start, line_end, anchor FROM memory_sources WHERE item_id IN (?*)"
    found: dict[str, SourcePosition | None] = dict.fromkeys(unknown)
    found.update((item_id, SourcePosition(*place)) for item_id, *place in db.rows(sql, keys=unknown))
    db.cached("positions", len(found)).update(found)
    found.update((item_id, known[item_id]) for item_id in wanted if item_id in known)
    return {item_id: place for item_id in wanted if (place := found[item_id]) is not None}


def set_positions(db: Database, places: Mapping[str, SourcePosition]) -> None:
    """Set the places of these items."""
    with db.atomic():
        columns = "item_id position line_start line_end anchor"
        db.upsert("memory_sources", columns, [(item_id, *place) for item_id, place in places.items()])


def complete_positions(db: Database) -> int:
    """Record where passages of older programs stand, which only say it in their first line; returns how many."""
    from memctl.text.block.packing import place_line

    places = {}
    for item_id, head, source_id in db.rows(
        "SELECT i.id, CAST(substr(i.content, 1, 2000) AS TEXT), json_extract(i.provenance_json, '$.source_id') "
        "FROM memory_items AS i LEFT JOIN memory_sources AS s ON s.item_id = i.id "
        "WHERE s.item_id IS NULL AND substr(i.content, 1, 6) = '[path:' AND json_valid(i.provenance_json) "
        "AND json_extract(i.provenance_json, '$.source_kind') = 'doc'"
    ):
        found = place_line(head.partition("\n")[0].rstrip("\r"), str(source_id or ""))
        if found:
            places[item_id] = SourcePosition(int(found[2]), int(found[3]), int(found[4]))
    set_positions(db, places)
    return len(places)


# --- new passages ----------------------------------------------------------------------------------------------------


class PassageRows:
    """Makes the rows of one file's passages.

    path, sha256  of the file; tags: those that its passages share; now: when they are stored (ISO 8601)
    """

    __slots__ = ("_corpus", "_now", "_scope", "_source", "_tags", "tags")

    def __init__(
        self, path: str, sha256: str, *, tags: Sequence[str], scope: str, corpus_id: str | None, now: str
    ) -> None:
        name = jsons.encode(path)
        chunk = name[:-1]  # the position and the quote come behind it
        head = f'{{"source_kind": "doc", "source_id": {name}, "chunk_ids": [{chunk}:'
        self._source = (head, f'"], "content_hashes": ["sha256:{sha256}"], "created_at": "{now}"}}')
        self.tags = list(tags)
        self._tags, self._scope, self._corpus, self._now = jsons.encode(self.tags), scope, corpus_id or "", now

    def row(
        self,
        item_id: str,
        title: str,
        content: str,
        content_hash: str,
        *,
        position: int,
        injectable: bool,
        tags: Sequence[str] | None = None,
    ) -> tuple[Any, ...]:
        """The row of a passage, in the order of `items.COLUMNS`; `tags` where it has others than the file."""
        head, tail = self._source
        return (
            item_id, "stm", "note", title, content, self._tags if tags is None else jsons.encode(list(tags)), "[]",
            "[]", f"{head}{position}{tail}", 0.5, "unverified", self._scope, None, 0, None, self._now, self._now, None,
            None, 0, content_hash, self._corpus, int(injectable),
        )  # fmt: skip


#: Rows from which on a bulk insert is faster than single ones.
WORTHWHILE = 100

_STAGED_COLUMNS = (*COLUMNS, *SourcePosition._fields, "revision_id", "event_id")
_CREATE_STAGED = f"CREATE TEMP TABLE IF NOT EXISTS memctl_staged (at INTEGER PRIMARY KEY, {', '.join(_STAGED_COLUMNS)})"

#: Each table's columns, and what they get: a column of the temporary table, or what all rows have in common.
_TABLES = {
    "memory_items": {name: name for name in COLUMNS},
    "memory_revisions": {
        "revision_id": "revision_id", "item_id": "id", "revision_num": "number", "snapshot": "snapshot",
        "changed_at": "updated_at", "reason": "reason",
    },
    "memory_events": {
        "id": "event_id", "action": "action", "item_id": "id", "details_json": "details",
        "content_hash": "content_hash", "timestamp": "now",
    },
    "memory_sources": {"item_id": "id"} | {name: name for name in SourcePosition._fields},
}  # fmt: skip

#: How the full-text index takes in a batch (in one piece, and it merges eight pieces at a time), and its usual way.
_BATCH = {"hashsize": 16 << 20, "automerge": 8}
_USUAL = {"hashsize": 1 << 20, "automerge": 4}


@contextmanager
def temp_tables_in_memory(db: Database) -> Iterator[None]:
    """Keep temporary tables in memory, not in a file, until the block ends; outside of any transaction."""
    before = db.value("PRAGMA temp_store")
    db.set_temp_store("MEMORY")
    try:
        yield
    finally:
        db.set_temp_store(before)


def bulk_insert(
    db: Database, row_values: Sequence[tuple[Any, ...]], places: Iterable[SourcePosition], reason: str
) -> None:
    """Store items with new ids, as rows of `COLUMNS`, and where each stands; the same as `items.write_rows` and
    `set_positions`, within a transaction.

    Each has its event, and a revision that says "as the row still is".
    """
    details = jsons.encode({"reason": reason, "rules": db.rules} if db.rules else {"reason": reason}, ascii_only=True)
    new = (ids.new_ids(prefix, len(row_values)) for prefix in ("REV", "EVT"))
    columns = dict(
        zip(_STAGED_COLUMNS, (*zip(*row_values, strict=True), *zip(*places, strict=True), *new), strict=True)
    )
    shared = {name: held[0] for name, held in columns.items() if name != "id" and held.count(held[0]) == len(held)}
    own = {name: values for name, values in columns.items() if name not in shared}
    db.run(_CREATE_STAGED)
    fill = f"INSERT INTO temp.memctl_staged({', '.join(own)}) VALUES ({', '.join('?' * len(own))})"
    db.run_many(fill, zip(*own.values(), strict=True))
    shared |= {
        "number": 1, "snapshot": UNCHANGED, "reason": reason, "action": "write", "details": details,
        "now": ids.timestamp(),
    }  # fmt: skip
    # Let the index hold a batch before it writes. What is set is stored: it must be set back, before the commit.
    configure = "INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES (?, ?)"
    before = _USUAL | {k: v for k, v in db.rows("SELECT k, v FROM memory_items_fts_config") if k in _USUAL}
    db.run_many(configure, _BATCH.items())
    for table, sources in _TABLES.items():
        taken = ", ".join("?" if source in shared else source for source in sources.values())
        db.run(
            f"INSERT INTO {table}({', '.join(sources)}) SELECT {taken} FROM temp.memctl_staged ORDER BY at",
            [shared[source] for source in sources.values() if source in shared],
        )
    db.run_many(configure, before.items())
    db.run("DELETE FROM temp.memctl_staged")
