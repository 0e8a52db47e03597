"""The log of what was done. Details never hold content, queries or anything that policy refused."""

import json
from collections.abc import Sequence
from typing import Any

from memctl import ids
from memctl.store.database import Database, placeholders
from memctl.store.items import rows
from memctl.types import MemoryEvent

_COLUMNS = "id, action, item_id, details_json, content_hash, timestamp"


def log(
    db: Database,
    action: str,
    item_id: str | None = None,
    details: dict[str, Any] | None = None,
    content_hash: str = "",
) -> None:
    """Append one event."""
    db.run(
        "INSERT INTO memory_events(id, action, item_id, details_json, content_hash, timestamp) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (ids.new_id("EVT"), action, item_id, json.dumps(details or {}), content_hash, ids.timestamp()),
    )


def list_events(
    db: Database, item_id: str | None = None, action: str | None = None, limit: int = 100
) -> list[MemoryEvent]:
    """Events of an item and/or an action, newest first."""
    parts, values = ["1"], list[object]()
    by_item = "+" if item_id is not None else ""  # not by action, which would read the events of the whole store
    for column, value in (("item_id", item_id), (f"{by_item}action", action)):
        if value is not None:
            parts.append(f"{column} = ?")
            values.append(value)
    found = db.rows(
        f"SELECT {_COLUMNS} FROM memory_events WHERE {' AND '.join(parts)} ORDER BY timestamp DESC, rowid DESC LIMIT ?",
        [*values, limit],
    )
    return [_event(row) for row in found]


def _event(row: Sequence[Any]) -> MemoryEvent:
    event_id, action, item_id, details, content_hash, moment = row
    return MemoryEvent(event_id, action, item_id, rows.load_json(details) or {}, content_hash, moment)


def events_of_run(db: Database, run: str, actions: Sequence[str]) -> list[MemoryEvent]:
    """The events of these actions whose details name a run, oldest first."""
    found = db.rows(
        f"SELECT {_COLUMNS} FROM memory_events WHERE action IN ({placeholders(actions)}) "
        "AND instr(details_json, ?) ORDER BY rowid",
        [*actions, json.dumps(run)],
    )
    events = [_event(row) for row in found]
    return [event for event in events if isinstance(event.details, dict) and event.details.get("run") == run]


#: How the log names a thing that a tool or a person makes: the action, and the key of its details.
_MADE_BY = {"mount": ("mount_register", "mount_id"), "workspace": ("workspace_register", "name")}


def is_by_tool(db: Database, kind: str, name: str) -> bool:
    """Whether a tool made this mount or workspace that a model called, and no person has changed it since."""
    found = db.value(
        "SELECT json_extract(details_json, '$.by') FROM memory_events WHERE action = ? AND json_valid(details_json) "
        "AND json_extract(details_json, '$.' || ?) = ? ORDER BY timestamp DESC, rowid DESC LIMIT 1",
        (*_MADE_BY[kind], name),
    )
    return str(found or "") == "tool"


def last_time(db: Database, actions: list[str] | None = None) -> str | None:
    """When the newest event (of one of these actions) was; None when there is none."""
    if actions is None:
        newest: str | None = db.value("SELECT max(timestamp) FROM memory_events")
        return newest
    found = [db.value("SELECT max(timestamp) FROM memory_events WHERE action = ?", (a,)) for a in actions]
    return max((t for t in found if t), default=None)
