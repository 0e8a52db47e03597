"""A new store: made beside its final name and linked there, for its user alone, and noted as theirs."""

import os

from memctl import errors, ids, registry
from memctl.store import atomic_file, connect, safety
from memctl.store.connect import Database

#: In `schema_meta`: the random id by which the registry of trusted stores knows the file.
ID = "memctl_store_id"
_IGNORE = "*\n"
#: Seconds that marking a store waits for another writer: it can be done next time.
_PATIENCE = 1.0


def create(path: str, tokenizer: str | None, *, wal: bool, found: bool) -> None:
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
        db = Database(safety.connect(part, "mode=rw", connect.BUSY_SECONDS), path, writable=True)
        try:
            # A passage with its provenance takes about 2 KB: pages of 4 KB would stand half empty.
            db.run("PRAGMA page_size = 8192")
            db.run("PRAGMA synchronous = OFF")  # nobody knows of the file yet: it reaches the disk as a whole
            connect.write_pragmas(db, wal)
            migrate.up(db, tokenizer)
            put_id(db, store_id)
            # The last close would do it too, but say nothing when the disk is full: half of the file would be missing.
            db.run("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
        atomic_file.settle(part)
        info, when, config = os.stat(part), ids.timestamp_seconds(), registry.UNVOUCHED if stranger else ""
        registry.announce(part, path, store_id, when, config)
        atomic_file.publish(part, path)
        if os.path.basename(folder) == ".memory":
            _hide_from_git(folder)
        if os.path.samestat(os.stat(path), info):
            registry.add(path, store_id, registry.MADE, when, config)
        else:
            registry.withdraw(info)
    except OSError as exc:
        raise errors.StoreUnmakeable(path=path, reason=exc.strerror or str(exc)) from exc
    except connect.FAILURES as exc:
        raise connect.translated(exc, path) from exc
    finally:
        for suffix in ("", *atomic_file.BESIDE):
            atomic_file.remove(part + suffix)


def put_id(db: Database, store_id: str, wait: float = connect.BUSY_SECONDS) -> None:
    """Write the id of a store into it."""
    with db.atomic(wait):
        db.run(
            "INSERT INTO schema_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (ID, store_id),
        )


def _hide_from_git(folder: str) -> None:
    """Keep the memory out of the repository that the folder is in, unless somebody has decided already."""
    try:
        with open(os.path.join(folder, ".gitignore"), "x", encoding="utf-8") as file:
            file.write(_IGNORE)
    except OSError:
        pass  # it is there, or nobody may write it: the store is made all the same


def mark(path: str, store_id: str) -> str:
    """Give a store that is there an id, without bringing it up to date; the id, "" when it has no place for one.

    Raises StoreReadOnly and what else a write does.
    """
    safety.check_files(path)
    try:
        db = Database(safety.connect(path, "mode=rw", _PATIENCE), path, writable=True)
    except connect.FAILURES as exc:
        raise connect.translated(exc, path) from exc
    try:
        db.look()
        safety.check_schema(db)
        if not db.has("schema_meta"):
            return ""
        put_id(db, store_id, _PATIENCE)
    finally:
        db.close()
    return store_id
