"""Fields of items changed: memctl edit and tag, and the tool memory_update."""

import os
from collections.abc import Iterator, Mapping

from memctl import errors, ids, state
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.names import ITEM_TYPES, TIERS, ItemType, Tier
from memctl.operation import WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Selection
from memctl.reading.selection import (
    NEVER,
    named_item,
    refuse_protected,
    report_changes,
    select_items,
    time_to_come,
)
from memctl.text import clean

if TYPE_CHECKING:
    from memctl.lifecycle.correct import Edited
    from memctl.types import MemoryItem


@operation(
    access=WRITE,
    tool="memory_update",
    idempotent=True,
    about="Correct fields of one memory; what is left out stays. Validation: contested is in doubt, retracted known "
    "to be wrong. Where the fact itself has changed, use memory_supersede.",
    answer={"id": "string", "changed": "array"},
    examples=(
        "memctl edit MEM-a3185eaf3928          # all of it, in $VISUAL or $EDITOR",
        'memctl edit a3185e --title "Retries" --tags gateway,retry',
        "memctl edit a3185e --expires 30d",
        "memctl edit a3185e --content 'The gateway retries three times.'",
    ),
    exits={0: "also when nothing is different", 1: "there is no such item, or it cannot become so; it is as it was"},
)
def edit(
    ctx: Context,
    id: Annotated[str, Arg("the item's id, whole or shortened", metavar="MEM-ID", mcp_help="its id")],
    *,
    title: Annotated[str | None, Arg("its title", "--title", mcp_help="")] = None,
    content: Annotated[str | None, Arg("what it says", "--content", metavar="TEXT", mcp_help="")] = None,
    tags: Annotated[
        list[str] | None,
        Arg("its tags, in place of those it has", "--tags", comma=True, mcp_help="all its tags"),
    ] = None,
    type: Annotated[ItemType | None, Arg("what kind of statement it is", "--type", metavar="TYPE", mcp="full")] = None,
    tier: Annotated[Tier | None, Arg("how established it is", "--tier", mcp_help="")] = None,
    confidence: Annotated[float | None, Arg("how sure it is", "--confidence", ge=0, le=1, mcp_help="")] = None,
    importance: Annotated[
        float | None, Arg("how much it matters; 0.5 is as much as any other", "--importance", ge=0, le=1, mcp="full")
    ] = None,
    scope: Annotated[str | None, Arg("the scope it is in", "--scope", mcp=False)] = None,
    expires: Annotated[
        str | None, Arg("when it ends: 2027-01-31, 30d (from now), never", "--expires", metavar="WHEN", mcp=False)
    ] = None,
    validation: Annotated[
        Literal["unverified", "verified", "contested", "retracted"] | None,
        Arg("whether it is right", cli=False, mcp_help=""),
    ] = None,
    dry_run: Annotated[bool, Arg("only say what would be done", "--dry-run", mcp=False)] = False,
) -> PlainResult:
    """Change fields of an item, or all of it in your editor.

    With options, only the fields named change. Without any, $VISUAL or $EDITOR opens the item as fields and text;
    saving it unchanged changes nothing, and a text that cannot be used is kept to go on from. Policy judges the item as
    it is to become: one that it refuses, or would keep from models, stays as it was. What a passage of a document says
    stands in its file. The old state stays in the item's history.
    """
    item = named_item(ctx, id, "edit")
    refuse_protected(ctx, [item], "edit")
    if validation == "verified":
        ctx.refuse_to_tools(f"verify {item.id}", f"memctl verify {item.id}")
    if item.archived:
        ctx.refuse_to_tools(f"change {item.id}: it is archived", f"memctl restore {item.id}")
    if item.validation == "retracted" and validation not in (None, "retracted"):
        ctx.refuse_to_tools(f"say that {item.id} may be right: it was retracted", f"memctl verify {item.id}")
    if item.validation == "retracted" and (content or title) is not None:  # else the words could be said again
        ctx.refuse_to_tools(f"reword {item.id}: it was retracted", f"memctl edit {item.id}")
    given = {
        "title": title, "content": content, "tags": tags, "type": type, "tier": tier, "confidence": confidence,
        "scope": scope, "validation": validation,
    }  # fmt: skip
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if expires is not None:
        changes["expires_at"] = time_to_come(expires, "--expires")
    if changes or importance is not None:
        done = _apply(ctx, item, changes, importance, dry_run=dry_run)
    elif ctx.bounds is not None:
        raise errors.ArgumentInvalid(name="id", message="say what is to change: title, content, tags, tier, …")
    else:
        done = _edit_whole(ctx, item, dry_run=dry_run)
    names = ["expires" if name == "expires_at" else name for name in done.fields]
    what = f"{'would change' if dry_run else 'changed'}: {', '.join(names)}" if names else "nothing is different"
    ctx.note(f"[edit] {item.id}: {what}")
    data = {
        "status": "dry_run" if dry_run else "ok", **({"dry_run": True} if dry_run else {}), "id": item.id,
        "changed": names,
    }  # fmt: skip
    return PlainResult(data | ctx.run_key(), [item.id])


def _apply(
    ctx: Context, item: "MemoryItem", changes: dict[str, Any], importance: float | None, *, dry_run: bool
) -> "Edited":
    """Change the item; a title that is the beginning of its text goes with the text."""
    from memctl.lifecycle import correct

    if "content" in changes and clean.is_blank(changes["content"]):
        raise errors.UsageError("the content is empty; memctl forget puts an item away", command="edit")
    if "scope" in changes and (not changes["scope"] or clean.one_line(changes["scope"]) != changes["scope"]):
        raise errors.UsageError("a scope is one line of words", command="edit")
    if "content" in changes and "title" not in changes:
        title = clean.retitled(item.title, item.content, changes["content"])
        changes |= {"title": title} if title != item.title else {}
    return correct.edit_item(ctx.db, ctx.policy, item.id, changes, importance=importance, dry_run=dry_run)


# --- in an editor -----------------------------------------------------------------------------------------------------


def _fields(item: "MemoryItem", importance: float) -> Iterator[tuple[str, str]]:
    """What an editor shows of an item beside its text."""
    yield "title", clean.one_line(item.title)
    yield "type", item.type
    yield "tier", item.tier
    yield "tags", ", ".join(item.tags)
    yield "confidence", f"{item.confidence:g}"
    yield "importance", f"{importance:g}"
    yield "scope", item.scope
    yield "expires", item.expires_at or NEVER


def _edit_whole(ctx: Context, item: "MemoryItem", *, dry_run: bool) -> "Edited":
    """The item as its user's editor leaves it; only what differs from what was shown is changed."""
    import os

    from memctl.store.items import attributes
    from memctl.text.decoding import decode
    from memctl.text.notes import FrontMatterInvalid, compose_form, read_form

    if "stdin" not in ctx.tty and not (ctx.env("VISUAL") or ctx.env("EDITOR")):
        words = "no terminal to edit at: say what is to change (--title, --content, --tags, …), or set $EDITOR"
        raise errors.UsageError(words, command="edit")
    matters = attributes.get_importance(ctx.db, [item.id]).get(item.id, attributes.NEUTRAL_IMPORTANCE)
    shown = dict(_fields(item, matters))
    whole = compose_form(shown.items(), item.content)
    draft = draft_of(f"{ctx.db_path}:{item.id}", ".md")
    edit_draft(ctx, draft, whole.encode(), "edit")
    try:
        with open(draft, "rb") as file:
            text, _, _ = decode(file.read(), draft)
        fields, content = read_form(text, shown)
        changes = _changes({key: value for key, value in fields.items() if value != shown[key]})
        importance = changes.pop("importance", None)
        if clean.statement(content) != clean.statement(item.content):
            changes["content"] = content
        done = _apply(ctx, item, changes, importance, dry_run=dry_run)
    except (FrontMatterInvalid, OSError, errors.MemctlError) as exc:
        raise errors.ItemNotChanged(id=item.id, reason=str(exc), draft=draft) from exc
    os.unlink(draft)
    return done


def _changes(fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields of an item that the lines of an editor mean. Raises FrontMatterInvalid."""
    from memctl.text.notes import FrontMatterInvalid

    out: dict[str, Any] = {}
    for key, value in fields.items():
        if key in ("confidence", "importance"):
            try:
                out[key] = float(value)
            except ValueError:
                out[key] = -1.0
            if not 0 <= out[key] <= 1:
                raise FrontMatterInvalid(f"{key}: must be a number from 0 to 1")
        elif key == "tags":
            out[key] = [word.strip() for word in value.split(",") if word.strip()]
        elif key == "expires":
            out["expires_at"] = time_to_come(value, key)
        else:
            choices = {"type": ITEM_TYPES, "tier": TIERS}.get(key)
            if choices and value not in choices:
                raise FrontMatterInvalid(f"{key}: must be one of {', '.join(choices)}")
            if key == "scope" and not value:
                raise FrontMatterInvalid("scope: it is empty")
            out[key] = value
    return out


# --- tags -------------------------------------------------------------------------------------------------------------


@operation(
    access=WRITE,
    examples=(
        "memctl tag MEM-a3185eaf3928 +auth +api --without draft",
        "memctl tag --with auth --query token     # shows what it finds, and asks",
        "memctl tag --with archive --from docs/old --yes",
    ),
    exits={1: "there is no such item, no tag is given, or nobody can be asked"},
)
def tag(
    ctx: Context,
    id: Annotated[
        list[str] | None,
        Arg("the items' ids, and tags to add, as +TAG; - reads ids from standard input", metavar="MEM-ID|+TAG"),
    ] = None,
    *,
    add: Annotated[list[str] | None, Arg("tags to add", "--with", comma=True)] = None,
    remove: Annotated[list[str] | None, Arg("tags to take away", "--without", comma=True)] = None,
    wanted: Annotated[
        Selection, Fields("query tags tier type source since until scope all_scopes workspace limit dry_run yes")
    ],
) -> PlainResult:
    """Add tags to items, and take tags away.

    Tags are compared without case; the spelling that an item has stays. After --, a word such as -draft takes that tag
    away. Policy judges tags as it judges every text.
    """
    from memctl.lifecycle import correct
    from memctl.store.items import items

    words = id or []
    plus = [*(add or ()), *(tag for word in words if word.startswith("+") for tag in word[1:].split(","))]
    minus = [*(remove or ()), *(tag for word in words if word.startswith("-") for tag in word[1:].split(","))]
    gone = {word.strip().casefold() for word in minus}
    if not any(word.strip() for word in (*plus, *minus)):
        raise errors.UsageError("no tag is given: +TAG, --with TAG or --without TAG", command="tag")
    given = [word for word in words if word == "-" or word[:1] not in "+-"] or None
    chosen = [item.id for item in select_items(ctx, "tag", given, wanted)]
    changed, left = [], []
    with ctx.at_work("tag"), ctx.db.atomic():
        for item in items.get_many(ctx.db, chosen):
            tags = [one for one in clean.union(item.tags, map(clean.one_line, plus)) if one.casefold() not in gone]
            done = correct.edit_item(ctx.db, ctx.policy, item.id, {"tags": tags}, dry_run=wanted.dry_run)
            if done.fields:
                changed.append(item.id)
            else:
                left.append((item.id, "its tags are so already"))
    return report_changes(ctx, "tag", changed, left, done="tagged", dry_run=wanted.dry_run)


# --- drafts in a person's editor --------------------------------------------------------------------------------------


def draft_of(name: str, ending: str) -> str:
    """Where the draft of what has this name is: not beside a store, since what lies there may have come with a folder.

    Raises EditorFailed where none can be kept.
    """
    here = os.path.join(state.folder(), "drafts")
    draft = os.path.join(here, f"{ids.bytes_hash(os.fsencode(name))[:16]}{ending}")
    try:
        os.makedirs(here, mode=0o700, exist_ok=True)
        if not state.private(here) or not state.private(os.path.dirname(here)):
            raise PermissionError(f"{here} is open to others")
    except OSError as exc:
        reason = f"no draft can be kept: {exc.strerror or exc}"
        raise errors.EditorFailed(editor="the editor", reason=reason, draft=draft) from exc
    return draft


def edit_draft(ctx: Context, draft: str, text: bytes, command: str) -> None:
    """Let the editor of $VISUAL or $EDITOR work on a draft: on `text`, or on what an earlier try has left there.

    Raises EditorFailed.
    """
    import shlex
    from subprocess import call

    if os.path.lexists(draft):
        ctx.note(f"[{command}] goes on from {draft}")
    else:
        state.write(draft, text)
    editor = ctx.env("VISUAL") or ctx.env("EDITOR") or "vi"
    try:
        status = call([*shlex.split(editor), draft])  # noqa: S603 - the user's own editor
    except (OSError, ValueError) as exc:
        raise errors.EditorFailed(
            editor=editor, reason=getattr(exc, "strerror", None) or str(exc), draft=draft
        ) from exc
    if status:
        raise errors.EditorFailed(editor=editor, reason=f"it ended with {status}", draft=draft)
