"""Opening a store, and making one.

A read never writes: it opens the file `mode=rw` with `query_only` on (SQLite then tidies its WAL files away, which
`mode=ro` would leave behind), falls back to `mode=ro` and `immutable` on read-only files and folders, and a missing
file is an error. What only a write or an outdated file needs (`migrate`, `schema`) is imported then.

A store may come from somebody who means harm. SQLite believes what stands beside a database: a journal that names a
super-journal makes it delete the file of that name, wherever it is, and a link or a pipe is followed like a file. What
a database declares runs when it is read: views stand for tables, triggers and generated columns compute. So the files
are looked at before SQLite opens them, and a store may declare nothing of the kind but what is ours.
"""

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from memctl import errors, ids, registry
from memctl.paths import real_path
from memctl.store.database import BUSY_SECONDS, CACHE_KIB, FTS, STATE, Database, index_state

MEMORY = ":memory:"
#: How long a reader waits for the write lock to rebuild the full-text index, in seconds.
LOCK_SECONDS = 0.5
#: A store in a file without a name, which is gone when it is closed, or with its process.
SCRATCH = ""

#: The newest migration's number, so that a read of an up-to-date file needs nothing of `migrate` (a test holds both).
MIGRATION = 12
SCHEMA_VERSION = "2"
_STATE = (
    "SELECT (SELECT max(number) FROM memctl_migrations), (SELECT value FROM schema_meta WHERE key = 'schema_version'), "
    "(SELECT value FROM schema_meta WHERE key = 'memctl_store_id')"
)

#: What the last bytes of a journal are when it names a super-journal (https://sqlite.org/fileformat.html, 3. and
#: https://sqlite.org/atomiccommit.html, 5.2): only transactions over several attached databases write one.
_SUPER = bytes.fromhex("d9d505f920a163d7")
#: The triggers of memctl, of this and of earlier versions, and of RAGIX.
TRIGGERS = frozenset(
    (
        "memory_items_fts_ai", "memory_items_fts_bd", "memory_items_fts_bu", "memory_items_fts_au",
        "memctl_first_revision_bu", "memctl_first_revision_bi", "memctl_fts_bi", "memctl_fts_bu", "memctl_dirty_ai",
        "memctl_dirty_au", "memctl_dirty_ad", "memctl_dirty_link_ai", "memctl_dirty_link_ad",
        "memctl_dirty_importance_ai", "memctl_dirty_importance_au", "memctl_dirty_importance_ad",
    )
)  # fmt: skip
#: The SHA-256 of the triggers of a store as it is made, so that nobody compares them one by one (a test holds it).
TRIGGERS_HASH = "8e2481812490f7bb90b24000fe7edcad1a4a36631f45339fa548db850e9c86f1"
#: The same of a store made when these were as `schema.what_is_indexed` leaves them.
_OLDER_HASH = "b51704915d322018b001d6f4e05640ebe56e1967e8c1679fd6524eeed41ea961"
_NAMES = ", ".join(f"'{name}'" for name in sorted(TRIGGERS))
_ODD = (
    "SELECT type, name FROM sqlite_master WHERE type = 'view' OR (type = 'trigger' AND "
    f"(name NOT IN ({_NAMES}) OR tbl_name NOT IN ('memory_items', 'memory_links', 'memory_importance'))) LIMIT 1"
)
#: Columns of ours must hold what was put there.
_COMPUTED = (
    "SELECT 'generated column', t.name || '.' || col.name "
    "FROM sqlite_master AS t CROSS JOIN pragma_table_xinfo(t.name) AS col "
    "WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%' AND col.hidden IN (2, 3) AND (t.name = 'schema_meta' "
    "OR t.name LIKE 'memory!_%' ESCAPE '!' OR t.name LIKE 'memctl!_%' ESCAPE '!' "
    "OR t.name LIKE 'corpus!_%' ESCAPE '!') LIMIT 1"
)


def open_read(path: str) -> Database:
    """Open an existing store to read from. Raises StoreMissing, NotADatabase, StoreUnsafe, StoreTooNew …"""
    check_files(path)
    modes: tuple[str, ...] = ("mode=rw", "mode=ro", "mode=ro&immutable=1")
    if not (os.access(path, os.W_OK) and os.access(os.path.dirname(os.path.abspath(path)), os.W_OK)):
        # With a WAL the newest writes are in it: ignoring it would answer wrongly. Without one nobody has the file
        # open: `mode=ro` would make a WAL of this user's and leave it there, in the owner's way.
        modes = modes[1:2] if os.path.exists(path + "-wal") else modes[2:]
    db = _open(path, modes)
    try:
        check_schema(db)  # before any table is read: a view may stand for it
        state = db.row(_STATE) if "memctl_migrations" in db.tables else (None, None, db.meta("memctl_store_id"))
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
    check_files(path, beside=())
    return _open(path, ("mode=ro&immutable=1",))


def _open(path: str, modes: tuple[str, ...]) -> Database:
    """A handle that reads, in the first mode that works for this file."""
    for mode in modes:
        db = None
        try:
            db = Database(path, mode)
            db.run("PRAGMA query_only = ON")
            db.run(f"PRAGMA cache_size = -{CACHE_KIB}")
            db.look()
        except errors.MemctlError as error:
            if db is not None:
                db.close()
            # A full disk has no room for the files that SQLite keeps beside a store while it is read.
            log = path + "-wal"
            full = isinstance(error, errors.StoreFull) and not (os.path.exists(log) and os.path.getsize(log))
            if full or isinstance(error, errors.StoreReadOnly):
                continue
            raise
        if "memory_items" in db.tables:
            return db
        db.close()
        reason = "it is a database of another program" if db.tables else "it is empty"
        raise errors.NotADatabase(path=path, reason=reason)
    reason = "you may not read the file"
    if os.access(path, os.R_OK):
        reason = "it was left with unfinished writes (a -wal file) that only somebody who may write to its folder can "
        reason += "bring in"
    raise errors.StoreUnreadable(path=path, reason=reason)


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
    say        takes what people must know, such as that the full-text index was rebuilt
    """
    from memctl.store import migrate
    from memctl.store.journal import Journal

    if path in (MEMORY, SCRATCH):
        db = Database(path, "", timeout)
        _prepare_to_write(db, wal=False)
        migrate.migrate(db, tokenizer)
        if path == MEMORY:
            db.keep_journal(Journal())
        return db
    if create and not os.path.exists(path):
        create_store(path, tokenizer, wal=wal, found=found)
    check_files(path)
    if not os.access(path, os.W_OK):
        raise errors.StoreReadOnly(path=path, reason="the file is read-only")
    db = Database(path, timeout=timeout)
    db.say = say
    try:
        check_schema(db)
        migrate.is_current(db)  # before the journal mode of somebody else's file is changed
        check_triggers(db)
        if store_id is not None and store_id != (db.meta("memctl_store_id") or ""):
            raise errors.StoreUntrusted(path=path)
        _prepare_to_write(db, wal=wal)
        migrate.migrate(db, tokenizer)
    except BaseException:
        db.close()
        raise
    db.keep_journal(Journal())
    return db


def _prepare_to_write(db: Database, *, wal: bool) -> None:
    db.run(f"PRAGMA cache_size = -{CACHE_KIB}")
    # Other programs may use INSERT OR REPLACE through this connection's triggers: without recursive_triggers the
    # delete trigger would not fire and the full-text index would go stale.
    db.run("PRAGMA recursive_triggers = ON")
    db.run("PRAGMA foreign_keys = ON")
    mode = db.value("PRAGMA journal_mode")
    if wal and mode not in ("wal", "memory"):
        try:  # noqa: SIM105 - `suppress` would load the classes of errors for every new store
            db.run("PRAGMA journal_mode = WAL")
        except errors.StoreBusy:
            pass  # somebody uses the file in its old mode: the next writer will switch it
    elif not wal and mode == "wal":
        db.run("PRAGMA journal_mode = DELETE")


def ensure_index(db: Database) -> bool:
    """Rebuild the full-text index unless it is sound, also on a handle that reads; returns whether it is sound now.

    Outside of any transaction. It waits no longer than LOCK_SECONDS for another writer. Where nothing can be done, the
    handle says once that searches read the text instead.
    """
    if index_state(db) == "sound":
        return True
    if db.conn.in_transaction or (STATE in db.tables and FTS not in db.tables):  # the latter: no FTS5 where it was made
        return False
    reason = "the store cannot be written to here"
    if db.writable and db.trusted:
        from memctl.store import migrate

        try:
            with db.briefly_writable(LOCK_SECONDS), db.atomic(LOCK_SECONDS):
                migrate.migrate(db)
        except errors.StoreBusy:
            reason = "another program is writing to the store"
        except errors.MemctlError as exc:
            reason = exc.message
    if index_state(db) == "sound" or FTS not in db.tables:
        return True
    if db.trusted:  # else it was said when the store was opened
        db.tell(
            "The full-text index may not fit the items, and cannot be made anew now: "
            f"{reason}. The text itself is searched instead, which ranks less well."
        )
    return False


# --- a new store -----------------------------------------------------------------------------------------------------


#: In `schema_meta`: the random id by which the registry of trusted stores knows the file.
STORE_ID_KEY = "memctl_store_id"
#: What SQLite keeps beside a database while it is open, or after a crash.
SIDE_FILES = ("-wal", "-shm", "-journal")
#: Seconds that marking a store waits for another writer: it can be done next time.
_PATIENCE = 1.0


def create_store(
    path: str, tokenizer: str | None, *, wal: bool, found: bool, fill: Callable[[Database], object] | None = None
) -> None:
    """Make a store for its user alone, and note it as theirs: nobody ever sees half of one, the first maker wins.

    found  nobody named the place: a config.json that is there already may be a stranger's
    fill   writes what is to be in it
    """
    from memctl.store import migrate

    folder = os.path.dirname(os.path.abspath(path))
    part = os.path.join(folder, f".{os.path.basename(path)}.{os.urandom(6).hex()}.part")
    store_id = ids.new_id("STO")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        stranger = found and os.path.lexists(os.path.join(folder, "config.json"))
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # its log and index get the same mode
        db = Database(part)
        db.path = path
        try:
            # A passage with its provenance takes about 2 KB: pages of 4 KB would stand half empty.
            db.run("PRAGMA page_size = 8192")
            db.run("PRAGMA synchronous = OFF")  # nobody knows of the file yet: it reaches the disk as a whole
            _prepare_to_write(db, wal=wal)
            migrate.migrate(db, tokenizer)
            with db.atomic():
                db.set_meta(STORE_ID_KEY, store_id)
            if fill is not None:
                fill(db)
            # The last close would do it too, but say nothing when the disk is full: half of the file would be missing.
            db.run("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
        with open(part, "rb+") as made:
            os.fsync(made.fileno())
        info, when, config = os.stat(part), ids.timestamp_seconds(), registry.UNVOUCHED if stranger else ""
        registry.add(path, store_id, registry.MADE, when, config, part=part)
        link_into_place(part, path)
        if os.path.basename(folder) == ".memory":
            # Keep the memory out of the repository that the folder is in, unless somebody has decided already. Where
            # nobody may write the file, the store is made all the same.
            ignore = os.path.join(folder, ".gitignore")
            with suppress(OSError), open(ignore, "x", encoding="utf-8") as file:
                file.write("*\n")
        if os.path.samestat(os.stat(path), info):
            registry.add(path, store_id, registry.MADE, when, config)
        else:
            registry.withdraw(info)
    except OSError as exc:
        raise errors.StoreUnmakeable(path=path, reason=exc.strerror or str(exc)) from exc
    finally:
        for suffix in ("", *SIDE_FILES):
            with suppress(OSError):
                os.unlink(part + suffix)


def link_into_place(part: str, path: str) -> None:
    """Give a file its name; when another process has made one there meanwhile, that one stays: it is as good."""
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    except OSError:  # no hard links here (some network and FAT file systems)
        if not os.path.exists(path):
            os.replace(part, path)


def mark_store(path: str, store_id: str) -> str:
    """Give a store that is there an id, without bringing it up to date; the id, "" when it has no place for one.

    Raises StoreReadOnly and what else a write does.
    """
    check_files(path)
    db = Database(path, timeout=_PATIENCE)
    try:
        db.look()
        check_schema(db)
        if "schema_meta" not in db.tables:
            return ""
        with db.atomic(_PATIENCE):
            db.set_meta(STORE_ID_KEY, store_id)
    finally:
        db.close()
    return store_id


# --- what is looked at first -----------------------------------------------------------------------------------------


def check_files(path: str, beside: tuple[str, ...] = SIDE_FILES) -> None:
    """Refuse what is no regular file, and a file beside which something would make SQLite touch another one.

    Raises StoreMissing, NotADatabase, StoreUnsafe.
    """
    if not os.path.isfile(path):
        if not os.path.exists(path):
            raise errors.StoreMissing(path=path)
        reason = "it is a folder" if os.path.isdir(path) else "it is not a regular file"
        raise errors.NotADatabase(path=path, reason=reason)
    path = real_path(path) if os.path.islink(path) else path
    for suffix in beside:
        name = f"{os.path.basename(path)}{suffix} beside it"
        try:
            info = os.lstat(path + suffix)
        except OSError:
            continue
        if not stat.S_ISREG(info.st_mode):
            what = "a link" if stat.S_ISLNK(info.st_mode) else "no regular file"
            raise errors.StoreUnsafe(path=path, what=f"{name} is {what}")
        if suffix == "-journal" and info.st_size >= 2 * len(_SUPER):
            with suppress(OSError), open(path + suffix, "rb") as file:  # else SQLite cannot read it either
                file.seek(info.st_size - len(_SUPER))
                if file.read(len(_SUPER)) == _SUPER:
                    raise errors.StoreUnsafe(path=path, what=f"{name} would make SQLite delete another file")


def check_schema(db: Database) -> None:
    """Refuse a store that declares a view, a trigger that is not ours, or a column of ours that is computed.

    Tables and indexes of other programs may stand in it. What is another program's altogether is no store, which is
    told elsewhere. Raises StoreUnsafe.
    """
    odd = db.row(_ODD) or db.row(_COMPUTED)
    if odd is not None and db.value("SELECT 1 FROM sqlite_master WHERE name = 'memory_items'"):
        raise undeclared(db, *odd)


#: What earlier memctl and RAGIX declare otherwise: they do not ask whether a row is in the index; in some, the triggers
#: of an update fire for any column.
OLDER_TRIGGERS = """
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

_STATED = (
    "tier, type, title, content, tags, entities, links_json, provenance_json, confidence, validation, scope, "
    "expires_at, superseded_by, archived, injectable"
)
#: Made by the first `remote add`: they note which items changed. Not use counts nor `updated_at`: they say nothing.
#: `DO NOTHING` holds under another program's REPLACE, too.
DIRTY_TRIGGERS = "".join(
    f"CREATE TRIGGER IF NOT EXISTS memctl_dirty_{name} AFTER {when} BEGIN INSERT INTO memctl_dirty(item_id) "
    f"VALUES ({column}) ON CONFLICT DO NOTHING; END;\n"
    for name, when, column in (
        ("ai", "INSERT ON memory_items", "new.id"),
        ("au", f"UPDATE OF {_STATED} ON memory_items", "new.id"),
        ("ad", "DELETE ON memory_items", "old.id"),
        ("link_ai", "INSERT ON memory_links", "new.src_id"),
        ("link_ad", "DELETE ON memory_links", "old.src_id"),
        ("importance_ai", "INSERT ON memory_importance", "new.item_id"),
        ("importance_au", "UPDATE ON memory_importance", "new.item_id"),
        ("importance_ad", "DELETE ON memory_importance", "old.item_id"),
    )
)


def check_triggers(db: Database) -> None:
    """Refuse triggers of ours that do not say what ours say. Raises StoreUnsafe.

    A store that is not trusted runs no trigger; a trusted one does.
    """
    held = db.rows("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
    if ids.bytes_hash("\n".join(str(sql) for _, sql in held).encode("utf-8", "replace")) in (
        TRIGGERS_HASH,
        _OLDER_HASH,
    ):
        return
    from memctl.store import schema

    older = schema.what_is_indexed(schema.FTS_TRIGGERS), schema.without_pairs(schema.FTS_TRIGGERS), OLDER_TRIGGERS
    scripts = (schema.FTS_TRIGGERS, *older, schema.REVISION_TRIGGERS, DIRTY_TRIGGERS)
    ours = [("", sql) for script in scripts for sql in schema.STATEMENT.findall(script)]
    known = set[str]()
    for name, sql in [*ours, *held]:
        # Blanks and case do not count, nor what SQLite does not keep of a statement.
        plain = "".join(str(sql).split()).lower().replace("ifnotexists", "").rstrip(";")
        if not name:
            known.add(plain)
        elif plain not in known:
            raise undeclared(db, "trigger", name)


def undeclared(db: Database, kind: str, name: str) -> "errors.StoreUnsafe":
    """The refusal of something that a store declares and memctl does not."""
    return errors.StoreUnsafe(path=db.path, what=f"it declares the {kind} {name}, which is not memctl's")
