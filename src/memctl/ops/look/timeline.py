"""Timeline: when things were said, drawn; and the tool (memory_timeline)."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import Passages, ReadRequest, Source
from memctl.reading.request import passages_hint, read_filters, said_where
from memctl.text.clean import bar, one_line

if TYPE_CHECKING:
    from memctl.types import MemoryItem

Period = Literal["day", "week", "month", "year"]
#: Without `--by`: so many days at most are shown day by day, week by week, month by month.
_DAYS, _WEEKS, _MONTHS = 31, 184, 1100
#: Periods that a person sees; `--json` has all.
_SHOWN = 60
_TITLE = 72
_DAY, _MINUTE = 10, 16


@operation(
    access=READ,
    tool="memory_timeline",
    about="List what the memory learnt in a span of time, newest first, and how much in each period of it.",
    answer={"by": "string", "groups": "array", "items": "array", "total": "integer", "truncated": "boolean"},
    examples=(
        "memctl timeline",
        "memctl timeline --since 2026-01-01 --by month",
        "memctl timeline --since 7d --from people --json | jq -r '.items[].title'",
    ),
)
def timeline(
    ctx: Context,
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "since until by scope all_scopes workspace type tags session source passages archived limit",
            since={"mcp_name": "start", "mcp": True},
            until={"mcp_name": "end", "mcp": True},
            scope={"mcp_name": "project"},
            all_scopes={"mcp": True},
        ),
    ],
    by: Annotated[Period | None, Arg("count by day, week, month or year (default: by the span)", "--by")] = None,
    source: Source = None,
    passages: Passages = False,
    limit: Annotated[
        int, Arg("list this many items at most, the newest", "-n", "--limit", aliases=("-k",), ge=0, le=1000)
    ] = 20,
) -> PlainResult:
    """Show when things were said, and what was said last.

    Each period has a bar of as many signs as it has items beside the fullest one; periods without any are shown, too.
    What is counted are statements; with --passages passages of documents too. Weeks begin on Monday, all times are UTC.
    """
    from memctl.reading import delivery
    from memctl.store.items import items, overview

    filters = said_where(ctx, read_filters(ctx, request, "timeline"), source, passages=passages)
    days = overview.count_by_day(ctx.db, filters)
    period, groups = group_days(days, by)
    found = items.list_items(ctx.db, filters, limit, order="made")
    if ctx.bounds is not None:
        found = list(delivery.items_for_models(ctx, found, "timeline").values())
    else:
        found = delivery.items_for_people(ctx, found, "timeline")
    total = sum(days.values())
    if not total:
        ctx.note(f"[timeline] No items.{passages_hint(ctx, filters)}")
    data = {
        "status": "ok", "by": period, "start": min(days, default=None), "end": max(days, default=None), "total": total,
        "truncated": total > len(found), "groups": [{"when": when, "count": count} for when, count in groups.items()],
        "items": [
            {"id": item.id, "title": item.title, "type": item.type, "tier": item.tier, "scope": item.scope,
             "created_at": item.created_at, "source_id": item.provenance.source_id}
            for item in found
        ],
    }  # fmt: skip
    if len(groups) > _SHOWN:
        ctx.note(f"[timeline] the last {_SHOWN} of {len(groups)} periods; --by month or year shows all")
    return PlainResult(data, list(_lines(groups, found)))


def _lines(groups: Mapping[str, int], found: "Iterable[MemoryItem]") -> Iterator[str]:
    """The bars, then the newest items."""
    shown = list(groups.items())[-_SHOWN:]
    most = max(groups.values(), default=0)
    width = len(str(most))
    for when, count in shown:
        yield f"{when}  {count:>{width}}  {bar(count, most)}".rstrip()
    if shown and found:
        yield ""
    for item in found:
        made = item.created_at[:_MINUTE].replace("T", " ")
        yield f"{made}  {item.id}  {one_line(item.title or item.content, _TITLE)}"


def group_days(days: Mapping[str, int], by: "Period | None" = None) -> tuple[str, dict[str, int]]:
    """Counts of days by period, in order and without gaps; and the period, which the span chooses where none is given.

    What other programs wrote as a day that is none is left out.
    """
    known = {day: count for day, count in days.items() if _is_day(day)}
    if not known:
        return by or "day", {}
    first, last = date.fromisoformat(min(known)), date.fromisoformat(max(known))
    span = (last - first).days
    period = by or ("day" if span <= _DAYS else "week" if span <= _WEEKS else "month" if span <= _MONTHS else "year")
    out: dict[str, int] = {}
    if span <= _MOST_DAYS:  # without gaps
        out = {_period(first + timedelta(days=at), period): 0 for at in range(span + 1)}
    for day, count in known.items():
        name = _period(date.fromisoformat(day), period)
        out[name] = out.get(name, 0) + count
    return period, out


#: A longer span, which only wrong clocks make, is shown with gaps.
_MOST_DAYS = 40_000


def _is_day(day: str) -> bool:
    try:
        return date.fromisoformat(day).isoformat() == day
    except ValueError:
        return False


def _period(day: date, period: str) -> str:
    if period == "week":
        day -= timedelta(days=day.weekday())
    return day.isoformat()[: {"day": 10, "week": 10, "month": 7, "year": 4}[period]]


def summary(days: Mapping[str, int]) -> str:
    """A span of time in a sentence, as rekal says it: `12 memories from 2026-01-02 to 2026-11-20`."""
    if not days:
        return "no memories"
    return f"{sum(days.values())} memories from {min(days)} to {max(days)}"
