"""A new store: made beside its final name and linked there, for its user alone, and noted as theirs."""

import os
from contextlib import suppress

from memctl import errors, ids, registry
from memctl.store import safety
from memctl.store.database import BUSY_SECONDS, FAILURES, Database, translate

#: In `schema_meta`: the random id by which the registry of trusted stores knows the file.
STORE_ID_KEY = "memctl_store_id"
#: What SQLite keeps beside a database while it is open, or after a crash.
SIDE_FILES = ("-wal", "-shm", "-journal")
_IGNORE = "*\n"
#: Seconds that marking a store waits for another writer: it can be done next time.
_PATIENCE = 1.0


def create_store(path: str, tokenizer: str | None, *, wal: bool, found: bool) -> None:
    """Make a store: nobody ever sees half of one, and the first maker wins.

    found  nobody named the place: a config.json that is there already may be a stranger's
    """
    from memctl.store import migrate

    folder = os.path.dirname(os.path.abspath(path))
    part = os.path.join(folder, f".{os.path.basename(path)}.{os.urandom(6).hex()}.part")
    store_id = ids.new_id("STO")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        stranger = found and os.path.lexists(os.path.join(folder, "config.json"))
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # its log and index get the same mode
        db = Database(safety.connect(part, "mode=rw", BUSY_SECONDS), path, writable=True)
        try:
            # A passage with its provenance takes about 2 KB: pages of 4 KB would stand half empty.
            db.run("PRAGMA page_size = 8192")
            db.run("PRAGMA synchronous = OFF")  # nobody knows of the file yet: it reaches the disk as a whole
            db.prepare_to_write(wal=wal)
            migrate.migrate(db, tokenizer)
            with db.atomic():
                db.set_meta(STORE_ID_KEY, store_id)
            # The last close would do it too, but say nothing when the disk is full: half of the file would be missing.
            db.run("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
        with open(part, "rb+") as made:
            os.fsync(made.fileno())
        info, when, config = os.stat(part), ids.timestamp_seconds(), registry.UNVOUCHED if stranger else ""
        registry.announce(part, path, store_id, when, config)
        link_into_place(part, path)
        if os.path.basename(folder) == ".memory":
            # Keep the memory out of the repository that the folder is in, unless somebody has decided already. Where
            # nobody may write the file, the store is made all the same.
            ignore = os.path.join(folder, ".gitignore")
            with suppress(OSError), open(ignore, "x", encoding="utf-8") as file:
                file.write(_IGNORE)
        if os.path.samestat(os.stat(path), info):
            registry.add(path, store_id, registry.MADE, when, config)
        else:
            registry.withdraw(info)
    except OSError as exc:
        raise errors.StoreUnmakeable(path=path, reason=exc.strerror or str(exc)) from exc
    except FAILURES as exc:
        raise translate(exc, path) from exc
    finally:
        for suffix in ("", *SIDE_FILES):
            with suppress(OSError):
                os.unlink(part + suffix)


def mark_store(path: str, store_id: str) -> str:
    """Give a store that is there an id, without bringing it up to date; the id, "" when it has no place for one.

    Raises StoreReadOnly and what else a write does.
    """
    safety.check_files(path)
    try:
        db = Database(safety.connect(path, "mode=rw", _PATIENCE), path, writable=True)
    except FAILURES as exc:
        raise translate(exc, path) from exc
    try:
        db.look()
        safety.check_schema(db)
        if not db.has("schema_meta"):
            return ""
        with db.atomic(_PATIENCE):
            db.set_meta(STORE_ID_KEY, store_id)
    finally:
        db.close()
    return store_id


def link_into_place(part: str, path: str) -> None:
    """Give a file its name; when another process has made one there meanwhile, that one stays: it is as good."""
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    except OSError:  # no hard links here (some network and FAT file systems)
        if not os.path.exists(path):
            os.replace(part, path)
