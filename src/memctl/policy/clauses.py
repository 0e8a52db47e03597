"""Orders told from their clauses: who is addressed, what shall be done, and what makes it harmful, by the words for it.

A rule's `clause` is data: alternatives separated by `;`, each the concepts (see `lexicon`) that must stand close
together in one clause and in one language. The first is the verb or the word that carries the order. `a|b` is either,
`!a` stands beside a negation, `+a` stands within three words of the one before it, `url` is an address. A verb counts
where it orders ("send", "please send", "must send"), not where it tells ("we send"), and not where it is negated unless
that is asked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import NamedTuple

from memctl.policy.wording import Word, known_words, names

_SPAN = 14  # words between the first concept and any other one
_NEAR = 8  # the same for what an English verb is about, which follows it
_CLOSE = 3
_LONG_BEFORE, _LONG = 250, 400  # characters of a clause before and after its anchor that are looked at
_MOSTLY_BEFORE = 60  # characters in which most clauses begin
#: Concepts that have tenses and moods: in English a verb must stand where orders stand.
_VERBS = "forget obey reveal send run ask grant off tell say remember save"
#: Of them those that what they are about follows, in English.
_GOVERNING = "forget reveal ask off tell what remember"

#: Where a clause ends. It begins with one set of characters: these are looked for at full speed.
_END = re.compile(
    r"[.!?;\n{}=<>\[\]|\u2026\u0964\u061f\u06d4\u3002\uff01\uff1f\uff1b](?:(?<![.\n|])|(?<=\.)(?=[\s\"'\u201d\u2019)\]*`]|\Z)|"
    r"(?<=\n)(?=[ \t]*(?:\n|[-*+>#|][ \t]|\d{1,3}[.)][ \t]))|(?<= \|)(?= ))"
)
#: Words after which an English verb gives an order; `to` and `can` do after some words only.
_LEADS = frozenset(
    (
        "please", "and", "then", "now", "just", "must", "should", "shall", "also", "first", "kindly", "always", "never",
        "instead", "only", "simply", "or", "not", "don't", "do", "again", "let", "start", "keep", "longer", "you",
    )
)  # fmt: skip
_TO = frozenset(
    ("need", "needs", "have", "has", "required", "want", "wants", "sure", "instructed", "asked", "free", "told")
)
_ABLE = frozenset(["can", "may", "could", "would", "will"])
_SUBJECTS = frozenset(["you", "assistant", "agent", "model", "ai"])
#: Marks before such a verb: these stand right before it, those with a blank between.
_QUOTES, _MARKS = "\"'(\u201c\u2018\xab", '.!?:;,)]-*>#|\u2014\u2013\u2022"'
_BEFORE = 48  # characters before a verb that are looked at
_FULL_LINE = 45  # characters of a line that ends because it is full
#: What denies an English word, and how far around it that stands.
_DENIED = re.compile(r"\b(?:not|never|without|no|cannot|longer|nothing|unnecessary)\b|n't\b")
_DENIED_BEFORE, _DENIED_AFTER = 32, 0


class _Need(NamedTuple):
    concepts: int
    negated: bool
    close: bool


class _Read(NamedTuple):
    """A clause as read: the text it stands in, its words that mean something, the concepts there."""

    low: str
    words: list[Word]
    there: int


def parsed(clause: str) -> list[list[_Need]]:
    """A rule's `clause` as needs."""
    bits = names().concepts
    alternatives = []
    for part in clause.split(";"):
        needs = [
            _Need(reduce(or_, [bits[name] for name in need.lstrip("!+").split("|")]), need[0] == "!", need[0] == "+")
            for need in part.split()
        ]
        alternatives.append(needs)
    return alternatives


class Clauses:
    """The clauses of one text in lower case, each read once."""

    __slots__ = ("_dense", "_read", "low")

    def __init__(self, low: str) -> None:
        self.low = low
        self._dense: list[_Read] | None = None
        self._read: dict[int, list[Word]] = {}

    def around(self, spots: Iterable[int]) -> Iterator[_Read]:
        """The clauses in which these places lie, in order, each once."""
        low, done = self.low, -1
        for spot in spots:
            if spot < done:
                continue
            start = _clause_start(low, spot)
            stop = _END.search(low, spot, spot + _LONG)
            start, done = max(start, done), stop.end() if stop else min(len(low), spot + _LONG)
            words = self._read.get(start)
            if words is None:
                self._read[start] = words = known_words().words(low, start, done, dense=False)
            yield _Read(low, words, _all_of(words))

    def dense(self) -> list[_Read]:
        """The clauses in which words of languages without blanks stand."""
        if self._dense is None:
            self._dense = []
            lexicon, start = known_words(), 0
            said = iter([*lexicon.said(self.low), len(self.low)])
            at = next(said)
            for end in [*(match.end() for match in _END.finditer(self.low)), len(self.low)]:
                if at < end:
                    words = lexicon.words(self.low, start, end, dense=True)
                    self._dense.append(_Read(self.low, words, _all_of(words)))
                while at < end:
                    at = next(said)
                start = end
        return self._dense


def _clause_start(low: str, spot: int) -> int:
    """Where the clause begins that goes on at `spot`; most are short, so the nearest characters are looked at first."""
    start = max(0, spot - _LONG_BEFORE)
    for near in (max(0, spot - _MOSTLY_BEFORE), start):
        last = None
        for last in _END.finditer(low, near, spot):  # noqa: B007
            pass
        if last is not None:
            return last.end()
    return start


def _all_of(words: list[Word]) -> int:
    concepts = 0
    for word in words:
        concepts |= word.concepts
    return concepts


class Clause:
    """A rule's clause at work."""

    __slots__ = (
        "_alternatives", "_dense", "_english", "_governing", "_leading", "_negated", "_negation", "_orders",
        "_plain", "_verbs",
    )  # fmt: skip

    def __init__(self, clause: str, *, dense: bool) -> None:
        named = names()
        self._alternatives = parsed(clause)
        self._dense = dense
        verbs = sum(named.concepts[name] for name in _VERBS.split())
        firsts = [needs[0] for needs in self._alternatives]
        self._negated = reduce(or_, [need.concepts for need in firsts if need.negated], 0)
        self._orders = reduce(or_, [need.concepts & verbs for need in firsts if not need.negated], 0)
        self._plain = reduce(or_, [need.concepts & ~verbs for need in firsts if not need.negated], 0)
        self._leading = sum(named.concepts[name] for name in ("when", "if_you", "model", "note"))
        self._english = named.tongues["en"]
        self._negation = named.concepts["not"]
        self._verbs = verbs
        self._governing = sum(named.concepts[name] for name in _GOVERNING.split())

    def spans(self, clauses: Clauses, spots: Iterable[int]) -> list[tuple[int, int]]:
        """Where the orders stand, at most one of a clause; of languages without blanks each clause is read."""
        found: list[tuple[int, int]] = []
        low = clauses.low
        for read in clauses.dense() if self._dense else clauses.around(s for s in spots if self._worth(low, s)):
            there = read.there
            for needs in self._alternatives:
                if all(need.concepts & there for need in needs):
                    span = self._match(needs, read)
                    if span:
                        found.append(span)
                        break
        return found

    def _worth(self, low: str, spot: int) -> bool:
        """Whether a clause is worth reading for the word at this place: an English one must order, or be denied."""
        concepts, tongues = known_words().of(low, spot)
        if concepts < 0:
            return False
        if tongues != self._english or concepts & self._plain or not concepts & (self._negated | self._orders):
            return True
        if concepts & self._negated and _DENIED.search(low, max(0, spot - _DENIED_BEFORE), spot + _DENIED_AFTER):
            return True
        return concepts & self._orders != 0 and _led(low, spot) != ""

    def _match(self, needs: list[_Need], read: _Read) -> tuple[int, int] | None:
        first = needs[0]
        for anchor in read.words:
            if not anchor.concepts & first.concepts or not self._fits(anchor, first, read):
                continue
            used, tongues = [anchor], anchor.tongues
            for need in needs[1:]:
                near = self._nearest(need, first, used, read, tongues)
                if near is None:
                    break
                used.append(near)
                tongues &= near.tongues
            else:
                if first.negated or self._ordered(anchor, first, tongues, read):
                    return min(word.start for word in used), max(word.end for word in used)
        return None

    def _fits(self, word: Word, need: _Need, read: _Read) -> bool:
        """Whether a word is negated where that is asked, and is not where it is not."""
        before, after = self._reach(word) if need.negated else (-1 if self._dense else -2, 1)
        denied = any(
            other.concepts & self._negation
            and other.tongues & word.tongues
            and not word.start <= other.start < word.end
            and before <= other.number - word.number <= after
            for other in read.words
        )
        return denied == need.negated

    def _reach(self, word: Word) -> tuple[int, int]:
        """How many words before and after a word what denies it may stand."""
        if self._dense:
            return -2, 2
        if word.tongues & self._english:
            return (-3, 0) if word.concepts & self._verbs else (-2, 1)
        return -6, 4

    def _nearest(self, need: _Need, first: _Need, used: list[Word], read: _Read, tongues: int) -> Word | None:
        other, reach = (used[-1], _CLOSE) if need.close else (used[0], _SPAN)
        follows = len(used) == 1 and tongues == self._english and used[0].concepts & first.concepts & self._governing
        best, least = None, sys.maxsize
        for word in read.words:
            if word.concepts & need.concepts and word.tongues & tongues and word not in used:
                distance = word.number - other.last if word.number > other.number else other.number - word.last
                if follows and not (word.number > other.number and distance <= _NEAR):
                    continue
                if distance <= reach and distance < least:
                    best, least = word, distance
        if best is not None and need.negated and not self._fits(best, need, read):
            return None
        return best

    def _ordered(self, anchor: Word, need: _Need, tongues: int, read: _Read) -> bool:
        """Whether an English verb stands where orders stand; other languages have forms of their own for orders."""
        if tongues != self._english or not anchor.concepts & need.concepts & self._verbs:
            return True
        led = _led(read.low, anchor.start)
        return led != "" and (led != "," or read.there & self._leading != 0)


def _led(low: str, spot: int) -> str:
    """What lets an English verb at this place give an order; "" if nothing does.

    The mark before it, or the last letter of the word before it.
    """
    before = low[max(0, spot - _BEFORE) : spot]
    bare = before.rstrip()
    if not bare:
        return "\n"
    mark = bare[-1]
    if not mark.isalnum():
        return mark if mark in (_QUOTES if len(bare) == len(before) else _MARKS) else ""
    line = bare[bare.rfind("\n") + 1 :]
    if "\n" in before[len(bare) :] and (len(line) < _FULL_LINE or before.count("\n") > 1):
        return "\n"
    *rest, last = line.split()[-2:]
    if last in _LEADS or last.endswith("ly"):
        return mark
    if last == "to" or last in _ABLE:
        return mark if rest and rest[0] in (_TO if last == "to" else _SUBJECTS) else ""
    return ""
