"""The outline of prose in any markup: where it may be cut, and what it calls itself."""

import re
from collections.abc import Callable

from memctl.text.chunking.marks import Marks, clean_title

#: A heading within so many lines is the title of the whole.
_TITLE_LINES = 20
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
    return _reader(kind)(text)


def headline(text: str, kind: str) -> str:
    """What a text in this markup calls itself: where that has a place for it, else in its first heading; else ""."""
    named = re.match(_NAMED[kind], text[:20_000]) if kind in _NAMED else None
    if named:
        if kind == "man":
            return f"{named[1].lower() if named[1].isupper() else named[1]}({named[2]})"
        return clean_title(named[1].strip("\"' "))
    if kind == "text":
        return ""  # what stands there in capitals or with a number is a part of it
    head = "\n".join(text[:20_000].split("\n", _TITLE_LINES)[:_TITLE_LINES])
    return next(filter(None, outline(head, kind).names), "")


def _reader(kind: str) -> Callable[[str], Marks]:
    if kind == "markdown":
        from memctl.text.chunking.markdown import marks

        return marks
    if kind == "rst":
        from memctl.text.chunking import rst

        return rst.marks
    if kind == "text":
        from memctl.text.chunking import plain

        return plain.marks
    from memctl.text.chunking import markup

    readers = {
        "asciidoc": markup.asciidoc, "org": markup.org, "latex": markup.latex,
        "man": markup.man,
    }  # fmt: skip
    return readers[kind]
