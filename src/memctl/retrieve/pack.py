"""From ranked items to a block: repeats dropped, those first that add most, packed into a budget of tokens."""

from collections.abc import Mapping, Sequence

from memctl.retrieve import repeats
from memctl.retrieve.find import Found
from memctl.retrieve.labels import Labels
from memctl.store.documents.passages import SourcePosition
from memctl.text.block import block
from memctl.text.block.block import Block, BlockEntry
from memctl.text.block.excerpt import Weighed, cost, stems
from memctl.text.block.frames import Compact, Frame
from memctl.text.query import Query
from memctl.text.tokens import CHARS_PER_TOKEN
from memctl.types import MemoryItem

#: So many times the room is looked through: what is cut leaves some of it to others.
RESERVE = 2.0
#: How much of what a passage is worth depends on the words of the question that it holds and others do not yet.
NEW = 0.3
#: What a passage keeps of its worth for each one of its source that is there already.
SAME_SOURCE = 0.9
#: Statements of at most so many lines are alike when they have this share of their words in common.
STATEMENT_LINES = 3
ALIKE = 0.6


class Ranked:
    """What a block is made of.

    items, places  in rank order, and where they stand
    scores         item id -> score; none: the items are alike
    words          stems of the question with what each weighs
    labels         what is said around them; None where a frame says nothing of it
    """

    __slots__ = ("cwd", "items", "labels", "places", "scores", "words")

    def __init__(
        self, items: Sequence[MemoryItem], places: Mapping[str, SourcePosition], words: Weighed, *,
        scores: Mapping[str, float] | None = None, labels: Labels | None = None, cwd: str = "",
    ) -> None:  # fmt: skip
        self.items, self.places, self.words = items, places, words
        self.scores, self.labels, self.cwd = scores or {}, labels, cwd


def weigh_words(found: Found) -> Weighed:
    """Stems of the question with what each weighs: how rare the word is among the items that are read."""
    if found.ranking is None:
        return stems(found.query)
    terms = [term for term in (*found.ranking.terms, *found.ranking.rest) if term.whole]
    return {term.root: found.ranking.idf(term) for term in terms} or stems(found.query)


def pack(
    items: Sequence[MemoryItem], places: Mapping[str, SourcePosition], query: Query, budget: int, *,
    frame: Frame | None = None, cwd: str = "",
) -> Block:  # fmt: skip
    """The block for items in rank order that are alike; `cwd` shortens paths below it."""
    return build_block(Ranked(items, places, stems(query), cwd=cwd), frame or Compact(), budget)


def build_block(ranked: Ranked, frame: Frame, budget: int) -> Block:
    """The block for what was found, within a budget of tokens."""
    return block.build(passages(ranked, budget), frame, budget, ranked.words)


def passages(ranked: Ranked, budget: int, *, whole: bool = False) -> list[BlockEntry]:
    """What a block of so many tokens chooses from, in the order in which it gives room.

    Repeats are dropped. What ranks first stands first; then comes whatever adds most to those before it. Looking ends
    when there is more than can find room; with `whole` it does not, for a caller who has some already.
    """
    room = budget * CHARS_PER_TOKEN
    said = repeats.Heard()
    found: list[tuple[MemoryItem, BlockEntry]] = []
    taken = 0
    for item in ranked.items:
        passage = block.block_entry(item, ranked.places.get(item.id), ranked.cwd)
        if said.again("\n".join(passage.lines) or passage.title):
            continue
        found.append((item, passage if ranked.labels is None else ranked.labels.put(passage, item)))
        taken += min(cost(passage.lines), block.SHARE, int(room * block.FAIR_SHARE))  # the least that it will get
        if taken > RESERVE * room and not whole:
            break
    order = _by_what_they_add(ranked, [item for item, _ in found])
    return _newer_first([found[at][1] for at in order])


def _newer_first(passages: list[BlockEntry]) -> list[BlockEntry]:
    """The same, but of statements that are alike the newer one stands in the better place."""
    said = {at: _words(p) for at, p in enumerate(passages) if p.date and not p.chunk}
    out = list(passages)
    while said:
        first, words = next(iter(said.items()))
        alike = [at for at, others in said.items() if _alike(words, others)] or [first]
        newest = sorted(alike, key=lambda at: passages[at].moment, reverse=True)
        for place, at in zip(alike, newest, strict=True):
            out[place] = passages[at]
            del said[place]
    return out


def _words(p: BlockEntry) -> frozenset[str]:
    if len(p.lines) > STATEMENT_LINES:
        return frozenset()
    return frozenset(" ".join((p.heading, *p.lines)).casefold().split())


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= ALIKE * max(len(words), len(others), 1)


def _by_what_they_add(ranked: Ranked, items: Sequence[MemoryItem]) -> list[int]:
    """The first of the items, then whichever is worth most beside those before it.

    What it is worth is its score, less for words of the question that others hold already, the rarer the more, and for
    each other passage of its source.
    """
    words = ranked.words if isinstance(ranked.words, Mapping) else dict.fromkeys(ranked.words, 1.0)
    every = sum(words.values()) or 1.0
    held = [_held(words, item) for item in items]
    times: dict[str, int] = {}
    sources: dict[str, int] = {}
    left, order = list(range(len(items))), list[int]()
    best = max((ranked.scores.get(item.id, 1.0) for item in items), default=1.0) or 1.0

    def worth(at: int) -> float:
        new = sum(words[word] / (1 + times.get(word, 0)) for word in held[at]) / every
        kept = SAME_SOURCE ** sources.get(_source(items[at]), 0)
        return ranked.scores.get(items[at].id, 1.0) / best * (1 - NEW + NEW * new) * kept

    while left:
        at = max(left, key=lambda at: (worth(at), -at)) if order else left[0]
        left.remove(at)
        order.append(at)
        for word in held[at]:
            times[word] = times.get(word, 0) + 1
        sources[_source(items[at])] = sources.get(_source(items[at]), 0) + 1
    return order


def _held(words: Mapping[str, float], item: MemoryItem) -> list[str]:
    text = f"{item.title}\n{item.content}".lower()
    return [word for word in words if word in text]


def _source(item: MemoryItem) -> str:
    """What a passage shares with others of its document; a statement is a source of its own, as a turn is."""
    p = item.provenance
    return p.source_id if p.source_kind == "doc" and p.source_id else item.id
