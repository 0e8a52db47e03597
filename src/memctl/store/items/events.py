"""The log of what was done. Details never hold content, queries or anything that policy refused.

The event of a governed write names the rules that judged what was written. A note in `schema_meta` says which rules saw
the whole store, and when. Reading asks both, and judges again only what today's rules have not seen: what another
program wrote, or a program past the gate of policy, no rules have seen.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.store.database import Database
from memctl.store.items import items
from memctl.text import jsons
from memctl.types import MemoryEvent, MemoryItem

if TYPE_CHECKING:
    from memctl.store.items.overview import ItemOutline


def log(
    db: Database,
    action: str,
    item_id: str | None = None,
    details: dict[str, Any] | None = None,
    content_hash: str = "",
) -> None:
    """Append one event."""
    said = jsons.encode(details or {}, ascii_only=True)
    db.run(
        "INSERT INTO memory_events(id, action, item_id, details_json, content_hash, timestamp) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (ids.new_id("EVT"), action, item_id, said, content_hash, ids.timestamp()),
    )


def log_each(db: Database, action: str, item_ids: Sequence[str], reason: str = "") -> None:
    """Append one event for each item, with the reason where there is one."""
    now, details = ids.timestamp(), jsons.encode({"reason": reason} if reason else {}, ascii_only=True)
    new = zip(ids.new_ids("EVT", len(item_ids)), item_ids, strict=True)
    db.run_many(
        "INSERT INTO memory_events(id, action, item_id, details_json, content_hash, timestamp) "
        "VALUES (?, ?, ?, ?, '', ?)",
        [(event, action, item_id, details, now) for event, item_id in new],
    )


def drop_reasons(db: Database, item_ids: Sequence[str]) -> None:
    """Take out of the events of items why somebody did what they tell."""
    db.run_many(
        "UPDATE memory_events SET details_json = json_remove(details_json, '$.reason') "
        "WHERE item_id = ? AND json_valid(details_json)",
        [(item_id,) for item_id in item_ids],
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
    return _read_events(db, f"{' AND '.join(parts)} ORDER BY timestamp DESC, rowid DESC LIMIT ?", [*values, limit])


def events_of_run(db: Database, run: str, actions: Sequence[str]) -> list[MemoryEvent]:
    """The events of these actions whose details name a run, oldest first."""
    some = ", ".join("?" * len(actions))
    named = f"action IN ({some}) AND instr(details_json, ?) ORDER BY rowid"
    found = _read_events(db, named, [*actions, jsons.encode(run, ascii_only=True)])
    return [one for one in found if one.details.get("run") == run]


def _read_events(db: Database, where: str, values: list[object]) -> list[MemoryEvent]:
    sql = f"SELECT id, action, item_id, details_json, content_hash, timestamp FROM memory_events WHERE {where}"
    return [
        MemoryEvent(event_id, action, item_id, items.load_object(details), content_hash, moment)
        for event_id, action, item_id, details, content_hash, moment in db.rows(sql, values)
    ]


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


# --- by which rules items were judged --------------------------------------------------------------------------------


#: The note: the rules that saw everything, and when.
SCAN_KEY = "memctl_scanned"
#: Reasons of writes that leave an item's texts as they were judged.
_SAME_TEXT = (
    "archive", "forget", "merge", "promote", "release", "restore", "retain", "retract", "supersede", "verify",
)  # fmt: skip


def name_rules(switches: str) -> str:
    """The name of the rules in force: their version, and what `MemoryPolicy.switches` says of a project's own part."""
    from memctl.policy.version import RULES_VERSION

    return f"{RULES_VERSION} {switches}".strip()


@contextmanager
def judged_write(db: Database, switches: str | None) -> Iterator[None]:
    """A transaction whose events name the rules in force, which judged what is written; None: no rules did."""
    before = db.rules
    with db.atomic():
        db.rules = "" if switches is None else name_rules(switches)
        try:
            yield
        finally:
            db.rules = before


def record_scan(db: Database, switches: str, moment: str) -> None:
    """Record that the rules in force have seen every item as it was at this moment."""
    db.set_meta(SCAN_KEY, jsons.encode({"rules": name_rules(switches), "at": moment}, ascii_only=True))


@lru_cache(maxsize=256)
def _said_of_write(details: str) -> tuple[str, bool]:
    """By which rules a write was judged, and whether it left the texts as they were; many writes say the same."""
    said = items.load_object(details)
    return str(said.get("rules", "")), said.get("reason") in _SAME_TEXT


def unseen_items(
    db: Database, rules: str, given: "Sequence[MemoryItem | ItemOutline]", *, past: bool = False
) -> tuple[set[str], dict[str, bool]]:
    """Which of these items the rules have not seen as they are now; and the note of those that pass, to add to.

    past  they are earlier states, which no rules may have seen
    """
    passed: dict[str, bool] = db.cached(f"judged by {rules}")
    if past:
        return {item.id for item in given}, passed
    note = items.load_object(db.meta(SCAN_KEY))
    scanned = str(note.get("at", "")) if note.get("rules") == rules else ""
    asked = [item for item in given if item.id not in passed]
    # The last write of each item that says what its texts are: the rules, the hash of the content, and when.
    last: dict[str, tuple[str, str, str] | None] = db.cached("last writes")
    unknown = [item.id for item in asked if item.id not in last]
    db.cached("last writes", len(unknown))
    last.update(dict.fromkeys(unknown))
    for item_id, details, content_hash, when in db.rows(
        # The plus: by item, never by action, which would read the events of the whole store.
        "SELECT item_id, details_json, content_hash, timestamp FROM memory_events "
        "WHERE +action = 'write' AND item_id IN (?*) ORDER BY rowid",
        keys=unknown,
    ):
        (judged_by, same_text), before = _said_of_write(details), last[item_id]
        if before is None or before[1] != content_hash or not same_text:
            last[item_id] = judged_by, str(content_hash), str(when)
    for item in asked:
        write = last[item.id]
        judged_by, content_hash, when = write or ("", item.content_hash, item.updated_at)
        if content_hash == item.content_hash and (when <= scanned or (write is not None and judged_by == rules)):
            passed[item.id] = True
    db.cached(f"judged by {rules}", len(asked))
    return {item.id for item in asked if item.id not in passed}, passed
