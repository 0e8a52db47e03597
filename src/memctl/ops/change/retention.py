"""How long items stay, and how established they are: memctl forget, restore, promote and retain."""

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.context import Context
from memctl.operation import REQUIRED, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Selection
from memctl.reading.selection import (
    MOST_TOLD,
    checked_reason,
    named_items,
    refuse_protected,
    report_changes,
    select_items,
    time_to_come,
)
from memctl.store.quarantine import protected_items
from memctl.text.clean import one_line
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.store.quarantine import Standing

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

    found = select_items(
        ctx, "forget", id or None, wanted,  # a tool has to name `global`
        fits=lambda item: not item.archived and not (by_tool and item.scope != wanted.scope),
    )  # fmt: skip
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


# --- tiers, and how long items stay -----------------------------------------------------------------------------------


_REACHED = "it stands as high already"
#: What can be said of how long items keep their worth, and what became of them then.
_HOW_LONG = {"keep": "kept for good", "fade": "fading from now on", "until": "given an end", "usual": "as usual"}


@operation(
    access=WRITE,
    tool="memory_promote",
    about="Promote a memory to a higher tier when it has proved to be established: mtm, or ltm for what lasts. A raw "
    "passage of a document can be recalled from then on.",
    answer={"id": "string", "from_tier": "string", "to_tier": "string"},
    examples=(
        "memctl promote MEM-a3185eaf3928",
        "memctl promote a3185e --tier mtm",
        "memctl promote --from docs --yes  # raw passages may be recalled now",
    ),
    exits={1: "there is no such item, it stands as high already, or policy holds it back"},
)
def promote(
    ctx: Context,
    id: Annotated[
        list[str] | None,
        Arg("the items' ids, whole or shortened; - reads them from standard input", metavar="MEM-ID",
            mcp_default=REQUIRED, mcp_help="the memory's id"),
    ] = None,
    *,
    tier: Annotated[Literal["ltm", "mtm"], Arg("how established it is from now on", "--tier", mcp_help="")] = "ltm",
    wanted: Annotated[
        Selection, Fields("query tags type source since until scope all_scopes workspace limit dry_run yes")
    ],
) -> PlainResult:  # fmt: skip
    """Raise items to a higher tier, and let raw passages be recalled.

    What `ingest` stores is raw, kept out of recall until it is promoted: with --from, all of a file or folder. Nothing
    sinks, and what policy quarantined stays so: `quarantine release` is the way out. A single item that stands as high
    already is an error, of several such items each is named.
    """
    from memctl.lifecycle import correct
    from memctl.store import quarantine
    from memctl.store.items import items

    found = select_items(ctx, "promote", id, wanted)
    refuse_protected(ctx, [item for item in found if item.validation != "verified"], "promote")
    standings = quarantine.standings(ctx.db, found)
    left = [(item, why) for item in found if (why := _hindrance(item, standings[item.id], tier))]
    hindered = {item.id for item, _ in left}
    going = [item.id for item in found if item.id not in hindered]
    if len(found) == 1 and left:
        item, why = left[0]
        if why == _REACHED:
            raise errors.TierReached(tier=item.tier, target=tier)
        raise errors.ItemUnchangeable(id=item.id, reason=why, remedy=f"memctl show {item.id} says more")
    if wanted.dry_run:
        before = {item.id: item.tier for item in items.get_many(ctx.db, going)}
        done = [correct.Promoted(i, before[i], tier, released=standings[i].state == "raw") for i in going]
    else:
        with ctx.at_work("promote"):
            done = correct.promote_items(ctx.db, going, tier)
    for item, why in left[:MOST_TOLD]:
        ctx.note(f"[promote] {item.id}: {why}")
    rows = [{"id": one.id, "from_tier": one.from_tier, "to_tier": one.to_tier} for one in done]
    lines = [f"Promoted {one.id}: {one.from_tier} → {one.to_tier}" for one in done]
    state = {"status": "dry_run", "dry_run": True} if wanted.dry_run else {"status": "ok"}
    if id is not None and len(rows) == 1 and not left:
        return PlainResult(state | rows[0] | ctx.run_key(), lines)
    released = sum(one.released for one in done)
    what = "would be promoted" if wanted.dry_run else "promoted"
    ctx.note(f"[promote] {len(done)} item(s) {what}; {released} of them were raw, and may be recalled now")
    return PlainResult(
        state | {"total": len(rows), "truncated": len(rows) > MOST_TOLD, "released": released,
                 "items": rows[:MOST_TOLD],
                 "unchanged": [{"id": item.id, "why": why} for item, why in left[:MOST_TOLD]]}
        | ctx.run_key(),
        lines,
    )  # fmt: skip


def _hindrance(item: MemoryItem, standing: "Standing", tier: str) -> str:
    """Why an item cannot be promoted; "" when it can."""
    from memctl.names import TIERS

    if item.archived:
        return "it is archived"
    if standing.is_held:
        return "policy holds it back"
    reached = TIERS.index(tier) <= TIERS.index(item.tier)
    return _REACHED if reached and standing.state != "raw" else ""


# --- how long ---------------------------------------------------------------------------------------------------------


@operation(
    access=WRITE,
    examples=(
        "memctl retain MEM-a3185eaf3928 keep           # it neither fades nor expires",
        "memctl retain MEM-a3185eaf3928 fade 0.02      # 2 % of its strength a day",
        "memctl retain a3185e 91b0 until 2027-03-31    # or 90d, from now",
        "memctl retain MEM-a3185eaf3928 usual",
    ),
    exits={1: "there is no such item, or the words are none of these"},
)
def retain(
    ctx: Context,
    said: Annotated[
        list[str],
        Arg("the items' ids, then keep, fade RATE, until WHEN or usual", metavar="MEM-ID… keep|fade RATE|until WHEN"),
    ],
) -> PlainResult:
    """Say how long items keep their worth.

    What is kept neither fades nor expires, and no model can change it. What fades loses the share RATE of its strength
    each day since it was made or last used, and so stands behind others that answer as well; it is found all the same.
    UNTIL is the end of an item, after which nothing finds it. usual takes away what was said.
    """
    from memctl.store.items import attributes

    at = next((at for at, word in enumerate(said) if word in _HOW_LONG), 0)
    given, how, values = said[:at], said[at] if at else "", said[at + 1 :]
    if how not in _HOW_LONG or len(values) != (how in ("fade", "until")):
        raise errors.UsageError("give ids, then keep, fade RATE, until WHEN or usual", command="retain")
    rate, end = 0.0, None
    if how == "fade":
        try:
            rate = float(values[0])
        except ValueError:
            rate = -1.0
        if not 0 < rate < 1:
            said_rate = one_line(values[0], 40)
            raise errors.UsageError(f"fade: '{said_rate}' is no share of a day between 0 and 1", command="retain")
    elif how == "until":
        end = time_to_come(values[0], "until")
        if end is not None and end <= ids.timestamp():
            raise errors.UsageError(f"until: '{one_line(values[0], 40)}' is over already", command="retain")
    found = named_items(ctx, given, "retain")
    wanted = attributes.Retention(how, rate) if how in ("keep", "fade") else None
    with ctx.at_work("retain"):
        changed = attributes.set_retention(ctx.db, [item.id for item in found], wanted, expires_at=end)
    left = [(item.id, "it is so already") for item in found if item.id not in changed]
    return report_changes(ctx, "retain", changed, left, done=_HOW_LONG[how])
