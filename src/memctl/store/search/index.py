"""What the full-text index says: which items have a word, how strongly, and what a list shows of them.

`memctl.retrieve` asks word by word and ranks; here is all SQL of a search but the
search by substring (`memctl.store.search.substring`). Ties are broken by newness, then id: rowids change when
another program rewrites a row.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from operator import attrgetter

from memctl import errors
from memctl.store import cache
from memctl.store.connect import Database
from memctl.store.filters import Filters
from memctl.store.search import fts

FTS = "memory_items_fts"
_MATCHING = f"SELECT rowid FROM {FTS} WHERE {FTS} MATCH ?"
# CROSS JOIN keeps the index in the outer loop; left alone, SQLite may ask it once for every item instead.
_JOINED = f"{FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid"

#: bm25 weights of title, content, tags, entities.
COLUMN_WEIGHTS = (2.0, 1.0, 1.0, 1.0)

#: A word of fewer letters is not looked for as the beginning of others.
BEGINNING_MIN_LEN = 3

#: FTS5's bm25: the constant k1, and the least weight it gives to a word.
K1 = 1.2
LEAST_IDF = 1e-6
#: A word whose share of the score reaches this much of its limit is there as often as can be told.
_FULL = 0.995

#: Where in a row of a candidate its content stands, and its rowid; so many characters of it are one finding to keep.
_CONTENT, _ROW, _PIECE = 4, 11, 100
#: What is found out about a word that more items have is not kept: it would soon be too much.
_WORTH_KEEPING = 2000
COLUMNS = (
    "i.id, i.tier, CAST(i.type AS TEXT), "
    "CAST(i.title AS TEXT), CAST(i.content AS TEXT), CAST(i.tags AS TEXT), "
    "i.confidence, CAST(i.validation AS TEXT), CAST(i.scope AS TEXT), i.injectable"
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


#: Items that are asked for by their rowids: one JSON array is bound, so that the statement is the same each time.
_CHOSEN = "json_each(?) AS chosen CROSS JOIN memory_items AS i ON i.rowid = chosen.value"


def fetch(db: Database, scores: "dict[int, float]", rows: Iterable[int]) -> list[Candidate]:
    """The candidates for rowids, in no order."""
    known = cache.of(db, "candidates")
    wanted = list(rows)
    unknown = [row for row in wanted if row not in known]
    if unknown:
        found = db.rows(f"SELECT {COLUMNS}, 0.0, i.rowid, CAST(i.updated_at AS TEXT) FROM {_CHOSEN}", [str(unknown)])
        known.update((row[_ROW], row) for row in found)
        cache.of(db, "candidates", sum(2 + len(row[_CONTENT]) // _PIECE for row in found))
    candidates = [Candidate(*known[row]) for row in wanted if row in known]
    for c in candidates:
        c.score = scores[c.row]
    return candidates


def in_order(candidates: list[Candidate]) -> list[Candidate]:
    """Best score first, of equals the newest, then by id."""
    if len({c.score for c in candidates}) < len(candidates):
        candidates.sort(key=attrgetter("id"))
        candidates.sort(key=attrgetter("changed"), reverse=True)
    candidates.sort(key=attrgetter("score"), reverse=True)
    return candidates


def days(db: Database, rows: Iterable[int]) -> dict[int, int]:
    """The days on which these items were made (as `dates.day_of` counts them), of those that say it."""
    from memctl.text.dates import day_of

    known: dict[int, int | None] = cache.of(db, "days")
    unknown = [row for row in rows if row not in known]
    if unknown:
        cache.of(db, "days", len(unknown))
        sql = f"SELECT i.rowid, CAST(i.created_at AS TEXT) FROM {_CHOSEN}"
        known.update((row, day_of(stamp or "")) for row, stamp in db.rows(sql, [str(unknown)]))
    return {row: day for row in rows if (day := known.get(row)) is not None}


def passing(db: Database, filters: Filters, rows: AbstractSet[int]) -> AbstractSet[int]:
    """Those of these items that pass the filters."""
    known = _known(db, filters)
    unknown = rows - known[True]  # or known not to pass
    if not unknown:
        return rows
    unknown -= known[False]
    if not unknown:
        return rows & known[True]
    condition, values = filters.where("i")
    sql = f"SELECT i.rowid, i.expires_at IS NULL FROM {_CHOSEN} WHERE {condition}"
    found: dict[int, int] = dict(db.rows(sql, [str(list(unknown)), *values]))
    known = _known(db, filters, len(unknown))
    known[True].update(row for row, stays in found.items() if stays)
    known[False].update(unknown - found.keys())
    return (rows & known[True]) | found.keys()


def _known(db: Database, filters: Filters, more: int = 0) -> dict[bool, set[int]]:
    """The items that are known to pass these filters, and to go on doing so (True), and those that do not (False)."""
    known: dict[bool, set[int]] = cache.of(db, f"passing {filters.name()}", more) if filters.name() else {}
    if not known:
        known |= {True: set(), False: set()}
    return known


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


def standing(db: Database, rows: Iterable[int]) -> dict[int, Standing]:
    """Where those of these items stand that have an order."""
    known: dict[int, Standing | None] = cache.of(db, "standing")
    unknown = [row for row in rows if row not in known]
    if unknown:
        cache.of(db, "standing", 3 * len(unknown))
        known.update(dict.fromkeys(unknown))
        known.update(
            (row, _standing(provenance or "", length, asks))
            for row, provenance, length, asks in db.rows(
                "SELECT i.rowid, CAST(i.provenance_json AS TEXT), length(i.content), "
                f"instr(substr(i.content, -40), '?') FROM {_CHOSEN}",
                [str(unknown)],
            )
        )
    return {row: place for row in rows if (place := known[row]) is not None}


def _standing(provenance: str, length: int, asks: int) -> Standing | None:
    kind, source, chunk = _origin(provenance)
    # An item that has an order in its source ends its chunk id in its place there: "3", "guide.md:3".
    place = chunk if chunk.isdecimal() else chunk.rpartition(":")[2]
    if place.isdecimal() and place.isascii() and len(place) < 10:
        return Standing(source, int(place), length, asks, kind == "doc")
    return None


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
    from memctl.store.items.rows import load

    found = load(provenance)
    found = found if isinstance(found, dict) else {}
    chunks = found.get("chunk_ids")
    return (
        str(found.get("source_kind") or ""), str(found.get("source_id") or ""),
        str(chunks[0]) if isinstance(chunks, list) and chunks else "",
    )  # fmt: skip


# --- the index --------------------------------------------------------------------------------------------------


def has_index(db: Database) -> bool:
    """Whether the store has a full-text index that this SQLite can read, and that can be believed."""
    if not db.has(FTS):
        return False
    facts = cache.of(db, "index")
    if "readable" not in facts:
        if not fts.believed(db):
            return False
        try:
            db.row(f"SELECT 1 FROM {FTS} LIMIT 0")
        except (errors.StoreFailed, errors.StoreCorrupt):
            return False  # no FTS5 here, or a tokenizer of another program
        facts["readable"] = True
    return True


def is_stemming(db: Database) -> bool:
    """Whether the index stems words (a `porter` tokenizer)."""
    facts = cache.of(db, "index")
    if "stems" not in facts:
        ddl = db.value("SELECT sql FROM sqlite_master WHERE name = ?", (FTS,))
        facts["stems"] = "porter" in str(ddl).lower()
    stems: bool = facts["stems"]
    return stems


def size(db: Database) -> int:
    """How many items the index holds, archived ones too."""
    facts = cache.of(db, "index")
    if "size" not in facts:
        table = f"{FTS}_docsize" if db.has(f"{FTS}_docsize") else "memory_items"
        facts["size"] = db.value(f"SELECT count(*) FROM {table}")
    count: int = facts["size"]
    return count


def in_scopes(db: Database, filters: Filters, most: int, size: int) -> int:
    """How many of `size` items are in the scopes of the filters, archived ones too; counting ends at `most`."""
    if filters.scopes is None:
        return most
    known = cache.of(db, "scopes")
    count: int | None = known.get((filters.scopes, most, size))
    if count is None:
        count = _count_in(db, filters.scopes, most) if is_elsewhere(db, filters.scopes) else min(most, size)
        known[filters.scopes, most, size] = count
    return count


def _count_in(db: Database, scopes: Sequence[str], most: int) -> int:
    marks = ", ".join("?" * len(scopes))
    sql = f"SELECT count(*) FROM (SELECT 1 FROM memory_items WHERE scope IN ({marks}) LIMIT ?)"
    count: int = db.value(sql, [*scopes, most])
    return count


def _most_pass(db: Database, filters: Filters) -> bool:
    """Whether most items are known to pass the filters: then these are better applied to what was found."""
    return 2 * len(_known(db, filters)[True]) > size(db)


def is_elsewhere(db: Database, scopes: tuple[str, ...]) -> bool:
    """Whether any item is in another scope: a look into the gaps between these, so it costs little in any store."""
    known = cache.of(db, "elsewhere")
    if scopes not in known:
        marks = sorted(set(scopes))
        gaps = ["scope < ?", *["scope > ? AND scope < ?"] * (len(marks) - 1), "scope > ?"]
        values = [marks[0], *(mark for pair in pairwise(marks) for mark in pair), marks[-1]]
        sql = " OR ".join(f"EXISTS (SELECT 1 FROM memory_items WHERE {gap})" for gap in gaps)
        known[scopes] = bool(db.value(f"SELECT {sql}", values))
    elsewhere: bool = known[scopes]
    return elsewhere


def frequency(db: Database, expression: str, most: int) -> int:
    """How many rows of the index match an expression; counting ends at `most`."""
    known = cache.of(db, "counts")
    count: int
    limit: int
    count, limit = known.get(expression, (0, 0))
    if count == limit < most:  # not counted to the end, and not so far
        count = db.value(f"SELECT count(*) FROM (SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? LIMIT ?)", (expression, most))
        cache.of(db, "counts", 1)[expression] = count, most
    return min(count, most)


def strengths(db: Database, expression: str, filters: Filters, rows: int, matching: int) -> Mapping[int, float]:
    """How strongly each item holds a word or phrase, by rowid: its count, a title's double, against the length.

    expression  one FTS5 phrase
    rows        how many rows the index has, and how many of them match: what bm25 made its weight of, which is
    matching    taken out again, because it counts the items of every scope
    """
    known = cache.of(db, "strengths")
    found: Mapping[int, float] | None = known.get((expression, filters.name()))
    if found is None:
        costs, stay = _costs(db, expression, filters)
        found = _strengths(costs, rows, matching)
        if stay and len(found) <= _WORTH_KEEPING:
            cache.of(db, "strengths", len(found) // 2)[expression, filters.name()] = found
    return found


def _strengths(costs: dict[int, float], rows: int, matching: int) -> dict[int, float]:
    if not costs:
        return {}
    limit = (K1 + 1) * max(LEAST_IDF, math.log((max(rows - matching, 0) + 0.5) / (matching + 0.5)))
    limit = max(limit, -min(costs.values()) / _FULL)  # the index may have counted otherwise
    return {row: -K1 * cost / (limit + cost) for row, cost in costs.items()}


def _costs(db: Database, expression: str, filters: Filters) -> tuple[dict[int, float], bool]:
    """What bm25 makes of each item that matches and passes the filters, by rowid; whether they go on passing them."""
    cost = f"bm25({FTS}, {', '.join(map(str, COLUMN_WEIGHTS))})"
    if _most_pass(db, filters):
        found: dict[int, float] = dict(db.rows(f"SELECT rowid, {cost} FROM {FTS} WHERE {FTS} MATCH ?", [expression]))
        seen = passing(db, filters, found.keys())
        if len(seen) < len(found):
            found = {row: found[row] for row in found if row in seen}
        return found, found.keys() <= _known(db, filters)[True]
    condition, values = filters.where("i")
    sql = f"SELECT i.rowid, {cost}, i.expires_at IS NULL FROM {_JOINED} WHERE {FTS} MATCH ? AND {condition}"
    joined = db.rows(sql, [expression, *values])
    lasting = [row for row, _, stays in joined if stays]
    if size(db) <= cache.MOST:
        _known(db, filters, len(lasting))[True].update(lasting)
    return {row: much for row, much, _ in joined}, filters.name() != "" and len(lasting) == len(joined)


def newest_with(db: Database, expression: str, filters: Filters, limit: int) -> list[int]:
    """Rowids of the items that match an expression, those stored last first."""
    if _most_pass(db, filters) or (filters.name() and not (filters.scopes and is_elsewhere(db, filters.scopes))):
        some = limit + limit // 8
        found = [row[0] for row in db.rows(f"{_MATCHING} ORDER BY rowid DESC LIMIT ?", [expression, some])]
        seen = passing(db, filters, set(found))
        if len(seen) >= limit or len(found) < some:
            return [row for row in found if row in seen][:limit]
    condition, values = filters.where("i")
    sql = f"SELECT i.rowid, i.expires_at IS NULL FROM {_JOINED} WHERE {FTS} MATCH ? AND {condition}"
    joined = db.rows(f"{sql} ORDER BY {FTS}.rowid DESC LIMIT ?", [expression, *values, limit])
    _known(db, filters, len(joined))[True].update(row for row, stays in joined if stays)
    return [row for row, _ in joined]


def count(db: Database, expressions: Sequence[str], filters: Filters) -> int:
    """How many items match any of these expressions."""
    if _most_pass(db, filters):
        known: dict[str, set[int]] = cache.of(db, "holders")
        for expression in set(expressions) - known.keys():
            known[expression] = {row[0] for row in db.rows(_MATCHING, [expression])}
            cache.of(db, "holders", len(known[expression]))
        return len(passing(db, filters, set().union(*map(known.__getitem__, expressions))))
    condition, values = filters.where("i")
    sql = f"SELECT count(*) FROM {_JOINED} WHERE {FTS} MATCH ? AND {condition}"
    return int(db.value(sql, [" OR ".join(expressions), *values]))


def begins(words: str) -> bool:
    """Whether the last word here is long enough to be looked for as the beginning of others, which are all read."""
    end = words[-BEGINNING_MIN_LEN:]
    return len(end) == BEGINNING_MIN_LEN and end.isalnum()


def phrase(words: str) -> str:
    """The FTS5 expression for words in a row: quoted, so no text is an operator or a syntax error."""
    return '"' + words.replace('"', '""') + '"'
