"""The outline of source code and of data files: definitions by line patterns, nested by their indent.

No parser: broken code, and languages of which we know only a keyword, must come out as well, and fast. Every pattern
starts with a line feed, which lets the regex engine skip from line to line with `memchr`; all repeats are bounded.
"""

import re

from memctl.text.chunking.outline import Marks

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
