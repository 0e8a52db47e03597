"""What the texts of the best items say for them: common words, all of the words, a name, the opening, the spelling."""

from collections.abc import Iterable, Sequence

from memctl.retrieve.rank import COUNTED, K1, NAMED, POOL, SHORT, Ranking, Scores
from memctl.retrieve.terms import COMMON, Term
from memctl.store.database import Database
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.query import Query

#: What holding all of the query's words adds to a short item, as a share of its score.
COVERAGE = 0.5
#: A title of so many words, all of them in the query, names who or what is meant.
NAME_WORDS = 3
#: What holding all of the words in its opening adds to an item, as a share of the best score: in the first lines of
#: it, at most so many characters. (An item of one line has a whole opening when it is long.)
OPENING = 0.2
LINES = 2
OPENS = 120
#: What holding all of the words as they are written adds to an answer to a French question, as a share of the best
#: score: to the index, whose stemmer is an English one, `île` is `il`.
WRITTEN = 0.4


def look_closer(db: Database, ranking: Ranking, head: Sequence[Candidate], query: Query) -> dict[int, str]:
    """Add to the scores of the best candidates what their texts say for them; the texts by row, if they were needed."""
    rows = {c.row for c in head}
    held: Scores = {}
    every = 0.0
    for term in ranking.terms:
        if term.whole:
            every += _hold(held, ranking.idf(term), rows & term.rows.keys())
    texts: dict[int, str] = {}
    rest = [term for term in ranking.rest if term.whole]
    if rest:
        texts = _texts(head)
        for term in rest:
            if term.found >= COMMON:
                term.counts = [index.count_matches(db, expression, COUNTED) for expression, _ in term.forms]
        weighed = [(term.root, ranking.idf(term)) for term in rest]
        for _, idf in weighed:
            every += idf
        ranking.add(head, "common words", _common(texts, _mean_length(head), weighed, held))
    if every:
        ranking.add(head, "coverage", _covered(head, held, every))
    head = _foremost(head)
    top = max((c.score for c in head), default=0.0)
    words = {word.lower() for word in (*query.terms, *query.parts)}
    ranking.add(head, "name", {c.row: NAMED * top for c in head if c.title and _names(c.title, words)})
    if every:
        weights = [(term, ranking.idf(term) * top / every) for term in (*ranking.terms, *rest) if term.whole]
        ranking.add(head, "opening", _opening(head, weights))
        if query.french:
            texts = texts or _texts(head)
            ranking.add(head, "as written", _written(texts, weights))
    return texts


def _covered(head: Sequence[Candidate], held: Scores, every: float) -> Scores:
    """What items get for the share of all words, by weight, that they hold."""
    return {
        c.row: COVERAGE * c.score * SHORT / (SHORT + len(c.content)) * held[c.row] / every
        for c in head
        if c.row in held
    }


def _foremost(head: Sequence[Candidate]) -> Sequence[Candidate]:
    """The best of them: there are more where all words are common, which have only now told which ones they are."""
    if len(head) <= POOL:
        return head
    least = sorted([c.score for c in head], reverse=True)[POOL - 1]
    return index.sort_candidates([c for c in head if c.score >= least])[:POOL]


def _mean_length(head: Sequence[Candidate]) -> float:
    return sum(len(c.content) for c in head) / max(1, len(head)) or 1.0


def _texts(head: Sequence[Candidate]) -> dict[int, str]:
    return {c.row: f"{c.title}\n{c.content}".lower() for c in head}


def _hold(held: Scores, idf: float, rows: Iterable[int]) -> float:
    """Note which items hold a word of this weight; the weight."""
    for row in rows:
        held[row] = held.get(row, 0.0) + idf
    return idf


def _common(texts: dict[int, str], mean: float, words: Sequence[tuple[str, float]], held: Scores) -> Scores:
    """What common words, by root and weight, say for texts; which hold them is noted in `held`."""
    lengths = {row: 0.25 + 0.75 * len(text) / mean for row, text in texts.items()}  # what bm25 makes of a length
    added: Scores = {}
    for root, idf in words:
        weight = idf * (K1 + 1)
        for row, text in texts.items():
            times = text.count(root)
            if times:  # `worth` for each would take twice the time
                strength = times / lengths[row]
                held[row] = held.get(row, 0.0) + idf
                added[row] = added.get(row, 0.0) + weight * strength / (strength + K1)
    return added


def _names(title: str, words: set[str]) -> bool:
    """Whether a short title, or the last part of one like `parser > Reader`, is made of these words."""
    low = title.lower()
    said = low.split(None, NAME_WORDS)
    if said and len(said) <= NAME_WORDS and words.issuperset(said):
        return True
    return " > " in low and _names(low.rpartition(" > ")[2], words)


def _opening(head: Sequence[Candidate], weights: Sequence[tuple[Term, float]]) -> Scores:
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
    much: Scores = {}
    for term, weight in weights:
        for row, text in openings.items():
            if term.root in text:
                much[row] = much.get(row, 0.0) + OPENING * weight
    return {row: weight * shares.get(row, 1.0) for row, weight in much.items() if weight}


def _written(texts: dict[int, str], weights: Sequence[tuple[Term, float]]) -> Scores:
    added: Scores = {}
    for term, weight in weights:
        word = term.word.lower()
        for row, text in texts.items():
            if word in text and _stands(word, text):
                added[row] = added.get(row, 0.0) + WRITTEN * weight
    return added


def _stands(word: str, text: str) -> bool:
    """Whether the word is in the text, not as a piece of a longer one."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            return True
        at = text.find(word, end)
    return False
