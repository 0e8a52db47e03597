"""memctl reindex: make the full-text index anew."""

from collections.abc import Iterator

from memctl import errors, ids
from memctl.annotations import Annotated, Any
from memctl.operation import WRITE, Arg, Result, operation
from memctl.ops.context import Context
from memctl.store import events, items, migrate
from memctl.store.filters import Filters
from memctl.store.schema import tokenizer as resolve


class Reindexed(Result):
    """What was indexed with which tokenizer, or what would be."""

    __slots__ = ("after", "before", "count", "dry_run", "seconds")

    def __init__(self, before: str, after: str, count: int, seconds: float, *, dry_run: bool) -> None:
        self.before, self.after, self.count = before, after, count
        self.seconds, self.dry_run = seconds, dry_run

    def as_dict(self) -> dict[str, Any]:
        """The documented keys, which differ between a dry run and a run."""
        if self.dry_run:
            return {
                "status": "dry_run",
                "current_tokenizer": self.before,
                "new_tokenizer": self.after,
                "tokenizer_change": self.before != self.after,
                "items_to_reindex": self.count,
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
        }


@operation(
    access=WRITE,
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
        str | None, Arg("fr, en (stems words), raw, or a tokenizer string of FTS5; else the one in use", "--tokenizer")
    ] = None,
    dry_run: Annotated[bool, Arg("only say what would be done", "--dry-run")] = False,
) -> Reindexed:
    """Make the full-text index anew, with another tokenizer if wanted.

    All in one transaction: interrupted, or given a tokenizer that SQLite does not know, it leaves the index as it was.

    A dry run counts the items that are not archived; a run indexes, and counts, the archived ones as well.
    """
    before = migrate.fts_tokenizer(ctx.db)
    if before is None:
        raise errors.StoreFailed(path=ctx.db.path, reason="this SQLite has no full-text search (FTS5)")
    after = resolve(tokenizer) if tokenizer is not None else before
    if dry_run:
        return _said(ctx, Reindexed(before, after, items.count(ctx.db, Filters()), 0.0, dry_run=True))
    start = ids.monotonic()
    with ctx.db.atomic():
        count = migrate.rebuild_fts(ctx.db, after)
        done = Reindexed(before, after, count, ids.monotonic() - start, dry_run=False)
        events.log(ctx.db, "reindex", None, done.details())
    return _said(ctx, done)


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
        return result
    ctx.note(f"Reindexed {result.count} items in {result.seconds:.1f}s")
    ctx.note(f"  Previous: {result.before}")
    ctx.note(f"  Current:  {result.after}")
    ctx.note(
        "  Tokenizer changed — FTS index rebuilt from scratch." if change else "  In-place rebuild (same tokenizer)."
    )
    return result


def text(_result: Reindexed) -> Iterator[str]:
    """Nothing on stdout: what was done is talk, and went to stderr."""
    return iter(())
