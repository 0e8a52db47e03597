"""Emptying a store for good."""

from typing import Any

from memctl import errors
from memctl.store import migrate
from memctl.store.connect import Database
from memctl.store.items import events

#: The tables a reset empties; mounts only when asked.
CLEARED = (
    "memory_items", "memory_revisions", "memory_embeddings", "memory_links", "memory_palace_locations",
    "memory_events", "corpus_hashes", "corpus_metadata", "memory_sources", "memory_withheld", "memory_files",
    "memory_gone_files", "memory_unread_files", "memory_sessions", "memory_turns", "memory_importance",
)  # fmt: skip


def reset(db: Database, *, preserve_mounts: bool, dry_run: bool) -> dict[str, Any]:
    """Delete every item and what hangs on it; returns how many rows of each table went (or would go)."""
    tables = [*CLEARED, *([] if preserve_mounts else ["memory_mounts", "memory_mount_options"])]
    with db.atomic():
        counts: dict[str, Any] = {t: int(db.value(f"SELECT count(*) FROM {t}")) for t in tables}
        if not dry_run:
            for table in tables:
                db.run(f"DELETE FROM {table}")
            cleared = [t for t, n in counts.items() if n]
            events.log(db, "reset", None, {"preserve_mounts": preserve_mounts, "tables_cleared": cleared})
    if not dry_run:
        _shrink(db)
    return {"dry_run": dry_run} | counts


def _shrink(db: Database) -> None:
    # Best effort: another reader may hold the file. VACUUM may renumber rows.
    try:
        db.run("VACUUM")
        migrate.ensure_fts(db, None)
        db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    except errors.MemctlError:
        return
