"""memctl history, blame and diff: what an item was, who made it so, and what differs."""

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.operation import READ, Arg, PlainResult, operation
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.lifecycle.states import ItemState
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
