"""All that a store holds: counted, and deleted."""

from typing import Any

from memctl import errors
from memctl.store.database import Database, placeholders
from memctl.store.items import events
from memctl.store.search import fts


def count_contents(db: Database, scopes: tuple[str, ...] | None = None, corpus_id: str | None = None) -> dict[str, Any]:
    """Counts of active items by tier, type and scope, and the state of the full-text index (documented keys).

    With `scopes` or a corpus, items, events and embeddings are those of these scopes and that corpus alone.
    """
    inside = _condition(scopes, corpus_id)
    active = _count(db, "archived = 0", inside)
    tokenizer = fts.tokenizer_of(db) if db.has("memory_items_fts") else None
    stored = db.meta("fts_tokenizer")
    return {
        "total_items": active,
        "by_tier": _count_by(db, "tier", inside),
        "by_type": _count_by(db, "type", inside),
        "events_count": _count_of(db, "memory_events", "item_id", inside),
        "embeddings_count": _count_of(db, "memory_embeddings", "item_id", inside),
        "fts5_available": tokenizer is not None,
        "fts_tokenizer": tokenizer,
        "fts_tokenizer_stored": stored or None,
        "fts_indexed_at": db.meta("fts_indexed_at"),
        "fts_reindex_count": int(db.meta("fts_reindex_count") or 0),
        "fts_tokenizer_mismatch": bool(stored) and tokenizer is not None and stored != tokenizer,
        "fts_state": fts.index_state(db),
        "by_scope": _count_by(db, "scope", inside),
        "archived_items": _count(db, "1", inside) - active,
        "withheld_items": _count(db, "archived = 0 AND injectable = 0", inside),
        "files": _count_of(db, "corpus_hashes", "", ("", ())),
    }


_Condition = tuple[str, tuple[str, ...]]


def _condition(scopes: tuple[str, ...] | None, corpus_id: str | None) -> _Condition:
    """A further condition on memory_items, and its values; empty where everything counts."""
    more, values = "", list[str]()
    if scopes is not None:
        more, values = f" AND scope IN ({placeholders(list(scopes))})", list(scopes)
    if corpus_id is not None:
        more, values = f"{more} AND corpus_id = ?", [*values, corpus_id]
    return more, tuple(values)


def _count(db: Database, where: str, inside: _Condition) -> int:
    return int(db.value(f"SELECT count(*) FROM memory_items WHERE {where}{inside[0]}", inside[1]))


def _count_of(db: Database, table: str, key: str, inside: _Condition) -> int:
    """Rows of another table; with a condition only those that belong to an item within it."""
    more, values = inside
    members = f" WHERE {key} IN (SELECT id FROM memory_items WHERE 1{more})" if more else ""
    return int(db.value(f"SELECT count(*) FROM {table}{members}", values))


def _count_by(db: Database, column: str, inside: _Condition) -> dict[str, int]:
    more, values = inside
    return dict(
        db.rows(
            f"SELECT {column}, count(*) FROM memory_items WHERE archived = 0{more} GROUP BY {column} ORDER BY {column}",
            values,
        )
    )


# --- reset -----------------------------------------------------------------------------------------------------------


#: The tables a reset empties; mounts only when asked.
_CLEARED_TABLES = (
    "memory_items", "memory_revisions", "memory_embeddings", "memory_links", "memory_palace_locations",
    "memory_events", "corpus_hashes", "corpus_metadata", "memory_sources", "memory_withheld", "memory_files",
    "memory_gone_files", "memory_unread_files", "memory_sessions", "memory_turns", "memory_importance",
)  # fmt: skip


def reset_store(db: Database, *, preserve_mounts: bool, dry_run: bool) -> dict[str, Any]:
    """Delete every item and what hangs on it; returns how many rows of each table went (or would go)."""
    tables = [*_CLEARED_TABLES, *([] if preserve_mounts else ["memory_mounts", "memory_mount_options"])]
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
        fts.ensure_index(db, None)
        db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    except errors.MemctlError:
        return
