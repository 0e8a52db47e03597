# ruff: noqa: SIM905 - lists of words
"""Whether a statement nearly repeats an older one, or seems to replace it: told from their words alone, always alike.

Two statements are about the same when all of their words are but those in one place. What stands there decides: another
number, date or name, or a "not" on one side, is another value of the same thing. Anything else there makes it another
statement, unless so few words differ that it says the same.
"""

import re
from collections.abc import Sequence

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
))  # fmt: skip
_NUMBERS = frozenset((
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "twenty", "thirty", "fifty", "hundred", "thousand", "once", "twice", "thrice", "half", "double",
    "deux", "trois", "quatre", "cinq", "sept", "huit", "neuf", "dix", "douze", "vingt", "cent", "mille",
))  # fmt: skip
_DAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays "
    "sundays mon tue wed thu fri sat sun january february march april may june july august september october november "
    "december jan feb mar apr jun jul aug sep oct nov dec today tomorrow yesterday lundi mardi mercredi jeudi vendredi "
    "samedi dimanche lundis mardis mercredis jeudis vendredis samedis dimanches janvier février mars avril mai juin "
    "juillet août septembre octobre novembre décembre".split()
)
_DATE = r"\d{4}-\d\d(-\d\d)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}"


class ComparedStatement:
    """The words of a statement that say something: as they are compared, and as they are written.

    A word that begins a sentence is written in lower case here: its capital makes no name of it.
    """

    __slots__ = ("folded", "written")

    def __init__(self, text: str) -> None:
        self.folded: list[str] = []
        self.written: list[str] = []
        begins = True
        for word in text.split()[:MOST_WORDS]:
            bare = word.strip(_AROUND) or word
            folded = bare.casefold()
            if folded not in _SILENT or folded in _NEGATION or folded in _NUMBERS:
                self.folded.append(folded)
                self.written.append(folded if begins else bare)
            begins = word[-1] in ".!?:"

    def compare(self, old: "ComparedStatement") -> str:
        """Why this new statement nearly repeats an old one, or seems to replace it; "" when it does neither."""
        here, there = self.folded, old.folded
        least = min(len(here), len(there))
        if not least:
            return ""
        if here == there:
            return SAME
        first = 0
        while first < least and here[first] == there[first]:
            first += 1
        last = 0
        while last < least - first and here[-1 - last] == there[-1 - last]:
            last += 1
        value, was = self.written[first : len(here) - last], old.written[first : len(there) - last]
        if first + last and 2 * (first + last) >= LEAST_SHARE * (len(here) + len(there)):
            why = _kind(was, value)
            if why and not (why == NAME and not first):  # what stands first is what the statement is about
                return why
        common = set(here) & set(there)
        if 2 * len(common) < SAME_SHARE * (len(set(here)) + len(set(there))):
            return ""
        changed = [word for word in (*self.written, *old.written) if word.casefold() not in common]
        return "" if any(_is_number(word) or _is_name(word) or _denies(word) for word in changed) else SAME


def compare(new: str, old: str) -> str:
    """Why a new statement nearly repeats an old one, or seems to replace it; "" when it does neither."""
    return ComparedStatement(new).compare(ComparedStatement(old))


def _kind(old: Sequence[str], new: Sequence[str]) -> str:
    """What sort of value stands in the one place where two statements differ; "" when it is none."""
    if any(map(_denies, old)) != any(map(_denies, new)) and min(len(old), len(new)) <= 1:
        return OPPOSITE
    if not old or not new or max(len(old), len(new)) > VALUE_WORDS:
        return ""
    for why, fits in ((DATE, _is_date), (NUMBER, _is_number), (NAME, _is_name)):
        if any(map(fits, old)) and any(map(fits, new)):
            return why
    return ""


def _denies(word: str) -> bool:
    return word.casefold() in _NEGATION or word.endswith(("n't", "n\u2019t"))


def _is_date(word: str) -> bool:
    return word.casefold() in _DAYS or re.fullmatch(_DATE, word) is not None


def _is_number(word: str) -> bool:
    return word.casefold() in _NUMBERS or any(char.isdigit() for char in word)


def _is_name(word: str) -> bool:
    return word[:1].isupper() or is_identifier(word)
