"""Whether a statement nearly repeats an older one: told from their words alone, always alike.

Two statements say the same when so few of their words differ, and none of these is a value: another number, date or
name, or a "not" on one side, is another statement (`memctl.text.contradiction` tells whether it contradicts this one).
"""

from functools import lru_cache

from memctl.text.contradiction import claim_of, topic_words
from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS

#: What is said of two statements.
SAME = "nearly the same words"

#: Only so many words of a statement are compared.
MOST_WORDS = 120
#: The share of the words that two statements have in common when they say the same.
SAME_SHARE = 0.85
#: The share of the words of a statement that say nothing new, when it says again what somebody was told; at least two.
TOLD_SHARE = 0.75
#: Words by which something is decided, and which say nothing of what is.
_DECIDING = (
    "decided decide agreed settled chose chosen choose use uses using used keep keeping stick stay take adopt went "
    "will remember note please always okay right still indeed entschieden nehmen nutzen verwenden bleiben bitte immer"
)

_AROUND = ".,;:!?\"'`*_()[]{}<>«»“”\u2018\u2019…"
_SILENT = EN_STOP_WORDS | FR_STOP_WORDS


def compare(new: str, old: str) -> str:
    """Why a new statement nearly repeats an old one; "" when it does not."""
    here, there = _words(new), _words(old)
    if not here or not there:
        return ""
    if here == there:
        return SAME
    mine, theirs = set(here), set(there)
    if 2 * len(mine & theirs) < SAME_SHARE * (len(mine) + len(theirs)):
        return ""
    return SAME if _values(new) == _values(old) else ""


def repeats_told(new: str, told: str) -> bool:
    """Whether a statement only says in other words what its speaker was told: no value of it is new, and few words."""
    mine = topic_words(new) - _deciding()
    if len(mine) < 2 or len(mine & topic_words(told)) < TOLD_SHARE * len(mine):
        return False
    said, known = _values(new), _values(told)
    return said <= known and all(one in said for one in known if one[0] in ("not", "axis"))


@lru_cache(maxsize=1)
def _deciding() -> frozenset[str]:
    return topic_words(_DECIDING)


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, ...]:
    """The words of a statement that say something; a new one is compared with many."""
    words = ((word.strip(_AROUND) or word).casefold() for word in text.split()[:MOST_WORDS])
    return tuple(word for word in words if word not in _SILENT)


def _values(text: str) -> set[tuple[str, object]]:
    """What of a statement another one must say, too, to say the same."""
    return {(term.kind, term.value) for term in claim_of(text).terms if term.kind != "word"}
