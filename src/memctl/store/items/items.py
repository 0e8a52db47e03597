"""Items: read, write, change. Every write is one transaction of row, revision and event.

The newest revision of an item may be `{}`: "as the row still is" (see `schema.REVISION_TRIGGERS`). Bulk ingest uses
that, because a second copy of every document would cost more than the index.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from memctl import errors, ids
from memctl.store import safety
from memctl.store.database import MAX_VALUES, Database, batches, placeholders
from memctl.store.filters import Filters
from memctl.store.items import rows
from memctl.store.schema import HASH_KEY
from memctl.store.search import fts
from memctl.types import MemoryItem

_VALUES = f"({', '.join('?' * len(rows.COLUMNS))})"
_REPLACED = ", ".join(f"{c} = excluded.{c}" for c in rows.COLUMNS[1:])
_ROWS = min(400, MAX_VALUES // len(rows.COLUMNS))
_REVISION = (
    "INSERT INTO memory_revisions(revision_id, item_id, revision_num, snapshot, changed_at, reason) "
    "VALUES (?, ?, (SELECT coalesce(max(revision_num), 0) + 1 FROM memory_revisions WHERE item_id = ?), ?, ?, ?)"
)
_EVENT = (
    "INSERT INTO memory_events(id, action, item_id, details_json, content_hash, timestamp) VALUES (?, ?, ?, ?, ?, ?)"
)

#: A snapshot that says "as the row still is".
UNCHANGED = "{}"

#: What a cached item counts for in `Database.cached`, its text aside: about one finding a field that takes room.
_FINDINGS = 12
#: Fields that `update` never touches.
_PROTECTED = ("id", "created_at")

#: When items were used, how ("recall", "read"), and which.
Use = tuple[str, str, list[str]]
#: Uses that a handle gathers while the store is too busy to count them; further ones are not counted.
MOST_GATHERED = 10_000


class ContentHolder(NamedTuple):
    """Where a content is stored already."""

    id: str
    scope: str
    archived: bool


class ItemSummary(NamedTuple):
    """What a re-ingest needs to know of a passage."""

    id: str
    content_hash: str
    tags: tuple[str, ...]
    scope: str
    corpus_id: str | None
    injectable: bool
    archived: bool


# --- read ------------------------------------------------------------------------------------------------------------


def get(db: Database, item_id: str) -> MemoryItem | None:
    """The item with this id, archived or not; reading it counts as no use."""
    row = db.row(f"SELECT {rows.SELECT} FROM memory_items AS i WHERE i.id = ?", (item_id,))
    return None if row is None else rows.to_item(row, db.path)


def get_many(db: Database, item_ids: Iterable[str]) -> list[MemoryItem]:
    """The items with these ids, in the order asked; unknown ids are left out."""
    wanted = list(item_ids)
    held = db.rows_for(f"SELECT {rows.SELECT} FROM memory_items AS i WHERE i.id IN (?*)", wanted)
    found = {row[0]: rows.to_item(row, db.path) for row in held}
    return [found[i] for i in wanted if i in found]


def get_cached(db: Database, item_ids: Iterable[str]) -> list[MemoryItem]:
    """The same for answers: as they were when the store was last written to, uses aside. They must not be changed."""
    wanted = list(item_ids)
    held: dict[str, MemoryItem] = db.cached("items")
    if unknown := [i for i in wanted if i not in held]:
        found = {item.id: item for item in get_many(db, unknown)}
        held.update(found)
        db.cached("items", sum(_FINDINGS + len(item.content) // 100 for item in found.values()))
    return [held[i] for i in wanted if i in held]


def list_items(db: Database, filters: Filters, limit: int = 100) -> list[MemoryItem]:
    """Items that pass the filters, newest change first (ties by id)."""
    where, values = filters.where("i")
    found = db.rows(
        f"SELECT {rows.SELECT} FROM memory_items AS i WHERE {where} ORDER BY i.updated_at DESC, i.id LIMIT ?",
        [*values, limit],
    )
    return [rows.to_item(row, db.path) for row in found]


def iterate(db: Database, filters: Filters) -> Iterator[MemoryItem]:
    """All items that pass the filters, newest change first, in bounded memory and from one moment of the store."""
    where, values = filters.where("i")
    order = f"SELECT i.id FROM memory_items AS i WHERE {where} ORDER BY i.updated_at DESC, i.id"
    for batch in batches([row[0] for row in db.rows(order, values)]):
        yield from get_many(db, batch)


def count(db: Database, filters: Filters) -> int:
    """How many items pass the filters."""
    where, values = filters.where("i")
    return int(db.value(f"SELECT count(*) FROM memory_items AS i WHERE {where}", values))


def ids_by_hash(db: Database, hashes: Iterable[str]) -> dict[str, list[ContentHolder]]:
    """Which items hold contents with these hashes, oldest first; hashes nobody holds are left out."""
    out: dict[str, list[ContentHolder]] = {}
    for batch in batches(sorted(set(hashes)), 400):  # each is bound twice
        keys = [h[7:19] for h in batch]
        for content_hash, item_id, scope, archived in db.rows(
            # The plus: by the index of keys. SQLite takes `content_hash IN (?)` for a constant, puts it into the key's
            # expression, finds no index for that and reads the whole table.
            f"SELECT content_hash, id, scope, archived FROM memory_items WHERE {HASH_KEY} IN ({placeholders(keys)}) "
            f"AND +content_hash IN ({placeholders(batch)}) ORDER BY created_at, id",
            [*keys, *batch],
        ):
            out.setdefault(content_hash, []).append(ContentHolder(item_id, scope, bool(archived)))
    return out


def get_summaries(db: Database, item_ids: Iterable[str]) -> dict[str, ItemSummary]:
    """These items without their contents; unknown ids are left out."""
    sql = "SELECT id, content_hash, tags, scope, corpus_id, injectable, archived FROM memory_items WHERE id IN (?*)"
    return {
        item_id: ItemSummary(
            item_id, content_hash, tuple(rows.load_strings(tags)), scope, corpus_id, bool(injectable), bool(archived)
        )
        for item_id, content_hash, tags, scope, corpus_id, injectable, archived in db.rows_for(sql, item_ids)
    }


def passages_by_document(db: Database, paths: Iterable[str]) -> dict[str, list[str]]:
    """Active passages by the document they say they come from, oldest first; reads through the whole table."""
    out: dict[str, list[str]] = {}
    for path, item_id, provenance in db.rows_for(
        "SELECT iif(json_valid(provenance_json), json_extract(provenance_json, '$.source_id'), NULL) AS path, id, "
        "provenance_json FROM memory_items WHERE archived = 0 AND path IN (?*) ORDER BY created_at, id",
        paths,
    ):
        if rows.load_provenance(provenance).is_passage:  # a statement about a document is none of its passages
            out.setdefault(path, []).append(item_id)
    return out


def withheld_reasons(db: Database, item_ids: Iterable[str]) -> dict[str, str]:
    """Why items are not injectable: id -> "raw" or "policy"; items without a recorded reason are left out."""
    if not db.has("memory_withheld"):
        return {}
    return dict(db.rows_for("SELECT item_id, reason FROM memory_withheld WHERE item_id IN (?*)", item_ids))


def revisions(db: Database, item_id: str) -> list[dict[str, Any]]:
    """The states an item was written in, oldest first: revision_id, revision_num, snapshot, changed_at, reason."""
    out = []
    for revision_id, number, snapshot, changed_at, reason in db.rows(
        "SELECT revision_id, revision_num, snapshot, changed_at, reason FROM memory_revisions "
        "WHERE item_id = ? ORDER BY revision_num",
        (item_id,),
    ):
        state = rows.load_json(snapshot)
        if snapshot == UNCHANGED:
            item = get(db, item_id)
            state = item.to_dict() if item else {}
        out.append({"revision_id": revision_id, "revision_num": number, "snapshot": state,
                    "changed_at": changed_at, "reason": reason})  # fmt: skip
    return out


# --- write -----------------------------------------------------------------------------------------------------------


def write(db: Database, item: MemoryItem, reason: str = "create", withheld: str = "") -> MemoryItem:
    """Store an item as it is given (insert, or replace the one with its id), with a revision and an event."""
    write_many(db, [item], reason, {item.id: withheld} if withheld else None)
    return item


def write_many(
    db: Database,
    items: Sequence[MemoryItem],
    reason: str,
    withheld: Mapping[str, str] | None = None,
    *,
    compact: bool = False,
) -> None:
    """Store many items in one transaction.

    withheld: item id -> why it is not injectable ("raw" or "policy").
    compact: let the revision say "as the row still is" instead of copying the item.
    """
    snapshots = [UNCHANGED if compact else item.to_json() for item in items]
    with db.atomic():
        write_rows(db, [rows.from_item(item) for item in items], reason, snapshots)
        for item_id, why in (withheld or {}).items():
            set_withheld(db, item_id, why)


def write_rows(
    db: Database, row_values: Sequence[tuple[Any, ...]], reason: str, snapshots: Sequence[str] | None = None
) -> None:
    """Store rows of `rows.COLUMNS`, each with its event and a revision: its snapshot, or "as the row still is"."""
    now = ids.timestamp()
    details = json.dumps({"reason": reason, "rules": db.rules} if db.rules else {"reason": reason})
    states = snapshots if snapshots is not None else [UNCHANGED] * len(row_values)
    new = (ids.new_ids(prefix, len(row_values)) for prefix in ("REV", "EVT"))
    written = list(zip(row_values, states, *new, strict=True))
    with db.atomic():
        # A statement whose triggers write to the full-text index makes FTS5 flush what it holds: one statement a row
        # takes three times as long as some hundred rows at once.
        for start in range(0, len(row_values), _ROWS):
            part = row_values[start : start + _ROWS]
            db.run(
                f"INSERT INTO memory_items({', '.join(rows.COLUMNS)}) VALUES {', '.join([_VALUES] * len(part))} "
                f"ON CONFLICT(id) DO UPDATE SET {_REPLACED}",
                [value for row in part for value in row],
            )
        db.run_many(_REVISION, [(rev, row[0], row[0], state, row[16], reason) for row, state, rev, _ in written])
        db.run_many(_EVENT, [(event, "write", row[0], details, row[20], now) for row, _, _, event in written])


def update(
    db: Database, item_id: str, changes: Mapping[str, Any], reason: str = "update", *, compact: bool = False
) -> MemoryItem | None:
    """Change fields of an item in one transaction; unknown keys, id and created_at are left alone.

    Returns the item as it is now, or None when there is none with this id. Raises ValueError for an invalid value.
    """
    with db.atomic():
        item = get(db, item_id)
        if item is None:
            return None
        state = item.to_dict()
        state.update({k: v for k, v in changes.items() if k in state and k not in _PROTECTED})
        item = MemoryItem.from_dict(state)
        if "updated_at" not in changes:
            item.touch()
        write_many(db, [item], reason, compact=compact)
    return item


def archive(db: Database, item_id: str, reason: str = "archive", superseded_by: str | None = None) -> bool:
    """Take an item out of every read (it stays, and can be restored); False when there is none with this id."""
    changes: dict[str, Any] = {"archived": True}
    if superseded_by:
        changes["superseded_by"] = superseded_by
    return update(db, item_id, changes, reason, compact=True) is not None


def supersede(db: Database, old_id: str, new_id: str, reason: str = "supersede") -> bool:
    """Let a new item stand for an old one: link, archive and pointer in one transaction; False if one is missing.

    The new one matters as much as the old one did, unless it was said how much it does.
    """
    from memctl.store.items import attributes

    with db.atomic():
        if get(db, new_id) is None or not archive(db, old_id, reason, superseded_by=new_id):
            return False
        attributes.add_link(db, new_id, old_id, "supersedes")
        attributes.inherit_importance(db, [(old_id, new_id)])
    return True


def set_withheld(db: Database, item_id: str, reason: str, details: Sequence[str] = (), *, anew: bool = False) -> None:
    """Record why an item is not injectable. A quarantine ("policy") is never weakened to "raw".

    anew  drop what was recorded before; then an empty reason records nothing
    """
    if anew:
        db.run("DELETE FROM memory_withheld WHERE item_id = ?", (item_id,))
        if not reason:
            return
    db.run(
        "INSERT INTO memory_withheld(item_id, reason, details, withheld_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT(item_id) DO UPDATE SET reason = excluded.reason, details = excluded.details, "
        "withheld_at = excluded.withheld_at WHERE memory_withheld.reason = 'raw'",
        (item_id, reason, json.dumps(list(details)), ids.timestamp()),
    )


def rewrite_revisions(db: Database, snapshots: Iterable[tuple[str, str]]) -> None:
    """Replace the snapshots of revisions for good: pairs of the new snapshot, as JSON, and the revision's id."""
    db.run_many("UPDATE memory_revisions SET snapshot = ? WHERE revision_id = ?", snapshots)


def release_raw(db: Database, item_ids: Iterable[str], reason: str) -> int:
    """Make items injectable that were only raw; what policy withheld stays withheld. Returns how many."""
    raw = [i for i, why in withheld_reasons(db, item_ids).items() if why == "raw"]
    with db.atomic():
        for item_id in raw:
            update(db, item_id, {"injectable": True}, reason, compact=True)
            db.run("DELETE FROM memory_withheld WHERE item_id = ? AND reason = 'raw'", (item_id,))
    return len(raw)


def mark_used(db: Database, item_ids: Iterable[str], action: str = "read") -> bool:
    """Count a use of each item (delivered to a model, or opened by a person), after the answer is out.

    Bookkeeping only: on a read-only or busy store nothing is counted and False is returned. Works on a handle that
    was opened for reading. A handle that gathers uses keeps this one until `count_uses`.
    """
    wanted = list(item_ids)
    if not wanted or not db.writable:
        return False
    use = (ids.timestamp(), action, wanted)
    if db.uses is None:
        try:
            _add_uses(db, [use])
        except errors.MemctlError:
            return False
        return True
    if len(db.uses) >= MOST_GATHERED:
        return False
    db.uses.append(use)
    return True


def count_uses(db: Database) -> bool:
    """Write down the uses that a handle has gathered; False when the store is too busy: then it has them still."""
    try:
        if db.uses:
            _add_uses(db, db.uses)
    except errors.StoreBusy:
        return False
    except errors.MemctlError:  # a store that cannot be written to counts nothing
        pass
    if db.uses:
        db.uses.clear()
    return True


def _add_uses(db: Database, uses: Sequence[Use]) -> None:
    """Add the uses to the items, and an event for each, in one short transaction."""
    much: dict[str, tuple[int, str]] = {}
    for now, _, wanted in uses:
        for item_id in wanted:
            much[item_id] = (much[item_id][0] + 1 if item_id in much else 1, now)
    said = [(action, item_id, "{}", "", now) for now, action, wanted in uses for item_id in wanted]
    safety.check_triggers(db)
    with db.briefly_writable(), db.atomic(wait=0.5), db.keeping_cache():
        db.run_many(
            "UPDATE main.memory_items SET usage_count = usage_count + ?, last_used_at = ? WHERE id = ?",
            [(times, last, item_id) for item_id, (times, last) in much.items()],
        )
        events = ids.new_ids("EVT", len(said))
        db.run_many(_EVENT, [(event, *use) for event, use in zip(events, said, strict=True)])


# --- short ids -------------------------------------------------------------------------------------------------------


#: An id of ours is shown by as few of its hex digits as tell it from all others, of these numbers of them.
_ID_DIGITS = (6, 8, 12)
_ID_PREFIX = "MEM-"


def shorten_ids(db: Database, item_ids: Iterable[str]) -> dict[str, str]:
    """The ids as a block shows them: the shortest unique start of an id of ours, other ids whole."""
    out: dict[str, str] = {}
    left = []
    for item_id in item_ids:
        digits = item_id.removeprefix(_ID_PREFIX)
        if item_id.startswith(_ID_PREFIX) and len(digits) == _ID_DIGITS[-1] and not digits.strip("0123456789abcdef"):
            left.append(item_id)
        else:
            out[item_id] = "_".join(item_id.split()).replace("]", ")") or "-"
    for length in _ID_DIGITS:
        short = {item_id: item_id[: len(_ID_PREFIX) + length] for item_id in left}
        sql = (
            "SELECT s.value FROM json_each(?) AS s JOIN memory_items AS i "
            "ON i.id >= s.value AND i.id < s.value || 'g' GROUP BY s.value HAVING count(*) > 1"
        )
        shared = {row[0] for row in db.rows(sql, [json.dumps(sorted(set(short.values())))])}
        if length == _ID_DIGITS[-1]:
            shared = set()
        out.update((item_id, start.removeprefix(_ID_PREFIX)) for item_id, start in short.items() if start not in shared)
        left = [item_id for item_id, start in short.items() if start in shared]
        if not left:
            break
    return out


def expand_id(db: Database, given: str) -> str:
    """The id that a shortened one stands for, if it is the only one; else what was given.

    A shortened one has at least four hex digits, with `MEM-` before them or without; `shortened` makes one of six.
    """
    digits = given.removeprefix(_ID_PREFIX)
    if not 4 <= len(digits) <= _ID_DIGITS[-1] or digits.strip("0123456789abcdef"):
        return given
    start = _ID_PREFIX + digits
    found = db.rows("SELECT id FROM memory_items WHERE id >= ? AND id < ? LIMIT 2", [start, start + "g"])
    rows = [row[0] for row in found]
    return rows[0] if len(rows) == 1 else given


# --- all that a store holds --------------------------------------------------------------------------------------

#: The tables a reset empties; mounts only when asked.
_CLEARED_TABLES = (
    "memory_items", "memory_revisions", "memory_embeddings", "memory_links", "memory_palace_locations",
    "memory_events", "corpus_hashes", "corpus_metadata", "memory_sources", "memory_withheld", "memory_files",
    "memory_gone_files", "memory_unread_files", "memory_sessions", "memory_turns", "memory_importance",
)  # fmt: skip


def count_contents(db: Database, scopes: tuple[str, ...] | None = None, corpus_id: str | None = None) -> dict[str, Any]:
    """Counts of active items by tier, type and scope, and the state of the full-text index (documented keys).

    With `scopes` or a corpus, items, events and embeddings are those of these scopes and that corpus alone.
    """
    within, values = "", list[str]()
    if scopes is not None:
        within, values = f" AND scope IN ({placeholders(scopes)})", list(scopes)
    if corpus_id is not None:
        within, values = f"{within} AND corpus_id = ?", [*values, corpus_id]
    of_these = f" WHERE item_id IN (SELECT id FROM memory_items WHERE 1{within})" if within else ""

    def count(where: str) -> int:
        return int(db.value(f"SELECT count(*) FROM memory_items WHERE {where}{within}", values))

    def count_by(column: str) -> dict[str, int]:
        sql = f"SELECT {column}, count(*) FROM memory_items WHERE archived = 0{within}"
        return dict(db.rows(f"{sql} GROUP BY {column} ORDER BY {column}", values))

    active = count("archived = 0")
    tokenizer = fts.tokenizer_of(db) if db.has("memory_items_fts") else None
    stored = db.meta("fts_tokenizer")
    return {
        "total_items": active,
        "by_tier": count_by("tier"),
        "by_type": count_by("type"),
        "events_count": int(db.value(f"SELECT count(*) FROM memory_events{of_these}", values)),
        "embeddings_count": int(db.value(f"SELECT count(*) FROM memory_embeddings{of_these}", values)),
        "fts5_available": tokenizer is not None,
        "fts_tokenizer": tokenizer,
        "fts_tokenizer_stored": stored or None,
        "fts_indexed_at": db.meta("fts_indexed_at"),
        "fts_reindex_count": int(db.meta("fts_reindex_count") or 0),
        "fts_tokenizer_mismatch": bool(stored) and tokenizer is not None and stored != tokenizer,
        "fts_state": fts.index_state(db),
        "by_scope": count_by("scope"),
        "archived_items": count("1") - active,
        "withheld_items": count("archived = 0 AND injectable = 0"),
        "files": int(db.value("SELECT count(*) FROM corpus_hashes")),
    }


def reset_store(db: Database, *, preserve_mounts: bool, dry_run: bool) -> dict[str, Any]:
    """Delete every item and what hangs on it; returns how many rows of each table went (or would go)."""
    from memctl.store.items import events

    tables = [*_CLEARED_TABLES, *([] if preserve_mounts else ["memory_mounts", "memory_mount_options"])]
    with db.atomic():
        counts: dict[str, Any] = {t: int(db.value(f"SELECT count(*) FROM {t}")) for t in tables}
        if not dry_run:
            for table in tables:
                db.run(f"DELETE FROM {table}")
            cleared = [t for t, n in counts.items() if n]
            events.log(db, "reset", None, {"preserve_mounts": preserve_mounts, "tables_cleared": cleared})
    if not dry_run:
        with suppress(errors.MemctlError):  # another reader may hold the file
            db.run("VACUUM")  # which may renumber rows
            fts.ensure_index(db, None)
            db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return {"dry_run": dry_run} | counts
