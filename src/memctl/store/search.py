"""What the full-text index says: which items have a word, how strongly, and what a list shows of them.

`memctl.retrieve` asks word by word and ranks; here is all SQL of a search but the search by substring
(`memctl.store.substring`). Ties are broken by newness, then id: rowids change when another program rewrites a row.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from memctl import errors
from memctl.store.connect import Database
from memctl.store.filters import Filters
from memctl.text.query import stem

FTS = "memory_items_fts"

#: bm25 weights of title, content, tags, entities.
COLUMN_WEIGHTS = (2.0, 1.0, 1.0, 1.0)

#: FTS5's bm25: the constant k1, and the least weight it gives to a word.
K1 = 1.2
LEAST_IDF = 1e-6
#: A word whose share of the score reaches this much of its limit is there as often as can be told.
_FULL = 0.995

COLUMNS = (
    "i.id, i.tier, i.type, "
    "CAST(i.title AS TEXT), CAST(i.content AS TEXT), CAST(i.tags AS TEXT), "
    "i.confidence, i.validation, i.scope, i.injectable"
)


class Candidate:
    """An item that matched: what a list shows of it, and its score (higher is better; 0 when nothing ranks it)."""

    __slots__ = (
        "changed", "confidence", "content", "id", "injectable", "row", "scope", "score", "tags", "tier", "title",
        "type", "validation",
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
        row: int = 0,
        changed: str = "",
    ) -> None:
        self.id, self.tier, self.type, self.title, self.content, self.tags = id, tier, type, title, content, tags
        self.confidence, self.validation, self.scope = confidence, validation, scope
        self.injectable, self.score, self.row, self.changed = injectable, score, row, changed


class Matches:
    """The best candidates in order, and how many matched in all."""

    __slots__ = ("candidates", "total")

    def __init__(self, candidates: list[Candidate], total: int) -> None:
        self.candidates, self.total = candidates, total


def newest(db: Database, filters: Filters, limit: int) -> Matches:
    """The items last changed, without a score."""
    condition, values = filters.where("i")
    rows = db.rows(
        f"SELECT {COLUMNS}, 0.0 FROM memory_items AS i WHERE {condition} ORDER BY i.updated_at DESC, i.id LIMIT ?",
        [*values, limit],
    )
    total: int = db.value(f"SELECT count(*) FROM memory_items AS i WHERE {condition}", values)
    return Matches([Candidate(*row) for row in rows], total)


def fetch(db: Database, scores: "dict[int, float]", rows: Iterable[int]) -> list[Candidate]:
    """The candidates for rowids, best score first."""
    found = []
    for batch in _batches(list(rows)):
        found += db.rows(
            f"SELECT {COLUMNS}, 0.0, i.rowid, CAST(i.updated_at AS TEXT) FROM memory_items AS i "
            f"WHERE i.rowid IN ({', '.join('?' * len(batch))})",
            batch,
        )
    candidates = [Candidate(*row) for row in found]
    for c in candidates:
        c.score = scores[c.row]
    return in_order(candidates)


def in_order(candidates: list[Candidate]) -> list[Candidate]:
    """Best score first, of equals the newest, then by id."""
    candidates.sort(key=lambda c: c.id)
    candidates.sort(key=lambda c: c.changed, reverse=True)
    candidates.sort(key=lambda c: c.score, reverse=True)
    return candidates


def _batches(rows: Sequence[int], size: int = 500) -> Iterable[Sequence[int]]:
    return (rows[i : i + size] for i in range(0, len(rows), size))


def made(db: Database, rows: Sequence[int]) -> list[tuple[int, str]]:
    """When these items were made, as it is stored."""
    found = []
    for batch in _batches(rows):
        found += db.rows(
            f"SELECT i.rowid, CAST(i.created_at AS TEXT) FROM memory_items AS i "
            f"WHERE i.rowid IN ({', '.join('?' * len(batch))})",
            batch,
        )
    return found


# --- where items stand ------------------------------------------------------------------------------------------


class Standing:
    """Where an item stands.

    source, position  what it is from, and its place there
    length            of the item, in characters
    asks              whether it ends in a question
    document          whether the source is a document, not a conversation
    """

    __slots__ = ("asks", "document", "length", "position", "source")

    def __init__(self, source: str, position: int, length: int, asks: int, document: bool) -> None:
        self.source, self.position, self.length = source, position, length
        self.asks, self.document = bool(asks), document


def places(db: Database, rows: Sequence[int], filters: Filters) -> dict[int, Standing]:
    """Where those of these items stand that have an order and pass the filters."""
    condition, values = filters.where("i")
    out = {}
    for batch in _batches(rows):
        for row, provenance, length, asks in db.rows(
            "SELECT i.rowid, CAST(i.provenance_json AS TEXT), length(i.content), instr(substr(i.content, -40), '?') "
            f"FROM memory_items AS i WHERE i.rowid IN ({', '.join('?' * len(batch))}) AND {condition}",
            [*batch, *values],
        ):
            kind, source, chunk = _origin(provenance or "")
            # An item that has an order in its source ends its chunk id in its place there: "3", "guide.md:3".
            place = chunk if chunk.isdecimal() else chunk.rpartition(":")[2]
            if place.isdecimal() and place.isascii() and len(place) < 10:
                out[row] = Standing(source, int(place), length, asks, kind == "doc")
    return out


def _origin(provenance: str) -> tuple[str, str, str]:
    """(source kind, source id, first chunk id) of an item's provenance.

    In the form that memctl writes it is read as text: importing a JSON parser would cost more than the search.
    """
    if "\\" not in provenance and provenance.startswith('{"source_kind": "'):
        kind = provenance.find('", "source_id": "', 17)
        end = provenance.find('"', kind + 17)
        if kind > 0 and provenance.startswith('", "chunk_ids": [', end):
            first = end + 18
            if provenance[first - 1 : first] in ('"', "]"):
                chunk = provenance[first : provenance.find('"', first)] if provenance[first - 1] == '"' else ""
                return provenance[17:kind], provenance[kind + 17 : end], chunk
    from memctl.store.rows import load

    found = load(provenance)
    found = found if isinstance(found, dict) else {}
    chunks = found.get("chunk_ids")
    return (
        str(found.get("source_kind") or ""), str(found.get("source_id") or ""),
        str(chunks[0]) if isinstance(chunks, list) and chunks else "",
    )  # fmt: skip


# --- the index --------------------------------------------------------------------------------------------------


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


def size(db: Database) -> int:
    """How many items the index holds, archived ones too."""
    table = f"{FTS}_docsize" if db.has(f"{FTS}_docsize") else "memory_items"
    count: int = db.value(f"SELECT count(*) FROM {table}")
    return count


def in_scopes(db: Database, filters: Filters, most: int, size: int) -> int:
    """How many of `size` items are in the scopes of the filters, archived ones too; counting ends at `most`."""
    if filters.scopes is None:
        return most
    if not _elsewhere(db, filters.scopes):
        return min(most, size)
    count: int = db.value(
        f"SELECT count(*) FROM (SELECT 1 FROM memory_items WHERE scope IN ({', '.join('?' * len(filters.scopes))}) "
        "LIMIT ?)",
        [*filters.scopes, most],
    )
    return count


def _elsewhere(db: Database, scopes: Sequence[str]) -> bool:
    """Whether any item is in another scope: a look into the gaps between these, so it costs little in any store."""
    marks = sorted(set(scopes))
    gaps = ["scope < ?", *["scope > ? AND scope < ?"] * (len(marks) - 1), "scope > ?"]
    values = [marks[0], *(mark for pair in pairwise(marks) for mark in pair), marks[-1]]
    sql = " OR ".join(f"EXISTS (SELECT 1 FROM memory_items WHERE {gap})" for gap in gaps)
    return bool(db.value(f"SELECT {sql}", values))


def frequency(db: Database, expression: str, most: int) -> int:
    """How many rows of the index match an expression; counting ends at `most`."""
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? LIMIT ?)"
    count: int = db.value(sql, (expression, most))
    return count


def strengths(db: Database, expression: str, filters: Filters, rows: int, matching: int) -> dict[int, float]:
    """How strongly each item holds a word or phrase, by rowid: its count, a title's double, against the length.

    expression  one FTS5 phrase
    rows        how many rows the index has, and how many of them match: what bm25 made its weight of, which is
    matching    taken out again, because it counts the items of every scope
    """
    condition, values = filters.where("i")
    weights = ", ".join(map(str, COLUMN_WEIGHTS))
    # CROSS JOIN keeps the index in the outer loop; left alone, SQLite may ask it once for every item instead.
    found = db.rows(
        f"SELECT i.rowid, bm25({FTS}, {weights}) FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid "
        f"WHERE {FTS} MATCH ? AND {condition}",
        [expression, *values],
    )
    if not found:
        return {}
    limit = (K1 + 1) * max(LEAST_IDF, math.log((max(rows - matching, 0) + 0.5) / (matching + 0.5)))
    limit = max(limit, -min(cost for _, cost in found) / _FULL)  # another program may have written since we counted
    return {row: -K1 * cost / (limit + cost) for row, cost in found}


def newest_with(db: Database, expression: str, filters: Filters, limit: int) -> list[int]:
    """Rowids of the items that match an expression, those stored last first."""
    condition, values = filters.where("i")
    found = db.rows(
        f"SELECT i.rowid FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid "
        f"WHERE {FTS} MATCH ? AND {condition} ORDER BY {FTS}.rowid DESC LIMIT ?",
        [expression, *values, limit],
    )
    return [row[0] for row in found]


def count(db: Database, expression: str, filters: Filters) -> int:
    """How many items match an expression."""
    condition, values = filters.where("i")
    total: int = db.value(
        f"SELECT count(*) FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid "
        f"WHERE {FTS} MATCH ? AND {condition}",
        [expression, *values],
    )
    return total


def words_from(db: Database, start: str, shortest: int, longest: int) -> list[tuple[str, int]]:
    """The words of the index that begin like this (stems, in a stemming one), and how many items have each.

    shortest, longest  of so many letters
    """
    rows: list[tuple[str, int]] = db.rows(
        f"SELECT term, doc FROM {_vocabulary(db)} WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
        (start, start + "\U0010ffff", shortest, longest),
    )
    return rows


def words_with(db: Database, piece: str, limit: int) -> list[str]:
    """The most frequent words of the index that have this inside; reads the whole vocabulary."""
    sql = f"SELECT term FROM {_vocabulary(db)} WHERE instr(term, ?) ORDER BY doc DESC, term LIMIT ?"
    return [row[0] for row in db.rows(sql, (piece, limit))]


def _vocabulary(db: Database) -> str:
    """A temporary table over the index's words. It is of this connection only: the file is not written to."""
    name = "temp.memctl_words"
    if not db.value("SELECT 1 FROM sqlite_temp_master WHERE name = 'memctl_words'"):
        with db.briefly_writable():
            db.run(f"CREATE VIRTUAL TABLE {name} USING fts5vocab('main', '{FTS}', 'row')")
    return name


def covered(db: Database, item_id: str, terms: Sequence[str], *, prefix: bool = False) -> list[bool]:
    """For each term, whether the index finds it in this item; with `prefix`, also as the beginning of a word."""
    rowid = db.value("SELECT rowid FROM memory_items WHERE id = ?", (item_id,))
    sql = f"SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? AND rowid = ?"
    asked = [phrase(stem(term)) + "*" if prefix else phrase(term) for term in terms]
    return [db.row(sql, (expression, rowid)) is not None for expression in asked]


def all_by_prefix(db: Database, terms: Sequence[str], least: int, limit: int) -> list[str]:
    """Ids of active items that hold all of the terms, those of `least` letters or more as the beginning of a word."""
    phrases = [phrase(term) + ("*" if len(term) >= least else "") for term in terms]
    if not phrases or not has_index(db):
        return []
    rows = db.rows(
        f"SELECT i.id FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid "
        f"WHERE {FTS} MATCH ? AND i.archived = 0 ORDER BY bm25({FTS}), i.id LIMIT ?",
        [" AND ".join(phrases), limit],
    )
    return [row[0] for row in rows]


def phrase(words: str) -> str:
    """The FTS5 expression for words in a row: quoted, so no text is an operator or a syntax error."""
    return '"' + words.replace('"', '""') + '"'
