"""Workbooks (.xlsx): each sheet's rows with the values that were saved, and the writing half for all spreadsheets.

What a workbook hides is kept apart: rows and columns that are switched off, cells whose text cannot be seen.
"""

import re
from collections.abc import Container
from typing import Any

from memctl.extract import Document, Limits, library
from memctl.extract.container import unpack
from memctl.extract.writer import TINY_POINTS, DocumentWriter, row_of

_STREAMED = re.compile(r"xl/(?:worksheets/[^/]+|sharedStrings)\.xml\Z")
#: A formula whose result is not in the file.
_UNCALCULATED = re.compile(rb"</f>\s{0,9}(?:<v\s{0,9}/>|<v></v>|</c>)|<f[^<>]{0,300}/>\s{0,9}</c>")
_LIMIT = "ingest.max_rows in config.json"
#: How many cells are looked at for each row that may be read: sheets can be wide, but not all of their rows.
_CELLS_A_ROW = 100
_ROW = re.compile(rb"<(?:\w{1,9}:)?row\b([^<>]{0,1000})>")
_COLUMN = re.compile(rb"<(?:\w{1,9}:)?col\b([^<>]{0,1000})/?>")
_ATTRIBUTE = re.compile(rb"""\b(r|min|max|hidden|ht|width)\s{0,3}=\s{0,3}["']([^"']{0,20})["']""")
_LAST_COLUMN = 16_384
#: A row lower than this (in points), and a column narrower (in digits), shows nothing.
_LOW, _NARROW = 2.0, 0.3
#: A number format that shows nothing.
_NOTHING = re.compile(r";;;+\Z")
#: The numbers of formats below this one are Excel's own.
_FIRST_OWN_FORMAT = 164


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of an .xlsx file: a line for each row that is not empty."""
    openpyxl = library("openpyxl", "openpyxl", name)
    package = unpack(data, name, limits, flat=lambda part: bool(_STREAMED.match(part)))
    book = openpyxl.load_workbook(package.file(), read_only=True, data_only=True, keep_links=False)
    writer = SheetWriter(name, limits)
    styles = _hidden_styles(book)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # the size a file gives for a sheet may be wrong
        writer.begin(sheet.title, hidden=sheet.sheet_state != "visible")
        rows, columns = _hidden_places(package.part(str(getattr(sheet, "_worksheet_path", "")).lstrip("/")))
        for number, row in enumerate(sheet.iter_rows(values_only=not styles), 1):
            cells = [cell_text(cell.value if styles else cell) for cell in row]
            unseen = {place for place, cell in enumerate(row, 1) if styles and getattr(cell, "_style_id", 0) in styles}
            unseen |= columns
            seen, hidden = ([], cells) if number in rows else split_row(cells, unseen) if unseen else (cells, [])
            if not writer.row(number, seen, hidden):
                break
    waiting = sum(len(_UNCALCULATED.findall(part)) for at, part in package.parts.items() if _STREAMED.match(at))
    formulas = "1 formula has" if waiting == 1 else f"{waiting:,} formulas have"
    notes = [f"{formulas} no saved result"] if waiting else []
    return writer.document(package.title(), notes)


class SheetWriter:
    """Writes sheets row by row, each under its name, empty rows and cells left out, up to the limit of rows."""

    __slots__ = ("_cells", "_cut", "_full", "_heading", "_hidden", "_next", "_rows", "_sheet", "_writer")

    def __init__(self, name: str, limits: Limits) -> None:
        self._writer = DocumentWriter(name, limits)
        self._rows, self._full = 0, limits.rows
        self._cells = limits.rows * _CELLS_A_ROW
        self._cut = ""  # the sheet in which the limit was reached
        self._sheet = self._heading = ""
        self._hidden = False
        self._next = 0  # the row whose line would follow the last one

    def begin(self, title: str, *, hidden: bool) -> None:
        """The rows of the sheet `title` follow."""
        title = " ".join(title.split())
        self._sheet, self._hidden = f"sheet {title}", hidden
        self._heading = f"# {title}"
        self._next = 0

    def row(self, number: int, cells: list[str], hidden: list[str]) -> bool:
        """Row `number` (from 1) has these cells, and these hidden ones. False when no more rows are wanted."""
        self._cells -= max(1, len(cells))
        if self._hidden:
            cells, hidden = [], cells + hidden
        text, away = row_of(cells), row_of(hidden)
        if self._cells < 0 or ((text or away) and self._rows >= self._full):
            self._cut = self._cut or self._sheet
            return False
        if away:
            self._writer.hide(away, self._sheet)
            self._rows += not text
        if not text:
            return True
        if self._heading:
            self._writer.add_gap()
            self._writer.begin_place(self._sheet, apart=True)
            self._writer.add(self._heading, "row")
            self._heading = ""
        if number != self._next:
            if self._next:
                self._writer.add_gap()
            self._writer.begin_place(self._sheet, number)
        self._writer.add(text, "row")
        self._rows += 1
        self._next = number + 1
        return True

    def document(self, title: str, notes: list[str]) -> Document:
        """All sheets; a note says what the limit left out."""
        if self._cut:
            notes = [f"only the first {self._rows:,} rows were read, up to {self._cut} ({_LIMIT})", *notes]
        return self._writer.document("table", title=title, notes=tuple(notes))


def split_row(cells: list[str], unseen: Container[int]) -> tuple[list[str], list[str]]:
    """(the cells of a row that can be seen, those that cannot); `unseen`: the places of these, from 1."""
    seen = ["" if place in unseen else cell for place, cell in enumerate(cells, 1)]
    return seen, [cell for place, cell in enumerate(cells, 1) if place in unseen and cell]


def cell_text(value: Any) -> str:
    """A cell's value as a person would write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if hasattr(value, "isoformat"):  # a date that was stored with midnight is only a date
        text = str(value.isoformat(" ") if hasattr(value, "date") else value.isoformat())
        return text.removesuffix(" 00:00:00")
    return str(value)


# --- what is hidden ---------------------------------------------------------------------------------------------------


def _hidden_places(part: bytes) -> tuple[set[int], set[int]]:
    """Which rows and which columns of one sheet are hidden, by its XML part; both are counted from 1."""
    rows: set[int] = set()
    columns: set[int] = set()
    number = 0
    for match in _ROW.finditer(part):
        found = dict(_ATTRIBUTE.findall(match[1]))
        number = int(found[b"r"]) if found.get(b"r", b"").isdigit() else number + 1
        if _is_off(found, b"ht", _LOW):
            rows.add(number)
    for match in _COLUMN.finditer(part):
        found = dict(_ATTRIBUTE.findall(match[1]))
        if _is_off(found, b"width", _NARROW) and found.get(b"min", b"").isdigit():
            last = int(found[b"max"]) if found.get(b"max", b"").isdigit() else int(found[b"min"])
            columns |= set(range(int(found[b"min"]), min(last, _LAST_COLUMN) + 1))
    return rows, columns


def _is_off(found: dict[bytes, bytes], size: bytes, least: float) -> bool:
    """Whether the attributes of a row or a column hide it, or leave nothing of its height or width to be read."""
    try:
        return found.get(b"hidden") in (b"1", b"true") or (size in found and float(found[size]) < least)
    except ValueError:
        return False


def _hidden_styles(book: Any) -> frozenset[int]:
    """The numbers of the cell styles in which nothing can be read: white on white, tiny, or a format of nothing."""
    found = set()
    for number, style in enumerate(getattr(book, "_cell_styles", ())):
        try:
            font, fill, format_id = book._fonts[style.fontId], book._fills[style.fillId], style.numFmtId
            own = book._number_formats[format_id - _FIRST_OWN_FORMAT] if format_id >= _FIRST_OWN_FORMAT else ""
        except (AttributeError, IndexError):
            continue
        filled = getattr(fill, "fill_type", None) not in (None, "none") and not _is_white(
            getattr(fill, "fgColor", None)
        )
        is_tiny = font.sz is not None and font.sz <= TINY_POINTS
        if is_tiny or _NOTHING.match(str(own)) or (_is_white(font.color) and not filled):
            found.add(number)
    return frozenset(found)


def _is_white(colour: Any) -> bool:
    if colour is None:
        return False
    if colour.type == "theme":
        return bool(colour.theme == 0 and not colour.tint)
    return colour.type == "rgb" and str(colour.rgb).upper()[-6:] == "FFFFFF"
