"""The outline of prose: where a text in Markdown, reStructuredText, AsciiDoc, Org, LaTeX, man or none may be cut.

`_FORMATS` says for each markup which lines matter and what their signs mean. The last named group that matches is the
method of `_LineReader` that reads such a line. A pattern begins with a line feed, which lets the regex engine skip
from line to line with `memchr`.
"""

import re
from collections.abc import Callable

from memctl.annotations import NamedTuple

#: Ranks from here on are borders inside one section (paragraphs, list items); below are headings and definitions.
INNER = 1000
#: Borders inside one section, best first: between paragraphs, list items, and parts of these.
PARAGRAPH, ITEM, SUB_ITEM = INNER, INNER + 1, INNER + 2
#: Before what the lines above introduce (they end in a colon): a list, a table, an example. The last place to cut at.
INTRODUCED = INNER + 3
#: Definitions in prose (a directive, an option of a command) are below all headings, and deeper by their indent.
DEFINITION = 500

#: How many characters are looked at to tell what a text is and what it calls itself.
LOOKED_AT = 20_000
#: How many characters above a paragraph are looked at for the colon that introduces it.
_ABOVE = 200


class Marks(NamedTuple):
    """Borders of a text, in order: three lists of one length, one entry a border.

    offsets  where a part begins, always the first character of a line, strictly rising
    ranks    how deep the part is nested; lower is stronger, and a part ends where one of its rank or lower begins
    names    what the part is called in a heading path; "" for a part without a name (a paragraph, a statement)
    """

    offsets: list[int]
    ranks: list[int]
    names: list[str]

    def add(self, offset: int, rank: int, name: str) -> None:
        """Append a border; one at the last border's place names it rather than standing beside it."""
        if self.offsets and offset <= self.offsets[-1]:
            if offset == self.offsets[-1]:
                self.ranks[-1], self.names[-1] = rank, name
            return
        self.offsets.append(offset)
        self.ranks.append(rank)
        self.names.append(name)


def outline(text: str, kind: str) -> Marks:
    """Where a text in this markup may be cut, and what its parts are called."""
    reader, markup = _LineReader(text, kind), _FORMATS[kind]
    source, next_line = reader.source, re.compile(markup.lines).search
    at = 0
    if kind == "markdown" and text.startswith("---\n"):  # front matter, in which nothing counts
        matter_end = text.find("\n---\n", 3)
        at = matter_end + 5 if matter_end >= 0 else 0
    while match := next_line(source, at):
        at, group = match.end(), match.lastgroup
        if group is None:
            reader.paragraph(match)
        elif group == "block":  # nothing counts in it
            end = markup.block_end.format(mark=re.escape(match["block"]), sign=re.escape(match["block"][0]))
            closing = re.compile(end).search(source, at)
            at = closing.end() if closing else len(source)
        elif group == "item":
            reader.found.add(match.start(), SUB_ITEM if match["item"][0].isspace() else ITEM, "")
        else:
            getattr(reader, group)(match)
    return reader.found


# --- titles -----------------------------------------------------------------------------------------------------------


def clean_title(title: str) -> str:
    """A heading's text without closing hashes, an `{#id}`, emphasis, code marks and link targets; 120 characters."""
    title = " ".join(title[:400].split()).rstrip("¶")
    if title.endswith("}"):
        title = re.sub(r"\s*\{[^{}]*\}$", "", title)
    if title.endswith("#"):
        title = re.sub(r"(?:^|\s)#+$", "", title)
    if "](" in title:
        title = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", title)
    return title.replace("`", "").replace("**", "").strip()[:120]


def _latex_title(title: str) -> str:
    """What stands up to the closing brace, which may hold commands and further braces."""
    depth = 1
    for at, char in enumerate(title):
        depth += (char == "{") - (char == "}")
        if not depth:
            title = title[:at]
            break
    return clean_title(re.sub(r"\\[A-Za-z]+\*?|[{}~$]", " ", title))


def _man_title(line: str) -> str:
    """A line of a manual page without its macros and escapes."""
    line = re.sub(r"^\.?[ \t]*(?:[BIR]{1,2}|SM|SB|Nm|Xo|Sy|Em)\b", "", line)
    line = re.sub(r"(?:^|(?<=\s))Fl[ ]+(?=\S)", "-", line)
    line = re.sub(r"(?:^|(?<=\s))(?:Cm|Ar|Ic|Pa|Ev|Oo|Oc|Ns|Xo|Xc|Li|Dq|Ql|Va)\b[ ]?", "", line)
    line = re.sub(r"\\f(?:\[\w*\]|\(\w\w|\w)|\\[&,/|^]", "", line)
    return clean_title(line.replace("\\-", "-").replace("\\(aq", "'").replace('"', ""))


# --- the markups ------------------------------------------------------------------------------------------------------


class _Format(NamedTuple):
    """How a markup is read.

    lines      the lines that matter; a match without a named group begins a paragraph after the next line feed
    ranks      the rank of a heading by its sign; another sign has the rank of its length
    title      what a heading or a term is called
    block_end  what ends a block that the line `mark` opens, whose first character is `sign`
    continues  what a paragraph begins with that goes on with a list item
    defines    whether a line above an indented text defines something
    """

    lines: str
    ranks: dict[str, int] = {}  # noqa: RUF012 - never changed in place
    title: Callable[[str], str] = clean_title
    block_end: str = ""
    continues: str = ""
    defines: bool = False


_FORMATS = {
    "markdown": _Format(
        r"\n(?=[\s`~#=*+0-9-])(?:[ \t]*(?P<block>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"
        r"| {0,3}(?P<heading>(?P<sign>#{1,6})(?:[ \t]+(?P<title>[^\n]*)|(?=\n|\Z)))"
        r"| {0,3}(?P<setext>=+|-{2,})[ \t]*(?=\n|\Z)"
        r"|(?P<item>[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)(?=\S)"
        r"|(?=[ \t]*\n[ \t]*[^\s]))",
        block_end=r"\n[ \t]*{mark}{sign}*\s*?(?=\n|\Z)",
    ),
    "asciidoc": _Format(
        r"\n(?:(?P<block>-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|\|={3,}|```)(?:(?<=`)\w+)?[ \t]*(?=\n|\Z)"
        r"|(?P<heading>(?P<sign>={1,6})[ ](?P<title>[^\n]{1,200}))"
        r"|(?P<two_line>(?P<text>[^\s\[.|*/+-][^\n]{0,200})\n(?P<under>=|-|~|\^|\+)(?P=under){2,})[ \t]*(?=\n|\Z)"
        r"|(?P<label>[ \t]*[^\s:/][^\n]{0,120}?):{2,4}[ \t]*(?=\n|[ ]\S)"
        r"|(?P<item>[ \t]*(?:[*-]|\*{2,5}|\.{1,5}|\d{1,3}\.)[ ]+(?=\S))"
        r"|(?=[ \t]*\n[ \t]*\S))",
        ranks={"=": 1, "-": 2, "~": 3, "^": 4, "+": 5},
        block_end=r"\n{mark}[ \t]*(?=\n|\Z)",
        continues=" \t+",
    ),
    "org": _Format(
        r"\n(?:[ \t]*#\+(?P<block>begin|BEGIN)_\w+[^\n]*"
        r"|(?P<heading>(?P<sign>\*{1,8})[ ]+(?:(?:TODO|DONE)[ ]+)?(?P<title>[^\n]{1,200}))"
        r"|(?P<item>[ \t]*(?:[-+]|\d{1,3}[.)])[ ]+(?=\S))"
        r"|(?=[ \t]*\n[ \t]*\S))",
        title=lambda title: clean_title(re.sub(r"[ \t]+:[\w@#%:]+:[ \t]*$", "", title)),  # without its tags
        block_end=r"\n[ \t]*#\+(?:end|END)_\w",
        continues=" \t+",
    ),
    "latex": _Format(
        r"\n(?:[ \t]*\\(?P<heading>(?P<sign>part|chapter|section|subsection|subsubsection|paragraph)\*?"
        r"(?:\[[^\]\n]*\])?\{(?P<title>[^\n]{1,200}))"
        r"|[ \t]*(?P<item>\\item\b)"
        r"|(?=[ \t]*\n[ \t]*\S))",
        ranks={"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6},
        title=_latex_title,
        continues=" \t+",
    ),
    "man": _Format(  # the source of a manual page, in the macros of man or mdoc
        r"\n\.[ \t]*(?:(?P<heading>(?P<sign>SH|Sh|SS|Ss)(?:[ \t]+|\n)(?P<title>[^\n]+))"
        r"|(?P<macro>(?:TP[^\n]*\n|It(?=[ \t])|IP(?=[ \t]+[^\s\d]))(?P<text>[^\n]*)|(?:PP|P|LP|Pp|sp|IP)\b))",
        ranks={"SH": 1, "Sh": 1, "SS": 2, "Ss": 2},
        title=_man_title,
    ),
    "rst": _Format(
        r"\n(?=[\s=\-~^\"'`#*+:._<>])(?:(?P<adornment>[=\-~^\"'`#*+:._<>])(?P=adornment){2,}[ \t]*(?=\n|\Z)"
        r"|(?P<indent>[ \t]*)\.\.[ ](?P<name>[\w:+.-]{1,60})::[ \t]*(?P<directive>[^\n]*)"
        r"|(?=[ \t]*\n[ \t]*\S))",
        defines=True,
    ),
    # No markup: headings in capitals (manual pages as they are printed) or with numbers (RFCs). Each line that matters
    # stands behind a blank line.
    "text": _Format(
        r"(?:\A|\n)(?:[ \t]*\n)(?:"
        r"(?=(?P<section>[A-Z][A-Z0-9][A-Z0-9 ,/&'()+:-]{0,58}(?:\n[ \t]+\S|\n[ \t]*\n|\Z)"
        r"|(?P<number>(?:\d{1,3}\.){1,5}|\d{1,3}(?:\.\d{1,3}){0,4}|(?:Chapter|Section|Part|Appendix|Article|Kapitel|"
        r"Abschnitt|Artikel|Chapitre|Annexe)[ ][\dIVXLCA-H]{1,6}[.:]?)[ \t]+[^\W\d_][^\n]{0,90}(?:\n[ \t]*\n|\Z)))"
        r"|(?=[ \t]*\S))",
        defines=True,
    ),
}

#: A section of a manual page as it is printed.
_CAPITALS_ALONE = r"\n[A-Z][A-Z ]{2,40}\n[ \t]+\S"
#: Directives of Sphinx that define something; what they define is their argument. Domains (`py:`, `c:`) do not matter.
_DEFINES = frozenset((
    "attribute", "class", "classmethod", "cmdoption", "command", "confval", "coroutinefunction", "data", "decorator",
    "decoratormethod", "describe", "django-admin", "django-admin-option", "enum", "enumerator", "envvar", "exception",
    "fieldlookup", "function", "macro", "member", "method", "namespace", "object", "opcode", "option", "pdbcommand",
    "program", "property", "setting", "staticmethod", "struct", "templatefilter", "templatetag", "type", "union", "var",
))  # fmt: skip
#: A word in a signature that is no part of the name.
_MODIFIERS = ("class", "async", "abstract", "static", "final", "property", "exception", "awaitable", "const", "extern")


class _LineReader:
    """Reads the lines of a text that matter, in order: a method for each named group of `_FORMATS`."""

    __slots__ = ("_indents", "_is_manual", "_is_plain", "_levels", "_markup", "_text", "found", "source")

    def __init__(self, text: str, kind: str) -> None:
        self._text, self._markup = text, _FORMATS[kind]
        # What stands in front makes the first line one like the others. A match begins at the line feed before a line;
        # with one line feed in front, that is the line's offset in the text. A match in plain text ends there.
        self._is_plain = kind == "text"
        self.source = ("\n\n" if self._is_plain else "\n") + text
        self.found = Marks([], [], [])
        self._indents: list[int] = []  # of the definitions that are open
        self._levels: dict[tuple[str, bool], int] = {}  # of the underlines of reStructuredText, as they appear
        # A manual page as it is printed: its sections in capitals are above those with numbers, and a term may be
        # indented further than what is defined around it; in another text that may be code.
        self._is_manual = self._is_plain and len(re.findall(_CAPITALS_ALONE, text[:LOOKED_AT])) > 1

    def heading(self, match: re.Match[str]) -> None:
        sign, ranks = match["sign"], self._markup.ranks
        title = self._markup.title(match["title"] or "")
        self.found.add(match.start(), ranks.get(sign, len(sign)), title or (sign if sign in ranks else sign[0]))

    def paragraph(self, match: re.Match[str]) -> None:
        """A paragraph is a term with its explanation, or what ends definitions, or a part of a section or an item."""
        text, indents = self._text, self._indents
        offset = match.end() - 2 if self._is_plain else self.source.find("\n", match.end())
        indent = _indent_of(text, offset) if text[offset] in " \t" else 0
        inside = indents[-1] + 4 if indents and indents[-1] < indent else 0
        if self._markup.defines:
            term = _term_at(text, offset, indent) if self._is_manual or indent <= inside else ""
            if term or (indents and indents[-1] >= indent):
                self._define(offset, indent, term)
                return
        if text[offset] in self._markup.continues:
            rank = SUB_ITEM
        elif text[max(0, offset - _ABOVE) : offset].rstrip().endswith(":"):
            rank = INTRODUCED
        else:
            rank = SUB_ITEM if indent > inside else PARAGRAPH
        self.found.add(offset, rank, "")

    def _define(self, offset: int, indent: int, name: str) -> None:
        """A definition begins at this line or, without a name, the text after one; those as deep or deeper end."""
        while self._indents and self._indents[-1] >= indent:
            self._indents.pop()
        if name:
            self._indents.append(indent)
        self.found.add(offset, DEFINITION + 2 * min(indent, 200) + (not name), name)

    # --- Markdown and AsciiDoc ---

    def setext(self, match: re.Match[str]) -> None:
        """A line of = or - makes the one line above it a heading, when that stands alone."""
        source, end, found = self.source, match.start(), self.found
        above = source.rfind("\n", 0, end)
        if above < 0:
            return
        title = source[above + 1 : end].strip()
        before = source[source.rfind("\n", 0, above) + 1 : above] if above else ""
        heading_above = bool(found.offsets) and found.ranks[-1] < INNER
        if title and title[0] not in "#>|-*+`~" and (not before.strip() or heading_above):
            found.add(above, 1 if match["setext"][0] == "=" else 2, clean_title(title))

    def two_line(self, match: re.Match[str]) -> None:
        """A title of AsciiDoc with a line below it that is about as long."""
        start, title = match.start(), match["text"]
        longer = match.end() - match.start("under") - len(title.rstrip())
        if -3 <= longer <= 3 and self.source[start - 1 : start] in ("", "\n", "]"):
            self.found.add(start, self._markup.ranks[match["under"]], clean_title(title))

    def label(self, match: re.Match[str]) -> None:
        """A term of a labelled list of AsciiDoc; several terms may share one explanation."""
        start, found = match.start(), self.found
        after_label = found.offsets and found.ranks[-1] == DEFINITION
        if not after_label or "\n\n" in self.source[found.offsets[-1] : start]:
            found.add(start, DEFINITION, clean_title(match["label"]))

    # --- manual pages and plain text ---

    def macro(self, match: re.Match[str]) -> None:
        """A macro of a manual page: an option or another term of a list, an item without one, a paragraph."""
        term = self._markup.title(match["text"] or "")
        self.found.add(match.start(), DEFINITION if term else PARAGRAPH if match["text"] is None else ITEM, term)

    def section(self, match: re.Match[str]) -> None:
        """A heading in capitals or with a number, unless it is a sentence or a line of a table of contents."""
        start, number = match.end() - 2, match["number"]
        end = self._text.find("\n", start)
        line = self._text[start : end if end >= 0 else None].strip()
        title, rank = line, 1
        if number:
            title, rank = clean_title(line), 1 + number.rstrip(".").count(".") + self._is_manual
            if not title or title[-1] in ".,;:" or ".." in title or ". ." in title or "   " in line:
                self.paragraph(match)
                return
        self.found.add(start, rank, title)
        self._indents.clear()

    # --- reStructuredText ---

    def adornment(self, match: re.Match[str]) -> None:
        """The line above an underline is a heading, if it is a title; underlines have the levels they appear in."""
        text, under, sign, found = self._text, match.start(), match["adornment"], self.found
        start = text.rfind("\n", 0, max(0, under - 1)) + 1
        title = text[start:under].rstrip()
        above = text.rfind("\n", 0, max(0, start - 1)) + 1
        over = start - above > 3 and not text[above:start].strip(sign + " \t\n")
        if over:  # then it may be indented
            title = title.lstrip()
        if not title or title[0].isspace() or not title.strip(sign) or len(match[0].strip()) < len(title):
            return
        rank = self._levels.setdefault((sign, over), len(self._levels) + 1)
        begin = self._with_targets(above if over else start)
        while found.offsets and found.offsets[-1] > begin:
            for column in found:
                column.pop()
        if "`" in title:  # a role: :func:`name`
            title = re.sub(r":[\w:+.-]{1,40}:(?=`)", "", title)
        found.add(begin, rank, clean_title(title))
        self._indents.clear()

    def directive(self, match: re.Match[str]) -> None:
        name = _defined_name(match["name"], match["directive"])
        if name:
            self._define(match.start(), len(match["indent"].expandtabs()), name)

    def _with_targets(self, start: int) -> int:
        """Where the link targets (`.. _label:`) and labels (`.. setting:: X`) directly above a heading begin."""
        at = start
        while at > 0:
            end = at - 1
            at = self._text.rfind("\n", 0, end) + 1
            line = self._text[at:end]
            if line.startswith(".. "):
                directive, _, argument = line[3:].partition("::")
                if not line.startswith(".. _") and not _defined_name(directive, argument):
                    break
                start = at
            elif line and not line.isspace():
                break
        return start


def _defined_name(directive: str, argument: str) -> str:
    """What a directive defines; "" when it defines nothing."""
    kind = directive.rpartition(":")[2]
    if not argument or kind.removeprefix("auto") not in _DEFINES:
        return ""
    words = argument.split(None, 1)
    name = words[1] if len(words) > 1 and words[0] in _MODIFIERS else argument.strip()
    return clean_title(name.partition("(")[0])


def _indent_of(text: str, start: int) -> int:
    """By how many columns the line at `start` is indented; a tab goes to the next multiple of eight."""
    at = start
    while text[at : at + 1] in (" ", "\t"):
        at += 1
    return len(text[start:at].expandtabs())


#: How long a term may be, and what it does not begin with: a list item, a table, markup, something typed at a prompt.
_LONGEST_TERM = 70
_NO_TERM = ("..", "- ", "* ", "+ ", "• ", "|", "+-", ">>>", "$ ", "# ", "//", "{", "[", "(", "==", "--- ", '"', "<")


def _term_at(text: str, start: int, indent: int) -> str:
    """The term in the line at `start` that the text below it, indented further, explains; "" if it is none.

    `-o, --output FILE` and `-o   Write to a file` are such lines, and `timeout` above an indented paragraph.
    """
    end = text.find("\n", start)
    if not indent and text[end + 1 : end + 2] not in (" ", "\t") and not text.startswith("-", start):
        return ""  # most paragraphs: nothing below is indented
    line = text[start:end].strip() if end >= 0 else text[start:].strip()
    if not line or line.startswith(_NO_TERM):
        return ""
    name = line.partition("\t")[0].partition("  ")[0].rstrip()
    if len(name) > _LONGEST_TERM:
        return ""
    if line[0] == "-" and len(name) < len(line):
        return name
    if end < 0 or len(line) > _LONGEST_TERM or line[-1] in ".,;:!?{(":
        return ""
    deeper = text[end + 1 : end + 2] in (" ", "\t") and _indent_of(text, end + 1) > indent + 1
    return name if deeper and not text[end + 1 : end + 200].partition("\n")[0].isspace() else ""


# --- which markup a text is in that its file's name calls plain -------------------------------------------------------

#: A markup's sign in a text, the lines of it that are counted if it is there, and how many of them tell.
_SIGNS = (
    ("man", "\n.", r"\n\.(?:TH|Dt|SH|Sh|SS|Ss|TP|It|PP|Pp)\b", 3),
    ("latex", "\\", r"\n[ \t]*\\(?:documentclass|begin\{document\}|chapter|section|subsection|subsubsection)\b", 2),
    ("org", "#+", r"\n(?:#\+(?:TITLE|title|BEGIN_SRC|begin_src|OPTIONS|STARTUP)\b)", 1),
    ("asciidoc", "\n== ", r"\n={1,5} \S.*(?=\n(?:\n|\Z|[:\[\w]))", 2),
    ("markdown", "\n#", r"\n#{1,6} \w.*(?=\n(?:\n|\Z))", 2),
)
#: A text without headings is in a markup when it has more of its signs than this.
_LISTED = 3
_UNDERLINE = r"\n([=\-~^\"#*+])\1{2,}[ \t]*(?=\n|\Z)"
_OF_RST = r"\n(?:\.\. (?:[\w:+.-]+::|_)|[ \t]+:\w+:)|:[a-z]+:`"
_OF_ASCIIDOC = (
    r"\n(?:[^\s.]\S{0,30}(?: <[^>\n]*>)?:{2,4}$|\+$|\[(?:[a-z]+|\[.*\])\]$|(?:ifn?def|include)::\S|:[a-z-]+: )"
)


def markup_of(text: str) -> str:
    """Which kind of markup a plain text is written in: rst, asciidoc, markdown, org, latex, man; else text."""
    head = "\n" + text[:LOOKED_AT]

    def has(lines: str, enough: int) -> bool:
        found = re.finditer(lines, head, re.MULTILINE)
        return all(next(found, None) for _ in range(enough))

    for kind, sign, lines, enough in _SIGNS:
        if sign in head and has(lines, enough):
            return kind
    asciidoc = len(re.findall(_OF_ASCIIDOC, head, re.MULTILINE))
    if _is_underlined(head):
        return "rst" if has(_OF_RST, asciidoc) else "asciidoc"
    return "asciidoc" if asciidoc > _LISTED else "rst" if has(_OF_RST, _LISTED + 1) else "text"


def _is_underlined(head: str) -> bool:
    """Whether some line that stands behind a blank line is underlined over its own length."""
    for match in re.finditer(_UNDERLINE, head):
        end = match.start()
        start = head.rfind("\n", 0, end) + 1
        before = head[head.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)].strip()
        title = head[start:end].rstrip()
        overlined = bool(before) and set(before) == {match[1]}
        apart = not before or before.startswith("..") or overlined
        title = title.lstrip() if overlined else title
        if apart and title[:1].strip() and -2 <= len(match[0].strip()) - len(title) <= 3:
            return True
    return False
