"""What words mean: concepts and languages by look-up, and which of them a text may have.

`lexicon` has the words. A concept and a language are each one bit of a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from unicodedata import combining, normalize

from memctl.annotations import NamedTuple
from memctl.policy import lexicon, lexicon_others
from memctl.policy.rule import lazy_regex

WORD_SIZE = 40  # characters of a word that is remembered
_PARTICLE = 4  # letters of a word that leans on another one
_KNOWN = 30_000  # words whose concepts are remembered; forgotten all at once when full
#: All that an addressed reader may be told to do.
_ACT = "send run grant off say reveal save forget remember go"

#: The letters and digits that words are made of.
_RUN = lazy_regex(r"[^\W_]+")
_BREAKS = bytes(c if chr(c).isalnum() and c < 128 else 32 for c in range(256))
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
TONGUES = {name: 1 << n for n, name in enumerate((*lexicon.SPACED, *lexicon_others.DENSE))}
_EVERY_TONGUE = (1 << len(TONGUES)) - 1
_NAMES = {name for table in (*lexicon.SPACED.values(), *lexicon_others.DENSE.values()) for name in table}
#: The bit of each concept; `url` is an address, `mail` one of mail, `act` what an addressed reader may be told to do.
CONCEPTS = {name: 1 << n for n, name in enumerate([*sorted(_NAMES), "url", "mail"])}
CONCEPTS["act"] = sum(CONCEPTS[name] for name in _ACT.split())


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
        if len(said) <= WORD_SIZE:
            self[said] = found
        return found


class _KnownRuns(dict[bytes, int]):
    """The concepts that runs of letters and digits may bring, remembered.

    Those that bring none drop out of a text by one set difference.
    """

    def __init__(self, read: Callable[[str], WordMeaning | None]) -> None:
        super().__init__()
        self._read = read
        self.silent: set[bytes] = set()

    def __missing__(self, run: bytes) -> int:
        said = self._read(run.decode("utf-8", "surrogatepass"))
        if len(self) + len(self.silent) > _KNOWN:
            self.clear()
            self.silent.clear()
        if said and said.partly:
            self[run] = said.partly
            return said.partly
        if len(run) <= WORD_SIZE:
            self.silent.add(run)
        return 0


class WordMeanings:
    """The words of all languages, ready to be looked up."""

    __slots__ = (
        "_exact", "_head", "_pairs", "_parts", "_phrases", "_runs", "_sizes", "_stems",
        "dense", "dense_word", "meaning", "tails",
    )  # fmt: skip

    def __init__(self) -> None:
        self.meaning = _KnownMeanings(self._read).__getitem__
        self._exact: dict[str, tuple[int, int]] = {}
        self._stems: dict[str, tuple[int, int]] = {}
        self._phrases: dict[str, dict[str, list[_Phrase]]] = {}
        tails: set[str] = set()  # words with which phrases go on
        self.dense: dict[str, tuple[int, int]] = {}  # words of languages without blanks
        spaced = [(table, TONGUES[tongue]) for tongue, table in lexicon.SPACED.items()]
        for table, tongues in [(lexicon.ANYWHERE, _EVERY_TONGUE), *spaced]:
            for name, words in table.items():
                concepts = CONCEPTS[name]
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
                    self.dense[said] = old[0] | CONCEPTS[name], old[1] | TONGUES[tongue]
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
        self._pairs: dict[tuple[bytes, bytes], int] = {}
        for first, begun in self._phrases.items():
            for second, phrases in begun.items():
                pair = _RUN.findall(first)[-1].encode(), _RUN.findall(second)[0].encode()
                self._pairs[pair] = reduce(or_, [concepts for _, concepts, _ in phrases], self._pairs.get(pair, 0))
        self._runs = _KnownRuns(self._read)

    def concepts_of_words(self, low: str, runs: list[bytes]) -> int:
        """The concepts, as bits, that clauses of a text in lower case may have by single words, which are `runs`."""
        known = self._runs
        bits = reduce(or_, map(known.__getitem__, set(runs) - known.silent), 0)
        if ":/" in low or "@" in low or _DOMAIN.search(low):
            bits |= CONCEPTS["url"] | CONCEPTS["mail"]
        return bits

    def concepts_of_phrases(self, runs: list[bytes]) -> int:
        """The same by phrases: their first two words stand beside each other."""
        return reduce(or_, [self._pairs[pair] for pair in self._pairs.keys() & pairwise(runs)], 0)

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
            concepts, tongues = concepts | CONCEPTS["url"] | (CONCEPTS["mail"] if "@" in word else 0), -1
        phrases = self._phrases.get(word)
        partly = concepts | self._parts.get(word, 0)
        return WordMeaning(concepts, tongues, phrases, partly) if partly or phrases else None


def runs_of(low: str) -> list[bytes]:
    """The runs of letters and digits of a text in lower case, without accents: as its words are looked up."""
    if low.isascii():
        return low.encode().translate(_BREAKS).split()
    words = [word if word.isascii() else without_accents(word) for word in _RUN.findall(low)]
    return " ".join(words).encode("utf-8", "surrogatepass").split()


@cache
def word_meanings() -> WordMeanings:
    """The words of all languages, made ready once."""
    return WordMeanings()
