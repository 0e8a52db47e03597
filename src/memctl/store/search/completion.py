"""Names that begin with what somebody has typed so far: scopes, tags, ids, mounts."""

from memctl.store.connect import Database
from memctl.store.filters import fold, folded

#: So many are offered at most; clients show no more than a hundred.
LIMIT = 100


def scopes(db: Database, start: str) -> list[str]:
    """Scopes with active items, those with most first."""
    return _column(
        db,
        "SELECT scope FROM memory_items WHERE archived = 0 AND substr(scope, 1, length(?)) = ? "
        "GROUP BY scope ORDER BY count(*) DESC, scope LIMIT ?",
        start,
    )


def ids(db: Database, start: str) -> list[str]:
    """Ids of active items, the latest change first."""
    return _column(
        db,
        "SELECT id FROM memory_items WHERE archived = 0 AND substr(id, 1, length(?)) = ? "
        "ORDER BY updated_at DESC, id LIMIT ?",
        start,
    )


def tags(db: Database, start: str) -> list[str]:
    """Tags of active items, compared without case, those in most use first."""
    return _column(
        db,
        "SELECT tag.value FROM memory_items AS i, json_each(CASE WHEN json_valid(i.tags) THEN i.tags ELSE '[]' END) "
        f"AS tag WHERE i.archived = 0 AND substr({folded('tag.value')}, 1, length(?)) = ? "
        "GROUP BY tag.value ORDER BY count(*) DESC, tag.value LIMIT ?",
        fold(start),
    )


def mounts(db: Database, start: str) -> list[str]:
    """Mounted folders, by name where they have one, else by id."""
    return _column(
        db,
        "SELECT word FROM (SELECT coalesce(nullif(name, ''), mount_id) AS word FROM memory_mounts) "
        "WHERE substr(word, 1, length(?)) = ? ORDER BY word LIMIT ?",
        start,
    )


def _column(db: Database, sql: str, start: str) -> list[str]:
    return [str(row[0]) for row in db.rows(sql, (start, start, LIMIT))]
