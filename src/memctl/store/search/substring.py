"""Search by substring: for a store without a full-text index, and for scripts whose words its tokenizer cannot tell."""

import math
from collections.abc import Sequence
from operator import mul

from memctl.store.connect import Database
from memctl.store.filters import Filters, folded
from memctl.store.search.index import Matches, fetch, in_order, size
from memctl.text.query import Query, grams, unsegmented

#: At most this many substrings are looked for.
MAX_NEEDLES = 24
#: Of a longer one its beginning is looked for: SQLite takes patterns of 50 000 bytes, of which a character may need 4.
MAX_LENGTH = 4000


def match(db: Database, query: Query, filters: Filters, limit: int) -> Matches:
    """The `limit` best items for a query (a negative limit means all), and how many match."""
    return _like(db, needles(query), filters, limit)


def needles(query: Query) -> list[str]:
    """What to look for inside the text: pairs of characters of unsegmented runs, other words whole."""
    out: list[str] = []
    for run in query.runs:
        out += grams(run)[len(run) > 2 :]  # the pairs of a longer run; the whole of it is hardly ever there
    out += [term for term in (*query.terms, *query.parts) if not unsegmented(term)]
    wanted = list(dict.fromkeys(out))[:MAX_NEEDLES] or [query.text]
    return [needle[:MAX_LENGTH] for needle in wanted]


def _like(db: Database, needles: Sequence[str], filters: Filters, limit: int) -> Matches:
    """Items that hold any of the needles in title, content or tags; a rare needle counts more, in the title half more.

    The score is the share of the needles' weight, 1 when all of them are there.
    """
    condition, values = filters.where("i")
    hits, patterns = [], []
    for number, needle in enumerate(needles):
        low = needle.lower() != needle.upper() and not needle.isascii()  # LIKE folds the case of ASCII only
        title, content, tags = (
            f"{folded(f'i.{name}') if low else f'i.{name}'} LIKE ? ESCAPE '!'" for name in ("title", "content", "tags")
        )
        hits.append(f"2 * ({title}) + ({content} OR {tags}) AS hit{number}")
        patterns += [_pattern(needle.casefold() if low else needle)] * 3
    found = db.rows(
        f"SELECT * FROM (SELECT i.rowid AS item, {', '.join(hits)} FROM memory_items AS i WHERE {condition}) "
        f"WHERE {' OR '.join(f'hit{number}' for number in range(len(needles)))}",
        [*patterns, *values],
    )
    if not found:
        return Matches([], 0)
    items = max(size(db), len(found))
    weights = [_rarity(items, sum(map(bool, column))) for column in list(zip(*found, strict=True))[1:]]
    every = sum(weights)
    scores = {row: sum(map(mul, weights, map(_WORTH.__getitem__, held))) / every for row, *held in found}
    least = sorted(scores.values(), reverse=True)[limit - 1] if 0 <= limit < len(scores) else 0.0
    best = in_order(fetch(db, scores, [row for row, score in scores.items() if score >= least]))
    return Matches(best[:limit] if limit >= 0 else best, len(found))


#: What a needle is worth that is nowhere, in content or tags, in the title, in both.
_WORTH = (0.0, 1.0, 1.0, 1.5)


def _rarity(items: int, having: int) -> float:
    """What a needle weighs that so many items have, as in `retrieve.rank`; some even when all have it."""
    return max(0.01, math.log1p((items - having + 0.5) / (having + 0.5)))


def _pattern(needle: str) -> str:
    for char in "!%_":
        needle = needle.replace(char, "!" + char)
    return f"%{needle}%"


def merged(ranked: Matches, like: Matches, limit: int) -> Matches:
    """One list of both: a substring's share of the needles counts like as much of the best rank."""
    top = ranked.candidates[0].score if ranked.candidates else 1.0
    known = {c.id: c for c in ranked.candidates}
    for c in like.candidates:
        there = known.setdefault(c.id, c)
        share = c.score * (top or 1.0)
        there.score = share if there is c else there.score + share
    best = sorted(known.values(), key=lambda c: -c.score)
    return Matches(best[:limit] if limit >= 0 else best, max(ranked.total, len(known), like.total))
