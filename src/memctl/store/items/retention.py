"""How long items keep their worth: kept for good, fading by a rate a day, or until a day.

The third is the item's own `expires_at`; the others stand in `memory_retention`. What fades is reckoned when it is read
and never written back.
"""

from collections.abc import Iterable

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.types import MemoryItem


class Retention(NamedTuple):
    """keep: it neither fades nor expires; fade: it loses the share `rate` of its strength a day."""

    kind: str
    rate: float = 0.0


def retention_of(db: Database, item_ids: Iterable[str]) -> dict[str, Retention]:
    """The retention of these items; those of which nobody said it are left out."""
    if "memory_retention" not in db.tables:
        return {}
    sql = "SELECT item_id, kind, rate FROM memory_retention WHERE item_id IN (?*)"
    return {item_id: Retention(kind, rate) for item_id, kind, rate in db.rows(sql, keys=item_ids)}


def list_expiring(db: Database, filters: Filters, limit: int) -> list[MemoryItem]:
    """The items that pass the filters and have an end, the nearest end first."""
    where, values = filters.where()
    sql = (  # their end first: it costs less to look at than whose word they are
        f"SELECT {items.SELECT} FROM memory_items AS i WHERE i.expires_at IS NOT NULL AND {where} "
        f"ORDER BY i.expires_at, {items.ORDERS['newest']} LIMIT ?"
    )
    return [items.to_item(row, db.path) for row in db.rows(sql, [*values, limit])]


def drop_keep(db: Database, item_id: str) -> bool:
    """Let an item be kept for good no more, because it has an end now; whether it was."""
    if retention_of(db, [item_id]).get(item_id) != Retention("keep"):
        return False
    db.run("DELETE FROM memory_retention WHERE item_id = ?", (item_id,))
    return True


def set_retention(
    db: Database, item_ids: Iterable[str], wanted: Retention | None, *, expires_at: str | None = None
) -> list[str]:
    """Say how long items keep their worth, in one transaction; the ids of those for which it was otherwise before.

    wanted      None takes away what was said
    expires_at  the end of the items; what policy holds back keeps the end of its quarantine
    """
    changed = []
    with db.atomic():
        found = items.get_many(db, item_ids)
        there = retention_of(db, [item.id for item in found])
        held = {i for i, why in items.withheld_reasons(db, [item.id for item in found]).items() if why == "policy"}
        for item in found:
            end = item.expires_at if item.id in held else expires_at
            if there.get(item.id) == wanted and item.expires_at == end:
                continue
            if wanted is None:
                db.run("DELETE FROM memory_retention WHERE item_id = ?", (item.id,))
            else:
                row = (item.id, wanted.kind, wanted.rate, ids.timestamp())
                db.upsert("memory_retention", "item_id kind rate set_at", [row])
            if item.expires_at != end:
                items.update(db, item.id, {"expires_at": end}, "retain", compact=True)
            changed.append(item.id)
    return changed
