"""What the store holds, in numbers."""

from typing import Any

from memctl.store import migrate
from memctl.store.connect import Database


def stats(db: Database) -> dict[str, Any]:
    """Counts of active items by tier, type and scope, and the state of the full-text index (documented keys)."""
    tokenizer = migrate.fts_tokenizer(db) if db.has("memory_items_fts") else None
    stored = db.meta("fts_tokenizer")
    return {
        "total_items": _count(db, "memory_items WHERE archived = 0"),
        "by_tier": _by(db, "tier"),
        "by_type": _by(db, "type"),
        "events_count": _count(db, "memory_events"),
        "embeddings_count": _count(db, "memory_embeddings"),
        "fts5_available": tokenizer is not None,
        "fts_tokenizer": tokenizer,
        "fts_tokenizer_stored": stored or None,
        "fts_indexed_at": db.meta("fts_indexed_at"),
        "fts_reindex_count": int(db.meta("fts_reindex_count") or 0),
        "fts_tokenizer_mismatch": bool(stored) and tokenizer is not None and stored != tokenizer,
        "by_scope": _by(db, "scope"),
        "archived_items": _count(db, "memory_items WHERE archived <> 0"),
        "withheld_items": _count(db, "memory_items WHERE archived = 0 AND injectable = 0"),
        "files": _count(db, "corpus_hashes"),
    }


def _count(db: Database, what: str) -> int:
    return int(db.value(f"SELECT count(*) FROM {what}"))


def _by(db: Database, column: str) -> dict[str, int]:
    return dict(
        db.rows(f"SELECT {column}, count(*) FROM memory_items WHERE archived = 0 GROUP BY {column} ORDER BY {column}")
    )
