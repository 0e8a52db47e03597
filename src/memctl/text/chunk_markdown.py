"""The outline of Markdown and reStructuredText: sections by their headings, then paragraphs and list items."""

import re
from functools import cache

from memctl.text.chunk_marks import INNER, Marks, no_marks

_PARAGRAPH, _ITEM, _SUB_ITEM = INNER, INNER + 1, INNER + 2


@cache
def _lines() -> re.Pattern[str]:
    """The lines that matter: fence (1), heading (2 its hashes, 3 its text), underline (4), list item (5), paragraph."""
    return re.compile(
        r"\n(?=[\s`~#=*+0-9-])(?:[ \t]*(`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"
        r"| {0,3}(#{1,6})(?:[ \t]+([^\n]*)|(?=\n|\Z))"
        r"| {0,3}(=+|-{2,})[ \t]*(?=\n|\Z)"
        r"|([ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)"
        r"|(?=[ \t]*\n[ \t]*[^\s]))"
    )


@cache
def _rst_lines() -> re.Pattern[str]:
    """A title with its underline (1, 2 its character) or a paragraph."""
    return re.compile(r"\n(?:(\S[^\n]{0,200})\n([=\-~^\"'`#*+:._<>])\2{2,}[ \t]*(?=\n|\Z)|(?=[ \t]*\n[ \t]*\S))")


def marks(text: str) -> Marks:
    """The outline of Markdown. What looks like a heading inside a fence or in the front matter is none."""
    found = no_marks()
    source = "\n" + text  # the first line is one like the others, and match.start() is the offset in `text`
    fence = ""
    for match in _lines().finditer(source, _after_front_matter(text)):
        if match.lastindex == 1:
            fence = _fence(match, fence)
        elif not fence:
            _line(match, found)
    return found


def rst_marks(text: str) -> Marks:
    """The outline of reStructuredText: the order in which underlines appear is the order of their levels."""
    found = no_marks()
    levels: dict[tuple[str, bool], int] = {}
    for match in _rst_lines().finditer("\n" + text):
        if match.lastindex is None:
            _paragraph(match, found)
            continue
        title, char, start = match[1].strip(), match[2], match.start()
        underline = text[start + len(match[1]) + 1 : match.end() - 1].rstrip()
        if len(underline) < len(title) or not title.strip(char):
            continue
        above = text.rfind("\n", 0, max(0, start - 1)) + 1
        over = start - above > 3 and not text[above:start].strip(char + " \t\n")
        rank = levels.setdefault((char, over), len(levels) + 1)
        found.add(above if over else start, rank, clean_title(title))
    return found


def clean_title(title: str) -> str:
    """A heading's text without closing hashes, an `{#id}`, emphasis, code marks and link targets; 120 characters."""
    title = " ".join(title[:400].split())
    if title.endswith("}"):
        title = re.sub(r"\s*\{[^{}]*\}$", "", title)
    if title.endswith("#"):
        title = re.sub(r"(?:^|\s)#+$", "", title)
    if "](" in title:
        title = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", title)
    return title.replace("`", "").replace("**", "").strip()[:120]


def _after_front_matter(text: str) -> int:
    """Where scanning of line feed + text begins: at the line feed after the front matter, if there is one."""
    end = text.find("\n---\n", 3) if text.startswith("---\n") else -1
    return end + 5 if end >= 0 else 0


def _fence(match: re.Match[str], fence: str) -> str:
    """The fence that is open after this line; "" when it closes one."""
    run = match[1]
    if not fence:
        return run
    end = match.string.find("\n", match.end())
    rest = match.string[match.end() : end if end >= 0 else None]
    return "" if run.startswith(fence) and not rest.strip() else fence


def _line(match: re.Match[str], found: Marks) -> None:
    if match[2]:
        found.add(match.start(), len(match[2]), clean_title(match[3] or "") or "#")
    elif match[4]:
        _underline(match, found)
    elif match[5] is not None:
        found.add(match.start(), _SUB_ITEM if match[5] else _ITEM, "")
    else:
        _paragraph(match, found)


def _paragraph(match: re.Match[str], found: Marks) -> None:
    start = match.string.find("\n", match.end())  # the blank line's end; one less is the offset in the text, plus one
    found.add(start, _SUB_ITEM if match.string[start + 1] in " \t" else _PARAGRAPH, "")


def _underline(match: re.Match[str], found: Marks) -> None:
    """A line of = or - makes the one line above it a heading, when that stands alone."""
    source, end = match.string, match.start()
    above = source.rfind("\n", 0, end)
    if above < 0:
        return
    title = source[above + 1 : end].strip()
    before = source[source.rfind("\n", 0, above) + 1 : above] if above else ""
    heading_above = bool(found.offsets) and found.ranks[-1] < INNER
    if title and title[0] not in "#>|-*+`~" and (not before.strip() or heading_above):
        found.add(above, 1 if match[4][0] == "=" else 2, clean_title(title))
