"""Orders told from their clauses: who is addressed, what shall be done, and what makes it harmful, by the words for it.

A rule's `clause` is data: alternatives separated by `;`, each the concepts (see `lexicon`) that must stand close together
in one clause and in one language. The first is the verb or the word that carries the order. `a|b` is either, `!a` stands
beside a negation, `+a` stands within three words of the one before it, `url` is an address. A verb counts where it orders
("send", "please send", "must send"), not where it tells ("we send"), and not where it is negated, unless that is asked.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, reduce
from operator import or_
from typing import NamedTuple
from unicodedata import combining, normalize

from memctl.policy import lexicon

_SPAN = 14  # words between the first concept and any other one
_NEAR = 8  # the same for what an English verb is about, which follows it
_CLOSE = 3
_LONG_BEFORE, _LONG = 250, 400  # characters of a clause before and after its anchor that are looked at
_WORD_SIZE = 40  # characters of a word that is remembered
_PARTICLE = 4  # letters of a word that leans on another one
_KNOWN = 30_000  # words whose concepts are remembered; forgotten all at once when full
#: Concepts that have tenses and moods: in English a verb must stand where orders stand.
_VERBS = "forget obey reveal send run ask grant off tell say remember save"
#: Of them those that what they are about follows, in English.
_GOVERNING = "forget reveal ask off tell what remember"
#: All that an addressed reader may be told to do.
_ACT = "send run grant off say reveal save forget remember"

_WORD = re.compile(r"\w+(?:['\u2019.@-]\w+|:/\S+)*")
#: Where a clause ends. It begins with one set of characters, which the regular expression engine looks for at full speed.
_END = re.compile(
    r"[.!?;\n{}=<>\[\]|\u2026\u0964\u061f\u06d4\u3002\uff01\uff1f\uff1b](?:(?<![.\n|])|(?<=\.)(?=[\s\"'\u201d\u2019)\]*`]|\Z)|"
    r"(?<=\n)(?=[ \t]*(?:\n|[-*+>#|][ \t]|\d{1,3}[.)][ \t]))|(?<= \|)(?= ))"
)
_URL = re.compile(r"(?:https?|hxxps?):/|.+@|[a-z0-9.-]+\.(?:com|net|org|io|dev|biz|info|xyz|ru|cn|example)\b")
#: Words after which an English verb gives an order; `to` and `can` do after some words only.
_LEADS = frozenset(
    "please and then now just must should shall also first kindly always never instead only simply or not don't do again let start "
    "longer you".split()
)
_TO = frozenset("need needs have has required want wants sure instructed asked free told".split())
_ABLE = frozenset("can may could would will".split())
_SUBJECTS = frozenset("you assistant agent model ai".split())
#: Marks before such a verb: these stand right before it, those with a blank between.
_QUOTES, _MARKS = "\"'(\u201c\u2018\xab", ".!?:;,)]-*>#|\u2014\u2013\u2022\""
_BEFORE = 48  # characters before a verb that are looked at
_FULL_LINE = 45  # characters of a line that ends because it is full
#: What denies an English word, and how far around it that stands.
_DENIED = re.compile(r"\b(?:not|never|without|no|cannot|longer|nothing|unnecessary)\b|n't\b")
_DENIED_BEFORE, _DENIED_AFTER = 32, 0
#: Words of phrases that stand in any text: no reason to look at it.
_COMMON = frozenset(
    "a about access account rule rules fact session sessions stop hidden output security checks permission all always and any apply are as at attention be before begin below by came can context developer do does "
    "down every false following for from given good has have hey if important in initial is it language later let list long longer mail "
    "me message messages need needs never no not now of off on only order original out package put question root safe say set so start "
    "state stored switch system tell than that the them then there this to turn under until update up use valid wait was were when "
    "window with without write written you your".split()
)
_PLAIN = str.maketrans({"\u0131": "i", "\u0142": "l", "\xf8": "o", "\u0111": "d", "\xdf": "s", "\u2019": "'"})


class _Word(NamedTuple):
    """A word or phrase that means something: its concepts and languages as bits, its words' numbers, and where it stands."""

    concepts: int
    tongues: int
    number: int
    last: int
    start: int
    end: int


class _Phrase(NamedTuple):
    """What follows the first word of a phrase, and what the phrase says."""

    rest: tuple[str, ...]
    concepts: int
    tongues: int


class _Meaning(NamedTuple):
    """What a word says by itself: concepts and languages as bits, and the phrases that it begins, by their second word."""

    concepts: int
    tongues: int
    phrases: dict[str, list[_Phrase]] | None


class _Need(NamedTuple):
    concepts: int
    negated: bool
    close: bool


class _Read(NamedTuple):
    """A clause as read: the text it stands in, its words that mean something, the concepts there."""

    low: str
    words: list[_Word]
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


def keywords(concepts: Iterable[str], *, dense: bool = False, rare: bool = True) -> str:
    """What opens a rule that needs one of these concepts: a word of each entry, as the gate cuts and knows words.

    rare: leave out phrases that are made of words which stand in any text; of `concept-` such words, too. `=word` is a word.
    """
    concepts = list(concepts)
    plain = {concept.rstrip("-"): concept.endswith("-") for concept in concepts if concept[0] != "="}
    words = dict.fromkeys(concept[1:] for concept in concepts if concept[0] == "=" and not dense)
    for tongue, table in (lexicon.DENSE if dense else lexicon.SPACED).items():
        for name, seldom in plain.items():
            for entry in table.get(name, "").split():
                if dense:
                    words[entry.lower().replace("_", " ")] = None
                    continue
                parts = re.split(r"[_'.-]", entry.rstrip("*"))
                part = max((part for part in parts if part not in _COMMON or not (rare or seldom) or (len(parts) == 1 and not seldom)), key=len, default="")
                if not part:
                    continue
                star = "*" if entry.endswith("*") and entry.rstrip("*").endswith(part) else ""
                words[part + star] = None
                if tongue != "vi":  # whose words without accents are those of other languages
                    words[folded(part) + star] = None
    for name in plain:
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
        self._phrases: dict[str, dict[str, list[_Phrase]]] = {}
        self._said: dict[str, tuple[int, int]] = {}
        self._known: dict[str, _Meaning | None] = {}
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
                self._phrases.setdefault(first, {}).setdefault(rest[0], []).append(_Phrase(tuple(rest), concepts, tongues))
            elif first.endswith("*"):
                self._add(self._stems, first[:-1], concepts, tongues)
            else:
                self._add(self._exact, first, concepts, tongues)

    def _meaning(self, said: str) -> _Meaning | None:
        """What one word says; of `l'utilisateur` and `envoie-les` what their parts say."""
        word = folded(said)
        concepts, tongues = self._exact.get(word, (0, 0))
        for size in self._sizes:
            more = self._stems.get(word[:size]) if size <= len(word) else None
            if more:
                concepts, tongues = concepts | more[0], tongues | more[1]
        if not concepts and not word.isalnum():
            for part in _parts(word):
                more = self._exact.get(part, (0, 0)) if len(part) > 1 else (0, 0)
                concepts, tongues = concepts | more[0], tongues | more[1]
        if _URL.match(word):
            concepts, tongues = concepts | _names().concepts["url"], -1
        phrases = self._phrases.get(word)
        found = _Meaning(concepts, tongues, phrases) if concepts or phrases else None
        if len(self._known) > _KNOWN:
            self._known.clear()
        if len(said) <= _WORD_SIZE:
            self._known[said] = found
        return found

    def words(self, text: str, start: int, end: int, *, dense: bool) -> list[_Word]:
        """The words of a clause that mean something."""
        said, known = _WORD.findall(text, start, end), self._known
        meanings = [known[word] if word in known else self._meaning(word) for word in said]
        if not dense and len(meanings) - meanings.count(None) < 2:
            return []
        spans = [match.span() for match in _WORD.finditer(text, start, end)]
        found = []
        for number, meaning in enumerate(meanings):
            if meaning is None:
                continue
            concepts, tongues, phrases = meaning
            last = number
            if phrases and number + 1 < len(said):
                for rest, more, where in phrases.get(folded(said[number + 1]), ()):
                    if tuple(map(folded, said[number + 2 : number + 1 + len(rest)])) == rest[1:]:
                        concepts, tongues, last = concepts | more, tongues | where, max(last, number + len(rest))
            if concepts:
                found.append(_Word(concepts, tongues, number, last, spans[number][0], spans[last][1]))
        if dense:
            found += self._dense_words(text, start, end, spans)
        return found

    def of(self, text: str, spot: int) -> tuple[int, int]:
        """The concepts and languages of the word at this place; -1 where it only begins phrases, and none is there."""
        match = _WORD.match(text, spot)
        if match is None:
            return 0, 0
        word = match.group()
        meaning = self._known[word] if word in self._known else self._meaning(word)
        if meaning is None:
            return 0, 0
        if meaning.phrases and not meaning.concepts:
            after = _WORD.search(text, match.end(), match.end() + _WORD_SIZE)
            if after is None or folded(after.group()) not in meaning.phrases:
                return -1, 0
        return meaning.concepts, meaning.tongues

    def said(self, text: str) -> list[int]:
        """Where in a text words of languages without blanks stand, in order."""
        return [match.start() for match in self._dense.finditer(text)]

    def _dense_words(self, text: str, start: int, end: int, spans: list[tuple[int, int]]) -> Iterator[_Word]:
        """The words of languages without blanks; each counts as one more word of the clause."""
        starts = [lo for lo, _ in spans]
        for count, match in enumerate(self._dense.finditer(text, start, end)):
            concepts, tongues = self._said[match.group()]
            number = bisect_right(starts, match.start()) + count
            yield _Word(concepts, tongues, number, number, *match.span())


def _parts(word: str) -> list[str]:
    """The words in `l'utilisateur`, `envoie-les` and `ki-agenten`; a longer compound is a name."""
    parts = re.split(r"['-]", word)
    return parts if len(parts) == 2 and min(map(len, parts)) <= _PARTICLE else []


@cache
def _lexicon() -> Lexicon:
    return Lexicon()


class Clauses:
    """The clauses of one text in lower case, each read once."""

    __slots__ = ("_dense", "_read", "low")

    def __init__(self, low: str) -> None:
        self.low = low
        self._dense: list[_Read] | None = None
        self._read: dict[int, list[_Word]] = {}

    def around(self, spots: Iterable[int]) -> Iterator[_Read]:
        """The clauses in which these places lie, in order, each once."""
        low, done = self.low, -1
        for spot in spots:
            if spot < done:
                continue
            start = max(0, spot - _LONG_BEFORE)
            for match in _END.finditer(low, start, spot):
                start = match.end()
            stop = _END.search(low, spot, spot + _LONG)
            start, done = max(start, done), stop.end() if stop else min(len(low), spot + _LONG)
            words = self._read.get(start)
            if words is None:
                self._read[start] = words = _lexicon().words(low, start, done, dense=False)
            yield _Read(low, words, _all_of(words))

    def dense(self) -> list[_Read]:
        """The clauses in which words of languages without blanks stand."""
        if self._dense is None:
            self._dense = []
            lexicon, start = _lexicon(), 0
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


def _all_of(words: list[_Word]) -> int:
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
        names = _names()
        self._alternatives = parsed(clause)
        self._dense = dense
        verbs = sum(names.concepts[name] for name in _VERBS.split())
        firsts = [needs[0] for needs in self._alternatives]
        self._negated = reduce(or_, [need.concepts for need in firsts if need.negated], 0)
        self._orders = reduce(or_, [need.concepts & verbs for need in firsts if not need.negated], 0)
        self._plain = reduce(or_, [need.concepts & ~verbs for need in firsts if not need.negated], 0)
        self._leading = sum(names.concepts[name] for name in ("when", "if_you", "model", "note"))
        self._english = names.tongues["en"]
        self._negation = names.concepts["not"]
        self._verbs = verbs
        self._governing = sum(names.concepts[name] for name in _GOVERNING.split())

    def spans(self, clauses: Clauses, spots: Iterable[int]) -> list[tuple[int, int]]:
        """Where the orders stand, at most one of a clause; of languages without blanks each clause is read."""
        found: list[tuple[int, int]] = []
        low = clauses.low
        for read in clauses.dense() if self._dense else clauses.around(s for s in spots if self._worth(low, s)):
            there = read.there
            for needs in self._alternatives:
                if all([need.concepts & there for need in needs]):
                    span = self._match(needs, read)
                    if span:
                        found.append(span)
                        break
        return found

    def _worth(self, low: str, spot: int) -> bool:
        """Whether a clause is worth reading for the word at this place: an English one must order, or be denied."""
        concepts, tongues = _lexicon().of(low, spot)
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
        before, after = self._reach(word) if need.negated else (-2, 1)
        denied = any(
            other.concepts & self._negation
            and other.tongues & word.tongues
            and not word.start <= other.start < word.end
            and before <= other.number - word.number <= after
            for other in read.words
        )
        return denied == need.negated

    def _reach(self, word: _Word) -> tuple[int, int]:
        """How many words before and after a word what denies it may stand."""
        if self._dense:
            return -2, 2
        if word.tongues & self._english:
            return (-3, 0) if word.concepts & self._verbs else (-2, 1)
        return -6, 4

    def _nearest(self, need: _Need, used: list[_Word], read: _Read, tongues: int) -> _Word | None:
        other, reach = (used[-1], _CLOSE) if need.close else (used[0], _SPAN)
        follows = len(used) == 1 and tongues == self._english and used[0].concepts & self._governing
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

    def _ordered(self, anchor: _Word, need: _Need, tongues: int, read: _Read) -> bool:
        """Whether an English verb stands where orders stand; other languages have forms of their own for orders."""
        if tongues != self._english or not anchor.concepts & need.concepts & self._verbs:
            return True
        led = _led(read.low, anchor.start)
        return led != "" and (led != "," or read.there & self._leading != 0)


def _led(low: str, spot: int) -> str:
    """What lets an English verb at this place give an order: the mark before it, or the last letter of a word; "" if nothing does."""
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
