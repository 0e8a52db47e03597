"""Links between items: memctl link, links, unlink, and the tool memory_link."""

from memctl import errors
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.names import LinkRelation
from memctl.operation import READ, WRITE, Arg, PlainResult, operation
from memctl.reading.selection import named_item
from memctl.text.clean import one_line
from memctl.types import MemoryItem

#: Characters of a title that a person sees.
_TITLE = 80

_Src = Annotated[str, Arg("the item that relates to another one", metavar="MEM-ID")]
_Relation = Annotated[LinkRelation, Arg("how it relates to the other one", metavar="RELATION")]
_Dst = Annotated[str, Arg("the other item", metavar="OTHER-ID")]


@operation(
    access=WRITE,
    tool="memory_link",
    idempotent=True,
    about="Say how one memory relates to another: src supports, refines, contradicts, depends_on, references, is "
    "derived_from or related_to dst. What replaces a memory goes through memory_supersede.",
    answer={"src_id": "string", "dst_id": "string", "relation": "string"},
    examples=(
        "memctl link MEM-a3185eaf3928 supports MEM-91b0c2d4e5f6",
        "memctl link a3185e depends_on 91b0c2",
    ),
    exits={1: "there is no such item, or the relation is none that a link can have"},
)
def link(ctx: Context, src_id: _Src, relation: _Relation, dst_id: _Dst) -> PlainResult:
    """Say how an item relates to another one.

    The relations are contradicts, supports, refines, derived_from, depends_on, references and related_to; supersedes is
    made by `memctl supersede`, which archives the old item too. A link that is there stays as it is. Items that
    contradict each other stand in `memctl conflicts` until somebody decides.
    """
    from memctl.store import conflicts
    from memctl.store.items import attributes

    src, dst = _both(ctx, src_id, relation, dst_id, "link")
    if relation == "supersedes":
        raise errors.UsageError(
            f"what replaces an item archives it too: memctl supersede {dst.id} --by {src.id}", command="link"
        )
    with ctx.db.atomic():
        new = attributes.say_link(ctx.db, src.id, dst.id, relation)
        if relation == "contradicts":
            a, b = sorted((src, dst), key=lambda item: (item.created_at, item.id))
            conflicts.open_conflicts(ctx.db, [(a.id, b.id, conflicts.SAID)])
    ctx.note(f"[link] {src.id} {relation} {dst.id}" + ("" if new else ": it is so already"))
    return _report(ctx, src, relation, dst, changed=new)


@operation(
    access=WRITE,
    examples=("memctl unlink MEM-a3185eaf3928 supports MEM-91b0c2d4e5f6",),
    exits={1: "there is no such item, or the link is one that supersede has made"},
)
def unlink(ctx: Context, src_id: _Src, relation: _Relation, dst_id: _Dst) -> PlainResult:
    """Take a link between two items away.

    The items stay as they are. Without such a link nothing is changed. `memctl restore` takes back that an item was
    superseded.
    """
    from memctl.store.items import attributes

    src, dst = _both(ctx, src_id, relation, dst_id, "unlink")
    if relation == "supersedes":
        raise errors.UsageError(f"memctl restore {dst.id} brings back what was superseded", command="unlink")
    gone = attributes.remove_link(ctx.db, src.id, dst.id, relation)
    ctx.note(f"[unlink] {src.id} {relation} {dst.id}: " + ("taken away" if gone else "there is no such link"))
    return _report(ctx, src, relation, dst, changed=gone)


@operation(
    access=READ,
    examples=("memctl links MEM-a3185eaf3928", "memctl links a3185e --json | jq -r '.links[].id'"),
    exits={1: "there is no such item"},
)
def links(ctx: Context, id: Annotated[str, Arg("the item's id, whole or shortened", metavar="MEM-ID")]) -> PlainResult:
    """List the links of an item, in both directions.

    A line each: an arrow for the direction, the relation, the other item's id and its title. Archived items are listed
    too, because most links tell what replaced what.
    """
    item = named_item(ctx, id, "links")
    rows = link_rows(ctx, item)
    if not rows:
        ctx.note("[links] None.")
    lines = [
        f"{'->' if row['direction'] == 'out' else '<-'} {row['relation']:<12} {row['id']}  "
        f"{one_line(row['title'], _TITLE)}".rstrip()
        for row in rows
    ]
    return PlainResult({"status": "ok", "id": item.id, "total": len(rows), "truncated": False, "links": rows}, lines)


def link_rows(ctx: Context, item: MemoryItem) -> list[dict[str, Any]]:
    """The links of an item, oldest first, each with the other item as it may be shown.

    direction  out: the item relates so to the other one; in: the other one to it
    """
    from memctl.store.items import attributes
    from memctl.store.items import items as stored

    found = attributes.links_of(ctx.db, item.id)
    ends = [(one, one.dst_id if one.src_id == item.id else one.src_id) for one in found]
    others = stored.get_many(ctx.db, dict.fromkeys(end for _, end in ends))
    there, shown = {one.id for one in others}, shown_items(ctx, others, "links")
    return [
        {
            "relation": one.rel, "direction": "out" if one.src_id == item.id else "in", "id": end,
            "title": shown[end].title if end in shown else "", "created_at": one.created_at,
        }
        for one, end in ends if end in there
    ]  # fmt: skip


def shown_items(ctx: Context, found: list[MemoryItem], command: str) -> dict[str, MemoryItem]:
    """Items as whoever asks may see them: a model sees none that policy holds back."""
    from memctl.reading import delivery

    if ctx.bounds is not None:
        return delivery.items_for_models(ctx, found, command)
    return {item.id: item for item in delivery.items_for_people(ctx, found, command)}


def _both(ctx: Context, src_id: str, relation: str, dst_id: str, command: str) -> tuple[MemoryItem, MemoryItem]:
    """Both ends of a link. Raises ItemNotFound, and UsageError for an item and itself."""
    src, dst = named_item(ctx, src_id, command), named_item(ctx, dst_id, command)
    if src.id == dst.id:
        raise errors.UsageError(f"an item does not stand in the relation {relation} to itself", command=command)
    return src, dst


def _report(ctx: Context, src: MemoryItem, relation: str, dst: MemoryItem, *, changed: bool) -> PlainResult:
    data = {"status": "ok" if changed else "unchanged", "src_id": src.id, "dst_id": dst.id, "relation": relation}
    return PlainResult(data | ctx.run_key(), [])
