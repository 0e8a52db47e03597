"""Stores that were found and that the registry does not know: adopted when they show that they are this user's own, and
read as somebody else's otherwise.

A store of an older memctl stands in no registry. It is this user's own when it knows a file below its project as only
this machine can: by inode and by the time of its last change, in nanoseconds, which nobody can set. Whoever makes a
store elsewhere and gives it away, in a clone or an archive, cannot know them before the files are there.

Of a config.json beside a store counts what loosens something only when git does not track it, or a person vouched.
"""

import os
import shlex
import stat
from contextlib import suppress

from memctl import errors, ids, registry
from memctl.annotations import TYPE_CHECKING, Any
from memctl.paths import real_path
from memctl.registry import TrustEntry

if TYPE_CHECKING:
    from memctl.context import Context
    from memctl.store.database import Database


#: How many of the files that a store knows are looked at.
MAX_FILES = 50
NOTICE = (
    "{path} is not a store that you have made here: it is read as somebody else's, at low trust, by its text and not "
    "by its index, and not written to. "
    "When you have looked at it and trust it: memctl trust {quoted}"
)


def open_unnamed(ctx: "Context", path: str) -> "Database":
    """Open a store to read that is not known by the registry: as one's own when it is adopted, else as a stranger's."""
    from memctl.store import connect, untrusted

    registry.check_placement(path)
    if not os.path.exists(path):
        raise errors.StoreMissing(path=path)
    if adopt(path) is not None:
        return connect.open_read(path)
    db = untrusted.open_untrusted(path)
    if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
        ctx.warn_once(f"{path} was left with unfinished writes (a -wal file); they are not seen")
    ctx.warn_once(NOTICE.format(path=path, quoted=shlex.quote(path)))
    return db


def check_known(path: str) -> str | None:
    """The id that a store which was found must have to be written to; None when there is none yet.

    Raises StoreUntrusted, and StoreUnsafe where none may be.
    """
    registry.check_placement(path)
    if not os.path.lexists(path):
        return None
    entry = registry.find(path)
    if entry is None or entry.how == registry.UNTRUSTED:
        from memctl.store import untrusted

        untrusted.open_raw(path).close()  # says what is wrong with it, if it is no store
        entry = adopt(path)
    if entry is None:
        raise errors.StoreUntrusted(path=path)
    return entry.store_id


def is_trusted(path: str, entry: TrustEntry | None) -> bool:
    """Whether the file is the store that the entry is about, and may be trusted."""
    if entry is None or entry.how == registry.UNTRUSTED:
        return False
    from memctl.store import connect

    db = connect.open_read(path)
    db.close()
    return db.store_id == entry.store_id


def adopt(path: str) -> TrustEntry | None:
    """The entry of a store that shows that it is this user's own, made now; None when it does not.

    It keeps the id that it has: another home or container of the same user knows it by that one. A store that cannot
    be written to cannot get one: it is shown again each time.
    """
    entry = registry.find(path)
    if entry is not None and entry.how == registry.UNTRUSTED:
        return None
    if not _knows_files_of_this_machine(path):
        return None
    store_id = give_store_id(path, keep=True)
    when = ids.timestamp_seconds()
    registry.add(path, store_id, registry.ADOPTED, when)
    note_mounts(path)
    return TrustEntry(registry.ADOPTED, when, 0, 0, 0, store_id, "", path)


def note_mounts(path: str) -> None:
    """Note the mounts that a store has, outside its project, as such that feed it: from now on it counts."""
    from memctl.store import untrusted
    from memctl.store.documents import mounts

    db = untrusted.open_raw(path)
    try:
        folders = [mounts.resolve_path(path, folder) for folder in untrusted.read_claims(db).mounts]
    finally:
        db.close()
    registry.note_folders(path, [real_path(one) for one in folders if mounts.is_outside(path, one)])


def give_store_id(path: str, *, keep: bool = False) -> str:
    """Give a store a new id, which nobody else knows; with `keep` only one that has none.

    Returns the id that the store has then: the one it had, or "", when it cannot be written to.
    """
    from memctl.store import connect, untrusted

    if not keep:
        with suppress(errors.StoreReadOnly, errors.StoreBusy, errors.StoreFull):
            return connect.mark_store(path, ids.new_id("STO"))
    db = untrusted.open_raw(path)
    try:
        found = db.meta(connect.STORE_ID_KEY) or ""
    finally:
        db.close()
    return found or (give_store_id(path) if keep else "")


def _knows_files_of_this_machine(path: str) -> bool:
    from memctl.store import untrusted
    from memctl.store.documents import mounts

    try:
        if not registry.is_own(os.stat(path)):
            return False
        db = untrusted.open_raw(path)
    except (OSError, errors.MemctlError):
        return False
    try:
        device = os.stat(path).st_dev
        below = os.path.join(real_path(mounts.project_folder(path)), "")
        return any(_is_file_unchanged(row, below, device) for row in untrusted.recent_files(db, MAX_FILES))
    except (OSError, errors.MemctlError):
        return False
    finally:
        db.close()


def _is_file_unchanged(row: tuple[Any, ...], below: str, device: int) -> bool:
    """Whether a file below the project is exactly as the store knows it."""
    path, inode, mtime, ctime = row
    if not isinstance(path, str) or "\0" in path or not path.startswith(below) or None in (inode, mtime, ctime):
        return False
    try:
        info = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(info.st_mode) or info.st_dev != device or real_path(path) != path:
        return False
    return (inode, mtime, ctime) == (info.st_ino, info.st_mtime_ns, info.st_ctime_ns)


# --- config.json beside a store --------------------------------------------------------------------------------------


def config_objection(ctx: "Context", path: str) -> str:
    """Why a config file that nobody named may only tighten; "" when all of it counts."""

    db = ctx.db_path
    entry = registry.find(db)
    there = os.path.exists(db)
    if ctx.is_found and not (is_trusted(db, entry) or (there and adopt(db) is not None)):
        return "the store is not one that you have made here" if there else "no store of yours is there"
    vouched = entry.config if entry is not None else ""
    if vouched not in ("", registry.UNVOUCHED) and vouched == config_digest(path):
        return ""
    if vouched == registry.UNVOUCHED:
        return "it was there before the store, and nobody has vouched for it: memctl trust does"
    if is_tracked(path):
        return "the repository brings it along, and nobody has vouched for it as it is now: memctl trust does"
    return ""


def config_digest(path: str) -> str:
    """The hash of a config file, by which the registry knows it; "" when it cannot be read."""
    from memctl.config import read_bytes

    try:
        return "sha256:" + ids.bytes_hash(read_bytes(path, named=False))
    except (OSError, errors.ConfigUnreadable):
        return ""


# --- tracked ---------------------------------------------------------------------------------------------------------


#: Bytes of an index that are read: that of a repository of a million files has some 100 MB.
MAX_INDEX_BYTES = 512 << 20


def is_tracked(path: str) -> bool:
    """Whether the repository around a file has it in its index. An index that cannot be read tracks everything."""
    path = real_path(path)
    found = _repository(os.path.dirname(path))
    if found is None:
        return False
    root, folder = found
    name = os.fsencode(os.path.relpath(path, root).replace(os.sep, "/"))
    try:
        shared = [one for one in os.listdir(folder) if one.startswith("sharedindex.")]
    except OSError:
        return True
    return any(_index_holds(os.path.join(folder, one), name) for one in ("index", *shared))


def _repository(folder: str) -> tuple[str, str] | None:
    """The root of the nearest repository, and the folder that its index is in."""
    while True:
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return folder, git
        if os.path.isfile(git):  # a worktree or a submodule names the folder
            try:
                with open(git, encoding="utf-8", errors="surrogateescape") as file:
                    line = file.readline(5000)
            except OSError:
                line = ""
            return folder, os.path.join(folder, line.removeprefix("gitdir:").strip())
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _index_holds(index: str, name: bytes) -> bool:
    try:
        if not os.path.isfile(index):
            return False
        with open(index, "rb") as file:
            data = file.read(MAX_INDEX_BYTES)
    except OSError:
        return True
    if data[4:8] == b"\0\0\0\x04":  # its paths are shortened by what they share with the one before
        name = name.rpartition(b"/")[2]
    return name + b"\0" in data
