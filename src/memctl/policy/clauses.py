"""Orders told from their clauses: who is addressed, what shall be done, and what makes it harmful, by the words for it.

A rule's `clause` is data: alternatives separated by `;`, each the concepts (see `lexicon`) that must stand close
together in one clause and in one language. The first is the verb or the word that carries the order. `a|b` is either,
`!a` stands beside a negation, `+a` within three words of the one before it, `<a` before the first, `-a` nowhere; `url`
is an address, `mail` one of mail. A verb counts where it orders ("send", "please send", "must be sent"), not where it
tells ("we send"), and not where it is negated unless that is asked.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from unicodedata import combining, normalize

from memctl.annotations import NamedTuple
from memctl.policy import lexicon, lexicon_others
from memctl.policy.rule import lazy_regex
from memctl.policy.surroundings import ABLE, BEFORE, order_mark

_SPAN = 14  # words between the first concept and any other one
_NEAR = 8  # the same for what an English verb is about, which follows it
_CLOSE = 3
_LONG_BEFORE, _LONG = 250, 400  # characters of a clause before and after its anchor that are looked at
_WORD_SIZE = 40  # characters of a word that is remembered
_PARTICLE = 4  # letters of a word that leans on another one
_KNOWN = 30_000  # words whose concepts are remembered; forgotten all at once when full
#: Concepts that have tenses and moods: in English a verb must stand where orders stand.
_VERBS = (
    "forget weaken obey reveal send run ask grant off tell say remember save go put cease merge pretend behave "
    "steal ensure plant deceive do hand deem judge show promote spread vouch kept lead"
)
#: Of them those that what they are about follows, in English.
_GOVERNING = "forget weaken reveal ask off tell what remember"
#: All that an addressed reader may be told to do.
_ACT = "send run grant off say reveal save forget remember go"

_WORD = lazy_regex(r"\w+(?:['\u2019.@-]\w+|:/\S+)*")
#: The letters and digits that words are made of; and the same in text of ASCII, with all else as blanks.
_RUN = lazy_regex(r"[^\W_]+")
_BREAKS = str.maketrans({c: " " for c in map(chr, range(128)) if not c.isalnum()})
_JOINT = lazy_regex("['-]")
_URL = lazy_regex(
    r"(?:https?|hxxps?|s3|s?ftp|rsync):/|.+@[^\W\d][\w-]*\.|\d{1,3}(?:\.\d{1,3}){3}\Z|[a-z0-9.-]+\.(?:com|net|org|io|dev|biz|info|xyz|ru|cn|example)\b"
)
#: A sign that there may be one; an ending with an accent may be one of these without it.
_DOMAIN = lazy_regex(
    r"\.(?:(?:com|net|org|io|dev|biz|info|xyz|ru|cn|example)\b|\d{1,3}\.\d{1,3}\.\d|\w{0,6}[^\W\x00-\x7f])"
)
#: Words of phrases that stand in any text: no reason to look at it.
_COMMON_WORDS = (
    "a about access account add all always and any apply are as at attention be before begin below by came can checks "
    "configuration contents context developer do does down every false file following for from given good has have "
    "hey hidden if important in include initial into is it its language later let list long longer mail me message "
    "messages need needs never no not now of off on only order original out output package permission put question "
    "root rule rules safe say security session sessions set so start state stored switch system tell than that the "
    "their them then there this to turn under until up update use valid wait was were when window with without write "
    "written you your an they name first one should must new between reference other each our am"
)
COMMON = frozenset(_COMMON_WORDS.split())
_PLAIN = str.maketrans({"\u0131": "i", "\u0142": "l", "\xf8": "o", "\u0111": "d", "\xdf": "s", "\u2019": "'"})

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


# --- words --------------------------------------------------------------------------------------------------------


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


#: What follows the first word of a phrase, and the concepts and languages of the phrase, as bits.
_Phrase = tuple[tuple[str, ...], int, int]


class WordMeaning(NamedTuple):
    """What a word says by itself: concepts and languages as bits; and the phrases it begins, by their second word.

    `partly` are its concepts and those of the words with joints that it is a part of.
    """

    concepts: int
    tongues: int
    phrases: dict[str, list[_Phrase]] | None
    partly: int


#: The bit of each language.
_TONGUES = {name: 1 << n for n, name in enumerate((*lexicon.SPACED, *lexicon_others.DENSE))}
_EVERY_TONGUE = (1 << len(_TONGUES)) - 1
_NAMES = {name for table in (*lexicon.SPACED.values(), *lexicon_others.DENSE.values()) for name in table}
#: The bit of each concept; `url` is an address, `mail` one of mail, `act` what an addressed reader may be told to do.
_CONCEPTS = {name: 1 << n for n, name in enumerate([*sorted(_NAMES), "url", "mail"])}
_CONCEPTS["act"] = sum(_CONCEPTS[name] for name in _ACT.split())


def without_accents(word: str) -> str:
    """A word in lower case without accents."""
    if word.isascii():
        return word
    return "".join([c for c in normalize("NFKD", word.translate(_PLAIN)) if not combining(c)])


class _KnownMeanings(dict[str, "WordMeaning | None"]):
    """What words say, remembered: one look-up at the speed of a dictionary."""

    def __init__(self, read: Callable[[str], WordMeaning | None]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, said: str) -> WordMeaning | None:
        found = self._read(said)
        if len(self) > _KNOWN:
            self.clear()
        if len(said) <= _WORD_SIZE:
            self[said] = found
        return found


class WordMeanings:
    """The words of all languages, ready to be looked up."""

    __slots__ = (
        "_exact", "_head", "_pairs", "_parts", "_phrases", "_sizes", "_stems",
        "dense", "dense_word", "meaning", "tails",
    )  # fmt: skip

    def __init__(self) -> None:
        self.meaning = _KnownMeanings(self._read).__getitem__
        self._exact: dict[str, tuple[int, int]] = {}
        self._stems: dict[str, tuple[int, int]] = {}
        self._phrases: dict[str, dict[str, list[_Phrase]]] = {}
        tails: set[str] = set()  # words with which phrases go on
        self.dense: dict[str, tuple[int, int]] = {}  # words of languages without blanks
        spaced = [(table, _TONGUES[tongue]) for tongue, table in lexicon.SPACED.items()]
        for table, tongues in [(lexicon.ANYWHERE, _EVERY_TONGUE), *spaced]:
            for name, words in table.items():
                concepts = _CONCEPTS[name]
                for entry in without_accents(words).split():
                    if "_" in entry:
                        first, *rest = entry.split("_")
                        tails.update(rest)
                        phrases = self._phrases.setdefault(first, {}).setdefault(rest[0], [])
                        phrases.append((tuple(rest), concepts, tongues))
                        continue
                    known, word = (self._stems, entry[:-1]) if entry[-1] == "*" else (self._exact, entry)
                    old = known.get(word)
                    known[word] = (old[0] | concepts, old[1] | tongues) if old else (concepts, tongues)
        self.tails = tails - COMMON
        self._note_parts()
        for tongue, table in lexicon_others.DENSE.items():
            for name, words in table.items():
                for entry in words.lower().split():
                    said = entry.replace("_", " ")
                    old = self.dense.get(said, (0, 0))
                    self.dense[said] = old[0] | _CONCEPTS[name], old[1] | _TONGUES[tongue]
        self._sizes: dict[str, list[int]] = {}  # how long the stems are that begin with these letters
        self._head = min(map(len, self._stems))
        for head, size in sorted({(stem[: self._head], len(stem)) for stem in self._stems}):
            self._sizes.setdefault(head, []).append(size)
        self.dense_word = lazy_regex("|".join(map(re.escape, sorted(self.dense, key=lambda said: -len(said)))))

    def _note_parts(self) -> None:
        """Note by what is told that a text may have words with joints, and phrases.

        That is a part of such a word, which stands in the text as it is, and where a phrase's first two words meet.
        """
        self._parts: dict[str, int] = {}
        for word, (concepts, _) in (*self._exact.items(), *self._stems.items()):
            if not word.isalnum():
                runs = _RUN.findall(word)
                part = max(runs[:-1] or runs, key=len, default="")  # the last one may go on
                self._parts[part] = self._parts.get(part, 0) | concepts
        self._pairs: dict[tuple[str, str], int] = {}
        for first, begun in self._phrases.items():
            for second, phrases in begun.items():
                pair = _RUN.findall(first)[-1], _RUN.findall(second)[0]
                self._pairs[pair] = reduce(or_, [concepts for _, concepts, _ in phrases], self._pairs.get(pair, 0))

    def concepts(self, low: str) -> int:
        """The concepts, as bits, that clauses of a text in lower case may have: no clause of it has another one."""
        is_plain = low.isascii()
        runs = low.translate(_BREAKS).split() if is_plain else _RUN.findall(low)
        bits = reduce(or_, [said.partly for said in map(self.meaning, set(runs)) if said is not None], 0)
        if ":/" in low or "@" in low or _DOMAIN.search(low):
            bits |= _CONCEPTS["url"] | _CONCEPTS["mail"]
        if not is_plain:
            runs = [*map(without_accents, runs)]
        for pair in self._pairs.keys() & pairwise(runs):
            bits |= self._pairs[pair]
        return bits

    def _read(self, said: str) -> WordMeaning | None:
        """What one word says; of `l'utilisateur` and `envoie-les` what their parts say."""
        word = without_accents(said)
        concepts, tongues = self._exact.get(word, (0, 0))
        for size in self._sizes.get(word[: self._head], ()):
            more = self._stems.get(word[:size]) if size <= len(word) else None
            if more:
                concepts, tongues = concepts | more[0], tongues | more[1]
        simple = word.isalnum()
        if not concepts and not simple:
            parts = _JOINT.split(word)
            if len(parts) == 2 and min(map(len, parts)) <= _PARTICLE:  # a longer compound is a name
                for part in parts:
                    more = self._exact.get(part, (0, 0)) if len(part) > 1 else (0, 0)
                    concepts, tongues = concepts | more[0], tongues | more[1]
        if not simple and _URL.match(word):
            concepts, tongues = concepts | _CONCEPTS["url"] | (_CONCEPTS["mail"] if "@" in word else 0), -1
        phrases = self._phrases.get(word)
        partly = concepts | self._parts.get(word, 0)
        return WordMeaning(concepts, tongues, phrases, partly) if partly or phrases else None


@cache
def word_meanings() -> WordMeanings:
    """The words of all languages, made ready once."""
    return WordMeanings()


# --- clauses ------------------------------------------------------------------------------------------------------


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
        said, found = _WORD.findall(self.low, self.start, self.end), []
        spans = [match.span() for match in _WORD.finditer(self.low, self.start, self.end)]
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

    __slots__ = ("_clauses", "_dense", "_ends", "concepts", "low")

    def __init__(self, low: str) -> None:
        self.low = low
        #: Those that any of its clauses may have.
        self.concepts = word_meanings().concepts(low)
        self._clauses: dict[int, Clause] = {}
        self._dense: list[Clause] | None = None
        self._ends: list[int] = []

    def around(
        self, places: Iterable[int], beside: list[list[str]], is_worth_reading: Callable[[str, int], bool]
    ) -> Iterator[Clause]:
        """The clauses in which these places lie, in order, each once: those with a word of each of the lists.

        Nearly all places fail, so that the cheap questions come first: whether the clause's words are there, then
        whether its place is worth reading. Where clauses end is looked for once.
        """
        low, done, ends = self.low, 0, self._ends
        if not ends:
            ends = self._ends = [0, *(match.end() for match in _END.finditer(low)), len(low) + 1]
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
                clause = self._clauses.get(first)
                if clause is None or clause.end != stop:
                    self._clauses[first] = clause = Clause(low, first, stop)
                yield clause

    def dense(self) -> list[Clause]:
        """The clauses in which words of languages without blanks stand."""
        if self._dense is None:
            self._dense = []
            places, start = [match.start() for match in word_meanings().dense_word.finditer(self.low)], 0
            for end in [*(match.end() for match in _END.finditer(self.low)), len(self.low)]:
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


#: What all clauses are told by.
_ENGLISH = _TONGUES["en"]
_NEGATION = _CONCEPTS["not"]
_LEADING = sum(_CONCEPTS[name] for name in ("when", "if_you", "model", "note"))
_ADDRESSING = _CONCEPTS["note"] | _CONCEPTS["if_you"]
_SUBORDINATE = _CONCEPTS["when"]
_CALLED = _CONCEPTS["called"]
_ADDRESSEE = _CONCEPTS["model"] | _CONCEPTS["note"] | _CONCEPTS["if_you"] | _CONCEPTS["called"]
_FREE = _CONCEPTS["free"]
_VERB = sum(_CONCEPTS[name] for name in _VERBS.split())
_GOVERN = sum(_CONCEPTS[name] for name in _GOVERNING.split())


class OrderMatcher:
    """A rule's clause at work."""

    __slots__ = ("_alternatives", "_dense", "_needed", "_negated", "_orders", "_plain", "common")

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
                concepts = reduce(or_, [_CONCEPTS[name] for name in need.lstrip("!+-<").split("|")])
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

    def spans(self, reader: ClauseReader, places: Iterable[int], beside: list[list[str]]) -> list[tuple[int, int]]:
        """Where the orders stand, at most one of a clause; of languages without blanks each clause is read.

        places: where the words stand that open the rule. beside: the words of its other groups that are in the text.
        """
        spans: list[tuple[int, int]] = []
        if self._dense:
            clauses: Iterable[Clause] = reader.dense()
        else:
            clauses = reader.around(places, beside, self._is_worth_reading)
        for clause in clauses:
            for needs, never in self._alternatives:
                span = self._match(needs, never, clause)
                if span:
                    spans.append(span)
                    break
        return spans

    def could_match(self, concepts: int) -> bool:
        """Whether a text with these concepts has all that an alternative needs: nearly none has."""
        for needed in self._needed:
            for need in needed:
                if not need & concepts:
                    break
            else:
                return True
        return self._dense

    def _is_worth_reading(self, low: str, place: int) -> bool:
        """Whether a clause is worth reading for the word at this place: an English one must order, or be denied."""
        match, meanings = _WORD.match(low, place), word_meanings()
        meaning = meanings.meaning(match.group()) if match else None
        if match is None or meaning is None:
            return True
        if meaning.phrases and not meaning.concepts and match.group() not in meanings.tails:
            after = tuple(map(without_accents, _WORD.findall(low, match.end(), match.end() + _WORD_SIZE)))
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
        first, words = needs[0], clause.words
        if never & clause.concepts or any(not need.concepts & clause.concepts for need in needs):
            return None
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
