"""memctl scan: what policy finds in files, or in a whole store."""

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated
from memctl.context import Context
from memctl.operation import READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting

if TYPE_CHECKING:
    from memctl.ingest.judge_files import Spot

_WORDS = {
    "secret": "what looks like a secret",
    "injection": "an instruction aimed at the model that reads it",
    "instructional": "text that instructs a model",
    "pii": "personal data",
}
_NO_RUN = "there is no run {} that could be undone or made final"


@operation(
    access=WRITE,
    examples=(
        "memctl scan .                    # as a linter: path:line:column, exit status 1 on findings",
        "memctl scan docs/ --json | jq '.findings[].rule'",
        "git diff --cached | memctl scan -",
        "memctl scan --store --dry-run    # what today's rules say of what is stored already",
        "memctl scan --undo SCAN-a3185eaf3928",
    ),
    exits={0: "nothing was found", 1: "something was found, or a file, a store or a run does not exist"},
)
def scan(
    ctx: Context,
    path: Annotated[
        list[str] | None, Arg("files, folders, glob patterns, or - for standard input", path=True, metavar="PATH")
    ] = None,
    *,
    strict: Annotated[
        bool, Arg("judge files as statements are: mail addresses and telephone numbers too", "--strict")
    ] = False,
    store: Annotated[bool, Arg("judge what is stored instead: redact secrets, quarantine the rest", "--store")] = False,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "with --store: only say what would be done"})],
    undo: Annotated[str | None, Arg("take back what a run of --store did", "--undo", metavar="RUN")] = None,
    forget: Annotated[
        str | None,
        Arg(
            "blot what a run redacted out of the items' history too; it cannot be undone then",
            "--forget",
            metavar="RUN",
        ),
    ] = None,
) -> PlainResult:
    """Report what policy finds in files, or in the store.

    Files are read as ingest reads them, and nothing is stored. A finding says where it is and which rule made it, and
    never quotes it. `policy.allow` in config.json lets findings pass by rule and path; so does, on the line of the
    finding, `memctl:allow RULE -- REASON`. A mark without a reason lets nothing pass, and no mark in a document opens
    the store to instructions or sure secrets: they are still redacted or quarantined when it is ingested.

    With --store everything stored is judged by today's rules. Secrets are blotted out, instructions aimed at a model
    quarantined, in one transaction; --undo takes it back, for which the old texts stay in the items' history until
    --forget takes them out of it and out of the file. What somebody released from quarantine stays released. Paths of
    files and folders that hold a secret are hidden for good: of those, nothing is taken back.
    """
    if sum((bool(path), store, undo is not None, forget is not None)) != 1:
        raise errors.UsageError("give either paths, or --store, or --undo RUN, or --forget RUN", command="scan")
    if (acting.dry_run and not store) or (strict and not path):
        flag, owner = ("--dry-run", "--store") if acting.dry_run else ("--strict", "paths")
        raise errors.UsageError(f"{flag} is for {owner} only", command="scan")
    if path:
        return _scan_files(ctx, path, strict=strict)
    if store:
        return _scan_store(ctx, dry_run=acting.dry_run)
    return _undo(ctx, undo) if undo is not None else _forget(ctx, forget or "")


def _scan_files(ctx: Context, paths: list[str], *, strict: bool) -> PlainResult:
    from memctl.folders.documents import limits, store_files
    from memctl.ingest.judge_files import Scanner
    from memctl.ingest.sources import resolve

    spots: list[Spot] = []
    failed: list[dict[str, str]] = []
    count = 0
    with Scanner(ctx.policy, limits(ctx), cwd=ctx.cwd, strict=strict) as scanner:
        for target in resolve(paths, ctx.cwd, never=store_files(ctx)):
            count += 1
            try:
                spots += scanner.scan(target, ctx.stdin_bytes)
            except errors.DocumentUnreadable as exc:
                shown, reason = scanner.shown(target.path), str(exc.fields.get("reason", ""))
                failed.append({"path": shown, "reason": reason})
                ctx.warn(f"skipped {shown}: {reason}")
    if failed and len(failed) == count:
        raise errors.NothingReadable(count=count)
    lines = [
        f"{s.path}:{s.line}:{s.column}: {s.rule} {s.kind} {s.action} {_WORDS[s.kind]}"
        + (f" ({s.place})" if s.place else "")
        for s in spots
        if not s.allowed
    ]
    allowed = len(spots) - len(lines)
    ctx.note(f"[scan] {len(lines)} finding(s) in {count} file(s)" + (f", {allowed} allowed" if allowed else ""))
    data = {
        "status": "findings" if lines else "ok", "files": count, "count": len(lines), "allowed": allowed,
        "findings": [s._asdict() for s in spots], "files_failed": failed,
    }  # fmt: skip
    return PlainResult(data, lines, 1 if lines else 0)


def _scan_store(ctx: Context, *, dry_run: bool) -> PlainResult:
    from memctl.lifecycle.rescan import apply_changes, hide_paths, judge_store
    from memctl.store import rule_versions

    if dry_run:
        ctx.narrow(READ)
    begun = ids.timestamp()
    found = judge_store(ctx.db, ctx.policy)
    run = ""
    if not dry_run:
        with rule_versions.judged_write(ctx.db, ctx.policy.switches):
            run = apply_changes(ctx.db, found.changes) if found.changes else ""
            rule_versions.record_scan(ctx.db, ctx.policy.switches, begun)
        hide_paths(ctx.db, found.paths)
    paths = sorted({path.stand_in for path in found.paths})
    changes = [
        {"id": c.id, "redacted": c.redacted, "quarantined": bool(c.held_by), "rules": list(c.rules)}
        for c in found.changes
    ]
    redacted, quarantined = (sum(bool(c[key]) for c in changes) for key in ("redacted", "quarantined"))
    ctx.note(
        f"[scan] {found.items} item(s) checked: {redacted} {'to redact' if dry_run else 'redacted'}, "
        f"{quarantined} {'to quarantine' if dry_run else 'quarantined'}"
        + (f"; {len(paths)} path(s) {'to hide' if dry_run else 'hidden'}" if paths else "")
    )
    if run:
        ctx.note(f"[scan] memctl scan --undo {run} takes it back; memctl scan --forget {run} makes it final")
    lines = [
        f"{c.id}: {'would be ' if dry_run else ''}"
        + " and ".join(word for word, done in (("redacted", c.redacted), ("quarantined", c.held_by)) if done)
        + f": {', '.join(c.rules)}"
        for c in found.changes
    ]
    lines += [f"{path}: the path {'would be' if dry_run else 'is'} hidden" for path in paths]
    data = {
        "status": "findings" if lines else "ok", "items": found.items, "redacted": redacted,
        "quarantined": quarantined, "paths": paths, "dry_run": dry_run, "run": run, "changes": changes,
    }  # fmt: skip
    return PlainResult(data, lines, 1 if lines else 0)


def _undo(ctx: Context, run: str) -> PlainResult:
    from memctl.lifecycle.rescan import undo_run

    undone = undo_run(ctx.db, run)
    if undone is None:
        raise errors.UsageError(_NO_RUN.format(run), command="scan")
    restored, kept = undone
    ctx.note(f"[scan] {len(restored)} item(s) as they were, {len(kept)} left alone")
    lines = [f"{item_id}: as it was" for item_id in restored]
    lines += [f"{item_id}: left alone, it was changed or removed since" for item_id in kept]
    return PlainResult({"status": "ok", "run": run, "restored": restored, "kept": kept}, lines)


def _forget(ctx: Context, run: str) -> PlainResult:
    from memctl.lifecycle.rescan import forget_run

    changed = forget_run(ctx.db, ctx.policy, run)
    if changed is None:
        raise errors.UsageError(_NO_RUN.format(run), command="scan")
    ctx.note(f"[scan] the history of {len(changed)} item(s) was changed; {run} is final")
    lines = [f"{item_id}: blotted out of its history" for item_id in changed]
    return PlainResult({"status": "ok", "run": run, "ids": changed}, lines)
