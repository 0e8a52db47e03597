"""memctl sync: the store follows its folders."""

import os
import shlex
from collections.abc import Iterator

from memctl import errors, ids
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.folders.documents import refuse_if_nothing_was_readable, report_changes
from memctl.folders.registered import (
    Mount,
    all_mounts,
    canonical_folder,
    files_of,
    mount_at,
    mounts_within,
    options_of,
    plan_of,
    register,
    sync_mount,
)
from memctl.ingest.outcome import FileReport, Outcome
from memctl.ingest.prepare import Preparer
from memctl.ingest.preview import preview
from memctl.ingest.sources import Target
from memctl.operation import CREATE, READ, WRITE, Arg, Result, operation
from memctl.store.documents import mounts
from memctl.text.clean import one_line


class Synced(Result):
    """What was done for each folder, by its path; `single` when one was asked for by name."""

    __slots__ = ("refused", "report", "runs", "single")

    def __init__(self, runs: dict[str, Outcome], *, single: bool, report: bool) -> None:
        self.runs, self.single, self.report = runs, single, report
        self.refused: errors.TooManyGone | None = None

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
        found = {path: self._counts(path, done) for path, done in self.runs.items()}
        return next(iter(found.values())) if self.single and found else found

    def _counts(self, path: str, done: Outcome) -> dict[str, Any]:
        counts: dict[str, Any] = {
            "mount_path": path,
            "files_scanned": done.files,
            "files_new": done.new,
            "files_changed": done.changed,
            "files_unchanged": done.unchanged,
            "chunks_created": len(done.item_ids),
            "files_moved": done.moved,
            "files_refiled": done.refiled,
            "files_deleted": done.deleted,
            "files_failed": [{"path": _below(t.path, path), "reason": t.problem} for t in done.failed],
            **done.passages(),
        }
        if self.report:
            counts["files"] = [
                {"path": _below(one.path, path), "status": one.status, "chunks": one.chunks, "reason": _why(one, path)}
                for one in _sorted(done.reports)
            ]
        return counts

    def text(self) -> Iterator[str]:
        """With --report a line for each file: status, path, passages, reason, separated by tabs."""
        for path, done in self.runs.items() if self.report else ():
            if not self.single:
                yield f"# {one_line(path, 4096)}"
            for one in _sorted(done.reports):
                shown = _visible(_below(one.path, path))
                yield "\t".join([one.status, shown, str(one.chunks), one_line(_why(one, path), 400)]).rstrip()


def _visible(path: str) -> str:
    """A path on one line in one column; blanks of other kinds are shown as escapes."""
    return path.translate({9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\"})


def _sorted(reports: list[FileReport]) -> list[FileReport]:
    return sorted(reports, key=lambda one: (one.path, one.status))


def _below(path: str, root: str) -> str:
    """A path as seen from the mount."""
    inside = path.startswith(os.path.join(root, ""))
    return path[len(os.path.join(root, "")) :] if inside else path


def _why(one: FileReport, root: str) -> str:
    return one.reason.replace(os.path.join(root, ""), "")


@operation(
    access=CREATE,
    tool="memory_sync",
    toolset="standard",
    destructive=True,
    idempotent=True,
    about="Read new and changed documents of a folder, or of all mounted folders, into the memory. Mounts the folder "
    "if it is not; deleted files leave recall.",
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
        bool, Arg("read and store every file anew, whatever it looks like", "--full", mcp_help="read every file anew")
    ] = False,
    scope: Annotated[
        str | None, Arg("the scope to file under, now and later on (else the mount's)", "--scope", mcp_help="")
    ] = None,
    chunk_tokens: Annotated[
        int | None,
        Arg(
            "no passage is longer than this, now and later on (else the mount's, else config ingest.chunk_tokens)",
            "--chunk-tokens",
            ge=20,
            le=100_000,
            mcp=False,
        ),
    ] = None,
    dry_run: Annotated[bool, Arg("only say what would change", "--dry-run", mcp="full")] = False,
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
    if dry_run:
        if watch:
            raise errors.UsageError("--dry-run and --watch do not go together", command="sync")
        return _preview(ctx, path, report=report, full=full, scope=scope, chunk_tokens=chunk_tokens)
    if watch and report:
        raise errors.UsageError("--report and --watch do not go together", command="sync")
    found = _mounts(ctx, path, scope, chunk_tokens)
    nests = [(mount, mounts_within(ctx, mount["path"])) for mount in found] if watch else []
    seen = {mount["path"]: _state(ctx, mount, within) for mount, within in nests}
    runs: dict[str, Outcome] = {}
    result = Synced(runs, single=path is not None, report=report)
    for mount in found:
        if path is None and _is_passed_over(ctx, mount):
            continue
        _sync_one(ctx, mount, result, full=full, scope=scope)
    if watch:
        _follow(ctx, nests, seen, interval, runs)
    elif runs and all(done.failed and len(done.failed) == done.files for done in runs.values()):
        for done in runs.values():
            refuse_if_nothing_was_readable(done)
    return result


def _sync_one(ctx: Context, mount: Mount, result: Synced, *, full: bool, scope: str | None) -> None:
    """Sync a mount, and note what came of it; what is refused for one of several does not stop the others."""
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
    _say(ctx, mount, done)


def _mounts(ctx: Context, path: str | None, scope: str | None, chunk_tokens: int | None) -> list[Mount]:
    """The mounts that are meant; a folder that is none becomes one, options that are given are kept."""

    def registered(folder: str) -> Mount:
        return register(ctx, folder, scope=scope, chunk_tokens=chunk_tokens, command="sync")

    changes = bool(scope or chunk_tokens)
    if path is None:
        ctx.narrow(WRITE)
        found = _chosen_mounts(ctx)
        return [registered(one["path"]) for one in found] if changes else found
    named = _named_otherwise(ctx, path) if os.path.exists(ctx.db_path) else None
    folder = canonical_folder(ctx, named["path"] if named else path, "sync")
    known = mount_at(ctx, folder)
    if known is None or changes:
        return [registered(folder)]
    mounts.note_folder(ctx.db, folder)
    return [known]


def _chosen_mounts(ctx: Context) -> list[Mount]:
    """All mounts but those of folders outside the project that nobody has mounted here, which are named."""
    found = all_mounts(ctx)
    if not found:
        ctx.note("[sync] No mounts registered. Use 'memctl mount <path>' or 'memctl sync <path>'.")
    strange = [one for one in found if _is_strange(ctx, one)]
    for one in strange:
        ctx.warn(f"[sync] Mount {one['mount_id']} {_why_strange(ctx, one)}; passed over")
    return [one for one in found if one not in strange]


def _named_otherwise(ctx: Context, key: str) -> Mount | None:
    """The mount that a word names which is no path; None when it is one, or none has that name.

    Raises UsageError for one of a folder that nobody has mounted here: a name does not say what would be read.
    """
    found = None if os.path.lexists(ctx.absolute(key)) else mounts.find_mount(ctx.db, key)
    if found is not None and _is_strange(ctx, found):
        raise errors.UsageError(f"Mount {found['mount_id']} {_why_strange(ctx, found)}", command="sync")
    return found


def _is_strange(ctx: Context, mount: Mount) -> bool:
    """Whether the mount is of a folder outside the project, and no person has said in any way that it may be read.

    Where a person has named the folders that a server may read, these decide.
    """
    return ctx.readable_roots is None and mounts.is_unknown_outside(ctx.db, mount["path"])


def _why_strange(ctx: Context, mount: Mount) -> str:
    path = ctx.policy.redact(mount["path"])
    return (
        f"is of a folder outside the project that memctl has not mounted for you: {one_line(path, 4096)} "
        f"(memctl sync {shlex.quote(path)} takes it in)"
    )


def _is_passed_over(ctx: Context, mount: Mount) -> bool:
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


def _say(ctx: Context, mount: Mount, done: Outcome, done_word: str = "Done") -> None:
    ctx.note(f"[sync] Scanned {done.files} files in {mount['path']}")
    counts = f"[sync] {done_word}: {done.new} new, {done.changed} changed, {done.unchanged} unchanged"
    if done_word == "Done":
        ctx.note(f"{counts}, {len(done.item_ids)} chunks")
        report_changes(ctx, "sync", done)
    else:
        ctx.note(f"{counts}, {done.moved} moved, {done.refiled} read again, {done.deleted} deleted")


def _preview(
    ctx: Context, path: str | None, *, report: bool, full: bool, scope: str | None, chunk_tokens: int | None
) -> Synced:
    ctx.narrow(READ)
    there = os.path.exists(ctx.db_path)
    if path is None:
        found = _chosen_mounts(ctx)
    else:
        named = _named_otherwise(ctx, path) if there else None
        folder = canonical_folder(ctx, named["path"] if named else path, "sync")
        new: Mount = {
            "mount_id": "",
            "path": folder,
            "ignore_patterns": [],
            "lang_hint": None,
            "scope": None,
            "chunk_tokens": None,
        }
        found = [mount_at(ctx, folder) or new]
    if chunk_tokens:
        found = [one | {"chunk_tokens": chunk_tokens} for one in found]
    runs = {}
    done_with: set[str] = set()  # files of mounts that others are within
    for mount in found:
        if path is None and _is_passed_over(ctx, mount):
            continue
        left_out: list[FileReport] = []
        plan = plan_of(ctx, mount, left_out, full=full, scope=scope, everywhere=path is None)
        plan.leave(done_with)
        preparer = Preparer(options_of(ctx, mount, scope), ctx.policy)
        done = runs[mount["path"]] = preview(ctx.db if there else None, plan, preparer)
        done_with |= {one.path for one in done.reports if one.status not in ("failed", "unchanged")}
        done.note_left_out(left_out)
        _say(ctx, mount, done, "Would be")
    for done in runs.values():
        done.show_paths(ctx.policy.redact)
    return Synced(runs, single=path is not None, report=report)


# --- following -------------------------------------------------------------------------------------------------------


def _follow(
    ctx: Context,
    nests: list[tuple[Mount, list[Mount]]],
    seen: dict[str, int | None],
    interval: float,
    runs: dict[str, Outcome],
) -> None:
    """Look at the mounts, each with those within, again and again; the store is opened only when something has changed
    since the state in `seen`.

    What is done is added to `runs`. A store that cannot be written to just now is tried again.
    """
    ctx.note(f"[sync] Watching {len(nests)} folder(s); ^C stops")
    ctx.close()
    try:
        while True:
            ids.pause(interval, interval)
            for mount, within in nests:
                now = _state(ctx, mount, within)
                if now is None or now == seen[mount["path"]]:
                    continue
                try:
                    done = sync_mount(ctx, mount)
                except (errors.StoreFull, errors.StoreBusy) as exc:
                    ctx.warn(f"[sync] {exc}; trying again")
                else:
                    seen[mount["path"]] = now
                    _say(ctx, mount, done)
                    runs.setdefault(mount["path"], Outcome()).add(done)
                ctx.close()
    except KeyboardInterrupt:
        ctx.note("[sync] Stopped")


def _state(ctx: Context, mount: Mount, within: list[Mount]) -> int | None:
    """A number that differs when a file came, went or changed; None while the folder is not there."""
    if not os.path.isdir(mount["path"]):
        return None
    return hash(tuple(_signature(target) for target in files_of(ctx, mount, within)))


def _signature(target: Target) -> tuple[object, ...]:
    info = target.info
    if info is None:
        return (target.path, target.problem)
    return (target.path, info.st_size, info.st_ino, info.st_mtime_ns, info.st_ctime_ns)


def text(result: Synced) -> Iterator[str]:
    """The report, when it was asked for; the counts are talk, and went to stderr."""
    return result.text()
