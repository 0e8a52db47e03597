"""Words and pieces of words: search by substring, the index's vocabulary, and completions of what was typed so far."""

import math
from collections.abc import Sequence
from operator import mul

from memctl.store import connect
from memctl.store.database import FTS, Database
from memctl.store.filters import Filters, fold, folded
from memctl.store.search.index import (
    Matches,
    fetch_candidates,
    has_index,
    index_size,
    quote_phrase,
    sort_candidates,
)
from memctl.text.query import Query, grams, unsegmented

#: At most this many substrings are looked for.
MAX_NEEDLES = 24
#: A longer one is looked for by its beginning: SQLite takes patterns of 50 000 bytes, and a character may need 4.
MAX_NEEDLE_CHARS = 4000


def make_needles(query: Query) -> list[str]:
    """What to look for inside the text: pairs of characters of unsegmented runs, other words whole."""
    out: list[str] = []
    for run in query.runs:
        out += grams(run)[len(run) > 2 :]  # the pairs of a longer run; the whole of it is hardly ever there
    out += [term for term in (*query.terms, *query.parts) if not unsegmented(term)]
    wanted = list(dict.fromkeys(out))[:MAX_NEEDLES] or [query.text]
    return [needle[:MAX_NEEDLE_CHARS] for needle in wanted]


def match_substrings(db: Database, query: Query, filters: Filters, limit: int) -> Matches:
    """The `limit` best items for a query (a negative limit means all), and how many match.

    They hold any of the needles in title, content or tags; a rare needle counts more, in the title half more. The
    score is the share of the needles' weight, 1 when all of them are there.
    """
    needles = make_needles(query)
    condition, values = filters.where("i")
    hits, patterns = [], []
    for number, needle in enumerate(needles):
        low = needle.lower() != needle.upper() and not needle.isascii()  # LIKE folds the case of ASCII only
        title, content, tags = (
            f"{folded(f'i.{name}') if low else f'i.{name}'} LIKE ? ESCAPE '!'" for name in ("title", "content", "tags")
        )
        hits.append(f"2 * ({title}) + ({content} OR {tags}) AS hit{number}")
        pattern = (needle.casefold() if low else needle).translate(_LIKE_ESCAPES)
        patterns += [f"%{pattern}%"] * 3
    found = db.rows(
        f"SELECT * FROM (SELECT i.rowid AS item, {', '.join(hits)} FROM memory_items AS i WHERE {condition}) "
        f"WHERE {' OR '.join(f'hit{number}' for number in range(len(needles)))}",
        [*patterns, *values],
    )
    if not found:
        return Matches([], 0)
    items = max(index_size(db), len(found))
    # The weight of a needle falls with the items that have it, as in `retrieve.ranking`; it is never zero.
    counts = (sum(map(bool, column)) for column in list(zip(*found, strict=True))[1:])
    weights = [max(0.01, math.log1p((items - count + 0.5) / (count + 0.5))) for count in counts]
    every = sum(weights)
    scores = {row: sum(map(mul, weights, map(_NEEDLE_WEIGHTS.__getitem__, held))) / every for row, *held in found}
    least = sorted(scores.values(), reverse=True)[limit - 1] if 0 <= limit < len(scores) else 0.0
    best = sort_candidates(fetch_candidates(db, scores, [row for row, score in scores.items() if score >= least]))
    return Matches(best[:limit] if limit >= 0 else best, len(found))


#: What means itself in a pattern of LIKE behind the escape character.
_LIKE_ESCAPES = str.maketrans({char: f"!{char}" for char in "!%_"})
#: What a needle is worth that is nowhere, in content or tags, in the title, in both.
_NEEDLE_WEIGHTS = (0.0, 1.0, 1.0, 1.5)


def merge_matches(ranked: Matches, like: Matches, limit: int) -> Matches:
    """One list of both: a substring's share of the needles counts like as much of the best rank."""
    top = ranked.candidates[0].score if ranked.candidates else 1.0
    known = {c.id: c for c in ranked.candidates}
    for c in like.candidates:
        there = known.setdefault(c.id, c)
        share = c.score * (top or 1.0)
        there.score = share if there is c else there.score + share
    best = sorted(known.values(), key=lambda c: -c.score)
    return Matches(best[:limit] if limit >= 0 else best, max(ranked.total, len(known), like.total))


# --- vocabulary ------------------------------------------------------------------------------------------------------


#: Characters of the vocabulary that count as one finding.
_CHARS = 100


def words_from(db: Database, start: str, shortest: int, longest: int) -> list[tuple[str, int]]:
    """The words of the index that begin like this (stems, in a stemming one), and how many items have each.

    shortest, longest  bounds of their length, in letters
    """
    known: dict[str, list[tuple[str, int]]] = db.cached("words")
    if start not in known:
        sql = f"SELECT term, doc FROM {_vocabulary_table(db)} WHERE term >= ? AND term < ?"
        known[start] = db.rows(sql, (start, start + "\U0010ffff"))
        db.cached("words", len(known[start]))
    return [word for word in known[start] if shortest <= len(word[0]) <= longest]


def words_with(db: Database, piece: str, limit: int) -> list[str]:
    """The most frequent words of the index that have this inside; reads the whole vocabulary, once."""
    known: dict[str, str] = db.cached("vocabulary")
    if not known:  # one text: a list of as many takes ten times the memory
        told = db.rows(f"SELECT term || ' ' || doc FROM {_vocabulary_table(db)}")
        known["lines"] = "".join([f"{line}\n" for (line,) in told])
        db.cached("vocabulary", len(known["lines"]) // _CHARS)
    lines = known["lines"]
    found: list[tuple[int, str]] = []
    at = lines.find(piece)
    while at >= 0:
        end = lines.find("\n", at)
        word, _, items = lines[lines.rfind("\n", 0, at) + 1 : end].rpartition(" ")
        if piece in word:
            found.append((-int(items), word))
        at = lines.find(piece, end)
    return [word for _, word in sorted(found)[:limit]]


def _vocabulary_table(db: Database) -> str:
    """A temporary table over the index's words. It is of this connection only: the file is not written to."""
    name = "temp.memctl_words"
    if not db.value("SELECT 1 FROM sqlite_temp_master WHERE name = 'memctl_words'"):
        with db.briefly_writable():
            db.run(f"CREATE VIRTUAL TABLE {name} USING fts5vocab('main', '{FTS}', 'row')")
    return name


def items_with_all_prefixes(db: Database, terms: Sequence[str], least: int, limit: int) -> list[str]:
    """Ids of active items that hold all of the terms, those of `least` letters or more as the beginning of a word."""
    phrases = [quote_phrase(term) + ("*" if len(term) >= least else "") for term in terms]
    if not phrases or not connect.ensure_index(db) or not has_index(db):
        return []
    rows = db.rows(
        f"SELECT i.id FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid "
        f"WHERE {FTS} MATCH ? AND i.archived = 0 ORDER BY bm25({FTS}), i.id LIMIT ?",
        [" AND ".join(phrases), limit],
    )
    return [row[0] for row in rows]


# --- completion ------------------------------------------------------------------------------------------------------


#: Completions that are offered; clients show no more than a hundred.
MAX_COMPLETIONS = 100
#: By kind: names that begin with what somebody has typed so far.
_COMPLETIONS = {
    # Scopes with active items, those with most first.
    "scopes": "SELECT scope FROM memory_items WHERE archived = 0 AND substr(scope, 1, length(?)) = ? "
    "GROUP BY scope ORDER BY count(*) DESC, scope LIMIT ?",
    # Ids of active items, the latest change first.
    "ids": "SELECT id FROM memory_items WHERE archived = 0 AND substr(id, 1, length(?)) = ? "
    "ORDER BY updated_at DESC, id LIMIT ?",
    # Tags of active items, compared without case, those in most use first.
    "tags": "SELECT tag.value FROM memory_items AS i, json_each(CASE WHEN json_valid(i.tags) THEN i.tags ELSE '[]' "
    f"END) AS tag WHERE i.archived = 0 AND substr({folded('tag.value')}, 1, length(?)) = ? "
    "GROUP BY tag.value ORDER BY count(*) DESC, tag.value LIMIT ?",
    # Mounted folders, by name where they have one, else by id.
    "mounts": "SELECT word FROM (SELECT coalesce(nullif(name, ''), mount_id) AS word FROM memory_mounts) "
    "WHERE substr(word, 1, length(?)) = ? ORDER BY word LIMIT ?",
}


def items_with_phrase(db: Database, phrase: str, limit: int) -> list[str]:
    """The items that have these words in a row, those that were stored last first; none without a sound index."""
    if not has_index(db):
        return []
    return [str(i) for (i,) in db.rows(
        f"SELECT i.id FROM (SELECT rowid FROM {FTS} WHERE {FTS} MATCH ? ORDER BY rowid DESC LIMIT ?) AS f "
        "CROSS JOIN memory_items AS i ON i.rowid = f.rowid WHERE i.archived = 0",
        (quote_phrase(phrase), limit),
    )]  # fmt: skip


def complete(db: Database, kind: str, start: str) -> list[str]:
    """Names of a kind (scopes, ids, tags, mounts) that begin with `start`."""
    start = fold(start) if kind == "tags" else start
    return [str(row[0]) for row in db.rows(_COMPLETIONS[kind], (start, start, MAX_COMPLETIONS))]
