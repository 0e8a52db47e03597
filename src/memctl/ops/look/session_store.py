"""memory_session_store: the answer of a conversation's turn, and what it proposes to remember."""

from collections.abc import Iterator

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import CREATE, Arg, Result, operation
from memctl.ops.write.propose import Entry, Proposals, store
from memctl.parameters import WriteIn, writes
from memctl.text import echo, proposals
from memctl.types import MemoryProvenance


class Stored(Result):
    """What became of the proposals, and the turn they belong to."""

    __slots__ = ("proposals", "redacted", "turn")

    def __init__(self, found: Proposals, turn: int, redacted: bool) -> None:
        self.proposals, self.turn, self.redacted = found, turn, redacted

    def as_dict(self) -> dict[str, Any]:
        """The counts and rows of `memory_propose`, the turn, and whether secrets were blotted out of the answer."""
        return self.proposals.as_dict() | {"session_turn": self.turn, "redacted": self.redacted}


@operation(
    name="session-store",
    access=CREATE,
    tool="memory_session_store",
    about="End a turn of a conversation: record the answer, and store the memories it proposes between "
    "<MEMORY_PROPOSALS_JSON> and </MEMORY_PROPOSALS_JSON> (a JSON list of {title, content, type, tags, why_store}).",
    answer={
        "accepted": "integer", "rejected": "integer", "quarantined": "integer", "session_turn": "integer",
        "items": "array",
    },
)  # fmt: skip
def session_store(
    ctx: Context,
    response_text: Annotated[str, Arg("the answer, with its proposals")],
    session_id: Annotated[str, Arg("the conversation, as memory_session_inject had it")],
    *,
    source_doc: Annotated[str | None, Arg("the document the proposals are from, where they name no source")] = None,
    workspace: WriteIn = None,
) -> Stored:
    """End a turn: record the answer, and store what it proposes.

    Proposals are read in every form that `pull` reads; other text is the answer, and becomes no item. They are filed
    in the session's scope, with the session as their source.
    """
    from memctl.ingest import turns

    how = ctx.config.proposer
    given = echo.without_injected(response_text)[0]
    parsed = proposals.parse(
        given, delimiter_open=how.delimiter_open, delimiter_close=how.delimiter_close, strategy=how.strategy
    )
    entries = [Entry(found.proposal.title, found) for found in parsed.proposals]
    entries += [Entry("", None, [problem]) for problem in parsed.problems]
    with ctx.db.atomic():
        filed = None if workspace is None else writes(ctx, workspace, "")
        session = turns.begin_session(
            ctx.db, ctx.policy, session_id, scope=filed[0] if filed else None, fixed=filed is not None
        )
        scope, corpus_id = filed or (session.scope, None)
        source = (
            MemoryProvenance("doc", source_doc)
            if source_doc
            else MemoryProvenance("tool", f"memory_propose:{session.id}")
        )
        done = store(ctx, entries, source, scope=scope, corpus_id=corpus_id, reason="session")
        answer = parsed.rest if parsed.structured else given
        turn = turns.record_answer(ctx.db, ctx.policy, session.id, answer)
    return Stored(done, turn.number, turn.redacted)


def text(result: Stored) -> Iterator[str]:
    """The counts."""
    done = result.proposals.as_dict()
    yield f"{done['accepted']} accepted, {done['rejected']} rejected, {done['quarantined']} quarantined"
