"""Items deleted for good, with all that hangs on them, and what is left: tombstones.

What was purged is known by the hash of its words, so that no document, import or model brings it back.
"""

from collections.abc import Iterable, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store import quarantine
from memctl.store.database import Database
from memctl.store.items import events, items

#: Where an item's id stands, by table and column.
_TABLES = (
    ("memory_items", "id"), ("memory_revisions", "item_id"), ("memory_embeddings", "item_id"),
    ("memory_palace_locations", "item_id"), ("memory_sources", "item_id"), ("memory_withheld", "item_id"),
    ("memory_importance", "item_id"), ("memory_retention", "item_id"), ("memory_links", "src_id"),
    ("memory_links", "dst_id"), ("memory_citations", "item_id"), ("memory_conflicts", "a_id"),
    ("memory_conflicts", "b_id"), ("memory_session_items", "item_id"),
    ("memory_usefulness", "item_id"),
)  # fmt: skip


def purge_items(db: Database, item_ids: Sequence[str], reason: str, *, bury: bool = False) -> int:
    """Delete items and all that hangs on them, the traces in the index and in freed pages too; returns how many.

    What was done with them stays in the event log, but for the reasons, which may quote them.

    bury  their words leave a tombstone, so that nothing brings them back
    """
    # A search that finds one item held back asks how it stands: it needs neither, and they load `json` and `re`.
    from memctl.store.documents import corpus
    from memctl.store.journal import for_good

    overwrite_deleted(db)
    about = "SELECT id FROM memory_conflicts WHERE a_id IN (?*) OR b_id IN (?*)"
    gone = [str(row[0]) for row in db.rows(about, keys=item_ids)]  # conflicts, which go with their items
    with for_good(db, [*item_ids, *gone], purged=len(item_ids)):
        going = items.get_many(db, item_ids)
        if bury:
            db.run_many(
                "INSERT INTO memory_tombstones(content_hash, item_id, source, purged_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                [(item.content_hash, item.id, item.provenance.source_id, ids.timestamp()) for item in going],
            )
        corpus.drop_items(db, item_ids, (item.provenance.source_id for item in going))
        for table, column in _TABLES:
            db.run_many(f"DELETE FROM {table} WHERE {column} = ?", [(item_id,) for item_id in item_ids])
        events.drop_reasons(db, item_ids)
        for item_id in item_ids:
            events.log(db, "purge", item_id, {"reason": reason})
        quarantine.intend(db, item_ids, "purge")
    erase_traces(db)
    return len(going)


def overwrite_deleted(db: Database) -> None:
    """Overwrite in the file whatever this handle deletes or changes from now on."""
    db.run("PRAGMA secure_delete = ON")


def erase_traces(db: Database) -> None:
    """Take words that no item has any more out of the full-text index, and old pages out of the write-ahead log."""
    if "memory_items_fts" in db.tables:
        db.run("INSERT INTO memory_items_fts(memory_items_fts) VALUES ('optimize')")
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")


# --- what was purged -------------------------------------------------------------------------------------------------


class Tombstone(NamedTuple):
    """What is left of a purged item: its id, the hash of its content, where it was from, and when it was purged."""

    item_id: str
    content_hash: str
    source: str
    purged_at: str


def purged_hashes(db: Database, hashes: Iterable[str]) -> set[str]:
    """Those of these hashes of contents that stand for something purged."""
    if "memory_tombstones" not in db.tables or db.row("SELECT 1 FROM memory_tombstones LIMIT 1") is None:
        return set()
    sql = "SELECT DISTINCT content_hash FROM memory_tombstones WHERE content_hash IN (?*)"
    return {row[0] for row in db.rows(sql, keys=hashes)}


def purged_ids(db: Database, item_ids: Iterable[str]) -> set[str]:
    """Those of these ids that purged items had, whatever they said earlier."""
    if "memory_tombstones" not in db.tables:
        return set()
    return {row[0] for row in db.rows("SELECT item_id FROM memory_tombstones WHERE item_id IN (?*)", keys=item_ids)}


def list_tombstones(db: Database) -> list[Tombstone]:
    """The tombstones, newest first."""
    if "memory_tombstones" not in db.tables:
        return []
    sql = "SELECT item_id, content_hash, source, purged_at FROM memory_tombstones ORDER BY purged_at DESC, item_id"
    return [Tombstone(*row) for row in db.rows(sql)]


def lift(db: Database, *, item_ids: Iterable[str] = (), hashes: Iterable[str] = ()) -> list[str]:
    """Let what was purged come back, by its items' ids or by its hashes; the ids of those whose tombstone is gone."""
    with db.atomic():
        sql = "SELECT content_hash FROM memory_tombstones WHERE item_id IN (?*)"
        wanted = [*hashes, *(row[0] for row in db.rows(sql, keys=item_ids))]
        found = db.rows("SELECT content_hash, item_id FROM memory_tombstones WHERE content_hash IN (?*)", keys=wanted)
        db.run_many("DELETE FROM memory_tombstones WHERE content_hash = ? AND item_id = ?", found)
    return [row[1] for row in found]
