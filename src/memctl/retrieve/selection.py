"""Which ranked items a block is made of: repeats dropped, those first that add most. `text.block.packing` fits them."""

import os
from collections.abc import Callable, Mapping, Sequence

from memctl.retrieve.ranking import SearchResult
from memctl.retrieve.repeats import BlockTexts
from memctl.store.database import Database
from memctl.store.documents import mounts
from memctl.store.documents.passages import SourcePosition
from memctl.store.items import items as stored
from memctl.text import CHARS_PER_TOKEN
from memctl.text.block import packing
from memctl.text.block.excerpt import Weighed, cost, stems
from memctl.text.block.frames import Compact, Frame
from memctl.text.block.packing import Block, BlockEntry, display_path
from memctl.text.clean import one_line
from memctl.text.query import Query
from memctl.types import MemoryItem

#: The room is looked through this many times: what is cut leaves some of it to others.
RESERVE = 2.0
#: How much of what a passage is worth depends on the words of the question that it holds and others do not yet.
NEW = 0.3
#: What a passage keeps of its worth for each one of its source that is there already.
SAME_SOURCE = 0.9
#: Statements of at most this many lines are alike when they have this share of their words in common.
STATEMENT_LINES = 3
ALIKE = 0.6
#: A path outside of mounts and of the current folder is shown by its last NAMES names, never whole.
NAMES = 2
#: Characters of a day, and of a mount's name.
_DAY, _NAME = 10, 60


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
        scores: Mapping[str, float] | None = None, labels: "Labels | None" = None, cwd: str = "",
    ) -> None:  # fmt: skip
        self.items, self.places, self.words = items, places, words
        self.scores, self.labels, self.cwd = scores or {}, labels, cwd


def weigh_words(result: SearchResult) -> Weighed:
    """Stems of the question with what each weighs: how rare the word is among the items that are read."""
    terms = [term for term in (*result.terms, *result.rest) if term.whole]
    return {term.root: result.idf(term) for term in terms} or stems(result.query)


def pack(
    items: Sequence[MemoryItem], places: Mapping[str, SourcePosition], query: Query, budget: int, *,
    frame: Frame | None = None, cwd: str = "",
) -> Block:  # fmt: skip
    """The block for items in rank order that are alike; `cwd` shortens paths below it."""
    return build_block(Ranked(items, places, stems(query), cwd=cwd), frame or Compact(), budget)


def build_block(ranked: Ranked, frame: Frame, budget: int) -> Block:
    """The block for what was found, within a budget of tokens."""
    return packing.build(choose_passages(ranked, budget), frame, budget, ranked.words)


def choose_passages(ranked: Ranked, budget: int, *, whole: bool = False) -> list[BlockEntry]:
    """What a block within this budget of tokens chooses from, in the order in which it gives room.

    Repeats are dropped. What ranks first stands first; then comes whatever adds most to those before it. Looking ends
    when there is more than can find room; with `whole` it does not, for a caller who has some already.
    """
    room = budget * CHARS_PER_TOKEN
    texts = BlockTexts()
    found: list[tuple[MemoryItem, BlockEntry]] = []
    taken = 0
    for item in ranked.items:
        passage = packing.block_entry(item, ranked.places.get(item.id), ranked.cwd)
        if texts.repeats("\n".join(passage.lines) or passage.title):
            continue
        found.append((item, passage if ranked.labels is None else ranked.labels.put(passage, item)))
        taken += min(cost(passage.lines), packing.SHARE, int(room * packing.FAIR_SHARE))  # the least that it will get
        if taken > RESERVE * room and not whole:
            break
    order = _order_by_gain(ranked, [item for item, _ in found])
    return _put_newer_first([found[at][1] for at in order])


def _order_by_gain(ranked: Ranked, items: Sequence[MemoryItem]) -> list[int]:
    """The first of the items, then whichever is worth most beside those before it.

    What it is worth is its score, less for words of the question that others hold already, the rarer the more, and for
    each other passage of its source: its document, while a statement is a source of its own, as a turn is.
    """
    words = ranked.words if isinstance(ranked.words, Mapping) else dict.fromkeys(ranked.words, 1.0)
    every = sum(words.values()) or 1.0
    texts = [f"{item.title}\n{item.content}".lower() for item in items]
    held = [[word for word in words if word in text] for text in texts]
    named = [item.provenance.source_id if item.provenance.source_kind == "doc" else "" for item in items]
    source = [name or item.id for name, item in zip(named, items, strict=True)]
    times: dict[str, int] = {}
    taken: dict[str, int] = {}
    left, order = list(range(len(items))), list[int]()
    best = max((ranked.scores.get(item.id, 1.0) for item in items), default=1.0) or 1.0

    def gain(at: int) -> float:
        new = sum(words[word] / (1 + times.get(word, 0)) for word in held[at]) / every
        kept = SAME_SOURCE ** taken.get(source[at], 0)
        return ranked.scores.get(items[at].id, 1.0) / best * (1 - NEW + NEW * new) * kept

    while left:
        at = max(left, key=lambda at: (gain(at), -at)) if order else left[0]
        left.remove(at)
        order.append(at)
        for word in held[at]:
            times[word] = times.get(word, 0) + 1
        taken[source[at]] = taken.get(source[at], 0) + 1
    return order


def _put_newer_first(passages: list[BlockEntry]) -> list[BlockEntry]:
    """The same, but of statements that are alike the newer one stands in the better place."""
    words: dict[int, set[str]] = {}
    for at, p in enumerate(passages):
        if p.date and not p.chunk:
            short = len(p.lines) <= STATEMENT_LINES
            words[at] = set(" ".join((p.heading, *p.lines)).casefold().split()) if short else set()
    out = list(passages)
    while words:
        first, mine = next(iter(words.items()))
        alike = [at for at, its in words.items() if len(mine & its) >= ALIKE * max(len(mine), len(its), 1)] or [first]
        newest = sorted(alike, key=lambda at: passages[at].moment, reverse=True)
        for place, at in zip(alike, newest, strict=True):
            out[place] = passages[at]
            del words[place]
    return out


# --- what a compact block says around a passage -----------------------------------------------------------------


class Labels:
    """Short ids, paths as seen from their mounts, days, and what replaced what.

    handles   item id -> the id as it is shown
    replaced  item id -> what is said of the items that it replaced or that replaced it
    near      paths below `cwd` are shown as seen from there, wherever their mount is: for answers that people read
    """

    __slots__ = ("cwd", "handles", "near", "replaced", "roots")

    def __init__(
        self, handles: Mapping[str, str], replaced: Mapping[str, tuple[str, ...]], roots: Sequence[tuple[str, str]],
        cwd: str, *, near: bool,
    ) -> None:  # fmt: skip
        self.handles, self.replaced, self.cwd, self.near = handles, replaced, cwd, near
        self.roots = sorted(roots, key=lambda root: len(root[0]), reverse=True)

    def show_path(self, path: str) -> str:
        """A path as seen from its mount, else from the current folder; never an absolute one.

        Where there are several mounts, the mount's name stands before it.
        """
        shown = display_path(path, self.cwd)
        if self.near and not shown.startswith("/"):
            return shown
        for root, name in self.roots:
            if path.startswith(root):
                inside = path[len(root) :]
                return one_line(f"{name}/{inside}" if len(self.roots) > 1 else inside)
        return "/".join(shown.split("/")[-NAMES:]) if shown.startswith("/") else shown

    def put(self, p: BlockEntry, item: MemoryItem) -> BlockEntry:
        """The passage with what is said around it."""
        source = item.provenance.source_id
        return p._replace(
            path=self.show_path(source) if p.path and source else p.path,
            handle=self.handles.get(item.id, p.handle),
            facts=() if p.path else self.replaced.get(item.id, ()),
        )


def read_labels(
    db: Database, items: Sequence[MemoryItem], cwd: str, *, near: bool = False,
    name: Callable[[str], str] | None = None,
) -> Labels:  # fmt: skip
    """What is to be said around these items; `name` gives an id as a redacted view shows it."""
    ids = [item.id for item in items]
    statements = [item for item in items if item.provenance.source_kind != "doc"]
    old: Mapping[str, list[tuple[str, str]]] = {}
    if statements:  # most blocks are of documents alone
        from memctl.store.items import attributes

        old = attributes.superseded_by_each(db, [item.id for item in statements])
    new = {item.id: item.superseded_by for item in statements if item.superseded_by}
    handles = stored.shorten_ids(db, {*ids, *new.values(), *(found[0] for many in old.values() for found in many)})
    if name is not None:
        handles = {item_id: name(item_id) if name(item_id) != item_id else short for item_id, short in handles.items()}
    said: dict[str, tuple[str, ...]] = {}
    for item_id, many in old.items():
        said[item_id] = tuple(f"replaces {handles[i]}" + (f" of {day[:_DAY]}" if day else "") for i, day in many)
    for item_id, newer in new.items():
        said[item_id] = (*said.get(item_id, ()), f"replaced by {handles[newer]}")
    roots = []
    for mount in mounts.list_mounts(db):
        path = os.path.join(str(mount["path"] or ""), "")
        roots.append((path, one_line(mount["name"] or os.path.basename(path.rstrip("/")), _NAME)))
    return Labels(handles, said, roots, cwd, near=near)
