"""All that a store holds: counting it, and emptying it."""

from contextlib import suppress

from memctl import errors
from memctl.annotations import Any
from memctl.store.database import Database, index_state
from memctl.store.search import rebuild

#: In `schema_meta`: when the store was last checked and found sound, and when it was last backed up.
VERIFIED_KEY, BACKUP_KEY = "memctl_verified_at", "memctl_backup_at"
#: What is counted: the first columns of the index `memctl_items_counts`.
_KIND = "archived, scope, type, tier, injectable"
#: The tables a reset empties; mounts only when asked.
_CLEARED_TABLES = (
    "memory_items", "memory_revisions", "memory_embeddings", "memory_links", "memory_palace_locations",
    "memory_events", "corpus_hashes", "corpus_metadata", "memory_sources", "memory_withheld", "memory_files",
    "memory_gone_files", "memory_unread_files", "memory_sessions", "memory_turns", "memory_importance",
    "memory_undo", "memory_runs", "memory_retention", "memory_tombstones", "memory_citations",
    "memory_conflicts", "memory_session_items", "memory_session_links", "memory_corpus_files",
    "memory_transcripts", "memory_turn_origins",
    "memory_usefulness",
)  # fmt: skip


def _within(scopes: tuple[str, ...] | None, corpus_id: str | None) -> tuple[str, list[str]]:
    """The condition on items of these scopes and that corpus, and its values."""
    within, values = "", list[str]()
    if scopes is not None:
        within, values = f" AND scope IN ({', '.join('?' * len(scopes))})", list(scopes)
    if corpus_id is not None:
        within, values = f"{within} AND corpus_id = ?", [*values, corpus_id]
    return within, values


def measure_age(db: Database, scopes: tuple[str, ...] | None = None, corpus_id: str | None = None) -> dict[str, Any]:
    """When the oldest and the newest active item were made, and how many links begin at active items."""
    within, values = _within(scopes, corpus_id)
    active = f"i.archived = 0{within.replace(' AND ', ' AND +')}"
    oldest, newest = (  # from the ends of the index `memctl_items_made`
        db.value(f"SELECT created_at FROM memory_items AS i WHERE {active} ORDER BY created_at {way} LIMIT 1", values)
        for way in ("ASC", "DESC")
    )
    sql = "SELECT count(*) FROM memory_links AS l CROSS JOIN memory_items AS i ON i.id = l.src_id WHERE "
    return {"oldest": oldest, "newest": newest, "links": int(db.value(sql + active, values))}


def count_contents(db: Database, scopes: tuple[str, ...] | None = None, corpus_id: str | None = None) -> dict[str, Any]:
    """Counts of active items by tier, type and scope, and the state of the full-text index (documented keys).

    With `scopes` or a corpus, items, events and embeddings are those of these scopes and that corpus alone.
    """
    within, values = _within(scopes, corpus_id)
    of_these = f" WHERE item_id IN (SELECT id FROM memory_items WHERE 1{within})" if within else ""

    by: dict[str, dict[str, int]] = {"tier": {}, "type": {}, "scope": {}}
    active = archived = withheld = 0
    # The plus keeps other indexes out.
    kinds = _count_kinds(db, within.replace(" AND ", " AND +"), values) if within else _count_all_kinds(db)
    for is_archived, scope, type_, tier, injectable, count in kinds:
        if is_archived:
            archived += count
            continue
        active, withheld = active + count, withheld + count * (injectable == 0)
        for column, value in (("tier", tier), ("type", type_), ("scope", scope)):
            by[column][value] = by[column].get(value, 0) + count
    tokenizer = rebuild.tokenizer_of(db) if "memory_items_fts" in db.tables else None
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


def _count_kinds(db: Database, within: str, values: list[Any]) -> list[Any]:
    """The kinds of items and how many there are of each; all is read from `memctl_items_counts`, in its order."""
    return db.rows(f"SELECT {_KIND}, count(*) FROM memory_items WHERE 1{within} GROUP BY {_KIND}", values)


def _count_all_kinds(db: Database) -> list[Any]:
    """The same of the whole store, where most items are of one kind: it is inferred from the sum, not counted.

    It stands in the middle of the index; what stands before and after it is counted.
    """
    with db.snapshot():
        total = int(db.value("SELECT count(*) FROM memory_items"))
        middle = db.row(f"SELECT {_KIND} FROM memory_items ORDER BY {_KIND} LIMIT 1 OFFSET ?", [total // 2])
        if middle is None:
            return []
        counts = []
        for depth, column in enumerate(_KIND.split(", ")):
            alike = "".join(f" AND {equal} = ?" for equal in _KIND.split(", ")[:depth])
            for other in "<>":
                counts += _count_kinds(db, f"{alike} AND {column} {other} ?", list(middle[: depth + 1]))
    return [*counts, (*middle, total - sum(row[-1] for row in counts))]


def reset_store(db: Database, *, preserve_mounts: bool, dry_run: bool) -> dict[str, Any]:
    """Delete every item and what hangs on it; returns how many rows of each table went (or would go)."""
    from memctl.store import remotes
    from memctl.store.items import events  # what only counts needs none of these
    from memctl.store.journal import for_good
    from memctl.store.purge import erase_traces, overwrite_deleted

    if not dry_run:
        overwrite_deleted(db)
    tables = [*_CLEARED_TABLES, *([] if preserve_mounts else ["memory_mounts", "memory_mount_options"])]
    with db.snapshot() if dry_run else for_good(db, ()):
        counts: dict[str, Any] = {t: int(db.value(f"SELECT count(*) FROM {t}")) for t in tables}
        if not dry_run:
            if remotes.are_there(db):  # no purge: others keep what they have
                remotes.drop_all(db)
            for table in tables:
                db.run(f"DELETE FROM {table}")
            cleared = [t for t, n in counts.items() if n]
            events.log(db, "reset", None, {"preserve_mounts": preserve_mounts, "tables_cleared": cleared})
    if not dry_run:
        with suppress(errors.MemctlError):  # another reader may hold the file
            erase_traces(db)
            db.run("VACUUM")  # which may renumber rows
            rebuild.repair_index(db, None)
            db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return {"dry_run": dry_run} | counts
