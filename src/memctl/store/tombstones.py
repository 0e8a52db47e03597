"""What was purged, by the hash of its words: so that no document, import or model brings it back."""

from collections.abc import Iterable, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store.database import Database
from memctl.types import MemoryItem


class Tombstone(NamedTuple):
    """What is left of a purged item: its id, the hash of its content, where it was from, and when it was purged."""

    item_id: str
    content_hash: str
    source: str
    purged_at: str


def bury(db: Database, given: Sequence[MemoryItem]) -> None:
    """Note that these items are purged."""
    now = ids.timestamp()
    db.run_many(
        "INSERT INTO memory_tombstones(content_hash, item_id, source, purged_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [(item.content_hash, item.id, item.provenance.source_id, now) for item in given],
    )


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


def list_tombstones(db: Database, limit: int = -1) -> list[Tombstone]:
    """The tombstones, newest first."""
    if "memory_tombstones" not in db.tables:
        return []
    sql = "SELECT item_id, content_hash, source, purged_at FROM memory_tombstones "
    return [Tombstone(*row) for row in db.rows(f"{sql} ORDER BY purged_at DESC, item_id LIMIT ?", [limit])]


def lift(db: Database, *, item_ids: Iterable[str] = (), hashes: Iterable[str] = ()) -> list[str]:
    """Let what was purged come back, by its items' ids or by its hashes; the ids of those whose tombstone is gone."""
    with db.atomic():
        sql = "SELECT content_hash FROM memory_tombstones WHERE item_id IN (?*)"
        wanted = [*hashes, *(row[0] for row in db.rows(sql, keys=item_ids))]
        found = db.rows("SELECT content_hash, item_id FROM memory_tombstones WHERE content_hash IN (?*)", keys=wanted)
        db.run_many("DELETE FROM memory_tombstones WHERE content_hash = ? AND item_id = ?", found)
    return [row[1] for row in found]
