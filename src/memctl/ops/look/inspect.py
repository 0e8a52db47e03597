"""memctl inspect: the structure of a folder, or of everything, as one block."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.folders.mounted import (
    Visit,
    VisitOptions,
    bring_in,
    canonical_folder,
    mount_at,
    mount_named,
    root_of,
    staleness,
    structure,
    sync_state,
)
from memctl.operation import CREATE, READ, Arg, Fields, Result, operation
from memctl.parameters import Budget
from memctl.store.documents import mounts

if TYPE_CHECKING:
    from memctl.ingest.inspect import StructureReport


class Inspected(Result):
    """The report on a folder or on the whole store, and what was done for it."""

    verbatim = True
    report: "StructureReport"
    budget: int
    as_text: bool
    visit: Visit | None = None

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints; or, where text was asked for, the block and few numbers."""
        found = self.as_json()
        if not self.as_text:
            return found
        out = {"inject_text": self.report.block(self.budget)}
        keys = ("total_files", "total_chunks", "was_mounted", "was_synced")
        return out if self.visit is None else out | {key: found[key] for key in keys}

    def as_json(self) -> dict[str, Any]:
        """The documented statistics; with a folder also what was done with it."""
        out = self.report.as_dict(self.budget)
        if self.visit is None:
            return out
        visit, done = self.visit, self.visit.synced
        return out | {
            "mount_id": visit.mount["mount_id"] if visit.mount else None,
            "mount_label": self.report.label,
            "was_mounted": visit.made,
            "was_synced": done is not None,
            "sync_skipped": done is None,
            "was_ephemeral": visit.gone,
            "sync_files_new": done.new if done else 0,
            "sync_files_changed": done.changed if done else 0,
            "sync_files_unchanged": done.unchanged if done else 0,
            "sync_chunks_created": len(done.item_ids) if done else 0,
        }


OneMount = Annotated[
    str | None,
    Arg(
        "only the files of this mount: its id, name or path", "--mount", metavar="ID_OR_NAME", mcp_name="mount_id",
        mcp_help="a mount: id, name or path", mcp="full",
    ),
]  # fmt: skip


@operation(
    access=CREATE,
    tool="memory_inspect",
    toolset="standard",
    prose=True,
    destructive=True,
    about="Show how a folder of documents is built: files, sizes, extensions, largest and odd parts. It syncs the "
    "folder as far as needed; without a path it tells of all documents in memory. What they say, memory_recall finds.",
    answer={
        "inject_text": "string", "total_files": "integer", "total_chunks": "integer", "was_mounted": "boolean",
        "was_synced": "boolean",
    },
    examples=(
        "memctl inspect docs/       # mounts it, syncs it if needed, and reports",
        "memctl inspect src/ --json | jq .per_extension",
        "memctl inspect docs/ --no-sync --budget 600  # as the store knows it",
        "memctl inspect --mount docs               # a mounted folder, by name or id",
        "memctl inspect                            # all files of the store",
    ),
    exits={1: "the path is missing or no folder, the mount is not known, or there is no store"},
)  # fmt: skip
def inspect(
    ctx: Context,
    path: Annotated[str | None, Arg("the folder; without one, all files of the store", path=True)] = None,
    *,
    mount: OneMount = None,
    budget: Budget = 2200,
    visiting: Annotated[
        VisitOptions,
        Fields(
            "sync no_sync mount_mode ignore",
            sync={"mcp_help": "read changed files first", "mcp": "full"},
            mount_mode={"help": "ephemeral forgets a mount that this run made; its passages stay"},
        ),
    ],
    scope: Annotated[
        str | None, Arg("file passages in this scope; count only those in it and in global", "--scope", mcp="full")
    ] = None,
    output_format: Annotated[
        Literal["text", "json"] | None,
        Arg("", cli=False, mcp_default="text", mcp_help="json: for programs", mcp="full"),
    ] = None,
) -> Inspected:
    """Show the structure of a folder as one block.

    A folder that is not mounted is mounted first, and one with new, changed or deleted files is synced first; stderr
    says so. Then come totals, folders, largest files, extensions and what is odd; as far as the budget goes also the
    state of the last sync, the languages, and a tree in which the parts with most passages are open. Paths are relative
    to the folder; of several mounts, each path begins with the name of its own. Without a folder nothing is written.
    """
    ctx.narrow(READ)  # nothing is written unless a folder is mounted or synced
    as_text = output_format == "text"
    if path is None:
        look, key = visiting.when != "never", mount  # of one mount or of all files; folders are only looked at
        known = mounts.list_mounts(ctx.db) if key is None else [mount_named(ctx, key, "inspect")]
        report = structure(ctx, None if key is None else root_of(known[0]["path"], known[0]), scope)
        report.note_syncs([sync_state(ctx, one, staleness(ctx, one) if look else None) for one in known])
        return Inspected(report=report, budget=budget, as_text=as_text)
    if mount is not None:
        ctx.warn("--mount filter ignored when positional path is provided")
    folder = canonical_folder(ctx, path, "inspect")
    visit = Visit(folder, mount_at(ctx, folder))
    try:
        bring_in(ctx, visit, visiting.when, visiting.mount_mode, {"ignore": visiting.ignore, "scope": scope})
        report = structure(ctx, visit.root, scope)
    finally:
        if visit.made and visit.mount is not None and visiting.mount_mode == "ephemeral":
            mounts.remove(ctx.db, visit.mount["mount_id"])  # its passages stay
            visit.gone = True
            ctx.note("[inspect] Ephemeral: mount removed")
    if visit.mount is not None:
        report.note_syncs([sync_state(ctx, visit.mount, visit.stale)])
    return Inspected(report=report, budget=budget, visit=visit, as_text=as_text)


def text(result: Inspected) -> Iterator[str]:
    """The block."""
    block = result.report.block(result.budget)
    if block:
        yield block
