"""What `mount`, `sync` and `inspect` share: a folder that is registered, compared and brought up to date."""

import os
from collections.abc import Iterator, Sequence

from memctl import errors
from memctl.annotations import Any
from memctl.context import Context
from memctl.folders.documents import ingest_run, limits, store_files
from memctl.ingest import delta
from memctl.ingest.bulk import recipe_of
from memctl.ingest.outcome import FileReport, Outcome
from memctl.ingest.prepare import Options
from memctl.ingest.sources import Target
from memctl.ingest.walk import walk
from memctl.names import DEFAULT_SCOPE
from memctl.operation import utf8
from memctl.paths import real_path
from memctl.store.documents import mounts
from memctl.store.documents.corpus import DocumentRoot
from memctl.text.clean import one_line

#: A row of `store.mounts.every`.
Mount = dict[str, Any]


def canonical_folder(ctx: Context, path: str, command: str) -> str:
    """The canonical path of a folder that is there. Raises UsageError when it is none."""
    if not path.strip():
        raise errors.UsageError("The path is empty", command=command)
    folder = real_path(ctx.absolute(path)) if "\0" not in path else ""
    if folder:
        ctx.check_folder(folder)
    known = mount_at(ctx, folder) if folder and not os.path.lexists(folder) else None
    if known is not None:
        raise errors.UsageError(f"Mount path missing: {folder} (a disk that is not plugged in?)", command=command)
    if not os.path.lexists(folder):
        raise errors.UsageError(f"Path does not exist: {path}", command=command)
    if not os.path.isdir(folder):
        raise errors.UsageError(f"Path is not a directory: {path}", command=command)
    if not folder.isprintable() and utf8(folder) != folder:
        raise errors.UsageError("The name of this folder is not UTF-8: rename it", command=command)
    return folder


def mount_at(ctx: Context, folder: str) -> Mount | None:
    """The mount whose folder this is; None when there is none, or no store yet."""
    if not os.path.exists(ctx.db_path):
        return None
    return next((one for one in mounts.list_mounts(ctx.db) if one["path"] == folder), None)


def mount_named(ctx: Context, key: str, command: str) -> Mount:
    """The mount with this id, name or path. Raises UsageError when there is none."""
    found = mounts.find_mount(ctx.db, key)
    if found is None and "\0" not in key:  # which no path has
        found = mounts.find_mount(ctx.db, real_path(ctx.absolute(key)))
    if found is None:
        raise errors.UsageError(f"Mount not found: {key}", command=command)
    return found


def register(
    ctx: Context,
    folder: str,
    *,
    name: str | None = None,
    ignore: Sequence[str] | None = None,
    lang: str | None = None,
    scope: str | None = None,
    chunk_tokens: int | None = None,
    command: str = "mount",
) -> Mount:
    """Register a folder, or change the options of its mount: what is None stays.

    Raises UsageError when another mount has the name, NothingStored when policy refuses name, path or patterns, and
    ToolRefused when a tool would change what a person has mounted.
    """
    if name is not None and (not name.strip() or one_line(name) != name or name.startswith("MNT-")):
        raise errors.UsageError("A mount's name is one short line, and none that looks like an id", command=command)
    taken = mounts.find_mount(ctx.db, name) if name else None
    if taken is not None and taken["path"] != folder:
        raise errors.UsageError(f"Another mount is called {name}: {taken['path']}", command=command)
    for text in (folder, name or "", scope or "", *(ignore or ())):
        if ctx.policy.judge(text, field="provenance").redacted:
            raise errors.NothingStored(reason="policy sees a secret in the path, the name or a pattern")
    patterns = None if ignore is None else [pattern for pattern in ignore if pattern]
    given = {"name": name, "ignore_patterns": patterns, "lang_hint": lang, "scope": scope, "chunk_tokens": chunk_tokens}
    given = {field: value for field, value in given.items() if value is not None}
    with ctx.db.atomic():
        if ctx.bounds is not None:
            _leave_mounts(ctx, folder, given)
        by_tool = ctx.bounds is not None
        mount_id = mounts.put(ctx.db, folder, name, patterns, lang, scope, chunk_tokens, by_tool=by_tool)
    return next(one for one in mounts.list_mounts(ctx.db) if one["mount_id"] == mount_id)


#: What a mount says of the files in it, and what it says when nobody said anything.
_OPTIONS: dict[str, Any] = {"ignore_patterns": [], "lang_hint": None, "scope": None, "chunk_tokens": None}


def _leave_mounts(ctx: Context, folder: str, given: Mount) -> None:
    """Raise ToolRefused when a tool would change the mount of a folder, or of one around it, that a person made.

    A folder within a mount may become one of its own only where that changes nothing about its files.
    """
    for one in mounts.list_mounts(ctx.db):
        if one["path"] == folder:
            what = "change what a person has mounted"
            changed = any(one[field] != value for field, value in given.items())
        else:
            what = "make a mount of its own of a folder that is in a person's mount, which has options: name that mount"
            around = folder.startswith(os.path.join(one["path"], ""))
            changed = around and any(one[field] != given.get(field, usual) for field, usual in _OPTIONS.items())
        if changed and not mounts.is_by_tool(ctx.db, one["mount_id"]):
            ctx.refuse_to_tools(what, "memctl mount")


def options_of(ctx: Context, mount: Mount, scope: str | None = None) -> Options:
    """How the documents of a mount are cut and filed; `scope` goes before the mount's own."""
    chunk_tokens = mount["chunk_tokens"] or ctx.config.ingest.chunk_tokens
    filed = scope or mount["scope"] or DEFAULT_SCOPE
    return Options(chunk_tokens, scope=filed, limits=limits(ctx), roots=ctx.readable_roots)


def all_mounts(ctx: Context) -> list[Mount]:
    """All mounts, oldest first, but each before those within it: an outer one's run sees what moved between them."""
    found = mounts.list_mounts(ctx.db)
    prefixes = [os.path.join(one["path"], "") for one in found]
    return sorted(found, key=lambda one: sum(map(one["path"].startswith, prefixes)))


def mounts_within(ctx: Context, folder: str) -> list[Mount]:
    """The mounts in a folder, which is none of them, outer ones first."""
    below = os.path.join(folder, "")
    every = all_mounts(ctx) if os.path.exists(ctx.db_path) else []
    return [one for one in every if one["path"].startswith(below) and one["path"] != below]


def files_of(
    ctx: Context, mount: Mount, within: Sequence[Mount], left_out: list[FileReport] | None = None
) -> Iterator[Target]:
    """The files of a mount as they are now; what is left out is noted in `left_out` when it is given.

    `within`: the mounts in its folder, whose own patterns say what is taken in there.
    """

    def note(path: str, reason: str) -> None:
        if left_out is not None:
            left_out.append(FileReport(path, "left out", 0, reason))

    ctx.check_folder(mount["path"])
    apart = {one["path"]: one["ignore_patterns"] for one in within}
    return walk(
        mount["path"], ignore=mount["ignore_patterns"], never=store_files(ctx), report=note, within=apart,
        roots=ctx.readable_roots,
    )  # fmt: skip


def home_of(
    ctx: Context, mount: Mount, within: Sequence[Mount], scope: str | None = None, *, everywhere: bool = False
) -> DocumentRoot:
    """The mount as its files know it. `scope` goes before its own; `everywhere`: each mount within has its own run
    with the same options.
    """

    def home(one: Mount, scope: str | None) -> DocumentRoot:
        options = options_of(ctx, one, scope)
        recipe = recipe_of(options, ctx.policy)
        return DocumentRoot(one["mount_id"], os.path.join(one["path"], ""), one["lang_hint"], options.scope, recipe)

    inner = tuple(home(one, scope if everywhere else None) for one in within)
    return home(mount, scope)._replace(inner=inner, spare=everywhere)


def plan_of(
    ctx: Context,
    mount: Mount,
    left_out: list[FileReport] | None = None,
    *,
    full: bool = False,
    scope: str | None = None,
    everywhere: bool = False,
) -> delta.Plan:
    """What a sync of the mount has to do; a store that is not there yet knows nothing."""
    db = ctx.db if os.path.exists(ctx.db_path) else None
    within = mounts_within(ctx, mount["path"])
    home = home_of(ctx, mount, within, scope, everywhere=everywhere)
    files = files_of(ctx, mount, within, left_out)
    return delta.plan(db, files, [mount["path"]], home.recipe, full=full, home=home)


def is_stale(ctx: Context, mount: Mount) -> bool:
    """Whether files are new, changed, moved or deleted since the last sync. Reads no file."""
    plan = plan_of(ctx, mount)
    return bool(plan.tasks or plan.lost or mount["last_sync_at"] is None)


def sync_mount(
    ctx: Context,
    mount: Mount,
    *,
    full: bool = False,
    scope: str | None = None,
    report: bool = False,
    everywhere: bool = False,
) -> Outcome:
    """Bring what the store has of a mounted folder up to date. Files that cannot be read are named and passed over.

    everywhere  all mounts are being synced: what is forced on files of a mount within is left to that one's run
    """
    options, within = options_of(ctx, mount, scope), mounts_within(ctx, mount["path"])
    left_out: list[FileReport] = []
    home = home_of(ctx, mount, within, scope, everywhere=everywhere)
    run = ingest_run(ctx, "sync", options, full=full, report=report, mount=home, careful=ctx.bounds is not None)
    outcome = run.run(files_of(ctx, mount, within, left_out if report else None), lambda: b"", [mount["path"]])
    outcome.note_left_out(left_out)
    mounts.mark_synced(ctx.db, mount["mount_id"])
    return outcome
