"""What is looked at before SQLite opens a file, and right after: a store may come from somebody who means harm.

SQLite believes what stands beside a database. A journal that names a super-journal makes it delete the file of that
name, wherever it is, and a link or a pipe is followed like a file. What a database declares runs when it is read: views
stand for tables, triggers and generated columns compute. So a store may declare nothing of the kind but what is ours.
"""

import os
import sqlite3
import stat

from memctl import errors
from memctl.annotations import TYPE_CHECKING
from memctl.paths import real_path

if TYPE_CHECKING:
    from memctl.store.database import Database

#: What the last bytes of a journal are when it names a super-journal (https://sqlite.org/fileformat.html, 3. and
#: https://sqlite.org/atomiccommit.html, 5.2): only transactions over several attached databases write one.
_SUPER = bytes.fromhex("d9d505f920a163d7")

#: The triggers of memctl, of this and of earlier versions, and of RAGIX.
TRIGGERS = frozenset(
    (
        "memory_items_fts_ai", "memory_items_fts_bd", "memory_items_fts_bu", "memory_items_fts_au",
        "memctl_first_revision_bu", "memctl_first_revision_bi", "memctl_fts_bi", "memctl_fts_bu",
    )
)  # fmt: skip
_NAMES = ", ".join(f"'{name}'" for name in sorted(TRIGGERS))
_ODD = (
    "SELECT type, name FROM sqlite_master WHERE type = 'view' OR (type = 'trigger' AND "
    f"(name NOT IN ({_NAMES}) OR tbl_name <> 'memory_items')) LIMIT 1"
)
#: Columns of ours must hold what was put there.
_COMPUTED = (
    "SELECT t.name || '.' || col.name FROM sqlite_master AS t CROSS JOIN pragma_table_xinfo(t.name) AS col "
    "WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND col.hidden IN (2, 3) AND (t.name = 'schema_meta' "
    "OR t.name LIKE 'memory!_%' ESCAPE '!' OR t.name LIKE 'memctl!_%' ESCAPE '!' "
    "OR t.name LIKE 'corpus!_%' ESCAPE '!') LIMIT 1"
)

_INDEX = (
    r"create virtual table \"?memory_items_fts\"? using fts5\(title,content,tags,entities,"
    r"content=['\"]?memory_items['\"]?,content_rowid=['\"]?rowid['\"]?(,tokenize=['\"][a-z0-9_. -]+['\"])?\)"
)

#: Bytes of one cell or row at most: whoever reads a larger one gets StoreOversized; in a store that was found, where no
#: honest one holds more than a passage.
CELL_BYTES, FOUND_CELL_BYTES = 64 << 20, 2 << 20
#: `Connection.setlimit` is of Python 3.11; the numbers are SQLite's (SQLITE_LIMIT_LENGTH and _ATTACHED).
LIMIT_LENGTH, _ATTACHED = 0, 7
#: What stands in a URI as it is.
_URI_PLAIN = frozenset("/.-_~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def connect(path: str, mode: str, timeout: float) -> sqlite3.Connection:
    """A connection to the file at `path`, opened in this mode of SQLite's URIs; without one, to no file on the disk."""
    uri = f"file:{path}"
    if mode:  # urllib.parse.quote would do, at 4 ms of start-up
        raw = os.fsencode(os.path.abspath(path))
        uri = f"file:{''.join(chr(byte) if chr(byte) in _URI_PLAIN else f'%{byte:02X}' for byte in raw)}?{mode}"
    conn = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=timeout, check_same_thread=False)
    conn.execute("PRAGMA cell_size_check = ON")
    if hasattr(conn, "setlimit"):
        conn.setlimit(_ATTACHED, 1)  # which VACUUM needs
        conn.setlimit(LIMIT_LENGTH, CELL_BYTES)
    return conn


def why_unreadable(path: str) -> str:
    """Why a store that is there cannot be read in any mode."""
    if not os.access(path, os.R_OK):
        return "you may not read the file"
    return (
        "it was left with unfinished writes (a -wal file) that only somebody who may write to its folder can bring in"
    )


def check_files(path: str) -> None:
    """Refuse a store beside which something stands that would make SQLite touch another file. Raises StoreUnsafe."""
    path = real_path(path) if os.path.islink(path) else path
    for suffix in ("-journal", "-wal", "-shm"):
        try:
            info = os.lstat(path + suffix)
        except OSError:
            continue
        if not stat.S_ISREG(info.st_mode):
            what = "a link" if stat.S_ISLNK(info.st_mode) else "no regular file"
            raise errors.StoreUnsafe(path=path, what=f"{os.path.basename(path)}{suffix} beside it is {what}")
        if suffix == "-journal" and _names_another_file(path + suffix, info.st_size):
            raise errors.StoreUnsafe(
                path=path, what=f"{os.path.basename(path)}{suffix} beside it would make SQLite delete another file"
            )


def _names_another_file(journal: str, size: int) -> bool:
    if size < 16:
        return False
    try:
        with open(journal, "rb") as file:
            file.seek(size - len(_SUPER))
            return file.read(len(_SUPER)) == _SUPER
    except OSError:  # then SQLite cannot read it either
        return False


def check_schema(db: "Database") -> None:
    """Refuse a store that declares a view, a trigger that is not ours, or a column of ours that is computed.

    Tables and indexes of other programs may stand in it. What is another program's altogether is no store, which is
    told elsewhere. Raises StoreUnsafe.
    """
    odd = db.row(_ODD)
    if odd is None and (computed := db.value(_COMPUTED)):
        odd = "generated column", computed
    if odd is not None and db.value("SELECT 1 FROM sqlite_master WHERE name = 'memory_items'"):
        raise _undeclared(db, *odd)


def check_virtual_tables(db: "Database") -> None:
    """Refuse virtual tables but the full-text one as memctl and RAGIX make it, whatever its tokenizer.

    Raises StoreUnsafe.
    """
    import re

    for name, sql in db.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%'"):
        plain = re.sub(r"\s*([(),=])\s*", r"\1", " ".join(str(sql).split()).lower())
        if name != "memory_items_fts" or not re.fullmatch(_INDEX, plain):
            raise _undeclared(db, "virtual table", name)


def check_triggers(db: "Database") -> None:
    """Refuse triggers of ours that do not say what ours say. Raises StoreUnsafe.

    A store that was only found runs no trigger; one that is to be trusted will.
    """
    from memctl.store import schema

    unpaired = schema.without_pairs(schema.FTS_TRIGGERS)
    scripts = (schema.FTS_TRIGGERS, unpaired, schema.REVISION_TRIGGERS, _OLDER)
    known = {_plain(one) for script in scripts for one in schema.statements(script)}
    for name, sql in db.rows("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"):
        if _plain(str(sql)) not in known:
            raise _undeclared(db, "trigger", name)


def _plain(sql: str) -> str:
    """A statement without blanks, case, and what SQLite does not keep of it."""
    return "".join(sql.split()).lower().replace("ifnotexists", "").rstrip(";")


#: What earlier memctl and RAGIX declare otherwise: they do not ask whether a row is in the index; in some, the triggers
#: of an update fire for any column.
_OLDER = """
CREATE TRIGGER memory_items_fts_ai AFTER INSERT ON memory_items BEGIN
    INSERT INTO memory_items_fts(rowid, title, content, tags, entities)
    VALUES (new.rowid, new.title, new.content, new.tags, new.entities);
END;
CREATE TRIGGER memory_items_fts_bd BEFORE DELETE ON memory_items BEGIN
    INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities)
    VALUES ('delete', old.rowid, old.title, old.content, old.tags, old.entities);
END;
CREATE TRIGGER memory_items_fts_bu BEFORE UPDATE OF title, content, tags, entities ON memory_items BEGIN
    INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities)
    VALUES ('delete', old.rowid, old.title, old.content, old.tags, old.entities);
END;
CREATE TRIGGER memory_items_fts_au AFTER UPDATE OF title, content, tags, entities ON memory_items BEGIN
    INSERT INTO memory_items_fts(rowid, title, content, tags, entities)
    VALUES (new.rowid, new.title, new.content, new.tags, new.entities);
END;
CREATE TRIGGER memory_items_fts_bu BEFORE UPDATE ON memory_items BEGIN
    INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities)
    VALUES ('delete', old.rowid, old.title, old.content, old.tags, old.entities);
END;
CREATE TRIGGER memory_items_fts_au AFTER UPDATE ON memory_items BEGIN
    INSERT INTO memory_items_fts(rowid, title, content, tags, entities)
    VALUES (new.rowid, new.title, new.content, new.tags, new.entities);
END;
"""


def _undeclared(db: "Database", kind: str, name: str) -> errors.StoreUnsafe:
    return errors.StoreUnsafe(path=db.path, what=f"it declares the {kind} {name}, which is not memctl's")
