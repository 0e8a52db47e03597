"""How passages are written down in a block: what stands around all of them, and around each.

`Compact` is format_version 2, the default; `Full` is version 1, for programs that parse it; `Bare` writes the passages
alone. docs/formats.md has the grammar of both versions.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from memctl.text import estimate_tokens
from memctl.text.block.markers import COMPACT, FOOTER, HEADER
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.text.block.packing import BlockEntry

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

    def around(self, count: int) -> int:  # noqa: ARG002 - nothing stands around them
        """What stands around `count` passages costs at most, in characters, the last line break included."""
        return 0

    def cost(self, p: "BlockEntry", count: int) -> int:  # noqa: ARG002 - the same for all
        """What one of `count` passages costs without its content, at most: here the blank line after it."""
        return 1

    def write(self, passages: Sequence["BlockEntry"]) -> tuple[str, int]:
        """The block without its final line break, and its cost in tokens with it."""
        raise NotImplementedError


# --- version 2 ----------------------------------------------------------------------------------------------------


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
        return len(self.head) + len(compact_footer(count)) + 1 if self.header else 0

    def cost(self, p: "BlockEntry", count: int) -> int:  # noqa: ARG002 - the rank is not in it
        """The line of a passage, with line numbers as long as they can get when it is cut."""
        widest = p._replace(span=(p.span[1], p.span[1])) if p.span else p
        return max(len(compact_line(p)), len(compact_line(widest))) + 1

    def write(self, passages: Sequence["BlockEntry"]) -> tuple[str, int]:
        """Header, passages, footer.

        A statement of which there is nothing else to say does not repeat the day of the one above it.
        """
        out = [self.head] if self.header else []
        day = ""
        for p in passages:
            same = p.date == day and not p.heading and not _facts(p)
            day = p.date
            out.append(f"{compact_line(p._replace(date='') if same else p)}\n")
            out += [f" {line}".rstrip() + "\n" for line in p.lines]
        text = "".join(out)
        text = text + compact_footer(len(passages)) if self.header else text.removesuffix("\n")
        return text, estimate_tokens(text + "\n")


def compact_footer(count: int) -> str:
    """The last line of a block of version 2."""
    return f"{FOOTER}{count}) ---"


def compact_line(p: "BlockEntry") -> str:
    """`[a3185e] docs/auth.md:12-19 > Tokens; ltm`, or `[a3185e] 2026-11-20 Auth decision; trust: low (model)`."""
    if p.path:
        path = p.path
        if any(mark in path for mark in ':;>"'):  # in JSON's quotes where it could be taken for one of the line's own
            import json

            path = json.dumps(path, ensure_ascii=False)
        said = " > ".join(filter(None, (f"{path}:{place_within(p)}", p.heading)))
    else:
        said = " ".join(filter(None, (p.date, p.heading)))
    more = f"+{len(p.ids) - 1}" if len(p.ids) > 1 else ""
    line = f"[{p.handle}{more}] {'; '.join(part for part in (said, *_facts(p)) if part)}"
    return line.rstrip()


def place_within(p: "BlockEntry") -> str:
    """Where in its document a passage stands: lines, a page or the like, else its number."""
    if p.span:
        return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in p.spans or [p.span])
    return p.anchor or f"chunk {p.chunk}"


def _facts(p: "BlockEntry") -> list[str]:
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

    def write(self, passages: Sequence["BlockEntry"]) -> tuple[str, int]:
        """Their contents."""
        text = "\n\n".join("\n".join(p.lines) for p in passages)
        return text, estimate_tokens(text + "\n")


# --- version 1 ----------------------------------------------------------------------------------------------------


class Full(Frame):
    """Version 1: what older programs read. `head` are the lines up to `used`; None leaves header and footer out."""

    version = 1
    line_cost = 5

    def __init__(self, head: Sequence[str] | None, budget_tokens: int) -> None:
        self.head, self._digits = head, len(str(max(budget_tokens, 0)))

    def around(self, count: int) -> int:
        """Header and footer with the longest number that `used` can be: it has no more digits than the budget."""
        return 0 if self.head is None else len(self._text([], 10**self._digits - 1, count)) + 1

    def cost(self, p: "BlockEntry", count: int) -> int:
        """The lines around it; line numbers may grow to those of its end when it is cut."""
        widest = p._replace(span=(p.span[1], p.span[1])) if p.span else p
        frame = [*self._above(p if len(str(p.span)) > len(str(widest.span)) else widest), *self._below(p), ""]
        return sum(len(line) + 1 for line in frame) + len(f"[{count}] ")

    def write(self, passages: Sequence["BlockEntry"]) -> tuple[str, int]:
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
    def _above(p: "BlockEntry") -> list[str]:
        """The lines above a passage: what it is called and where it stands."""
        title = f"[{p.tier.upper()}:{p.validation}] {p.type} — {p.title}"
        if not p.path:
            return [title]
        where = f" lines:{p.span[0]}-{p.span[1]}" if p.span else f" at:{p.anchor}" if p.anchor else ""
        return [title, f"    [path:{p.path} chunk:{p.chunk}{where}]"]

    @staticmethod
    def _below(p: "BlockEntry") -> list[str]:
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
