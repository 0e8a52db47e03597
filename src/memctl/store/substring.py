"""Search by substring: for a store without a full-text index, and for scripts whose words its tokenizer cannot tell."""

import math
from collections.abc import Sequence

from memctl.store.connect import Database
from memctl.store.filters import Filters, folded
from memctl.store.search import COLUMNS, Candidate, Matches
from memctl.text.query import Query, grams, unsegmented

#: At most this many substrings are looked for, and this share of them must be there.
MAX_NEEDLES = 24
NEEDLE_SHARE = 0.34
#: Of a longer one its beginning is looked for: SQLite takes patterns of 50 000 bytes, of which a character may need 4.
MAX_LENGTH = 4000


def match(db: Database, query: Query, filters: Filters, limit: int) -> Matches:
    """The `limit` best items for a query (a negative limit means all), and how many match."""
    return _like(db, needles(query), filters, limit)


def needles(query: Query) -> list[str]:
    """What to look for inside the text: pairs of characters of unsegmented runs, other words whole."""
    out: list[str] = []
    for run in query.runs:
        out += grams(run)
    out += [term for term in (*query.terms, *query.parts) if not unsegmented(term)]
    wanted = list(dict.fromkeys(out))[:MAX_NEEDLES] or [query.text]
    return [needle[:MAX_LENGTH] for needle in wanted]


def _like(db: Database, needles: Sequence[str], filters: Filters, limit: int) -> Matches:
    """Items that hold enough of the needles in title, content or tags, those with most first."""
    condition, values = filters.where("i")
    hits, patterns = [], []
    for needle in needles:
        low = needle.lower() != needle.upper() and not needle.isascii()  # LIKE folds the case of ASCII only
        columns = (folded(f"i.{name}") if low else f"i.{name}" for name in ("title", "content", "tags"))
        tests = (f"{column} LIKE ? ESCAPE '!'" for column in columns)
        hits.append(f"({' OR '.join(tests)})")
        patterns += [_pattern(needle.casefold() if low else needle)] * 3
    enough = max(1, math.ceil(NEEDLE_SHARE * len(needles))) if any(map(unsegmented, needles)) else 1
    rows = db.rows(
        f"SELECT {COLUMNS}, found.hits, count(*) OVER () FROM (SELECT i.rowid AS item, {' + '.join(hits)} AS hits "
        f"FROM memory_items AS i WHERE {condition}) AS found JOIN memory_items AS i ON i.rowid = found.item "
        "WHERE found.hits >= ? ORDER BY found.hits DESC, i.updated_at DESC, i.id LIMIT ?",
        [*patterns, *values, enough, limit],
    )
    found = [Candidate(*row[:-2], *(hits / len(needles) for hits in row[-2:-1])) for row in rows]
    return Matches(found, rows[0][-1] if rows else 0)


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
