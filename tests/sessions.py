"""Conversations for the tests of what is made of them: `tests/data/capture/sessions.txt`, read into exchanges, and the
databases in which opencode and llm keep theirs.

`=== NAME LANGUAGE` begins a conversation; `U:` and `A:` a turn, `!` a command with its exit code, `+` a file that was
written, both of the answer before. Other lines go on with the turn.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from memctl.capture.record import Exchange, exchanges
from memctl.capture.turns import Command, Turn

SESSIONS = Path(__file__).parent / "data/capture/sessions.txt"


def read_sessions(path: Path = SESSIONS) -> Iterator[tuple[str, str, list[Exchange]]]:
    """Each conversation's name, its language, and its exchanges."""
    for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, body = part.partition("\n")
        name, language = head.split()
        yield name, language, list(exchanges(_turns(name, body)))


def _turns(name: str, body: str) -> Iterator[Turn]:
    turns: list[Turn] = []
    for offset, line in enumerate(body.splitlines()):
        sign, _, rest = line.partition(" ")
        last = turns[-1] if turns else None
        if sign == "U:":
            turns.append(Turn("user", rest, session=name, offset=offset))
            continue
        if last is None or (last.role == "user" and sign in ("A:", "!", "+")):
            turns.append(last := Turn("assistant", "", session=name, offset=offset))
        if sign == "A:":
            turns[-1] = last._replace(text=f"{last.text}\n\n{rest}".strip())
        elif sign == "!":
            command, _, code = rest.rpartition(" -> ")
            turns[-1] = last._replace(commands=(*last.commands, Command(command, int(code))))
        elif sign == "+":
            turns[-1] = last._replace(files=(*last.files, rest))
        else:
            turns[-1] = last._replace(text=f"{last.text}\n{line}")
    yield from turns


#: The tables as opencode 1.18 and llm 0.36 make them; of opencode's, the columns that are never empty.
_OPENCODE = """
CREATE TABLE project(id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE session(id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
  directory text NOT NULL, title text NOT NULL, version text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL);
CREATE TABLE message(id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part(id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message(session_id, time_created, id);
CREATE INDEX part_session_idx ON part(session_id);
"""
_LLM = """
CREATE TABLE threads(id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT, datetime_utc TEXT);
CREATE TABLE turns(id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT, model TEXT,
  resolved_model TEXT, datetime_utc TEXT, response_json TEXT);
CREATE TABLE messages(hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT, provider_metadata TEXT);
CREATE TABLE parts(id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, tool_name TEXT, text TEXT,
  payload TEXT);
CREATE TABLE responses(id TEXT PRIMARY KEY, prompt TEXT, response TEXT);
"""


def opencode_database(path: Path, *exports: dict[str, Any]) -> None:
    """What opencode would have in its database for what `opencode export` prints."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(_OPENCODE)
        for info, messages in ((one["info"], one["messages"]) for one in exports):
            named, at = info["id"], info["time"]["created"]
            about = (named, "global", info.get("parentID"), "slug", info["directory"], "title", "1.18.33", at, at)
            db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", about)
            for head, parts in ((one["info"], one["parts"]) for one in messages):
                held = {key: value for key, value in head.items() if key not in ("id", "sessionID")}
                at = head["time"]["created"]
                db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (head["id"], named, at, at, json.dumps(held)))
                for part in parts:
                    held = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
                    row = (part["id"], head["id"], named, at, at, json.dumps(held))
                    db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
        db.commit()


def llm_database(path: Path, *exports: dict[str, Any]) -> None:
    """What llm would have in `logs.db` for the same conversations: a chain of messages for each thread."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(_LLM)
        for info, messages in ((one["info"], one["messages"]) for one in exports):
            named, before = info["id"], None
            for number, one in enumerate(messages):
                texts = [part["text"] for part in one["parts"] if part["type"] == "text"]
                here, role, at = f"b2:{one['info']['id']}", one["info"]["role"], f"2026-11-20T16:{30 + number}:00+00:00"
                db.execute("INSERT INTO messages VALUES (?, ?, ?, NULL)", (here, before, role))
                rows = [(here, place, "text", text) for place, text in enumerate(texts)]
                rows += [(here, len(rows), "tool_call", None)] if role == "assistant" and not texts else []
                db.executemany("INSERT INTO parts(message_hash, position, type, text) VALUES (?, ?, ?, ?)", rows)
                if role == "assistant":
                    row = (f"t-{here}", named, before, here, "stub-model", None, at, None)
                    db.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
                before = here
            thread = (named, "title", before, None, "2026-11-20T16:30:00+00:00")
            db.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", thread)
        db.commit()
