"""Ids as a block shows them: short, and unique in the store."""

import json
from collections.abc import Iterable

from memctl.store.connect import Database

#: An id of ours is shown by as few of its hex digits as tell it from all others, of these numbers of them.
_SHORT = (6, 8, 12)
_PREFIX = "MEM-"


def shortened(db: Database, item_ids: Iterable[str]) -> dict[str, str]:
    """The ids as a block shows them: the first hex digits of an id of ours, as many as are unique, others whole."""
    out: dict[str, str] = {}
    left = []
    for item_id in item_ids:
        digits = item_id.removeprefix(_PREFIX)
        if item_id.startswith(_PREFIX) and len(digits) == _SHORT[-1] and not digits.strip("0123456789abcdef"):
            left.append(item_id)
        else:
            out[item_id] = "_".join(item_id.split()).replace("]", ")") or "-"
    for length in _SHORT:
        short = {item_id: item_id[: len(_PREFIX) + length] for item_id in left}
        sql = (
            "SELECT s.value FROM json_each(?) AS s JOIN memory_items AS i "
            "ON i.id >= s.value AND i.id < s.value || 'g' GROUP BY s.value HAVING count(*) > 1"
        )
        shared = {row[0] for row in db.rows(sql, [json.dumps(sorted(set(short.values())))])}
        if length == _SHORT[-1]:
            shared = set()
        out.update((item_id, start.removeprefix(_PREFIX)) for item_id, start in short.items() if start not in shared)
        left = [item_id for item_id, start in short.items() if start in shared]
        if not left:
            break
    return out


def whole(db: Database, given: str) -> str:
    """The id that a shortened one stands for, if it is the only one; else what was given.

    A shortened one (`shortened`) has at least six hex digits, with `MEM-` before them or without.
    """
    digits = given.removeprefix(_PREFIX)
    if not _SHORT[0] <= len(digits) <= _SHORT[-1] or digits.strip("0123456789abcdef"):
        return given
    start = _PREFIX + digits
    found = db.rows("SELECT id FROM memory_items WHERE id >= ? AND id < ? LIMIT 2", [start, start + "g"])
    rows = [row[0] for row in found]
    return rows[0] if len(rows) == 1 else given
