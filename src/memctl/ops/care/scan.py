"""memctl scan: what policy finds in files, or in a whole store."""

from collections.abc import Iterator

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.operation import READ, WRITE, Arg, Result, operation

if TYPE_CHECKING:
    from memctl.ingest.scan import Spot
    from memctl.lifecycle.scan import Checked as Whole
    from memctl.lifecycle.scan import Undone

_WORDS = {
    "secret": "what looks like a secret",
    "injection": "an instruction aimed at the model that reads it",
    "instructional": "text that instructs a model",
    "pii": "personal data",
}


class Scanned(Result):
    """The findings in files, and the files that could not be read."""

    __slots__ = ("exit_code", "failed", "files", "spots")

    def __init__(self, spots: "list[Spot]", files: int, failed: list[dict[str, str]]) -> None:
        self.spots, self.files, self.failed = spots, files, failed
        self.exit_code = 1 if any(not s.allowed for s in spots) else 0

    def as_dict(self) -> dict[str, Any]:
        """The findings in order, and counts."""
        return {
            "status": "findings" if self.exit_code else "ok",
            "files": self.files,
            "count": sum(not s.allowed for s in self.spots),
            "allowed": sum(bool(s.allowed) for s in self.spots),
            "findings": [s._asdict() for s in self.spots],
            "files_failed": self.failed,
        }

    def text(self) -> Iterator[str]:
        """`path:line:col: rule kind action message`, a line each; what is allowed is not shown."""
        for s in self.spots:
            if not s.allowed:
                place = f" ({s.place})" if s.place else ""
                yield f"{s.path}:{s.line}:{s.column}: {s.rule} {s.kind} {s.action} {_WORDS[s.kind]}{place}"


class Checked(Result):
    """What the rules of today say of what is stored already, and what was done about it."""

    __slots__ = ("changes", "dry_run", "exit_code", "items", "paths", "run")

    def __init__(self, checked: "Whole", run: str, *, dry_run: bool) -> None:
        self.changes, self.items, self.run, self.dry_run = checked.changes, checked.items, run, dry_run
        self.paths = sorted({path.stand_in for path in checked.paths})
        self.exit_code = 1 if checked.changes or checked.paths else 0

    def as_dict(self) -> dict[str, Any]:
        """Each item that was changed (or would be), by what and why; `run` undoes it."""
        return {
            "status": "findings" if self.exit_code else "ok",
            "items": self.items,
            "redacted": sum(c.redacted for c in self.changes),
            "quarantined": sum(c.quarantined for c in self.changes),
            "paths": self.paths,
            "dry_run": self.dry_run,
            "run": self.run,
            "changes": [
                {"id": c.id, "redacted": c.redacted, "quarantined": c.quarantined, "rules": list(c.rules)}
                for c in self.changes
            ],
        }

    def text(self) -> Iterator[str]:
        """A line for each item."""
        for c in self.changes:
            did = " and ".join(
                word for word, done in (("redacted", c.redacted), ("quarantined", c.quarantined)) if done
            )
            yield f"{c.id}: {'would be ' if self.dry_run else ''}{did}: {', '.join(c.rules)}"
        for path in self.paths:
            yield f"{path}: the path {'would be' if self.dry_run else 'is'} hidden"


class Back(Result):
    """What an undo put back, and what it had to leave."""

    __slots__ = ("run", "undone")

    def __init__(self, run: str, undone: "Undone") -> None:
        self.run, self.undone = run, undone

    def as_dict(self) -> dict[str, Any]:
        """The ids of both."""
        return {
            "status": "ok", "run": self.run, "restored": list(self.undone.restored), "kept": list(self.undone.kept),
        }  # fmt: skip

    def text(self) -> Iterator[str]:
        """A line for each item."""
        yield from (f"{item_id}: as it was" for item_id in self.undone.restored)
        yield from (f"{item_id}: left alone, it was changed or removed since" for item_id in self.undone.kept)


class Forgotten(Result):
    """The items whose history lost what a run had blotted out."""

    __slots__ = ("ids", "run")

    def __init__(self, run: str, ids: list[str]) -> None:
        self.run, self.ids = run, ids

    def as_dict(self) -> dict[str, Any]:
        """Their ids."""
        return {"status": "ok", "run": self.run, "ids": self.ids}

    def text(self) -> Iterator[str]:
        """A line for each item."""
        yield from (f"{item_id}: blotted out of its history" for item_id in self.ids)


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
    dry_run: Annotated[bool, Arg("with --store: only say what would be done", "--dry-run")] = False,
    undo: Annotated[str | None, Arg("take back what a run of --store did", "--undo", metavar="RUN")] = None,
    forget: Annotated[
        str | None,
        Arg(
            "blot what a run redacted out of the items' history too; it cannot be undone then",
            "--forget",
            metavar="RUN",
        ),
    ] = None,
) -> Scanned | Checked | Back | Forgotten:
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
    if (dry_run and not store) or (strict and not path):
        flag, owner = ("--dry-run", "--store") if dry_run else ("--strict", "paths")
        raise errors.UsageError(f"{flag} is for {owner} only", command="scan")
    if path:
        return _files(ctx, path, strict=strict)
    if undo is not None:
        return _undo(ctx, undo)
    return _store(ctx, dry_run=dry_run) if forget is None else _forget(ctx, forget)


def _files(ctx: Context, paths: list[str], *, strict: bool) -> Scanned:
    from memctl.folders.documents import limits, store_files
    from memctl.ingest.scan import Scanner
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
    result = Scanned(spots, count, failed)
    found = result.as_dict()
    let = f", {found['allowed']} allowed" if found["allowed"] else ""
    ctx.note(f"[scan] {found['count']} finding(s) in {count} file(s){let}")
    return result


def _store(ctx: Context, *, dry_run: bool) -> Checked:
    from memctl.lifecycle.scan import apply, check, hide_paths
    from memctl.store import rule_versions

    if dry_run:
        ctx.narrow(READ)
    begun = ids.timestamp()
    checked = check(ctx.db, ctx.policy)
    run = ""
    if not dry_run:
        rules = rule_versions.word(ctx.policy.switches)
        with ctx.db.atomic(), rule_versions.by(ctx.db, rules):
            run = apply(ctx.db, checked.changes) if checked.changes else ""
            rule_versions.note_all(ctx.db, rules, begun)
        hide_paths(ctx.db, checked)
    result = Checked(checked, run, dry_run=dry_run)
    found = result.as_dict()
    ctx.note(
        f"[scan] {checked.items} item(s) checked: {found['redacted']} {'to redact' if dry_run else 'redacted'}, "
        f"{found['quarantined']} {'to quarantine' if dry_run else 'quarantined'}"
        + (f"; {len(result.paths)} path(s) {'to hide' if dry_run else 'hidden'}" if result.paths else "")
    )
    if run:
        ctx.note(f"[scan] memctl scan --undo {run} takes it back; memctl scan --forget {run} makes it final")
    return result


def _undo(ctx: Context, run: str) -> Back:
    from memctl.lifecycle.scan import undo

    undone = undo(ctx.db, run)
    if undone is None:
        raise _no_run(run)
    ctx.note(f"[scan] {len(undone.restored)} item(s) as they were, {len(undone.kept)} left alone")
    return Back(run, undone)


def _forget(ctx: Context, run: str) -> Forgotten:
    from memctl.lifecycle.scan import forget

    changed = forget(ctx.db, ctx.policy, run)
    if changed is None:
        raise _no_run(run)
    ctx.note(f"[scan] the history of {len(changed)} item(s) was changed; {run} is final")
    return Forgotten(run, changed)


def _no_run(run: str) -> errors.UsageError:
    return errors.UsageError(f"there is no run {run} that could be undone or made final", command="scan")


def text(result: Scanned | Checked | Back | Forgotten) -> Iterator[str]:
    """The findings, or what became of the items, a line each."""
    return result.text()
