"""One line of an export: an item as JSON, with where it stands in its source, why it is withheld, how much it matters.

Reading is strict. A wrong value is an InvalidLine that names the field, what was expected, and what kind of value there
was (never the value itself: it may be a secret in the wrong place); nothing that another command could stumble over
gets into an item.
"""

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from memctl.names import TIERS, VALIDATIONS
from memctl.store.documents.passages import SourcePosition
from memctl.text import jsons
from memctl.types import MemoryItem, MemoryProvenance

_ID_CHARS = 200
_MOST = 2**63 - 1  # what an SQLite integer holds


class InvalidLine(ValueError):
    """Why a line is no item: one sentence."""


class Record(NamedTuple):
    """An item as a line gave it. `given_id` is the line's own id, "" when it had none; `importance` None: not said."""

    item: MemoryItem
    given_id: str = ""
    place: SourcePosition | None = None
    withheld: str = ""
    importance: float | None = None


def to_dict(
    item: MemoryItem, place: SourcePosition | None = None, withheld: str = "", importance: float | None = None
) -> dict[str, Any]:
    """The line for an item: its 22 fields, then `source`, `withheld` and `importance` where something is to be said."""
    line = item.to_dict()
    if place is not None:
        lines = None if place.line_start is None else [place.line_start, place.line_end]
        line["source"] = {"position": place.position, "lines": lines, "anchor": place.anchor}
    if withheld and not item.injectable:
        line["withheld"] = withheld
    if importance is not None:
        line["importance"] = importance
    return line


def from_bytes(data: bytes) -> Record:
    """The item of one line. Raises InvalidLine."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidLine(f"Malformed: not UTF-8 (byte 0x{data[exc.start]:02x} at place {exc.start + 1})") from None
    try:
        value, end = jsons.read(text, jsons.after_blanks(text))
    except ValueError as exc:
        raise InvalidLine(f"Malformed JSON: {getattr(exc, 'msg', exc)} (at character {_place(exc)})") from None
    if text[end:].strip():
        raise InvalidLine(f"Malformed JSON: something follows the value (at character {end + 1})")
    return from_value(value)


def _place(exc: ValueError) -> int:
    place: int = getattr(exc, "pos", 0)
    return place + 1


def from_value(value: object) -> Record:
    """The item of a line that is parsed already; keys that no item has are passed over. Raises InvalidLine."""
    if not isinstance(value, dict):
        raise InvalidLine(f"expected an object, got {jsons.kind_of(value)}")
    if "content" not in value:
        raise InvalidLine("content is missing")
    fields = {name: _checked(name, check, value[name]) for name, check in _FIELDS.items() if name in value}
    given_id = fields.pop("id", None) or ""
    withheld = _checked("withheld", _withheld, value.get("withheld"))
    place = _checked("source", _source, value.get("source"))
    importance = None if value.get("importance") is None else _checked("importance", _share, value["importance"])
    if withheld:
        fields["injectable"] = False
    item = MemoryItem(**fields) if not given_id else MemoryItem(id=given_id, **fields)
    return Record(item, given_id, place, withheld, importance)


class _Wrong(ValueError):
    def __init__(self, expected: str, value: object) -> None:
        super().__init__(f"expected {expected}, got {jsons.kind_of(value)}")


class _Nested(ValueError):
    """A wrong value inside an object; the message begins with its field."""


def _checked(name: str, check: Callable[[Any], Any], value: object) -> Any:
    try:
        return check(value)
    except _Nested as exc:
        raise InvalidLine(f"{name}.{exc}") from None
    except ValueError as exc:
        raise InvalidLine(f"{name}: {exc}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _Wrong("a string", value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no text") from None
    return value.replace("\0", "")


def _line(value: object) -> str:
    text = _text(value)
    return text if text.isprintable() else text.translate(_breaks())


@cache
def _breaks() -> dict[int, str]:
    """Control characters and line breaks, which would forge lines in what is printed."""
    return dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029), " ")


def _id(value: object) -> str:
    if value is None:
        return ""
    text = _line(value).strip()
    if not text or len(text) > _ID_CHARS:
        raise ValueError(f"expected 1 to {_ID_CHARS} characters, got {len(text)}")
    return text


def _or_none(check: Callable[[object], str]) -> Callable[[object], str | None]:
    return lambda value: None if value is None else check(value)


def _one_of(words: tuple[str, ...]) -> Callable[[object], str]:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise _Wrong(f"one of {', '.join(words)}", value)
        return value

    return check


def _withheld(value: object) -> str:
    return "" if value is None else _one_of(("raw", "policy"))(value)


def _words(value: object) -> list[str]:
    if not isinstance(value, list):
        raise _Wrong("a list of strings", value)
    for word in value:
        if not isinstance(word, str):
            raise _Wrong("a list of strings", word)
    return [_line(word) for word in value]


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _Wrong("a number from 0 to 1", value)
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise _Wrong("a whole number, 0 or more", value)
    return value


def _flag(value: object) -> bool:
    # Dumps of other programs have the 0 and 1 of the database.
    if not isinstance(value, bool) and value not in (0, 1):
        raise _Wrong("true or false", value)
    return bool(value)


def _time(value: object) -> str:
    text = _text(value)
    # What fromisoformat takes differs from one Python to the next; this does not.
    parts = _stamp().fullmatch(text)
    try:
        if parts is None:
            raise ValueError
        datetime.fromisoformat(parts[1])
    except ValueError:
        raise ValueError("expected a date such as 2026-11-20T15:50:26+00:00, got another string") from None
    return text


@cache
def _stamp() -> re.Pattern[str]:
    return re.compile(r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)


def _links(value: object) -> list[dict[str, str]]:
    if not isinstance(value, list):
        raise _Wrong("a list of objects", value)
    for link in value:
        if not isinstance(link, dict):
            raise _Wrong("a list of objects", link)
    return [{_line(key): _line(held) for key, held in link.items()} for link in value]


_PROVENANCE: dict[str, Callable[[Any], Any]] = {
    "source_kind": _line,
    "source_id": _line,
    "chunk_ids": _words,
    "content_hashes": _words,
    "created_at": _time,
}


def _provenance(value: object) -> MemoryProvenance:
    if not isinstance(value, dict):
        raise _Wrong("an object", value)
    try:
        return MemoryProvenance(**{n: _checked(n, c, value[n]) for n, c in _PROVENANCE.items() if n in value})
    except InvalidLine as exc:
        raise _Nested(str(exc)) from None


def _source(value: object) -> SourcePosition | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _Wrong("an object", value)
    try:
        position = _checked("position", lambda v: None if v is None else _count(v), value.get("position"))
        start, end = _checked("lines", _span, value.get("lines"))
        return SourcePosition(position, start, end, _checked("anchor", _line, value.get("anchor", "")))
    except InvalidLine as exc:
        raise _Nested(str(exc)) from None


def _span(value: object) -> tuple[int | None, int | None]:
    if value is None:
        return None, None
    if not isinstance(value, list) or len(value) != 2:
        raise _Wrong("two line numbers", value)
    return _count(value[0]), _count(value[1])


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "id": _id,
    "tier": _one_of(TIERS),
    "type": _line,
    "title": _line,
    "content": _text,
    "tags": _words,
    "entities": _words,
    "links": _links,
    "provenance": _provenance,
    "confidence": _share,
    "validation": _one_of(VALIDATIONS),
    "scope": _line,
    "expires_at": _or_none(_time),
    "usage_count": _count,
    "last_used_at": _or_none(_time),
    "created_at": _time,
    "updated_at": _time,
    "rule_id": _or_none(_line),
    "corpus_id": _or_none(_line),
    "superseded_by": _or_none(_id),
    "archived": _flag,
    "injectable": _flag,
}
