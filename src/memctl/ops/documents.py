"""What `push` and `ingest` share: sources in, counts out."""

import os
from collections.abc import Sequence

from memctl import errors
from memctl.ingest.bulk import Ingest, Outcome
from memctl.ingest.prepare import Options
from memctl.ingest.sources import resolve
from memctl.ops.context import Context


def ingest_sources(ctx: Context, label: str, sources: Sequence[str], options: Options) -> Outcome:
    """Ingest what the sources name and say in counts what happened, under `[label]` on stderr.

    Raises SourceNotFound, NothingStored when a tag holds a secret, NothingReadable when no file could be read.
    """
    if ctx.policy.judge_fields(tags=options.tags, document=False).action == "reject":
        raise errors.NothingStored(reason="policy refuses the tags")
    folders = [path for path in map(ctx.absolute, sources) if os.path.isdir(path)]

    def progress(done: int, path: str) -> None:
        ctx.progress(f"[{label}] {done} files: {os.path.basename(path)}")

    run = Ingest(ctx.db, options, ctx.policy, warn=ctx.warn, progress=progress if "stderr" in ctx.tty else None)
    outcome = run.run(resolve(sources, ctx.cwd), ctx.stdin_bytes, folders)
    report(ctx, label, outcome)
    if outcome.failed and len(outcome.failed) == outcome.files:
        raise errors.NothingReadable(count=outcome.files)
    return outcome


def report(ctx: Context, label: str, done: Outcome) -> None:
    """The counts of a run, one line a kind, only kinds that happened."""
    processed = done.new + done.changed + done.refiled
    ctx.note(f"[{label}] Ingested {len(done.item_ids)} chunks from {processed} file(s) ({done.unchanged} skipped)")
    if done.changed:
        ctx.note(f"[{label}] Changed files: {done.changed} ({done.kept} chunks kept, {done.superseded} superseded, "
                 f"{done.archived} archived)")  # fmt: skip
    if done.refiled:
        ctx.note(f"[{label}] Read again with other options or rules: {done.refiled} file(s) ({done.kept} chunks kept)")
    if done.deleted:
        ctx.note(f"[{label}] Deleted files: {done.deleted} (their chunks are archived)")
    if done.moved:
        ctx.warn(f"[{label}] Moved: {done.moved} chunks were in another scope (a document is in one scope at a time)")
    if done.redacted:
        ctx.warn(f"[{label}] Policy redacted: {done.redacted} chunks (secrets replaced by [REDACTED:...])")
    if done.quarantined:
        ctx.warn(f"[{label}] Policy quarantined: {done.quarantined} chunks (stored, non-injectable)")
    if done.failed:
        ctx.warn(f"[{label}] Not read: {len(done.failed)} of {done.files} file(s)")
