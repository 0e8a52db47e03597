"""Documents in: memctl mount and sync for folders that the store follows, memctl ingest for what is read once."""

import os
from collections.abc import Iterator

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.folders.documents import ingest_sources, limits, register_corpus
from memctl.ingest.prepare import Options
from memctl.operation import CREATE, READ, WRITE, Arg, Fields, PlainResult, Result, operation
from memctl.parameters import Acting, WriteTarget
from memctl.paths import real_path
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.folders.mounted import Mount, MountSync
    from memctl.ingest.plan import FileReport, IngestOutcome

#: How much of a path or a reason is shown on a line, in characters.
_PATH, _REASON = 4096, 400


MountIgnore = Annotated[
    list[str] | None,
    Arg(
        "patterns as in .gitignore of what to pass over, relative to the folder", "--ignore", path=True,
        mcp_name="ignore_patterns", mcp_help="as in .gitignore, comma-separated", mcp="full",
    ),
]  # fmt: skip
MountLang = Annotated[
    Literal["fr", "en", "mix"] | None,
    Arg("the language of its documents, noted with each file", "--lang", mcp="full"),
]
MountScope = Annotated[str | None, Arg("the scope its passages are filed under (else project)", "--scope", mcp="full")]
MountChunks = Annotated[
    int | None, Arg("no passage of its documents is longer", "--chunk-tokens", ge=20, le=100_000, mcp=False)
]
MountRemove = Annotated[
    str | None,
    Arg(
        "forget a mount; its passages stay", "--remove", word="remove", metavar="MOUNT", path=True, mcp_name="mount_id",
        mcp_help="remove: id, name or path; its passages stay",
    ),
]  # fmt: skip


@operation(
    access=CREATE,
    tool="memory_mount",
    toolset="standard",
    destructive=True,
    idempotent=True,
    about="List, register or remove the folders whose documents feed the memory, when the user asks for it. Nothing is "
    "read until memory_sync.",
    answer={"mounts": "array", "count": "integer", "mount_id": "string", "path": "string", "removed": "string"},
    examples=(
        "memctl mount docs/ --name docs --ignore drafts/ '*.bak'",
        "memctl mount docs/ --ignore ''   # again: other options (here: no patterns)",
        "memctl mount list --json | jq -r '.[].path'",
        "memctl mount remove docs             # by name, id or path; the passages stay",
    ),
    exits={1: "the folder does not exist, the name is taken, or there is no such mount"},
)
def mount(
    ctx: Context,
    path: Annotated[str | None, Arg("the folder to register", path=True)] = None,
    *,
    action: Annotated[
        Literal["list", "register", "remove"] | None, Arg("", cli=False, mcp_default="list", mcp_help="what to do")
    ] = None,
    name: Annotated[str | None, Arg("a short name for it", "--name")] = None,
    ignore: MountIgnore = None,
    lang: MountLang = None,
    scope: MountScope = None,
    chunk_tokens: MountChunks = None,
    list: Annotated[
        bool, Arg("list the mounts; with a folder, those at or below it", "--list", word="list", mcp=False)
    ] = False,
    remove: MountRemove = None,
) -> PlainResult:
    """Register a folder that feeds the store.

    Nothing is read yet: `memctl sync` does that. A folder that is registered already keeps its id and the options that
    are not named again. `.gitignore` and `.memctlignore` files count too; `--ignore` is stronger than they are. A
    folder that is called list or remove is written ./list.
    """
    options = {"name": name, "ignore": ignore, "lang": lang, "scope": scope, "chunk_tokens": chunk_tokens}
    if action is None and (list or remove is not None):
        idle = [f"--{key.replace('_', '-')}" for key, value in options.items() if value is not None]
        if remove is not None:
            idle = [*(["list"] if list else []), *(["a folder"] if path is not None else []), *idle]
        if idle:
            kind = "list" if remove is None else "remove"
            raise errors.UsageError(f"{kind} and {idle[0]} do not go together", command="mount")
    if list or action == "list":
        return _list_mounts(ctx, path)
    if action == "remove" or (remove is not None and action != "register"):
        return _remove_mount(ctx, remove)
    if path is None:
        lacking = "path is required for register" if action == "register" else "mount needs a folder, list, or remove"
        raise errors.UsageError(lacking, command="mount")
    from memctl.folders.mounted import canonical_folder, mount_at, register

    folder = canonical_folder(ctx, path, "mount")
    done = "Mounted" if mount_at(ctx, folder) is None else "Mounted already, options brought up to date"
    found = register(ctx, folder, name=name, ignore=ignore, lang=lang, scope=scope, chunk_tokens=chunk_tokens)
    ctx.note(f"{done}: {found['mount_id']} → {folder}")
    return PlainResult({"status": "ok"} | found)


def _list_mounts(ctx: Context, path: str | None) -> PlainResult:
    """All mounts; with a path, those of that folder and of the folders below it."""
    from memctl.store.documents import mounts

    ctx.narrow(READ)
    found, where = mounts.list_mounts(ctx.db), ""
    if path is not None:
        folder = real_path(ctx.absolute(path))
        found = [one for one in found if os.path.join(one["path"], "").startswith(os.path.join(folder, ""))]
        where = f" at or below {folder}"
    if not found:
        ctx.note(f"No mounts registered{where}.")
    lines = []
    for one in found:  # a line each, whatever its folder is called
        name, path = f" ({one['name']})" if one["name"] else "", one["path"]
        shown = path if path.isprintable() else one_line(path, len(path))
        lines.append(f"  {one['mount_id']}{name}  {shown}  synced={one['last_sync_at'] or 'never'}")
        if not os.path.isdir(path):
            ctx.note(
                f"[mount] {one['mount_id']}: the folder is not there; if the project was moved, memctl sync follows"
            )
    return PlainResult({"status": "ok", "count": len(found), "mounts": found}, lines, printed=found)


def _remove_mount(ctx: Context, key: str | None) -> PlainResult:
    from memctl.folders.mounted import mount_named
    from memctl.store.documents import mounts
    from memctl.store.items import events

    if key is None:
        raise errors.UsageError("mount_id is required for remove", command="mount")
    ctx.narrow(WRITE)
    found = mount_named(ctx, key, "mount")
    if not events.is_by_tool(ctx.db, "mount", found["mount_id"]):
        ctx.refuse_to_tools("remove what a person has mounted", "memctl mount remove")
    mounts.remove(ctx.db, found["mount_id"])
    ctx.note(f"Removed mount: {key}")
    return PlainResult({"status": "ok", "removed": found["mount_id"]})


# --- sync -------------------------------------------------------------------------------------------------------------


class Synced(Result):
    """What was done for each folder, by its path; `single` when one was asked for by name."""

    runs: "dict[str, IngestOutcome]"
    single: bool
    report: bool
    refused: errors.TooManyGone | None = None

    def settle(self) -> None:
        """Raise what a tool was refused in one of several folders, after the counts of the others were said."""
        if self.refused is not None:
            raise self.refused

    def as_dict(self) -> dict[str, Any]:
        """The counts of the one folder; or of each folder by its path, and how many there were."""
        if self.single and self.runs:
            return {"status": "ok"} | self.as_json()
        return {"status": "ok", "synced": self.as_json(), "mount_count": len(self.runs)}

    def as_json(self) -> dict[str, Any]:
        """The documented object: the counts of the one folder, or of each folder by its path."""
        found: dict[str, dict[str, Any]] = {}
        for path, done in self.runs.items():
            below = os.path.join(path, "")
            counts = found[path] = {
                "mount_path": path, "files_scanned": done.files, "files_new": done.new, "files_changed": done.changed,
                "files_unchanged": done.unchanged, "chunks_created": len(done.item_ids), "files_moved": done.moved,
                "files_refiled": done.refiled, "files_deleted": done.deleted,
                "files_failed": [{"path": t.path.removeprefix(below), "reason": t.problem} for t in done.failed],
                **done.passages(),
            }  # fmt: skip
            if self.report:
                names = ("path", "status", "chunks", "reason")
                counts["files"] = [dict(zip(names, one, strict=True)) for one in file_reports(path, done)]
        return next(iter(found.values())) if self.single and found else found


def file_reports(folder: str, done: "IngestOutcome") -> "list[FileReport]":
    """What happened to each file, by paths as seen from the folder, sorted."""
    below = os.path.join(folder, "")
    return [
        one._replace(path=one.path.removeprefix(below), reason=one.reason.replace(below, ""))
        for one in sorted(done.reports, key=lambda one: (one.path, one.status))
    ]


SyncScope = Annotated[
    str | None, Arg("the scope to file under, now and later on (else the mount's)", "--scope", mcp="full")
]
SyncChunks = Annotated[
    int | None,
    Arg(
        "no passage is longer than this, now and later on (else the mount's, else config ingest.chunk_tokens)",
        "--chunk-tokens", ge=20, le=100_000, mcp=False,
    ),
]  # fmt: skip


@operation(
    access=CREATE,
    tool="memory_sync",
    toolset="standard",
    destructive=True,
    idempotent=True,
    about="Read new and changed documents of a folder, or of all mounted folders, into the memory, so that recall "
    "finds them. Use it after documents changed, not before each recall.",
    answer={
        "files_scanned": "integer", "files_new": "integer", "files_changed": "integer", "chunks_created": "integer",
        "synced": "object", "mount_count": "integer",
    },
    examples=(
        "memctl sync docs/                      # mounts the folder if it is not",
        "memctl sync                            # all mounts",
        "memctl sync docs --report | grep '^failed'",
        "memctl sync --dry-run --report         # what would change",
        "memctl sync docs/ --watch              # until ^C",
    ),
    exits={1: "the folder does not exist, or none of its files could be read"},
)  # fmt: skip
def sync(
    ctx: Context,
    path: Annotated[str | None, Arg("a folder, or a mount's name or id; without one, all mounts", path=True)] = None,
    *,
    full: Annotated[
        bool,
        Arg(
            "read and store every file anew, whatever it looks like",
            "--full",
            mcp_help="read every file anew",
            mcp="full",
        ),
    ] = False,
    scope: SyncScope = None,
    chunk_tokens: SyncChunks = None,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "only say what would change", "mcp": "full"})],
    report: Annotated[
        bool, Arg("print a line for each file: what happened to it, and why", "--report", mcp="full")
    ] = False,
    watch: Annotated[bool, Arg("go on following changes until interrupted", "--watch", mcp=False)] = False,
    interval: Annotated[
        float, Arg("seconds between two looks with --watch", "--interval", ge=0.2, le=86400, mcp=False)
    ] = 2.0,
) -> Synced:
    """Bring the store up to date with its folders.

    New files are stored, changed ones replace their passages as far as these changed, moved ones keep them, and those
    of deleted files are archived until the file is back. A file that looks as it did (size, both times, inode) is not
    opened; whether another one has changed is decided by its hash. Files that cannot be read are named, and the rest
    goes on.
    """
    from memctl.folders.mounted import MountSync

    if watch and (acting.dry_run or report):
        both = "--dry-run and --watch" if acting.dry_run else "--report and --watch"
        raise errors.UsageError(f"{both} do not go together", command="sync")
    result = Synced(runs={}, single=path is not None, report=report)
    if acting.dry_run:
        _preview_all(ctx, path, result, full=full, scope=scope, chunk_tokens=chunk_tokens)
        return result
    found = _mounts_to_sync(ctx, path, scope, chunk_tokens)
    followed = [MountSync(ctx, one) for one in found] if watch else []
    seen = {one.mount["path"]: _state(one) for one in followed}
    for one in found:
        if path is not None or not _is_passed_over(ctx, one):
            _sync_one(ctx, one, result, full=full, scope=scope)
    if watch:
        _follow(ctx, followed, seen, interval, result.runs)
    elif result.runs and all(done.failed and len(done.failed) == done.files for done in result.runs.values()):
        raise errors.NothingReadable(count=next(iter(result.runs.values())).files)
    return result


def sync_text(result: Synced) -> Iterator[str]:
    """With --report a line for each file: status, path, passages, reason, separated by tabs. The counts are talk."""
    for path, done in result.runs.items() if result.report else ():
        if not result.single:
            yield f"# {one_line(path, _PATH)}"
        for one in file_reports(path, done):
            shown = one.path.translate({9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"})  # one line, one column
            yield "\t".join([one.status, shown, str(one.chunks), one_line(one.reason, _REASON)]).rstrip()


def _sync_one(ctx: Context, mount: "Mount", result: Synced, *, full: bool, scope: str | None) -> None:
    """Sync a mount and note what came of it; what is refused for one of several does not stop the others."""
    from memctl.folders.mounted import sync_mount

    try:
        done = sync_mount(ctx, mount, full=full, scope=scope, report=result.report, everywhere=not result.single)
    except errors.TooManyGone as exc:
        if result.single:
            raise
        ctx.warn(f"[sync] {ctx.policy.redact(mount['path'])}: {exc}")
        result.refused = exc
        return
    done.show_paths(ctx.policy.redact)
    result.runs[mount["path"]] = done
    _say_done(ctx, mount, done)


def _mounts_to_sync(ctx: Context, path: str | None, scope: str | None, chunk_tokens: int | None) -> "list[Mount]":
    """The mounts that are meant; a folder that is none becomes one, options that are given are kept."""
    from memctl.folders.mounted import canonical_folder, follow_project, mount_at, register
    from memctl.store.documents import mounts

    changes: dict[str, Any] = {"scope": scope, "chunk_tokens": chunk_tokens, "command": "sync"}
    if path is None:
        ctx.narrow(WRITE)
        follow_project(ctx)
        found = _known_mounts(ctx)
        return [register(ctx, one["path"], **changes) for one in found] if scope or chunk_tokens else found
    if os.path.exists(ctx.db_path):
        follow_project(ctx)
    folder = canonical_folder(ctx, _path_named(ctx, path), "sync")
    known = mount_at(ctx, folder)
    if known is None or scope or chunk_tokens:
        return [register(ctx, folder, **changes)]
    mounts.note_folder(ctx.db, folder)
    return [known]


def _known_mounts(ctx: Context) -> "list[Mount]":
    """All mounts but those of folders outside the project that nobody has mounted here, which are named."""
    from memctl.folders.mounted import all_mounts

    found = all_mounts(ctx)
    if not found:
        ctx.note("[sync] No mounts registered. Use 'memctl mount <path>' or 'memctl sync <path>'.")
    known = []
    for one in found:
        if why := _why_unknown(ctx, one):
            ctx.warn(f"[sync] Mount {one['mount_id']} {why}; passed over")
        else:
            known.append(one)
    return known


def _path_named(ctx: Context, key: str) -> str:
    """The path of the mount that a word names; the word itself when it is a path, or no mount has that name.

    Raises UsageError for one of a folder that nobody has mounted here: a name does not say what would be read.
    """
    from memctl.store.documents import mounts

    if not os.path.exists(ctx.db_path) or os.path.lexists(ctx.absolute(key)):
        return key
    found = mounts.find_mount(ctx.db, key)
    if found is not None and (why := _why_unknown(ctx, found)):
        raise errors.UsageError(f"Mount {found['mount_id']} {why}", command="sync")
    return str(found["path"]) if found else key


def _why_unknown(ctx: Context, mount: "Mount") -> str:
    """What to say of a mount of a folder outside the project, when no person has said in any way that it may be read;
    "" for all others. Where a person has named the folders that a server may read, these decide.
    """
    import shlex

    from memctl import registry
    from memctl.store.documents import mounts

    outside = ctx.readable_roots is None and mounts.is_outside(ctx.db.path, mount["path"])
    if not outside or registry.may_feed(ctx.db.path, real_path(mount["path"])):
        return ""
    path = ctx.policy.redact(mount["path"])
    return (
        f"is of a folder outside the project that memctl has not mounted for you: {one_line(path, _PATH)} "
        f"(memctl sync {shlex.quote(path)} takes it in)"
    )


def _is_passed_over(ctx: Context, mount: "Mount") -> bool:
    """Whether the mount's folder is not there, or the caller may not have it read, which is said: a disk may not be
    plugged in, and a person chooses the folders of a server.
    """
    if not ctx.may_read(mount["path"]):
        ctx.warn(
            f"[sync] Mount {mount['mount_id']} is in no folder that this server may read, skipping; memctl sync in a "
            "terminal reads it, and so does a server that is started with --allow-root"
        )
        return True
    if os.path.isdir(mount["path"]):
        return False
    ctx.warn(f"[sync] Mount path missing, skipping: {mount['path']}")
    return True


def _say_done(ctx: Context, mount: "Mount", done: "IngestOutcome", *, would_be: bool = False) -> None:
    from memctl.folders.documents import report_changes

    ctx.note(f"[sync] Scanned {done.files} files in {mount['path']}")
    counts = f"{done.new} new, {done.changed} changed, {done.unchanged} unchanged"
    if would_be:
        rest = f"{done.moved} moved, {done.refiled} read again, {done.deleted} deleted"
        ctx.note(f"[sync] Would be: {counts}, {rest}")
    else:
        ctx.note(f"[sync] Done: {counts}, {len(done.item_ids)} chunks")
        report_changes(ctx, "sync", done)


def _preview_all(
    ctx: Context, path: str | None, result: Synced, *, full: bool, scope: str | None, chunk_tokens: int | None
) -> None:
    """Note what a sync would do."""
    from memctl.folders.mounted import NO_OPTIONS, MountSync, canonical_folder, mount_at
    from memctl.ingest.plan import preview
    from memctl.ingest.prepare import Preparer

    ctx.narrow(READ)
    if path is None:
        found = _known_mounts(ctx)
    else:
        folder = canonical_folder(ctx, _path_named(ctx, path), "sync")
        found = [mount_at(ctx, folder) or {"mount_id": "", "path": folder} | NO_OPTIONS]
    done_with: set[str] = set()  # files of mounts that others are within
    for mount in found:
        if path is None and _is_passed_over(ctx, mount):
            continue
        one = mount | {"chunk_tokens": chunk_tokens} if chunk_tokens else mount
        compared = MountSync(ctx, one, scope=scope, everywhere=path is None)
        plan = compared.plan(full=full).without(done_with)
        db = ctx.db if os.path.exists(ctx.db_path) else None
        done = result.runs[mount["path"]] = preview(db, plan, Preparer(compared.options, ctx.policy))
        done_with |= {file.path for file in done.reports if file.status not in ("failed", "unchanged")}
        done.note_left_out(compared.left_out)
        _say_done(ctx, mount, done, would_be=True)
    for done in result.runs.values():
        done.show_paths(ctx.policy.redact)


# --- following --------------------------------------------------------------------------------------------------------


def _follow(
    ctx: Context,
    followed: "list[MountSync]",
    seen: dict[str, int | None],
    interval: float,
    runs: "dict[str, IngestOutcome]",
) -> None:
    """Look at the mounts again and again; the store is opened only when something has changed since the state in
    `seen`.

    What is done is added to `runs`. A store that cannot be written to just now is tried again.
    """
    from memctl.folders.mounted import sync_mount
    from memctl.ingest.plan import IngestOutcome

    ctx.note(f"[sync] Watching {len(followed)} folder(s); ^C stops")
    ctx.close()
    try:
        while True:
            ids.pause(interval, interval)
            for one in followed:
                now, mount = _state(one), one.mount
                if now is None or now == seen[mount["path"]]:
                    continue
                try:
                    done = sync_mount(ctx, mount)
                except (errors.StoreFull, errors.StoreBusy) as exc:
                    ctx.warn(f"[sync] {exc}; trying again")
                else:
                    seen[mount["path"]] = now
                    _say_done(ctx, mount, done)
                    runs.setdefault(mount["path"], IngestOutcome()).add(done)
                ctx.close()
    except KeyboardInterrupt:
        ctx.note("[sync] Stopped")


def _state(followed: "MountSync") -> int | None:
    """A number that differs when a file came, went or changed; None while the folder is not there."""
    if not os.path.isdir(followed.mount["path"]):
        return None
    found = []
    for target in followed.files():
        info = target.info
        stamps = (info.st_size, info.st_ino, info.st_mtime_ns, info.st_ctime_ns) if info else (target.problem,)
        found.append((target.path, *stamps))
    return hash(tuple(found))


# --- documents, once --------------------------------------------------------------------------------------------------


@operation(
    access=CREATE,
    examples=(
        "memctl ingest docs/ src/         # raw: stored and searchable, not injected",
        "memctl ingest notes.md --injectable  # as push does it",
        "pandoc book.epub -t markdown | memctl ingest - --tags book",
    ),
    exits={1: "a source does not exist, or no file could be read"},
    takes_input=lambda values: "-" in values["source"],
)
def ingest(
    ctx: Context,
    source: Annotated[
        list[str], Arg("files, folders, glob patterns, or - for standard input", path=True, aliases=("--source",))
    ],
    *,
    target: Annotated[
        WriteTarget,
        Fields("scope tags injectable chunk_tokens format corpus workspace", tags={"help": "tags for every passage"}),
    ],
    injectable: Annotated[bool, Arg("let recall use the passages at once", "--injectable")] = False,
    chunk_tokens: Annotated[
        int, Arg("no passage is longer than this", "--chunk-tokens", config="ingest.chunk_tokens", ge=20, le=100_000)
    ] = 1800,
    format: Annotated[
        Literal["auto", "text"],
        Arg("auto takes title and tags from the document and its folders, text only what is given", "--format"),
    ] = "auto",
    corpus: Annotated[str | None, Arg("the document set they belong to", "--corpus")] = None,
) -> PlainResult:
    """Store documents as raw passages, kept out of recall until promoted.

    Text, Markdown, source code, tables, data, HTML, notebooks, mail, office documents and PDF are cut along their
    structure, judged by policy (secrets are replaced, injected instructions quarantined) and stored. A file that was
    ingested before is compared: unchanged passages stay, changed ones replace the old, gone ones are archived. A folder
    given as a source also gives up the passages of files deleted from it.
    """
    scope, view_corpus = target.place(ctx)
    corpus = corpus or view_corpus
    options = Options(
        chunk_tokens, tuple(target.tags or ()), scope, injectable, corpus, format == "auto", limits(ctx),
    )  # fmt: skip
    done = ingest_sources(ctx, "ingest", source, options)
    register_corpus(ctx, corpus, scope)
    # Nothing on stdout: the counts are talk, and went to stderr.
    return PlainResult({
        "status": "ok", "scope": scope, "corpus": corpus, "files": done.files, "files_new": done.new,
        "files_changed": done.changed, "files_unchanged": done.unchanged, "files_refiled": done.refiled,
        "files_moved": done.moved, "files_deleted": done.deleted,
        "files_failed": [{"path": t.path, "reason": t.problem} for t in done.failed],
        "chunks_created": len(done.item_ids), **done.passages(),
    })  # fmt: skip
