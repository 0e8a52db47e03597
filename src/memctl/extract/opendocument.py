"""OpenDocument texts, presentations and spreadsheets (.odt, .odp, .ods)."""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from memctl.extract import Document, Limits, Unreadable
from memctl.extract.container import Package, unpacked
from memctl.extract.guard import library
from memctl.extract.kinds import suffix_of
from memctl.extract.opendocument_hidden import Hiding, hidden_columns, is_row_hidden
from memctl.extract.places import EMPTY, Lines, row_of
from memctl.extract.sheets import SheetWriter
from memctl.extract.word import AFTER_BODY

#: How many tags a part may have: odfpy makes an object of a kilobyte for each element.
_TAGS = 2_000_000
#: How many equal cells side by side are written out.
_EQUALS = 256
_DEEPEST = 8
_SPACES = re.compile(r"[ \t\r\n]+")
#: Elements without text of their own, or with text that was deleted or is written elsewhere.
_SKIPPED = frozenset((
    "tracked-changes", "forms", "sequence-decls", "variable-decls", "user-field-decls", "title", "desc", "notes",
    "event-listeners", "settings", "page-number", "date", "time", "annotation",
))  # fmt: skip
_CELLS = ("table-cell", "covered-table-cell")
_TITLE_CLASS = "title"
_HEADERS = ("header", "header-left", "header-first")
_FOOTERS = ("footer", "footer-left", "footer-first")


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of an .odt, .odp or .ods file."""
    opendocument = library("odf.opendocument", "odfpy", name)
    package = unpacked(data, name, limits, tags=_TAGS)
    if b"encryption-data" in package.part("META-INF/manifest.xml") or "encrypted-package" in package.parts:
        raise Unreadable(path=name, reason="it is encrypted with a password")
    if not package.part("content.xml"):
        raise Unreadable(path=name, reason=f"it is no {suffix_of(name)} file: it has no content.xml")
    odf = opendocument.OpenDocument("application/vnd.oasis.opendocument.text", add_generator=False)
    for part in ("styles.xml", "content.xml"):
        _load(odf, package, part, name)
    lines = Lines(name, limits)
    hiding = Hiding(odf)
    for content in odf.body.childNodes:
        form = _local(content)
        if form == "spreadsheet":
            return _sheets(content, odf, hiding, SheetWriter(lines, limits)).document(package.title(), [])
        if form == "presentation":
            _slides(content, lines, hiding)
        else:
            _text_document(content, odf, lines, hiding)
    return lines.document("markdown", title=package.title())


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


def _text_document(content: Any, odf: Any, lines: Lines, hiding: Hiding) -> None:
    for part in (content, odf.masterstyles):
        for text in hiding.take(part, _all_words):
            lines.hide(text)
    writer = _Writer(lines, _title_styles(odf))
    writer.blocks(content)
    lines.at(AFTER_BODY, apart=True)
    for text in (*writer.footnotes, *writer.comments):
        lines.add(text)
    for margins in (_HEADERS, _FOOTERS):
        lines.once([_words(margin) for margin in _below(odf.masterstyles, margins)], f"{margins[0].title()}: ")


def _slides(content: Any, lines: Lines, hiding: Hiding) -> None:
    pages = list(_below(content, ("page",)))
    for number, page in enumerate(pages, 1):
        if hiding.is_off(page):
            lines.hide(_all_words(page), f"slide {number}")
        for text in [] if hiding.is_off(page) else hiding.take(page, _all_words):
            lines.hide(text, f"slide {number}")
    lines.once([_inline_text(footer) for footer in _below(content, ("footer-decl",))], "Footer: ")
    for number, page in enumerate(pages, 1):
        if hiding.is_off(page):
            continue
        lines.at(f"slide {number}")
        titles = [_words(frame) for frame in _below(page, ("frame",)) if _is_title(frame)]
        lines.add(f"# {' '.join(title for title in titles if title) or f'Slide {number}'}")
        writer = _Writer(lines)
        writer.blocks(page)
        for text in (*writer.footnotes, *writer.comments):
            lines.add(text)
        for notes in [child for child in page.childNodes if _local(child) == "notes"]:
            words = "\n".join(filter(None, (_inline_text(p).strip() for p in _below(notes, ("p",)))))
            lines.add(f"Notes: {words}" if words else "")


class _Writer:
    """Goes through the content in the order of the document; notes and comments are kept for the end."""

    __slots__ = ("_lines", "_titles", "comments", "footnotes")

    def __init__(self, lines: Lines, titles: frozenset[str] = frozenset()) -> None:
        self._lines, self._titles = lines, titles
        self.footnotes: list[str] = []
        self.comments: list[str] = []

    def blocks(self, container: Any, depth: int = 0) -> None:
        for child in container.childNodes:
            name = _local(child)
            if name == "h":
                level = _attribute(child, "outline-level")
                self._heading(child, int(level) if level.isdecimal() else 1, depth)
            elif name == "p" and _attribute(child, "style-name") in self._titles:
                self._heading(child, 1, depth)
            elif name == "p":
                self._paragraph(child, depth)
            elif name == "list":
                self.blocks(child, depth + 1)
            elif name == "table":
                self._table(child)
            elif name and name not in _SKIPPED and not _is_title(child):
                self.blocks(child, depth)

    def _heading(self, heading: Any, level: int, depth: int) -> None:
        text, boxes = self._inline(heading)
        words = " ".join(text.split())
        self._lines.add(f"{'#' * max(1, min(level, 6))} {words}" if words else "")
        self._boxes(boxes, depth)

    def _paragraph(self, paragraph: Any, depth: int) -> None:
        text, boxes = self._inline(paragraph)
        text = text.strip()
        if depth and text:
            indent = "  " * (min(depth, _DEEPEST) - 1)
            item = text.replace("\n", f"\n{indent}  ")
            self._lines.add(f"{indent}- {item}", "item")
        else:
            self._lines.add(text)
        self._boxes(boxes, depth)

    def _boxes(self, boxes: list[Any], depth: int) -> None:
        for box in boxes:
            self.blocks(box, depth)

    def _inline(self, paragraph: Any) -> tuple[str, list[Any]]:
        """The text of a paragraph, and the text boxes that hang on it; its notes and comments are kept."""
        parts: list[str] = []
        asides: list[Any] = []
        _gather(paragraph, parts, asides)
        for aside in asides:
            if _local(aside) == "note":
                self._note(aside)
            elif _local(aside) == "annotation":
                self.comments.append(f"Comment: {_words(aside)}")
        return "".join(parts), [aside for aside in asides if _local(aside) == "frame"]

    def _note(self, note: Any) -> None:
        label = " ".join(_inline_text(citation) for citation in _below(note, ("note-citation",))).strip()
        body = " ".join(_words(part) for part in _below(note, ("note-body",)))
        self.footnotes.append(f"[^{label}]: {body}")

    def _table(self, table: Any) -> None:
        self._lines.gap()
        for row in _below(table, ("table-row",)):
            cells = [self._cell(cell) for cell in _below(row, _CELLS)]
            self._lines.add(row_of(cells), "row")
        self._lines.gap()

    def _cell(self, cell: Any) -> str:
        found = [self._inline(paragraph) for paragraph in _below(cell, ("p", "h"))]
        return " ".join(words for text, boxes in found for words in (text, *map(_words, boxes)))


def _local(node: Any) -> str:
    """An element's name without its namespace; "" for text."""
    name = getattr(node, "qname", None)
    return str(name[1]) if name else ""


def _attribute(element: Any, name: str) -> str:
    """An attribute by its local name, "" if there is none."""
    return next((str(value) for key, value in (element.attributes or {}).items() if key[1] == name), "")


def _below(element: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """The nearest elements below that have one of these names."""
    for child in element.childNodes:
        name = _local(child)
        if name in names:
            yield child
        elif name and name not in _SKIPPED:
            yield from _below(child, names)


def _is_title(element: Any) -> bool:
    return _local(element) == "frame" and _attribute(element, "class") == _TITLE_CLASS


def _gather(element: Any, parts: list[str], asides: list[Any]) -> None:
    """Collect the text of a paragraph, and apart from it the notes, comments and frames in it."""
    for child in element.childNodes:
        name = _local(child)
        if not name:
            parts.append(_SPACES.sub(" ", getattr(child, "data", "") or ""))
        elif name == "s":
            count = _attribute(child, "c")
            parts.append(" " * min(int(count) if count.isdecimal() else 1, 80))
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
    """All text below, on one line; of a comment what it says, not who said it."""
    return " ".join(" ".join(_inline_text(part) for part in _below(container, ("p", "h"))).split())


def _all_words(container: Any) -> str:
    """All text in a container or in a paragraph itself, on one line."""
    return " ".join(_inline_text(container).split()) if _local(container) in ("p", "h") else _words(container)


def _title_styles(odf: Any) -> frozenset[str]:
    """The names of the paragraph styles that are "Title" or made from it: ODF has no heading for a document's title."""
    base = {
        _attribute(style, "name"): _attribute(style, "parent-style-name")
        for styles in (odf.styles, odf.automaticstyles)
        for style in _below(styles, ("style",))
    }
    return frozenset(("Title", *(name for name, parent in base.items() if "Title" in (parent, base.get(parent)))))


# --- spreadsheets -----------------------------------------------------------------------------------------------------


def _sheets(content: Any, odf: Any, hiding: Hiding, writer: SheetWriter) -> SheetWriter:
    """Write the rows of all sheets."""
    off = _hidden_styles(odf.automaticstyles)
    for table in [child for child in content.childNodes if _local(child) == "table"]:
        writer.begin(_attribute(table, "name"), hidden=_attribute(table, "style-name") in off)
        number, columns = 1, hidden_columns(table)
        for row in _below(table, ("table-row",)):
            cells, unseen = _cells(row, hiding)
            away = [is_row_hidden(row) or place in columns or unseen[place] for place in range(len(cells))]
            seen = ["" if gone else cell for cell, gone in zip(cells, away, strict=True)]
            hidden = [cell for cell, gone in zip(cells, away, strict=True) if gone and cell]
            if not writer.row(number, seen, hidden):
                break
            number += _repeated(row, "number-rows-repeated")  # a row that stands there many times is written once
    return writer


def _cells(row: Any, hiding: Hiding) -> tuple[list[str], list[bool]]:
    """The cells of a row, and which cannot be seen; what is repeated stands there as often as it says something."""
    cells: list[str] = []
    unseen: list[bool] = []
    for cell in _below(row, _CELLS):
        text = _words(cell) or _attribute(cell, "value")
        times = min(_repeated(cell, "number-columns-repeated"), _EQUALS if text else EMPTY + 1)
        cells += [text] * times
        unseen += [bool(text) and hiding.is_unseen(cell)] * times
    return cells, unseen


def _repeated(element: Any, attribute: str) -> int:
    times = _attribute(element, attribute)
    return max(1, int(times)) if times.isdecimal() and len(times) < 10 else 1


def _hidden_styles(styles: Any) -> frozenset[str]:
    """The names of the table styles that hide a sheet."""
    return frozenset(
        _attribute(style, "name")
        for style in _below(styles, ("style",))
        for properties in _below(style, ("table-properties",))
        if _attribute(properties, "display") == "false"
    )
