"""How a search was answered: its strategy, in the documented words, and what each score is made of."""

from memctl.retrieve.candidates import K1, SearchResult
from memctl.store.database import Database
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text import query as queries
from memctl.text.clean import one_line
from memctl.types import SearchMeta

REINDEX_HINT = (
    "this index does not stem words, so other forms of a word may be missed; memctl reindex --tokenizer en changes that"
)
#: A question of more words is long: its keywords alone may do better with other stores.
LONG_QUERY = 4
#: Characters of a question that are repeated.
SHOWN = 200
#: Decimals that scores are told with.
DECIMALS = 4
_NOTHING = 10**-DECIMALS


# --- in the documented words ------------------------------------------------------------------------------------


def describe(db: Database, result: SearchResult) -> SearchMeta:
    """How the search was answered, in the documented words: what the best hit covers of the query's terms.

    AND: all of them. PREFIX_AND: all, some only as the beginning of a word. REDUCED_AND: at least half.
    OR_FALLBACK: fewer, or there is no hit. LIKE: found by substring.
    """
    terms = list(result.query.terms)
    indexed = index.has_index(db)
    strategy, effective, dropped = "AND", terms, list[str]()
    if result.like or not indexed:
        strategy = "AND" if result.query.blank else "LIKE"
    elif terms and not result.candidates:
        strategy = "OR_FALLBACK"
    elif terms:
        best = result.candidates[0]
        found = {term.forms[0][0]: term.rows for term in result.terms if len(term.forms) == 1}
        exact = index.covered_terms(db, best, terms, found=found)
        missing = [term for term, there in zip(terms, exact, strict=True) if not there]
        if missing and all(index.covered_terms(db, best, missing, prefix=True)):
            strategy = "PREFIX_AND"
        elif len(missing) == len(terms):  # only parts of its words, or their beginnings, were found
            strategy = "OR_FALLBACK"
        elif missing:
            effective = [term for term, there in zip(terms, exact, strict=True) if there]
            strategy, dropped = "REDUCED_AND" if 2 * len(effective) >= len(terms) else "OR_FALLBACK", missing
    hint = None
    if len(terms) > 1 and strategy in {"OR_FALLBACK", "PREFIX_AND", "LIKE"}:
        hint = REINDEX_HINT if indexed and not index.is_stemming(db) else None
    return SearchMeta(strategy, terms, effective, dropped, result.total, hint)


def suggest(query: str, meta: SearchMeta, *, found: bool) -> str:
    """What to try next when an answer is empty or could be better, the most pressing first; "" for nothing."""
    if found:
        plain = queries.normalised(queries.analyse(query))
        if len(query.split()) > LONG_QUERY and plain and plain != query:
            return f"Long query: its keywords alone are '{one_line(plain, SHOWN)}'."
        return meta.morphological_hint or ""
    if not query.strip():
        return "Nothing is remembered here."
    lines = [f"Nothing matches '{one_line(query, SHOWN)}' (strategy {meta.strategy})."]
    if meta.strategy != "AND" and meta.dropped_terms:
        lines.append(f"- Words that were left out: {', '.join(meta.dropped_terms)}.")
    lines += ["- Try other or fewer words, or a name from the code.", "- Try another scope."]
    return "\n".join(lines)


# --- of each score ----------------------------------------------------------------------------------------------


def reasons(result: SearchResult, c: Candidate) -> dict[str, float]:
    """What each reason added to the score, in the order they were weighed; what added nothing is left out."""
    added = {name: part.get(c.row, 0.0) for name, part in result.parts}
    added["substring"] = c.score - sum(added.values())
    return _round_scores(added)


def words(result: SearchResult, c: Candidate) -> dict[str, float]:
    """What each word, piece or pair that was looked up added to the reason `words`."""
    held = [(term, term.rows[c.row]) for term in result.terms if c.row in term.rows]
    return _round_scores({term.word: result.idf(term) * (K1 + 1) * much / (much + K1) for term, much in held})


def _round_scores(added: dict[str, float]) -> dict[str, float]:
    return {name: round(value, DECIMALS) for name, value in added.items() if abs(value) >= _NOTHING}
