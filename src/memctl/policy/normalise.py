# ruff: noqa: E501, RUF001 - the table of lookalikes
"""The forms a text can be read in: folded, unescaped, decoded. Each knows where its characters came from.

All is done once, bounded, and only where a sign of disguise is there: plain text is never copied.
"""

from __future__ import annotations

import re
import unicodedata
from binascii import Error, a2b_base64
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice

from memctl.policy.rule import SIGNS, lazy_regex

_SHORT = 500  # characters of a text in which points may stand for blanks: longer ones are lists of names and versions
_NEARBY = 800  # characters around what changes that are read with it: more than a statement has
_GLANCE = 200  # characters that nearly always tell whether underscores stand for the blanks of a text
_FEW = 24  # characters that are looked for one by one
_BLOB_LIMIT = 64  # encoded runs looked into per text
_BLOB_SIZE = 16_384  # characters of one encoded run that are decoded


class NormalisedText:
    """A form of a text, and the way back: `span` turns offsets of the form into offsets of the text.

    `back` makes the list of where each character comes from; it is asked only where something was found. `whole` is the
    span that all of the form comes from; `outer` the form that this one was made of.
    """

    __slots__ = ("_at", "_back", "_outer", "_whole", "text")

    def __init__(
        self,
        text: str,
        back: Callable[[], list[int]] | None = None,
        *,
        whole: tuple[int, int] | None = None,
        outer: NormalisedText | None = None,
    ) -> None:
        self.text, self._back, self._whole, self._outer = text, back, whole, outer
        self._at: list[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]` comes from."""
        if self._whole is not None:
            return self._whole
        if self._back is not None:
            self._at = at = self._at or self._back()
            last = max(start, end - 1)
            after = at[end] if end < len(at) else at[last] + 1
            start, end = min(at[start], at[last]), max(after, at[start] + 1, at[last] + 1)
        return self._outer.span(start, end) if self._outer is not None else (start, end)


def _rewrite(
    base: NormalisedText, pattern: re.Pattern[str], form: Callable[[re.Match[str]], str | None]
) -> Iterator[NormalisedText]:
    """The text with what `pattern` matches replaced by its `form`; nothing if nothing changes. None as form keeps.

    Of a long text it begins and ends not far from what changes: the rest was read as it is.
    """
    text = base.text
    out: list[str] = []
    cuts: list[tuple[int, int, int]] = []
    done = 0
    for match in pattern.finditer(text):
        new = form(match)
        if new is None:
            continue
        out += (text[done : match.start()], new)
        cuts.append((match.start(), match.end(), len(new)))
        done = match.end()
    if done:
        lo, hi = max(0, cuts[0][0] - _NEARBY), min(len(text), done + _NEARBY)
        out[0] = text[lo : cuts[0][0]]
        out.append(text[done:hi])
        yield NormalisedText("".join(out), lambda: _way_back(cuts, hi)[lo:], outer=base)


def _way_back(cuts: list[tuple[int, int, int]], size: int) -> list[int]:
    """Where each character of a rewritten text comes from, and its end, by the (start, end, new length) of the cuts."""
    at: list[int] = []
    done = 0
    for start, end, new in cuts:
        at.extend(range(done, start))
        at.extend([start] * new)
        done = end
    at.extend(range(done, size + 1))
    return at


def forms(text: str, signs: int, *, spaced: bool) -> Iterator[tuple[NormalisedText, int]]:
    """The other forms in which a text must be read, each with how deep encoded runs in it are followed.

    signs: the bits of the signs that it carries (`SIGNS`). spaced: it has many letters or digits that stand alone.
    """
    base = as_it_is = NormalisedText(text)
    for folded in fold(base) if signs & SIGNS["#folding"] else ():
        yield folded, 1
        base = folded
    if _is_escaped(base.text):
        for plain in _rewrite(base, _ESCAPE, _unescaped):
            if plain.text != base.text:
                yield plain, 1
                yield from ((again, 0) for again in fold(plain))
    if signs & SIGNS["#blob"]:
        yield from ((blob, 1) for blob in decoded(text))
    if spaced:  # `i g n o r e   a l l` is `ignore all`: single separators vanish, wider gaps stay; `4 1 1 1` is `4111`
        yield from ((form, 0) for form in _rewrite(as_it_is, _SPACED, lambda match: match.group()[::2]))
    # What spaces out digits, what cuts words and numbers (of a long text the lines are those of tables), and comments.
    for is_there, pattern, between in (
        (spaced, _SPACED_DIGITS, ""),
        (_is_wrapped(text), _WRAPPED, ""),
        ("-\n" in text, _HYPHEN, ""),
        ("<!--" in text, _COMMENT, " "),
    ):
        if is_there:
            yield from ((form, 0) for form in _rewrite(as_it_is, pattern, lambda _, between=between: between))  # type: ignore[misc]
    if signs & SIGNS["#rot13"]:
        yield NormalisedText(text.translate(_ROT)), 0
    if signs & SIGNS["#reversed"]:
        yield NormalisedText(text[::-1], lambda: list(range(len(text) - 1, -1, -1))), 0
    if signs & SIGNS["#leet"]:
        yield NormalisedText(text.translate(_LEET)), 0


def is_odd(text: str) -> bool:
    """Whether anything in how the text is written asks for another reading; nearly always False, and quick."""
    return (
        ("-\n" in text and _HYPHEN.search(text) is not None)
        or ("<" in text and "<!--" in text)
        or _is_escaped(text)
        or _is_wrapped(text)
    )


def lower(text: str) -> str:
    """Lower case of the same length, whatever the script."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower()[0] for c in text)


# --- characters ---------------------------------------------------------------------------------------------------

#: Characters that are read as others: invisible ones, accents, other forms, lookalikes.
SUSPICIOUS = lazy_regex(
    "[\u00a0\u00ad\u0300-\u036f\u0370-\u03ff\u0400-\u052f\u064b-\u0652\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u115f\u1160\u13a0-\u13ff"
    "\u1d00-\u1dbf\u200b-\u200f\u2010\u2011\u2028-\u202f\u205f-\u206f\u2070-\u209f\u2100-\u214f\u2460-\u24ff\u3164\ua4d0-\ua4ff"
    "\ufe00-\ufe0f\ufeff\uff02-\uff07\uff0a\uff0b\uff0d-\uff1a\uff1c-\uff1e\uff20-\uffef\U0001d400-\U0001d7ff\U0001f130-\U0001f189\U000e0000-\U000e01ef]"
)
_WIDE = lazy_regex("[^\x00-\x7f]")
_ASCII = bytes(range(128))

#: Letters of other scripts that look like a Latin one, by that one.
_LIKE = {
    "a": "аαɑ", "b": "Ь", "c": "сϲ", "d": "ԁ", "e": "еεҽ", "g": "ɡ", "h": "һ", "i": "іιı", "j": "јϳ", "k": "кκ", "l": "ӏℓ", "m": "м",
    "n": "ոη", "o": "оοօσ", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "t": "тτ", "u": "սυ", "v": "ѵν", "w": "ԝω", "x": "хχ", "y": "уγү",
    "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "F": "Ϝ", "G": "Ԍ", "H": "НΗ", "I": "ІΙӀ", "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν",
    "O": "ОΟՕ", "P": "РΡ", "Q": "Ԛ", "S": "ЅՏ", "T": "ТΤ", "V": "Ѵ", "W": "Ԝ", "X": "ХΧ", "Y": "УΥҮ", "Z": "Ζ", "3": "З",
}  # fmt: skip
_LOOKALIKES = {like: latin for latin, likes in _LIKE.items() for like in likes}


def fold(base: NormalisedText) -> Iterator[NormalisedText]:
    """The text without invisible characters and accents, compatibility forms and lookalikes as plain letters.

    Nothing where it has none of these.
    """
    wide = base.text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    if SUSPICIOUS.search(wide):
        plain = {ord(c): form for c in set(wide) if (form := _fold_character(c)) is not None}
        if all(len(form) == 1 for form in plain.values()):
            text = base.text
            if len(plain) <= _FEW and plain.keys().isdisjoint(map(ord, plain.values())):
                for code, form in plain.items():  # several times as quick for a few
                    text = text.replace(chr(code), form)
            else:
                text = text.translate(plain)
            yield NormalisedText(text, outer=base)
        else:
            yield from _rewrite(base, _WIDE, lambda match: _fold_character(match.group()))


@cache
def _fold_character(c: str) -> str | None:
    code = ord(c)
    if 0xE0020 <= code <= 0xE007E:
        return chr(code - 0xE0000)
    if c in _LOOKALIKES:
        return _LOOKALIKES[c]
    if c in "\u2010\u2011\u2212":
        return "-"
    digit = unicodedata.decimal(c, None)
    if digit is not None:
        return str(digit)
    if c in "\u3164\u115f\u1160" or unicodedata.category(c) in {"Mn", "Cf", "Me"} or 0xFE00 <= code <= 0xFE0F:
        return ""
    if unicodedata.category(c) == "Zs":
        return " "
    plain = "".join(d for d in unicodedata.normalize("NFKD", c) if not unicodedata.combining(d))
    return None if plain == c else plain


# --- escapes ------------------------------------------------------------------------------------------------------

_ESCAPE = lazy_regex(
    r"&#(\d{1,7});?|&#[xX]([0-9a-fA-F]{1,6});?|&([A-Za-z]{2,8});|%([0-9A-Fa-f]{2})|\\u\{?([0-9a-fA-F]{4})\}?|"
    r"\\x([0-9a-fA-F]{2})|=([0-9A-F]{2})|=\r?\n"
)
_PERCENT = lazy_regex("%[0-9A-Fa-f]{2}")
_QUOTED = lazy_regex("=(?:[2-7][0-9A-F]|\r?\n)")
_BACKSLASH = lazy_regex(r"\\(?:x|u\{?00)[2-7][0-9A-Fa-f]")
_ENTITY = lazy_regex("&(?:#|[A-Za-z]{2,8};)")
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'", "nbsp": " ", "lsqb": "[", "rsqb": "]", "colon": ":",
          "equals": "=", "lowbar": "_", "dash": "-", "hyphen": "-", "period": ".", "commat": "@", "sol": "/", "plus": "+",
          "Tab": "\t", "NewLine": "\n", "shy": "", "zwnj": "", "zwj": ""}  # fmt: skip


def _is_escaped(text: str) -> bool:
    """Whether a text has entities, or percent, backslash or quoted-printable escapes."""
    return bool(
        ("%" in text and _PERCENT.search(text))
        or ("&" in text and _ENTITY.search(text))
        or ("\\" in text and _BACKSLASH.search(text))
        or ("=" in text and len(_QUOTED.findall(text)) >= 3)
    )


def _unescaped(match: re.Match[str]) -> str | None:
    decimal, hexa, name, percent, uni, byte, quoted = match.groups()
    if name is not None:
        return _NAMED.get(name)
    code = int(decimal) if decimal else int(hexa or percent or uni or byte or quoted or "0", 16)
    if match.group().startswith("=") and quoted is None:
        return ""  # a soft line break
    if (percent and code >= 0x80) or (quoted and code >= 0x80) or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return None
    return chr(code)


# --- encoded runs -------------------------------------------------------------------------------------------------

_HEXADECIMAL = lazy_regex("[0-9a-fA-F]+")
_HEAD = 24  # characters of an encoded run that nearly always tell whether it says something readable
_TEXTUAL = bytes(c for c in range(256) if c >= 32 or c in b"\t\n\r")
_LEAST_SAID = 10  # bytes of what an encoded run says
_BLOB = lazy_regex(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}={0,2}")


def decoded(text: str) -> Iterator[NormalisedText]:
    """What base64 and hexadecimal runs say, where they say something readable."""
    for match in islice(_BLOB.finditer(text), _BLOB_LIMIT):
        run = match.group()[:_BLOB_SIZE].rstrip("=")
        is_hexadecimal = _HEXADECIMAL.fullmatch(run) is not None
        if run.islower() and not is_hexadecimal:
            continue  # a path, not base64
        try:
            if len(run) % 2 == 0 and is_hexadecimal:
                head, decode = bytes.fromhex(run[:_HEAD]), bytes.fromhex
            else:
                run = run.replace("-", "+").replace("_", "/")
                run = run[: len(run) - (len(run) % 4 == 1)]
                head, decode = a2b_base64(run[:_HEAD]) if len(run) > _HEAD else b"", a2b_base64
                run += "=" * (-len(run) % 4)
            said = "" if head.translate(None, _TEXTUAL) else decode(run).decode()
        except (Error, UnicodeDecodeError):
            continue
        if len(said.encode()) >= _LEAST_SAID and all(c.isprintable() or c in "\n\r\t" for c in said[:_GLANCE]):
            yield NormalisedText(said, whole=match.span())


# --- letter games -------------------------------------------------------------------------------------------------

_SPACED = lazy_regex(r"(?<![^\W_])\w([ .\-_*|/])(?:\w\1){0,400}\w(?![^\W_])")
_STATEMENT = 400  # characters of a text in which a number may be cut by a line's end
_WRAPPED = lazy_regex(r"\r?\n(?<=[0-9]\n)(?=-?[0-9][0-9A-Z]{0,8}(?:[^\w]|\Z))")
_SPACED_DIGITS = lazy_regex("(?<=[0-9]) (?=[0-9])")
_HYPHEN = lazy_regex(r"-\n(?<=[a-z]-\n)[ \t]*(?=[a-z])")
_JOINTS = lazy_regex(
    r"""["'`]?[ \t]{0,4}(?:\\|[+&.])?[ \t]{0,4}\r?\n[ \t]{0,40}(?:[+&.>#*|][ \t]{0,8})?["'`]?|["'`]\s{0,8}[+.&]\s{0,8}["'`]"""
)
_RUN = lazy_regex(r"[\w.+/=-]{1,200}")
_MOST_PIECES = 40  # pieces that a broken token may have
_TOKEN = 400  # characters that a token in groups may have
_PIECES = lazy_regex(r"(?<![^\s\"'`=:])[\w.-]{4}(?: [\w.-]{4}){3,60}(?: [\w.-]{1,4})?(?![^\s\"'`,;])")
#: A run that ends at a quote or a line's end, or goes on in groups of four.
BROKEN = lazy_regex(
    r"(?=[a-zA-Z]{0,40}[\d_.=-]|[a-z]{1,40}[A-Z])(?=([\w.+/=-]{6,200}))\1(?:[\"'`]|[ \t]{0,4}(?:\\|\r?\n))|[\w.-]{2,8}(?: [\w.-]{4}){3}"
)
#: A comment between words.
_COMMENT = lazy_regex(
    r"<!--(?:(?<=[^\W_]<!--)|(?<=[^\W_]\s<!--))[^>]{0,80}--> ?(?=\w)|"
    r"/\*(?:(?<=[^\W_]/\*)|(?<=[^\W_]\s/\*))[^*]{0,80}\*/ ?(?=\w)"
)
_ROT = str.maketrans(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
)
_LEET = str.maketrans("013457@$", "oieastas")


def mended(text: str, start: int, position: int) -> Iterator[NormalisedText]:
    """Forms of a token that is broken at or after `position`, each from `start` on and to where the token may end.

    Lines and string pieces are glued together, the most of them first: what follows the token's last piece may look
    like one more. Then groups of four are.
    """
    ends: list[int] = []  # where its pieces end, and what stands between them
    joints: list[tuple[int, int]] = []
    piece = _RUN.match(text, position)
    while piece and len(ends) < _MOST_PIECES:
        ends.append(piece.end())
        joint = _JOINTS.match(text, piece.end())
        if joint is None:
            break
        joints.append(joint.span())
        piece = _RUN.match(text, joint.end())
    broken = [(ends[last], joints[:last]) for last in range(len(ends) - 1, 0, -1)]
    groups = _PIECES.match(text, position, position + _TOKEN)
    if groups:
        broken.append((groups.end(), [(at, at + 1) for at in range(position, groups.end()) if text[at] == " "]))
    for end, gaps in broken:
        borders = [start, *(border for gap in gaps for border in gap), end]
        parts = [text[lo:hi] for lo, hi in zip(borders[::2], borders[1::2], strict=True)]
        cuts = [(lo, hi, 0) for lo, hi in gaps]
        yield NormalisedText("".join(parts), lambda cuts=cuts, end=end: _way_back(cuts, end)[start:])  # type: ignore[misc]


def unjoined(text: str) -> NormalisedText | None:
    """`ignore_all_previous_instructions` read as words, where underscores or points stand for most of the blanks."""
    for joint in "_.":
        if joint == "." and len(text) > _SHORT:
            break
        joints = text.count(joint)
        if joints > 2 * text.count(" ", 0, _GLANCE) + 2 and joints > 2 * text.count(" ") + 2:
            return NormalisedText(text.replace(joint, " "))
    return None


def _is_wrapped(text: str) -> bool:
    """Whether a line's end may cut a number in a short text."""
    return len(text) <= _STATEMENT and "\n" in text and _WRAPPED.search(text) is not None
