"""memctl export and import: items as JSON lines, and back."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from functools import partial

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.names import ExportFormat, ImportFormat, ItemType, RedactionView, Tier
from memctl.operation import CREATE, READ, REQUIRED, Arg, Fields, PlainResult, Result, operation
from memctl.parameters import Acting, ReadIn, first_moment, seen_through

if TYPE_CHECKING:
    from typing import BinaryIO

    from memctl.lifecycle.import_ import ImportCounts
    from memctl.lifecycle.importers import Lines
    from memctl.policy.redaction import Redaction
    from memctl.store.database import Database


#: Items that a tool gives in one piece; the command line streams them, and has no such limit.
MAX_EXPORTED = 1000
#: Characters of them at most, some 20 000 tokens.
ANSWER_CHARS = 78_000
#: What a secret may stand in.
_TEXTS = frozenset({"title", "content", "tags", "entities", "provenance"})


class Exported(Result):
    """The lines, made while they are read; they can be read once."""

    _ctx: Context
    _lines: Iterator[dict[str, Any]]
    _offset: int = 0
    _shape: "Callable[[Iterator[dict[str, Any]]], Iterator[dict[str, Any]]] | None" = None
    verbatim = True

    def lines(self) -> Iterator[dict[str, Any]]:
        """Each line; when all are out, the number of items is told."""
        return self._plain_lines() if self._shape is None else self._shape(self._plain_lines())

    def _plain_lines(self) -> Iterator[dict[str, Any]]:
        from itertools import islice

        count, batch_size = 0, 1 if self._ctx.db.trusted else MAX_EXPORTED
        while batch := list(islice(self._lines, batch_size)):
            # Those of a store of somebody else are given as today's rules leave them.
            for line in batch if self._ctx.db.trusted else self.for_models(batch):
                count += "record" not in line
                if count % MAX_EXPORTED == 0 and "stdout" not in self._ctx.tty:
                    self._ctx.progress(f"[export] {count} items")
                yield line
        self._ctx.note(f"[export] {count} item(s) exported")

    def as_dict(self) -> dict[str, Any]:
        """The first items in one piece, and where the next ones begin; what is kept from models is only counted."""
        from itertools import islice
        from json import dumps

        found = list(islice(self.lines(), MAX_EXPORTED + 1))
        free = {
            line["id"]: line for line in self.for_models([one for one in found[:MAX_EXPORTED] if one["injectable"]])
        }
        given: list[dict[str, Any]] = []
        too_large: list[str] = []
        room, taken = ANSWER_CHARS, 0
        for line in found[:MAX_EXPORTED]:
            shown = free.get(line["id"])
            size = 0 if shown is None else len(dumps(shown, ensure_ascii=False))
            if shown is not None and size > ANSWER_CHARS:
                too_large.append(shown["id"])
            elif size > room:
                break
            elif shown is not None:
                given.append(shown)
                room -= size
            taken += 1
        return {
            "status": "ok",
            "count": len(given),
            "items": given,
            "truncated": taken < len(found),
            "withheld": taken - len(given) - len(too_large),
            "next_offset": self._offset + taken,
            **({"too_large": too_large} if too_large else {}),
        }

    def for_models(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The lines as a model may see them: what today's rules have not seen is judged by them."""
        from memctl.reading import delivery
        from memctl.types import MemoryItem

        asked = [MemoryItem.from_dict(line) for line in lines]
        free = delivery.items_for_models(self._ctx, asked, "export")
        out = []
        for line, item in zip(lines, asked, strict=True):
            given = free.get(item.id)
            if given is item:
                out.append(line)
            elif given is not None:  # shown without a secret
                out.append(line | {key: value for key, value in given.to_dict().items() if key in _TEXTS})
        return out

    def as_json(self) -> Iterator[dict[str, Any]]:
        """An array, printed while it is made."""
        return self.lines()


@operation(
    access=READ,
    tool="memory_export",
    about="Export memories with all their fields, as many from offset on as fit. Those kept from models are counted.",
    answer={
        "count": "integer",
        "items": "array",
        "truncated": "boolean",
        "withheld": "integer",
        "next_offset": "integer",
    },
    examples=(
        "memctl export --complete > backup.jsonl",
        "memctl export --tier ltm --type decision > decisions.jsonl",
        "memctl export --db a.db | memctl import --db b.db",
        "memctl export --redact public > for-everybody.jsonl",
        "memctl export --format rules --scope project > .cursor/rules/memory.mdc",
    ),
)
def export(
    ctx: Context,
    *,
    complete: Annotated[
        bool, Arg("everything: archived items, links, revisions, events, sessions, mounts …", "--complete", mcp=False)
    ] = False,
    format: Annotated[
        ExportFormat,
        Arg("JSON lines, notes in a folder, lines for another MCP server, or rules", "--format", mcp=False),
    ] = "jsonl",
    output: Annotated[
        str | None,
        Arg("the folder for the notes of --format markdown", "-o", "--output", metavar="DIR", path=True, mcp=False),
    ] = None,
    tier: Annotated[Tier | None, Arg("only this tier", "--tier", mcp_help="")] = None,
    type: Annotated[ItemType | None, Arg("only this type", "--type", mcp_name="type_filter", mcp_help="")] = None,
    scope: Annotated[
        str | None, Arg("only this scope (default: all of them)", "--scope", mcp_help="default: all")
    ] = None,
    workspace: ReadIn = None,
    include_archived: Annotated[bool, Arg("also what was archived or has expired", "--include-archived")] = False,
    since: Annotated[
        str | None, Arg("only what changed at this time or later: 2026-11-20, 7d", "--since", metavar="WHEN", mcp=False)
    ] = None,
    redact: Annotated[RedactionView, Arg("who may see it; RAGIX says S0, S2, S3", "--redact", mcp="full")] = "full",
    offset: Annotated[int, Arg("", cli=False, ge=0)] = 0,
) -> Exported | PlainResult:
    """Write items as JSON lines.

    Without --scope it has the items of every scope. One item is one line, the newest change first, in the same order
    every time. `memctl import` reads it back without loss.

    With --complete it is a backup: archived items too, and behind the items a line for each link, revision, event, pin,
    mount, file, workspace, session and turn. `memctl import` restores it; memctl up to 0.23 would make an empty item of
    what is none.

    With --format markdown each item becomes a note in the folder --output, which `memctl import` reads, too. Notes of
    items that are gone are removed; one that you have edited is left alone, and named. With --format mcp-memory the
    lines are entities and relations, without what is kept from models. With --format rules what binds (constraints,
    decisions, patterns, definitions) is printed as Markdown for the rules file of a client; `sync` reads it back from
    no file.

    With --redact every field leaves as that view shows it, provenance and paths included: internal is without host
    names, IP addresses and hashes, public also without paths, file names, mail addresses, personal data and item ids.
    Both are without secrets that older rules let in.
    """
    from itertools import islice

    from memctl.lifecycle.jsonl import export_lines
    from memctl.policy.redaction import Redaction
    from memctl.store.filters import Filters

    is_part = bool(tier or type or workspace is not None) or scope is not None
    _check_form(ctx, format, output, complete=complete, is_part=is_part)
    scopes = None if scope is None else (scope,)
    filters = Filters(scopes=scopes, tier=tier, type=type, archived=include_archived or complete)
    filters = seen_through(ctx, workspace, filters)
    view = None if redact in ("full", "S3") else Redaction(redact, ctx.policy)
    lines = export_lines(ctx.db, filters, view, first_moment(since), complete=complete)
    answer = Exported(_ctx=ctx, _lines=islice(lines, offset, None), _offset=offset)
    if format == "rules":
        return _write_rules(ctx, answer)
    if format == "mcp-memory":
        answer._shape = partial(_make_entities, ctx.db, view)
    if output is None:
        return answer
    with closing(lines):  # the moment of the store that they are of ends, also where a note cannot be written
        return _write_notes(ctx, answer, ctx.absolute(output), view, whole=not is_part and since is None)


def _check_form(ctx: Context, format: str, output: str | None, *, complete: bool, is_part: bool) -> None:
    """Raise UsageError for what does not go together."""
    problem = ""
    if (format == "markdown") != (output is not None):
        problem = "--format markdown writes to a folder (-o), and no other format does"
    elif complete and format != "jsonl":
        problem = "--complete is JSON lines"
    elif complete and is_part:
        problem = "--complete is everything: it takes no --tier, --type, --scope or -w"
    elif complete and not ctx.db.trusted:
        problem = "--complete is for a store of yours: this one was found (memctl trust)"
    if problem:
        raise errors.UsageError(problem, command="export")


def _links(db: "Database", view: "Redaction | None") -> "Mapping[str, list[dict[str, str]]]":
    """The links of each item, as the view shows them."""
    from memctl.store.records import links_by_source

    found = links_by_source(db)
    if view is None:
        return found
    return {view.field("id", src): [view.record(one) for one in some] for src, some in found.items()}


def _make_entities(
    db: "Database", view: "Redaction | None", lines: Iterator[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    from memctl.lifecycle import importers

    return importers.write_entities(lines, _links(db, view))


def _write_notes(ctx: Context, answer: Exported, folder: str, view: "Redaction | None", *, whole: bool) -> PlainResult:
    from memctl.lifecycle import markdown

    done = markdown.write_notes(folder, answer.lines(), _links(ctx.db, view), whole=whole)
    for path in done.edited:
        ctx.warn(f"[export] {path} was edited since it was exported, and is left alone")
    data = {
        "status": "ok", "folder": folder, "written": done.written, "unchanged": done.unchanged,
        "removed": done.removed, "edited": done.edited,
    }  # fmt: skip
    counts = (
        f"{done.written} note(s) written, {done.unchanged} unchanged, {done.removed} removed, {len(done.edited)} edited"
    )
    return PlainResult(data, [f"{folder}: {counts}"])


def _write_rules(ctx: Context, answer: Exported) -> PlainResult:
    from memctl.lifecycle.markdown import binds, rules_file

    found = answer.for_models([line for line in answer._lines if binds(line)])
    lines, count = list(rules_file(found)), len(found)
    ctx.note(
        f"[export] {count} rule(s)"
        if count
        else "[export] Nothing binds here: no constraint, decision or pattern that is to stay."
    )
    return PlainResult({"status": "ok", "count": count, "rules": "\n".join(lines)}, lines)


def export_text(result: Exported | PlainResult) -> Iterator[str]:
    """One line of JSON per item; of notes what was written."""
    import json

    if isinstance(result, PlainResult):
        yield from result.lines
        return

    from memctl.text.clean import escaped

    for line in result.lines():
        yield escaped(json.dumps(line, ensure_ascii=False))


# --- import  ---------------------------------------------------------------------------------------------------------


class Imported(Result):
    """What became of the lines, in counts."""

    counts: "ImportCounts"
    dry_run: bool
    run: dict[str, str]

    def settle(self) -> None:
        """Raise NothingImported, after the counts were printed: some lines had errors, or policy refused them all."""
        done = self.counts
        refused = done.skipped_policy > 0 and done.skipped_policy == done.total_lines
        if not done.imported and (done.errors or refused):
            counts = (
                (done.errors, "line(s) had errors"), (done.skipped_policy, "refused by policy"),
                (done.skipped_dedup, "duplicate"), (done.skipped_conflict, "with an id that is taken"),
            )  # fmt: skip
            raise errors.NothingImported(reason=", ".join(f"{count} {what}" for count, what in counts if count))

    def as_dict(self) -> dict[str, Any]:
        """The counts; what is merged is among the duplicates, what is restored, redacted or quarantined imported."""
        done = self.counts
        return {
            "total_lines": done.total_lines, "imported": done.imported, "skipped_dedup": done.skipped_dedup,
            "skipped_policy": done.skipped_policy, "errors": done.errors, "skipped_conflict": done.skipped_conflict,
            "merged": done.merged, "restored": done.restored, "redacted": done.redacted,
            "quarantined": done.quarantined, "dry_run": self.dry_run, "records": dict(sorted(done.records.items())),
            **self.run,
        }  # fmt: skip


@operation(
    access=CREATE,
    tool="memory_import",
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
        "memctl import ~/.rekal/memory.db  # or a store, or a folder of notes",
    ),
    exits={
        0: "also when everything was there already",
        1: "no such file, or nothing came in: lines had errors, or policy refused them all",
    },
)  # fmt: skip
def import_(
    ctx: Context,
    file: Annotated[
        str | None,
        Arg("a file, database or folder; - or nothing means standard input", metavar="FILE", path=True, mcp=False),
    ] = None,
    *,
    format: Annotated[
        ImportFormat | None,
        Arg("what it is (default: told from its content)", "--from", metavar="FORMAT", mcp=False),
    ] = None,
    items: Annotated[list[dict[str, Any]] | None, Arg("", cli=False, mcp_default=REQUIRED)] = None,
    preserve_ids: Annotated[bool, Arg("keep the ids of the file (to restore a backup)", "--preserve-ids")] = False,
    released: Annotated[
        bool,
        Arg(
            "what you released from quarantine there stays so here: for an export of your own", "--released", mcp=False
        ),
    ] = False,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "write nothing, only say what would happen"})],
) -> Imported:
    """Read items from an export or another memory, checked one by one.

    What it is, its content says: JSON lines, as `memctl export` writes them; a store of memctl or RAGIX; a database of
    rekal; an export of mem-context; the file of the reference MCP memory server; a folder of Markdown, such as Claude
    Code's memory and basic-memory. A database is only read, and not a file is made beside it.

    Every line is validated and judged by policy; one that is wrong is named and passed over. What is here already
    (the same content in the same scope) gets the line's new tags and a higher importance and is not stored twice, so an
    import can be run again. An archived item is no duplicate of an active line. With --preserve-ids an id that is here
    with other content is left alone and counted. Nothing becomes injectable that policy holds back.

    A complete export also says what was released from quarantine. Whoever made the file may have written that, so it
    counts only with --released.
    """
    from memctl.lifecycle.import_ import import_lines

    with (
        _given_lines(ctx, file, items, format, preserve_ids=preserve_ids) as lines,
        _target_store(ctx, dry_run=acting.dry_run) as db,
    ):
        counts = import_lines(
            db, ctx.policy, lines, preserve_ids=preserve_ids, dry_run=acting.dry_run,
            vouched=ctx.bounds is None, released=released, warn=ctx.warn, progress=ctx.progress,
        )  # fmt: skip
    ctx.note(
        f"[import]{' (dry run)' if acting.dry_run else ''} {counts.imported} imported, {counts.skipped_dedup} dedup, "
        f"{counts.skipped_policy} policy, {counts.errors} error(s)"
    )
    return Imported(counts=counts, dry_run=acting.dry_run, run={} if acting.dry_run else ctx.run_key())


@contextmanager
def _given_lines(
    ctx: Context, file: str | None, given: list[dict[str, Any]] | None, format: str | None, *, preserve_ids: bool
) -> "Iterator[Lines]":
    if given is not None:
        yield iter(enumerate(given, 1))
        return
    from memctl.lifecycle import importers

    path = "" if file is None or file == "-" else ctx.absolute(file)
    with _input_stream(ctx, path) as stream, importers.open_source(path, stream, format, ctx.warn) as (found, lines):
        if preserve_ids and found not in ("jsonl", "store"):
            raise errors.UsageError(f"--preserve-ids: the ids of {found} are none of memctl's", command="import")
        if found not in ("jsonl", format):
            ctx.note(f"[import] {path or 'standard input'} is read as {found}")
        yield lines


@contextmanager
def _input_stream(ctx: Context, path: str) -> "Iterator[BinaryIO | None]":
    """What can be read and rewound; None for a folder or a database."""
    import stat

    from memctl.lifecycle.importers import is_database

    if path and os.path.isdir(path):
        yield None
        return
    if path:
        try:
            source: BinaryIO = open(path, "rb")  # noqa: SIM115 - closed below; only its opening may fail here
        except OSError as exc:
            remedy = "name a file of JSON lines, as memctl export writes them, or - for standard input"
            raise errors.FileMissing(path=path, reason=exc.strerror or str(exc), remedy=remedy) from exc
    elif ctx.stdin is None:
        raise errors.EmptyInput
    else:
        if "stdin" in ctx.tty:
            ctx.note("[import] reading from the terminal; Ctrl-D ends the input")
        source = ctx.stdin
    with source if path else nullcontext():
        if path and stat.S_ISREG(os.fstat(source.fileno()).st_mode):
            yield None if is_database(source) else source
            return
        import shutil
        import tempfile

        # To the end before anything is written: nobody else waits for a slow sender, and half of a file is none.
        with tempfile.TemporaryFile() as whole:
            shutil.copyfileobj(source, whole)
            whole.seek(0)
            yield whole


@contextmanager
def _target_store(ctx: Context, *, dry_run: bool) -> "Iterator[Database | None]":
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


def import_text(result: Imported) -> Iterator[str]:
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
    if done.records:
        yield f"  Beside items:    {', '.join(f'{count} {name}' for name, count in sorted(done.records.items()))}"
