"""One way to search for all: `memctl search`, recall, push and `MemoryStore.search_fulltext`."""

from memctl.retrieve import repeats
from memctl.retrieve.strength import Weights, weigh
from memctl.store import connect
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate, Matches
from memctl.text.query import Query, analyse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.meaning import Meaning
    from memctl.retrieve.rank import Ranking
    from memctl.types import SearchMeta

REINDEX_HINT = (
    "this index does not stem words, so other forms of a word may be missed; memctl reindex --tokenizer en changes that"
)


class Found:
    """What a search found: the query taken apart, the items best first, and how many match in all.

    total    exact when it was asked for and few thousand items can match, else at least the number of items here
    like     some of it was found by substring, not by the index
    ranking  why the items stand where they stand; None when nothing ranked them
    """

    __slots__ = ("candidates", "like", "query", "ranking", "total")

    def __init__(
        self, query: Query, candidates: list[Candidate], total: int, like: bool, ranking: "Ranking | None" = None
    ) -> None:
        self.query, self.candidates, self.total, self.like, self.ranking = query, candidates, total, like, ranking


def search(
    db: Database, text: str, *, filters: Filters, limit: int = 10, count: bool = False,
    meaning: "Meaning | None" = None, weights: Weights | None = None,
) -> Found:  # fmt: skip
    """The `limit` best items for a question or some words; any text is legal, a blank one lists the newest.

    A negative limit means all that match. With `count`, `total` counts everything that matches. `meaning` adds what is
    near in meaning; `weights` say how much it counts to be new, used, important and verified. What repeats a better hit
    stands behind what is new.
    """
    query = analyse(text)
    wide = limit if limit < 0 or query.blank else max(limit, repeats.LOOKED_AT)
    connect.ensure_index(db)
    with db.cached_reads():
        found = _by_words(db, query, filters, wide, count=count)
    if query.blank:
        return found
    if meaning is not None:
        meaning.add(db, found, filters, wide)
    weigh(db, found, filters, weights or Weights())
    repeats.demote(found, limit)
    if limit >= 0:
        del found.candidates[limit:]
    return found


def _by_words(db: Database, query: Query, filters: Filters, limit: int, *, count: bool) -> Found:
    if query.blank:
        newest = index.newest_items(db, filters, limit)
        return Found(query, newest.candidates, newest.total, like=False)
    if not index.has_index(db):
        return _by_substring(db, query, filters, limit)
    from memctl.retrieve.rank import rank

    ranking = rank(db, query, filters, limit, count=count)
    if query.runs or not query.terms:
        return _by_substring(db, query, filters, limit, ranking)
    best = ranking.candidates if limit < 0 else ranking.candidates[:limit]
    return Found(query, best, ranking.total, like=False, ranking=ranking)


def _by_substring(db: Database, query: Query, filters: Filters, limit: int, ranking: "Ranking | None" = None) -> Found:
    """What the index cannot find, and one list of it with what the index found."""
    from memctl.store.search import words

    like = words.match_substrings(db, query, filters, limit)
    if ranking is None:
        return Found(query, like.candidates, like.total, like=True)
    ranked = Matches(ranking.candidates, ranking.total)
    both = words.merge_matches(ranked, like, limit)
    return Found(query, both.candidates, both.total, like=True, ranking=ranking)


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
    from memctl.store.search.words import covered_terms

    best = found.candidates[0]
    exact = covered_terms(db, best, terms)
    if all(exact):
        return "AND", terms, []
    missing = [term for term, there in zip(terms, exact, strict=True) if not there]
    if all(covered_terms(db, best, missing, prefix=True)):
        return "PREFIX_AND", terms, []
    effective = [term for term, there in zip(terms, exact, strict=True) if there]
    if not effective:  # only parts of its words, or their beginnings, were found
        return "OR_FALLBACK", terms, []
    return ("REDUCED_AND" if 2 * len(effective) >= len(terms) else "OR_FALLBACK"), effective, missing
