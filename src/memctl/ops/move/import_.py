"""memctl import: items from JSON lines."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.operation import CREATE, REQUIRED, Arg, Result, operation

if TYPE_CHECKING:
    from typing import BinaryIO

    from memctl.lifecycle.import_ import Counts
    from memctl.store.database import Database


class Imported(Result):
    """What became of the lines, in counts."""

    __slots__ = ("counts", "dry_run")

    def __init__(self, counts: "Counts", *, dry_run: bool) -> None:
        self.counts, self.dry_run = counts, dry_run

    def settle(self) -> None:
        """Raise NothingImported, after the counts were printed: some lines had errors, or policy refused them all."""
        done = self.counts
        refused = done.skipped_policy > 0 and done.skipped_policy == done.total_lines
        if not done.imported and (done.errors or refused):
            raise errors.NothingImported(reason=_failure(done))

    def as_dict(self) -> dict[str, Any]:
        """The counts; what is merged is among the duplicates, what is restored, redacted or quarantined imported."""
        done = self.counts
        return {
            "total_lines": done.total_lines, "imported": done.imported, "skipped_dedup": done.skipped_dedup,
            "skipped_policy": done.skipped_policy, "errors": done.errors, "skipped_conflict": done.skipped_conflict,
            "merged": done.merged, "restored": done.restored, "redacted": done.redacted,
            "quarantined": done.quarantined, "dry_run": self.dry_run,
        }  # fmt: skip


@operation(
    access=CREATE,
    tool="memory_import",
    toolset="standard",
    idempotent=True,
    about="Import memories that memory_export gave, each checked by policy; what is known already is skipped.",
    answer={
        "total_lines": "integer", "imported": "integer", "skipped_dedup": "integer", "skipped_policy": "integer",
        "errors": "integer",
    },
    examples=(
        "memctl import backup.jsonl --db fresh.db --preserve-ids",
        "memctl import backup.jsonl --dry-run  # what would happen, line by line",
        "memctl export --db project-a.db | memctl import --db project-b.db",
    ),
    exits={
        0: "also when everything was there already",
        1: "no such file, or nothing came in: lines had errors, or policy refused them all",
    },
)  # fmt: skip
def import_(
    ctx: Context,
    file: Annotated[
        str | None, Arg("JSON lines; - or nothing means standard input", metavar="FILE", path=True, mcp=False)
    ] = None,
    *,
    items: Annotated[list[dict[str, Any]] | None, Arg("", cli=False, mcp_default=REQUIRED)] = None,
    preserve_ids: Annotated[bool, Arg("keep the ids of the file (to restore a backup)", "--preserve-ids")] = False,
    dry_run: Annotated[bool, Arg("write nothing, only say what would happen", "--dry-run")] = False,
) -> Imported:
    """Read items from JSON lines, checked line by line.

    Every line is validated and judged by policy; one that is wrong is named and passed over. What is here already
    (the same content in the same scope) gets the line's new tags and a higher importance and is not stored twice, so an
    import can be run again. An archived item is no duplicate of an active line. With --preserve-ids an id that is here
    with other content is left alone and counted. Nothing becomes injectable that policy holds back.
    """
    from memctl.lifecycle.import_ import import_lines

    with _stream(ctx, file, items) as stream, _store(ctx, dry_run=dry_run) as db:
        counts = import_lines(
            db, ctx.policy, stream, preserve_ids=preserve_ids, dry_run=dry_run, vouched=ctx.bounds is None,
            warn=ctx.warn, progress=ctx.progress,
        )  # fmt: skip
    ctx.note(
        f"[import]{' (dry run)' if dry_run else ''} {counts.imported} imported, {counts.skipped_dedup} dedup, "
        f"{counts.skipped_policy} policy, {counts.errors} error(s)"
    )
    return Imported(counts, dry_run=dry_run)


def _failure(done: "Counts") -> str:
    counts = (
        (done.errors, "line(s) had errors"), (done.skipped_policy, "refused by policy"),
        (done.skipped_dedup, "duplicate"), (done.skipped_conflict, "with an id that is taken"),
    )  # fmt: skip
    return ", ".join(f"{count} {what}" for count, what in counts if count)


@contextmanager
def _stream(ctx: Context, file: str | None, given: list[dict[str, Any]] | None) -> "Iterator[BinaryIO]":
    if given is not None:
        import io
        import json

        yield io.BytesIO(b"".join(json.dumps(item).encode() + b"\n" for item in given))
        return
    if file is None or file == "-":
        if ctx.stdin is None:
            raise errors.EmptyInput
        if "stdin" in ctx.tty:
            ctx.note("[import] reading from the terminal; Ctrl-D ends the input")
        yield ctx.stdin
        return
    path = ctx.absolute(file)
    try:
        stream = open(path, "rb")  # noqa: SIM115 - closed below; only its opening may fail here
    except OSError as exc:
        raise errors.FileMissing(path=path, reason=exc.strerror or str(exc)) from exc
    with stream:
        yield stream


@contextmanager
def _store(ctx: Context, *, dry_run: bool) -> "Iterator[Database | None]":
    if not dry_run:
        yield ctx.db
    elif not os.path.exists(ctx.db_path):
        yield None
    else:
        from memctl.store.connect import open_read

        db = open_read(ctx.db_path)
        try:
            yield db
        finally:
            db.close()


def text(result: Imported) -> Iterator[str]:
    """The counts, one to a line; those that only some imports have follow when there are any."""
    done = result.counts
    yield f"Import complete{' (dry run)' if result.dry_run else ''}:"
    yield f"  Lines processed: {done.total_lines}"
    yield f"  Imported:        {done.imported}"
    yield f"  Skipped (dedup): {done.skipped_dedup}"
    yield f"  Skipped (policy):{done.skipped_policy}"
    yield f"  Errors:          {done.errors}"
    for label, count in (
        ("Skipped (id):", done.skipped_conflict), ("Merged:", done.merged), ("Restored:", done.restored),
        ("Redacted:", done.redacted), ("Quarantined:", done.quarantined),
    ):  # fmt: skip
        if count:
            yield f"  {label:<17}{count}"
