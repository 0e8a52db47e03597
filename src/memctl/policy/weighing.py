"""A statement weighed as a whole: what its words and pairs of words say together for an order that is slipped in.

Rules tell an order by its parts, and an attacker has other words. So each word, each pair of neighbours, and the same
cut to their first letters, have a weight, learned from thousands of injected and ordinary sentences (`scripts/weights`,
by logistic regression): their sum, divided by the square root of how many different words there are, is the log-odds
that the text gives an order against whoever keeps it. It counts above the limit of its table: `weights` has one for
English and one for the other languages. They are data that anybody can read: a line for each weight, with what has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import log2, sqrt

from memctl.annotations import NamedTuple
from memctl.policy.rule import lazy_regex

#: Words, and what stands for others of its kind: an address, a name with points, a number, the end of a sentence.
#: Chinese, Japanese and Korean are read character by character.
_TOKEN = lazy_regex(
    r"https?://\S+|[\w.+-]+@[\w.-]+|[\w-]+(?:\.\w[\w-]*)+(?:/\S*)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+(?:['\u2019][^\W\d_]+)*|\d+|[.!?:;\n\u3002\uff01\uff1f][.!?:;\s\u3002\uff01\uff1f]*"
)
_BORDER = "^"  # between sentences
_BORDERS = ".!?:;\n\u3002\uff01\uff1f"
_STEM = 5  # letters that a word and its inflections have in common
_RUN = 3  # sentences in a row that are weighed together, beside each alone and the whole
_DOUBLED = 0.7  # in log-odds, as weights are
_BIT = 4  # words of what is no sentence
_SHORT = 6  # different words of a text below which it is taken to have as many: one word alone proves nothing
_FOLDER = os.path.join(os.path.dirname(__file__), "weights")
TABLES = ("english", "others")
#: Words of which an English sentence has a few, and other languages hardly any.
_SMALL_WORDS = "the to and you your it this that for with are be not any when if please from will can must should of"
_ENGLISH = frozenset(_SMALL_WORDS.split())
_SOME, _FEW = 2, 6  # so many different ones, or one of so many words


class Weights(NamedTuple):
    """What each feature weighs.

    limit: the weight from which on a text counts; floor: what its words by themselves weigh at least where it does.
    """

    of: dict[str, float]
    limit: float
    floor: float


def _kind(token: str) -> str:
    """What a token that is not all letters counts as."""
    if token[0].isdigit() and "." not in token:
        return "0"
    if token[0] in _BORDERS:
        return _BORDER
    if "://" in token:
        return "0url"
    if "@" in token:
        return "0mail"
    return "0name" if "." in token else token.replace("\u2019", "'")


def words(text: str) -> list[str]:
    """The words of a lower-case text in order, with a border at its beginning, its end and between sentences."""
    found = [token if token.isalpha() else _kind(token) for token in _TOKEN.findall(text)]
    if found[:1] != [_BORDER]:
        found.insert(0, _BORDER)
    if found[-1] != _BORDER or len(found) == 1:
        found.append(_BORDER)
    return found


def features(found: list[str]) -> set[str]:
    """What of a text's words is weighed: `word`, `word_next`, and cut to five letters `begin*` and `begin|next`."""
    stems = [word[:_STEM] for word in found]
    every = {*found, *map("_".join, pairwise(found))}
    every.update(map("|".join, pairwise(stems)))
    every.update([word[:_STEM] + "*" for word in found if len(word) > _STEM])
    return every


def scale(found: list[str]) -> float:
    """What the sum of a text's weights is divided by, so that a long text is not found for its length."""
    return sqrt(max(len(set(found)) - 1, _SHORT))


@cache
def weights(name: str) -> Weights:
    """A table, as its file has it."""
    of: dict[str, float] = {}
    with open(os.path.join(_FOLDER, f"{name}.txt"), encoding="utf-8") as lines:
        limit, floor = map(float, next(lines).split()[1::2])
        for line in lines:
            weight, *names = line.split()
            of.update(dict.fromkeys(names, float(weight)))
    return Weights(of, limit, floor)


def is_english(part: list[str]) -> bool:
    """Whether a part has small words of English: two of them, or one where it is short."""
    small = len(_ENGLISH.intersection(part))
    return small >= _SOME or _FEW * small >= len(part)


def score(text: str) -> float:
    """How far above its limit the heaviest part of a lower-case text is; what is below zero passes.

    The whole is weighed, and each sentence with its neighbours, so that ordinary sentences beside it hide no order. Of
    many parts one is heavy by chance: each doubling of the sentences asks for `_DOUBLED` more.
    """
    found = words(text)
    return max(_score(part) for part in parts(found)) - surplus(found)


def explain(text: str, most: int = 8) -> tuple[float, dict[str, float]]:
    """`score`, and what weighs most in the heaviest part of a lower-case text, with its weights, the heaviest first."""
    found = words(text)
    part = max(parts(found), key=_score)
    table = max((weights(name) for name in TABLES), key=lambda table: weigh(part, table))
    heavy = sorted(((table.of.get(name, 0.0), name) for name in features(part)), key=lambda one: (-one[0], one[1]))
    return score(text), {name: weight for weight, name in heavy[:most] if weight > 0}


def surplus(found: list[str]) -> float:
    """What the heaviest part of a text must weigh beyond the limit, by how many sentences there are.

    A tag, a path or another bit of an item beside its text is no sentence.
    """
    borders = [at for at, word in enumerate(found) if word == _BORDER]
    sentences = sum(end - start > _BIT for start, end in pairwise(borders))
    return _DOUBLED * log2(max(sentences, 1))


def _score(part: list[str]) -> float:
    english = weigh(part, weights("english"))
    return english if is_english(part) else max(english, weigh(part, weights("others")))


def weigh(part: list[str], table: Weights) -> float:
    """How far above the limit a part is; where its words alone are far too light, their pairs are not looked at."""
    get, divisor = table.of.get, scale(part)
    alone = sum([get(word, 0.0) for word in set(part)]) / divisor
    if alone < table.floor:
        return min(alone, table.floor) - table.limit
    return sum([get(name, 0.0) for name in features(part)]) / divisor - table.limit


def parts(found: list[str]) -> Iterator[list[str]]:
    """The words of a text, and where it has several sentences those of each run of them."""
    yield found
    borders = [at for at, word in enumerate(found) if word == _BORDER]
    for first, start in enumerate(borders[:-1]):
        for end in borders[first + 1 : first + 1 + _RUN]:
            if end - start < len(found) - 1:
                yield found[start : end + 1]
