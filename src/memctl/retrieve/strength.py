"""What is known about an item beside its words: how new it is, how often it was used, how much it matters, is it so.

Each part changes an item's score by a small share of itself, so that of two items that answer nearly as well the newer,
more used, more important or verified one comes first, and none of them makes an item of what does not answer. Where
all items are alike in these, as the passages of one folder are, nothing changes. It is reckoned when it is read, never
stored: the same question finds the same until the day changes, or somebody writes or uses something.
"""

from collections.abc import Iterator, Mapping

from memctl import ids
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate, ItemUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.ranking import Scores, SearchResult

#: How many of the best are looked at.
LOOKED_AT = 100
#: An item that was used this many times counts half as much as one that is used all the time.
USES = 4
#: What is said of a statement, as a share of the weight of `validation`.
VALIDATED = {"verified": 0.5, "unverified": 0.0, "contested": -0.5, "retracted": -1.0}
_SECONDS = 86_400


def weigh(db: Database, result: "SearchResult", filters: Filters, weights: Mapping[str, float]) -> None:
    """Let the parts change the scores of the best, put those in order, and keep the parts for `--explain`.

    The weights (`memctl.names.STRENGTH`; config.json: `recall.recency` and so on) say how much each part may add, as a
    share of an item's score:

    recency     for an item made today; half of it `recency_days` days later, and so on
    use         for one that was used a great many times and today: n / (n + 4), halved each `recency_days` days since
    importance  for an item of importance 1; as much less for 0, nothing for the neutral 0.5
    validation  half of it for what is verified, half less for what is contested, all of it less for what is retracted
    """
    head = result.candidates[:LOOKED_AT]
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
    result.candidates[:LOOKED_AT] = index.sort_candidates(head)
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
