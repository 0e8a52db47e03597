"""memory_propose: statements that a model thinks worth keeping, judged one by one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, Arg, Result, operation
from memctl.ops.write.pull import importance_of, proposed_item, source_of
from memctl.parameters import WriteIn, writes
from memctl.text import clean, proposals
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.ingest.statements import StatementOutcome

NO_REASON = "Missing why_store justification"


class Proposals(Result):
    """What became of each proposal, in the order given."""

    __slots__ = ("rows",)

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def count(self, *actions: str) -> int:
        """How many proposals ended with one of these actions."""
        return sum(row["action"] in actions for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Counts (`accepted` has the quarantined ones too), and each proposal's id, title, action and reasons."""
        return {
            "status": "ok",
            "accepted": self.count("accept", "quarantine"),
            "rejected": self.count("reject", "error"),
            "quarantined": self.count("quarantine"),
            "duplicate": self.count("duplicate"),
            "items": self.rows,
        }


@operation(
    access=CREATE,
    tool="memory_propose",
    toolset="core",
    idempotent=True,
    about="Remember facts, decisions, constraints, preferences or definitions for later sessions. Give each a title, a "
    "type, tags, why_store (why it is worth keeping; without it the memory is dropped after some days) and a source. "
    "Secrets and instructions to models are rejected; what is known already is stored once.",
    answer={"accepted": "integer", "rejected": "integer", "quarantined": "integer", "items": "array"},
)
def propose(
    ctx: Context,
    items: Annotated[
        list[dict[str, Any]],
        Arg("{title, content, type, tags, why_store, provenance_hint: {source_kind, source_id}}: a list of these"),
    ],
    *,
    scope: Annotated[str, Arg("the scope to store in", "--scope")] = DEFAULT_SCOPE,
    workspace: WriteIn = None,
    source_doc: Annotated[str | None, Arg("the document they are from, where they name no source", "--source")] = None,
) -> Proposals:
    """Store what a model proposes to remember.

    Each proposal is judged alone; one that cannot be used does not stop the others. All are stored in one transaction.
    One without why_store is stored for policy.quarantine_expiry_hours only: said again with a reason, it stays.
    """
    scope, corpus_id = writes(ctx, workspace, scope)
    source = MemoryProvenance("doc", source_doc) if source_doc else source_of(ctx, "memory_propose")
    entries = [Entry(_title(entry), *proposals.checked(entry)) for entry in items]
    return store(ctx, entries, source, scope=scope, corpus_id=corpus_id, reason="propose")


def _title(entry: object) -> str:
    title = entry.get("title") if isinstance(entry, Mapping) else None
    return clean.one_line(title) if isinstance(title, str) else ""


class Entry(NamedTuple):
    """One of the things proposed: its title, the proposal unless it cannot be used, and what is wrong with it."""

    title: str
    found: "proposals.Proposed | None" = None
    problems: Sequence[str] = ()


def store(
    ctx: Context,
    entries: Sequence[Entry],
    source: MemoryProvenance,
    *,
    scope: str,
    corpus_id: str | None = None,
    reason: str,
) -> Proposals:
    """Judge and store what is proposed; `source` stands where a proposal names none, `reason` in the revisions."""
    rows: list[dict[str, Any]] = []
    said: list[tuple[dict[str, Any], MemoryItem]] = []
    proposed: list[tuple[MemoryItem, proposals.Proposed]] = []
    for entry in entries:
        row: dict[str, Any] = {"title": entry.title, "action": "error", "reasons": list(entry.problems)}
        rows.append(row)
        if entry.found is None:
            continue
        item = proposed_item(
            entry.found, source, door="memory_propose", tags=[], tier="stm", scope=scope, corpus_id=corpus_id
        )
        row["title"] = item.title
        if clean.is_blank(item.content):
            row["reasons"].append("content only repeats injected memory")
            continue
        if not entry.found.proposal.why_store.strip():
            item.expires_at = ids.timestamp(ids.now_seconds() + 3600 * ctx.policy.expiry_hours)
        said.append((row, item))
        proposed.append((item, entry.found))
    _store(ctx, said, importance_of(proposed), reason)
    return Proposals([_without_secrets(ctx, row) for row in rows])


def _store(
    ctx: Context, said: list[tuple[dict[str, Any], MemoryItem]], importance: dict[str, float], reason: str
) -> None:
    """Store the items, and write into the row beside each what became of it."""
    if not said:
        return
    from memctl.ingest import statements

    items = [item for _, item in said]
    outcomes = statements.store_statements(ctx.db, ctx.policy, items, reason=reason, importance=importance)
    for (row, item), done in zip(said, outcomes, strict=True):
        row["action"], reasons = _action(done, item)
        row["reasons"] += reasons
        if done.id:
            row["id"] = done.id


def _action(done: "StatementOutcome", item: MemoryItem) -> tuple[str, list[str]]:
    if done.kind == "rejected":
        return "reject", list(done.reasons)
    if done.kind == "duplicate":
        return "duplicate", list(done.reasons)
    if done.quarantined:
        return "quarantine", list(done.reasons)
    return ("quarantine", [NO_REASON]) if item.expires_at else ("accept", [])


def _without_secrets(ctx: Context, row: dict[str, Any]) -> dict[str, Any]:
    # A title may hold the very secret that the proposal was rejected for.
    ordered: dict[str, Any] = {key: row[key] for key in ("id", "title", "action", "reasons") if key in row}
    return ordered | {"title": ctx.policy.redact(row["title"])}


def text(result: Proposals) -> Iterator[str]:
    """One line a proposal."""
    for row in result.rows:
        why = f" ({'; '.join(row['reasons'])})" if row["reasons"] else ""
        yield f"{row['action']}: {row.get('id', '')} {row['title']}{why}"
