"""How passages are written down: the frames of a recall block, and the other documented forms of items for a model.

`Compact` is format_version 2, the default; `Full` is version 1, which older programs parse; `Frame` writes the passages
alone. docs/formats.md has the grammar of both versions.
"""

from collections.abc import Iterable, Mapping, Sequence

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.text import jsons
from memctl.text.block.markers import COMPACT, FOOTER, HEADER
from memctl.text.block.packing import META_CHARS, BlockEntry, Labels, block_entry, build
from memctl.text.clean import one_line
from memctl.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memctl.store.documents.passages import SourcePosition

#: What `Full` writes; what `recall` prints by default is `Compact.version`.
FORMAT_VERSION = 1


class Frame:
    """How passages are written down; this one writes them alone, a blank line between them (`--frame none`).

    version    the format_version that a reader is told
    line_cost  what a content line costs beside its characters: the indent and the line break
    """

    version = 2
    line_cost = 1

    def around(self, count: int) -> int:  # noqa: ARG002 - nothing stands around them
        """What stands around `count` passages costs at most, in characters, the last line break included."""
        return 0

    def cost(self, p: BlockEntry, count: int) -> int:  # noqa: ARG002 - the same for all
        """What one of `count` passages costs without its content, at most: here the blank line after it."""
        return 1

    def write(self, passages: Sequence[BlockEntry]) -> tuple[str, int]:
        """The block without its final line break, and its cost in tokens with it."""
        text = "\n\n".join("\n".join(p.lines) for p in passages)
        return text, estimate_tokens(text + "\n")


class Compact(Frame):
    """Version 2: a line for each passage, its content indented by one blank, so that no content line can be one.

    Without `header` (`--no-header`) the passages stand alone.
    """

    line_cost = 2
    head = f"{HEADER}\n{COMPACT}, best first\n"

    def __init__(self, *, header: bool = True) -> None:
        self.header = header

    def around(self, count: int) -> int:
        """The header and the footer."""
        return len(self.head) + len(f"{FOOTER}{count}) ---\n") if self.header else 0

    def cost(self, p: BlockEntry, count: int) -> int:  # noqa: ARG002 - the rank is not in it
        """The line of a passage, with line numbers as long as they can get when it is cut."""
        longest = len(compact_line(p))
        if p.span:
            longest = max(longest, len(compact_line(p._replace(span=(p.span[1], p.span[1])))))
        return longest + 1

    def write(self, passages: Sequence[BlockEntry]) -> tuple[str, int]:
        """Header, passages, footer."""
        out = [self.head] if self.header else []
        day = ""
        for p in passages:
            out.append(f"{compact_line(p, day)}\n")
            out += [f" {line}".rstrip() + "\n" for line in p.lines]
            day = p.date
        text = "".join(out)
        text = f"{text}{FOOTER}{len(passages)}) ---" if self.header else text.removesuffix("\n")
        return text, estimate_tokens(text + "\n")


#: Marks of a passage's line in a block.
_MARKS = frozenset(':;>"')


def compact_line(p: BlockEntry, day: str = "") -> str:
    """`[a3185e] docs/auth.md:12-19 > Tokens; ltm`, or `[a3185e] 2026-11-20 Auth decision; trust: low (model)`.

    What is not the usual about a passage is said: its tier, its validation, whose word it is, what it stands for. A
    statement of which there is nothing else to say does not repeat `day`, that of the one above it.
    """
    facts = [] if p.tier == "stm" else [p.tier]
    if p.validation != "unverified":
        facts.append(p.validation)
    if p.trust:
        facts.append(f"trust: {p.trust}")
    facts += p.facts
    if p.path:
        path = p.path
        if not _MARKS.isdisjoint(path):  # in JSON's quotes where it could be taken for one of the line's own
            path = jsons.encode(path)
        said = f"{path}:{place_within(p)}" + (f" > {p.heading}" if p.heading else "")
    else:
        date = "" if p.date == day and not p.heading and not facts else p.date
        said = " ".join(filter(None, (date, p.heading)))
    more = f"+{len(p.ids) - 1}" if len(p.ids) > 1 else ""
    return f"[{p.handle}{more}] {'; '.join(part for part in (said, *facts) if part)}".rstrip()


def place_within(p: BlockEntry) -> str:
    """Where in its document a passage stands: lines, a page or the like, else its number."""
    if p.span:
        return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in p.spans or [p.span])
    return p.anchor or f"chunk {p.chunk}"


# --- version 1 --------------------------------------------------------------------------------------------------------


class Full(Frame):
    """Version 1: what older programs read. `head` are the lines up to `used`; None leaves header and footer out."""

    version = 1
    line_cost = 5

    def __init__(self, head: Sequence[str] | None, budget_tokens: int) -> None:
        self.head, self._digits = head, len(str(max(budget_tokens, 0)))

    def around(self, count: int) -> int:
        """Header and footer with the longest number that `used` can be: it has no more digits than the budget."""
        return 0 if self.head is None else len(self._text([], 10**self._digits - 1, count)) + 1

    def cost(self, p: BlockEntry, count: int) -> int:
        """The lines around it; line numbers may grow to those of its end when it is cut."""
        widest = p._replace(span=(p.span[1], p.span[1])) if p.span else p
        frame = [*self._above(p if len(str(p.span)) > len(str(widest.span)) else widest), *self._below(p), ""]
        return sum(len(line) + 1 for line in frame) + len(f"[{count}] ")

    def write(self, passages: Sequence[BlockEntry]) -> tuple[str, int]:
        """The block, which says its own cost."""
        rendered = []
        for rank, p in enumerate(passages, 1):
            lines = [*self._above(p), *(f"    {line}" for line in p.lines), *self._below(p), ""]
            rendered.append(f"[{rank}] " + "\n".join(lines))
        if self.head is None:  # each passage ends in a line break; the last one's ends the output
            text = "\n".join(rendered).removesuffix("\n")
            return text, estimate_tokens(text + "\n")
        used = 0
        while True:
            text = self._text(rendered, used, len(rendered))
            now = estimate_tokens(text + "\n")
            if now <= used:  # a smaller number with fewer digits may still say a little too much, never too little
                return text, used
            used = now

    def _text(self, rendered: Sequence[str], used: int, count: int) -> str:
        footer = f"{FOOTER}format_version=1, {count} items, {used} tokens) ---"
        return "\n".join([*(self.head or ()), f"used: {used}", "", *rendered, footer])

    @staticmethod
    def _above(p: BlockEntry) -> list[str]:
        """The lines above a passage: what it is called and where it stands."""
        title = f"[{p.tier.upper()}:{p.validation}] {p.type} — {p.title}"
        if not p.path:
            return [title]
        where = f" lines:{p.span[0]}-{p.span[1]}" if p.span else f" at:{p.anchor}" if p.anchor else ""
        return [title, f"    [path:{p.path} chunk:{p.chunk}{where}]"]

    @staticmethod
    def _below(p: BlockEntry) -> list[str]:
        """The lines below a passage: where it comes from, and what else is known of it."""
        out = [
            f"    provenance: {p.provenance}",
            *([f"    trust: {p.trust}"] if p.trust else []),
            f"    tags: {one_line(', '.join(p.tags), META_CHARS) or 'none'}",
            f"    confidence: {p.confidence:.2f}",
        ]
        if p.entities:
            out.append(f"    entities: {one_line(', '.join(p.entities), META_CHARS)}")
        return out


# --- documented forms -------------------------------------------------------------------------------------------------


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
    places, labels = places or {}, Labels(cwd)
    item_ids = [str(item.get("id", "") if isinstance(item, Mapping) else item.id) for item in items]
    passages = [block_entry(item, places.get(item_id), labels) for item_id, item in zip(item_ids, items, strict=True)]
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
