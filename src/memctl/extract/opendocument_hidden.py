"""What an OpenDocument file hides: text that its styles do not show, hidden sections, rows, columns and slides."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from memctl.extract.hidden import TINY_POINTS, is_white

_CHAIN = 10
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(pt|cm|mm|in|px)?\Z")
_INLINE = ("span", "a")
_FIELDS = ("hidden-text", "hidden-paragraph")
_ROWS = ("table-row", "table-rows", "table-header-rows", "table-row-group")


class _Look(NamedTuple):
    """What a style says of its text; None where it says nothing."""

    shown: bool | None = None
    white: bool | None = None
    filled: bool | None = None
    points: float | None = None

    def over(self, other: "_Look") -> "_Look":
        """This look, and where it says nothing what `other` says."""
        return other._replace(**{name: value for name, value in self._asdict().items() if value is not None})

    @property
    def is_hidden(self) -> bool:
        tiny = self.points is not None and self.points <= TINY_POINTS
        return self.shown is False or tiny or bool(self.white and not self.filled)


class Hiding:
    """Takes hidden text out of the tree of one document."""

    __slots__ = ("_looks", "_off")

    def __init__(self, odf: Any) -> None:
        own: dict[str, tuple[str, _Look]] = {}
        self._off: set[str] = set()  # styles of slides, sections, tables that are not shown
        for style in [node for part in (odf.styles, odf.automaticstyles) for node in part.childNodes]:
            if _local(style) == "style":
                name = attribute(style, "name")
                own[name] = (attribute(style, "parent-style-name"), _look(style))
                if _is_off(style):
                    self._off.add(name)
        self._looks = {name: _resolved(name, own) for name in own}

    def take(self, node: Any, words: Callable[[Any], str], look: _Look | None = None) -> Iterator[str]:
        """The hidden texts below a node, read by `words`; they are not there any more afterwards."""
        look = look or _Look()
        for child in list(node.childNodes):
            name = _local(child)
            if not name:
                continue
            if name in _FIELDS:
                yield from filter(None, [attribute(child, "string-value").strip()])
                continue
            now = self._looks.get(attribute(child, "style-name"), _Look()).over(look)
            if self._is_away(child, name) or (now.is_hidden and name in ("p", "h", *_INLINE)):
                text = words(child) if name not in _INLINE else _plain(child)
                if text.strip():
                    yield text
                node.removeChild(child)
            else:
                yield from self.take(child, words, now)

    def _is_away(self, node: Any, name: str) -> bool:
        if name == "section" and attribute(node, "display") in ("none", "condition"):
            return True
        if name in _ROWS and attribute(node, "visibility") in ("collapse", "filter"):
            return True
        return name == "section" and self.is_off(node)

    def is_unseen(self, cell: Any) -> bool:
        """Whether the style of a cell lets nobody see its text."""
        return self._looks.get(attribute(cell, "style-name"), _Look()).is_hidden

    def is_off(self, node: Any) -> bool:
        """Whether the style of a slide or a section says that it is not shown."""
        return attribute(node, "style-name") in self._off


def hidden_columns(table: Any) -> frozenset[int]:
    """The columns of a sheet that are not shown, counted from 0."""
    found: set[int] = set()
    at = 0
    for column in _columns(table):
        times = attribute(column, "number-columns-repeated")
        count = int(times) if times.isdecimal() and len(times) < 6 else 1
        if attribute(column, "visibility") in ("collapse", "filter"):
            found.update(range(at, min(at + count, 16_384)))
        at += count
    return frozenset(found)


def is_row_hidden(row: Any) -> bool:
    """Whether a row, or a group that it is in, is not shown."""
    while row is not None and _local(row) in _ROWS:
        if attribute(row, "visibility") in ("collapse", "filter"):
            return True
        row = row.parentNode
    return False


def _columns(node: Any) -> Iterator[Any]:
    for child in node.childNodes:
        name = _local(child)
        if name == "table-column":
            yield child
        elif name in ("table-columns", "table-header-columns", "table-column-group"):
            yield from _columns(child)


def _look(style: Any) -> _Look:
    look = _Look()
    for properties in style.childNodes:
        kind = _local(properties)
        behind = attribute(properties, "background-color")
        if behind:
            look = look._replace(filled=behind != "transparent" and not is_white(behind))
        if kind == "text-properties":
            colour, size = attribute(properties, "color"), _SIZE.match(attribute(properties, "font-size"))
            if display := attribute(properties, "display"):
                look = look._replace(shown=display != "none")
            if colour:
                look = look._replace(white=is_white(colour))
            if size:
                points = {"cm": 28.35, "mm": 2.835, "in": 72.0, "px": 0.75}.get(size[2] or "pt", 1.0)
                look = look._replace(points=float(size[1]) * points)
    return look


def _is_off(style: Any) -> bool:
    """Whether what has this style is not shown: a slide, a section."""
    return any(
        attribute(one, "visibility") == "hidden" or attribute(one, "display") == "none"
        for one in style.childNodes
        if _local(one) in ("drawing-page-properties", "section-properties")
    )


def _resolved(name: str, own: dict[str, tuple[str, _Look]]) -> _Look:
    look = _Look()
    for _ in range(_CHAIN):  # styles may be based on each other in a ring
        base, its = own.get(name, ("", _Look()))
        look, name = look.over(its), base
    return look


def _plain(node: Any) -> str:
    return "".join(_plain(child) if _local(child) else getattr(child, "data", "") or "" for child in node.childNodes)


def _local(node: Any) -> str:
    name = getattr(node, "qname", None)
    return str(name[1]) if name else ""


def attribute(element: Any, name: str) -> str:
    """An attribute by its local name, "" if there is none."""
    return next((str(value) for key, value in (element.attributes or {}).items() if key[1] == name), "")
