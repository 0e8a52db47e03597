"""memctl show."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.errors import ItemNotFound
from memctl.operation import READ, Arg, Result, operation
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.store.documents.passages import SourcePosition


class Shown(Result):
    """One item. That somebody opened it counts as a use, noted after it was printed."""

    __slots__ = ("_ctx", "_trusted", "importance", "item", "place", "withheld")

    def __init__(
        self, ctx: Context, item: MemoryItem, place: "SourcePosition | None", withheld: str, importance: float | None
    ) -> None:
        self._ctx, self.item, self.place, self.withheld, self.importance = ctx, item, place, withheld, importance
        self._trusted = ctx.db.trusted

    def as_dict(self) -> dict[str, Any]:
        """The item as export writes it: `source`, `withheld` and `importance` where there is something to say."""
        from memctl.lifecycle.record import to_dict

        more = {"trust": self.stranger} if self.stranger else {}
        return to_dict(self.item, self.place, self.withheld, self.importance) | more

    @property
    def stranger(self) -> str:
        """What is said of an item of a store of somebody else; "" in a store of one's own."""
        from memctl.text.trust import STRANGER

        return "" if self._trusted else STRANGER

    def settle(self) -> None:
        """Count the use and log a `read` event; a read-only or busy store is left as it is."""
        from memctl.store.items import items

        items.mark_used(self._ctx.db, [self.item.id], "read")


@operation(
    access=READ,
    examples=("memctl show MEM-a3185eaf3928", "memctl show MEM-a3185eaf3928 --json  # all fields"),
    exits={1: "there is no such item, or no store"},
)
def show(
    ctx: Context, id: Annotated[str, Arg("the item's id, whole or as short as recall prints it", metavar="MEM-ID")]
) -> Shown:
    """Show one item in full.

    Archived items are shown too. Opening an item counts as a use of it; where the store cannot be written, it is
    shown all the same.
    """
    from memctl.store.documents import passages
    from memctl.store.items import attributes, items

    wanted = id.strip()
    item = items.get(ctx.db, wanted) or items.get(ctx.db, items.expand_id(ctx.db, wanted))
    if item is None:
        raise ItemNotFound(id=wanted)
    withheld = "" if item.injectable else items.withheld_reasons(ctx.db, [item.id]).get(item.id, "")
    place, matters = passages.get_positions(ctx.db, [item.id]), attributes.get_importance(ctx.db, [item.id])
    if not ctx.db.trusted:
        from memctl.reading import delivery

        (item,) = delivery.items_for_people(ctx, [item], "show")
    return Shown(ctx, item, place.get(item.id), withheld, matters.get(item.id))


def text(result: Shown) -> Iterator[str]:
    """Label and value, then the content."""
    item = result.item
    for label, value in _fields(item, result.place, result.withheld, result.importance):
        yield f"{label + ':':<12}{value}"
    if result.stranger:
        yield f"{'Trust:':<12}{result.stranger}"
    yield ""
    yield "--- Content ---"
    yield item.content


def _fields(
    item: MemoryItem, place: "SourcePosition | None", withheld: str, importance: float | None
) -> Iterator[tuple[str, str]]:
    yield "ID", item.id
    yield "Tier", item.tier.upper()
    yield "Type", item.type
    yield "Title", " ".join(item.title.split())
    yield "Validation", item.validation
    yield "Confidence", f"{item.confidence:.2f}"
    if importance is not None:
        yield "Importance", f"{importance:.2f}"
    yield "Injectable", str(item.injectable) + _reason(withheld)
    yield "Tags", ", ".join(item.tags) or "(none)"
    yield "Scope", item.scope
    yield "Created", item.created_at
    yield "Updated", item.updated_at
    yield "Usage", str(item.usage_count)
    if item.entities:
        yield "Entities", ", ".join(item.entities)
    if item.corpus_id:
        yield "Corpus", item.corpus_id
    if item.superseded_by:
        yield "Superseded", item.superseded_by
    if item.expires_at:
        yield "Expires", item.expires_at
    if item.archived:
        yield "Archived", "True"
    if item.provenance.source_id:
        yield "SourcePosition", _source(item, place)


def _reason(withheld: str) -> str:
    return {"policy": " (quarantined by policy)", "raw": " (raw; promotion releases it)"}.get(withheld, "")


def _source(item: MemoryItem, place: "SourcePosition | None") -> str:
    source = item.provenance
    where = ", ".join(source.chunk_ids)
    if place is not None and place.line_start is not None:
        where = f"lines {place.line_start}-{place.line_end}"
    elif place is not None and place.anchor:
        where = place.anchor
    return f"{source.source_kind} {source.source_id}" + (f" ({where})" if where else "")
