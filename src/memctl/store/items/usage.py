"""What befell items: when they were made, how often and when they were used, and how much somebody said they matter.

Never kept between searches: uses are counted without a change of anything else.
"""

from collections.abc import Sequence

from memctl.store.connect import Database

#: The day of a stored time, counted from 1970; NULL when it is none.
_DAY = "CAST(julianday({}) - 2440587.5 AS INTEGER)"


class Life:
    """Of one item the day on which it was made, that of its last use, the number of uses, and its importance.

    Days are counted from 1970. What is not known, or was never said, is None.
    """

    __slots__ = ("importance", "made", "used", "uses")

    def __init__(self, made: int | None, uses: int, used: int | None, importance: float | None) -> None:
        self.made, self.uses, self.used, self.importance = made, uses, used, importance


def of(db: Database, item_ids: Sequence[str]) -> dict[str, Life]:
    """The lives of these items, which are few enough for one statement; those that are gone are left out."""
    matters, join = "NULL", ""
    if db.has("memory_importance"):
        matters, join = "m.importance", "LEFT JOIN memory_importance AS m ON m.item_id = i.id"
    sql = (
        f"SELECT i.id, {_DAY.format('i.created_at')}, CAST(i.usage_count AS INTEGER), "
        f"{_DAY.format('i.last_used_at')}, {matters} FROM memory_items AS i {join} "
        f"WHERE i.id IN ({', '.join('?' * len(item_ids))})"
    )
    return {item_id: Life(*life) for item_id, *life in db.rows(sql, list(item_ids))}


def day(db: Database, stamp: str) -> int:
    """The day of a moment, counted from 1970."""
    return int(db.value(f"SELECT {_DAY.format('?')}", (stamp,)))
