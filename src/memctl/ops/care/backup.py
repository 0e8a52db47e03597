"""memctl backup, salvage and vacuum: a copy of the store, what is left of a damaged one, and a smaller file."""

import os

from memctl import errors
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import NONE, READ, WRITE, Arg, PlainResult, operation

#: Ids of lost items that a person sees.
_LOST = 20


@operation(
    access=READ,
    examples=(
        "memctl backup ~/backup/memory.db",
        'memctl backup "$HOME/backup/memory-$(date +%F).db"',
        "memctl list --db ~/backup/memory.db   # a backup is a store like any other",
    ),
    exits={1: "there is a file of this name already, or it cannot be written"},
)
def backup(
    ctx: Context,
    file: Annotated[str, Arg("the file to write", metavar="FILE")],
    *,
    force: Annotated[bool, Arg("replace a file that is there", "--force")] = False,
) -> PlainResult:
    """Copy the store to a file, checked, while others go on using it.

    The copy is of one moment, for you alone, and has its name only once it is whole and sound. To restore it, copy it
    back in the place of the store while nobody uses that. `memctl status` says when the last backup was made.
    """
    from memctl.store import backup as copies
    from memctl.store import check, contents

    path = _named_file(ctx, file)
    with ctx.at_work("backup"):
        made = copies.back_up(ctx.db, path, force=force)
    ctx.note(f"[backup] {made['items']} item(s), {made['bytes']} bytes")
    return PlainResult(
        {"status": "ok", "path": path} | made, [path], after=lambda: check.note_time(ctx.db, contents.BACKUP_KEY)
    )


@operation(
    access=NONE,
    examples=("memctl salvage .memory/memory.db saved.db",),
    exits={1: "no such file, a file of the new name already, or nothing that can be read"},
)
def salvage(
    ctx: Context,
    damaged: Annotated[str, Arg("the damaged store", path=True, metavar="DAMAGED")],
    new: Annotated[str, Arg("the store to make", path=True, metavar="NEW")],
) -> PlainResult:
    """Read what can be read of a damaged store into a new one.

    Tables are read from both ends and row by row between; items and revisions are also looked for page by page, and a
    lost item comes back as its newest readable revision has it. The damaged file is left as it is. What was lost is
    said on stderr, with the ids that are still named somewhere.
    """
    from memctl.store import backup as reading

    path = _named_file(ctx, new)
    with ctx.at_work("salvage"):
        found = reading.salvage(ctx.absolute(damaged), path)
    ctx.note(f"[salvage] {found.items} item(s) saved")
    for count, words in (
        (found.from_revisions, "as their last readable revision has them"),
        (found.from_pages, "from single pages"),
    ):
        if count:
            ctx.note(f"[salvage] {count} of them {words}")
    if found.damaged:
        ctx.warn(f"[salvage] damaged: {', '.join(found.damaged)}")
    if found.lost:
        more = f" … and {len(found.lost) - _LOST} more" if len(found.lost) > _LOST else ""
        ctx.warn(f"[salvage] {len(found.lost)} item(s) lost: {', '.join(found.lost[:_LOST])}{more}")
    data: dict[str, Any] = {
        "status": "incomplete" if found.lost or found.is_cut else "ok", "path": path, "items": found.items,
        "from_revisions": found.from_revisions, "from_pages": found.from_pages, "damaged": found.damaged,
        "lost": found.lost, "total_lost": len(found.lost),
    }  # fmt: skip
    return PlainResult(data, [path])


@operation(access=WRITE, examples=("memctl vacuum",))
def vacuum(ctx: Context) -> PlainResult:
    """Give the space of deleted rows back to the disk.

    The file is written anew, for which the disk must have as much space again, and the full-text index stays right.
    Nothing else changes, so there is nothing to undo.
    """
    from memctl.store import backup as copies

    with ctx.at_work("vacuum"):
        before, after = copies.vacuum(ctx.db)
    ctx.note(f"[vacuum] {before} bytes before, {after} now")
    return PlainResult(
        {"status": "ok", "bytes_before": before, "bytes_after": after}, [f"{before - after} bytes freed"]
    )


def _named_file(ctx: Context, name: str) -> str:
    """The absolute path of a file to write; `backup/` asks for a folder, and a file `backup` would be a surprise."""
    path = ctx.absolute(name)
    if name.endswith(("/", os.sep)):
        raise errors.BackupFailed(path=path, reason="a name that ends in / is a folder")
    return path
