"""The graph: what hangs together, for people and for the programs that draw it."""

from collections import Counter
from collections.abc import Iterator

from memctl.annotations import Annotated, Any, Literal
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import Passages, ReadRequest, Source
from memctl.reading.request import passages_hint, read_filters, said_where

Format = Literal["lines", "json", "graphml", "dot", "mermaid"]
EdgeKind = Literal[
    "contains", "adjacent", "mentions", "similar", "cites", "extracted_from", "same_rule", "evolved_from", "supersedes",
    "contradicts", "supports", "refines", "derived_from", "depends_on", "references", "related_to",
]  # fmt: skip
#: Similar items that are looked for, of the item that was named.
_NEAR = 10


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
    from memctl.ops.look.near import similar_items
    from memctl.reading.graph import GraphBuilder
    from memctl.reading.selection import named_item

    filters = read_filters(ctx, request, "graph", injectable=True)
    if around is None:
        filters = said_where(ctx, filters, source, passages=passages)
        found = GraphBuilder(ctx, filters, limit, kind).newest()
    else:
        item = named_item(ctx, around, "graph")
        near = similar_items(ctx, item, _NEAR, all_scopes=request.all_scopes)
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
    return PlainResult(data, _lines(format, data), verbatim=format != "lines")


def _lines(format: Format, data: dict[str, Any]) -> Iterator[str]:
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
        from memctl.text import graph_formats

        yield from getattr(graph_formats, f"to_{format}")(nodes, edges)
    else:
        labels = {node["id"]: node["label"] for node in nodes if node["kind"] in ("item", "passage")}
        for edge in edges:
            yield f"{edge['src']}  {edge['kind']}  {edge['dst']}  {labels.get(edge['dst'], '')}".rstrip()
