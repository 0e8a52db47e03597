"""Items put away and brought back: memctl forget and restore, and the tool memory_forget."""

from memctl.annotations import Annotated
from memctl.context import Context
from memctl.operation import REQUIRED, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Selection
from memctl.reading.selection import checked_reason, refuse_protected, report_changes, select_items
from memctl.store.quarantine import protected_items
from memctl.types import MemoryItem

#: What a tool understands of a selection though it is not told of it: another program's tool deletes what is old.
_TAKEN = {"mcp": "taken"}


@operation(
    access=WRITE,
    tool="memory_forget",
    toolset="standard",
    idempotent=True,
    about="Archive memories that the user calls wrong or unwanted: they are recalled no more.",
    answer={"total": "integer", "ids": "array", "unchanged": "array"},
    examples=(
        "memctl forget MEM-a3185eaf3928",
        'memctl forget a3185e 91b0 --why "we moved to Postgres"',
        'memctl forget --query "old deploy rule"     # shows what it finds, and asks',
        "memctl forget --tags scratch --until 30d --yes",
        "memctl search staging --json | jq -r '.[].id' | memctl forget -",
    ),
    exits={1: "there is no such item, or nobody can be asked"},
)
def forget(
    ctx: Context,
    id: Annotated[
        list[str] | None,
        Arg("the items' ids, whole or shortened; - reads them from standard input", metavar="MEM-ID",
            mcp_default=REQUIRED, mcp_help="their ids"),
    ] = None,
    *,
    reason: Annotated[str | None, Arg("the reason, kept with the item's history", "--why", mcp="full")] = None,
    wanted: Annotated[
        Selection,
        Fields("query tags tier type source since until scope all_scopes workspace limit dry_run yes",
               tier=_TAKEN, type=_TAKEN, until=_TAKEN, scope=_TAKEN, dry_run=_TAKEN, yes=_TAKEN),
    ],
) -> PlainResult:  # fmt: skip
    """Put items away, so that nothing finds them any more.

    They are archived: no search, recall or list has them, unless it is asked for archived ones (--archived), and
    `restore` brings them back. A passage of a document stays away as long as its text in the file is the same; `purge`
    deletes for good. Without ids, a terminal shows what is found and asks; elsewhere a filter and --yes are needed.
    """
    from memctl.lifecycle import correct

    why = checked_reason(ctx, reason, "forget")
    by_tool = ctx.bounds is not None

    def is_meant(item: MemoryItem) -> bool:
        return not item.archived and not (by_tool and item.scope != wanted.scope)  # `global` has to be named

    found = select_items(ctx, "forget", id or None, wanted, fits=is_meant)
    left = [(item.id, "archived already") for item in found if item.archived]
    if id:
        refuse_protected(ctx, found, "forget")
    elif by_tool:  # of what a filter finds, the others go
        left = list(protected_items(ctx.db, found).items())
    kept = {item_id for item_id, _ in left}
    ids = [item.id for item in found if item.id not in kept]
    if not wanted.dry_run:
        with ctx.at_work("forget"):
            ids = correct.forget_items(ctx.db, ids, why)
    return report_changes(ctx, "forget", ids, left, done="forgotten", dry_run=wanted.dry_run)


@operation(
    access=WRITE,
    examples=(
        "memctl restore MEM-a3185eaf3928",
        "memctl restore --since 7d              # shows what was put away, and asks",
        "memctl restore --from docs/old.md --yes",
    ),
    exits={1: "there is no such item, or nobody can be asked"},
)
def restore(
    ctx: Context,
    id: Annotated[
        list[str] | None,
        Arg("the items' ids, whole or shortened; - reads them from standard input", metavar="MEM-ID"),
    ] = None,
    *,
    wanted: Annotated[
        Selection, Fields("query tags tier type source since until scope all_scopes workspace limit dry_run yes")
    ],
) -> PlainResult:
    """Bring items back that were put away or have expired.

    What was superseded counts again beside what replaced it, which stderr names; what had expired has no end any more.
    Only the end of a quarantine stays.
    """
    from memctl.lifecycle import correct
    from memctl.store.items import items

    found = select_items(ctx, "restore", id, wanted, fits=correct.is_gone, gone=True)
    left = [(item.id, "not archived") for item in found if not correct.is_gone(item)]
    over = [item for item in found if correct.is_gone(item) and not item.archived and not item.injectable]
    left += [(item.id, "its time in quarantine is over") for item in over]
    ids = [item.id for item in found if correct.is_gone(item) and item not in over]
    if not wanted.dry_run:
        with ctx.at_work("restore"):
            back = correct.restore_items(ctx.db, ids)
        there = {item.id for item in items.get_many(ctx.db, filter(None, back.values())) if not item.archived}
        for item_id, newer in back.items():
            if newer in there:
                ctx.note(f"[restore] {item_id}: {newer}, which replaced it, is there too; memctl forget puts it away")
        ids = list(back)
    return report_changes(ctx, "restore", ids, left, done="restored", dry_run=wanted.dry_run)
