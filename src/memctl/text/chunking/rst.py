"""The outline of reStructuredText: sections, and what its directives define (functions, settings, options)."""

import re
from functools import cache

from memctl.text.chunking.marks import Definitions, Marks, clean_title, no_marks

#: Directives of Sphinx that define something; what they define is their argument. Domains (`py:`, `c:`) do not matter.
_DEFINES = frozenset((
    "attribute", "class", "classmethod", "cmdoption", "command", "confval", "coroutinefunction", "data", "decorator",
    "decoratormethod", "describe", "django-admin", "django-admin-option", "enum", "enumerator", "envvar", "exception",
    "fieldlookup", "function", "macro", "member", "method", "namespace", "object", "opcode", "option", "pdbcommand",
    "program", "property", "setting", "staticmethod", "struct", "templatefilter", "templatetag", "type", "union", "var",
))  # fmt: skip
#: A word in a signature that is no part of the name.
_MODIFIERS = re.compile(r"^(?:class|async|abstract|static|final|property|exception|awaitable|const|extern)\s+")
_ROLE = re.compile(r":[\w:+.-]{1,40}:(?=`)")


@cache
def _lines() -> re.Pattern[str]:
    """An underline (1 its character), a directive (2 indent, 3 name, 4 argument), or a paragraph."""
    return re.compile(
        r"\n(?=[\s=\-~^\"'`#*+:._<>])(?:([=\-~^\"'`#*+:._<>])\1{2,}[ \t]*(?=\n|\Z)"
        r"|([ \t]*)\.\.[ ]([\w:+.-]{1,60})::[ \t]*([^\n]*)"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )


def marks(text: str) -> Marks:
    """The outline of reStructuredText: the order in which underlines appear is the order of their levels."""
    found = no_marks()
    defined = Definitions(found)
    levels: dict[tuple[str, bool], int] = {}
    source = "\n" + text
    for match in _lines().finditer(source):
        if match[1]:
            if _heading(text, match, found, levels):
                defined.close()
        elif match[3]:
            name = _defined(match[3], match[4])
            if name:
                defined.begin(match.start(), len(match[2].expandtabs()), name)
        else:
            defined.paragraph(text, source.find("\n", match.end()))
    return found


def _heading(text: str, match: re.Match[str], found: Marks, levels: dict[tuple[str, bool], int]) -> bool:
    """Add the line above an underline, if it is a title; whether it is."""
    under, char = match.start(), match[1]
    start = text.rfind("\n", 0, max(0, under - 1)) + 1
    title = text[start:under].rstrip()
    above = text.rfind("\n", 0, max(0, start - 1)) + 1
    over = start - above > 3 and not text[above:start].strip(char + " \t\n")
    if over:  # then it may be indented
        title = title.lstrip()
    if not title or title[0].isspace() or not title.strip(char) or len(match[0].strip()) < len(title):
        return False
    rank = levels.setdefault((char, over), len(levels) + 1)
    begin = _with_targets(text, above if over else start)
    while found.offsets and found.offsets[-1] > begin:
        found.drop()
    found.add(begin, rank, clean_title(_ROLE.sub("", title)))
    return True


def _with_targets(text: str, start: int) -> int:
    """Where the link targets (`.. _label:`) and labels (`.. setting:: X`) directly above a heading begin."""
    at = start
    while at > 0:
        end = at - 1
        above = text.rfind("\n", 0, end) + 1
        line = text[above:end]
        if line.startswith(".. ") and (line.startswith(".. _") or _label(line)):
            start = above
        elif line and not line.isspace():
            break
        at = above
    return start


def _label(line: str) -> bool:
    directive, colons, argument = line[3:].partition("::")
    return bool(colons) and bool(_defined(directive, argument))


def _defined(directive: str, argument: str) -> str:
    """What a directive defines; "" when it defines nothing."""
    kind = directive.rpartition(":")[2]
    if not argument or kind.removeprefix("auto") not in _DEFINES:
        return ""
    return clean_title(_MODIFIERS.sub("", argument.strip()).partition("(")[0])
