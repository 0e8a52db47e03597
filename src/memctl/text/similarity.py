"""How alike two texts are, by their words and by the order of their characters, at a cost that does not run away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

#: Of longer texts only the beginning and the end are compared: this many characters of each.
READ = 100_000
#: The order of characters is compared in the first and the last ORDER of them: it costs their product at worst.
ORDER = 2000
#: What the share of common words counts; the rest is their order.
_WORDS = 0.4

#: So many pieces of texts are kept in mind; then they are looked at anew.
KEPT_PIECES = 300_000

_PUNCTUATION = {ord(char): None for char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"}


def normalize(text: str) -> str:
    """Lower case, without ASCII punctuation, one blank between words."""
    return " ".join(ends(text, READ).lower().translate(_PUNCTUATION).split())


def similarity(a: str, b: str) -> float:
    """How alike two texts are, 0 to 1: by their words and by what stands in the same order.

    Both empty: 1.0, one empty: 0.0.
    """
    a, b = normalize(a), normalize(b)
    if not (a and b) or a == b:
        return 1.0 if a == b else 0.0
    from difflib import SequenceMatcher

    here, there = set(a.split()), set(b.split())
    words = len(here & there) / len(here | there)
    order = SequenceMatcher(None, ends(a, ORDER), ends(b, ORDER)).ratio()
    return _WORDS * words + (1 - _WORDS) * order


def is_query_cycle(query: str, history: Sequence[str], threshold: float = 0.90) -> bool:
    """Whether a query asks what was asked: blank, the same as any before, or much like the latest one."""
    wanted = normalize(query)
    if not query.strip() or any(wanted == normalize(asked) for asked in history):
        return True
    return bool(history) and similarity(query, history[-1]) >= threshold


def ends(text: str, count: int) -> str:
    """The first and the last `count` characters of a text that has more."""
    return text if len(text) <= 2 * count else f"{text[:count]} {text[-count:]}"


class PieceWords(dict[str, str]):
    """The words of what stands between blanks, with a blank between them; each piece is looked at once, whatever texts
    have it. `words` says which they are.
    """

    def __init__(self) -> None:
        self._several: set[str] = set()

    def of(self, pieces: Iterable[str]) -> dict[str, None]:
        """The words of these pieces, each once, in their order."""
        if len(self) > KEPT_PIECES:
            self.clear()
        found = dict.fromkeys(map(self.__getitem__, pieces))
        if not self._several.isdisjoint(found):
            found = dict.fromkeys(chain.from_iterable(map(str.split, found)))
        found.pop("", None)
        return found

    def words(self, piece: str) -> Iterable[str]:
        """The words of one piece: its letters, digits and underscores, in lower case."""
        return re.findall(r"\w+", piece.lower())

    def __missing__(self, piece: str) -> str:
        found = self[piece] = " ".join(self.words(piece))
        if " " in found:
            self._several.add(found)
        return found


class SharedKeys:
    """Which of many texts share a key, for instance two rare words; of those before it, each learns the last few."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: dict[int, int] = {}  # most keys are those of one text, and cost no list
        self._all: dict[int, list[int]] = {}

    def add(self, at: int, keys: Iterable[int]) -> list[int]:
        """The earlier texts that share a key with text number `at`, in their order."""
        found: set[int] = set()
        for key in keys:
            first = self._first.setdefault(key, at)
            if first != at:
                others = self._all.setdefault(key, [first])
                found.update(others[-self._most :])
                others.append(at)
        return sorted(found)
