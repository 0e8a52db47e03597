"""One way to search for all: `memctl search`, recall, push and `MemoryStore.search_fulltext`."""

from collections.abc import Mapping

from memctl.names import STRENGTH
from memctl.retrieve import repeats, strength
from memctl.retrieve.ranking import SearchResult, rank
from memctl.store import connect
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Matches
from memctl.text.query import Query, analyse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.embedding import Meaning


def search(
    db: Database, text: str, *, filters: Filters, limit: int = 10, count: bool = False,
    meaning: "Meaning | None" = None, weights: Mapping[str, float] = STRENGTH,
) -> SearchResult:  # fmt: skip
    """The `limit` best items for a question or some words; any text is legal, a blank one lists the newest.

    A negative limit means all that match. With `count`, `total` counts everything that matches. `meaning` adds what is
    near in meaning; `weights` say how much it counts to be new, used, important and verified. What repeats a better hit
    stands behind what is new.
    """
    query = analyse(text)
    wide = limit if limit < 0 or query.blank else max(limit, repeats.LOOKED_AT)
    connect.ensure_index(db)
    with db.cached_reads():
        if query.blank:
            newest = index.newest_items(db, filters, limit)
            return SearchResult(query, newest.candidates, newest.total)
        result = _find_words(db, query, filters, wide, count=count)
    if meaning is not None:
        meaning.add(db, result, filters, wide)
    strength.weigh(db, result, filters, weights)
    repeats.demote(result, limit)
    if limit >= 0:
        del result.candidates[limit:]
    return result


def _find_words(db: Database, query: Query, filters: Filters, limit: int, *, count: bool) -> SearchResult:
    """The best items by words; what the index cannot find is found by substring."""
    indexed = index.has_index(db)
    result = rank(db, query, filters, limit, count=count) if indexed else SearchResult(query, [], 0)
    if query.runs or not query.terms or not indexed:
        from memctl.store.search import words

        found = words.match_substrings(db, query, filters, limit)
        if indexed:
            found = words.merge_matches(Matches(result.candidates, result.total), found, limit)
        result.candidates, result.total, result.like = found.candidates, found.total, True
    elif limit >= 0:
        del result.candidates[limit:]
    return result
