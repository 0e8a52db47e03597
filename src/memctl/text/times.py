"""Times as people write them: dates, date-times, how long ago, and the days that a question names.

All of them are UTC unless they say otherwise. What is named is meant whole: `2026-11` the month, `2026-11-20` the day,
`15:30` the minute, `15:30:26` the second. So `--since` goes from its beginning, `--until` and `--as-of` to its end.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

#: The shape of every time we write ourselves; two of them compare as texts.
SHAPE = "%Y-%m-%dT%H:%M:%S.%f+00:00"
_TICK = timedelta(microseconds=1)
_UNITS = {
    "s": "seconds", "sec": "seconds", "second": "seconds", "min": "minutes", "minute": "minutes", "h": "hours",
    "hour": "hours", "d": "days", "day": "days", "w": "weeks", "week": "weeks",
}  # fmt: skip
_IN_MONTHS = {"mo": 1, "month": 1, "y": 12, "year": 12}
_STAMP = (
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?[ ]?"
    r"(z|[+-]\d\d(?::?\d\d)?)?)?)?)?"
)

#: A time in that shape already, be it on a calendar or not.
_SHAPED = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\+00:00"


def span(text: str, now: float) -> tuple[str, str]:
    """The first and the last moment that a time means, both in the shape of `ids.timestamp`; `now` in seconds.

    Raises ValueError when it means none.
    """
    text, today = " ".join(text.split()).lower(), datetime.fromtimestamp(now, timezone.utc)
    units = "|".join(f"{unit}s?" if len(unit) > 1 else unit for unit in (*_UNITS, *_IN_MONTHS))
    ago = re.fullmatch(rf"(\d{{1,9}}) ?({units})(?: ago)?", text, re.ASCII)
    try:
        if text == "now":
            first = last = today
        elif text in ("today", "yesterday"):
            first = today.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=text == "yesterday")
            last = _end(first, "day")
        elif ago is not None:
            first = last = _before(today, int(ago[1]), ago[2])
        elif text.startswith("@") and text[1:].isascii() and text[1:].isdigit():
            first = last = datetime.fromtimestamp(int(text[1:]), timezone.utc)
        else:
            found = re.fullmatch(_STAMP, text, re.ASCII)
            if found is None:
                raise ValueError("no time")
            first, unit = _moment(found)
            last = _end(first, unit)
    except (OverflowError, OSError) as exc:
        raise ValueError(str(exc)) from None
    return shaped(first), shaped(last)


def deadline(text: str, now: float) -> str:
    """The last moment of a time to come: a date, or how long from now (`30d`, `in 2 weeks`), in the shape of `span`.

    Raises ValueError when it means none.
    """
    text = " ".join(text.split()).lower().removeprefix("in ")
    first, last = span(text, now)
    today = datetime.fromtimestamp(now, timezone.utc)
    if first == last and re.match(r"\d+ ?[a-z]", text, re.ASCII) and not text.endswith("ago"):
        try:
            return shaped(today + (today - datetime.strptime(first, SHAPE).replace(tzinfo=timezone.utc)))
        except OverflowError as exc:
            raise ValueError(str(exc)) from None
    return last


def shaped(moment: datetime) -> str:
    """A moment as `ids.timestamp` writes it. Raises ValueError for years before 1, which only other zones have."""
    try:
        utc = moment.astimezone(timezone.utc)
    except OverflowError as exc:
        raise ValueError(str(exc)) from None
    return f"{utc.year:04d}-{utc:%m-%dT%H:%M:%S}.{utc.microsecond:06d}+00:00"


def canonical(text: str) -> str:
    """A stored time in the one shape that compares; another program's text that is no time comes back as it is."""
    if re.fullmatch(_SHAPED, text):
        return text
    try:
        found = re.fullmatch(_STAMP, text.strip().lower(), re.ASCII)
        return text if found is None else shaped(_moment(found)[0])
    except ValueError:
        return text


def _before(now: datetime, count: int, unit: str) -> datetime:
    unit = unit if unit in ("s", "d", "h", "w", "y") else unit.removesuffix("s")
    if unit in _UNITS:
        return now - timedelta(**{_UNITS[unit]: count})
    months = now.year * 12 + now.month - 1 - count * _IN_MONTHS[unit]
    year, month = divmod(months, 12)
    first = datetime(year, month + 1, 1, tzinfo=timezone.utc)
    return now.replace(year=year, month=month + 1, day=min(now.day, _end(first, "month").day))


def _moment(found: "re.Match[str]") -> tuple[datetime, str]:
    """The first moment of a written time, and the smallest unit that it names."""
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    unit = "fraction" if fraction else "second" if second else "minute" if hour else "day" if day else "month"
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    date = int(year), int(month or 1), int(day or 1)
    offset = timezone.utc
    if zone and zone != "z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        offset = timezone(-away if zone[0] == "-" else away)
    moment = datetime(*date, int(hour or 0), int(minute or 0), int(second or 0), micros, tzinfo=offset)
    return moment, unit if month else "year"


def _end(first: datetime, unit: str) -> datetime:
    """The last moment of the unit that begins at `first`."""
    if unit == "fraction":
        return first
    try:
        if unit == "year":
            after = first.replace(year=first.year + 1)
        elif unit == "month":
            after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
        else:
            after = first + timedelta(**{f"{unit}s": 1})
        return after - _TICK
    except (OverflowError, ValueError):  # the last year there is
        return datetime.max.replace(tzinfo=first.tzinfo)


# --- the times that a question names; days are counted, so that their distances are differences -----------------------

_MONTH_NAMES = (
    "january february march april may june july august september october november december",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
)
_SHORT_NAMES = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "janv févr mars avr mai juin juil août sept oct nov déc",
)
_MONTH_NUMBERS = {name: at for names in _MONTH_NAMES for at, name in enumerate(names.split(), 1)}
_ABBREVIATED = {
    name: at for names in _SHORT_NAMES for at, name in enumerate(names.split(), 1) if name not in _MONTH_NUMBERS
}
#: Month names that are words as well: like the abbreviations they need a number beside them, or a capital.
_AMBIGUOUS = frozenset(("may", "march", "mars", "mai"))
#: The mean length of a year, in days.
_YEAR = 365.2425


class Days:
    """The day, the month or the year that is named, as days in a row, both ends counted from the same day.

    `yearly`: of whatever year, which is 0 then; without a day the whole month, without a month the whole year.
    """

    __slots__ = ("first", "last", "yearly")

    def __init__(self, year: int, month: int = 0, day: int = 0) -> None:
        self.yearly = not year
        year = year or 2001
        self.first = _count(year, month or 1, day or 1)
        after = (year + month // 12, month % 12 + 1) if month else (year + 1, 1)
        self.last = self.first if day else _count(*after, 1) - 1

    def apart(self, day: int) -> int:
        """How many days it is from here to a day; 0 inside."""
        near = round((day - self.first) / _YEAR)
        turns = [round(years * _YEAR) for years in (near - 1, near, near + 1)] if self.yearly else [0]
        return min(max(self.first + turn - day, day - self.last - turn, 0) for turn in turns)


def named_days(text: str) -> list[Days]:
    """The days, months and years that a text names: `on 16 June, 2023`, `le 3 novembre 2005`, `2023-06`, `in 2021`."""
    bare = (word.strip(".?!:;()[]{}'\"«»“”\u2019") for word in text.replace(",", " ").split())
    # Without the article of d'août.
    words = [word for word in (word[2:] if word[1:2] in ("'", "\u2019") else word for word in bare) if word]
    out: list[Days] = []
    used: set[int] = set()
    for at, word in enumerate(words):
        month = _MONTH_NUMBERS.get(word.lower()) or _ABBREVIATED.get(word.lower())
        out += _days_of_month(words, at, month, used) if month else ()
    for at, word in enumerate(words):
        year, *rest = word.split("-")
        if at in used or not _is_year(year) or not all(len(part) == 2 and part.isdecimal() for part in rest):
            continue
        if not rest:
            out.append(Days(int(word)))
        elif len(rest) < 3 and 0 < int(rest[0]) < 13 and int(rest[-1]) < 32:
            out.append(Days(int(year), *map(int, rest)))
    return out


def day_of(stamp: str) -> int | None:
    """The day of a stored time, `2023-06-16T…`; None when it is none."""
    year, month, day = stamp[:4], stamp[5:7], stamp[8:10]
    if not (year + month + day).isdigit() or len(stamp) < 10:
        return None
    return _count(int(year), int(month), int(day))


def _days_of_month(words: Sequence[str], at: int, month: int, used: set[int]) -> list[Days]:
    """The month, with a day before or after it, and a year after, which is noted in `used`.

    A month that is a word as well stands for itself only with a capital: `may` does not, and no `May` that begins a
    sentence.
    """
    low = words[at].lower()
    after = at + 1
    day = _day_number(words[at - 1]) if at else 0
    if not day and after < len(words):
        day = _day_number(words[after])
        after += bool(day)
    year = next((int(word) for word in words[after : after + 1] if _is_year(word)), 0)
    alone = low in _MONTH_NUMBERS and (low not in _AMBIGUOUS or (words[at] != low and at > 0))
    if not (day or year or alone):
        return []
    if year:
        used.add(after)
    else:  # often it is said once, at the end: between August 11 and August 15 2023
        year = next((int(word) for word in words[after:] if _is_year(word)), 0)
    return [Days(year, month, day)]


def _day_number(word: str) -> int:
    """The day of a month: 3, 3rd, 1er; 0 for what is none."""
    digits = "".join(char for char in word[:2] if char.isdigit())
    if word.lower() not in {digits + ending for ending in ("", "st", "nd", "rd", "th", "er", "re", "e")}:
        return 0
    return int(digits) if digits.isascii() and digits and int(digits) < 32 else 0


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isascii() and word.isdigit() and word[:2] in ("19", "20")


def _count(year: int, month: int, day: int) -> int:
    """Days since a day long ago (the proleptic Gregorian calendar)."""
    year -= month < 3
    era = (month + 9) % 12
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * era + 2) // 5 + day
