# ruff: noqa: SIM905 - lists of words
"""Whether a statement nearly repeats an older one, or seems to replace it: told from their words alone, always alike.

Two statements are about the same when all of their words are but those in one place. What stands there decides: another
number, date or name, or a "not" on one side, is another value of the same thing. Anything else there makes it another
statement, unless so few words differ that it says the same.
"""

import re
from collections.abc import Iterable, Sequence

from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS, is_identifier

#: What is said of two statements.
SAME = "nearly the same words"
OPPOSITE = "one of them says not"
NUMBER, DATE, NAME = "another number", "another date", "another name"

#: Only so many words of a statement are compared.
MOST_WORDS = 120
#: The share of words that two statements have in common when only a value differs, and when they say the same.
LEAST_SHARE, SAME_SHARE = 0.5, 0.85
#: A value has at most this many words.
VALUE_WORDS = 4

_AROUND = ".,;:!?\"'`*_()[]{}<>«»“”\u2018\u2019…"
_SILENT = EN_STOP_WORDS | FR_STOP_WORDS
_NEGATION = frozenset((
    "no", "not", "nor", "never", "none", "without", "cannot", "ne", "pas", "non", "jamais", "aucun", "aucune", "sans",
    "longer", "plus",
))  # fmt: skip
_NUMBERS = frozenset((
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "twenty", "thirty", "fifty", "hundred", "thousand", "once", "twice", "thrice", "half", "double",
    "un", "deux", "trois", "quatre", "cinq", "sept", "huit", "neuf", "dix", "douze", "vingt", "cent", "mille",
))  # fmt: skip
_DAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays "
    "sundays mon tue wed thu fri sat sun january february march april may june july august september october november "
    "december jan feb mar apr jun jul aug sep oct nov dec today tomorrow yesterday lundi mardi mercredi jeudi vendredi "
    "samedi dimanche lundis mardis mercredis jeudis vendredis samedis dimanches janvier février mars avril mai juin "
    "juillet août septembre octobre novembre décembre".split()
)
_DATE = r"\d{4}-\d\d(-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}"


class _Word:
    """A word of a statement: as it is compared, and whether it is written as a name."""

    __slots__ = ("folded", "is_name")

    def __init__(self, written: str, *, begins: bool) -> None:
        bare = written.strip(_AROUND) or written
        self.folded = bare.casefold()
        self.is_name = is_identifier(bare) or (bare[:1].isupper() and not begins)


def _words(text: str) -> list[_Word]:
    out: list[_Word] = []
    begins = True
    for written in text.split()[:MOST_WORDS]:
        out.append(_Word(written, begins=begins))
        begins = written[-1] in ".!?:"
    return out


def compare(new: str, old: str) -> str:
    """Why a new statement nearly repeats an old one, or seems to replace it; "" when it does neither."""
    from difflib import SequenceMatcher

    here, there = _words(new), _words(old)
    if not here or not there:
        return ""
    matcher = SequenceMatcher(None, [w.folded for w in there], [w.folded for w in here], autojunk=False)
    if matcher.real_quick_ratio() < LEAST_SHARE or matcher.quick_ratio() < LEAST_SHARE:
        return ""
    share = matcher.ratio()
    differing = [(there[a:b], here[c:d]) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]
    common = [there[block.a + at].folded for block in matcher.get_matching_blocks() for at in range(block.size)]
    if share < LEAST_SHARE or not _telling(common):
        return ""
    values = [(a, b) for a, b in differing if _telling(w.folded for w in (*a, *b)) or _denies(a) or _denies(b)]
    if not values:
        return SAME
    if len(values) == 1:
        why = _kind(*values[0])
        is_subject = why == NAME and values[0][0] and values[0][0][0] is there[0]
        if why and not is_subject:
            return why
    changed = [word for pair in values for side in pair for word in side]
    plain = not any(_has_digit(w.folded) or w.folded in _NUMBERS or w.is_name for w in changed)
    denied = any(_denies(side) for pair in values for side in pair)
    return SAME if share >= SAME_SHARE and plain and not denied else ""


def _telling(words: Iterable[str]) -> list[str]:
    """The words that say something."""
    return [word for word in words if word not in _SILENT]


def _kind(old: Sequence[_Word], new: Sequence[_Word]) -> str:
    """What sort of value stands in the one place where two statements differ; "" when it is none."""
    if _denies(old) != _denies(new):
        return OPPOSITE
    if not old or not new or max(len(old), len(new)) > VALUE_WORDS:
        return ""
    for why, fits in ((DATE, _is_date), (NUMBER, _is_number), (NAME, lambda word: word.is_name)):
        if any(map(fits, old)) and any(map(fits, new)):
            return why
    return ""


def _denies(words: Sequence[_Word]) -> bool:
    return any(w.folded in _NEGATION or w.folded.endswith(("n't", "n\u2019t")) for w in words)


def _is_date(word: _Word) -> bool:
    return word.folded in _DAYS or re.fullmatch(_DATE, word.folded) is not None


def _is_number(word: _Word) -> bool:
    return word.folded in _NUMBERS or _has_digit(word.folded)


def _has_digit(word: str) -> bool:
    return any(char.isdigit() for char in word)
