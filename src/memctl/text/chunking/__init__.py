"""Cutting a text into passages: the pieces that are stored, searched and given to a model.

A passage is whole lines of the source, so that its line range is exact; sections and definitions stay whole where they
fit; and all of the text is in some passage, once.

Source code and data files are outlined by line patterns, nested by their indent. No parser: broken code, and languages
of which we know only a keyword, must come out as well, and fast. Every pattern starts with a line feed, which lets the
regex engine skip from line to line with `memchr`; all repeats are bounded.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.text.chunking.outline import INNER, LOOKED_AT, Marks, clean_title, outline
from memctl.text.tokens import CHARS_PER_TOKEN

if TYPE_CHECKING:
    from memctl.extract import Document

#: The aim for a passage, in tokens: several of them fit a block, and one still says what it is about.
TARGET_TOKENS = 400
#: The limit of a passage, in tokens, unless the caller gives one.
MAX_TOKENS = 1800
#: How long a heading may be, in characters.
MAX_HEADING = 240
#: The kinds of which no heading says what the whole is called: in plain text it is the heading of a part.
_NO_HEADLINE = ("code", "data", "table", "text")
#: A heading within this many lines is the title of the whole.
_TITLE_LINES = 20
#: How a text names its title where it has a place for that.
_NAMED = {
    "markdown": r"---\n(?:(?!---\n)[^\n]*\n){0,40}?title:[ \t]*([^\n]+)\n",
    "org": r"(?:[^\n]*\n){0,40}?#\+(?:title|TITLE):[ \t]*([^\n]+)",
    "latex": r"(?:[^\n]*\n){0,200}?[^%\n]*\\title(?:\[[^\]\n]*\])?\{([^{}]+)\}",
    "man": r"(?:[^\n]*\n){0,200}?\.[ \t]*(?:TH|Dt)[ \t]+\"?([\w.+:-]+)\"?[ \t]+\"?(\w+)",
    "text": r"\s*([\w.+:-]{1,60}\(\d\w{0,3}\))[ \t]{2,}\S",
}
#: Languages whose parts go on to the next heading, not to the end of an indented block.
_SECTIONED = ("toml", "ini")
#: How full a passage is at least before a border is good enough, in percent of the target; the same for code.
_FILL, _CODE_FILL = 35, 65


class Passage(NamedTuple):
    """One piece of a text.

    text     the lines start..end, without blank lines around them; part of a line only where that one is too long
    start    the first line, counted from 1
    end      the last line, inclusive
    heading  where it stands: "Guide > Install" in prose, "Foo.bar" in code, the header row in a table; "" if nowhere
    """

    text: str
    start: int
    end: int
    heading: str


def chunk(
    source: "Document | str",
    *,
    kind: str = "text",
    language: str = "",
    max_tokens: int = MAX_TOKENS,
    target_tokens: int = TARGET_TOKENS,
    breaks: Sequence[int] = (),
) -> list[Passage]:
    """The passages of a document, or of a text with its kind and language, in order.

    None is longer than `max_tokens` (four characters each); they aim at `target_tokens` and may reach half as much
    again to keep a part whole. Blank text has no passage. At the lines `breaks` (from 1, rising) a text of its own
    begins: no passage and no heading path goes across.
    """
    text = source if isinstance(source, str) else source.text
    if not isinstance(source, str):
        kind, language = source.kind, source.language
    is_code, table_heading = kind in ("code", "data"), ""
    out: list[Passage] = []
    for lines_before, part in _parts(text, breaks) if breaks else [(0, text)]:
        if is_code:
            from memctl.text.chunking import code_outline

            marks = code_outline(part, language, INNER if language in _SECTIONED else 1)
        elif kind == "table":
            marks, table_heading = _table_outline(part)
        else:
            marks = outline(part, kind)
        walk = _HeadingWalk(marks, separator="." if is_code else " > ", indented=is_code and language not in _SECTIONED)
        line, counted = 1 + lines_before, 0
        for start, end in _Cutter(part, marks, kind, max_tokens=max_tokens, target_tokens=target_tokens).ranges():
            piece = part[start:end]
            filled = piece.lstrip()
            if not filled:
                continue
            # The lines of the range without the blank ones at its ends.
            first = piece.rfind("\n", 0, len(piece) - len(filled)) + 1
            last = piece.find("\n", len(piece.rstrip()))
            body = piece[first:last] if last >= 0 else piece[first:]
            offset = start + first
            begin = line + part.count("\n", counted, offset)
            line, counted = begin + body.count("\n"), offset + len(body)
            named = kind != "table" and marks.offsets
            heading = walk.path(offset, counted, body)[:MAX_HEADING] if named else table_heading
            out.append(Passage(body, begin, line, heading))
    return out


def title_of(document: "Document", name: str) -> str:
    """What a document is called: what it says itself, else its format's own title, else the file's stem.

    A text says it where its markup has a place for that, else in its first heading.
    """
    kind, text = document.kind, document.text[:LOOKED_AT]
    named = re.match(_NAMED[kind], text) if kind in _NAMED else None
    own = ""
    if named and kind == "man":
        own = f"{named[1].lower() if named[1].isupper() else named[1]}({named[2]})"
    elif named:
        own = clean_title(named[1].strip("\"' "))
    elif kind not in _NO_HEADLINE:
        head = "\n".join(text.split("\n", _TITLE_LINES)[:_TITLE_LINES])
        own = next(filter(None, outline(head, kind).names), "")
    if own or document.title:
        return own or document.title
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = base.rpartition(".")[0]
    return (stem if stem.strip(".") else base) or name


def _parts(text: str, breaks: Sequence[int]) -> Iterator[tuple[int, str]]:
    """(number of lines before it, text) of each part of a text that is divided before the lines `breaks`."""
    at = before = 0
    for wanted in breaks:
        start, passed = at, before
        while before < wanted - 1 and (end := text.find("\n", at)) >= 0:
            at, before = end + 1, before + 1
        if at > start:
            yield passed, text[start:at]
    yield before, text[at:]


def _table_outline(text: str) -> tuple[Marks, str]:
    """Where rows begin in a table some of whose quoted fields go over several lines, and what its passages are called.

    A line opens such a field when it has an odd number of quotes, and one of them where a field begins; the next line
    with an odd number closes it. There are no marks when no field goes over several lines.

    The name is the first line that is not blank, at most 120 characters; that of a sheet with the sheet's name.
    """
    first, _, rest = text.lstrip().partition("\n")
    heading = first[:120].rstrip()
    if first.startswith("# "):
        below = rest.lstrip().partition("\n")[0]
        heading = f"{first[2:].strip()[:120]}{' > ' if below else ''}{below[:120].rstrip()}"
    found = Marks([], [], [])
    at, inside, divided = 0, False, False
    for line in text.split("\n") if '"' in text else ():
        if inside:
            divided = True
        else:
            found.add(at, INNER, "")
        if line.count('"') % 2:
            inside = not inside and (line.startswith('"') or any(start in line for start in (',"', ';"', '\t"')))
        at += len(line) + 1
    return found if divided else Marks([], [], []), heading


# --- cutting at the marks ---------------------------------------------------------------------------------------------


class _Cutter:
    """Cuts a text at its marks into ranges of about one size, which is in characters.

    target   what to aim for; a range is filled up to it
    stretch  as far as a part that would otherwise be torn may reach; never above the caller's maximum
    floor    a range is filled at least this far before a border is good enough
    crumb    a range smaller than this is merged with a neighbour
    """

    def __init__(self, text: str, marks: Marks, kind: str, *, max_tokens: int, target_tokens: int) -> None:
        most = max(1, max_tokens) * CHARS_PER_TOKEN
        self._text, self._marks, self._kind = text, marks, kind
        self._is_code = kind in ("code", "data")
        # Prose is cut at the first heading once the floor is reached, code at the last within the target.
        self._is_prose = not self._is_code and kind != "table"
        self._target = target = max(1, min(target_tokens * CHARS_PER_TOKEN, most))
        self._stretch = min(target * 3 // 2, most)
        self._floor = max(1, target * (_CODE_FILL if self._is_code else _FILL) // 100)
        self._crumb = target * 15 // 100
        # The mark to go on from, and the rank and the place of the last heading before it.
        self._next, self._heading_rank, self._heading_at = 0, INNER, 0

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Ranges that cover the text without gap or overlap, at most half as long again as the target.

        A range ends at the end of a line, except where one line alone is longer than that. A target above the maximum
        is the maximum.
        """
        at, end = 0, len(self._text)
        least = self._floor if self._is_prose else self._target
        while end - at > least:
            cut = self._best_mark(at) or self._unmarked_border(at)
            if not cut:
                cut = self._text.find("\n", at + self._stretch) + 1 or end
                yield from _line_parts(self._text, at, cut, self._target)
            elif end - cut < self._crumb and end - at <= self._stretch:
                break
            else:
                yield at, cut
            at = cut
        if at < end:
            yield at, end

    def _best_mark(self, start: int) -> int:
        """The mark to cut at for the range that begins at `start`, 0 when none is within reach; starts must rise.

        The strongest mark between floor and target wins: the first of equals in prose, so that sections stay pure,
        the last of them in code, so that passages are full. Failing a clean one, a part may stretch to its end.
        """
        offsets, ranks, _ = self._marks
        at, crumb, end = self._next, start + max(1, self._crumb), len(self._text)
        while at < len(offsets) and offsets[at] < crumb:
            if ranks[at] < INNER:
                self._heading_rank, self._heading_at = ranks[at], offsets[at]
            at += 1
        self._next = at
        floor = bisect_left(offsets, start + self._floor, at)
        early = 0
        if self._is_prose:
            early, early_rank = self._strongest(at, floor, first_below=2 * INNER)
            if early_rank < min(INNER, self._heading_rank + (self._heading_at < start)):
                return early  # the section ends here, and the next is no sibling, or not of what this is the rest of
        target = bisect_right(offsets, start + self._target, at)
        best, best_rank = self._strongest(floor, target, first_below=INNER if self._is_prose else 0)
        if best_rank < INNER:
            return best
        if end <= start + self._target:
            return end
        # Beyond the target the first clean mark will do, or the end of the text.
        beyond = range(target, bisect_right(offsets, start + self._stretch, target))
        clean = next((offsets[i] for i in beyond if ranks[i] < INNER), 0)
        if not clean and offsets and end <= start + self._stretch:
            clean = end
        far = offsets[target] if beyond else 0
        return clean or best or far or early or self._strongest(at, floor, first_below=0)[0]

    def _strongest(self, first: int, end: int, *, first_below: int) -> tuple[int, int]:
        """(offset, rank) of the strongest mark of some, 0 without one; the first of equals below a rank, else the last.

        The marks are those with the numbers `first` up to `end`, exclusive.
        """
        offsets, ranks, _ = self._marks
        best, best_rank = 0, 2 * INNER
        for at in range(first, end):
            rank = ranks[at]
            if rank < best_rank or (rank == best_rank and rank >= first_below):
                best, best_rank = offsets[at], rank
        return best, best_rank

    def _unmarked_border(self, start: int) -> int:
        """The best end of a line to cut at where there is no mark; 0 when the line at `start` is too long.

        Blank lines are the best, but not in a table; then lines, in code the least indented.
        """
        text, crumb = self._text, start + max(1, self._crumb)
        floor, target, stretch = start + self._floor, start + self._target, start + self._stretch
        if self._kind != "table":
            cut = self._border(floor, target, blank=True)
            if not cut and len(text) <= stretch:
                cut = len(text)
            if not cut:
                below_target = text.find("\n\n", target - 1, stretch)
                cut = below_target + 2 if below_target >= 0 else 0
            cut = cut or self._border(crumb, floor, blank=True)
            if cut:
                return cut
        return (
            (self._border(floor, target, blank=False) if self._is_code else 0)
            or text.rfind("\n", floor - 1, target) + 1
            or text.find("\n", target, stretch) + 1
            or text.rfind("\n", start, floor) + 1
        )

    def _border(self, low: int, high: int, *, blank: bool) -> int:
        """The last border between low and high, in code the least indented; 0 if there is none.

        A border is a line that does not close a bracket, with `blank` only after a blank line.
        """
        found = -1 if self._is_code else self._text.rfind("\n\n", low - 1, high)
        if found >= 0:
            return found + 2
        border = re.compile((r"\n[ \t]*" if blank else "") + r"\n([ \t]*)(?=[^\s)}\]])")
        best, best_indent = 0, 1 << 30
        for match in border.finditer(self._text, low - 1, high):
            begin, end = match.span(1)
            if end - begin <= best_indent:
                best, best_indent = begin, end - begin
        return best


#: Where a line that is too long is divided, best first; the border is after the separator.
_SEPARATORS = (". ", "! ", "? ", "。", "！", "？", "; ", ", ", "\t", " ", "、", "，", ",", ";", ">")  # noqa: RUF001 - CJK stops


def _line_parts(text: str, start: int, end: int, target: int) -> Iterator[tuple[int, int]]:
    """Parts of the one line start..end, of about equal size, divided after a sentence, a clause or a word."""
    count = -(-(end - start) // target)
    while count > 1:
        share = -(-(end - start) // count)
        low, cut = start + max(1, share * 3 // 4), start + share
        for separator in _SEPARATORS:
            found = text.rfind(separator, low - 1, start + share)
            if found >= 0 and found + len(separator) >= low:
                cut = found + len(separator)
                break
        yield start, cut
        start, count = cut, max(1, -(-(end - cut) // target))
    yield start, end


# --- where a passage stands -------------------------------------------------------------------------------------------


class _HeadingWalk:
    """Heading paths of passages, asked for in the order of the text: one pass over the marks."""

    __slots__ = ("_at", "_indented", "_marks", "_open", "_separator")

    def __init__(self, marks: Marks, *, separator: str, indented: bool) -> None:
        self._marks, self._separator = marks, separator
        self._indented = indented  # ranks are indents, so a line's own indent tells what it cannot be inside of
        self._at = 0
        self._open: list[tuple[int, str]] = []

    def path(self, start: int, end: int, body: str) -> str:
        """Where the passage `body`, at start..end, stands: names, outermost first.

        Of a passage that begins with a part: the parts that hold all of it, or else those that this part is in.
        Of one that begins inside a part: the parts that its first line is in; if it is in none, the part that begins
        soon, in the first third of the passage.
        """
        offsets, ranks, names = self._marks
        begun = self._enter(start)
        if not begun and not self._open:
            until = bisect_right(offsets, start + (end - start) // 3, self._at)
            soon = next((at for at in range(self._at, until) if names[at]), -1)
            begun = soon >= 0 and self._enter(offsets[soon])
        path = self._open
        if self._indented:
            limit = 2 * (len(body) - len(body.lstrip(" \t")))
            if begun:  # the rank from which on parts have ended before the last line, by its indent
                last = body.rfind("\n") + 1
                line = body[last : last + 200]
                indent = len(line) - len(line.lstrip(" \t"))
                # These stand no deeper than the first line of what they close.
                closes = line.startswith(("}", ")", "]", "end"), indent)
                limit = 2 * indent + closes if last else 2 * INNER
            path = [part for part in path if part[0] < limit]
        if begun:
            at, until = self._at, bisect_left(offsets, end, self._at)
            further = [ranks[i] - (not names[i]) for i in range(at, until)]  # of the parts that are not entered yet
            strongest = min(further, default=2 * INNER)
            path = [part for part in path if part[0] < strongest] or self._open[:-1]
        return self._separator.join([name for _, name in path])

    def _enter(self, offset: int) -> bool:
        """Open all parts that begin up to `offset`; whether the last one begins just there and has a name."""
        offsets, ranks, names = self._marks
        at, end, stack = self._at, len(offsets), self._open
        while at < end and offsets[at] <= offset:
            name = names[at]
            rank = ranks[at] if name else ranks[at] - 1  # a statement ends the definitions that stand as deep as it
            while stack and stack[-1][0] >= rank:
                stack.pop()
            if name:
                stack.append((rank, name))
            at += 1
        self._at = at
        return at > 0 and offsets[at - 1] == offset and bool(names[at - 1])


#: A statement that begins at column 0 after a blank line is a border too, in every language.
_STATEMENT = r"\n(?=\n[^\s)}\]])"

_WORDS = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|sealed|partial|open|"
    r"override|virtual|inline|unsafe|extern|pub(?:\([a-z ]{1,20}\))?|readonly|native|synchronized|suspend|data|const|"
    r"local|mutable|fileprivate|mutating|required)[ \t]{1,8}){0,6}"
)
_KEYWORDS = (
    r"(?:class|interface|struct|enum|trait|impl(?:<[^>\n]{0,60}>)?|fn|func|function\*?|fun|def|module|mod|namespace|"
    r"record|object|protocol|extension|type|union|package|macro_rules!)"
)
#: Java, Kotlin, Go, Rust, Swift, PHP, JavaScript …: modifiers, a keyword, for Go a receiver, the name.
_KEYWORD = rf"\n[ \t]*\(?{_WORDS}{_KEYWORDS}[ \t]+(?:\([^)\n]{{0,80}}\)[ \t]*)?([\w$.:]{{1,80}})"
#: `name(…) {` at the end of a line: a method, or a C function when it stands at column 0.
_METHOD = (
    r"\n[ \t]*(?!(?:if|for|foreach|while|switch|catch|return|else|do|try|with|using|lock|await|new|throw|case)\b)"
    r"[A-Za-z_~#][\w \t*&:<>,~.\[\]?$@]{0,120}\([^;\n]{0,200}\{[ \t]*(?=\n)"
)
#: A C function whose brace stands on the next line, and perhaps its type on the line above.
_C_FUNCTION = (
    r"\n(?!(?:if|for|while|switch|return|else|do|typedef|case|default|goto)\b)"
    r"(?:[A-Za-z_][\w \t*]{0,80}\n)?[A-Za-z_][\w \t*&:<>,~]{0,120}\([^;\n]{0,200}(?=\n)"
)
_C_TYPE = r"\n[ \t]*(?:typedef[ \t]+)?(?:struct|enum|union|class|namespace)[ \t]+([\w:]{1,80})[^;\n()]{0,120}(?=\n)"
_ARROW = (
    r"\n[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:const|let|var)[ \t]+([\w$]{1,80})[ \t]*(?::[^=\n]{0,120})?=[ \t]*"
    r"(?:async[ \t]*)?(?:function|\(|[\w$]{1,40}[ \t]*=>)"
)
_C_LIKE = (_C_TYPE, _METHOD, _C_FUNCTION)
_JS = (_KEYWORD, _ARROW, _METHOD)
_SHELL = (r"\n[ \t]*(?:function[ \t]+)?([\w:.-]{1,80})[ \t]*\(\)", r"\n[ \t]*function[ \t]+([\w:.-]{1,80})")
_SQL = (
    r"\n[ \t]*(?i:create)[ \t]+(?:\w{1,20}[ \t]+){0,3}?(?i:table|view|function|procedure|trigger|index|type)[ \t]+"
    r"(?:(?i:if[ ]+not[ ]+exists)[ \t]+)?([\w.\"`\[\]]{1,80})"
)
_TABLES = (r"\n\[{1,2}([^\]\n]{1,120})\]",)

#: Language -> the line patterns of its definitions; group 1 is the name, else the word before the first bracket.
_DEFINITIONS: dict[str, tuple[str, ...]] = {
    "python": (r"\n[ \t]*(?:async[ ]+def|def|class) +(\w+)[ \t]*[:(\[]",),
    "javascript": _JS,
    "typescript": _JS,
    "java": (_KEYWORD, _METHOD),
    "kotlin": (_KEYWORD,),
    "scala": (_KEYWORD,),
    "csharp": (_KEYWORD, _METHOD),
    "swift": (_KEYWORD,),
    "php": (_KEYWORD,),
    "go": (_KEYWORD,),
    "rust": (_KEYWORD,),
    "c": _C_LIKE,
    "cpp": _C_LIKE,
    "ruby": (r"\n[ \t]*(?:def|class|module)[ \t]+([\w.:?!=<]{1,80})",),
    "elixir": (r"\n[ \t]*(?:defmodule|defp?|defmacro)[ \t]+([\w.?!]{1,80})",),
    "lua": (r"\n[ \t]*(?:local[ \t]+)?function[ \t]+([\w.:]{1,80})",),
    "perl": (r"\n[ \t]*(?:sub|package)[ \t]+([\w:]{1,80})",),
    "julia": (r"\n[ \t]*(?:mutable[ ]+struct|struct|function|module|macro|abstract[ ]+type)[ \t]+([\w.!]{1,80})",),
    "r": (r"\n[ \t]*([\w.]{1,80})[ \t]*(?:<-|=)[ \t]*function\b",),
    "shell": _SHELL,
    "sql": (_SQL,),
    "make": (r"\n([\w./%-]{1,80})[ \t]*:(?!=)",),
    "toml": _TABLES,
    "ini": _TABLES,
    "yaml": (r"\n {0,2}([\w./-]{1,80}):[ \t]*(?=\n)",),
}

#: A comment above a blank line belongs to the definition below when it begins at most this far above, in characters.
_BANNER = 600
_COMMENTS = ("#", "//", "--", ";", "%")
#: How a comment, a decorator or an attribute begins that belongs to the definition below it.
_LEADERS = ("#", "@", "//", "/*", "* ", "*/", "--", ";", "%", '"""', "[")


def code_outline(text: str, language: str, statement_rank: int = 1) -> Marks:
    """The definitions of `text`, each from its comments and decorators on, and its statements at column 0.

    Ranks are twice the indent, and `statement_rank` for a statement without a name; with 1 it ends a definition. In a
    language without patterns the statements are all the outline there is.
    """
    patterns = _DEFINITIONS.get(language)
    if not patterns:
        statements = [match.end() + 1 for match in re.finditer(_STATEMENT, text)]
        return Marks(statements, [1] * len(statements), [""] * len(statements))
    found = Marks([], [], [])
    offsets, ranks, names = found
    # A line feed in front makes the first line one like the others, and match.start() the offset in `text`.
    for match in re.compile("|".join((*patterns, _STATEMENT))).finditer("\n" + text):
        start, end = match.span()
        if end - start > 1:
            _add_definition(text, match, found)
        elif not offsets or end > offsets[-1]:  # a statement: it begins after the blank line
            offsets.append(end)
            ranks.append(statement_rank)
            names.append("")
    return found


def _add_definition(text: str, match: re.Match[str], found: Marks) -> None:
    header, start = match[0], match.start()
    indent = len(header) - len(header.lstrip()) - 1
    if match.lastindex:
        name = match[match.lastindex]
    else:  # the word before the bracket; a call of another object's method has no name
        words = header.partition("(")[0].split()
        name = words[-1].lstrip("*&") if words else ""
        name = "" if "." in name else name
    if start > 1 and text[start - 2] != "\n":
        start = _with_leaders(text, start, found)
    if found.names and not found.names[-1] and text.startswith(_COMMENTS, found.offsets[-1]):
        banner = found.offsets[-1]
        between = text[banner:start].split("\n") if start - banner <= _BANNER else ["code"]
        if all(line.startswith(_COMMENTS) for line in between if line.strip()):
            start = banner
    found.add(start, 2 * indent, name)


def _with_leaders(text: str, start: int, found: Marks) -> int:
    """Where the comments and decorators above the line at `start` begin; never inside an earlier definition's lines."""
    last = found.offsets[-1] if found.offsets else 0
    paragraph = text.rfind("\n\n", last, start)
    own_statement = not found.offsets or not found.names[-1]
    begin = paragraph + 2 if paragraph >= 0 else last if own_statement else start
    if text[begin : begin + 120].lstrip().startswith(_LEADERS):
        return begin
    while start > last:
        above = text.rfind("\n", last, start - 1) + 1
        if above <= last or not text[above : above + 120].lstrip().startswith(_LEADERS):
            break
        start = above
    return start
