"""Conversations: memctl session, and the tools that begin and end a turn of one."""

from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.context import Context
from memctl.errors import SessionNotFound, UsageError
from memctl.operation import CREATE, READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting, ReadIn, WriteIn

if TYPE_CHECKING:
    from memctl.store.sessions import Session


@operation(
    access=WRITE,
    examples=(
        "memctl session list",
        "memctl session show proj:review-7 -n 5  # the newest five turns",
        "memctl session delete proj:review-7     # says what would go",
        "memctl session delete proj:review-7 --yes",
    ),
    exits={1: "no store, or no such session"},
)
def session(
    ctx: Context,
    action: Annotated[Literal["list", "show", "delete"], Arg("what to do")],
    id: Annotated[
        list[str] | None, Arg("the sessions: show and delete; the beginning of an id is enough", metavar="SESSION-ID")
    ] = None,
    *,
    limit: Annotated[
        int, Arg("at most this many, the newest", "-n", "--limit", aliases=("-k",), ge=1, le=100_000)
    ] = 50,
    acting: Annotated[Acting, Fields("yes", yes={"help": "delete: do it; without it, only say what would be deleted"})],
) -> PlainResult:
    """Look at recorded conversations, or delete one.

    A session is one conversation with a client. Its turns hold the questions and answers as policy left them, and what
    the model was given. Deleting a session erases its turns from the file for good; items that were stored in it stay.
    """
    wanted = [word.strip() for word in id or () if word.strip()]
    if action == "list" and wanted:
        raise UsageError(f"unexpected argument '{wanted[0]}'; show takes a session", command="session")
    if action != "list" and not wanted:
        raise UsageError(f"the session to {action} is missing", command="session")
    if acting.yes and action != "delete":
        raise UsageError("--yes is for delete only", command="session")
    if action == "show" and len(wanted) > 1:
        raise UsageError(f"unexpected argument '{wanted[1]}'; show takes one session", command="session")
    if not acting.yes:
        ctx.narrow(READ)
    from memctl.store import sessions

    if action == "list":
        listed = sessions.list_sessions(ctx.db, limit)
        if not listed:
            ctx.note("[session] No sessions.")
        lines = [
            f"  {one.id}  {one.turns} turn(s)  {one.updated_at[:16]}  {one.scope}{one.client and '  ' + one.client}"
            for one in listed
        ]
        return PlainResult({"status": "ok", "count": len(listed), "sessions": [one.as_dict() for one in listed]}, lines)
    found = []
    for word in dict.fromkeys(wanted):
        one = sessions.get_session(ctx.db, sessions.expand_session_id(ctx.db, word))
        if one is None:
            raise SessionNotFound(id=word)
        found.append(one)
    return _show_session(ctx, found[0], limit) if action == "show" else _delete_sessions(ctx, found, yes=acting.yes)


def _show_session(ctx: Context, one: "Session", limit: int) -> PlainResult:
    from memctl.llm.working import indented
    from memctl.store import sessions

    turns = sessions.list_turns(ctx.db, one.id, limit)
    data = {"status": "ok", **one.as_dict(), "turns": [turn.as_dict() for turn in turns]}
    lines = []
    for turn in turns:
        lines.append(
            f"--- {turn.number}, {turn.asked_at[:16]}{'' if turn.injectable else ' (given to no model again)'}"
        )
        lines += [f"{label}: {indented(words)}" for label, words in (("Q", turn.question), ("A", turn.answer)) if words]
        lines += [f"sources: {', '.join(turn.sources)}"] if turn.sources else []
        lines.append("")
    return PlainResult(data, lines)


def _delete_sessions(ctx: Context, found: "list[Session]", *, yes: bool) -> PlainResult:
    from memctl.store import sessions

    ids = list(dict.fromkeys(one.id for one in found))
    if yes:
        for session_id in ids:
            sessions.delete_session(ctx.db, session_id)
    turns = sum(one.turns for one in found)
    ctx.note(f"[session] {turns} turn(s) {'deleted' if yes else 'to delete; --yes does it'}")
    data = {"status": "ok" if yes else "dry_run", "session_id": ids[0], "sessions": ids, "turns": turns}
    data |= {} if yes else {"dry_run": True}
    return PlainResult(data, [f"{'' if yes else 'would be '}deleted: {session_id}" for session_id in ids])


def _judge_use(ctx: Context, session_id: str) -> None:
    """Note which of the items that the newest turn was given its answer used."""
    from memctl.reading import usefulness
    from memctl.reading.unasked import Telling, prompt_mark
    from memctl.store import sessions

    for turn in sessions.list_turns(ctx.db, session_id, 1):
        told = Telling(prompt_mark(turn.question), 0, turn.sources)
        usefulness.judge_conversation(ctx.db, session_id, [told], [usefulness.Answered(turn.question, turn.answer)])


# --- a turn, by a program -----------------------------------------------------------------------------------------


def _filed(ctx: Context, session_id: str, workspace: str | None, scope: str | None = None) -> str | None:
    """The scope that is given of a session; None when it keeps its own. A new one has that of this project."""
    from memctl.names import DEFAULT_SCOPE
    from memctl.store import sessions
    from memctl.text.clean import clean

    if workspace:
        return ctx.workspace(workspace).scope
    return scope or (None if sessions.get_session(ctx.db, clean(session_id)) else ctx.scope_named(DEFAULT_SCOPE))


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
) -> PlainResult:
    """Begin a turn: record the question, and recall what answers it.

    What the session reads is its scope, which stays from call to call.
    """
    from memctl.ingest import statements
    from memctl.parameters import ReadRequest
    from memctl.reading.block import configured_form, recall_block

    filed = _filed(ctx, session_id, workspace, scope)
    session = statements.begin_session(ctx.db, ctx.policy, session_id, scope=filed, fixed=workspace is not None)
    request = ReadRequest(budget=budget_tokens, scope=session.scope, workspace=workspace)
    found = recall_block(ctx, query, request, configured_form(ctx), command="session", kind="session_inject")
    turn = statements.record_turn(ctx.db, ctx.policy, session.id, query, "", found.block.ids)
    # What was given, then the block.
    context = "\n\n".join(part for part in (system_context, found.text) if part)
    data = {
        "status": "ok", "augmented_context": context, "items_injected": found.block.items,
        "tokens_used": found.block.tokens, "session_turn": turn.number, "format_version": found.version,
    }  # fmt: skip
    return PlainResult(data, [context], after=found.settle)


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
) -> PlainResult:
    """End a turn: record the answer, and store what it proposes.

    Proposals are read in every form that `pull` reads; other text is the answer, and becomes no item. They are filed
    in the session's scope, with the session as their source.
    """
    from memctl.ingest import statements
    from memctl.parameters import WriteTarget
    from memctl.text.block import markers
    from memctl.types import MemoryProvenance
    from memctl.writing import StatementBatch, parse_proposals, store_proposals

    given = markers.without_injected(response_text)[0]
    parsed = parse_proposals(ctx, given)
    entries = [(found.proposal.title, found, ()) for found in parsed.proposals]
    unusable = [("", None, [problem]) for problem in parsed.problems]
    with ctx.db.atomic():
        target = WriteTarget(workspace=workspace)
        filed = _filed(ctx, session_id, workspace)
        session = statements.begin_session(ctx.db, ctx.policy, session_id, scope=filed, fixed=workspace is not None)
        target.scope = session.scope
        source = ("doc", source_doc) if source_doc else ("tool", f"memory_propose:{session.id}")
        batch = StatementBatch(ctx, "memory_propose", target, MemoryProvenance(*source))
        done = store_proposals(batch, [*entries, *unusable], "session")
        answer = parsed.rest if parsed.structured else given
        turn = statements.record_answer(ctx.db, ctx.policy, session.id, answer)
        _judge_use(ctx, session.id)
    data = done.as_dict()
    line = f"{data['accepted']} accepted, {data['rejected']} rejected, {data['quarantined']} quarantined"
    return PlainResult(data | {"session_turn": turn.number, "redacted": turn.redacted}, [line])
