"""A whole store judged by today's rules: what older rules let in is redacted or quarantined, and can be put back."""

import json
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl import ids
from memctl.lifecycle.item_policy import Change, judged
from memctl.store import quarantine
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.filters import Filters
from memctl.store.items import events, items, rows
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

_BATCH = 500
#: The fields that an undo puts back.
_FIELDS = (
    "title", "content", "tags", "entities", "links", "provenance", "scope", "rule_id", "corpus_id", "superseded_by",
    "injectable",
)  # fmt: skip


class Checked(NamedTuple):
    """How many items were judged, what is to be changed, and which paths of files and folders hold a secret."""

    items: int
    changes: list[Change]
    paths: list[corpus.SecretPath]


class Undone(NamedTuple):
    """Ids of the items that are as they were, and of those left alone because they were changed or removed since."""

    restored: tuple[str, ...]
    kept: tuple[str, ...]


def check(db: Database, policy: "MemoryPolicy") -> Checked:
    """Judge every item, archived ones too, as the passage of a document; nothing is written."""
    every = items.iterate(db, Filters(archived=True))
    changes: list[Change] = []
    count = 0
    while batch := list(islice(every, _BATCH)):
        count += len(batch)
        holds, places = quarantine.holds(db, batch), passages.get_positions(db, [item.id for item in batch])
        for item in batch:
            change = judged(policy, item, holds.get(item.id), places.get(item.id))
            if change is not None:
                changes.append(change)
    hidden = corpus.find_secret_paths(db, lambda path: policy.at(path).redact(path))
    return Checked(count, changes, hidden)


def apply(db: Database, changes: Sequence[Change]) -> str:
    """Make the changes in one transaction; the name of the run, which undoes them.

    An item that somebody changed since it was judged is left alone: it passed today's rules when it was written.
    """
    run = ids.new_id("SCAN")
    quarantine.wipe_what_is_freed(db)
    with db.atomic():
        why = items.withheld_reasons(db, [change.id for change in changes])
        for change in changes:
            item = items.get(db, change.id)
            if item is None or item.updated_at != change.seen:
                continue
            _keep(db, item)
            now = items.update(db, change.id, change.fields, run)
            if change.freed is not None and now is not None:
                quarantine.note_release(db, change.id, run, change.freed, now.content_hash)
            if change.place is not None:
                passages.set_positions(db, {change.id: change.place})
            if change.quarantined:
                items.set_withheld(db, change.id, "policy", change.rules)
            events.log(
                db, "scan", change.id,
                {"run": run, "redacted": change.redacted, "quarantined": change.quarantined,
                 "rules": list(change.rules), "withheld": why.get(change.id, "")},
            )  # fmt: skip
    return run


def hide_paths(db: Database, checked: Checked) -> None:
    """Take the paths that hold a secret out of the store, in one transaction; there is no way back."""
    if checked.paths:
        quarantine.wipe_what_is_freed(db)
        corpus.hide_paths(db, checked.paths)
        quarantine.wipe_traces(db)


def _keep(db: Database, item: MemoryItem) -> None:
    """See to it that the newest revision is the item as it is: other programs' items may have none."""
    kept = items.revisions(db, item.id)
    if not kept or _state(kept[-1]["snapshot"]) != _state(item.to_dict()):
        items.update(db, item.id, {"updated_at": item.updated_at}, "scan")


def _state(snapshot: Any) -> dict[str, Any]:
    return {name: snapshot.get(name) for name in _FIELDS} if isinstance(snapshot, dict) else {}


def undo(db: Database, run: str) -> Undone | None:
    """Put back what a run changed, in one transaction; None when there was no such run, or it is undone already."""
    done = _events(db, run)
    if not done:
        return None
    restored, kept = [], []
    with db.atomic():
        for item_id, details in done:
            before = _before(items.revisions(db, item_id), run)
            if before is None:
                kept.append(item_id)
                continue
            items.update(db, item_id, _state(before), f"undo {run}")
            if details.get("quarantined"):
                db.run("DELETE FROM memory_withheld WHERE item_id = ?", (item_id,))
                if details.get("withheld"):
                    items.set_withheld(db, item_id, str(details["withheld"]))
            restored.append(item_id)
        events.log(db, "scan-undo", None, {"run": run, "restored": len(restored), "kept": len(kept)})
    return Undone(tuple(restored), tuple(kept))


def forget(db: Database, policy: "MemoryPolicy", run: str) -> list[str] | None:
    """Blot out of the history what a run blotted out of the items, so that the file holds it no more.

    The ids of the items whose history was changed; None as for `undo`, which is not possible afterwards.
    """
    done = _events(db, run)
    if not done:
        return None
    quarantine.wipe_what_is_freed(db)
    changed = []
    with db.atomic():
        holds = quarantine.holds(db, items.get_many(db, [item_id for item_id, _ in done]))
        for item_id, _ in done:
            cleaned = [
                (json.dumps(state, ensure_ascii=False), revision["revision_id"])
                for revision in items.revisions(db, item_id)
                if (state := _blotted(policy, revision["snapshot"], holds.get(item_id))) is not None
            ]
            db.run_many("UPDATE memory_revisions SET snapshot = ? WHERE revision_id = ?", cleaned)
            changed += [item_id] if cleaned else []
        events.log(db, "scan-forget", None, {"run": run, "items": len(changed)})
    quarantine.wipe_traces(db)
    return changed


def _blotted(policy: "MemoryPolicy", snapshot: Any, hold: quarantine.Hold | None) -> dict[str, Any] | None:
    """An old state without its secrets; None when it has none."""
    if not isinstance(snapshot, dict) or not snapshot:
        return None
    change = judged(policy, MemoryItem.from_dict(snapshot), hold)
    if change is None or not change.redacted:
        return None
    return snapshot | {name: value for name, value in change.fields.items() if name != "injectable"}


def _events(db: Database, run: str) -> list[tuple[str, dict[str, Any]]]:
    """What a run did to which items; nothing when it was undone or made final."""
    found = db.rows(
        "SELECT action, item_id, details_json FROM memory_events WHERE action IN ('scan', 'scan-undo', 'scan-forget') "
        "AND instr(details_json, ?) ORDER BY rowid",
        (json.dumps(run),),
    )
    if any(action != "scan" for action, _, _ in found):
        return []
    read = [(item_id, rows.load_json(details)) for _, item_id, details in found]
    return [(i, d) for i, d in read if isinstance(d, dict) and d.get("run") == run]


def _before(revisions: list[dict[str, Any]], run: str) -> dict[str, Any] | None:
    """The state before the run, if the run's is the newest."""
    if len(revisions) < 2 or revisions[-1]["reason"] != run:
        return None
    before = revisions[-2]["snapshot"]
    return before if isinstance(before, dict) and before else None
