"""What was: memctl history, blame and diff of items, log and undo of whole runs."""

import json
from collections.abc import Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.errors import UsageError
from memctl.operation import READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting, first_moment
from memctl.text import clean
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.lifecycle.states import ItemState
    from memctl.store.undo import Run, Undone
    from memctl.types import MemoryItem

ItemId = Annotated[str, Arg("the item's id, whole or shortened to four digits or more", metavar="MEM-ID")]
ShowHeld = Annotated[bool, Arg("show the words of a quarantined item also where no person reads them", "--quarantined")]
#: Characters of a value on one line.
_SHOWN = 70
#: The fields that `diff` compares beside the content, as documented.
_COMPARED = (
    "title", "tier", "type", "tags", "validation", "confidence", "scope", "injectable", "archived", "expires_at",
)  # fmt: skip


def _find(ctx: Context, wanted: str, label: str, *, quarantined: bool) -> "tuple[MemoryItem, list[ItemState]]":
    """An item and its states, as the reader may see them. Raises ItemNotFound."""
    from memctl.lifecycle.states import item_states
    from memctl.reading import delivery
    from memctl.reading.selection import named_item
    from memctl.store.items import items

    item = named_item(ctx, wanted, label)
    states = item_states(ctx.db, item)
    is_held = not item.injectable and items.withheld_reasons(ctx.db, [item.id]).get(item.id, "policy") != "raw"
    if ctx.bounds is None and (not is_held or quarantined or "stdout" in ctx.tty):
        return item, states
    if ctx.bounds is None:
        ctx.warn(f"[{label}] policy holds this item back: --quarantined shows its words where no terminal does")

    def shown(was: "MemoryItem") -> "MemoryItem":
        fit = [] if is_held else delivery.judge_items(ctx, [was], {}, label, past=True)[0]
        return fit[0] if fit else delivery.without_words(was)

    return shown(item), [state._replace(item=shown(state.item)) for state in states]


@operation(access=READ, examples=("memctl history MEM-a3185eaf3928",))
def history(ctx: Context, id: ItemId, *, quarantined: ShowHeld = False) -> PlainResult:
    """Show every state of an item, and what changed from each to the next.

    The oldest comes first; each says when, by whom and why. What was purged is not there.
    """
    from memctl.lifecycle.states import changes

    item, states = _find(ctx, id, "history", quarantined=quarantined)
    rows, lines, last = [], [f"{item.id}  {one_line(item.title, _SHOWN)}"], None
    for state in states:
        found = changes(last, state.item)
        last = state.item
        rows.append(state.by() | {"changes": [change._asdict() for change in found]})
        lines.append(f"{state.number}. {_when(state.at)}  {state.reason}  {_who(state)}")
        for change in found:
            old = "" if change.old is None else f"{_plain(change.old)} → "
            lines.append(f"     {change.field}: {old}{_plain(change.new)}")
    data = {"status": "ok", "id": item.id, "states": rows, "total": len(rows), "truncated": False}
    return PlainResult(data, lines)


@operation(access=READ, examples=("memctl blame MEM-a3185eaf3928",))
def blame(ctx: Context, id: ItemId, *, quarantined: ShowHeld = False) -> PlainResult:
    """Say of each part of an item who brought it, when, and from where.

    Parts are its fields, and the paragraphs of its content. A part counts from the state since which it is as it is
    now. Who it was is known of what was written since memctl keeps a log; the source is what the item said of itself
    then.
    """
    from memctl.lifecycle.states import blamed_parts

    item, states = _find(ctx, id, "blame", quarantined=quarantined)
    rows, lines, last = [], [f"{item.id}  {one_line(item.title, _SHOWN)}"], ""
    for part in blamed_parts(states) if states else ():
        source = part.state.item.provenance
        named = f"{source.source_kind}:{source.source_id}" if source.source_id else source.source_kind
        rows.append({"field": part.field, "value": part.value} | part.state.by() | {"source": named})
        head = f"  {_when(part.state.at)}  {_who(part.state)}, {one_line(named, _SHOWN)}"
        if head != last:
            lines.append(head)
        last = head
        lines.append(f"    {part.field}: {_plain(part.value)}")
    return PlainResult({"status": "ok", "id": item.id, "parts": rows}, lines)


# --- diff ------------------------------------------------------------------------------------------------------------


@operation(
    access=READ,
    tool="memory_diff",
    about="Compare two memories, or a memory with an earlier state of itself.",
    answer={
        "label_a": "string", "label_b": "string", "identical": "boolean", "similarity_score": "number",
        "content_diff": "array", "metadata_changes": "array",
    },
    examples=(
        "memctl diff MEM-a3185eaf3928               # what the last change changed",
        "memctl diff MEM-a3185eaf3928 --revision 1  # since it was stored",
        "memctl diff MEM-a3185eaf3928 MEM-91b0c2d4e5f6",
    ),
    exits={1: "there is no such item or revision"},
)  # fmt: skip
def diff(
    ctx: Context,
    id1: Annotated[str, Arg("the item's id", metavar="ID1")],
    id2: Annotated[str, Arg("another item's id; without it, an earlier state of the first one", metavar="ID2")] = "",
    *,
    revision: Annotated[int, Arg("compare with this revision (memctl history)", "--revision", metavar="N", ge=0)] = 0,
    latest: Annotated[
        bool, Arg("compare with the state before the last change (default)", "--latest", mcp=False)
    ] = False,
) -> PlainResult:
    """Show what differs between two items, or between an item and what it was.

    Of an item and its earlier state, the changes go from then to now; of two items from the first to the second.
    Titles, tags and the other fields are compared, too.
    """
    if id2 and (revision or latest):
        flag = "--revision" if revision else "--latest"
        raise errors.UsageError(f"{flag} compares one item with itself; leave ID2 out", command="diff")
    item, states = _find(ctx, id1, "diff", quarantined=False)
    if id2:
        other, _ = _find(ctx, id2, "diff", quarantined=False)
        return compared(item.id, other.id, (item.id, item), (other.id, other))
    if not states:
        raise errors.RevisionMissing(id=item.id, what="there are none")
    before = states[max(len(states) - 2, 0)]
    if revision:
        numbers = [state.number for state in states]
        if revision not in numbers:
            raise errors.RevisionMissing(id=item.id, what=f"not {revision}. Available: {numbers}")
        before = states[numbers.index(revision)]
    now, then = f"{item.id} (current)", f"{item.id}@rev{before.number}"
    return compared(now, then, (then, before.item), (now, item))


def compared(
    label_a: str, label_b: str, old: "tuple[str, MemoryItem]", new: "tuple[str, MemoryItem]", context_lines: int = 3
) -> PlainResult:
    """What changes from one item or state to another; the labels are in the documented order, newest first."""
    from difflib import unified_diff

    from memctl.lifecycle.states import changes
    from memctl.text.similarity import similarity

    found = [change for change in changes(old[1], new[1]) if change.field in _COMPARED]
    before, after = _line_ended(old[1].content), _line_ended(new[1].content)
    content = list(unified_diff(before, after, old[0], new[0], n=context_lines))
    identical = not found and old[1].content == new[1].content
    score = round(similarity(old[1].content, new[1].content), 4)
    data = {
        "status": "ok", "label_a": label_a, "label_b": label_b, "identical": identical, "similarity_score": score,
        "content_diff": content, "metadata_changes": [change._asdict() for change in found],
    }  # fmt: skip
    if identical:
        return PlainResult(data, [f"Items are identical ({label_a} vs {label_b})"])
    lines = [f"Diff: {label_a} vs {label_b}", f"Similarity: {score:.4f}", "", *(line.rstrip("\n") for line in content)]
    if found:
        lines += [""] * bool(content) + ["Metadata changes:"]
        lines += [f"  {change.field}: {_plain(change.old)} → {_plain(change.new)}" for change in found]
    return PlainResult(data, lines)


def _line_ended(text: str) -> list[str]:
    """The lines of a text, each with its end."""
    return [line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(keepends=True)]


# --- words -----------------------------------------------------------------------------------------------------------


def _when(moment: str) -> str:
    return moment[:19].replace("T", " ")


def _who(state: "ItemState") -> str:
    if state.run is None:
        return "by another program, or before there was a log"
    why = f", because: {one_line(state.run.reason, _SHOWN)}" if state.run.reason else ""
    return f"{state.run.id} ({state.run.command}) by {state.run.who}{why}"


def _plain(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        value = [f"{key}={one}" for key, one in value.items() if one and key != "created_at"]
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return one_line(str(value), _SHOWN) or "(nothing)"


# --- runs: the log, and taking them back ------------------------------------------------------------------------------


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
    from memctl.store import undo
    from memctl.store.items import items

    every = undo.list_runs(ctx.db, since=first_moment(since), command=command)
    found = every[:limit]
    names = {run.number: run.id for run in undo.list_runs(ctx.db, runs={n for one in found for n in one.undoes})}
    rows, lines = [], []
    for run in found:
        counts, changed = undo.count_changes(ctx.db, run), undo.changed_items(ctx.db, run, _MOST_IN_LINE)
        titles = {item.id: one_line(item.title, _TITLE) for item in items.get_many(ctx.db, [key for key, _ in changed])}
        undoes = [names[number] for number in run.undoes if number in names]
        total = counts.get("made", 0) + counts.get("changed", 0)
        rows.append({
            "run": run.id, "command": run.command, "actor": run.actor, "name": run.name, "session": run.session,
            "reason": run.reason, "started_at": run.started_at, "finished_at": run.finished_at,
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


def _log_lines(
    run: "Run", counts: dict[str, int], named: Sequence[tuple[str, str]], undoes: Sequence[str]
) -> list[str]:
    words = ", ".join(f"{_PARTS.get(name, name.replace('_', ' '))}: {count}" for name, count in counts.items())
    words = words or "nothing is kept of what it changed"
    more = f" of {', '.join(undoes)}" if undoes else ""
    gone = f"  (undone by {run.undone_by})" if run.undone_by else ""
    why = f"  because: {one_line(run.reason, _TITLE)}" if run.reason else ""
    lines = [
        f"{run.id}  {_when(run.finished_at)}  {run.command}{more}  by {run.who}{gone}",
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
    from memctl.store import undo

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
            done = undo.undo(ctx.db, chosen, dry_run=acting.dry_run)
    return _report_undone(chosen, done, titles | _titles(ctx, chosen), dry_run=acting.dry_run)


def _choose(ctx: Context, wanted: str) -> "list[Run]":
    """The run of this name, or as many of the newest; none when there is nothing to undo. Raises RunFinal."""
    from memctl.store import undo

    if not (wanted.isdecimal() and len(wanted) < 4):
        return [undo.find_run(ctx.db, wanted)]
    count = int(wanted)
    if not 1 <= count < _MOST_UNDONE:
        raise UsageError(f"the number of runs must be from 1 to {_MOST_UNDONE - 1}, not {count}", command="undo")
    chosen, final = undo.newest_standing(ctx.db, count)
    if final and not chosen:
        raise undo.final_error(final[0])
    if final and len(chosen) == count:
        named = ", ".join(f"{one.id} ({one.command})" for one in final[:_MOST_IN_LINE])
        more = f" and {len(final) - _MOST_IN_LINE} more" if len(final) > _MOST_IN_LINE else ""
        ctx.note(f"[undo] passed over, for these cannot be undone: {named}{more}")
    return chosen


def _titles(ctx: Context, chosen: "Sequence[Run]") -> dict[str, str]:
    """The titles of the items that runs changed, those that are there now."""
    from memctl.store import undo
    from memctl.store.items import items

    keys = [key for run in chosen for key, _ in undo.changed_items(ctx.db, run, _MOST_NAMED)]
    return {item.id: one_line(item.title, _TITLE) for item in items.get_many(ctx.db, keys[:_MOST_NAMED])}


def _report_undone(chosen: "Sequence[Run]", done: "Undone", titles: dict[str, str], *, dry_run: bool) -> PlainResult:
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
        f"{run.id} ({run.command}, {_when(run.finished_at)}): {would}undone" for run in chosen if run.id in done.undone
    ]
    words = {"restored": f"{would}as it was", "removed": f"{would}gone"}
    lines += [f"  {key}: {words[now]}  {titles.get(key, '')}".rstrip() for key, now in told[:_MOST_NAMED]]
    lines += [f"  … and {len(told) - _MOST_NAMED} more items"] * (len(told) > _MOST_NAMED)
    lines += [f"  {key}: left alone, it was changed or removed since" for _, key in done.kept[:_MOST_NAMED]]
    lines += [f"  … and {len(done.kept) - _MOST_NAMED} more left alone"] * (len(done.kept) > _MOST_NAMED)
    if done.run:
        lines.append(f"memctl undo {done.run} takes this back")
    return PlainResult(data, lines, 1 if nothing else 0)
