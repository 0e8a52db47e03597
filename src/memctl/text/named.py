"""What many texts name, at the cost of their words: each word is looked at once, however many texts have it.

Named are paths, addresses, identifiers of code, versions, commits, CVE ids, days (as 2026-11-20) and names.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import get_args

from memctl.annotations import Literal
from memctl.text import claim_words
from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS, is_identifier
from memctl.text.references import find_named
from memctl.text.similarity import KEPT_PIECES

EntityKind = Literal["identifier", "path", "url", "version", "commit", "cve", "date", "name"]
KINDS: tuple[EntityKind, ...] = get_args(EntityKind)
#: A thing that a text names: of which kind, and its name.
Named = tuple[EntityKind, str]

#: Characters of a text that are looked at, and of a name that is kept.
LOOKED_AT, NAME_CHARS = 4000, 200
#: Only a word with one of these can name anything by itself.
_SIGN = re.compile(r"[\d/_`@]|\w[.:]\w|\(\)|[a-z][A-Z]")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_]\w*)*")
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
#: References that are of another kind here.
_KIND_OF = {"symbol": "identifier", "host": "url"}
#: What surrounds a word and is none of it.
_AROUND = ".,;:!?()[]{}<>\"'«»“”„*"
#: A number that its neighbours make a version, a day or a commit.
_OPEN = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,2}|(?:1[89]|20)\d\d|(?=\D*\d)[0-9a-f]{7,39}")
_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_NEXT = rf"[ -](?:{_CAPITAL}[a-zß-ÿ]{{1,30}}|{_CAPITAL}{{2,10}})\b(?![\w/.]\w|…)"
# Each part begins with a capital, so that the search skips all else.
_NAMES = re.compile(
    rf"{_CAPITAL}(?<!\w.)(?:[a-zß-ÿ]{{1,30}}|{_CAPITAL}{{1,9}})(?:{_NEXT}){{1,3}}"
    rf"|{_CAPITAL}(?<=[a-zß-ÿ,;] .)[a-zß-ÿ]{{2,30}}\b(?![\w/._(:]\w| \d|…)"
)
_WORDS = re.compile(r"[^\W\d_]+")
#: Words that begin sentences, and belong to no name.
_NO_NAME = (
    EN_STOP_WORDS | FR_STOP_WORDS | claim_words.SILENT | claim_words.GERMAN | claim_words.NEGATION
    | claim_words.MONTHS.keys() | claim_words.DAYS.keys() | {f"{day}s" for day in claim_words.DAYS}
    | claim_words.NUMBERS.keys() | claim_words.PAST
)  # fmt: skip


class NamedThings(dict[str, tuple[tuple[str, str], ...]]):
    """What words name by themselves; `of` says what a text names."""

    def of(self, text: str) -> list[Named]:
        """What a text names, each once, in its order; names of persons, places and products last."""
        text = text[:LOOKED_AT]
        return self.in_words(text.split(), text)

    def in_words(self, words: Sequence[str], text: str) -> list[Named]:
        """What a text of these words names."""
        if len(self) > KEPT_PIECES:
            self.clear()
        held = list(map(self.__getitem__, words))
        out: dict[Named, None] = {}
        for at, found_here in enumerate(held) if any(held) else ():
            for kind, name in found_here:
                if kind != "open":
                    out[kind, name] = None  # type: ignore[index]
                elif found := _with_neighbours(words, at, name):
                    out[found] = None
        if _NAMES.search(text):
            out.update(dict.fromkeys(("name", name) for name in _names(text)))
        return list(out)

    def __missing__(self, word: str) -> tuple[tuple[str, str], ...]:
        found = self[word] = tuple(_by_itself(word)) if _SIGN.search(word) else ()
        return found


def _by_itself(word: str) -> Iterator[tuple[str, str]]:
    """What one word names; `open` is what depends on the words before it."""
    if word.endswith("…"):  # it was cut
        return
    bare = word.strip(_AROUND)
    if day := _DAY_FIRST.fullmatch(bare):
        yield from _day(int(day[3]), int(day[2]), int(day[1]))
        return
    if _OPEN.fullmatch(bare):
        yield "open", bare
        return
    if bare.isdecimal():
        return
    named = False
    for one in find_named(word):
        named = True
        yield _KIND_OF.get(one.kind, one.kind), one.target[:NAME_CHARS]
    if not named and _IDENTIFIER.fullmatch(bare) and is_identifier(bare.replace(".", "")) and not bare.isupper():
        yield "identifier", bare.replace("::", ".")[:NAME_CHARS]
    elif not named and "_" in bare and bare.isupper() and _IDENTIFIER.fullmatch(bare):
        yield "identifier", bare[:NAME_CHARS]


def _with_neighbours(words: Sequence[str], at: int, number: str) -> Named | None:
    """What a number is behind its neighbours: `Python 3.11`, `commit 1f0c9a3`, `20 November 2026`, `May 20, 2026`."""
    before = words[at - 1].strip(_AROUND) if at else ""
    if "." in number:
        product = before[:1].isupper() and before.lower() not in _NO_NAME and not words[at - 1].endswith((".", ":"))
        if product or number.count(".") > 1:
            return "version", f"{before} {number}"[:NAME_CHARS] if product else number
        return None
    if len(number) > 4:
        return ("commit", number) if before.lower() in ("commit", "revision") else None
    earlier = words[at - 2].strip(_AROUND) if at > 1 else ""
    month, day = (before, earlier) if before and not before[0].isdigit() else (earlier, before)
    digits = re.match(r"(\d{1,2})(?:st|nd|rd|th|er)?\Z", day)
    known = claim_words.MONTHS.get(_fold(month))
    if digits and known:
        return next(iter(_day(int(number), known, int(digits[1]))), None)
    return None


def _day(year: int, month: int, day: int) -> Iterator[Named]:
    from datetime import date

    try:
        yield "date", date(year, month, day).isoformat()
    except ValueError:
        return


def _names(text: str) -> Iterator[str]:
    """Names of several words; of one word where it stands within a sentence that is not German, whose nouns all do."""
    german: bool | None = None
    for match in _NAMES.finditer(text):
        words = match[0].split(" ")
        while words and _fold(words[0]) in _NO_NAME:
            words = words[1:]
        while words and _fold(words[-1]) in _NO_NAME:
            words = words[:-1]
        if len(words) == 1 and "-" not in words[0]:
            if german is None:
                german = not claim_words.GERMAN.isdisjoint(_WORDS.findall(text.lower()))
            if german or match[0] != words[0]:
                continue
        if words:
            yield " ".join(words)


def _fold(word: str) -> str:
    lower = word.lower()
    if lower.isascii():
        return lower
    return "".join(c for c in unicodedata.normalize("NFD", lower) if not unicodedata.combining(c))
