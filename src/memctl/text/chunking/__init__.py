"""Cutting a text into passages: the pieces that are stored, searched and given to a model.

A passage is whole lines of the source, so that its line range is exact; sections and definitions stay whole where
they fit; and all of the text is in some passage, once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memctl.text.chunking.outline import headline, outline
from memctl.text.chunking.split import INNER, CutRules, Marks, ranges

if TYPE_CHECKING:
    from memctl.extract import Document

#: The aim for a passage, in tokens: several of them fit a block, and one still says what it is about.
TARGET_TOKENS = 400
#: The limit of a passage, in tokens, unless the caller gives one.
MAX_TOKENS = 1800
#: How long a heading may be, in characters.
MAX_HEADING = 240
#: The kinds that are no prose, so that no heading in them says what the whole is called.
_UNWRITTEN = ("code", "data", "table")
#: Languages whose parts go on to the next heading, not to the end of an indented block.
_SECTIONED = ("toml", "ini")


class Passage(NamedTuple):
    """One piece of a text.

    text     the lines start..end, without blank lines around them; part of a line only where that one is too long
    start    the first line, counted from 1
    end      the last line, inclusive
    heading  where it stands: "Guide > Install" in prose, "Foo.bar" in code, the header row in a table; "" if nowhere
    """

    text: str
    start: int
    end: int
    heading: str


def chunk(
    source: "Document | str",
    *,
    kind: str = "text",
    language: str = "",
    max_tokens: int = MAX_TOKENS,
    target_tokens: int = TARGET_TOKENS,
    breaks: Sequence[int] = (),
) -> list[Passage]:
    """The passages of a document, or of a text with its kind and language, in order.

    None is longer than `max_tokens` (four characters each); they aim at `target_tokens` and may reach half as much
    again to keep a part whole. Blank text has no passage. At the lines `breaks` (from 1, rising) a text of its own
    begins: no passage and no heading path goes across.
    """
    text = source if isinstance(source, str) else source.text
    if not isinstance(source, str):
        kind, language = source.kind, source.language
    code = kind in ("code", "data")
    out: list[Passage] = []
    for lines_before, part in _parts(text, breaks):
        if code:
            from memctl.text.chunking.code import code_outline

            rules = CutRules(fill=65, indents=True)
            marks = code_outline(part, language, INNER if language in _SECTIONED else 1)
        elif kind == "table":
            marks, rules = _row_marks(part) if '"' in part else Marks([], [], []), CutRules(paragraphs=False)
        else:
            marks, rules = outline(part, kind), CutRules(eager=True)
        cuts = ranges(part, marks, rules, max_tokens=max_tokens, target_tokens=target_tokens)
        table = _table_heading(part) if kind == "table" else ""
        walk = _HeadingWalk(marks, separator="." if code else " > ", indented=code and language not in _SECTIONED)
        for body, start, end, offset in _trimmed(part, cuts):
            named = kind != "table" and marks.offsets
            heading = walk.path(offset, offset + len(body), body)[:MAX_HEADING] if named else table
            out.append(Passage(body, start + lines_before, end + lines_before, heading))
    return out


def title_of(document: "Document", name: str) -> str:
    """What a document is called: what it says itself, else its format's own title, else the file's stem."""
    own = "" if document.kind in _UNWRITTEN else headline(document.text, document.kind)
    if own or document.title:
        return own or document.title
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = base.rpartition(".")[0]
    return (stem if stem.strip(".") else base) or name


def _parts(text: str, breaks: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(number of lines before it, text) of each part of a text that is divided before the lines `breaks`."""
    at = before = 0
    for wanted in breaks:
        start, passed = at, before
        while before < wanted - 1 and (end := text.find("\n", at)) >= 0:
            at, before = end + 1, before + 1
        if at > start:
            yield passed, text[start:at]
    yield before, text[at:]


def _row_marks(text: str) -> Marks:
    """Where rows begin in a table some of whose quoted fields go over several lines; no marks when none does.

    A line opens such a field when it has an odd number of quotes, and one of them where a field begins; the next line
    with an odd number closes it.
    """
    found = Marks([], [], [])
    at, inside, divided = 0, False, False
    for line in text.split("\n"):
        if inside:
            divided = True
        else:
            found.add(at, INNER, "")
        if line.count('"') % 2:
            inside = not inside and (line.startswith('"') or any(start in line for start in (',"', ';"', '\t"')))
        at += len(line) + 1
    return found if divided else Marks([], [], [])


def _table_heading(text: str) -> str:
    """The first line of a table that is not blank, at most 120 characters; that of a sheet with the sheet's name."""
    first, _, rest = text.lstrip().partition("\n")
    if not first.startswith("# "):
        return first[:120].rstrip()
    below = rest.lstrip().partition("\n")[0]
    return f"{first[2:].strip()[:120]}{' > ' if below else ''}{below[:120].rstrip()}"


def _trimmed(text: str, cuts: Iterable[tuple[int, int]]) -> Iterator[tuple[str, int, int, int]]:
    """(body, first line, last line, offset) of each range that is not blank, without the blank lines at its ends."""
    line, counted = 1, 0
    for start, end in cuts:
        piece = text[start:end]
        filled = piece.lstrip()
        if not filled:
            continue
        first = piece.rfind("\n", 0, len(piece) - len(filled)) + 1
        last = piece.find("\n", len(piece.rstrip()))
        body = piece[first:last] if last >= 0 else piece[first:]
        offset = start + first
        begin = line + text.count("\n", counted, offset)
        line, counted = begin + body.count("\n"), offset + len(body)
        yield body, begin, line, offset


class _HeadingWalk:
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
        offsets, ranks, names = self._marks
        begun = self._enter(start)
        if not begun and not self._open:
            until = bisect_right(offsets, start + (end - start) // 3, self._at)
            soon = next((at for at in range(self._at, until) if names[at]), -1)
            begun = soon >= 0 and self._enter(offsets[soon])
        path = self._open
        if self._indented:
            limit = 2 * _indent(body)
            if begun:  # the rank from which on parts have ended before the last line, by its indent
                last = body.rfind("\n") + 1
                line = body[last : last + 200]
                indent = _indent(line)
                # These stand no deeper than the first line of what they close.
                closes = line.startswith(("}", ")", "]", "end"), indent)
                limit = 2 * indent + closes if last else 2 * INNER
            path = [part for part in path if part[0] < limit]
        if begun:
            at, until = self._at, bisect_left(offsets, end, self._at)
            further = [ranks[i] - (not names[i]) for i in range(at, until)]  # of the parts that are not entered yet
            strongest = min(further, default=2 * INNER)
            path = [part for part in path if part[0] < strongest] or self._open[:-1]
        return self._separator.join([name for _, name in path])

    def _enter(self, offset: int) -> bool:
        """Open all parts that begin up to `offset`; whether the last one begins just there and has a name."""
        offsets, ranks, names = self._marks
        at, end, stack = self._at, len(offsets), self._open
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


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))
