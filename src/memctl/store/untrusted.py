"""A store that was found and is not trusted: read as it lies on the disk, without what it says of itself.

It is opened immutable, so SQLite plays back no journal, reads no log, and makes no file beside it. Temporary views of
this connection stand before its tables, as in `then`. They show every item as a statement of somebody unknown: short
term, unverified, of ordinary confidence and importance, never used. The notes by which a store says that rules have
seen its items, or that a person has released them, are not shown, nor are its vectors and its mounts.
"""

import os
import re
from typing import NamedTuple

from memctl import errors
from memctl.store import connect
from memctl.store.database import LIMIT_LENGTH, Database
from memctl.store.items import items

#: Steps of SQLite's machine after which a query is ended: some 20 seconds. What an honest store needs is far below.
_STEPS, _STEP_OPCODES = 4000, 1_000_000
#: Bytes of one cell or row at most: no honest store holds more than a passage in one.
CELL_BYTES = 2 << 20
#: The full-text table as memctl and RAGIX make it.
_INDEX = (
    r"create virtual table \"?memory_items_fts\"? using fts5\(title,content,tags,entities,"
    r"content=['\"]?memory_items['\"]?,content_rowid=['\"]?rowid['\"]?(,tokenize=['\"][a-z0-9_. -]+['\"])?\)"
)
#: Tables that show nothing.
_HIDDEN_TABLES = (
    "memory_citations",
    "memory_conflicts",
    "memory_corpus_files",
    "memory_embeddings",
    "memory_events",
    "memory_importance",
    "memory_mounts",
    "memory_mount_options",
    "memory_retention",
    "memory_revisions",
    "memory_runs",
    "memory_session_items",
    "memory_session_links",
    "memory_sessions",
    "memory_tombstones",
    "memory_transcripts",
    "memory_turn_origins",
    "memory_turns",
    "memory_undo",
    "memory_usefulness",
    "memory_workspaces",
    "memory_workspace_options",
)
#: What is shown in place of what an item says of itself.
_SHOWN_INSTEAD = {
    "tier": "'stm'",
    "validation": "CASE WHEN {0} IN ('contested', 'retracted') THEN {0} ELSE 'unverified' END",
    "confidence": "min(CAST({0} AS REAL), 0.5)",
    "usage_count": "0",
    "last_used_at": "NULL",
}
#: What older files lack.
_MISSING_COLUMNS = {"injectable": "1"}


def open_untrusted(path: str) -> Database:
    """Open a store of somebody else to read from. Raises what `connect.open_read` does, and StoreUnsafe."""
    from memctl.store import migrate

    db = open_raw(path)
    try:
        migrate.check_readable(db)
        db.run("PRAGMA query_only = OFF")
        there = {row[1] for row in db.rows("PRAGMA main.table_info(memory_items)")}
        shown = {name: _SHOWN_INSTEAD.get(name, "{0}").format(f"m.{name}") for name in there}
        columns = [f"{shown.get(name) or _MISSING_COLUMNS.get(name, 'NULL')} AS {name}" for name in items.COLUMNS]
        source = f"SELECT m.rowid AS rowid, {', '.join(columns)} FROM main.memory_items AS m"
        db.run("DROP VIEW IF EXISTS temp.memory_items")
        db.run(f"CREATE TEMP VIEW memory_items AS {source}")
        for table in _HIDDEN_TABLES:
            if table in db.tables:
                db.run(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE 0")
        if "schema_meta" in db.tables:
            db.run(
                "CREATE TEMP VIEW schema_meta AS SELECT key, value FROM main.schema_meta "
                "WHERE key IN ('schema_version', 'created_by', 'created_at', 'fts_tokenizer', 'fts_indexed_at')"
            )
        db.run("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


def open_raw(path: str) -> Database:
    """The same without the views: for a look at what it says of itself."""
    if os.path.islink(path):
        raise errors.StoreUnsafe(path=path, what="it is a link")
    db = connect.open_immutable(path)
    db.trusted = db.writable = False
    if hasattr(db.conn, "setlimit"):
        db.conn.setlimit(LIMIT_LENGTH, CELL_BYTES)
    left = iter(range(_STEPS))
    db.conn.set_progress_handler(lambda: next(left, None) is None, _STEP_OPCODES)
    try:
        db.run("PRAGMA temp_store = MEMORY")
        connect.check_schema(db)
        # No virtual tables but the full-text one as memctl and RAGIX make it, whatever its tokenizer.
        for name, sql in db.rows("SELECT name, sql FROM main.sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'"):
            plain = re.sub(r"\s*([(),=])\s*", r"\1", " ".join(str(sql).split()).lower())
            if name != "memory_items_fts" or not re.fullmatch(_INDEX, plain):
                raise connect.undeclared(db, "virtual table", name)
    except BaseException:
        db.close()
        raise
    return db


def recent_files(db: Database, most: int) -> list[tuple[object, ...]]:
    """Some files that a store knows: path, inode, and when content and file last changed, in nanoseconds."""
    if "ctime_ns" not in {row[1] for row in db.rows("PRAGMA main.table_info(memory_files)")}:
        return []
    return db.rows(
        "SELECT file_path, inode, mtime_ns, ctime_ns FROM memory_files ORDER BY ctime_ns DESC LIMIT ?", (most,)
    )


class StoreClaims(NamedTuple):
    """What a store says of itself, which counts when it is trusted."""

    items: int
    verified: int
    released: int
    mounts: list[str]


def read_claims(db: Database) -> StoreClaims:
    """What a store that was opened plainly says of itself."""
    verified = "SELECT count(*) FROM memory_items WHERE validation = 'verified' OR tier = 'ltm'"
    released = "SELECT count(*) FROM memory_events WHERE action = 'release'"
    mounts = db.rows("SELECT path FROM memory_mounts ORDER BY path") if "memory_mounts" in db.tables else []
    return StoreClaims(
        int(db.value("SELECT count(*) FROM memory_items")), int(db.value(verified)),
        int(db.value(released)) if "memory_events" in db.tables else 0, [str(path) for (path,) in mounts],
    )  # fmt: skip
