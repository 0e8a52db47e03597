"""How much an item matters, 0 to 1, beside how sure it is. A side table; an item without a row is of neutral value."""

from collections.abc import Iterable, Mapping

from memctl.store.connect import Database
from memctl.store.documents.sources import batches, marks

#: What an item has of which nobody said more: it changes nothing, and no row is kept for it.
NEUTRAL = 0.5


def get_many(db: Database, ids: Iterable[str]) -> dict[str, float]:
    """The importance of these items; those of neutral importance are left out."""
    if not db.has("memory_importance"):
        return {}
    out: dict[str, float] = {}
    for batch in batches(list(ids)):
        out.update(
            db.rows(f"SELECT item_id, importance FROM memory_importance WHERE item_id IN ({marks(batch)})", batch)
        )
    return out


def put_many(db: Database, values: Mapping[str, float]) -> None:
    """Set the importance of these items, each 0 to 1; the neutral one removes what was said before."""
    if not values:
        return
    said = [(item_id, value) for item_id, value in values.items() if value != NEUTRAL]
    neutral = [item_id for item_id, value in values.items() if value == NEUTRAL]
    with db.atomic():
        db.run_many(
            "INSERT INTO memory_importance(item_id, importance) VALUES (?, ?) "
            "ON CONFLICT(item_id) DO UPDATE SET importance = excluded.importance",
            said,
        )
        for batch in batches(neutral):
            db.run(f"DELETE FROM memory_importance WHERE item_id IN ({marks(batch)})", batch)


def inherit(db: Database, replaced: Iterable[tuple[str, str]]) -> None:
    """Let items matter as much as those they stand for (pairs of old and new), unless it was said of them how much."""
    pairs = list(replaced)
    old = get_many(db, (old_id for old_id, _ in pairs))
    if not old:
        return
    told = get_many(db, (new_id for _, new_id in pairs))
    values: dict[str, float] = {}
    for old_id, new_id in pairs:
        if old_id in old and new_id not in told:
            values[new_id] = max(old[old_id], values.get(new_id, 0.0))
    put_many(db, values)


class Said:
    """What one write says of the importance of items: new ones take it, known ones only a higher one."""

    __slots__ = ("_now", "_there")

    def __init__(self) -> None:
        self._there: dict[str, float] = {}
        self._now: dict[str, float] = {}

    def look(self, db: Database, ids: Iterable[str]) -> None:
        """Read what was said of items that are in the store."""
        self._there.update(get_many(db, ids))

    def take(self, item_id: str, value: float | None) -> None:
        """Set the importance of a new item; None says nothing."""
        if value is not None:
            self._now[item_id] = value

    def rises(self, item_id: str, value: float | None) -> bool:
        """Give a known item this importance if that is higher than what it has; whether it is."""
        if value is None or value <= self._now.get(item_id, self._there.get(item_id, NEUTRAL)):
            return False
        self._now[item_id] = value
        return True

    def write(self, db: Database) -> None:
        """Store what was said, and begin anew."""
        put_many(db, self._now)
        self.forget()

    def forget(self) -> None:
        """Begin anew without storing anything."""
        self._there, self._now = {}, {}
