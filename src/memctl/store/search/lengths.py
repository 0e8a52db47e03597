"""How long items are, in words: what bm25 compares them with is the average of the whole store, not of the scopes read.

Where a scope of short statements stands beside one of long documents, every statement is short, and how short no longer
tells. So what the index says of a word's strength is reckoned anew with the average of the scopes alone.
"""

from collections.abc import Iterable, Mapping, Sequence

from memctl.store import cache
from memctl.store.connect import Database
from memctl.store.search.index import FTS

#: How much the length counts in FTS5's bm25 (its constant b).
B = 0.75
#: The average of a scope is that of so many of its items, those stored first; of a smaller one, of all.
SAMPLE = 2000


def as_alone(db: Database, strengths: Mapping[int, float], scopes: Sequence[str]) -> Mapping[int, float]:
    """The strengths of a word, by rowid, as they would be if the store held nothing but these scopes."""
    everywhere, here = _averages(db, tuple(scopes))
    if not strengths or everywhere == here:
        return strengths
    before, after = B / everywhere, B / here
    lengths = _of(db, strengths)
    return {
        row: strength * (1 - B + before * lengths[row]) / (1 - B + after * lengths[row])
        for row, strength in strengths.items()
    }


def _averages(db: Database, scopes: tuple[str, ...]) -> tuple[float, float]:
    """The average length in the store, and in these scopes; twice the same when the index does not say."""
    known = cache.of(db, "averages")
    if scopes not in known:
        known[scopes] = (1.0, 1.0)
        record = db.value(f"SELECT block FROM {FTS}_data WHERE id = 1") if db.has(f"{FTS}_docsize") else None
        items, *words = numbers(record or b"\0")
        if items and sum(words):
            everywhere = sum(words) / items
            known[scopes] = (everywhere, _average(db, scopes) or everywhere)
    found: tuple[float, float] = known[scopes]
    return found


def _average(db: Database, scopes: tuple[str, ...]) -> float:
    lengths: list[int] = []
    for scope in scopes:
        sizes = db.rows(
            f"SELECT sz FROM {FTS}_docsize WHERE id IN (SELECT rowid FROM memory_items WHERE scope = ? LIMIT ?)",
            (scope, SAMPLE),
        )
        lengths += [_sum(size) for (size,) in sizes]
    return sum(lengths) / len(lengths) if lengths else 0.0


def _of(db: Database, rows: Iterable[int]) -> Mapping[int, int]:
    """The lengths of these items."""
    known: dict[int, int] = cache.of(db, "lengths")
    unknown = [row for row in rows if row not in known]
    if unknown:
        cache.of(db, "lengths", len(unknown))
        known.update(dict.fromkeys(unknown, 0))
        sizes = db.rows(
            f"SELECT id, sz FROM {FTS}_docsize WHERE id IN (SELECT value FROM json_each(?))", [str(unknown)]
        )
        known.update((row, _sum(size)) for row, size in sizes)
    return known


def _sum(size: bytes) -> int:
    """The words of all columns of an item."""
    return sum(size) if size.isascii() else sum(numbers(size))  # a byte below 128 is a number


def numbers(data: bytes) -> list[int]:
    """The numbers in a record of the index: seven bits in a byte, the highest first, the last byte below 128."""
    out, number = [], 0
    for byte in data:
        number = number << 7 | byte & 127
        if byte < 128:
            out.append(number)
            number = 0
    return out
