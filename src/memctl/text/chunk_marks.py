"""Where a text may be cut, and what its parts are called: the outline that cutting works on."""

from bisect import bisect_left
from typing import NamedTuple

#: Ranks from here on are borders inside one section (paragraphs, list items); below are headings and definitions.
INNER = 1000
#: Languages whose parts go on to the next heading, not to the end of an indented block.
SECTIONED = ("toml", "ini")
#: How the last line of a part may begin that stands no deeper than its first.
_CLOSERS = ("}", ")", "]", "end")


class Marks(NamedTuple):
    """Borders of a text, in order: three lists of one length, one entry a border.

    offsets  where a part begins, always the first character of a line, strictly rising
    ranks    how deep the part is nested; lower is stronger, and a part ends where one of its rank or lower begins
    names    what the part is called in a heading path; "" for a part without a name (a paragraph, a statement)
    """

    offsets: list[int]
    ranks: list[int]
    names: list[str]

    def add(self, offset: int, rank: int, name: str) -> None:
        """Append a border; one at the last border's place names it rather than standing beside it."""
        if self.offsets and offset <= self.offsets[-1]:
            if offset == self.offsets[-1]:
                self.ranks[-1], self.names[-1] = rank, name
            return
        self.offsets.append(offset)
        self.ranks.append(rank)
        self.names.append(name)


def no_marks() -> Marks:
    """The outline of a text that has none."""
    return Marks([], [], [])


class Walk:
    """Heading paths of passages, asked for in the order of the text: one pass over the marks."""

    __slots__ = ("_at", "_indented", "_marks", "_open", "_separator")

    def __init__(self, marks: Marks, *, separator: str, indented: bool) -> None:
        self._marks, self._separator = marks, separator
        self._indented = indented  # ranks are indents, so a line's own indent tells what it cannot be inside of
        self._at = 0
        self._open: list[tuple[int, str]] = []

    def path(self, start: int, end: int, body: str) -> str:
        """Where the passage `body`, at start..end, stands: names, outermost first.

        Of a passage that begins with a part: the parts that hold all of it, or else those that this part is in.
        Of one that begins inside a part: the parts that its first line is in.
        """
        begun = self._enter(start)
        path = self._open
        if self._indented:
            path = [part for part in path if part[0] < 2 * _indent(body)] if not begun else self._closed(body)
        strongest = self._strongest(end)
        if begun:
            path = [part for part in path if part[0] < strongest] or self._open[:-1]
        return self._separator.join([name for _, name in path])

    def _closed(self, body: str) -> list[tuple[int, str]]:
        """The open parts without those that have ended before the last line of `body`, by its indent."""
        last = body.rfind("\n") + 1
        if not last:
            return self._open
        line = body[last : last + 200]
        indent = _indent(line)
        rank = 2 * indent + (line.startswith(_CLOSERS, indent))
        return [part for part in self._open if part[0] < rank]

    def _enter(self, offset: int) -> bool:
        """Open all parts that begin up to `offset`; whether the last one begins just there and has a name."""
        offsets, ranks, names = self._marks
        at, end, stack = self._at, len(self._marks.offsets), self._open
        while at < end and offsets[at] <= offset:
            name = names[at]
            rank = ranks[at] if name else ranks[at] - 1  # a statement ends the definitions that stand as deep as it
            while stack and stack[-1][0] >= rank:
                stack.pop()
            if name:
                stack.append((rank, name))
            at += 1
        self._at = at
        return at > 0 and offsets[at - 1] == offset and bool(names[at - 1])

    def _strongest(self, end: int) -> int:
        """The strongest rank of the parts that begin before `end` and are not entered yet."""
        offsets, ranks, names = self._marks
        at = self._at
        until = bisect_left(offsets, end, at)
        if at == until:
            return 2 * INNER
        return min([rank if name else rank - 1 for rank, name in zip(ranks[at:until], names[at:until], strict=True)])


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))
