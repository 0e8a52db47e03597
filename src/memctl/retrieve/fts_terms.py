"""From a question to terms: what the index is asked for, as FTS5 expressions, and what each counts.

A question's words are looked for with their other forms, pieces of identifiers and pairs. What a word that the index
does not know may have meant is guessed: the beginning of words, a slip, a piece of words.
"""

from collections.abc import Mapping
from itertools import pairwise

from memctl.annotations import TYPE_CHECKING
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.text.clean import union
from memctl.text.query import Query, grams, is_paired, light_words, other_forms, stem

if TYPE_CHECKING:
    from memctl.retrieve.candidates import SearchResult

#: What a match counts beside the word itself: an irregular form or other prefix, the beginning of a word in a language
#: that the stemmer does not know.
IRREGULAR = 0.7
BEGINNING = 0.5
#: What a piece of an identifier and two words written as one ("auth service": AuthService) count beside a word.
PART = 0.7
#: What a word counts that fits any subject ("make", "several", "given").
LIGHT = 0.5
#: Words of this length in a language that the stemmer does not know are also found by their beginning; in an index
#: without a stemmer, all are.
INFLECTED_MIN_LEN = 6
PREFIX_MIN_LEN = 5

#: Letters that are written as two, or as another one, as well; of a word with more of them, only MANY are written
#: otherwise one by one.
MANY = 3
LIGATURES = (("œ", "oe"), ("æ", "ae"), ("ß", "ss"), ("\u0451", "\u0435"))

#: A word that this many items have does not find items: it only counts in those that rarer words found.
COMMON = 5000

#: What a guess at an unknown word counts beside the word itself.
GUESSED_BEGINNING = 0.8
SLIP = 0.7
PIECE = 0.5
#: A word of fewer letters is no slip of another one; one of LONG letters may have two slips.
SLIP_MIN_LEN = 4
LONG = 9
#: The stem that the index keeps has at least STEM letters, and the ending it cut off at most ENDING.
STEM = 5
ENDING = 4
#: A stem with one of these is a word that has this stem.
ENDINGS = ("ment", "s", "e", "ation", "er", "y", "ity", "able", "al")
#: How many words are taken for what was meant, at most.
MEANT = 5
#: The pieces of words are looked for in stores of at most this many items.
SMALL = 50_000

Forms = list[tuple[str, float]]


class Term:
    """Something to look for.

    word    as typed, or a guess at what was meant
    root    what stands for it inside a text: lower case, without a common ending
    weight  what it counts beside a whole word of the query
    whole   whether it is a word of the query, not a piece of one or a pair
    pair    whether it is two words of the query written as one
    guessed whether no item has it, and its forms are what it may have meant
    forms   FTS5 expressions that find it, with what each counts
    counts  how many rows of the index each of these matches (COMMON: that many or more)
    found   how many items have it, about; COMMON for that many or more
    rows    how strongly each item holds it, by rowid; empty before it was looked up
    """

    __slots__ = ("counts", "forms", "found", "guessed", "pair", "root", "rows", "weight", "whole", "word")

    def __init__(
        self, word: str, forms: Forms, weight: float = 1.0, *, whole: bool = False, pair: bool = False
    ) -> None:
        self.word, self.forms, self.weight, self.whole, self.pair = word, forms, weight, whole, pair
        self.root = stem(word)
        self.counts: list[int] = []
        self.guessed = False
        self.found = 0
        self.rows: Mapping[int, float] = {}

    def count(self, db: Database) -> int:
        """Count how many items have it."""
        self.counts = [index.count_matches(db, expression, COMMON) for expression, _ in self.forms]
        self.found = min(COMMON, sum(self.counts))
        return self.found

    @property
    def expression(self) -> str:
        """The FTS5 expression that finds any of its forms."""
        return " OR ".join(expression for expression, _ in self.forms)

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


def known_terms(db: Database, query: Query, *, pieces: bool = True) -> list[Term]:
    """The terms that some item has, the rarest first; for a word that none has, what it may have meant.

    pieces  where no word is known, words that have one of them inside, too
    """
    asked = terms_of(query, stems=index.is_stemming(db), pairs=bool(query.runs) and index.has_pairs(db))
    pairs = [term for term in asked if term.pair]
    if pairs and not index.count_matches(
        db, " OR ".join(expression for term in pairs for expression, _ in term.forms), 1
    ):
        asked = asked[: -len(pairs)]
    known = [term for term in asked if term.count(db)]
    unknown = [term for term in asked if term.whole and not term.found and not is_paired(term.word)]
    for term in unknown:
        term.forms, term.guessed = guess_forms(db, term.word, pieces=pieces and not known), True
    known += [term for term in unknown if term.count(db)]
    return sorted(known, key=lambda term: term.found)


def terms_of(query: Query, *, stems: bool, pairs: bool = False) -> list[Term]:
    """What to look for; whether the index stems words, and whether it holds pairs of characters."""
    words = {stem(word): word for word in reversed(query.terms)}  # of two forms of a word the first is asked for
    light = light_words(query.language)
    out = [
        Term(word, _forms(word, query, stems), LIGHT if word.lower() in light else 1.0, whole=True)
        for word in reversed(words.values())
    ]
    out += [Term(part, _forms(part, query, stems), PART) for part in query.parts]
    for gram in union(*map(grams, filter(is_paired, query.runs))) if pairs else ():
        if len(gram) == 1:  # all pairs that begin with it
            out.append(Term(gram, [(index.quote_phrase(gram) + "*", 1.0)]))
        elif gram not in words.values():
            out.append(Term(gram, [(index.quote_phrase(gram), 1.0)]))
    plain = [word for word in query.terms if word.isalnum()]
    return out + [Term(a + b, [(index.quote_phrase(a + b), 1.0)], PART, pair=True) for a, b in pairwise(plain)]


def _forms(word: str, query: Query, stems: bool) -> Forms:
    forms = [(index.quote_phrase(word), 1.0)]
    if not stems:
        if len(word) >= PREFIX_MIN_LEN and index.is_long_enough_prefix(stem(word)):
            forms = [(index.quote_phrase(stem(word)) + "*", 1.0)]
        elif len(word) == PREFIX_MIN_LEN - 1 and word[-1] in "sS":  # JWTs
            forms.append((index.quote_phrase(word[:-1]), 1.0))
    elif query.language != "en" and len(word) >= INFLECTED_MIN_LEN and word.isalpha():
        forms.append((index.quote_phrase(stem(word, query.language)) + "*", BEGINNING))
    low = word.lower()
    for one, two in LIGATURES:  # to the index it is a letter of its own
        for written, other in ((one, two), (two, one)):
            parts = low.split(written)
            spelled = [written.join(parts[:n]) + other + written.join(parts[n:]) for n in range(1, len(parts))]
            forms += [(index.quote_phrase(each), 1.0) for each in union(spelled[:MANY], [other.join(parts)]) if spelled]
    forms += [(index.quote_phrase(other), IRREGULAR) for other in other_forms(word, query.language)]
    return forms


# --- what an unknown word may have meant ------------------------------------------------------------------------


def guess_forms(db: Database, word: str, *, pieces: bool) -> list[tuple[str, float]]:
    """FTS5 expressions for what was meant, with what each counts; [] when nothing comes near.

    With `pieces`, also words that have it inside: that means reading the whole vocabulary.
    """
    known: dict[tuple[str, bool], list[tuple[str, float]]] = db.cached("guesses")
    asked = word.lower(), pieces
    if asked not in known:
        db.cached("guesses", 1)
        known[asked] = _guess_forms(db, *asked)
    return known[asked]


def _guess_forms(db: Database, low: str, pieces: bool) -> list[tuple[str, float]]:
    beginning = index.quote_phrase(low) + "*"
    if index.is_long_enough_prefix(low) and index.count_matches(db, beginning, 1):
        return [(beginning, GUESSED_BEGINNING)]
    if not low.isalnum():
        return []
    slips = _find_slips(db, low) if len(low) >= SLIP_MIN_LEN and low.isalpha() else []
    if slips:
        return [(_expression_for(db, term), SLIP) for term in slips]
    if pieces and len(low) >= SLIP_MIN_LEN and index.index_size(db) <= SMALL:
        from memctl.store.search.words import words_with

        return [(_expression_for(db, term), PIECE) for term in words_with(db, stem(low), MEANT)]
    return []


def guessed_words(found: "SearchResult") -> dict[str, list[str]]:
    """For each word of the question that no item has, what was looked for instead: `foot…` is any word that begins so.

    Only what the items that are shown have: that others have it would tell what is in them.
    """
    if not any(term.guessed for term in (*found.terms, *found.rest)):
        return {}
    import re

    texts = [f"{c.title}\n{c.content}\n{c.tags}".lower() for c in found.candidates]
    out: dict[str, list[str]] = {}
    for term in (*found.terms, *found.rest):
        instead: dict[str, None] = {}
        for expression, _ in term.forms if term.guessed else ():
            word = expression.strip('"*')
            is_beginning = expression.endswith("*")
            root = word if is_beginning else stem(word).removesuffix("i")  # the index has deploi for deploy
            ending = r"\w*" if is_beginning else rf"\w{{0,{ENDING}}}(?!\w)"
            one_word = re.compile(rf"(?<!\w)(?=\w{{{len(root)}}}){re.escape(root)}{ending}")
            meant = next(filter(None, map(one_word.search, texts)), None)
            if meant:
                instead[f"{word}…" if is_beginning else meant[0]] = None
        if instead:
            out[term.word] = list(instead)
    return out


def _expression_for(db: Database, term: str) -> str:
    """An expression that finds a word as the index keeps it: not every stem has itself for a stem."""
    asked = (index.quote_phrase(term + ending) for ending in ("", *ENDINGS))
    return next((phrase for phrase in asked if index.count_matches(db, phrase, 1)), index.quote_phrase(term))


def _find_slips(db: Database, low: str) -> list[str]:
    """Words of the index that are one slip away (two in a long word), the nearest and most frequent first."""
    from memctl.store.search.words import words_from

    most = 2 if len(low) >= LONG else 1
    found = []
    short, letters = stem(low), set(low)
    shortest = min(len(low) - ENDING, len(short) - most)
    for term, items in words_from(db, low[:2], shortest, len(low) + most):
        if len(set(term) - letters) > most + term.endswith("i"):  # each of these letters would be a slip
            continue
        apart = _slips_apart(low, short, term, most)
        if apart <= most:
            found.append((apart, -items, term))
    nearest = min(found, default=(0, 0, ""))[0]
    return [term for apart, _, term in sorted(found)[:MEANT] if apart == nearest]


def _slips_apart(low: str, short: str, term: str, most: int) -> int:
    """How many slips from a word of the index, which may be a stem: deploi stands for deploy and for deployment.

    `short` is the word without a common ending.
    """
    whole = term[:-1] + "y" if term.endswith("i") else term
    apart = edit_distance(low, whole, most)
    if short != low or whole != term:
        apart = min(apart, edit_distance(short, term, most))
    if STEM <= len(term) < len(low) <= len(term) + ENDING:
        apart = min(apart, 1 + edit_distance(low[: len(term)], whole, most - 1))
    return apart


def edit_distance(a: str, b: str, most: int) -> int:
    """How many letters must be put in, left out, changed or swapped to make `b` of `a`; most + 1 for more."""
    here, there = set(a), set(b)  # each slip explains one letter that the other has not
    if abs(len(a) - len(b)) > most or len(here - there) > most or len(there - here) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, char in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (char != other))
            if last and j > 1 and char == b[j - 2] and a[i - 2] == other:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
