"""Where in a text the keywords and numbers stand that opened rules: the places around which patterns are tried."""

from __future__ import annotations

import re

from memctl.policy.gate import SIGNS, Opening

_SIGN_BITS = len(SIGNS)
#: What follows a name that is given a value, or compared with one.
_ASSIGNED = re.compile(
    r"""(?=([\w.-]{0,120}))\1(?:\[\d{0,4}\])?[\s"'`\])\\]{0,8}(?:string\s{0,3})?(?:[:=>?|,!]|\.=|(?<=\s)["'`])"""
)
#: What a word in Latin letters goes on with.
_RUN = frozenset("0123456789abcdefghijklmnopqrstuvwxyz")
_NOTHING: frozenset[str] = frozenset()


class Spots:
    """The places of one text, each looked for once.

    low: the text in lower case.
    """

    __slots__ = ("_assigned", "_by_anchor", "_by_given", "_by_word", "_low", "_numbers", "_opening")

    def __init__(self, low: str, opening: Opening) -> None:
        self._low, self._opening = low, opening
        self._by_anchor: dict[int, list[int]] = {}
        self._by_word: dict[bytes, list[int]] = {}
        self._by_given: dict[bytes, list[int]] = {}
        self._assigned: dict[int, list[int]] = {}
        self._numbers: dict[tuple[int, int, int], list[tuple[int, int]]] = {}

    def of(self, anchor: int) -> list[int]:
        """Where the words stand that opened a rule, in order; for a sign, the beginning of the text."""
        spots = self._by_anchor.get(anchor)
        if spots is None:
            self._by_anchor[anchor] = spots = self._find(anchor)
        return spots

    def _find(self, anchor: int) -> list[int]:
        if 1 < anchor < 1 << _SIGN_BITS:
            return [0]
        words = [b"@"] if anchor == 1 else [word for word, bits in self._opening.words if bits & anchor]
        if len(words) == 1:
            return self._places(words[0])
        return sorted([place for word in words for place in self._places(word)])

    def _places(self, word: bytes) -> list[int]:
        """Where a word stands by itself, not within a longer one; in other scripts, wherever its letters stand."""
        places = self._by_word.get(word)
        if places is None:
            self._by_word[word] = places = []
            low, said = self._low, word.decode("utf-8", "surrogatepass")
            run = _RUN if word.isalnum() else _NOTHING
            size = len(said)
            at = low.find(said)
            while at >= 0:
                end = at + size
                if low[end : end + 1] not in run and (not at or low[at - 1] not in run):
                    places.append(at)
                at = low.find(said, end)
        return places

    def assigned(self, anchor: int) -> list[int]:
        """Those places of `of` after which a value is given to what stands there."""
        spots = self._assigned.get(anchor)
        if spots is None:
            words = [word for word, bits in self._opening.words if bits & anchor]
            self._assigned[anchor] = spots = sorted([spot for word in words for spot in self._given(word)])
        return spots

    def _given(self, word: bytes) -> list[int]:
        """Those places of a word after which it is given a value."""
        places = self._by_given.get(word)
        if places is None:
            match, low = _ASSIGNED.match, self._low
            self._by_given[word] = places = [place for place in self._places(word) if match(low, place)]
        return places

    def of_numbers(self, digits: int, before: int, after: int) -> list[tuple[int, int]]:
        """The stretches around numbers of so many digits, merged where they touch."""
        key = digits, before, after
        found = self._numbers.get(key)
        if found is None:
            self._numbers[key] = found = []
            for start, end, size in self._opening.numbers:
                if size >= digits:
                    lo = start - before if start > before else 0
                    if found and lo <= found[-1][1]:
                        found[-1] = found[-1][0], end + after
                    else:
                        found.append((lo, end + after))
        return found
