"""Whether items are right, and what counts in their place: memctl supersede, retract, verify; memory_supersede."""

from memctl import errors
from memctl.annotations import Annotated
from memctl.context import Context
from memctl.names import ItemType
from memctl.operation import READ, REQUIRED, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Selection, WriteTarget
from memctl.reading.selection import (
    checked_reason,
    named_item,
    named_items,
    refuse_protected,
    report_changes,
    select_items,
)
from memctl.text import clean
from memctl.types import MemoryItem
from memctl.writing import StatementBatch, read_stdin, standing_words, standings_of, without_injected


@operation(
    access=WRITE,
    tool="memory_supersede",
    toolset="standard",
    about="Replace a memory whose fact has changed: the new statement is stored, the old one archived, both linked.",
    answer={"id": "string", "old_id": "string", "action": "string", "reasons": "array"},
    examples=(
        'memctl supersede MEM-a3185eaf3928 "The gateway retries three times."',
        "memctl supersede a3185e --by 91b0c2          # both are stored already",
        "git log -1 --format=%B | memctl supersede a3185e",
    ),
    exits={1: "there is no such item, it counts no more, or policy refuses the new statement"},
    takes_input=lambda values: values.get("text") in (None, ["-"]) and values.get("by") is None,
)
def supersede(
    ctx: Context,
    old_id: Annotated[str, Arg("the item that counts no more", metavar="OLD-ID", mcp_help="the old memory's id")],
    text: Annotated[
        list[str] | None,
        Arg("what counts now, quoted or not; none, or -, reads standard input", metavar="TEXT", mcp=False),
    ] = None,
    *,
    by: Annotated[
        str | None, Arg("the item that counts now, when it is stored already", "--by", metavar="MEM-ID", mcp="full")
    ] = None,
    new_content: Annotated[
        str | None, Arg("what counts now", cli=False, mcp_default=REQUIRED, mcp_help="the new statement")
    ] = None,
    title: Annotated[str | None, Arg("its title (default: its first line)", "--title", mcp="full")] = None,
    type: Annotated[
        ItemType | None, Arg("what kind of statement it is (default: the old one's)", "--type", mcp="full")
    ] = None,
    tags: Annotated[
        list[str] | None, Arg("its tags (default: the old one's)", "--tags", comma=True, mcp="full")
    ] = None,
) -> PlainResult:
    """Replace an item by a newer statement.

    The new item is stored, linked to the old one, and the old one is archived, in one transaction. The new one has the
    old one's type, tags, tier, scope and importance, unless other ones are given; the block says that it replaces the
    old one. A statement that policy refuses or holds back replaces nothing. A text that the store has already is not
    stored again: that item takes the old one's place.
    """
    from memctl.store.items.items import get_summaries

    old = named_item(ctx, old_id, "supersede")
    refuse_protected(ctx, [old], "supersede")
    if by is not None:
        return _by_item(ctx, old, by, said=bool(text or new_content))
    given = " ".join(text or ()) if new_content is None else new_content
    if new_content is None and (text is None or given == "-"):
        given = read_stdin(ctx, "supersede")
    given = clean.statement(without_injected(ctx, given, "supersede"))
    if clean.is_blank(given):
        raise errors.UsageError("the new statement is empty", command="supersede")
    if given.startswith("MEM-") and get_summaries(ctx.db, [given]):
        raise errors.UsageError("the new statement is an item's id: --by is for that", command="supersede")
    if _is_replaced(ctx, old, given):
        return _tell_as_it_is(ctx, old)
    return _by_text(ctx, old, given, title, type or old.type, tags)


def _is_replaced(ctx: Context, old: MemoryItem, given: str) -> bool:
    """Whether this text, or the item of this id, has replaced the item already.

    Raises ItemUnchangeable when another one has, or it is archived.
    """
    if not old.archived:
        return False
    from memctl.store.items import items

    new = items.get(ctx.db, old.superseded_by or "")
    if new is not None and given in (new.id, new.content):
        return True
    whose = f": {old.superseded_by} has replaced it" if old.superseded_by else ""
    remedy = f"memctl restore {old.id} brings it back"
    raise errors.ItemUnchangeable(id=old.id, reason=f"it is archived{whose}", remedy=remedy)


def _tell_as_it_is(ctx: Context, old: MemoryItem) -> PlainResult:
    new = old.superseded_by or ""
    ctx.note(f"[supersede] {new} has replaced {old.id} already")
    data = {"status": "unchanged", "id": new, "old_id": old.id, "action": "accept", "reasons": []}
    return PlainResult(data | standings_of(ctx, [new])[new], [new])


def _by_text(
    ctx: Context, old: MemoryItem, given: str, title: str | None, kind: str, tags: list[str] | None
) -> PlainResult:
    limit = ctx.policy.max_content_length
    if len(given) > limit and kind != "pointer":
        raise errors.TextTooLong(limit=limit, size=len(given))
    door = "memctl-remember" if ctx.bounds is None else "memory_write"
    batch = StatementBatch(ctx, door, WriteTarget(scope=old.scope, tags=old.tags if tags is None else tags))
    item = batch.add(batch.statement(given, title or "", type=kind), supersedes=old.id)
    item.tier, item.corpus_id = old.tier, old.corpus_id
    done = batch.store("supersede").outcomes[0]
    if done.kind == "rejected":
        raise errors.NothingStored(reason=f"rejected by policy ({'; '.join(done.reasons)}); {old.id} still counts")
    row = standings_of(ctx, [done.id])[done.id]
    data = {
        "status": "ok" if done.replaced else "unchanged", "id": done.id, "old_id": old.id,
        "action": "quarantine" if done.quarantined else "accept", "reasons": list(done.reasons),
    }  # fmt: skip
    if done.replaced:
        ctx.note(f"[supersede] {done.id} replaces {old.id}, which is archived")
    elif done.id == old.id:
        ctx.note(f"[supersede] {old.id} says so already")
    else:
        ctx.warn(f"[supersede] {done.id} is {standing_words(row)} ({'; '.join(done.reasons)}): {old.id} still counts")
    return PlainResult(data | row | ctx.run_key(), [done.id])


def _by_item(ctx: Context, old: MemoryItem, by: str, *, said: bool) -> PlainResult:
    """Let an item that is stored already take the old one's place."""
    from memctl.store.items import attributes

    if said:
        raise errors.UsageError("give either the new text, or --by with an item", command="supersede")
    new = named_item(ctx, by, "supersede")
    if new.id == old.id:
        raise errors.UsageError("an item does not replace itself", command="supersede")
    if _is_replaced(ctx, old, new.id):
        return _tell_as_it_is(ctx, old)
    if new.archived or not new.injectable:
        what = "archived" if new.archived else "kept from models"
        raise errors.ItemUnchangeable(
            id=old.id, reason=f"{new.id} is {what}, and cannot stand for it", remedy=f"memctl show {new.id} says why"
        )
    attributes.supersede(ctx.db, old.id, new.id)
    ctx.note(f"[supersede] {new.id} replaces {old.id}, which is archived")
    data = {"status": "ok", "id": new.id, "old_id": old.id, "action": "accept", "reasons": []}
    return PlainResult(data | standings_of(ctx, [new.id])[new.id] | ctx.run_key(), [new.id])


@operation(
    access=WRITE,
    examples=(
        'memctl retract MEM-a3185eaf3928 --why "measured again: it is 40 ms"',
        "memctl retract --query benchmark --since 7d  # shows what it finds, and asks",
    ),
    exits={1: "there is no such item, or nobody can be asked"},
)
def retract(
    ctx: Context,
    id: Annotated[
        list[str] | None,
        Arg("the items' ids, whole or shortened; - reads them from standard input", metavar="MEM-ID"),
    ] = None,
    *,
    reason: Annotated[str | None, Arg("the reason, kept with the item's history", "--why")] = None,
    wanted: Annotated[
        Selection, Fields("query tags tier type source since until scope all_scopes workspace limit dry_run yes")
    ],
) -> PlainResult:
    """Say that items are known to be wrong.

    They are kept, so that the mistake is not made again, and search and list show them as retracted; no model is given
    them. `verify` takes it back.
    """
    from memctl.lifecycle import correct

    why = checked_reason(ctx, reason, "retract")
    found = select_items(ctx, "retract", id, wanted, fits=lambda item: item.validation != "retracted")
    ids = [item.id for item in found if item.validation != "retracted"]
    left = [(item.id, "retracted already") for item in found if item.validation == "retracted"]
    if not wanted.dry_run:
        with ctx.at_work("retract"):
            ids = correct.set_validation(ctx.db, ids, "retracted", "retract", why)
    return report_changes(ctx, "retract", ids, left, done="retracted", dry_run=wanted.dry_run)


@operation(
    access=WRITE,
    examples=(
        "memctl verify MEM-a3185eaf3928",
        'memctl verify a3185e 91b0 --why "read the code"',
        "memctl verify               # is the store itself sound",
    ),
    exits={1: "there is no such item, or the store is damaged"},
)
def verify(
    ctx: Context,
    id: Annotated[
        list[str] | None,
        Arg("the items' ids, whole or shortened; - reads them from standard input", metavar="MEM-ID"),
    ] = None,
    *,
    reason: Annotated[str | None, Arg("how you know, kept with the item's history", "--why")] = None,
) -> PlainResult:
    """Say that items are right, or, without ids, check the whole store.

    A verified item comes first among equals, and no model can change what it says. What was retracted counts again, and
    what an item cites counts as it is now, if it was stale.

    Without ids nothing is changed: every page of the file is read, the full-text index is compared with the items, and
    so are hashes, what stands beside items, documents and folders. `memctl doctor --fix` mends what it finds.
    """
    from memctl import citing
    from memctl.lifecycle import correct
    from memctl.store import quarantine

    if id is None and reason is None:
        from memctl.ops.care.doctor import verify_store

        ctx.narrow(READ)
        return verify_store(ctx)
    found = named_items(ctx, id or [], "verify")
    why = checked_reason(ctx, reason, "verify")
    standings = quarantine.standings(ctx.db, found)
    free = [item.id for item in found if not standings[item.id].is_held]
    renewed = citing.renew(ctx.db, free)
    left = [(item.id, "verified already") for item in found if item.validation == "verified" and item.id not in renewed]
    held = [item.id for item in found if standings[item.id].is_held]
    left += [(i, "policy holds it back; memctl quarantine release lets it go first") for i in held]
    right = [item.id for item in found if item.validation != "verified" and item.id not in held]
    with ctx.at_work("verify"):
        verified = correct.set_validation(ctx.db, right, "verified", "verify", why)
    ids = [item.id for item in found if item.id in verified or item.id in renewed]
    return report_changes(ctx, "verify", ids, left, done="verified")
