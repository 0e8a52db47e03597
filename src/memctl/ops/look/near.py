"""What hangs together: memctl related, similar and graph, and the tools of the same names."""

from collections import Counter
from collections.abc import Iterator

from memctl.annotations import Annotated, Any, Literal
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import Passages, ReadRequest, Source
from memctl.reading.request import passages_hint, read_filters, said_where
from memctl.reading.selection import named_item
from memctl.text.clean import one_line
from memctl.types import MemoryItem

#: Characters of an item that are looked for, and of a title that a person sees.
_ASKED, _TITLE = 600, 80
#: Candidates that are compared with the item, and the least that two have in common to be similar.
_COMPARED, _LEAST = 60, 0.25
#: Of what is near in time or place, this many are listed.
_NEAR = 5

_Id = Annotated[str, Arg("the item's id, whole or shortened", metavar="MEM-ID", mcp_help="the memory's id")]
_Limit = Annotated[int, Arg("list this many at most", "-n", "--limit", aliases=("-k",), ge=1, le=100)]
_Everywhere = Annotated[bool, Arg("of every scope, not only of the item's and of global", "--all-scopes")]


@operation(
    access=READ,
    tool="memory_similar",
    about="List memories that say much the same as one, the most similar first.",
    answer={"id": "string", "items": "array", "total": "integer"},
    examples=("memctl similar MEM-a3185eaf3928", "memctl similar a3185e -n 20 --json | jq -r '.items[].id'"),
    exits={1: "there is no such item"},
)
def similar(ctx: Context, id: _Id, *, limit: _Limit = 5, all_scopes: _Everywhere = False) -> PlainResult:
    """List items that say much the same.

    A line each: how similar it is (0 to 1, by words and their order), its id and its title. Looked for by the item's
    rarest words, and by meaning where an embedder is set.
    """
    item = named_item(ctx, id, "similar")
    rows = [
        {"id": one.id, "score": score, "title": _called(one), "type": one.type, "tier": one.tier}
        for one, score in similar_items(ctx, item, limit, all_scopes=all_scopes)
    ]
    if not rows:
        ctx.note("[similar] None.")
    lines = [f"{row['score']:.2f}  {row['id']}  {one_line(str(row['title']), _TITLE)}" for row in rows]
    return PlainResult({"status": "ok", "id": item.id, "total": len(rows), "truncated": False, "items": rows}, lines)


@operation(
    access=READ,
    tool="memory_related",
    about="List what a memory hangs together with: its links, then what is near in text, time and place.",
    answer={"id": "string", "related": "array", "total": "integer"},
    examples=("memctl related MEM-a3185eaf3928", "memctl related a3185e --all-scopes"),
    exits={1: "there is no such item"},
)
def related(ctx: Context, id: _Id, *, all_scopes: _Everywhere = False) -> PlainResult:
    """List what an item hangs together with.

    First its links, then what says much the same (near_text), statements made within a day of it (near_time), and what
    stands in the same place (near_place): the passages that it cites, those before and behind it in its document, and
    statements that cite the same document. Each item is listed once.
    """
    from memctl import citing
    from memctl.ops.change.links import link_rows, shown_items
    from memctl.store.items import items

    item = named_item(ctx, id, "related")
    rows: list[dict[str, Any]] = [
        {key: row[key] for key in ("relation", "direction", "id", "title")} for row in link_rows(ctx, item)
    ]
    seen = {item.id, *(row["id"] for row in rows)}
    text = [one for one, _ in similar_items(ctx, item, _NEAR, all_scopes=all_scopes)]
    filters = read_filters(ctx, ReadRequest(scope=item.scope, all_scopes=all_scopes), "related")
    # Passages that the item cites or stands between, then statements that cite the same documents.
    placed = items.get_many(ctx.db, citing.in_same_place(ctx.db, item))
    scopes = {item.scope for item in placed} if filters.scopes is None else filters.scopes
    said = filters.replace(injectable=True, origin="statements")
    for relation, found in (
        ("near_text", text),
        ("near_place", [one for one in placed if one.injectable and not one.archived and one.scope in scopes]),
        ("near_time", items.nearest_in_time(ctx.db, said, item.created_at, 4 * _NEAR)),
    ):
        new = [one for one in found if one.id not in seen][:_NEAR]
        shown = shown_items(ctx, new, "related")
        rows += [{"relation": relation, "direction": "", "id": i, "title": _called(one)} for i, one in shown.items()]
        seen.update(one.id for one in new)
    if not rows:
        ctx.note("[related] Nothing.")
    lines = [
        f"{ {'out': '->', 'in': '<-'}.get(row['direction'], '  ') } {row['relation']:<12} {row['id']}  "
        f"{one_line(row['title'], _TITLE)}".rstrip()
        for row in rows
    ]
    return PlainResult({"status": "ok", "id": item.id, "total": len(rows), "truncated": False, "related": rows}, lines)


def _called(item: MemoryItem) -> str:
    """The title of an item, or its beginning."""
    return item.title or one_line(item.content, _TITLE)


def similar_items(ctx: Context, item: MemoryItem, limit: int, *, all_scopes: bool) -> list[tuple[MemoryItem, float]]:
    """The items that are most similar to one, with how similar they are; what policy holds back is not among them."""
    from memctl.ops.change.links import shown_items
    from memctl.reading.request import Retriever
    from memctl.store.items import items as stored
    from memctl.text.similarity import similarity

    retriever = Retriever(ctx, ReadRequest(scope=item.scope, all_scopes=all_scopes), "similar", injectable=True)
    asked = f"{item.title} {item.content}"[:_ASKED]
    found = retriever.find(asked, _COMPARED)
    known = stored.get_many(ctx.db, [one.id for one in found.candidates if one.id != item.id])
    shown = shown_items(ctx, known, "similar")
    scored = [(one, round(similarity(item.content[:_ASKED], one.content[:_ASKED]), 3)) for one in shown.values()]
    if retriever.meaning is None:
        scored = sorted((pair for pair in scored if pair[1] >= _LEAST), key=lambda pair: (-pair[1], pair[0].id))
    return scored[:limit]


# --- the graph --------------------------------------------------------------------------------------------------------


Format = Literal["lines", "json", "graphml", "dot", "mermaid"]
EdgeKind = Literal[
    "contains", "adjacent", "mentions", "similar", "cites", "extracted_from", "same_rule", "evolved_from", "supersedes",
    "contradicts", "supports", "refines", "derived_from", "depends_on", "references", "related_to",
]  # fmt: skip
#: Similar items that are looked for, of the item that was named.
_GRAPH_NEAR = 10


@operation(
    access=READ,
    tool="memory_graph",
    about="Show what hangs together, as nodes and edges: memories, their links, the documents that they cite, and what "
    "they name; near one memory, or of the newest.",
    answer={"nodes": "array", "edges": "array", "truncated": "boolean"},
    examples=(
        "memctl graph --around MEM-a3185eaf3928",
        "memctl graph --around a3185e --depth 3 --format dot | dot -Tsvg > graph.svg",
        "memctl graph --format graphml > graph.graphml",
        "memctl graph --kind cites,supersedes --json | jq -r '.edges[].dst'",
    ),
    exits={1: "there is no such item"},
)
def graph(
    ctx: Context,
    *,
    around: Annotated[str | None, Arg("what is near this item", "--around", metavar="MEM-ID")] = None,
    depth: Annotated[int, Arg("at most so many edges away from it", "--depth", ge=1, le=6)] = 2,
    format: Annotated[Format, Arg("a line an edge, or for another program", "--format", mcp=False)] = "lines",
    kind: Annotated[list[EdgeKind] | None, Arg("only these edges", "--kind", metavar="KIND", comma=True)] = None,
    request: Annotated[
        ReadRequest, Fields("scope all_scopes workspace type tags since until archived source passages limit")
    ],
    source: Source = None,
    passages: Passages = False,
    limit: Annotated[int, Arg("at most so many nodes, or the newest items", "-n", "--limit", aliases=("-k",), ge=1,
                              le=100_000)] = 100,
) -> PlainResult:  # fmt: skip
    """Show what hangs together, as a graph.

    Its nodes are items, the documents that they are from or cite, and what they name (`memctl entities`). Its edges are
    contains, adjacent (passages), mentions, similar, cites, extracted_from, same_rule and evolved_from, and the links
    that somebody made. It is made anew each time, and is not stored. With --around it is what is near one item, in its
    scope too; without, the newest items, with what at least two of them name. What models may not see is left out.

    A line each: the node, the edge, the other node. GraphML is read by yEd and Gephi, DOT by Graphviz, Mermaid by
    Markdown viewers.
    """
    from memctl.reading.graph import GraphBuilder

    filters = read_filters(ctx, request, "graph", injectable=True)
    if around is None:
        filters = said_where(ctx, filters, source, passages=passages)
        found = GraphBuilder(ctx, filters, limit, kind).newest()
    else:
        item = named_item(ctx, around, "graph")
        near = similar_items(ctx, item, _GRAPH_NEAR, all_scopes=request.all_scopes)
        if filters.scopes is not None:
            filters = filters.replace(scopes=tuple(dict.fromkeys((*filters.scopes, item.scope))))
        filters = said_where(ctx, filters, source, passages=True)
        found = GraphBuilder(ctx, filters, limit).around(item, [(one.id, share) for one, share in near], depth)
    edges = [edge for edge in found.edges if kind is None or edge["kind"] in kind]
    ends = {edge[end] for edge in edges for end in ("src", "dst")} if kind else set()
    nodes = [node for node in found.nodes if kind is None or node["id"] in ends]
    if found.truncated:
        ctx.note(f"[graph] {limit} nodes and not all; -n {min(10 * limit, 100_000)} shows more")
    elif not edges:
        ctx.note(f"[graph] No edges.{passages_hint(ctx, filters)}")
    data: dict[str, Any] = {
        "status": "ok", "total": len(nodes), "truncated": found.truncated,
        "counts": dict(sorted(Counter(edge["kind"] for edge in edges).items())), "nodes": nodes, "edges": edges,
    }  # fmt: skip
    return PlainResult(data, _graph_lines(format, data), verbatim=format != "lines")


def _graph_lines(format: Format, data: dict[str, Any]) -> Iterator[str]:
    """The graph in one of the formats."""
    nodes, edges = data["nodes"], data["edges"]
    if format == "json":
        import json

        encode = json.JSONEncoder(ensure_ascii=False).encode
        lists = {"nodes": nodes, "edges": edges}
        yield encode({key: value for key, value in data.items() if key not in lists})[:-1] + ","
        for name, rows in lists.items():
            yield f'"{name}": ['
            yield from (encode(row) + "," for row in rows[:-1])
            yield from map(encode, rows[-1:])
            yield "]," if name == "nodes" else "]}"
    elif format != "lines":
        from memctl.reading import graph as formats

        yield from getattr(formats, f"to_{format}")(nodes, edges)
    else:
        labels = {node["id"]: node["label"] for node in nodes if node["kind"] in ("item", "passage")}
        for edge in edges:
            yield f"{edge['src']}  {edge['kind']}  {edge['dst']}  {labels.get(edge['dst'], '')}".rstrip()
