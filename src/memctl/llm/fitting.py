"""A context that is too long for its budget: each of its parts keeps its best.

Blocks of injected memory are in order, so they lose their last passages first; other text keeps the stretch that
speaks most of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memctl.text.block.excerpt import CUT, excerpt
from memctl.text.block.frames import compact_footer
from memctl.text.echo import COMPACT, FOOTER, HEADER, STRUCTURE
from memctl.text.tokens import estimate

#: A passage that is cut keeps at least so many characters of its text, or goes.
LEAST = 60
_GAP = "\n\n"


def fitted(text: str, room: int, words: Sequence[str] = ()) -> str:
    """The text, cut to at most `room` characters if it is longer; `words` are stems of the question."""
    if len(text) <= room:
        return text
    parts = list(_parts(text))
    shares = _shares([len(part) for part in parts], room - len(_GAP) * (len(parts) - 1))
    cut = (_cut(part, share, words) for part, share in zip(parts, shares, strict=True))
    return _GAP.join(part for part in cut if part)


def _parts(text: str) -> Iterator[str]:
    """The blocks of injected memory in a text, and what stands between them."""
    start = 0
    while (first := _header().search(text, start)) and (last := _footer().search(text, first.end())):
        yield from _not_blank(text[start : first.start()])
        yield text[first.start() : last.end()]
        start = last.end()
    yield from _not_blank(text[start:])


def _not_blank(text: str) -> Iterator[str]:
    if text.strip():
        yield text.strip("\n")


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """Room for each: small ones get all they need, the others the same."""
    shares = [0] * len(sizes)
    left = len(sizes)
    for at in sorted(range(len(sizes)), key=lambda at: sizes[at]):
        shares[at] = min(sizes[at], max(0, room) // left)
        room -= shares[at]
        left -= 1
    return shares


def _cut(part: str, room: int, words: Sequence[str]) -> str:
    if len(part) <= room:
        return part
    if part.startswith(HEADER) and _is_block(part):
        return _block(part, room, words)
    return _stretch(part, room, () if part.lstrip().startswith(STRUCTURE) else words)


def _stretch(part: str, room: int, words: Sequence[str]) -> str:
    """The lines that speak most of the question."""
    lines = part.splitlines()
    limit, best = room, ""
    for _ in range(3):  # lines cost less here than in a block, for which an excerpt is made
        cut = excerpt(lines, limit, words)
        text = "\n".join(cut.lines) if cut else ""
        if len(text) > room:
            break
        best, limit = text, limit + room - len(text)
    return best


# --- blocks ------------------------------------------------------------------------------------------------------


def _is_block(part: str) -> bool:
    return part.rpartition("\n")[2].startswith(FOOTER)


def _block(part: str, room: int, words: Sequence[str]) -> str:
    """The block with as many of its passages as fit, the last of them cut."""
    shape = _Compact() if _is_compact(part) else _Full()
    head, *items = shape.items().split(part)
    if not items:
        return ""
    items[-1], _, footer = items[-1].rpartition("\n")
    room -= len(head) + len(footer)
    kept: list[str] = []
    for item in items:
        whole = item.rstrip("\n") + shape.end
        if len(whole) > room:
            rest = shape.shortened(item, room, words)
            if rest:
                kept.append(rest)
            break
        kept.append(whole)
        room -= len(whole)
    return shape.numbered(head, kept, footer) if kept else ""


def _is_compact(part: str) -> bool:
    return part.partition("\n")[2].startswith(COMPACT)


class _Full:
    """How a block of version 1 is taken apart and put together; each passage ends in a blank line."""

    end = "\n\n"

    def items(self) -> re.Pattern[str]:
        return _items()

    def shortened(self, item: str, room: int, words: Sequence[str]) -> str:
        """A passage with its frame and the part of its text that fits; "" when that is next to nothing."""
        lines = item.rstrip("\n").split("\n")
        first = 2 if len(lines) > 1 and lines[1].startswith("    [path:") else 1
        last = next((at for at in range(len(lines) - 1, 0, -1) if lines[at].startswith("    provenance: ")), len(lines))
        return _shortened(lines[:first], lines[first:last], lines[last:], room - 2, words, indent=4)

    def numbered(self, head: str, items: Sequence[str], footer: str) -> str:
        """The block with what its header and footer say of it put right."""
        text = head.rstrip("\n") + "\n\n" + "".join(items) + footer
        used = estimate(text)
        text = re.sub(r"(?m)^used: \d+$", f"used: {used}", text, count=1)
        return re.sub(r"\d+ items, \d+ tokens\) ---$", f"{len(items)} items, {used} tokens) ---", text)


class _Compact(_Full):
    """The same for version 2."""

    end = "\n"

    def items(self) -> re.Pattern[str]:
        return _lines_of_passages()

    def shortened(self, item: str, room: int, words: Sequence[str]) -> str:
        head, *content = item.rstrip("\n").split("\n")
        if f" {CUT}" in content:  # several parts of a document: the first one is left
            content = content[: content.index(f" {CUT}")]
            head = _further_spans().sub("", head, count=1)
        return _shortened([head], content, [], room, words, indent=1)

    def numbered(self, head: str, items: Sequence[str], footer: str) -> str:  # noqa: ARG002 - another number is in it
        return head + "".join(items) + compact_footer(len(items))


def _shortened(
    head: list[str], content: list[str], tail: list[str], room: int, words: Sequence[str], *, indent: int
) -> str:
    bare = [line[indent:] for line in content]
    span = _lines_said().search(head[-1])
    if span and int(span[2]) - int(span[1]) + 1 != len(bare):  # not line for line as in the source
        span = None
    spare = len(span[2]) - len(span[1]) if span else 0
    frame = sum(len(line) + 1 for line in (*head, *tail)) + spare + 1
    cut = excerpt(bare, room - frame, words, indent + 1) if room - frame >= LEAST else None
    if cut is None:
        return ""
    if span:  # say which of them are left
        first, last = int(span[1]) + cut.first, int(span[1]) + cut.last
        head = [*head[:-1], f"{head[-1][: span.start(1)]}{first}-{last}{head[-1][span.end(2) :]}"]
    end = ["", ""] if tail else [""]
    return "\n".join([*head, *((" " * indent + line).rstrip() for line in cut.lines), *tail, *end])


@cache
def _header() -> re.Pattern[str]:
    return re.compile(rf"(?m)^{re.escape(HEADER)}$")


@cache
def _footer() -> re.Pattern[str]:
    return re.compile(rf"(?m)^{re.escape(FOOTER)}.*$")


@cache
def _lines_said() -> re.Pattern[str]:
    return re.compile(r"(?:(?<=\d) lines|^\[[^\]\s]+\] (?!\d{4}-\d\d-\d\d ).+?):(\d+)-(\d+)(?=\]$| > |; |$)")


@cache
def _items() -> re.Pattern[str]:
    return re.compile(r"(?m)^(?=\[\d+\] \[)")


@cache
def _further_spans() -> re.Pattern[str]:
    return re.compile(r"(?<=\d)(?:, \d+(?:-\d+)?)+(?= > |; |$)")


@cache
def _lines_of_passages() -> re.Pattern[str]:
    return re.compile(r"(?m)^(?=\[[^\]\s]+\](?: |$))")
