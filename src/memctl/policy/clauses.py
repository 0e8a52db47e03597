"""Orders told from their clauses: who is addressed, what shall be done, and what makes it harmful, by the words for it.

A rule's `clause` is data: alternatives separated by `;`, each the concepts (see `lexicon`) that must stand close together
in one clause and in one language. The first is the verb or the word that carries the order. `a|b` is either, `!a` stands
beside a negation, `+a` stands within three words of the one before it, `url` is an address. A verb counts where it orders
("send", "please send", "must send"), not where it tells ("we send"), and not where it is negated, unless that is asked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, reduce
from operator import or_
from typing import NamedTuple
from unicodedata import combining, normalize

from memctl.policy import lexicon

_SPAN = 14  # words between the first concept and any other one
_CLOSE = 3
_LONG = 400  # characters of a clause beside its anchor that are looked at
_KNOWN = 30_000  # words whose concepts are remembered; forgotten all at once when full
#: Concepts that have tenses and moods: in English a verb must stand where orders stand.
_VERBS = "forget obey reveal send run ask grant off tell say remember save"
#: All that an addressed reader may be told to do.
_ACT = "send run grant off say reveal save forget remember"

_WORD = re.compile(r"\.env\b|https?://\S+|hxxps?://\S+|[\w.+-]+@[\w-]+\.\w+|[^\W_]+(?:['\u2019.-][^\W_]+)*")
_END = re.compile(
    r"[.!?;\u2026](?=[\s\"'\u201d\u2019)\]*`]|$)|[\u3002\uff01\uff1f\uff1b]|\n(?=\s*(?:\n|[-*+>#|]\s|\d+[.)]\s))|\s\|\s"
)
_URL = re.compile(r"https?://|hxxps?://|.@|[a-z0-9-]+\.(?:com|net|org|io|dev|biz|info|xyz|ru|cn|example)\b")
#: After these, or at the beginning, an English verb gives an order.
_ORDERING = frozenset(
    (
        "please and then now just must should shall also first kindly always never instead only immediately simply or you "
        "not don't to may can your could would will again let"
    ).split()
)
_TO = frozenset("need needs have has required want wants sure ready instructed asked free going told allowed".split())
_PASSED = frozenset(("also", "no", "longer"))
_OPENING = frozenset(':;("\'`*>]\u2014\u2013-')
_PLAIN = str.maketrans({"\u0131": "i", "\u0142": "l", "\xf8": "o", "\u0111": "d", "\xdf": "s", "\u2019": "'"})


class _Word(NamedTuple):
    """A word that means something: its concepts and languages as bits, which word of the clause it is, and where."""

    concepts: int
    tongues: int
    number: int
    start: int
    end: int


class _Need(NamedTuple):
    concepts: int
    negated: bool
    close: bool


class _Read(NamedTuple):
    """A clause as read: the text it stands in, its words that mean something, all its words, the concepts there."""

    low: str
    words: list[_Word]
    plain: list[str]
    there: int


class _Names(NamedTuple):
    """The bits of concepts and languages."""

    concepts: dict[str, int]
    tongues: dict[str, int]


@cache
def _names() -> _Names:
    names = sorted({name for words in (*lexicon.SPACED.values(), *lexicon.DENSE.values()) for name in words})
    tongues = (*lexicon.SPACED, *lexicon.DENSE)
    concepts = {name: 1 << n for n, name in enumerate([*names, "url"])}
    concepts["act"] = sum(concepts[name] for name in _ACT.split())
    return _Names(concepts, {name: 1 << n for n, name in enumerate(tongues)})


def folded(word: str) -> str:
    """A word in lower case without accents."""
    if word.isascii():
        return word
    return "".join(c for c in normalize("NFKD", word.translate(_PLAIN)) if not combining(c))


def keywords(concepts: Iterable[str], *, dense: bool = False) -> str:
    """What opens a rule that needs one of these concepts: a word of each entry, as the gate cuts and knows words."""
    words: dict[str, None] = {}
    for table in (lexicon.DENSE if dense else lexicon.SPACED).values():
        for name in concepts:
            for entry in table.get(name, "").split():
                if dense:
                    words[entry.lower().replace("_", " ")] = None
                    continue
                part = max(re.split(r"[_'.-]", entry.rstrip("*")), key=len)
                star = "*" if entry.endswith("*") and entry.rstrip("*").endswith(part) else ""
                words |= dict.fromkeys((part + star, folded(part) + star))
    for name in concepts:
        if name in lexicon.ANYWHERE and not dense:
            words |= dict.fromkeys(w for w in lexicon.ANYWHERE[name].split() if w.strip("*").isalnum())
    return " ".join(words)


def parsed(clause: str) -> list[list[_Need]]:
    """A rule's `clause` as needs."""
    bits = _names().concepts
    alternatives = []
    for part in clause.split(";"):
        needs = [
            _Need(reduce(or_, [bits[name] for name in need.lstrip("!+").split("|")]), need[0] == "!", need[0] == "+")
            for need in part.split()
        ]
        alternatives.append(needs)
    return alternatives


class Lexicon:
    """The words of all languages, ready to be looked up."""

    __slots__ = ("_dense", "_exact", "_known", "_phrases", "_said", "_sizes", "_stems")

    def __init__(self) -> None:
        names = _names()
        self._exact: dict[str, tuple[int, int]] = {}
        self._stems: dict[str, tuple[int, int]] = {}
        self._phrases: dict[str, list[tuple[tuple[str, ...], int, int]]] = {}
        self._said: dict[str, tuple[int, int]] = {}
        self._known: dict[str, tuple[int, int]] = {}
        everywhere = (1 << len(names.tongues)) - 1
        for name, words in lexicon.ANYWHERE.items():
            self._enter(words, names.concepts[name], everywhere)
        for tongue, table in lexicon.SPACED.items():
            for name, words in table.items():
                self._enter(words, names.concepts[name], names.tongues[tongue])
        for tongue, table in lexicon.DENSE.items():
            for name, words in table.items():
                for entry in words.lower().split():
                    self._add(self._said, entry.replace("_", " "), names.concepts[name], names.tongues[tongue])
        self._sizes = sorted({len(stem) for stem in self._stems})
        self._dense = re.compile("|".join(map(re.escape, sorted(self._said, key=lambda said: -len(said)))))

    @staticmethod
    def _add(table: dict[str, tuple[int, int]], word: str, concepts: int, tongues: int) -> None:
        old = table.get(word, (0, 0))
        table[word] = old[0] | concepts, old[1] | tongues

    def _enter(self, words: str, concepts: int, tongues: int) -> None:
        for entry in words.split():
            first, *rest = [folded(part) for part in entry.split("_")]
            if rest:
                self._phrases.setdefault(first, []).append((tuple(rest), concepts, tongues))
            elif first.endswith("*"):
                self._add(self._stems, first[:-1], concepts, tongues)
            else:
                self._add(self._exact, first, concepts, tongues)

    def _meaning(self, word: str) -> tuple[int, int]:
        """The concepts and languages of one word; of `l'utilisateur` and `envoie-les` those of the parts."""
        found = self._known.get(word)
        if found is None:
            concepts, tongues = self._exact.get(word, (0, 0))
            for size in self._sizes:
                more = self._stems.get(word[:size]) if size <= len(word) else None
                if more:
                    concepts, tongues = concepts | more[0], tongues | more[1]
            if not concepts and not word.isalnum():
                for part in re.split(r"['-]", word):
                    more = self._exact.get(part, (0, 0)) if len(part) > 1 else (0, 0)
                    concepts, tongues = concepts | more[0], tongues | more[1]
            if len(self._known) > _KNOWN:
                self._known.clear()
            self._known[word] = found = concepts, tongues
        return found

    def words(self, text: str, start: int, end: int, *, dense: bool) -> tuple[list[_Word], list[str]]:
        """The words of a clause that mean something, and all its words."""
        spans = [(match.group(), match.start(), match.end()) for match in _WORD.finditer(text, start, end)]
        plain = [folded(word) for word, _, _ in spans]
        found = []
        for number, (word, lo, hi) in enumerate(spans):
            concepts, tongues = self._meaning(plain[number])
            for rest, more, where in self._phrases.get(plain[number], ()):
                if tuple(plain[number + 1 : number + 1 + len(rest)]) == rest:
                    concepts, tongues = concepts | more, tongues | where
                    hi = max(hi, spans[number + len(rest)][2])
            if _URL.match(word):
                concepts, tongues = concepts | _names().concepts["url"], -1
            if concepts:
                found.append(_Word(concepts, tongues, number, lo, hi))
        if dense:
            found += self._dense_words(text, start, end, spans)
        return found, plain

    def _dense_words(self, text: str, start: int, end: int, spans: list[tuple[str, int, int]]) -> Iterator[_Word]:
        """The words of languages without blanks; each counts as one more word of the clause."""
        starts = [lo for _, lo, _ in spans]
        for count, match in enumerate(self._dense.finditer(text, start, end)):
            concepts, tongues = self._said[match.group()]
            yield _Word(concepts, tongues, bisect_right(starts, match.start()) + count, *match.span())


@cache
def _lexicon() -> Lexicon:
    return Lexicon()


class Clauses:
    """The clauses of one text in lower case, each cut and read once."""

    __slots__ = ("_ends", "_read", "low")

    def __init__(self, low: str) -> None:
        self.low = low
        self._ends: list[int] | None = None
        self._read: dict[int, tuple[list[_Word], list[str]]] = {}

    def around(self, spots: Iterable[int], *, dense: bool) -> Iterator[tuple[list[_Word], list[str]]]:
        """The clauses in which these places lie, in order, each once."""
        if self._ends is None:
            self._ends = [match.end() for match in _END.finditer(self.low)]
        ends = self._ends
        done = -1
        for spot in spots:
            number = bisect_right(ends, spot)
            start = ends[number - 1] if number else 0
            end = ends[number] if number < len(ends) else len(self.low)
            start, end = max(start, spot - _LONG), min(end, spot + _LONG)
            if start <= done and end <= done:
                continue
            start = max(start, done)
            done = end
            if start not in self._read:
                self._read[start] = _lexicon().words(self.low, start, end, dense=dense)
            yield self._read[start]

    def everywhere(self) -> list[int]:
        """A place in each clause."""
        if self._ends is None:
            self._ends = [match.end() for match in _END.finditer(self.low)]
        return [0, *self._ends]


class Clause:
    """A rule's clause at work."""

    __slots__ = ("_alternatives", "_dense", "_english", "_leading", "_negation", "_verbs")

    def __init__(self, clause: str, *, dense: bool) -> None:
        names = _names()
        self._alternatives = parsed(clause)
        self._dense = dense
        self._leading = sum(names.concepts[name] for name in ("when", "if_you", "model", "note"))
        self._english = names.tongues["en"]
        self._negation = names.concepts["not"]
        self._verbs = sum(names.concepts[name] for name in _VERBS.split())

    def spans(self, clauses: Clauses, spots: Iterable[int]) -> list[tuple[int, int]]:
        """Where the orders stand, at most one of a clause."""
        found = []
        for words, plain in clauses.around(spots, dense=self._dense):
            there = 0
            for word in words:
                there |= word.concepts
            for needs in self._alternatives:
                if all(need.concepts & there for need in needs):
                    span = self._match(needs, _Read(clauses.low, words, plain, there))
                    if span:
                        found.append(span)
                        break
        return found

    def _match(self, needs: list[_Need], read: _Read) -> tuple[int, int] | None:
        first = needs[0]
        for anchor in read.words:
            if not anchor.concepts & first.concepts or not self._fits(anchor, first, read):
                continue
            used, tongues = [anchor], anchor.tongues
            for need in needs[1:]:
                near = self._nearest(need, used, read, tongues)
                if near is None:
                    break
                used.append(near)
                tongues &= near.tongues
            else:
                if first.negated or self._ordered(anchor, first, tongues, read):
                    return min(word.start for word in used), max(word.end for word in used)
        return None

    def _fits(self, word: _Word, need: _Need, read: _Read) -> bool:
        """Whether a word is negated where that is asked, and is not where it is not."""
        before, after = (-6, 4) if need.negated else (-2, 1)
        denied = any(
            other.concepts & self._negation
            and other.tongues & word.tongues
            and other is not word
            and before <= other.number - word.number <= after
            for other in read.words
        )
        return denied == need.negated

    def _nearest(self, need: _Need, used: list[_Word], read: _Read, tongues: int) -> _Word | None:
        other, reach = (used[-1], _CLOSE) if need.close else (used[0], _SPAN)
        best = None
        for word in read.words:
            if word.concepts & need.concepts and word.tongues & tongues and word not in used:
                distance = abs(word.number - other.number)
                if distance <= reach and (best is None or distance < abs(best.number - other.number)):
                    best = word
        if best is not None and need.negated and not self._fits(best, need, read):
            return None
        return best

    def _ordered(self, anchor: _Word, need: _Need, tongues: int, read: _Read) -> bool:
        """Whether an English verb stands where orders stand; other languages have forms of their own for orders."""
        if tongues != self._english or not anchor.concepts & need.concepts & self._verbs:
            return True
        mark = read.low[max(0, anchor.start - 3) : anchor.start].rstrip(" ")[-1:]
        if mark in _OPENING or (mark == "," and read.there & self._leading):
            return True
        number = anchor.number
        while number and (read.plain[number - 1].endswith("ly") or read.plain[number - 1] in _PASSED):
            number -= 1
        if not number:
            return True
        before = read.plain[number - 1]
        if before == "to":
            return number > 1 and read.plain[number - 2] in _TO
        return before in _ORDERING
