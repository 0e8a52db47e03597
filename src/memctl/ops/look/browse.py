"""Browse: the items of a store as shelves to walk along, and what somebody pinned where (RAGIX's palace)."""

from collections import Counter
from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.errors import UsageError
from memctl.operation import READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Passages, ReadRequest
from memctl.reading.request import read_filters, said_where
from memctl.text.clean import bar, one_line

if TYPE_CHECKING:
    from memctl.store.filters import Filters
    from memctl.store.items.overview import ItemPlace

LEVELS = ("domain", "room", "shelf", "card")
_TITLE, _PART = 72, 80


@operation(
    access=WRITE,
    examples=(
        "memctl browse                            # the domains",
        "memctl browse default/deploy             # the shelves of a room",
        "memctl browse default/deploy/decision    # the cards of a shelf",
        "memctl browse ops/oncall --pin MEM-a3185eaf3928",
    ),
    exits={1: "there is no such item to pin"},
)
def browse(
    ctx: Context,
    path: Annotated[str, Arg("where: domain/room/shelf; nothing: the domains", metavar="PATH")] = "",
    *,
    pin: Annotated[
        str | None, Arg("put this item there, and at the front of its room", "--pin", metavar="MEM-ID")
    ] = None,
    unpin: Annotated[
        str | None, Arg("let this item stand where it belongs by itself", "--unpin", metavar="MEM-ID")
    ] = None,
    request: Annotated[ReadRequest, Fields("scope all_scopes workspace type tags since until passages limit")],
    passages: Passages = False,
    limit: Annotated[int, Arg("at most this many", "-n", "--limit", aliases=("-k",), ge=1, le=1000)] = 50,
) -> PlainResult:
    """Walk along the items of a store: domains, rooms, shelves, cards.

    An item stands in the domain `default`, in the room of its first tag (else of its first entity, else `misc`), on the
    shelf of its type. --pin puts it elsewhere: a person's place, which no model changes. The view is made anew from the
    items each time; only pins are stored, and `memctl undo` takes them back.
    """
    parts = tuple(part.strip() for part in path.split("/") if part.strip())
    if len(parts) > len(LEVELS) or any(len(part) > _PART for part in parts):
        raise UsageError("a place is domain/room/shelf/card, each of at most 80 characters", command="browse")
    if pin or unpin:
        return _pin(ctx, parts, pin, unpin)
    ctx.narrow(READ)
    filters = said_where(ctx, read_filters(ctx, request, "browse"), None, passages=passages)
    found = [place for place in _places(ctx, filters) if place.path[: len(parts)] == parts]
    level = LEVELS[min(len(parts), 3)]
    data: dict[str, Any] = {"status": "ok", "path": "/".join(parts), "level": level}
    if level == "card":
        shown = found[:limit]
        entries = [place.as_dict() for place in shown]
        lines = [f"{place.id}  {place.tier}  {one_line(place.title, _TITLE)}" for place in shown]
        total = len(found)
    else:
        counts = Counter(place.path[len(parts)] for place in found)
        ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        entries = [{"name": name, "count": count} for name, count in ordered[:limit]]
        total, most = len(counts), max(counts.values(), default=0)
        lines = [f"{count:>{len(str(most))}}  {one_line(name)}  {bar(count, most)}" for name, count in ordered[:limit]]
    if not entries:
        ctx.note(f"[browse] Nothing is in {'/'.join(parts) or 'the store'}.")
    return PlainResult(data | {"total": total, "truncated": total > len(entries), "entries": entries}, lines)


def _places(ctx: Context, filters: "Filters") -> "Iterator[ItemPlace]":
    """Where items stand, those that somebody pinned first; without those that policy holds back from this reader."""
    from memctl.store.items import overview

    free = filters if "stdout" in ctx.tty else filters.replace(injectable=True)
    yield from sorted(overview.iterate_places(ctx.db, free), key=lambda place: not place.pinned)


def _pin(ctx: Context, parts: tuple[str, ...], pin: str | None, unpin: str | None) -> PlainResult:
    """Pin an item to a place, or take its pin away."""
    from memctl.item_policy import ItemPolicy
    from memctl.reading.selection import named_item
    from memctl.store.items import attributes

    if pin and unpin:
        raise UsageError("give either --pin or --unpin", command="browse")
    if pin and not parts:
        raise UsageError("--pin needs the place: memctl browse domain/room --pin MEM-ID", command="browse")
    if pin and ItemPolicy(ctx.policy).refuses(*parts):
        raise UsageError("the place holds what policy refuses", command="browse")
    item = named_item(ctx, pin or unpin or "", "browse")
    if pin:
        room, shelf, card = (*parts[1:], "", "", "")[:3]
        attributes.set_pin(ctx.db, item.id, (parts[0], room or "misc", shelf or item.type, card or item.id))
    else:
        attributes.drop_pin(ctx.db, item.id)
    ctx.note(f"[browse] {item.id} {'is pinned' if pin else 'has no pin'}")
    (place,) = attributes.list_pins(ctx.db, item_id=item.id) if pin else ({"item_id": item.id},)
    return PlainResult({"status": "ok", "pinned": bool(pin), "location": place} | ctx.run_key(), [item.id])


# --- for models ------------------------------------------------------------------------------------------------------


@operation(
    name="palace-list",
    access=READ,
    tool="memory_palace_list",
    about="List where memories stand, by domain, room, shelf and card.",
    answer={"locations": "array", "total": "integer", "truncated": "boolean"},
)
def palace_list(
    ctx: Context,
    path: Annotated[str | None, Arg("domain, domain/room or domain/room/shelf", "--path")] = None,
    *,
    request: Annotated[ReadRequest, Fields("scope all_scopes limit")],
    limit: Annotated[int, Arg("at most this many", "-n", "--limit", aliases=("-k",), ge=1, le=1000)] = 100,
) -> PlainResult:
    """List where items stand, as RAGIX does."""
    parts = tuple(part.strip() for part in (path or "").split("/") if part.strip())
    filters = said_where(ctx, read_filters(ctx, request, "browse", injectable=True), None, passages=False)
    found = [place for place in _places(ctx, filters) if place.path[: len(parts)] == parts]
    rows = [_location(place) for place in found[:limit]]
    data = {"status": "ok", "locations": rows, "total": len(found), "truncated": len(found) > len(rows)}
    return PlainResult(data, ["/".join(row.values()) for row in rows])


@operation(
    name="palace-get",
    access=READ,
    tool="memory_palace_get",
    about="Say where one memory stands, and read it.",
    answer={"location": "object", "item": "object"},
)
def palace_get(ctx: Context, item_id: Annotated[str, Arg("the memory's id")]) -> PlainResult:
    """Say where an item stands, with the item, as RAGIX does."""
    from memctl.errors import ItemNotFound
    from memctl.reading.delivery import items_for_models
    from memctl.reading.selection import named_item
    from memctl.store.filters import Filters
    from memctl.store.items import overview

    item = named_item(ctx, item_id, "browse")
    free = items_for_models(ctx, [item], "browse")
    if item.id not in free:
        raise ItemNotFound(id=item.id)
    (place,) = overview.iterate_places(ctx.db, Filters(archived=True), only=item.id)
    data = {"status": "ok", "location": _location(place), "item": free[item.id].to_dict()}
    return PlainResult(data, ["/".join(place.path)])


def _location(place: "ItemPlace") -> dict[str, str]:
    return {"item_id": place.id} | dict(zip(LEVELS, place.path, strict=True))
