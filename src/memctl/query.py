"""Query helpers under their documented names; the analysis itself is in `memctl.text.query`."""

from collections.abc import Callable, Sequence
from typing import Any

from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS, QUESTION_WORDS, analyse, normalised
from memctl.text.query import is_identifier as _is_identifier
from memctl.types import MemoryItem

__all__ = [
    "EN_STOP_WORDS",
    "FR_STOP_WORDS",
    "QUESTION_WORDS",
    "_drop_order",
    "_is_identifier",
    "cascade_query",
    "classify_mode",
    "normalize_query",
    "suggest_budget",
]

_MODIFICATION_VERBS = (
    "add replace refactor fix create delete update modify remove rename implement migrate upgrade configure install "
    "uninstall change move copy write rewrite patch merge split convert enable disable set reset ajouter remplacer "
    "corriger créer supprimer modifier renommer implémenter migrer configurer installer changer déplacer copier "
    "écrire réécrire activer désactiver"
)


def normalize_query(text: str) -> str:
    """The query without its stop words, in order; the text itself when nothing else would remain."""
    query = analyse(text)
    return text if set(query.terms) <= set(query.dropped) else normalised(query)


def classify_mode(text: str) -> str:
    """ "modification" when a verb asks for a change, else "exploration"."""
    words = (word.strip(".,;:!?\"'()[]{}") for word in text.lower().split())
    verbs = _MODIFICATION_VERBS.split()
    return "modification" if any(word in verbs for word in words) else "exploration"


def suggest_budget(question_length: int) -> int:
    """A token budget for a question of this many characters."""
    return next((budget for length, budget in ((80, 600), (200, 800), (400, 1200)) if question_length < length), 1500)


def _drop_order(terms: Sequence[str]) -> list[int]:
    """Indices of terms in the order `cascade_query` gives them up: shortest first, of equals the later one."""
    return sorted(range(len(terms)), key=lambda i: (len(terms[i]), -i))


Search = Callable[[list[str]], list[Any]]


def cascade_query(
    terms: Sequence[str], and_fn: Search, or_fn: Search, min_results: int = 1
) -> tuple[list[Any], str, list[str], list[str]]:
    """Search for all terms, then for fewer and fewer, then for any; `memctl search` ranks one union instead.

    Returns (results, strategy, effective terms, dropped terms). Each step is a DEBUG record of logger `memctl.query`.
    """
    import logging  # noqa: TID251 - documented: the logger's records are this function's interface

    log = logging.getLogger("memctl.query")
    terms = list(terms)
    if not terms:
        return [], "AND", [], []
    left, dropped = terms, list[str]()
    for index in [None, *_drop_order(terms)[: len(terms) - 1]]:
        if index is not None:
            gone = terms[index]
            if gone not in left or len(set(left)) == 1:
                continue
            left = [term for term in left if term != gone]
            dropped.append(gone)
        step = "REDUCED_AND" if dropped else "AND"
        found = and_fn(left)
        log.debug("%s %s: %d hits (dropped: %s)", step, left, len(found), dropped)
        if len(found) >= min_results:
            return found, step, left, dropped
    found = or_fn(terms)
    log.debug("OR_FALLBACK %s: %d hits", terms, len(found))
    return found, "OR_FALLBACK", terms, []


def _rank_by_coverage(found: Sequence[MemoryItem], terms: Sequence[str]) -> list[MemoryItem]:
    """The same items, those whose title and content hold more of the terms first (older programs sort so)."""

    def held(item: MemoryItem) -> int:
        text = f"{item.title} {item.content}".lower()
        return sum(term.lower() in text for term in terms)

    return sorted(found, key=held, reverse=True)
