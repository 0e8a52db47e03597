"""Sessions: conversations with a client, turn by turn, and the threads that they make.

The table of sessions is RAGIX's; turns, links between sessions and what was said in each stand beside it.

What a turn holds is what policy left of it: callers go through `ingest.statements.record_turn`, which judges it first.
"""

import json
from collections.abc import Iterable, Sequence

from memctl import errors, ids
from memctl.annotations import Any, NamedTuple
from memctl.names import DEFAULT_SCOPE
from memctl.store.database import Database
from memctl.store.filters import Filters, utc_of
from memctl.store.items import items
from memctl.store.journal import for_good
from memctl.text import jsons


class Session(NamedTuple):
    """One conversation.

    id       as the client calls it, such as `project:conversation`
    project  what stands before the colon; all of the id without one
    scope    what its recalls read, and where what it stores is filed
    turns    the number of the newest turn
    client   the program it was held with; empty when the client gave none
    title    what it is about, where somebody said it
    items    how many items were said in it
    """

    id: str
    project: str
    scope: str
    turns: int
    client: str
    created_at: str
    updated_at: str
    title: str = ""
    items: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The fields, under the names of RAGIX or of rekal where they have one."""
        return {
            "session_id": self.id, "project_id": self.project, "scope": self.scope, "turn_count": self.turns,
            "client": self.client, "created_at": self.created_at, "updated_at": self.updated_at,
            "title": self.title, "memory_count": self.items,
        }  # fmt: skip


class SessionLink(NamedTuple):
    """How one session relates to another (`memctl.names.SessionRelation`)."""

    src_id: str
    relation: str
    dst_id: str
    created_at: str


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


_COLUMNS = "s.session_id, s.project_id, s.scope, s.turn_count, s.metadata_json, s.created_at, s.updated_at"
#: Relations in which a session never stands to one that came after it.
_ONE_WAY = ("follows_up_on", "branches_from", "merges")


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


def list_sessions(
    db: Database,
    limit: int = -1,
    session_id: str | None = None,
    *,
    scopes: tuple[str, ...] | None = None,
    idle_since: str = "",
) -> list[Session]:
    """Sessions, or the one of this id, the one used last first; a negative limit means all.

    scopes      only those of these scopes
    idle_since  only those in which nothing was said after this moment; the one that is idle longest comes first
    """
    if "memory_sessions" not in db.tables:
        return []
    parts, values = ["1"], list[object]()
    if session_id is not None:
        parts, values = ["s.session_id = ?"], [session_id]
    if scopes is not None:
        parts.append(f"coalesce(nullif(s.scope, ''), '{DEFAULT_SCOPE}') IN ({', '.join('?' * len(scopes))})")
        values += scopes
    used = utc_of("coalesce(s.updated_at, s.created_at, '')")
    if idle_since:
        parts.append(f"{used} < ?")
        values.append(idle_since)
    said = "(SELECT count(*) FROM memory_session_items AS n WHERE n.session_id = s.session_id)"
    sql = (
        f"SELECT {_COLUMNS}, {said if 'memory_session_items' in db.tables else '0'} FROM memory_sessions AS s "
        f"WHERE {' AND '.join(parts)} ORDER BY {used if idle_since else 's.updated_at DESC'}, s.session_id LIMIT ?"
    )
    out = []
    for named, project, scope, turn_count, metadata, created, updated, count in db.rows(sql, [*values, limit]):
        details = items.load_json(metadata)
        client, title = (
            word if isinstance(details, dict) and isinstance(word := details.get(key), str) else ""
            for key in ("client", "title")
        )
        out.append(Session(
            str(named), str(project or ""), str(scope or DEFAULT_SCOPE), int(turn_count or 0), client,
            str(created or ""), str(updated or ""), title, int(count),
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


def list_links(db: Database) -> list[SessionLink]:
    """All links between sessions, oldest first."""
    if "memory_session_links" not in db.tables:
        return []
    sql = "SELECT src_id, rel, dst_id, created_at FROM memory_session_links ORDER BY created_at, src_id, rel, dst_id"
    return [SessionLink(*row) for row in db.rows(sql)]


def thread_of(db: Database, session_id: str) -> tuple[list[str], list[SessionLink]]:
    """The sessions that hang together with this one, over however many links and in either direction; and the links."""
    links = list_links(db)
    beside: dict[str, set[str]] = {}
    for link in links:
        beside.setdefault(link.src_id, set()).add(link.dst_id)
        beside.setdefault(link.dst_id, set()).add(link.src_id)
    known = _reached(session_id, beside)
    return sorted(known), [link for link in links if link.src_id in known]


def _reached(start: str, steps: dict[str, set[str]]) -> set[str]:
    """Whatever can be reached from here, and itself."""
    known, new = {start}, {start}
    while new:
        new = {one for last in new for one in steps.get(last, ())} - known
        known |= new
    return known


def sessions_of(db: Database, item_ids: Iterable[str]) -> dict[str, list[str]]:
    """In which sessions these items were said; those of none are left out."""
    out: dict[str, list[str]] = {}
    if "memory_session_items" in db.tables:
        sql = "SELECT item_id, session_id FROM memory_session_items WHERE item_id IN (?*) ORDER BY session_id"
        for item_id, session_id in db.rows(sql, keys=item_ids):
            out.setdefault(str(item_id), []).append(str(session_id))
    return out


def items_in(db: Database, session_id: str, limit: int = -1) -> list[str]:
    """The ids of what was said in a session and still counts, newest first; a negative limit means all."""
    if "memory_session_items" not in db.tables:
        return []
    where, values = Filters(session=session_id).where()
    sql = f"SELECT i.id FROM memory_items AS i WHERE {where} ORDER BY i.created_at DESC, i.id LIMIT ?"
    return [str(item_id) for (item_id,) in db.rows(sql, [*values, limit])]


# --- write -----------------------------------------------------------------------------------------------------------


def begin_session(
    db: Database, session_id: str, *, scope: str | None = None, client: str = "", title: str = ""
) -> Session:
    """The session with this id, made when there is none. An existing one keeps what is not given."""
    with db.atomic():
        held = get_session(db, session_id)
        given = scope, client, title
        if held is not None and all(word in (None, "", old) for word, old in
                                    zip(given, (held.scope, held.client, held.title), strict=True)):  # fmt: skip
            return held
        old = db.value("SELECT metadata_json FROM memory_sessions WHERE session_id = ?", (session_id,))
        details = items.load_json(old)
        details = details if isinstance(details, dict) else {}
        details |= {key: word for key, word in (("client", client), ("title", title)) if word}
        made = Session(
            session_id, session_id.partition(":")[0], scope or (held.scope if held else DEFAULT_SCOPE),
            held.turns if held else 0, str(details.get("client") or ""), held.created_at if held else "",
            ids.timestamp(), str(details.get("title") or ""), held.items if held else 0,
        )  # fmt: skip
        made = made._replace(created_at=made.created_at or made.updated_at)
        db.run(
            "INSERT INTO memory_sessions(session_id, project_id, scope, turn_count, created_at, updated_at, "
            "metadata_json) VALUES (?, ?, ?, 0, ?, ?, ?) ON CONFLICT(session_id) DO UPDATE SET scope = excluded.scope, "
            "updated_at = excluded.updated_at, metadata_json = excluded.metadata_json",
            (
                made.id, made.project, made.scope, made.created_at, made.updated_at,
                jsons.encode(details),
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
            (session_id, number, question, answer, jsons.encode(list(sources)), int(injectable), now),
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


def note_items(db: Database, session_id: str, item_ids: Iterable[str], *, now: bool = True) -> None:
    """Note that items were said in a session, which counts as used then if that is now. What is known stays."""
    wanted = [(item_id, session_id) for item_id in item_ids]
    with db.atomic():
        known = sessions_of(db, (item_id for item_id, _ in wanted))
        new = [row for row in wanted if session_id not in known.get(row[0], ())]
        if new:
            sql = "INSERT INTO memory_session_items(item_id, session_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
            db.run_many(sql, new)
        if new and now:
            db.run("UPDATE memory_sessions SET updated_at = ? WHERE session_id = ?", (ids.timestamp(), session_id))


def link_sessions(db: Database, src_id: str, relation: str, dst_id: str) -> bool:
    """Say how a session relates to another; False when it is said already.

    Raises SessionInvalid where the other one came after it, by what other links say, and for a session and itself.
    """
    with db.atomic():
        links = list_links(db)
        if any(link[:3] == (src_id, relation, dst_id) for link in links):
            return False
        before: dict[str, set[str]] = {}
        for link in links:
            if link.relation in _ONE_WAY:
                before.setdefault(link.src_id, set()).add(link.dst_id)
        if src_id == dst_id or (relation in _ONE_WAY and src_id in _reached(dst_id, before)):
            raise errors.SessionInvalid(reason=f"{src_id} {relation} {dst_id} would make a circle")
        db.run("INSERT INTO memory_session_links(src_id, rel, dst_id, created_at) VALUES (?, ?, ?, ?)",
               (src_id, relation, dst_id, ids.timestamp()))  # fmt: skip
    return True


def unlink_sessions(db: Database, src_id: str, relation: str, dst_id: str) -> bool:
    """Take a link between sessions away; False when there is none."""
    sql = "DELETE FROM memory_session_links WHERE src_id = ? AND rel = ? AND dst_id = ?"
    with db.atomic():
        return db.run(sql, (src_id, relation, dst_id)).rowcount > 0


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
        for table in ("memory_turns", "memory_session_items", "memory_usefulness", "memory_sessions"):
            db.run(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
        db.run("DELETE FROM memory_session_links WHERE src_id = ? OR dst_id = ?", (session_id, session_id))
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return there
