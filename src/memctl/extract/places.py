"""Texts that are made from a file, and where in the file their lines stand."""

import re
from bisect import bisect_left
from collections.abc import Iterable

from memctl.extract import Anchor, Document, Hidden, Limits, Unreadable
from memctl.extract.hidden import joined
from memctl.text.clean import clean

#: Where the limits are set.
EXPANDED = "ingest.max_expanded_mb in config.json"
TOO_MUCH_TEXT = f"it holds more text than the limit on expanded size allows ({EXPANDED})"
#: A place that is one of a numbered series.
_NUMBERED = re.compile(r"([a-z]+) (\d+)\Z")
#: How many empty cells side by side a table's row shows one by one.
EMPTY = 8
_LINE_ENDS = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def one_kind_of_line_end(text: str) -> str:
    """The text with line feeds for whatever else ends a line, page or record; no NUL, no lone surrogate."""
    return _LINE_ENDS.sub("\n", clean(text))


class Lines:
    """Collects the text of a document block by block, and notes at which line a place begins."""

    __slots__ = ("_anchors", "_before", "_breaks", "_coming", "_hidden", "_left", "_line", "_name", "_parts", "_place")

    def __init__(self, name: str, limits: Limits) -> None:
        self._name, self._left = name, limits.expanded
        self._parts: list[str] = []
        self._line = 1  # where the next line comes to stand
        self._before = ""
        self._coming: tuple[str, int | None, bool] | None = None
        self._anchors: list[Anchor] = []
        self._breaks: list[int] = []
        self._hidden: list[Hidden] = []
        self._place = ""

    def at(self, place: str, row: int | None = None, *, apart: bool = False) -> None:
        """What is added from here on stands at `place`; with `apart`, never in one passage with what is before it."""
        self._coming = (place, row, apart or bool(self._coming and self._coming[2]))
        self._place = place

    def add(self, text: str, what: str = "") -> None:
        """A block of text after a blank line, or right below a block that is the same `what` ("item", "row")."""
        text = one_kind_of_line_end(text).strip("\n").rstrip()
        if not text:
            return
        self._count(text)
        if self._parts and not (what and what == self._before):
            self._parts.append("\n")
            self._line += 1
        self._before = what
        self._mark()
        self._parts.append(text + "\n")
        self._line += text.count("\n") + 1

    def hide(self, text: str, place: str | None = None) -> None:
        """A text that the document hides, where the next block stands, or at another place."""
        text = one_kind_of_line_end(text).strip("\n").rstrip()
        self._count(text)
        self._hidden.append(Hidden(text, self._place if place is None else place))

    def _count(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise Unreadable(path=self._name, reason=TOO_MUCH_TEXT)

    def gap(self) -> None:
        """The next block stands apart by a blank line, even from its like."""
        self._before = ""

    def once(self, texts: Iterable[str], mark: str) -> None:
        """Headers or footers: each that says something on a line behind `mark`, equal ones once."""
        for text in dict.fromkeys(texts):
            self.add(f"{mark}{text}" if text.strip() else "", "margin")

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return not self._parts and not joined(self._hidden)

    def document(self, kind: str, *, title: str = "", notes: tuple[str, ...] = ()) -> Document:
        """All of it, as a document."""
        title = " ".join(one_kind_of_line_end(title).split())[:1000]
        anchors, breaks = tuple(self._anchors), tuple(self._breaks)
        text = "".join(self._parts)
        return Document(
            text, kind, notes=notes, title=title, lines_are_source=False, anchors=anchors, breaks=breaks,
            hidden=joined(self._hidden),
        )  # fmt: skip

    def _mark(self) -> None:
        if self._coming is None:
            return
        place, row, apart = self._coming
        self._coming = None
        self._anchors.append(Anchor(self._line, place, row))
        if apart and self._line > 1:
            self._breaks.append(self._line)


def row_of(cells: Iterable[str]) -> str:
    """The cells of a table's row on one line, joined by |.

    Empty ones at its end are left out; more than EMPTY of them in a row become one with an ellipsis.
    """
    words: list[str] = []
    empty = 0
    for cell in cells:
        text = " ".join(cell.split())
        if not text:
            empty += 1
            continue
        words += ["…"] if empty > EMPTY else [""] * empty
        words.append(text)
        empty = 0
    return " | ".join(words)


def place_of(anchors: tuple[Anchor, ...], first: int, last: int) -> str:
    """What `extract.anchor_at` answers."""
    start, end = bisect_left(anchors, (first + 1,)) - 1, bisect_left(anchors, (last + 1,)) - 1
    if end < 0:
        return ""
    start = max(start, 0)  # the text before the first anchor is at no place
    here, there = anchors[start], anchors[end]
    if here.place != there.place:
        return _range(here.place, there.place)
    if here.row is None and start < end:  # a title line of its own above the rows
        here = anchors[start := start + 1]
        first = here.line
    if here.row is None or there.row is None:
        return here.place
    return here.place + _rows(here.row + max(0, first - here.line), there.row + last - there.line)


def _range(first: str, last: str) -> str:
    one, other = _NUMBERED.match(first), _NUMBERED.match(last)
    if one and other and one[1] == other[1]:
        return f"{one[1]}s {one[2]}-{other[2]}"
    return f"{first} to {last}"


def _rows(first: int, last: int) -> str:
    return f" row {first}" if first >= last else f" rows {first}-{last}"
