"""What the store remembers of folders: how each file was last seen, and the files that are gone for now."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memctl import ids
from memctl.store.connect import Database
from memctl.store.documents import secret_paths as paths_of
from memctl.store.documents.sources import batches, beyond, marks
from memctl.store.items import rows


class Seen(NamedTuple):
    """A file as it was when it was read.

    current: it would come out the same today (same options and rules), and no other program has changed the record.
    """

    size: int | None
    mtime_ns: int | None
    ctime_ns: int | None
    inode: int | None
    current: bool
    mount_id: str | None


class Home(NamedTuple):
    """A mount as its files know it.

    prefix     what the path of every file in it begins with: that of its folder, and a separator
    lang_hint  the language of its documents
    scope      where they are filed
    recipe     how they are cut, judged and filed
    inner      the mounts within, the outer ones of them first; each file belongs to the innermost that it lies in
    spare      what is done to all files by force is not done to those of mounts within: each has a run of its own
    """

    mount_id: str
    prefix: str
    lang_hint: str | None
    scope: str
    recipe: str
    inner: tuple["Home", ...] = ()
    spare: bool = False

    def of(self, path: str) -> "Home":
        """The mount that a file belongs to."""
        return next((home for home in reversed(self.inner) if path.startswith(home.prefix)), self)

    def forces(self, path: str) -> bool:
        """Whether what is done to all files by force is done to this one."""
        return not self.spare or self.of(path) is self


class Gone(NamedTuple):
    """What was archived of a file that disappeared or changed: the hash of its bytes, and the items, latest first."""

    sha256: str
    item_ids: tuple[str, ...]


#: The recipe of a record that nobody else has changed ends in its hash (see `ingest.delta.signed`).
_SEEN = (
    "SELECT c.file_path, c.size_bytes, f.mtime_ns, f.ctime_ns, f.inode, "
    "f.recipe IS ? || ':' || substr(c.sha256, 1, 12), c.mount_id "
    "FROM corpus_hashes AS c LEFT JOIN memory_files AS f ON f.file_path = c.file_path"
)


def paths_with(db: Database, hashes: Iterable[str]) -> dict[str, list[str]]:
    """The known files whose bytes have these hashes, and then those that were known before they were gone."""
    out: dict[str, list[str]] = {}
    if db.has("memory_gone_files"):
        for batch in batches(sorted(set(hashes)), 400):  # each is bound twice
            for sha256, path in db.rows(
                f"SELECT sha256, file_path FROM (SELECT sha256, file_path, 0 AS gone FROM corpus_hashes "
                f"WHERE sha256 IN ({marks(batch)}) UNION ALL SELECT sha256, file_path, 1 FROM memory_gone_files "
                f"WHERE sha256 IN ({marks(batch)}) AND item_ids <> '[]') ORDER BY gone, file_path",
                [*batch, *batch],
            ):
                out.setdefault(sha256, []).append(path)
    return out


def seen_below(db: Database, prefix: str, recipe: str) -> dict[str, Seen]:
    """The files below a folder (its path ends in a separator) as they were last read."""
    if not db.has("memory_gone_files"):  # an older store, not written to yet: everything will be read anew
        mount = "mount_id" if db.has("memory_mounts") else "NULL"
        older = f"SELECT file_path, {mount} FROM corpus_hashes WHERE file_path >= ? AND file_path < ?"
        found = db.rows(older, (prefix, beyond(prefix)))
        return {path: Seen(None, None, None, None, current=False, mount_id=of) for path, of in found}
    found = db.rows(f"{_SEEN} WHERE c.file_path >= ? AND c.file_path < ?", (recipe, prefix, beyond(prefix)))
    return {row[0]: Seen(*row[1:]) for row in found}


def seen(db: Database, paths: Iterable[str], recipe: str) -> dict[str, Seen]:
    """These files as they were last read; those the store has not met are left out."""
    out: dict[str, Seen] = {}
    if db.has("memory_gone_files"):
        for batch in batches(list(paths)):
            for row in db.rows(f"{_SEEN} WHERE c.file_path IN ({marks(batch)})", (recipe, *batch)):
                out[row[0]] = Seen(*row[1:])
    return out


class Unread(NamedTuple):
    """A file that could not be read, as it was then, and why."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    reason: str


def unread_below(db: Database, prefix: str, recipe: str) -> dict[str, Unread]:
    """The files below a folder that could not be read, with these options and rules."""
    if not db.has("memory_unread_files"):
        return {}
    found = db.rows(
        "SELECT file_path, size, mtime_ns, ctime_ns, inode, reason FROM memory_unread_files "
        "WHERE file_path >= ? AND file_path < ? AND recipe = ?",
        (prefix, beyond(prefix), recipe),
    )
    return {row[0]: Unread(*row[1:]) for row in found}


def count_unread(db: Database, prefix: str) -> int:
    """How many files below a folder could not be read when they were last looked at."""
    if not db.has("memory_unread_files"):
        return 0
    sql = "SELECT count(*) FROM memory_unread_files WHERE file_path >= ? AND file_path < ?"
    return int(db.value(sql, (prefix, beyond(prefix))))


def put_unread(db: Database, files: Mapping[str, Unread], recipe: str) -> None:
    """Remember files that could not be read."""
    if not files:
        return
    with db.atomic():
        db.run_many(
            "INSERT OR REPLACE INTO memory_unread_files(file_path, size, mtime_ns, ctime_ns, inode, reason, recipe) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(path, *file, recipe) for path, file in files.items()],
        )


def forget_unread(db: Database, paths: Iterable[str]) -> None:
    """Forget that these files could not be read."""
    gone = list(paths)
    if gone:
        stored = (row[0] for row in db.rows("SELECT file_path FROM memory_unread_files WHERE instr(file_path, '#')"))
        hidden = paths_of.stand_ins(stored)
        gone += filter(None, [paths_of.name_of(path, hidden) for path in gone])
        with db.atomic():
            db.run_many("DELETE FROM memory_unread_files WHERE file_path = ?", [(path,) for path in gone])


def bury(db: Database, files: Mapping[str, Gone]) -> None:
    """Remember what was archived of files, so that items can come back with their text."""
    now = ids.timestamp()
    with db.atomic():
        db.run_many(
            "INSERT INTO memory_gone_files(file_path, sha256, item_ids, gone_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(file_path) DO UPDATE SET sha256 = excluded.sha256, item_ids = excluded.item_ids, "
            "gone_at = excluded.gone_at",
            [(path, gone.sha256, json.dumps(gone.item_ids), now) for path, gone in files.items()],
        )


def buried(db: Database, paths: Iterable[str]) -> dict[str, Gone]:
    """What was archived of these files earlier on; files without such are left out."""
    out: dict[str, Gone] = {}
    for batch in batches(list(paths)):
        for path, sha256, item_ids in db.rows(
            f"SELECT file_path, sha256, item_ids FROM memory_gone_files WHERE file_path IN ({marks(batch)})", batch
        ):
            out[path] = Gone(sha256, tuple(rows.strings(item_ids)))
    return out


def unbury(db: Database, paths: Iterable[str]) -> None:
    """Forget what was archived of these files."""
    with db.atomic():
        db.run_many("DELETE FROM memory_gone_files WHERE file_path = ?", [(path,) for path in paths])


def taken_away(db: Database, item_ids: Sequence[str]) -> list[str]:
    """Those of these archived items that following their document archived, and nobody else."""
    out: list[str] = []
    for batch in batches(list(item_ids)):
        out += [
            row[0]
            for row in db.rows(
                "SELECT item_id, reason, max(revision_num) FROM memory_revisions "
                f"WHERE item_id IN ({marks(batch)}) GROUP BY item_id",
                batch,
            )
            if row[1] == "ingest"
        ]
    return out


def reinstate(db: Database, item_ids: Sequence[str]) -> None:
    """Let nothing supersede these items any more."""
    with db.atomic():
        db.run_many(
            "DELETE FROM memory_links WHERE dst_id = ? AND rel = 'supersedes'", [(item_id,) for item_id in item_ids]
        )
