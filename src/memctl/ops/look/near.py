"""What stands near an item: memctl related and similar, and the tools memory_related and memory_similar."""

from collections.abc import Sequence

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import READ, Arg, PlainResult, operation
from memctl.parameters import ReadRequest
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
    from memctl.ops.change.links import link_rows, shown_items

    item = named_item(ctx, id, "related")
    rows: list[dict[str, Any]] = [
        {key: row[key] for key in ("relation", "direction", "id", "title")} for row in link_rows(ctx, item)
    ]
    seen = {item.id, *(row["id"] for row in rows)}
    text = [one for one, _ in similar_items(ctx, item, _NEAR, all_scopes=all_scopes)]
    for relation, found in (
        ("near_text", text),
        ("near_place", _near_in_place(ctx, item, all_scopes=all_scopes)),
        ("near_time", _near_in_time(ctx, item, all_scopes=all_scopes)),
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


def _request(item: MemoryItem, *, all_scopes: bool) -> ReadRequest:
    return ReadRequest(scope=item.scope, all_scopes=all_scopes)


def similar_items(ctx: Context, item: MemoryItem, limit: int, *, all_scopes: bool) -> list[tuple[MemoryItem, float]]:
    """The items that are most similar to one, with how similar they are; what policy holds back is not among them."""
    from memctl.ops.change.links import shown_items
    from memctl.reading.request import Retriever
    from memctl.store.items import items as stored
    from memctl.text.similarity import similarity

    retriever = Retriever(ctx, _request(item, all_scopes=all_scopes), "similar", injectable=True)
    asked = f"{item.title} {item.content}"[:_ASKED]
    found = retriever.find(asked, _COMPARED)
    known = stored.get_many(ctx.db, [one.id for one in found.candidates if one.id != item.id])
    shown = shown_items(ctx, known, "similar")
    scored = [(one, round(similarity(item.content[:_ASKED], one.content[:_ASKED]), 3)) for one in shown.values()]
    if retriever.meaning is None:
        scored = sorted((pair for pair in scored if pair[1] >= _LEAST), key=lambda pair: (-pair[1], pair[0].id))
    return scored[:limit]


def _near_in_time(ctx: Context, item: MemoryItem, *, all_scopes: bool) -> Sequence[MemoryItem]:
    from memctl.reading.request import read_filters
    from memctl.store.items import items as stored

    filters = read_filters(ctx, _request(item, all_scopes=all_scopes), "related", injectable=True)
    found = stored.nearest_in_time(ctx.db, filters.replace(origin="statements"), item.created_at, 4 * _NEAR)
    return [one for one in found if one.id != item.id]


def _near_in_place(ctx: Context, item: MemoryItem, *, all_scopes: bool) -> Sequence[MemoryItem]:
    """Passages that the item cites or stands between, then statements that cite the same documents."""
    from memctl import citing
    from memctl.reading.request import read_filters
    from memctl.store.items import items as stored

    scopes = read_filters(ctx, _request(item, all_scopes=all_scopes), "related").scopes
    found = stored.get_many(ctx.db, citing.in_same_place(ctx.db, item))
    return [one for one in found if one.injectable and not one.archived and (scopes is None or one.scope in scopes)]
