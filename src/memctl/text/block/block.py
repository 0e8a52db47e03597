"""The injection block: passages for a model, between a header and a footer that content cannot imitate.

The budget is a promise: header, passages and footer together, with the line break that ends the output, never cost
more. Passages are taken in the order given; one that is too long is cut, one that does not fit does not stop the rest.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memctl import ids
from memctl.text import trust
from memctl.text.block.escaping import escaped
from memctl.text.block.excerpt import CUT, Excerpt, Weighed, excerpt, opened
from memctl.text.block.frames import META_CHARS, Frame, Full
from memctl.text.clean import one_line
from memctl.text.echo import HEADER
from memctl.text.tokens import CHARS_PER_TOKEN

if TYPE_CHECKING:
    import re

#: The version that `format_injection_block` writes; what `recall` prints by default is `frames.Compact.version`.
FORMAT_VERSION = 1

#: Of several passages none gets more than this share of the room before the others had theirs, and of many none more
#: than so many characters: a question is answered more often by many short passages than by a few long ones.
FAIR_SHARE = 0.4
SHARE = 700
#: A cut passage shorter than this (characters) is not worth its frame; the first one may be as short as the second.
LEAST = 160
LEAST_FIRST = 60

#: A heading in the frame has at most so many characters: the nearest that the text does not say, not the whole way.
HEADING = 48
#: The heading may stand in so many of the first lines of the text itself.
LOOKED_AT = 6
_DAY = 10


class Place(Protocol):
    """Where in its source an item stands (`memctl.store.documents.sources.Source`)."""

    @property
    def position(self) -> int | None: ...  # noqa: D102
    @property
    def line_start(self) -> int | None: ...  # noqa: D102
    @property
    def line_end(self) -> int | None: ...  # noqa: D102
    @property
    def anchor(self) -> str: ...  # noqa: D102


class Passage(NamedTuple):
    """What the block shows of an item, or of several that follow each other in one source.

    ids     the items
    lines   the content, ready to print (without control characters; lines that look like the block's own are marked)
    path    the source as displayed, "" when the passage has no place in a document
    chunk   its position there, or "3-5" for joined ones
    span    its first and last line in the source, 1-based
    anchor  where it stands in a source without lines: "page 3", "sheet Budget rows 2-40"
    trust   whose word it is, where its source kind does not say it (`memctl.text.trust`)

    The compact frame shows these instead of all the others but path, span, anchor, tier, validation and trust:

    source   its source kind and id: what passages of one conversation have in common
    handle   the id of the first item, as short as it is unique in the store
    heading  what the title says and the content does not
    date     the day it was said, for what stands in no document
    moment   the same to the second, to tell which of two was said later
    facts    what else is to be known: what it replaces, what replaced it

    cut      whether something was left out before its lines, and after them
    spans    the lines of each part, where it is made of several of one document
    """

    ids: tuple[str, ...]
    tier: str
    validation: str
    type: str
    title: str
    lines: list[str]
    path: str
    chunk: str
    span: tuple[int, int] | None
    provenance: str
    tags: list[str]
    confidence: float
    entities: list[str]
    anchor: str = ""
    trust: str = ""
    source: str = ""
    handle: str = ""
    heading: str = ""
    date: str = ""
    moment: str = ""
    facts: tuple[str, ...] = ()
    cut: tuple[bool, bool] = (False, False)
    spans: tuple[tuple[int, int], ...] = ()


class Block(NamedTuple):
    """A finished block: its text without a final line break ("" when there is nothing to say), and what it holds.

    shown  its passages, cut as they are in it
    """

    text: str
    ids: tuple[str, ...]
    items: int
    tokens: int
    shown: tuple[Passage, ...] = ()


def format_injection_block(
    items: Sequence[Any],
    budget_tokens: int = 1500,
    total_matched: int | None = None,
    injection_type: str = "memory_recall",
    fts_strategy: str | None = None,
    fts_dropped_terms: Sequence[str] | None = None,
    *,
    places: Mapping[str, Place] | None = None,
    cwd: str = "",
    words: Sequence[str] = (),
) -> str:
    """The block for some items (MemoryItem or dict, best first) within a budget; "" when there are none or none fits.

    places  item id -> where it stands in its source; cwd: paths below it are shown relative to it
    words   stems of the query: a passage that must be cut keeps the lines that have them
    """
    passages = [passage(item, (places or {}).get(_id(item)), cwd) for item in items]
    head = header_lines(injection_type, budget_tokens, len(items) if total_matched is None else total_matched)
    frame = Full(head + strategy_lines(fts_strategy, fts_dropped_terms), budget_tokens)
    return build(passages, frame, budget_tokens, words).text


def header_lines(injection_type: str, budget_tokens: int, matched: int) -> list[str]:
    """The header's lines up to `matched`."""
    return [
        HEADER,
        f"format_version: {FORMAT_VERSION}",
        f"injection_type: {one_line(injection_type)}",
        f"generated_at: {ids.timestamp_seconds()}",
        f"budget_tokens: {budget_tokens}",
        f"matched: {matched}",
    ]


def strategy_lines(strategy: str | None, dropped: Sequence[str] | None = None) -> list[str]:
    """The header's line about how the search had to help itself; none for a plain search for all words."""
    if not strategy or strategy == "AND":
        return []
    words = ", ".join(one_line(str(term)) for term in dropped or ())
    return [f"fts_strategy: {one_line(strategy)}" + (f" (dropped: {words})" if words else "")]


def build(passages: Sequence[Passage], frame: Frame, budget_tokens: int, words: Weighed = ()) -> Block:
    """Fit passages into the budget and write the block; what frames do not take, the passages get.

    Those that follow each other share a frame; what that spares is given out once more. `words` are stems in lower
    case, with what each weighs (see `excerpt`).
    """
    from memctl.text.block.runs import joined

    budget = budget_tokens * CHARS_PER_TOKEN
    room = budget - frame.around(len(passages))
    written = joined(_fit(passages, frame, room, words), frame)
    if not written:
        return Block("", (), 0, 0)
    text, used = frame.write(written)
    spared = budget - len(text) - 1
    if spared >= LEAST:
        again = joined(_fit(passages, frame, room + spared, words), frame)
        more, cost = frame.write(again)
        if len(more) < budget:
            written, text, used = again, more, cost
    return Block(text, tuple(i for p in written for i in p.ids), len(written), used, tuple(written))


# --- one passage ------------------------------------------------------------------------------------------------


#: The fields of an item that a block shows.
_SHOWN = (
    "id", "tier", "validation", "type", "title", "content", "provenance", "tags", "confidence", "entities",
    "created_at",
)  # fmt: skip


def passage(item: Any, place: Place | None = None, cwd: str = "") -> Passage:
    """What the block shows of one item (a MemoryItem, or a dict that may lack keys)."""
    data: Mapping[str, Any] = item if isinstance(item, Mapping) else item.fields(_SHOWN)
    source = data.get("provenance") or {}
    kind, source_id = str(source.get("source_kind") or ""), str(source.get("source_id") or "")
    lines = _content_lines(str(data.get("content") or ""))
    chunk, span = _stand(place, source.get("chunk_ids") or ())
    path = display_path(source_id, cwd) if kind == "doc" and source_id and chunk else ""
    if kind == "doc" and lines and lines[0].startswith("[path:"):
        lines, path, chunk, span = _legacy(lines, source_id, (path, chunk, span), cwd)
    hashes = source.get("content_hashes") or ()
    title = str(data.get("title") or "")
    return Passage(
        ids=(_id(item),),
        tier=one_line(str(data.get("tier") or "stm")),
        validation=one_line(str(data.get("validation") or "unverified")),
        type=one_line(str(data.get("type") or "note")),
        title=one_line(str(data.get("title", "(untitled)"))),
        lines=[escaped(line) for line in lines],
        path=path,
        chunk=chunk,
        span=span,
        provenance=_named(one_line(kind + (f":{source_id}" if source_id else ""), META_CHARS))
        + (f" | {one_line(str(hashes[0])[:16])}..." if hashes else ""),
        tags=[one_line(str(tag)) for tag in data.get("tags") or ()],
        confidence=float(data.get("confidence", 0.5)),
        entities=[one_line(str(entity)) for entity in data.get("entities") or ()],
        anchor=_anchor(place, str(data.get("title", ""))) if path and span is None else "",
        trust=getattr(place, "trust", "") or trust.told(kind, source_id, source.get("chunk_ids") or ()),
        source=f"{kind}:{source_id}" if source_id else "",
        handle=_id(item),
        heading=one_line(near_heading(title, lines, path) if path else said_title(title, lines), HEADING),
        date="" if path else one_line(str(data.get("created_at") or ""))[:_DAY],
        moment=str(data.get("created_at") or ""),
    )


def _named(source: str) -> str:
    """A source as it calls itself, which cannot say how far it is trusted: `trust:` in it gets a backslash."""
    if "trust:" not in source.lower():
        return source
    import re

    return re.sub("(?i)trust:", lambda found: found[0][:-1] + "\\:", source)


def said_title(title: str, lines: Sequence[str]) -> str:
    """The title of a statement, "" where its text begins with it anyway."""
    bare = " ".join(title.split()).rstrip("….: ").casefold()
    text = " ".join(" ".join(lines[:LOOKED_AT]).split()).lstrip("#* ").casefold()
    return "" if not bare or bare == "(untitled)" or text.startswith(bare) else title


def near_heading(title: str, lines: Sequence[str], path: str) -> str:
    """The nearest part of a heading path that neither the path nor the first lines of the passage say anyway."""
    said = _letters(path.rpartition("/")[2].partition(".")[0]), _letters(" ".join(lines[:LOOKED_AT]))
    parts = [
        part for part in title.split(" > ") if (bare := _letters(part)) and bare != said[0] and bare not in said[1]
    ]
    return parts[-1] if parts else ""


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _anchor(place: Place | None, title: str) -> str:
    """The page, slide or sheet; a heading path is none, the title says it already."""
    anchor = one_line(place.anchor, META_CHARS) if place is not None else ""
    return "" if anchor in title else anchor


def display_path(path: str, cwd: str) -> str:
    """A path relative to `cwd` when it is below it, else as it is."""
    base = cwd.rstrip("/") + "/"
    return one_line(path[len(base) :] if cwd and path.startswith(base) else path, META_CHARS)


def _id(item: Any) -> str:
    return str(item.get("id", "") if isinstance(item, Mapping) else item.id)


def _stand(place: Place | None, chunk_ids: Sequence[Any]) -> tuple[str, tuple[int, int] | None]:
    """The chunk and the lines to display; older stores only have `path:3` among the chunk ids."""
    if place is not None and place.position is not None:
        known = place.line_start is not None and place.line_end is not None
        return str(place.position), (place.line_start or 0, place.line_end or 0) if known else None
    tail = str(chunk_ids[0]).rpartition(":")[2] if chunk_ids else ""
    return (tail if tail.isdecimal() else ""), None


_Standing = tuple[str, str, "tuple[int, int] | None"]


def _legacy(
    lines: list[str], source_id: str, known: _Standing, cwd: str
) -> tuple[list[str], str, str, tuple[int, int] | None]:
    """Content of older stores begins with its own place line and may end with a [camel: …] line: take them out."""
    found = place_line(lines[0], source_id)
    if found is None:
        return lines, *known
    lines = lines[1:]
    if lines and lines[-1].startswith("[camel: ") and lines[-1].endswith("]"):
        lines = lines[:-1]
    path, chunk, span = known
    path = path or display_path(source_id or found[1], cwd)
    return _without_blank_ends(lines), path, chunk or found[2], span or (int(found[3]), int(found[4]))


def place_line(line: str, source_id: str) -> "re.Match[str] | None":
    """Path, chunk, first and last line of the place line that older programs wrote into a passage of this source."""
    import re

    found = re.fullmatch(r"\[path:(.+) chunk:(\d{1,9}) lines:(\d{1,9})-(\d{1,9})\]", line)
    return found if found and (source_id.endswith(found[1]) or found[1].endswith(source_id)) else None


_CONTROLS = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160)))


def _content_lines(content: str) -> list[str]:
    return _without_blank_ends([line.translate(_CONTROLS).rstrip() for line in content.splitlines()])


def _without_blank_ends(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and not lines[start]:
        start += 1
    while end > start and not lines[end - 1]:
        end -= 1
    return lines[start:end]


# --- fitting ----------------------------------------------------------------------------------------------------


def _fit(passages: Sequence[Passage], frame: Frame, room: int, words: Weighed) -> list[Passage]:
    frames = [frame.cost(p, len(passages)) for p in passages]
    bodies = [frame.body(p) for p in passages]
    fair = int(room * FAIR_SHARE) if len(passages) > 1 else room
    fair = min(fair, max(SHARE, room // max(1, len(passages))))
    shares = _shares(frames, bodies, fair, room)
    out = []
    for p, share, body in zip(passages, shares, bodies, strict=True):
        cut = None if share < 0 else (opened if p.path else excerpt)(p.lines, share, words, frame.line_cost)
        if cut is not None:
            out.append(p if share >= body else _cut(p, cut, marked=frame.version == 1))
    return out


def _shares(frames: Sequence[int], bodies: Sequence[int], fair: int, room: int) -> list[int]:
    """How many characters of content each passage gets, -1 for none: in order, then what is left to those cut."""
    shares: list[int] = []
    for frame, body in zip(frames, bodies, strict=True):
        least = min(body, LEAST if any(share >= 0 for share in shares) else LEAST_FIRST)
        share = min(body, max(fair - frame, least), room - frame)
        if share < least:
            share = -1
        else:
            room -= frame + share
        shares.append(share)
    for i, body in enumerate(bodies):
        if 0 <= shares[i] < body:
            more = min(body - shares[i], room)
            shares[i] += more
            room -= more
    return shares


def _cut(p: Passage, cut: Excerpt, *, marked: bool) -> Passage:
    """What is left of a passage; a cut between two lines needs no mark where the frame says which lines are shown."""
    span, lines = p.span, cut.lines
    if span and span[1] - span[0] + 1 == len(p.lines):  # line for line as in the source: say which are shown
        span = (span[0] + cut.first, span[0] + cut.last)
        if not marked:
            opening = lines[: len(lines) - cut.shown]
            lines = [*opening, *_unmarked(lines[len(opening) :], p.lines[cut.first], p.lines[cut.last])]
    left_out = (cut.first > 0 or lines[0].startswith(CUT), cut.last < len(p.lines) - 1 or lines[-1].endswith(CUT))
    return p._replace(lines=lines, span=span, cut=left_out)


def _unmarked(lines: list[str], first: str, last: str) -> list[str]:
    """The lines without the marks of cuts that go between two lines; `first` and `last` are what they were."""
    out = list(lines)
    if out[0] == f"{CUT} {first.lstrip()}" or (len(out) == 1 and out[0] == f"{CUT} {first.lstrip().rstrip()} {CUT}"):
        out[0] = first + out[0].removeprefix(f"{CUT} {first.lstrip()}")
    if out[-1] == f"{last.rstrip()} {CUT}":
        out[-1] = last
    return out
