"""Whether an answer made use of a passage that its writer was told: it names it, quotes it, or says what it says.

Only what the passage brings counts: words of the question, and words that several of the passages have, show nothing.
Everything is decided by form; no model is asked.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from memctl.annotations import NamedTuple

#: Characters of an answer, a prompt and a passage that are looked at.
MOST_CHARS = 40_000
#: A name, a number or a part of an identifier weighs so much; any other word 1, a pair of Chinese characters less.
_NAMED, _PAIR = 2.0, 0.5
#: What the words that passage and answer share must weigh, and the share of all that the passage brings.
_LEAST, _SHARE = 3.0, 0.42
#: Of a passage that brings little, nearly all of it.
_LEAST_BRIEF, _SHARE_BRIEF = 2.0, 0.8
#: With the file of the passage edited afterwards, less is enough.
_LEAST_EDITED, _SHARE_EDITED = 2.0, 0.3
#: So many words in a row that only the passage and the answer have are a quotation, with this weight at least.
_QUOTED, _QUOTED_WEIGHT = 4, 4.0
_HANDLE = re.compile(r"\[([0-9a-f]{6,12})\]|\b(MEM-[0-9a-f]{6,12})\b")
_WORD = re.compile(r"\w+")
_ID_PREFIX = "MEM-"
#: Units besides those by which statements are compared.
_UNITS = frozenset(
    ("ms", "ns", "us", "px", "pt", "kg", "km", "cm", "mm", "hz", "khz", "mhz", "ghz", "percent", "prozent", "pourcent")
)


class Told(NamedTuple):
    """A passage that a model was told; `source`: the file that it is from, or ""."""

    id: str
    text: str
    source: str = ""


def used_passages(
    told: Sequence[Told], answer: str, asked: Iterable[str], files: Sequence[str] = ()
) -> Mapping[str, str]:
    """Those of the passages that an answer used, by id, with how it shows: cited, quoted, or said (the same words).

    asked  the prompts before the answer: what they say is no sign that a passage was used
    files  paths that were edited
    """
    words = _in_order(answer)
    there = set(words)
    known = {word for prompt in asked for word in _in_order(prompt)}
    known.update(word for path in files for word in _in_order(path))  # that it was edited shows it already
    weights = {one.id: _weights(one, known) for one in told}
    having: dict[str, int] = {}
    for own in weights.values():
        for word in own:
            having[word] = having.get(word, 0) + 1
    cited = {named or _ID_PREFIX + handle for handle, named in _HANDLE.findall(answer[:MOST_CHARS])}
    names = {name for path in files if (name := path.replace("\\", "/").rpartition("/")[2])}
    out: dict[str, str] = {}
    for one in told:
        own = {word: weight / having[word] for word, weight in weights[one.id].items()}
        if any(one.id.startswith(each) for each in cited):
            out[one.id] = "cited"
        elif _quoted(one.text, words, own):
            out[one.id] = "quoted"
        elif _says(own, there, edited=_is_about(one, names)):
            out[one.id] = "said"
    return out


def _says(own: Mapping[str, float], there: set[str], *, edited: bool) -> bool:
    """Whether enough of what a passage brings stands in the answer."""
    shared = sum(weight for word, weight in own.items() if word in there)
    share = shared / (sum(own.values()) or 1.0)
    bounds = [(_LEAST, _SHARE), (_LEAST_BRIEF, _SHARE_BRIEF), *([(_LEAST_EDITED, _SHARE_EDITED)] if edited else [])]
    return any(shared >= least and share >= most for least, most in bounds)


def _quoted(text: str, words: Sequence[str], own: Mapping[str, float]) -> bool:
    """Whether a row of words of a passage stands in the answer as it is, and says what only the passage brings."""
    passage = _in_order(text)
    rows = {tuple(words[at : at + _QUOTED]) for at in range(len(words) - _QUOTED + 1)}
    found: set[str] = set()
    for at in range(len(passage) - _QUOTED + 1):
        row = tuple(passage[at : at + _QUOTED])
        if row in rows:
            found.update(row)
    return sum(own.get(word, 0.0) for word in found) >= _QUOTED_WEIGHT


def _is_about(one: Told, names: set[str]) -> bool:
    """Whether one of these files is the source of a passage, or is named in it."""
    source = one.source.replace("\\", "/").rpartition("/")[2]
    return source in names or any(name in one.text for name in names)


def _in_order(text: str) -> list[str]:
    """The words of a text that say something, stemmed; of scripts without blanks, pairs of characters."""
    from memctl.text.query import grams, is_paired, stem

    out: list[str] = []
    for word in _WORD.findall(text[:MOST_CHARS].casefold().replace("_", " ")):
        if is_paired(word):
            out += grams(word)
        elif not _is_silent(plain := _unaccented(word)):
            out.append(stem(plain))
    return out


def _unaccented(word: str) -> str:
    if word.isascii():
        return word
    from unicodedata import combining, normalize

    return "".join(char for char in normalize("NFD", word) if not combining(char))


def _is_silent(word: str) -> bool:
    """Whether a word says nothing about what a text is about; a unit says nothing without its number."""
    from memctl.text import claim_words as lists
    from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS

    some = (lists.SILENT, lists.NEGATION, lists.WEAK, lists.UNITS, _UNITS, EN_STOP_WORDS, FR_STOP_WORDS)
    return (len(word) == 1 and word.isalpha()) or any(word in each for each in some)


def _weights(one: Told, known: set[str]) -> dict[str, float]:
    """What a passage brings, and how much each of its words tells: names and numbers more than others."""
    from memctl.text.query import is_paired, unsegmented

    out: dict[str, float] = {}
    for piece in one.text[:MOST_CHARS].split():
        bare = piece.strip(".,;:!?\"'`()[]{}<>")
        inner = bare[1:]
        is_name = any(char.isdigit() or char in "_./:=@" for char in bare) or inner != inner.lower()
        for word in _in_order(bare):
            weight = _PAIR if is_paired(word) or unsegmented(word) else _NAMED if is_name else 1.0
            if word not in known:
                out[word] = max(weight, out.get(word, 0.0))
    return out
