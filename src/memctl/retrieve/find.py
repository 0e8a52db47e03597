"""One way to search for all: `memctl search`, recall, push and `MemoryStore.search_fulltext`."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from memctl import ids
from memctl.names import STRENGTH
from memctl.retrieve import repeats
from memctl.retrieve.ranking import (
    LEAST_ITEMS,
    Scores,
    SearchResult,
    best_rows,
    score_texts,
    score_times,
    score_topic,
    score_words,
)
from memctl.store import connect
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate, ItemUsage, Matches
from memctl.text.query import Query, analyse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.embedding import Meaning
    from memctl.retrieve.neighbours import Neighbours

#: The best items tell whether the items stand in an order.
PROBE = 24

#: How many of the best are looked at for what is known about an item beside its words.
WEIGHED = 100
#: An item that was used this many times counts half as much as one that is used all the time.
USES = 4
#: What is said of a statement, as a share of the weight of `validation`.
VALIDATED = {"verified": 0.5, "unverified": 0.0, "contested": -0.5, "retracted": -1.0}
_SECONDS = 86_400


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
    with db.snapshot():
        if query.blank:
            newest = index.newest_items(db, filters, limit)
            return SearchResult(query, newest.candidates, newest.total)
        result = _find_words(db, query, filters, wide, count=count)
    if meaning is not None:
        meaning.add(db, result, filters, wide)
    _weigh(db, result, filters, weights)
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


def rank(db: Database, query: Query, filters: Filters, limit: int, *, count: bool = False) -> SearchResult:
    """The `limit` best items that hold any word of the query; a negative limit means all of them."""
    result, pool = score_words(db, query, filters, limit, count=count)
    scores = by_words = result.parts[0][1]
    most = max(pool, limit) if limit >= 0 else sys.maxsize
    rows = best_rows(scores, most)
    near = _find_neighbours(db, result, filters, rows[:PROBE])
    if near is not None:
        result.total += len(near.scores) - len(scores)
        scores = near.scores
    scores = score_times(db, result, scores)
    if scores is not by_words:
        rows = best_rows(scores, most)
    found = index.fetch_candidates(db, scores, rows)
    if len(rows) > pool:
        found = index.sort_candidates(found)
    head = found[:pool]
    texts = score_texts(result, head)
    if near is not None:
        for reason, added in near.reasons(head, query):
            result.add(head, reason, added)
    if len(head) >= LEAST_ITEMS and not (near is not None and near.documents):  # passages are told apart by documents
        fade = 1.0 if near is None else near.share
        result.add(head, "topic", score_topic(index.sort_candidates(head), query, texts, fade))
    if near is not None:
        result.add(head, "beside", near.score_beside(head))
    result.candidates = index.sort_candidates(head) + found[pool:]
    return result


def _find_neighbours(db: Database, result: SearchResult, filters: Filters, probe: Sequence[int]) -> "Neighbours | None":
    """What stands beside the best items in their sources; None where they have no order."""
    places = index.read_order(db, probe)
    if not probe or 4 * len(places) < len(probe):
        return None
    from memctl.retrieve.neighbours import Neighbours

    return Neighbours(db, result, filters, documents=all(place.document for place in places.values()))


# --- what is known about an item beside its words ---------------------------------------------------------------


def _weigh(db: Database, result: SearchResult, filters: Filters, weights: Mapping[str, float]) -> None:
    """Let the parts change the scores of the best, put those in order, and keep the parts for `--explain`.

    Each part changes an item's score by a small share of itself, so that of two items that answer nearly as well the
    newer, more used, more important or verified one comes first, and none of them makes an item of what does not
    answer. Where all items are alike in these, as the passages of one folder are, nothing changes. It is reckoned when
    it is read, never stored: the same question finds the same until the day changes, or somebody writes or uses
    something.

    The weights (`memctl.names.STRENGTH`; config.json: `recall.recency` and so on) say how much each part may add, as a
    share of an item's score:

    recency     for an item made today; half of it `recency_days` days later, and so on
    use         for one that was used a great many times and today: n / (n + 4), halved each `recency_days` days since
    importance  for an item of importance 1; as much less for 0, nothing for the neutral 0.5
    validation  half of it for what is verified, half less for what is contested, all of it less for what is retracted
    """
    head = result.candidates[:WEIGHED]
    if not head:
        return
    known = index.read_usage(db, [c.id for c in head])
    today = index.day_number(db, filters.as_of) if filters.as_of else int(ids.now_seconds() // _SECONDS)
    added: dict[str, Scores] = {}
    for c in head:
        more = 0.0
        for name, share in shares(c, known[c.id], today, weights) if c.id in known else ():
            more += share * c.score
            if share and c.row:  # what was found by substring has no row; its score is told whole
                added.setdefault(name, {})[c.row] = share * c.score
        c.score += more
    result.candidates[:WEIGHED] = index.sort_candidates(head)
    result.parts += added.items()


def shares(c: Candidate, usage: ItemUsage, today: int, weights: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """The parts of one item, as shares of its score; of a day to come nothing has faded."""
    if usage.made is not None:
        yield "recency", weights["recency"] * 0.5 ** (max(0, today - usage.made) / weights["recency_days"])
    if usage.used is not None and usage.uses > 0:
        left = 0.5 ** (max(0, today - usage.used) / weights["recency_days"])
        yield "use", weights["use"] * usage.uses / (usage.uses + USES) * left
    if usage.importance is not None:
        yield "importance", weights["importance"] * (2 * usage.importance - 1)
    yield "validation", weights["validation"] * VALIDATED.get(c.validation, 0.0)
