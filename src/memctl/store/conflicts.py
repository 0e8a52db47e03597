"""Conflicts: two items that seem to contradict each other, and what somebody decided about it.

A conflict counts as open while nobody has decided and both items still count: what is archived, expired, retracted or
held back contradicts nothing.
"""

from collections.abc import Iterable, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store.database import Database
from memctl.store.filters import Filters

#: What is said of two items where somebody linked them as contradicting each other.
SAID = "somebody says so"
#: What may become of one.
STATES = ("open", "keep-a", "keep-b", "both", "dismiss")
_COLUMNS = "id, a_id, b_id, why, state, found_at, decided_at, reason"


class Conflict(NamedTuple):
    """Two items that contradict each other.

    a, b   their ids: a is the older one
    why    what shows it, such as `another number`
    state  open, or what was decided: keep-a, keep-b, both, dismiss
    """

    id: str
    a: str
    b: str
    why: str
    state: str
    found_at: str
    decided_at: str
    reason: str


def conflict_id(a: str, b: str) -> str:
    """The id of the conflict between two items, whichever is named first."""
    import hashlib

    return f"CON-{hashlib.sha256(' '.join(sorted((a, b))).encode()).hexdigest()[:12]}"


# --- read ------------------------------------------------------------------------------------------------------------


def list_conflicts(db: Database, filters: Filters, *, decided: bool = False, limit: int = -1) -> list[Conflict]:
    """Open conflicts between items that pass the filters, found last first; with `decided`, those that are settled.

    A negative limit means all.
    """
    if "memory_conflicts" not in db.tables:
        return []
    filters = filters.replace(archived=True) if decided else filters.replace(injectable=True)
    (first, some), (second, more) = filters.where("a"), filters.where("b")
    found = db.rows(
        f"SELECT {_columns('c')} FROM memory_conflicts AS c CROSS JOIN memory_items AS a ON a.id = c.a_id "
        f"CROSS JOIN memory_items AS b ON b.id = c.b_id WHERE c.state {'<>' if decided else '='} 'open' AND {first} "
        f"AND {second} ORDER BY c.found_at DESC, b.created_at DESC, a.created_at DESC, c.id LIMIT ?",
        [*some, *more, limit],
    )
    return [Conflict(*row) for row in found]


def conflicts_of(db: Database, item_ids: Iterable[str], filters: Filters) -> list[Conflict]:
    """The open conflicts that any of these items is in, with an item that passes the filters, in order of their ids."""
    if "memory_conflicts" not in db.tables:
        return []
    (first, some), (second, more) = filters.where("a"), filters.where("b")
    found = db.rows(
        f"SELECT {_columns('c')} FROM memory_conflicts AS c CROSS JOIN memory_items AS a ON a.id = c.a_id "
        f"CROSS JOIN memory_items AS b ON b.id = c.b_id WHERE c.state = 'open' AND {first} AND {second} "
        "AND (c.a_id IN (?*) OR c.b_id IN (?*))",
        [*some, *more],
        keys=item_ids,
    )
    return sorted({Conflict(*row) for row in found})


def get_conflict(db: Database, given: str) -> Conflict | None:
    """The conflict of this id, whole or shortened to four digits or more; None when there is none, or several."""
    if "memory_conflicts" not in db.tables:
        return None
    digits = given.strip().lower().removeprefix("con-")
    if len(digits) < 4 or not digits.isalnum():
        return None
    found = db.rows(f"SELECT {_COLUMNS} FROM memory_conflicts WHERE id GLOB ? ORDER BY id LIMIT 2", (f"CON-{digits}*",))
    return Conflict(*found[0]) if len(found) == 1 else None


def _columns(table: str) -> str:
    return ", ".join(f"{table}.{column}" for column in _COLUMNS.split(", "))


# --- write -----------------------------------------------------------------------------------------------------------


def open_conflicts(db: Database, found: Sequence[tuple[str, str, str]]) -> int:
    """Note that pairs of items (the older one, the newer one, why) contradict each other; how many are new.

    What somebody has decided is not asked again.
    """
    if not found:
        return 0
    now = ids.timestamp()
    with db.atomic():
        before = int(db.value("SELECT count(*) FROM memory_conflicts"))
        db.run_many(
            f"INSERT INTO memory_conflicts({_COLUMNS}) VALUES (?, ?, ?, ?, 'open', ?, '', '') ON CONFLICT DO NOTHING",
            [(conflict_id(a, b), a, b, why, now) for a, b, why in found],
        )
        return int(db.value("SELECT count(*) FROM memory_conflicts")) - before


def decide(db: Database, conflict: str, state: str, reason: str = "") -> None:
    """Say how a conflict ended."""
    db.run(
        "UPDATE memory_conflicts SET state = ?, decided_at = ?, reason = ? WHERE id = ?",
        (state, ids.timestamp(), reason, conflict),
    )


def drop(db: Database, conflicts: Sequence[str]) -> None:
    """Forget conflicts that are none any more, because a text has changed."""
    db.run_many("DELETE FROM memory_conflicts WHERE id = ?", [(one,) for one in conflicts])
