"""OpenDocument texts, presentations and spreadsheets (.odt, .odp, .ods).

What a document hides is taken out of it first: text that its styles do not show, hidden sections, rows, columns and
slides.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from memctl.extract import Document, Limits, Unreadable, library, suffix_of
from memctl.extract.container import Package, unpack
from memctl.extract.html import is_white
from memctl.extract.sheets import SheetWriter, split_row
from memctl.extract.word import AFTER_BODY
from memctl.extract.writer import DEEPEST_ITEM, EMPTY, DocumentWriter, TextLook, inherited_looks, row_of

#: How many tags a part may have: odfpy makes an object of a kilobyte for each element.
_TAGS = 2_000_000
#: How many equal cells side by side are written out.
_EQUALS = 256
#: How many columns a sheet has at most.
_COLUMNS = 16_384
#: How many blanks one `text:s` stands for at most.
_BLANKS = 80
_SPACES = re.compile(r"[ \t\r\n]+")
#: Elements without text of their own, or with text that was deleted or is written elsewhere.
_SKIPPED = frozenset((
    "tracked-changes", "forms", "sequence-decls", "variable-decls", "user-field-decls", "title", "desc", "notes",
    "event-listeners", "settings", "page-number", "date", "time", "annotation",
))  # fmt: skip
_CELLS = ("table-cell", "covered-table-cell")
_HEADERS = ("header", "header-left", "header-first")
_FOOTERS = ("footer", "footer-left", "footer-first")
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(pt|cm|mm|in|px)?\Z")
#: How many points a unit of length has.
_POINTS = {"pt": 1.0, "cm": 28.35, "mm": 2.835, "in": 72.0, "px": 0.75}
_INLINE = ("span", "a")
_FIELDS = ("hidden-text", "hidden-paragraph")
_ROWS = ("table-row", "table-rows", "table-header-rows", "table-row-group")
_COLUMN_GROUPS = ("table-columns", "table-header-columns", "table-column-group")
_COLLAPSED = ("collapse", "filter")


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of an .odt, .odp or .ods file."""
    opendocument = library("odf.opendocument", "odfpy", name)
    package = unpack(data, name, limits, tags=_TAGS)
    if b"encryption-data" in package.part("META-INF/manifest.xml") or "encrypted-package" in package.parts:
        raise Unreadable(path=name, reason="it is encrypted with a password")
    if not package.part("content.xml"):
        raise Unreadable(path=name, reason=f"it is no {suffix_of(name)} file: it has no content.xml")
    odf = opendocument.OpenDocument("application/vnd.oasis.opendocument.text", add_generator=False)
    for part in ("styles.xml", "content.xml"):
        _load(odf, package, part, name)
    writer = DocumentWriter(name, limits)
    hidden = _HiddenNodes(odf)
    for content in odf.body.childNodes:
        form = _local(content)
        if form == "spreadsheet":
            sheets = SheetWriter(name, limits)
            _write_sheets(content, odf, hidden, sheets)
            return sheets.document(package.title(), [])
        if form == "presentation":
            _write_slides(content, writer, hidden)
        else:
            _write_text(content, odf, writer, hidden)
    return writer.document("markdown", title=package.title())


def _load(odf: Any, package: Package, part: str, name: str) -> None:
    """Have odfpy's reader build its tree from a part. Its own `load` prints what it cannot parse, and goes on."""
    if not package.part(part):
        return
    sax = library("defusedxml.sax", "odfpy", name)
    odf._parsing = part
    parser = sax.make_parser()
    parser.setFeature("http://xml.org/sax/features/namespaces", 1)
    parser.setFeature("http://xml.org/sax/features/external-general-entities", 0)
    parser.setContentHandler(library("odf.load", "odfpy", name).LoadParser(odf))
    # odfpy remembers each namespace it meets for all later documents of the process: take back what this one brings.
    tables = (library("odf.namespaces", "odfpy", name).nsdict, library("odf.element", "odfpy", name).Element.namespaces)
    before = [dict(table) for table in tables]
    try:
        parser.parse(BytesIO(package.part(part)))
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)


def _write_text(content: Any, odf: Any, writer: DocumentWriter, hidden: "_HiddenNodes") -> None:
    for part in (content, odf.masterstyles):
        for text in hidden.take(part):
            writer.hide(text)
    base = {  # ODF has no heading for a document's title, but a style that is called so, and those made from it
        _attribute(style, "name"): _attribute(style, "parent-style-name")
        for styles in (odf.styles, odf.automaticstyles)
        for style in _below(styles, ("style",))
    }
    titles = frozenset(("Title", *(name for name, parent in base.items() if "Title" in (parent, base.get(parent)))))
    body = _OdfBody(writer, titles)
    body.write(content)
    writer.begin_place(AFTER_BODY, apart=True)
    body.write_asides()
    for margins in (_HEADERS, _FOOTERS):
        found = [_words(margin) for margin in _below(odf.masterstyles, margins)]
        writer.add_once(found, f"{margins[0].title()}: ")


def _write_slides(content: Any, writer: DocumentWriter, hidden: "_HiddenNodes") -> None:
    pages = list(_below(content, ("page",)))
    off = [hidden.is_off(page) for page in pages]
    for number, page in enumerate(pages, 1):
        for text in [_words(page)] if off[number - 1] else hidden.take(page):
            writer.hide(text, f"slide {number}")
    writer.add_once([_inline_text(footer) for footer in _below(content, ("footer-decl",))], "Footer: ")
    for number, page in enumerate(pages, 1):
        if off[number - 1]:
            continue
        writer.begin_place(f"slide {number}")
        titles = [_words(frame) for frame in _below(page, ("frame",)) if _is_title(frame)]
        writer.add(f"# {' '.join(filter(None, titles)) or f'Slide {number}'}")
        body = _OdfBody(writer)
        body.write(page)
        body.write_asides()
        for notes in [child for child in page.childNodes if _local(child) == "notes"]:
            words = "\n".join(filter(None, (_inline_text(p).strip() for p in _below(notes, ("p",)))))
            writer.add(f"Notes: {words}" if words else "")


class _OdfBody:
    """Writes the content in the order of the document; notes and comments are kept for the end."""

    __slots__ = ("_comments", "_footnotes", "_titles", "_writer")

    def __init__(self, writer: DocumentWriter, titles: frozenset[str] = frozenset()) -> None:
        self._writer, self._titles = writer, titles
        self._footnotes: list[str] = []
        self._comments: list[str] = []

    def write(self, container: Any, depth: int = 0) -> None:
        """Write what is in a container, which stands at this depth of lists."""
        for child in container.childNodes:
            name = _local(child)
            if name == "h":
                level = _attribute(child, "outline-level")
                self._paragraph(child, depth, max(1, min(int(level) if level.isdecimal() else 1, 6)))
            elif name == "p":
                self._paragraph(child, depth, int(_attribute(child, "style-name") in self._titles))
            elif name == "list":
                self.write(child, depth + 1)
            elif name == "table":
                self._writer.add_gap()
                for row in _below(child, ("table-row",)):
                    cells = []
                    for cell in _below(row, _CELLS):
                        found = [self._inline(paragraph) for paragraph in _below(cell, ("p", "h"))]
                        cells.append(" ".join(word for text, boxes in found for word in (text, *map(_words, boxes))))
                    self._writer.add(row_of(cells), "row")
                self._writer.add_gap()
            elif name and name not in _SKIPPED and not _is_title(child):
                self.write(child, depth)

    def write_asides(self) -> None:
        """Write the notes, then the comments, that the content has."""
        for text in (*self._footnotes, *self._comments):
            self._writer.add(text)

    def _paragraph(self, paragraph: Any, depth: int, level: int) -> None:
        """A heading of this level, a paragraph where it is 0; the text boxes that hang on it follow."""
        text, boxes = self._inline(paragraph)
        if level:
            words = " ".join(text.split())
            self._writer.add(f"{'#' * level} {words}" if words else "")
        elif depth:
            self._writer.add_item(text, min(depth, DEEPEST_ITEM) - 1)
        else:
            self._writer.add(text.strip())
        for box in boxes:
            self.write(box, depth)

    def _inline(self, paragraph: Any) -> tuple[str, list[Any]]:
        """The text of a paragraph, and the text boxes that hang on it; its notes and comments are kept."""
        parts: list[str] = []
        asides: list[Any] = []
        _gather(paragraph, parts, asides)
        for aside in asides:
            if _local(aside) == "note":
                label = " ".join(_inline_text(citation) for citation in _below(aside, ("note-citation",))).strip()
                body = " ".join(_words(part) for part in _below(aside, ("note-body",)))
                self._footnotes.append(f"[^{label}]: {body}")
            elif _local(aside) == "annotation":
                self._comments.append(f"Comment: {_words(aside)}")
        return "".join(parts), [aside for aside in asides if _local(aside) == "frame"]


def _write_sheets(content: Any, odf: Any, hidden: "_HiddenNodes", sheets: SheetWriter) -> None:
    off = {
        _attribute(style, "name")
        for style in _below(odf.automaticstyles, ("style",))
        for properties in _below(style, ("table-properties",))
        if _attribute(properties, "display") == "false"
    }
    for table in [child for child in content.childNodes if _local(child) == "table"]:
        sheets.begin(_attribute(table, "name"), hidden=_attribute(table, "style-name") in off)
        number, columns = 1, _hidden_columns(table)
        for row in _below(table, ("table-row",)):
            cells: list[str] = []
            unseen = set(columns)
            for cell in _below(row, _CELLS):  # what is repeated stands there as often as it says something
                text = _words(cell) or _attribute(cell, "value")
                times = min(_repeated(cell, "number-columns-repeated"), _EQUALS if text else EMPTY + 1)
                if text and hidden.is_unseen(cell):
                    unseen.update(range(len(cells) + 1, len(cells) + times + 1))
                cells += [text] * times
            group = row
            while group is not None and _local(group) in _ROWS:  # a row, or a group that it is in, may be hidden
                if _attribute(group, "visibility") in _COLLAPSED:
                    unseen.update(range(1, len(cells) + 1))
                group = group.parentNode
            if not sheets.row(number, *split_row(cells, unseen)):
                break
            number += _repeated(row, "number-rows-repeated")  # a row that stands there many times is written once


# --- odfpy's nodes ----------------------------------------------------------------------------------------------------


def _local(node: Any) -> str:
    """An element's name without its namespace; "" for text."""
    name = getattr(node, "qname", None)
    return str(name[1]) if name else ""


def _attribute(element: Any, name: str) -> str:
    """An attribute by its local name, "" if there is none."""
    return next((str(value) for key, value in (element.attributes or {}).items() if key[1] == name), "")


def _repeated(element: Any, attribute: str) -> int:
    times = _attribute(element, attribute)
    return max(1, int(times)) if times.isdecimal() and len(times) < 10 else 1


def _below(element: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """The nearest elements below that have one of these names."""
    for child in element.childNodes:
        name = _local(child)
        if name in names:
            yield child
        elif name and name not in _SKIPPED:
            yield from _below(child, names)


def _is_title(element: Any) -> bool:
    return _local(element) == "frame" and _attribute(element, "class") == "title"


def _gather(element: Any, parts: list[str], asides: list[Any]) -> None:
    """Collect the text of a paragraph, and apart from it the notes, comments and frames in it."""
    for child in element.childNodes:
        name = _local(child)
        if not name:
            parts.append(_SPACES.sub(" ", getattr(child, "data", "") or ""))
        elif name == "s":
            count = _attribute(child, "c")
            parts.append(" " * min(int(count) if count.isdecimal() else 1, _BLANKS))
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        elif name in ("annotation", "frame"):
            asides.append(child)
        elif name == "note":
            asides.append(child)
            label = "".join(_inline_text(citation) for citation in _below(child, ("note-citation",)))
            parts.append(f"[^{label.strip()}]")
        elif name not in _SKIPPED:
            _gather(child, parts, asides)


def _inline_text(element: Any) -> str:
    parts: list[str] = []
    _gather(element, parts, [])
    return "".join(parts)


def _words(container: Any) -> str:
    """All text in a container, on one line; of a comment what it says, not who said it."""
    return " ".join(" ".join(_inline_text(part) for part in _below(container, ("p", "h"))).split())


# --- what is hidden ---------------------------------------------------------------------------------------------------


class _HiddenNodes:
    """Takes hidden text out of the tree of one document."""

    __slots__ = ("_looks", "_off")

    def __init__(self, odf: Any) -> None:
        own: dict[str, tuple[str, TextLook]] = {}
        self._off: set[str] = set()  # styles of slides and sections that are not shown
        for style in [node for part in (odf.styles, odf.automaticstyles) for node in part.childNodes]:
            if _local(style) == "style":
                name = _attribute(style, "name")
                own[name] = (_attribute(style, "parent-style-name"), _look(style))
                if any(
                    _attribute(one, "visibility") == "hidden" or _attribute(one, "display") == "none"
                    for one in style.childNodes
                    if _local(one) in ("drawing-page-properties", "section-properties")
                ):
                    self._off.add(name)
        self._looks = inherited_looks(own)

    def take(self, node: Any, look: TextLook = TextLook()) -> Iterator[str]:  # noqa: B008 - a constant
        """The hidden texts below a node; they are not there any more afterwards."""
        for child in list(node.childNodes):
            name = _local(child)
            if not name:
                continue
            if name in _FIELDS:
                yield from filter(None, [_attribute(child, "string-value").strip()])
                continue
            now = self._looks.get(_attribute(child, "style-name"), TextLook()).over(look)
            is_away = name in _ROWS and _attribute(child, "visibility") in _COLLAPSED
            if name == "section":
                is_away = self.is_off(child) or _attribute(child, "display") in ("none", "condition")
            if is_away or (now.is_hidden and name in ("p", "h", *_INLINE)):
                text = _plain(child) if name in _INLINE else _words(child)
                if name in ("p", "h"):
                    text = " ".join(_inline_text(child).split())
                if text.strip():
                    yield text
                node.removeChild(child)
            else:
                yield from self.take(child, now)

    def is_unseen(self, cell: Any) -> bool:
        """Whether the style of a cell lets nobody see its text."""
        return self._looks.get(_attribute(cell, "style-name"), TextLook()).is_hidden

    def is_off(self, node: Any) -> bool:
        """Whether the style of a slide or a section says that it is not shown."""
        return _attribute(node, "style-name") in self._off


def _hidden_columns(table: Any) -> set[int]:
    """The columns of a sheet that are not shown, counted from 1."""
    found: set[int] = set()
    at = 1
    columns: list[Any] = []
    for child in table.childNodes:
        if _local(child) == "table-column":
            columns.append(child)
        elif _local(child) in _COLUMN_GROUPS:
            columns += _below(child, ("table-column",))
    for column in columns:
        times = _attribute(column, "number-columns-repeated")
        count = int(times) if times.isdecimal() and len(times) < 6 else 1
        if _attribute(column, "visibility") in _COLLAPSED:
            found.update(range(at, min(at + count, _COLUMNS + 1)))
        at += count
    return found


def _look(style: Any) -> TextLook:
    look = TextLook()
    for properties in style.childNodes:
        behind = _attribute(properties, "background-color")
        if behind:
            look = look._replace(filled=behind != "transparent" and not is_white(behind))
        if _local(properties) == "text-properties":
            colour, size = _attribute(properties, "color"), _SIZE.match(_attribute(properties, "font-size"))
            if display := _attribute(properties, "display"):
                look = look._replace(shown=display != "none")
            if colour:
                look = look._replace(white=is_white(colour))
            if size:
                look = look._replace(points=float(size[1]) * _POINTS[size[2] or "pt"])
    return look


def _plain(node: Any) -> str:
    return "".join(_plain(child) if _local(child) else getattr(child, "data", "") or "" for child in node.childNodes)
