"""By which rules the items of a store were judged: reading asks it, so as to judge again only what today's rules have
not seen.

The event of a governed write names the rules that judged what was written. A note in `schema_meta` says which rules saw
the whole store, and when. What another program wrote, or a program past the gate of policy, no rules have seen.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memctl.annotations import Any
from memctl.store.database import Database, batches, placeholders
from memctl.store.items import rows
from memctl.types import MemoryItem

#: The note: the rules that saw everything, and when.
KEY = "memctl_scanned"
#: Reasons of writes that leave an item's texts as they were judged.
_SAME_TEXT = ("archive", "merge", "promote", "release", "restore", "supersede")


def word(switches: str) -> str:
    """The name of the rules in force: their version, and what `MemoryPolicy.switches` says of a project's own part."""
    from memctl.policy.version import RULES_VERSION

    return f"{RULES_VERSION} {switches}".strip()


@contextmanager
def by(db: Database, rules: str) -> Iterator[None]:
    """Within it, the events of writes name the rules ("" for none) that judged what is written."""
    before, db.rules = db.rules, rules
    try:
        yield
    finally:
        db.rules = before


def note_all(db: Database, rules: str, moment: str) -> None:
    """Record that these rules have seen every item as it was at this moment."""
    db.run(
        "INSERT INTO schema_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (KEY, json.dumps({"rules": rules, "at": moment})),
    )


def unseen(db: Database, rules: str, items: Sequence[MemoryItem]) -> set[str]:
    """Which of these items the rules have not seen as they are now."""
    note = rows.load_json(db.meta(KEY))
    known = isinstance(note, dict) and note.get("rules") == rules
    scanned = str(note.get("at", "")) if isinstance(note, dict) and known else ""
    written = _last_writes(db, [item.id for item in items])
    return {item.id for item in items if not _seen(item, rules, scanned, written.get(item.id))}


#: The last write of an item: the rules that judged it, the hash of the content, and when.
_Write = tuple[str, str, str]


def _seen(item: MemoryItem, rules: str, scanned: str, last: _Write | None) -> bool:
    if last is None:
        return item.updated_at <= scanned
    judged_by, content_hash, when = last
    return content_hash == item.content_hash and (judged_by == rules or when <= scanned)


def _last_writes(db: Database, item_ids: list[str]) -> dict[str, _Write]:
    """The newest event of each item that says what its texts are."""
    known: dict[str, _Write | None] = db.cached("last writes")
    unknown = [item_id for item_id in item_ids if item_id not in known]
    if unknown:
        db.cached("last writes", len(unknown))
        known.update(dict.fromkeys(unknown))
        known.update(_read_last_writes(db, unknown))
    return {item_id: last for item_id in item_ids if (last := known[item_id]) is not None}


def _read_last_writes(db: Database, item_ids: list[str]) -> dict[str, _Write]:
    out: dict[str, _Write] = {}
    for batch in batches(item_ids):
        for item_id, details, content_hash, when in db.rows(
            "SELECT item_id, details_json, content_hash, timestamp FROM memory_events "
            # The plus: by item, never by action, which would read the events of the whole store.
            f"WHERE +action = 'write' AND item_id IN ({placeholders(batch)}) ORDER BY rowid",
            batch,
        ):
            found: Any = rows.load_json(details)
            said = found if isinstance(found, dict) else {}
            if said.get("reason") in _SAME_TEXT and out.get(item_id, ("", "", ""))[1] == content_hash:
                continue
            out[item_id] = str(said.get("rules", "")), str(content_hash), str(when)
    return out
