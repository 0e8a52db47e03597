"""Word documents (.docx): Markdown from the body, then footnotes, comments, headers and footers.

What a document hides is taken out of it first: text that is marked so, white on white, or too small to be read.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from memctl.extract import Document, Limits, library
from memctl.extract.container import attribute, below, local, unpack
from memctl.extract.writer import DocumentWriter, TextLook, inherited_looks, row_of

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
#: The place of what does not stand in the body.
AFTER_BODY = "notes, headers and footers"
#: How long a chain of styles is followed: they may be based on each other in a ring.
_CHAIN = 10
_WHITE = ("ffffff", "fefefe", "fdfdfd")
_NO_FILL = ("", "auto", *_WHITE)


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of a .docx file."""
    docx = library("docx", "python-docx", name)
    package = unpack(data, name, limits)
    word = docx.Document(package.file())
    writer = DocumentWriter(name, limits)
    hidden = _HiddenRuns(word.styles.element, word.element)

    def roots(kind: str) -> Iterator[Any]:
        """The trees of the parts that are the footnotes, headers, … of the document, without their hidden text."""
        for relation in word.part.rels.values():
            if relation.is_external or not relation.reltype.endswith(f"/{kind}"):
                continue
            part = relation.target_part
            root = getattr(part, "element", None)  # the library has parsed some parts, and not others
            root = docx.oxml.parse_xml(part.blob) if root is None else root
            hidden.move(root, writer)
            yield root

    hidden.move(word.element.body, writer)
    _write(word.element.body, writer, _styles(word.styles.element))
    writer.begin_place(AFTER_BODY, apart=True)
    for kind, what, mark in _PARTS:
        for root in roots(kind):
            for note in below(root, what, _SKIPPED):
                text = _words(note)
                writer.add(mark.format(attribute(note, "id")) + text if text else "")
    for kind, mark in _MARGINS:
        writer.add_once([_words(root) for root in list(roots(kind))], mark)
    return writer.document("markdown", title=package.title())


class _ParagraphStyle(NamedTuple):
    """The level of the heading (0 if it is none), and whether it is a list item; None where nothing says so."""

    level: int | None = None
    listed: bool | None = None


def _write(container: Any, writer: DocumentWriter, styles: "dict[str, _ParagraphStyle]") -> None:
    """Write the blocks in a container in the order of the document."""
    for child in container:
        name = local(child)
        if name == "p":
            parts: list[str] = []
            boxes: list[Any] = []
            _gather(child, parts, boxes)
            text = "".join(parts)
            properties = child.find("{*}pPr")
            named, own, depth = _ParagraphStyle(), _ParagraphStyle(), 0
            if properties is not None:  # what it says itself comes before what its style says
                named = styles.get(attribute(properties.find("{*}pStyle"), "val"), named)
                own, depth = _own_style(properties)
            level = named.level if own.level is None else own.level
            if level and text.strip():
                writer.add(f"{'#' * level} {' '.join(text.split())}")
            elif named.listed if own.listed is None else own.listed:
                writer.add_item(text, depth)
            else:
                writer.add(text if text.strip() else "")
            for box in boxes:
                _write(box, writer, styles)
        elif name == "tbl":
            writer.add_gap()
            for row in below(child, "tr", _SKIPPED):
                writer.add(row_of([_words(cell) for cell in below(row, "tc", _SKIPPED)]), "row")
            writer.add_gap()
        elif name not in _SKIPPED:  # content controls, tracked insertions: what is in them counts
            _write(child, writer, styles)


def _gather(element: Any, parts: list[str], boxes: list[Any]) -> None:
    """Collect the text of a paragraph, and apart from it the text boxes that hang on it."""
    for child in element:
        name = local(child)
        if name == "t":
            parts.append(child.text or "")
        elif name in _SIGNS:
            parts.append(_SIGNS[name])
        elif name in _NOTES:
            parts.append(f"[^{_NOTES[name]}{attribute(child, 'id')}]")
        elif name == "txbxContent":
            boxes.append(child)
        elif name not in _SKIPPED:
            _gather(child, parts, boxes)


def _words(container: Any) -> str:
    """All text below, its paragraphs and boxes on one line."""
    parts: list[str] = []
    for paragraph in below(container, "p", _SKIPPED):
        boxes: list[Any] = []
        _gather(paragraph, parts, boxes)
        parts.append(" ")
        parts.extend(_words(box) + " " for box in boxes)
    return " ".join("".join(parts).split())


def _own_style(properties: Any) -> tuple[_ParagraphStyle, int]:
    """What paragraph properties say themselves, and how deep in a list the paragraph is."""
    outline = attribute(properties.find("{*}outlineLvl"), "val")
    level = min(int(outline) + 1 if int(outline) < 9 else 0, 6) if outline.isdecimal() else None
    numbering = properties.find("{*}numPr")
    if numbering is None:
        return _ParagraphStyle(level), 0
    depth = attribute(numbering.find("{*}ilvl"), "val")
    listed = attribute(numbering.find("{*}numId"), "val") != "0"  # 0 takes the style's numbering away
    return _ParagraphStyle(level, listed), int(depth) if depth.isdecimal() else 0


def _styles(root: Any) -> dict[str, _ParagraphStyle]:
    """Style id -> what it says, with what it takes from the style it is based on."""
    own: dict[str, tuple[str, _ParagraphStyle]] = {}
    for style in root.findall("{*}style"):
        properties = style.find("{*}pPr")
        said = _own_style(properties)[0] if properties is not None else _ParagraphStyle()
        called = attribute(style.find("{*}name"), "val").lower()
        if called == "title":
            said = said._replace(level=1)
        elif called.startswith("heading ") and called[8:].isdecimal():
            said = said._replace(level=min(int(called[8:]), 6))
        own[attribute(style, "styleId")] = (attribute(style.find("{*}basedOn"), "val"), said)
    out = {}
    for style_id in own:
        level, listed, name = None, None, style_id
        for _ in range(_CHAIN):
            base, said = own.get(name, ("", _ParagraphStyle()))
            level = said.level if level is None else level
            listed = said.listed if listed is None else listed
            name = base
        out[style_id] = _ParagraphStyle(level, listed)
    return out


# --- what is hidden ---------------------------------------------------------------------------------------------------


class _HiddenRuns:
    """Takes hidden runs out of the parts of one document. `styles` and `body`: the root elements of these parts."""

    __slots__ = ("_looks", "_shading", "_white_page")

    def __init__(self, styles: Any, body: Any) -> None:
        own: dict[str, tuple[str, TextLook]] = {}
        self._shading: set[str] = set()
        for style in styles.findall("{*}style"):
            name = attribute(style, "styleId")
            look = _look(style.find("{*}rPr"), style.find("{*}pPr"))
            own[name] = (attribute(style.find("{*}basedOn"), "val"), look)
            if any(map(_is_filled, style.iter("{*}shd"))):
                self._shading.add(name)
        self._looks = inherited_looks(own)
        self._white_page = attribute(body.find("{*}background"), "color").lower() in _NO_FILL

    def move(self, root: Any, writer: DocumentWriter) -> None:
        """Take the hidden text below `root` out of it and hide it in the writer, a paragraph at a time."""
        for paragraph in list(root.iter("{*}p")):
            words = []
            for run in list(paragraph.iter("{*}r")):
                if next(run.iterancestors("{*}p"), None) is paragraph and self._is_hidden(run, paragraph):
                    words.append("".join(one.text or "" for one in run.iter("{*}t")))
                    run.getparent().remove(run)
            if text := "".join(words).strip():
                writer.hide(text)

    def _is_hidden(self, run: Any, paragraph: Any) -> bool:
        own, around = run.find("{*}rPr"), paragraph.find("{*}pPr")
        look = _look(own, None)
        for style in (_child(own, "rStyle"), _child(around, "pStyle")):
            look = look.over(self._looks.get(attribute(style, "val"), TextLook()))
        look = look.over(_look(None, around))
        above = list(paragraph.iterancestors())
        if any(local(row) == "tr" and row.find("{*}trPr/{*}hidden") is not None for row in above):
            return True
        if look.white and (not self._white_page or any(map(self._is_dark, above))):
            look = look._replace(filled=True)
        return look.is_hidden

    def _is_dark(self, element: Any) -> bool:
        """Whether white can be read in it: shaded cells, tables of a style that shades, boxes, which may be filled."""
        name = local(element)
        if name == "tc":
            return _is_filled(element.find("{*}tcPr/{*}shd"))
        if name == "tbl":
            style = attribute(element.find("{*}tblPr/{*}tblStyle"), "val")
            return _is_filled(element.find("{*}tblPr/{*}shd")) or style in self._shading
        return name == "txbxContent"


def _child(element: Any, name: str) -> Any:
    return None if element is None else element.find(f"{{*}}{name}")


def _look(run: Any, paragraph: Any) -> TextLook:
    """What run properties, and the shading in paragraph properties, say."""
    vanish, colour, size = _child(run, "vanish"), _child(run, "color"), attribute(_child(run, "sz"), "val")
    shading = [one for one in (_child(run, "shd"), _child(paragraph, "shd")) if one is not None]
    filled: bool | None = any(map(_is_filled, shading)) if shading else None
    if attribute(_child(run, "highlight"), "val").lower() not in ("", "none", "white"):
        filled = True
    white = attribute(colour, "themeColor") in ("background1", "light1")
    return TextLook(
        None if vanish is None else attribute(vanish, "val").lower() in ("0", "false", "off"),
        None if colour is None else white or attribute(colour, "val").lower() in _WHITE,
        filled,
        float(size) / 2 if size.replace(".", "", 1).isdecimal() else None,
    )


def _is_filled(shading: Any) -> bool:
    return shading is not None and (
        attribute(shading, "fill").lower() not in _NO_FILL or attribute(shading, "themeFill") not in ("", "background1")
    )
