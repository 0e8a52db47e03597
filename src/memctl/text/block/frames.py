"""The block of version 1, which older programs parse, and the other documented forms of items for a model."""

from collections.abc import Iterable, Mapping, Sequence

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.text.block.markers import FOOTER, HEADER
from memctl.text.block.packing import META_CHARS, BlockEntry, Frame, Labels, block_entry, build
from memctl.text.clean import one_line
from memctl.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memctl.store.documents.passages import SourcePosition

#: What `Full` writes; what `recall` prints by default is `packing.Compact.version`.
FORMAT_VERSION = 1


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
