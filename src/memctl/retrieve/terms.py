"""From a query to what the index is asked: each word with its other forms, the pieces of identifiers, pairs."""

from collections.abc import Mapping
from itertools import pairwise

from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.text.languages import EN_LIGHT, FR_LIGHT, french_stem, irregular, semitic
from memctl.text.query import Query, stem

#: What a match counts beside the word itself: an irregular form or other prefix, the beginning of a French word.
IRREGULAR = 0.7
BEGINNING = 0.5
#: What a piece of an identifier and two words written as one ("auth service": AuthService) count beside a word.
PART = 0.7
#: What a word counts that fits any subject ("make", "several", "given").
LIGHT = 0.5
#: French words of this length are also found by their beginning; in an index without a stemmer, all are.
FRENCH_MIN_LEN = 6
PREFIX_MIN_LEN = 5

LIGATURES = (("œ", "oe"), ("æ", "ae"), ("ß", "ss"))

#: A word that so many items have does not find items: it only counts in those that rarer words found.
COMMON = 5000

Forms = list[tuple[str, float]]


class Term:
    """Something to look for.

    word    as typed, or a guess at what was meant
    root    what stands for it inside a text: lower case, without a common ending
    weight  what it counts beside a whole word of the query
    whole   whether it is a word of the query, not a piece of one or a pair
    pair    whether it is two words of the query written as one
    forms   FTS5 expressions that find it, with what each counts
    counts  how many rows of the index each of these matches (COMMON: that many or more)
    rows    how strongly each item holds it, by rowid; empty before it was looked up
    """

    __slots__ = ("counts", "forms", "pair", "root", "rows", "weight", "whole", "word")

    def __init__(
        self, word: str, forms: Forms, weight: float = 1.0, *, whole: bool = False, pair: bool = False
    ) -> None:
        self.word, self.forms, self.weight, self.whole, self.pair = word, forms, weight, whole, pair
        self.root = stem(word)
        self.counts: list[int] = []
        self.rows: Mapping[int, float] = {}

    def count(self, db: Database) -> int:
        """How many items have it, about; COMMON for that many or more."""
        self.counts = [index.count_matches(db, expression, COMMON) for expression, _ in self.forms]
        return self.found

    @property
    def found(self) -> int:
        """What `count` found."""
        return min(COMMON, sum(self.counts))

    def look_up(self, db: Database, filters: Filters, size: int) -> None:
        """Find out which items have it, and how strongly; the strongest of its forms counts."""
        for (expression, worth), count in zip(self.forms, self.counts, strict=True):
            if not count:
                continue
            matching = index.count_matches(db, expression, size) if count >= COMMON else count
            found = index.match_strengths(db, expression, filters, size, matching)
            if filters.scopes is not None and index.has_other_scopes(db, filters.scopes):
                found = index.strengths_in_scopes(db, found, filters.scopes)
            if not self.rows and worth == 1.0:
                self.rows = found
                continue
            rows = dict(self.rows)
            for row, strength in found.items():
                rows[row] = max(rows.get(row, 0.0), worth * strength)
            self.rows = rows


def terms_of(query: Query, *, stems: bool) -> list[Term]:
    """What to look for; `stems`: whether the index stems words."""
    words = {stem(word): word for word in reversed(query.terms)}  # of two forms of a word the first is asked for
    light = FR_LIGHT if query.french else EN_LIGHT
    out = [
        Term(word, _forms(word, query, stems), LIGHT if word.lower() in light else 1.0, whole=True)
        for word in reversed(words.values())
    ]
    out += [Term(part, _forms(part, query, stems), PART) for part in query.parts]
    plain = [word for word in query.terms if word.isalnum()]
    return out + [Term(a + b, [(index.quote_phrase(a + b), 1.0)], PART, pair=True) for a, b in pairwise(plain)]


def _forms(word: str, query: Query, stems: bool) -> Forms:
    forms = [(index.quote_phrase(word), 1.0)]
    if not stems:
        if len(word) >= PREFIX_MIN_LEN and index.is_long_enough_prefix(stem(word)):
            forms = [(beginning(stem(word)), 1.0)]
        elif len(word) == PREFIX_MIN_LEN - 1 and word[-1] in "sS":  # JWTs
            forms.append((index.quote_phrase(word[:-1]), 1.0))
    elif query.french and len(word) >= FRENCH_MIN_LEN and word.isalpha():
        forms.append((beginning(french_stem(word)), BEGINNING))
    low = word.lower()
    for one, two in LIGATURES:  # to the index it is a letter of its own
        if one in low:
            forms.append((index.quote_phrase(low.replace(one, two)), 1.0))
        elif two in low:
            forms.append((index.quote_phrase(low.replace(two, one)), 1.0))
    forms += [(index.quote_phrase(other), IRREGULAR) for other in semitic(word)]
    if not query.french:
        forms += [(index.quote_phrase(other), IRREGULAR) for other in irregular(word)]
    return forms


def beginning(word: str) -> str:
    """The FTS5 expression for words that begin like this."""
    return index.quote_phrase(word) + "*"
