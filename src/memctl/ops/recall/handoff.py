"""What the last session left: memctl handoff."""

from memctl import errors
from memctl.annotations import Annotated
from memctl.context import Context
from memctl.operation import READ, Arg, PlainResult, operation


@operation(
    access=READ,
    examples=(
        "memctl handoff                # what the last session of this project left",
        "memctl handoff | codex exec -     # goes on with another client",
        "memctl handoff 22222222 --budget 400",
    ),
    exits={1: "no store, or no such session of this project"},
)
def handoff(
    ctx: Context,
    session: Annotated[
        str | None, Arg("the session; the beginning of its id is enough (else the last one)", metavar="SESSION-ID")
    ] = None,
    *,
    budget: Annotated[int, Arg("tokens of the block", "--budget", ge=50, le=10**6)] = 1000,
) -> PlainResult:
    """Print what a session left: what is open, what was decided, where it stopped.

    It is read from the turns that were taken in (memctl capture, or the hooks of a client), by form alone: no model is
    asked. Clients with hooks are told the same when a session begins, and after compaction.
    """
    from memctl import handover

    found = handover.session_named(ctx, session) if session else handover.last_session(ctx)
    if found is None and session:
        raise errors.SessionNotFound(id=session)
    text = handover.told_of(ctx, found, budget) if found else ""
    if not text:
        ctx.note("[handoff] No session of this project left anything. memctl capture takes past ones in.")
    about = {"session_id": found.id, "client": found.client, "updated_at": found.updated_at} if found else {}
    data = {"status": "ok" if text else "empty", **about, "text": text}
    return PlainResult(data, text.splitlines())
