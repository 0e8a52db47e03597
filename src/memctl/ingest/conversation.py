"""Turns of a conversation, into the store: judged first, so that no session holds what no document may.

A turn is treated as a document is: secrets are blotted out of it. One that speaks to a model (injected instructions, a
page that was quoted) is kept for people, and marked so that no model is given it again.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors
from memctl.store import sessions
from memctl.store.database import Database
from memctl.text import clean

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

_ID_CHARS = 200


class Recorded(NamedTuple):
    """The number of a turn, whether policy blotted something out of it, and whether a model may be given it again."""

    number: int
    redacted: bool = False
    injectable: bool = True


class _Judged(NamedTuple):
    text: str
    redacted: bool
    injectable: bool


def name(policy: "MemoryPolicy", session_id: str) -> str:
    """A session's id in the form it is stored in. Raises SessionInvalid for none, and for one that policy refuses."""
    wanted = clean.one_line(session_id, _ID_CHARS)
    if not wanted or wanted != session_id.strip():
        raise errors.SessionInvalid(reason=f"an id is one line of 1 to {_ID_CHARS} characters")
    _check(policy, wanted, "the id")
    return wanted


def begin(
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
    wanted = name(policy, session_id)
    held = sessions.get_session(db, wanted) if fixed else None
    if held is not None and held.scope != scope:
        raise errors.SessionInvalid(reason="it belongs to another scope")
    _check(policy, "\n".join((scope or "", client)), "the scope or the client's name")
    return sessions.begin_session(db, wanted, scope=clean.one_line(scope or "") or None, client=clean.one_line(client))


def record(
    db: Database,
    policy: "MemoryPolicy",
    session_id: str,
    question: str,
    answer: str,
    sources: Sequence[str] = (),
    *,
    scope: str | None = None,
    client: str = "",
) -> Recorded:
    """Append a turn to a session, made when there is none. Raises SessionInvalid."""
    asked, answered = _judged(policy, question), _judged(policy, answer)
    places = [policy.judge(place, field="provenance").text for place in map(clean.one_line, sources) if place]
    both = asked.injectable and answered.injectable
    with db.atomic():
        session = begin(db, policy, session_id, scope=scope, client=client)
        number = sessions.add_turn(db, session.id, asked.text, answered.text, places, injectable=both)
    return Recorded(number, asked.redacted or answered.redacted, both)


def answer(db: Database, policy: "MemoryPolicy", session_id: str, text: str) -> Recorded:
    """Put the answer to a session's open question, or append it as a turn of its own. Raises SessionInvalid."""
    judged = _judged(policy, text)
    with db.atomic():
        session = begin(db, policy, session_id)
        number = sessions.answer_turn(db, session.id, judged.text, injectable=judged.injectable)
    return Recorded(number, judged.redacted, judged.injectable)


def _judged(policy: "MemoryPolicy", text: str) -> _Judged:
    judged = policy.judge(clean.statement(text))
    held = any(finding.action == "quarantine" for finding in judged.findings)
    return _Judged(judged.text, judged.redacted, not held)


def _check(policy: "MemoryPolicy", text: str, what: str) -> None:
    if not policy.clear(text) and policy.judge(text, field="session", document=False).action == "reject":
        raise errors.SessionInvalid(reason=f"{what} holds what no statement may")
