"""What hangs together: items, their documents and what they name, as a graph that is made anew each time.

Computed are contains (a document and its passages), adjacent (a passage and the next one), mentions (an item and what
it names), similar, cites, extracted_from, same_rule and evolved_from; the links that somebody made stand beside them.
Of a large store it is a part: what is near one item, or the newest items. It is written as GraphML, DOT (Graphviz) and
Mermaid; whatever its labels say, it stays one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice, pairwise

from memctl.annotations import Any, NamedTuple
from memctl.context import Context
from memctl.reading import delivery
from memctl.store.documents import corpus
from memctl.store.filters import Filters
from memctl.store.items import attributes, citations, items, overview
from memctl.store.search.words import items_with_phrase
from memctl.text.clean import one_line
from memctl.text.named import LOOKED_AT, NAME_CHARS, NamedThings
from memctl.text.similarity import PieceWords, SharedKeys
from memctl.types import MemoryItem, MemoryProvenance

#: Nodes that one document or entity leads to.
_FAN = 20
#: Items that are looked at for one that is shown: what models may not see is left out.
_READ = 2
#: Items that are read at a time.
_BATCH = 2000
_LABEL = 80
#: Two items are similar that share two of their rarest words, and this share of all their words, at
#: most of the first LOOKED_AT characters.
_ALIKE, _RAREST, _COMPARED = 0.5, 4, 16
_DOCUMENT, _ENTITY = "doc:", "entity:"


class KnownItem(NamedTuple):
    """What is kept of an item that a model may be given, and not its text.

    node    as it is drawn: id, kind, label, type
    words   its words, each once
    named   the entities that it names, as nodes
    source  where it stands or what it was made from
    rule    the rule that it holds
    """

    node: dict[str, str]
    words: tuple[str, ...]
    named: list[str]
    source: MemoryProvenance
    rule: str | None


class Graph(NamedTuple):
    """Nodes (id, kind, label, type) in the order in which they were reached, and the edges between them (src, dst,
    kind, and the weight, 0 to 1) in the order of their ends.

    The kind of a node is item, passage, document or entity; the type is that of an item, or the kind of an entity.
    """

    nodes: list[dict[str, str]]
    edges: list[dict[str, Any]]
    truncated: bool


class GraphBuilder:
    """Reads what hangs together out of the store, node by node; only items that a model may be given are in it.

    kinds  the edges that are wanted of the newest items; None: all
    """

    def __init__(self, ctx: Context, filters: Filters, limit: int, kinds: Collection[str] | None = None) -> None:
        self.ctx, self.db, self.filters, self.limit = ctx, ctx.db, filters, limit
        self.kinds = kinds
        self.items: dict[str, KnownItem] = {}
        self.edges: dict[tuple[str, str, str], float] = {}
        self._things, self._words = NamedThings(), PieceWords()

    def around(self, item: MemoryItem, near: Iterable[tuple[str, float]], depth: int) -> Graph:
        """What is at most `depth` edges away from an item; `near` are similar ones, with how similar they are."""
        self._learn(overview.outlines_of(self.db, [item.id]))
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
        self._of_items([one for one in frontier if one in self.items])
        return self._graph(seen, truncated=truncated)

    def newest(self) -> Graph:
        """The newest items, with their documents and what at least two of them name."""
        found = overview.iterate_outlines(self.db, self.filters)
        self._learn(islice(found, self.limit))
        truncated = next(found, None) is not None
        self._of_items(self.items)
        mentioned = Counter(dst for _, dst, kind in self.edges if kind == "mentions")
        seen = dict.fromkeys(self.items)
        for edge in self.edges:
            seen.update((end, None) for end in edge[:2] if end.startswith(_DOCUMENT) or mentioned[end] > 1)
        return self._graph(seen, truncated=truncated)

    # --- from nodes to edges ---------------------------------------------------------------------------------------

    def _load(self, ids: Iterable[str]) -> None:
        """Read those of these items that pass the filters, and that a model may be given."""
        wanted = [one for one in ids if one not in self.items and not _is_other(one)]
        self._learn(overview.outlines_of(self.db, overview.passing_ids(self.db, self.filters, wanted)))

    def _learn(self, found: Iterable[overview.ItemOutline]) -> None:
        """Keep what the graph needs of those of these items that a model may be given."""
        doubtful: list[str] = []
        rows = iter(found)
        while some := list(islice(rows, _BATCH)):
            unsure = delivery.doubtful_ids(self.ctx, some)
            doubtful += [item.id for item in some if item.id in unsure]
            self.items.update((item.id, self._known(item)) for item in some)
        free = delivery.items_for_models(self.ctx, items.get_many(self.db, doubtful), "graph") if doubtful else {}
        for one in doubtful:
            if one in free:
                self.items[one] = self._known(free[one])
            else:
                del self.items[one]

    def _known(self, item: overview.ItemOutline | MemoryItem) -> KnownItem:
        source, text = item.provenance, item.content[:LOOKED_AT]
        pieces = text.split()
        named: list[str] = []
        words: tuple[str, ...] = ()
        if self._wants("mentions"):  # no days: what happened on one day, the timeline says
            named = [f"{_ENTITY}{kind}:{name}" for kind, name in self._things.in_words(pieces, text) if kind != "date"]
            if given := item.entities:
                named = list(dict.fromkeys((*named, *(f"{_ENTITY}name:{one[:NAME_CHARS]}" for one in given if one))))
        if self._wants("similar"):
            words = tuple(self._words.of(pieces))
        kind = "passage" if source is not overview.ELSEWHERE and source.is_passage else "item"
        node = {"id": item.id, "kind": kind, "label": one_line(item.title or text, _LABEL), "type": item.type}
        return KnownItem(node, words, named, source, item.rule_id)

    def _wants(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds

    def _add(self, src: str, dst: str, kind: str, weight: float = 1.0) -> None:
        if src != dst:
            self.edges.setdefault((src, dst, kind), weight)

    def _expand(self, nodes: Sequence[str]) -> None:
        """Find the edges of these nodes."""
        self._of_items([one for one in nodes if one in self.items])
        paths = [one.removeprefix(_DOCUMENT) for one in nodes if one.startswith(_DOCUMENT)]
        for path, file in corpus.get_files(self.db, paths).items():
            for item_id in file.item_ids[:_FAN]:
                self._add(_DOCUMENT + path, item_id, "contains")
        for row in citations.at_paths(self.db, paths)[: _FAN * len(paths)]:
            self._add(row.item_id, _DOCUMENT + row.path, "cites")
        for node in nodes:
            if node.startswith(_ENTITY) and node not in self.items:
                found = items_with_phrase(self.db, node.split(":", 2)[2], _FAN)
                self._load(found)
                for item_id in found:
                    if item_id in self.items and node in self.items[item_id].named:
                        self._add(item_id, node, "mentions")

    def _of_items(self, ids: Collection[str]) -> None:
        """Find the edges of these items, the surest first."""
        for link in attributes.links_of_items(self.db, ids):
            if not (_is_other(link.src_id) or _is_other(link.dst_id)):  # its ends are items, whatever they say
                self._add(link.src_id, link.dst_id, link.rel)
        cited = {one: [row.path for row in rows if row.path] for one, rows in citations.of_items(self.db, ids).items()}
        for item_id, paths in cited.items():
            for path in paths:
                self._add(item_id, _DOCUMENT + path, "cites")
        some = [(one, self.items[one]) for one in ids]
        self._of_passages([(one, item.source.source_id) for one, item in some if item.node["kind"] == "passage"])
        for one, item in some:
            for source in item.source.chunk_ids if item.node["kind"] == "item" else ():
                if source.startswith("MEM-"):
                    self._add(one, source, "extracted_from")
        self._of_rules({item.rule for _, item in some if item.rule})
        for one, item in some:
            paths = cited.get(one, [])
            for node in item.named:
                if not any(f"/{path}".endswith(f"/{node.split(':', 2)[2]}") for path in paths):
                    self._add(one, node, "mentions")

    def _of_passages(self, places: Sequence[tuple[str, str]]) -> None:
        """Between passages, each with its document, and what stands beside them."""
        files = corpus.get_files(self.db, dict.fromkeys(path for _, path in places))
        order = {path: {one: at for at, one in enumerate(file.item_ids)} for path, file in files.items()}
        for item_id, path in places:
            self._add(_DOCUMENT + path, item_id, "contains")
            at = order.get(path, {}).get(item_id, -1)
            held = files[path].item_ids if at >= 0 else ()
            if at > 0:
                self._add(held[at - 1], item_id, "adjacent")
            if 0 <= at < len(held) - 1:
                self._add(item_id, held[at + 1], "adjacent")

    def _of_rules(self, rules: set[str]) -> None:
        """Between items that hold one rule: with the same words, or a newer wording of it."""
        by_rule: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for rule, item_id, content_hash in overview.items_of_rules(self.db, rules):
            by_rule[rule].append((item_id, content_hash))
        for held in by_rule.values():
            for (old, before), (new, after) in pairwise(held):
                self._add(new, old, *(("same_rule", 1.0) if before == after else ("evolved_from", 0.8)))

    # --- what comes of it ------------------------------------------------------------------------------------------

    def _graph(self, seen: Mapping[str, None], *, truncated: bool) -> Graph:
        for a, b, share in self._similar([one for one in seen if one in self.items]):
            if (b, a, "similar") not in self.edges:
                self._add(a, b, "similar", share)
        edges = [
            {"src": src, "dst": dst, "kind": kind, "weight": weight}
            for (src, dst, kind), weight in sorted(self.edges.items())
            if src in seen and dst in seen
        ]
        return Graph([self.items[one].node if one in self.items else _other(one) for one in seen], edges, truncated)

    def _similar(self, some: Sequence[str]) -> Iterator[tuple[str, str, float]]:
        """Pairs of items that say much the same, with the share of words that they have in common.

        Compared are those that share two of their rarest words, so that the cost grows as their number does.
        """
        words = [self.items[one].words for one in some]
        counts = Counter(chain.from_iterable(words))
        order = sorted((count, word) for word, count in counts.items() if count > 1)
        ranks = {word: rank for rank, (_, word) in enumerate(order, 1)}
        sharing = SharedKeys(_COMPARED)
        for at, held in enumerate(words):
            rarest = sorted(filter(None, map(ranks.get, held)))[:_RAREST]
            for other in sharing.add(at, [a * len(ranks) + b for a, b in combinations(rarest, 2)]):
                common = len(set(held).intersection(words[other]))
                share = common / (len(held) + len(words[other]) - common)
                if share >= _ALIKE:
                    yield some[other], some[at], round(share, 3)


def _other(node: str) -> dict[str, str]:
    """A document or an entity, as it is drawn."""
    if node.startswith(_DOCUMENT):
        return {"id": node, "kind": "document", "label": one_line(node.rpartition("/")[2], _LABEL), "type": ""}
    _, kind, name = node.split(":", 2)
    return {"id": node, "kind": "entity", "label": one_line(name, NAME_CHARS), "type": kind}


def _is_other(node: str) -> bool:
    """Whether a node is no item."""
    return node.startswith((_DOCUMENT, _ENTITY))


# --- in the formats of other programs --------------------------------------------------------------------------------

#: Nodes are mappings with id, kind, label and type; edges with src, dst, kind and weight.
Rows = Sequence[Mapping[str, Any]]
#: Characters that XML has no way to say.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: How Graphviz and Mermaid draw the kinds of nodes.
_DOT_SHAPES = {"item": "box", "passage": "note", "document": "folder", "entity": "ellipse"}
_MERMAID_SHAPES = {"passage": ("[[", "]]"), "document": ("[(", ")]"), "entity": ("([", "])")}


def to_graphml(nodes: Rows, edges: Rows) -> Iterator[str]:
    """The lines of a GraphML document."""
    from xml.sax.saxutils import escape, quoteattr

    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for where, names in (("node", ("kind", "label", "type")), ("edge", ("kind", "weight"))):
        for name in names:
            kind = "double" if name == "weight" else "string"
            yield f'  <key id="{where}-{name}" for="{where}" attr.name="{name}" attr.type="{kind}" />'
    yield '  <graph id="memory" edgedefault="directed">'
    for node in nodes:
        yield f"    <node id={quoteattr(_xml(node['id']))}>"
        for name in ("kind", "label", "type"):
            yield f'      <data key="node-{name}">{escape(_xml(node[name]))}</data>'
        yield "    </node>"
    for edge in edges:
        yield f"    <edge source={quoteattr(_xml(edge['src']))} target={quoteattr(_xml(edge['dst']))}>"
        yield f'      <data key="edge-kind">{escape(_xml(edge["kind"]))}</data>'
        yield f'      <data key="edge-weight">{edge["weight"]}</data>'
        yield "    </edge>"
    yield "  </graph>"
    yield "</graphml>"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def to_dot(nodes: Rows, edges: Rows) -> Iterator[str]:
    """The lines of a directed graph for Graphviz."""
    yield "digraph memory {"
    yield "  rankdir=LR;"
    for node in nodes:
        yield f"  {_dot(node['id'])} [label={_dot(node['label'])}, shape={_DOT_SHAPES[node['kind']]}];"
    for edge in edges:
        yield f"  {_dot(edge['src'])} -> {_dot(edge['dst'])} [label={_dot(edge['kind'])}];"
    yield "}"


def _dot(text: str) -> str:
    """A quoted string: only its quotes and backslashes mean something in it; NUL would end the file."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\ufffd")
    return '"' + " ".join(plain.splitlines()) + '"'


def to_mermaid(nodes: Rows, edges: Rows) -> Iterator[str]:
    """The lines of a Mermaid flowchart; nodes are numbered, because an id may not hold every character."""
    numbers = {node["id"]: f"n{at}" for at, node in enumerate(nodes)}
    yield "flowchart LR"
    for node in nodes:
        before, behind = _MERMAID_SHAPES.get(node["kind"], ("[", "]"))
        yield f'  {numbers[node["id"]]}{before}"{_mermaid(node["label"])}"{behind}'
    for edge in edges:
        yield f'  {numbers[edge["src"]]} -- "{_mermaid(edge["kind"])}" --> {numbers[edge["dst"]]}'


def _mermaid(text: str) -> str:
    """A label in which no character means anything: all but letters, digits, blanks and a few marks are numbers."""
    return "".join(c if c.isalnum() or c in " .,:/_-" else f"#{ord(c)};" for c in text) or "#32;"
