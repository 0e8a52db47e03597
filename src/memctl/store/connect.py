"""Opening a store.

A read never writes: it opens the file `mode=rw` with `query_only` on (SQLite then tidies its WAL files away, which
`mode=ro` would leave behind), falls back to `mode=ro` and `immutable` on read-only files and folders, and a missing
file is an error. What only a write or an outdated file needs (`migrate`, `schema`, `create`) is imported then.
"""

import os
from collections.abc import Callable

from memctl import errors
from memctl.store import safety
from memctl.store.database import BUSY_SECONDS, CACHE_KIB, FAILURES, Database, translate
from memctl.store.search import fts

MEMORY = ":memory:"
#: A store in a file without a name, which is gone when it is closed, or with its process.
SCRATCH = ""

#: The newest migration's number, so that a read of an up-to-date file needs nothing of `migrate` (a test holds both).
MIGRATION = 7
SCHEMA_VERSION = "2"
_STATE = (
    "SELECT (SELECT max(number) FROM memctl_migrations), (SELECT value FROM schema_meta WHERE key = 'schema_version'), "
    "(SELECT value FROM schema_meta WHERE key = 'memctl_store_id')"
)


def open_read(path: str) -> Database:
    """Open an existing store to read from. Raises StoreMissing, NotADatabase, StoreUnsafe, StoreTooNew …"""
    _check_exists(path)
    safety.check_files(path)
    modes: tuple[str, ...] = ("mode=rw", "mode=ro", "mode=ro&immutable=1")
    if not (os.access(path, os.W_OK) and os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)):
        # With a WAL the newest writes are in it: ignoring it would answer wrongly. Without one nobody has the file
        # open: `mode=ro` would make a WAL of this user's and leave it there, in the owner's way.
        modes = modes[1:2] if os.path.exists(path + "-wal") else modes[2:]
    for mode in modes:
        db = _probe(path, mode)
        if db is not None:
            break
    else:
        raise errors.StoreUnreadable(path=path, reason=safety.why_unreadable(path))
    try:
        safety.check_schema(db)  # before any table is read: a view may stand for it
        state = db.row(_STATE) if db.has("memctl_migrations") else (None, None, db.meta("memctl_store_id"))
        db.store_id = str(state[2] or "")
        if tuple(state[:2]) != (MIGRATION, SCHEMA_VERSION):
            from memctl.store import migrate

            migrate.check_readable(db)
    except BaseException:
        db.close()
        raise
    return db


def open_immutable(path: str) -> Database:
    """Open a store as its file is, without its journal or log; no file is made or changed. Raises as `open_read`."""
    _check_exists(path)
    db = _probe(path, "mode=ro&immutable=1")
    if db is None:
        raise errors.StoreUnreadable(path=path, reason=safety.why_unreadable(path))
    return db


def _probe(path: str, mode: str) -> Database | None:
    """A handle that answers a first query in this mode; None when the mode does not work for this file."""
    conn = None
    try:
        conn = safety.connect(path, mode, BUSY_SECONDS)
        db = Database(conn, path, writable=mode == "mode=rw")
        conn.execute("PRAGMA query_only = ON")
        conn.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except FAILURES as exc:
        if conn is not None:
            conn.close()
        error = translate(exc, path)
        # A full disk has no room for the files that SQLite keeps beside a store while it is read.
        log = path + "-wal"
        full = isinstance(error, errors.StoreFull) and not (os.path.exists(log) and os.path.getsize(log))
        if full or isinstance(error, errors.StoreReadOnly):
            return None
        raise error from exc
    try:
        db.look()
        if not db.has("memory_items"):
            reason = "it is a database of another program" if db.tables else "it is empty"
            raise errors.NotADatabase(path=path, reason=reason)
    except BaseException:
        db.close()
        raise
    return db


def open_write(
    path: str,
    *,
    create: bool = False,
    tokenizer: str | None = None,
    wal: bool = True,
    timeout: float = BUSY_SECONDS,
    found: bool = False,
    store_id: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Database:
    """Open a store to write to, brought up to date by migrations; with `create`, made when it is missing.

    tokenizer  (a preset or a full string) for a store that is made now; an existing one keeps its own
    found      nobody named the place
    store_id   the id that an existing store must have: it is known by it. Raises StoreUntrusted
    say        takes what people must know, such as that the full-text index had to be made anew
    """
    from memctl.store import migrate

    if path in (MEMORY, SCRATCH):
        db = Database(safety.connect(path, "", timeout), path, writable=True)
        db.prepare_to_write(wal=False)
        migrate.migrate(db, tokenizer)
        return db
    if not os.path.exists(path):
        if not create:
            raise errors.StoreMissing(path=path)
        from memctl.store.create import create_store

        create_store(path, tokenizer, wal=wal, found=found)
    _check_exists(path)
    safety.check_files(path)
    if not os.access(path, os.W_OK):
        raise errors.StoreReadOnly(path=path, reason="the file is read-only")
    try:
        conn = safety.connect(path, "mode=rw", timeout)
    except FAILURES as exc:
        raise translate(exc, path) from exc
    db = Database(conn, path, writable=True)
    db.say = say
    try:
        safety.check_schema(db)
        migrate.check_writable(db)  # before the journal mode of somebody else's file is changed
        safety.check_triggers(db)
        if store_id is not None and store_id != (db.meta("memctl_store_id") or ""):
            raise errors.StoreUntrusted(path=path)
        db.prepare_to_write(wal=wal)
        migrate.migrate(db, tokenizer)
    except BaseException:
        db.close()
        raise
    return db


def _check_exists(path: str) -> None:
    if os.path.isdir(path):
        raise errors.NotADatabase(path=path, reason="it is a folder")
    if not os.path.exists(path):
        raise errors.StoreMissing(path=path)
    if not os.path.isfile(path):
        raise errors.NotADatabase(path=path, reason="it is not a regular file")


def ensure_index(db: Database) -> bool:
    """Make the full-text index anew unless it is sound, on a handle that reads, too; returns whether it now is.

    Outside of any transaction. It waits no longer than `fts.LOCK_SECONDS` for another writer. Where nothing can be
    done, the handle says once that searches read the text instead.
    """
    if fts.index_state(db) == "sound":
        return True
    if db.conn.in_transaction or (db.has(fts.STATE) and not db.has(fts.TABLE)):  # the latter: no FTS5 where it was made
        return False
    reason = "the store cannot be written to here"
    if db.writable and db.trusted:
        from memctl.store import migrate

        try:
            with db.briefly_writable(fts.LOCK_SECONDS), db.atomic(fts.LOCK_SECONDS):
                migrate.migrate(db)
        except errors.StoreBusy:
            reason = "another program is writing to the store"
        except errors.MemctlError as exc:
            reason = exc.message
    if fts.index_state(db) != "sound" and db.has(fts.TABLE):
        if db.trusted:  # else it was said when the store was opened
            db.tell(
                "The full-text index may not fit the items, and cannot be made anew now: "
                f"{reason}. The text itself is searched instead, which ranks less well."
            )
        return False
    return True
