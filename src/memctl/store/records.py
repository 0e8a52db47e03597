"""What a store holds beside its items, as records: the rows that a complete export carries, table by table.

Not among them are what an item's own line says (where it stands, its importance, why it is withheld); what is computed
and can be made again (the index, vectors); and what is true of one file on one machine alone (its id, states of files
on the disk, before-images of undo).
"""

from collections.abc import Iterator, Sequence

from memctl.annotations import Any, NamedTuple
from memctl.store.database import Database
from memctl.store.filters import utc_of
from memctl.store.items import items


class RecordKind(NamedTuple):
    """One sort of record: a table, and what its columns hold.

    columns  the column and what it holds: id or ids (of items), line, text, count, share (0 to 1), json, retention
             (keep or fade); `?` behind it: or null
    key      the columns that make a row the one it is
    time     the column that says when it was made; "" where none does: such rows are few, and `since` passes them all
    only     the condition for rows that are exported
    """

    name: str
    table: str
    columns: dict[str, str]
    key: tuple[str, ...]
    time: str = ""
    only: str = "1"

    def field(self, column: str) -> str:
        """What a column is called in a record: JSON needs no word that it is JSON."""
        return column.removesuffix("_json")


def _kind(name: str, table: str, columns: str, key: str, time: str = "", only: str = "1") -> RecordKind:
    pairs = (word.partition(":") for word in columns.split())
    return RecordKind(name, table, {column: holds or "line" for column, _, holds in pairs}, (*key.split(),), time, only)


#: In the order in which they are exported: what others refer to comes first.
KINDS = (
    _kind("link", "memory_links", "src_id:id dst_id:id rel created_at", "src_id dst_id rel", "created_at"),
    # The first note of an import, which says nothing but that the row is as it is: the next import makes its own.
    _kind("revision", "memory_revisions", "item_id:id revision_num:count revision_id snapshot:json changed_at reason",
          "revision_id", "changed_at", "NOT (reason = 'import' AND snapshot = '{}' AND revision_num = 1)"),
    _kind("withheld", "memory_withheld", "item_id:id reason withheld_at", "item_id", "withheld_at"),
    _kind("retention", "memory_retention", "item_id:id kind:retention rate:share set_at", "item_id", "set_at"),
    _kind("conflict", "memory_conflicts", "id a_id:id b_id:id why state found_at decided_at reason", "id", "found_at"),
    _kind("citation", "memory_citations", "item_id:id number:count kind cited:text given:count path symbol "
          "line_start:count? line_end:count? text_hash passages:json revision state moved_to state_at",
          "item_id number", "state_at"),
    _kind("tombstone", "memory_tombstones", "content_hash item_id source purged_at", "content_hash item_id",
          "purged_at"),
    _kind("pin", "memory_palace_locations", "item_id:id domain room shelf card assigned_at", "item_id", "assigned_at"),
    _kind("corpus", "corpus_metadata", "corpus_id corpus_label parent_corpus_id:line? doc_count:count item_count:count "
          "scope ingested_at", "corpus_id", "ingested_at"),
    _kind("corpus_file", "memory_corpus_files", "corpus_id path sha256 passages:count", "corpus_id path"),
    _kind("mount", "memory_mounts", "mount_id path name:line? ignore_json:json lang_hint:line? created_at "
          "last_sync_at:line?", "mount_id"),
    _kind("mount_options", "memory_mount_options", "mount_id scope:line?", "mount_id"),
    _kind("setting", "schema_meta", "key value", "key", only="key LIKE 'chunk_tokens %'"),
    _kind("file", "corpus_hashes", "file_path sha256 chunk_count:count item_ids:ids ingested_at mount_id:line? "
          "rel_path:line? ext:line? size_bytes:count? mtime_epoch:count? lang_hint:line?", "file_path", "ingested_at",
          "sha256 <> ''"),
    _kind("gone_file", "memory_gone_files", "file_path sha256 item_ids:ids gone_at", "file_path", "gone_at"),
    _kind("workspace", "memory_workspaces", "name scope corpus_id description created_at", "name"),
    _kind("workspace_options", "memory_workspace_options", "name read_scopes:json? budget:count?", "name"),
    _kind("session", "memory_sessions", "session_id project_id:line? scope:line? turn_count:count? created_at:line? "
          "updated_at:line? metadata_json:json?", "session_id", "updated_at"),
    _kind("turn", "memory_turns", "session_id number:count question:text answer:text sources:json injectable:count "
          "asked_at", "session_id number", "asked_at"),
    _kind("turn_origin", "memory_turn_origins", "session_id number:count origin", "session_id number"),
    _kind("session_item", "memory_session_items", "item_id:id session_id", "item_id session_id"),
    _kind("session_link", "memory_session_links", "src_id dst_id rel created_at", "src_id dst_id rel", "created_at"),
    _kind("usefulness", "memory_usefulness", "item_id:id session_id tokens:count used judged_at", "item_id session_id",
          "judged_at"),
    _kind("event", "memory_events", "timestamp action item_id:id? details_json:json content_hash id", "id", "timestamp",
          "NOT (action = 'write' AND json_valid(details_json) "
          "AND json_extract(details_json, '$.reason') IS 'import')"),
)  # fmt: skip
BY_NAME = {kind.name: kind for kind in KINDS}
#: In which order the records of a kind are exported, where that is not the order of their keys.
_ORDER = {"revision": "item_id, revision_num, revision_id", "event": "timestamp, rowid"}


def read_records(db: Database, kind: RecordKind, since: str = "") -> Iterator[dict[str, Any]]:
    """The records of a kind, in an order that only they decide.

    since  only those made at this moment or later (in the shape of `ids.timestamp`)
    """
    if kind.table not in db.tables:
        return
    present = {row[1] for row in db.rows(f"PRAGMA main.table_info({kind.table})")}
    shown = [column if column in present else f"NULL AS {column}" for column in kind.columns]
    where, values = kind.only, []
    if since and kind.time:
        where, values = f"{where} AND {utc_of(kind.time)} >= ?", [since]
    order = _ORDER.get(kind.name, ", ".join(kind.key))
    for row in db.each(f"SELECT {', '.join(shown)} FROM {kind.table} WHERE {where} ORDER BY {order}", values):
        out: dict[str, Any] = {"record": kind.name}
        for (column, holds), cell in zip(kind.columns.items(), row, strict=True):
            is_json = holds.rstrip("?") in ("json", "ids")
            value = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
            found = items.load_json(value) if is_json and value is not None else value
            out[kind.field(column)] = value if found is None else found
        yield out


def links_by_source(db: Database) -> dict[str, list[dict[str, str]]]:
    """All links, by the item they begin at: dst_id, rel and created_at, in order."""
    out: dict[str, list[dict[str, str]]] = {}
    for link in read_records(db, BY_NAME["link"]):
        out.setdefault(link["src_id"], []).append({key: link[key] for key in ("dst_id", "rel", "created_at")})
    return out


def find_record(db: Database, kind: RecordKind, row: Sequence[object]) -> tuple[Any, ...] | None:
    """The row that is here under the key of this one; None when there is none."""
    given = dict(zip(kind.columns, row, strict=True))
    where = " AND ".join(f"{column} = ?" for column in kind.key)
    keys = [given[column] for column in kind.key]
    found: tuple[Any, ...] | None = db.row(f"SELECT {', '.join(kind.columns)} FROM {kind.table} WHERE {where}", keys)
    return found


def add_record(db: Database, kind: RecordKind, row: Sequence[object]) -> bool:
    """Insert a row; one that is here under its key stays as it is. Whether the row came in."""
    columns, marks = ", ".join(kind.columns), ", ".join("?" * len(kind.columns))
    done = db.run(f"INSERT INTO {kind.table}({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING", row)
    return done.rowcount > 0


def forget_import(db: Database, item_id: str) -> None:
    """Drop the revision that an import made of a new item, because its own revisions come."""
    sql = "DELETE FROM memory_revisions WHERE item_id = ? AND reason = 'import' AND snapshot = ?"
    db.run(sql, (item_id, items.UNCHANGED))


def number_revisions(db: Database, item_ids: Sequence[str]) -> None:
    """Number the revisions of items, which came from two histories, by when they were made; what is as the row is now
    comes last.
    """
    for item_id in item_ids:
        found = db.rows(
            "SELECT revision_id FROM memory_revisions WHERE item_id = ? "
            f"ORDER BY snapshot = ?, {utc_of('changed_at')}, revision_num, revision_id",
            (item_id, items.UNCHANGED),
        )
        db.run_many(
            "UPDATE memory_revisions SET revision_num = ? WHERE revision_id = ?",
            [(number, revision_id) for number, (revision_id,) in enumerate(found, 1)],
        )


def newest_event(db: Database) -> int:
    """The row of the newest event."""
    return int(db.value("SELECT max(rowid) FROM memory_events") or 0)


def put_events_last(db: Database, first: int, last: int) -> None:
    """Let the events of these rows (after the first, to the last) be the newest: what was imported with its own earlier
    events was judged after all of them.
    """
    newest = newest_event(db)
    if newest > last > first:
        moved = newest - first
        db.run("UPDATE memory_events SET rowid = rowid + ? WHERE rowid > ? AND rowid <= ?", (moved, first, last))


def count_turns(db: Database) -> None:
    """Let each session count as many turns as it has at least."""
    db.run(
        "UPDATE memory_sessions SET turn_count = coalesce((SELECT max(number) FROM memory_turns AS t "
        "WHERE t.session_id = memory_sessions.session_id), turn_count) WHERE turn_count < "
        "(SELECT max(number) FROM memory_turns AS t WHERE t.session_id = memory_sessions.session_id)"
    )


def mount_at(db: Database, path: str) -> str | None:
    """The id of the mount of this folder; None when there is none."""
    found: str | None = db.value("SELECT mount_id FROM memory_mounts WHERE path = ?", (path,))
    return found


def date_withheld(db: Database, item_id: str, reason: str, withheld_at: str) -> None:
    """Say since when an item is withheld that an import has brought."""
    db.run(
        "UPDATE memory_withheld SET withheld_at = ? WHERE item_id = ? AND reason = ?", (withheld_at, item_id, reason)
    )


def free_items(db: Database, given: Sequence[tuple[str, str | None]]) -> None:
    """Let items be given to models again that an import has brought, each with the end that it had there."""
    db.run_many("UPDATE memory_items SET injectable = 1, expires_at = ? WHERE id = ?", [(e, i) for i, e in given])
    db.run_many("DELETE FROM memory_withheld WHERE item_id = ?", [(i,) for i, _ in given])
