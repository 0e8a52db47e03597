"""Cutting a text into passages: the pieces that are stored, searched and given to a model.

A passage is whole lines of the source, so that its line range is exact; sections and definitions stay whole where
they fit; and all of the text is in some passage, once.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from memctl.text.chunking.marks import INNER, SECTIONED, Marks, Walk, no_marks
from memctl.text.chunking.outline import headline, outline
from memctl.text.chunking.split import Rules, Size, ranges

#: The aim for a passage, in tokens: several of them fit a block, and one still says what it is about.
TARGET_TOKENS = 400
#: The limit of a passage, in tokens, unless the caller gives one.
MAX_TOKENS = 1800
#: How long a heading may be, in characters.
MAX_HEADING = 240
#: The kinds that are no prose, so that no heading in them says what the whole is called.
_UNWRITTEN = ("code", "data", "table")
#: Where a quoted field of a table begins, but for the first of a row.
_FIELD_STARTS = (',"', ';"', '\t"')


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


class Source(Protocol):
    """What `chunk` needs to know of a document (`extract.Document` is one)."""

    @property
    def text(self) -> str:
        """The text, its lines ended by line feeds."""

    @property
    def kind(self) -> str:
        """Which structure it has: markdown, rst, asciidoc, org, latex, man, code, data, table or text."""

    @property
    def language(self) -> str:
        """The programming or data language, "" if none."""


def chunk(
    source: Source | str,
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
    return [
        piece._replace(start=piece.start + before, end=piece.end + before) if before else piece
        for before, part in _parts(text, breaks)
        for piece in _cut(part, kind, language, max_tokens, target_tokens)
    ]


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


def _cut(text: str, kind: str, language: str, max_tokens: int, target_tokens: int) -> list[Passage]:
    """The passages of a text that is in one part."""
    marks, rules = _outline(text, kind, language)
    pieces = _trimmed(text, ranges(text, marks, Size.of(max_tokens, target_tokens, rules.fill), rules))
    if kind == "table":
        header = _header(text)
        return [Passage(body, start, end, header) for body, start, end, _ in pieces]
    if not marks.offsets:
        return [Passage(body, start, end, "") for body, start, end, _ in pieces]
    code = kind in ("code", "data")
    return list(
        _with_headings(
            pieces, Walk(marks, separator="." if code else " > ", indented=code and language not in SECTIONED)
        )
    )


def chunk_paragraphs(text: str, max_tokens: int = MAX_TOKENS) -> list[tuple[str, int, int]]:
    """Paragraphs packed up to `max_tokens`: (text, first line, last line), lines counted from 1, the last inclusive."""
    return [piece[:3] for piece in chunk(text, max_tokens=max_tokens, target_tokens=max_tokens)]


def title_of(document: Source, name: str) -> str:
    """What a document is called: what it says itself, else its format's own title, else the file's stem."""
    if document.kind not in _UNWRITTEN:
        first = headline(document.text, document.kind)
        if first:
            return first
    title: str = getattr(document, "title", "")
    if title:
        return title
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = base.rpartition(".")[0] if base.rpartition(".")[0].strip(".") else base
    return stem or name


def _outline(text: str, kind: str, language: str) -> tuple[Marks, Rules]:
    """The borders of a text of this kind, and the rules for choosing among them and beyond."""
    if kind in ("code", "data"):
        from memctl.text.chunking import code

        return code.marks(text, language), Rules(fill=65, indents=True)
    if kind == "table":
        return _row_marks(text) if '"' in text else no_marks(), Rules(paragraphs=False)
    return outline(text, kind), Rules(eager=True)


def _row_marks(text: str) -> Marks:
    """Where rows begin in a table some of whose quoted fields go over several lines; no marks when none does.

    A line opens such a field when it has an odd number of quotes, and one of them where a field begins; the next line
    with an odd number closes it.
    """
    found = no_marks()
    at, inside, divided = 0, False, False
    for line in text.split("\n"):
        if inside:
            divided = True
        else:
            found.add(at, INNER, "")
        if line.count('"') % 2:
            inside = not inside and (line.startswith('"') or any(start in line for start in _FIELD_STARTS))
        at += len(line) + 1
    return found if divided else no_marks()


def _trimmed(text: str, found: Iterator[tuple[int, int]]) -> Iterator[tuple[str, int, int, int]]:
    """(body, first line, last line, offset) of each range that is not blank, without the blank lines at its ends."""
    line, counted = 1, 0
    for start, end in found:
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


def _with_headings(pieces: Iterator[tuple[str, int, int, int]], walk: Walk) -> Iterator[Passage]:
    for body, start, end, offset in pieces:
        yield Passage(body, start, end, walk.path(offset, offset + len(body), body)[:MAX_HEADING])


def _header(text: str) -> str:
    """The first line of a table that is not blank, at most 120 characters; that of a sheet with the sheet's name."""
    first, rest = _first_line(text)
    if not first.startswith("# "):
        return first[:120].rstrip()
    below = _first_line(rest)[0]
    return f"{first[2:].strip()[:120]}{' > ' if below else ''}{below[:120].rstrip()}"


def _first_line(text: str) -> tuple[str, str]:
    """The first line that is not blank, without white space before it, and what follows it."""
    lead = len(text) - len(text.lstrip())
    end = text.find("\n", lead)
    return (text[lead:end], text[end:]) if end >= 0 else (text[lead:], "")
