"""Copies of a store: of a whole one, made while others use it, and of what can still be read of a damaged one.

Of a damaged store are saved rows, what revisions say of lost rows, and single pages.

SQLite reads a table up to its first damaged page, and backward up to the last one; the rows between are asked for one
by one. Items and revisions are then looked for on every page of the file as well (the format of which is public:
https://sqlite.org/fileformat2.html), which also helps where the first page or an inner one of a table is gone.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, NamedTuple

from memctl import errors
from memctl.names import TIERS
from memctl.store import check, connect
from memctl.store.database import FAILURES, Database, translate
from memctl.store.items import items
from memctl.store.search import rebuild
from memctl.types import MemoryItem

#: What the new store makes itself.
_OWN = frozenset(("memctl_migrations", "memory_fts_state", "memory_runs", "memory_undo", "schema_meta"))
#: Rowids that are asked for one by one in a damaged table.
_MOST_SINGLE = 1_000_000
_PAGE_SIZES = (8192, 4096, 1024, 2048, 16384, 32768, 65536, 512)
_MAGIC = b"SQLite format 3\0"
_REVISION_COLUMNS = ("revision_id", "item_id", "revision_num", "snapshot", "changed_at", "reason")

#: How the names of folders with a working copy begin.
_WORK, _STALE_SECONDS = "memctl-salvage-", 86_400

Row = tuple[Any, ...]


class Salvage(NamedTuple):
    """What was saved.

    items           how many items the new store has; from_revisions and from_pages: how many of them came from there
    lost            ids of items of which something was left, but not what they said
    damaged         tables that could not be read to their end
    is_cut          pages are missing at the end of the file: what stood on them has left no name
    """

    items: int
    from_revisions: int
    from_pages: int
    lost: list[str]
    damaged: list[str]
    is_cut: bool


def salvage(path: str, new: str) -> Salvage:
    """Read what can be read of a damaged store into a new one, which gets its name when it is complete.

    The damaged file is left as it is. Raises StoreMissing, SalvageExists for a file at `new`, and NothingSalvaged.
    """
    connect.check_files(path)
    if os.path.lexists(new):
        raise errors.SalvageExists(path=new)
    done: list[Salvage] = []
    with tempfile.TemporaryDirectory(prefix=_WORK) as folder:
        _sweep(folder)
        copy = os.path.join(folder, "copy.db")
        try:
            for suffix in ("", "-wal", "-journal"):  # SQLite writes to the file while it reads it
                if os.path.exists(path + suffix):
                    shutil.copyfile(path + suffix, copy + suffix)
        except OSError as exc:
            raise errors.StoreUnreadable(path=path, reason=exc.strerror or str(exc)) from exc
        connect.create_store(
            new, None, wal=True, found=False, fill=lambda db: done.append(_Reader(copy, path).read_into(db))
        )
    return done[0]


def _sweep(folder: str) -> None:
    """Take away the working copies beside this one that salvages of the same user left, killed a day ago or earlier."""
    mine = os.stat(folder)
    with suppress(OSError), os.scandir(os.path.dirname(folder)) as there:
        for entry in there:
            if entry.name.startswith(_WORK) and entry.is_dir(follow_symlinks=False):
                made = entry.stat(follow_symlinks=False)
                if made.st_uid == mine.st_uid and made.st_mtime < mine.st_mtime - _STALE_SECONDS:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _missing_pages(path: str) -> int:
    """How many pages fewer a file has than its first page says; 0 where that cannot be known, as beside a log."""
    with open(path, "rb") as file:
        head = file.read(100)
    if os.path.exists(path + "-wal") or head[:16] != _MAGIC or len(head) < 100 or head[24:28] != head[92:96]:
        return 0
    page = int.from_bytes(head[16:18], "big")
    page = 65536 if page == 1 else page
    return max(0, int.from_bytes(head[28:32], "big") - os.path.getsize(path) // page) if page in _PAGE_SIZES else 0


class _Reader:
    """Reads a damaged file; `path` is its name for people."""

    def __init__(self, copy: str, path: str) -> None:
        self.copy, self.path = copy, path
        self.damaged: list[str] = []
        self.known: set[str] = set()  # ids of items that the file names

    def read_into(self, db: Database) -> Salvage:
        """Fill a new store."""
        with db.atomic():
            columns = self._read_tables(db)
            by_rows = int(db.value("SELECT count(*) FROM memory_items"))
            if self.damaged:
                self._read_pages(db, columns)
            by_pages = int(db.value("SELECT count(*) FROM memory_items"))
            from_revisions = _revive(db)
            count = by_pages + from_revisions
            if not count and not db.value("SELECT count(*) FROM memory_revisions"):
                raise errors.NothingSalvaged(path=self.path)
            named = (
                "SELECT item_id FROM memory_revisions UNION SELECT item_id FROM memory_events WHERE action = 'write'"
            )
            self.known |= {str(row[0]) for row in db.rows(named)}
            gone = {str(row[0]) for row in db.rows(f"SELECT id FROM memory_items UNION {_PURGED}")}
            lost, missing = sorted(self.known - gone), _missing_pages(self.copy)
            more = [f"{missing} pages missing at its end"] if missing else []
            return Salvage(count, from_revisions, by_pages - by_rows, lost, self.damaged + more, bool(missing))

    # --- as SQLite reads it -----------------------------------------------------------------------------------------

    def _read_tables(self, db: Database) -> dict[str, list[str]]:
        """Copy the rows of all tables; the columns of each in the damaged file."""
        columns: dict[str, list[str]] = {}
        try:
            with closing(sqlite3.connect(self.copy, isolation_level=None)) as conn:
                conn.text_factory = lambda cell: cell.decode("utf-8", "replace")
                conn.execute("PRAGMA trusted_schema = OFF")
                names = [row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                for table in sorted({*names} & db.tables - _OWN):
                    if table.startswith(("memory_items_fts", "sqlite_")):
                        continue
                    held = {row[1] for row in db.rows(f"PRAGMA table_info({table})")}
                    found = [row[1] for row in conn.execute(f"PRAGMA table_info({table})")]
                    columns[table] = found
                    shared = [name for name in found if name in held]
                    if not _read_rows(conn, table, shared, _keeper(db, table, shared)):
                        self.damaged.append(table)
                if "memory_items" in names:  # and no view, which may have no end
                    with suppress(*FAILURES):  # by the index of ids, which stands on other pages
                        self.known |= {str(row[0]) for row in conn.execute("SELECT id FROM memory_items ORDER BY id")}
        except FAILURES:
            self.damaged.append("the list of tables")
        return columns

    # --- page by page -----------------------------------------------------------------------------------------------

    def _read_pages(self, db: Database, columns: dict[str, list[str]]) -> None:
        with open(self.copy, "rb") as file:
            data = file.read()
        keepers = [
            (_keeper(db, table, names), len(names), looks)
            for table, names, looks in (
                ("memory_items", columns.get("memory_items") or list(items.COLUMNS), _is_item),
                ("memory_revisions", list(_REVISION_COLUMNS), _is_revision),
            )
        ]
        sizes = [int.from_bytes(data[16:18], "big") or 1] if data.startswith(_MAGIC) else []
        sizes = [65536 if size == 1 else size for size in sizes if size in _PAGE_SIZES or size == 1] or list(
            _PAGE_SIZES
        )
        for size in sizes:
            found = 0
            for row in _Pages(data, size).records():
                for keep, width, looks in keepers:
                    if len(row) == width and looks(row):
                        keep(row)
                        found += 1
            if found:
                return


_PURGED = "SELECT item_id FROM memory_events WHERE action = 'purge' AND item_id IS NOT NULL"


def _keeper(db: Database, table: str, columns: Sequence[str]) -> Callable[[Row], None]:
    """What stores a row of these columns, unless its key is there already or the new table refuses it."""
    checked: tuple[int, ...] = ()  # the place of the id, once more for the condition
    new = "true"
    if table == "memory_items" and "id" in columns:  # the triggers of the index take an INSERT of an id for a change
        new = "NOT EXISTS (SELECT 1 FROM memory_items WHERE id = ?)"
        checked = (columns.index("id"),)
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT INTO {table}({', '.join(columns)}) SELECT {marks} WHERE {new} ON CONFLICT DO NOTHING"

    def keep(row: Row) -> None:
        with suppress(errors.StoreFailed):  # a value that the table does not take
            db.run(sql, [*row, *(row[place] for place in checked)])

    return keep


def _read_rows(conn: sqlite3.Connection, table: str, columns: Sequence[str], keep: Callable[[Row], None]) -> bool:
    """Read a table forward, else also backward, and row by row between; whether it was sound."""
    names = ", ".join(columns)
    first = last = None
    try:
        conn.execute(f"SELECT rowid FROM {table} LIMIT 0")
        key = "rowid"
    except FAILURES:  # without rowids, or not readable at all
        key = columns[0]
    try:
        for row in conn.execute(f"SELECT {key}, {names} FROM {table} NOT INDEXED ORDER BY {key}"):
            keep(row[1:])
            first = row[0]
    except FAILURES:
        pass
    else:
        return True
    with suppress(*FAILURES):
        for row in conn.execute(f"SELECT {key}, {names} FROM {table} NOT INDEXED ORDER BY {key} DESC"):
            keep(row[1:])
            last = row[0]
    if not (isinstance(first, int | None) and isinstance(last, int)):
        return False
    for rowid in range((first or 0) + 1, min(last, (first or 0) + _MOST_SINGLE)):
        with suppress(*FAILURES):
            for row in conn.execute(f"SELECT {names} FROM {table} WHERE rowid = ?", (rowid,)):
                keep(row)
    return False


def _is_item(row: Row) -> bool:
    return (
        isinstance(row[0], str) and bool(row[0]) and row[1] in TIERS and all(isinstance(row[n], str) for n in (2, 4, 8))
    )


def _is_revision(row: Row) -> bool:
    return isinstance(row[1], str) and isinstance(row[2], int) and isinstance(row[3], str) and row[3].startswith("{")


def _revive(db: Database) -> int:
    """Put lost items back as their newest readable revision has them; how many."""
    rows = db.rows(
        "SELECT item_id, snapshot, max(revision_num) FROM memory_revisions AS r WHERE snapshot <> '{}' "
        f"AND item_id NOT IN (SELECT id FROM memory_items UNION {_PURGED}) GROUP BY item_id"
    )
    revived = []
    for item_id, snapshot, _ in rows:
        with suppress(ValueError, TypeError, AttributeError):  # another program's snapshot, or half of one
            item = MemoryItem.from_dict(items.load_object(snapshot))
            if item.id == item_id:
                revived.append(items.from_item(item))
    keep = _keeper(db, "memory_items", items.COLUMNS)
    for row in revived:
        keep(row)
    return len(revived)


# --- the pages of a file ---------------------------------------------------------------------------------------------


class _Pages:
    """The rows on the leaves of tables in an SQLite file, whatever leads to them."""

    #: The first byte of a page of this sort; where its cells begin to be listed.
    _LEAF, _CELLS = 13, 8

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size
        self.free = self._free_pages() if data.startswith(_MAGIC) else frozenset[int]()

    def _page(self, number: int) -> bytes:
        """A page; the first one has the number 1."""
        return self.data[(number - 1) * self.size : number * self.size]

    def _free_pages(self) -> frozenset[int]:
        """Pages that hold nothing any more."""
        found: set[int] = set()
        trunk = int.from_bytes(self.data[32:36], "big")
        while trunk and trunk not in found and (page := self._page(trunk)):
            found.add(trunk)
            count = min(int.from_bytes(page[4:8], "big"), self.size // 4)
            found.update(int.from_bytes(page[8 + 4 * n : 12 + 4 * n], "big") for n in range(count))
            trunk = int.from_bytes(page[:4], "big")
        return frozenset(found)

    def records(self) -> Iterator[Row]:
        """The rows that can be read."""
        for number in range(1, len(self.data) // self.size + 1):
            if number in self.free:
                continue
            page, head = self._page(number), 100 if number == 1 else 0
            if page[head] != self._LEAF:
                continue
            count = int.from_bytes(page[head + 3 : head + 5], "big")
            for cell in range(min(count, self.size // 4)):
                at = head + self._CELLS + 2 * cell
                with suppress(IndexError, ValueError, UnicodeDecodeError):
                    yield self._record(page, int.from_bytes(page[at : at + 2], "big"))

    def _record(self, page: bytes, at: int) -> Row:
        """The row of the cell that begins at this byte of a page. Raises ValueError, IndexError for what is none."""
        length, at = _varint(page, at)
        _, at = _varint(page, at)  # the rowid
        if not 0 < length <= len(self.data):
            raise ValueError("no row")
        most, least = self.size - 35, (self.size - 12) * 32 // 255 - 23
        local = length
        if length > most:
            local = least + (length - least) % (self.size - 4)
            local = least if local > most else local
        payload = page[at : at + local]
        following = int.from_bytes(page[at + local : at + local + 4], "big") if length > local else 0
        while len(payload) < length:
            more = self._page(following) if following else b""
            if not more:
                raise ValueError("the rest of the row is lost")
            payload += more[4:]
            following = int.from_bytes(more[:4], "big")
        return _values(payload[:length])


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for n in range(9):
        byte = data[at + n]
        if n == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    raise ValueError("no number")


#: Bytes of the values that a number below 12 stands for.
_WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)


def _values(payload: bytes) -> Row:
    """The values of a row."""
    import struct

    size, at = _varint(payload, 0)
    kinds = []
    while at < size:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    out: list[Any] = []
    for kind in kinds:
        width = _WIDTHS[kind] if kind < len(_WIDTHS) else (kind - 12) // 2
        raw = payload[at : at + width]
        if len(raw) < width or kind in (10, 11):
            raise ValueError("half a row")
        at += width
        if kind == 0:
            out.append(None)
        elif kind == 7:
            out.append(struct.unpack(">d", raw)[0])
        elif kind < 7:
            out.append(int.from_bytes(raw, "big", signed=True))
        elif kind < 10:
            out.append(kind - 8)
        else:
            out.append(raw.decode("utf-8") if kind % 2 else raw)
    return tuple(out)


def back_up(db: Database, path: str, *, force: bool) -> dict[str, int]:
    """Copy the store to a file for its user alone; how many bytes and items it has.

    The copy is of one moment, and is checked before it gets its name. Raises BackupExists for a file that is there
    (unless `force`), BackupFailed, and StoreCorrupt for a store that is damaged.
    """
    if os.path.isdir(path):
        raise errors.BackupFailed(path=path, reason="it is a folder")
    if not os.path.isdir(os.path.dirname(path)):
        raise errors.BackupFailed(path=path, reason="its folder does not exist")
    for name in (db.path, *(db.path + suffix for suffix in connect.SIDE_FILES)):
        if os.path.realpath(path) == os.path.realpath(name):
            raise errors.BackupFailed(path=path, reason="that is the store itself")
    if os.path.lexists(path) and not (os.path.islink(path) or os.path.isfile(path)):  # root could replace /dev/null
        raise errors.BackupFailed(path=path, reason="it is no regular file")
    if os.path.lexists(path) and not force:
        raise errors.BackupExists(path=path)
    folder = os.path.dirname(path)
    part = os.path.join(folder, f".{os.path.basename(path)}.{os.urandom(6).hex()}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        items = _copy_checked(db, part)
        size = os.path.getsize(part)
        with open(part, "rb+") as made:
            os.fsync(made.fileno())
        if force:
            os.replace(part, path)
        else:
            connect.link_into_place(part, path)
            if os.path.exists(part) and not os.path.samefile(part, path):
                raise errors.BackupExists(path=path)
    except OSError as exc:
        raise errors.BackupFailed(path=path, reason=exc.strerror or str(exc)) from exc
    else:
        return {"bytes": size, "items": items}
    finally:
        for suffix in ("", *connect.SIDE_FILES):
            with suppress(OSError):
                os.unlink(part + suffix)


def _copy_checked(db: Database, part: str) -> int:
    """Copy the pages, and check the copy; how many items it has."""
    try:
        target = sqlite3.connect(part, isolation_level=None)
        try:
            db.conn.backup(target)  # in one go: SQLite would begin again whenever somebody writes meanwhile
            target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        finally:
            target.close()
    except FAILURES as exc:
        raise translate(exc, db.path) from exc
    copy = Database(part)
    try:
        copy.path = db.path
        pages = check.check_pages(copy)
        if pages.status == "fail":
            raise errors.StoreCorrupt(path=db.path, reason=pages.detail)
        return int(copy.value("SELECT count(*) FROM memory_items"))
    finally:
        copy.close()


def vacuum(db: Database) -> tuple[int, int]:
    """Write the file anew without the space of deleted rows; its bytes before and afterwards. The index stays right."""
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    before = os.path.getsize(db.path)
    db.run("VACUUM")  # which may number the rows anew
    rebuild.repair_index(db)
    db.run("PRAGMA optimize")
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, os.path.getsize(db.path)
