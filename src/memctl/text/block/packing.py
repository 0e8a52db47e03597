"""Packing the injection block into its budget: passages between a header and a footer that content cannot imitate.

The budget is a promise: header, passages and footer together, with the line break that ends the output, never cost
more. Passages are taken in the order given; one that is too long is cut, one that does not fit does not stop the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl import ids
from memctl.text import CHARS_PER_TOKEN, source_trust
from memctl.text.block.excerpt import CUT, Excerpt, Weighed, cost, excerpt, opened
from memctl.text.block.frames import META_CHARS, Frame, Full
from memctl.text.block.markers import HEADER, escaped
from memctl.text.clean import one_line, union

if TYPE_CHECKING:
    import re

    from memctl.store.documents.passages import SourcePosition

#: The version that `format_injection_block` writes; what `recall` prints by default is `frames.Compact.version`.
FORMAT_VERSION = 1

#: Of several passages none gets more than this share of the room before the others had theirs, and of many none more
#: than SHARE characters: a question is answered more often by many short passages than by a few long ones.
FAIR_SHARE = 0.4
SHARE = 700
#: A cut passage shorter than this (characters) is not worth its frame; the first one may be as short as the second.
LEAST = 160
LEAST_FIRST = 60

#: How long a heading in the frame may be, in characters: the nearest that the text does not say, not the whole way.
HEADING = 48
#: The heading may stand in this many of the first lines of the text itself.
LOOKED_AT = 6
_DAY = 10


class BlockEntry(NamedTuple):
    """What the block shows of an item, or of several that follow each other in one source.

    ids     the items
    lines   the content, ready to print (without control characters; lines that look like the block's own are marked)
    path    the source as displayed, "" when the passage has no place in a document
    chunk   its position there, or "3-5" for joined ones
    span    its first and last line in the source, 1-based
    anchor  where it stands in a source without lines: "page 3", "sheet Budget rows 2-40"
    trust   whose word it is, where its source kind does not say it (`memctl.text.source_trust`)

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
    shown: tuple[BlockEntry, ...] = ()


def format_injection_block(
    items: Sequence[Any],
    budget_tokens: int = 1500,
    total_matched: int | None = None,
    injection_type: str = "memory_recall",
    fts_strategy: str | None = None,
    fts_dropped_terms: Sequence[str] | None = None,
    *,
    places: Mapping[str, "SourcePosition"] | None = None,
    cwd: str = "",
    words: Sequence[str] = (),
) -> str:
    """The block for some items (MemoryItem or dict, best first) within a budget; "" when there are none or none fits.

    places  item id -> where it stands in its source; cwd: paths below it are shown relative to it
    words   stems of the query: a passage that must be cut keeps the lines that have them
    """
    passages = [block_entry(item, (places or {}).get(_id(item)), cwd) for item in items]
    head = header_lines(injection_type, budget_tokens, len(items) if total_matched is None else total_matched)
    if fts_strategy and fts_strategy != "AND":  # a plain search for all words needs no word about it
        dropped = ", ".join(one_line(str(term)) for term in fts_dropped_terms or ())
        head.append(f"fts_strategy: {one_line(fts_strategy)}" + (f" (dropped: {dropped})" if dropped else ""))
    return build(passages, Full(head, budget_tokens), budget_tokens, words).text


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


def build(passages: Sequence[BlockEntry], frame: Frame, budget_tokens: int, words: Weighed = ()) -> Block:
    """Fit passages into the budget and write the block; what frames do not take, the passages get.

    Those that follow each other share a frame; what that spares is given out once more. `words` are stems in lower
    case, with what each weighs (see `excerpt`).
    """
    budget = budget_tokens * CHARS_PER_TOKEN
    room = budget - frame.around(len(passages))
    written = joined(_fit(passages, frame, room, words), frame)
    if not written:
        return Block("", (), 0, 0)
    text, used = frame.write(written)
    spared = budget - len(text) - 1
    if spared >= LEAST:
        again = joined(_fit(passages, frame, room + spared, words), frame)
        more, more_used = frame.write(again)
        if len(more) < budget:
            written, text, used = again, more, more_used
    return Block(text, tuple(i for p in written for i in p.ids), len(written), used, tuple(written))


# --- one passage ------------------------------------------------------------------------------------------------------


#: The fields of an item that a block shows.
_SHOWN = (
    "id", "tier", "validation", "type", "title", "content", "provenance", "tags", "confidence", "entities",
    "created_at",
)  # fmt: skip


def block_entry(item: Any, place: "SourcePosition | None" = None, cwd: str = "") -> BlockEntry:
    """What the block shows of one item (a MemoryItem, or a dict that may lack keys)."""
    data: Mapping[str, Any] = item if isinstance(item, Mapping) else item.to_dict(_SHOWN)
    source = data.get("provenance") or {}
    kind, source_id = str(source.get("source_kind") or ""), str(source.get("source_id") or "")
    chunk_ids, hashes = source.get("chunk_ids") or (), source.get("content_hashes") or ()
    content = str(data.get("content") or "")
    lines = _without_blank_ends([line.translate(_CONTROLS).rstrip() for line in content.splitlines()])
    span = None
    if place is not None and place.position is not None:
        chunk = str(place.position)
        if place.line_start is not None and place.line_end is not None:
            span = place.line_start, place.line_end
    else:  # older stores only have `path:3` among the chunk ids
        tail = str(chunk_ids[0]).rpartition(":")[2] if chunk_ids else ""
        chunk = tail if tail.isdecimal() else ""
    path = display_path(source_id, cwd) if kind == "doc" and source_id and chunk else ""
    stated = place_line(lines[0], source_id) if kind == "doc" and lines and lines[0].startswith("[path:") else None
    if stated:  # the content of older stores begins with its own place and may end with a [camel: …] line
        camel = len(lines) > 1 and lines[-1].startswith("[camel: ") and lines[-1].endswith("]")
        lines = _without_blank_ends(lines[1:-1] if camel else lines[1:])
        path = path or display_path(source_id or stated[1], cwd)
        chunk, span = chunk or stated[2], span or (int(stated[3]), int(stated[4]))
    title = str(data.get("title") or "")
    anchor = one_line(place.anchor, META_CHARS) if place is not None and path and span is None else ""
    said_source = one_line(kind + (f":{source_id}" if source_id else ""), META_CHARS)
    if "trust:" in said_source.lower():  # a source cannot say itself how far it is trusted
        import re

        said_source = re.sub("(?i)trust:", lambda found: found[0][:-1] + "\\:", said_source)
    return BlockEntry(
        ids=(_id(item),),
        tier=one_line(str(data.get("tier") or "stm")),
        validation=one_line(str(data.get("validation") or "unverified")),
        type=one_line(str(data.get("type") or "note")),
        title=one_line(str(data.get("title", "(untitled)"))),
        lines=[escaped(line) for line in lines],
        path=path,
        chunk=chunk,
        span=span,
        provenance=said_source + (f" | {one_line(str(hashes[0])[:16])}..." if hashes else ""),
        tags=[one_line(str(tag)) for tag in data.get("tags") or ()],
        confidence=float(data.get("confidence", 0.5)),
        entities=[one_line(str(entity)) for entity in data.get("entities") or ()],
        anchor="" if anchor in str(data.get("title", "")) else anchor,  # a heading path says no more than the title
        trust=getattr(place, "trust", "") or source_trust.trust_of(kind, source_id, chunk_ids)[1],
        source=f"{kind}:{source_id}" if source_id else "",
        handle=_id(item),
        heading=one_line(_heading(title, lines, path), HEADING),
        date="" if path else one_line(str(data.get("created_at") or ""))[:_DAY],
        moment=str(data.get("created_at") or ""),
    )


def _heading(title: str, lines: Sequence[str], path: str) -> str:
    """What a title says that neither the path nor the first lines of the passage say anyway; "" if nothing.

    Of a document's heading path that is the nearest part, of a statement the whole.
    """
    first_lines = " ".join(lines[:LOOKED_AT])
    if not path:
        bare = " ".join(title.split()).rstrip("….: ").casefold()
        said = " ".join(first_lines.split()).lstrip("#* ").casefold()
        return "" if not bare or bare == "(untitled)" or said.startswith(bare) else title
    name, text = _letters(path.rpartition("/")[2].partition(".")[0]), _letters(first_lines)
    parts = [part for part in title.split(" > ") if (bare := _letters(part)) and bare != name and bare not in text]
    return parts[-1] if parts else ""


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def display_path(path: str, cwd: str) -> str:
    """A path relative to `cwd` when it is below it, else as it is."""
    base = cwd.rstrip("/") + "/"
    return one_line(path[len(base) :] if cwd and path.startswith(base) else path, META_CHARS)


def _id(item: Any) -> str:
    return str(item.get("id", "") if isinstance(item, Mapping) else item.id)


def place_line(line: str, source_id: str) -> "re.Match[str] | None":
    """Path, chunk, first and last line of the place line that older programs wrote into a passage of this source."""
    import re

    found = re.fullmatch(r"\[path:(.+) chunk:(\d{1,9}) lines:(\d{1,9})-(\d{1,9})\]", line)
    return found if found and (source_id.endswith(found[1]) or found[1].endswith(source_id)) else None


_CONTROLS = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160)))


def _without_blank_ends(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and not lines[start]:
        start += 1
    while end > start and not lines[end - 1]:
        end -= 1
    return lines[start:end]


# --- fitting ----------------------------------------------------------------------------------------------------------


def _fit(passages: Sequence[BlockEntry], frame: Frame, room: int, words: Weighed) -> list[BlockEntry]:
    frames = [frame.cost(p, len(passages)) for p in passages]
    bodies = [cost(p.lines, frame.line_cost) for p in passages]
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


def _cut(p: BlockEntry, cut: Excerpt, *, marked: bool) -> BlockEntry:
    """What is left of a passage; a cut between two lines needs no mark where the frame says which lines are shown."""
    span, lines = p.span, list(cut.lines)
    if span and span[1] - span[0] + 1 == len(p.lines):  # line for line as in the source: say which are shown
        span = (span[0] + cut.first, span[0] + cut.last)
        if not marked:
            first, last = p.lines[cut.first], p.lines[cut.last]
            at = len(lines) - cut.shown
            whole = f"{CUT} {first.lstrip()}"
            if lines[at] == whole or (cut.shown == 1 and lines[at] == f"{CUT} {first.strip()} {CUT}"):
                lines[at] = first + lines[at].removeprefix(whole)
            if lines[-1] == f"{last.rstrip()} {CUT}":
                lines[-1] = last
    left_out = (cut.first > 0 or lines[0].startswith(CUT), cut.last < len(p.lines) - 1 or lines[-1].endswith(CUT))
    return p._replace(lines=lines, span=span, cut=left_out)


# --- passages that follow each other in one source, written as one ----------------------------------------------------


def joined(passages: Sequence[BlockEntry], frame: Frame) -> list[BlockEntry]:
    """Passages that belong together become one, in the place of the best of them; the order is else kept.

    Passages of a document do when the lines shown of one go on where those of the other end. Turns of a conversation
    do in the order in which they were said, each with its speaker. Other parts of one document share its line, a mark
    between them. (In version 1 turns and parts stand for themselves.)
    """
    out = dict(enumerate(passages))
    by_source: dict[tuple[str, str], list[int]] = {}
    for rank, p in enumerate(passages):
        turn = frame.version > 1 and not p.path and p.source.startswith("chat:")
        if p.chunk.isdecimal() and (turn or (p.path and p.span)):
            by_source.setdefault((p.path, p.source), []).append(rank)
    for ranks in by_source.values():
        ranks.sort(key=lambda rank: (int(passages[rank].chunk), rank))
        for run in _runs(ranks, passages):
            for rank in run:
                del out[rank]
            out[min(run)] = _run_together([passages[rank] for rank in run], passages[min(run)])
    found = [out[rank] for rank in sorted(out)]
    if frame.version == 1:
        return found
    parts: dict[tuple[str, str], list[BlockEntry]] = {}
    for number, p in enumerate(found):
        key = (p.path, p.source) if p.path and p.span else ("", str(number))
        parts.setdefault(key, []).append(p)
    whole = []
    for many in parts.values():
        best, ordered = many[0], sorted(many, key=lambda p: p.span or (0, 0))
        if len(many) > 1:  # in the place of the best of them and in the document's order
            spans = tuple(p.span for p in ordered if p.span)
            best = best._replace(
                ids=tuple(dict.fromkeys(i for p in ordered for i in p.ids)), chunk=ordered[0].chunk, spans=spans,
                lines=[*ordered[0].lines, *(line for p in ordered[1:] for line in (CUT, *p.lines))],
                span=(spans[0][0], max(last for _, last in spans)), handle=ordered[0].handle,
                heading=best.heading if {p.heading for p in many} == {best.heading} else "",
            )  # fmt: skip
        whole.append(best)
    return whole


def _runs(ranks: Sequence[int], passages: Sequence[BlockEntry]) -> list[list[int]]:
    """Those of some passages of one source, in its order, that follow each other: two or more at a time."""
    runs: list[list[int]] = []
    for rank in ranks:
        here, before = passages[rank], passages[runs[-1][-1]] if runs else None
        next_in_source = before is not None and int(here.chunk) == int(before.chunk) + 1
        if before is not None and next_in_source and not (here.path and (before.cut[1] or here.cut[0])):
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return [run for run in runs if len(run) > 1]


def _run_together(run: Sequence[BlockEntry], best: BlockEntry) -> BlockEntry:
    """A run of passages of a document, or turns in the order in which they were said; the first names the day."""
    first, last = run[0], run[-1]
    merged = best._replace(
        ids=tuple(i for p in run for i in p.ids), chunk=f"{first.chunk}-{last.chunk}", handle=first.handle
    )
    if not first.path:
        facts = tuple(dict.fromkeys(fact for p in run for fact in p.facts))
        lines = [line for p in run for line in spoken(p)]
        return merged._replace(lines=lines, heading="", date=first.date, facts=facts)
    lines, tags, entities = list(first.lines), list(first.tags), list(first.entities)
    end = first.span[1] if first.span else 0
    for p in run[1:]:
        start, stop = p.span or (end + 1, end)
        if start > end + 1:
            lines.append("")
        overlap = max(0, end + 1 - start)
        exact = stop - start + 1 == len(p.lines)  # only then do line numbers say which lines are doubled
        lines += p.lines[overlap:] if exact else p.lines
        end = max(end, stop)
        tags, entities = union(tags, p.tags), union(entities, p.entities)
    return merged._replace(
        lines=lines, span=(first.span[0] if first.span else 0, end), tags=tags, entities=entities,
        heading=first.heading, cut=(first.cut[0], last.cut[1]),
    )  # fmt: skip


def spoken(p: BlockEntry) -> list[str]:
    """The lines of a turn with who said it."""
    if not p.heading or not p.lines:
        return p.lines
    return [f"{p.heading}: {p.lines[0]}", *p.lines[1:]]


# --- the other documented forms of items for a model ------------------------------------------------------------------


def format_combined_prompt(user_question: str, inject_block: str, mode_hint: str = "") -> str:
    """A prompt with the question first and the block behind it as reference."""
    parts = ["## User Question (answer THIS; do not modify or reinterpret it)", "", user_question, ""]
    if mode_hint == "exploration":
        parts += ["Mode: exploration. Explain from the context below; do not read or edit files.", ""]
    elif mode_hint == "modification":
        parts += ["Mode: modification. Read a file before you change it; never edit using chunk content.", ""]
    if inject_block.strip():
        parts += ["## Additional Context (reference only)", "", inject_block, ""]
    return "\n".join(parts).rstrip() + "\n"


def format_search_results(items: Iterable[Any], query: str) -> list[dict[str, Any]]:  # noqa: ARG001 - documented
    """Items as short dicts: id, title, tier, type, tags, confidence, validation, content_preview (200 characters)."""
    out = []
    keys = ("id", "title", "tier", "type", "tags", "confidence", "validation")
    for item in items:
        data = item if isinstance(item, Mapping) else item.to_dict((*keys, "content"))
        out.append({key: data.get(key) for key in keys} | {"content_preview": str(data.get("content") or "")[:200]})
    return out
