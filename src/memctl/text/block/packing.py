"""The injection block: passages are written down, and packed into a budget, so that content cannot imitate the frame.

The budget is a promise: header, passages and footer together, with the line break that ends the output, never cost
more. Passages are taken in the order given; one that is too long is cut, one that does not fit does not stop the rest.

How a passage and what stands around it are written, `memctl.text.block.frames` says.
"""

from collections.abc import Mapping, Sequence

from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.text import source_trust
from memctl.text.block.excerpt import CUT, Excerpt, Weighed, cost, excerpt, opened
from memctl.text.block.markers import HEADER
from memctl.text.clean import one_line, union
from memctl.text.contents import SIGNS, listed_pages
from memctl.text.tokens import CHARS_PER_TOKEN

if TYPE_CHECKING:
    import re

    from memctl.store.documents.passages import SourcePosition
    from memctl.text.block.frames import Frame

#: Of several passages none gets more than this share of the room before the others had theirs, and of many none more
#: than SHARE characters: a question is answered more often by many short passages than by a few long ones.
FAIR_SHARE = 0.4
SHARE = 700
#: A cut passage shorter than this (characters) is not worth its frame; the first one may be as short as the second.
LEAST = 160
LEAST_FIRST = 60

#: Characters of what is said around a passage: of one fact, and of a heading: the nearest part that the text does not
#: say, not the whole way.
META_CHARS = 300
HEADING = 48
#: The heading may stand in this many of the first lines of the text itself.
LOOKED_AT = 6
#: A path outside of mounts and of the current folder is shown by its last NAMES names, never whole.
NAMES = 2
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
    facts    what else is to be known: what it replaces, what replaced it; that it is a page of contents

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


class Labels(NamedTuple):
    """What is said around passages that only the store knows.

    cwd       the folder that paths are shown relative to
    roots     each mount's folder with its name, the longest path first; None: no path is shortened but below `cwd`
    near      paths below `cwd` are shown as seen from there, wherever their mount is: for answers that people read
    handles   item id -> the id as it is shown
    replaced  item id -> what is said of the items that it replaced, that replaced it, or that contradict it
    """

    cwd: str = ""
    roots: Sequence[tuple[str, str]] | None = None
    near: bool = False
    handles: Mapping[str, str] = {}
    replaced: Mapping[str, tuple[str, ...]] = {}


NO_LABELS = Labels()


def build(passages: Sequence[BlockEntry], frame: "Frame", budget_tokens: int, words: Weighed = ()) -> Block:
    """Fit passages into the budget and write the block; what frames do not take, the passages get.

    Those that follow each other share a frame; what that spares is given out once more. `words` are stems in lower
    case, with what each weighs (see `excerpt`).
    """
    budget = budget_tokens * CHARS_PER_TOKEN
    room = budget - frame.around(len(passages))
    cuts: Cuts = {}
    written = joined(_fit(passages, frame, room, words, cuts), frame)
    if not written:
        return Block("", (), 0, 0)
    text, used = frame.write(written)
    spared = budget - len(text) - 1
    if spared >= LEAST:
        again = joined(_fit(passages, frame, room + spared, words, cuts), frame)
        more, more_used = frame.write(again)
        if len(more) < budget:
            written, text, used = again, more, more_used
    return Block(text, tuple(i for p in written for i in p.ids), len(written), used, tuple(written))


#: Passages that were cut, by their place and the room that they had.
Cuts = dict[tuple[int, int], BlockEntry | None]


def _fit(passages: Sequence[BlockEntry], frame: "Frame", room: int, words: Weighed, cuts: Cuts) -> list[BlockEntry]:
    """The passages as far as they fit: each gets its share in order, and what is left goes to those that are cut."""
    count = len(passages)
    fair = int(room * FAIR_SHARE) if count > 1 else room
    fair = min(fair, max(SHARE, room // max(1, count)))
    bodies = [cost(p.lines, frame.line_cost) for p in passages]
    shares: list[int] = []  # characters of content, -1 for none
    for p, body in zip(passages, bodies, strict=True):
        around = frame.cost(p, count)
        least = min(body, LEAST if any(share >= 0 for share in shares) else LEAST_FIRST)
        share = min(body, max(fair - around, least), room - around)
        if share < least:
            share = -1
        else:
            room -= around + share
        shares.append(share)
    out = []
    for at, (p, body, first_share) in enumerate(zip(passages, bodies, shares, strict=True)):
        if first_share < 0:
            continue
        share = min(body, first_share + room)
        room -= share - first_share
        if share >= body:
            out.append(p)
            continue
        if (at, share) not in cuts:
            cut = (opened if p.path else excerpt)(p.lines, share, words, frame.line_cost)
            cuts[at, share] = _cut(p, cut, marked=frame.version == 1) if cut else None
        if shown := cuts[at, share]:
            out.append(shown)
    return out


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


# --- passages of one source, written as one --------------------------------------------------------------------------


def joined(passages: Sequence[BlockEntry], frame: "Frame") -> list[BlockEntry]:
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
                facts=best.facts if {p.facts for p in many} == {best.facts} else (),
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
        lines = []
        for p in run:  # each turn with who said it
            lines += [f"{p.heading}: {p.lines[0]}", *p.lines[1:]] if p.heading and p.lines else p.lines
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
        facts=best.facts if {p.facts for p in run} == {best.facts} else (),
    )  # fmt: skip


# --- one passage ------------------------------------------------------------------------------------------------------

#: The fields of an item that a block shows.
_SHOWN = (
    "id", "tier", "validation", "type", "title", "content", "provenance", "tags", "confidence", "entities",
    "created_at",
)  # fmt: skip
_CONTROLS = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160)))


def block_entry(item: Any, place: "SourcePosition | None" = None, labels: Labels = NO_LABELS) -> BlockEntry:
    """What the block shows of one item (a MemoryItem, or a dict that may lack keys)."""
    data: Mapping[str, Any] = item if isinstance(item, Mapping) else item.to_dict(_SHOWN)
    source = data.get("provenance") or {}
    kind, source_id = str(source.get("source_kind") or ""), str(source.get("source_id") or "")
    chunk_ids, hashes = source.get("chunk_ids") or (), source.get("content_hashes") or ()
    content = str(data.get("content") or "")
    lines = content.splitlines()
    if not "".join(lines).isprintable():
        lines = [line.translate(_CONTROLS) for line in lines]
    lines = "\n".join([line.rstrip() for line in lines]).strip("\n").splitlines()
    span = None
    if place is not None and place.position is not None:
        chunk = str(place.position)
        if place.line_start is not None and place.line_end is not None:
            span = place.line_start, place.line_end
    else:  # older stores only have `path:3` among the chunk ids
        tail = str(chunk_ids[0]).rpartition(":")[2] if chunk_ids else ""
        chunk = tail if tail.isdecimal() else ""
    path = display_path(source_id, labels) if kind == "doc" and source_id and chunk else ""
    stated = place_line(lines[0], source_id) if kind == "doc" and lines and lines[0].startswith("[path:") else None
    if stated:  # the content of older stores begins with its own place and may end with a [camel: …] line
        camel = len(lines) > 1 and lines[-1].startswith("[camel: ") and lines[-1].endswith("]")
        lines = "\n".join(lines[1:-1] if camel else lines[1:]).strip("\n").splitlines()
        path = path or display_path(source_id or stated[1], labels)
        chunk, span = chunk or stated[2], span or (int(stated[3]), int(stated[4]))
    title = str(data.get("title") or "")
    anchor = one_line(place.anchor, META_CHARS) if place is not None and path and span is None else ""
    said_source = one_line(kind + (f":{source_id}" if source_id else ""), META_CHARS)
    if "trust:" in said_source.lower():  # a source cannot say itself how far it is trusted
        import re

        said_source = re.sub("(?i)trust:", lambda found: found[0][:-1] + "\\:", said_source)
    item_id = str(data.get("id", ""))
    facts = () if path else labels.replaced.get(item_id, ())
    if path and any(sign in content for sign in SIGNS) and listed_pages(content, source_id):
        facts = ("contents",)  # a list of pages is no answer, whatever it names
    return BlockEntry(
        ids=(item_id,),
        tier=one_line(str(data.get("tier") or "stm")),
        validation=one_line(str(data.get("validation") or "unverified")),
        type=one_line(str(data.get("type") or "note")),
        title=one_line(str(data.get("title", "(untitled)"))),
        lines=[line if line.isascii() and line.lstrip()[:1] not in _SUSPECT else escaped(line) for line in lines],
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
        handle=labels.handles.get(item_id, item_id),
        heading=one_line(_heading(title, lines, path), HEADING),
        date="" if path else one_line(str(data.get("created_at") or ""))[:_DAY],
        moment=str(data.get("created_at") or ""),
        facts=facts,
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


_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())


def _letters(text: str) -> str:
    text = text.casefold()
    if text.isascii():
        return text.encode().translate(None, _NO_LETTERS).decode()
    return "".join(filter(str.isalnum, text))


def display_path(path: str, labels: Labels) -> str:
    """A path as seen from its mount, else from the current folder; an absolute one only where no mounts are told.

    Where there are several mounts, the mount's name stands before it.
    """
    base = labels.cwd.rstrip("/") + "/"
    shown = one_line(path[len(base) :] if labels.cwd and path.startswith(base) else path, META_CHARS)
    if labels.roots is None or (labels.near and not shown.startswith("/")):
        return shown
    for root, name in labels.roots:
        if path.startswith(root):
            inside = path[len(root) :]
            return one_line(f"{name}/{inside}" if len(labels.roots) > 1 else inside)
    return "/".join(shown.split("/")[-NAMES:]) if shown.startswith("/") else shown


def place_line(line: str, source_id: str) -> "re.Match[str] | None":
    """Path, chunk, first and last line of the place line that older programs wrote into a passage of this source."""
    import re

    found = re.fullmatch(r"\[path:(.+) chunk:(\d{1,9}) lines:(\d{1,9})-(\d{1,9})\]", line)
    return found if found and (source_id.endswith(found[1]) or found[1].endswith(source_id)) else None


#: Lines of the frame that say where a passage comes from, and who speaks in a conversation: a text must say neither of
#: itself.
_OURS = ("trust:", "provenance:", "user:", "assistant:", "system:", "human:", "developer:")
#: Tags in which prompts keep what they give to a model apart: a text must not end or begin one.
_APART = (
    "memory", "memories", "context", "system", "system-reminder", "instructions", "prompt", "user", "human",
    "assistant", "document", "documents", "injected", "tool_result", "function_results",
)  # fmt: skip
#: What a line of the block's own begins with, after blanks.
_SUSPECT = frozenset("[<" + HEADER[0] + "-" + "".join(word[0] + word[0].upper() for word in _OURS))
#: The least number of hexadecimal digits of a short id in a block.
_SHORTEST_ID = 6
_HEX = frozenset("0123456789abcdef")


def escaped(line: str) -> str:
    """A content line that looks like the block's own gets a backslash, so that no reader takes it for one.

    It is looked at as it is seen: compatible forms as the usual ones, dashes as hyphens, nothing invisible. A soft
    hyphen is seen or not, as the reader has it: with it as a hyphen, and without it.
    """
    looks: tuple[str, ...] = (line,)
    if not line.isascii():
        import unicodedata

        seen = "".join(
            "-" if unicodedata.category(char) == "Pd" or char == "\u2212" else char
            for char in unicodedata.normalize("NFKC", line)
            if unicodedata.category(char) not in ("Cf", "Mn", "Me") or char == "\u00ad"
        )
        looks = (seen.replace("\u00ad", "-"), seen.replace("\u00ad", ""))
    for look in looks:
        bare = look.lstrip()
        if bare.startswith("["):
            inside, _, rest = bare[1:].partition("]")
            numbered = inside.strip().isdigit() and rest.lstrip().startswith("[")
            handle = inside.partition("+")[0]
            is_id = handle.startswith("MEM-") or (len(handle) >= _SHORTEST_ID and not set(handle.lower()) - _HEX)
            ours = bare.startswith("[path:") or numbered or (rest[:1] == " " and is_id)
        elif bare.startswith("<"):
            name = bare[1:30].lstrip("/ ").partition(">")[0].partition(" ")[0]
            ours = ">" in bare and name.lower() in _APART
        else:
            ours = bare.startswith((HEADER, "--- End Memory")) or bare[:11].lower().startswith(_OURS)
        if ours:
            start = len(line) - len(line.lstrip())
            return f"{line[:start]}\\{line[start:]}"
    return line
