"""Scores: the items that hold the query's words, and what each of several reasons adds to their scores.

Rare words find the items; common ones only count in those. So the cost follows the rarest words, not the store. The
best items are then looked at more closely: what their texts say, what they have in common, and when they were made.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from memctl.retrieve.terms import COMMON, Term, known_terms, look_up_terms
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS, Query, stem

Scores = dict[int, float]

#: How much more a word counts that is there more often; bm25's k1 (FTS5 has 1.2).
K1 = 1.4
#: A search for fewer items looks words up as if it were for this many.
FEW = 50
#: Where every word is common, this many of the items stored last that have them are ranked.
NEWEST = 400
#: Items of a scope are counted up to here.
COUNTED = 30_000
#: The best items are looked at more closely; the order below them is that of the words alone.
POOL = 80

#: What is done for short items is done half as much for one of this many characters.
SHORT = 600
#: What names the thing that is asked for (a title, a file) adds, as a share of the best score.
NAMED = 0.17

#: What having been made at the time that the query names adds, as a share of the best score; half, DAYS days away.
TIME = 0.4
DAYS = 5
#: When an item was made is looked up for this many of the best by words.
TIMED = 1000

#: What holding all of the query's words adds to a short item, as a share of its score.
COVERAGE = 0.5
#: A title of at most this many words, all of them in the query, names who or what is meant.
NAME_WORDS = 3
#: What holding all of the words in its opening adds to an item, as a share of the best score: in its first LINES lines,
#: at most OPENS characters. (An item of one line has a whole opening when it is long.)
OPENING = 0.2
LINES = 2
OPENS = 120
#: What holding all of the words as they are written adds to an answer to a French question, as a share of the best
#: score: to the index, whose stemmer is an English one, `île` is `il`.
WRITTEN = 0.4

#: What the topic adds at most, as a share of the best score; half of it where items have LONG characters.
TOPIC = 0.25
LONG = 600
#: Fewer items have no topic in common.
LEAST_ITEMS = 10
#: The best TELLING items say what the topic is, by WORDS words, chosen among CHOICE more frequent ones.
TELLING = 5
WORDS = 6
CHOICE = 20
#: How many of the best get a share of the topic, and how many characters of each are read.
TOPIC_POOL = 40
READ = 700
#: A word's first letters stand for all its forms; shorter ones say too little.
ROOT = 7
SHORTEST = 4
#: A word that a larger share of the items has says nothing.
TOO_MANY = 0.7

#: How a month begins, in English and French.
_MONTHS = frozenset((
    "jan", "feb", "fév", "fev", "mar", "apr", "avr", "may", "mai", "jun", "jui", "jul", "aug", "aoû", "aou", "sep",
    "oct", "nov", "dec", "déc",
))  # fmt: skip
_SILENT = EN_STOP_WORDS | FR_STOP_WORDS
#: Blanks for the ASCII characters that are in no word: in bytes, of which the others are left as they are.
_BLANKS = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))


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
    """

    __slots__ = ("candidates", "items", "like", "parts", "query", "rest", "terms", "total")

    def __init__(self, query: Query, candidates: list[Candidate], total: int, *, like: bool = False) -> None:
        self.query, self.candidates, self.total, self.like = query, candidates, total, like
        self.terms: list[Term] = []
        self.rest: list[Term] = []
        self.items = 0
        self.parts: list[tuple[str, Scores]] = []

    def with_candidates(self, candidates: list[Candidate], total: int) -> "SearchResult":
        """The same search with other candidates."""
        other = SearchResult(self.query, candidates, total, like=self.like)
        other.terms, other.rest, other.items, other.parts = self.terms, self.rest, self.items, self.parts
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


# --- by words ---------------------------------------------------------------------------------------------------


def score_words(db: Database, query: Query, filters: Filters, limit: int, *, count: bool) -> tuple[SearchResult, int]:
    """The items that hold the words, by BM25 with the weights of this scope, and how many to look at more closely."""
    size = index.index_size(db)
    wanted = limit if limit < 0 else max(limit, FEW)
    in_scopes = index.count_in_scopes(db, filters, COUNTED, size)
    result = SearchResult(query, [], 0)
    result.terms, result.rest = look_up_terms(db, known_terms(db, query), filters, wanted, size)
    result.items = max(in_scopes if in_scopes < COUNTED else size, *(len(t.rows) for t in result.terms), 1)
    scores: Scores = {}
    for term in result.terms:
        weight = result.idf(term) * (K1 + 1)
        for row, strength in term.rows.items():  # `word_score` for each would take twice the time
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


def word_score(idf: float, strength: float) -> float:
    """What a word of this weight adds where it is this strong."""
    return idf * (K1 + 1) * strength / (strength + K1)


def best_rows(scores: Scores, limit: int) -> list[int]:
    """The rows of the `limit` best, best first, and of those that tie with the last of them."""
    rows = list(scores)
    if limit < len(rows):
        least = sorted(scores.values(), reverse=True)[limit - 1]
        rows = [row for row, score in scores.items() if score >= least]
    rows.sort(key=scores.__getitem__, reverse=True)
    return rows


# --- by place and time ------------------------------------------------------------------------------------------


def score_times(db: Database, result: SearchResult, scores: Scores) -> Scores:
    """The scores with what it adds to have been made at the time that the query names, or near it."""
    text = result.query.text
    words = text.lower().replace("'", " ").replace("\u2019", " ").split()
    if not any(word[:3] in _MONTHS or "19" in word or "20" in word for word in words):
        return scores
    from memctl.text.times import named_days

    spans = named_days(text)
    most = TIME * max(scores.values(), default=0.0)
    if not spans or not most:
        return scores
    days = index.created_days(db, best_rows(scores, TIMED))
    added = {row: most / (1 + min([span.apart(day) for span in spans]) / DAYS) for row, day in days.items()}
    if not added:
        return scores
    result.parts.append(("time", added))
    return scores | {row: scores[row] + more for row, more in added.items()}


# --- by what the texts say --------------------------------------------------------------------------------------


def score_texts(result: SearchResult, head: Sequence[Candidate]) -> dict[int, str]:
    """Add to the scores of the best candidates what their texts say for them; the texts by row, if they were needed."""
    query, rows = result.query, {c.row for c in head}
    held: Scores = {}  # the weight of the words that an item holds
    every = 0.0
    for term in result.terms:
        if term.whole:
            idf = result.idf(term)
            every += idf
            for row in rows & term.rows.keys():
                held[row] = held.get(row, 0.0) + idf
    texts: dict[int, str] = {}
    rest = [term for term in result.rest if term.whole]
    if rest:
        texts = _lower_texts(head)
        weighed = [(term.root, result.idf(term)) for term in rest]
        for _, idf in weighed:
            every += idf
        result.add(head, "common words", _score_common(texts, head, weighed, held))
    if every:
        covered = {
            c.row: COVERAGE * c.score * SHORT / (SHORT + len(c.content)) * held[c.row] / every
            for c in head
            if c.row in held
        }
        result.add(head, "coverage", covered)
    if len(head) > POOL:  # all words are common, and have only now told which items are the best
        least = sorted([c.score for c in head], reverse=True)[POOL - 1]
        head = index.sort_candidates([c for c in head if c.score >= least])[:POOL]
    top = max((c.score for c in head), default=0.0)
    words = {word.lower() for word in (*query.terms, *query.parts)}
    result.add(head, "name", {c.row: NAMED * top for c in head if c.title and _is_named(c.title, words)})
    if every:
        weights = [(term, result.idf(term) * top / every) for term in (*result.terms, *rest) if term.whole]
        result.add(head, "opening", _score_openings(head, weights))
        if query.french:
            texts = texts or _lower_texts(head)
            result.add(head, "as written", _score_spelling(texts, weights))
    return texts


def _lower_texts(head: Sequence[Candidate]) -> dict[int, str]:
    return {c.row: f"{c.title}\n{c.content}".lower() for c in head}


def _score_common(
    texts: dict[int, str], head: Sequence[Candidate], words: Sequence[tuple[str, float]], held: Scores
) -> Scores:
    """What common words, by root and weight, say for texts; which hold them is noted in `held`."""
    mean = sum(len(c.content) for c in head) / max(1, len(head)) or 1.0
    lengths = {row: 0.25 + 0.75 * len(text) / mean for row, text in texts.items()}  # what bm25 makes of a length
    added: Scores = {}
    for root, idf in words:
        weight = idf * (K1 + 1)
        for row, text in texts.items():
            times = text.count(root)
            if times:  # `word_score` for each would take twice the time
                strength = times / lengths[row]
                held[row] = held.get(row, 0.0) + idf
                added[row] = added.get(row, 0.0) + weight * strength / (strength + K1)
    return added


def _is_named(title: str, words: set[str]) -> bool:
    """Whether a short title, or the last part of one like `parser > Reader`, is made of these words."""
    low = title.lower()
    first = low.split(None, NAME_WORDS)
    if first and len(first) <= NAME_WORDS and words.issuperset(first):
        return True
    return " > " in low and _is_named(low.rpartition(" > ")[2], words)


def _score_openings(head: Sequence[Candidate], weights: Sequence[tuple[Term, float]]) -> Scores:
    """What the words in their first lines say for items."""
    openings: dict[int, str] = {}
    shares: Scores = {}
    for c in head:
        text = c.content
        if "\n" in text:
            lines = text[: 4 * OPENS].split("\n", 2 * LINES)
            text = "\n".join([line for line in lines if line and not line.isspace()][:LINES])
        else:
            shares[c.row] = len(text) / (len(text) + SHORT)
        openings[c.row] = text[:OPENS].lower()
    added: Scores = {}
    for term, weight in weights:
        for row, text in openings.items():
            if term.root in text:
                added[row] = added.get(row, 0.0) + OPENING * weight
    return {row: weight * shares.get(row, 1.0) for row, weight in added.items() if weight}


def _score_spelling(texts: dict[int, str], weights: Sequence[tuple[Term, float]]) -> Scores:
    """What it says for items that they hold words as they are written, not as pieces of longer ones."""
    added: Scores = {}
    for term, weight in weights:
        word = term.word.lower()
        for row, text in texts.items():
            at = text.find(word)
            while at >= 0:
                end = at + len(word)
                if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
                    added[row] = added.get(row, 0.0) + WRITTEN * weight
                    break
                at = text.find(word, end)
    return added


# --- by what the best have in common ----------------------------------------------------------------------------


def score_topic(head: Sequence[Candidate], query: Query, known: Mapping[int, str], fade: float) -> Scores:
    """What each of the best items gets for what it has in common with the very best, beside the query's words.

    head   the best items, in order
    known  texts of them in lower case, the title before the content, as far as somebody made them
    fade   what is left of it: among turns of a conversation less, the longer they are
    """
    head = head[:TOPIC_POOL]
    texts = [
        known[c.row][: len(c.title) + 1 + READ] if c.row in known else f"{c.title}\n{c.content[:READ]}".lower()
        for c in head
    ]
    asked = tuple(stem(word)[:ROOT] for word in (*query.terms, *query.parts))
    weights = {root: weight for root, weight in _weigh_roots(head, texts).items() if not root.startswith(asked)}
    frequent = sorted(weights, key=lambda root: (-weights[root], root))[:CHOICE]
    holders = {root: [root in text for text in texts] for root in frequent}
    topic: dict[str, float] = {}
    for root, holds in holders.items():
        n = sum(holds)
        if 0 < n <= TOO_MANY * len(head):
            topic[root] = weights[root] * math.log1p(len(head) / n)
    chosen = sorted(topic, key=lambda root: (-topic[root], root))[:WORDS]
    telling = [(topic[root], holders[root]) for root in chosen]
    much = [sum([weight for weight, holds in telling if holds[at]]) for at in range(len(head))]
    most = max(much, default=0.0)
    if not most:
        return {}
    mean = sum(len(c.content) for c in head) / len(head)
    share = fade * TOPIC * head[0].score * mean / (mean + LONG)
    return {c.row: share * m / most for c, m in zip(head, much, strict=True)}


def _weigh_roots(head: Sequence[Candidate], texts: Sequence[str]) -> dict[str, float]:
    """The roots that at least two of the very best items have, with the weight of these."""
    said: list[tuple[float, list[str]]] = []
    once: set[str] = set()
    twice: set[str] = set()
    for c, text in zip(head[:TELLING], texts, strict=False):
        words = text.encode().translate(_BLANKS).decode().split()
        roots = [word[:ROOT] for word in words if len(word) >= SHORTEST and word not in _SILENT]
        said.append((c.score / max(1, len(words)), roots))
        here = set(roots)
        twice |= here & once
        once |= here
    weights = dict.fromkeys(twice, 0.0)
    for share, roots in said:
        for root in roots:
            if root in twice:
                weights[root] += share
    return weights
