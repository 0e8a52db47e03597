"""How a search was answered: its strategy, the share of the question that is covered, and what each score is made of.

Coverage is for callers that want nothing rather than what merely shares a word. As in ranking, a word weighs more, the
fewer items of the scopes that are read have it. A word that no item has weighs most, so a question about what the store
does not know is covered badly, whatever else it says. The figure is a share, the same for a store of ten items and of
a million; unlike a score, it can be compared with a fixed bound.
"""

import math
from collections.abc import Mapping

from memctl.retrieve.candidates import K1, LIGHT, SearchResult
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

#: The best of the first hits counts: what covers most need not stand first.
FIRST = 3
#: The scopes are taken for part of a text of this many more items, in which none of the words is: else, in a store of
#: three items, a word that one of them has would weigh next to nothing beside a word that none has.
BACKGROUND = 1000
#: What a guess at an unknown word is worth here beside its worth in ranking: it may be no answer at all.
GUESSED = 0.5
#: What an automatic recall needs: the best of the first hits covers this share of the question's weight …
LEAST_SHARE = 0.43
#: … and words that weigh this much together: one rare word, or some that are less so.
LEAST_WEIGHT = 5.0
#: What a word in Latin letters weighs in a Chinese, Japanese or Korean question: it names what is asked about.
NAMES = 2.0
#: What it covers counts so much more where answers used the item whenever it was told, and less where they never did.
MOVED = 0.2


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


# --- of the question --------------------------------------------------------------------------------------------


def worth_saying(result: SearchResult) -> bool:
    """Whether there is anything worth giving to somebody who did not ask for it.

    Three things decide: what kind of utterance it is (talk of a session is answered by no memory), what share of the
    question is covered, and how much weight that is; both count a little more for an item that helped before, and less
    for one that never did. An order is answered where one line says all of its words.
    """
    from memctl.text.utterance import is_chatter, order_words

    text = result.query.text
    order = [queries.stem(word) for word in order_words(text)]
    if order:
        lines = (line.lower() for c in result.candidates[:FIRST] for line in (c.title, *c.content.splitlines()))
        return any(all(root in line for root in order) for line in lines)
    if not result.candidates or is_chatter(text):
        return False
    share, weight = coverage(result, result.usefulness)
    return share >= LEAST_SHARE and (weight is None or weight >= LEAST_WEIGHT)


def coverage(result: SearchResult, useful: Mapping[str, float] = {}) -> tuple[float, float | None]:
    """The share of the question's weight that one of the first hits holds, 0 to 1; 1 for a blank question.

    And the weight itself: the summed rarity of the words held; None where words are not weighed. `useful`: by id how
    much a hit helped before (-1 to 1), which moves both by a fifth at most.
    """
    if result.query.blank:
        return 1.0, None
    first = result.candidates[:FIRST]
    weighed = _weigh_terms(result) if not result.like else _weigh_runs(result)
    if not weighed:
        from memctl.store.search.words import make_needles

        needles = [needle.casefold() for needle in make_needles(result.query)]
        texts = [f"{c.title}\n{c.content}\n{c.tags}".casefold() for c in first]
        return max((sum(needle in text for needle in needles) / len(needles) for text in texts), default=0.0), None
    every = sum(weight for weight, _, _, _ in weighed)
    most = 0.0
    for c in first:
        text, held = f"{c.title}\n{c.content}".lower(), 0.0
        for weight, worth, rows, roots in weighed:
            held += weight * worth * (any(root in text for root in roots) if rows is None else c.row in rows)
        most = max(most, held * (1 + MOVED * useful.get(c.id, 0.0)))
    return (most / every if every else 0.0), most


#: What a word weighs, the share of it that a match is worth, which rows hold it, and what stands for it inside a text.
Weighed = tuple[float, float, "Mapping[int, float] | None", tuple[str, ...]]


def _rarity(result: SearchResult, having: int) -> float:
    return math.log1p((result.items + BACKGROUND - having + 0.5) / (having + 0.5))


def _weigh_terms(result: SearchResult) -> list[Weighed]:
    """The words of a question; of what was not looked up, a common word, the rows are None.

    A light word ("hago", "finde") counts less, as it does for the order, but not in English, where a stemmer finds its
    other forms: it is seldom rare.
    """
    looked_up = {term.word: term for term in result.terms if term.whole}
    common = {term.word: term for term in result.rest if term.whole}
    language = result.query.language
    light = queries.light_words(language) if language != "en" else ()

    out: list[Weighed] = []
    for word in result.query.terms:
        term = looked_up.get(word) or common.get(word)
        counts = LIGHT if word.lower() in light else 1.0
        if term is None or (word in looked_up and not term.rows):  # nothing here has it
            out.append((_rarity(result, 0) * counts, 0.0, {}, ()))
            continue
        weight, worth = _rarity(result, len(term.rows) or min(term.found, result.items)), term.forms[0][1]
        if worth < 1.0:  # no item has the word itself, only what it may have meant
            weight, worth = _rarity(result, 0), GUESSED * worth
        out.append((weight * counts, worth, term.rows if word in looked_up else None, (term.root,)))
    return out


def _by_script(stretch: str) -> list[str]:
    """What of a Japanese stretch is in Katakana, and what stands between."""
    return "".join(
        char if _is_katakana(char) == _is_katakana(before) else f" {char}"
        for before, char in zip(stretch[:1] + stretch, stretch, strict=False)
    ).split()


def _is_katakana(text: str) -> bool:
    """Whether a text is in the Japanese script that writes foreign words."""
    return all("\u30a1" <= char <= "\u30ff" for char in text)


def _weigh_runs(result: SearchResult) -> list[Weighed]:
    """The characters of a question in Chinese, Japanese or Korean, by the pairs that the index holds; [] without it.

    Half of the pairs in it are no words: a character weighs half of the commonest pair that it is in, and any of its
    pairs will do. A word in Katakana weighs what its rarest pair does, one in Latin letters what it does elsewhere.
    """
    query = result.query
    having = {term.word: len(term.rows) or min(term.found, result.items) for term in (*result.terms, *result.rest)}
    if not all(map(queries.is_paired, query.runs)) or not any(map(queries.is_paired, having)):
        return []
    out: list[Weighed] = []
    for stretch in (part for run in query.runs for part in queries.telling_stretches(run)):
        for word in _by_script(stretch):
            pairs = [word[i : i + 2] for i in range(max(1, len(word) - 1))]
            if _is_katakana(word) or len(word) == 1:
                weight = _rarity(result, min(having.get(pair, 0) for pair in pairs))
                out.append((weight / (1 if len(word) > 1 else 2), 1.0, None, (word.lower(),)))
                continue
            for at in range(len(word)):
                around = pairs[max(0, at - 1) : at + 1]
                known = [_rarity(result, having[pair]) for pair in around if pair in having]
                beside = pairs[max(0, at - 2) : at + 2]
                if known or not any(pair in having for pair in beside):  # else a function word beside words
                    weight = min(known, default=_rarity(result, 0)) / 2
                    out.append((weight, 1.0, None, tuple(map(str.lower, around))))
    others = [word for word in (*query.terms, *query.parts) if not queries.unsegmented(word)]
    return out + [(NAMES * _rarity(result, having.get(word, 0)), 1.0, None, (word.lower(),)) for word in others]
