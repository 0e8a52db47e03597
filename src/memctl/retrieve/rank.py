"""Ranking: the items that hold the query's words, and what each of several reasons adds to their scores.

Rare words find the items; common ones only count in those. So the cost follows the rarest words, not the store.
"""

import math
import sys
from collections.abc import Iterable, Sequence

from memctl.retrieve.terms import COMMON, Term, terms_of
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.query import Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.order import Neighbours

Scores = dict[int, float]

#: How much more a word counts that is there more often; bm25's k1 (FTS5 has 1.2).
K1 = 1.4
#: Words are looked up, the rarest first, until they have so many matches: as many as a third of the store has items
#: (what is in more of them tells little, and only counts in what was found), but a few in a small store, and in a
#: large one no more than can be read in some 25 ms.
SHARE = 3
LEAST, COST = 1200, 12_000
FEW = 50
#: Where every word is common, so many of the items stored last that have them are ranked.
NEWEST = 400
#: Items of a scope, and those that have a common word, are counted up to here.
COUNTED = 30_000
#: So many of the best are looked at more closely; the order below them is that of the words alone.
POOL = 80
#: So many of the best are looked at to see whether the items stand in an order.
PROBE = 24

#: What is done for short items is done half as much for one of so many characters.
SHORT = 600
#: What names the thing that is asked for (a title, a file) adds, as a share of the best score.
NAMED = 0.17

#: What having been made at the time that the query names adds, as a share of the best score; half, so many days away.
TIME = 0.4
DAYS = 5
#: Of so many of the best items by words it is looked at when they were made, where the query names a time.
TIMED = 1000


class Ranking:
    """Candidates best first, how many matched, and why they stand where they stand.

    terms  what was looked up, the rarest first
    rest   common words that only counted in what the others found
    parts  the name of each reason, and what it added to the scores, by rowid
    """

    __slots__ = ("candidates", "items", "parts", "rest", "terms", "total")

    def __init__(self, terms: list[Term], rest: list[Term], items: int) -> None:
        self.terms, self.rest, self.items = terms, rest, items
        self.parts: list[tuple[str, Scores]] = []
        self.candidates: list[Candidate] = []
        self.total = 0

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


def rank(db: Database, query: Query, filters: Filters, limit: int, *, count: bool = False) -> Ranking:
    """The `limit` best items that hold any word of the query; a negative limit means all of them."""
    size = index.index_size(db)
    wanted = limit if limit < 0 else max(limit, FEW)
    items = _items(db, filters, size)
    terms, rest = _look_up(db, _known(db, query), filters, wanted, size)
    ranking = Ranking(terms, rest, max(items, *(len(t.rows) for t in terms), 1))
    scores = by_words(ranking)
    pool = POOL
    if not scores and rest:
        scores = dict.fromkeys(_newest(db, rest, filters, wanted), 0.0)
        pool = len(scores)
    ranking.total = max(len(scores), _count(db, terms + rest, filters) if count and rest else 0)
    ranking.parts.append(("words", scores))
    most = max(pool, limit) if limit >= 0 else sys.maxsize
    rows = best(scores, most)
    near = _neighbours(db, ranking, filters, rows[:PROBE])
    if near is not None:
        ranking.total += len(near.scores) - len(scores)
        scores = near.scores
    if _may_name_time(query.text):
        scores = _timed(db, ranking, scores, query.text)
    if scores is not ranking.parts[0][1]:
        rows = best(scores, most)
    found = (
        index.sort_candidates(index.fetch_candidates(db, scores, rows))
        if len(rows) > pool
        else index.fetch_candidates(db, scores, rows)
    )
    head = found[:pool]
    from memctl.retrieve.texts import look_closer

    texts = look_closer(db, ranking, head, query)
    if near is not None:
        for reason, added in near.reasons(head, query):
            ranking.add(head, reason, added)
    if len(head) >= 10 and not (near is not None and near.documents):  # passages are told apart by their documents
        from memctl.retrieve.feedback import feedback

        turns = near is None or near.share
        ranking.add(head, "topic", feedback(index.sort_candidates(head), query, texts, fade=float(turns)))
    if near is not None:
        ranking.add(head, "beside", near.beside(head))
    ranking.candidates = index.sort_candidates(head) + found[pool:]
    return ranking


def _items(db: Database, filters: Filters, size: int) -> int:
    """How many items the scopes hold; in a large one, how many the store holds."""
    count = index.count_in_scopes(db, filters, COUNTED, size)
    return count if count < COUNTED else size


# --- by words ---------------------------------------------------------------------------------------------------


def _known(db: Database, query: Query) -> list[Term]:
    """The terms that some item has, the rarest first; for a word that none has, what it may have meant."""
    out: list[Term] = []
    unknown: list[Term] = []
    asked = terms_of(query, stems=index.is_stemming(db))
    pairs = [term for term in asked if term.pair]
    if pairs and not index.count_matches(db, " OR ".join(map(_any, pairs)), 1):
        asked = asked[: -len(pairs)]
    for term in asked:
        if term.count(db):
            out.append(term)
        elif term.whole:
            unknown.append(term)
    if unknown:
        from memctl.retrieve.guess import guess

        for term in unknown:
            term.forms = guess(db, term.word, pieces=not out)
        out += [term for term in unknown if term.count(db)]
    return sorted(out, key=lambda term: term.found)


def _look_up(
    db: Database, terms: Sequence[Term], filters: Filters, wanted: int, size: int
) -> tuple[list[Term], list[Term]]:
    """The terms that find items, looked up, and the rest; what no item of the scopes has is neither."""
    rows: set[int] = set()
    matches, most = 0, min(COST, max(LEAST, size // SHARE))
    for at, term in enumerate(terms):
        enough = bool(rows) if term.found >= COMMON else matches + term.found > most and len(rows) >= wanted
        if wanted >= 0 and (enough or (term.found >= COMMON and not rows)):
            return [term for term in terms[:at] if term.rows], list(terms[at:])
        term.look_up(db, filters, size)
        rows.update(term.rows)
        matches += term.found
    return [term for term in terms if term.rows], []


def _newest(db: Database, terms: Sequence[Term], filters: Filters, wanted: int) -> list[int]:
    """Of what has only common words, the items stored last: with all the words, then with the rarest."""
    every = " AND ".join(f"({_any(term)})" for term in terms if term.whole)
    rows: dict[int, None] = {}
    for expression in filter(None, (every, *map(_any, terms))):
        if len(rows) < max(wanted, POOL):
            rows |= dict.fromkeys(index.newest_matches(db, expression, filters, max(wanted, NEWEST)))
    return list(rows)


def _any(term: Term) -> str:
    return " OR ".join(expression for expression, _ in term.forms)


def _count(db: Database, terms: Sequence[Term], filters: Filters) -> int:
    """How many items have any of the words; 0 when so many may have them that counting would take too long."""
    if sum(term.found for term in terms) >= COMMON:
        return 0
    return index.count_any_match(db, [expression for term in terms for expression, _ in term.forms], filters)


def by_words(ranking: Ranking) -> Scores:
    """BM25 with the weights of this scope."""
    scores: Scores = {}
    for term in ranking.terms:
        weight = ranking.idf(term) * (K1 + 1)
        for row, strength in term.rows.items():  # `worth` for each would take twice the time
            scores[row] = scores.get(row, 0.0) + weight * strength / (strength + K1)
    return scores


def worth(idf: float, strength: float) -> float:
    """What a word of this weight adds where it is this strong."""
    return idf * (K1 + 1) * strength / (strength + K1)


def best(scores: Scores, limit: int) -> list[int]:
    """The rows of the `limit` best, best first, and of those that tie with the last of them."""
    rows = list(scores)
    if limit < len(rows):
        least = sorted(scores.values(), reverse=True)[limit - 1]
        rows = [row for row, score in scores.items() if score >= least]
    rows.sort(key=scores.__getitem__, reverse=True)
    return rows


# --- a closer look ----------------------------------------------------------------------------------------------


def _neighbours(db: Database, ranking: Ranking, filters: Filters, probe: Sequence[int]) -> "Neighbours | None":
    """What stands beside the best items in their sources; None where they have no order."""
    standing = index.read_order(db, probe)
    if not probe or 4 * len(standing) < len(probe):
        return None
    from memctl.retrieve.order import Neighbours

    return Neighbours(db, ranking, filters, documents=all(place.document for place in standing.values()))


#: How a month begins, in English and French.
_MONTHS = frozenset((
    "jan", "feb", "fév", "fev", "mar", "apr", "avr", "may", "mai", "jun", "jui", "jul", "aug", "aoû", "aou", "sep",
    "oct", "nov", "dec", "déc",
))  # fmt: skip


def _may_name_time(text: str) -> bool:
    """Whether it is worth reading which time a query names."""
    words = text.lower().replace("'", " ").replace("\u2019", " ").split()
    return any(word[:3] in _MONTHS or "19" in word or "20" in word for word in words)


def _timed(db: Database, ranking: Ranking, scores: Scores, text: str) -> Scores:
    """The scores with what it adds to have been made at the time that the query names, or near it."""
    from memctl.text.times import named_days

    spans = named_days(text)
    added: Scores = {}
    much = TIME * max(scores.values(), default=0.0)
    if spans and much:
        for row, day in index.created_days(db, best(scores, TIMED)).items():
            added[row] = much / (1 + min([span.apart(day) for span in spans]) / DAYS)
    if added:
        ranking.parts.append(("time", added))
    return scores | {row: scores[row] + more for row, more in added.items()}
