"""The outline of Markdown: sections by their headings, then paragraphs and list items."""

import re
from functools import cache

from memctl.text.chunking.marks import (
    INNER,
    INTRODUCED,
    ITEM,
    PARAGRAPH,
    SUB_ITEM,
    Marks,
    clean_title,
    is_introduced,
    no_marks,
)


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
        found.add(match.start(), SUB_ITEM if match[5] else ITEM, "")
    else:
        _paragraph(match, found)


def _paragraph(match: re.Match[str], found: Marks) -> None:
    start = match.string.find("\n", match.end())  # the blank line's end; one less is the offset in the text, plus one
    if is_introduced(match.string, start + 1):
        found.add(start, INTRODUCED, "")
    else:
        found.add(start, SUB_ITEM if match.string[start + 1] in " \t" else PARAGRAPH, "")


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
