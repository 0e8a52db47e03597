"""Links between items: src REL dst."""

from collections.abc import Sequence

from memctl import ids
from memctl.store.connect import Database
from memctl.store.documents.sources import batches, marks
from memctl.store.items import events
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


def superseded(db: Database, item_ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """What these items stand for: item id -> the older ones and when each was made ("" if it is gone), newest first."""
    out: dict[str, list[tuple[str, str]]] = {}
    if not db.has("memory_links"):
        return out
    for batch in batches(list(item_ids)):
        for src, dst, made in db.rows(
            "SELECT l.src_id, l.dst_id, i.created_at FROM memory_links AS l "
            f"LEFT JOIN memory_items AS i ON i.id = l.dst_id WHERE l.src_id IN ({marks(batch)}) "
            "AND l.rel = 'supersedes' ORDER BY l.src_id, i.created_at DESC, l.dst_id",
            batch,
        ):
            out.setdefault(src, []).append((dst, str(made or "")))
    return out
