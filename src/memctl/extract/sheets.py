"""Workbooks (.xlsx): each sheet's rows with the values that were saved, and the writing half for all spreadsheets."""

import re
from typing import Any

from memctl.extract import Document, Limits
from memctl.extract.container import unpacked
from memctl.extract.guard import library
from memctl.extract.places import Lines, row_of
from memctl.extract.sheets_hidden import Hiding, hiding_styles

_STREAMED = re.compile(r"xl/(?:worksheets/[^/]+|sharedStrings)\.xml\Z")
#: A formula whose result is not in the file.
_UNCALCULATED = re.compile(rb"</f>\s{0,9}(?:<v\s{0,9}/>|<v></v>|</c>)|<f[^<>]{0,300}/>\s{0,9}</c>")
_LIMIT = "ingest.max_rows in config.json"
#: How many cells are looked at for each row that may be read: sheets can be wide, but not all of their rows.
_CELLS_A_ROW = 100


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of an .xlsx file: a line for each row that is not empty."""
    openpyxl = library("openpyxl", "openpyxl", name)
    package = unpacked(data, name, limits, flat=lambda part: bool(_STREAMED.match(part)))
    book = openpyxl.load_workbook(package.file(), read_only=True, data_only=True, keep_links=False)
    writer = SheetWriter(Lines(name, limits), limits)
    styles = hiding_styles(book)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # the size a file gives for a sheet may be wrong
        writer.begin(sheet.title, hidden=sheet.sheet_state != "visible")
        hiding = Hiding(package.part(str(getattr(sheet, "_worksheet_path", "")).lstrip("/")))
        for number, row in enumerate(sheet.iter_rows(values_only=not styles), 1):
            cells = [shown(cell.value if styles else cell) for cell in row]
            unseen = [getattr(cell, "_style_id", 0) in styles for cell in row] if styles else []
            seen, hidden = hiding.split(number, cells, unseen)
            if not writer.row(number, seen, hidden):
                break
    waiting = sum(len(_UNCALCULATED.findall(part)) for at, part in package.parts.items() if _STREAMED.match(at))
    formulas = "1 formula has" if waiting == 1 else f"{waiting:,} formulas have"
    notes = [f"{formulas} no saved result"] if waiting else []
    return writer.document(package.title(), notes)


class SheetWriter:
    """Writes sheets row by row, each under its name, empty rows and cells left out, up to the limit of rows."""

    __slots__ = ("_cells", "_cut", "_full", "_heading", "_hidden", "_lines", "_next", "_rows", "_sheet")

    def __init__(self, lines: Lines, limits: Limits) -> None:
        self._lines = lines
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

    def row(self, number: int, cells: list[str], hidden: list[str] | None = None) -> bool:
        """Row `number` (from 1) has these cells, and these hidden ones. False when no more rows are wanted."""
        self._cells -= max(1, len(cells))
        if self._hidden:
            cells, hidden = [], cells + (hidden or [])
        text, unseen = row_of(cells), row_of(hidden or [])
        if self._cells < 0 or ((text or unseen) and self._rows >= self._full):
            self._cut = self._cut or self._sheet
            return False
        if unseen:
            self._lines.hide(unseen, self._sheet)
            self._rows += not text
        if not text:
            return True
        if self._heading:
            self._lines.gap()
            self._lines.at(self._sheet, apart=True)
            self._lines.add(self._heading, "row")
            self._heading = ""
        if number != self._next:
            if self._next:
                self._lines.gap()
            self._lines.at(self._sheet, number)
        self._lines.add(text, "row")
        self._rows += 1
        self._next = number + 1
        return True

    def document(self, title: str, notes: list[str]) -> Document:
        """All sheets; a note says what the limit left out."""
        if self._cut:
            notes = [f"only the first {self._rows:,} rows were read, up to {self._cut} ({_LIMIT})", *notes]
        return self._lines.document("table", title=title, notes=tuple(notes))


def shown(value: object) -> str:
    """A cell's value as a person would write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if hasattr(value, "isoformat"):
        return _moment(value)
    return str(value)


def _moment(value: Any) -> str:
    """A date, a time, or both; a date that was stored with midnight is only a date."""
    text = str(value.isoformat(" ") if hasattr(value, "date") else value.isoformat())
    return text.removesuffix(" 00:00:00")
