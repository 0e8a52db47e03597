"""All that a store holds: counting it, and emptying it."""

from contextlib import suppress

from memctl import errors
from memctl.annotations import Any
from memctl.store.database import Database, index_state
from memctl.store.items import events
from memctl.store.journal import for_good
from memctl.store.quarantine import erase_traces, overwrite_deleted
from memctl.store.search import fts

#: In `schema_meta`: when the store was last checked and found sound, and when it was last backed up.
VERIFIED_KEY, BACKUP_KEY = "memctl_verified_at", "memctl_backup_at"
#: The tables a reset empties; mounts only when asked.
_CLEARED_TABLES = (
    "memory_items", "memory_revisions", "memory_embeddings", "memory_links", "memory_palace_locations",
    "memory_events", "corpus_hashes", "corpus_metadata", "memory_sources", "memory_withheld", "memory_files",
    "memory_gone_files", "memory_unread_files", "memory_sessions", "memory_turns", "memory_importance",
    "memory_undo", "memory_runs", "memory_retention", "memory_tombstones", "memory_citations",
    "memory_conflicts",
)  # fmt: skip


def count_contents(db: Database, scopes: tuple[str, ...] | None = None, corpus_id: str | None = None) -> dict[str, Any]:
    """Counts of active items by tier, type and scope, and the state of the full-text index (documented keys).

    With `scopes` or a corpus, items, events and embeddings are those of these scopes and that corpus alone.
    """
    within, values = "", list[str]()
    if scopes is not None:
        within, values = f" AND scope IN ({', '.join('?' * len(scopes))})", list(scopes)
    if corpus_id is not None:
        within, values = f"{within} AND corpus_id = ?", [*values, corpus_id]
    of_these = f" WHERE item_id IN (SELECT id FROM memory_items WHERE 1{within})" if within else ""

    by: dict[str, dict[str, int]] = {"tier": {}, "type": {}, "scope": {}}
    active = archived = withheld = 0
    for is_archived, scope, type_, tier, injectable, count in db.rows(
        # All is read from the index `memctl_items_counts`, in its order; the plus keeps other indexes out.
        "SELECT archived, scope, type, tier, injectable, count(*) FROM memory_items "
        f"WHERE 1{within.replace(' AND ', ' AND +')} GROUP BY archived, scope, type, tier, injectable",
        values,
    ):
        if is_archived:
            archived += count
            continue
        active, withheld = active + count, withheld + count * (injectable == 0)
        for column, value in (("tier", tier), ("type", type_), ("scope", scope)):
            by[column][value] = by[column].get(value, 0) + count
    tokenizer = fts.tokenizer_of(db) if "memory_items_fts" in db.tables else None
    stored = db.meta("fts_tokenizer")
    in_order = {column: dict(sorted(counts.items(), key=lambda one: str(one[0]))) for column, counts in by.items()}
    return {
        "total_items": active,
        "by_tier": in_order["tier"],
        "by_type": in_order["type"],
        "events_count": int(db.value(f"SELECT count(*) FROM memory_events{of_these}", values)),
        "embeddings_count": int(db.value(f"SELECT count(*) FROM memory_embeddings{of_these}", values)),
        "fts5_available": tokenizer is not None,
        "fts_tokenizer": tokenizer,
        "fts_tokenizer_stored": stored or None,
        "fts_indexed_at": db.meta("fts_indexed_at"),
        "fts_reindex_count": int(db.meta("fts_reindex_count") or 0),
        "fts_tokenizer_mismatch": bool(stored) and tokenizer is not None and stored != tokenizer,
        "fts_state": index_state(db),
        "by_scope": in_order["scope"],
        "archived_items": archived,
        "withheld_items": withheld,
        "files": int(db.value("SELECT count(*) FROM corpus_hashes")),
    }


def reset_store(db: Database, *, preserve_mounts: bool, dry_run: bool) -> dict[str, Any]:
    """Delete every item and what hangs on it; returns how many rows of each table went (or would go)."""
    if not dry_run:
        overwrite_deleted(db)
    tables = [*_CLEARED_TABLES, *([] if preserve_mounts else ["memory_mounts", "memory_mount_options"])]
    with db.snapshot() if dry_run else for_good(db, ()):
        counts: dict[str, Any] = {t: int(db.value(f"SELECT count(*) FROM {t}")) for t in tables}
        if not dry_run:
            for table in tables:
                db.run(f"DELETE FROM {table}")
            cleared = [t for t, n in counts.items() if n]
            events.log(db, "reset", None, {"preserve_mounts": preserve_mounts, "tables_cleared": cleared})
    if not dry_run:
        with suppress(errors.MemctlError):  # another reader may hold the file
            erase_traces(db)
            db.run("VACUUM")  # which may renumber rows
            fts.repair_index(db, None)
            db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return {"dry_run": dry_run} | counts
