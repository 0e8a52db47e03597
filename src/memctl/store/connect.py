"""Opening a store, and the one handle through which everything talks to it.

A read never writes: it opens the file `mode=rw` with `query_only` on (SQLite then tidies its WAL files away, which
`mode=ro` would leave behind), falls back to `mode=ro` and `immutable` on read-only files and folders, and a missing
file is an error. A write happens inside `Database.atomic()`. No `sqlite3.Error` leaves this package.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice

from memctl import errors, ids
from memctl.annotations import Any
from memctl.store import safety
from memctl.store.filters import fold, utc

#: How long a writer waits for another one, in seconds.
BUSY_SECONDS = 30.0
MEMORY = ":memory:"
#: A store in a file without a name, which is gone when it is closed, or with its process.
SCRATCH = ""

#: How many bound values one statement may have.
MAX_VALUES = 32_000 if sqlite3.sqlite_version_info >= (3, 32) else 990

#: The newest migration's number, so that a read of an up-to-date file needs nothing of `migrate` (a test holds both).
MIGRATION = 6
SCHEMA_VERSION = "2"
_STATE = (
    "SELECT (SELECT max(number) FROM memctl_migrations), (SELECT value FROM schema_meta WHERE key = 'schema_version'), "
    "(SELECT value FROM schema_meta WHERE key = 'memctl_store_id')"
)

Values = Sequence[object]
#: What Python's sqlite3 raises; UnicodeDecodeError when SQLite's message quotes bytes of a damaged file.
FAILURES = (sqlite3.Error, MemoryError, UnicodeDecodeError)


class Database:
    """An open store: the connection, its path, and what kind of file it is."""

    __slots__ = (
        "_depth", "_told", "conn", "kept", "path", "rules", "say", "store_id", "tables", "trusted", "uses", "writable",
    )  # fmt: skip

    def __init__(self, conn: sqlite3.Connection, path: str, *, writable: bool) -> None:
        self.conn, self.path, self.writable = conn, path, writable
        self._depth = 0
        self.trusted = True  # False: somebody else's, of which nothing counts that it says of itself (`store.found`)
        self.store_id = ""  # the random id that it holds, when it was opened to read
        self.tables: frozenset[str] = frozenset()
        self.rules = ""  # that judged what is being written (`store.judged`)
        self.kept: Any = None  # what was read and still holds (`store.kept`)
        self.uses: list[Any] | None = None  # that were gathered, to be counted together; None: each at once
        self.say: Callable[[str], None] | None = None  # takes a line for people; None: nobody listens
        self._told = set[str]()
        conn.create_function("memctl_fold", 1, fold, deterministic=True)
        conn.create_function("memctl_utc", 1, utc, deterministic=True)

    def name_columns(self) -> None:
        """Let rows answer to column names too (sqlite3.Row), as the documented MemoryStore has them."""
        self.conn.row_factory = sqlite3.Row

    def tell(self, line: str) -> None:
        """Tell people something they must know, once."""
        if self.say is not None and line not in self._told:
            self._told.add(line)
            self.say(line)

    def close(self) -> None:
        """Close the connection; a second close does nothing."""
        self.conn.close()

    def run(self, sql: str, values: Values = ()) -> sqlite3.Cursor:
        """Execute one statement; sqlite3 errors come out as ours."""
        try:
            return self.conn.execute(sql, values)
        except FAILURES as exc:
            raise translated(exc, self.path) from exc

    def run_many(self, sql: str, rows: Iterable[Values]) -> None:
        """Execute one statement for each row of values."""
        try:
            self.conn.executemany(sql, rows)
        except FAILURES as exc:
            raise translated(exc, self.path) from exc

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """All rows of a query."""
        try:
            return self.conn.execute(sql, values).fetchall()
        except FAILURES as exc:
            return list(self._each_again(exc, sql, values))

    def each(self, sql: str, values: Values = ()) -> Iterator[Any]:
        """The rows of a query one by one, for many that are not wanted all at once."""
        given = 0
        try:
            for row in self.conn.execute(sql, values):
                yield row
                given += 1
        except FAILURES as exc:
            yield from islice(self._each_again(exc, sql, values), given, None)

    def _each_again(self, exc: Exception, sql: str, values: Values) -> Iterator[Any]:
        """The rows of a query that `exc` ended, with U+FFFD for bytes that are not UTF-8, if it was about these."""
        if "decode to UTF-8" not in str(exc):
            raise translated(exc, self.path) from exc
        self.conn.text_factory = _lenient  # not always: a call for each cell is slow
        try:
            yield from self.conn.execute(sql, values)
        except FAILURES as again:
            raise translated(again, self.path) from again
        finally:
            self.conn.text_factory = str

    def row(self, sql: str, values: Values = ()) -> Any:
        """The first row of a query, or None."""
        try:
            return self.conn.execute(sql, values).fetchone()
        except FAILURES as exc:
            return next(iter([*self._each_again(exc, sql, values)]), None)

    def value(self, sql: str, values: Values = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.row(sql, values)
        return None if row is None else row[0]

    def has(self, table: str) -> bool:
        """Whether the file had this table when it was opened."""
        return table in self.tables

    def meta(self, key: str) -> str | None:
        """A value of `schema_meta`."""
        if not self.has("schema_meta"):
            return None
        value: str | None = self.value("SELECT value FROM schema_meta WHERE key = ?", (key,))
        return value

    def look(self) -> None:
        """Read which tables there are."""
        self.tables = frozenset(r[0] for r in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'"))

    @contextmanager
    def briefly_writable(self, wait: float = 0.2) -> Iterator[None]:
        """Let a handle that reads write a little bookkeeping; gives up after `wait` seconds on a busy store.

        With a WAL it does not wait until that is on the disk: when the power fails, the last of it may be missing.
        """
        read_only = self.value("PRAGMA query_only")
        timeout = self.value("PRAGMA busy_timeout")
        level = None
        if not self.conn.in_transaction and self.value("PRAGMA journal_mode") == "wal":
            level = self.value("PRAGMA synchronous")
            self.run("PRAGMA synchronous = NORMAL")
        self.run(f"PRAGMA busy_timeout = {int(wait * 1000)}")
        self.run("PRAGMA query_only = OFF")
        try:
            yield
        finally:
            self.run(f"PRAGMA query_only = {int(read_only)}")
            self.run(f"PRAGMA busy_timeout = {int(timeout)}")
            if level is not None and not self.conn.in_transaction:
                self.run(f"PRAGMA synchronous = {int(level)}")

    @contextmanager
    def atomic(self, wait: float = BUSY_SECONDS) -> Iterator[None]:
        """All or nothing: `BEGIN IMMEDIATE`, nested calls are savepoints; any exception rolls back and goes on.

        `wait`: how many seconds to try when another program is writing, before StoreBusy.
        """
        name = f"memctl_{self._depth}"
        if self._depth:
            self.run(f"SAVEPOINT {name}")
        else:
            self._begin(wait)
        self._depth += 1
        try:
            yield
        except BaseException:
            self._depth -= 1
            self._undo(name)
            raise
        self._depth -= 1
        if self._depth:
            self.run(f"RELEASE {name}")
            return
        try:
            self.run("COMMIT")
        except BaseException:  # a full disk shows here: leave no open transaction behind
            self._undo(name)
            raise

    def _begin(self, wait: float) -> None:
        # SQLite's own busy handler waits, but some lock transitions return at once; those are tried again.
        deadline = ids.monotonic() + wait
        while True:
            try:
                self.conn.execute("BEGIN IMMEDIATE")
            except FAILURES as exc:
                error = translated(exc, self.path)
                if not isinstance(error, errors.StoreBusy) or ids.monotonic() > deadline:
                    raise error from exc
                ids.pause(0.005, 0.05)
            else:
                return

    def _undo(self, name: str) -> None:
        # After some errors (disk full, RAISE(ROLLBACK)) SQLite has rolled back by itself.
        if not self.conn.in_transaction:
            return
        if self._depth:
            self.conn.execute(f"ROLLBACK TO {name}")
            self.conn.execute(f"RELEASE {name}")
        else:
            self.conn.execute("ROLLBACK")


def _lenient(cell: bytes) -> str:
    return cell.decode("utf-8", "replace")


def translated(exc: Exception, path: str) -> errors.MemctlError:
    """Our error for an sqlite3 one."""
    from memctl.store import failures

    return failures.error_for(exc, path)


def open_read(path: str) -> Database:
    """Open an existing store to read from. Raises StoreMissing, NotADatabase, StoreUnsafe, StoreTooNew …"""
    _must_exist(path)
    safety.check_files(path)
    for mode in safety.read_modes(path):
        conn = _probe(path, mode)
        if conn is not None:
            db = Database(conn, path, writable=mode == "mode=rw")
            _prepare_read(db)
            return db
    raise errors.StoreUnreadable(path=path, reason=safety.why_unreadable(path))


def connect_immutable(path: str) -> Database:
    """Open a store as its file is, without its journal or log; no file is made or changed. Raises as `open_read`."""
    _must_exist(path)
    conn = _probe(path, "mode=ro&immutable=1")
    if conn is None:
        raise errors.StoreUnreadable(path=path, reason=safety.why_unreadable(path))
    db = Database(conn, path, writable=False)
    _look_at(db)
    return db


def _probe(path: str, mode: str) -> sqlite3.Connection | None:
    """A connection that answers a first query in this mode; None when the mode does not work for this file."""
    conn = None
    try:
        conn = safety.connect(path, mode, BUSY_SECONDS)
        conn.execute("PRAGMA query_only = ON")
        conn.execute(f"PRAGMA cache_size = -{_CACHE}")
        conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except FAILURES as exc:
        if conn is not None:
            conn.close()
        error = translated(exc, path)
        # A full disk has no room for the files that SQLite keeps beside a store while it is read.
        full = isinstance(error, errors.StoreFull) and not safety.size_of(path + "-wal")
        if full or isinstance(error, errors.StoreReadOnly):
            return None
        raise error from exc
    return conn


def _prepare_read(db: Database) -> None:
    _look_at(db)
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


def _look_at(db: Database) -> None:
    try:
        db.look()
        if not db.has("memory_items"):
            raise errors.NotADatabase(path=db.path, reason=_foreign(db))
    except BaseException:
        db.close()
        raise


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
        write_pragmas(db, wal=False)
        migrate.up(db, tokenizer)
        return db
    if not os.path.exists(path):
        if not create:
            raise errors.StoreMissing(path=path)
        from memctl.store import making

        making.create(path, tokenizer, wal=wal, found=found)
    _must_exist(path)
    safety.check_files(path)
    if not os.access(path, os.W_OK):
        raise errors.StoreReadOnly(path=path, reason="the file is read-only")
    try:
        conn = safety.connect(path, "mode=rw", timeout)
    except FAILURES as exc:
        raise translated(exc, path) from exc
    db = Database(conn, path, writable=True)
    db.say = say
    try:
        safety.check_schema(db)
        migrate.check_writable(db)  # before the journal mode of somebody else's file is changed
        safety.check_triggers(db)
        if store_id is not None and store_id != (db.meta("memctl_store_id") or ""):
            raise errors.StoreUntrusted(path=path)
        write_pragmas(db, wal)
        migrate.up(db, tokenizer)
    except BaseException:
        db.close()
        raise
    return db


#: Pages of a file that a connection keeps, at most, in KiB: SQLite's own 2 MB make a search read the same pages again.
_CACHE = 32_000


def write_pragmas(db: Database, wal: bool) -> None:
    """Set what a handle that writes needs."""
    # Other programs may use INSERT OR REPLACE through this connection's triggers: without recursive_triggers the
    # delete trigger would not fire and the full-text index would go stale.
    db.run(f"PRAGMA cache_size = -{_CACHE}")
    db.run("PRAGMA recursive_triggers = ON")
    db.run("PRAGMA foreign_keys = ON")
    if wal and db.value("PRAGMA journal_mode") not in ("wal", "memory"):
        with suppress(errors.StoreBusy):  # somebody uses the file in its old mode: the next writer will switch it
            db.run("PRAGMA journal_mode = WAL")
    elif not wal and db.value("PRAGMA journal_mode") == "wal":
        db.run("PRAGMA journal_mode = DELETE")


def _must_exist(path: str) -> None:
    if os.path.isdir(path):
        raise errors.NotADatabase(path=path, reason="it is a folder")
    if not os.path.exists(path):
        raise errors.StoreMissing(path=path)
    if not os.path.isfile(path):
        raise errors.NotADatabase(path=path, reason="it is not a regular file")


def _foreign(db: Database) -> str:
    return "it is a database of another program" if db.tables else "it is empty"
