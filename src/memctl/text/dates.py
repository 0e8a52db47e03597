"""The times that a question names: `on 16 June, 2023`, `in July`, `le 3 novembre 2005`, `2023-06`, `in 2021`.

Days are counted, so that nothing of a calendar needs to be imported.
"""

from collections.abc import Iterator, Sequence

_FULL = (
    "january february march april may june july august september october november december",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
)
_SHORT = ("jan feb mar apr may jun jul aug sep oct nov dec", "janv févr mars avr mai juin juil août sept oct nov déc")
_MONTHS = {name: at for names in _FULL for at, name in enumerate(names.split(), 1)}
_ABBREVIATED = {name: at for names in _SHORT for at, name in enumerate(names.split(), 1) if name not in _MONTHS}
#: Month names that are words as well: like the abbreviations they need a number beside them, or a capital.
_WORDS = frozenset(("may", "march", "mars", "mai"))


class Span:
    """Days in a row, both ends counted from the same day; `yearly`: of whatever year."""

    __slots__ = ("first", "last", "yearly")

    def __init__(self, first: int, last: int, yearly: bool = False) -> None:
        self.first, self.last, self.yearly = first, last, yearly

    def apart(self, day: int) -> int:
        """How many days it is from here to a day; 0 inside."""
        if not self.yearly:
            return max(self.first - day, day - self.last, 0)
        return min(max(self.first + turn - day, day - self.last - turn, 0) for turn in self._turns(day))

    def _turns(self, day: int) -> tuple[int, ...]:
        years = 365.2425
        near = round((day - self.first) / years)
        return tuple(round(turn * years) for turn in (near - 1, near, near + 1))


def named(text: str) -> list[Span]:
    """The times that a text names."""
    words = [word for word in map(_bare, text.replace(",", " ").split()) if word]
    return list(_spans(words))


def day_of(stamp: str) -> int | None:
    """The day of a stored time, `2023-06-16T…`; None when it is none."""
    year, month, day = stamp[:4], stamp[5:7], stamp[8:10]
    if not (year + month + day).isdigit() or len(stamp) < 10:
        return None
    return _count(int(year), int(month), int(day))


def _spans(words: Sequence[str]) -> Iterator[Span]:
    used: set[int] = set()
    for at, word in enumerate(words):
        month = _MONTHS.get(word.lower()) or _ABBREVIATED.get(word.lower())
        if month:
            yield from _of_month(words, at, month, used)
    for at, word in enumerate(words):
        year, *rest = word.split("-")
        if at in used or not _year(year) or not all(len(part) == 2 and part.isdecimal() for part in rest):
            continue
        if not rest:
            yield Span(_count(int(word), 1, 1), _count(int(word), 12, 31))
        elif len(rest) < 3 and 0 < int(rest[0]) < 13 and int(rest[-1]) < 32:
            yield _span(int(year), *map(int, rest))


def _of_month(words: Sequence[str], at: int, month: int, used: set[int]) -> Iterator[Span]:
    """The month, with a day before or after it, and a year after."""
    after = at + 1
    day = _day(words[at - 1]) if at else 0
    if not day and after < len(words):
        day = _day(words[after])
        after += bool(day)
    year = next((int(word) for word in words[after : after + 1] if _year(word)), 0)
    if not (day or year) and not _is_month(words[at], first=not at):
        return
    if year:
        used.add(after)
    else:  # often it is said once, at the end: between August 11 and August 15 2023
        year = next((int(word) for word in words[after:] if _year(word)), 0)
    yield _span(year, month, day)


def _is_month(word: str, *, first: bool) -> bool:
    """Whether a word is a month by itself: `may` is not, and no `May` that begins a sentence."""
    low = word.lower()
    return low in _MONTHS and (low not in _WORDS or (word != low and not first))


def _span(year: int, month: int, day: int = 0) -> Span:
    yearly = not year
    year = year or 2001
    first = _count(year, month, day or 1)
    last = first if day else _count(year + month // 12, month % 12 + 1, 1) - 1
    return Span(first, last, yearly)


def _bare(word: str) -> str:
    word = word.strip(".?!:;()[]{}'\"«»“”\u2019")
    return word[2:] if word[1:2] in ("'", "\u2019") else word  # d'août


def _day(word: str) -> int:
    """The day of a month: 3, 3rd, 1er; 0 for what is none."""
    digits = "".join(char for char in word[:2] if char.isdigit())
    if word.lower() not in {digits + ending for ending in ("", "st", "nd", "rd", "th", "er", "re", "e")}:
        return 0
    return int(digits) if digits.isascii() and digits and int(digits) < 32 else 0


def _year(word: str) -> bool:
    return len(word) == 4 and word.isascii() and word.isdigit() and word[:2] in ("19", "20")


def _count(year: int, month: int, day: int) -> int:
    """Days since a day long ago (the proleptic Gregorian calendar)."""
    year -= month < 3
    era = (month + 9) % 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * era + 2) // 5 + day
