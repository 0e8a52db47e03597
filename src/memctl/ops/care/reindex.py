"""memctl reindex: make the full-text index anew."""

from collections.abc import Iterator

from memctl import errors, ids
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.context.bounds import leave_to_person
from memctl.operation import READ, WRITE, Arg, Result, operation
from memctl.store import migrate
from memctl.store.documents import passages
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.store.schema import tokenizer as resolve
from memctl.store.search import fts


class Reindexed(Result):
    """What was indexed with which tokenizer, or what would be."""

    __slots__ = ("after", "before", "count", "dry_run", "placed", "seconds", "steps")

    def __init__(
        self, before: str, after: str, count: int, seconds: float, *, dry_run: bool, steps: list[str], placed: int = 0
    ) -> None:
        self.before, self.after, self.count = before, after, count
        self.seconds, self.dry_run, self.steps, self.placed = seconds, dry_run, steps, placed

    def as_dict(self) -> dict[str, Any]:
        """The documented keys, which differ between a dry run and a run."""
        if self.dry_run:
            return {
                "status": "dry_run",
                "current_tokenizer": self.before,
                "new_tokenizer": self.after,
                "tokenizer_change": self.before != self.after,
                "items_to_reindex": self.count,
                "steps": self.steps,
            }
        return {"status": "ok"} | self.details()

    def details(self) -> dict[str, Any]:
        """What the event of a run keeps."""
        return {
            "previous_tokenizer": self.before,
            "new_tokenizer": self.after,
            "tokenizer_changed": self.before != self.after,
            "items_indexed": self.count,
            "duration_seconds": round(self.seconds, 2),
            "steps": self.steps,
            "places_completed": self.placed,
        }


@operation(
    access=WRITE,
    tool="memory_reindex",
    toolset="standard",
    idempotent=True,
    about="Rebuild the full-text index of the memory store; another tokenizer: dry run only.",
    answer={"new_tokenizer": "string"},
    examples=(
        "memctl reindex                          # after another program wrote to the file",
        "memctl reindex --tokenizer en --dry-run  # what switching to stemming would do",
    ),
    exits={1: "no store, or a tokenizer that SQLite does not know: nothing is changed"},
)
def reindex(
    ctx: Context,
    *,
    tokenizer: Annotated[
        str | None,
        Arg(
            "fr, en (stems words), raw, or a tokenizer string of FTS5; else the one in use",
            "--tokenizer",
            mcp_help="fr, en or raw; default: the one in use",
        ),
    ] = None,
    dry_run: Annotated[bool, Arg("only say what would be done", "--dry-run")] = False,
) -> Reindexed:
    """Make the full-text index anew, with another tokenizer if wanted.

    All in one transaction: interrupted, or given a tokenizer that SQLite does not know, it leaves the index as it was.
    A store that an older program made is brought up to date, which any command that writes begins with, and its
    passages get their places in their sources; what was done is said. Until then it works as it is.

    A dry run counts the items that are not archived; a run indexes, and counts, the archived ones as well.
    """
    steps = _pending(ctx)
    if dry_run:
        ctx.narrow(READ)
    before = fts.tokenizer_of(ctx.db)
    if before is None:
        raise errors.StoreFailed(path=ctx.db.path, reason="this SQLite has no full-text search (FTS5)")
    after = resolve(tokenizer) if tokenizer is not None else before
    if dry_run:
        return _said(ctx, Reindexed(before, after, items.count(ctx.db, Filters()), 0.0, dry_run=True, steps=steps))
    if after != before:
        leave_to_person(ctx, "change how the memory is indexed", "memctl reindex --tokenizer")
    start = ids.monotonic()

    def progress(done: int, count: int) -> None:
        ctx.progress(f"[reindex] {done}/{count} items, {100 * done // max(1, count)} %")

    with ctx.db.atomic():
        placed = passages.complete_positions(ctx.db)
        count = fts.rebuild_index(ctx.db, after, progress)
        seconds = ids.monotonic() - start
        done = Reindexed(before, after, count, seconds, dry_run=False, steps=steps, placed=placed)
        events.log(ctx.db, "reindex", None, done.details())
    return _said(ctx, done)


def _pending(ctx: Context) -> list[str]:
    """What opening the store to write is about to bring up to date in it."""
    from memctl.store.connect import open_read

    db = open_read(ctx.db_path)
    try:
        return migrate.pending_steps(db)
    finally:
        db.close()


def _said(ctx: Context, result: Reindexed) -> Reindexed:
    change = result.before != result.after
    if result.dry_run:
        ctx.note(f"Current tokenizer: {result.before}")
        ctx.note(f"New tokenizer:     {result.after}")
        ctx.note(f"Items to reindex:  {result.count}")
        ctx.note(
            "Tokenizer change detected — FTS table will be dropped and recreated."
            if change
            else "No tokenizer change — would rebuild in place."
        )
        if result.steps:
            ctx.note(f"The store would be brought up to date: {'; '.join(result.steps)}")
        return result
    ctx.note(f"Reindexed {result.count} items in {result.seconds:.1f}s")
    ctx.note(f"  Previous: {result.before}")
    ctx.note(f"  Current:  {result.after}")
    ctx.note(
        "  Tokenizer changed — FTS index rebuilt from scratch." if change else "  In-place rebuild (same tokenizer)."
    )
    if result.steps:
        ctx.note(f"  Brought up to date: {'; '.join(result.steps)}")
    if result.placed:
        ctx.note(f"  Passages that now know their place in their source: {result.placed}")
    return result


def text(_result: Reindexed) -> Iterator[str]:
    """Nothing on stdout: what was done is talk, and went to stderr."""
    return iter(())
