"""Conflicts: memctl conflicts and resolve, and the tool that lists them (memory_conflicts)."""

from collections.abc import Iterator, Mapping, Sequence

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.errors import ConflictNotFound, ItemUnchangeable
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, WRITE, Arg, PlainResult, operation
from memctl.parameters import seen_through
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.store.conflicts import Conflict
    from memctl.store.filters import Filters
    from memctl.types import MemoryItem

#: Characters of a side that a person sees; `--json` has all.
_SHOWN = 100
_DAY = 10


@operation(
    access=WRITE,
    tool="memory_conflicts",
    about="List statements of the memory that contradict each other and that nobody has decided about: both sides, "
    "with what shows it. Say which is right to the user, or replace the wrong one with memory_supersede.",
    answer={"conflicts": "array", "total": "integer", "truncated": "boolean"},
    examples=(
        "memctl conflicts",
        "memctl conflicts --scan            # looks through the whole store first",
        "memctl conflicts --json | jq -r '.conflicts[].id'",
        "memctl resolve CON-1f0c9a3b77d2 keep-b",
    ),
)
def conflicts(
    ctx: Context,
    *,
    scan: Annotated[
        bool, Arg("compare all statements first, not only those that were stored since", "--scan", mcp=False)
    ] = False,
    decided: Annotated[bool, Arg("those that somebody has decided, and how", "--decided", mcp=False)] = False,
    scope: Annotated[
        str,
        Arg("of this scope and of the scope global", "--scope", mcp_name="project", mcp_help="the scope to look in"),
    ] = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("of every scope", "--all-scopes")] = False,
    workspace: Annotated[str | None, Arg("of what this saved view reads", "-w", "--workspace", metavar="NAME")] = None,
    limit: Annotated[
        int, Arg("at most this many, found last first", "-n", "--limit", aliases=("-k",), ge=1, le=1000)
    ] = 50,
) -> PlainResult:
    """List statements that contradict each other.

    Two statements of one scope contradict each other when they are about the same and another number, date or name
    stands in one of them, or one says not. It is noted when a statement is stored; --scan compares all there are, those
    of an import too. Nothing is changed by it: `memctl resolve` says which of them counts. What is archived, retracted,
    expired or held back contradicts nothing.
    """  # fmt: skip
    from memctl.store import conflicts as stored
    from memctl.store.filters import Filters

    if not scan:
        ctx.narrow(READ)
    filters = seen_through(ctx, workspace, Filters(Filters.read_set(scope, all_scopes)), all_scopes=all_scopes)
    data = _scan(ctx, filters) if scan else {}
    found = stored.list_conflicts(ctx.db, filters, decided=decided)
    shown = found[:limit]
    rows = conflict_rows(ctx, shown)
    if not rows:
        ctx.note("[conflicts] None." if scan or decided else "[conflicts] None known; --scan compares all statements.")
    elif len(found) > len(shown):
        ctx.note(f"[conflicts] {len(shown)} of {len(found)}; -n {min(len(found), 1000)} lists more")
    data = {"status": "ok", "total": len(found), "truncated": len(found) > len(shown), "conflicts": rows} | data
    return PlainResult(data, [line for row in rows for line in conflict_lines(row)])


def _scan(ctx: Context, filters: "Filters") -> dict[str, Any]:
    """Compare all statements, and note what contradicts each other."""
    from memctl.lifecycle import conflicts as service
    from memctl.store import conflicts as stored

    found, compared = service.scan(ctx.db, filters)
    with ctx.db.atomic():
        over = service.forget_outdated(ctx.db, filters)
        new = stored.open_conflicts(ctx.db, found)
    gone = f", {over} over" if over else ""
    ctx.note(f"[conflicts] {compared} statement(s) compared: {new} new conflict(s){gone}")
    return {"compared": compared, "new": new, "over": over} | (ctx.run_key() if new or over else {})


def conflict_rows(ctx: Context, found: "Sequence[Conflict]") -> list[dict[str, Any]]:
    """Conflicts with both sides, as whoever asks may see them; a side that may not be seen has no words."""
    from memctl.lifecycle import conflicts as service
    from memctl.reading import delivery

    items = service.sides(ctx.db, found)
    if ctx.bounds is not None or not ctx.db.trusted:
        free = delivery.items_for_models(ctx, list(items.values()), "conflicts")
        items = {item_id: free.get(item_id) or delivery.without_words(item) for item_id, item in items.items()}
    return [
        {"id": one.id, "why": one.why, "state": one.state, "found_at": one.found_at}
        | ({"decided_at": one.decided_at, "reason": one.reason} if one.decided_at else {})
        | {"a": _side(items, one.a), "b": _side(items, one.b)}
        for one in found
    ]


def _side(items: "Mapping[str, MemoryItem]", item_id: str) -> dict[str, Any]:
    item = items[item_id]
    return {
        "id": item.id, "title": item.title, "content": item.content, "created_at": item.created_at,
        "validation": item.validation, "source_id": item.provenance.source_id,
    }  # fmt: skip


def conflict_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """The conflict, then its sides with their days; b is the newer one."""
    state = "" if row["state"] == "open" else f"  {row['state']}"
    yield f"{row['id']}  {row['why']}{state}"
    for name in ("a", "b"):
        side = row[name]
        sure = "  (verified)" if side["validation"] == "verified" else ""
        yield f"  {name}  {side['created_at'][:_DAY]}  {side['id']}  {one_line(side['content'], _SHOWN)}{sure}"


@operation(
    access=WRITE,
    examples=(
        "memctl resolve CON-1f0c9a3b77d2 keep-b  # the newer one counts",
        'memctl resolve 1f0c both --why "one is of staging"',
        "memctl undo                              # it was not so",
    ),
    exits={1: "there is no such conflict, or one of its items counts no more"},
)
def resolve(
    ctx: Context,
    id: Annotated[str, Arg("the conflict's id, whole or shortened, as conflicts prints it", metavar="CON-ID")],
    decision: Annotated[
        Literal["keep-a", "keep-b", "both", "dismiss"], Arg("which of them counts; dismiss: they do not contradict")
    ],
    *,
    reason: Annotated[str | None, Arg("why, kept with the history", "--why")] = None,
) -> PlainResult:
    """Say which of two statements that contradict each other counts.

    With keep-a or keep-b that one supersedes the other, which is archived; with both or dismiss both stay, and they are
    not shown as a conflict again. `memctl undo` takes it back. What was decided so already is left as it is.
    """
    from memctl.lifecycle import conflicts as service
    from memctl.reading.selection import checked_reason
    from memctl.store import conflicts as stored

    found = stored.get_conflict(ctx.db, id)
    if found is None:
        raise ConflictNotFound(id=one_line(id, 40))
    why = checked_reason(ctx, reason, "resolve")
    data = {"status": "unchanged", "id": found.id, "decision": decision, "archived": "", "kept": [found.a, found.b]}
    if found.state == decision:
        ctx.note(f"[resolve] {found.id} was decided so already")
        return PlainResult(data, [found.id])
    gone = [item.id for item in service.sides(ctx.db, [found]).values() if item.archived]
    if gone or found.state.startswith("keep"):
        raise ItemUnchangeable(
            id=found.id, reason=f"{gone[0] if gone else 'one side'} is archived",
            remedy=f"memctl restore {gone[0]} brings it back first" if gone else "memctl conflicts lists open ones",
        )  # fmt: skip
    archived = service.decide(ctx.db, found, decision, why)
    kept = [item_id for item_id in (found.a, found.b) if item_id != archived]
    ctx.note(f"[resolve] {f'{kept[0]} counts, {archived} is archived' if archived else 'both stay'}")
    return PlainResult(data | {"status": "ok", "archived": archived, "kept": kept} | ctx.run_key(), [found.id])
