"""Where a text may be cut, and what its parts are called: the outline that cutting works on."""

import re
from bisect import bisect_left
from typing import NamedTuple

#: Ranks from here on are borders inside one section (paragraphs, list items); below are headings and definitions.
INNER = 1000
#: Borders inside one section, best first: between paragraphs, list items, and parts of these.
PARAGRAPH, ITEM, SUB_ITEM = INNER, INNER + 1, INNER + 2
#: Before what the lines above introduce (they end in a colon): a list, a table, an example. The last place to cut at.
INTRODUCED = INNER + 3
#: Definitions in prose (a directive, an option of a command) are below all headings, and deeper by their indent.
DEFINITION = 500
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

    def drop(self) -> None:
        """Take the last border back."""
        for column in self:
            column.pop()


def no_marks() -> Marks:
    """The outline of a text that has none."""
    return Marks([], [], [])


def clean_title(title: str) -> str:
    """A heading's text without closing hashes, an `{#id}`, emphasis, code marks and link targets; 120 characters."""
    title = " ".join(title[:400].split()).rstrip("¶")
    if title.endswith("}"):
        title = re.sub(r"\s*\{[^{}]*\}$", "", title)
    if title.endswith("#"):
        title = re.sub(r"(?:^|\s)#+$", "", title)
    if "](" in title:
        title = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", title)
    return title.replace("`", "").replace("**", "").strip()[:120]


def indent_of(text: str, start: int) -> int:
    """By how many columns the line at `start` is indented; a tab goes to the next multiple of eight."""
    at, column = start, 0
    while (char := text[at : at + 1]) in (" ", "\t") and char:
        column = column + 1 if char == " " else (column // 8 + 1) * 8
        at += 1
    return column


def is_introduced(text: str, start: int) -> bool:
    """Whether the last line above `start` that is not blank ends in a colon: it introduces what follows."""
    at = start - 1
    while at >= 0 and text[at].isspace():
        at -= 1
    return at >= 0 and text[at] == ":"


#: How long a term may be, and what it does not begin with: a list item, a table, markup, something typed at a prompt.
_LONGEST_TERM = 70
_NO_TERM = ("..", "- ", "* ", "+ ", "• ", "|", "+-", ">>>", "$ ", "# ", "//", "{", "[", "(", "==", "--- ", '"', "<")


def term_at(text: str, start: int, indent: int) -> str:
    """The term in the line at `start` that the text below it, indented further, explains; "" if it is none.

    `-o, --output FILE` and `-o   Write to a file` are such lines, and `timeout` above an indented paragraph.
    """
    end = text.find("\n", start)
    if not indent and text[end + 1 : end + 2] not in (" ", "\t") and not text.startswith("-", start):
        return ""  # most paragraphs: nothing below is indented
    line = text[start:end].strip() if end >= 0 else text[start:].strip()
    if not line or line.startswith(_NO_TERM):
        return ""
    name = line.partition("\t")[0].partition("  ")[0].rstrip()
    if len(name) > _LONGEST_TERM:
        return ""
    if line[0] == "-" and len(name) < len(line):
        return name
    if end < 0 or len(line) > _LONGEST_TERM or line[-1] in ".,;:!?{(":
        return ""
    return (
        name
        if text[end + 1 : end + 2].isspace()
        and indent + 1 < indent_of(text, end + 1)
        and not text[end + 1 : end + 200].partition("\n")[0].isspace()
        else ""
    )


class Definitions:
    """Adds to an outline of prose what is defined by lines above an indented text, and the paragraphs between.

    A definition ends before the next line that stands no deeper than its own.
    """

    __slots__ = ("_found", "_open")

    def __init__(self, found: Marks) -> None:
        self._found = found
        self._open: list[int] = []

    def begin(self, offset: int, indent: int, name: str) -> None:
        """A definition begins at this line."""
        self._leave(indent)
        self._open.append(indent)
        self._found.add(offset, _definition_rank(indent), name)

    def paragraph(self, text: str, offset: int, *, anywhere: bool = False) -> None:
        """A paragraph begins at this line: a term with its explanation, or what ends definitions, or a part of them.

        A term that is indented further than what is defined around it may be code, but for where terms are `anywhere`.
        """
        indent = indent_of(text, offset)
        inside = self._open[-1] + 4 if self._open and self._open[-1] < indent else 0
        term = term_at(text, offset, indent) if anywhere or indent <= inside else ""
        if term:
            self.begin(offset, indent, term)
        elif self._leave(indent):
            self._found.add(offset, _definition_rank(indent) + 1, "")
        elif is_introduced(text, offset):
            self._found.add(offset, INTRODUCED, "")
        else:
            self._found.add(offset, SUB_ITEM if indent > inside else PARAGRAPH, "")

    def close(self) -> None:
        """A heading: it ends all definitions."""
        self._open.clear()

    def _leave(self, indent: int) -> bool:
        left = False
        while self._open and self._open[-1] >= indent:
            self._open.pop()
            left = True
        return left


def _definition_rank(indent: int) -> int:
    return DEFINITION + 2 * min(indent, 200)


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
        Of one that begins inside a part: the parts that its first line is in; if it is in none, the part that begins
        soon, in the first third of the passage.
        """
        begun = self._enter(start) or (not self._open and self._enter_soon(start + (end - start) // 3))
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

    def _enter_soon(self, limit: int) -> bool:
        """Open the next part with a name if it begins up to `limit`; whether it does."""
        offsets, _, names = self._marks
        at, end = self._at, len(offsets)
        while at < end and offsets[at] <= limit:
            if names[at]:
                return self._enter(offsets[at])
            at += 1
        return False

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
