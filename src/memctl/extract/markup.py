"""HTML to readable Markdown text, in one pass.

A scanner of our own rather than `html.parser`, which before Python 3.13.6 is quadratic on malformed input: 50 KB of
repeated `<a ` take Python 3.11 14 s, so 1 MB would take more than an hour. This one always goes forward, looks for an
end at most once, and never fails: what is no tag is text.
"""

import re
from html import unescape

from memctl.extract import Document, Hidden, Limits
from memctl.extract.hidden import joined
from memctl.extract.markup_hidden import Hiding
from memctl.extract.markup_text import Writer
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


def read(data: bytes, name: str, limits: Limits) -> Document:  # noqa: ARG001 - what every reader is given
    """The text of an HTML file: headings with #, list items with -, table rows joined by |, code in fences."""
    source, encoding, notes = decode(data, name)
    title, text, hidden = convert(source)
    return Document(text, "markdown", "", encoding, notes, title, lines_are_source=False, hidden=joined(hidden))


def convert(source: str) -> tuple[str, str, list[Hidden]]:
    """(title, text, hidden texts) of an HTML source. A title that no heading repeats becomes the first heading."""
    scanner = _Scanner(source)
    scanner.run()
    writer = scanner.writer
    text = writer.finish()
    title = _page_title(" ".join(unescape(scanner.title).split()), writer.headings)
    if title and title not in writer.headings:
        text = f"# {title}\n\n{text}" if "# " not in text[:2] else f"{title}\n\n{text}"
    return title, text.strip("\n") + "\n" if text.strip() else "", scanner.hidden()


#: What stands between a page's own title and the name of its site.
_SEPARATORS = (" \u2014 ", " \u2013 ", " - ", " | ", " \u00b7 ", " :: ", " \u00bb ", " \u00ab ", ": ")


def _page_title(title: str, headings: set[str]) -> str:
    """The title without the site's name, which every page has: the part of it that is a heading of the page."""
    best = ""
    for heading in sorted(headings):
        before, _, after = title.partition(heading)
        if heading != title and (before or after) and len(heading) > len(best):
            apart = not before and after.startswith(_SEPARATORS)
            best = heading if apart or (not after and before.endswith(_SEPARATORS)) else best
    return best or title


class _Scanner:
    """Goes from tag to tag and tells the writer what it meets."""

    __slots__ = ("_hiding", "_no_more", "_seen", "_source", "_unquoted", "_unseen", "title", "writer")

    def __init__(self, source: str) -> None:
        self._source = source
        self._no_more: set[str] = set()  # ends that do not come any more: never looked for twice
        self._unquoted = 0  # up to here quotes in tags are not followed: they led to no end
        self.title = ""
        self.writer = self._seen = Writer()
        self._unseen = Writer()
        self._hiding = Hiding()

    def hidden(self) -> list[Hidden]:
        """What the page hides."""
        return [Hidden(self._unseen.finish())]

    def run(self) -> None:
        source, at = self._source, 0
        while match := _TAG.search(source, at):
            start = match.start()
            if start > at:
                self.writer.text(_decoded(source[at:start]))
            at = self._tag(start)
        self.writer.text(_decoded(source[at:]))
        self.writer = self._seen

    def _tag(self, start: int) -> int:
        """Handle the tag, comment or declaration at `start`; where to go on."""
        source = self._source
        named = _NAME.match(source, start)
        if not named:
            return self._declaration(start)
        end = self._find(">", named.end())
        if not end:
            self.writer.text("<")
            return start + 1
        closing, name = source[start + 1] == "/", named[1].lower()
        end = self._end_of_tag(named.end()) or end
        if closing:
            self.writer.close(name)
            self._hiding.close(name)
            self._turn()
            return end
        if name in _RAW:
            return self._raw(name, end)
        if name == "img":
            alt = _ALT.search(source, named.end(), end)
            self.writer.text(_decoded(alt[1] or alt[2] or alt[3] or "") if alt else "")
        self._hiding.open(name, source, named.end(), end)
        self._turn()
        self.writer.open(name)
        return end

    def _turn(self) -> None:
        """Write to where text at this place belongs."""
        self.writer = self._unseen if self._hiding.active else self._seen

    def _end_of_tag(self, start: int) -> int:
        """The end of the tag whose name ends at `start`, 0 if its quotes do not close soon. Looks at no text twice."""
        if start < self._unquoted:
            return 0
        rest = _REST.match(self._source, start, start + _LONGEST_TAG)
        if rest:
            return rest.end()
        self._unquoted = start + _LONGEST_TAG
        return 0

    def _declaration(self, start: int) -> int:
        """Skip a comment, a declaration or a processing instruction; an unclosed one is text."""
        source = self._source
        for begin, stop in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<", ">")):
            if source.startswith(begin, start):
                end = self._find(stop, start + len(begin))
                if end:
                    if begin == "<![CDATA[":
                        self.writer.text(source[start + len(begin) : end - len(stop)])
                    return end
        self.writer.text("<")
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


def _decoded(text: str) -> str:
    return unescape(text) if "&" in text else text
