"""The one handle through which everything talks to a store: statements, transactions, errors, cached reads.

A write happens inside `Database.atomic()`. No `sqlite3.Error` leaves this package: `translate` makes one of ours of it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.store.filters import fold, said_by, utc

if TYPE_CHECKING:
    import sqlite3

    from memctl.store.journal import Journal
else:
    try:  # what `sqlite3` is made of: that adds converters of dates, whose `datetime` takes 2 ms of a search's 20
        import _sqlite3 as sqlite3
    except ImportError:  # a Python without it
        import sqlite3

#: How long a writer waits for another one, in seconds.
BUSY_SECONDS = 30.0
#: Bound values of one statement: SQLITE_MAX_VARIABLE_NUMBER is 999 before SQLite 3.32, then 32 766.
MAX_VALUES = 32_000 if tuple(map(int, sqlite3.sqlite_version.split("."))) >= (3, 32) else 990
#: Values that one statement of several binds, which any SQLite can.
BATCH = 500
#: With more keys than this, a small table is read whole and not by them.
MANY = 10_000
#: Pages of a file that a connection keeps, in KiB: SQLite's own 2 MB make a search read the same pages again.
CACHE_KIB = 32_000
#: Rows that are fetched at a time where they are not wanted all at once.
_FETCHED = 64
#: Findings of a sort that are cached; then the oldest of this sort are dropped. They take some 5 to 10 MB.
MAX_CACHED = 50_000
#: The share that is dropped at once is 1 / this: to drop much at a time would let one question wait for it.
_DROPPED_SHARE = 4

Values = Sequence[object]
#: What Python's sqlite3 raises; UnicodeDecodeError when SQLite's message quotes bytes of a damaged file.
FAILURES = (sqlite3.Error, MemoryError, UnicodeDecodeError)
#: Bytes of one cell or row at most: whoever reads a larger one gets StoreOversized.
CELL_BYTES = 64 << 20
#: `Connection.setlimit` is of Python 3.11; the numbers are SQLite's (SQLITE_LIMIT_LENGTH and _ATTACHED).
LIMIT_LENGTH, _ATTACHED = 0, 7
#: What stands in a URI as it is.
_URI_PLAIN = frozenset("/.-_~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Database:
    """An open store: the connection, its path, what kind of file it is, and what searches found out about it.

    A server answers many questions between two writes. It finds out once how many items have a word, how strongly they
    have it, and where they stand in their sources, and keeps that until somebody writes to the store. A new process
    begins with nothing, and finds the same.
    """

    __slots__ = (
        "_cache", "_cache_open", "_cache_sizes", "_cached_state", "_depth", "_told", "bookkeeping", "conn", "journal",
        "path", "rules", "say", "store_id", "tables", "trusted", "uses", "writable",
    )  # fmt: skip

    def __init__(self, path: str, mode: str = "mode=rw", timeout: float = BUSY_SECONDS) -> None:
        """Open the file at `path` in this mode of SQLite's URIs; without a mode, no file on the disk."""
        uri = f"file:{path}"
        if mode:  # urllib.parse.quote would do, at 4 ms of start-up
            raw = os.fsencode(os.path.abspath(path))
            uri = f"file:{''.join(chr(byte) if chr(byte) in _URI_PLAIN else f'%{byte:02X}' for byte in raw)}?{mode}"
        try:
            conn = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=timeout, check_same_thread=False)
            conn.execute("PRAGMA cell_size_check = ON")
        except FAILURES as exc:
            raise translate(exc, path) from exc
        if hasattr(conn, "setlimit"):
            conn.setlimit(_ATTACHED, 1)  # which VACUUM needs
            conn.setlimit(LIMIT_LENGTH, CELL_BYTES)
        conn.create_function("memctl_fold", 1, fold, deterministic=True)
        conn.create_function("memctl_utc", 1, utc, deterministic=True)
        conn.create_function("memctl_said_by", 1, said_by, deterministic=True)
        self.conn, self.path, self.writable = conn, path, mode in ("", "mode=rw")
        self._depth = 0
        self._cache: dict[str, dict[Any, Any]] = {}  # findings by sort and key
        self._cache_sizes: dict[str, int] = {}  # the number of findings of each sort
        self._cached_state: tuple[int, ...] = ()  # the state of the store in which they hold
        self._cache_open = False  # whether they may be used now
        self.bookkeeping = 0  # rows that this handle changed and that no finding depends on any more
        self.trusted = True  # False: somebody else's; what it says of itself does not count (`untrusted`)
        self.store_id = ""  # the random id that it holds, when it was opened to read
        self.tables: frozenset[str] = frozenset()  # those that the file had when it was last looked at
        self.rules = ""  # that judged what is being written (`standing`)
        self.journal: Journal | None = None  # keeps what each run changes; None: nothing is kept
        self.uses: list[Any] | None = None  # gathered, to be counted together; None: each is counted at once
        self.say: Callable[[str], None] | None = None  # takes a line for people; None: nobody listens
        self._told = set[str]()

    def as_documented(self) -> None:
        """Let the connection be as the documented MemoryStore has it: rows know column names, dates can be bound."""
        from sqlite3 import Row  # the public module, whose import registers how dates are bound

        self.conn.row_factory = Row

    def tell(self, line: str) -> None:
        """Tell people something they must know, once."""
        if self.say is not None and line not in self._told:
            self._told.add(line)
            self.say(line)

    def close(self) -> None:
        """Close the connection; a second close does nothing."""
        self.conn.close()

    # --- statements ----------------------------------------------------------------------------------------------

    def run(self, sql: str, values: Values = ()) -> "sqlite3.Cursor":
        """Execute one statement; sqlite3 errors come out as ours."""
        try:
            if self.journal is not None and self.journal.number:
                self.journal.watch(self, sql)
            return self.conn.execute(sql, values)
        except FAILURES as exc:
            raise translate(exc, self.path) from exc

    def run_many(self, sql: str, rows: Iterable[Values]) -> None:
        """Execute one statement for each row of values."""
        try:
            if self.journal is not None and self.journal.number:
                self.journal.watch(self, sql)
            self.conn.executemany(sql, rows)
        except FAILURES as exc:
            raise translate(exc, self.path) from exc

    def upsert(self, table: str, columns: str, rows: Iterable[Values]) -> None:
        """Insert rows of these columns, or change the rows that have the same first column."""
        key, *others = columns.split()
        self.run_many(
            f"INSERT INTO {table}({', '.join((key, *others))}) VALUES (?{', ?' * len(others)}) "
            f"ON CONFLICT({key}) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in others)}",
            rows,
        )

    def rows(self, sql: str, values: Values = (), keys: Iterable[object] | None = None) -> list[Any]:
        """All rows of a query.

        keys  any number of values that each `?*` in it stands for, bound behind `values`; asked for in batches
        """
        if keys is not None:
            wanted, times, found = list(keys), sql.count("?*"), []
            for at in range(0, len(wanted), BATCH // times):
                some = wanted[at : at + BATCH // times]
                found += self.rows(sql.replace("?*", ", ".join("?" * len(some))), [*values, *some * times])
            return found
        try:
            return self.conn.execute(sql, values).fetchall()
        except FAILURES as exc:
            return list(self._each_again(exc, sql, values))

    def each(self, sql: str, values: Values = ()) -> Iterator[Any]:
        """The rows of a query one by one, for many that are not wanted all at once."""
        given = 0
        try:
            cursor = self.conn.execute(sql, values)
            while some := cursor.fetchmany(_FETCHED):
                yield from some
                given += len(some)
        except FAILURES as exc:
            yield from islice(self._each_again(exc, sql, values), given, None)

    def _each_again(self, exc: Exception, sql: str, values: Values) -> Iterator[Any]:
        """The rows of a query that `exc` ended, with U+FFFD for bytes that are not UTF-8, if it was about these."""
        if "decode to UTF-8" not in str(exc):
            raise translate(exc, self.path) from exc
        # Not always: a call for each cell is slow.
        self.conn.text_factory = lambda cell: cell.decode("utf-8", "replace")
        try:
            yield from self.conn.execute(sql, values)
        except FAILURES as again:
            raise translate(again, self.path) from again
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

    # --- the file ------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Read which tables there are."""
        self.tables = frozenset(r[0] for r in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'"))

    def meta(self, key: str) -> str | None:
        """A value of `schema_meta`."""
        if "schema_meta" not in self.tables:
            return None
        value: str | None = self.value("SELECT value FROM schema_meta WHERE key = ?", (key,))
        return value

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of `schema_meta`."""
        self.upsert("schema_meta", "key value", [(key, value)])

    def schema_version(self) -> int:
        """SQLite's count of changes of the schema: VACUUM and every CREATE and DROP by any program add to it."""
        version: int = self.value("PRAGMA main.schema_version")
        return version

    def set_temp_store(self, where: object) -> None:
        """Say where temporary tables are kept; those that there are go, and so do temporary triggers."""
        self.run(f"PRAGMA temp_store = {where}")
        if self.journal is not None:
            self.journal.disarm()

    def keep_journal(self, journal: "Journal") -> None:
        """Let a journal keep what is changed through this handle from now on."""
        self.journal = journal
        self.conn.create_function("memctl_run", 0, lambda: journal.number)

    # --- transactions --------------------------------------------------------------------------------------------

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
        journal, committed = self.journal, False
        try:
            if journal is not None and self._depth == 1:
                journal.begin(self)
            yield
            if journal is not None and self._depth == 1:
                journal.end(self)
            self.run(f"RELEASE {name}" if self._depth > 1 else "COMMIT")  # a full disk shows at the commit
            committed = True
        except BaseException:
            if journal is not None:
                journal.disarm()
            if self.conn.in_transaction:  # after some errors (disk full, RAISE(ROLLBACK)) SQLite has rolled back itself
                self.conn.execute("ROLLBACK" if self._depth == 1 else f"ROLLBACK TO {name}")
                if self._depth > 1:
                    self.conn.execute(f"RELEASE {name}")
            raise
        finally:
            self._depth -= 1
            if journal is not None and not self._depth:
                journal.close(committed=committed)

    def _begin(self, wait: float) -> None:
        """Begin to write, as soon as no other program does; StoreBusy after `wait` seconds.

        SQLite's own busy handler asks less and less often, so that of many writers the newest win and one may wait for
        all the others. Here the one that has waited longest asks most often.
        """
        timeout, start = self.value("PRAGMA busy_timeout"), ids.monotonic()
        self.run("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self.conn.execute("BEGIN IMMEDIATE")
                except FAILURES as exc:
                    error, waited = translate(exc, self.path), ids.monotonic() - start
                    if not isinstance(error, errors.StoreBusy) or waited > wait:
                        raise error from exc
                else:
                    break
                longest = 0.02 if waited < 0.2 else 0.006 if waited < 1 else 0.002
                ids.pause(longest / 4, longest)
        finally:
            self.run(f"PRAGMA busy_timeout = {int(timeout)}")

    @contextmanager
    def snapshot(self, *, temporary: bool = False) -> Iterator[None]:
        """Let all reads within be of one moment of the store, which blocks nobody; in a transaction they are already.

        Within, `cached` gives what was found earlier, if the store is the same as then.

        temporary  nothing is cached, and temporary tables and views that are made within are gone at the end
        """
        within = self.conn.in_transaction  # of a snapshot, a look at the past or a write: the last two cache nothing
        if within:
            yield
            return
        self.run("BEGIN")
        try:
            if not temporary:
                self._open_cache()
            yield
        finally:
            self._cache_open = False
            if self.conn.in_transaction:  # after some errors SQLite has rolled back by itself
                self.run("ROLLBACK" if temporary else "COMMIT")

    # --- cached reads --------------------------------------------------------------------------------------------

    def _open_cache(self) -> None:
        """Let findings be used, without those that no longer hold and the oldest of what has become too much."""
        # It differs when another connection has written, and when this one has.
        state = int(self.value("PRAGMA data_version")), self.conn.total_changes - self.bookkeeping
        if state != self._cached_state:
            self._cache, self._cache_sizes, self._cached_state = {}, {}, state
        sizes = self._cache_sizes
        for sort in sizes:
            while sizes[sort] > MAX_CACHED:
                found, size = self._cache[sort], sizes[sort]
                oldest = list(islice(found, len(found) // _DROPPED_SHARE))
                if not oldest:  # few findings, each of which is large
                    found.clear()
                for key in oldest:
                    del found[key]
                sizes[sort] = size - -(-size // _DROPPED_SHARE) if oldest else 0
        self._cache_open = True

    def cached(self, sort: str, more: int = 0) -> dict[Any, Any]:
        """What was found of this sort, to look into and to add to; outside of a snapshot an empty dict.

        more  how many findings are being added
        """
        if not self._cache_open:
            return {}
        self._cache_sizes[sort] = self._cache_sizes.get(sort, 0) + more
        return self._cache.setdefault(sort, {})

    def forget(self, sort: str) -> None:
        """Drop what was found of this sort, which this handle has changed."""
        self._cache.pop(sort, None)
        self._cache_sizes.pop(sort, None)


# --- the full-text index ---------------------------------------------------------------------------------------------


#: The index, and the one row that says what the triggers have seen.
FTS, STATE = "memory_items_fts", "memory_fts_state"
#: Whether the index fits the items, in one look at a few rows. It is keyed by rowids, which `.dump`, VACUUM and REPLACE
#: change. The triggers in `schema.FTS_TRIGGERS` fire for every program that writes to the file, and note what they see.
_FITS = (
    "SELECT sound AND replaced_row IS NULL AND (SELECT max(rowid) FROM main.memory_items) IS "
    f"(SELECT max(id) FROM main.{FTS}_docsize), schema_version, "
    f"(SELECT schema_version FROM pragma_schema_version) FROM main.{STATE}"
)


def index_state(db: Database) -> str:
    """Whether the index can be believed: nothing has renumbered the items or left their words in it or out of it.

    `sound`, `unsound` (it must be rebuilt), `unknown` (of an older program, or of somebody else), or `none`.
    """
    if FTS not in db.tables:
        return "none"
    if not (db.trusted and STATE in db.tables):
        return "unknown"
    try:
        fits, compared, version = db.row(_FITS) or (False, None, None)
    except errors.StoreFailed:  # a table is missing
        return "unsound"
    if not fits:
        return "unsound"
    if compared == version:
        return "sound"
    from memctl.store import schema

    # The triggers may not be those of this version: older programs replace them by theirs when they reindex.
    held = db.rows("SELECT sql FROM main.sqlite_master WHERE type = 'trigger' AND tbl_name = 'memory_items'")
    wanted = schema.STATEMENT.findall(schema.what_is_indexed(schema.FTS_TRIGGERS))
    return "sound" if {*wanted} <= {schema.what_is_indexed(f"{sql};") for (sql,) in held} else "unsound"


# --- what goes wrong -------------------------------------------------------------------------------------------------


#: What SQLite's messages say (Python 3.10 has no error codes): words, our error, and its fields, None for the message
#: as its reason. The first one counts.
_MESSAGES: tuple[tuple[tuple[str, ...], str, dict[str, object] | None], ...] = (
    (("too big",), "StoreOversized", None),
    (("locked", "busy"), "StoreBusy", {"seconds": BUSY_SECONDS}),
    (("readonly", "read-only"), "StoreReadOnly", None),
    (("full", "disk i/o"), "StoreFull", {}),
    (("not a database", "unsupported file format"), "NotADatabase", {"reason": "it is not an SQLite file"}),
    (("unable to open",), "StoreReadOnly", {"reason": "the file or its folder cannot be opened"}),
)
#: The same of what is wrong in the file itself.
_DAMAGED = ("malformed", "corrupt", "vtable constructor failed")


def translate(exc: Exception, path: str) -> "errors.MemctlError":
    """Our error for one of FAILURES: it says in one sentence what is wrong, and what to do."""
    text = str(exc)
    if isinstance(exc, MemoryError):
        return errors.StoreOversized(path=path, reason="there is not enough memory")
    for words, name, fields in _MESSAGES:
        if any(word in text.lower() for word in words):
            error: type[errors.MemctlError] = getattr(errors, name)
            return error(path=path, **({"reason": text} if fields is None else fields))
    if isinstance(exc, UnicodeDecodeError) or not text:  # Python 3.10 leaves out a message that it cannot decode
        return errors.StoreCorrupt(path=path, reason="what SQLite says of it is not UTF-8")
    import re

    missing = re.search(r"no such (table|column): (?:\w+\.)?(\w+)", text)
    if missing:
        return errors.StoreIncomplete(path=path, reason=f"there is no {missing[1]} {missing[2]}")
    if any(word in text.lower() for word in _DAMAGED):
        return errors.StoreCorrupt(path=path, reason=text)
    return errors.StoreFailed(path=path, reason=text)
