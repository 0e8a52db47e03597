"""What the store holds, in numbers."""

from typing import Any

from memctl.store import migrate
from memctl.store.connect import Database
from memctl.store.documents.sources import marks
from memctl.store.search import fts


def stats(db: Database, scopes: tuple[str, ...] | None = None, corpus_id: str | None = None) -> dict[str, Any]:
    """Counts of active items by tier, type and scope, and the state of the full-text index (documented keys).

    With `scopes` or a corpus, items, events and embeddings are those of these scopes and that corpus alone.
    """
    inside = _inside(scopes, corpus_id)
    active = _count(db, "archived = 0", inside)
    tokenizer = migrate.fts_tokenizer(db) if db.has("memory_items_fts") else None
    stored = db.meta("fts_tokenizer")
    return {
        "total_items": active,
        "by_tier": _by(db, "tier", inside),
        "by_type": _by(db, "type", inside),
        "events_count": _count_of(db, "memory_events", "item_id", inside),
        "embeddings_count": _count_of(db, "memory_embeddings", "item_id", inside),
        "fts5_available": tokenizer is not None,
        "fts_tokenizer": tokenizer,
        "fts_tokenizer_stored": stored or None,
        "fts_indexed_at": db.meta("fts_indexed_at"),
        "fts_reindex_count": int(db.meta("fts_reindex_count") or 0),
        "fts_tokenizer_mismatch": bool(stored) and tokenizer is not None and stored != tokenizer,
        "fts_state": fts.state(db),
        "by_scope": _by(db, "scope", inside),
        "archived_items": _count(db, "1", inside) - active,
        "withheld_items": _count(db, "archived = 0 AND injectable = 0", inside),
        "files": _count_of(db, "corpus_hashes", "", ("", ())),
    }


Inside = tuple[str, tuple[str, ...]]


def _inside(scopes: tuple[str, ...] | None, corpus_id: str | None) -> Inside:
    """A further condition on memory_items, and its values; empty where everything counts."""
    more, values = "", list[str]()
    if scopes is not None:
        more, values = f" AND scope IN ({marks(list(scopes))})", list(scopes)
    if corpus_id is not None:
        more, values = f"{more} AND corpus_id = ?", [*values, corpus_id]
    return more, tuple(values)


def _count(db: Database, where: str, inside: Inside) -> int:
    return int(db.value(f"SELECT count(*) FROM memory_items WHERE {where}{inside[0]}", inside[1]))


def _count_of(db: Database, table: str, key: str, inside: Inside) -> int:
    """Rows of another table; with a condition only those that belong to an item within it."""
    more, values = inside
    members = f" WHERE {key} IN (SELECT id FROM memory_items WHERE 1{more})" if more else ""
    return int(db.value(f"SELECT count(*) FROM {table}{members}", values))


def _by(db: Database, column: str, inside: Inside) -> dict[str, int]:
    more, values = inside
    return dict(
        db.rows(
            f"SELECT {column}, count(*) FROM memory_items WHERE archived = 0{more} GROUP BY {column} ORDER BY {column}",
            values,
        )
    )
