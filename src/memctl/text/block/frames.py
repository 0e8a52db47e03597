"""How passages are written down in a block: what stands around all of them, and around each.

`Compact` is format_version 2, the default; `Full` is version 1, for programs that parse it; `Bare` writes the passages
alone. docs/formats.md has the grammar of both versions.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from memctl.text.clean import one_line
from memctl.text.echo import COMPACT, FOOTER, HEADER
from memctl.text.tokens import CHARS_PER_TOKEN

if TYPE_CHECKING:
    from memctl.text.block.block import Passage

#: The name of a frame, as `--frame` and `recall.frame` say it.
FrameName = Literal["compact", "full", "none"]

META_CHARS = 300


class Frame:
    """How passages are written down.

    version    the format_version that a reader is told
    line_cost  what a content line costs beside its characters: the indent and the line break
    """

    version = 2
    line_cost = 1

    def around(self, count: int) -> int:
        """What stands around so many passages costs at most, in characters, the last line break included."""
        raise NotImplementedError

    def cost(self, p: "Passage", count: int) -> int:
        """What one of `count` passages costs without its content, at most."""
        raise NotImplementedError

    def write(self, passages: Sequence["Passage"]) -> tuple[str, int]:
        """The block without its final line break, and its cost in tokens with it."""
        raise NotImplementedError

    def body(self, p: "Passage") -> int:
        """What the content of a passage costs, in characters."""
        return sum(len(line) for line in p.lines) + self.line_cost * len(p.lines)


def tokens_of(text: str) -> int:
    """What a block costs with the line break that ends it."""
    return -(-(len(text) + 1) // CHARS_PER_TOKEN)


# --- version 2 ----------------------------------------------------------------------------------------------------


class Compact(Frame):
    """Version 2: a line for each passage, its content indented by one blank, so that no content line can be one."""

    line_cost = 2
    head = f"{HEADER}\n{COMPACT}, best first\n"

    def around(self, count: int) -> int:
        """The header and the footer."""
        return len(self.head) + len(self._footer(count)) + 1

    def cost(self, p: "Passage", count: int) -> int:  # noqa: ARG002 - the rank is not in it
        """The line of a passage, with line numbers as long as they can get when it is cut."""
        widest = p._replace(span=(p.span[1], p.span[1])) if p.span else p
        return max(len(compact_line(p)), len(compact_line(widest))) + 1

    def write(self, passages: Sequence["Passage"]) -> tuple[str, int]:
        """Header, passages, footer."""
        text = self.head + self.inside(passages) + self._footer(len(passages))
        return text, tokens_of(text)

    def inside(self, passages: Sequence["Passage"]) -> str:
        """The passages, each line with its line break.

        A statement of which there is nothing else to say does not repeat the day of the one above it.
        """
        out: list[str] = []
        day = ""
        for p in passages:
            same = p.date == day and not p.heading and not _facts(p)
            day = p.date
            out.append(f"{compact_line(p._replace(date='') if same else p)}\n")
            out += [f" {line}".rstrip() + "\n" for line in p.lines]
        return "".join(out)

    @staticmethod
    def _footer(count: int) -> str:
        return compact_footer(count)


def compact_footer(count: int) -> str:
    """The last line of a block of version 2."""
    return f"{FOOTER}{count}) ---"


class Headless(Compact):
    """Version 2 without header and footer (`--no-header`)."""

    def around(self, count: int) -> int:  # noqa: ARG002 - nothing stands around them
        """Nothing."""
        return 0

    def write(self, passages: Sequence["Passage"]) -> tuple[str, int]:
        """The passages with their lines."""
        text = self.inside(passages).removesuffix("\n")
        return text, tokens_of(text)


def compact_line(p: "Passage") -> str:
    """`[a3185e] docs/auth.md:12-19 > Tokens; ltm`, or `[a3185e] 2026-11-20 Auth decision; trust: low (model)`."""
    parts = (" > ", compact_place(p), p.heading) if p.path else (" ", p.date, p.heading)
    said = parts[0].join(part for part in parts[1:] if part)
    more = f"+{len(p.ids) - 1}" if len(p.ids) > 1 else ""
    line = f"[{p.handle}{more}] {'; '.join(part for part in (said, *_facts(p)) if part)}"
    return line.rstrip()


def compact_place(p: "Passage") -> str:
    """Where a passage of a document stands, as an answer would cite it; "" for what stands in none."""
    return f"{_quoted(p.path)}:{place_within(p)}" if p.path else ""


def place_within(p: "Passage") -> str:
    """Where in its document a passage stands: lines, a page or the like, else its number."""
    if p.span:
        return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in p.spans or [p.span])
    return p.anchor or f"chunk {p.chunk}"


def _quoted(path: str) -> str:
    """A path as it is, in JSON's quotes where a character of it could be taken for one of the line's own."""
    if not any(mark in path for mark in ':;>"'):
        return path
    import json

    return json.dumps(path, ensure_ascii=False)


def _facts(p: "Passage") -> list[str]:
    """What is not the usual about a passage: its tier, its validation, whose word it is, what it stands for."""
    out = [] if p.tier == "stm" else [p.tier]
    if p.validation != "unverified":
        out.append(p.validation)
    if p.trust:
        out.append(f"trust: {p.trust}")
    return [*out, *p.facts]


# --- the passages alone ---------------------------------------------------------------------------------------------


class Bare(Frame):
    """The passages alone, a blank line between them (`--frame none`)."""

    def around(self, count: int) -> int:  # noqa: ARG002 - nothing stands around them
        """Nothing."""
        return 0

    def cost(self, p: "Passage", count: int) -> int:  # noqa: ARG002 - the same for all
        """The blank line after it."""
        return 1

    def write(self, passages: Sequence["Passage"]) -> tuple[str, int]:
        """Their contents."""
        text = "\n\n".join("\n".join(p.lines) for p in passages)
        return text, tokens_of(text)


# --- version 1 ----------------------------------------------------------------------------------------------------


class Full(Frame):
    """Version 1: what older programs read. `head` are the lines up to `used`; None leaves header and footer out."""

    version = 1
    line_cost = 5

    def __init__(self, head: Sequence[str] | None, budget_tokens: int) -> None:
        self.head, self._digits = head, len(str(max(budget_tokens, 0)))

    def around(self, count: int) -> int:
        """Header and footer with the longest number that `used` can be: it has no more digits than the budget."""
        return 0 if self.head is None else len(_full_text(self.head, [], 10**self._digits - 1, count)) + 1

    def cost(self, p: "Passage", count: int) -> int:
        """The lines around it; line numbers may grow to those of its end when it is cut."""
        widest = p._replace(span=(p.span[1], p.span[1])) if p.span else p
        frame = [*_full_head(p if len(str(p.span)) > len(str(widest.span)) else widest), *_full_tail(p), ""]
        return sum(len(line) + 1 for line in frame) + len(f"[{count}] ")

    def write(self, passages: Sequence["Passage"]) -> tuple[str, int]:
        """The block, which says its own cost."""
        rendered = [f"[{rank}] {_full(p)}" for rank, p in enumerate(passages, 1)]
        if self.head is None:  # each passage ends in a line break; the last one's ends the output
            text = "\n".join(rendered).removesuffix("\n")
            return text, tokens_of(text)
        used = 0
        while True:
            text = _full_text(self.head, rendered, used, len(rendered))
            now = tokens_of(text)
            if now <= used:  # a smaller number with fewer digits may still say a little too much, never too little
                return text, used
            used = now


def _full_text(head: Sequence[str], rendered: Sequence[str], used: int, count: int) -> str:
    footer = f"{FOOTER}format_version=1, {count} items, {used} tokens) ---"
    return "\n".join([*head, f"used: {used}", "", *rendered, footer])


def _full(p: "Passage") -> str:
    return "\n".join([*_full_head(p), *(f"    {line}" for line in p.lines), *_full_tail(p), ""])


def _full_head(p: "Passage") -> list[str]:
    title = f"[{p.tier.upper()}:{p.validation}] {p.type} — {p.title}"
    if not p.path:
        return [title]
    where = f" lines:{p.span[0]}-{p.span[1]}" if p.span else f" at:{p.anchor}" if p.anchor else ""
    return [title, f"    [path:{p.path} chunk:{p.chunk}{where}]"]


def _full_tail(p: "Passage") -> list[str]:
    out = [
        f"    provenance: {p.provenance}",
        *([f"    trust: {p.trust}"] if p.trust else []),
        f"    tags: {one_line(', '.join(p.tags), META_CHARS) or 'none'}",
        f"    confidence: {p.confidence:.2f}",
    ]
    if p.entities:
        out.append(f"    entities: {one_line(', '.join(p.entities), META_CHARS)}")
    return out
