"""Many new items at once: collected in a table of this connection, then taken over by one statement a table.

A statement whose triggers write to the full-text index makes FTS5 write out what it holds, and a statement with the
values of some hundred rows takes long to compile. So the rows travel through a temporary table, in memory, and the
index takes in the whole batch before it writes.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from memctl import ids
from memctl.store import rows
from memctl.store.connect import Database
from memctl.store.items import UNCHANGED

#: From so many rows on it pays.
WORTHWHILE = 100

_COLUMNS = ", ".join(rows.COLUMNS)
_MAKE = f"CREATE TEMP TABLE IF NOT EXISTS memctl_staged (at INTEGER PRIMARY KEY, {_COLUMNS}, revision_id, event_id)"
_FILL = (
    f"INSERT INTO temp.memctl_staged({_COLUMNS}, revision_id, event_id) "
    f"VALUES ({', '.join('?' * (len(rows.COLUMNS) + 2))})"
)
_ITEMS = f"INSERT INTO memory_items({_COLUMNS}) SELECT {_COLUMNS} FROM temp.memctl_staged ORDER BY at"
_REVISIONS = (
    "INSERT INTO memory_revisions(revision_id, item_id, revision_num, snapshot, changed_at, reason) "
    "SELECT revision_id, id, 1, ?, updated_at, ? FROM temp.memctl_staged ORDER BY at"
)
_EVENTS = (
    "INSERT INTO memory_events(id, action, item_id, details_json, content_hash, timestamp) "
    "SELECT event_id, 'write', id, ?, content_hash, ? FROM temp.memctl_staged ORDER BY at"
)

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
    new = zip(*(ids.new_ids(prefix, len(row_values)) for prefix in ("REV", "EVT")), strict=True)
    db.run(_MAKE)
    db.run_many(_FILL, [row + pair for row, pair in zip(row_values, new, strict=True)])
    with _index_in_batches(db):
        db.run(_ITEMS)
    db.run(_REVISIONS, (UNCHANGED, reason))
    db.run(_EVENTS, (details, ids.timestamp()))
    db.run("DELETE FROM temp.memctl_staged")


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
