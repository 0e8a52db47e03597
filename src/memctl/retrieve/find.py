"""One way to search for all: `memctl search`, recall, push and `MemoryStore.search_fulltext`."""

import math

from memctl.store import search as index
from memctl.store.connect import Database
from memctl.store.filters import Filters
from memctl.store.search import Candidate
from memctl.text.query import Query, analyse, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.types import SearchMeta

#: How many of the index's best are scored again; the order below them is the index's own.
POOL = 64
#: What holding all of the query's words is worth, as a share of the score.
COVERAGE_BOOST = 0.25

REINDEX_HINT = (
    "this index does not stem words, so other forms of a word may be missed; memctl reindex --tokenizer en changes that"
)


class Found:
    """What a search found: the query taken apart, the items best first, and how many match in all.

    `total` is exact when it was asked for, else at least the number of items here.
    """

    __slots__ = ("candidates", "like", "query", "total")

    def __init__(self, query: Query, candidates: list[Candidate], total: int, like: bool) -> None:
        self.query, self.candidates, self.total, self.like = query, candidates, total, like


def search(db: Database, text: str, *, filters: Filters, limit: int = 10, count: bool = False) -> Found:
    """The `limit` best items for a question or some words; any text is legal, a blank one lists the newest.

    A negative limit means all that match. With `count`, `total` counts everything that matches.
    """
    query = analyse(text)
    pool = limit if limit < 0 or query.blank else max(limit, POOL)
    matches = index.match(db, query, filters, pool, count=count)
    best = matches.candidates
    if len(query.terms) > 1 and len(best) > 1:
        head = _covering(query, best[:POOL], 0 if len(best) >= POOL else index.is_small(db, 2 * POOL))
        best = head + best[POOL:]
    return Found(query, best if limit < 0 else best[:limit], matches.total, matches.like)


def _covering(query: Query, candidates: list[Candidate], rows: int) -> list[Candidate]:
    """The same candidates, those that hold more of the query's words moved up; `rows`: the size of a small store."""
    words = [stem(term) for term in query.terms]
    held = []
    for c in candidates:
        text = f"{c.title}\n{c.content}".lower()
        held.append([word in text for word in words])
    missing = [_missing_idf(rows, sum(column)) if rows else 0.0 for column in zip(*held, strict=True)]
    for c, has in zip(candidates, held, strict=True):
        c.score += sum(idf for idf, there in zip(missing, has, strict=True) if there)
        c.score *= 1 + COVERAGE_BOOST * sum(has) / len(words)
    return sorted(candidates, key=lambda c: -c.score)


def _missing_idf(rows: int, n: int) -> float:
    """What FTS5's bm25 takes from a word that `n` of `rows` items have: it counts those in half of them for nothing.

    In a store of a dozen notes that is most words; in a large one only those that really say nothing.
    """
    odds = (max(0, rows - n) + 0.5) / (n + 0.5)
    return math.log1p(odds) - max(0.0, math.log(odds))


def describe(db: Database, found: Found) -> "SearchMeta":
    """How the search was answered, in the documented words: what the best hit covers of the query's terms.

    AND: all of them. PREFIX_AND: all, some only as the beginning of a word. REDUCED_AND: at least half.
    OR_FALLBACK: fewer, or there is no hit. LIKE: found by substring.
    """
    from memctl.types import SearchMeta

    terms = list(found.query.terms)
    strategy, effective, dropped = _coverage(db, found, terms)
    hint = None
    if len(terms) > 1 and strategy in {"OR_FALLBACK", "PREFIX_AND", "LIKE"}:
        hint = REINDEX_HINT if index.has_index(db) and not index.is_stemming(db) else None
    return SearchMeta(strategy, terms, effective, dropped, found.total, hint)


def _coverage(db: Database, found: Found, terms: list[str]) -> tuple[str, list[str], list[str]]:
    if found.like or not index.has_index(db):
        return ("AND" if found.query.blank else "LIKE"), terms, []
    if not terms:
        return "AND", [], []
    if not found.candidates:
        return "OR_FALLBACK", terms, []
    best = found.candidates[0].id
    exact = index.covered(db, best, terms)
    if all(exact):
        return "AND", terms, []
    if all(index.covered(db, best, terms, prefix=True)):
        return "PREFIX_AND", terms, []
    effective = [term for term, there in zip(terms, exact, strict=True) if there]
    dropped = [term for term, there in zip(terms, exact, strict=True) if not there]
    if not effective:  # only parts of its words, or their beginnings, were found
        return "OR_FALLBACK", terms, []
    return ("REDUCED_AND" if 2 * len(effective) >= len(terms) else "OR_FALLBACK"), effective, dropped
