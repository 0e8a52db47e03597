"""What the full-text index says: which items have a word, how strongly, and what a list shows of them.

`memctl.retrieve` asks word by word and ranks; here is all SQL of a search but the one that does without the index
(`words`) and the vectors'. Ties are broken by newness, then id: rowids change when another program rewrites a row.
"""

import math
from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby, pairwise
from operator import attrgetter

from memctl import errors
from memctl.store.database import FTS, MAX_CACHED, Database, index_state
from memctl.store.filters import MAY_FAIL, Filters, Passing
from memctl.text.query import stem

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

#: Where in a row of a candidate its content and its rowid stand; characters of content that count as one finding.
_CONTENT, _ROW, _PIECE = 4, 11, 100
#: What is found out about a word that more items have is not kept: it would soon be too much.
_WORTH_KEEPING = 2000
#: Items of a scope are counted up to here.
COUNTED = 30_000
#: Items of a store of which it is read at once which do not pass a filter.
_SMALL = 16_384
COLUMNS = (
    "i.id, i.tier, CAST(i.type AS TEXT), "
    "CAST(i.title AS TEXT), CAST(i.content AS TEXT), CAST(i.tags AS TEXT), "
    "min(max(i.confidence, 0.0), 1.0), CAST(i.validation AS TEXT), CAST(i.scope AS TEXT), i.injectable"
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


def newest_items(db: Database, filters: Filters, limit: int) -> Matches:
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


def fetch_candidates(db: Database, scores: "dict[int, float]", rows: Iterable[int]) -> list[Candidate]:
    """The candidates for rowids, in no order."""
    known = db.cached("candidates")
    wanted = list(rows)
    unknown = [row for row in wanted if row not in known]
    if unknown:
        found = db.rows(f"SELECT {COLUMNS}, 0.0, i.rowid, CAST(i.updated_at AS TEXT) FROM {_CHOSEN}", [str(unknown)])
        known.update((row[_ROW], row) for row in found)
        db.cached("candidates", sum(2 + len(row[_CONTENT]) // _PIECE for row in found))
    candidates = [Candidate(*known[row]) for row in wanted if row in known]
    for c in candidates:
        c.score = scores[c.row]
    return candidates


def sort_candidates(candidates: list[Candidate]) -> list[Candidate]:
    """Best score first, of equals the newest, then by id."""
    by_score = attrgetter("score")
    candidates.sort(key=by_score, reverse=True)
    if len({c.score for c in candidates}) < len(candidates):
        at = 0
        for _, group in groupby(candidates[:], by_score):
            equals = [*group]
            if len(equals) > 1:
                equals.sort(key=attrgetter("id"))
                equals.sort(key=attrgetter("changed"), reverse=True)
                candidates[at : at + len(equals)] = equals
            at += len(equals)
    return candidates


def created_days(db: Database, rows: Iterable[int]) -> dict[int, int]:
    """The days on which these items were made (as `times.day_of` counts them), of those that say it."""
    from memctl.text.times import day_of

    known: dict[int, int | None] = db.cached("days")
    unknown = [row for row in rows if row not in known]
    if unknown:
        db.cached("days", len(unknown))
        sql = f"SELECT i.rowid, CAST(i.created_at AS TEXT) FROM {_CHOSEN}"
        known.update((row, day_of(stamp or "")) for row, stamp in db.rows(sql, [str(unknown)]))
    return {row: day for row in rows if (day := known.get(row)) is not None}


def filter_rows(db: Database, filters: Filters, rows: AbstractSet[int]) -> AbstractSet[int]:
    """Those of these items that pass the filters."""
    known = _known(db, filters)
    open_ = rows if known.doubtful is None else rows & known.doubtful
    unknown = open_ - known.lasting - known.failing
    found: dict[int, int] = {}
    if unknown:
        condition, values = filters.where("i")
        sql = f"SELECT i.rowid, i.expires_at IS NULL FROM {_CHOSEN} WHERE {condition}"
        found = dict(db.rows(sql, [str(list(unknown)), *values]))
        known = _known(db, filters, len(unknown))
        known.lasting.update(row for row, stays in found.items() if stays)
        known.failing.update(unknown - found.keys())
    lost = open_ - known.lasting - found.keys()
    return rows - lost if lost else rows


def _known(db: Database, filters: Filters, more: int = 0) -> Passing:
    """What is known of the items that pass these filters."""
    known: dict[str, Passing] = db.cached(f"passing {filters.name}", more) if filters.name else {}
    return known.setdefault("", Passing())


# --- where items stand -----------------------------------------------------------------------------------------------


class OrderedItem(namedtuple("OrderedItem", "source position length asks document")):  # noqa: PYI024 - cheap to import
    """Where an item stands.

    source, position  what it is from, and its place there
    length            of the item, in characters
    asks              whether it ends in a question
    document          whether the source is a document, not a conversation
    """

    __slots__ = ()


#: What an item is from: the kind of source, its name, and the item's first chunk there.
_ORIGIN = ", ".join(
    f"CASE WHEN json_valid(i.provenance_json) THEN json_extract(i.provenance_json, '$.{name}') END"
    for name in ("source_kind", "source_id", "chunk_ids[0]")
)


def read_order(db: Database, rows: Iterable[int]) -> dict[int, OrderedItem]:
    """Where those of these items stand that have an order."""
    known: dict[int, OrderedItem | None] = db.cached("standing")
    unknown = [row for row in rows if row not in known]
    if unknown:
        db.cached("standing", 3 * len(unknown))
        known.update(dict.fromkeys(unknown))
        for row, kind, name, chunk, length, asks in db.rows(
            f"SELECT i.rowid, {_ORIGIN}, length(i.content), instr(substr(i.content, -40), '?') FROM {_CHOSEN}",
            [str(unknown)],
        ):
            # An item that has an order in its source ends its chunk id in its place there: "3", "guide.md:3".
            position = str(chunk or "").rpartition(":")[2]
            if position.isdecimal() and position.isascii() and len(position) < 10:
                known[row] = OrderedItem(str(name or ""), int(position), length, bool(asks), kind == "doc")
    return {row: place for row in rows if (place := known[row]) is not None}


# --- the index -------------------------------------------------------------------------------------------------------


def has_index(db: Database) -> bool:
    """Whether the store has a full-text index that this SQLite can read, and that can be believed."""
    if FTS not in db.tables:
        return False
    facts = db.cached("index")
    if "readable" not in facts:
        if index_state(db) != "sound":
            return False
        try:
            db.row(f"SELECT 1 FROM {FTS} LIMIT 0")
        except (errors.StoreFailed, errors.StoreCorrupt):
            return False  # no FTS5 here, or a tokenizer of another program
        facts["readable"] = True
    return True


def is_stemming(db: Database) -> bool:
    """Whether the index stems words (a `porter` tokenizer)."""
    facts = db.cached("index")
    if "stems" not in facts:
        ddl = db.value("SELECT sql FROM sqlite_master WHERE name = ?", (FTS,))
        facts["stems"] = "porter" in str(ddl).lower()
    stems: bool = facts["stems"]
    return stems


def has_pairs(db: Database) -> bool:
    """Whether the index holds the characters of Chinese, Japanese and Korean two by two (see `schema`)."""
    facts = db.cached("index")
    if "pairs" not in facts:
        ddl = db.value("SELECT sql FROM sqlite_master WHERE name = ?", (FTS,))
        made = "memctl_migrations" in db.tables and db.value("SELECT 1 FROM memctl_migrations WHERE number = 8")
        facts["pairs"] = bool(made) and "unicode61" in str(ddl)
    pairs: bool = facts["pairs"]
    return pairs


def index_size(db: Database) -> int:
    """How many items the index holds, archived ones too."""
    facts = db.cached("index")
    if "size" not in facts:
        table = f"{FTS}_docsize" if f"{FTS}_docsize" in db.tables else "memory_items"
        facts["size"] = db.value(f"SELECT count(*) FROM {table}")
    count: int = facts["size"]
    return count


def count_in_scopes(db: Database, filters: Filters, size: int) -> int:
    """How many of `size` items are in the scopes of the filters, archived ones too; counting ends at COUNTED."""
    if filters.scopes is None:
        return COUNTED
    known = db.cached("scopes")
    count: int | None = known.get((filters.scopes, size))
    if count is None:
        count = min(COUNTED, size)
        if has_other_scopes(db, filters.scopes):
            where = f"scope IN ({', '.join('?' * len(filters.scopes))})"
            sql = f"SELECT count(*) FROM (SELECT 1 FROM memory_items WHERE {where} LIMIT ?)"
            count = int(db.value(sql, [*filters.scopes, COUNTED]))
        known[filters.scopes, size] = count
    return count


def _most_pass(db: Database, filters: Filters) -> bool:
    """Whether most items are known to pass the filters: then these are better applied to what was found."""
    known = _known(db, filters)
    return known.doubtful is not None or (bool(known.lasting) and 2 * len(known.lasting) > index_size(db))


def _read_doubtful(db: Database, filters: Filters, size: int) -> None:
    """In a small store of which most is in the scopes, learn at once which items may not pass: an index has all that
    plain filters ask.

    Else the page of each match would be looked into.
    """
    known = _known(db, filters)
    if not filters.name or known.is_read or known.lasting or size > _SMALL:
        return
    known.is_read = True
    if 2 * count_in_scopes(db, filters, size) > size:
        # Of all scopes, the index of the few that may fail is read; what is in another scope fails, too.
        elsewhere = filters.scopes is not None and has_other_scopes(db, filters.scopes)
        condition, values = (filters if elsewhere else filters.replace(scopes=None)).where("i")
        sql = (
            f"SELECT i.rowid FROM memory_items AS i WHERE {'1' if elsewhere else MAY_FAIL} "
            f"AND ({condition} AND i.expires_at IS NULL) IS NOT 1 LIMIT ?"
        )
        found = {row for (row,) in db.rows(sql, [*values, size // 2 + 1])}
        known = _known(db, filters, len(found))
        known.doubtful = found if 2 * len(found) < size else None


def has_other_scopes(db: Database, scopes: tuple[str, ...]) -> bool:
    """Whether any item is in another scope: a look into the gaps between these, so it costs little in any store."""
    known = db.cached("elsewhere")
    if scopes not in known:
        marks = sorted(set(scopes))
        gaps = ["scope IS NULL", "scope < ?", *["scope > ? AND scope < ?"] * (len(marks) - 1), "scope > ?"]
        values = [marks[0], *(mark for pair in pairwise(marks) for mark in pair), marks[-1]]
        sql = " OR ".join(f"EXISTS (SELECT 1 FROM memory_items WHERE {gap})" for gap in gaps)
        known[scopes] = bool(db.value(f"SELECT {sql}", values))
    elsewhere: bool = known[scopes]
    return elsewhere


def count_matches(db: Database, expression: str, most: int) -> int:
    """How many rows of the index match an expression; counting ends at `most`."""
    known = db.cached("counts")
    count: int
    limit: int
    count, limit = known.get(expression, (0, 0))
    if count == limit < most:  # not counted to the end, and not so far
        count = db.value(f"SELECT count(*) FROM (SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? LIMIT ?)", (expression, most))
        db.cached("counts", 1)[expression] = count, most
    return min(count, most)


def match_strengths(db: Database, expression: str, filters: Filters, rows: int, matching: int) -> Mapping[int, float]:
    """How strongly each item holds a word or phrase, by rowid: its count, a title's double, against the length.

    expression  one FTS5 phrase
    rows        how many rows the index has, and how many of them match: what bm25 made its weight of, which is
    matching    taken out again, because it counts the items of every scope
    """
    known = db.cached("strengths")
    found: Mapping[int, float] | None = known.get((expression, filters.name))
    if found is not None:
        return found
    cost = f"bm25({FTS}, {', '.join(map(str, COLUMN_WEIGHTS))})"
    _read_doubtful(db, filters, rows)
    if _most_pass(db, filters):
        costs: dict[int, float] = dict(db.rows(f"SELECT rowid, {cost} FROM {FTS} WHERE {FTS} MATCH ?", [expression]))
        seen = filter_rows(db, filters, costs.keys())
        if len(seen) < len(costs):
            costs = {row: costs[row] for row in costs if row in seen}
        stay = _known(db, filters).passes(costs.keys())  # whether they go on passing the filters
    else:
        condition, values = filters.where("i")
        sql = f"SELECT i.rowid, {cost}, i.expires_at IS NULL FROM {_JOINED} WHERE {FTS} MATCH ? AND {condition}"
        joined = db.rows(sql, [expression, *values])
        costs, lasting = {row: much for row, much, _ in joined}, [row for row, _, stays in joined if stays]
        if index_size(db) <= MAX_CACHED:
            _known(db, filters, len(lasting)).lasting.update(lasting)
        stay = filters.name != "" and len(lasting) == len(joined)
    limit = (K1 + 1) * max(LEAST_IDF, math.log((max(rows - matching, 0) + 0.5) / (matching + 0.5)))
    limit = max(limit, -min(costs.values(), default=0.0) / _FULL)  # the index may have counted otherwise
    found = {row: -K1 * cost / (limit + cost) for row, cost in costs.items()}
    if stay and len(found) <= _WORTH_KEEPING:
        db.cached("strengths", len(found) // 2)[expression, filters.name] = found
    return found


def newest_matches(db: Database, expression: str, filters: Filters, limit: int) -> list[int]:
    """Rowids of the items that match an expression, those stored last first."""
    known: dict[tuple[str, str, int], list[int]] = db.cached("newest")
    found = known.get((expression, filters.name, limit))
    if found is None:
        found, stay = _find_newest(db, expression, filters, limit)
        if stay:
            db.cached("newest", len(found))[expression, filters.name, limit] = found
    return found


def _find_newest(db: Database, expression: str, filters: Filters, limit: int) -> tuple[list[int], bool]:
    """The same, and whether they go on passing the filters."""
    if _most_pass(db, filters) or (filters.name and not (filters.scopes and has_other_scopes(db, filters.scopes))):
        some = limit + limit // 8
        found = [row[0] for row in db.rows(f"{_MATCHING} ORDER BY rowid DESC LIMIT ?", [expression, some])]
        seen = filter_rows(db, filters, set(found))
        if len(seen) >= limit or len(found) < some:
            stay = filters.name != "" and _known(db, filters).passes(seen)
            return [row for row in found if row in seen][:limit], stay
    condition, values = filters.where("i")
    sql = f"SELECT i.rowid, i.expires_at IS NULL FROM {_JOINED} WHERE {FTS} MATCH ? AND {condition}"
    joined = db.rows(f"{sql} ORDER BY {FTS}.rowid DESC LIMIT ?", [expression, *values, limit])
    lasting = [row for row, stays in joined if stays]
    _known(db, filters, len(joined)).lasting.update(lasting)
    return [row for row, _ in joined], filters.name != "" and len(lasting) == len(joined)


def count_any_match(db: Database, expressions: Sequence[str], filters: Filters) -> int:
    """How many items match any of these expressions."""
    if _most_pass(db, filters):
        known: dict[str, set[int]] = db.cached("holders")
        for expression in set(expressions) - known.keys():
            known[expression] = {row[0] for row in db.rows(_MATCHING, [expression])}
            db.cached("holders", len(known[expression]))
        return len(filter_rows(db, filters, set().union(*map(known.__getitem__, expressions))))
    condition, values = filters.where("i")
    sql = f"SELECT count(*) FROM {_JOINED} WHERE {FTS} MATCH ? AND {condition}"
    return int(db.value(sql, [" OR ".join(expressions), *values]))


def is_long_enough_prefix(words: str) -> bool:
    """Whether the last word here is long enough to be looked for as the beginning of others, which are all read."""
    end = words[-BEGINNING_MIN_LEN:]
    return len(end) == BEGINNING_MIN_LEN and end.isalnum()


def quote_phrase(words: str) -> str:
    """The FTS5 expression for words in a row: quoted, so no text is an operator or a syntax error."""
    return '"' + words.replace('"', '""') + '"'


def covered_terms(
    db: Database, best: Candidate, terms: Sequence[str], *, prefix: bool = False,
    found: Mapping[str, Mapping[int, float]] = {},
) -> list[bool]:  # fmt: skip
    """For each term, whether the index finds it in this item; with `prefix`, also as the beginning of a word.

    found  what expressions have found already, by rowid
    """
    text = f" {' '.join(f'{best.title} {best.content}'.lower().split())} "
    out = []
    for term in terms:
        words = stem(term) if prefix else term
        plain = len(words) >= BEGINNING_MIN_LEN and words.isascii() and words.isalnum()
        held = plain and f" {words.lower()}{'' if prefix else ' '}" in text  # asking the index would take longer
        if not held and (is_long_enough_prefix(words) or not prefix):
            expression = quote_phrase(words) + "*" * prefix
            row = best.row or db.value("SELECT rowid FROM memory_items WHERE id = ?", (best.id,))
            held = row in found.get(expression, ())
            if expression not in found and count_matches(db, expression, 1):
                held = db.row(f"{_MATCHING} AND rowid = ?", (expression, row)) is not None
        out.append(held)
    return out


# --- lengths ---------------------------------------------------------------------------------------------------------


#: How much the length counts in FTS5's bm25 (its constant b).
B = 0.75
#: Items of a scope, those stored first, whose average length stands for that of all.
SAMPLE = 2000


def strengths_in_scopes(db: Database, strengths: Mapping[int, float], scopes: Sequence[str]) -> Mapping[int, float]:
    """The strengths of a word, by rowid, as they would be if the store held nothing but these scopes."""
    everywhere, here = _average_lengths(db, tuple(scopes))
    if not strengths or everywhere == here:
        return strengths
    before, after = B / everywhere, B / here
    lengths: dict[int, int] = db.cached("lengths")
    unknown = [row for row in strengths if row not in lengths]
    if unknown:
        db.cached("lengths", len(unknown))
        lengths.update(dict.fromkeys(unknown, 0))
        sql = f"SELECT id, sz FROM {FTS}_docsize WHERE id IN (SELECT value FROM json_each(?))"
        lengths.update((row, sum(decode_varints(size))) for row, size in db.rows(sql, [str(unknown)]))
    return {
        row: strength * (1 - B + before * lengths[row]) / (1 - B + after * lengths[row])
        for row, strength in strengths.items()
    }


def _average_lengths(db: Database, scopes: tuple[str, ...]) -> tuple[float, float]:
    """The average length in the store, and in these scopes; twice the same when the index does not say."""
    known = db.cached("averages")
    if scopes not in known:
        known[scopes] = (1.0, 1.0)
        record = db.value(f"SELECT block FROM {FTS}_data WHERE id = 1") if f"{FTS}_docsize" in db.tables else None
        items, *words = decode_varints(record or b"\0")
        if items and sum(words):
            everywhere = sum(words) / items
            lengths = [
                sum(decode_varints(size))
                for scope in scopes
                for (size,) in db.rows(
                    f"SELECT sz FROM {FTS}_docsize "
                    "WHERE id IN (SELECT rowid FROM memory_items WHERE scope = ? LIMIT ?)",
                    (scope, SAMPLE),
                )
            ]
            known[scopes] = (everywhere, sum(lengths) / len(lengths) if any(lengths) else everywhere)
    found: tuple[float, float] = known[scopes]
    return found


def decode_varints(data: bytes) -> list[int]:
    """The numbers in a record of the index: seven bits in a byte, the highest first, the last byte below 128."""
    if data.isascii():  # a byte below 128 is a number
        return list(data)
    out, number = [], 0
    for byte in data:
        number = number << 7 | byte & 127
        if byte < 128:
            out.append(number)
            number = 0
    return out


# --- usage -----------------------------------------------------------------------------------------------------------


#: The day of a stored time, counted from 1970; NULL when it is none.
_DAY_OF = "CAST(julianday({}) - 2440587.5 AS INTEGER)"


class ItemUsage(namedtuple("ItemUsage", "made uses used importance fade told helped")):  # noqa: PYI024 - cheap
    """Of one item the day on which it was made, the number of uses, the day of the last one, its importance, the
    share of its strength that it loses a day, how many conversations were told it, and in how many an answer used it.

    Days are counted from 1970. What is not known, or was never said, is None.
    """

    __slots__ = ()

    @property
    def usefulness(self) -> float:
        """From -1 (told very often, never used) over 0 (never told) to 1; told six times, half of either at most."""
        rate: float = (self.helped + BEGUN * USUAL) / (self.told + BEGUN)
        return rate / USUAL - 1 if rate < USUAL else (rate - USUAL) / (1 - USUAL)


#: The share of the conversations that are told an item in which an answer usually uses it; each item is taken to have
#: had so many of them, with just that share, before the first.
USUAL, BEGUN = 1 / 3, 6


def read_usage(db: Database, item_ids: Sequence[str]) -> dict[str, ItemUsage]:
    """The usage of these items; those that are gone are left out."""
    known: dict[str, ItemUsage] = db.cached("usage")
    unknown = [item_id for item_id in item_ids if item_id not in known]
    matters, fades, told, join = "NULL", "NULL", "0, 0", ""
    if "memory_importance" in db.tables:
        matters, join = "m.importance", "LEFT JOIN memory_importance AS m ON m.item_id = i.id"
    if "memory_retention" in db.tables:
        fades = "iif(r.kind = 'fade', r.rate, NULL)"
        join += " LEFT JOIN memory_retention AS r ON r.item_id = i.id"
    if "memory_usefulness" in db.tables and db.value("SELECT 1 FROM memory_usefulness LIMIT 1"):
        of_item = "FROM memory_usefulness AS u WHERE u.item_id = i.id"
        told = f"(SELECT ifnull(sum(1), 0) {of_item}), (SELECT ifnull(sum(u.used <> ''), 0) {of_item})"
    sql = (
        f"SELECT i.id, {_DAY_OF.format('i.created_at')}, CAST(i.usage_count AS INTEGER), "
        f"{_DAY_OF.format('i.last_used_at')}, {matters}, {fades}, {told} FROM memory_items AS i {join} "
        "WHERE i.id IN (?*)"
    )
    found = {item_id: ItemUsage(*life) for item_id, *life in db.rows(sql, keys=unknown)}
    db.cached("usage", len(found)).update(found)
    return found | {item_id: known[item_id] for item_id in item_ids if item_id in known}


def day_number(db: Database, stamp: str) -> int:
    """The day of a moment, counted from 1970."""
    return int(db.value(f"SELECT {_DAY_OF.format('?')}", (stamp,)))
