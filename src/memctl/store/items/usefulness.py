"""What conversations were told, and whether an answer used it: rows of `memory_usefulness`, one for each item and
conversation, so that what is counted twice stays one.
"""

from collections.abc import Iterable, Mapping

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store.database import Database
from memctl.store.filters import Filters

_TABLE = "memory_usefulness"
_SUMS = "count(*), sum(u.used <> ''), sum(u.tokens), sum(iif(u.used = '', u.tokens, 0))"


class Usefulness(NamedTuple):
    """How often an item was told unasked, and what came of it.

    told          conversations that were told it
    used          those of them in which an answer used it
    tokens        that it took in all of them, about
    tokens_unused those that it took where no answer used it
    """

    told: int
    used: int
    tokens: int
    tokens_unused: int


def record(db: Database, session_id: str, tokens: Mapping[str, int], used: Mapping[str, str]) -> int:
    """Note what a conversation was told (item id -> tokens), and what of it was used (item id -> how that shows).

    What was used once stays so; items that are gone are left out. The number of items that are now known to be used,
    and were not before.
    """
    now = ids.timestamp()
    with db.atomic():
        before = _used_in(db, session_id)
        there = {row[0] for row in db.rows("SELECT id FROM memory_items WHERE id IN (?*)", keys=tokens)}
        rows = [(item_id, session_id, count, used.get(item_id, ""), now) for item_id, count in tokens.items()]
        db.run_many(
            f"INSERT INTO {_TABLE}(item_id, session_id, tokens, used, judged_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT(item_id, session_id) DO UPDATE SET tokens = max(tokens, excluded.tokens), "
            f"used = iif({_TABLE}.used = '', excluded.used, {_TABLE}.used), judged_at = excluded.judged_at "
            f"WHERE {_TABLE}.tokens < excluded.tokens OR ({_TABLE}.used = '' AND excluded.used <> '')",
            [row for row in rows if row[0] in there],
        )
        return len(_used_in(db, session_id) - before)


def _used_in(db: Database, session_id: str) -> set[str]:
    sql = f"SELECT item_id FROM {_TABLE} WHERE session_id = ? AND used <> ''"
    return {str(row[0]) for row in db.rows(sql, (session_id,))}


def usefulness_of(db: Database, item_ids: Iterable[str]) -> dict[str, Usefulness]:
    """The usefulness of these items; those that no conversation was told are left out."""
    if _TABLE not in db.tables:
        return {}
    sql = f"SELECT u.item_id, {_SUMS} FROM {_TABLE} AS u WHERE u.item_id IN (?*) GROUP BY u.item_id"
    return {str(item_id): Usefulness(*sums) for item_id, *sums in db.rows(sql, keys=item_ids)}


def list_told(db: Database, filters: Filters) -> dict[str, Usefulness]:
    """The usefulness of every item that passes the filters and was told: what helped most often first, then what cost
    most without.
    """
    if _TABLE not in db.tables:
        return {}
    where, values = filters.where()
    sql = (
        f"SELECT u.item_id, {_SUMS} FROM {_TABLE} AS u CROSS JOIN memory_items AS i ON i.id = u.item_id "
        f"WHERE {where} GROUP BY u.item_id ORDER BY 3 DESC, 5 DESC, u.item_id"
    )
    return {str(item_id): Usefulness(*sums) for item_id, *sums in db.rows(sql, values)}


def count_conversations(db: Database) -> int:
    """How many conversations were told anything."""
    sql = f"SELECT count(DISTINCT session_id) FROM {_TABLE}"
    return int(db.value(sql)) if _TABLE in db.tables else 0


def was_told(db: Database, item_id: str, session_id: str) -> bool:
    """Whether a conversation was told an item unasked."""
    sql = f"SELECT 1 FROM {_TABLE} WHERE item_id = ? AND session_id = ?"
    return _TABLE in db.tables and db.value(sql, (item_id, session_id)) is not None
