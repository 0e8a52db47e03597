"""The writing half of HTML conversion: elements opened and closed, text between them, and Markdown comes out."""

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
#: Elements that begin and end a paragraph.
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "main", "nav",
    "option", "p", "section", "select", "summary", "tbody", "tfoot", "thead", "textarea",
))  # fmt: skip
_LISTS = ("ul", "ol", "menu", "dir")
_CELLS = ("td", "th")
#: How deep a list item is indented at most.
_DEEPEST = 8


class Writer:
    """Collects text into blocks. `open`, `close` and `text` come in the order of the document; `finish` once."""

    __slots__ = ("_blocks", "_bullet", "_inline", "_level", "_lists", "_pre", "_rows", "headings")

    def __init__(self) -> None:
        self._blocks: list[tuple[str, str]] = []  # (what it is, its text)
        self._inline: list[str] = []
        self._level = 0  # of the heading that is open
        self._lists: list[int] = []  # for each open list the next number, 0 when it has bullets
        self._bullet = ""
        self._pre = 0
        self._rows: list[list[str] | None] = []  # for each open table the cells of its open row
        self.headings: set[str] = set()

    def text(self, text: str) -> None:
        """Text as it stands in the source, its entities decoded."""
        if text:
            self._inline.append(text)

    def open(self, name: str) -> None:
        """An element begins."""
        if name == "br":
            self._inline.append("\n" if self._pre else " \n")
        elif name in _HEADINGS:
            self._break()
            self._level = _HEADINGS[name]
        elif name == "li":
            self._break()
            self._bullet = self._next_bullet()
        elif name in _LISTS:
            self._break()
            self._lists.append(1 if name == "ol" else 0)
        elif name == "pre":
            self._end_cell()
            self._pre += 1
        else:
            self._open_table_part(name)

    def close(self, name: str) -> None:
        """An element ends; one that never began is harmless."""
        if name in _LISTS:
            self._break()
            self._bullet = ""
            if self._lists:
                self._lists.pop()
        elif name == "pre":
            self._break()
            self._pre = max(0, self._pre - 1)
        elif name == "table":
            self._end_row()
            if self._rows:
                self._rows.pop()
        elif name == "tr":
            self._end_row()
        elif name in _CELLS:
            self._end_cell()
        elif name in _HEADINGS or name == "li":
            self._break()
            self._level, self._bullet = 0, ""
        elif name in _BLOCKS:
            self._break()

    def finish(self) -> str:
        """The whole text: blocks with a blank line between them, list items and table rows without."""
        while self._rows:
            self.close("table")
        self._break()
        out: list[str] = []
        before = ""
        for what, block in self._blocks:
            if out:
                out.append("\n" if what == before and what in ("item", "row") else "\n\n")
            out.append(block)
            before = what
        return "".join(out)

    def _open_table_part(self, name: str) -> None:
        if name == "table":
            self._break(inside_cell=False)
            self._rows.append(None)
        elif name == "tr":
            self._end_row()
            if self._rows:
                self._rows[-1] = []
        elif name in _CELLS:
            self._end_cell()
        elif name in _BLOCKS:
            self._break()

    def _next_bullet(self) -> str:
        indent = "  " * (min(len(self._lists), _DEEPEST) - 1)
        number = self._lists[-1] if self._lists else 0
        if not number:
            return f"{indent}- "
        self._lists[-1] += 1
        return f"{indent}{number}. "

    def _end_cell(self) -> None:
        row = self._rows[-1] if self._rows else None
        words = " ".join("".join(self._inline).split())
        if row is None:
            self._break()
        elif words:
            row.append(words)
            self._inline.clear()

    def _end_row(self) -> None:
        self._end_cell()
        if self._rows and self._rows[-1]:
            self._blocks.append(("row", " | ".join(self._rows[-1])))
            self._rows[-1] = None

    def _break(self, *, inside_cell: bool = True) -> None:
        """End the paragraph, heading or item that is open; inside a table cell it is only a blank."""
        if inside_cell and self._rows and self._rows[-1] is not None and not self._pre:
            self._inline.append(" ")
            return
        raw = "".join(self._inline)
        self._inline.clear()
        if not raw or raw.isspace():
            return  # <li><p>: the item is still to come
        if self._pre:
            self._fence(raw)
        else:
            self._paragraph(raw)
        self._level, self._bullet = 0, ""

    def _fence(self, raw: str) -> None:
        code = raw.replace("\r", "\n").strip("\n").rstrip()  # &#13; is one
        if code:
            ticks = "```"
            while ticks in code:
                ticks += "`"
            self._blocks.append(("code", f"{ticks}\n{code}\n{ticks}"))

    def _paragraph(self, raw: str) -> None:
        lines = [line for part in raw.split(" \n") if (line := " ".join(part.split()))]
        if not lines:
            return
        if self._level:
            words = _without_link(" ".join(lines))
            self.headings.add(words)
            self._blocks.append(("heading", f"{'#' * self._level} {words}"))
        elif self._bullet:
            pad = "\n" + " " * len(self._bullet)
            self._blocks.append(("item", self._bullet + pad.join(lines)))
        else:
            self._blocks.append(("paragraph", "\n".join(lines)))


def _without_link(heading: str) -> str:
    """A heading without the sign at its end that links to it: a pilcrow, or a # that stands apart."""
    return (heading.rstrip("\u00b6\uf0c1 ").removesuffix(" #").rstrip()) or heading
