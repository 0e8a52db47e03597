"""Links between items: src REL dst."""

from memctl import ids
from memctl.store import events
from memctl.store.connect import Database
from memctl.types import MemoryLink


def put(db: Database, src_id: str, dst_id: str, rel: str, created_at: str | None = None) -> None:
    """Add a link; one that exists is left as it is."""
    with db.atomic():
        db.run(
            "INSERT INTO memory_links(src_id, dst_id, rel, created_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(src_id, dst_id, rel) DO NOTHING",
            (src_id, dst_id, rel, created_at or ids.timestamp()),
        )
        events.log(db, "link", src_id, {"dst_id": dst_id, "rel": rel})


def of(db: Database, item_id: str) -> list[MemoryLink]:
    """The links an item is either end of."""
    found = db.rows(
        "SELECT src_id, dst_id, rel, created_at FROM memory_links WHERE src_id = ? OR dst_id = ? "
        "ORDER BY created_at, src_id, dst_id, rel",
        (item_id, item_id),
    )
    return [MemoryLink(*row) for row in found]
