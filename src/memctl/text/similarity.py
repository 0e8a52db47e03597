"""How alike two texts are, by their words and by the order of their characters, at a cost that does not run away."""

from __future__ import annotations

from collections.abc import Sequence

#: Of longer texts only the beginning and the end are compared: this many characters of each.
READ = 100_000
#: The order of characters is compared in the first and the last ORDER of them: it costs their product at worst.
ORDER = 2000

_PUNCTUATION = {ord(char): None for char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"}


def normalize(text: str) -> str:
    """Lower case, without ASCII punctuation, one blank between words."""
    return " ".join(_ends(text, READ).lower().translate(_PUNCTUATION).split())


def tokenize(text: str) -> set[str]:
    """The different words of a text, normalised."""
    return set(normalize(text).split())


def jaccard(a: set[str], b: set[str]) -> float:
    """The share of words that two sets have in common; 1.0 when both are empty."""
    return len(a & b) / len(a | b) if a or b else 1.0


def sequence_ratio(a: str, b: str) -> float:
    """How much of two texts stands in the same order, after normalising: 0 to 1."""
    return _ratio(normalize(a), normalize(b))


def similarity(a: str, b: str, *, jaccard_weight: float = 0.4, sequence_weight: float = 0.6) -> float:
    """How alike two texts are, 0 to 1; both empty: 1.0, one empty: 0.0.

    Raises ValueError for weights that are negative or both zero.
    """
    if jaccard_weight < 0 or sequence_weight < 0 or not jaccard_weight + sequence_weight:
        raise ValueError("weights must not be negative, nor both zero")
    a, b = normalize(a), normalize(b)
    if not (a and b):
        return 1.0 if a == b else 0.0
    words = jaccard(set(a.split()), set(b.split()))
    total = jaccard_weight + sequence_weight
    return (jaccard_weight * words + sequence_weight * _ratio(a, b)) / total


def is_fixed_point(a: str, b: str, threshold: float = 0.92) -> bool:
    """Whether two answers are so alike that asking again will bring nothing new."""
    return similarity(a, b) >= threshold


def is_query_cycle(query: str, history: Sequence[str], threshold: float = 0.90) -> bool:
    """Whether a query asks what was asked: blank, the same as any before, or much like the latest one."""
    wanted = normalize(query)
    if not query.strip() or any(wanted == normalize(asked) for asked in history):
        return True
    return bool(history) and similarity(query, history[-1]) >= threshold


def _ends(text: str, count: int) -> str:
    return text if len(text) <= 2 * count else f"{text[:count]} {text[-count:]}"


def _ratio(a: str, b: str) -> float:
    if a == b:
        return 1.0
    from difflib import SequenceMatcher

    return SequenceMatcher(None, _ends(a, ORDER), _ends(b, ORDER)).ratio()
