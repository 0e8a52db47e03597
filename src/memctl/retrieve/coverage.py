"""How much of a question an answer covers: for callers that want nothing rather than what merely shares a word.

As in ranking, a word weighs more, the fewer items of the scopes that are read have it. A word that no item has weighs
most, so a question about what the store does not know is covered badly, whatever else it says. The figure
is a share, the same for a store of ten items and of a million; unlike a score, it can be compared with a fixed bound.
"""

import math
from collections.abc import Mapping, Sequence

from memctl.retrieve.find import Found
from memctl.store.search.index import Candidate

#: The best of so many first hits counts: what covers most need not stand first.
FIRST = 3
#: The scopes are taken for part of so much more text, in which none of the words is: else, in a store of three items,
#: a word that one of them has would weigh next to nothing beside a word that none has.
BACKGROUND = 1000
#: What a guess at an unknown word is worth here beside its worth in ranking: it may be no answer at all.
GUESSED = 0.5


def coverage(found: Found) -> float:
    """The share of the question's weight that one of the first hits holds, 0 to 1; 1 for a blank question."""
    return covered(found)[0]


#: What an automatic recall needs: the best of the first hits covers this share of the question's weight …
LEAST_SHARE = 0.43
#: … and words that weigh so much together: one rare word, or some that are less so.
LEAST_WEIGHT = 5.0


def worth_saying(found: Found) -> bool:
    """Whether there is anything worth giving to somebody who did not ask for it.

    Three things decide: what kind of utterance it is (talk of a session is answered by no memory), what share of the
    question is covered, and how much weight that is.
    """
    from memctl.text.utterance import is_chatter

    if not found.candidates or is_chatter(found.query.text):
        return False
    share, weight = covered(found)
    return share >= LEAST_SHARE and (weight is None or weight >= LEAST_WEIGHT)


def covered(found: Found) -> tuple[float, float | None]:
    """This share, and the weight itself: the summed rarity of the words held; None where words are not weighed."""
    if found.query.blank:
        return 1.0, None
    first = found.candidates[:FIRST]
    if found.like or found.ranking is None or not found.query.terms:
        return max((_pieces(found, c) for c in first), default=0.0), None
    weighed = _weighed(found)
    every = sum(weight for weight, _, _, _ in weighed)
    held = max((_held(weighed, c) for c in first), default=0.0)
    return (held / every if every else 0.0), held


#: What a word weighs, the share of it that a match is worth, which rows hold it (None: unknown), and its root.
_Weighed = tuple[float, float, "Mapping[int, float] | None", str]


def _weighed(found: Found) -> list[_Weighed]:
    ranking = found.ranking
    assert ranking is not None  # noqa: S101 - `coverage` asks only then
    found_by = {term.word: term for term in ranking.terms if term.whole}
    common = {term.word: term for term in ranking.rest if term.whole}
    items = ranking.items + BACKGROUND
    most = _weight(items, 0)
    out: list[_Weighed] = []
    for word in found.query.terms:
        term = found_by.get(word) or common.get(word)
        if term is None or (word in found_by and not term.rows):  # nothing here has it
            out.append((most, 0.0, {}, ""))
            continue
        weight, worth = _weight(items, len(term.rows) or min(term.found, ranking.items)), term.forms[0][1]
        if worth < 1.0:  # no item has the word itself, only what it may have meant
            weight, worth = most, GUESSED * worth
        out.append((weight, worth, term.rows if word in found_by else None, term.root))
    return out


def _weight(items: int, having: int) -> float:
    return math.log1p((items - having + 0.5) / (having + 0.5))


def _held(weighed: Sequence[_Weighed], c: Candidate) -> float:
    text = ""
    held = 0.0
    for weight, worth, rows, root in weighed:
        if rows is None:  # a common word: it was not looked up
            text = text or f"{c.title}\n{c.content}".lower()
            held += weight * worth * (root in text)
        else:
            held += weight * worth * (c.row in rows)
    return held


def _pieces(found: Found, c: Candidate) -> float:
    """Of what was looked for inside the text, the share that is there."""
    from memctl.store.search.words import make_needles

    text = f"{c.title}\n{c.content}\n{c.tags}".casefold()
    wanted = make_needles(found.query)
    return sum(needle.casefold() in text for needle in wanted) / len(wanted)
