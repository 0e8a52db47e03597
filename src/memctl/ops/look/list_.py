"""memctl list."""

from collections.abc import Iterator

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, Result, operation
from memctl.parameters import ReadRequest
from memctl.reading.request import looking_back, read_filters
from memctl.types import MemoryItem


class Listing(Result):
    """The newest items that pass the filters, and how many pass in all."""

    __slots__ = ("ctx", "items", "past", "total", "withheld")

    def __init__(
        self, ctx: Context, items: list[MemoryItem], total: int, withheld: dict[str, str], *, past: bool = False
    ) -> None:
        self.ctx, self.items, self.total, self.withheld, self.past = ctx, items, total, withheld, past

    def as_dict(self) -> dict[str, Any]:
        """The items, how many are listed, and how many there are; what policy holds back is named, but not quoted."""
        from memctl.reading import delivery

        free = delivery.items_for_models(self.ctx, self.items, "list", past=self.past)
        silent = {"title": "", "tags": []}
        rows = [_row(free[item.id]) if item.id in free else _row(item) | silent for item in self.items]
        return {"status": "ok", "count": len(rows), "total": self.total, "items": rows}

    def as_json(self) -> list[dict[str, Any]]:
        """An array of the items without their contents."""
        return [_row(item) for item in self.items]


def _row(item: MemoryItem) -> dict[str, Any]:
    return item.format_catalog_entry() | {
        "updated_at": item.updated_at, "scope": item.scope, "quarantined": not item.injectable,
        "archived": item.archived,
    }  # fmt: skip


@operation(
    name="list",
    access=READ,
    tool="memory_list",
    examples=(
        "memctl list",
        "memctl list --tier ltm --type decision",
        "memctl list --tags auth,api --all-scopes -k 200",
        "memctl list --since 7d  # what was remembered in the last week",
        "memctl list --json | jq -r '.[].id'",
    ),
)
def list_(
    ctx: Context,
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "tier type scope all_scopes workspace tags since until as_of archived limit",
            tier={"mcp_help": None},
            scope={"mcp_default": ..., "mcp_help": None},
            all_scopes={"mcp": True},
        ),
    ],
    limit: Annotated[int, Arg("at most this many items", "-k", "--limit", ge=1, le=100_000)] = 50,
) -> Listing:
    """List items, newest first.

    "Newest" is the last change. Items that may not be given to a model are listed too, and marked.
    """
    from memctl.store.items import items

    filters = read_filters(ctx, request, "list")
    with looking_back(ctx, filters):
        found = items.list_items(ctx.db, filters, limit)
        total = len(found) if len(found) < limit else items.count(ctx.db, filters)
    if total > len(found):
        ctx.note(f"[list] {len(found)} of {total} items; -k {total} lists them all")
    elif not found:
        ctx.note("[list] No items.")
    if not ctx.db.trusted:
        from memctl.reading import delivery

        found = delivery.items_for_people(ctx, found, "list")
    held = [item.id for item in found if not item.injectable]
    withheld = items.withheld_reasons(ctx.db, held) if held else {}
    return Listing(ctx, found, total, withheld, past=filters.as_of is not None)


def text(result: Listing) -> Iterator[str]:
    """One line an item: tier, id, type, day of the last change, title; then its tags."""
    for item in result.items:
        title = " ".join(item.title.split()) or "(untitled)"
        head = f"  [{item.tier.upper()}] {item.id}  {item.type:<12}  {str(item.updated_at)[:10]}"
        yield f"{head}  {title}{_flags(item, result)}"
        if item.tags:
            yield f"    tags: {', '.join(item.tags)}"


def _flags(item: MemoryItem, result: Listing) -> str:
    withheld = "" if item.injectable else " [RAW]" if result.withheld.get(item.id) == "raw" else " [QUARANTINED]"
    return withheld + (" [ARCHIVED]" if item.archived else "")
