"""Many new items at once: collected in a table of this connection, then taken over by one statement a table.

A statement whose triggers write to the full-text index makes FTS5 write out what it holds, and a statement with the
values of some hundred rows takes long to compile. So the rows travel through a temporary table, in memory, and the
index takes in the whole batch before it writes. What all rows have in common does not travel: it is said once.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from memctl import ids
from memctl.store.connect import Database
from memctl.store.items import rows
from memctl.store.items.items import UNCHANGED

#: From so many rows on it pays.
WORTHWHILE = 100

_COLUMNS = (*rows.COLUMNS, "revision_id", "event_id")
_MAKE = f"CREATE TEMP TABLE IF NOT EXISTS memctl_staged (at INTEGER PRIMARY KEY, {', '.join(_COLUMNS)})"

#: Each table's columns, and what they get: a column of the temporary table, or what all rows have in common.
_TABLES = {
    "memory_items": {name: name for name in rows.COLUMNS},
    "memory_revisions": {
        "revision_id": "revision_id", "item_id": "id", "revision_num": "number", "snapshot": "snapshot",
        "changed_at": "updated_at", "reason": "reason",
    },
    "memory_events": {
        "id": "event_id", "action": "action", "item_id": "id", "details_json": "details",
        "content_hash": "content_hash", "timestamp": "now",
    },
}  # fmt: skip

#: How the full-text index takes in a batch: in one piece, of which eight are merged at a time; and its usual way.
_BATCH = {"hashsize": 16 << 20, "automerge": 8}
_USUAL = {"hashsize": 1 << 20, "automerge": 4}


@contextmanager
def in_memory(db: Database) -> Iterator[None]:
    """Keep temporary tables in memory, not in a file, until the block ends; outside of any transaction."""
    before = db.value("PRAGMA temp_store")
    db.run("PRAGMA temp_store = MEMORY")
    try:
        yield
    finally:
        db.run(f"PRAGMA temp_store = {before}")  # which drops the tables


def add(db: Database, row_values: Sequence[tuple[Any, ...]], reason: str) -> None:
    """Store items with new ids, as rows of `rows.COLUMNS`; the same as `items.write_rows`, within a transaction.

    Each has its event, and a revision that says "as the row still is".
    """
    details = json.dumps({"reason": reason, "rules": db.rules} if db.rules else {"reason": reason})
    new = (ids.new_ids(prefix, len(row_values)) for prefix in ("REV", "EVT"))
    columns = dict(zip(_COLUMNS, (*zip(*row_values, strict=True), *new), strict=True))
    shared = {name: values[0] for name, values in columns.items() if name != "id" and _are_equal(values)}
    own = {name: values for name, values in columns.items() if name not in shared}
    db.run(_MAKE)
    fill = f"INSERT INTO temp.memctl_staged({', '.join(own)}) VALUES ({', '.join('?' * len(own))})"
    db.run_many(fill, zip(*own.values(), strict=True))
    shared |= {
        "number": 1, "snapshot": UNCHANGED, "reason": reason, "action": "write", "details": details,
        "now": ids.timestamp(),
    }  # fmt: skip
    with _index_in_batches(db):
        for table, sources in _TABLES.items():
            _take_over(db, table, sources, shared)
    db.run("DELETE FROM temp.memctl_staged")


def _are_equal(values: Sequence[Any]) -> bool:
    return values.count(values[0]) == len(values)


def _take_over(db: Database, table: str, sources: Mapping[str, str], shared: Mapping[str, Any]) -> None:
    taken = ", ".join("?" if source in shared else source for source in sources.values())
    values = [shared[source] for source in sources.values() if source in shared]
    db.run(f"INSERT INTO {table}({', '.join(sources)}) SELECT {taken} FROM temp.memctl_staged ORDER BY at", values)


@contextmanager
def _index_in_batches(db: Database) -> Iterator[None]:
    """Let the index hold a batch before it writes. What is set is stored: it must be set back, before the commit."""
    before = dict(db.rows("SELECT k, v FROM memory_items_fts_config"))
    _configure(db, _BATCH)
    yield
    _configure(db, {name: before.get(name, usual) for name, usual in _USUAL.items()})


def _configure(db: Database, values: dict[str, int]) -> None:
    for name, value in values.items():
        db.run("INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES (?, ?)", (name, value))
