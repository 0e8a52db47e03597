"""Segments: what a log is made of. A log belongs to one remote scope and one replica, and only grows at its end.

A segment is compressed JSON of at most 1000 records. Its name says its numbers and its hash, which covers what came
before it: who has read a log knows when somebody has changed or cut what he read.
"""

import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.names import TIERS, VALIDATIONS
from memctl.remote import merge
from memctl.remote.sealing import RemoteSeal, SealProblem
from memctl.text import clean

if TYPE_CHECKING:
    from memctl.store.remotes import KnownLog

#: Records and bytes of a segment at most; inflated ones as many times more.
MOST_RECORDS, MOST_BYTES, MOST_INFLATED = 1000, 4 << 20, 32 << 20
#: Characters of one record.
_MOST_RECORD = 1 << 20
#: How far ahead of this machine's clock others may be, in microseconds: a day.
MOST_AHEAD = 86_400_000_000
_NAME = re.compile(r"([0-9]{8})-([0-9]{8})-([0-9a-f]{64})", re.ASCII)
_STAMP = re.compile(r"[0-9]{16}\.[0-9a-f]{12}", re.ASCII)
_REPLICA = re.compile(r"[0-9a-f]{12}", re.ASCII)
_KEY = re.compile(r"[0-9a-f]{32}", re.ASCII)
#: What no store can write: half a character.
_LONE = re.compile("[\ud800-\udfff]")
#: What a rule is called, and the signs that a time has.
_RULE = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,79}", re.ASCII)
_TIME = re.compile(r"[0-9TtZz:.+ -]{1,40}", re.ASCII)
#: Characters of a word, and of the name of who writes a log.
_WORD, _AUTHOR = 2000, 80
#: How many places of its source an item has.
MOST_REFERENCES = 100
#: Bytes of segments that are held while it is found out who has signed them.
_AT_ONCE = 16 << 20
#: What is not sealed.
OPEN = RemoteSeal()


class SegmentProblem(ValueError):
    """A segment that cannot be used; its text says why."""


class SegmentName(NamedTuple):
    """A segment's numbers, from the first that it covers to its own, and its hash."""

    first: int
    last: int
    hash: str

    def __str__(self) -> str:
        return f"{self.first:08d}-{self.last:08d}-{self.hash}"


class Segment(NamedTuple):
    """A segment that was read: who wrote it, as he calls himself, its records, how many of them are none, and the bytes
    of it all when it is inflated.

    Where only the segments of some are read, `who` is the one who signed it.
    """

    who: str
    records: list[tuple[str, merge.State]]
    broken: int
    size: int


def parse_name(text: str) -> SegmentName | None:
    """The name of a segment; None for any other file, such as a copy that a sync program has made of one."""
    found = _NAME.fullmatch(text)
    if found is None or not 0 < int(found[1]) <= int(found[2]):
        return None
    return SegmentName(int(found[1]), int(found[2]), found[3])


def is_replica(text: str) -> bool:
    """Whether a word can name a replica."""
    return _REPLICA.fullmatch(text) is not None


def pack(
    scope: str,
    replica: str,
    who: str,
    number: int,
    before: str,
    parts: Sequence[tuple[str, merge.State]],
    seal: "Callable[[str, bytes], bytes] | None" = None,
) -> Iterator[tuple[SegmentName, bytes]]:
    """Segments of these records, which come after the segment of this number and hash.

    A number of 0 with no hash begins a log. `seal` makes of each what leaves.
    """
    for some in _portions(parts):
        number += 1
        head = {"version": 1, "scope": scope, "replica": replica, "number": number, "before": before, "who": who}
        body = zlib.compress(f'{_dump(head)[:-1]},"records":[{",".join(some)}]}}'.encode())
        if seal is not None:
            body = seal(_place(scope, replica, number, before), body)
        name = SegmentName(number, number, _hash(before, body))
        before = name.hash
        yield name, body


def pack_all(
    scope: str,
    replica: str,
    who: str,
    number: int,
    parts: Sequence[tuple[str, merge.State]],
    seal: "Callable[[str, bytes], bytes] | None" = None,
) -> list[tuple[SegmentName, bytes]]:
    """The same as segments that stand for the whole log up to a number: what was before them may go."""
    made = list(pack(scope, replica, who, number, "", parts or [("", {})], seal))
    first, body = made[0]
    return [(first._replace(first=1), body), *made[1:]]


def _portions(parts: Sequence[tuple[str, merge.State]]) -> Iterator[list[str]]:
    """Records as JSON, in portions that keep the bounds."""
    some: list[str] = []
    size = 0
    for one in parts:
        text = _dump(one)
        if some and (len(some) == MOST_RECORDS or size + len(text) > MOST_BYTES):
            yield some
            some, size = [], 0
        some.append(text)
        size += len(text)
    if some:
        yield some


def _place(scope: str, replica: str, number: int, before: str) -> str:
    """Where a segment stands, as whoever signs it says."""
    return _dump([scope, replica, number, before])


def following(last: int, before: str, name: str, body: bytes) -> tuple[int, str] | None:
    """The number and hash of a log's end after this segment; None if it does not follow this end of it."""
    found = parse_name(name)
    if found is None or found.last <= last:
        return None
    is_whole = found.first < found.last
    if (not is_whole and found.last != last + 1) or _hash("" if is_whole else before, body) != found.hash:
        return None
    return found.last, found.hash


class _Link(NamedTuple):
    """A segment that its hash proves to be at this place of a log, and who has signed it."""

    name: SegmentName
    place: str
    body: bytes
    signer: str = ""


def read_log(
    names: Iterable[SegmentName], log: "KnownLog", read: "Callable[[SegmentName], bytes]", seal: RemoteSeal = OPEN
) -> Iterator[tuple[SegmentName, Segment]]:
    """What is new in a log, in order, up to what cannot be used. Raises SegmentProblem for that.

    log   what is known of it, and who writes it
    read  what gives the bytes of a segment
    """
    links = _links(names, log, read)
    for name, _, body, signer in _signed(links, log.who, seal) if seal.signers else links:
        try:
            yield name, _segment(seal.open(body), log, name.last, signer)
        except (SegmentProblem, SealProblem) as exc:
            raise SegmentProblem(f"segment {name.last} {exc}") from exc


def _links(names: Iterable[SegmentName], log: "KnownLog", read: "Callable[[SegmentName], bytes]") -> Iterator[_Link]:
    """What is new in a log, each as the hashes prove it. Raises SegmentProblem."""
    last, before, begins = log.last, log.hash, True
    for name in names:
        if name.last <= last:
            continue
        if begins and name.first < name.last:
            before = ""  # it stands for all before it
        elif name.last != last + 1:
            raise SegmentProblem(f"segment {last + 1} is missing")
        body = read(name)
        if len(body) > MOST_BYTES:
            raise SegmentProblem(f"segment {name.last} is larger than a segment may be")
        if _hash(before, body) != name.hash:
            raise SegmentProblem(
                f"segment {name.last} is not what its name says: it is damaged, half there, or does not follow what "
                "was read"
            )
        yield _Link(name, _place(log.scope, log.replica, name.last, before), body)
        last, before, begins = name.last, name.hash, False


def _signed(links: Iterator[_Link], who: str, seal: RemoteSeal) -> Iterator[_Link]:
    """These, up to the last that is signed by the one who signed the first: it vouches for those before it.

    Raises SegmentProblem for what follows. They are read a portion at a time, and where it ends is found by halves:
    thousands that a stranger appends cost one portion and a few calls of ssh-keygen.
    """
    more = True
    while more:
        found, problem, size = list[_Link](), None, 0
        try:
            while size < _AT_ONCE and (one := next(links, None)):
                found.append(one)
                size += len(one.body)
        except SegmentProblem as exc:
            problem = exc
        more = problem is None and size >= _AT_ONCE
        good = len(found)
        if found and not (who and _signer(found[-1], seal, who)):
            first = _signer(found[0], seal)
            if who not in ("", clean.one_line(first, _AUTHOR)):
                number = found[0].name.last
                raise SegmentProblem(f"segment {number} is signed by {first}, and not by {who} as those before")
            who = first
            if good > 1 and not _signer(found[-1], seal, who):
                good = bisect_left(found, 1, key=lambda one: not _signer(one, seal, who))
        yield from (one._replace(signer=who) for one in found[:good])
        if good < len(found):
            number, other = found[good].name.last, _signer(found[good], seal)
            raise SegmentProblem(f"segment {number} is signed by {other}, and not by {who} as those before")
        if problem is not None:
            raise problem


def _signer(one: _Link, seal: RemoteSeal, who: str = "") -> str:
    """Who has signed a segment; with `who`, "" if it was not he. Raises SegmentProblem without."""
    try:
        return seal.signer(one.place, one.body, who)
    except SealProblem as exc:
        if who:
            return ""
        raise SegmentProblem(f"segment {one.name.last} {exc}") from exc


def _segment(body: bytes, log: "KnownLog", number: int, signer: str) -> Segment:
    data, size, is_plain = _inflate(body)
    head = {"version": 1, "scope": log.scope, "replica": log.replica, "number": number}
    if any(data.get(key) != value for key, value in head.items()) or not isinstance(data.get("records"), list):
        raise SegmentProblem("is not of this log, or of a later version of memctl")
    given = data["records"]
    if len(given) > MOST_RECORDS:
        raise SegmentProblem("has more records than a segment may have")
    records = [record for one in given if (record := checked(one, is_plain=is_plain)) is not None]
    who = (signer or str(data.get("who") or "")).encode("utf-8", "replace").decode()
    return Segment(clean.one_line(who, _AUTHOR), records, len(given) - len(records) - given.count(["", {}]), size)


def _inflate(body: bytes) -> tuple[dict[str, Any], int, bool]:
    """What is in a segment, of how many bytes, and whether all of it is no larger than one record may be and is text
    that a store can write: then no record of it has to be looked at for that.
    """
    try:
        engine = zlib.decompressobj()
        raw = engine.decompress(body, MOST_INFLATED)
        text = raw.decode("utf-8", "surrogatepass")
        data = json.loads(text) if engine.eof else None
    except (zlib.error, ValueError, RecursionError) as exc:
        raise SegmentProblem("cannot be read") from exc
    if not isinstance(data, dict):
        raise SegmentProblem("cannot be read, or inflates to more than a segment may")
    is_plain = len(raw) <= _MOST_RECORD and "\\u" not in text and (text.isascii() or not _LONE.search(text))
    return data, len(raw), is_plain


def _hash(before: str, body: bytes) -> str:
    return ids.bytes_hash(before.encode() + body)


_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


# --- records ---------------------------------------------------------------------------------------------------------


def checked(given: object, *, is_plain: bool = False) -> tuple[str, merge.State] | None:
    """A key and its state, if it has the shape that `merge` reads; None for anything else.

    is_plain  that it is neither too large nor what no store can write is known
    """
    if not (isinstance(given, list) and len(given) == 2 and isinstance(given[0], str) and _KEY.fullmatch(given[0])):
        return None
    state = given[1]
    if not isinstance(state, dict) or not state.keys() <= _PARTS.keys():
        return None
    if is_plain and _is_birth_alone(state):  # nearly all
        return given[0], state
    text = "" if is_plain else _dump(state)
    if len(text) > _MOST_RECORD or (not text.isascii() and _LONE.search(text)):
        return None
    return (given[0], state) if all(_PARTS[name](value) for name, value in state.items()) else None


def _is_birth_alone(state: merge.State) -> bool:
    """Whether a state is one birth and nothing since, of the shape that `_PARTS` ask for: a quick yes for most."""
    born, text = state.get("born"), state.get("text")
    if born.__class__ is not dict or text.__class__ is not dict or len(born) != 1 or len(text) != 1:
        return False
    ((stamp, birth),), (said,) = born.items(), text.values()
    if stamp not in text or _STAMP.fullmatch(stamp) is None or not (_is_birth(birth) and _is_text(said)):
        return False
    return len(state) == 2 or all(_PARTS[name](state[name]) for name in state.keys() - {"born", "text"})


def _is_stamp(value: object) -> bool:
    return isinstance(value, str) and _STAMP.fullmatch(value) is not None


def _is_word(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _WORD


def is_reference(value: object) -> bool:
    """Whether it has the shape of what names an item or a place: one line, and not a long one."""
    return isinstance(value, str) and bool(value) and clean.one_line(value) == value


def _is_seen(value: object) -> bool:
    return value == {} or (
        isinstance(value, dict) and all(is_replica(who) and _is_stamp(f"{at}.{who}") for who, at in value.items())
    )


def _is_map(value: object, of: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_stamp, value)) and all(map(of, value.values()))


def _is_text(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and bool(value[0].strip())
        and _is_seen(value[1])
    )


def _is_life(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == 3 and isinstance(value[0], bool)
        and (value[1] is None or is_reference(value[1])) and _is_seen(value[2])
    )  # fmt: skip


def _is_birth(value: object) -> bool:
    if not isinstance(value, list) or not value or not all(map(_is_word, value[:2])):
        return False
    if len(value) == 1:
        return True
    if len(value) != 2 + len(merge.FIELDS):
        return False
    # In the order of FIELDS, after the id and when it was made.
    _, _, *words, tier, confidence, importance, validation, expires, source = value
    return (
        all(map(_is_word, words)) and tier in TIERS and validation in VALIDATIONS and _is_share(confidence)
        and _is_share(importance) and _is_expiry(expires) and _is_source(source)
    )  # fmt: skip


def _is_field(name: str, value: object) -> bool:
    if name in ("title", "type"):
        return _is_word(value)
    if name in ("confidence", "importance"):
        return _is_share(value)
    if name in ("tier", "validation"):
        return value in (TIERS if name == "tier" else VALIDATIONS)
    return _is_expiry(value) if name == "expires_at" else _is_source(value)


def _is_share(value: Any) -> bool:
    return value.__class__ in (int, float) and bool(0 <= value <= 1)


def _is_expiry(value: object) -> bool:
    return value is None or (isinstance(value, str) and _TIME.fullmatch(value) is not None)


def _is_source(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == 3 and all(map(_is_word, value[:2]))
        and isinstance(value[2], list) and len(value[2]) <= MOST_REFERENCES and all(map(is_reference, value[2]))
    )  # fmt: skip


def _is_fields(value: object) -> bool:
    return isinstance(value, dict) and all(
        name in merge.FIELDS and isinstance(one, list) and len(one) == 2 and _is_stamp(one[0])
        and _is_field(name, one[1])
        for name, one in value.items()
    )  # fmt: skip


def _is_members(value: object) -> bool:
    return isinstance(value, dict) and all(
        _is_word(key) and isinstance(one, list) and len(one) == 2 and _is_map(one[0], _is_word)
        and isinstance(one[1], list) and all(map(_is_stamp, one[1]))
        for key, one in value.items()
    )  # fmt: skip


def _is_links(value: object) -> bool:
    return _is_members(value) and isinstance(value, dict) and all(
        is_reference(said.partition(" ")[2]) for adds, _ in value.values() for said in adds.values()
    )  # fmt: skip


_PARTS: dict[str, Any] = {
    "born": lambda value: _is_map(value, _is_birth),
    "text": lambda value: _is_map(value, _is_text),
    "life": lambda value: _is_map(value, _is_life),
    "held": lambda value: _is_map(
        value,
        lambda rules: isinstance(rules, list) and all(isinstance(one, str) and _RULE.fullmatch(one) for one in rules),
    ),
    "gone": lambda value: _is_map(value, _is_word),
    "free": lambda value: isinstance(value, list) and all(map(_is_stamp, value)),
    "set": _is_fields,
    "tags": _is_members,
    "entities": _is_members,
    "links": _is_links,
}


def records_of(body: bytes) -> list[tuple[str, merge.State]]:
    """The records of a segment whose place in its log does not matter; none of one that cannot be read."""
    try:
        given = _inflate(body)[0].get("records") if len(body) <= MOST_BYTES else None
    except SegmentProblem:
        return []
    return [record for one in given if (record := checked(one)) is not None] if isinstance(given, list) else []
