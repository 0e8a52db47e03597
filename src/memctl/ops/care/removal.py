"""Deleting for good: memctl purge and reset, and the tool memory_reset."""

from memctl import errors
from memctl.annotations import Annotated
from memctl.context import Context
from memctl.operation import READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Selection
from memctl.reading.selection import checked_reason, report_changes, select_items
from memctl.text.clean import one_line

_TITLE = 60


@operation(
    access=WRITE,
    destructive=True,
    examples=(
        "memctl purge MEM-a3185eaf3928                 # says what would go",
        "memctl purge MEM-a3185eaf3928 --yes",
        "memctl purge --tags scratch --until 90d --yes",
        "memctl purge --from docs/secret.md --yes",
        "memctl purge --purged                         # what is kept from coming back",
        "memctl purge --again MEM-a3185eaf3928         # it may come back",
    ),
    exits={1: "there is no such item, or neither ids nor a filter are given"},
)
def purge(
    ctx: Context,
    id: Annotated[
        list[str] | None,
        Arg("the items' ids, whole or shortened; - reads them from standard input", metavar="MEM-ID"),
    ] = None,
    *,
    reason: Annotated[str | None, Arg("the reason, kept in the log", "--why")] = None,
    archived: Annotated[bool, Arg("archived and expired items too", "--archived")] = False,
    list_: Annotated[bool, Arg("list what was purged and is kept from coming back", "--purged")] = False,
    again: Annotated[bool, Arg("let what was purged come back, by its items' ids", "--again")] = False,
    wanted: Annotated[
        Selection,
        Fields(
            "query tags tier type source since until scope all_scopes workspace limit dry_run yes",
            dry_run={"help": "only say what would go, as without --yes"},
            yes={"help": "do it; without this, only say what would go"},
        ),
    ],
) -> PlainResult:
    """Delete items for good, with their history, and keep them from coming back.

    Without --yes it says what would go. What goes leaves nothing but an entry in the log and a tombstone: the hash of
    its words and its source. Words with a tombstone are not stored again, whether a file, an import, a person or a
    model brings them; other words are, so a file that is cut differently may bring some of them. --again takes the
    tombstone away. A purge cannot be undone; `forget` can. Of an item that `undo` took away, known by its whole id, it
    deletes what is kept to bring it back. Conversations that quote it stay; `session delete` deletes those.
    """
    from memctl.store import undo
    from memctl.store.purge import purge_items

    if list_ or again:
        return _list_purged(ctx) if list_ else _let_back(ctx, id or [])
    doing = wanted.yes and not wanted.dry_run
    if not doing:
        ctx.narrow(READ)
    why = checked_reason(ctx, reason, "purge") or "purged"
    asked = Selection(**vars(wanted) | {"dry_run": not doing})
    undone = undo.kept_items(ctx.db, id or ())
    named = [one for one in id if one not in undone] if id is not None else None
    found = select_items(ctx, "purge", named, asked, gone=archived) if named or not undone else []
    ids = [*undone, *(item.id for item in found)]
    if doing and ids:
        with ctx.at_work("purge"):
            purge_items(ctx.db, ids, why, bury=True)
    elif ids:
        ctx.note("[purge] --yes does it; it cannot be undone")
    return report_changes(ctx, "purge", ids, done="purged for good", dry_run=not doing)


def _list_purged(ctx: Context) -> PlainResult:
    from memctl.store.purge import list_tombstones

    ctx.narrow(READ)
    found = list_tombstones(ctx.db)
    rows = [{"id": one.item_id, "source_id": one.source, "purged_at": one.purged_at} for one in found]
    lines = [f"{one.item_id}  {one.purged_at[:10]}  {one_line(one.source, _TITLE)}".rstrip() for one in found]
    if not rows:
        ctx.note("[purge] Nothing is kept from coming back.")
    return PlainResult({"status": "ok", "total": len(rows), "truncated": False, "items": rows}, lines)


def _let_back(ctx: Context, given: list[str]) -> PlainResult:
    from memctl.store.purge import lift, list_tombstones

    if not given:
        raise errors.UsageError("say which: memctl purge --purged shows their ids", command="purge")
    there = {one.item_id for one in list_tombstones(ctx.db)}
    for one in given:
        if one not in there:
            raise errors.ItemNotFound(id=one_line(one, _TITLE))
    lifted = lift(ctx.db, item_ids=given)
    return report_changes(ctx, "purge", lifted, done="free to come back")


# --- the whole store --------------------------------------------------------------------------------------------------


@operation(
    access=WRITE,
    tool="memory_reset",
    destructive=True,
    about="Say what emptying the whole memory would delete (dry_run). It is emptied only by the user, or where the "
    "user started the server with MEMCTL_ALLOW_RESET=1.",
    answer={"dry_run": "boolean", "preserve_mounts": "boolean", "total_records": "integer"},
    examples=("memctl reset --dry-run", "memctl reset --confirm", "memctl reset --confirm --clear-mounts"),
    exits={1: "without --confirm or --dry-run"},
)
def reset(
    ctx: Context,
    *,
    preserve_mounts: Annotated[bool, Arg("keep the mounts", cli=False)] = True,
    dry_run: Annotated[bool, Arg("only say what would be deleted", "--dry-run")] = False,
    confirm: Annotated[bool, Arg("do it", "--confirm", aliases=("--yes",), mcp=False)] = False,
    clear_mounts: Annotated[bool, Arg("take the mounts away, too", "--clear-mounts", mcp=False)] = False,
    allow_reset: Annotated[
        bool, Arg("whether a tool may empty the store", env="MEMCTL_ALLOW_RESET", cli=False, mcp=False)
    ] = False,
) -> PlainResult:
    """Empty the store.

    Every item goes, with its history, and so do sessions, the log, and tombstones. The settings of the store stay,
    and the mounts, unless --clear-mounts is given. It cannot be undone; `export --complete` before it keeps a copy.
    """
    from memctl.store import contents

    keeps = preserve_mounts and not clear_mounts
    if ctx.bounds is None and not (confirm or dry_run):
        ctx.warn("Safety gate: --confirm is required to execute a reset.")
        raise errors.UsageError("Use --dry-run to preview what would be deleted.", command="reset")
    if not dry_run and not allow_reset:
        ctx.refuse_to_tools("empty the store", "memctl reset --confirm, or MEMCTL_ALLOW_RESET=1 for the server")
    if dry_run:
        ctx.narrow(READ)
    with ctx.at_work("reset"):
        counts = contents.reset_store(ctx.db, preserve_mounts=keeps, dry_run=dry_run)
    del counts["dry_run"]
    total = sum(counts.values())
    if dry_run:
        ctx.note("Dry run — would delete:")
        for table, count in counts.items():
            if count:
                ctx.note(f"  {table}: {count}")
        ctx.note(f"  Total: {total} records")
    else:
        ctx.note(f"Reset complete. Cleared {total} records.")
        if keeps:
            ctx.note("Mount registrations preserved.")
    data = {
        "status": "dry_run" if dry_run else "ok", "dry_run": dry_run, "preserve_mounts": keeps, "total_records": total,
    }  # fmt: skip
    return PlainResult(data | counts)
