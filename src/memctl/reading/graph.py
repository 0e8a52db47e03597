"""What hangs together: items, their documents and what they name, as a graph that is made anew each time.

Computed are contains (a document and its passages), adjacent (a passage and the next one), mentions (an item and what
it names), similar, cites, extracted_from, same_rule and evolved_from; the links that somebody made stand beside them.
Of a large store it is a part: what is near one item, or the newest items.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from memctl.annotations import NamedTuple
from memctl.context import Context
from memctl.reading import delivery
from memctl.store.documents import corpus
from memctl.store.filters import Filters
from memctl.store.items import attributes, citations, items, overview
from memctl.store.search.words import items_with_phrase
from memctl.text.clean import one_line
from memctl.text.named import NAME_CHARS, NamedThings
from memctl.types import MemoryItem

#: Nodes that one document or entity leads to.
_FAN = 20
#: Items that are looked at for one that is shown: what models may not see is left out.
_READ = 2
_LABEL = 80
#: Two items are similar that share two of their rarest words, and this share of all their words.
_ALIKE, _RAREST, _COMPARED = 0.5, 4, 16
_WORD = re.compile(r"\w+")
_DOCUMENT, _ENTITY = "doc:", "entity:"


class GraphNode(NamedTuple):
    """An item, a passage, a document or an entity; `type` is that of the item, or the kind of the entity."""

    id: str
    kind: str
    label: str
    type: str = ""


class GraphEdge(NamedTuple):
    """From one node to another; how strong it is, 0 to 1."""

    src: str
    dst: str
    kind: str
    weight: float = 1.0


class Graph(NamedTuple):
    """Nodes in the order in which they were reached, and the edges between them."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    truncated: bool


class GraphBuilder:
    """Reads what hangs together out of the store, node by node; only items that a model may be given are in it."""

    def __init__(self, ctx: Context, filters: Filters, limit: int) -> None:
        self.ctx, self.db, self.filters, self.limit = ctx, ctx.db, filters, limit
        self.items: dict[str, MemoryItem] = {}
        self.edges: dict[tuple[str, str, str], float] = {}
        self._things = NamedThings()

    def around(self, item: MemoryItem, near: Iterable[tuple[str, float]], depth: int) -> Graph:
        """What is at most `depth` edges away from an item; `near` are similar ones, with how similar they are."""
        self.items.update(delivery.items_for_models(self.ctx, [item], "graph"))
        if item.id not in self.items:
            return Graph([], [], truncated=False)
        self.edges.update({(item.id, other, "similar"): weight for other, weight in near})
        seen, frontier, truncated = {item.id: None}, [item.id], False
        for _ in range(depth):
            self._expand(frontier)
            ends = dict.fromkeys(end for edge in self.edges for end in edge[:2])
            further = [end for end in ends if end not in seen]
            self._load(further[: _READ * self.limit])  # one item may have more links than there is room for
            new = [end for end in further if end in self.items or _is_other(end)]
            truncated = truncated or len(further) > _READ * self.limit
            frontier = new[: self.limit - len(seen)]
            truncated = truncated or len(frontier) < len(new)
            seen.update(dict.fromkeys(frontier))
        self._of_items([self.items[one] for one in frontier if one in self.items])
        return self._graph(seen, truncated=truncated)

    def newest(self) -> Graph:
        """The newest items, with their documents and what at least two of them name."""
        found = items.list_items(self.db, self.filters, self.limit + 1)
        self.items.update(delivery.items_for_models(self.ctx, found[: self.limit], "graph"))
        self._of_items(list(self.items.values()))
        mentioned = Counter(dst for _, dst, kind in self.edges if kind == "mentions")
        seen = dict.fromkeys(self.items)
        for edge in self.edges:
            seen.update((end, None) for end in edge[:2] if end.startswith(_DOCUMENT) or mentioned[end] > 1)
        return self._graph(seen, truncated=len(found) > self.limit)

    # --- from nodes to edges ---------------------------------------------------------------------------------------

    def _load(self, ids: Iterable[str]) -> None:
        """Read those of these items that pass the filters, and that a model may be given."""
        wanted = [one for one in ids if one not in self.items and not _is_other(one)]
        passing = overview.passing_ids(self.db, self.filters, wanted)
        found = items.get_many(self.db, [one for one in wanted if one in passing])
        self.items.update(delivery.items_for_models(self.ctx, found, "graph"))

    def _add(self, src: str, dst: str, kind: str, weight: float = 1.0) -> None:
        if src != dst:
            self.edges.setdefault((src, dst, kind), weight)

    def _expand(self, nodes: Sequence[str]) -> None:
        """Find the edges of these nodes."""
        self._of_items([self.items[one] for one in nodes if one in self.items])
        paths = [one.removeprefix(_DOCUMENT) for one in nodes if one.startswith(_DOCUMENT)]
        for path, file in corpus.get_files(self.db, paths).items():
            for item_id in file.item_ids[:_FAN]:
                self._add(_DOCUMENT + path, item_id, "contains")
        for row in citations.at_paths(self.db, paths)[: _FAN * len(paths)]:
            self._add(row.item_id, _DOCUMENT + row.path, "cites")
        for node in nodes:
            if node.startswith(_ENTITY):
                found = items_with_phrase(self.db, node.split(":", 2)[2], _FAN)
                self._load(found)
                for item_id in found:
                    if item_id in self.items and node in self._named(self.items[item_id]):
                        self._add(item_id, node, "mentions")

    def _of_items(self, some: Sequence[MemoryItem]) -> None:
        """Find the edges of these items, the surest first."""
        for link in attributes.links_of_items(self.db, [item.id for item in some]):
            self._add(link.src_id, link.dst_id, link.rel)
        cited = citations.of_items(self.db, [item.id for item in some])
        for item_id, rows in cited.items():
            for row in rows:
                if row.path:
                    self._add(item_id, _DOCUMENT + row.path, "cites")
        self._of_passages([item for item in some if item.provenance.is_passage])
        for item in some:
            for source in item.provenance.chunk_ids if not item.provenance.is_passage else ():
                if source.startswith("MEM-"):
                    self._add(item.id, source, "extracted_from")
        self._of_rules({item.rule_id for item in some if item.rule_id})
        for item in some:
            paths = [row.path for row in cited.get(item.id, ()) if row.path]
            for node in self._named(item):
                if not any(f"/{path}".endswith(f"/{node.split(':', 2)[2]}") for path in paths):
                    self._add(item.id, node, "mentions")

    def _of_passages(self, some: Sequence[MemoryItem]) -> None:
        files = corpus.get_files(self.db, dict.fromkeys(item.provenance.source_id for item in some))
        for item in some:
            path = item.provenance.source_id
            self._add(_DOCUMENT + path, item.id, "contains")
            held = files[path].item_ids if path in files else ()
            at = held.index(item.id) if item.id in held else -1
            if at > 0:
                self._add(held[at - 1], item.id, "adjacent")
            if 0 <= at < len(held) - 1:
                self._add(item.id, held[at + 1], "adjacent")

    def _of_rules(self, rules: set[str]) -> None:
        """Between items that hold one rule: with the same words, or a newer wording of it."""
        by_rule: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for rule, item_id, content_hash in overview.items_of_rules(self.db, rules):
            by_rule[rule].append((item_id, content_hash))
        for held in by_rule.values():
            for (old, before), (new, after) in pairwise(held):
                self._add(new, old, *(("same_rule", 1.0) if before == after else ("evolved_from", 0.8)))

    def _named(self, item: MemoryItem) -> list[str]:
        """The entities that an item names, as nodes; no days: what happened on one day, the timeline says."""
        named = [(kind, name) for kind, name in self._things.of(item.content) if kind != "date"]
        named += [("name", one[:NAME_CHARS]) for one in item.entities if one]
        return list(dict.fromkeys(f"{_ENTITY}{kind}:{name}" for kind, name in named))

    # --- what comes of it ------------------------------------------------------------------------------------------

    def _graph(self, seen: Mapping[str, None], *, truncated: bool) -> Graph:
        held = [self.items[one] for one in seen if one in self.items]
        for a, b, share in _similar(held):
            if (b, a, "similar") not in self.edges:
                self._add(a, b, "similar", share)
        edges = [GraphEdge(*edge, weight) for edge, weight in self.edges.items() if edge[0] in seen and edge[1] in seen]
        return Graph([self._node(one) for one in seen], sorted(edges), truncated)

    def _node(self, node: str) -> GraphNode:
        if node.startswith(_DOCUMENT):
            return GraphNode(node, "document", one_line(node.rpartition("/")[2], _LABEL))
        if node.startswith(_ENTITY):
            _, kind, name = node.split(":", 2)
            return GraphNode(node, "entity", one_line(name, NAME_CHARS), kind)
        item = self.items[node]
        kind = "passage" if item.provenance.is_passage else "item"
        return GraphNode(node, kind, one_line(item.title or item.content, _LABEL), item.type)


def _is_other(node: str) -> bool:
    """Whether a node is no item."""
    return node.startswith((_DOCUMENT, _ENTITY))


def _similar(some: Sequence[MemoryItem]) -> Iterator[tuple[str, str, float]]:
    """Pairs of items that say much the same, with the share of words that they have in common.

    Compared are those that share two of their rarest words, so that the cost grows as their number does.
    """
    words = [frozenset(_WORD.findall(item.content.lower())) for item in some]
    counts = Counter(word for held in words for word in held)
    sharing: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, held in enumerate(words):
        shared = sorted((word for word in held if counts[word] > 1), key=lambda word: (counts[word], word))[:_RAREST]
        compared: set[int] = set()
        for key in combinations(sorted(shared), 2):
            compared.update(sharing[key][-_COMPARED:])
            sharing[key].append(at)
        for other in sorted(compared):
            share = len(held & words[other]) / len(held | words[other])
            if share >= _ALIKE:
                yield some[other].id, some[at].id, round(share, 3)
