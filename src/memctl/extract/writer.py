"""Texts that are made from a file: where in the file their lines stand, and what the file hides, apart from them.

Hidden text is for programs, or for the models that read what programs extract. It is read, but never as if a person
could see it: each stretch becomes a passage of its own that says `hidden`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memctl.extract import Anchor, Document, Hidden, Limits, Unreadable
from memctl.text.clean import clean

#: Where the limits are set.
EXPANDED = "ingest.max_expanded_mb in config.json"
TOO_MUCH_TEXT = f"it holds more text than the limit on expanded size allows ({EXPANDED})"
#: How many empty cells side by side a table's row shows one by one.
EMPTY = 8
#: How deep a list item is indented at most.
DEEPEST_ITEM = 8
#: Text of this height in points, or less, cannot be read by anybody.
TINY_POINTS = 2.0
_LINE_ENDS = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
#: How long a chain of styles is followed: they may be based on each other in a ring.
_CHAIN = 10


def one_kind_of_line_end(text: str) -> str:
    """The text with line feeds for whatever else ends a line, page or record; no NUL, no lone surrogate."""
    return _LINE_ENDS.sub("\n", clean(text))


class DocumentWriter:
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

    def begin_place(self, place: str, row: int | None = None, *, apart: bool = False) -> None:
        """What is added from here on stands at `place`; with `apart`, never in one passage with what is before it."""
        self._coming = (place, row, apart or bool(self._coming and self._coming[2]))
        self._place = place

    def add(self, text: str, what: str = "") -> None:
        """A block of text after a blank line, or right below a block that is the same `what` ("item", "row")."""
        text = self._counted(text)
        if not text:
            return
        if self._parts and not (what and what == self._before):
            self._parts.append("\n")
            self._line += 1
        self._before = what
        if self._coming is not None:
            place, row, apart = self._coming
            self._coming = None
            self._anchors.append(Anchor(self._line, place, row))
            if apart and self._line > 1:
                self._breaks.append(self._line)
        self._parts.append(text + "\n")
        self._line += text.count("\n") + 1

    def add_item(self, text: str, depth: int) -> None:
        """A list item at this depth, from 0; of several lines the later ones are indented below the first."""
        indent = "  " * min(depth, DEEPEST_ITEM)
        text = text.strip().replace("\n", f"\n{indent}  ")
        self.add(f"{indent}- {text}" if text else "", "item")

    def add_once(self, texts: Iterable[str], mark: str) -> None:
        """Headers or footers: each that says something on a line behind `mark`, equal ones once."""
        for text in dict.fromkeys(texts):
            self.add(f"{mark}{text}" if text.strip() else "", "margin")

    def add_gap(self) -> None:
        """The next block stands apart by a blank line, even from its like."""
        self._before = ""

    def hide(self, text: str, place: str | None = None) -> None:
        """A text that the document hides, where the next block stands, or at another place."""
        self._hidden.append(Hidden(self._counted(text), self._place if place is None else place))

    def _counted(self, text: str) -> str:
        """The text without line ends around it, which counts towards the limit."""
        text = one_kind_of_line_end(text).strip("\n").rstrip()
        self._left -= len(text)
        if self._left < 0:
            raise Unreadable(path=self._name, reason=TOO_MUCH_TEXT)
        return text

    def document(self, kind: str, *, title: str = "", notes: tuple[str, ...] = ()) -> Document:
        """All of it, as a document."""
        return Document(
            "".join(self._parts),
            kind,
            notes=notes,
            title=" ".join(one_kind_of_line_end(title).split())[:1000],
            lines_are_source=False,
            anchors=tuple(self._anchors),
            breaks=tuple(self._breaks),
            hidden=join_hidden(self._hidden),
        )


def join_hidden(found: Iterable[Hidden]) -> tuple[Hidden, ...]:
    """Hidden texts, those that follow each other at one place as one."""
    out: list[Hidden] = []
    for one in found:
        if not one.text.strip():
            continue
        if out and out[-1].place == one.place and not one.line:
            out[-1] = out[-1]._replace(text=f"{out[-1].text}\n{one.text.strip()}")
        else:
            out.append(one._replace(text=one.text.strip("\n")))
    return tuple(out)


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


class TextLook(NamedTuple):
    """What a style of an office document says of its text; None where it says nothing."""

    shown: bool | None = None
    white: bool | None = None
    filled: bool | None = None
    points: float | None = None

    def over(self, other: "TextLook") -> "TextLook":
        """This look, and where it says nothing what `other` says."""
        return other._replace(**{name: value for name, value in self._asdict().items() if value is not None})

    @property
    def is_hidden(self) -> bool:
        """Whether nobody can read such text: it is not shown, tiny, or white on nothing."""
        tiny = self.points is not None and self.points <= TINY_POINTS
        return self.shown is False or tiny or bool(self.white and not self.filled)


def inherited_looks(own: Mapping[str, tuple[str, TextLook]]) -> dict[str, TextLook]:
    """What each style says with the styles it is based on. `own`: style -> (its base, what it says itself)."""
    out = {}
    for style in own:
        look, name = TextLook(), style
        for _ in range(_CHAIN):
            base, its = own.get(name, ("", TextLook()))
            look, name = look.over(its), base
        out[style] = look
    return out
