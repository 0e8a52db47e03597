"""Whether an automatic recall says anything: the share of the question that is covered, and how much weight that is.

Coverage is for callers that want nothing rather than what merely shares a word. As in ranking, a word weighs more, the
fewer items of the scopes that are read have it. A word that no item has weighs most, so a question about what the store
does not know is covered badly, whatever else it says. The figure is a share, the same for a store of ten items and of
a million; unlike a score, it can be compared with a fixed bound.
"""

import math
from collections.abc import Mapping

from memctl.retrieve.candidates import SearchResult
from memctl.retrieve.fts_terms import LIGHT
from memctl.text import query as queries

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
