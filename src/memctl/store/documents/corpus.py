"""Which files and document sets fed the store."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from memctl import ids
from memctl.store.connect import Database
from memctl.store.documents.sources import batches, beyond, marks
from memctl.store.filters import Filters
from memctl.store.items import rows
from memctl.types import CorpusMetadata


class File(NamedTuple):
    """A file as it was when it was ingested.

    path: absolute, or `<stdin:...>` with a hash of the input; sha256: hex, of the raw bytes;
    item_ids: its active items in the order of the file;
    recipe: how it was cut, judged and filed, so that a change of options means doing it again.
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


class Held(NamedTuple):
    """A file and how much the store holds of it.

    size: in bytes, None where it was not recorded; chunks: its active passages.
    """

    path: str
    size: int | None
    chunks: int
    ext: str | None = None
    rel_path: str | None = None


def known_files(db: Database, paths: Iterable[str]) -> dict[str, File]:
    """What the store knows of these files; files it has not met are left out."""
    out: dict[str, File] = {}
    join, extra = "", "NULL, NULL, '', NULL"
    if db.has("memory_files"):
        join = "LEFT JOIN memory_files AS f ON f.file_path = c.file_path"
        changed = "f.ctime_ns" if db.has("memory_gone_files") else "NULL"  # they came together
        extra = f"f.mtime_ns, f.inode, coalesce(f.recipe, ''), {changed}"
    for batch in batches(list(paths)):
        for path, sha, item_ids, size, mtime_ns, inode, recipe, ctime_ns, ext, mount, rel, lang in db.rows(
            f"SELECT c.file_path, c.sha256, c.item_ids, c.size_bytes, {extra}, c.ext, c.mount_id, c.rel_path, "
            f"c.lang_hint FROM corpus_hashes AS c {join} WHERE c.file_path IN ({marks(batch)})",
            batch,
        ):
            held = tuple(rows.strings(item_ids))
            out[path] = File(path, sha, held, size, mtime_ns, inode, recipe, ext, mount, rel, lang, ctime_ns)
    return out


def put_files(db: Database, files: Iterable[File]) -> None:
    """Record files as they are now."""
    files = list(files)
    now = ids.timestamp()
    with db.atomic():
        db.run_many(
            "INSERT INTO corpus_hashes(file_path, sha256, chunk_count, item_ids, ingested_at, mount_id, rel_path, ext, "
            "size_bytes, mtime_epoch, lang_hint) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT(file_path) DO UPDATE SET sha256 = excluded.sha256, chunk_count = excluded.chunk_count, "
            "item_ids = excluded.item_ids, ingested_at = excluded.ingested_at, mount_id = excluded.mount_id, "
            "rel_path = excluded.rel_path, ext = excluded.ext, size_bytes = excluded.size_bytes, "
            "mtime_epoch = excluded.mtime_epoch, lang_hint = excluded.lang_hint",
            [
                (f.path, f.sha256, len(f.item_ids), json.dumps(f.item_ids), now, f.mount_id, f.rel_path, f.ext,
                 f.size, None if f.mtime_ns is None else f.mtime_ns // 1_000_000_000, f.lang_hint)
                for f in files
            ],
        )  # fmt: skip
        db.run_many(
            "INSERT INTO memory_files(file_path, mtime_ns, inode, recipe, ctime_ns) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT(file_path) DO UPDATE SET mtime_ns = excluded.mtime_ns, inode = excluded.inode, "
            "recipe = excluded.recipe, ctime_ns = excluded.ctime_ns",
            [(f.path, f.mtime_ns, f.inode, f.recipe, f.ctime_ns) for f in files],
        )


def paths_below(db: Database, prefix: str) -> list[str]:
    """The ingested files whose path starts with this folder (which ends in a separator)."""
    found = db.rows(
        "SELECT file_path FROM corpus_hashes WHERE file_path >= ? AND file_path < ? ORDER BY file_path",
        (prefix, beyond(prefix)),
    )
    return [row[0] for row in found]


def below(db: Database, prefix: str = "", scopes: tuple[str, ...] | None = None) -> list[Held]:
    """The files below a folder (its path ends in a separator; "" means all files), by path.

    scopes: only passages in these are counted, and files without one there are left out.
    """
    where, values = "c.sha256 <> ''", []  # files that were only announced (see `expect`) have not been read
    if prefix:
        where += " AND c.file_path >= ? AND c.file_path < ?"
        values = [prefix, beyond(prefix)]
    recorded = "c.size_bytes, c.ext, c.rel_path" if db.has("memory_mounts") else "NULL, NULL, NULL"  # since schema 2
    found = db.rows(
        f"SELECT c.file_path, json_array_length({_ITEM_IDS}), {recorded} FROM corpus_hashes AS c "
        f"WHERE {where} ORDER BY c.file_path",
        values,
    )
    if scopes is not None:
        active, more = Filters(scopes).where("i")
        inside = _passages(db, where, f"SELECT i.id FROM memory_items AS i WHERE {active}", [*values, *more])
        return [Held(path, size, inside[path], ext, rel) for path, _, size, ext, rel in found if path in inside]
    gone: dict[str, int] = {}
    if db.row("SELECT 1 FROM memory_items WHERE archived > 0 LIMIT 1"):
        gone = _passages(db, where, "SELECT id FROM memory_items WHERE archived > 0", values)
    return [Held(path, size, n - gone.get(path, 0), ext, rel) for path, n, size, ext, rel in found]


#: The ids of a file's items, `[]` where another program left something that is no JSON.
_ITEM_IDS = "CASE WHEN json_valid(c.item_ids) THEN c.item_ids ELSE '[]' END"


def _passages(db: Database, where: str, items: str, values: list[Any]) -> dict[str, int]:
    """How many items of each file are among those a subquery names; files without any are left out."""
    return dict(
        db.rows(
            f"SELECT c.file_path, count(*) FROM corpus_hashes AS c, json_each({_ITEM_IDS}) AS one "
            f"WHERE {where} AND one.value IN ({items}) GROUP BY c.file_path",
            values,
        )
    )


def forget_files(db: Database, paths: Iterable[str]) -> None:
    """Drop the records of files; their items are not touched."""
    keys = [(path,) for path in paths]
    with db.atomic():
        db.run_many("DELETE FROM corpus_hashes WHERE file_path = ?", keys)
        db.run_many("DELETE FROM memory_files WHERE file_path = ?", keys)


def expect(db: Database, paths: Iterable[str]) -> None:
    """Note documents whose passages came from elsewhere, so that reading one later takes these passages over."""
    with db.atomic():
        db.run_many(
            "INSERT INTO corpus_hashes(file_path, sha256, ingested_at) VALUES (?, '', ?) ON CONFLICT DO NOTHING",
            [(path, ids.timestamp()) for path in sorted(paths)],
        )


def file_row(db: Database, path: str) -> dict[str, Any] | None:
    """The row of corpus_hashes for a path as a dict with `item_ids` decoded, or None."""
    found = file_rows(db, "file_path = ?", (path,))
    return found[0] if found else None


def file_rows(db: Database, where: str = "1", values: tuple[object, ...] = ()) -> list[dict[str, Any]]:
    """Rows of corpus_hashes as dicts, by path; `where` is one of this package's own conditions."""
    names = ("file_path", "sha256", "chunk_count", "item_ids", "ingested_at", "mount_id", "rel_path", "ext",
             "size_bytes", "mtime_epoch", "lang_hint")  # fmt: skip
    found = db.rows(f"SELECT {', '.join(names)} FROM corpus_hashes WHERE {where} ORDER BY file_path", values)
    out = [dict(zip(names, row, strict=True)) for row in found]
    for row in out:
        row["item_ids"] = rows.strings(row["item_ids"])
    return out


def put_corpus(db: Database, corpus: CorpusMetadata) -> None:
    """Record a document set, or bring its row up to date."""
    with db.atomic():
        db.run(
            "INSERT INTO corpus_metadata(corpus_id, corpus_label, parent_corpus_id, doc_count, item_count, scope, "
            "ingested_at) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(corpus_id) DO UPDATE SET "
            "corpus_label = excluded.corpus_label, parent_corpus_id = excluded.parent_corpus_id, "
            "doc_count = excluded.doc_count, item_count = excluded.item_count, scope = excluded.scope, "
            "ingested_at = excluded.ingested_at",
            (corpus.corpus_id, corpus.corpus_label, corpus.parent_corpus_id, corpus.doc_count, corpus.item_count,
             corpus.scope, corpus.ingested_at),
        )  # fmt: skip


def corpora(db: Database, scope: str | None = None) -> list[CorpusMetadata]:
    """The document sets, by id."""
    where, values = ("scope = ?", (scope,)) if scope is not None else ("1", ())
    found = db.rows(
        "SELECT corpus_id, corpus_label, parent_corpus_id, doc_count, item_count, scope, ingested_at "
        f"FROM corpus_metadata WHERE {where} ORDER BY corpus_id",
        values,
    )
    return [CorpusMetadata(*row) for row in found]


def count_corpus(db: Database, corpus_id: str) -> tuple[int, int]:
    """How many documents and active items a corpus holds."""
    row = db.row(
        "SELECT count(DISTINCT json_extract(provenance_json, '$.source_id')), count(*) FROM memory_items "
        "WHERE corpus_id = ? AND archived = 0",
        (corpus_id,),
    )
    return int(row[0]), int(row[1])
