"""A whole store judged by today's rules: what older rules let in is redacted or quarantined, and can be put back."""

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl import errors, ids
from memctl.item_policy import ItemChange, ItemPolicy
from memctl.store import purge, quarantine, undo
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.store.journal import for_good
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

_BATCH = 500  # items that are in memory at once
#: The fields that an undo puts back.
_FIELDS = (
    "title", "content", "tags", "entities", "links", "provenance", "scope", "rule_id", "corpus_id", "superseded_by",
    "injectable",
)  # fmt: skip


class StoreScan(NamedTuple):
    """How many items were judged, what is to be changed, and which paths of files and folders hold a secret."""

    items: int
    changes: list[ItemChange]
    paths: list[corpus.SecretPath]


def judge_store(db: Database, policy: "MemoryPolicy", progress: Callable[[int], None] = lambda _: None) -> StoreScan:
    """Judge every item, archived ones too, as the passage of a document; nothing is written.

    progress  is told how many have been judged
    """
    every = items.iterate(db, Filters(archived=True))
    judge = ItemPolicy(policy)
    changes: list[ItemChange] = []
    count = 0
    while batch := list(islice(every, _BATCH)):
        count += len(batch)
        found, places = quarantine.standings(db, batch), passages.get_positions(db, [item.id for item in batch])
        judged = (judge.redact(item, found[item.id], places.get(item.id)) for item in batch)
        changes += [change for change in judged if change is not None]
        progress(count)
    return StoreScan(count, changes, corpus.find_secret_paths(db, lambda path: policy.for_path(path).redact(path)))


def apply_changes(db: Database, changes: Sequence[ItemChange]) -> str:
    """Make the changes in one transaction; the name of the run, which undoes them.

    An item that somebody changed since it was judged is left alone: it passed today's rules when it was written.
    """
    run = ids.new_id("SCAN")
    if db.journal is not None:
        db.journal.id = run
    purge.overwrite_deleted(db)
    with db.atomic():
        why = items.withheld_reasons(db, [change.id for change in changes])
        for change in changes:
            item = items.get(db, change.id)
            if item is None or item.updated_at != change.seen:
                continue
            # The newest revision must be the item as it is, for the undo: other programs' items may have none.
            revisions = items.revisions(db, item.id)
            if not revisions or _undone_fields(revisions[-1]["snapshot"]) != _undone_fields(item.to_dict()):
                items.update(db, item.id, {"updated_at": item.updated_at}, "scan")
            now = items.update(db, change.id, change.fields, run)
            if change.released_from is not None and now is not None:
                quarantine.record_release(db, change.id, run, change.released_from, now.content_hash)
            if change.place is not None:
                passages.set_positions(db, {change.id: change.place})
            if change.held_by:
                items.set_withheld(db, {change.id: ("policy", change.held_by)})
            events.log(
                db, "scan", change.id,
                {"run": run, "redacted": change.redacted, "quarantined": bool(change.held_by),
                 "rules": list(change.rules), "withheld": why.get(change.id, "")},
            )  # fmt: skip
    return run


def hide_paths(db: Database, paths: Sequence[corpus.SecretPath]) -> None:
    """Take the paths that hold a secret out of the store, in one transaction; there is no way back."""
    if paths:
        purge.overwrite_deleted(db)
        corpus.hide_paths(db, paths)
        purge.erase_traces(db)


def undo_run(db: Database, run: str) -> tuple[list[str], list[str]] | None:
    """Put back what a run changed, in one transaction; None when there was no such run, or it is undone already.

    The ids of the items that are as they were, and of those left alone because they were changed or removed since.
    """
    done = _run_events(db, run)
    if not done:
        return None
    try:
        found = undo.find_run(db, run)
    except errors.RunNotFound:
        return _undo_by_revisions(db, run, done)
    with db.atomic():
        undone = undo.undo(db, [found])
        put_back = [item_id for item_id, _ in done if item_id in {*undone.restored}]
        kept = [item_id for item_id, _ in done if item_id not in {*undone.restored}]
        if put_back:
            events.log(db, "scan-undo", None, {"run": run, "restored": len(put_back), "kept": len(kept)})
    return put_back, kept


def _undo_by_revisions(db: Database, run: str, done: list[tuple[str, dict[str, Any]]]) -> tuple[list[str], list[str]]:
    """The same for a run of an earlier version, which kept no journal: from the revisions before it."""
    restored, kept = [], []
    with db.atomic():
        for item_id, details in done:
            revisions = items.revisions(db, item_id)
            before = _undone_fields(revisions[-2]["snapshot"]) if len(revisions) > 1 else {}
            if not before or revisions[-1]["reason"] != run:
                kept.append(item_id)
                continue
            items.update(db, item_id, before, f"undo {run}")
            if details.get("quarantined"):
                items.set_withheld(db, {item_id: (str(details.get("withheld") or ""), ())}, anew=True)
            restored.append(item_id)
        events.log(db, "scan-undo", None, {"run": run, "restored": len(restored), "kept": len(kept)})
    return restored, kept


def forget_run(db: Database, policy: "MemoryPolicy", run: str) -> list[str] | None:
    """Blot out of the history what a run blotted out of the items, so that the file holds it no more.

    The ids of the items whose history was changed; None as for `undo_run`, which is not possible afterwards.
    """
    done = _run_events(db, run)
    if not done:
        return None
    purge.overwrite_deleted(db)
    judge, changed = ItemPolicy(policy), []
    with for_good(db, [item_id for item_id, _ in done], forgotten=len(done)):
        found = quarantine.standings(db, items.get_many(db, [item_id for item_id, _ in done]))
        for item_id, _ in done:
            cleaned = []
            for revision in items.revisions(db, item_id):
                state = revision["snapshot"]
                past = MemoryItem.from_dict(state) if isinstance(state, dict) and state else None
                change = judge.redact(past, found.get(item_id, quarantine.Standing())) if past else None
                if change is not None and change.redacted:
                    texts = {name: value for name, value in change.fields.items() if name != "injectable"}
                    cleaned.append((json.dumps(state | texts, ensure_ascii=False), revision["revision_id"]))
            items.rewrite_revisions(db, cleaned)
            changed += [item_id] if cleaned else []
        events.log(db, "scan-forget", None, {"run": run, "items": len(changed)})
    purge.erase_traces(db)
    return changed


def _undone_fields(snapshot: Any) -> dict[str, Any]:
    """Of a revision what an undo puts back; nothing when the revision says nothing."""
    return {name: snapshot.get(name) for name in _FIELDS} if isinstance(snapshot, dict) and snapshot else {}


def _run_events(db: Database, run: str) -> list[tuple[str, dict[str, Any]]]:
    """What a run did to which items; nothing when it was undone or made final."""
    found = events.events_of_run(db, run, ("scan", "scan-undo", "scan-forget"))
    return [] if any(e.action != "scan" for e in found) else [(e.item_id or "", e.details) for e in found]
