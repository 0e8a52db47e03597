"""Citations in an answer, checked against the places that really stood in its context.

A place is what the line above a passage says: `[a3185e] docs/api.md:12-40 > Errors` (in blocks of version 1 the second
line of its frame: `[path:docs/api.md chunk:3 lines:12-40]`, `at:page 3`). An answer cites it as `[docs/api.md:14]`,
`[docs/api.md:12-20]`, `[report.pdf:page 3]` or, where a passage has neither, `[notes.docx:chunk 2]`. Bare
`docs/api.md:14` and `docs/api.md#L14` are citations too.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from memctl.extract import is_ingestable, suffix_of
from memctl.text.block.markers import FOOTER, HEADER

#: What an answer is asked for with --cite.
REQUEST = """\
Right after each statement, cite the place that it is from: the path and the lines, as the line above the passage \
gives them, in square brackets: `[docs/api.md:14]` or `[docs/api.md:12-20]`; `[report.pdf:page 3]` or \
`[notes.docx:chunk 2]` where it names no lines. Cite nothing that is not in the context. If the context does not \
answer the question, say so."""

_FRAME = re.compile(
    r"^ {4}\[path:(?P<path>.+) chunk:(?P<first>\d+)(?:-(?P<last>\d+))?"
    r"(?: lines:(?P<start>\d+)-(?P<end>\d+)| at:(?P<at>.+))?\]$",
    re.MULTILINE,
)

#: The same in a block of version 2, where no line of a text begins like this; one that begins with a day is of no
#: document.
_LINE = re.compile(
    r"^\[[^\]\s]+\] (?!\d{4}-\d\d-\d\d(?:[ ;]|$))(?P<path>\"(?:[^\"\\\n]|\\.)*\"|[^:;>\"\n]+):"
    r"(?:(?P<lines>\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*)"
    r"|chunk (?P<first>\d+)(?:-(?P<last>\d+))?|(?P<at>[A-Za-z][^;>\n]*?))(?: > .*|; .*)?$",
    re.MULTILINE,
)
_COMPACT = re.compile(
    rf"^{re.escape(HEADER)}\nformat_version: 2\b.*\n(?P<inside>(?:.*\n)*?){re.escape(FOOTER)}", re.MULTILINE
)

#: The chunk of a passage whose line does not name it.
_NO_CHUNK = -1


class ContextPlace(NamedTuple):
    """Where a passage of the context stands: lines (1-based, inclusive), or an anchor such as "page 3", or neither."""

    path: str
    chunks: tuple[int, int]
    lines: tuple[int, int] | None = None
    anchor: str = ""

    def __str__(self) -> str:
        if self.lines:
            return f"{self.path}:{self.lines[0]}-{self.lines[1]}"
        first, last = self.chunks
        return f"{self.path}:{self.anchor or (f'chunk {first}' if first == last else f'chunk {first}-{last}')}"


class Citation(NamedTuple):
    """A place that an answer names, and whether it was in its context."""

    source: str
    known: bool


def context_places(context: str) -> list[ContextPlace]:
    """The places of the passages in a context, in its order, each once."""
    found: dict[ContextPlace, None] = {}
    for match in _FRAME.finditer(context):
        chunks = int(match["first"]), int(match["last"] or match["first"])
        span = (int(match["start"]), int(match["end"])) if match["start"] else None
        found[ContextPlace(match["path"], chunks, span, match["at"] or "")] = None
    for block in _COMPACT.finditer(context):
        for match in _LINE.finditer(block["inside"]):
            path = json.loads(match["path"]) if match["path"].startswith('"') else match["path"]
            first = int(match["first"] or _NO_CHUNK)
            for part in (match["lines"] or "").split(", "):
                start, _, end = part.partition("-")
                span = (int(start), int(end or start)) if start else None
                place = ContextPlace(path, (first, int(match["last"] or first)), span, match["at"] or "")
                found[place] = None
    return list(found)


def check_citations(answer: str, known: Sequence[ContextPlace], *, below: str = "") -> list[Citation]:
    """The citations of an answer in their order, each once, and whether each was in the context.

    below  a folder's path as the context shows it ("docs/"): its files may be cited relative to it
    """
    sources: dict[str, bool] = {}
    by_path: dict[str, list[ContextPlace]] = {}
    for place in known:
        for name in {place.path, place.path.removeprefix(below)}:
            by_path.setdefault(name, []).append(place)
    for path, where in _cited(re.sub(_FRAMED, _as_citation, answer), by_path):
        held = by_path.get(path) or by_path.get(path.removeprefix("./")) or ()
        sources[f"{path}:{where}" if where else path] = _shows(held, where)
    return [Citation(source, there) for source, there in sources.items()]


# --- reading an answer ------------------------------------------------------------------------------------------

_NUMBERS = r"L?\d{1,7}(?:\s?[-\u2013]\s?L?\d{1,7})?"
_LINES = rf"{_NUMBERS}(?:,\s?{_NUMBERS})*"
_SERIES = r"(?:pages?|slides?|cells?|chunks?)\s\d{1,7}(?:\s?[-\u2013]\s?\d{1,7})?"
#: What may follow a path: lines in three spellings, or a place in a series; in brackets, any other place as well.
_WHERE = (
    rf"[`'\"*]{{0,2}}(?::(?:\s?lines?\s)?(?P<lines>{_LINES})(?![\w.]\w)|#(?P<hash>L\d{{1,7}}(?:-L?\d{{1,7}})?)"
    rf"|,?\s\(?(?:lines?\s(?P<words>{_LINES})|(?P<of>{_SERIES}))"
    rf"|:\s?(?P<at>{_SERIES}|[A-Za-z][^\[\]\n]{{0,120}}(?=\])))"
)
#: A path that is not in the context: a word with a suffix or a folder in it, in brackets also one with blanks.
_BARE = r"(?<![\w/.:@~+-])(?P<path>/?(?:[\w.@~+-]+/)*[\w.@+-]+)"
_BRACKETED = r"\[(?:path:)?(?P<path>[^\[\]:\n]{1,300})"
#: The spelling of a passage's frame, in brackets: models copy it.
_FRAMED = (
    r"\[(?:path:)?(?P<path>[^\[\]\n]{1,300}?)(?: chunk:(?P<chunk>\d{1,7}(?:-\d{1,7})?))?"
    r"(?: lines:(?P<lines>\d{1,7}(?:-\d{1,7})?)| at:(?P<at>[^\[\]\n]{1,120}))?\]"
)
#: A document as a whole; what has an address after it is a link.
_WHOLE = _BRACKETED + r"\](?!\()"


def _as_citation(match: re.Match[str]) -> str:
    """A frame's spelling of a place as a citation; other brackets as they are."""
    where = match["lines"] or match["at"] or (match["chunk"] and f"chunk {match['chunk']}")
    return f"[{match['path']}:{where}]" if where else match[0]


def _cited(answer: str, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """(path, place) of what the answer cites, by position; known paths are recognised whatever they look like."""
    names = sorted((name for name in known if name in answer), key=len, reverse=True)
    shapes = [(f"(?P<path>{re.escape(name)}){_WHERE}", _stands_alone) for name in names]
    shapes += [(_BRACKETED + _WHERE, _is_path), (_BARE + _WHERE, _is_path)]
    found: dict[int, tuple[str, str]] = {}
    for shape, is_citation in shapes:
        pieces, end = [], 0
        for match in filter(is_citation, re.finditer(shape, answer)):
            lines = match["lines"] or match["hash"] or match["words"]
            if lines is None:
                where = " ".join((match["at"] or match["of"]).split())
            else:
                where = lines.replace("L", "").replace("\u2013", "-").replace(" ", "")
            found[match.start("path")] = (match["path"].strip(), where)
            # It is blanked out, so that no shorter name is read there again.
            pieces += [answer[end : match.start()], " " * len(match[0])]
            end = match.end()
        answer = "".join([*pieces, answer[end:]])
    for match in re.finditer(_WHOLE, answer):
        path = match["path"].strip("`* ")
        if path in known or (suffix_of(path) and is_ingestable(path)):
            found[match.start("path")] = (path, "")
    for start in sorted(found):
        path, where = found[start]
        for part in where.split(",") if where[:1].isdigit() else [where]:
            yield path, part


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a known path is not the end of a longer one."""
    before = match.string[max(0, match.start() - 2) : match.start()]
    return before == "./" or not (before[-1:].isalnum() or before[-1:] in {"_", "/", "-"})


def _is_path(match: re.Match[str]) -> bool:
    """Whether what stands before a number names a file: not a host and its port, a time, a verse."""
    path, before = match["path"].strip(), match.string[max(0, match.start("path") - 12) : match.start("path")]
    if "://" in before + path or path.startswith("//"):
        return False
    suffix, bracketed = suffix_of(path), match.string[match.start()] == "["
    if (suffix or bracketed) and is_ingestable(path):  # "TODO: 3" is a heading, "[TODO:3]" a place
        return True
    lines_of_one = bracketed and match["lines"] is not None and any(map(str.isalpha, path))
    return "/" in path and (suffix[1:].isalnum() or lines_of_one)


# --- comparing --------------------------------------------------------------------------------------------------


def _shows(held: Sequence[ContextPlace], where: str) -> bool:
    """Whether these passages of one file show this place, all of it; any passage shows the file."""
    if not where:
        return bool(held)
    wanted = _numbers(where)
    if wanted is not None and where[:1].isdigit():
        return _covered(wanted, [p.lines for p in held if p.lines])
    series, numbers = _series(where)
    if series == "chunk" and numbers:
        return _covered(numbers, [p.chunks for p in held])
    for anchor in (p.anchor for p in held if p.anchor):
        theirs, span = _series(anchor)
        if numbers is None and (theirs == series or theirs.startswith(series + " ")):
            return True
        if numbers is not None and theirs == series and span is not None and _covered(numbers, [span]):
            return True
    return False


def _covered(wanted: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    line = wanted[0]
    for start, end in sorted(spans):
        if start <= line <= end:
            line = end + 1
    return line > wanted[1] >= wanted[0]


def _series(where: str) -> tuple[str, tuple[int, int] | None]:
    """ "slides 2-5" as ("slide", (2, 5)): words without case and plural, and the numbers at the end."""
    words = where.casefold().split()
    numbers = _numbers(words[-1]) if words else None
    if numbers is not None:
        words = words[:-1]
    if words and len(words[-1]) > 2:
        words[-1] = words[-1].removesuffix("s")
    return " ".join(words), numbers


def _numbers(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    if not (first.isascii() and first.isdigit()) or (dash and not (last.isascii() and last.isdigit())):
        return None
    return int(first), int(last or first)
