"""A copy of a store in a file of its own, made while others use it; and giving the space of deleted rows back."""

import os
import sqlite3
from contextlib import suppress

from memctl import errors
from memctl.store import check, connect
from memctl.store.database import FAILURES, Database, translate
from memctl.store.search import fts


def back_up(db: Database, path: str, *, force: bool) -> dict[str, int]:
    """Copy the store to a file for its user alone; how many bytes and items it has.

    The copy is of one moment, and is checked before it gets its name. Raises BackupExists for a file that is there
    (unless `force`), BackupFailed, and StoreCorrupt for a store that is damaged.
    """
    _refuse_place(db, path, force=force)
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


def _refuse_place(db: Database, path: str, *, force: bool) -> None:
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
    fts.repair_index(db)
    db.run("PRAGMA optimize")
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, os.path.getsize(db.path)
