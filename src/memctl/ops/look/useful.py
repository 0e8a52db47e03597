"""What helped of what conversations were told: memctl useful."""

from collections.abc import Iterator

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, Arg, PlainResult, operation
from memctl.parameters import seen_through
from memctl.store.filters import Filters
from memctl.text.clean import one_line

_TITLE = 72


@operation(
    access=READ,
    tool="memory_useful",
    about="List which memories conversations were given and used, and which only cost tokens.",
    answer={"items": "array"},
    examples=(
        "memctl useful",
        "memctl useful --ignored  # what only costs tokens",
        "memctl useful --json | jq -r '.items[] | select(.used == 0) | .id'",
    ),
)
def useful(
    ctx: Context,
    *,
    ignored: Annotated[bool, Arg("only what no answer used, what cost most first", "--ignored")] = False,
    scope: Annotated[str, Arg("of this scope and of the scope global", "--scope")] = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("of every scope", "--all-scopes")] = False,
    workspace: Annotated[str | None, Arg("of what this saved view reads", "-w", "--workspace", metavar="NAME")] = None,
    limit: Annotated[int, Arg("at most this many", "-n", "--limit", aliases=("-k",), ge=1, le=1000)] = 20,
) -> PlainResult:
    """List what helped of what conversations were told, and what only cost tokens.

    Told is what hooks gave, and what a model fetched itself with a tool whose answer is in its transcript. An answer
    used an item if it cites or quotes it, or says what only the item says; the item's file being edited afterwards
    makes less of that enough. It is found out when conversations are captured, and when a program ends a turn, without
    a model. What helps gains a little strength and is told a little sooner, what does not help loses both, slowly.
    """
    from memctl.reading import delivery
    from memctl.store.items import items
    from memctl.store.items.attributes import count_conversations, list_told

    filters = seen_through(ctx, workspace, Filters(Filters.read_set(scope, all_scopes)), all_scopes=all_scopes)
    found = list_told(ctx.db, filters)
    wanted = [item_id for item_id, one in found.items() if not (ignored and one.used)]
    shown = items.get_many(ctx.db, wanted[:limit])
    titles = {item.id: item.title for item in delivery.items_for_people(ctx, shown, "useful")}
    rows: list[dict[str, Any]] = [{"id": i, "title": titles[i]} | found[i]._asdict() for i in wanted[:limit]]
    data = {
        "status": "ok", "conversations": count_conversations(ctx.db), "told": len(found),
        "used": sum(one.used > 0 for one in found.values()), "tokens": sum(one.tokens for one in found.values()),
        "tokens_unused": sum(one.tokens_unused for one in found.values()),
        "total": len(wanted), "truncated": len(wanted) > limit, "items": rows,
    }  # fmt: skip
    if not found:
        ctx.note("[useful] Nothing was told yet and captured.")
    else:
        ctx.note(
            f"[useful] {data['told']} items were told in ~{data['tokens']} tokens; {data['used']} of them were used, "
            f"~{data['tokens_unused']} tokens were not"
        )
    return PlainResult(data, list(_lines(rows)))


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """How often it was used and told, its tokens, and what it is."""
    for row in rows:
        yield f"{row['used']:>3} of {row['told']:<3} ~{row['tokens']:<6} {row['id']}  {one_line(row['title'], _TITLE)}"
