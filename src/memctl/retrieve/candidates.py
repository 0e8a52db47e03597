"""From terms to candidates: the items that hold any of the words of a question, by BM25.

Rare words find the items; common ones only count in those. So the cost follows the rarest words, not the store.
"""

import math
from collections.abc import Iterable, Sequence

from memctl.retrieve.fts_terms import COMMON, Term, known_terms
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.query import Query

#: Words are looked up, the rarest first, until they have this many matches: as many as a third of the store has items
#: (what is in more of them tells little, and only counts in what was found), but LEAST in a small store, and in a
#: large one no more than COST, which are read in some 25 ms.
SHARE = 3
LEAST, COST = 1200, 12_000
#: How much more a word counts that is there more often; bm25's k1 (FTS5 has 1.2).
K1 = 1.4
#: A search for fewer items looks words up as if it were for this many.
FEW = 50
#: Where every word is common, this many of the items stored last that have them are ranked.
NEWEST = 400
#: The best items are looked at more closely; the order below them is that of the words alone.
POOL = 80

Scores = dict[int, float]


class SearchResult:
    """What a search found, and why it stands in this order.

    query       the question taken apart
    candidates  best first
    total       how many items match: exact when it was asked for and few thousand can match, else at least as many as
                are here
    like        some of it was found by substring, not by the index
    terms       what was looked up, the rarest first; empty when nothing was ranked
    rest        common words that only counted in what the others found
    items       how many items the scopes hold, about
    parts       the name of each reason, and what it added to the scores, by rowid
    usefulness  of the best that conversations were told, by id, how much that helped (-1 to 1)
    """

    __slots__ = ("candidates", "items", "like", "parts", "query", "rest", "terms", "total", "usefulness")

    def __init__(self, query: Query, candidates: list[Candidate], total: int, *, like: bool = False) -> None:
        self.query, self.candidates, self.total, self.like = query, candidates, total, like
        self.terms: list[Term] = []
        self.rest: list[Term] = []
        self.items = 0
        self.parts: list[tuple[str, Scores]] = []
        self.usefulness: dict[str, float] = {}

    def with_candidates(self, candidates: list[Candidate], total: int) -> "SearchResult":
        """The same search with other candidates."""
        other = SearchResult(self.query, candidates, total, like=self.like)
        other.terms, other.rest, other.items, other.parts = self.terms, self.rest, self.items, self.parts
        other.usefulness = self.usefulness
        return other

    def add(self, head: Iterable[Candidate], reason: str, added: Scores) -> None:
        """Let a reason change the scores of the best candidates."""
        if added:
            for c in head:
                if c.row in added:
                    c.score += added[c.row]
            self.parts.append((reason, added))

    def idf(self, term: Term) -> float:
        """What a word weighs: more, the fewer items of the scope have it."""
        n = len(term.rows) or min(term.found, self.items)
        return term.weight * math.log1p((max(0, self.items - n) + 0.5) / (n + 0.5))


def find_candidates(
    db: Database, query: Query, filters: Filters, limit: int, *, count: bool, pieces: bool = True
) -> tuple[SearchResult, int]:
    """The items that hold the words, by BM25 with the weights of this scope, and how many to look at more closely.

    Terms are looked up, the rarest first, until they have enough matches and found enough items; a negative limit means
    all. The rest only counts in what was found. A term that no item of the scopes has is neither.
    """
    size = index.index_size(db)
    wanted = limit if limit < 0 else max(limit, FEW)
    in_scopes = index.count_in_scopes(db, filters, size)
    result = SearchResult(query, [], 0)
    terms = known_terms(db, query, pieces=pieces)
    rows: set[int] = set()
    matches, most = 0, min(COST, max(LEAST, size // SHARE))
    for at, term in enumerate(terms):
        enough = bool(rows) if term.found >= COMMON else matches + term.found > most and len(rows) >= wanted
        if wanted >= 0 and (enough or (term.found >= COMMON and not rows)):
            result.rest = terms[at:]
            break
        term.look_up(db, filters, size)
        rows.update(term.rows)
        matches += term.found
        if term.rows:
            result.terms.append(term)
    result.items = max(in_scopes if in_scopes < index.COUNTED else size, *(len(t.rows) for t in result.terms), 1)
    scores: Scores = {}
    for term in result.terms:
        weight = result.idf(term) * (K1 + 1)
        for row, strength in term.rows.items():
            scores[row] = scores.get(row, 0.0) + weight * strength / (strength + K1)
    pool = POOL
    if not scores and result.rest:
        scores = dict.fromkeys(_newest_rows(db, result.rest, filters, wanted), 0.0)
        pool = len(scores)
    result.total = len(scores)
    terms = [*result.terms, *result.rest]
    if count and result.rest and sum(term.found for term in terms) < COMMON:  # else counting would take too long
        expressions = [expression for term in terms for expression, _ in term.forms]
        result.total = max(result.total, index.count_any_match(db, expressions, filters))
    result.parts.append(("words", scores))
    return result, pool


def _newest_rows(db: Database, terms: Sequence[Term], filters: Filters, wanted: int) -> list[int]:
    """Of what has only common words, the items stored last: with all the words, then with the rarest."""
    every = " AND ".join(f"({term.expression})" for term in terms if term.whole)
    rows: dict[int, None] = {}
    for expression in filter(None, (every, *(term.expression for term in terms))):
        if len(rows) < max(wanted, POOL):
            rows |= dict.fromkeys(index.newest_matches(db, expression, filters, max(wanted, NEWEST)))
    return list(rows)
