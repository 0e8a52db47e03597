"""What a workbook hides: rows and columns that are switched off, cells whose text cannot be seen."""

import re
from typing import Any

from memctl.extract.hidden import TINY_POINTS

_ROW = re.compile(rb"<(?:\w{1,9}:)?row\b([^<>]{0,1000})>")
_COLUMN = re.compile(rb"<(?:\w{1,9}:)?col\b([^<>]{0,1000})/?>")
_ATTRIBUTE = re.compile(rb"""\b(r|min|max|hidden|ht|width)\s{0,3}=\s{0,3}["']([^"']{0,20})["']""")
_LAST_COLUMN = 16_384
#: A row lower than this (in points), and a column narrower (in digits), shows nothing.
_LOW, _NARROW = 2.0, 0.3
#: A number format that shows nothing.
_NOTHING = re.compile(r";;;+\Z")


def _is_less(size: bytes | None, least: float) -> bool:
    """Whether a row's height or a column's width leaves nothing of it to be read."""
    try:
        return size is not None and float(size) < least
    except ValueError:
        return False


class Hiding:
    """Which rows and columns of one sheet are hidden, by its XML part; both are counted from 1."""

    __slots__ = ("columns", "rows")

    def __init__(self, part: bytes) -> None:
        self.rows: set[int] = set()
        self.columns: set[int] = set()
        number = 0
        for match in _ROW.finditer(part):
            found = dict(_ATTRIBUTE.findall(match[1]))
            number = int(found[b"r"]) if found.get(b"r", b"").isdigit() else number + 1
            if found.get(b"hidden") in (b"1", b"true") or _is_less(found.get(b"ht"), _LOW):
                self.rows.add(number)
        for match in _COLUMN.finditer(part):
            found = dict(_ATTRIBUTE.findall(match[1]))
            away = found.get(b"hidden") in (b"1", b"true") or _is_less(found.get(b"width"), _NARROW)
            if away and found.get(b"min", b"").isdigit():
                last = int(found[b"max"]) if found.get(b"max", b"").isdigit() else int(found[b"min"])
                self.columns |= set(range(int(found[b"min"]), min(last, _LAST_COLUMN) + 1))

    def split(self, number: int, cells: list[str], unseen: list[bool]) -> tuple[list[str], list[str]]:
        """(the cells of a row that can be seen, those that cannot); `unseen` says so of single ones."""
        if number in self.rows:
            return [], cells
        if not self.columns and not any(unseen):
            return cells, []
        hidden = [place in self.columns or (bool(unseen) and unseen[place - 1]) for place in range(1, len(cells) + 1)]
        seen = ["" if away else cell for cell, away in zip(cells, hidden, strict=True)]
        return seen, [cell for cell, away in zip(cells, hidden, strict=True) if away and cell]


def hiding_styles(book: Any) -> frozenset[int]:
    """The numbers of the cell styles in which nothing can be read: white on white, tiny, or a format of nothing."""
    styles = getattr(book, "_cell_styles", ())
    return frozenset(number for number, style in enumerate(styles) if _hides(book, style))


def _hides(book: Any, style: Any) -> bool:
    try:
        font, fill = book._fonts[style.fontId], book._fills[style.fillId]
        form = book._number_formats[style.numFmtId - 164] if style.numFmtId >= 164 else ""
    except (AttributeError, IndexError):
        return False
    if (font.sz is not None and font.sz <= TINY_POINTS) or _NOTHING.match(str(form)):
        return True
    filled = getattr(fill, "fill_type", None) not in (None, "none") and not _is_white(getattr(fill, "fgColor", None))
    return _is_white(font.color) and not filled


def _is_white(colour: Any) -> bool:
    if colour is None:
        return False
    if colour.type == "theme":
        return bool(colour.theme == 0 and not colour.tint)
    return colour.type == "rgb" and str(colour.rgb).upper()[-6:] == "FFFFFF"
