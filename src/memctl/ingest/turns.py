"""Turns of a conversation, into the store: judged first, so that no session holds what no document may.

A turn is treated as a document is: secrets are blotted out of it. One that speaks to a model (injected instructions, a
page that was quoted) is kept for people, and marked so that no model is given it again.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors
from memctl.item_policy import ItemPolicy, holding_rules
from memctl.store import sessions
from memctl.store.database import Database
from memctl.text import clean

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

_ID_CHARS = 200


class RecordedTurn(NamedTuple):
    """The number of a turn, whether policy blotted something out of it, and whether a model may be given it again."""

    number: int
    redacted: bool = False
    injectable: bool = True


def check_session_id(policy: "MemoryPolicy", session_id: str) -> str:
    """A session's id in the form it is stored in. Raises SessionInvalid for none, and for one that policy refuses."""
    wanted = clean.one_line(session_id, _ID_CHARS)
    if not wanted or wanted != session_id.strip():
        raise errors.SessionInvalid(reason=f"an id is one line of 1 to {_ID_CHARS} characters")
    if ItemPolicy(policy).refuses(wanted):
        raise errors.SessionInvalid(reason="the id holds what no statement may")
    return wanted


def begin_session(
    db: Database,
    policy: "MemoryPolicy",
    session_id: str,
    *,
    scope: str | None = None,
    client: str = "",
    fixed: bool = False,
) -> sessions.Session:
    """The session with this id, made when there is none. Raises SessionInvalid.

    fixed: one that is there must be in `scope` already: whoever sees one workspace gets no hold of other conversations
    """
    wanted = check_session_id(policy, session_id)
    there = sessions.get_session(db, wanted) if fixed else None
    if there is not None and there.scope != scope:
        raise errors.SessionInvalid(reason="it belongs to another scope")
    if ItemPolicy(policy).refuses(scope or "", client):
        raise errors.SessionInvalid(reason="the scope or the client's name holds what no statement may")
    return sessions.begin_session(db, wanted, scope=clean.one_line(scope or "") or None, client=clean.one_line(client))


def record_turn(
    db: Database,
    policy: "MemoryPolicy",
    session_id: str,
    question: str,
    answer: str,
    sources: Sequence[str] = (),
    *,
    scope: str | None = None,
    client: str = "",
) -> RecordedTurn:
    """Append a turn to a session, made when there is none. Raises SessionInvalid."""
    asked, answered = (policy.judge(clean.statement(text)) for text in (question, answer))
    places = [policy.judge(place, field="provenance").text for place in map(clean.one_line, sources) if place]
    injectable = not holding_rules((*asked.findings, *answered.findings))
    with db.atomic():
        session = begin_session(db, policy, session_id, scope=scope, client=client)
        number = sessions.add_turn(db, session.id, asked.text, answered.text, places, injectable=injectable)
    return RecordedTurn(number, asked.redacted or answered.redacted, injectable)


def record_answer(db: Database, policy: "MemoryPolicy", session_id: str, text: str) -> RecordedTurn:
    """Put the answer to a session's open question, or append it as a turn of its own. Raises SessionInvalid."""
    judged = policy.judge(clean.statement(text))
    injectable = not holding_rules(judged.findings)
    with db.atomic():
        session = begin_session(db, policy, session_id)
        number = sessions.answer_turn(db, session.id, judged.text, injectable=injectable)
    return RecordedTurn(number, judged.redacted, injectable)
