"""How alike two texts are, under the documented names; the work is done in `memctl.text.similarity`."""

from memctl.text.similarity import ORDER, is_query_cycle, normalize
from memctl.text.similarity import ends as _ends

__all__ = [
    "is_fixed_point", "is_query_cycle", "jaccard", "normalize", "sequence_ratio", "similarity", "tokenize",
]  # fmt: skip


def tokenize(text: str) -> list[str]:
    """The words of a text as they are compared."""
    return normalize(text).split()


def jaccard(a: str, b: str) -> float:
    """The share of common words, 0 to 1; 1.0 when both are empty, 0.0 when one is."""
    here, there = set(tokenize(a)), set(tokenize(b))
    return len(here & there) / len(here | there) if here or there else 1.0


def sequence_ratio(a: str, b: str) -> float:
    """How much stands in the same order, 0 to 1; of long texts the beginning and the end are compared."""
    from difflib import SequenceMatcher

    a, b = normalize(a), normalize(b)
    return SequenceMatcher(None, _ends(a, ORDER), _ends(b, ORDER)).ratio() if a and b else float(a == b)


def similarity(a: str, b: str, *, jaccard_weight: float = 0.4, sequence_weight: float = 0.6) -> float:
    """Both together, by their weights. Raises ValueError for a negative weight, and when both are 0."""
    total = jaccard_weight + sequence_weight
    if min(jaccard_weight, sequence_weight) < 0 or total == 0:
        raise ValueError(f"weights must not be negative nor both 0: {jaccard_weight}, {sequence_weight}")
    return (jaccard_weight * jaccard(a, b) + sequence_weight * sequence_ratio(a, b)) / total


def is_fixed_point(a: str, b: str, threshold: float = 0.92) -> bool:
    """Whether two answers say the same."""
    return similarity(a, b) >= threshold
