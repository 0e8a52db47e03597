"""What is known about an item beside its words: how new it is, how often it was used, how much it matters, is it so.

Each part changes an item's score by a small share of itself, so that of two items that answer nearly as well the newer,
more used, more important or verified one comes first, and none of them makes an item of what does not answer. Where
all items are alike in these, as the passages of one folder are, nothing changes. It is reckoned when it is read, never
stored: the same question finds the same until the day changes, or somebody writes or uses something.
"""

from collections.abc import Iterator

from memctl import ids
from memctl.names import STRENGTH
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate, ItemUsage, sort_candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.find import Found

#: So many of the best are looked at.
LOOKED_AT = 100
#: An item that was used so many times counts half as much as one that is used all the time.
USES = 4
#: What is said of a statement, as a share of the weight of `validation`.
VALIDATED = {"verified": 0.5, "unverified": 0.0, "contested": -0.5, "retracted": -1.0}
_SECONDS = 86_400


class Weights:
    """How much each part may add, as a share of an item's score (config.json: `recall.recency` and so on).

    recency     for an item made today; half of it `recency_days` days later, and so on
    use         for one that was used a great many times and today: n / (n + 4), halved each `recency_days` days since
    importance  for an item of importance 1; as much less for 0, nothing for the neutral 0.5
    validation  half of it for what is verified, half less for what is contested, all of it less for what is retracted
    """

    __slots__ = ("importance", "recency", "recency_days", "use", "validation")

    def __init__(
        self,
        recency: float = STRENGTH["recency"],
        recency_days: float = STRENGTH["recency_days"],
        use: float = STRENGTH["use"],
        importance: float = STRENGTH["importance"],
        validation: float = STRENGTH["validation"],
    ) -> None:
        self.recency, self.recency_days, self.use = recency, recency_days, use
        self.importance, self.validation = importance, validation

    def parts(self, c: Candidate, life: ItemUsage, today: int) -> Iterator[tuple[str, float]]:
        """The parts of one item, as shares of its score."""
        if life.made is not None:
            yield "recency", self.recency * self._left(today - life.made)
        if life.used is not None and life.uses > 0:
            yield "use", self.use * life.uses / (life.uses + USES) * self._left(today - life.used)
        if life.importance is not None:
            yield "importance", self.importance * (2 * life.importance - 1)
        yield "validation", self.validation * VALIDATED.get(c.validation, 0.0)

    def _left(self, days: int) -> float:
        """What is left after so many days; of a day to come, all."""
        return float(0.5 ** (max(0, days) / self.recency_days))


def weigh(db: Database, found: "Found", filters: Filters, weights: Weights) -> None:
    """Let the parts change the scores of the best, put those in order, and keep the parts for `--explain`."""
    head = found.candidates[:LOOKED_AT]
    if not head:
        return
    known = index.read_usage(db, [c.id for c in head])
    today = index.day_number(db, filters.as_of) if filters.as_of else int(ids.now_seconds() // _SECONDS)
    added: dict[str, dict[int, float]] = {}
    for c in head:
        more = 0.0
        for name, share in weights.parts(c, known[c.id], today) if c.id in known else ():
            if share:
                added.setdefault(name, {})[c.row] = share * c.score
                more += share * c.score
        c.score += more
    if added:
        found.candidates[:LOOKED_AT] = sort_candidates(head)
        if found.ranking is not None:
            found.ranking.parts += added.items()
