"""Items that policy holds back, and how they leave: released by a person, or purged for good."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memctl import ids
from memctl.store.database import Database, batches, placeholders
from memctl.store.filters import Filters
from memctl.store.items import events, items, rows
from memctl.types import MemoryItem

#: Tables keyed by item id, with the column that holds it.
_TABLES = {
    "memory_items": "id",
    "memory_revisions": "item_id",
    "memory_embeddings": "item_id",
    "memory_palace_locations": "item_id",
    "memory_sources": "item_id",
    "memory_withheld": "item_id",
    "memory_importance": "item_id",
}


class Held(NamedTuple):
    """An item in quarantine: the rules that hold it, and since when ("" where an older program put it there)."""

    item: MemoryItem
    rules: tuple[str, ...] = ()
    since: str = ""

    @property
    def expired(self) -> bool:
        """Whether its time is over: it counts as gone."""
        return self.item.expires_at is not None and self.item.expires_at <= ids.timestamp()


def listed(db: Database, filters: Filters, *, expired: bool = False, limit: int = -1) -> list[Held]:
    """Items in quarantine that pass the filters, those that entered last first; a negative limit means all.

    expired: instead those whose time is over, and that nobody archived.
    """
    held, values = _held(db, filters, expired=expired)
    since = "w.withheld_at DESC, " if db.has("memory_withheld") else ""
    found = db.rows(f"SELECT {rows.SELECT} {held} ORDER BY {since}i.updated_at DESC, i.id LIMIT ?", [*values, limit])
    return _with_reasons(db, [rows.to_item(row, db.path) for row in found])


def count(db: Database, filters: Filters, *, expired: bool = False) -> int:
    """How many items `listed` has."""
    held, values = _held(db, filters, expired=expired)
    return int(db.value(f"SELECT count(*) {held}", values))


def _held(db: Database, filters: Filters, *, expired: bool) -> tuple[str, list[object]]:
    """FROM and WHERE for items that are not injectable for another reason than being raw."""
    where, values = filters.replace(archived=expired).where("i")
    if expired:
        where += " AND i.archived = 0 AND i.expires_at <= ?"
        values.append(ids.timestamp())
    join = ""
    if db.has("memory_withheld"):
        join = "LEFT JOIN memory_withheld AS w ON w.item_id = i.id"
        where += " AND coalesce(w.reason, 'policy') = 'policy'"
    return f"FROM memory_items AS i {join} WHERE i.injectable = 0 AND {where}", values


def get(db: Database, item_ids: Sequence[str]) -> dict[str, Held]:
    """Those of these items that are in quarantine, archived and expired ones too, in the order asked."""
    found = [item for item in items.get_many(db, item_ids) if not item.injectable]
    raw = {i for i, why in items.withheld_reasons(db, [item.id for item in found]).items() if why == "raw"}
    return {held.item.id: held for held in _with_reasons(db, [item for item in found if item.id not in raw])}


def _with_reasons(db: Database, found: list[MemoryItem]) -> list[Held]:
    reasons: dict[str, tuple[Any, Any]] = {}
    if db.has("memory_withheld"):
        for batch in batches([item.id for item in found]):
            for item_id, details, since in db.rows(
                f"SELECT item_id, details, withheld_at FROM memory_withheld WHERE item_id IN ({placeholders(batch)})",
                batch,
            ):
                reasons[item_id] = details, since
    blank = ("[]", "")
    return [
        Held(item, tuple(rows.load_strings(reasons.get(item.id, blank)[0])), str(reasons.get(item.id, blank)[1]))
        for item in found
    ]


def release(db: Database, held: Iterable[Held], reason: str) -> None:
    """Let items be given to models again, in one transaction, each with an event that says why and of which rules.

    The end of the quarantine was the quarantine's: released items do not expire.
    """
    with db.atomic():
        for one in held:
            item = items.update(db, one.item.id, {"injectable": True, "expires_at": None}, "release")
            db.run("DELETE FROM memory_withheld WHERE item_id = ?", (one.item.id,))
            note_release(db, one.item.id, reason, one.rules, item.content_hash if item else "")


def note_release(db: Database, item_id: str, reason: str, rules: Iterable[str], content_hash: str) -> None:
    """Record that an item is released from these rules with this content."""
    events.log(db, "release", item_id, {"reason": reason, "rules": sorted(rules)}, content_hash)


class Hold(NamedTuple):
    """What policy and people have done about giving an item, as it is, to models.

    released  a person has let it out of quarantine with this content; else policy holds it back
    rules     those that hold it, and that it was released from before; none where nobody has recorded them
    """

    released: bool
    rules: frozenset[str] = frozenset()


def holds(db: Database, given: Sequence[MemoryItem | items.ItemSummary]) -> dict[str, Hold]:
    """What holds these items back, or has held them back; those without such a thing are left out.

    Items that are not injectable for no recorded reason, as older programs left them, are held back.
    """
    locked = [item.id for item in given if not item.injectable]
    why = items.withheld_reasons(db, locked)
    by = _rules(db, [i for i in locked if why.get(i) == "policy"])
    out = {i: Hold(released=False, rules=by.get(i, frozenset())) for i in locked if why.get(i) != "raw"}
    digests = {item.id: item.content_hash for item in given}
    for batch in batches(list(digests)):
        for item_id, content_hash, details in db.rows(  # the plus: by item, never by action
            "SELECT item_id, content_hash, details_json FROM memory_events "
            f"WHERE +action = 'release' AND item_id IN ({placeholders(batch)}) ORDER BY rowid",
            batch,
        ):
            if digests[item_id] == content_hash:
                before = out.get(item_id, Hold(released=True))
                out[item_id] = before._replace(rules=before.rules.union(_released_from(details)))
    return out


def _released_from(details: object) -> list[str]:
    found: Any = rows.load_json(details)
    named = found.get("rules") if isinstance(found, dict) else None
    return [str(rule) for rule in named] if isinstance(named, list) else []


def _rules(db: Database, item_ids: list[str]) -> dict[str, frozenset[str]]:
    out: dict[str, frozenset[str]] = {}
    for batch in batches(item_ids):
        found = db.rows(f"SELECT item_id, details FROM memory_withheld WHERE item_id IN ({placeholders(batch)})", batch)
        out.update((item_id, frozenset(rows.load_strings(details))) for item_id, details in found)
    return out


def purge(db: Database, item_ids: Sequence[str], reason: str) -> int:
    """Delete items and all that hangs on them, the traces in the index and in freed pages too; returns how many.

    What was done with them stays in the event log, which holds no contents.
    """
    wipe_what_is_freed(db)
    count = 0
    with db.atomic():
        for batch in batches(list(item_ids)):
            some = placeholders(batch)
            count += int(db.value(f"SELECT count(*) FROM memory_items WHERE id IN ({some})", batch))
            for table, column in _TABLES.items():
                db.run(f"DELETE FROM {table} WHERE {column} IN ({some})", batch)
            for column in ("src_id", "dst_id"):
                db.run(f"DELETE FROM memory_links WHERE {column} IN ({some})", batch)
        for item_id in item_ids:
            events.log(db, "purge", item_id, {"reason": reason})
    wipe_traces(db)
    return count


def wipe_what_is_freed(db: Database) -> None:
    """From now on, what this handle deletes or changes is overwritten in the file."""
    db.run("PRAGMA secure_delete = ON")


def wipe_traces(db: Database) -> None:
    """Take words that no item has any more out of the full-text index, and old pages out of the write-ahead log."""
    if db.has("memory_items_fts"):
        db.run("INSERT INTO memory_items_fts(memory_items_fts) VALUES ('optimize')")
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")
