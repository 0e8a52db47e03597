"""memory_write: one finished item, by a program that has decided what it is. People have `memctl remember`."""

from collections.abc import Iterator

from memctl.annotations import Annotated
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE, ItemType, Tier
from memctl.operation import CREATE, Arg, operation
from memctl.ops.write.pull import source_of
from memctl.ops.write.remember import Remembered
from memctl.parameters import WriteIn, writes
from memctl.text import clean
from memctl.types import MemoryItem


@operation(
    access=CREATE,
    tool="memory_write",
    toolset="standard",
    idempotent=True,
    about="Store one memory at once, with its title, type and tier. For what you were told to remember; what you find "
    "worth remembering yourself goes through memory_propose. Secrets and instructions are rejected.",
    answer={"id": "string", "action": "string", "reasons": "array", "message": "string"},
)
def write(
    ctx: Context,
    title: Annotated[str, Arg("one line that says what it is about")],
    content: Annotated[str, Arg("the statement, at most 2000 characters")],
    *,
    tags: Annotated[list[str] | None, Arg("its tags", "--tags", comma=True)] = None,
    tier: Annotated[Tier, Arg("how established it is", "--tier")] = "stm",
    type: Annotated[ItemType, Arg("what sort of statement it is", "--type")] = "note",
    scope: Annotated[str, Arg("the scope to store in", "--scope")] = DEFAULT_SCOPE,
    workspace: WriteIn = None,
    importance: Annotated[float | None, Arg("how much it matters", "--importance", ge=0, le=1, mcp="full")] = None,
) -> Remembered:
    """Store one finished item.

    It is judged by policy as `remember` does it; what policy refuses is an answer with status "rejected" and reasons,
    what the store knows already one with status "duplicate".
    """
    from memctl.ingest import statements

    scope, corpus_id = writes(ctx, workspace, scope)
    item = MemoryItem(
        tier=tier, type=type, title=clean.one_line(title) or clean.one_line(content, 80), content=content,
        tags=list(tags or ()), scope=scope, corpus_id=corpus_id, provenance=source_of(ctx, "memory_write"),
    )  # fmt: skip
    if clean.is_blank(content):
        return Remembered(statements.StatementOutcome("rejected", item.title, reasons=("Content is empty",)))
    matters = {} if importance is None else {item.id: importance}
    return Remembered(statements.store_statements(ctx.db, ctx.policy, [item], reason="write", importance=matters)[0])


def text(result: Remembered) -> Iterator[str]:
    """The id, or why there is none."""
    yield result.outcome.id or f"rejected: {'; '.join(result.outcome.reasons)}"
