"""By which rules the items of a store were judged: reading asks it, and judges again only what today's rules have not
seen.

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
SCAN_KEY = "memctl_scanned"
#: Reasons of writes that leave an item's texts as they were judged.
_SAME_TEXT = ("archive", "merge", "promote", "release", "restore", "supersede")
#: The last write of an item: the rules that judged it, the hash of the content, and when.
_LastWrite = tuple[str, str, str]


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
    db.run(
        "INSERT INTO schema_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (SCAN_KEY, json.dumps({"rules": name_rules(switches), "at": moment})),
    )


def unseen_items(
    db: Database, rules: str, items: Sequence[MemoryItem], *, past: bool = False
) -> tuple[set[str], dict[str, bool]]:
    """Which of these items the rules have not seen as they are now; and the note of those that pass, to add to.

    past  they are states of old, which no rules may have seen
    """
    passed: dict[str, bool] = db.cached(f"judged by {rules}")
    if past:
        return {item.id for item in items}, passed
    note = rows.load_json(db.meta(SCAN_KEY))
    scanned = str(note.get("at", "")) if isinstance(note, dict) and note.get("rules") == rules else ""
    asked = [item for item in items if item.id not in passed]
    written = _last_writes(db, [item.id for item in asked])
    unseen = set()
    for item in asked:
        last = written.get(item.id)
        if last is None:
            seen = item.updated_at <= scanned
        else:
            judged_by, content_hash, when = last
            seen = content_hash == item.content_hash and (judged_by == rules or when <= scanned)
        if seen:
            passed[item.id] = True
        else:
            unseen.add(item.id)
    db.cached(f"judged by {rules}", len(asked))
    return unseen, passed


def _last_writes(db: Database, item_ids: list[str]) -> dict[str, _LastWrite]:
    """The newest event of each item that says what its texts are."""
    known: dict[str, _LastWrite | None] = db.cached("last writes")
    unknown = [item_id for item_id in item_ids if item_id not in known]
    if unknown:
        db.cached("last writes", len(unknown))
        known.update(dict.fromkeys(unknown))
    for batch in batches(unknown):
        for item_id, details, content_hash, when in db.rows(
            "SELECT item_id, details_json, content_hash, timestamp FROM memory_events "
            # The plus: by item, never by action, which would read the events of the whole store.
            f"WHERE +action = 'write' AND item_id IN ({placeholders(batch)}) ORDER BY rowid",
            batch,
        ):
            found: Any = rows.load_json(details)
            said = found if isinstance(found, dict) else {}
            before = known[item_id]
            if said.get("reason") in _SAME_TEXT and before is not None and before[1] == content_hash:
                continue
            known[item_id] = str(said.get("rules", "")), str(content_hash), str(when)
    return {item_id: last for item_id in item_ids if (last := known[item_id]) is not None}
