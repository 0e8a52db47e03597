"""Times as people write them: dates, date-times, and how long ago. All of them are UTC unless they say otherwise.

What is named is meant whole: `2026-11` the month, `2026-11-20` the day, `15:30` the minute, `15:30:26` the second. So
`--since` goes from its beginning, `--until` and `--as-of` to its end.
"""

import re
from datetime import datetime, timedelta, timezone
from functools import cache

#: The shape of every time we write ourselves; two of them compare as texts.
SHAPE = "%Y-%m-%dT%H:%M:%S.%f+00:00"
_TICK = timedelta(microseconds=1)
_UNITS = {
    "s": "seconds", "sec": "seconds", "second": "seconds", "min": "minutes", "minute": "minutes", "h": "hours",
    "hour": "hours", "d": "days", "day": "days", "w": "weeks", "week": "weeks",
}  # fmt: skip
_MONTHS = {"mo": 1, "month": 1, "y": 12, "year": 12}


def span(text: str, now: float) -> tuple[str, str]:
    """The first and the last moment that a time means, both in the shape of `ids.timestamp`; `now` in seconds.

    Raises ValueError when it means none.
    """
    first, last = _span(" ".join(text.split()).lower(), datetime.fromtimestamp(now, timezone.utc))
    return shaped(first), shaped(last)


def shaped(moment: datetime) -> str:
    """A moment as `ids.timestamp` writes it. Raises ValueError for years before 1, which only other zones have."""
    try:
        utc = moment.astimezone(timezone.utc)
    except OverflowError as exc:
        raise ValueError(str(exc)) from None
    return f"{utc.year:04d}-{utc:%m-%dT%H:%M:%S}.{utc.microsecond:06d}+00:00"


def canonical(text: str) -> str:
    """A stored time in the one shape that compares; another program's text that is no time comes back as it is."""
    try:
        found = _stamp().fullmatch(text.strip().lower())
        return text if found is None else shaped(_moment(found)[0])
    except ValueError:
        return text


def _span(text: str, now: datetime) -> tuple[datetime, datetime]:
    if text == "now":
        return now, now
    if text in ("today", "yesterday"):
        day = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=text == "yesterday")
        return day, day + timedelta(days=1) - _TICK
    try:
        ago = _ago().fullmatch(text)
        if ago is not None:
            then = _before(now, int(ago[1]), ago[2])
            return then, then
        if text.startswith("@") and text[1:].isascii() and text[1:].isdigit():
            then = datetime.fromtimestamp(int(text[1:]), timezone.utc)
            return then, then
        found = _stamp().fullmatch(text)
        if found is None:
            raise ValueError("no time")
        first, unit = _moment(found)
        return first, _end(first, unit)
    except (OverflowError, OSError) as exc:
        raise ValueError(str(exc)) from None


def _before(now: datetime, count: int, unit: str) -> datetime:
    unit = unit if unit in ("s", "d", "h", "w", "y") else unit.removesuffix("s")
    if unit in _UNITS:
        return now - timedelta(**{_UNITS[unit]: count})
    months = now.year * 12 + now.month - 1 - count * _MONTHS[unit]
    year, month = divmod(months, 12)
    first = datetime(year, month + 1, 1, tzinfo=timezone.utc)
    return now.replace(year=year, month=month + 1, day=min(now.day, _end(first, "month").day))


def _moment(found: "re.Match[str]") -> tuple[datetime, str]:
    """The first moment of a written time, and the smallest unit that it names."""
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    unit = "fraction" if fraction else "second" if second else "minute" if hour else "day" if day else "month"
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    date = int(year), int(month or 1), int(day or 1)
    moment = datetime(*date, int(hour or 0), int(minute or 0), int(second or 0), micros, tzinfo=_zone(zone))
    return moment, unit if month else "year"


def _zone(text: str | None) -> timezone:
    if text is None or text == "z":
        return timezone.utc
    digits = text[1:].replace(":", "").ljust(4, "0")
    away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-away if text[0] == "-" else away)


def _end(first: datetime, unit: str) -> datetime:
    if unit == "fraction":
        return first
    try:
        return _after(first, unit) - _TICK
    except (OverflowError, ValueError):  # the last year there is
        return datetime.max.replace(tzinfo=first.tzinfo)


def _after(first: datetime, unit: str) -> datetime:
    if unit == "year":
        return first.replace(year=first.year + 1)
    if unit == "month":
        return first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return first + timedelta(**{f"{unit}s": 1})


@cache
def _stamp() -> "re.Pattern[str]":
    return re.compile(
        r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?[ ]?"
        r"(z|[+-]\d\d(?::?\d\d)?)?)?)?)?",
        re.ASCII,
    )


@cache
def _ago() -> "re.Pattern[str]":
    units = "|".join([*(f"{u}s?" if len(u) > 1 else u for u in (*_UNITS, *_MONTHS))])
    return re.compile(rf"(\d{{1,9}}) ?({units})(?: ago)?", re.ASCII)
