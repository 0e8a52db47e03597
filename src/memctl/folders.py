"""Folders and files that feed a store: read into it, registered, compared with it, brought up to date, reported on.

`ingest`, `mount`, `sync` and `inspect` share it, and so do `ask` and `chat`, which mount and sync a folder first.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memctl import errors, ids, registry
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.extract import Limits
from memctl.ingest.plan import FileReport, IngestOutcome, IngestPlan, make_plan
from memctl.ingest.prepare import Options, recipe_of
from memctl.ingest.run import IngestRun, Progress
from memctl.ingest.sources import Target, resolve
from memctl.item_policy import ItemPolicy
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, READ, WRITE, Arg, Group, utf8
from memctl.paths import real_path
from memctl.store.documents import mounts
from memctl.store.documents.corpus import DocumentRoot
from memctl.store.filters import Filters
from memctl.store.items import events
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.ingest.inspect import Root, StructureReport

#: In seconds: a progress line is drawn at most this often.
REDRAW = 0.1
#: A row of `store.mounts.list_mounts`.
Mount = dict[str, Any]

SyncMode = Literal["auto", "always", "never"]
MountMode = Literal["persist", "ephemeral"]

#: What a mount says of the files in it, and what it says when nobody said anything.
NO_OPTIONS: Mount = {"ignore_patterns": [], "lang_hint": None, "scope": None, "chunk_tokens": None}


# --- files into the store: sources in, counts out ---------------------------------------------------------------------


def ingest_sources(ctx: Context, label: str, sources: Sequence[str], options: Options) -> IngestOutcome:
    """Ingest what the sources name and say in counts what happened, under `[label]` on stderr.

    Raises SourceNotFound, NothingStored when a tag, the scope or the corpus holds a secret, NothingReadable when no
    file could be read.
    """
    places = [options.scope, *([options.corpus_id] if options.corpus_id else [])]
    for what, words in (("tags", options.tags), ("scope or the corpus", places)):
        if ItemPolicy(ctx.policy).refuses(*words):
            raise errors.NothingStored(reason=f"policy refuses the {what}")
    folders = [real_path(path) for path in map(ctx.absolute, sources) if os.path.isdir(path)]
    done = ingest_run(ctx, label, options).run(
        resolve(sources, ctx.cwd, never=store_files(ctx)), ctx.stdin_bytes, folders
    )
    read = done.new + done.changed + done.refiled + done.moved
    ctx.note(f"[{label}] Ingested {len(done.item_ids)} chunks from {read} file(s) ({done.unchanged} skipped)")
    report_changes(ctx, label, done)
    if done.failed and len(done.failed) == done.files:
        raise errors.NothingReadable(count=done.files)
    return done


def register_corpus(ctx: Context, corpus_id: str | None, scope: str) -> None:
    """Bring the record of a document set up to date with what belongs to it now; nothing without one.

    A version that somebody has registered stays as it was then.
    """
    if corpus_id is None:
        return
    from memctl.store.documents import corpus, versions
    from memctl.store.items import events
    from memctl.types import CorpusMetadata

    if versions.is_registered(ctx.db, corpus_id):
        return
    with ctx.db.atomic():
        known = {c.corpus_id: c for c in corpus.list_corpora(ctx.db)}.get(corpus_id)
        documents, passages = corpus.count_corpus(ctx.db, corpus_id)
        label, parent = (known.corpus_label, known.parent_corpus_id) if known else (corpus_id, None)
        corpus.put_corpus(ctx.db, CorpusMetadata(corpus_id, label, parent, documents, passages, scope))
        if known is None:
            events.log(ctx.db, "corpus_register", None, {"corpus_id": corpus_id, "parent": None})


def ingest_run(ctx: Context, label: str, options: Options, **how: Any) -> IngestRun:
    """A run that talks to the context's user; `how` are further arguments of `IngestRun`."""
    watch = _progress_line(ctx, label) if ctx.watched else None
    workers = ctx.config.ingest.workers
    return IngestRun(ctx.db, options, ctx.policy, warn=ctx.warn, progress=watch, workers=workers, **how)


def limits(ctx: Context) -> Limits:
    """How much of one file is read, as config.json says."""
    mine = ctx.config.ingest
    return Limits(mine.max_file_mb << 20, mine.max_expanded_mb << 20, mine.max_seconds, mine.max_rows)


def store_files(ctx: Context) -> list[str]:
    """The files of the store itself, which are never read as documents."""
    config = [ctx.config_path] if ctx.config_path else []
    return [*(ctx.db_path + end for end in ("", "-wal", "-shm", "-journal")), *config]


def _progress_line(ctx: Context, label: str) -> Progress:
    """What draws how far a run is: files, rate, and the time left."""
    start = drawn = ids.monotonic()

    def draw(done: int, files: int, bytes_done: int, size: int, path: str) -> None:
        nonlocal drawn
        now = ids.monotonic()
        if now - drawn < REDRAW and done < files:
            return
        drawn = now
        if not files:
            ctx.progress(f"[{label}] looking: {done} files")
            return
        parts = [f"[{label}] {done}/{files} files"]
        seconds = now - start
        if bytes_done and seconds > 1:
            rate = bytes_done / seconds
            minutes, rest = divmod(round((size - bytes_done) / rate), 60)
            parts += [f"{rate / 1e6:.1f} MB/s", f"{f'{minutes} min ' if minutes else ''}{rest} s left"]
        ctx.progress(", ".join(parts) + f": {os.path.basename(path)}")

    return draw


def report_changes(ctx: Context, label: str, done: IngestOutcome) -> None:
    """What beside new files there is to say of a run."""
    if done.changed:
        ctx.note(f"[{label}] Changed files: {done.changed} ({done.kept} chunks kept, {done.superseded} superseded, "
                 f"{done.archived} archived)")  # fmt: skip
    if done.refiled:
        ctx.note(f"[{label}] Read again with other options or rules: {done.refiled} file(s) ({done.kept} chunks kept)")
    if done.moved:
        ctx.note(f"[{label}] Moved files: {done.moved} (their chunks are kept)")
    if done.deleted:
        ctx.note(f"[{label}] Deleted files: {done.deleted} (their chunks are archived)")
    if done.restored:
        ctx.note(f"[{label}] Restored: {done.restored} chunks whose text is back")
    if done.rescoped:
        ctx.warn(
            f"[{label}] Moved: {done.rescoped} chunks were in another scope (a document is in one scope at a time)"
        )
    if done.redacted:
        ctx.warn(f"[{label}] Policy redacted: {done.redacted} chunks (secrets replaced by [REDACTED:...])")
    if done.quarantined:
        ctx.warn(f"[{label}] Policy quarantined: {done.quarantined} chunks (stored, non-injectable)")
        ctx.note(f"[{label}] memctl quarantine list shows them, quarantine release lets them be recalled")
    if done.failed:
        ctx.warn(f"[{label}] Not read: {len(done.failed)} of {done.files} file(s)")


# --- mounts -----------------------------------------------------------------------------------------------------------


def canonical_folder(ctx: Context, path: str, command: str) -> str:
    """The canonical path of a folder that is there. Raises UsageError when it is none."""
    if not path.strip():
        raise errors.UsageError("The path is empty", command=command)
    folder = real_path(ctx.absolute(path)) if "\0" not in path else ""
    if folder:
        ctx.check_folder(folder)
    if not os.path.lexists(folder):
        if folder and mount_at(ctx, folder) is not None:
            raise errors.UsageError(f"Mount path missing: {folder} (a disk that is not plugged in?)", command=command)
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
    if scope is None and ctx.is_personal and mounts.find_mount(ctx.db, folder) is None:
        scope = ctx.scope_named(DEFAULT_SCOPE)  # it stays that of here, wherever the folder is synced from later
    given = {"name": name, "ignore_patterns": patterns, "lang_hint": lang, "scope": scope, "chunk_tokens": chunk_tokens}
    by_tool = ctx.bounds is not None
    with ctx.db.atomic():
        if by_tool:
            _check_mounts_of_persons(ctx, folder, {key: value for key, value in given.items() if value is not None})
        mount_id = mounts.put(ctx.db, folder, name, patterns, lang, scope, chunk_tokens, by_tool=by_tool)
    return next(one for one in mounts.list_mounts(ctx.db) if one["mount_id"] == mount_id)


def _check_mounts_of_persons(ctx: Context, folder: str, given: Mount) -> None:
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
            changed = around and any(one[field] != given.get(field, usual) for field, usual in NO_OPTIONS.items())
        if changed and not events.is_by_tool(ctx.db, "mount", one["mount_id"]):
            ctx.refuse_to_tools(what, "memctl mount")


def all_mounts(ctx: Context, within: str = "") -> list[Mount]:
    """All mounts, oldest first, but each before those within it: an outer one's run sees what moved between them.

    within  only the mounts in this folder, which is none of them
    """
    found = mounts.list_mounts(ctx.db) if os.path.exists(ctx.db_path) or not within else []
    prefixes = [os.path.join(one["path"], "") for one in found]
    found.sort(key=lambda one: sum(map(one["path"].startswith, prefixes)))
    below = os.path.join(within, "")
    return [one for one in found if not within or (one["path"].startswith(below) and one["path"] != below)]


def follow_project(ctx: Context) -> None:
    """Point mounts whose folders were moved along with the project to where these are now.

    Such a folder is gone, and stands in no list of folders outside the project that feed the store: it was inside.
    """
    project = mounts.project_folder(ctx.db.path)
    for one in mounts.list_mounts(ctx.db):
        path = one["path"]
        if os.path.lexists(path) or registry.may_feed(ctx.db.path, path):
            continue
        parts = path.strip(os.sep).split(os.sep)
        now = next((p for n in range(1, len(parts)) if os.path.isdir(p := os.path.join(project, *parts[n:]))), None)
        if now is not None:
            mounts.move(ctx.db, one["mount_id"], real_path(now))
            ctx.note(f"[sync] Mount {one['mount_id']} moved with its project: {now}")


# --- a mount and the store --------------------------------------------------------------------------------------------


class MountSync:
    """A mounted folder that is compared with the store, or brought up to date.

    within      the mounts in it, whose own patterns say what is taken in there
    scope       goes before the mount's own
    everywhere  all mounts are being synced: what is forced on files of a mount within is left to that one's run
    left_out    what a walk of the folder passed over
    """

    def __init__(self, ctx: Context, mount: Mount, *, scope: str | None = None, everywhere: bool = False) -> None:
        self.ctx, self.mount = ctx, mount
        self.within = all_mounts(ctx, within=mount["path"])
        self.left_out: list[FileReport] = []
        self.options, root = self._filed(mount, scope)
        inner = tuple(self._filed(one, scope if everywhere else None)[1] for one in self.within)
        self.root = root._replace(inner=inner, spare=everywhere)

    def _filed(self, mount: Mount, scope: str | None) -> tuple[Options, DocumentRoot]:
        """How the documents of a mount are cut and filed, and what its files know of it."""
        ctx = self.ctx
        chunk_tokens = mount["chunk_tokens"] or ctx.config.ingest.chunk_tokens
        filed = scope or mount["scope"] or ctx.scope_named(DEFAULT_SCOPE)
        options = Options(
            chunk_tokens, scope=filed, limits=limits(ctx), roots=ctx.readable_roots, mount=self.mount["path"]
        )
        prefix, recipe = os.path.join(mount["path"], ""), recipe_of(options, ctx.policy)
        return options, DocumentRoot(mount["mount_id"], prefix, mount["lang_hint"], filed, recipe)

    def files(self) -> Iterator[Target]:
        """The files of the mount as they are now."""
        from memctl.ingest.sources import walk

        self.ctx.check_folder(self.mount["path"])
        self.left_out.clear()
        return walk(
            self.mount["path"],
            ignore=self.mount["ignore_patterns"],
            never=store_files(self.ctx),
            report=lambda path, reason: self.left_out.append(FileReport(path, "left out", 0, reason)),
            within={one["path"]: one["ignore_patterns"] for one in self.within},
            roots=self.ctx.readable_roots,
        )

    def plan(self, *, full: bool = False) -> IngestPlan:
        """What a sync has to do; a store that is not there yet knows nothing."""
        db = self.ctx.db if os.path.exists(self.ctx.db_path) else None
        return make_plan(db, self.files(), [self.mount["path"]], self.root.recipe, full=full, root=self.root)


def sync_mount(
    ctx: Context,
    mount: Mount,
    *,
    full: bool = False,
    scope: str | None = None,
    report: bool = False,
    everywhere: bool = False,
) -> IngestOutcome:
    """Bring what the store has of a mounted folder up to date. Files that cannot be read are named and passed over."""
    sync = MountSync(ctx, mount, scope=scope, everywhere=everywhere)
    careful = ctx.bounds is not None
    run = ingest_run(ctx, "sync", sync.options, full=full, report=report, root=sync.root, careful=careful)
    done = run.run(sync.files(), lambda: b"", [mount["path"]])
    if report:
        done.note_left_out(sync.left_out)
    mounts.mark_synced(ctx.db, mount["mount_id"])
    return done


# --- a folder that a command is about to speak of ---------------------------------------------------------------------
#
# It is mounted and synced first, as far as that was asked for. What is done is said on stderr under `[inspect]`,
# whichever command does it.


class VisitOptions(Group):
    """How a folder is brought in before a command speaks of it."""

    sync: Annotated[
        SyncMode,
        Arg("sync the folder: if files changed, always, or never", "--sync", mcp_name="sync_mode", mcp_help=""),
    ] = "auto"
    no_sync: Annotated[bool, Arg("the same as --sync never", "--no-sync", mcp=False)] = False
    mount_mode: Annotated[
        MountMode,
        Arg("ephemeral: leave the store unchanged, mount and store nothing", "--mount-mode", mcp="full"),
    ] = "persist"
    ignore: Annotated[list[str] | None, Arg("patterns of files to skip", "--ignore", metavar="PATTERN", mcp="full")] = (
        None
    )

    @property
    def when(self) -> SyncMode:
        """When the folder is synced."""
        return "never" if self.no_sync else self.sync


class Visit:
    """What a run did with a folder before it reported on it.

    mount   the folder's row, None when nothing is mounted there
    made    this run mounted it; gone: and took the mount away again
    synced  the counts of this run's sync, None when there was none; stale: None = not looked
    """

    __slots__ = ("folder", "gone", "made", "mount", "stale", "synced")

    def __init__(self, folder: str, mount: Mount | None = None) -> None:
        self.folder, self.mount = folder, mount
        self.made = self.gone = False
        self.synced: IngestOutcome | None = None
        self.stale: bool | None = None

    @property
    def root(self) -> "Root":
        """The folder and what it is called."""
        return root_of(self.folder, self.mount)


def bring_in(ctx: Context, visit: Visit, when: SyncMode, mode: MountMode, options: dict[str, Any]) -> None:
    """Mount and sync the folder as far as was asked for; the store is opened for writing only when something is.

    options  `ignore` and `scope` of a mount that is made now; what is None was not given
    """
    folder = visit.folder
    options = {name: value for name, value in options.items() if value is not None}
    called = ctx.policy.redact(folder)
    can_write = not os.path.exists(ctx.db_path) or ctx.db.writable
    if visit.mount is not None:
        idle = [f"--{name}" for name in options if name != "scope" or when != "never"]
        if idle:
            kept = "not used, the folder was mounted before and its mount is kept as it is"
            ctx.warn(f"[inspect] {' and '.join(idle)}: {kept}")
    elif when != "never" or (mode == "persist" and can_write):
        ctx.allow(CREATE)
        visit.mount, visit.made = register(ctx, folder, **options, command="inspect"), True
        ctx.note(f"[inspect] Mounted: {called}")
    if visit.mount is None or when == "never":
        ctx.note("[inspect] sync=never — skipping sync")
        return
    visit.stale = when == "always" or staleness(ctx, visit.mount)
    if not visit.stale:
        ctx.note("[inspect] Store is up-to-date — skipping sync")
    elif when == "auto" and not visit.made and not can_write:
        ctx.warn("[inspect] Store is stale, and it cannot be written to — skipping sync")
    else:
        ctx.note(f"[inspect] {'sync=always' if when == 'always' else 'Store is stale'} — syncing {called}")
        ctx.allow(WRITE)
        done = visit.synced = sync_mount(ctx, visit.mount)
        counts = f"{done.new} new, {done.changed} changed, {done.unchanged} unchanged, {len(done.item_ids)} chunks"
        ctx.note(f"[inspect] Synced: {counts}")
        report_changes(ctx, "inspect", done)
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
        for one in all_mounts(ctx, within=folder):
            register(twin, one["path"], ignore=one["ignore_patterns"], lang=one["lang_hint"], scope=one["scope"])
        bring_in(twin, visit, when, mode, given)
        yield twin, visit
    visit.gone = True
    ctx.note("[ask] Ephemeral: mount removed")


def staleness(ctx: Context, mount: Mount) -> bool | None:
    """Whether files are new, changed, moved or deleted since the last sync; None when the folder is not there, or may
    not be looked at. Reads no file.
    """
    if not (ctx.may_read(mount["path"]) and os.path.isdir(mount["path"])):
        return None
    plan = MountSync(ctx, mount).plan()
    return bool(plan.tasks or plan.lost or mount["last_sync_at"] is None)


# --- the report -------------------------------------------------------------------------------------------------------


def root_of(folder: str, mount: Mount | None) -> "Root":
    """A folder under the name of its mount, else its own."""
    from memctl.ingest.inspect import Root, base_name

    return Root(folder, (mount and mount["name"]) or base_name(folder))


def structure(ctx: Context, root: "Root | None", scope: str | None = None) -> "StructureReport":
    """What the store knows of the files below a folder, or of all."""
    from memctl.ingest.inspect import report

    return report(ctx.db, root, ctx.config.inspect, ctx.policy, Filters.read_set(scope))


def sync_state(ctx: Context, mount: Mount, stale: bool | None) -> dict[str, Any]:
    """What is known of a mount's last sync, for `StructureReport.note_syncs`."""
    from memctl.ingest.inspect import shown
    from memctl.store.documents.corpus import get_unread_below

    (label,) = shown([root_of(mount["path"], mount).label], ctx.policy)
    return {
        "mount_id": mount["mount_id"], "label": label, "last_sync_at": mount["last_sync_at"], "stale": stale,
        "unread": len(get_unread_below(ctx.db, os.path.join(mount["path"], ""))),
    }  # fmt: skip
