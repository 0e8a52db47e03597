"""What a chat keeps: answers as notes, turns as a session. All of it is governed, and what policy does is said."""

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING
from memctl.context import Context
from memctl.operation import CREATE
from memctl.text import clean
from memctl.text.block import markers
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.ingest.statements import StatementOutcome, StatementOutcomes
    from memctl.store.sessions import Session

_TITLE_CHARS = 80
#: So many lines of a kind, and so many ids, are printed.
_LINES = 10
CLIENT = "memctl chat"


def earlier(ctx: Context, name: str) -> "Session":
    """A session that was recorded: by its id, or the `last` one of a chat. Raises SessionNotFound."""
    from memctl.store import sessions

    if name == "last":
        found = next((one for one in sessions.list_sessions(ctx.db) if one.client == CLIENT), None)
    else:
        found = sessions.get_session(ctx.db, name)
    if found is None:
        raise errors.SessionNotFound(id=name)
    return found


class Keeper:
    """Stores answers and records turns. `session` is the id of the session that turns are recorded in."""

    def __init__(self, ctx: Context, scope: str, tags: "Sequence[str]", session: str = "") -> None:
        self.ctx, self.scope = ctx, scope
        self.tags = clean.union(list(tags), ["chat"])
        self.session = session or f"{scope}:{ids.new_id('CHAT')}"
        self._begun = bool(session)

    def check(self) -> None:
        """Raise SessionInvalid when no turn can ever be recorded under this id."""
        from memctl.ingest import turns

        turns.check_session_id(self.ctx.policy, self.session)

    def store(self, question: str, answer: str, title: str = "") -> list[str]:
        """Store an answer as a note, in parts when it is long; the ids of what is new in the store."""
        from memctl.ingest import statements

        content, repeated = markers.without_injected(answer)
        if clean.is_blank(content):
            why = "only repeats injected memory" if repeated else "is empty"
            self.ctx.warn(f"[chat] Not stored: the answer {why}")
            return []
        item = MemoryItem(
            tier="stm", type="note", title=clean.one_line(title) or clean.one_line(question, _TITLE_CHARS),
            content=content, tags=list(self.tags), scope=self.scope,
            provenance=MemoryProvenance("chat", f"memctl-chat:{self.session}" if self._begun else "memctl-chat"),
        )  # fmt: skip
        self.ctx.allow(CREATE)
        kept = statements.store_long_statements(self.ctx.db, self.ctx.policy, [item], reason="chat-store")
        self._tell(kept)
        return [outcome.id for outcome in kept.stored]

    def record(self, question: str, answer: str, sources: "Sequence[str]") -> int:
        """Append a turn to the session; its number."""
        from memctl.ingest import turns

        self.ctx.allow(CREATE)
        done = turns.record_turn(
            self.ctx.db, self.ctx.policy, self.session, question, answer, sources, scope=self.scope, client=CLIENT
        )
        self._begun = True
        if done.redacted:
            self.ctx.warn("[chat] Policy blotted something out of the recorded turn")
        if not done.injectable:
            self.ctx.warn("[chat] The recorded turn speaks to a model: it is kept for you, and given to none")
        return done.number

    def take_back(self, stored: "Sequence[str]", turn: int) -> None:
        """Archive what a turn stored, and delete the turn from the session."""
        from memctl.store import sessions
        from memctl.store.items import items

        self.ctx.allow(CREATE)
        with self.ctx.db.atomic():
            gone = [item_id for item_id in stored if items.archive(self.ctx.db, item_id, "forget")]
            if turn:
                sessions.drop_turn(self.ctx.db, self.session, turn)
        if gone:
            self.ctx.note(f"[chat] Archived: {', '.join(gone)}")

    def archive(self, item_id: str) -> None:
        """Archive one item, whoever stored it."""
        from memctl.store.items import items

        if items.get(self.ctx.db, item_id) is None:
            self.ctx.warn(f"[chat] Item not found: {clean.one_line(item_id)}")
        else:
            self.take_back([item_id], 0)

    def _tell(self, kept: "StatementOutcomes") -> None:
        for kind, say in (("rejected", self.ctx.warn), ("quarantined", self.ctx.warn), ("duplicate", self.ctx.note)):
            lines = [_line(outcome) for outcome in kept.outcomes if _kind(outcome) == kind]
            for line in lines[:_LINES]:
                say(f"[chat] {line}")
            if len(lines) > _LINES:
                say(f"[chat] … and {len(lines) - _LINES} more {kind}")
        if kept.redacted:
            self.ctx.warn(f"[chat] Policy redacted {kept.redacted} part(s) of what was stored")
        ids_ = [outcome.id for outcome in kept.stored if not outcome.quarantined]
        if ids_:
            parts = f"{len(ids_)} notes: " if len(ids_) > 1 else "note "
            self.ctx.note(f"[chat] Stored as {parts}{', '.join(ids_[:_LINES])}{', …' * (len(ids_) > _LINES)}")


def _kind(outcome: "StatementOutcome") -> str:
    return "quarantined" if outcome.kind == "stored" and outcome.quarantined else outcome.kind


def _line(outcome: "StatementOutcome") -> str:
    reasons = "; ".join(outcome.reasons)
    if outcome.kind == "rejected":
        return f"Not stored, rejected by policy: {reasons}"
    if outcome.kind == "duplicate":
        return f"Known already: {outcome.id}"
    return f"Stored as {outcome.id}, but quarantined and kept out of recall: {reasons}"
