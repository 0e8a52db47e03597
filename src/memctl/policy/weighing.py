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
from itertools import pairwise, repeat
from math import inf, log2, sqrt

from memctl.annotations import NamedTuple
from memctl.policy.rule import lazy_regex

#: Words, and what stands for others of its kind: an address, a name with points, a number, the end of a sentence.
#: Chinese, Japanese and Korean are read character by character.
_TOKEN = lazy_regex(
    r"[a-z]+(?=[ ,\n])|"  # nearly all words, and told at once: nothing below goes on so
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
    every = set(found).union(*_kinds(found))
    every.discard("")
    return every


def _kinds(found: list[str]) -> tuple[list[str], list[str], list[str]]:
    """By the place of a word: its beginning, "" where it is short, the word with the next one, and those cut."""
    stems = [word[:_STEM] for word in found]
    begins = [stem + "*" if len(word) > _STEM else "" for word, stem in zip(found, stems, strict=True)]
    return begins, list(map("_".join, pairwise(found))), list(map("|".join, pairwise(stems)))


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
            of.update(zip(names, repeat(float(weight))))
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


def is_heavy(text: str) -> bool:
    """Whether the `score` of a lower-case text is above zero: of nearly all no part has to be weighed."""
    found = words(text)
    beyond = surplus(found)
    return any(_score(part) > beyond for part in _promising(found, beyond))


def _promising(found: list[str], beyond: float) -> Iterator[list[str]]:
    """Those parts of a text that may be so much heavier than a limit, told from what each sentence weighs at most.

    What lightens a text counts in the first sentence that has it, so no run is taken for lighter than it is.
    """
    borders, (begins, pairs, stem_pairs) = _borders(found), _kinds(found)
    sentences = [*pairwise(borders)]
    # With two small words every run that a sentence is part of is English.
    english = [len(_ENGLISH.intersection(found[start:end])) >= _SOME for start, end in sentences]
    for name in TABLES[:1] if all(english) else TABLES:
        table = weights(name)
        of, limit = table.of, table.limit + beyond
        most, seen = list[float](), {_BORDER}
        for (start, end), is_sure in zip(sentences, english, strict=True):
            if is_sure and name != "english":
                most.append(-inf)
                continue
            told = of.keys() & [*found[start:end], *begins[start:end], *pairs[start:end], *stem_pairs[start:end]]
            most.append(sum([of[feature] for feature in told if feature not in seen or of[feature] > 0]))
            seen |= told
        least = limit * sqrt(max(len(found) if limit < 0 else 0, _SHORT)) - of.get(_BORDER, 0.0)
        if sum([weight for weight in most if weight > 0]) > least:
            for first, last in _runs(len(most)):
                if sum(most[first:last]) > least:
                    yield found[borders[first] : borders[last] + 1]


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
    sentences = sum([end - start > _BIT for start, end in pairwise(_borders(found))])
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
    borders = _borders(found)
    for first, last in _runs(len(borders) - 1):
        yield found[borders[first] : borders[last] + 1]


def _borders(found: list[str]) -> list[int]:
    return [at for at, word in enumerate(found) if word == _BORDER]


def _runs(sentences: int) -> Iterator[tuple[int, int]]:
    """All of so many sentences, and each run of them, from the first to before the last."""
    yield 0, sentences
    for first in range(sentences):
        for last in range(first + 1, min(first + _RUN, sentences) + 1):
            if last - first < sentences:
                yield first, last
