"""The gate: which rules could match a text, told from its set of words alone.

Almost every passage is clean, so this is where the time goes. The text is cut into runs of letters and digits with C
speed, known plain words drop out by one set difference, and only what remains is looked up. No pattern runs unless its
keywords are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import filterfalse
from typing import NamedTuple

from memctl.policy.rule import Rule

_KNOWN_WORDS = 60_000  # words remembered between texts, about 5 MB; forgotten all at once when full
_KNOWN_OPENINGS = 20_000
_VALUE_WORD = 8
_LONG_WORD = 20
_LOOKED_AT = 64  # of a longer word only the beginning is examined: cost stays linear
_SILENT = b"0123456789abcdef" + bytes(range(128, 256))  # no keyword is made of these alone
_DIGITS = 7  # fewer digits in all make no number worth a look
_MANY_DIGITS = 10  # in small groups
_SPACED = 10  # so many different one-letter words, and the text may be s p a c e d

_BREAKS = bytes(
    c | 32 if 65 <= c <= 90 else c if 48 <= c <= 57 or 97 <= c <= 122 or c >= 128 else 32 for c in range(256)
)
_ASCII = bytes(range(128))
_WIDE_BREAKS = re.compile("[\x80-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\u2000-\u2bff\u3000-\u3004\u3008-\u3020\uff01-\uff0f]")
_CJK = re.compile("[\u0900-\u0dff\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]")
_UNLEET = bytes.maketrans(b"013457@$", b"oieastas")

SIGNS = (
    "#@",
    "#num",
    "#value",
    "#long",
    "#hidden",
    "#cjk",
    "#rot13",
    "#reversed",
    "#leet",
    "#tag",
    "#tilde",
    "#num9",
    "#num12",
)
_SIGN_MASK = (1 << len(SIGNS)) - 1
# Patterns that begin with one plain character run at the speed of a character search.
_TILDE = re.compile(r"~(?<=[Q6]~)\w")
_AT = re.compile(r"@(?<=\S@)[\w\[]")
_TAG = re.compile(
    r"<(?:[|<\uff5c]|/?\s?(?i:system|function|tool|invoke|antml|information|important|start_of|end_of|admin|urgent|reserved|s>))"
)
#: Words that say a text is disguised: rule keywords as ROT13 and backwards writing turn them.
_CORE = b"ignore disregard forget instructions instruction previous system prompt override reveal password".split()
_LETTERS = frozenset(bytes([c]) for c in range(97, 123))
_ROT13 = bytes.maketrans(b"abcdefghijklmnopqrstuvwxyz", b"nopqrstuvwxyzabcdefghijklm")


class Opening(NamedTuple):
    """What the gate saw in one text: the rules that may match, the words that opened them, and signs of disguise.

    `numbers` says where what may be a number of seven digits or more begins and ends, and how many digits it has;
    filled where `#num` is among the signs.
    """

    rules: tuple[int, ...]
    words: list[tuple[bytes, int]]
    signs: int
    spaced: bool = False
    numbers: list[tuple[int, int, int]] = []  # noqa: RUF012 - never changed

    def shows(self, sign: str) -> bool:
        """Whether the text carries `sign`."""
        return self.signs >> SIGNS.index(sign) & 1 == 1


class Gate:
    """The keywords of a list of rules as sets and dictionaries.

    Bits number the first groups of the rules, after the signs. Only words of first groups are looked up for every text;
    the other groups, which have bits of their own, only for texts in which a rule's first group occurred.
    """

    __slots__ = (
        "_by_bit", "_contains", "_exact", "_further", "_known", "_needed", "_needed_words", "_openings", "_plain",
        "_prefix", "_shaped", "_shapes", "_sizes", "_starts", "_within", "anchors",
    )  # fmt: skip

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._exact: dict[bytes, int] = {}
        self._prefix: dict[bytes, int] = {}
        self._within: dict[bytes, int] = {}
        self._shapes: list[tuple[re.Pattern[bytes], int]] = []
        self._by_bit: dict[int, list[tuple[int, int, int]]] = {}
        self._needed: dict[bytes, int] = {}
        self.anchors: list[int] = []
        numbers = {sign: n for n, sign in enumerate(SIGNS)}
        further: dict[str, int] = {}
        for index, rule in enumerate(rules):
            first, *others = rule.groups()
            name = " ".join(first)
            fresh = name not in numbers
            bit = 1 << numbers.setdefault(name, len(numbers))
            if fresh:
                self._enter(first, bit)
            self.anchors.append(bit)
            signs = sum(1 << SIGNS.index(group[0]) for group in others if group[0] in SIGNS)
            needs = 0
            for group in (" ".join(group) for group in others if group[0] not in SIGNS):
                further.setdefault(group, 1 << len(further))
                needs |= further[group]
            self._by_bit.setdefault(bit, []).append((index, signs, needs))
        for group, bit in further.items():
            for needed in group.split():
                self._add(self._needed, needed.encode(), bit)
        for word in _CORE:
            self._add(self._exact, word.translate(_ROT13), 1 << SIGNS.index("#rot13"))
            self._add(self._exact, word[::-1], 1 << SIGNS.index("#reversed"))
        self._sizes = sorted({len(p) for p in self._prefix})
        self._starts = {p[:2] for p in self._prefix}
        self._contains = _any_of(self._within)
        self._shaped = re.compile(b"|".join(shape.pattern for shape, _ in self._shapes) or b"(?!)")
        self._needed_words = frozenset(self._needed)
        self._plain: set[bytes] = set()  # words that say nothing
        self._further: set[bytes] = set()  # words that only other groups than the first ask for
        self._known: dict[bytes, int] = {}
        self._openings: dict[int, tuple[tuple[int, ...], list[tuple[int, int]]]] = {0: ((), [])}

    def _enter(self, group: list[str], bit: int) -> None:
        for word in group:
            if word[0] == "/":
                self._shapes.append((re.compile(word[1:-1].encode()), bit))
            else:
                table = self._within if word[0] == "*" else self._prefix if word[-1] == "*" else self._exact
                self._add(table, word.strip("*").encode(), bit)

    @staticmethod
    def _add(table: dict[bytes, int], word: bytes, bit: int) -> None:
        table[word] = table.get(word, 0) | bit

    def open(self, text: str) -> Opening:
        """The rules that `text` may break."""
        bits = (1 if "@" in text and _AT.search(text) else 0) | (512 if "<" in text and _TAG.search(text) else 0)
        bits |= 1024 if "~" in text and _TILDE.search(text) else 0
        if text.isascii():
            raw = text.encode()
        else:
            raw = text.lower().encode("utf-8", "surrogatepass")
            wide = raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")
            bits |= (16 if _HIDDEN.search(wide) else 0) | (32 if _CJK.search(wide) else 0)
            for sign in set(_WIDE_BREAKS.findall(wide)):
                raw = raw.replace(sign.encode(), b" ")
        words = raw.translate(_BREAKS).split()
        telling = set(filterfalse(self._plain.__contains__, words))
        hot = []
        known = self._known
        for word in telling - self._further:
            seen = known.get(word)
            if seen is None:
                seen = self._meet(word)
            if seen:
                bits |= seen
                hot.append((word, seen))
        numbers: list[tuple[int, int, int]] = []
        if bits & 2:
            if _numerous([word for word, seen in hot if seen & 2]):
                numbers = _numbers(text)
            digits = max([number[2] for number in numbers], default=0)
            bits = bits & ~2 | (2 if digits else 0) | (2048 if digits >= 9 else 0) | (4096 if digits >= 12 else 0)
        known_opening = self._openings.get(bits)
        rules, needy = self._decide(bits) if known_opening is None else known_opening
        if needy:
            there, needed = 0, self._needed
            for word in telling & self._needed_words:
                there |= needed[word]
            rules += tuple([index for index, needs in needy if there & needs == needs])
        spaced = len(words) * 4 > len(text) and (
            len(_LETTERS.intersection(words)) >= _SPACED or _SPACED_NUMBER.search(text) is not None
        )
        return Opening(rules, hot, bits & _SIGN_MASK, spaced, numbers)

    def _meet(self, word: bytes) -> int:
        """Look at a word never seen; remember it unless it could be part of a secret."""
        plain = word.isalpha()
        bits = self._exact.get(word, 0)
        if word[:2] in self._starts:
            for size in self._sizes:
                bits |= self._prefix.get(word[:size], 0)
        if (plain or word.translate(None, _SILENT)) and self._contains.search(word):
            for found in self._contains.finditer(word):
                bits |= self._within[found.group()]
        if not plain:
            bits |= self._bits_of_look(word)
        if bits & 4 or len(word) > _LONG_WORD:
            return bits
        if len(self._plain) + len(self._known) > _KNOWN_WORDS:
            self._plain.clear()
            self._known.clear()
        if bits:
            self._known[word] = bits
        elif word in self._needed:
            self._further.add(word)
        else:
            self._plain.add(word)
        return bits

    def _bits_of_look(self, word: bytes) -> int:
        look = _look(word)
        if look & 4 and self._shaped.fullmatch(word):
            look |= sum(bit for shape, bit in self._shapes if shape.fullmatch(word))
        return look

    def _decide(self, bits: int) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
        """The rules whose first group and signs are there: those that need no more, and those that do, with what."""
        if len(self._openings) > _KNOWN_OPENINGS:
            self._openings = {0: ((), [])}
        free: list[int] = []
        needy: list[tuple[int, int]] = []
        rest = bits
        while rest:
            bit = rest & -rest
            rest ^= bit
            for index, signs, needs in self._by_bit.get(bit, ()):
                if signs & ~bits:
                    continue
                if needs:
                    needy.append((index, needs))
                else:
                    free.append(index)
        self._openings[bits] = decided = tuple(free), needy
        return decided


def _any_of(parts: Iterable[bytes]) -> re.Pattern[bytes]:
    """An expression for any of `parts`, the longest first; by first letter, so that few are tried at each place."""
    by_letter: dict[bytes, list[bytes]] = {}
    for part in sorted(parts, key=lambda part: -len(part)):
        by_letter.setdefault(part[:1], []).append(re.escape(part[1:]))
    branches = [re.escape(letter) + b"(?:" + b"|".join(rest) + b")" for letter, rest in by_letter.items()]
    return re.compile(b"|".join(branches) or b"(?!)")


def _numerous(words: list[bytes]) -> bool:
    """Whether groups of digits could make a number of seven digits or more: one long, two of three, five of two."""
    sizes = sorted((len(word) for word in words), reverse=True)
    return sizes[0] >= 6 or (sum(sizes) >= _DIGITS and sum(sizes[:2]) >= 6) or sum(sizes) >= _MANY_DIGITS


_SPACED_NUMBER = re.compile(r"(?<![0-9])[0-9](?: [0-9]){2}")
_NUMBER = re.compile(r"[0-9][0-9 ()._+/-]{5,}[0-9]")
#: Dates, times, decimals and versions, which no rule about numbers is after.
_EVERYDAY = re.compile(
    r"(?:19|20)\d\d([-/.])\d\d\1\d\d(?: \d\d?)?[-. ]*|\d{1,4}\.\d+|(?:19|20)\d{2} ?- ?(?:19|20)\d{2}|0+|"
    r"\d{1,3}(?:\.\d{1,3}){3}"
)


def _numbers(text: str) -> list[tuple[int, int, int]]:
    """Where numbers of at least seven digits begin and end, and their digits."""
    found = []
    for match in _NUMBER.finditer(text):
        number = match.group()
        digits = sum(map(str.isdigit, number))
        if digits >= _DIGITS and not _EVERYDAY.fullmatch(number):
            found.append((*match.span(), digits))
    return found


def _look(word: bytes) -> int:
    """The signs one word gives: digits in number, letters mixed with digits, a length that only encodings have."""
    if word.isdigit():
        return 2 if len(word) >= 2 else 0
    if len(word) < 4:
        return 0
    word = word[:_LOOKED_AT]
    digits = len(word) - len(word.translate(None, b"0123456789"))
    bits = (2 if digits >= 4 else 0) | (256 if word.translate(_UNLEET) in _CORE else 0)
    if digits and digits < len(word):
        bits |= (4 if len(word) >= _VALUE_WORD else 0) | (8 if len(word) >= _LONG_WORD else 0)
    return bits
