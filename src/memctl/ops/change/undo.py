"""memctl log and undo: what happened in the store, and taking it back."""

import json
from collections.abc import Sequence

from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.errors import UsageError
from memctl.operation import READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting, first_moment
from memctl.text import clean
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.store.runs import Run, Undone

#: Items and rows that an answer names; the counts say the rest.
_MOST_NAMED = 100
#: Runs that one undo takes back at most.
_MOST_UNDONE = 1000
#: The same of one line of the log.
_MOST_IN_LINE = 3
_TITLE = 60
#: What people call the parts of a store; others go by their own names.
_PARTS = {
    "made": "items made", "changed": "items changed", "corpus_hashes": "files", "files": "file times",
    "gone_files": "files that went", "withheld": "held back", "palace_locations": "pins", "purged": "items purged",
}  # fmt: skip


@operation(
    access=READ,
    examples=(
        "memctl log",
        "memctl log --since yesterday --command sync",
        "memctl log -n 1 --json   # the newest run",
        "memctl log --jsonl | jq -r 'select(.actor == \"tool\") | .run'",
    ),
)
def log(
    ctx: Context,
    *,
    limit: Annotated[int, Arg("list this many at most", "-n", "--limit", aliases=("-k",), ge=1, le=10_000)] = 20,
    since: Annotated[
        str | None,
        Arg("only what ended at this time or later: 2026-11-20, 7d, yesterday (UTC)", "--since", metavar="WHEN"),
    ] = None,
    command: Annotated[str | None, Arg("only runs of this command", "--command", metavar="NAME")] = None,
    jsonl: Annotated[bool, Arg("one JSON object a line, for programs", "--jsonl")] = False,
) -> PlainResult:
    """Say what was written to the store, newest first.

    A run is one command, one call of a tool, or one call of the Python interface that wrote, in however many steps. The
    log says who did it, why, and to which items. What only counts uses is no run.
    """
    from memctl.store import runs
    from memctl.store.items import items

    every = runs.list_runs(ctx.db, since=first_moment("--since", since), command=command)
    found = every[:limit]
    names = {run.number: run.id for run in runs.list_runs(ctx.db, runs={n for one in found for n in one.undoes})}
    rows, lines = [], []
    for run in found:
        counts, changed = runs.count_changes(ctx.db, run), runs.changed_items(ctx.db, run, _MOST_IN_LINE)
        titles = {item.id: one_line(item.title, _TITLE) for item in items.get_many(ctx.db, [key for key, _ in changed])}
        undoes = [names[number] for number in run.undoes if number in names]
        total = counts.get("made", 0) + counts.get("changed", 0)
        rows.append(_as_dict(run) | {
            "undoes": undoes, "undone_by": run.undone_by, "changes": counts,
            "items": [{"id": key, "made": made, "title": titles.get(key)} for key, made in changed], "total": total,
            "truncated": total > len(changed),
        })  # fmt: skip
        if jsonl:
            lines.append(clean.escaped(json.dumps(rows[-1], ensure_ascii=False)))
        else:
            lines += _log_lines(run, counts, [(key, titles.get(key, "(gone)")) for key, _ in changed], undoes)
    data = {"status": "ok", "runs": rows, "total": len(every), "truncated": len(every) > limit}
    if not rows:
        ctx.note("[log] no runs")
    return PlainResult(data, lines)


def _as_dict(run: "Run") -> dict[str, Any]:
    return {
        "run": run.id, "command": run.command, "actor": run.actor, "name": run.name, "session": run.session,
        "reason": run.reason, "started_at": run.started_at, "finished_at": run.finished_at,
    }  # fmt: skip


def _log_lines(
    run: "Run", counts: dict[str, int], named: Sequence[tuple[str, str]], undoes: Sequence[str]
) -> list[str]:
    words = ", ".join(f"{_PARTS.get(name, name.replace('_', ' '))}: {count}" for name, count in counts.items())
    words = words or "nothing is kept of what it changed"
    more = f" of {', '.join(undoes)}" if undoes else ""
    gone = f"  (undone by {run.undone_by})" if run.undone_by else ""
    why = f"  because: {one_line(run.reason, _TITLE)}" if run.reason else ""
    lines = [
        f"{run.id}  {run.finished_at[:19].replace('T', ' ')}  {run.command}{more}  by {run.who}{gone}",
        f"    {words}{why}",
    ]
    return lines + [f"    {item_id}  {title}" for item_id, title in named]


# --- undo ------------------------------------------------------------------------------------------------------------


@operation(
    access=WRITE,
    examples=(
        "memctl undo                    # the newest run",
        "memctl undo 3                  # the three newest",
        "memctl undo RUN-a3185eaf3928   # this one, whatever came after it",
        "memctl undo --dry-run          # what would come back",
    ),
    exits={1: "there is no such run, or nothing of it can be put back"},
)
def undo(
    ctx: Context,
    run: Annotated[
        str,
        Arg("which run: its name, whole or shortened to four digits; or how many, the newest first", metavar="N|RUN"),
    ] = "1",
    *,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "only say what would come back"})],
) -> PlainResult:
    """Take back what commands and tools wrote.

    What the run changed is as it was before, the index too; what it stored is gone. Without a name it is the newest run
    that can be taken back: no undo, not undone, not deleted for good. An undo is a run itself: `memctl undo` with its
    name brings all back again.

    The newest runs come back exactly. Of an earlier one, what somebody changed since is left alone and named. What was
    deleted for good (purge, reset, a session) stays so.
    """
    from memctl.store import runs

    with ctx.db.atomic():  # of several at a time, each takes back another run
        chosen = _choose(ctx, run.strip())
        if not chosen or chosen[0].undone_by is not None:
            ctx.note(
                f"[undo] {chosen[0].undone_by} has undone it already" if chosen else "[undo] there is nothing to undo"
            )
            return PlainResult({"status": "ok", "undone": [], "items": [], "total": 0, "truncated": False,
                                "rows": 0, "kept": [], "kept_total": 0})  # fmt: skip
        titles = _titles(ctx, chosen)
        with ctx.at_work("undo"):
            done = runs.undo(ctx.db, chosen, dry_run=acting.dry_run)
    return _undone(chosen, done, titles | _titles(ctx, chosen), dry_run=acting.dry_run)


def _choose(ctx: Context, wanted: str) -> "list[Run]":
    """The run of this name, or as many of the newest; none when there is nothing to undo. Raises RunFinal."""
    from memctl.store import runs

    if not (wanted.isdecimal() and len(wanted) < 4):
        return [runs.find_run(ctx.db, wanted)]
    count = int(wanted)
    if not 1 <= count < _MOST_UNDONE:
        raise UsageError(f"the number of runs must be from 1 to {_MOST_UNDONE - 1}, not {count}", command="undo")
    chosen, final = runs.newest_standing(ctx.db, count)
    if final and not chosen:
        raise runs.final_error(final[0])
    if final and len(chosen) == count:
        named = ", ".join(f"{one.id} ({one.command})" for one in final[:_MOST_IN_LINE])
        more = f" and {len(final) - _MOST_IN_LINE} more" if len(final) > _MOST_IN_LINE else ""
        ctx.note(f"[undo] passed over, for these cannot be undone: {named}{more}")
    return chosen


def _titles(ctx: Context, chosen: "Sequence[Run]") -> dict[str, str]:
    """The titles of the items that runs changed, those that are there now."""
    from memctl.store import runs
    from memctl.store.items import items

    keys = [key for run in chosen for key, _ in runs.changed_items(ctx.db, run, _MOST_NAMED)]
    return {item.id: one_line(item.title, _TITLE) for item in items.get_many(ctx.db, keys[:_MOST_NAMED])}


def _undone(chosen: "Sequence[Run]", done: "Undone", titles: dict[str, str], *, dry_run: bool) -> PlainResult:
    nothing = not done.undone
    told = [(one, "restored") for one in done.restored] + [(one, "removed") for one in done.removed]
    data: dict[str, Any] = {"status": "kept" if nothing else "ok"} | (
        {"dry_run": True} if dry_run else {"run": done.run}
    )
    data |= {
        "undone": done.undone,
        "items": [{"id": key, "now": now, "title": titles.get(key)} for key, now in told[:_MOST_NAMED]],
        "total": len(told), "truncated": len(told) > _MOST_NAMED, "rows": done.rows,
        "kept": [{"what": part, "key": key} for part, key in done.kept[:_MOST_NAMED]], "kept_total": len(done.kept),
    }  # fmt: skip
    would = "would be " if dry_run else ""
    lines = [
        f"{run.id} ({run.command}, {run.finished_at[:19].replace('T', ' ')}): {would}undone"
        for run in chosen
        if run.id in done.undone
    ]
    words = {"restored": f"{would}as it was", "removed": f"{would}gone"}
    lines += [f"  {key}: {words[now]}  {titles.get(key, '')}".rstrip() for key, now in told[:_MOST_NAMED]]
    lines += [f"  … and {len(told) - _MOST_NAMED} more items"] * (len(told) > _MOST_NAMED)
    lines += [f"  {key}: left alone, it was changed or removed since" for _, key in done.kept[:_MOST_NAMED]]
    lines += [f"  … and {len(done.kept) - _MOST_NAMED} more left alone"] * (len(done.kept) > _MOST_NAMED)
    if done.run:
        lines.append(f"memctl undo {done.run} takes this back")
    return PlainResult(data, lines, 1 if nothing else 0)
