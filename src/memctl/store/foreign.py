"""Databases of other programs, and stores of other people, read to import from: a file that may mean harm.

It is opened immutable: SQLite plays back no journal and makes no file beside it. What its log (`-wal`) still holds is
part of it, so with one a private copy of both is read. Only plain tables are asked: what a view, a virtual table or a
computed column would run is refused.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memctl import errors
from memctl.store import connect, migrate
from memctl.store.database import LIMIT_LENGTH, Database
from memctl.store.items import items

#: Bytes of one cell or row at most, as of a line of an export.
_CELL_BYTES = 32 << 20
#: Copies of a file and its log that are tried, while another program writes them.
_ATTEMPTS = 3
_PLAIN = (
    "SELECT 1 FROM main.sqlite_master AS t WHERE t.type = 'table' AND t.name = ? AND t.sql NOT LIKE 'CREATE VIRTUAL%' "
    "AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name) AS c WHERE c.hidden IN (2, 3))"
)


@contextmanager
def open_foreign(path: str) -> Iterator[Database]:
    """A handle that reads an SQLite file. Raises what `connect.open_read` does, and StoreBusy."""
    connect.check_files(path)
    with _settled(path) as place:
        db = Database(place, "mode=ro&immutable=1")
        try:
            db.path = path
            db.writable = False
            db.run("PRAGMA query_only = ON")
            db.run("PRAGMA temp_store = MEMORY")
            if hasattr(db.conn, "setlimit"):
                db.conn.setlimit(LIMIT_LENGTH, _CELL_BYTES)
            db.look()
            yield db
        finally:
            db.close()


@contextmanager
def _settled(path: str) -> Iterator[str]:
    """A path under which the file is whole by itself: its own, or that of a copy into which its log was brought."""
    log = path + "-wal"
    if not (os.path.isfile(log) and os.path.getsize(log)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="memctl-") as folder:
        copy = os.path.join(folder, "copy.db")
        for attempt in range(1, _ATTEMPTS + 1):
            before = _state(path, log)
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy + "-wal")
            if _state(path, log) == before:
                break
            if attempt == _ATTEMPTS:
                raise errors.StoreBusy(path=path, seconds=0)
        whole = Database(copy)
        try:
            whole.path = path
            whole.run("PRAGMA wal_checkpoint(TRUNCATE)")
            whole.run("PRAGMA journal_mode = DELETE")
        finally:
            whole.close()
        yield copy


def _state(*paths: str) -> list[tuple[int, int]]:
    return [(info.st_size, info.st_mtime_ns) for info in map(os.stat, paths)]


def count_items(path: str) -> int | None:
    """How many items a database has, which may be anybody's and have that one table alone; None without any."""
    try:
        with open_foreign(path) as db:
            check_plain(db, "memory_items")
            return int(db.value("SELECT count(*) FROM memory_items"))
    except (errors.MemctlError, OSError):
        return None


def kind_of(db: Database) -> str:
    """Whose database it is, by its tables: `memctl` (and RAGIX), `rekal 1`, `rekal 3`, or "" for any other."""
    if "memory_items" in db.tables:
        return "memctl"
    if "memories" not in db.tables:
        return ""
    columns = migrate.columns_of(db, "memories")
    if not {"id", "content", "project", "tags", "created_at"} <= columns:
        return ""
    return "rekal 1" if "memory_type" in columns else "rekal 3"


def prepare_store(db: Database) -> None:
    """Make a store readable that may be older, without writing to it. Raises StoreUnsafe, StoreTooNew, NotADatabase."""
    connect.check_schema(db)
    ours = [name for name in db.tables if name.startswith(("memory_", "corpus_", "memctl_", "schema_meta"))]
    check_plain(db, *(name for name in ours if not name.startswith("memory_items_fts")))  # the full-text index is none
    migrate.check_readable(db)


@contextmanager
def open_store(path: str) -> Iterator[Database]:
    """A store of memctl or RAGIX to read beside one's own. Raises NotADatabase for another database, and as above."""
    with open_foreign(path) as db:
        if kind_of(db) != "memctl":
            raise errors.NotADatabase(path=path, reason="it is a database of another program")
        prepare_store(db)
        yield db


def check_plain(db: Database, *tables: str) -> None:
    """Raise StoreUnsafe unless these are plain tables."""
    for table in sorted(tables):
        if db.value(_PLAIN, (table,)) is None:
            raise errors.StoreUnsafe(path=db.path, what=f"{table} in it is no plain table")


# --- rekal -----------------------------------------------------------------------------------------------------------


_MEMORY = ("id", "content", "project", "tags", "created_at", "updated_at")
_MEMORY_1 = ("memory_type", "conversation_id", "access_count", "last_accessed_at", "expires_at")


def rekal_memories(db: Database) -> Iterator[dict[str, Any]]:
    """The memories of a rekal database, oldest first: their columns, and None for those that its version has not."""
    check_plain(db, "memories")
    present = migrate.columns_of(db, "memories")
    names = (*_MEMORY, *_MEMORY_1)
    shown = [name if name in present else f"NULL AS {name}" for name in names]
    for row in db.each(f"SELECT {', '.join(shown)} FROM memories ORDER BY created_at, id"):
        found = dict(zip(names, row, strict=True))
        found["tags"] = items.load_strings(found["tags"])
        yield found


def rekal_links(db: Database) -> list[tuple[Any, Any, Any]]:
    """Its links between memories: from, to, relation."""
    return _pairs(db, "memory_links")


def rekal_threads(db: Database) -> list[tuple[Any, Any, Any]]:
    """Its links between conversations: from, to, relation."""
    return _pairs(db, "conversation_links")


def rekal_conversations(db: Database) -> Iterator[dict[str, Any]]:
    """Its conversations, oldest first: id, title, project, started_at."""
    if "conversations" not in db.tables:
        return
    check_plain(db, "conversations")
    names = ("id", "title", "project", "started_at")
    for row in db.each(f"SELECT {', '.join(names)} FROM conversations ORDER BY started_at, id"):
        yield dict(zip(names, row, strict=True))


def _pairs(db: Database, table: str) -> list[tuple[Any, Any, Any]]:
    """A table of links, whose columns are called from_id or from, to_id or to, and relation."""
    if table not in db.tables:
        return []
    check_plain(db, table)
    names = [row[1] for row in db.rows(f"PRAGMA main.table_info({table})")]
    ends = [next((name for name in names if name.split("_")[0] == end), None) for end in ("from", "to")]
    if None in ends or "relation" not in names:
        return []
    columns = ", ".join(f'"{name}"' for name in (*ends, "relation"))
    return [tuple(row) for row in db.rows(f"SELECT {columns} FROM {table} ORDER BY {columns}")]
