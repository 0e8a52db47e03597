"""The outline of text that its file's name calls plain, by what it looks like.

Much of it is written in some markup; the rest has headings in capitals (manual pages as they are printed) or with
numbers (RFCs, specifications), terms with an indented explanation, and paragraphs.
"""

import re
from functools import cache

from memctl.text.chunking.marks import Definitions, Marks, clean_title, no_marks

#: So much of a text is looked at to tell what it is.
_LOOKED_AT = 20_000
#: A markup's sign in a text, the lines of it that are counted if it is there, and how many of them tell.
_SIGNS = (
    ("man", "\n.", r"\n\.(?:TH|Dt|SH|Sh|SS|Ss|TP|It|PP|Pp)\b", 3),
    ("latex", "\\", r"\n[ \t]*\\(?:documentclass|begin\{document\}|chapter|section|subsection|subsubsection)\b", 2),
    ("org", "#+", r"\n(?:#\+(?:TITLE|title|BEGIN_SRC|begin_src|OPTIONS|STARTUP)\b)", 1),
    ("asciidoc", "\n== ", r"\n={1,5} \S.*(?=\n(?:\n|\Z|[:\[\w]))", 2),
    ("markdown", "\n#", r"\n#{1,6} \w.*(?=\n(?:\n|\Z))", 2),
)
#: A text without headings is in a markup when it has more of its signs than so many.
_LISTED = 3
_UNDERLINE = r"\n([=\-~^\"#*+])\1{2,}[ \t]*(?=\n|\Z)"
_OF_RST = r"\n(?:\.\. (?:[\w:+.-]+::|_)|[ \t]+:\w+:)|:[a-z]+:`"
_OF_ASCIIDOC = (
    r"\n(?:[^\s.]\S{0,30}(?: <[^>\n]*>)?:{2,4}$|\+$|\[(?:[a-z]+|\[.*\])\]$|(?:ifn?def|include)::\S|:[a-z-]+: )"
)


def look(text: str) -> str:
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
        apart = not before or before.startswith("..") or set(before) == {match[1]}
        title = title.lstrip() if before and set(before) == {match[1]} else title
        if apart and title[:1].strip() and -2 <= len(match[0].strip()) - len(title) <= 3:
            return True
    return False


@cache
def _lines() -> re.Pattern[str]:
    """Behind a blank line: a heading in capitals (1), one with a number (2 the number), or a paragraph."""
    return re.compile(
        r"(?:\A|\n)(?:[ \t]*\n)(?:"
        r"([A-Z][A-Z0-9][A-Z0-9 ,/&'()+:-]{0,58})(?=\n[ \t]+\S|\n[ \t]*\n|\Z)"
        r"|(?=((?:\d{1,3}\.){1,5}|\d{1,3}(?:\.\d{1,3}){0,4}|(?:Chapter|Section|Part|Appendix|Article|Kapitel|Abschnitt|"
        r"Artikel|Chapitre|Annexe)[ ][\dIVXLCA-H]{1,6}[.:]?)[ \t]+[^\W\d_][^\n]{0,90}(?:\n[ \t]*\n|\Z))"
        r"|(?=[ \t]*\S))"
    )


def marks(text: str) -> Marks:
    """The outline of a plain text that is in no markup."""
    found = no_marks()
    defined = Definitions(found)
    printed = len(re.findall(r"\n[A-Z][A-Z ]{2,40}\n[ \t]+\S", text[:_LOOKED_AT])) > 1  # a manual page
    source = "\n\n" + text
    for match in _lines().finditer(source):
        start = match.end() - 2
        if match[1]:
            start = match.start(1) - 2
            found.add(start, 1, match[1].strip())
            defined.close()
            continue
        title = _numbered(text, start) if match[2] else ""
        if title:
            found.add(start, 1 + match[2].rstrip(".").count(".") + printed, title)
            defined.close()
        else:
            defined.paragraph(text, start, anywhere=printed)
    return found


def _numbered(text: str, start: int) -> str:
    """The heading with its number in the line at `start`; "" for a sentence or a line of a table of contents."""
    end = text.find("\n", start)
    line = clean_title(text[start:end] if end >= 0 else text[start:])
    return "" if line[-1:] in ".,;:" or ".." in line or ". ." in line or "   " in text[start:end].strip() else line
