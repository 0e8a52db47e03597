"""Versions of document sets: which documents a corpus held when it was registered, and what differs between two.

Documents that are said to belong to a corpus carry its id in their passages; what a version held is written down beside
it, because documents go on changing.
"""

import json
import os
from collections.abc import Iterable, Sequence

from memctl.annotations import Any, NamedTuple
from memctl.store.database import Database
from memctl.store.filters import IS_PASSAGE, LAST
from memctl.types import CorpusMetadata

#: What stands before the hash of a content.
_HASH = "sha256:"


class VersionFile(NamedTuple):
    """A document as a version of a corpus held it.

    path      below the folder that all are in; of a statement with the id of a rule: `rule/` and that id
    sha256    of the document's bytes, or of the statement
    passages  how many it was cut into
    """

    path: str
    sha256: str
    passages: int


def live_files(db: Database, corpus_id: str) -> list[VersionFile]:
    """The documents that belong to a corpus now, and its statements that are rules, by path."""
    source = "iif(json_valid(i.provenance_json), json_extract(i.provenance_json, '$.source_id'), '')"
    first = "iif(json_valid(i.provenance_json), json_extract(i.provenance_json, '$.content_hashes[0]'), '')"
    is_passage = IS_PASSAGE.replace("provenance_json", "i.provenance_json")
    documents = db.rows(
        f"SELECT {source} AS path, coalesce((SELECT nullif(c.sha256, '') FROM corpus_hashes AS c "
        f"WHERE c.file_path = {source}), max({first})), count(*) FROM memory_items AS i "
        f"WHERE i.corpus_id = ? AND i.archived = 0 AND i.rule_id IS NULL AND {is_passage} GROUP BY 1 ORDER BY 1",
        (corpus_id,),
    )
    rules = db.rows(
        "SELECT 'rule/' || rule_id, max(content_hash), count(*) FROM memory_items "
        "WHERE corpus_id = ? AND archived = 0 AND rule_id IS NOT NULL GROUP BY 1 ORDER BY 1",
        (corpus_id,),
    )
    return [*_relative(documents), *(_file(*row) for row in rules)]


def files_below(db: Database, folder: str) -> list[VersionFile]:
    """The documents of the store below a folder (an absolute path), by path."""
    start = os.path.join(folder, "")
    found = db.rows(
        "SELECT substr(file_path, ?), sha256, chunk_count FROM corpus_hashes WHERE file_path BETWEEN ? AND ? "
        "AND sha256 <> '' ORDER BY file_path",
        (len(start) + 1, start, start + LAST),
    )
    return [_file(*row) for row in found]


def _file(path: object, digest: object, passages: Any) -> VersionFile:
    return VersionFile(str(path), str(digest or "").removeprefix(_HASH), int(passages))


def _relative(rows: Sequence[tuple[Any, ...]]) -> list[VersionFile]:
    """The documents with their paths below the folder that all of them are in; other paths stay as they are."""
    paths = [str(row[0]) for row in rows]
    folder = ""
    if paths and all(os.path.isabs(path) for path in paths):
        folder = os.path.commonpath([os.path.dirname(path) for path in paths])
    return [_file(os.path.relpath(str(path), folder) if folder else path, *rest) for path, *rest in rows]


def version_files(db: Database, corpus_id: str) -> list[VersionFile]:
    """What a corpus held when it was registered; what belongs to it now where nobody wrote that down."""
    if "memory_corpus_files" in db.tables:
        sql = "SELECT path, sha256, passages FROM memory_corpus_files WHERE corpus_id = ? ORDER BY path"
        found = [_file(*row) for row in db.rows(sql, (corpus_id,))]
        if found:
            return found
    return live_files(db, corpus_id)


def is_registered(db: Database, corpus_id: str) -> bool:
    """Whether it is written down what a corpus held."""
    return bool(db.value("SELECT 1 FROM memory_corpus_files WHERE corpus_id = ? LIMIT 1", (corpus_id,)))


def folder_of(db: Database, corpus: CorpusMetadata) -> str:
    """The folder that a corpus was registered from; "" where it was none, or nobody wrote that down."""
    said = db.rows("SELECT details_json FROM memory_events WHERE action = 'corpus_register' ORDER BY timestamp DESC")
    for (details,) in said:
        found = json.loads(details)
        if (found.get("corpus_id"), found.get("at")) == (corpus.corpus_id, corpus.ingested_at):
            return str(found.get("folder") or "")
    return ""


def put_version(db: Database, corpus: CorpusMetadata, files: Iterable[VersionFile], folder: str = "") -> None:
    """Write down a version and what it holds, in place of what it held; `folder`: where its documents are."""
    from memctl.store.documents.corpus import put_corpus
    from memctl.store.items import events

    with db.atomic():
        put_corpus(db, corpus)
        db.run("DELETE FROM memory_corpus_files WHERE corpus_id = ?", (corpus.corpus_id,))
        rows = [(corpus.corpus_id, *one) for one in files]
        db.run_many("INSERT INTO memory_corpus_files(corpus_id, path, sha256, passages) VALUES (?, ?, ?, ?)", rows)
        # What undo takes back keeps its event: `at` says which of them made the version that is there.
        details = {"corpus_id": corpus.corpus_id, "parent": corpus.parent_corpus_id, "at": corpus.ingested_at}
        events.log(db, "corpus_register", None, details | ({"folder": folder} if folder else {}))


def remove_version(db: Database, corpus_id: str) -> bool:
    """Forget a version; the items that belong to it stay as they are. False when there is none."""
    with db.atomic():
        db.run("DELETE FROM memory_corpus_files WHERE corpus_id = ?", (corpus_id,))
        return db.run("DELETE FROM corpus_metadata WHERE corpus_id = ?", (corpus_id,)).rowcount > 0


class Drifted(NamedTuple):
    """What became of a document from one version to another.

    change  added, removed, changed, moved (the same bytes at another path) or unchanged
    was     the path that it had, where that differs
    """

    path: str
    change: str
    was: str = ""


def drift(old: Iterable[VersionFile], new: Iterable[VersionFile]) -> list[Drifted]:
    """What became of each document, by path."""
    before, after = ({one.path: one.sha256 for one in files} for files in (old, new))
    gone: dict[str, list[str]] = {}
    for path in sorted(before.keys() - after.keys(), reverse=True):
        gone.setdefault(before[path], []).append(path)
    out = []
    for path, digest in after.items():
        if path in before:
            out.append(Drifted(path, "unchanged" if before[path] == digest else "changed"))
        elif digest and gone.get(digest):
            out.append(Drifted(path, "moved", gone[digest].pop()))
        else:
            out.append(Drifted(path, "added"))
    out += [Drifted(path, "removed") for paths in gone.values() for path in paths]
    return sorted(out)
