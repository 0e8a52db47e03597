"""Word documents (.docx): Markdown from the body, then footnotes, comments, headers and footers."""

from collections.abc import Iterable, Iterator
from typing import Any

from memctl.extract import Document, Limits
from memctl.extract.container import unpacked
from memctl.extract.guard import library
from memctl.extract.places import Lines, row_of
from memctl.extract.word_hidden import Hiding

#: What holds no text of its own, or text that was deleted, moved away, or stands there a second time.
_SKIPPED = frozenset(("pPr", "rPr", "del", "moveFrom", "Fallback", "sdtPr", "sdtEndPr", "tblPr", "tblGrid"))
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES = {"footnoteReference": "", "endnoteReference": "e"}
#: Relationship type (its last word), the element that holds one note, how that is marked.
_PARTS = (
    ("footnotes", "footnote", "[^{}]: "),
    ("endnotes", "endnote", "[^e{}]: "),
    ("comments", "comment", "Comment: "),
)
_MARGINS = (("header", "Header: "), ("footer", "Footer: "))
_DEEPEST = 8
#: The place of what does not stand in the body.
AFTER_BODY = "notes, headers and footers"


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of a .docx file."""
    docx = library("docx", "python-docx", name)
    package = unpacked(data, name, limits)
    word = docx.Document(package.file())
    lines = Lines(name, limits)
    hiding = Hiding(word.styles.element, word.element)
    for text in hiding.take(word.element.body):
        lines.hide(text)
    writer = _Writer(lines, _styles(word.styles.element))
    writer.blocks(word.element.body)
    lines.at(AFTER_BODY, apart=True)
    for kind, what, mark in _PARTS:
        for part in _related(word.part, kind):
            root = _root(docx, part)
            for text in hiding.take(root):
                lines.hide(text)
            for note in _children(root, (what,)):
                text = _words(note)
                lines.add(mark.format(_attribute(note, "id")) + text if text else "")
    for kind, mark in _MARGINS:
        roots = [_root(docx, part) for part in _related(word.part, kind)]
        for text in (text for root in roots for text in hiding.take(root)):
            lines.hide(text)
        lines.once([_words(root) for root in roots], mark)
    return lines.document("markdown", title=package.title())


class _Style:
    """What a paragraph's style says: the level of the heading (0 if none), and whether it is a list item."""

    __slots__ = ("level", "listed")

    def __init__(self, level: int, *, listed: bool) -> None:
        self.level, self.listed = level, listed


_PLAIN = _Style(0, listed=False)


class _Writer:
    """Goes through the body in the order of the document."""

    __slots__ = ("_lines", "_styles")

    def __init__(self, lines: Lines, styles: dict[str, _Style]) -> None:
        self._lines, self._styles = lines, styles

    def blocks(self, container: Any) -> None:
        for child in container:
            name = local(child)
            if name == "p":
                self._paragraph(child)
            elif name == "tbl":
                self._table(child)
            elif name not in _SKIPPED:  # content controls, tracked insertions: what is in them counts
                self.blocks(child)

    def _paragraph(self, paragraph: Any) -> None:
        parts: list[str] = []
        boxes: list[Any] = []
        _gather(paragraph, parts, boxes)
        text = "".join(parts)
        style, depth = self._look(paragraph)
        if style.level and text.strip():
            self._lines.add(f"{'#' * style.level} {' '.join(text.split())}")
        elif style.listed:
            indent = "  " * min(depth, _DEEPEST)
            item = text.strip().replace("\n", f"\n{indent}  ")
            self._lines.add(f"{indent}- {item}" if item else "", "item")
        else:
            self._lines.add(text if text.strip() else "")
        for box in boxes:
            self.blocks(box)

    def _look(self, paragraph: Any) -> tuple[_Style, int]:
        """(style, depth in a list) of a paragraph: what it says itself comes before what its style says."""
        properties = child_of(paragraph, "pPr")
        if properties is None:
            return _PLAIN, 0
        named = child_of(properties, "pStyle")
        style = self._styles.get(_attribute(named, "val"), _PLAIN)
        level, listed, depth = _own(properties)
        return _Style(style.level if level is None else level, listed=style.listed if listed is None else listed), depth

    def _table(self, table: Any) -> None:
        self._lines.gap()
        for row in _children(table, ("tr",)):
            self._lines.add(row_of([_words(cell) for cell in _children(row, ("tc",))]), "row")
        self._lines.gap()


def local(element: Any) -> str:
    """An element's name without its namespace; "" for comments and processing instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def child_of(element: Any, name: str) -> Any:
    """The first child of that local name, None if there is none."""
    return next((child for child in element if local(child) == name), None)


def _children(element: Any, names: Iterable[str]) -> Iterator[Any]:
    """The nearest elements below that have one of these names."""
    for child in element:
        name = local(child)
        if name in names:
            yield child
        elif name not in _SKIPPED:
            yield from _children(child, names)


def _attribute(element: Any, name: str) -> str:
    """An attribute by its local name, "" if there is none."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _gather(element: Any, parts: list[str], boxes: list[Any]) -> None:
    """Collect the text of a paragraph, and apart from it the text boxes that hang on it."""
    for child in element:
        name = local(child)
        if name == "t":
            parts.append(child.text or "")
        elif name in _SIGNS:
            parts.append(_SIGNS[name])
        elif name in _NOTES:
            parts.append(f"[^{_NOTES[name]}{_attribute(child, 'id')}]")
        elif name == "txbxContent":
            boxes.append(child)
        elif name not in _SKIPPED:
            _gather(child, parts, boxes)


def _words(container: Any) -> str:
    """All text below, its paragraphs and boxes on one line."""
    parts: list[str] = []
    for paragraph in _children(container, ("p",)):
        boxes: list[Any] = []
        _gather(paragraph, parts, boxes)
        parts.append(" ")
        parts.extend(_words(box) + " " for box in boxes)
    return " ".join("".join(parts).split())


def _own(properties: Any) -> tuple[int | None, bool | None, int]:
    """(heading level, is a list item, depth) as paragraph properties say it; None where they do not."""
    outline = _attribute(child_of(properties, "outlineLvl"), "val")
    level = (int(outline) + 1 if int(outline) < 9 else 0) if outline.isdecimal() else None
    numbering = child_of(properties, "numPr")
    if numbering is None:
        return _capped(level), None, 0
    depth = _attribute(child_of(numbering, "ilvl"), "val")
    listed = _attribute(child_of(numbering, "numId"), "val") != "0"  # 0 takes the style's numbering away
    return _capped(level), listed, int(depth) if depth.isdecimal() else 0


def _capped(level: int | None) -> int | None:
    return None if level is None else min(level, 6)


def _styles(root: Any) -> dict[str, _Style]:
    """Style id -> what it says, with what it takes from the style it is based on."""
    own: dict[str, tuple[str, int | None, bool | None]] = {}
    for style in root:
        if local(style) != "style":
            continue
        properties = child_of(style, "pPr")
        level, listed, _ = _own(properties) if properties is not None else (None, None, 0)
        called = _attribute(child_of(style, "name"), "val").lower()
        if called == "title":
            level = 1
        elif called.startswith("heading ") and called[8:].isdecimal():
            level = min(int(called[8:]), 6)
        own[_attribute(style, "styleId")] = (_attribute(child_of(style, "basedOn"), "val"), level, listed)
    return {name: _resolved(name, own) for name in own}


def _resolved(name: str, own: dict[str, tuple[str, int | None, bool | None]]) -> _Style:
    level: int | None = None
    listed: bool | None = None
    for _ in range(10):  # styles may be based on each other in a ring
        base, its_level, its_listed = own.get(name, ("", None, None))
        level = its_level if level is None else level
        listed = its_listed if listed is None else listed
        name = base
    return _Style(level or 0, listed=bool(listed))


def _related(part: Any, kind: str) -> Iterator[Any]:
    """The parts that the main part refers to as its footnotes, headers, …, in the order of the file."""
    for relation in part.rels.values():
        if not relation.is_external and relation.reltype.endswith(f"/{kind}"):
            yield relation.target_part


def _root(docx: Any, part: Any) -> Any:
    """The XML tree of a part, whether the library has parsed it or not."""
    element = getattr(part, "element", None)
    return element if element is not None else docx.oxml.parse_xml(part.blob)
