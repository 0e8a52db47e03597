"""memory_read: items in full, by id. People have `memctl show`."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.errors import ArgumentInvalid
from memctl.operation import READ, Arg, Result, operation

if TYPE_CHECKING:
    from memctl.store.documents.passages import SourcePosition
    from memctl.types import MemoryItem

#: So many items may be read at once.
MOST = 200


class Items(Result):
    """Items as export writes them; what policy holds back is named, but not quoted."""

    __slots__ = ("_ctx", "_trusted", "held", "importance", "items", "places", "raw", "requested")

    def __init__(
        self, ctx: Context, items: "list[MemoryItem]", places: "dict[str, SourcePosition]", held: set[str],
        raw: set[str], requested: int, importance: dict[str, float],
    ) -> None:  # fmt: skip
        self._ctx, self.items, self.places, self.importance = ctx, items, places, importance
        self.held, self.raw, self.requested = held, raw, requested
        self._trusted = ctx.db.trusted

    def as_dict(self) -> dict[str, Any]:
        """The items, how many were found, how many asked for."""
        rows = [self._row(item) for item in self.items]
        if not self._trusted:
            from memctl.text.trust import STRANGER

            rows = [row | {"trust": STRANGER} for row in rows]
        return {"status": "ok", "items": rows, "found": len(rows), "requested": self.requested}

    def _row(self, item: "MemoryItem") -> dict[str, Any]:
        from memctl.lifecycle.record import to_dict

        matters = self.importance.get(item.id)
        if item.id not in self.held:
            return to_dict(item, self.places.get(item.id), "raw" if item.id in self.raw else "", matters)
        row = to_dict(item, None, "policy", matters)
        return row | {"title": "", "content": "", "tags": [], "entities": [], "quarantined": True}

    def settle(self) -> None:
        """Count the use of what was given out."""
        from memctl.store.items import items

        items.mark_used(self._ctx.db, [item.id for item in self.items if item.id not in self.held], "read")


@operation(
    access=READ,
    tool="memory_read",
    toolset="core",
    about="Read memories in full by their ids, as recall and search name them: content, source, tags, dates. "
    "Those that policy quarantined come without their content.",
    answer={"items": "array", "found": "integer", "requested": "integer"},
)
def read(
    ctx: Context,
    ids: Annotated[list[str], Arg("the items' ids", comma=True)],
    *,
    workspace: Annotated[str | None, Arg("only items that this saved view reads")] = None,
) -> Items:
    """Read items in full.

    They come in the order asked, archived ones too; ids that the store does not know are left out. Being read counts
    as a use.
    """
    from memctl.reading import delivery
    from memctl.store.documents import passages
    from memctl.store.items import attributes, items

    wanted = list(dict.fromkeys(word.strip() for word in ids if word.strip()))
    if not wanted:
        raise ArgumentInvalid(name="ids", message="No ids provided")
    if len(wanted) > MOST:
        raise ArgumentInvalid(name="ids", message=f"at most {MOST} at once, not {len(wanted)}")
    whole = dict.fromkeys(items.expand_id(ctx.db, word) for word in wanted)
    found = _seen(ctx, items.get_many(ctx.db, whole), workspace)
    raw = {
        i
        for i, why in items.withheld_reasons(ctx.db, [i.id for i in found if not i.injectable]).items()
        if why == "raw"
    }
    free = [item for item in found if item.injectable or item.id in raw]
    fit = delivery.judge_items(ctx, free, passages.get_positions(ctx.db, [item.id for item in free]))
    fit.tell(ctx, "read")
    given = {item.id: item for item in fit.items}
    shown = [given.get(item.id, item) for item in found]
    held, matter = {item.id for item in found} - given.keys(), attributes.get_importance(ctx.db, [i.id for i in found])
    return Items(ctx, shown, fit.places, held, raw, len(wanted), matter)


def _seen(ctx: Context, found: "list[MemoryItem]", workspace: str | None) -> "list[MemoryItem]":
    if workspace is None:
        return found
    from memctl.store import workspaces

    view = workspaces.named_workspace(ctx.db, workspace)
    return [item for item in found if item.scope in view.reads and view.corpus_id in (None, item.corpus_id)]


def text(result: Items) -> Iterator[str]:
    """Title, id and content of each."""
    for item in result.items:
        if item.id not in result.held:
            yield f"{item.id}  {' '.join(item.title.split())}"
            yield item.content
        else:
            yield f"{item.id}  (held back by policy)"
        yield ""
