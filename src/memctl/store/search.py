"""Full-text search: one ranked union of a query's words, filtered before any limit.

FTS5 does the matching and bm25; a store without FTS5, and words in scripts that its tokenizer cannot take apart, are
searched by substring. Ties are broken by newness, then id: rowids change when another program rewrites a row.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from memctl import errors
from memctl.store.connect import Database
from memctl.store.filters import Filters
from memctl.text.query import Query, grams, stem, unsegmented

FTS = "memory_items_fts"

#: bm25 weights of title, content, tags, entities.
COLUMN_WEIGHTS = (2.0, 1.0, 1.0, 1.0)

#: In an index without a stemmer, words of this length match by their beginning.
PREFIX_MIN_LEN = 5
#: Where no word matches, those of this length match as the beginning of a word.
STUMP_MIN_LEN = 3
#: In a store of at least LARGE items, words that COMMON items or more have do not find items, if others do.
LARGE = 50_000
COMMON = 20_000
#: At most this many substrings are looked for, and this share of them must be there.
MAX_NEEDLES = 24
NEEDLE_SHARE = 0.34

_COLUMNS = (
    "i.id, i.tier, i.type, "
    "CAST(i.title AS TEXT), CAST(i.content AS TEXT), CAST(i.tags AS TEXT), "
    "i.confidence, i.validation, i.scope, i.injectable"
)


class Candidate:
    """An item that matched: what a list shows of it, and its score (higher is better; 0 when nothing ranks it)."""

    __slots__ = (
        "confidence", "content", "id", "injectable", "scope", "score", "tags", "tier", "title", "type", "validation"
    )  # fmt: skip

    def __init__(
        self,
        id: str,
        tier: str,
        type: str,
        title: str,
        content: str,
        tags: str,
        confidence: float,
        validation: str,
        scope: str,
        injectable: int,
        score: float,
    ) -> None:
        self.id, self.tier, self.type, self.title, self.content, self.tags = id, tier, type, title, content, tags
        self.confidence, self.validation, self.scope = confidence, validation, scope
        self.injectable, self.score = injectable, score


class Matches:
    """The best candidates in order, how many matched in all (or how many are here, if that was not counted).

    like: some of it was found by substring, not by the index.
    """

    __slots__ = ("candidates", "like", "total")

    def __init__(self, candidates: list[Candidate], total: int, like: bool = False) -> None:
        self.candidates, self.total, self.like = candidates, total, like


def match(db: Database, query: Query, filters: Filters, limit: int, *, count: bool = False) -> Matches:
    """The `limit` best items for a query (a negative limit means all); a blank query lists the newest.

    With `count`, `total` is the number of all items that match; counting costs about half as much again.
    """
    if query.blank:
        return newest(db, filters, limit)
    if not has_index(db):
        return _like(db, _needles(query), filters, limit)
    terms = (*query.terms, *query.parts)
    phrases = fts_phrases(query, stems=is_stemming(db))
    telling = _telling(db, phrases)
    found = _ranked(db, telling, filters, limit, count)
    if not found.total and len(telling) < len(phrases):
        found = _ranked(db, phrases, filters, limit, count)
    if not found.total:  # nothing has these words: perhaps they are the beginnings of some
        starts = [_phrase(term) + "*" for term in terms if len(term) >= STUMP_MIN_LEN]
        found = _ranked(db, starts, filters, limit, count)
    if query.runs or not terms:
        return _merged(found, _like(db, _needles(query), filters, limit), limit)
    return found


def newest(db: Database, filters: Filters, limit: int) -> Matches:
    """The items last changed, without a score."""
    condition, values = filters.where("i")
    rows = db.rows(
        f"SELECT {_COLUMNS}, 0.0 FROM memory_items AS i WHERE {condition} ORDER BY i.updated_at DESC, i.id LIMIT ?",
        [*values, limit],
    )
    total: int = db.value(f"SELECT count(*) FROM memory_items AS i WHERE {condition}", values)
    return Matches([Candidate(*row) for row in rows], total)


def is_small(db: Database, rows: int) -> int:
    """How many items the whole store has when they are fewer than `rows`, else 0."""
    count: int = db.value("SELECT count(*) FROM (SELECT 1 FROM memory_items LIMIT ?)", (rows,))
    return count if count < rows else 0


def has_index(db: Database) -> bool:
    """Whether the store has a full-text index that this SQLite can read."""
    if not db.has(FTS):
        return False
    try:
        db.row(f"SELECT 1 FROM {FTS} LIMIT 0")
    except errors.StoreFailed:
        return False  # no FTS5 here, or a tokenizer of another program
    return True


def is_stemming(db: Database) -> bool:
    """Whether the index stems words (a `porter` tokenizer)."""
    ddl = db.value("SELECT sql FROM sqlite_master WHERE name = ?", (FTS,))
    return "porter" in str(ddl).lower()


def covered(db: Database, item_id: str, terms: Sequence[str], *, prefix: bool = False) -> list[bool]:
    """For each term, whether the index finds it in this item; with `prefix`, also as the beginning of a word."""
    rowid = db.value("SELECT rowid FROM memory_items WHERE id = ?", (item_id,))
    shape = _start if prefix else _phrase
    sql = f"SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? AND rowid = ?"
    return [db.row(sql, (shape(term), rowid)) is not None for term in terms]


def all_by_prefix(db: Database, terms: Sequence[str], least: int, limit: int) -> list[str]:
    """Ids of active items that hold all of the terms, those of `least` letters or more as the beginning of a word."""
    phrases = [_phrase(term) + ("*" if len(term) >= least else "") for term in terms]
    if not phrases or not has_index(db):
        return []
    rows = db.rows(
        f"SELECT i.id FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid "
        f"WHERE {FTS} MATCH ? AND i.archived = 0 ORDER BY bm25({FTS}), i.id LIMIT ?",
        [" AND ".join(phrases), limit],
    )
    return [row[0] for row in rows]


def fts_phrases(query: Query, *, stems: bool) -> list[str]:
    """The FTS5 expressions any of which may match. Each is quoted, so no text is an operator or a syntax error.

    Neighbouring words are also looked for as one ("auth service" finds AuthService, which the index holds as one
    word). In an index that does not stem, a word's beginning stands in for its stem.
    """
    words = [*query.terms, *query.parts]
    shape = _phrase if stems else _beginning
    plain = [term for term in query.terms if term.isalnum()]
    joined = [_phrase(a + b) for a, b in pairwise(plain)]
    return [*map(shape, words), *joined]


def _telling(db: Database, phrases: list[str]) -> list[str]:
    """In a large store, the phrases without those that a great many items have, when there are rarer ones.

    Ranking costs a microsecond for each item that matches, and a word that every tenth item has ranks nothing.
    """
    if len(phrases) < 2 or (db.value("SELECT max(rowid) FROM memory_items") or 0) < LARGE:
        return phrases
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? LIMIT {COMMON})"
    return [phrase for phrase in phrases if 0 < db.value(sql, (phrase,)) < COMMON] or phrases


def _beginning(word: str) -> str:
    if len(word) >= PREFIX_MIN_LEN:
        return _start(word)
    plural = len(word) == PREFIX_MIN_LEN - 1 and word[-1] in "sS"  # JWTs
    return f"{_phrase(word)} OR {_phrase(word[:-1])}" if plural else _phrase(word)


def _start(word: str) -> str:
    return _phrase(stem(word)) + "*"


def _phrase(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _ranked(db: Database, phrases: Sequence[str], filters: Filters, limit: int, count: bool) -> Matches:
    if not phrases:
        return Matches([], 0)
    condition, values = filters.where("i")
    weights = ", ".join(map(str, COLUMN_WEIGHTS))
    # CROSS JOIN keeps the index in the outer loop; left alone, SQLite may ask it once for every item instead.
    matching = (
        f"SELECT i.rowid AS item, bm25({FTS}, {weights}) AS cost, i.updated_at AS changed, i.id AS id "
        f"FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid WHERE {FTS} MATCH ? AND {condition}"
    )
    order = "ORDER BY cost, changed DESC, id LIMIT ?"
    total = "count(*) OVER ()" if count else "0"
    # The inner query sorts small rows; only the few that are left fetch their content.
    rows = db.rows(
        f"SELECT {_COLUMNS}, -best.cost, best.total "
        f"FROM (SELECT *, {total} AS total FROM ({matching}) {order}) AS best "
        "JOIN memory_items AS i ON i.rowid = best.item ORDER BY best.cost, best.changed DESC, best.id",
        [" OR ".join(phrases), *values, limit],
    )
    found = [Candidate(*row[:-1]) for row in rows]
    return Matches(found, rows[0][-1] if count and rows else len(found))


# --- by substring -----------------------------------------------------------------------------------------------


def _needles(query: Query) -> list[str]:
    """What to look for inside the text: pairs of characters of unsegmented runs, other words whole."""
    out: list[str] = []
    for run in query.runs:
        out += grams(run)
    out += [term for term in (*query.terms, *query.parts) if not unsegmented(term)]
    return list(dict.fromkeys(out))[:MAX_NEEDLES] or [query.text]


def _like(db: Database, needles: Sequence[str], filters: Filters, limit: int) -> Matches:
    """Items that hold enough of the needles in title, content or tags, those with most first."""
    condition, values = filters.where("i")
    hits, patterns = [], []
    for needle in needles:
        low = needle.lower() != needle.upper() and not needle.isascii()  # LIKE folds the case of ASCII only
        shape = "memctl_fold(i.{})" if low else "i.{}"
        tests = (f"{shape.format(column)} LIKE ? ESCAPE '!'" for column in ("title", "content", "tags"))
        hits.append(f"({' OR '.join(tests)})")
        patterns += [_pattern(needle.casefold() if low else needle)] * 3
    enough = max(1, math.ceil(NEEDLE_SHARE * len(needles))) if any(map(unsegmented, needles)) else 1
    rows = db.rows(
        f"SELECT {_COLUMNS}, found.hits, count(*) OVER () FROM (SELECT i.rowid AS item, {' + '.join(hits)} AS hits "
        f"FROM memory_items AS i WHERE {condition}) AS found JOIN memory_items AS i ON i.rowid = found.item "
        "WHERE found.hits >= ? ORDER BY found.hits DESC, i.updated_at DESC, i.id LIMIT ?",
        [*patterns, *values, enough, limit],
    )
    found = [Candidate(*row[:-2], *(hits / len(needles) for hits in row[-2:-1])) for row in rows]
    return Matches(found, rows[0][-1] if rows else 0, like=True)


def _pattern(needle: str) -> str:
    for char in "!%_":
        needle = needle.replace(char, "!" + char)
    return f"%{needle}%"


def _merged(ranked: Matches, like: Matches, limit: int) -> Matches:
    """One list of both: a substring's share of the needles counts like as much of the best rank."""
    top = ranked.candidates[0].score if ranked.candidates else 1.0
    known = {c.id: c for c in ranked.candidates}
    for c in like.candidates:
        before = known[c.id].score if c.id in known else 0.0
        c.score = before + c.score * (top or 1.0)
        known[c.id] = c
    best = sorted(known.values(), key=lambda c: -c.score)
    return Matches(best[:limit] if limit >= 0 else best, max(ranked.total, len(known), like.total), like=True)
