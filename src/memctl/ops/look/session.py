"""memctl session: conversations that were recorded."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.errors import SessionNotFound, UsageError
from memctl.operation import READ, WRITE, Arg, Result, operation

if TYPE_CHECKING:
    from memctl.store.sessions import Session, SessionTurn


class Sessions(Result):
    """Some sessions; one alone with its turns."""

    __slots__ = ("found", "turns")

    def __init__(self, found: "list[Session]", turns: "list[SessionTurn] | None" = None) -> None:
        self.found, self.turns = found, turns

    def as_dict(self) -> dict[str, Any]:
        """The sessions' fields; of one alone, its fields and its turns."""
        if self.turns is None:
            return {"status": "ok", "count": len(self.found), "sessions": [one.as_dict() for one in self.found]}
        return {"status": "ok", **self.found[0].as_dict(), "turns": [turn.as_dict() for turn in self.turns]}


class Deleted(Result):
    """A session that is gone, or would be."""

    __slots__ = ("dry_run", "session")

    def __init__(self, session: "Session", *, dry_run: bool) -> None:
        self.session, self.dry_run = session, dry_run

    def as_dict(self) -> dict[str, Any]:
        """Its id and how many turns it has."""
        status = "dry_run" if self.dry_run else "ok"
        return {"status": status, "session_id": self.session.id, "turns": self.session.turns}


@operation(
    access=WRITE,
    examples=(
        "memctl session list",
        "memctl session show proj:review-7 -k 5  # the newest five turns",
        "memctl session delete proj:review-7     # says what would go",
        "memctl session delete proj:review-7 --yes",
    ),
    exits={1: "no store, or no such session"},
)
def session(
    ctx: Context,
    action: Annotated[Literal["list", "show", "delete"], Arg("what to do")],
    id: Annotated[str | None, Arg("the session: show and delete", metavar="SESSION-ID")] = None,
    *,
    limit: Annotated[int, Arg("at most so many, the newest", "-k", "--limit", ge=1, le=100_000)] = 50,
    yes: Annotated[bool, Arg("delete: do it; without this, only say what would go", "--yes")] = False,
) -> Sessions | Deleted:
    """Look at recorded conversations, or delete one.

    A session is one conversation with a client; its turns hold what was asked and answered as policy left it, and what
    the model was given. Deleting one takes its turns out of the file for good; the items that were stored in it stay.
    """
    wanted = (id or "").strip()
    if action == "list" and wanted:
        raise UsageError(f"unexpected argument '{wanted}'; show takes a session", command="session")
    if action != "list" and not wanted:
        raise UsageError(f"the session to {action} is missing", command="session")
    if yes and action != "delete":
        raise UsageError("--yes is for delete only", command="session")
    if not yes:
        ctx.narrow(READ)
    from memctl.store import sessions

    if action == "list":
        found = sessions.list_sessions(ctx.db, limit)
        if not found:
            ctx.note("[session] No sessions.")
        return Sessions(found)
    one = sessions.get_session(ctx.db, wanted)
    if one is None:
        raise SessionNotFound(id=wanted)
    if action == "show":
        return Sessions([one], sessions.list_turns(ctx.db, wanted, limit))
    if yes:
        sessions.delete_session(ctx.db, wanted)
    ctx.note(f"[session] {one.turns} turn(s) {'deleted' if yes else 'to delete; --yes does it'}")
    return Deleted(one, dry_run=not yes)


def text(result: Sessions | Deleted) -> Iterator[str]:
    """One line a session; one alone turn by turn."""
    if isinstance(result, Deleted):
        yield f"{'would be ' if result.dry_run else ''}deleted: {result.session.id}"
    elif result.turns is None:
        for one in result.found:
            client = f"  {one.client}" if one.client else ""
            yield f"  {one.id}  {one.turns} turn(s)  {one.updated_at[:16]}  {one.scope}{client}"
    else:
        yield from _turns(result.turns)


def _turns(turns: "list[SessionTurn]") -> Iterator[str]:
    from memctl.llm.working import indented

    for turn in turns:
        yield f"--- {turn.number}, {turn.asked_at[:16]}" + ("" if turn.injectable else " (given to no model again)")
        for label, words in (("Q", turn.question), ("A", turn.answer)):
            if words:
                yield f"{label}: {indented(words)}"
        if turn.sources:
            yield f"sources: {', '.join(turn.sources)}"
        yield ""
