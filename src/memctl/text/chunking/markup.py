"""The outlines of AsciiDoc, Org, LaTeX, and of manual pages in their source (man and mdoc macros)."""

import re
from functools import cache

from memctl.text.chunking.marks import (
    DEFINITION,
    INTRODUCED,
    ITEM,
    PARAGRAPH,
    SUB_ITEM,
    Marks,
    clean_title,
    is_introduced,
    no_marks,
)

_LATEX_LEVELS = {"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6}


# --- AsciiDoc ---------------------------------------------------------------------------------------------------------


@cache
def _asciidoc_lines() -> re.Pattern[str]:
    """A fence (1), a heading (2 signs, 3 text), a title over its underline (4, 5 its character), a term (6), a list
    item (7), or a paragraph."""
    return re.compile(
        r"\n(?:(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|\|={3,}|```\w*)[ \t]*(?=\n|\Z)"
        r"|(={1,6})[ ]([^\n]{1,200})"
        r"|([^\s\[.|*/+-][^\n]{0,200})\n(=|-|~|\^|\+)\5{2,}[ \t]*(?=\n|\Z)"
        r"|([ \t]*[^\s:/][^\n]{0,120}?):{2,4}[ \t]*(?=\n|[ ]\S)"
        r"|([ \t]*(?:[*-]|\*{2,5}|\.{1,5}|\d{1,3}\.)[ ]+(?=\S))"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )


def asciidoc(text: str) -> Marks:
    """Sections, the terms of labelled lists, list items and paragraphs; nothing counts inside of a delimited block."""
    found = no_marks()
    fence = ""
    source = "\n" + text
    for match in _asciidoc_lines().finditer(source):
        if match[1]:
            mark = match[1][:3] + str(len(match[1]))
            fence = "" if fence == mark else fence or mark
        elif not fence:
            _asciidoc_line(source, match, found)
    return found


_UNDERLINES = "=-~^+"


def _asciidoc_line(source: str, match: re.Match[str], found: Marks) -> None:
    start = match.start()
    if match[2]:
        found.add(start, len(match[2]), clean_title(match[3]) or "=")
    elif match[4]:
        width = match.end() - match.start(5) - len(match[4].rstrip())
        if -3 <= width <= 3 and source[start - 1 : start] in ("", "\n", "]"):
            found.add(start, 1 + _UNDERLINES.index(match[5]), clean_title(match[4]))
    elif match[6]:
        if not (
            found.offsets and found.ranks[-1] == DEFINITION and not source[found.offsets[-1] : start].count("\n\n")
        ):
            found.add(start, DEFINITION, clean_title(match[6].strip()))
    elif match[7]:
        found.add(start, SUB_ITEM if match[7][0].isspace() else ITEM, "")
    else:
        _paragraph(source, match, found)


def _paragraph(source: str, match: re.Match[str], found: Marks) -> None:
    start = source.find("\n", match.end())
    if source[start + 1] in " \t+":
        found.add(start, SUB_ITEM, "")
    else:
        found.add(start, INTRODUCED if is_introduced(source, start + 1) else PARAGRAPH, "")


# --- Org --------------------------------------------------------------------------------------------------------------


@cache
def _org_lines() -> re.Pattern[str]:
    """The begin or end of a block (1), a heading (2 stars, 3 text), a list item (4), or a paragraph."""
    return re.compile(
        r"\n(?:[ \t]*#\+(begin|end|BEGIN|END)_\w+[^\n]*"
        r"|(\*{1,8})[ ]+(?:(?:TODO|DONE)[ ]+)?([^\n]{1,200})"
        r"|([ \t]*(?:[-+]|\d{1,3}[.)])[ ]+(?=\S))"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )


def org(text: str) -> Marks:
    """Headings by their stars; nothing counts inside of a block."""
    found = no_marks()
    inside = False
    source = "\n" + text
    for match in _org_lines().finditer(source):
        if match[1]:
            inside = match[1].lower() == "begin"
        elif inside:
            continue
        elif match[2]:
            title = re.sub(r"[ \t]+:[\w@#%:]+:[ \t]*$", "", match[3])  # tags
            found.add(match.start(), len(match[2]), clean_title(title) or "*")
        elif match[4]:
            found.add(match.start(), SUB_ITEM if match[4][0].isspace() else ITEM, "")
        else:
            _paragraph(source, match, found)
    return found


# --- LaTeX ------------------------------------------------------------------------------------------------------------


@cache
def _latex_lines() -> re.Pattern[str]:
    r"""A heading (1 its command, 2 its text), an `\item` (3), or a paragraph."""
    return re.compile(
        r"\n(?:[ \t]*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]\n]*\])?\{([^\n]{1,200})"
        r"|([ \t]*\\item\b)"
        r"|(?=[ \t]*\n[ \t]*\S))"
    )


def latex(text: str) -> Marks:
    r"""Sections by their commands, then `\item`s and paragraphs."""
    found = no_marks()
    source = "\n" + text
    for match in _latex_lines().finditer(source):
        if match[1]:
            found.add(match.start(), _LATEX_LEVELS[match[1]], _latex_text(match[2]) or match[1])
        elif match[3]:
            found.add(match.start(), ITEM, "")
        else:
            _paragraph(source, match, found)
    return found


def _latex_text(title: str) -> str:
    """What is inside the braces, which may hold commands and further braces."""
    depth = 1
    for at, char in enumerate(title):
        depth += (char == "{") - (char == "}")
        if not depth:
            title = title[:at]
            break
    return clean_title(re.sub(r"\\[A-Za-z]+\*?|[{}~$]", " ", title))


# --- manual pages -----------------------------------------------------------------------------------------------------


@cache
def _man_lines() -> re.Pattern[str]:
    """A heading (1 its macro, 2 its text), a term (3 its macro, 4 its text or the line below), or a paragraph (5)."""
    return re.compile(
        r"\n\.[ \t]*(?:(SH|Sh|SS|Ss)(?:[ \t]+|\n)([^\n]+)"
        r"|(TP[^\n]*\n|It(?=[ \t])|IP(?=[ \t]+[^\s\d]))([^\n]*)"
        r"|(PP|P|LP|Pp|sp|IP)\b)"
    )


def man(text: str) -> Marks:
    """Sections, the options and other terms of lists, and paragraphs, by their macros."""
    found = no_marks()
    for match in _man_lines().finditer("\n" + text):
        if match[1]:
            found.add(match.start(), 1 if match[1] in ("SH", "Sh") else 2, man_text(match[2]) or match[1])
        elif match[3]:
            term = man_text(match[4])
            found.add(match.start(), DEFINITION if term else ITEM, term)
        else:
            found.add(match.start(), PARAGRAPH, "")
    return found


def man_text(line: str) -> str:
    """A line of a manual page's source as one reads it."""
    line = re.sub(r"^\.?[ \t]*(?:[BIR]{1,2}|SM|SB|Nm|Xo|Sy|Em)\b", "", line)
    line = re.sub(r"(?:^|(?<=\s))Fl[ ]+(?=\S)", "-", line)
    line = re.sub(r"(?:^|(?<=\s))(?:Cm|Ar|Ic|Pa|Ev|Oo|Oc|Ns|Xo|Xc|Li|Dq|Ql|Va)\b[ ]?", "", line)
    line = re.sub(r"\\f(?:\[\w*\]|\(\w\w|\w)|\\[&,/|^]", "", line)
    return clean_title(line.replace("\\-", "-").replace("\\(aq", "'").replace('"', ""))
