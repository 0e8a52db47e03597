"""Whether two statements contradict or repeat each other: told from their words alone, in English, German and French.

A statement is taken apart into what it is about (its topic), what it says of it (its values: numbers, dates, names) and
whether it denies. Two contradict each other when they are about the same and a value of the same sort is another one,
or one denies what the other says. What differs on both sides and is no value makes them statements about different
things; what only one of them says more refines it. In doubt there is no contradiction.

Two say the same when so few of their words differ, and none of these is a value or a "not" on one side.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from memctl.text import claim_words
from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS, is_identifier
from memctl.text.similarity import PieceWords

#: What is said of two statements.
OPPOSITE = "one of them says not"
NUMBER, DATE, NAME, WORD = "another number", "another date", "another name", "another word"

#: Only so many words of a statement are compared.
MOST_WORDS = 60
#: Words that two statements share, at least, and the share of the words of the shorter one.
LEAST_SHARE = 0.5
#: Words of a value that is neither number, date nor name.
VALUE_WORDS = 3
#: A longer word is no number.
MOST_DIGITS = 20
#: The share of the words of the longer one; the share of the shorter one's where one of them denies.
LEAST_OF_LONGER, LEAST_SHARE_TO_DENY = 0.34, 0.75
#: Where the shorter one is about one word, the longer one is about no more.
MOST_BESIDE_ONE = 2
#: A number that names one of several things stands so far in front.
MOST_BEFORE = 3

_WORDS = re.compile(r"[^\W_]+(?:[-._'/:@+#][^\W_]+)*|[:=,;.!?()—]|[^\W_]*_\w+")
_PLAIN = re.compile(r"[^\W\d_]{3,}")
_CLOCK = re.compile(r"(\d{1,2})(?:[:h](\d\d)|h)$")
_DMY = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4})$")
_AMOUNT = re.compile(r"(\d+(?:[.,]\d+)?)([a-z%€$]{0,3})$")
_ENDINGS = re.compile(
    r"(?:ments?|ungen|ung|ings?|edly|ieren|iert|tion|ions?|ees|ers|ies|ed|es|er|en|em|ly|ee|et|te|e|s|n|t)$"
)


#: Words that are values; of the others, those with a digit may be.
_NAMED_VALUES = claim_words.NUMBERS.keys() | claim_words.DAYS.keys()


class ClaimTerm(NamedTuple):
    """A word of a statement: its stem, its sort (word, number, date, name, axis, not), its value, and as it stands."""

    stem: str
    kind: str
    value: tuple[object, ...]
    folded: str
    place: int
    is_name: bool = False


class Claim:
    """What a statement is about and what it says, to be compared with others.

    topic   the stems that say what it is about, each with the place where it stands first
    values  numbers, dates and names, by sort
    denied  whether its main clause denies
    axes    by axis, the end of it that the statement is on
    usable  whether it can be compared at all: it is no question and no maybe
    said    its terms that neither deny nor stand for an end of an axis
    given   the sort and value of each of its terms
    """

    __slots__ = ("axes", "denied", "given", "past", "said", "terms", "topic", "usable", "words")

    def __init__(self, text: str) -> None:
        pieces = [found[0] for found in islice(_WORDS.finditer(text), 2 * MOST_WORDS)]
        self.words = [_fold(piece) for piece in pieces]
        self.usable = (
            "?" not in pieces
            and "|" not in text
            and not claim_words.DOUBT.intersection(self.words[:2])
            and len(pieces) < 2 * MOST_WORDS
        )
        self.past = bool(claim_words.PAST.intersection(self.words))
        german = len(claim_words.GERMAN.intersection(self.words)) > 0
        self.terms = _terms(pieces, self.words, german=german)
        self.denied, self.axes = _polarity(self.terms, self.words)
        self.topic = {term.stem: term.place for term in reversed(self.terms) if term.kind in ("word", "name")}
        self.said = [term for term in self.terms if term.kind not in ("not", "axis")]
        self.given = {(term.kind, term.value) for term in self.terms}

    def compare(self, other: "Claim") -> str:
        """Why both contradict each other; "" when they do not."""
        if not (self.usable and other.usable) or self.past != other.past:
            return ""
        common = self.topic.keys() & other.topic.keys()
        if not _may_be_enough(self, other, common) or all(word.startswith("=") for word in common):
            return ""
        mine, theirs = _left(self, other, common), _left(other, self, common)
        if why := _other_value(self, other, mine, theirs, common):
            return why
        both_say_more = mine["word"] and theirs["word"]
        if both_say_more or not _enough(self, other, common, share=LEAST_SHARE_TO_DENY):
            return ""
        return OPPOSITE if _opposed(self, other) else ""


@lru_cache(maxsize=512)
def claim_of(text: str) -> Claim:
    """A statement taken apart."""
    return Claim(text)


def find(a: str, b: str) -> str:
    """Why two statements contradict each other (`another number`, ...); "" when they do not."""
    return claim_of(a).compare(claim_of(b))


class TopicWords(PieceWords):
    """The stems of words that may say what a text is about; each word is looked at once, whatever texts have it."""

    def words(self, piece: str) -> Iterable[str]:
        """Those of what stands between two blanks."""
        return filter(None, map(self.stem, _PLAIN.findall(piece)))

    def stem(self, word: str) -> str:
        """The stem of one word, or "" where it says nothing of that."""
        return topic_stem(word)


def topic_words(text: str) -> frozenset[str]:
    """The stems of the words of one statement that may say what it is about: faster than all of a claim."""
    return frozenset(TopicWords().of(text.split()))


@lru_cache(maxsize=8192)
def topic_stem(word: str) -> str:
    """The stem of a word, or "" where it says nothing about what a text is about."""
    word = _fold(word)
    return (
        ""
        if word in claim_words.SILENT
        or word in claim_words.NEGATION
        or word in claim_words.DAYS
        or word in claim_words.NUMBERS
        else stem(word)
    )


# --- comparing -------------------------------------------------------------------------------------------------------


def _left(claim: Claim, other: Claim, common: "set[str]") -> dict[str, list[ClaimTerm]]:
    """The terms of a claim that the other has not, in order: its numbers, its dates, and its words and names."""
    left: dict[str, list[ClaimTerm]] = {"number": [], "date": [], "word": []}
    for term in claim.said:
        if term.stem not in common and (term.kind, term.value) not in other.given:
            left["word" if term.kind == "name" else term.kind].append(term)
    return left


def _may_be_enough(a: Claim, b: Claim, common: "set[str]") -> bool:
    """Whether `_enough` can be true of any number of words that are said: most pairs are told apart here, at once."""
    least, most = sorted((len(a.topic), len(b.topic)))
    return len(common) >= max(1, LEAST_SHARE * (least - VALUE_WORDS), LEAST_OF_LONGER * (most - VALUE_WORDS))


def _enough(a: Claim, b: Claim, common: "set[str]", besides: int = 0, share: float = LEAST_SHARE) -> bool:
    """Whether the words that both share say that they are about the same; `besides`: so many are what is said of it."""
    least, most = len(a.topic) - besides, len(b.topic) - besides
    if most < least:
        least, most = most, least
    if least <= 1 and most > MOST_BESIDE_ONE:
        return False
    return len(common) >= max(1, share * least, LEAST_OF_LONGER * most)


def _opposed(a: Claim, b: Claim) -> bool:
    """Whether one denies what the other says: on an axis that both are on, or as a whole."""
    for axis in a.axes.keys() & b.axes.keys():
        return a.axes[axis] != b.axes[axis]
    if not a.axes and not b.axes:
        return a.denied != b.denied
    # "has to be" and "does not have to be": one of them says it by a denial alone.
    return a.denied != b.denied


def _other_value(
    a: Claim, b: Claim, mine: dict[str, list[ClaimTerm]], theirs: dict[str, list[ClaimTerm]], common: "set[str]"
) -> str:
    """What sort of value is another one in both; "" when none is, or when more than values differ."""
    if a.denied != b.denied:
        return ""
    for why, kind in ((NUMBER, "number"), (DATE, "date")):
        here, there = mine[kind], theirs[kind]
        if not here or not there:
            continue
        if (mine["word"] and theirs["word"]) or not _enough(a, b, common) or not _same_measure(here, there):
            return ""
        if (_stands_before(a, mine, common) and _stands_before(b, theirs, common)) or _is_label(
            a, b, here, there, common
        ):
            return ""
        return why
    both = mine["word"] and theirs["word"]
    runs = [_said(claim, some["word"]) for claim, some in ((a, mine), (b, theirs)) if both]
    if not both or not all(runs) or claim_words.SEVERAL.intersection((*a.words, *b.words)):
        return ""
    rests = [sum(map(len, some.values())) - len(run) for some, run in zip((mine, theirs), runs, strict=True)]
    if all(rests) or not _enough(a, b, common, max(map(len, runs))):
        return ""
    if all(any(term.is_name for term in run) for run in runs):
        return NAME
    return WORD if any(stem.startswith("=") for stem in common) and len(common) > 1 else ""


def _same_measure(here: Sequence[ClaimTerm], there: Sequence[ClaimTerm]) -> bool:
    return not {term.value[0] for term in here}.isdisjoint([term.value[0] for term in there])


def _stands_before(claim: Claim, left: dict[str, list[ClaimTerm]], common: "set[str]") -> bool:
    """Whether several values differ, the first of them before the topic: `in 2023 it was 5`, `in 2024 it was 8`."""
    numbers, dates = left["number"], left["date"]
    if len(numbers) + len(dates) < 2:
        return False
    return min(term.place for term in (*numbers[:1], *dates[:1])) <= min(claim.topic[stem] for stem in common)


def _is_label(a: Claim, b: Claim, here: Sequence[ClaimTerm], there: Sequence[ClaimTerm], common: "set[str]") -> bool:
    """Whether the number belongs to what both are about: `server 3 has ...`, not `3 servers` or `port 80`."""
    for claim, some in ((a, here), (b, there)):
        first, value = some[0].place, some[0].value
        before, behind = claim.words[max(0, first - 1)], claim.words[first + 1 : first + 2]
        if not (
            first and first <= MOST_BEFORE and stem(before) in common and value[0] == "" and some[0].folded.isdigit()
            and behind and claim_words.COUNTED.isdisjoint(behind)
        ):  # fmt: skip
            return False
    return True


def _said(claim: Claim, left: Sequence[ClaimTerm]) -> list[ClaimTerm]:
    """The words among these that are what is said of the topic: one behind the other, and introduced as that."""
    runs: list[list[ClaimTerm]] = []
    for term in left:
        if runs and term.place - runs[-1][-1].place <= 1:
            runs[-1].append(term)
        else:
            runs.append([term])
    for run in runs:
        first = run[0].place
        ahead = [word for word in claim.words[:first] if word not in claim_words.ARTICLES]
        behind = claim.words[run[-1].place + 1 : run[-1].place + 3]
        introduced = (
            (ahead[-1] in claim_words.INTRODUCES or ahead[-1] in (":", "="))
            if ahead
            else bool(claim_words.ROLES.intersection(behind))
        )
        if introduced and len(run) <= VALUE_WORDS:
            return run
    return []


# --- taking apart ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _fold(word: str) -> str:
    word = word.casefold().replace("\u2019", "'")
    return word if word.isascii() else "".join(
        char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char)
    )  # fmt: skip


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """What a word has in common with its other forms: retry, retries and retried are one."""
    if word in claim_words.FAMILIES:
        return claim_words.FAMILIES[word]
    if len(word) < 4 or not word.isalpha():
        return word
    short = word
    for _ in range(2):
        cut = _ENDINGS.sub("", short)
        if len(cut) < 3:
            break
        short = cut
    if len(short) > 3 and short[-1] == short[-2]:
        short = short[:-1]
    short = short[:-1] + "i" if short.endswith("y") else short
    return short[:6]


def _terms(pieces: Sequence[str], words: Sequence[str], *, german: bool) -> list[ClaimTerm]:
    out: list[ClaimTerm] = []
    begins = True
    at = 0
    while at < len(pieces):
        piece, word = pieces[at], words[at]
        if not (piece[0].isalnum() or "_" in piece):
            begins = begins or piece in ".!?"
            at += 1
            continue
        for part in _elided(word):
            found, used = _value(words, at, part)
            if found is not None:
                out.append(ClaimTerm(part, *found, part, at))
                at += used
                break
            if part in claim_words.NEGATION or part.endswith("n't"):
                out.append(ClaimTerm(part, "not", (), part, at))
            elif part in claim_words.AXES and part not in claim_words.WEAK:
                out.append(ClaimTerm(stem(part), "axis", claim_words.AXES[part], part, at))
            elif part not in claim_words.SILENT:
                plain = piece.isalpha() and piece.islower()
                is_name = not plain and (is_identifier(piece) or (piece[0].isupper() and not german))
                kind = "name" if is_name and not begins else "word"
                out.append(ClaimTerm(stem(part), kind, (stem(part),), part, at, is_name))
        begins = False
        at += 1
    return out


def _elided(word: str) -> list[str]:
    """The parts of a French word with an elision: l'acces, n'est."""
    head, sign, tail = word.partition("'")
    return [part for part in (head, tail) if part] if sign and len(head) <= 2 else [word]


def _value(words: Sequence[str], at: int, word: str) -> tuple[tuple[str, tuple[object, ...]] | None, int]:
    """The sort and value of a number or date that begins here, and how many further pieces belong to it."""
    if len(word) > MOST_DIGITS or (word.isalpha() and word not in _NAMED_VALUES and word[:-1] not in claim_words.DAYS):
        return None, 0
    behind = words[at + 1] if at + 1 < len(words) else ""
    if day := _day(word):
        return ("date", day), 0
    if word.rstrip("er").isdecimal() and (used := _month(words, at)):
        return used
    if found := _CLOCK.match(word):
        return ("date", ("clock", _clock(int(found[1]), int(found[2] or 0), behind))), 0
    number = float(claim_words.NUMBERS[word]) if word in claim_words.NUMBERS else None
    suffix = ""
    if found := _AMOUNT.match(word):
        number, suffix = float(found[1].replace(",", ".")), found[2]
    if number is None:
        return None, 0
    if behind in ("am", "pm", "uhr") or suffix in ("am", "pm"):
        return ("date", ("clock", _clock(int(number), 0, suffix or behind))), int(behind in ("am", "pm", "uhr"))
    unit = claim_words.UNITS.get(suffix or behind)
    if unit is not None:
        return ("number", (unit[0], number * unit[1])), int(not suffix)
    return ("number", ("", number)), 0


def _day(word: str) -> tuple[object, ...] | None:
    """The day that a word alone names: `friday`, `31.12.2026`, `2026-12-31`."""
    name = claim_words.DAYS.get(word) or claim_words.DAYS.get(word.removesuffix("s"))
    if name:
        return ("day", name)
    if found := _DMY.match(word):
        day, month, year = map(int, found.groups())
        return ("date", (year, month, day))
    if re.fullmatch(r"\d{4}-\d\d(-\d\d)?", word):
        return ("date", tuple(map(int, word.split("-"))))
    return None


def _month(words: Sequence[str], at: int) -> tuple[tuple[str, tuple[object, ...]], int] | None:
    """A date such as `1. März 2027` or `30 June 2026`."""
    next_ = at + 1 + (words[at + 1 : at + 2] == ["."])
    if next_ >= len(words) or words[next_] not in claim_words.MONTHS:
        return None
    day, month = int(words[at].rstrip("er")), claim_words.MONTHS[words[next_]]
    year = words[next_ + 1] if next_ + 1 < len(words) else ""
    if year.isdigit() and len(year) == 4:
        return ("date", ("date", (int(year), month, day))), next_ + 1 - at
    return ("date", ("date", (0, month, day))), next_ - at


def _clock(hours: int, minutes: int, half: str) -> tuple[int, int]:
    return (hours + 12 if half == "pm" and hours < 12 else hours), minutes


def _polarity(terms: Sequence[ClaimTerm], words: Sequence[str]) -> tuple[bool, dict[int, int]]:
    """Whether the main clause denies, and by axis the end that it is on."""
    stops = [at for at, word in enumerate(words) if word in (",", ";", ".", "(", "—")]
    if stops and words[stops[0]] == "," and words[0] in claim_words.FRONTS:
        del stops[0]
    end = stops[0] if stops and stops[0] >= 3 else len(words)
    split = {part for word in words[:end] for part in word.split("'")[:1]} & {"ne", "n"}
    denials = 0
    for term in terms:
        if term.kind == "not" and term.place < end:
            behind = words[term.place + 1 : term.place + 2]
            besides = claim_words.BESIDES.intersection((*words[max(0, term.place - 4) : term.place], *behind))
            depends = claim_words.DEPENDS.intersection(words[1 : term.place])
            denials += not (besides or depends)
    denials += bool(split) and "plus" in words[:end]
    denied = bool(denials) if split else denials % 2 == 1
    axes = {}
    for word in words[:end]:
        if word in claim_words.AXES:
            axis, sign = claim_words.AXES[word]
            if word not in claim_words.WEAK or axis not in axes:
                axes[axis] = -sign if denied and word not in claim_words.NEGATION else sign
    return denied, axes


#: What is said of two statements.
SAME = "nearly the same words"

#: Only so many words of a statement are compared.
MOST_REPEATED = 120
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


def find_repeat(new: str, old: str) -> str:
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
    words = ((word.strip(_AROUND) or word).casefold() for word in text.split()[:MOST_REPEATED])
    return tuple(word for word in words if word not in _SILENT)


def _values(text: str) -> set[tuple[str, object]]:
    """What of a statement another one must say, too, to say the same."""
    return {(term.kind, term.value) for term in claim_of(text).terms if term.kind != "word"}
