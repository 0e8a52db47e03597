"""Orders told from their clauses: who is addressed, what shall be done, and what makes it harmful, by the words for it.

A rule's `clause` is data: alternatives separated by `;`, each the concepts (see `lexicon`) that must stand close
together in one clause and in one language. The first is the verb or the word that carries the order. `a|b` is either,
`!a` stands beside a negation, `+a` within three words of the one before it, `<a` before the first, `-a` nowhere; `url`
is an address, `mail` one of mail. A verb counts where it orders ("send", "please send", "must be sent"), not where it
tells ("we send"), and not where it is negated unless that is asked.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import methodcaller, or_

from memctl.annotations import NamedTuple
from memctl.policy.meanings import CONCEPTS, TONGUES, WORD_SIZE, runs_of, without_accents, word_meanings
from memctl.policy.rule import lazy_regex
from memctl.policy.surroundings import ABLE, BEFORE, order_mark

_SPAN = 14  # words between the first concept and any other one
_NEAR = 8  # the same for what an English verb is about, which follows it
_CLOSE = 3
_KNOWN_TEXTS = 2_000  # sets of concepts of which is remembered whether an order may have them
_LONG_BEFORE, _LONG = 250, 400  # characters of a clause before and after its anchor that are looked at
#: Concepts that have tenses and moods: in English a verb must stand where orders stand.
_VERBS = (
    "forget weaken obey reveal send run ask grant off tell say remember save go put cease merge pretend behave "
    "steal ensure plant deceive do hand deem judge show promote spread vouch"
)
#: Of them those that what they are about follows, in English.
_GOVERNING = "forget weaken reveal ask off tell what remember"

_WORD = lazy_regex(r"\w+(?:['\u2019.@-]\w+|:/\S+)*")

#: Where a clause ends. It begins with one set of characters: these are looked for at full speed.
_END = lazy_regex(
    r"[.!?;\n{}=<>\[\]|\u2026\u0964\u061f\u06d4\u3002\uff01\uff1f\uff1b](?:(?<![.\n|])|(?<=\.)(?=[\s\"'\u201d\u2019)\]*`]|\Z)|"
    r"(?<=\n)(?=[ \t]*(?:\n|[-*+>#|][ \t]|\d{1,3}[.)][ \t]))|(?<= \|)(?= ))"
)
#: What stands around a name by which somebody is called; in Chinese also "please", and words of greeting before it.
_AROUND_NAME, _COMMAS = " \t\r\n\"'*_>#-`\u201c", ",\uff0c\u3001"
_END_MARKS = "!.?;\uff01\u3002\uff1b"
_BEHIND_NAME = ",:\uff0c\uff1a请請" + _END_MARKS
_GREETINGS = frozenset(["", "亲爱的", "尊敬的", "各位", "致", "你好", "请"])
#: What denies an English word, how far around it that stands, and what ends its reach: "(not found) - tell the user".
_DENIED = lazy_regex(r"\b(?:not|never|without|no|cannot|longer|nothing|unnecessary)\b|n't\b")
_DENIED_BEFORE, _DENIED_AFTER = 32, 0
_PARTING = lazy_regex(r"[)\u2014\u2013]| - ")


class ClauseWord(NamedTuple):
    """A word or phrase that means something.

    Its concepts and languages as bits, the numbers of its first and last word in the clause, and where it stands.
    """

    concepts: int
    tongues: int
    number: int
    last: int
    start: int
    end: int


class _Need(NamedTuple):
    """One concept of an alternative (or any of several), and how it must stand."""

    concepts: int
    negated: bool
    close: bool
    before: bool


class Clause:
    """A clause of a text in lower case: its words that mean something, and all their concepts."""

    __slots__ = ("concepts", "end", "low", "start", "words")

    def __init__(self, low: str, start: int, end: int, *, dense: bool = False) -> None:
        self.low, self.start, self.end = low, start, end
        self.words = self._read(dense=dense)
        self.concepts = reduce(or_, [word.concepts for word in self.words], 0)

    def _read(self, *, dense: bool) -> list[ClauseWord]:
        """Its words; each of a language without blanks counts as one more word of the clause."""
        matches, found = [*_WORD.finditer(self.low, self.start, self.end)], []
        said, spans = [match[0] for match in matches], [match.span() for match in matches]
        for number, meaning in enumerate(map(word_meanings().meaning, said)):
            if meaning is None:
                continue
            concepts, tongues, phrases, _ = meaning
            last = number
            if phrases and number + 1 < len(said):
                for rest, more, where in phrases.get(without_accents(said[number + 1]), ()):
                    if tuple(map(without_accents, said[number + 2 : number + 1 + len(rest)])) == rest[1:]:
                        concepts, tongues, last = concepts | more, tongues | where, max(last, number + len(rest))
            if concepts:
                found.append(ClauseWord(concepts, tongues, number, last, spans[number][0], spans[last][1]))
        if dense:
            meanings, starts = word_meanings(), [lo for lo, _ in spans]
            for count, match in enumerate(meanings.dense_word.finditer(self.low, self.start, self.end)):
                concepts, tongues = meanings.dense[match.group()]
                number = bisect_right(starts, match.start()) + count
                found.append(ClauseWord(concepts, tongues, number, number, *match.span()))
        return [
            word._replace(concepts=word.concepts & ~_CALLED)
            if word.concepts & _CALLED and not self._is_called(word)
            else word
            for word in found
        ]

    def _is_called(self, word: ClauseWord) -> bool:
        """Whether a name stands as one calls by it: first in the clause or behind a comma, and before a mark."""
        before = self.low[self.start : word.start].strip(_AROUND_NAME)
        after = self.low[word.end : word.end + 1]
        if before in _GREETINGS:
            return before == "请" or after in _BEHIND_NAME
        return before[-1] in _COMMAS and (after in _END_MARKS or word.end >= self.end - 1)  # not an argument of a call


class ClauseReader:
    """The clauses of one text in lower case, each read once."""

    __slots__ = ("_clauses", "_dense", "_ends", "_glanced", "_phrased", "_runs", "_worded", "low")

    def __init__(self, low: str, runs: list[bytes] | None = None) -> None:
        """`runs`: its runs of letters and digits, where they are known."""
        self.low = low
        self._runs = runs_of(low) if runs is None else runs
        self._worded = word_meanings().concepts_of_words(low, self._runs)
        self._phrased: int | None = None
        self._clauses: dict[int, Clause] = {}
        self._glanced: dict[tuple[int, int], int] = {}
        self._dense: list[Clause] | None = None
        self._ends: list[int] = []

    @property
    def concepts(self) -> int:
        """The concepts, as bits, that any of its clauses may have: none has another one."""
        if self._phrased is None:
            self._phrased = word_meanings().concepts_of_phrases(self._runs)
        return self._worded | self._phrased

    def may_have(self, order: OrderMatcher) -> bool:
        """Whether the text has the concepts of an order: nearly none has. Most of those that have need no phrase."""
        return order.could_match(self._worded) or order.could_match(self.concepts)

    def around(
        self,
        places: Iterable[int],
        beside: list[list[str]],
        is_worth_reading: Callable[[str, int], bool],
        *,
        could_match: Callable[[int], bool],
    ) -> Iterator[Clause]:
        """The clauses in which these places lie, in order, each once: those with a word of each of the lists.

        could_match: whether a clause with these concepts is asked for.

        Nearly all places fail, so that the cheap questions come first: whether the clause's words are there, then
        whether its place is worth reading. Where clauses end is looked for once.
        """
        low, done, ends = self.low, 0, self._ends
        if not ends:
            ends = self._ends = [0, *map(_end_of, _END.finditer(low)), len(low) + 1]
        beside = sorted(beside, key=len)  # of a group of few words each is soon looked for
        for place in places:
            if place < done:
                continue
            number = bisect_right(ends, place)
            stop = min(ends[number], place + _LONG, len(low))
            first = max(done, ends[number - 1], place - _LONG_BEFORE)
            if not _has_all(low, first, stop, beside):
                done = stop
            elif is_worth_reading(low, place):
                done = stop
                if could_match(self._glance(first, stop)):
                    clause = self._clauses.get(first)
                    if clause is None or clause.end != stop:
                        self._clauses[first] = clause = Clause(low, first, stop)
                    yield clause

    def _glance(self, start: int, stop: int) -> int:
        """The concepts that a clause may have, told in a third of the time that it takes to read it."""
        concepts = self._glanced.get((start, stop))
        if concepts is None:
            low, meanings = self.low[start:stop], word_meanings()
            runs = runs_of(low)
            concepts = meanings.concepts_of_words(low, runs) | meanings.concepts_of_phrases(runs)
            self._glanced[start, stop] = concepts
        return concepts

    def dense(self) -> list[Clause]:
        """The clauses in which words of languages without blanks stand."""
        if self._dense is None:
            self._dense = []
            places, start = [match.start() for match in word_meanings().dense_word.finditer(self.low)], 0
            for end in [*map(_end_of, _END.finditer(self.low)), len(self.low)]:
                if bisect_left(places, start) < bisect_left(places, end):
                    self._dense.append(Clause(self.low, start, end, dense=True))
                start = end
        return self._dense


def _has_all(low: str, start: int, stop: int, groups: list[list[str]]) -> bool:
    """Whether a word of each of the groups stands in this stretch."""
    for words in groups:
        for word in words:
            if low.find(word, start, stop) >= 0:
                break
        else:
            return False
    return True


_end_of = methodcaller("end")

#: What all clauses are told by.
_ENGLISH = TONGUES["en"]
_NEGATION = CONCEPTS["not"]
_LEADING = sum(CONCEPTS[name] for name in ("when", "if_you", "model", "note"))
_ADDRESSING = CONCEPTS["note"] | CONCEPTS["if_you"]
_SUBORDINATE = CONCEPTS["when"]
_CALLED = CONCEPTS["called"]
_ADDRESSEE = CONCEPTS["model"] | CONCEPTS["note"] | CONCEPTS["if_you"] | CONCEPTS["called"]
_FREE = CONCEPTS["free"]
_VERB = sum(CONCEPTS[name] for name in _VERBS.split())
_GOVERN = sum(CONCEPTS[name] for name in _GOVERNING.split())


class OrderMatcher:
    """A rule's clause at work."""

    __slots__ = (
        "_all", "_alternatives", "_dense", "_known", "_needed", "_negated", "_orders", "_plain", "common",
    )  # fmt: skip

    def __init__(self, clause: str, common: list[str], *, dense: bool) -> None:
        #: Words that may stand for those of any group but the first.
        self.common = common
        #: The needs of each alternative, and the concepts that its clause must not have.
        self._alternatives: list[tuple[list[_Need], int]] = []
        self._dense = dense
        #: Of the first concepts: those that are negated; those that are verbs; the others.
        self._negated = self._orders = self._plain = 0
        for part in clause.split(";"):
            needs, never = [], 0
            for need in part.split():
                concepts = reduce(or_, [CONCEPTS[name] for name in need.lstrip("!+-<").split("|")])
                if need[0] == "-":
                    never |= concepts
                else:
                    needs.append(_Need(concepts, need[0] == "!", need[0] == "+", need[0] == "<"))
            first = needs[0]
            self._alternatives.append((needs, never))
            if first.negated:
                self._negated |= first.concepts
            else:
                self._orders |= first.concepts & _VERB
                self._plain |= first.concepts & ~_VERB
        self._needed = [[need.concepts for need in needs] for needs, _ in self._alternatives]
        self._all = reduce(or_, [need for needed in self._needed for need in needed])
        #: Whether a text could match, by those of its concepts that are asked for.
        self._known: dict[int, bool] = {}

    def spans(self, reader: ClauseReader, places: Iterable[int], beside: list[list[str]]) -> list[tuple[int, int]]:
        """Where the orders stand, at most one of a clause; of languages without blanks each clause is read.

        places: where the words stand that open the rule. beside: the words of its other groups that are in the text.
        """
        spans: list[tuple[int, int]] = []
        if self._dense:
            clauses: Iterable[Clause] = reader.dense()
        else:
            clauses = reader.around(places, beside, self._is_worth_reading, could_match=self.could_match)
        for clause in clauses:
            for needs, never in self._alternatives:
                span = self._match(needs, never, clause)
                if span:
                    spans.append(span)
                    break
        return spans

    def could_match(self, concepts: int) -> bool:
        """Whether a text with these concepts has all that an alternative needs: nearly none has."""
        asked = concepts & self._all
        could = self._known.get(asked)
        if could is None:
            if len(self._known) >= _KNOWN_TEXTS:
                self._known.clear()
            could = self._dense or any(all(need & asked for need in needed) for needed in self._needed)
            self._known[asked] = could
        return could

    def _is_worth_reading(self, low: str, place: int) -> bool:
        """Whether a clause is worth reading for the word at this place: an English one must order, or be denied."""
        match, meanings = _WORD.match(low, place), word_meanings()
        meaning = meanings.meaning(match.group()) if match else None
        if match is None or meaning is None:
            return True
        if meaning.phrases and not meaning.concepts and match.group() not in meanings.tails:
            after = tuple(map(without_accents, _WORD.findall(low, match.end(), match.end() + WORD_SIZE)))
            begun = meaning.phrases.get(after[0], ()) if after else ()
            if not any(after[: len(rest)] == rest for rest, _, _ in begun):
                return False  # it only begins phrases, and none is there
        concepts = meaning.concepts
        if meaning.tongues != _ENGLISH or concepts & self._plain or not concepts & (self._negated | self._orders):
            return True
        if concepts & self._negated and _DENIED.search(low, max(0, place - _DENIED_BEFORE), place + _DENIED_AFTER):
            return True
        return concepts & self._orders != 0 and order_mark(low, place) != ""

    def _match(self, needs: list[_Need], never: int, clause: Clause) -> tuple[int, int] | None:
        """Where in a clause the words stand that an alternative needs.

        An English verb must stand where orders stand, unless the clause turns to a model and says when; other languages
        have forms of their own for orders.
        """
        if never & clause.concepts or not all(need.concepts & clause.concepts for need in needs):
            return None
        first, words = needs[0], clause.words
        denying = [word for word in words if word.concepts & _NEGATION]
        if clause.concepts & _FREE:  # "without restrictions" denies nothing
            free = [word for word in words if word.concepts & _FREE]
            denying = [word for word in denying if not any(one.start <= word.start < one.end for one in free)]
        addressed = clause.concepts & _SUBORDINATE and any(need.concepts & _ADDRESSING for need in needs)
        for anchor in words:
            if not anchor.concepts & first.concepts or not self._fits(anchor, first, denying, clause.low):
                continue
            used, tongues, left = [anchor], anchor.tongues, words
            for need in needs[1:]:
                near = self._nearest(need, first, used, left, denying, tongues, clause.low)
                if near is None:
                    break
                used.append(near)
                tongues &= near.tongues
                if need.before:  # who is told stands before all the rest
                    left = [word for word in words if word.number > near.number]
            else:
                verb = tongues == _ENGLISH and anchor.concepts & first.concepts & _VERB
                if verb and not (first.negated or addressed):
                    led = order_mark(clause.low, anchor.start)
                    if not led or (led == "," and not clause.concepts & _LEADING):
                        continue
                if len(needs) > 1 and needs[1].before and not _is_told(clause.low, anchor, used[1]):
                    continue
                return min(word.start for word in used), max(word.end for word in used)
        return None

    def _fits(self, word: ClauseWord, need: _Need, denying: list[ClauseWord], low: str) -> bool:
        """Whether a word is negated where that is asked, and is not where it is not."""
        # How many words before and after it what denies it may stand.
        if not need.negated:
            before, after = -1 if self._dense else -2, 1
        elif self._dense:
            before, after = -2, 2
        elif word.tongues & _ENGLISH:
            before, after = (-3, 0) if word.concepts & _VERB else (-2, 1)
        else:
            before, after = -6, 4
        denied = any(
            other.tongues & word.tongues
            and not word.start <= other.start < word.end
            and before <= other.number - word.number <= after
            and not (need.negated and _PARTING.search(low, other.end, max(other.end, word.start)))
            for other in denying
        )
        return denied == need.negated

    def _nearest(
        self,
        need: _Need,
        first: _Need,
        used: list[ClauseWord],
        words: list[ClauseWord],
        denying: list[ClauseWord],
        tongues: int,
        low: str,
    ) -> ClauseWord | None:
        other, reach = (used[-1], _CLOSE) if need.close else (used[0], _SPAN)
        follows = (
            len(used) == 1
            and tongues == _ENGLISH
            and used[0].concepts & first.concepts & _GOVERN
            and not need.concepts & _ADDRESSEE
        )
        best, least = None, sys.maxsize
        for word in words:
            if word.concepts & need.concepts and word.tongues & tongues and word not in used:
                if need.before and word.number > used[0].number:
                    continue
                distance = word.number - other.last if word.number > other.number else other.number - word.last
                if follows and not (word.number > other.number and distance <= _NEAR):
                    continue
                if distance <= reach and distance < least:
                    best, least = word, distance
        if best is not None and need.negated and not self._fits(best, need, denying, low):
            return None
        return best


def _is_told(low: str, verb: ClauseWord, who: ClauseWord) -> bool:
    """Whether a verb tells the one who is named before it: by "should" or a colon; not "an agent, set that"."""
    led, last = order_mark(low, verb.start), low[max(0, verb.start - BEFORE) : verb.start].split()[-1:]
    near = led != "y" and verb.number - who.last <= _NEAR and {"and", *ABLE}.isdisjoint(last)
    is_named = led == ":" and ")" not in low[who.end : verb.start]  # not in `fix(ai): add`
    told = is_named or (led.isalpha() and (near or low.startswith(":", who.end)))
    return told or not verb.tongues & _ENGLISH
