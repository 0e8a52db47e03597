"""Sessions: conversations with a client, turn by turn. The table of sessions is RAGIX's, the turns stand beside it.

What a turn holds is what policy left of it: callers go through `ingest.statements.record_turn`, which judges it first.
"""

import json
from collections.abc import Sequence

from memctl import ids
from memctl.annotations import Any, NamedTuple
from memctl.names import DEFAULT_SCOPE
from memctl.store.database import Database
from memctl.store.items import items
from memctl.store.journal import for_good


class Session(NamedTuple):
    """One conversation.

    id       as the client calls it, such as `project:conversation`
    project  what stands before the colon; all of the id without one
    scope    what its recalls read, and where what it stores is filed
    turns    the number of the newest turn
    client   the program it was held with; empty when the client gave none
    """

    id: str
    project: str
    scope: str
    turns: int
    client: str
    created_at: str
    updated_at: str

    def as_dict(self) -> dict[str, Any]:
        """The fields, under RAGIX's names where it has one."""
        return {
            "session_id": self.id, "project_id": self.project, "scope": self.scope, "turn_count": self.turns,
            "client": self.client, "created_at": self.created_at, "updated_at": self.updated_at,
        }  # fmt: skip


class SessionTurn(NamedTuple):
    """A question and its answer; either may be empty while it is not known.

    number      1, 2, ... within the session
    sources     what the model was given: item ids, or path:line
    injectable  False: policy found something in it that no model may be given again
    """

    number: int
    question: str
    answer: str
    sources: tuple[str, ...]
    injectable: bool
    asked_at: str

    def as_dict(self) -> dict[str, Any]:
        """The fields; `quarantined` where no model may be given the turn."""
        out = {
            "number": self.number, "question": self.question, "answer": self.answer, "sources": list(self.sources),
            "asked_at": self.asked_at,
        }  # fmt: skip
        return out if self.injectable else out | {"quarantined": True}


_SELECT = "SELECT session_id, project_id, scope, turn_count, metadata_json, created_at, updated_at FROM memory_sessions"


# --- read ------------------------------------------------------------------------------------------------------------


def get_session(db: Database, session_id: str) -> Session | None:
    """The session with this id; None when there is none."""
    return next(iter(list_sessions(db, 1, session_id)), None)


def expand_session_id(db: Database, given: str) -> str:
    """The id of the one session that begins so; else what was given."""
    if not given or "memory_sessions" not in db.tables or get_session(db, given) is not None:
        return given
    found = db.rows(
        "SELECT session_id FROM memory_sessions WHERE substr(session_id, 1, ?) = ? LIMIT 2", (len(given), given)
    )
    return str(found[0][0]) if len(found) == 1 else given


def list_sessions(db: Database, limit: int = -1, session_id: str | None = None) -> list[Session]:
    """Sessions, or the one of this id, the one used last first; a negative limit means all."""
    if "memory_sessions" not in db.tables:
        return []
    where, values = ("", ()) if session_id is None else (" WHERE session_id = ?", (session_id,))
    out = []
    for named, project, scope, turn_count, metadata, created, updated in db.rows(
        f"{_SELECT}{where} ORDER BY updated_at DESC, session_id LIMIT ?", (*values, limit)
    ):
        details = items.load_json(metadata)
        client = details.get("client") if isinstance(details, dict) else None
        out.append(Session(
            str(named), str(project or ""), str(scope or DEFAULT_SCOPE), int(turn_count or 0),
            client if isinstance(client, str) else "", str(created or ""), str(updated or ""),
        ))  # fmt: skip
    return out


def list_turns(db: Database, session_id: str, limit: int = -1) -> list[SessionTurn]:
    """The newest `limit` turns of a session in the order they were held; a negative limit means all."""
    if "memory_turns" not in db.tables:
        return []
    found = db.rows(
        "SELECT number, question, answer, sources, injectable, asked_at FROM memory_turns WHERE session_id = ? "
        "ORDER BY number DESC LIMIT ?",
        (session_id, limit),
    )
    return [SessionTurn(n, q, a, tuple(items.load_strings(s)), bool(i), at) for n, q, a, s, i, at in reversed(found)]


def count_sessions(db: Database) -> int:
    """How many sessions there are."""
    return int(db.value("SELECT count(*) FROM memory_sessions")) if "memory_sessions" in db.tables else 0


# --- write -----------------------------------------------------------------------------------------------------------


def begin_session(db: Database, session_id: str, *, scope: str | None = None, client: str = "") -> Session:
    """The session with this id, made when there is none. An existing one keeps what is not given."""
    with db.atomic():
        held = get_session(db, session_id)
        if held is not None and (scope or held.scope, client or held.client) == (held.scope, held.client):
            return held
        old = db.value("SELECT metadata_json FROM memory_sessions WHERE session_id = ?", (session_id,))
        details = items.load_json(old)
        details = details if isinstance(details, dict) else {}
        if client:
            details["client"] = client
        made = Session(
            session_id, session_id.partition(":")[0], scope or (held.scope if held else DEFAULT_SCOPE),
            held.turns if held else 0, str(details.get("client") or ""), held.created_at if held else "",
            ids.timestamp(),
        )  # fmt: skip
        made = made._replace(created_at=made.created_at or made.updated_at)
        db.run(
            "INSERT INTO memory_sessions(session_id, project_id, scope, turn_count, created_at, updated_at, "
            "metadata_json) VALUES (?, ?, ?, 0, ?, ?, ?) ON CONFLICT(session_id) DO UPDATE SET scope = excluded.scope, "
            "updated_at = excluded.updated_at, metadata_json = excluded.metadata_json",
            (
                made.id, made.project, made.scope, made.created_at, made.updated_at,
                json.dumps(details, ensure_ascii=False),
            ),
        )  # fmt: skip
    return made


def add_turn(
    db: Database, session_id: str, question: str, answer: str, sources: Sequence[str] = (), *, injectable: bool = True
) -> int:
    """Append a turn to a session (made when there is none); the turn's number."""
    with db.atomic():
        session = begin_session(db, session_id)
        newest = db.value("SELECT max(number) FROM memory_turns WHERE session_id = ?", (session_id,)) or 0
        number = max(int(newest), session.turns) + 1
        now = ids.timestamp()
        db.run(
            "INSERT INTO memory_turns(session_id, number, question, answer, sources, injectable, asked_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session_id, number, question, answer, items.dump_json(list(sources)), int(injectable), now),
        )
        db.run(
            "UPDATE memory_sessions SET turn_count = ?, updated_at = ? WHERE session_id = ?", (number, now, session_id)
        )
    return number


def answer_turn(db: Database, session_id: str, answer: str, *, injectable: bool = True) -> int:
    """Put the answer to the newest turn if that has none yet, else append a turn without a question; its number."""
    with db.atomic():
        last = list_turns(db, session_id, 1)
        if not last or last[0].answer:
            return add_turn(db, session_id, "", answer, injectable=injectable)
        number = last[0].number
        db.run(
            "UPDATE memory_turns SET answer = ?, injectable = min(injectable, ?) WHERE session_id = ? AND number = ?",
            (answer, int(injectable), session_id, number),
        )
        db.run("UPDATE memory_sessions SET updated_at = ? WHERE session_id = ?", (ids.timestamp(), session_id))
    return number


def drop_turn(db: Database, session_id: str, number: int) -> bool:
    """Delete one turn for good; False when there is none. Of the newest one, the number is given again."""
    db.run("PRAGMA secure_delete = ON")
    with for_good(db, [json.dumps([session_id, number], ensure_ascii=False, separators=(",", ":"))], turns=1):
        there = db.row("SELECT 1 FROM memory_turns WHERE session_id = ? AND number = ?", (session_id, number))
        db.run("DELETE FROM memory_turns WHERE session_id = ? AND number = ?", (session_id, number))
        db.run(
            "UPDATE memory_sessions SET turn_count = ? WHERE session_id = ? AND turn_count = ?",
            (number - 1, session_id, number),
        )
    return there is not None


def delete_session(db: Database, session_id: str) -> bool:
    """Delete a session and its turns for good, their traces in freed pages too; False when there is none.

    The items that were stored in it stay.
    """
    db.run("PRAGMA secure_delete = ON")
    with for_good(db, [session_id], sessions=1):
        there = get_session(db, session_id) is not None
        for table in ("memory_turns", "memory_usefulness", "memory_sessions"):
            db.run(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return there
