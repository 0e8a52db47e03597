"""Items as JSON lines: a backup, or the way into another store. How they are exported, and how a line is read.

What another program keeps becomes such lines: its types, relations and times in our words. Reading is strict. A wrong
value is an InvalidLine that names the field, what was expected, and what kind of value there was (never the value
itself: it may be a secret in the wrong place); nothing that another command could stumble over gets into an item.
"""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from memctl import ids
from memctl.names import ITEM_TYPES, LINK_RELATIONS, TIERS, VALIDATIONS
from memctl.store.database import Database
from memctl.store.documents import passages
from memctl.store.documents.passages import SourcePosition
from memctl.store.filters import Filters, utc
from memctl.store.items import attributes, items
from memctl.store.quarantine import standings
from memctl.store.records import BY_NAME, KINDS, RecordKind, read_records
from memctl.text import jsons
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.policy.redaction import Redaction

#: What the first line of a complete export says: its form.
HEADER = {"record": "export", "version": 1}
#: A longer line is an error: nothing we write comes near, and a file without line ends must not fill the memory.
LINE_BYTES = 32 * 1024 * 1024
_BATCH = 500  # items that are in memory at once
_IN_MEMORY = 32 * 1024 * 1024  # bytes of judged lines that stay in memory until the last one is judged
_ID_CHARS = 200
_MAX_INTEGER = 2**63 - 1  # what an SQLite integer holds
_TIME = r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_RULE_ID = r"[a-z0-9][a-z0-9-]{0,63}"
#: Control characters and line breaks, which would forge lines in what is printed.
_BREAKS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029), " ")


T = TypeVar("T")


class InvalidLine(ValueError):
    """Why a line is no item: one sentence."""


class ItemLine(NamedTuple):
    """An item as a line gave it.

    given_id    the line's own id, "" when it had none
    withheld    why the item is not injectable: raw, policy, or "" where nobody says it
    held_by     the rules for which policy holds it back, where they are known
    importance  how much it matters; None: not said
    """

    item: MemoryItem
    given_id: str = ""
    place: SourcePosition | None = None
    withheld: str = ""
    importance: float | None = None
    held_by: tuple[str, ...] = ()


class RecordLine(NamedTuple):
    """What stands beside items, as a line gave it: a row of its kind's table, lists and objects as values."""

    kind: RecordKind
    row: list[object]


@contextmanager
def set_aside(batches: "Iterator[T]", is_little: Callable[[], bool]) -> "Iterator[Iterator[T]]":
    """The batches once more, when all of them are read and judged: nobody waits for the lock meanwhile.

    What is too much for memory lies in a file without a name.

    is_little  whether all that was read until now may stay as it is: to pack and unpack it takes time
    """
    import pickle
    from tempfile import SpooledTemporaryFile

    kept = list[T]()
    with SpooledTemporaryFile(_IN_MEMORY) as aside:
        count = 0
        for read in batches:
            if not count and is_little():
                kept.append(read)
            else:
                pickle.dump(read, aside)
                count += 1
        aside.seek(0)
        packed = (pickle.load(aside) for _ in range(count))  # noqa: S301 - what was written just now
        yield chain(kept, packed)


# --- writing ---------------------------------------------------------------------------------------------------------


def export_lines(
    db: Database, filters: Filters, redaction: "Redaction | None" = None, since: str = "", *, complete: bool = False
) -> Generator[dict[str, Any], None, None]:
    """The line of each item that passes the filters, newest change first (ties by id), all from one moment.

    redaction  the view in which each field leaves; None is as it is stored
    since      only items changed at this moment or later (in the shape of `ids.timestamp`)
    complete   the header first, and behind the items what stands beside them
    """
    with nullcontext() if db.conn.in_transaction else db.snapshot():  # one moment for all batches
        if complete:
            yield dict(HEADER)
        found = items.iterate(db, filters)
        if since:
            found = (item for item in found if utc(item.updated_at) >= since)
        while batch := list(islice(found, _BATCH)):
            ids = [item.id for item in batch]
            places, matter = passages.get_positions(db, ids), attributes.get_importance(db, ids)
            reasons, held = items.withheld_reasons(db, ids), standings(db, [i for i in batch if not i.injectable])
            for item in batch:
                rules = held[item.id].rules if item.id in held else ()
                line = make_line(item, places.get(item.id), reasons.get(item.id, ""), matter.get(item.id), rules)
                yield line if redaction is None else redaction.record(line)
        for record in (record for kind in KINDS if complete for record in read_records(db, kind, since)):
            if redaction is None:
                yield record
                continue
            state = record.get("snapshot")  # an item as it was
            shown = {"snapshot": redaction.record(state)} if isinstance(state, dict) else {}
            yield redaction.record({key: value for key, value in record.items() if key not in shown}) | shown


def make_line(
    item: MemoryItem,
    place: SourcePosition | None = None,
    withheld: str = "",
    importance: float | None = None,
    held_by: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The line for an item: its 22 fields, then what is to be said besides.

    `source` for a passage (its position, lines and anchor there), `withheld` ("raw" or "policy") for an item that is
    not injectable for a known reason, `held_by` for the rules, where they are known, and `importance` where somebody
    said it.
    """
    line = item.to_dict()
    if place is not None:
        lines = None if place.line_start is None else [place.line_start, place.line_end]
        line["source"] = {"position": place.position, "lines": lines, "anchor": place.anchor}
    if withheld and not item.injectable:
        line["withheld"] = withheld
        if held_by:
            line["held_by"] = list(held_by)
    if importance is not None:
        line["importance"] = importance
    return line


# --- reading ---------------------------------------------------------------------------------------------------------


def number_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Each line that is not blank with its 1-based number; None for one that is too long. A BOM is passed over."""
    number = 0
    while data := stream.readline(LINE_BYTES + 1):
        number += 1
        long = len(data) > LINE_BYTES
        while long and not data.endswith(b"\n"):
            data = stream.readline(LINE_BYTES)
            if not data:
                break
        if number == 1 and not long:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if long:
            yield number, None
        elif data.strip():
            yield number, data.rstrip(b"\r\n")


def parse_line(data: bytes) -> Any:
    """The JSON value of one line. Raises InvalidLine."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidLine(f"Malformed: not UTF-8 (byte 0x{data[exc.start]:02x} at place {exc.start + 1})") from None
    try:
        value, end = jsons.read(text, jsons.after_blanks(text))
    except ValueError as exc:
        place = getattr(exc, "pos", 0) + 1
        raise InvalidLine(f"Malformed JSON: {getattr(exc, 'msg', exc)} (at character {place})") from None
    if text[end:].strip():
        raise InvalidLine(f"Malformed JSON: something follows the value (at character {end + 1})")
    return value


def read_item(value: object) -> ItemLine:
    """The item of a line that is parsed already; keys that no item has are passed over. Raises InvalidLine."""
    if not isinstance(value, dict):
        raise InvalidLine(f"expected an object, got {jsons.kind_of(value)}")
    if "content" not in value:
        raise InvalidLine("content is missing")
    fields, more = _check_fields(value, _FIELDS), _check_fields(value, _MORE)
    given_id, withheld = fields.pop("id", None) or "", more.get("withheld") or ""
    if withheld:
        fields["injectable"] = False
    item = MemoryItem(id=given_id, **fields) if given_id else MemoryItem(**fields)
    rules = (more.get("held_by") or ()) if withheld == "policy" else ()
    held_by = tuple(word for word in rules if re.fullmatch(_RULE_ID, word, re.ASCII))
    return ItemLine(item, given_id, more.get("source"), withheld, more.get("importance"), held_by)


def read_record(value: dict[str, Any]) -> RecordLine:
    """The record of a line that is parsed already; keys that it has not are passed over. Raises InvalidLine."""
    kind = BY_NAME.get(str(value["record"]))
    if kind is None:
        raise InvalidLine("this memctl knows no such record")
    row: list[object] = []
    for column, holds in kind.columns.items():
        name = kind.field(column)
        given = value.get(name)
        if given is None and not holds.endswith("?"):
            raise InvalidLine(f"{kind.name}.{name} is missing")
        try:
            row.append(None if given is None else _HOLDS[holds.rstrip("?")](given))
        except ValueError as exc:
            raise InvalidLine(f"{kind.name}.{name}: {exc}") from None
    return RecordLine(kind, row)


class _UnexpectedValue(ValueError):
    def __init__(self, expected: str, value: object) -> None:
        super().__init__(f"expected {expected}, got {jsons.kind_of(value)}")


def _check_fields(value: object, checks: Mapping[str, "_Check"], within: str = "") -> dict[str, Any]:
    """Those fields of an object that there are checks for, as these return them. Raises InvalidLine."""
    if not isinstance(value, dict):
        raise _UnexpectedValue("an object", value)
    out: dict[str, Any] = {}
    for name, check in checks.items():
        if name not in value:
            continue
        given = value[name]
        try:
            if given is None and name in _NULLABLE:
                out[name] = None
            elif not isinstance(check, tuple):
                out[name] = check(given)
            elif isinstance(given, str) and given in check:
                out[name] = given
            else:
                raise _UnexpectedValue(f"one of {', '.join(check)}", given)
        except InvalidLine:  # of an object in the object
            raise
        except ValueError as exc:
            raise InvalidLine(f"{within}{name}: {exc}") from None
    return out


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _UnexpectedValue("a string", value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no text") from None
    return value.replace("\0", "")


def _line(value: object) -> str:
    text = _text(value)
    return text if text.isprintable() else text.translate(_BREAKS)


def _id(value: object) -> str:
    text = _line(value).strip()
    if not text or len(text) > _ID_CHARS:
        raise ValueError(f"expected 1 to {_ID_CHARS} characters, got {len(text)}")
    return text


def _time(value: object) -> str:
    text = _text(value)
    # What fromisoformat takes differs from one Python to the next; this does not.
    parts = re.fullmatch(_TIME, text, re.ASCII)
    try:
        if parts is None:
            raise ValueError
        datetime.fromisoformat(parts[1])
    except ValueError:
        raise ValueError("expected a date such as 2026-11-20T15:50:26+00:00, got another string") from None
    return text


def _words(value: object) -> list[str]:
    if not isinstance(value, list):
        raise _UnexpectedValue("a list of strings", value)
    for word in value:
        if not isinstance(word, str):
            raise _UnexpectedValue("a list of strings", word)
    return [_line(word) for word in value]


def _links(value: object) -> list[dict[str, str]]:
    if not isinstance(value, list):
        raise _UnexpectedValue("a list of objects", value)
    for link in value:
        if not isinstance(link, dict):
            raise _UnexpectedValue("a list of objects", link)
    return [{_line(key): _line(word) for key, word in link.items()} for link in value]


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _UnexpectedValue("a number from 0 to 1", value)
    return float(value)


def _retention(value: object) -> str:
    if value not in ("keep", "fade"):
        raise _UnexpectedValue("keep or fade", value)
    return str(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_INTEGER:
        raise _UnexpectedValue("a whole number, 0 or more", value)
    return value


def _flag(value: object) -> bool:
    # Dumps of other programs have the 0 and 1 of the database.
    if not isinstance(value, bool) and value not in (0, 1):
        raise _UnexpectedValue("true or false", value)
    return bool(value)


def _any(value: object) -> object:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")  # 1e400 would come out as Infinity
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no text") from None
    return value


def _position(value: object) -> SourcePosition:
    place = _check_fields(value, _POSITION, "source.")
    start, end = place.get("lines") or (None, None)
    return SourcePosition(place.get("position"), start, end, place.get("anchor", ""))


def _span(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise _UnexpectedValue("two line numbers", value)
    return _count(value[0]), _count(value[1])


#: What checks a field: a function that gives the value back, or the words that it may be.
_Check = Callable[[Any], Any] | tuple[str, ...]
_NULLABLE = frozenset((
    "id", "expires_at", "last_used_at", "rule_id", "corpus_id", "superseded_by", "position", "lines", "withheld",
    "source", "importance", "held_by",
))  # fmt: skip
_PROVENANCE: dict[str, _Check] = {
    "source_kind": _line, "source_id": _line, "chunk_ids": _words, "content_hashes": _words, "created_at": _time,
}  # fmt: skip
_POSITION: dict[str, _Check] = {"position": _count, "lines": _span, "anchor": _line}
_FIELDS: dict[str, _Check] = {
    "id": _id,
    "tier": TIERS,
    "type": _line,
    "title": _line,
    "content": _text,
    "tags": _words,
    "entities": _words,
    "links": _links,
    "provenance": lambda value: MemoryProvenance(**_check_fields(value, _PROVENANCE, "provenance.")),
    "confidence": _share,
    "validation": VALIDATIONS,
    "scope": _line,
    "expires_at": _time,
    "usage_count": _count,
    "last_used_at": _time,
    "created_at": _time,
    "updated_at": _time,
    "rule_id": _line,
    "corpus_id": _line,
    "superseded_by": _id,
    "archived": _flag,
    "injectable": _flag,
}
#: What an export says besides.
_MORE: dict[str, _Check] = {
    "withheld": ("raw", "policy"), "source": _position, "importance": _share, "held_by": _words,
}  # fmt: skip
#: What checks the cells of a record.
_HOLDS: dict[str, Callable[[Any], Any]] = {
    "id": _id, "ids": _words, "line": _line, "text": _text, "count": _count, "json": _any,
    "share": _share, "retention": _retention,
}  # fmt: skip


#: Other programs' words for our types.
_TYPES = {
    "preference": "constraint", "procedure": "pattern", "gotcha": "pattern", "technique": "pattern",
    "method": "pattern", "rule": "constraint", "requirement": "constraint", "process": "pattern", "task": "todo",
    "feedback": "constraint", "user": "fact", "project": "fact", "reference": "pointer",
}  # fmt: skip
_RELATION_WORDS = {"replaces": "supersedes", "strengthens": "supports", "consolidated_from": "derived_from"}


def statement(given_id: str, content: str, program: str, source: str, **fields: Any) -> dict[str, Any]:
    """The line of a statement that another program's model has written."""
    provenance = {"source_kind": "chat", "source_id": f"{program}:{source}", "chunk_ids": [f"model:{program}"]}
    return {"id": given_id or None, "content": content, "provenance": provenance} | {
        name: value for name, value in fields.items() if value is not None
    }


def type_of(*words: object) -> str:
    """The first of these words that means a type of ours."""
    for word in words:
        text = str(word).strip().lower()
        if text in ITEM_TYPES or text in _TYPES:
            return _TYPES.get(text, text)
    return "note"


def link(src: str, dst: str, relation: object) -> dict[str, Any]:
    """The record of a link, its relation in our words."""
    word = "_".join(str(relation).lower().replace("-", " ").split())
    word = _RELATION_WORDS.get(word, word)
    rel = word if word in LINK_RELATIONS else "related_to"
    return {"record": "link", "src_id": src, "dst_id": dst, "rel": rel, "created_at": ids.timestamp()}


def time_of(value: object) -> str | None:
    """Another program's time as an export has it; None where there is none."""
    from memctl.text.times import canonical

    found = canonical(value) if isinstance(value, str) else ""
    return found if found.endswith("+00:00") and "T" in found else None


def share_of(value: object) -> float | None:
    """A number as one from 0 to 1; None for anything else."""
    return min(1.0, max(0.0, float(value))) if isinstance(value, int | float) and not isinstance(value, bool) else None
