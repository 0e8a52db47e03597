"""memory_session_inject: a question of a conversation, with what the memory knows about it."""

from collections.abc import Iterator

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import CREATE, Arg, Result, operation
from memctl.parameters import ReadIn, ReadRequest
from memctl.reading.block import Recalled, configured_form, recall_block


class Injected(Result):
    """The context for a model, and the turn it belongs to."""

    __slots__ = ("_system", "found", "turn")

    def __init__(self, found: Recalled, system: str, turn: int) -> None:
        self.found, self._system, self.turn = found, system, turn

    @property
    def context(self) -> str:
        """What was given, then the block."""
        return "\n\n".join(part for part in (self._system, self.found.shown()) if part)

    def as_dict(self) -> dict[str, Any]:
        """The context, how many items are in it, and what its block costs."""
        block = self.found.block
        return {
            "status": "ok", "augmented_context": self.context, "items_injected": block.items,
            "tokens_used": block.tokens, "session_turn": self.turn, "format_version": self.found.version,
        }  # fmt: skip

    def settle(self) -> None:
        """Count the use of what was delivered."""
        self.found.settle()


@operation(
    name="session-inject",
    access=CREATE,
    tool="memory_session_inject",
    about="Begin a turn of a conversation: record the question and get what the memory knows about it, appended to a "
    "system context. memory_session_store ends the turn.",
    answer={
        "augmented_context": "string", "items_injected": "integer", "tokens_used": "integer", "session_turn": "integer",
    },
)  # fmt: skip
def session_inject(
    ctx: Context,
    query: Annotated[str, Arg("the question")],
    session_id: Annotated[str, Arg("the conversation, such as project:conversation")],
    *,
    system_context: Annotated[str, Arg("what the block is appended to")] = "",
    budget_tokens: Annotated[int, Arg("tokens of the whole block", ge=1, le=10**6)] = 1500,
    scope: Annotated[str | None, Arg("what is read and written from now on (else project)")] = None,
    workspace: ReadIn = None,
) -> Injected:
    """Begin a turn: record the question, and recall what answers it.

    What the session reads is its scope, which stays from call to call.
    """
    from memctl.ingest import turns
    from memctl.store import workspaces

    filed = workspaces.named_workspace(ctx.db, workspace).scope if workspace else scope
    session = turns.begin_session(ctx.db, ctx.policy, session_id, scope=filed, fixed=workspace is not None)
    request = ReadRequest(budget=budget_tokens, scope=session.scope, workspace=workspace)
    found = recall_block(ctx, query, request, configured_form(ctx), command="session", kind="session_inject")
    turn = turns.record_turn(ctx.db, ctx.policy, session.id, query, "", found.block.ids)
    return Injected(found, system_context, turn.number)


def text(result: Injected) -> Iterator[str]:
    """The context."""
    yield result.context
