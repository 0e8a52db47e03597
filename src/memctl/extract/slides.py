"""Presentations (.pptx): each slide with its title as heading, its text, tables, diagrams and speaker notes."""

from collections.abc import Iterator
from typing import Any

from memctl.extract import Document, Limits
from memctl.extract.container import unpacked
from memctl.extract.guard import library
from memctl.extract.places import Lines, row_of
from memctl.extract.slides_hidden import Hiding
from memctl.extract.word import child_of, local

_TITLES = ("title", "ctrTitle")
#: Placeholders that are not what the slide says: its number and the date.
_FURNITURE = ("sldNum", "dt", "hdr")
_DEEPEST = 8


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of a .pptx file."""
    pptx = library("pptx", "python-pptx", name)
    package = unpacked(data, name, limits)
    lines = Lines(name, limits)
    writer = _Writer(lines, library("pptx.oxml", "python-pptx", name).parse_xml)
    show = pptx.Presentation(package.file())
    hiding = Hiding(int(show.slide_width or 0), int(show.slide_height or 0))
    for number, slide in enumerate(show.slides, 1):
        lines.at(f"slide {number}")
        for text in hiding.take(slide):
            lines.hide(text)
        if slide.element.get("show") in ("0", "false"):
            lines.hide(writer.apart(slide, number, Lines(name, limits)))
        else:
            writer.slide(slide, number)
    return lines.document("markdown", title=package.title())


class _Writer:
    """Writes slide after slide; a footer that all of them have is written once."""

    __slots__ = ("_footers", "_lines", "_parse")

    def __init__(self, lines: Lines, parse: Any) -> None:
        self._lines, self._parse = lines, parse
        self._footers: set[str] = set()

    def apart(self, slide: Any, number: int, lines: Lines) -> str:
        """The text of a slide that is hidden as a whole, written to lines of its own."""
        shown, self._lines = self._lines, lines
        self.slide(slide, number)
        self._lines = shown
        return lines.document("markdown").text

    def slide(self, slide: Any, number: int) -> None:
        shapes = list(_shapes(slide.element))
        titles = [" ".join(text.split()) for shape in shapes if _role(shape) in _TITLES for text in [_text(shape)]]
        title = " ".join(words for words in titles if words) or f"Slide {number}"
        self._lines.add(f"# {title}")
        for shape in shapes:
            self._shape(shape, _role(shape))
        for relation in slide.part.rels.values():
            if not relation.is_external and relation.reltype.endswith(("/diagramData", "/chart")):
                self._drawing(relation.target_part)
        if slide.has_notes_slide:
            self._notes(slide.notes_slide.element)

    def _shape(self, shape: Any, role: str) -> None:
        if local(shape) == "graphicFrame":
            for table in _below(shape, "tbl"):
                self._table(table)
        elif role == "ftr":
            text = " ".join(_text(shape).split())
            if text and text not in self._footers:
                self._footers.add(text)
                self._lines.add(f"Footer: {text}")
        elif role not in (*_TITLES, *_FURNITURE):
            self._paragraphs(shape, listed=role not in ("", "subTitle"))

    def _paragraphs(self, shape: Any, *, listed: bool) -> None:
        """Paragraphs of a placeholder become list items by their level, those of a text box lines."""
        self._lines.gap()
        for paragraph in _below(shape, "p"):
            text = _runs(paragraph).strip()
            if not text:
                continue
            if listed:
                indent = "  " * _level(paragraph)
                text = f"{indent}- " + text.replace("\n", f"\n{indent}  ")
            self._lines.add(text, "item")
        self._lines.gap()

    def _table(self, table: Any) -> None:
        self._lines.gap()
        for row in _below(table, "tr"):
            self._lines.add(row_of([_text(cell) for cell in _below(row, "tc")]), "row")
        self._lines.gap()

    def _drawing(self, part: Any) -> None:
        """The words of a diagram (SmartArt), the title and axes of a chart."""
        element = getattr(part, "element", None)
        root = element if element is not None else self._parse(part.blob)
        self._lines.gap()
        for paragraph in _below(root, "p"):
            self._lines.add(_runs(paragraph).strip(), "item")
        self._lines.gap()

    def _notes(self, notes: Any) -> None:
        body = [text for shape in _shapes(notes) if _role(shape) == "body" if (text := _text(shape).strip())]
        if body:
            self._lines.add("Notes: " + "\n".join(body))


def _shapes(element: Any) -> Iterator[Any]:
    """The shapes of a slide in the order of the file, those in groups too; of alternatives the first."""
    for child in element:
        name = local(child)
        if name in ("sp", "graphicFrame", "cxnSp"):
            yield child
        elif name != "Fallback":
            yield from _shapes(child)


def _role(shape: Any) -> str:
    """What a placeholder is for: title, body, ftr, …; "" for a shape that is none."""
    own = child_of(shape, "nvSpPr")
    properties = child_of(own, "nvPr") if own is not None else None
    placeholder = child_of(properties, "ph") if properties is not None else None
    return "" if placeholder is None else str(placeholder.get("type", "obj"))


def _below(element: Any, name: str) -> Iterator[Any]:
    """The nearest elements below that have this local name."""
    for child in element:
        if local(child) == name:
            yield child
        else:
            yield from _below(child, name)


def _text(container: Any) -> str:
    return "\n".join(_runs(paragraph) for paragraph in _below(container, "p"))


def _runs(paragraph: Any) -> str:
    """The text of a paragraph with its breaks and fields."""
    parts: list[str] = []
    for child in paragraph:
        name = local(child)
        if name in ("r", "fld"):
            text = child_of(child, "t")
            parts.append("" if text is None else text.text or "")
        elif name == "br":
            parts.append("\n")
    return "".join(parts)


def _level(paragraph: Any) -> int:
    properties = child_of(paragraph, "pPr")
    level = "" if properties is None else str(properties.get("lvl", ""))
    return min(int(level), _DEEPEST) if level.isdecimal() else 0
