"""memctl inspect: the structure of a folder, or of everything, as one block."""

import os
from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.operation import CREATE, READ, WRITE, Arg, Result, operation
from memctl.ops.arguments import Budget
from memctl.ops.context import Context

if TYPE_CHECKING:
    from memctl.ingest.inspect import Report, Root
    from memctl.ingest.outcome import Outcome
    from memctl.ops.folders import Mount

SyncMode = Literal["auto", "always", "never"]
MountMode = Literal["persist", "ephemeral"]


class Visit:
    """What a run did with a folder before it reported on it.

    mount   the folder's row, None when nothing is mounted there
    made    this run mounted it; gone: and took the mount away again
    synced  the counts of this run's sync, None when there was none; stale: None = not looked
    """

    __slots__ = ("gone", "made", "mount", "stale", "synced")

    def __init__(self, mount: "Mount | None" = None) -> None:
        self.mount = mount
        self.made = self.gone = False
        self.synced: Outcome | None = None
        self.stale: bool | None = None


class Inspected(Result):
    """The report on a folder or on the whole store, and what was done for it."""

    __slots__ = ("budget", "report", "visit")
    verbatim = True

    def __init__(self, report: "Report", budget: int, visit: Visit | None = None) -> None:
        self.report, self.budget, self.visit = report, budget, visit

    def as_dict(self) -> dict[str, Any]:
        """The documented statistics; with a folder also what was done with it."""
        out = self.report.as_dict(self.budget)
        if self.visit is None:
            return out
        visit, done = self.visit, self.visit.synced
        return out | {
            "mount_id": visit.mount["mount_id"] if visit.mount else None,
            "mount_label": self.report.label,
            "was_mounted": visit.made,
            "was_synced": done is not None,
            "sync_skipped": done is None,
            "was_ephemeral": visit.gone,
            "sync_files_new": done.new if done else 0,
            "sync_files_changed": done.changed if done else 0,
            "sync_files_unchanged": done.unchanged if done else 0,
            "sync_chunks_created": len(done.item_ids) if done else 0,
        }


@operation(
    access=CREATE,
    tool="memory_inspect",
    examples=(
        "memctl inspect docs/                         # mounts it, syncs it if files changed, and reports",
        "memctl inspect src/ --json | jq .per_extension",
        "memctl inspect docs/ --no-sync --budget 600  # as the store knows it",
        "memctl inspect --mount docs                  # a mounted folder, by name or id",
        "memctl inspect                               # all files of the store",
    ),
    exits={1: "the path is missing or no folder, the mount is not known, or there is no store"},
)
def inspect(
    ctx: Context,
    path: Annotated[str | None, Arg("the folder; without one, all files of the store", path=True)] = None,
    *,
    mount: Annotated[
        str | None, Arg("only the files of this mount: its id, name or path", "--mount", metavar="ID_OR_NAME")
    ] = None,
    budget: Budget = 2200,
    sync: Annotated[SyncMode, Arg("read files that changed: when there are some, always or never", "--sync")] = "auto",
    no_sync: Annotated[bool, Arg("the same as --sync never", "--no-sync")] = False,
    mount_mode: Annotated[
        MountMode, Arg("ephemeral forgets a mount that this run made; its passages stay", "--mount-mode")
    ] = "persist",
    ignore: Annotated[list[str] | None, Arg("patterns of files to pass over", "--ignore", metavar="PATTERN")] = None,
    scope: Annotated[
        str | None, Arg("file passages in this scope; count only those in it and in global", "--scope")
    ] = None,
) -> Inspected:
    """Show the structure of a folder as one block.

    A folder that is not mounted is mounted first, and one with new, changed or deleted files is synced first; stderr
    says so. Then come totals, folders, largest files, extensions and what is odd; as far as the budget goes also the
    state of the last sync, the languages, and a tree in which the parts with most passages are open. Paths are relative
    to the folder; of several mounts, each path begins with the name of its own. Without a folder nothing is written.
    """
    from memctl.ops.folders import canonical_folder, mount_at

    ctx.narrow(READ)  # nothing is written unless a folder is mounted or synced
    when: SyncMode = "never" if no_sync else sync
    if path is None:
        return _known_files(ctx, mount, budget, scope, look=when != "never")
    if mount is not None:
        ctx.warn("--mount filter ignored when positional path is provided")
    folder = canonical_folder(ctx, path, "inspect")
    visit = Visit(mount_at(ctx, folder))
    options = {"ignore": ignore, "scope": scope}
    try:
        _bring_in(ctx, folder, visit, when, mount_mode, {k: v for k, v in options.items() if v is not None})
        report = _report(ctx, _root(folder, visit.mount), scope)
    finally:
        if visit.made and visit.mount is not None and mount_mode == "ephemeral":
            _forget(ctx, visit.mount)
            visit.gone = True
    if visit.mount is not None:
        report.note_syncs([_sync_state(ctx, visit.mount, visit.stale)])
    return Inspected(report, budget, visit)


def _known_files(ctx: Context, key: str | None, budget: int, scope: str | None, *, look: bool) -> Inspected:
    """The report on what the store knows, of one mount or of all files; folders are only looked at."""
    from memctl.ops.folders import mount_named
    from memctl.store import mounts

    known = mounts.every(ctx.db) if key is None else [mount_named(ctx, key, "inspect")]
    root = None if key is None else _root(known[0]["path"], known[0])
    report = _report(ctx, root, scope)
    report.note_syncs([_sync_state(ctx, one, _is_stale(ctx, one) if look else None) for one in known])
    return Inspected(report, budget)


# --- the folder comes in -----------------------------------------------------------------------------------------


def _bring_in(ctx: Context, folder: str, visit: Visit, when: str, mode: str, options: dict[str, Any]) -> None:
    """Mount and sync the folder as far as was asked for; the store is opened for writing only when something is."""
    from memctl.ops.folders import mount_at

    shown = ctx.policy.redact(folder)
    if visit.mount is None:
        if when != "never" or (mode == "persist" and _may_write(ctx)):
            visit.mount, visit.made = _mount(ctx, folder, options), True
            ctx.note(f"[inspect] Mounted: {shown}")
    else:
        _say_idle(ctx, when, options)
    if visit.mount is None or when == "never":
        ctx.note("[inspect] sync=never — skipping sync")
        return
    visit.stale = when == "always" or _is_stale(ctx, visit.mount)
    if not visit.stale:
        ctx.note("[inspect] Store is up-to-date — skipping sync")
    elif when == "auto" and not _may_write(ctx):
        ctx.warn("[inspect] Store is stale, and it cannot be written to — skipping sync")
    else:
        ctx.note(f"[inspect] {'sync=always' if when == 'always' else 'Store is stale'} — syncing {shown}")
        visit.synced = _sync(ctx, visit.mount)
        visit.mount, visit.stale = mount_at(ctx, folder), False


def _say_idle(ctx: Context, when: str, options: dict[str, Any]) -> None:
    """Say which options do nothing because the mount that was there is left as it is."""
    idle = [f"--{name}" for name in options if name != "scope" or when != "never"]
    if idle:
        ctx.warn(
            f"[inspect] {' and '.join(idle)}: not used, the folder was mounted before and its mount is kept as it is"
        )


def _may_write(ctx: Context) -> bool:
    return not os.path.exists(ctx.db_path) or ctx.db.writable


def _mount(ctx: Context, folder: str, options: dict[str, Any]) -> "Mount":
    """Mount the folder, or bring its mount up to date."""
    from memctl.ops.folders import register

    ctx.allow(CREATE)
    return register(ctx, folder, **options, command="inspect")


def _is_stale(ctx: Context, mount: "Mount") -> bool | None:
    """Whether files changed since the last sync; None when the folder is not there."""
    from memctl.ops.folders import is_stale

    return is_stale(ctx, mount) if os.path.isdir(mount["path"]) else None


def _sync(ctx: Context, mount: "Mount") -> "Outcome":
    from memctl.ops.documents import report_changes
    from memctl.ops.folders import sync_mount

    ctx.allow(WRITE)
    done = sync_mount(ctx, mount)
    ctx.note(f"[inspect] Synced: {done.new} new, {done.changed} changed, {done.unchanged} unchanged, "
             f"{len(done.item_ids)} chunks")  # fmt: skip
    report_changes(ctx, "inspect", done)
    return done


def _forget(ctx: Context, mount: "Mount") -> None:
    """Take a mount away; its passages stay."""
    from memctl.store import mounts

    mounts.remove(ctx.db, mount["mount_id"])
    ctx.note("[inspect] Ephemeral: mount removed")


# --- the report ---------------------------------------------------------------------------------------------------


def _root(folder: str, mount: "Mount | None") -> "Root":
    from memctl.ingest.inspect import Root, base_name

    return Root(folder, (mount and mount["name"]) or base_name(folder))


def _report(ctx: Context, root: "Root | None", scope: str | None) -> "Report":
    from memctl.ingest.inspect import report
    from memctl.store.filters import Filters

    return report(ctx.db, root, ctx.config.inspect, ctx.policy, Filters.read_set(scope))


def _sync_state(ctx: Context, mount: "Mount", stale: bool | None) -> dict[str, Any]:
    from memctl.ingest.inspect import shown
    from memctl.store.folders import count_unread

    (label,) = shown([_root(mount["path"], mount).label], ctx.policy)
    return {
        "mount_id": mount["mount_id"], "label": label, "last_sync_at": mount["last_sync_at"], "stale": stale,
        "unread": count_unread(ctx.db, os.path.join(mount["path"], "")),
    }  # fmt: skip


def text(result: Inspected) -> Iterator[str]:
    """The block."""
    block = result.report.block(result.budget)
    if block:
        yield block
