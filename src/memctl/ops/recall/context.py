"""Context: what answers a question, what of it is disputed, and when it was said, as one block."""

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import ReadRequest
from memctl.reading.block import configured_form, recall_block
from memctl.reading.request import block_budget, read_filters
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN, estimate_tokens

#: The share of the budget that is kept for conflicts and the timeline; what they do not need, they leave.
_RESERVE = 0.2
#: Periods of the timeline in the block.
_PERIODS = 12
_SIDE = 60


@operation(
    access=READ,
    tool="memory_context",
    toolset="standard",
    prose=True,
    about="As memory_recall, with what is disputed, and when it was said.",
    answer={
        "inject_text": "string", "memories": "array", "conflicts": "array", "timeline_summary": "string",
        "timeline": "array", "tokens_used": "integer", "matched": "integer",
    },
    examples=(
        'memctl context "how are tokens rotated"',
        'memctl context "billing" --budget 600 --json | jq .conflicts',
    ),
    exits={0: "also when nothing matches: stdout is empty"},
)  # fmt: skip
def context(
    ctx: Context,
    query: Annotated[str, Arg("the question to answer", mcp_help="the question")],
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "budget scope all_scopes workspace session since until weigh limit",
            budget={"mcp_name": "budget_tokens", "mcp": "full"},
            workspace={"mcp": "full"},
            scope={"mcp_help": "", "mcp": "full"},
        ),
    ],
    limit: Annotated[
        int, Arg("items of the block at most", "-n", "--limit", aliases=("-k",), ge=1, le=1000, mcp="full")
    ] = 50,
) -> PlainResult:
    """Print what answers a question, what of it is disputed, and when it was said, as one block.

    It is the block of `memctl recall`, then the open conflicts between its items, then how many statements were made in
    the time that its items are from, period by period. All of it keeps within the budget; the parts behind the block
    are left out before its items are.
    """
    from memctl.ops.look.timeline import group_days, summary
    from memctl.store.items import items, overview

    budget = block_budget(ctx, request)
    asked = ReadRequest(**vars(request) | {"budget": max(1, budget - int(budget * _RESERVE))})
    found = recall_block(ctx, query, asked, configured_form(ctx), command="context", most=limit)
    filters = read_filters(ctx, request, "context", injectable=True)
    given = items.get_many(ctx.db, found.block.ids)
    days: dict[str, int] = {}
    if given:
        made = sorted(item.created_at for item in given)
        days = overview.count_by_day(
            ctx.db, filters.replace(origin="statements", since=made[0], until=made[-1], tags=())
        )
    period, groups = group_days(days)
    conflicts = _conflicts(ctx, found.block.ids, filters) if given else []
    lines = _lines(found.text, conflicts, groups, summary(days), budget) if found.text else []
    text = "\n".join(lines)
    data: dict[str, Any] = {
        "status": "ok", "query": query, "inject_text": text, "memories": found.catalog(),
        "conflicts": conflicts, "timeline_summary": summary(days), "by": period,
        "timeline": [{"when": when, "count": count} for when, count in groups.items()],
        "tokens_used": estimate_tokens(text), "matched": found.matched,
    }  # fmt: skip
    return PlainResult(data, lines, after=found.settle)


@operation(
    name="build-context",
    access=READ,
    tool="memory_build_context",
    about="Recall memories for a question with the conflicts between them, as data.",
    answer={"query": "string", "memories": "array", "conflicts": "array", "timeline_summary": "string"},
)
def build_context(
    ctx: Context,
    query: Annotated[str, Arg("the question")],
    *,
    project: Annotated[str | None, Arg("the scope to recall from", mcp_help="")] = None,
    limit: Annotated[int, Arg("memories at most", ge=1, le=1000)] = 10,
    recency: Annotated[float | None, Arg("share of its score that a new item gains", ge=0, le=1)] = None,
    recency_days: Annotated[float | None, Arg("days until half of that is left", ge=0.1, le=100_000)] = None,
) -> PlainResult:
    """Recall memories with the conflicts between them and when they were said, as rekal does."""
    said = {"recency": recency, "recency_days": recency_days}
    weigh = [f"{name}={value}" for name, value in said.items() if value is not None]
    request = ReadRequest(scope=project or DEFAULT_SCOPE, weigh=weigh)
    done: PlainResult = context(ctx, query, request=request, limit=limit)
    return done


def _conflicts(ctx: Context, item_ids: "tuple[str, ...]", filters: Any) -> list[dict[str, Any]]:
    """The open conflicts between items of the block."""
    from memctl.ops.look.conflicts import conflict_rows
    from memctl.store import conflicts

    known = set(item_ids)
    return conflict_rows(
        ctx, [one for one in conflicts.conflicts_of(ctx.db, item_ids, filters) if {one.a, one.b} <= known]
    )


def _lines(block: str, conflicts: list[dict[str, Any]], groups: dict[str, int], said: str, budget: int) -> list[str]:
    """The block, and of what follows as much as the budget has room for."""
    disputed = [
        f"{row['id']} ({row['why']}): " + " | ".join(one_line(row[side]["content"], _SIDE) for side in ("b", "a"))
        for row in conflicts
    ]
    when = ", ".join(f"{when} {count}" for when, count in list(groups.items())[-_PERIODS:] if count)
    parts = [["## Disputed", *disputed] if disputed else []]
    parts.append(["## When it was said", f"{said}: {when}"] if len(groups) > 1 else [])
    lines, room = [block], budget * CHARS_PER_TOKEN - len(block)
    for part in parts:
        size = sum(len(line) + 1 for line in part)
        if part and size <= room:
            room -= size
            lines += part
    return lines
