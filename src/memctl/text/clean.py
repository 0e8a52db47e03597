"""Text that is safe to store: decoded, real Unicode, no NUL, one form for one statement, titles on one line."""

import unicodedata

from memctl.errors import InputNotText

TITLE_CHARS = 200

#: More than this share of bytes that no text has (control bytes, broken UTF-8), and the input is not text.
_NOISE = 0.1
_SAMPLE = 65536
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x1b\x00")
_NOT_IN_A_LINE = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
_JOINERS = "\u200c\u200d"  # they make words and emoji


def decode(data: bytes, name: str = "standard input") -> tuple[str, bool]:
    """The text of some bytes, and whether something had to be replaced to read it.

    UTF-8 with or without a byte order mark, UTF-16 with one; NULs are dropped. Raises InputNotText for binary data.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
        return text.replace("\0", ""), "\ufffd" in text
    data = data.removeprefix(b"\xef\xbb\xbf")
    _check_text(data[:_SAMPLE], name)
    try:
        return data.decode("utf-8").replace("\0", ""), False
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").replace("\0", ""), True


def _check_text(sample: bytes, name: str) -> None:
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in sample)
    nulls = sample.count(b"\0")
    broken = sample.decode("utf-8", "replace").count("\ufffd") - sample.count(b"\xef\xbf\xbd")
    if controls + nulls > _NOISE * len(sample):
        raise InputNotText(name=name, reason="it looks like binary data")
    if broken > _NOISE * len(sample):
        raise InputNotText(name=name, reason="it is neither UTF-8 nor UTF-16 with a byte order mark")


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


def one_line(text: str, limit: int = TITLE_CHARS) -> str:
    """The text on one line of at most `limit` characters: line breaks, control and direction marks become blanks."""
    text = clean(text[: 8 * limit])
    if not text.isprintable():
        text = "".join(" " if _breaks_line(char) else char for char in text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _breaks_line(char: str) -> bool:
    return unicodedata.category(char) in _NOT_IN_A_LINE and char not in _JOINERS


def words(value: str) -> list[str]:
    """The tags of a comma-separated list, in order, without blanks around them."""
    return [word for word in (one_line(part) for part in value.split(",")) if word]


def union(first: list[str], second: list[str]) -> list[str]:
    """All words of both lists in order; of two spellings that differ only in case, the first."""
    seen: dict[str, str] = {}
    for word in (*first, *second):
        seen.setdefault(word.casefold(), word)
    return list(seen.values())
