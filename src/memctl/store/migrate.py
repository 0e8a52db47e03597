"""Bringing a file up to date: numbered steps, each recorded in the transaction that made it.

A step is never edited once released; a new one is appended. Steps only add: what older memctl and RAGIX expect stays.
"""

from collections.abc import Callable
from typing import NamedTuple

from memctl import errors, ids
from memctl.store import schema
from memctl.store.connect import Database, translated
from memctl.store.search import fts

#: Told how many rows of how many are done.
Progress = Callable[[int, int], None]
#: So many rows are indexed by one statement: about a tenth of a second.
FILL = 2000


class Migration(NamedTuple):
    """One numbered step."""

    number: int
    name: str
    apply: Callable[[Database, str | None], None]


#: Columns that older files lack: table -> column -> definition.
LATER_COLUMNS = {
    "memory_items": {
        "rule_id": "TEXT",
        "corpus_id": "TEXT",
        "injectable": "INTEGER NOT NULL DEFAULT 1",
    },
    "corpus_hashes": {
        "mount_id": "TEXT",
        "rel_path": "TEXT",
        "ext": "TEXT",
        "size_bytes": "INTEGER",
        "mtime_epoch": "INTEGER",
        "lang_hint": "TEXT",
    },
}


def up(db: Database, tokenizer: str | None = None) -> None:
    """Apply what is pending. Raises NotADatabase for another program's file, StoreTooNew for a newer one."""
    check_writable(db)
    if not current(db):
        for table in LATER_COLUMNS:  # of a handle that has read the file as it was
            db.run(f"DROP VIEW IF EXISTS temp.{table}")
        for step in MIGRATIONS:
            _apply(db, step, tokenizer)
        db.look()
    if ensure_fts(db, tokenizer):
        fts.note_schema(db)


def check_writable(db: Database) -> None:
    """Refuse another program's file and a newer one, before anything is changed."""
    db.look()
    if db.tables and not db.has("memory_items"):
        raise errors.NotADatabase(path=db.path, reason="it is a database of another program")
    _refuse_newer(db)
    if db.tables and not current(db):
        _refuse_foreign(db)


def current(db: Database) -> bool:
    """Whether every step has been applied. Needs `db.look()` before."""
    if not db.has("memctl_migrations"):
        return False
    found = db.value("SELECT max(number) FROM memctl_migrations") or 0
    if found > MIGRATIONS[-1].number:
        raise errors.StoreTooNew(path=db.path, found=f"{schema.SCHEMA_VERSION}.{found}", known=_known())
    return bool(found == MIGRATIONS[-1].number)


def pending(db: Database) -> list[str]:
    """The names of the steps that a file has not had yet."""
    return [step.name for step in MIGRATIONS if not _applied(db, step.number)]


def check_readable(db: Database) -> None:
    """Refuse a newer file; make an older one readable by views that add what it lacks, without writing to it."""
    _refuse_newer(db)
    if current(db):
        return
    _refuse_foreign(db)
    for table, columns in LATER_COLUMNS.items():
        missing = {c: d for c, d in columns.items() if c not in _columns(db, table)}
        if missing and db.has(table):
            _view(db, table, missing)


def _view(db: Database, table: str, missing: dict[str, str]) -> None:
    # A temporary view of the same name stands before the table; `rowid` is named so that the index still joins.
    extra = ", ".join(f"{'1' if 'DEFAULT 1' in d else 'NULL'} AS {c}" for c, d in missing.items())
    db.run("PRAGMA query_only = OFF")
    db.run(f"CREATE TEMP VIEW {table} AS SELECT rowid AS rowid, *, {extra} FROM main.{table}")
    db.run("PRAGMA query_only = ON")


def _refuse_newer(db: Database) -> None:
    version = db.meta("schema_version")
    if version is not None and (not version.isdigit() or int(version) > schema.SCHEMA_VERSION):
        raise errors.StoreTooNew(path=db.path, found=version, known=_known())


def _refuse_foreign(db: Database) -> None:
    """Refuse a file whose tables have our names and not our columns: another program's, which we must not change."""
    import sqlite3

    ours = sqlite3.connect(":memory:")
    try:
        ours.executescript(schema.SHARED_TABLES)
        for (table,) in ours.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
            wanted = [row[1] for row in ours.execute(f"PRAGMA table_info({table})")]
            present = _columns(db, table) | LATER_COLUMNS.get(table, {}).keys()
            if db.has(table) and (missing := [name for name in wanted if name not in present]):
                reason = f"its table {table} is another program's, without {', '.join(missing)}"
                raise errors.NotADatabase(path=db.path, reason=reason)
    finally:
        ours.close()


def _known() -> str:
    return f"{schema.SCHEMA_VERSION}.{MIGRATIONS[-1].number}"


def _apply(db: Database, step: Migration, tokenizer: str | None) -> None:
    with db.atomic():
        if _applied(db, step.number):  # another process did it while we waited
            return
        step.apply(db, tokenizer)
        db.run(
            "INSERT INTO memctl_migrations(number, name, applied_at) VALUES (?, ?, ?)",
            (step.number, step.name, ids.timestamp()),
        )


def _applied(db: Database, number: int) -> bool:
    if not db.value("SELECT 1 FROM sqlite_master WHERE name = 'memctl_migrations'"):
        return False
    return db.value("SELECT 1 FROM memctl_migrations WHERE number = ?", (number,)) is not None


def _columns(db: Database, table: str) -> set[str]:
    return {row[1] for row in db.rows(f"PRAGMA table_info({table})")}


def _run_script(db: Database, script: str) -> None:
    for statement in schema.statements(script):
        db.run(statement)


# --- the steps ---------------------------------------------------------------------------------------------------


def _shared_tables(db: Database, tokenizer: str | None) -> None:
    """Everything older memctl and RAGIX know, completed where their file is older than version 2."""
    for table, columns in LATER_COLUMNS.items():
        present = _columns(db, table)
        for column, definition in columns.items():
            if present and column not in present:
                db.run(f"ALTER TABLE {table} ADD COLUMN {column} {definition}")
    _run_script(db, schema.SHARED_TABLES + schema.SIDE_TABLES)
    for key, value in (("created_by", "memctl"), ("created_at", ids.timestamp_sql())):
        db.run("INSERT OR IGNORE INTO schema_meta(key, value) VALUES (?, ?)", (key, value))
    _set_meta(db, "schema_version", str(schema.SCHEMA_VERSION))
    ensure_fts(db, tokenizer)


def _first_revisions(db: Database, _tokenizer: str | None) -> None:
    """Passages of bulk ingest keep their first revision in the row until somebody changes it."""
    _run_script(db, schema.REVISION_TRIGGERS)


def _folders(db: Database, _tokenizer: str | None) -> None:
    """Synced folders: change times, files that are gone for now, the scope of a mount."""
    _run_script(db, schema.FOLDER_TABLES)


def _sessions(db: Database, _tokenizer: str | None) -> None:
    """Conversations with their turns, and saved views."""
    _run_script(db, schema.SESSION_TABLES)


def _importance(db: Database, _tokenizer: str | None) -> None:
    """How much an item matters."""
    _run_script(db, schema.IMPORTANCE_TABLE)


def _truthful_index(db: Database, tokenizer: str | None) -> None:
    """A full-text index that knows whether it fits the items (an older one is made anew); indexes to list and count."""
    _run_script(db, schema.READING_INDEXES)
    ensure_fts(db, tokenizer)


MIGRATIONS = (
    Migration(1, "shared and side tables", _shared_tables),
    Migration(2, "first revisions of ingested passages", _first_revisions),
    Migration(3, "synced folders", _folders),
    Migration(4, "sessions and workspaces", _sessions),
    Migration(5, "importance of items", _importance),
    Migration(6, "state of the full-text index, indexes to list and count", _truthful_index),
)


# --- the full-text table -------------------------------------------------------------------------------------------


def ensure_fts(db: Database, tokenizer: str | None, progress: Progress | None = None) -> bool:
    """Make the full-text index if it is missing, and anew if it cannot be believed; False when there is no FTS5.

    To be called after whatever may have renumbered the items, such as VACUUM. Where nothing is amiss it costs a look.
    """
    if fts.believed(db):
        return True
    with db.atomic():
        db.look()
        if fts.believed(db):  # another process did it while we waited
            return True
        known, held = db.has(fts.STATE), fts_tokenizer(db)
        if not _make_fts(db, held or tokenizer, progress):
            return False
        count = int(db.value("SELECT count(*) FROM memory_items"))
        if held is not None and count:
            why = "did not fit the items any more" if known else "was kept by an older program"
            db.tell(f"The full-text index {why} and was made anew: {count} items.")
    return True


def fts_tokenizer(db: Database) -> str | None:
    """The tokenizer the full-text table was made with; None when there is no such table."""
    import re

    sql = db.value("SELECT sql FROM sqlite_master WHERE name = 'memory_items_fts'")
    if sql is None:
        return None
    found = re.search(r"tokenize\s*=\s*['\"]([^'\"]*)['\"]", sql)
    return found.group(1) if found else "unicode61"


def _set_meta(db: Database, key: str, value: str) -> None:
    db.run("INSERT INTO schema_meta(key, value) VALUES (?, ?) "
           "ON CONFLICT(key) DO UPDATE SET value = excluded.value", (key, value))  # fmt: skip


def _fill_fts(db: Database, progress: Progress | None) -> None:
    """Index every item, some at a time: FTS5's own `rebuild` is one long call, deaf to ^C and silent."""
    count = int(db.value("SELECT count(*) FROM memory_items"))
    done, last = 0, -(2**63)
    while done < count:
        if progress is not None:
            progress(done, count)
        until = db.value(
            "SELECT max(rowid) FROM (SELECT rowid FROM memory_items WHERE rowid > ? ORDER BY rowid LIMIT ?)",
            (last, FILL),
        )
        db.run(
            "INSERT INTO memory_items_fts(rowid, title, content, tags, entities) "
            "SELECT rowid, title, content, tags, entities FROM memory_items WHERE rowid > ? AND rowid <= ?",
            (last, until),
        )
        done, last = done + FILL, until


def rebuild_fts(db: Database, tokenizer: str | None = None, progress: Progress | None = None) -> int:
    """Make the index anew, with another tokenizer if one is named; the rows indexed, or -1 without FTS5.

    All in one transaction: interrupted, or given a name SQLite does not know (TokenizerInvalid), it changes nothing.
    `progress` is told how many rows of how many are indexed.
    """
    wanted = schema.tokenizer(tokenizer) if tokenizer is not None else None
    with db.atomic():
        if not _make_fts(db, wanted or fts_tokenizer(db), progress):
            return -1
        times = int(db.meta("fts_reindex_count") or 0) + 1
        _set_meta(db, "fts_reindex_count", str(times))
        return int(db.value("SELECT count(*) FROM memory_items"))


def _make_fts(db: Database, tokenizer: str | None, progress: Progress | None) -> bool:
    """Table, entries and triggers of the index, all anew; False when SQLite has no FTS5."""
    held = fts_tokenizer(db)
    for name in schema.FTS_TRIGGER_NAMES:
        db.run(f"DROP TRIGGER IF EXISTS {name}")
    if held is not None and (held != (tokenizer or held) or not db.has(f"{fts.TABLE}_docsize")):
        db.run(f"DROP TABLE {fts.TABLE}")
        held = None
    if held is not None:
        db.run(f"INSERT INTO {fts.TABLE}({fts.TABLE}) VALUES ('delete-all')")
    elif not _create_fts(db, tokenizer):
        return False
    _fill_fts(db, progress)
    _run_script(db, schema.FTS_STATE + schema.FTS_TRIGGERS)
    _set_meta(db, "fts_indexed_at", ids.timestamp_sql())
    _set_meta(db, "fts_tokenizer", fts_tokenizer(db) or "")
    fts.note_sound(db)
    db.look()
    return True


def _create_fts(db: Database, tokenizer: str | None) -> bool:
    """Make an empty table; False when SQLite has no FTS5: then search reads the text. Raises TokenizerInvalid."""
    import sqlite3

    try:
        db.conn.execute(schema.fts_table(schema.tokenizer(tokenizer)))
    except sqlite3.Error as exc:
        if "no such module" in str(exc):
            return False
        if "tokenizer" in str(exc) or "parse error" in str(exc):
            raise errors.TokenizerInvalid(tokenizer=tokenizer) from exc
        raise translated(exc, db.path) from exc
    return True
