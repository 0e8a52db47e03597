"""The gate: which rules could match a text, told from its set of words alone.

Almost every passage is clean, so this is where the time goes. The text is cut into runs of letters and digits with C
speed, known plain words drop out by one set difference, and what remains is looked up. A text costs about 10 ns a
character; no pattern runs unless its keywords are there.
"""

from __future__ import annotations

import re

from memctl.policy.rule import Rule

_KNOWN_WORDS = 60_000  # plain words remembered between texts, about 5 MB; forgotten all at once when full
_BREAKS = bytes(
    c | 32 if 65 <= c <= 90 else c if 48 <= c <= 57 or 97 <= c <= 122 or c >= 128 else 32 for c in range(256)
)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]")
_VALUE_WORD = 8
_LONG_WORD = 20


class Opening:
    """What the gate saw in one text: the rules that may match, and the words that opened them."""

    __slots__ = ("bits", "long", "rules", "words")

    def __init__(self, bits: int, words: list[bytes], rules: tuple[int, ...], *, long: bool) -> None:
        self.bits, self.words, self.rules, self.long = bits, words, rules, long


class Gate:
    """The keywords of a list of rules, compiled into sets and dictionaries."""

    __slots__ = (
        "_by_bit", "_contains", "_exact", "_groups", "_known", "_openings", "_plain", "_prefix", "_prefix_sizes", "_signs",
    )  # fmt: skip

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._exact: dict[bytes, int] = {}
        self._prefix: dict[bytes, int] = {}
        contains: dict[bytes, int] = {}
        self._signs: dict[str, int] = dict.fromkeys(("#@", "#num", "#value", "#long", "#hidden", "#cjk"), 0)
        self._groups: list[tuple[int, ...]] = []
        self._by_bit: dict[int, list[int]] = {}
        numbers: dict[str, int] = {}
        for sign in self._signs:
            self._signs[sign] = 1 << numbers.setdefault(sign, len(numbers))
        for index, rule in enumerate(rules):
            bits = []
            for group in rule.groups():
                bit = 1 << numbers.setdefault(" ".join(group), len(numbers))
                bits.append(bit)
                for word in group:
                    self._enter(word, bit, contains)
            self._groups.append(tuple(bits[1:]))
            self._by_bit.setdefault(bits[0], []).append(index)
        self._prefix_sizes = sorted({len(p) for p in self._prefix})
        self._contains = re.compile(b"|".join(sorted(map(re.escape, contains), key=len, reverse=True))), contains
        self._plain: set[bytes] = set()
        self._known: dict[bytes, int] = {}
        self._openings: dict[int, tuple[int, ...]] = {0: ()}

    def _enter(self, word: str, bit: int, contains: dict[bytes, int]) -> None:
        if word.startswith("#"):
            if self._signs[word] != bit:
                raise ValueError(f"a sign stands alone in its group: {word}")
            return
        raw = word.strip("*").encode()
        table = contains if word.startswith("*") else self._prefix if word.endswith("*") else self._exact
        table[raw] = table.get(raw, 0) | bit

    def open(self, text: str, *, ascii_only: bool) -> Opening:
        """The rules that `text` may break; `ascii_only` is what `text.isascii()` says."""
        bits = self._signs["#@"] if "@" in text else 0
        if not ascii_only:
            bits |= (self._signs["#hidden"] if _HIDDEN.search(text) else 0) | (
                self._signs["#cjk"] if _CJK.search(text) else 0
            )
        words = []
        for word in set(text.encode("utf-8", "surrogatepass").translate(_BREAKS).split()).difference(self._plain):
            seen = self._known.get(word)
            if seen is None:
                seen = self._meet(word)
            if seen:
                bits |= seen
                words.append(word)
        rules = self._openings.get(bits)
        if rules is None:
            rules = self._decide(bits)
        return Opening(bits, words, rules, long=bits & self._signs["#long"] != 0)

    def opened_by(self, word: bytes, rule: int) -> bool:
        """Whether `word` is one of the rule's first keywords, the places where its pattern is tried."""
        return bool(self._bits_of(word) & self.anchor_bit(rule))

    def anchor_bit(self, rule: int) -> int:
        """The bit of a rule's first group."""
        return next(bit for bit, rules in self._by_bit.items() if rule in rules)

    def word_bits(self, word: bytes) -> int:
        """The groups that `word` belongs to."""
        return self._bits_of(word)

    def _meet(self, word: bytes) -> int:
        """Look at a word never seen; remember it unless it could be part of a secret."""
        bits = self._bits_of(word)
        if len(word) > _LONG_WORD or bits & self._signs["#value"]:
            return bits
        if len(self._plain) + len(self._known) > _KNOWN_WORDS:
            self._plain.clear()
            self._known.clear()
        if bits:
            self._known[word] = bits
        else:
            self._plain.add(word)
        return bits

    def _bits_of(self, word: bytes) -> int:
        bits = self._exact.get(word, 0)
        for size in self._prefix_sizes:
            if size > len(word):
                break
            bits |= self._prefix.get(word[:size], 0)
        pattern, contains = self._contains
        for found in pattern.finditer(word):
            bits |= contains[found.group()]
        return bits | self._look(word)

    def _look(self, word: bytes) -> int:
        """Digits in number, a mixture of letters and digits, a length that only encodings have."""
        if word.isdigit():
            return self._signs["#num"] if len(word) >= 3 or word[:1] == b"0" else 0
        if len(word) < 4 or word.isalpha():
            return 0
        digits = sum(48 <= c <= 57 for c in word)
        if not digits:
            return 0
        bits = self._signs["#num"] if digits >= 5 else 0
        if len(word) >= _VALUE_WORD:
            bits |= self._signs["#value"]
        if len(word) >= _LONG_WORD:
            bits |= self._signs["#long"]
        return bits

    def _decide(self, bits: int) -> tuple[int, ...]:
        found = []
        rest = bits
        while rest:
            bit = rest & -rest
            rest ^= bit
            found += [i for i in self._by_bit.get(bit, ()) if all(bits & need for need in self._groups[i])]
        if len(self._openings) > 20_000:
            self._openings.clear()
        self._openings[bits] = opening = tuple(sorted(found))
        return opening
