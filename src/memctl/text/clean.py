"""Text that is safe to store: real Unicode, no NUL, one form for one statement, titles on one line."""

import unicodedata
from collections.abc import Iterable

TITLE_CHARS = 200
#: Characters of a title that is made from the beginning of a statement.
OPENING_CHARS = 80

_NOT_IN_A_LINE = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
_JOINERS = frozenset("\u200c\u200d")  # they make words and emoji


def clean(text: str) -> str:
    """The text without NULs, and with U+FFFD for halves of surrogate pairs, which no file can hold."""
    text = text.replace("\0", "")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def statement(text: str) -> str:
    """One form for one statement: clean, NFC, LF line ends, no white space around it. What is hashed and stored."""
    text = clean(text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def is_blank(text: str) -> bool:
    """Whether there is nothing in it that could be seen: white space, control and zero-width characters are not."""
    return not any(char.isprintable() and not char.isspace() for char in text)


def one_line(text: str, limit: int = TITLE_CHARS) -> str:
    """The text on one line of at most `limit` characters: line breaks, control and direction marks become blanks."""
    text = text[: 8 * limit]
    if not (text.isascii() and text.isprintable()):  # most are
        text = clean(text)
        if not text.isprintable():
            breaks = {char for char in text if unicodedata.category(char) in _NOT_IN_A_LINE} - _JOINERS
            text = "".join([" " if char in breaks else char for char in text])
        text = unicodedata.normalize("NFC", text)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def opening(text: str) -> str:
    """Return the title of a statement to which nobody gave one: how it begins."""
    return one_line(text, OPENING_CHARS)


def retitled(title: str, before: str, after: str) -> str:
    """Return the title of a statement whose text changes: one that is how the text begins follows the text."""
    return opening(after) if title == opening(before) else title


def escaped(text: str) -> str:
    """JSON without raw characters that a terminal obeys or that turn text around: they are written as its escapes.

    Beside C0, which JSON always writes so: C1, marks of direction, and characters that nobody can see, but for those
    that join letters and emoji.
    """
    if text.isascii():
        return text
    import json
    import re

    unseen = (
        "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
        "\U000e0000-\U000e007f]"
    )
    return re.sub(unseen, lambda found: json.dumps(found[0])[1:-1], text)


def union(*lists: Iterable[str]) -> list[str]:
    """All words of the lists in order; of two spellings that differ only in case, the first."""
    seen: dict[str, str] = {}
    for words in lists:
        for word in words:
            seen.setdefault(word.casefold(), word)
    return list(seen.values())


#: Characters of the longest bar.
BAR_WIDTH = 24


def bar(value: float, most: float) -> str:
    """A number as a bar of plain text, as long beside BAR_WIDTH as `value` is beside `most`.

    What is more than nothing has one sign at least.
    """
    return "#" * max(round(BAR_WIDTH * value / most), 1) if value > 0 and most > 0 else ""


def share_bar(share: float) -> str:
    """A share of one as a bar with its ground: `[##########----------]`."""
    filled = round(BAR_WIDTH * min(max(share, 0.0), 1.0))
    return f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}]"
