"""Why an item stands where it stands: what each reason, and each word, added to its score."""

from memctl.retrieve.find import Found
from memctl.retrieve.rank import worth
from memctl.store.search.index import Candidate

#: Scores are told with so many decimals.
DECIMALS = 4
_NOTHING = 10**-DECIMALS


def reasons(found: Found, c: Candidate) -> dict[str, float]:
    """What each reason added to the score, in the order they were weighed; what added nothing is left out."""
    added = {} if found.ranking is None else {name: part.get(c.row, 0.0) for name, part in found.ranking.parts}
    added["substring"] = c.score - sum(added.values())
    return _told(added)


def words(found: Found, c: Candidate) -> dict[str, float]:
    """What each word, piece or pair that was looked up added to the reason `words`."""
    if found.ranking is None:
        return {}
    ranking = found.ranking
    return _told({t.word: worth(ranking.idf(t), t.rows[c.row]) for t in ranking.terms if c.row in t.rows})


def _told(added: dict[str, float]) -> dict[str, float]:
    return {name: round(value, DECIMALS) for name, value in added.items() if abs(value) >= _NOTHING}
