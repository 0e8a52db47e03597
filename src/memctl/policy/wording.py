"""The words of `lexicon` at work: what each word of a clause means, and by which words the gate opens a rule."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple
from unicodedata import combining, normalize

from memctl.policy import lexicon

_WORD_SIZE = 40  # characters of a word that is remembered
_PARTICLE = 4  # letters of a word that leans on another one
_KNOWN = 30_000  # words whose concepts are remembered; forgotten all at once when full
#: All that an addressed reader may be told to do.
_ACT = "send run grant off say reveal save forget remember"
_WORD = re.compile(r"\w+(?:['\u2019.@-]\w+|:/\S+)*")
_JOINT = re.compile("['-]")
_URL = re.compile(r"(?:https?|hxxps?):/|.+@|[a-z0-9.-]+\.(?:com|net|org|io|dev|biz|info|xyz|ru|cn|example)\b")
#: Words of phrases that stand in any text: no reason to look at it.
_COMMON = frozenset(
    (
        "a", "about", "access", "account", "rule", "rules", "fact", "session", "sessions", "hidden", "output",
        "security", "checks", "permission", "all", "always", "and", "any", "apply", "are", "as", "at", "attention",
        "be", "before", "begin", "below", "by", "came", "can", "configuration", "context", "developer", "do", "does",
        "down", "every",
        "false", "following", "for", "from", "given", "good", "has", "have", "hey", "if", "important", "in",
        "initial", "is", "it", "language", "later", "let", "list", "long", "longer", "mail", "me", "message",
        "messages", "need", "needs", "never", "no", "not", "now", "of", "off", "on", "only", "order", "original",
        "out", "package", "put", "question", "root", "safe", "say", "set", "so", "start", "state", "stored", "switch",
        "system", "tell", "than", "that", "the", "them", "then", "there", "this", "to", "turn", "under", "until",
        "update", "up", "use", "valid", "wait", "was", "were", "when", "window", "with", "without", "write",
        "written", "you", "your",
    )
)  # fmt: skip
_PLAIN = str.maketrans({"\u0131": "i", "\u0142": "l", "\xf8": "o", "\u0111": "d", "\xdf": "s", "\u2019": "'"})


class Word(NamedTuple):
    """A word or phrase that means something.

    Its concepts and languages as bits, the numbers of its first and last word in the clause, and where it stands.
    """

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
    """What a word says by itself: concepts and languages as bits; and the phrases it begins, by their second word."""

    concepts: int
    tongues: int
    phrases: dict[str, list[_Phrase]] | None


class Bits(NamedTuple):
    """Which bit stands for which concept, and for which language."""

    concepts: dict[str, int]
    tongues: dict[str, int]


@cache
def names() -> Bits:
    """The bits of all concepts and languages."""
    known = sorted({name for words in (*lexicon.SPACED.values(), *lexicon.DENSE.values()) for name in words})
    tongues = (*lexicon.SPACED, *lexicon.DENSE)
    concepts = {name: 1 << n for n, name in enumerate([*known, "url"])}
    concepts["act"] = sum(concepts[name] for name in _ACT.split())
    return Bits(concepts, {name: 1 << n for n, name in enumerate(tongues)})


def folded(word: str) -> str:
    """A word in lower case without accents."""
    if word.isascii():
        return word
    return "".join(c for c in normalize("NFKD", word.translate(_PLAIN)) if not combining(c))


def keywords(concepts: Iterable[str], *, dense: bool = False, rare: bool = True) -> str:
    """What opens a rule that needs one of these concepts: a word of each entry, as the gate cuts and knows words.

    rare: leave out phrases that are made of words which stand in any text; of `concept-` such words, too. `=word` is a
    word.
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
                part = max(
                    (
                        part
                        for part in parts
                        if part not in _COMMON or not (rare or seldom) or (len(parts) == 1 and not seldom)
                    ),
                    key=len,
                    default="",
                )
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


class Lexicon:
    """The words of all languages, ready to be looked up."""

    __slots__ = ("_dense", "_exact", "_head", "_known", "_phrases", "_said", "_sizes", "_stems", "_tails")

    def __init__(self) -> None:
        bits = names()
        self._exact: dict[str, tuple[int, int]] = {}
        self._stems: dict[str, tuple[int, int]] = {}
        self._phrases: dict[str, dict[str, list[_Phrase]]] = {}
        self._tails: set[str] = set()  # words with which phrases go on
        self._said: dict[str, tuple[int, int]] = {}
        self._known: dict[str, _Meaning | None] = {}
        everywhere = (1 << len(bits.tongues)) - 1
        for name, words in lexicon.ANYWHERE.items():
            self._enter(words, bits.concepts[name], everywhere)
        for tongue, table in lexicon.SPACED.items():
            for name, words in table.items():
                self._enter(words, bits.concepts[name], bits.tongues[tongue])
        for tongue, table in lexicon.DENSE.items():
            for name, words in table.items():
                for entry in words.lower().split():
                    self._add(self._said, entry.replace("_", " "), bits.concepts[name], bits.tongues[tongue])
        self._sizes: dict[str, list[int]] = {}  # how long the stems are that begin with these letters
        self._head = min(map(len, self._stems))
        for head, size in sorted({(stem[: self._head], len(stem)) for stem in self._stems}):
            self._sizes.setdefault(head, []).append(size)
        self._dense = re.compile("|".join(map(re.escape, sorted(self._said, key=lambda said: -len(said)))))

    @staticmethod
    def _add(table: dict[str, tuple[int, int]], word: str, concepts: int, tongues: int) -> None:
        old = table.get(word, (0, 0))
        table[word] = old[0] | concepts, old[1] | tongues

    def _enter(self, words: str, concepts: int, tongues: int) -> None:
        for entry in words.split():
            first, *rest = [folded(part) for part in entry.split("_")]
            if rest:
                self._tails.update(part for part in rest if part not in _COMMON)
                self._phrases.setdefault(first, {}).setdefault(rest[0], []).append(
                    _Phrase(tuple(rest), concepts, tongues)
                )
            elif first.endswith("*"):
                self._add(self._stems, first[:-1], concepts, tongues)
            else:
                self._add(self._exact, first, concepts, tongues)

    def _meaning(self, said: str) -> _Meaning | None:
        """What one word says; of `l'utilisateur` and `envoie-les` what their parts say."""
        word = folded(said)
        concepts, tongues = self._exact.get(word, (0, 0))
        for size in self._sizes.get(word[: self._head], ()):
            more = self._stems.get(word[:size]) if size <= len(word) else None
            if more:
                concepts, tongues = concepts | more[0], tongues | more[1]
        simple = word.isalnum()
        if not concepts and not simple:
            for part in _parts(word):
                more = self._exact.get(part, (0, 0)) if len(part) > 1 else (0, 0)
                concepts, tongues = concepts | more[0], tongues | more[1]
        if not simple and _URL.match(word):
            concepts, tongues = concepts | names().concepts["url"], -1
        phrases = self._phrases.get(word)
        found = _Meaning(concepts, tongues, phrases) if concepts or phrases else None
        if len(self._known) > _KNOWN:
            self._known.clear()
        if len(said) <= _WORD_SIZE:
            self._known[said] = found
        return found

    def words(self, text: str, start: int, end: int, *, dense: bool) -> list[Word]:
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
                found.append(Word(concepts, tongues, number, last, spans[number][0], spans[last][1]))
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
        if meaning.phrases and not meaning.concepts and word not in self._tails:
            after = tuple(map(folded, _WORD.findall(text, match.end(), match.end() + _WORD_SIZE)))
            begun = meaning.phrases.get(after[0], ()) if after else ()
            if not any(after[: len(phrase.rest)] == phrase.rest for phrase in begun):
                return -1, 0
        return meaning.concepts, meaning.tongues

    def said(self, text: str) -> list[int]:
        """Where in a text words of languages without blanks stand, in order."""
        return [match.start() for match in self._dense.finditer(text)]

    def _dense_words(self, text: str, start: int, end: int, spans: list[tuple[int, int]]) -> Iterator[Word]:
        """The words of languages without blanks; each counts as one more word of the clause."""
        starts = [lo for lo, _ in spans]
        for count, match in enumerate(self._dense.finditer(text, start, end)):
            concepts, tongues = self._said[match.group()]
            number = bisect_right(starts, match.start()) + count
            yield Word(concepts, tongues, number, number, *match.span())


def _parts(word: str) -> list[str]:
    """The words in `l'utilisateur`, `envoie-les` and `ki-agenten`; a longer compound is a name."""
    parts = _JOINT.split(word)
    return parts if len(parts) == 2 and min(map(len, parts)) <= _PARTICLE else []


@cache
def known_words() -> Lexicon:
    """The words of all languages, made ready once."""
    return Lexicon()
