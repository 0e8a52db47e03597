"""The outline of prose: where a text in Markdown, reStructuredText, AsciiDoc, Org, LaTeX, man or none may be cut.

A class for each markup says which lines matter (`lines`); the last named group that matches is the method that reads
such a line. All of them share one walk over the lines, fences, list items and paragraphs. A pattern begins with a line
feed, which lets the regex engine skip from line to line with `memchr`.
"""

import re

from memctl.text.chunking.split import DEFINITION, INNER, INTRODUCED, ITEM, PARAGRAPH, SUB_ITEM, Marks

#: A heading within this many lines is the title of the whole.
_TITLE_LINES = 20
#: How many characters are looked at to tell what a text is and what it calls itself.
_LOOKED_AT = 20_000
#: How a text names its title where it has a place for that.
_NAMED = {
    "markdown": r"---\n(?:(?!---\n)[^\n]*\n){0,40}?title:[ \t]*([^\n]+)\n",
    "org": r"(?:[^\n]*\n){0,40}?#\+(?:title|TITLE):[ \t]*([^\n]+)",
    "latex": r"(?:[^\n]*\n){0,200}?[^%\n]*\\title(?:\[[^\]\n]*\])?\{([^{}]+)\}",
    "man": r"(?:[^\n]*\n){0,200}?\.[ \t]*(?:TH|Dt)[ \t]+\"?([\w.+:-]+)\"?[ \t]+\"?(\w+)",
    "text": r"\s*([\w.+:-]{1,60}\(\d\w{0,3}\))[ \t]{2,}\S",
}


def outline(text: str, kind: str) -> Marks:
    """Where a text in this markup may be cut, and what its parts are called."""
    return _OUTLINES[kind](text).read()


def headline(text: str, kind: str) -> str:
    """What a text in this markup calls itself: where that has a place for it, else in its first heading; else ""."""
    named = re.match(_NAMED[kind], text[:_LOOKED_AT]) if kind in _NAMED else None
    if named:
        if kind == "man":
            return f"{named[1].lower() if named[1].isupper() else named[1]}({named[2]})"
        return clean_title(named[1].strip("\"' "))
    if kind == "text":
        return ""  # what stands there in capitals or with a number is a part of it
    head = "\n".join(text[:_LOOKED_AT].split("\n", _TITLE_LINES)[:_TITLE_LINES])
    return next(filter(None, outline(head, kind).names), "")


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


class _Outline:
    """One walk over the lines of a text that matter, and what most markups have in common.

    A match without a named group begins a paragraph, at the end of the next line feed.
    """

    lines: str
    #: What stands before the text, so that its first line is one like the others. A match begins at the line feed
    #: before a line; with one line feed in front, that is the line's offset in the text.
    lead = "\n"

    def __init__(self, text: str) -> None:
        self.text, self.source = text, self.lead + text
        self.found = Marks([], [], [])
        self.fence_open = ""
        self.start = 0

    def read(self) -> Marks:
        pattern = re.compile(self.lines)
        readers = {name: getattr(self, name) for name in pattern.groupindex if hasattr(self, name)}
        readers["paragraph"] = self.paragraph
        for match in pattern.finditer(self.source, self.start):
            line = match.lastgroup or "paragraph"
            if not self.fence_open or line == "fence":
                readers[line](match)
        return self.found

    def heading(self, match: re.Match[str]) -> None:
        signs = match["signs"]
        self.found.add(match.start(), len(signs), clean_title(match["title"] or "") or signs[0])

    def item(self, match: re.Match[str]) -> None:
        self.found.add(match.start(), SUB_ITEM if match["item"][0].isspace() else ITEM, "")

    def paragraph(self, match: re.Match[str]) -> None:
        start = self.source.find("\n", match.end())  # the blank line's end: the paragraph's offset in the text
        if self.source[start + 1] in " \t+":
            self.found.add(start, SUB_ITEM, "")
        else:
            self.found.add(start, INTRODUCED if _is_introduced(self.text, start) else PARAGRAPH, "")


def _is_introduced(text: str, start: int) -> bool:
    """Whether the last line above `start` that is not blank ends in a colon: it introduces what follows."""
    at = start - 1
    while at >= 0 and text[at].isspace():
        at -= 1
    return at >= 0 and text[at] == ":"


class _Markdown(_Outline):
    """Sections by their headings, then paragraphs and list items; nothing counts in a fence or in the front matter."""

    lines = (
        r"\n(?=[\s`~#=*+0-9-])(?:[ \t]*(?P<fence>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"
        r"| {0,3}(?P<heading>(?P<signs>#{1,6})(?:[ \t]+(?P<title>[^\n]*)|(?=\n|\Z)))"
        r"| {0,3}(?P<underline>=+|-{2,})[ \t]*(?=\n|\Z)"
        r"|(?P<item>[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+)(?=\S)"
        r"|(?=[ \t]*\n[ \t]*[^\s]))"
    )

    def __init__(self, text: str) -> None:
        super().__init__(text)
        matter_end = text.find("\n---\n", 3) if text.startswith("---\n") else -1
        self.start = matter_end + 5 if matter_end >= 0 else 0

    def fence(self, match: re.Match[str]) -> None:
        run = match["fence"]
        if not self.fence_open:
            self.fence_open = run
            return
        end = self.source.find("\n", match.end())
        rest = self.source[match.end() : end if end >= 0 else None]
        if run.startswith(self.fence_open) and not rest.strip():
            self.fence_open = ""

    def underline(self, match: re.Match[str]) -> None:
        """A line of = or - makes the one line above it a heading, when that stands alone."""
        source, end, found = self.source, match.start(), self.found
        above = source.rfind("\n", 0, end)
        if above < 0:
            return
        title = source[above + 1 : end].strip()
        before = source[source.rfind("\n", 0, above) + 1 : above] if above else ""
        heading_above = bool(found.offsets) and found.ranks[-1] < INNER
        if title and title[0] not in "#>|-*+`~" and (not before.strip() or heading_above):
            found.add(above, 1 if match["underline"][0] == "=" else 2, clean_title(title))

    def paragraph(self, match: re.Match[str]) -> None:
        start = self.source.find("\n", match.end())
        if _is_introduced(self.text, start):
            self.found.add(start, INTRODUCED, "")
        else:
            self.found.add(start, SUB_ITEM if self.source[start + 1] in " \t" else PARAGRAPH, "")


class _Asciidoc(_Outline):
    """Sections, the terms of labelled lists, list items and paragraphs; nothing counts inside a delimited block."""

    lines = (
        r"\n(?:(?P<fence>-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|\|={3,}|```\w*)[ \t]*(?=\n|\Z)"
        r"|(?P<heading>(?P<signs>={1,6})[ ](?P<title>[^\n]{1,200}))"
        r"|(?P<underlined>(?P<text>[^\s\[.|*/+-][^\n]{0,200})\n(?P<sign>=|-|~|\^|\+)(?P=sign){2,})[ \t]*(?=\n|\Z)"
        r"|(?P<term>[ \t]*[^\s:/][^\n]{0,120}?):{2,4}[ \t]*(?=\n|[ ]\S)"
        r"|(?P<item>[ \t]*(?:[*-]|\*{2,5}|\.{1,5}|\d{1,3}\.)[ ]+(?=\S))"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )
    #: The characters of underlines, in the order of their levels.
    underlines = "=-~^+"

    def fence(self, match: re.Match[str]) -> None:
        mark = match["fence"][:3] + str(len(match["fence"]))
        self.fence_open = "" if self.fence_open == mark else self.fence_open or mark

    def underlined(self, match: re.Match[str]) -> None:
        start, title = match.start(), match["text"]
        longer = match.end() - match.start("sign") - len(title.rstrip())
        if -3 <= longer <= 3 and self.source[start - 1 : start] in ("", "\n", "]"):
            self.found.add(start, 1 + self.underlines.index(match["sign"]), clean_title(title))

    def term(self, match: re.Match[str]) -> None:
        start, found = match.start(), self.found
        after_term = found.offsets and found.ranks[-1] == DEFINITION
        if not after_term or "\n\n" in self.source[found.offsets[-1] : start]:  # else one list of terms goes on
            found.add(start, DEFINITION, clean_title(match["term"].strip()))


class _Org(_Outline):
    """Headings by their stars; nothing counts inside a block."""

    lines = (
        r"\n(?:[ \t]*#\+(?P<fence>begin|end|BEGIN|END)_\w+[^\n]*"
        r"|(?P<heading>(?P<signs>\*{1,8})[ ]+(?:(?:TODO|DONE)[ ]+)?(?P<title>[^\n]{1,200}))"
        r"|(?P<item>[ \t]*(?:[-+]|\d{1,3}[.)])[ ]+(?=\S))"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )

    def fence(self, match: re.Match[str]) -> None:
        self.fence_open = "block" if match["fence"].lower() == "begin" else ""

    def heading(self, match: re.Match[str]) -> None:
        title = re.sub(r"[ \t]+:[\w@#%:]+:[ \t]*$", "", match["title"])  # without the tags
        self.found.add(match.start(), len(match["signs"]), clean_title(title) or "*")


class _Latex(_Outline):
    r"""Sections by their commands, then `\item`s and paragraphs."""

    lines = (
        r"\n(?:[ \t]*\\(?P<heading>(?P<command>part|chapter|section|subsection|subsubsection|paragraph)\*?"
        r"(?:\[[^\]\n]*\])?\{(?P<title>[^\n]{1,200}))"
        r"|[ \t]*(?P<item>\\item\b)"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )
    commands = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")

    def heading(self, match: re.Match[str]) -> None:
        """The title is what is inside the braces, which may hold commands and further braces."""
        title, command, depth = match["title"], match["command"], 1
        for at, char in enumerate(title):
            depth += (char == "{") - (char == "}")
            if not depth:
                title = title[:at]
                break
        title = clean_title(re.sub(r"\\[A-Za-z]+\*?|[{}~$]", " ", title))
        self.found.add(match.start(), 1 + self.commands.index(command), title or command)


class _Man(_Outline):
    """The source of a manual page (man and mdoc macros): sections, the options and other terms of lists, paragraphs."""

    lines = (
        r"\n\.[ \t]*(?:(?P<heading>(?P<macro>SH|Sh|SS|Ss)(?:[ \t]+|\n)(?P<title>[^\n]+))"
        r"|(?P<term>(?:TP[^\n]*\n|It(?=[ \t])|IP(?=[ \t]+[^\s\d]))(?P<text>[^\n]*))"
        r"|(?:PP|P|LP|Pp|sp|IP)\b)"
    )

    def heading(self, match: re.Match[str]) -> None:
        macro = match["macro"]
        self.found.add(match.start(), 1 if macro in ("SH", "Sh") else 2, self._readable(match["title"]) or macro)

    def term(self, match: re.Match[str]) -> None:
        term = self._readable(match["text"])
        self.found.add(match.start(), DEFINITION if term else ITEM, term)

    def paragraph(self, match: re.Match[str]) -> None:
        self.found.add(match.start(), PARAGRAPH, "")

    @staticmethod
    def _readable(line: str) -> str:
        """A line without its macros and escapes."""
        line = re.sub(r"^\.?[ \t]*(?:[BIR]{1,2}|SM|SB|Nm|Xo|Sy|Em)\b", "", line)
        line = re.sub(r"(?:^|(?<=\s))Fl[ ]+(?=\S)", "-", line)
        line = re.sub(r"(?:^|(?<=\s))(?:Cm|Ar|Ic|Pa|Ev|Oo|Oc|Ns|Xo|Xc|Li|Dq|Ql|Va)\b[ ]?", "", line)
        line = re.sub(r"\\f(?:\[\w*\]|\(\w\w|\w)|\\[&,/|^]", "", line)
        return clean_title(line.replace("\\-", "-").replace("\\(aq", "'").replace('"', ""))


# --- where lines above an indented text define something: reStructuredText and plain text -----------------------------


class _DefinitionOutline(_Outline):
    """Adds what is defined by lines above an indented text, and the paragraphs between.

    A definition ends before the next line that stands no deeper than its own, and at each heading.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.indents: list[int] = []  # of the definitions that are open
        self.anywhere = False  # a term may be indented further than what is defined around it; else that may be code

    def define(self, offset: int, indent: int, name: str) -> None:
        """A definition begins at this line."""
        self._leave(indent)
        self.indents.append(indent)
        self.found.add(offset, _definition_rank(indent), name)

    def paragraph(self, match: re.Match[str]) -> None:
        """A paragraph is a term with its explanation, or what ends definitions, or a part of them."""
        text, indents = self.text, self.indents
        offset = match.end() - 2 if self.lead == "\n\n" else self.source.find("\n", match.end())
        indent = _indent_of(text, offset) if text.startswith((" ", "\t"), offset) else 0
        inside = indents[-1] + 4 if indents and indents[-1] < indent else 0
        term = _term_at(text, offset, indent) if self.anywhere or indent <= inside else ""
        if term:
            self.define(offset, indent, term)
        elif indents and self._leave(indent):
            self.found.add(offset, _definition_rank(indent) + 1, "")
        elif _is_introduced(text, offset):
            self.found.add(offset, INTRODUCED, "")
        else:
            self.found.add(offset, SUB_ITEM if indent > inside else PARAGRAPH, "")

    def _leave(self, indent: int) -> bool:
        """End the definitions that are indented as far or further; whether there were any."""
        before = len(self.indents)
        while self.indents and self.indents[-1] >= indent:
            self.indents.pop()
        return len(self.indents) < before


def _definition_rank(indent: int) -> int:
    return DEFINITION + 2 * min(indent, 200)


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


#: Directives of Sphinx that define something; what they define is their argument. Domains (`py:`, `c:`) do not matter.
_DEFINES = frozenset((
    "attribute", "class", "classmethod", "cmdoption", "command", "confval", "coroutinefunction", "data", "decorator",
    "decoratormethod", "describe", "django-admin", "django-admin-option", "enum", "enumerator", "envvar", "exception",
    "fieldlookup", "function", "macro", "member", "method", "namespace", "object", "opcode", "option", "pdbcommand",
    "program", "property", "setting", "staticmethod", "struct", "templatefilter", "templatetag", "type", "union", "var",
))  # fmt: skip
#: A word in a signature that is no part of the name.
_MODIFIERS = ("class", "async", "abstract", "static", "final", "property", "exception", "awaitable", "const", "extern")


class _Rst(_DefinitionOutline):
    """Sections, and what directives define (functions, settings, options).

    The order in which underlines appear is the order of their levels.
    """

    lines = (
        r"\n(?=[\s=\-~^\"'`#*+:._<>])(?:(?P<heading>[=\-~^\"'`#*+:._<>])(?P=heading){2,}[ \t]*(?=\n|\Z)"
        r"|(?P<indent>[ \t]*)\.\.[ ](?P<name>[\w:+.-]{1,60})::[ \t]*(?P<directive>[^\n]*)"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.levels: dict[tuple[str, bool], int] = {}

    def heading(self, match: re.Match[str]) -> None:
        """The line above an underline, if it is a title."""
        text, under, sign, found = self.text, match.start(), match["heading"], self.found
        start = text.rfind("\n", 0, max(0, under - 1)) + 1
        title = text[start:under].rstrip()
        above = text.rfind("\n", 0, max(0, start - 1)) + 1
        over = start - above > 3 and not text[above:start].strip(sign + " \t\n")
        if over:  # then it may be indented
            title = title.lstrip()
        if not title or title[0].isspace() or not title.strip(sign) or len(match[0].strip()) < len(title):
            return
        rank = self.levels.setdefault((sign, over), len(self.levels) + 1)
        begin = self._with_targets(above if over else start)
        while found.offsets and found.offsets[-1] > begin:
            for column in found:
                column.pop()
        if "`" in title:  # a role: :func:`name`
            title = re.sub(r":[\w:+.-]{1,40}:(?=`)", "", title)
        found.add(begin, rank, clean_title(title))
        self.indents.clear()

    def directive(self, match: re.Match[str]) -> None:
        name = self._defined(match["name"], match["directive"])
        if name:
            self.define(match.start(), len(match["indent"].expandtabs()), name)

    def _with_targets(self, start: int) -> int:
        """Where the link targets (`.. _label:`) and labels (`.. setting:: X`) directly above a heading begin."""
        at = start
        while at > 0:
            end = at - 1
            at = self.text.rfind("\n", 0, end) + 1
            line = self.text[at:end]
            if line.startswith(".. "):
                directive, _, argument = line[3:].partition("::")
                if not line.startswith(".. _") and not self._defined(directive, argument):
                    break
                start = at
            elif line and not line.isspace():
                break
        return start

    @staticmethod
    def _defined(directive: str, argument: str) -> str:
        """What a directive defines; "" when it defines nothing."""
        kind = directive.rpartition(":")[2]
        if not argument or kind.removeprefix("auto") not in _DEFINES:
            return ""
        words = argument.split(None, 1)
        name = words[1] if len(words) > 1 and words[0] in _MODIFIERS else argument.strip()
        return clean_title(name.partition("(")[0])


class _Plain(_DefinitionOutline):
    """A text in no markup: headings in capitals (manual pages as they are printed) or with numbers (RFCs), terms with
    an indented explanation, and paragraphs."""

    lead = "\n\n"  # each line that matters stands behind a blank line
    lines = (
        r"(?:\A|\n)(?:[ \t]*\n)(?:"
        r"(?P<capitals>[A-Z][A-Z0-9][A-Z0-9 ,/&'()+:-]{0,58})(?=\n[ \t]+\S|\n[ \t]*\n|\Z)"
        r"|(?=(?P<number>(?:\d{1,3}\.){1,5}|\d{1,3}(?:\.\d{1,3}){0,4}|(?:Chapter|Section|Part|Appendix|Article|Kapitel|"
        r"Abschnitt|Artikel|Chapitre|Annexe)[ ][\dIVXLCA-H]{1,6}[.:]?)[ \t]+[^\W\d_][^\n]{0,90}(?:\n[ \t]*\n|\Z))"
        r"|(?=[ \t]*\S))"
    )

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # A manual page as it is printed: its sections in capitals are above those with numbers.
        self.anywhere = len(re.findall(r"\n[A-Z][A-Z ]{2,40}\n[ \t]+\S", text[:_LOOKED_AT])) > 1

    def capitals(self, match: re.Match[str]) -> None:
        self.found.add(match.start("capitals") - len(self.lead), 1, match["capitals"].strip())
        self.indents.clear()

    def number(self, match: re.Match[str]) -> None:
        """A heading with its number, unless it is a sentence or a line of a table of contents."""
        start = match.end() - len(self.lead)
        end = self.text.find("\n", start)
        line = self.text[start:end] if end >= 0 else self.text[start:]
        title = clean_title(line)
        if not title or title[-1] in ".,;:" or ".." in title or ". ." in title or "   " in line.strip():
            self.paragraph(match)
        else:
            self.found.add(start, 1 + match["number"].rstrip(".").count(".") + self.anywhere, title)
            self.indents.clear()


_OUTLINES: dict[str, type[_Outline]] = {
    "markdown": _Markdown, "asciidoc": _Asciidoc, "org": _Org, "latex": _Latex, "man": _Man, "rst": _Rst,
    "text": _Plain,
}  # fmt: skip

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
    head = "\n" + text[:_LOOKED_AT]
    for kind, sign, lines, enough in _SIGNS:
        if sign in head:
            for count, _ in enumerate(re.finditer(lines, head, re.MULTILINE), 1):
                if count == enough:
                    return kind
    asciidoc, rst = (len(re.findall(signs, head, re.MULTILINE)) for signs in (_OF_ASCIIDOC, _OF_RST))
    if _is_underlined(head):
        return "asciidoc" if asciidoc > rst else "rst"
    return "asciidoc" if asciidoc > _LISTED else "rst" if rst > _LISTED else "text"


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
