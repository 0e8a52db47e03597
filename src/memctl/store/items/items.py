"""Items: read, write, change. Every write is one transaction of row, revision and event.

The newest revision of an item may be `{}`: "as the row still is" (see `schema.REVISION_TRIGGERS`). Bulk ingest uses
that, because a second copy of every document would cost more than the index. Rows of other programs may hold odd
values: reading them never fails.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from memctl import errors, ids
from memctl.annotations import Any
from memctl.names import VALIDATIONS
from memctl.store.connect import check_triggers
from memctl.store.database import BATCH, MAX_VALUES, Database
from memctl.store.filters import HASH_KEY, Filters
from memctl.text import jsons
from memctl.types import MemoryItem, MemoryProvenance

COLUMNS = (
    "id", "tier", "type", "title", "content", "tags", "entities", "links_json", "provenance_json", "confidence",
    "validation", "scope", "expires_at", "usage_count", "last_used_at", "created_at", "updated_at", "rule_id",
    "superseded_by", "archived", "content_hash", "corpus_id", "injectable",
)  # fmt: skip

SELECT = ", ".join(f"i.{c}" for c in COLUMNS)
_VALUES = f"({', '.join('?' * len(COLUMNS))})"
_REPLACED = ", ".join(f"{c} = excluded.{c}" for c in COLUMNS[1:])
_ROWS = min(1000, MAX_VALUES // len(COLUMNS))
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
#: The orders in which items are listed.
ORDERS = {
    "newest": "i.updated_at DESC, i.id", "oldest": "i.updated_at", "used": "i.usage_count DESC",
    "title": "i.title COLLATE NOCASE", "made": "i.created_at DESC", "expiring": "i.expires_at IS NULL, i.expires_at",
}  # fmt: skip
#: Fields that `update` never touches.
_PROTECTED = ("id", "created_at")

#: When items were used, how ("recall", "read"), and which.
Use = tuple[str, str, list[str]]
#: Uses that a handle gathers while the store is too busy to count them; further ones are not counted.
MOST_GATHERED = 10_000


class ItemSummary:
    """What is to be known of an item beside its texts."""

    __slots__ = ("archived", "content_hash", "corpus_id", "id", "injectable", "scope", "tags")

    def __init__(
        self, id: str, content_hash: str, tags: tuple[str, ...], scope: str, corpus_id: str | None, injectable: bool,
        archived: bool,
    ) -> None:  # fmt: skip
        self.id, self.content_hash, self.tags, self.scope = id, content_hash, tags, scope
        self.corpus_id, self.injectable, self.archived = corpus_id, injectable, archived


# --- rows ------------------------------------------------------------------------------------------------------------


def to_item(row: tuple[Any, ...], path: str = "") -> MemoryItem:
    """The item a row of COLUMNS holds. Raises StoreCorrupt, which names the store's `path`, for a damaged one."""
    (item_id, tier, type_, title, content, tags, entities, links, provenance, confidence, validation, scope, expires,
     used, last_used, created, updated, rule, superseded, archived, _hash, corpus, injectable) = row  # fmt: skip
    found = load_json(links)
    try:
        return MemoryItem(
            id=str(item_id), tier=tier, type=type_, title=_text(title), content=_text(content),
            tags=load_strings(tags), entities=load_strings(entities),
            links=[link for link in found if isinstance(link, dict)] if isinstance(found, list) else [],
            provenance=load_provenance(provenance),
            confidence=min(max(float(confidence), 0.0), 1.0) if isinstance(confidence, int | float) else 0.5,
            validation=validation if validation in VALIDATIONS else "unverified", scope=_text(scope),
            expires_at=_text(expires, None),
            usage_count=int(used) if isinstance(used, int | float) and abs(used) < 1 << 63 else 0,
            last_used_at=_text(last_used, None), created_at=_text(created), updated_at=_text(updated),
            rule_id=_text(rule, None), superseded_by=_text(superseded, None), archived=bool(archived),
            corpus_id=_text(corpus, None), injectable=bool(injectable),
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as exc:  # no program stores what its table refuses
        raise errors.StoreCorrupt(path=path, reason=f"item {_text(item_id)}: {exc}") from exc


def load_provenance(held: object) -> MemoryProvenance:
    """Where an item comes from, of its JSON."""
    source = MemoryProvenance.from_dict(load_object(held))
    source.source_kind, source.source_id = _text(source.source_kind), _text(source.source_id)
    source.chunk_ids, source.content_hashes = load_strings(source.chunk_ids), load_strings(source.content_hashes)
    return source


def from_item(item: MemoryItem) -> tuple[Any, ...]:
    """The row of COLUMNS for an item."""
    p = item.provenance
    source = {  # `to_dict` would copy each list first
        "source_kind": p.source_kind, "source_id": p.source_id, "chunk_ids": p.chunk_ids,
        "content_hashes": p.content_hashes, "created_at": p.created_at,
    }  # fmt: skip
    return (
        item.id, item.tier, item.type, item.title, item.content, _dump_strings(tuple(item.tags)),
        _dump_strings(tuple(item.entities)), jsons.encode(item.links) if item.links else "[]",
        jsons.encode(source), item.confidence, item.validation, item.scope, item.expires_at,
        item.usage_count, item.last_used_at, item.created_at, item.updated_at, item.rule_id,
        item.superseded_by, int(item.archived), ids.content_hash(item.content), item.corpus_id, int(item.injectable),
    )  # fmt: skip


def load_strings(held: object) -> list[str]:
    """A JSON array, or a list that was one, as a list of strings; anything else is an empty list."""
    value = held if isinstance(held, list) else load_json(held)
    return [_text(v) for v in value if isinstance(v, str | int | float)] if isinstance(value, list) else []


def load_json(text: object) -> Any:
    """JSON, or None when it is none."""
    if not isinstance(text, str | bytes):
        return None
    if text == "[]":  # most are
        return []
    try:
        if isinstance(text, bytes):
            import json

            return json.loads(text)
        return jsons.decode(text)
    except (ValueError, RecursionError):  # the latter: lists in lists in lists, which nobody stores
        return None


def load_object(text: object) -> dict[str, Any]:
    """A JSON object; an empty one for anything else."""
    value = load_json(text)
    return value if isinstance(value, dict) else {}


#: A tuple of strings as JSON; the passages of a document share their tags.
_dump_strings = lru_cache(maxsize=256)(jsons.encode)


def _text(value: object, missing: str | None = "") -> Any:
    """A cell as text; `missing` for NULL."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else missing if value is None else str(value)


# --- read ------------------------------------------------------------------------------------------------------------


def get(db: Database, item_id: str) -> MemoryItem | None:
    """The item with this id, archived or not; reading it counts as no use."""
    row = db.row(f"SELECT {SELECT} FROM memory_items AS i WHERE i.id = ?", (item_id,))
    return None if row is None else to_item(row, db.path)


def get_many(db: Database, item_ids: Iterable[str], *, cached: bool = False) -> list[MemoryItem]:
    """The items with these ids, in the order asked; unknown ids are left out.

    cached  for answers: as they were when the store was last written to, uses aside; they must not be changed
    """
    wanted = list(item_ids)
    held: dict[str, MemoryItem] = db.cached("items") if cached else {}
    unknown = [i for i in wanted if i not in held]
    for row in db.rows(f"SELECT {SELECT} FROM memory_items AS i WHERE i.id IN (?*)", keys=unknown):
        held[row[0]] = to_item(row, db.path)
    if cached:
        db.cached("items", sum(_FINDINGS + len(held[i].content) // 100 for i in unknown if i in held))
    return [held[i] for i in wanted if i in held]


def list_items(db: Database, filters: Filters, limit: int = 100, order: str = "newest") -> list[MemoryItem]:
    """Items that pass the filters, in one of the ORDERS (ties: newest change first, then by id)."""
    where, values = filters.where("i")
    if order == "newest":
        sql = f"SELECT {SELECT} FROM memory_items AS i WHERE {where} ORDER BY {ORDERS[order]} LIMIT ?"
    else:
        sql = (
            f"SELECT {SELECT} FROM memory_items AS i WHERE i.id IN ({_in_order(where)}) "
            f"ORDER BY {ORDERS[order]}, {ORDERS['newest']} LIMIT ?"
        )
    return [to_item(row, db.path) for row in db.rows(sql, [*values, limit])]


def _in_order(where: str, columns: str = "i.id") -> str:
    """A subquery of all items that pass, which has the planner go by the index of their order, of statements too:
    without statistics it takes an index of scopes and types for narrower than it is.
    """
    return f"SELECT {columns} FROM memory_items AS i WHERE {where} ORDER BY {ORDERS['newest']} LIMIT {2**62}"


def nearest_in_time(db: Database, filters: Filters, moment: str, limit: int) -> list[MemoryItem]:
    """The items that pass the filters and were made nearest to a moment, within a day of it."""
    where, values = filters.where("i")
    day = "julianday(i.created_at) - julianday(?)"
    sql = f"SELECT {SELECT} FROM memory_items AS i WHERE {where} AND abs({day}) <= 1 ORDER BY abs({day}), i.id LIMIT ?"
    return [to_item(row, db.path) for row in db.rows(sql, [*values, moment, moment, limit])]


def iterate(db: Database, filters: Filters) -> Iterator[MemoryItem]:
    """All items that pass the filters, newest change first, in bounded memory and from one moment of the store."""
    where, values = filters.where("i")
    order = f"SELECT i.id FROM memory_items AS i WHERE {where} ORDER BY i.updated_at DESC, i.id"
    wanted = [row[0] for row in db.rows(order, values)]
    for at in range(0, len(wanted), BATCH):
        yield from get_many(db, wanted[at : at + BATCH])


def count(db: Database, filters: Filters, most: int = 2**62) -> int:
    """How many items pass the filters; counting ends at `most`."""
    where, values = filters.where("i")
    if filters.origin is None:
        sql = f"SELECT 1 FROM memory_items AS i WHERE {where} LIMIT ?"
    else:
        sql = f"SELECT 1 FROM ({_in_order(where, '1')}) LIMIT ?"
    return int(db.value(f"SELECT count(*) FROM ({sql})", [*values, most]))


def count_by(db: Database, filters: Filters, column: str) -> dict[str, int]:
    """How many items pass the filters, by their `type` or `tier`."""
    where, values = filters.where("i")
    passing = f"({_in_order(where, column)}) GROUP BY {column}"
    if filters.origin is None:  # in the order of the index of counts, so that no row has to be sorted
        passing = f"memory_items AS i WHERE {where} GROUP BY scope, type{', tier' * (column == 'tier')}"
    counts = f"SELECT {column}, count(*) AS n FROM {passing}"
    return dict(db.rows(f"SELECT {column}, sum(n) FROM ({counts}) GROUP BY {column} ORDER BY {column}", values))


_SUMMARY = "id, content_hash, tags, scope, corpus_id, injectable, archived"


def _summary(row: tuple[Any, ...]) -> ItemSummary:
    item_id, content_hash, tags, scope, corpus_id, injectable, archived = row
    return ItemSummary(
        item_id, content_hash, tuple(load_strings(tags)), scope, corpus_id, bool(injectable), bool(archived)
    )


def ids_by_hash(db: Database, hashes: Iterable[str]) -> dict[str, list[ItemSummary]]:
    """Which items hold contents with these hashes, oldest first; hashes nobody holds are left out."""
    out: dict[str, list[ItemSummary]] = {}
    wanted = sorted(set(hashes))
    for at in range(0, len(wanted), BATCH):
        some = wanted[at : at + BATCH]
        marks = ", ".join("?" * len(some))
        for row in db.rows(
            # The plus: by the index of keys. SQLite takes `content_hash IN (?)` for a constant, puts it into the key's
            # expression, finds no index for that and reads the whole table.
            f"SELECT {_SUMMARY} FROM memory_items WHERE {HASH_KEY} IN ({marks}) "
            f"AND +content_hash IN ({marks}) ORDER BY created_at, id",
            [*(one[7:19] for one in some), *some],
        ):
            out.setdefault(row[1], []).append(_summary(row))
    return out


def get_summaries(db: Database, item_ids: Iterable[str]) -> dict[str, ItemSummary]:
    """These items without their contents; unknown ids are left out."""
    sql = f"SELECT {_SUMMARY} FROM memory_items WHERE id IN (?*)"
    return {row[0]: _summary(row) for row in db.rows(sql, keys=item_ids)}


def passages_by_document(db: Database, paths: Iterable[str]) -> dict[str, list[str]]:
    """Active passages by the document they say they come from, oldest first; reads through the whole table."""
    out: dict[str, list[str]] = {}
    for path, item_id, provenance in db.rows(
        "SELECT iif(json_valid(provenance_json), json_extract(provenance_json, '$.source_id'), NULL) AS path, id, "
        "provenance_json FROM memory_items WHERE archived = 0 AND path IN (?*) ORDER BY created_at, id",
        keys=paths,
    ):
        # A statement about a document is none of its passages.
        if MemoryProvenance.from_dict(load_object(provenance)).is_passage:
            out.setdefault(path, []).append(item_id)
    return out


def withheld_reasons(db: Database, item_ids: Iterable[str]) -> dict[str, str]:
    """Why items are not injectable: id -> "raw" or "policy"; items without a recorded reason are left out."""
    if "memory_withheld" not in db.tables:
        return {}
    return dict(db.rows("SELECT item_id, reason FROM memory_withheld WHERE item_id IN (?*)", keys=item_ids))


def revisions(db: Database, item_id: str) -> list[dict[str, Any]]:
    """The states an item was written in, oldest first: revision_id, revision_num, snapshot, changed_at, reason."""
    out = []
    for revision_id, number, snapshot, changed_at, reason in db.rows(
        "SELECT revision_id, revision_num, snapshot, changed_at, reason FROM memory_revisions "
        "WHERE item_id = ? ORDER BY revision_num",
        (item_id,),
    ):
        state = load_json(snapshot)
        if snapshot == UNCHANGED:
            item = get(db, item_id)
            state = item.to_dict() if item else {}
        out.append({"revision_id": revision_id, "revision_num": number, "snapshot": state,
                    "changed_at": changed_at, "reason": reason})  # fmt: skip
    return out


def past_contents(db: Database, item_id: str) -> set[str]:
    """The contents that an item has had, as far as its revisions tell."""
    found = (one["snapshot"] for one in revisions(db, item_id))
    return {state["content"] for state in found if isinstance(state, dict) and isinstance(state.get("content"), str)}


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
    snapshots = [UNCHANGED if compact else jsons.encode(item.to_dict()) for item in items]
    with db.atomic():
        write_rows(db, [from_item(item) for item in items], reason, snapshots)
        if withheld:
            set_withheld(db, {item_id: (why, ()) for item_id, why in withheld.items()})


def write_rows(
    db: Database, row_values: Sequence[tuple[Any, ...]], reason: str, snapshots: Sequence[str] | None = None
) -> None:
    """Store rows of `COLUMNS`, each with its event and a revision: its snapshot, or "as the row still is"."""
    states = snapshots if snapshots is not None else [UNCHANGED] * len(row_values)
    with db.atomic():
        # A statement whose triggers write to the full-text index makes FTS5 flush what it holds: one statement a row
        # takes three times as long as a thousand rows at once.
        for start in range(0, len(row_values), _ROWS):
            part = row_values[start : start + _ROWS]
            db.run(
                f"INSERT INTO memory_items({', '.join(COLUMNS)}) VALUES {', '.join([_VALUES] * len(part))} "
                f"ON CONFLICT(id) DO UPDATE SET {_REPLACED}",
                [value for row in part for value in row],
            )
        record_writes(
            db, [(row[0], state, row[16], row[20]) for row, state in zip(row_values, states, strict=True)], reason
        )


def record_writes(db: Database, written: Sequence[tuple[str, str, str, str]], reason: str) -> None:
    """Add a revision and an event for each write: an item's id, snapshot, time of change and content hash."""
    now = ids.timestamp()
    details = jsons.encode({"reason": reason, "rules": db.rules} if db.rules else {"reason": reason}, ascii_only=True)
    new = (ids.new_ids(prefix, len(written)) for prefix in ("REV", "EVT"))
    both = list(zip(written, *new, strict=True))
    db.run_many(_REVISION, [(rev, item, item, state, changed, reason) for (item, state, changed, _), rev, _ in both])
    db.run_many(_EVENT, [(event, "write", item, details, digest, now) for (item, _, _, digest), _, event in both])


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


def set_withheld(db: Database, withheld: Mapping[str, tuple[str, Sequence[str]]], *, anew: bool = False) -> None:
    """Record why items are not injectable: id -> the reason, and the rules that say so, in one statement for all.

    A quarantine ("policy") is never weakened to "raw".

    anew  drop what was recorded before; then an empty reason records nothing
    """
    now = ids.timestamp()
    with db.atomic():
        if anew:
            db.run_many("DELETE FROM memory_withheld WHERE item_id = ?", [(item_id,) for item_id in withheld])
        db.run_many(
            "INSERT INTO memory_withheld(item_id, reason, details, withheld_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(item_id) DO UPDATE SET reason = excluded.reason, details = excluded.details, "
            "withheld_at = excluded.withheld_at WHERE memory_withheld.reason = 'raw'",
            [
                (item_id, reason, jsons.encode(list(rules), ascii_only=True) if rules else "[]", now)
                for item_id, (reason, rules) in withheld.items()
                if reason or not anew
            ],
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
    elif len(db.uses) >= MOST_GATHERED:
        return False
    else:
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


#: Of each way of use an item keeps this many events, the newest; its row counts all. Else reading would fill the disk.
USES_KEPT = 20
#: Counted in the index alone; most items have few events, and sorting them takes longer.
_WITH_MANY_EVENTS = "SELECT item_id FROM main.memory_events WHERE item_id IN (?*) GROUP BY item_id HAVING count(*) > {}"
_DROP_OLD_USES = """DELETE FROM main.memory_events WHERE rowid IN (
    SELECT rowid FROM main.memory_events WHERE item_id = ? AND +action = ?
    ORDER BY timestamp DESC, rowid DESC LIMIT -1 OFFSET ?)"""


def _add_uses(db: Database, uses: Sequence[Use]) -> None:
    """Add the uses to the items, and an event for each, in one short transaction."""
    much: dict[str, tuple[int, str]] = {}
    for now, _, wanted in uses:
        for item_id in wanted:
            much[item_id] = (much[item_id][0] + 1 if item_id in much else 1, now)
    said = [(action, item_id, "{}", "", now) for now, action, wanted in uses for item_id in wanted]
    check_triggers(db)
    before = db.conn.total_changes
    with db.briefly_writable(), db.atomic(wait=0.5):
        db.run_many(
            "UPDATE main.memory_items SET usage_count = usage_count + ?, last_used_at = ? WHERE id = ?",
            [(times, last, item_id) for item_id, (times, last) in much.items()],
        )
        events = ids.new_ids("EVT", len(said))
        db.run_many(_EVENT, [(event, *use) for event, use in zip(events, said, strict=True)])
        crowded = {item_id for (item_id,) in db.rows(_WITH_MANY_EVENTS.format(USES_KEPT), keys=much)}
        old = [(item_id, action, USES_KEPT) for action, item_id, *_ in dict.fromkeys(said) if item_id in crowded]
        db.run_many(_DROP_OLD_USES, old)
    db.bookkeeping += db.conn.total_changes - before
    db.forget("usage")


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
        shared = {row[0] for row in db.rows(sql, [jsons.encode(sorted(set(short.values())), ascii_only=True)])}
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
