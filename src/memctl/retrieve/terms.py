"""What a word that the index does not know may have meant: the beginning of words, a slip, a piece of words."""

from memctl.annotations import TYPE_CHECKING
from memctl.store.database import Database
from memctl.store.search import index
from memctl.text.query import stem

if TYPE_CHECKING:
    from memctl.retrieve.candidates import SearchResult

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
