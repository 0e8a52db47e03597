"""What was taken in of the transcripts of AI clients: how far each file was read, and which message a turn was made of.

A message whose turn somebody deleted stays known, so that its transcript does not bring it back.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from memctl import errors, ids
from memctl.annotations import Any, NamedTuple
from memctl.store import foreign
from memctl.store.database import Database
from memctl.store.items import items

#: The tables of opencode's database, and those of llm's; what is asked of them is plain.
_OPENCODE = ("session", "message", "part")
_LLM = ("threads", "turns", "messages", "parts")
#: How long a chain of messages is followed.
_MOST_MESSAGES = 20_000


class ReadFile(NamedTuple):
    """A transcript as it was when it was read last: its size in bytes, its time, and where to go on."""

    path: str
    form: str
    size: int
    changed_ns: int
    resume: int


class NewTurn(NamedTuple):
    """A turn to store, as policy left it; `number` is 0 for a new one, else of the one whose answer it replaces."""

    number: int
    origin: str
    question: str
    answer: str
    injectable: bool
    asked_at: str


# --- read ------------------------------------------------------------------------------------------------------------


def read_files(db: Database) -> dict[str, ReadFile]:
    """The transcripts that were read, by path."""
    if "memory_transcripts" not in db.tables:
        return {}
    rows = db.rows("SELECT path, form, size, changed_ns, resume FROM memory_transcripts")
    return {str(row[0]): ReadFile(str(row[0]), str(row[1]), int(row[2]), int(row[3]), int(row[4])) for row in rows}


def known_origins(db: Database, session_id: str) -> dict[str, int]:
    """The messages of a session that turns were made of, and the turns' numbers."""
    if "memory_turn_origins" not in db.tables:
        return {}
    sql = "SELECT origin, number FROM memory_turn_origins WHERE session_id = ?"
    return {str(origin): int(number) for origin, number in db.rows(sql, (session_id,))}


def known_elsewhere(db: Database, session_id: str, origins: Iterable[str]) -> set[str]:
    """Those of these messages that turns of other sessions were made of: a client copies what it goes on from."""
    if "memory_turn_origins" not in db.tables:
        return set()
    sql = "SELECT origin FROM memory_turn_origins WHERE session_id <> ? AND origin IN (?*)"
    return {str(row[0]) for row in db.rows(sql, (session_id,), keys=origins)}


def answer_of(db: Database, session_id: str, number: int) -> str | None:
    """The answer of a turn; None where the turn was deleted."""
    found = db.value("SELECT answer FROM memory_turns WHERE session_id = ? AND number = ?", (session_id, number))
    return None if found is None else str(found)


def is_copy(db: Database, turn: str, others: Iterable[str], *, timed: bool) -> bool:
    """Whether a turn (`SESSION#NUMBER`) has the words of one of these, and its time where a client says one."""
    sql = (
        "SELECT 1 FROM memory_turns AS a JOIN memory_turns AS b ON b.session_id = ? AND b.number = ? "
        "AND a.question = b.question AND a.answer = b.answer AND (NOT ? OR a.asked_at = b.asked_at) "
        "WHERE a.session_id = ? AND a.number = ?"
    )
    session, _, number = turn.rpartition("#")
    places = (one.rpartition("#") for one in others)
    return any(db.value(sql, (session, number, timed, there, at)) for there, _, at in places)


def session_details(db: Database, session_id: str) -> dict[str, Any]:
    """What is noted of a session beside its turns: client, folder, branch, model, files."""
    found = items.load_json(db.value("SELECT metadata_json FROM memory_sessions WHERE session_id = ?", (session_id,)))
    return found if isinstance(found, dict) else {}


# --- write -----------------------------------------------------------------------------------------------------------


def write_turns(db: Database, session_id: str, turns: Sequence[NewTurn]) -> None:
    """Append turns to a session that is there, or replace the answers of known ones, in the caller's transaction."""
    newest = int(db.value("SELECT max(number) FROM memory_turns WHERE session_id = ?", (session_id,)) or 0)
    origins = db.value("SELECT max(number) FROM memory_turn_origins WHERE session_id = ?", (session_id,))
    counted = db.value("SELECT turn_count FROM memory_sessions WHERE session_id = ?", (session_id,))
    number = max(newest, int(origins or 0), int(counted or 0))
    new = []
    for turn in turns:
        if turn.number:
            db.run(
                "UPDATE memory_turns SET answer = ?, injectable = min(injectable, ?) "
                "WHERE session_id = ? AND number = ?",
                (turn.answer, int(turn.injectable), session_id, turn.number),
            )
        else:
            number += 1
            new.append((number, turn))
    now = ids.timestamp()
    db.run_many(
        "INSERT INTO memory_turns(session_id, number, question, answer, injectable, asked_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [(session_id, at, one.question, one.answer, int(one.injectable), one.asked_at or now) for at, one in new],
    )
    db.run_many(
        "INSERT INTO memory_turn_origins(session_id, number, origin) VALUES (?, ?, ?)",
        [(session_id, at, one.origin) for at, one in new],
    )
    latest = max((one.asked_at for one in turns), default="") or now
    db.run(
        "UPDATE memory_sessions SET turn_count = ?, updated_at = max(updated_at, ?) WHERE session_id = ?",
        (number, latest, session_id),
    )


def set_details(db: Database, session_id: str, details: dict[str, Any], *, began: str = "") -> None:
    """Note what is known of a session beside its turns; `began` dates one that was made just now."""
    text = json.dumps(details, ensure_ascii=False)
    db.run("UPDATE memory_sessions SET metadata_json = ? WHERE session_id = ?", (text, session_id))
    if began:
        sql = "UPDATE memory_sessions SET created_at = min(created_at, ?), updated_at = ? WHERE session_id = ?"
        db.run(sql, (began, began, session_id))


def note_file(db: Database, file: ReadFile) -> None:
    """Note how far a transcript was read."""
    db.run(
        "INSERT INTO memory_transcripts(path, form, size, changed_ns, resume, captured_at) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT(path) DO UPDATE SET form = excluded.form, size = excluded.size, changed_ns = excluded.changed_ns, "
        "resume = excluded.resume, captured_at = excluded.captured_at",
        (*file, ids.timestamp()),
    )


# --- databases of clients --------------------------------------------------------------------------------------------


def foreign_conversations(path: str) -> Iterator[dict[str, Any]]:
    """The conversations in a database of opencode or llm, in the shape of opencode's export, oldest first.

    Raises what `foreign.open_foreign` does, and NotADatabase for one that holds none.
    """
    with foreign.open_foreign(path) as db:
        for tables, read in ((_OPENCODE, _of_opencode), (_LLM, _of_llm)):
            if all(name in db.tables for name in tables):
                foreign.check_plain(db, *tables)
                yield from read(db)
                break
        else:
            raise errors.NotADatabase(path=path, reason="it holds no conversations that memctl can read")


def copy_database(path: str, target: str) -> None:
    """Copy a client's database, with what its log still holds, over a file that is there. Raises OSError."""
    try:
        with foreign.open_foreign(path) as db:
            copy = Database(target)
            try:
                db.conn.backup(copy.conn)
            finally:
                copy.close()
    except errors.MemctlError as exc:
        raise OSError(0, str(exc)) from exc


def _of_opencode(db: Database) -> Iterator[dict[str, Any]]:
    for named, parent, folder in db.rows("SELECT id, parent_id, directory FROM session ORDER BY time_created, id"):
        parts: dict[object, list[Any]] = {}
        for message, data in db.rows("SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (named,)):
            parts.setdefault(message, []).append(items.load_json(data))
        said = []
        sql = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
        for message, data in db.rows(sql, (named,)):
            about = items.load_json(data)
            if isinstance(about, dict):
                said.append({"info": {**about, "id": message}, "parts": parts.get(message, [])})
        yield {"info": {"id": named, "parentID": parent, "directory": folder}, "messages": said}


def _of_llm(db: Database) -> Iterator[dict[str, Any]]:
    """A thread of llm is a chain of messages, from its newest one backwards."""
    for named, tip, began in db.rows(
        "SELECT id, tip_message_hash, datetime_utc FROM threads ORDER BY datetime_utc, id"
    ):
        model, times = "", dict[object, object]()
        sql = "SELECT model, datetime_utc, parent_message_hash, tip_message_hash FROM turns WHERE thread_id = ?"
        for model, moment, prompt, answer in db.rows(sql, (named,)):  # noqa: B007 - the model of the last one is used
            times |= {prompt: moment, answer: moment}
        said: list[dict[str, Any]] = []
        seen: set[object] = set()
        at = tip
        while at and at not in seen and len(seen) < _MOST_MESSAGES:
            seen.add(at)
            row = db.row("SELECT role, parent_hash FROM messages WHERE hash = ?", (at,))
            if row is None:
                break
            texts = db.rows("SELECT text FROM parts WHERE message_hash = ? AND type = 'text' ORDER BY position", (at,))
            parts = [{"type": "text", "text": text} for (text,) in texts]
            about = {"role": row[0], "id": f"{named} {at}", "modelID": model, "time": {"created": times.get(at, began)}}
            said.append({"info": about, "parts": parts})
            at = row[1]
        yield {"info": {"id": named}, "messages": said[::-1]}
