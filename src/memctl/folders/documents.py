"""What the commands that read documents share: sources in, counts out."""

import os
from collections.abc import Sequence

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import Context
from memctl.extract import Limits
from memctl.ingest.plan import IngestOutcome
from memctl.ingest.prepare import Options
from memctl.ingest.run import IngestRun
from memctl.ingest.sources import resolve
from memctl.item_policy import ItemPolicy
from memctl.paths import real_path

if TYPE_CHECKING:
    from memctl.ingest.run import Progress

#: In seconds: a progress line is drawn at most this often.
REDRAW = 0.1


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


def _progress_line(ctx: Context, label: str) -> "Progress":
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
