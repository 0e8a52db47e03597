"""HTML to readable Markdown text, in one pass, and apart from it what the page hides.

A scanner of our own rather than `html.parser`, which before Python 3.13.6 is quadratic on malformed input: 50 KB of
repeated `<a ` take Python 3.11 14 s, so 1 MB would take more than an hour. This one always goes forward, looks for an
end at most once, and never fails: what is no tag is text.
"""

import re
from html import unescape

from memctl.extract import Document, Hidden, Limits
from memctl.extract.writer import DEEPEST_ITEM, TINY_POINTS, join_hidden
from memctl.text.decoding import decode

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9:-]{0,30})")
#: The rest of a tag up to its >, which may stand inside quotes as well.
_REST = re.compile(r"""[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>""")
_ALT = re.compile(r"""\balt\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
#: How far a tag's quotes are followed before its first > is taken for its end.
_LONGEST_TAG = 8192
#: Elements whose content is no text, or (title) not here.
_RAW = ("script", "style", "template", "title", "noembed", "noframes")
#: A box beside the text (a note, a warning): what heads it heads neither what follows nor the section around it.
_BOXES = ("div", "aside", "blockquote", "section", "table")
_BOX_CLASS = re.compile(
    r"""\bclass\s{0,9}=\s{0,9}["']?[^"'>]{0,200}?(?<![^\s"'=])(?:note|tip|warning|caution|important|danger|hint|attention|"""
    r"""admonition|admonitionblock|callout|alert|sidebar|notice|notecard)(?![^\s"'>])""",
    re.IGNORECASE,
)
#: What stands between a page's own title and the name of its site.
_SEPARATORS = (" \u2014 ", " \u2013 ", " - ", " | ", " \u00b7 ", " :: ", " \u00bb ", " \u00ab ", ": ")


def read(data: bytes, name: str, limits: Limits) -> Document:  # noqa: ARG001 - what every reader is given
    """The text of an HTML file: headings with #, list items with -, table rows joined by |, code in fences."""
    source, encoding, notes = decode(data, name)
    title, text, hidden = convert(source)
    return Document(text, "markdown", "", encoding, notes, title, lines_are_source=False, hidden=join_hidden(hidden))


def convert(source: str) -> tuple[str, str, list[Hidden]]:
    """(title, text, hidden texts) of an HTML source. A title that no heading repeats becomes the first heading."""
    scanner = _Scanner(source)
    scanner.run()
    writer = scanner.seen
    text = writer.finish()
    title = " ".join(unescape(scanner.title).split())
    best = ""  # the title without the name of the site: the part of it that is a heading of the page
    for heading in sorted(writer.headings):
        before, _, after = title.partition(heading)
        if heading != title and (before or after) and len(heading) > len(best):
            apart = not before and after.startswith(_SEPARATORS)
            best = heading if apart or (not after and before.endswith(_SEPARATORS)) else best
    title = best or title
    if title and title not in writer.headings:
        text = f"# {title}\n\n{text}" if "# " not in text[:2] else f"{title}\n\n{text}"
    return title, text.strip("\n") + "\n" if text.strip() else "", [Hidden(scanner.unseen.finish())]


class _Scanner:
    """Goes from tag to tag and tells the writer what it meets."""

    __slots__ = ("_box", "_hiding", "_no_more", "_source", "_unquoted", "_writer", "seen", "title", "unseen")

    def __init__(self, source: str) -> None:
        self._source = source
        self._no_more: set[str] = set()  # ends that do not come any more: never looked for twice
        self._unquoted = 0  # up to here quotes in tags are not followed: they led to no end
        self.title = ""
        self._writer = self.seen = MarkdownWriter()
        self.unseen = MarkdownWriter()
        self._hiding = HiddenElements()
        self._box: list[str] = []  # the box at hand, and the elements of its name within it

    def run(self) -> None:
        source, at = self._source, 0
        while match := _TAG.search(source, at):
            start = match.start()
            if start > at:
                self._writer.text(unescape(source[at:start]))
            at = self._tag(start)
        self._writer.text(unescape(source[at:]))

    def _tag(self, start: int) -> int:
        """Handle the tag, comment or declaration at `start`; where to go on."""
        source = self._source
        named = _NAME.match(source, start)
        if not named:
            return self._declaration(start)
        end = self._find(">", named.end())
        if not end:
            self._writer.text("<")
            return start + 1
        closing, name = source[start + 1] == "/", named[1].lower()
        if named.end() >= self._unquoted:  # quotes are followed once: no text is looked at twice
            rest = _REST.match(source, named.end(), named.end() + _LONGEST_TAG)
            end = rest.end() if rest else end
            self._unquoted = self._unquoted if rest else named.end() + _LONGEST_TAG
        if closing:
            self._writer.close(name)
            self._hiding.close(name)
            if name in self._box:
                self._box.pop()
            self._writer = self.unseen if self._hiding.hidden else self.seen
            return end
        if name in _RAW:
            return self._raw(name, end)
        if name == "img":
            alt = _ALT.search(source, named.end(), end)
            self._writer.text(unescape(alt[1] or alt[2] or alt[3] or "") if alt else "")
        self._hiding.open(name, source, named.end(), end)
        self._writer = self.unseen if self._hiding.hidden else self.seen
        if name == "h1":
            self._box.clear()  # it heads the page: the box has no end of its own
        if self._box:
            self._box += [name] * (name == self._box[0])
        elif name in _BOXES and (name in ("aside", "blockquote") or _BOX_CLASS.search(source, named.end(), end)):
            self._box.append(name)
        self._writer.open("p" if self._box and name in _HEADINGS else name)
        return end

    def _declaration(self, start: int) -> int:
        """Skip a comment, a declaration or a processing instruction; an unclosed one is text."""
        source = self._source
        for begin, stop in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<", ">")):
            if source.startswith(begin, start):
                end = self._find(stop, start + len(begin))
                if end:
                    if begin == "<![CDATA[":
                        self._writer.text(source[start + len(begin) : end - len(stop)])
                    return end
        self._writer.text("<")
        return start + 1

    def _raw(self, name: str, start: int) -> int:
        """Skip an element that holds no text, to after its end tag (or to the end, as browsers do)."""
        source = self._source
        end = re.compile(f"</{name}", re.IGNORECASE).search(source, start)
        stop = end.start() if end else len(source)
        if name == "style":
            self._hiding.sheet(source[start:stop])
        if name == "title" and not self.title:
            self.title = source[start:stop][:1000]
        return self._find(">", stop) or len(source)

    def _find(self, what: str, start: int) -> int:
        """The end of the next `what` from `start`, 0 if there is none."""
        if what in self._no_more:
            return 0
        found = self._source.find(what, start)
        if found < 0:
            self._no_more.add(what)
            return 0
        return found + len(what)


_HEADINGS = {f"h{level}": level for level in range(1, 7)}
#: Elements that begin and end a paragraph.
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "main", "nav",
    "option", "p", "section", "select", "summary", "tbody", "tfoot", "thead", "textarea",
))  # fmt: skip
_LISTS = ("ul", "ol", "menu", "dir")
_CELLS = ("td", "th")


class MarkdownWriter:
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
            indent = "  " * (min(len(self._lists), DEEPEST_ITEM) - 1)
            number = self._lists[-1] if self._lists else 0
            self._bullet = f"{indent}{number}. " if number else f"{indent}- "
            if number:
                self._lists[-1] += 1
        elif name in _LISTS:
            self._break()
            self._lists.append(1 if name == "ol" else 0)
        elif name == "pre":
            self._end_cell()
            self._pre += 1
        elif name == "table":
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
        if not self._pre:
            self._paragraph(raw)
        elif code := raw.replace("\r", "\n").strip("\n").rstrip():  # &#13; is one
            ticks = "```"
            while ticks in code:
                ticks += "`"
            self._blocks.append(("code", f"{ticks}\n{code}\n{ticks}"))
        self._level, self._bullet = 0, ""

    def _paragraph(self, raw: str) -> None:
        lines = [line for part in raw.split(" \n") if (line := " ".join(part.split()))]
        if not lines:
            return
        if self._level:
            # Without the sign at its end that links to it: a pilcrow, or a # that stands apart.
            words = " ".join(lines)
            words = words.rstrip("\u00b6\uf0c1 ").removesuffix(" #").rstrip() or words
            self.headings.add(words)
            self._blocks.append(("heading", f"{'#' * self._level} {words}"))
        elif self._bullet:
            pad = "\n" + " " * len(self._bullet)
            self._blocks.append(("item", self._bullet + pad.join(lines)))
        else:
            self._blocks.append(("paragraph", "\n".join(lines)))


_ATTRIBUTES = re.compile(
    r"""(?<![\w-])(style|class|id|color|bgcolor|background|open|hidden)(?:\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""",
    re.IGNORECASE,
)
_BLOCK_OF_RULES = re.compile(
    r"@[^{}]{0,200}\{(?:[^{}]{0,400}\{[^{}]{0,2000}\}){0,200}[^{}]{0,400}\}|/\*.{0,2000}?\*/", re.DOTALL
)
_RULE = re.compile(r"([^{}]{1,400})\{([^{}]{1,2000})\}")
_SIMPLE = re.compile(r"[a-z0-9]{0,20}[.#][\w-]{1,80}\Z", re.IGNORECASE)
_VOID = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
))  # fmt: skip
#: Elements that end where the next one like them begins.
_IMPLIED = frozenset(("p", "li", "td", "th", "tr", "dt", "dd", "option"))
#: Pages are hidden as a whole until a script shows them: that hides nothing from anybody.
_PAGE = ("html", "body")
_DEEPEST_ELEMENT = 1000
#: A tag with so few characters behind its name has no attribute that matters.
_SHORTEST = 3


class HiddenElements:
    """Follows the elements of a page: the text at hand can be seen where `hidden` is empty."""

    __slots__ = ("_behind", "_rules", "hidden")

    def __init__(self) -> None:
        self.hidden: list[str] = []  # the elements within the hidden one, and that itself; empty where text is visible
        self._behind: list[str] = []  # open elements with a background, on which white can be read
        self._rules: dict[str, dict[str, str]] = {}

    def sheet(self, css: str) -> None:
        """Take in a style sheet: rules for a class or an id that hide, or that say how text is coloured."""
        for selectors, body in _RULE.findall(_BLOCK_OF_RULES.sub("", css)):
            for selector in selectors.split(","):
                name = selector.strip()
                if _SIMPLE.fullmatch(name):
                    name = name[re.search(r"[.#]", name).start() :]  # type: ignore[union-attr]
                    self._rules[name] = self._rules.get(name, {}) | declarations(body)

    def open(self, name: str, source: str, start: int, end: int) -> None:
        """An element begins; its attributes are in source[start:end]."""
        if self.hidden:
            if self.hidden[0] == name and name in _IMPLIED and len(self.hidden) == 1:
                self.hidden.clear()
            elif name not in _VOID and len(self.hidden) < _DEEPEST_ELEMENT:
                self.hidden.append(name)
                return
            else:
                return
        look = self._look(source, start, end) if end - start > _SHORTEST else {}
        unseen = name == "dialog" and "open" not in look
        if look:
            white = is_white(look.get("color", "")) and not self._behind and not has_background(look)
            colour, behind = look.get("color", ""), look.get("background-color", look.get("background", ""))
            clear = colour == "transparent" or _ZERO_ALPHA.match(colour) or (colour and colour == behind)
            unseen = unseen or white or bool(clear) or is_hiding(look)
        if unseen and name not in (*_VOID, *_PAGE):
            self.hidden.append(name)
        elif name not in _VOID and has_background(look) and len(self._behind) < _DEEPEST_ELEMENT:
            self._behind.append(name)

    def close(self, name: str) -> None:
        """An element ends."""
        if self.hidden:
            if name in self.hidden:
                del self.hidden[len(self.hidden) - 1 - self.hidden[::-1].index(name) :]
            elif name in self._behind or name in _PAGE or self.hidden[0] in _IMPLIED:
                self.hidden.clear()
        elif name in self._behind:
            del self._behind[len(self._behind) - 1 - self._behind[::-1].index(name) :]

    def _look(self, source: str, start: int, end: int) -> dict[str, str]:
        """The declarations that hold for an element, its own ones before those of style sheets."""
        found = {m[1].lower(): unescape(m[2] or m[3] or m[4] or "") for m in _ATTRIBUTES.finditer(source, start, end)}
        look: dict[str, str] = {}
        if self._rules:
            for word in found.get("class", "").split()[:20]:
                look |= self._rules.get(f".{word}", {})
            look |= self._rules.get(f"#{found.get('id', '')}", {})
        if "color" in found:
            look["color"] = found["color"].strip().lower()
        for name in ("bgcolor", "background"):
            if name in found:
                look["background"] = found[name].strip().lower() or "image"
        look |= declarations(found.get("style", ""))
        if "hidden" in found and found["hidden"] != "until-found":
            look.setdefault("display", "none")
        return look | ({"open": ""} if "open" in found else {})


_DECLARATION = re.compile(r"([a-z-]{1,40})\s{0,9}:\s{0,9}([^;]{1,200})")
_NUMBER = re.compile(r"(-?\d{0,9}\.?\d{1,9})\s{0,3}([a-z%]{0,4})")
_ZERO_ALPHA = re.compile(r"(?:rgba|hsla)\([^)]{0,40}[,/]\s*0?\.?0+%?\s*\)")
_WHITE = re.compile(r"#fff(?:fff)?(?:ff)?\Z|white\Z|rgba?\(\s*25[0-5]\s*[, ]\s*25[0-5]\s*[, ]\s*25[0-5]\b")
#: In pixels: what lies further to the left or above is not on the screen.
_FAR = -900
#: How many points and how many pixels the units of CSS have, where nothing else is said.
_PIXELS = {"em": 16.0, "rem": 16.0, "%": 10.0, "vw": 10.0, "vh": 10.0}
_POINTS = {"px": 0.75, "pt": 1.0, "em": 12.0, "rem": 12.0, "%": 0.12, "": 0.75}


def declarations(style: str) -> dict[str, str]:
    """The declarations of a CSS style, in lower case; of those said twice the last, as browsers have it."""
    return {name: value.replace("!important", "").strip() for name, value in _DECLARATION.findall(style.lower())}


def is_hiding(style: dict[str, str]) -> bool:
    """Whether CSS declarations make text invisible, whatever is around it; its colour aside."""
    if style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse"):
        return True
    if any(_is_zero(style.get(name)) for name in ("opacity", "font-size", "zoom", "scale")):
        return True
    if _length(style.get("font-size"), _POINTS, 12.0, 12.0) <= TINY_POINTS:
        return True
    transform = style.get("transform", "")
    moves = [style.get(name) for name in ("text-indent", "margin-left", "margin-top")]
    moves += re.findall(r"translate[xy]?\((-[^,)]{1,20})", transform)
    if style.get("position") in ("absolute", "fixed"):
        moves += [style.get(side) for side in ("left", "top", "right", "bottom")]
    return (
        any(_length(move, _PIXELS, 1.0, 0.0) <= _FAR for move in moves) or "scale(0)" in transform or _is_clipped(style)
    )


def is_white(colour: str) -> bool:
    """Whether a CSS colour is white: that of the page where nothing else is said."""
    return bool(_WHITE.match(colour.strip().lower()))


def has_background(style: dict[str, str]) -> bool:
    """Whether CSS declarations give something a background of another colour than white."""
    said = style.get("background-color") or style.get("background") or style.get("background-image") or ""
    return bool(said) and said not in ("none", "transparent", "inherit") and not is_white(said)


def _is_clipped(style: dict[str, str]) -> bool:
    clip = style.get("clip", "").replace(" ", "")
    if clip.startswith(("rect(0,0,0,0", "rect(0000", "rect(1px,1px,1px,1px", "rect(0px,0px,0px,0px")):
        return True
    if re.match(r"inset\((?:50|100)%|circle\(0", style.get("clip-path", "")):
        return True
    small = any(_is_zero(style.get(name)) or style.get(name) == "1px" for name in ("width", "height", "max-height"))
    return small and style.get("overflow", "").startswith(("hidden", "clip"))


def _is_zero(value: str | None) -> bool:
    found = _NUMBER.fullmatch(value or "")
    return bool(found) and abs(float(found[1])) < 0.02  # type: ignore[index]


def _length(value: str | None, units: dict[str, float], other: float, nothing: float) -> float:
    """A CSS length in the unit of `units`, which has `other` for unknown ones; `nothing` for what is no length."""
    found = _NUMBER.fullmatch((value or "").strip())
    return float(found[1]) * units.get(found[2], other) if found else nothing
