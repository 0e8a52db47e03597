"""Full-text search: one ranked union of a query's words, filtered before any limit.

FTS5 does the matching and bm25; a store without FTS5, and words in scripts that its tokenizer cannot take apart, are
searched by substring. Ties are broken by newness, then id: rowids change when another program rewrites a row.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memctl import errors
from memctl.store.connect import Database
from memctl.store.filters import Filters
from memctl.text.query import Query, grams

FTS = "memory_items_fts"

#: bm25 weights of title, content, tags, entities.
COLUMN_WEIGHTS = (2.0, 1.0, 1.0, 1.0)

#: In an index without a stemmer, words of this length also match by their stem.
PREFIX_MIN_LEN = 5

_COLUMNS = "i.id, i.tier, i.type, i.title, i.content, i.tags, i.confidence, i.validation, i.scope, i.injectable"


class Candidate(NamedTuple):
    """An item that matched: what a list shows of it, and its score (higher is better; 0 when nothing ranks it)."""

    id: str
    tier: str
    type: str
    title: str
    content: str
    tags: str
    confidence: float
    validation: str
    scope: str
    injectable: int
    score: float

    @property
    def withheld(self) -> bool:
        """Whether it must not be given to a model."""
        return not self.injectable


class Matches(NamedTuple):
    """The best candidates in order, how many items matched in all, and whether it was a substring search."""

    candidates: list[Candidate]
    total: int
    like: bool = False


def match(db: Database, query: Query, filters: Filters, limit: int) -> Matches:
    """The `limit` best items for a query (a negative limit is none at all); a blank query lists the newest."""
    if query.blank:
        return newest(db, filters, limit)
    if not has_index(db):
        return _like(db, query, filters, limit)
    expression = fts_expression(query, stems=is_stemming(db))
    matches = _ranked(db, expression, filters, limit) if expression else Matches([], 0)
    if query.runs or not expression:
        return _joined(matches, _like(db, query, filters, limit), limit)
    return matches


def newest(db: Database, filters: Filters, limit: int) -> Matches:
    """The items last changed, without a score."""
    condition, values = filters.where("i")
    rows = db.rows(
        f"SELECT {_COLUMNS}, 0.0 FROM memory_items AS i WHERE {condition} ORDER BY i.updated_at DESC, i.id LIMIT ?",
        [*values, limit],
    )
    total: int = db.value(f"SELECT count(*) FROM memory_items AS i WHERE {condition}", values)
    return Matches([Candidate(*row) for row in rows], total)


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
    sql = f"SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? AND rowid = ?"
    return [db.row(sql, (_phrase(stem(term) if prefix else term) + "*" * prefix, rowid)) is not None for term in terms]


def fts_expression(query: Query, *, stems: bool) -> str:
    """The FTS5 expression: any of the words. Each is quoted, so no text is an operator or a syntax error."""
    words = [_phrase(word) for word in (*query.terms, *query.parts)]
    if not stems:
        words += [_phrase(stem(word)) + "*" for word in (*query.terms, *query.parts) if len(word) >= PREFIX_MIN_LEN]
    return " OR ".join(words)


def stem(word: str) -> str:
    """A word without a common English or French ending, at least four letters of it: a stand-in for a stemmer."""
    low = word.lower()
    for ending in ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s", "y", "e"):
        if low.endswith(ending) and len(low) - len(ending) >= 4:
            return word[: len(word) - len(ending)]
    return word


def _phrase(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def _ranked(db: Database, expression: str, filters: Filters, limit: int) -> Matches:
    condition, values = filters.where("i")
    weights = ", ".join(map(str, COLUMN_WEIGHTS))
    rows = db.rows(
        f"WITH found AS MATERIALIZED (SELECT i.rowid AS item, bm25({FTS}, {weights}) AS cost "
        f"FROM {FTS} JOIN memory_items AS i ON i.rowid = {FTS}.rowid WHERE {FTS} MATCH ? AND {condition}) "
        f"SELECT {_COLUMNS}, -found.cost, (SELECT count(*) FROM found) "
        "FROM found JOIN memory_items AS i ON i.rowid = found.item "
        "ORDER BY found.cost, i.updated_at DESC, i.id LIMIT ?",
        [expression, *values, limit],
    )
    return Matches([Candidate(*row[:-1]) for row in rows], rows[0][-1] if rows else 0)
