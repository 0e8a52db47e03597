"""From a question to candidates: the terms that the index is asked for, and the items that hold any of them.

A question's words are looked for with their other forms, pieces of identifiers and pairs. Rare words find the items;
common ones only count in those. So the cost follows the rarest words, not the store.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.clean import union
from memctl.text.query import LIGHT_WORDS, Query, grams, is_paired, other_forms, stem

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

#: Letters that are written as two as well; of a word with more of them, only MANY are written otherwise one by one.
MANY = 3
LIGATURES = (("œ", "oe"), ("æ", "ae"), ("ß", "ss"))

#: A word that this many items have does not find items: it only counts in those that rarer words found.
COMMON = 5000
#: Words are looked up, the rarest first, until they have this many matches: as many as a third of the store has items
#: (what is in more of them tells little, and only counts in what was found), but LEAST in a small store, and in a
#: large one no more than COST, which are read in some 25 ms.
SHARE = 3
LEAST, COST = 1200, 12_000
#: How much more a word counts that is there more often; bm25's k1 (FTS5 has 1.2).
K1 = 1.4
#: A search for fewer items looks words up as if it were for this many.
FEW = 50
#: Where every word is common, this many of the items stored last that have them are ranked.
NEWEST = 400
#: The best items are looked at more closely; the order below them is that of the words alone.
POOL = 80

Forms = list[tuple[str, float]]
Scores = dict[int, float]


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


class SearchResult:
    """What a search found, and why it stands in this order.

    query       the question taken apart
    candidates  best first
    total       how many items match: exact when it was asked for and few thousand can match, else at least as many as
                are here
    like        some of it was found by substring, not by the index
    terms       what was looked up, the rarest first; empty when nothing was ranked
    rest        common words that only counted in what the others found
    items       how many items the scopes hold, about
    parts       the name of each reason, and what it added to the scores, by rowid
    usefulness  of the best that conversations were told, by id, how much that helped (-1 to 1)
    """

    __slots__ = ("candidates", "items", "like", "parts", "query", "rest", "terms", "total", "usefulness")

    def __init__(self, query: Query, candidates: list[Candidate], total: int, *, like: bool = False) -> None:
        self.query, self.candidates, self.total, self.like = query, candidates, total, like
        self.terms: list[Term] = []
        self.rest: list[Term] = []
        self.items = 0
        self.parts: list[tuple[str, Scores]] = []
        self.usefulness: dict[str, float] = {}

    def with_candidates(self, candidates: list[Candidate], total: int) -> "SearchResult":
        """The same search with other candidates."""
        other = SearchResult(self.query, candidates, total, like=self.like)
        other.terms, other.rest, other.items, other.parts = self.terms, self.rest, self.items, self.parts
        other.usefulness = self.usefulness
        return other

    def add(self, head: Iterable[Candidate], reason: str, added: Scores) -> None:
        """Let a reason change the scores of the best candidates."""
        if added:
            for c in head:
                if c.row in added:
                    c.score += added[c.row]
            self.parts.append((reason, added))

    def idf(self, term: Term) -> float:
        """What a word weighs: more, the fewer items of the scope have it."""
        n = len(term.rows) or min(term.found, self.items)
        return term.weight * math.log1p((max(0, self.items - n) + 0.5) / (n + 0.5))


# --- from the question to terms ---------------------------------------------------------------------------------


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
        from memctl.retrieve.terms import guess_forms

        term.forms, term.guessed = guess_forms(db, term.word, pieces=pieces and not known), True
    known += [term for term in unknown if term.count(db)]
    return sorted(known, key=lambda term: term.found)


def terms_of(query: Query, *, stems: bool, pairs: bool = False) -> list[Term]:
    """What to look for; whether the index stems words, and whether it holds pairs of characters."""
    words = {stem(word): word for word in reversed(query.terms)}  # of two forms of a word the first is asked for
    out = [
        Term(
            word, _forms(word, query, stems), LIGHT if word.lower() in LIGHT_WORDS[query.language] else 1.0, whole=True
        )
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


# --- from terms to candidates -----------------------------------------------------------------------------------


def find_candidates(
    db: Database, query: Query, filters: Filters, limit: int, *, count: bool, pieces: bool = True
) -> tuple[SearchResult, int]:
    """The items that hold the words, by BM25 with the weights of this scope, and how many to look at more closely.

    Terms are looked up, the rarest first, until they have enough matches and found enough items; a negative limit means
    all. The rest only counts in what was found. A term that no item of the scopes has is neither.
    """
    size = index.index_size(db)
    wanted = limit if limit < 0 else max(limit, FEW)
    in_scopes = index.count_in_scopes(db, filters, size)
    result = SearchResult(query, [], 0)
    terms = known_terms(db, query, pieces=pieces)
    rows: set[int] = set()
    matches, most = 0, min(COST, max(LEAST, size // SHARE))
    for at, term in enumerate(terms):
        enough = bool(rows) if term.found >= COMMON else matches + term.found > most and len(rows) >= wanted
        if wanted >= 0 and (enough or (term.found >= COMMON and not rows)):
            result.rest = terms[at:]
            break
        term.look_up(db, filters, size)
        rows.update(term.rows)
        matches += term.found
        if term.rows:
            result.terms.append(term)
    result.items = max(in_scopes if in_scopes < index.COUNTED else size, *(len(t.rows) for t in result.terms), 1)
    scores: Scores = {}
    for term in result.terms:
        weight = result.idf(term) * (K1 + 1)
        for row, strength in term.rows.items():
            scores[row] = scores.get(row, 0.0) + weight * strength / (strength + K1)
    pool = POOL
    if not scores and result.rest:
        scores = dict.fromkeys(_newest_rows(db, result.rest, filters, wanted), 0.0)
        pool = len(scores)
    result.total = len(scores)
    terms = [*result.terms, *result.rest]
    if count and result.rest and sum(term.found for term in terms) < COMMON:  # else counting would take too long
        expressions = [expression for term in terms for expression, _ in term.forms]
        result.total = max(result.total, index.count_any_match(db, expressions, filters))
    result.parts.append(("words", scores))
    return result, pool


def _newest_rows(db: Database, terms: Sequence[Term], filters: Filters, wanted: int) -> list[int]:
    """Of what has only common words, the items stored last: with all the words, then with the rarest."""
    every = " AND ".join(f"({term.expression})" for term in terms if term.whole)
    rows: dict[int, None] = {}
    for expression in filter(None, (every, *(term.expression for term in terms))):
        if len(rows) < max(wanted, POOL):
            rows |= dict.fromkeys(index.newest_matches(db, expression, filters, max(wanted, NEWEST)))
    return list(rows)
