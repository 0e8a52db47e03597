"""Whether a store is sound: its pages and index, what stands beside items, hashes, folders; and mending it."""

import os
import sqlite3
from collections.abc import Callable, Iterator

from memctl import errors, ids
from memctl.annotations import Literal, NamedTuple
from memctl.names import TIERS, VALIDATIONS
from memctl.store import connect, migrate, schema
from memctl.store.database import BATCH, FTS, Database, index_state
from memctl.store.search.rebuild import rebuild_index, tokenizer_of
from memctl.text.query import PAIRED, POINTS

#: What SQLite says of damaged pages, this many lines of it.
_LINES = 10
#: Tables whose rows stand beside an item, and the column that names it.
_BESIDE = (
    ("memory_revisions", "item_id"), ("memory_embeddings", "item_id"), ("memory_palace_locations", "item_id"),
    ("memory_sources", "item_id"), ("memory_withheld", "item_id"), ("memory_importance", "item_id"),
    ("memory_retention", "item_id"), ("memory_citations", "item_id"), ("memory_links", "src_id"),
    ("memory_links", "dst_id"), ("memory_conflicts", "a_id"),
    ("memory_conflicts", "b_id"), ("memory_session_items", "item_id"), ("memory_usefulness", "item_id"),
)  # fmt: skip
#: Tables whose rows stand beside a session, and the column that names it.
_OF_SESSIONS = (
    ("memory_turns", "session_id"), ("memory_session_items", "session_id"), ("memory_session_links", "src_id"),
    ("memory_session_links", "dst_id"),
)  # fmt: skip


class Check(NamedTuple):
    """One thing that was looked at.

    status   pass, warn (it works, but), or fail
    detail   a number or word for programs
    message  one line for people
    mend     what `doctor --fix` does about it, if it can do anything
    """

    name: str
    status: Literal["pass", "warn", "fail"]
    detail: str
    message: str
    mend: Callable[[Database], object] | None = None


def check_store(db: Database) -> list[Check]:
    """Look at a whole store; nothing is changed. A damaged one is only asked what it can still say."""
    pages = check_pages(db)
    if pages.status == "fail":
        return [pages]
    looks = (_check_index, _check_beside, _check_hashes, _check_values, _check_files, _check_mounts, _check_others)
    return [pages, *(look(db) for look in looks)]


def check_pages(db: Database) -> Check:
    """Whether SQLite can read every page, and finds every row in the indexes."""
    try:
        said = [str(row[0]) for row in db.rows(f"PRAGMA integrity_check({_LINES})")]
    except errors.MemctlError as exc:
        said = [exc.message]
    if said == ["ok"]:
        return Check("integrity_check", "pass", "ok", "Every page of the file is sound")
    message = f"The file is damaged: {said[0]}" if said else "The file is damaged"
    return Check(
        "integrity_check", "fail", "; ".join(said), f"{message}; memctl salvage FILE NEW reads what can be read"
    )


def has_fts5() -> bool:
    """Whether this SQLite has full-text indexes."""
    db = Database(connect.MEMORY, "")
    try:
        db.run("CREATE VIRTUAL TABLE t USING fts5(x)")
    except errors.MemctlError:
        return False
    finally:
        db.close()
    return True


def sqlite_version() -> str:
    """The version of SQLite that this Python uses."""
    return sqlite3.sqlite_version


def journal_mode(db: Database) -> str:
    """How SQLite writes to the file: wal, delete …"""
    return str(db.value("PRAGMA journal_mode"))


def note_time(db: Database, key: str) -> None:
    """Write down that something was done now, on a handle that reads, too; a read-only store keeps nothing."""
    try:
        with db.briefly_writable(), db.atomic(0.5):
            db.set_meta(key, ids.timestamp())
    except errors.MemctlError:
        pass


# --- the index -------------------------------------------------------------------------------------------------------


def _check_index(db: Database) -> Check:
    state = index_state(db)
    if state == "none":
        return Check("fts_index", "warn", "none", "There is no full-text index: searches read the text", rebuild_index)
    if state == "unknown":
        message = "Nobody knows whether the full-text index says what the items say: another program keeps it"
        return Check("fts_index", "warn", state, message, rebuild_index)
    if state == "sound":
        try:
            state = "sound" if _fits(db) else "unsound"
        except (errors.StoreReadOnly, errors.StoreBusy) as exc:
            return Check("fts_index", "warn", "unchecked", f"The full-text index could not be checked: {exc.message}")
    if state == "sound":
        return Check("fts_index", "pass", "ok", "The full-text index says what the items say")
    return Check("fts_index", "fail", state, "The full-text index does not say what the items say", rebuild_index)


def _fits(db: Database) -> bool:
    """Whether the index holds exactly the words of the items."""
    with db.briefly_writable(), db.atomic(connect.LOCK_SECONDS):
        try:
            db.run(f"INSERT INTO {FTS}({FTS}) VALUES ('integrity-check')")
            if db.value(
                f"SELECT 1 FROM memory_items WHERE title || content || tags GLOB '*[{PAIRED}{POINTS}]*' LIMIT 1"
            ):
                return _fits_anew(db)
            db.run(f"INSERT INTO {FTS}({FTS}, rank) VALUES ('integrity-check', 1)")
        except errors.StoreCorrupt:
            return False
        return True


def _fits_anew(db: Database) -> bool:
    """The same for an index that also holds pairs of characters, which SQLite's own check knows nothing of."""
    db.run(f"CREATE VIRTUAL TABLE temp.memctl_fresh USING fts5(a, b, c, d, content='', tokenize='{tokenizer_of(db)}')")
    try:
        db.run(
            "INSERT INTO temp.memctl_fresh(rowid, a, b, c, d) "
            f"SELECT i.rowid, {schema.indexed_columns('i')} FROM memory_items AS i"
        )
        db.run("CREATE VIRTUAL TABLE temp.memctl_held USING fts5vocab('main', 'memory_items_fts', 'row')")
        db.run("CREATE VIRTUAL TABLE temp.memctl_meant USING fts5vocab('temp', 'memctl_fresh', 'row')")
        pairs = (("memctl_held", "memctl_meant", "*"), ("memory_items_fts_docsize", "memctl_fresh_docsize", "id, sz"))
        return not any(
            db.value(f"SELECT 1 FROM (SELECT {what} FROM {a} EXCEPT SELECT {what} FROM {b}) LIMIT 1")
            for one, other, what in pairs
            for a, b in ((one, other), (other, one))
        )
    finally:
        for name in ("memctl_held", "memctl_meant", "memctl_fresh"):
            db.run(f"DROP TABLE IF EXISTS temp.{name}")


# --- rows ------------------------------------------------------------------------------------------------------------


def _check_beside(db: Database) -> Check:
    counts = {(t, c): db.value(f"SELECT count(*) FROM {t} WHERE {lost}") for t, c, lost in _orphans(db)}
    found = {f"{table}.{column}": count for (table, column), count in counts.items() if count}
    if not found:
        return Check("orphans", "pass", "0", "Nothing stands beside an item or a session that is not there")
    said = ", ".join(f"{name} {count}" for name, count in found.items())
    message = f"Rows of items or sessions that are not there: {said}"
    return Check("orphans", "warn", str(sum(found.values())), message, _drop_orphans)


def _orphans(db: Database) -> Iterator[tuple[str, str, str]]:
    """Tables beside items and sessions: the column that names one, and what is true of rows whose one is missing."""
    for known, key, beside in (("memory_items", "id", _BESIDE), ("memory_sessions", "session_id", _OF_SESSIONS)):
        for table, column in beside:
            if {table, known} <= db.tables:
                yield table, column, f"NOT EXISTS (SELECT 1 FROM {known} AS k WHERE k.{key} = {table}.{column})"


def _drop_orphans(db: Database) -> None:
    for table, _, lost in _orphans(db):
        db.run(f"DELETE FROM {table} WHERE {lost}")


def _wrong_hashes(db: Database) -> list[tuple[str, str]]:
    """The items whose hash is not that of their content, and the right hash."""
    read = db.each("SELECT id, content_hash, CAST(content AS BLOB) FROM memory_items")
    right = ((item_id, said, f"sha256:{ids.bytes_hash(content or b'')}") for item_id, said, content in read)
    return [(item_id, digest) for item_id, said, digest in right if said != digest]


def _check_hashes(db: Database) -> Check:
    count = len(_wrong_hashes(db))
    if not count:
        return Check("content_hashes", "pass", "0", "Every item has the hash of its content")
    message = f"{count} item(s) have the hash of another content: it was changed past memctl, or has none"
    return Check("content_hashes", "warn", str(count), message, _set_hashes)


def _set_hashes(db: Database) -> None:
    rows = [(digest, item_id) for item_id, digest in _wrong_hashes(db)]
    for at in range(0, len(rows), BATCH):
        db.run_many("UPDATE memory_items SET content_hash = ? WHERE id = ?", rows[at : at + BATCH])


def _check_values(db: Database) -> Check:
    marks = ", ".join(f"'{word}'" for word in VALIDATIONS)
    tiers = ", ".join(f"'{word}'" for word in TIERS)
    count = db.value(
        f"SELECT count(*) FROM memory_items WHERE validation NOT IN ({marks}) OR tier NOT IN ({tiers}) "
        "OR NOT json_valid(tags) OR NOT json_valid(entities) OR NOT json_valid(links_json) "
        "OR NOT json_valid(provenance_json) OR confidence NOT BETWEEN 0 AND 1"
    )
    if not count:
        return Check("item_values", "pass", "0", "Every item has values that other programs can read")
    message = f"{count} item(s) have values that other programs cannot read"
    return Check("item_values", "warn", str(count), message)


# --- what stands around ----------------------------------------------------------------------------------------------


def _check_files(db: Database) -> Check:
    count = db.value(
        "SELECT count(DISTINCT c.file_path) FROM corpus_hashes AS c, "
        "json_each(iif(json_valid(c.item_ids), c.item_ids, '[]')) AS one "
        "WHERE NOT EXISTS (SELECT 1 FROM memory_items AS i WHERE i.id = one.value)"
    )
    if not count:
        return Check("documents", "pass", "0", "Every document has its passages")
    message = f"{count} document(s) lack passages; memctl sync --full, or ingest, reads them again"
    return Check("documents", "warn", str(count), message)


def _check_mounts(db: Database) -> Check:
    gone = [path for (path,) in db.rows("SELECT path FROM memory_mounts ORDER BY path") if not os.path.isdir(path)]
    if not gone:
        return Check("mounts", "pass", "0", "Every mounted folder is there")
    return Check("mounts", "warn", str(len(gone)), f"Mounted folders that are not there: {', '.join(gone)}")


#: How the tables of memctl and RAGIX are named.
_NAMES = ("memory_", "memctl_", "corpus_", "graph_", "sqlite_", "schema_meta")


def _check_others(db: Database) -> Check:
    """Tables of other programs, which are theirs; views and triggers keep a store from being opened at all."""
    others = sorted(name for name in db.tables if not name.startswith(_NAMES))
    if not others:
        return Check("foreign_tables", "pass", "0", "The store declares nothing but memctl's own")
    return Check("foreign_tables", "warn", str(len(others)), f"Tables of other programs: {', '.join(others)}")


def mend(db: Database, checks: list[Check]) -> list[str]:
    """Mend what can be, in one transaction; the names of the checks that were about it."""
    able = [check for check in checks if check.mend is not None]
    if able:
        migrate.migrate(db)
        with db.atomic():
            for check in able:
                if check.mend is not None:
                    check.mend(db)
    return [check.name for check in able]
