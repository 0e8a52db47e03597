"""A folder that a command is about to speak of: mounted and synced first, as far as that was asked for.

`inspect`, `ask` and `chat` share it. What is done is said on stderr under `[inspect]`, whichever command does it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from memctl.annotations import TYPE_CHECKING, Any, Literal
from memctl.context import Context
from memctl.folders.documents import report_changes
from memctl.folders.registered import Mount, is_stale, mount_at, mounts_within, register, sync_mount
from memctl.ingest.inspect import Root, base_name, shown
from memctl.ingest.outcome import Outcome
from memctl.operation import CREATE, READ, WRITE
from memctl.store.documents import mounts
from memctl.store.filters import Filters

if TYPE_CHECKING:
    from memctl.ingest.inspect import Report

SyncMode = Literal["auto", "always", "never"]
MountMode = Literal["persist", "ephemeral"]


class Visit:
    """What a run did with a folder before it reported on it.

    mount   the folder's row, None when nothing is mounted there
    made    this run mounted it; gone: and took the mount away again
    synced  the counts of this run's sync, None when there was none; stale: None = not looked
    """

    __slots__ = ("folder", "gone", "made", "mount", "stale", "synced")

    def __init__(self, folder: str, mount: "Mount | None" = None) -> None:
        self.folder, self.mount = folder, mount
        self.made = self.gone = False
        self.synced: Outcome | None = None
        self.stale: bool | None = None

    @property
    def root(self) -> Root:
        """The folder and what it is called."""
        return root_of(self.folder, self.mount)


def bring_in(ctx: Context, visit: Visit, when: SyncMode, mode: MountMode, options: dict[str, Any]) -> None:
    """Mount and sync the folder as far as was asked for; the store is opened for writing only when something is.

    options  `ignore` and `scope` of a mount that is made now; what is None was not given
    """
    folder = visit.folder
    options = {name: value for name, value in options.items() if value is not None}
    called = ctx.policy.redact(folder)
    if visit.mount is None:
        if when != "never" or (mode == "persist" and may_write(ctx)):
            ctx.allow(CREATE)
            visit.mount, visit.made = register(ctx, folder, **options, command="inspect"), True
            ctx.note(f"[inspect] Mounted: {called}")
    else:
        _say_idle(ctx, when, options)
    if visit.mount is None or when == "never":
        ctx.note("[inspect] sync=never — skipping sync")
        return
    visit.stale = when == "always" or staleness(ctx, visit.mount)
    if not visit.stale:
        ctx.note("[inspect] Store is up-to-date — skipping sync")
    elif when == "auto" and not may_write(ctx):
        ctx.warn("[inspect] Store is stale, and it cannot be written to — skipping sync")
    else:
        ctx.note(f"[inspect] {'sync=always' if when == 'always' else 'Store is stale'} — syncing {called}")
        visit.synced = _sync(ctx, visit.mount)
        visit.mount, visit.stale = mounts.find_mount(ctx.db, visit.mount["mount_id"]) or visit.mount, False


@contextmanager
def brought_in(
    ctx: Context, folder: str, when: SyncMode, mode: MountMode, options: dict[str, Any]
) -> Iterator[tuple[Context, Visit]]:
    """The folder ready to be recalled from, and the context whose store holds its passages.

    mode  ephemeral: the user's store is not written to. A folder that it holds as it is now is read from there; any
          other is read into a store that no file keeps, with the options of its mount where there is one.
    """
    ctx.narrow(READ)
    visit = Visit(folder, mount_at(ctx, folder))
    given = {name: value for name, value in options.items() if value is not None}
    held = visit.mount is not None and when == "auto" and not given and not staleness(ctx, visit.mount)
    if mode == "persist" or when == "never" or held:
        bring_in(ctx, visit, when, mode, given)
        yield ctx, visit
        return
    if visit.mount is not None:
        given = {"name": visit.mount["name"], "ignore": visit.mount["ignore_patterns"], **given}
        visit.mount = None
    with ctx.scratch() as twin:
        for one in mounts_within(ctx, folder):
            register(twin, one["path"], ignore=one["ignore_patterns"], lang=one["lang_hint"], scope=one["scope"])
        bring_in(twin, visit, when, mode, given)
        yield twin, visit
    visit.gone = True
    ctx.note("[ask] Ephemeral: mount removed")


def _say_idle(ctx: Context, when: str, options: dict[str, Any]) -> None:
    """Say which options do nothing because the mount that was there is left as it is."""
    idle = [f"--{name}" for name in options if name != "scope" or when != "never"]
    if idle:
        ctx.warn(
            f"[inspect] {' and '.join(idle)}: not used, the folder was mounted before and its mount is kept as it is"
        )


def may_write(ctx: Context) -> bool:
    """Whether the store can be written to, or made."""
    return not os.path.exists(ctx.db_path) or ctx.db.writable


def staleness(ctx: Context, mount: "Mount") -> bool | None:
    """Whether files changed since the last sync; None when the folder is not there, or may not be looked at."""
    return is_stale(ctx, mount) if ctx.may_read(mount["path"]) and os.path.isdir(mount["path"]) else None


def _sync(ctx: Context, mount: "Mount") -> Outcome:
    ctx.allow(WRITE)
    done = sync_mount(ctx, mount)
    ctx.note(f"[inspect] Synced: {done.new} new, {done.changed} changed, {done.unchanged} unchanged, "
             f"{len(done.item_ids)} chunks")  # fmt: skip
    report_changes(ctx, "inspect", done)
    return done


def forget(ctx: Context, visit: Visit) -> None:
    """Take a mount away that this run made; its passages stay."""
    if visit.mount is not None:
        mounts.remove(ctx.db, visit.mount["mount_id"])
    visit.gone = True
    ctx.note("[inspect] Ephemeral: mount removed")


# --- the report ---------------------------------------------------------------------------------------------------


def root_of(folder: str, mount: "Mount | None") -> Root:
    """A folder under the name of its mount, else its own."""
    return Root(folder, (mount and mount["name"]) or base_name(folder))


def structure(ctx: Context, root: Root | None, scope: str | None = None) -> "Report":
    """What the store knows of the files below a folder, or of all."""
    from memctl.ingest.inspect import report

    return report(ctx.db, root, ctx.config.inspect, ctx.policy, Filters.read_set(scope))


def sync_state(ctx: Context, mount: "Mount", stale: bool | None) -> dict[str, Any]:
    """What is known of a mount's last sync, for `Report.note_syncs`."""
    from memctl.store.documents.corpus import count_unread

    (label,) = shown([root_of(mount["path"], mount).label], ctx.policy)
    return {
        "mount_id": mount["mount_id"], "label": label, "last_sync_at": mount["last_sync_at"], "stale": stale,
        "unread": count_unread(ctx.db, os.path.join(mount["path"], "")),
    }  # fmt: skip
