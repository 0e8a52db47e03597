"""Bringing a file up to date: numbered steps, each recorded in the transaction that made it.

A step is never edited once released; a new one is appended. Steps only add: what older memctl and RAGIX expect stays.
"""

from memctl import errors, ids
from memctl.annotations import NamedTuple
from memctl.store import schema
from memctl.store.database import STATE, Database
from memctl.store.search import rebuild


class Migration(NamedTuple):
    """One numbered step: the statements of `script`."""

    number: int
    name: str
    script: str


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


def migrate(db: Database, tokenizer: str | None = None) -> None:
    """Apply what is pending. Raises NotADatabase for another program's file, StoreTooNew for a newer one."""
    if not is_current(db):
        for table in LATER_COLUMNS:  # of a handle that has read the file as it was
            db.run(f"DROP VIEW IF EXISTS temp.{table}")
        for step in MIGRATIONS:
            with db.atomic():
                if step in pending_steps(db):  # else another process did it while we waited
                    _apply(db, step, tokenizer)
        db.look()
    if rebuild.repair_index(db, tokenizer):
        version = db.schema_version()
        if db.value(f"SELECT schema_version FROM {STATE}") != version:  # so that nobody compares the triggers again
            with db.atomic():
                db.run(f"UPDATE {STATE} SET schema_version = ?", (version,))


def is_current(db: Database) -> bool:
    """Whether a file has had every step. Raises NotADatabase for another program's, StoreTooNew for a newer one."""
    db.look()
    if not db.tables:
        return False
    if "memory_items" not in db.tables:
        raise errors.NotADatabase(path=db.path, reason="it is a database of another program")
    version = db.meta("schema_version")
    if version is not None and (not version.isdigit() or int(version) > schema.SCHEMA_VERSION):
        raise errors.StoreTooNew(path=db.path, found=version, known=_KNOWN)
    if "memctl_migrations" in db.tables:
        found = db.value("SELECT max(number) FROM memctl_migrations") or 0
        if found > MIGRATIONS[-1].number:
            raise errors.StoreTooNew(path=db.path, found=f"{schema.SCHEMA_VERSION}.{found}", known=_KNOWN)
        if found == MIGRATIONS[-1].number:
            return True
    _refuse_foreign(db)
    return False


def pending_steps(db: Database) -> list[Migration]:
    """The steps that a file has not had yet."""
    if not db.value("SELECT 1 FROM sqlite_master WHERE name = 'memctl_migrations'"):
        return list(MIGRATIONS)
    applied = {row[0] for row in db.rows("SELECT number FROM memctl_migrations")}
    return [step for step in MIGRATIONS if step.number not in applied]


def check_readable(db: Database) -> None:
    """Refuse a newer file; make an older one readable by views that add what it lacks, without writing to it."""
    if is_current(db):
        return
    for table, columns in LATER_COLUMNS.items():
        present = columns_of(db, table)
        missing = {c: d for c, d in columns.items() if c not in present}
        if missing and present:
            # A temporary view of the same name stands before the table; `rowid` is named so that the index still joins.
            extra = ", ".join(f"{'1' if 'DEFAULT 1' in d else 'NULL'} AS {c}" for c, d in missing.items())
            db.run("PRAGMA query_only = OFF")
            db.run(f"CREATE TEMP VIEW {table} AS SELECT rowid AS rowid, *, {extra} FROM main.{table}")
            db.run("PRAGMA query_only = ON")


def _refuse_foreign(db: Database) -> None:
    """Refuse a file whose tables have our names and not our columns: another program's, which we must not change."""
    import sqlite3

    ours = sqlite3.connect(":memory:")
    try:
        ours.executescript(schema.SHARED_TABLES)
        for (table,) in ours.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
            wanted = [row[1] for row in ours.execute(f"PRAGMA table_info({table})")]
            present = columns_of(db, table) | LATER_COLUMNS.get(table, {}).keys()
            if table in db.tables and (missing := [name for name in wanted if name not in present]):
                reason = f"its table {table} is another program's, without {', '.join(missing)}"
                raise errors.NotADatabase(path=db.path, reason=reason)
    finally:
        ours.close()


def _apply(db: Database, step: Migration, tokenizer: str | None) -> None:
    if step.number == 1:  # add the columns that a file older than version 2 lacks
        for table, columns in LATER_COLUMNS.items():
            present = columns_of(db, table)
            for column, definition in columns.items():
                if present and column not in present:
                    db.run(f"ALTER TABLE {table} ADD COLUMN {column} {definition}")
    for statement in schema.STATEMENT.findall(step.script):
        db.run(statement)
    if step.number == 1:
        for key, value in (("created_by", "memctl"), ("created_at", ids.timestamp_sql())):
            db.run("INSERT INTO schema_meta(key, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, value))
        db.set_meta("schema_version", str(schema.SCHEMA_VERSION))
    if step.number in (1, 6, 8):
        rebuild.repair_index(db, tokenizer)
    db.run(
        "INSERT INTO memctl_migrations(number, name, applied_at) VALUES (?, ?, ?)",
        (step.number, step.name, ids.timestamp()),
    )


def columns_of(db: Database, table: str) -> set[str]:
    """The names of a table's columns in the file; none where there is no such table."""
    return {row[1] for row in db.rows(f"PRAGMA main.table_info({table})")}


MIGRATIONS = (
    # Everything older memctl and RAGIX know.
    Migration(1, "shared and side tables", schema.SHARED_TABLES + schema.SIDE_TABLES),
    # Passages of bulk ingest keep their first revision in the row until somebody changes it.
    Migration(2, "first revisions of ingested passages", schema.REVISION_TRIGGERS),
    # Change times, files that are gone for now, the scope of a mount.
    Migration(3, "synced folders", schema.FOLDER_TABLES),
    # Conversations with their turns, and saved views.
    Migration(4, "sessions and workspaces", schema.SESSION_TABLES),
    # How much an item matters.
    Migration(5, "importance of items", schema.IMPORTANCE_TABLE),
    # A full-text index that knows whether it fits the items; an older one is rebuilt.
    Migration(6, "state of the full-text index, indexes to list and count", schema.READING_INDEXES),
    # The newest statements among many passages.
    Migration(7, "index of statements", schema.STATEMENT_INDEX),
    # Chinese, Japanese and Korean are indexed by pairs of characters: the index is made anew.
    Migration(8, "pairs of characters in the full-text index", schema.FORGET_INDEX),
    # What happens to items after they are stored, and what each run changed.
    Migration(9, "life of items", schema.LIFE_TABLES),
    # What statements cite, and whether it is still so; which contradict each other.
    Migration(10, "knowledge", schema.KNOWLEDGE_TABLES),
    # How sessions hang together, what was said in each, what was taken in of transcripts, what a document set held,
    # and what came of what a session was told.
    Migration(11, "sessions", schema.THREAD_TABLES + schema.USEFULNESS_TABLE),
    # The few items that a search may not show.
    Migration(12, "index of doubtful items", schema.DOUBTFUL_INDEX),
)
#: What this memctl knows, as it names versions to people.
_KNOWN = f"{schema.SCHEMA_VERSION}.{MIGRATIONS[-1].number}"
