"""Pins: where RAGIX's memory palace keeps an item, one row each."""

from memctl import ids
from memctl.store.connect import Database


def put(db: Database, item_id: str, place: tuple[str, str, str, str]) -> None:
    """Pin an item to (domain, room, shelf, card)."""
    with db.atomic():
        db.run(
            "INSERT INTO memory_palace_locations(item_id, domain, room, shelf, card, assigned_at) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(item_id) DO UPDATE SET domain = excluded.domain, "
            "room = excluded.room, shelf = excluded.shelf, card = excluded.card, assigned_at = excluded.assigned_at",
            (item_id, *place, ids.timestamp()),
        )


def every(db: Database, where: str, values: tuple[object, ...]) -> list[dict[str, str]]:
    """Pins as dicts, by place; `where` is one of this package's own conditions."""
    names = ("item_id", "domain", "room", "shelf", "card", "assigned_at")
    found = db.rows(
        f"SELECT {', '.join(names)} FROM memory_palace_locations WHERE {where} "
        "ORDER BY domain, room, shelf, card, item_id",
        values,
    )
    return [dict(zip(names, row, strict=True)) for row in found]
