"""The files and document sets that fed the store: how each was last seen, what it holds, and which are gone for now."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from memctl import ids
from memctl.annotations import Any, NamedTuple
from memctl.store.database import Database
from memctl.store.filters import LAST, Filters
from memctl.store.items.items import load_strings
from memctl.store.journal import for_good
from memctl.types import CorpusMetadata


class IngestedFile(NamedTuple):
    """A file as it was when it was ingested.

    path: absolute, or `<stdin:...>` with a hash of the input; sha256: hex, of the raw bytes;
    item_ids: its active items in the order of the file;
    recipe: how it was cut, judged and filed, so that a change of options means doing it again;
    chunk_count: what a program says of its passages, 0 = as many as `item_ids`.
    """

    path: str
    sha256: str
    item_ids: tuple[str, ...] = ()
    size: int | None = None
    mtime_ns: int | None = None
    inode: int | None = None
    recipe: str = ""
    ext: str | None = None
    mount_id: str | None = None
    rel_path: str | None = None
    lang_hint: str | None = None
    ctime_ns: int | None = None
    chunk_count: int = 0


class FileSummary(NamedTuple):
    """A file and how much the store holds of it.

    size: in bytes, None where it was not recorded; chunks: its active passages.
    """

    path: str
    size: int | None
    chunks: int
    ext: str | None = None
    rel_path: str | None = None


def get_files(db: Database, paths: Iterable[str]) -> dict[str, IngestedFile]:
    """What the store knows of these files; files it has not met are left out."""
    join, extra, changed = "", "NULL, NULL, ''", "NULL"
    if "memory_files" in db.tables:
        join = "LEFT JOIN memory_files AS f ON f.file_path = c.file_path"
        changed = "f.ctime_ns" if "memory_gone_files" in db.tables else "NULL"  # they came together
        extra = "f.mtime_ns, f.inode, coalesce(f.recipe, '')"
    found = db.rows(
        f"SELECT c.file_path, c.sha256, c.item_ids, c.size_bytes, {extra}, c.ext, c.mount_id, c.rel_path, c.lang_hint, "
        f"{changed} FROM corpus_hashes AS c {join} WHERE c.file_path IN (?*)",
        keys=paths,
    )
    return {
        path: IngestedFile(path, sha256, tuple(load_strings(item_ids)), *more)
        for path, sha256, item_ids, *more in found
    }


def put_files(db: Database, files: Iterable[IngestedFile]) -> None:
    """Record files as they are now."""
    files = list(files)
    now = ids.timestamp()
    with db.atomic():
        db.upsert(
            "corpus_hashes",
            "file_path sha256 chunk_count item_ids ingested_at mount_id rel_path ext size_bytes mtime_epoch lang_hint",
            [
                (f.path, f.sha256, f.chunk_count or len(f.item_ids), json.dumps(f.item_ids), now, f.mount_id,
                 f.rel_path, f.ext, f.size, None if f.mtime_ns is None else f.mtime_ns // 1_000_000_000, f.lang_hint)
                for f in files
            ],
        )  # fmt: skip
        db.upsert(
            "memory_files",
            "file_path mtime_ns inode recipe ctime_ns",
            [(f.path, f.mtime_ns, f.inode, f.recipe, f.ctime_ns) for f in files],
        )


def prefix_end(prefix: str) -> str:
    """The first text after all with this prefix: `path >= prefix AND path < prefix_end(prefix)` uses an index."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def list_files_below(db: Database, prefix: str = "", scopes: tuple[str, ...] | None = None) -> list[FileSummary]:
    """The files below a folder (its path ends in a separator; "" means all files), by path.

    scopes: only passages in these are counted, and files without one there are left out.
    """
    where, values = "c.sha256 <> ''", []  # files that were only announced (see `expect`) have not been read
    if prefix:
        where += " AND c.file_path >= ? AND c.file_path < ?"
        values = [prefix, prefix_end(prefix)]
    recorded = "NULL, NULL, NULL"
    if "memory_mounts" in db.tables:  # since schema 2
        recorded = "c.size_bytes, c.ext, c.rel_path"
    found = db.rows(
        f"SELECT c.file_path, json_array_length({_ITEM_IDS}), {recorded} FROM corpus_hashes AS c "
        f"WHERE {where} ORDER BY c.file_path",
        values,
    )
    if scopes is not None:
        active, more = Filters(scopes).where("i")
        inside = _count_passages(db, where, f"SELECT i.id FROM memory_items AS i WHERE {active}", [*values, *more])
        return [FileSummary(path, size, inside[path], ext, rel) for path, _, size, ext, rel in found if path in inside]
    gone: dict[str, int] = {}
    if db.row("SELECT 1 FROM memory_items WHERE archived > 0 LIMIT 1"):
        gone = _count_passages(db, where, "SELECT id FROM memory_items WHERE archived > 0", values)
    return [FileSummary(path, size, n - gone.get(path, 0), ext, rel) for path, n, size, ext, rel in found]


class DocumentSum(NamedTuple):
    """Documents as one line tells of them: a folder or a single file, how much is in it, and when it was last read."""

    path: str
    files: int
    passages: int
    updated_at: str


def has_documents(db: Database) -> bool:
    """Whether any file has passages here."""
    return db.row("SELECT 1 FROM corpus_hashes WHERE chunk_count > 0 LIMIT 1") is not None


def sum_documents(
    db: Database, scopes: tuple[str, ...] | None = None, source: str | None = None, *, by_file: bool = False
) -> list[DocumentSum]:
    """The documents whose passages are in these scopes, summed up by mount, other files by their folders; by path.

    What a folder holds is told by its files: one whose passages are in several scopes counts where its first one is.

    source   only this file, or the files below this folder (an absolute path)
    by_file  each file by itself
    """
    values: list[Any] = []
    join, where = "", "c.chunk_count > 0"
    if scopes is not None:
        from memctl.store.search.index import has_other_scopes

        inside = f"scope IN ({', '.join('?' * len(scopes))})"
        if has_other_scopes(db, scopes):
            join = f"JOIN memory_items AS i ON i.id = json_extract({_ITEM_IDS}, '$[0]') AND i.{inside}"
            values += scopes
    folder = _FOLDER
    if by_file:
        folder = "c.file_path"
    elif "memory_mounts" in db.tables:  # since schema 2
        join += " LEFT JOIN memory_mounts AS m ON m.mount_id = c.mount_id"
        folder = f"coalesce(rtrim(m.path, '/') || '/', {_FOLDER})"
    if source is not None:
        where += " AND (c.file_path = ? OR c.file_path BETWEEN ? AND ?)"
        values += [source, f"{source}/", f"{source}/{LAST}"]
    found = db.rows(
        f"SELECT {folder} AS folder, min(c.file_path), count(*), sum(c.chunk_count), max(c.ingested_at) "
        f"FROM corpus_hashes AS c {join} WHERE {where} GROUP BY folder ORDER BY folder",
        values,
    )
    return [DocumentSum(path if files == 1 else name, files, count, last) for name, path, files, count, last in found]


#: The folder of a file, with the separator that it ends in: the path without the last characters that are none.
_FOLDER = "rtrim(c.file_path, replace(c.file_path, '/', ''))"
#: The ids of a file's items, `[]` where another program left something that is no JSON.
_ITEM_IDS = "CASE WHEN json_valid(c.item_ids) THEN c.item_ids ELSE '[]' END"


def _count_passages(db: Database, where: str, items: str, values: list[Any]) -> dict[str, int]:
    """How many items of each file are among those a subquery names; files without any are left out."""
    return dict(
        db.rows(
            f"SELECT c.file_path, count(*) FROM corpus_hashes AS c, json_each({_ITEM_IDS}) AS one "
            f"WHERE {where} AND one.value IN ({items}) GROUP BY c.file_path",
            values,
        )
    )


def forget_files(db: Database, paths: Iterable[str], *, gone: bool = False) -> None:
    """Drop the records of files, or what was archived of files that are gone; items are not touched."""
    keys = [(path,) for path in paths]
    with db.atomic():
        for table in ("memory_gone_files",) if gone else ("corpus_hashes", "memory_files"):
            db.run_many(f"DELETE FROM {table} WHERE file_path = ?", keys)


def expect_files(db: Database, paths: Iterable[str]) -> None:
    """Note documents whose passages came from elsewhere, so that reading one later takes these passages over."""
    with db.atomic():
        db.run_many(
            "INSERT INTO corpus_hashes(file_path, sha256, ingested_at) VALUES (?, '', ?) ON CONFLICT DO NOTHING",
            [(path, ids.timestamp()) for path in sorted(paths)],
        )


def list_files(db: Database, path: str | None = None, mount_id: str | None = None) -> list[dict[str, Any]]:
    """Rows of corpus_hashes as dicts with `item_ids` decoded, by path: of one path, of one mount, or all."""
    names = ("file_path", "sha256", "chunk_count", "item_ids", "ingested_at", "mount_id", "rel_path", "ext",
             "size_bytes", "mtime_epoch", "lang_hint")  # fmt: skip
    wanted = {name: value for name, value in (("file_path", path), ("mount_id", mount_id)) if value is not None}
    where, values = " AND ".join(f"{name} = ?" for name in wanted) or "1", list(wanted.values())
    found = db.rows(f"SELECT {', '.join(names)} FROM corpus_hashes WHERE {where} ORDER BY file_path", values)
    out = [dict(zip(names, row, strict=True)) for row in found]
    for row in out:
        row["item_ids"] = load_strings(row["item_ids"])
    return out


def put_corpus(db: Database, corpus: CorpusMetadata) -> None:
    """Record a document set, or bring its row up to date."""
    names = CorpusMetadata.__slots__
    with db.atomic():
        db.upsert("corpus_metadata", " ".join(names), [[getattr(corpus, name) for name in names]])


def list_corpora(db: Database, scope: str | None = None) -> list[CorpusMetadata]:
    """The document sets, by id."""
    where, values = ("scope = ?", (scope,)) if scope is not None else ("1", ())
    columns = ", ".join(CorpusMetadata.__slots__)
    found = db.rows(f"SELECT {columns} FROM corpus_metadata WHERE {where} ORDER BY corpus_id", values)
    return [CorpusMetadata(*row) for row in found]


def count_corpus(db: Database, corpus_id: str) -> tuple[int, int]:
    """How many documents and active items a corpus holds."""
    row = db.row(
        "SELECT count(DISTINCT json_extract(provenance_json, '$.source_id')), count(*) FROM memory_items "
        "WHERE corpus_id = ? AND archived = 0",
        (corpus_id,),
    )
    return int(row[0]), int(row[1])


# --- folders ---------------------------------------------------------------------------------------------------------


class SeenFile(NamedTuple):
    """A file as it was when it was read.

    current: it would come out the same today (same options and rules), and no other program has changed the record.
    """

    size: int | None
    mtime_ns: int | None
    ctime_ns: int | None
    inode: int | None
    current: bool
    mount_id: str | None


class DocumentRoot(NamedTuple):
    """A mount as its files know it.

    prefix     what the path of every file in it begins with: that of its folder, and a separator
    lang_hint  the language of its documents
    scope      where they are filed
    recipe     how they are cut, judged and filed
    inner      the mounts within, the outer ones of them first; each file belongs to the innermost that it lies in
    spare      a forced run leaves out the files of the mounts within: each of these has a run of its own
    """

    mount_id: str
    prefix: str
    lang_hint: str | None
    scope: str
    recipe: str
    inner: tuple["DocumentRoot", ...] = ()
    spare: bool = False

    def owner_of(self, path: str) -> "DocumentRoot":
        """The mount that a file belongs to."""
        return next((home for home in reversed(self.inner) if path.startswith(home.prefix)), self)

    def forces(self, path: str) -> bool:
        """Whether a forced run includes this file."""
        return not self.spare or self.owner_of(path) is self


class GoneFile(NamedTuple):
    """What was archived of a file that disappeared or changed: the hash of its bytes, and the items, latest first."""

    sha256: str
    item_ids: tuple[str, ...]


#: The recipe of a record that nobody else has changed ends in its hash (see `ingest.prepare`).
_SEEN = (
    "SELECT c.file_path, c.size_bytes, f.mtime_ns, f.ctime_ns, f.inode, "
    "f.recipe IS ? || ':' || substr(c.sha256, 1, 12), c.mount_id "
    "FROM corpus_hashes AS c LEFT JOIN memory_files AS f ON f.file_path = c.file_path"
)


def paths_with(db: Database, hashes: Iterable[str]) -> dict[str, list[str]]:
    """The known files whose bytes have these hashes, and then those that were known before they were gone."""
    out: dict[str, list[str]] = {}
    if "memory_gone_files" in db.tables:
        for sha256, path in db.rows(
            "SELECT sha256, file_path FROM (SELECT sha256, file_path, 0 AS gone FROM corpus_hashes "
            "WHERE sha256 IN (?*) UNION ALL SELECT sha256, file_path, 1 FROM memory_gone_files WHERE sha256 IN (?*) "
            "AND item_ids <> '[]') "
            "ORDER BY gone, file_path",
            keys=sorted(set(hashes)),
        ):
            out.setdefault(sha256, []).append(path)
    return out


def get_seen(db: Database, recipe: str, *, below: str | None = None, paths: Iterable[str] = ()) -> dict[str, SeenFile]:
    """The files below a folder (its path ends in a separator), or those of `paths`, as they were last read."""
    if below is None:
        if "memory_gone_files" not in db.tables:
            return {}
        these = db.rows(f"{_SEEN} WHERE c.file_path IN (?*)", (recipe,), keys=paths)
        return {path: SeenFile(*seen) for path, *seen in these}
    within = (below, prefix_end(below))
    if "memory_gone_files" not in db.tables:  # an older store, not written to yet: everything will be read again
        mount = "mount_id" if "memory_mounts" in db.tables else "NULL"
        older = f"SELECT file_path, {mount} FROM corpus_hashes WHERE file_path >= ? AND file_path < ?"
        return {
            path: SeenFile(None, None, None, None, current=False, mount_id=owner)
            for path, owner in db.rows(older, within)
        }
    found = db.rows(f"{_SEEN} WHERE c.file_path >= ? AND c.file_path < ?", (recipe, *within))
    return {path: SeenFile(*seen) for path, *seen in found}


class UnreadFile(NamedTuple):
    """A file that could not be read, as it was then, and why."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    reason: str


def get_unread_below(db: Database, prefix: str, recipe: str | None = None) -> dict[str, UnreadFile]:
    """The files below a folder that could not be read when they were last looked at; with these options and rules."""
    if "memory_unread_files" not in db.tables:
        return {}
    found = db.rows(
        "SELECT file_path, size, mtime_ns, ctime_ns, inode, reason FROM memory_unread_files "
        "WHERE file_path >= ? AND file_path < ? AND recipe = coalesce(?, recipe)",
        (prefix, prefix_end(prefix), recipe),
    )
    return {row[0]: UnreadFile(*row[1:]) for row in found}


def put_unread(db: Database, files: Mapping[str, UnreadFile], recipe: str) -> None:
    """Remember files that could not be read."""
    if files:
        with db.atomic():
            columns = "file_path size mtime_ns ctime_ns inode reason recipe"
            db.upsert("memory_unread_files", columns, [(path, *file, recipe) for path, file in files.items()])


def forget_unread(db: Database, paths: Iterable[str]) -> None:
    """Forget that these files could not be read."""
    gone = list(paths)
    if gone:
        stored = (row[0] for row in db.rows("SELECT file_path FROM memory_unread_files WHERE instr(file_path, '#')"))
        hidden = find_stand_ins(stored)
        gone += [hidden[one] for one in map(path_hash, gone if hidden else ()) if one in hidden]
        with db.atomic():
            db.run_many("DELETE FROM memory_unread_files WHERE file_path = ?", [(path,) for path in gone])


def record_gone(db: Database, files: Mapping[str, GoneFile]) -> None:
    """Remember what was archived of files, so that items can come back with their text."""
    now = ids.timestamp()
    with db.atomic():
        db.upsert(
            "memory_gone_files",
            "file_path sha256 item_ids gone_at",
            [(path, gone.sha256, json.dumps(gone.item_ids), now) for path, gone in files.items()],
        )


def get_gone(db: Database, paths: Iterable[str]) -> dict[str, GoneFile]:
    """What was archived of these files earlier on; files without such are left out."""
    found = db.rows("SELECT file_path, sha256, item_ids FROM memory_gone_files WHERE file_path IN (?*)", keys=paths)
    return {path: GoneFile(sha256, tuple(load_strings(item_ids))) for path, sha256, item_ids in found}


def is_cited(db: Database) -> bool:
    """Whether any statement cites a document."""
    return bool(db.value("SELECT 1 FROM memory_citations LIMIT 1"))


def archived_by_ingest(db: Database, item_ids: Sequence[str]) -> list[str]:
    """Those of these archived items that following their document archived, and nobody else."""
    found = db.rows(
        "SELECT item_id, reason, max(revision_num) FROM memory_revisions WHERE item_id IN (?*) GROUP BY item_id",
        keys=item_ids,
    )
    return [item_id for item_id, reason, _ in found if reason == "ingest"]


def drop_items(db: Database, item_ids: Iterable[str], sources: Iterable[str]) -> None:
    """Take items out of what the files of these paths hold: they are gone for good."""
    gone = set(item_ids)
    found = db.rows("SELECT file_path, item_ids FROM corpus_hashes WHERE file_path IN (?*)", keys=set(sources))
    with db.atomic():
        for path, held in found:
            left = [item_id for item_id in load_strings(held) if item_id not in gone]
            sql = "UPDATE corpus_hashes SET item_ids = ?, chunk_count = ? WHERE file_path = ?"
            db.run(sql, (json.dumps(left), len(left), path))


def unlink_superseding(db: Database, item_ids: Sequence[str]) -> None:
    """Let nothing supersede these items any more."""
    with db.atomic():
        db.run_many(
            "DELETE FROM memory_links WHERE dst_id = ? AND rel = 'supersedes'", [(item_id,) for item_id in item_ids]
        )


# --- secret paths ----------------------------------------------------------------------------------------------------


#: Hex digits of the SHA-256 of a path that its stand-in carries.
_HASH_DIGITS = 12
#: Where paths stand as keys, and where beside them.
_PATH_KEYS = ("corpus_hashes", "memory_files", "memory_gone_files", "memory_unread_files")
_OTHER_PATHS = (("corpus_hashes", "rel_path"), ("memory_mounts", "path"), ("memory_mounts", "name"))
_LOGGED_PATH = "CASE WHEN json_valid(details_json) THEN json_extract(details_json, '$.path') END"


class SecretPath(NamedTuple):
    """A path in a column of a table, and the stand-in that replaces it."""

    table: str
    column: str
    path: str
    stand_in: str


def make_stand_in(path: str, shown: str) -> str:
    """What a file is called in the store: its path, or, where `shown` differs from it, the stand-in."""
    return path if path == shown else f"{shown}#{path_hash(path)}"


def find_stand_ins(stored: Iterable[str]) -> dict[str, str]:
    """Those of these names that are stand-ins, by the hash in them."""
    return {
        name[-_HASH_DIGITS:]: name
        for name in stored
        if "[REDACTED:" in name and name[-_HASH_DIGITS - 1 : -_HASH_DIGITS] == "#"
    }


def path_hash(path: str) -> str:
    """The hash of a path by which its stand-in is known."""
    return ids.bytes_hash(path.encode("utf-8", "surrogatepass"))[:_HASH_DIGITS]


def find_secret_paths(db: Database, shown: Callable[[str], str]) -> list[SecretPath]:
    """The paths in the store that may not be there; `shown` says how policy lets one be shown."""
    out = []
    logged = ("memory_events", f"{_LOGGED_PATH} AS path")
    for table, column in (*((table, "file_path") for table in _PATH_KEYS), *_OTHER_PATHS, logged):
        if table in db.tables:
            only = "WHERE action = 'mount_register'" if table == "memory_events" else ""
            for (path,) in db.rows(f"SELECT DISTINCT {column} FROM {table} {only} ORDER BY 1"):
                stand_in = make_stand_in(path, shown(path)) if path else path
                if stand_in != path:
                    out.append(SecretPath(table, column, path, stand_in))
    return out


def hide_paths(db: Database, held: Iterable[SecretPath]) -> None:
    """Put the stand-ins in the place of paths, in one transaction."""
    secrets = list(held)
    with for_good(db, [path for _, _, path, _ in secrets], paths=len(secrets)):
        for table, column, path, name in secrets:
            if table == "memory_events":
                db.run(
                    "UPDATE memory_events SET details_json = json_set(details_json, '$.path', ?) "
                    f"WHERE action = 'mount_register' AND {_LOGGED_PATH} = ?",
                    (name, path),
                )
                continue
            if column == "file_path":  # it may be known by its stand-in already
                db.run(f"DELETE FROM {table} WHERE {column} = ?", (name,))
            db.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (name, path))
