"""How items stand with policy, and the ways out of quarantine: released by a person, or purged for good.

What was purged is known by the hash of its words, so that no document, import or model brings it back.
"""

from collections.abc import Iterable, Mapping, Sequence

from memctl import ids
from memctl.annotations import Literal, NamedTuple
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.types import MemoryItem

#: Where an item's id stands, by table and column.
_TABLES = (
    ("memory_items", "id"), ("memory_revisions", "item_id"), ("memory_embeddings", "item_id"),
    ("memory_palace_locations", "item_id"), ("memory_sources", "item_id"), ("memory_withheld", "item_id"),
    ("memory_importance", "item_id"), ("memory_retention", "item_id"), ("memory_links", "src_id"),
    ("memory_links", "dst_id"), ("memory_citations", "item_id"), ("memory_conflicts", "a_id"),
    ("memory_conflicts", "b_id"), ("memory_session_items", "item_id"),
    ("memory_usefulness", "item_id"),
)  # fmt: skip


class Standing(NamedTuple):
    """Whether an item may be given to a model, and why.

    state          injectable: it may; raw: it was ingested without --injectable; held: policy holds it back;
                   released: a person let it out of quarantine with this content; expired: it is held, and its time in
                   quarantine is over, so that it counts as gone
    rules          that hold it back, none where an older program did
    since          when it was held back; "" where nobody recorded it
    released_from  the rules that a person released this very content from; None: nobody did
    """

    state: Literal["injectable", "raw", "held", "released", "expired"] = "injectable"
    rules: tuple[str, ...] = ()
    since: str = ""
    released_from: tuple[str, ...] | None = None

    @property
    def is_held(self) -> bool:
        """Whether policy holds the item back, also after its time in quarantine."""
        return self.state in ("held", "expired")


def standings(db: Database, given: Sequence[MemoryItem]) -> dict[str, Standing]:
    """The standing of each of these items, by id.

    An item that is not injectable for no recorded reason, as older programs left it, is held back.
    """
    now = ids.timestamp()
    recorded: dict[str, tuple[str, str, str]] = {}
    if "memory_withheld" in db.tables:
        sql = "SELECT item_id, reason, details, withheld_at FROM memory_withheld WHERE item_id IN (?*)"
        recorded = {row[0]: row[1:] for row in db.rows(sql, keys=(item.id for item in given if not item.injectable))}
    # The rules that items were released from; only releases of the content that an item has now. The plus: by item,
    # never by action.
    released: dict[str, tuple[str, ...]] = {}
    contents = {item.id: item.content_hash for item in given}
    for item_id, content_hash, details in db.rows(
        "SELECT item_id, content_hash, details_json FROM memory_events "
        "WHERE +action = 'release' AND item_id IN (?*) ORDER BY rowid",
        keys=contents,
    ):
        if contents[item_id] == content_hash:
            rules = items.load_strings(items.load_object(details).get("rules"))
            released[item_id] = tuple(dict.fromkeys((*released.get(item_id, ()), *rules)))
    out = {}
    for item in given:
        reason, details, since = recorded.get(item.id, ("", "[]", ""))
        freed = released.get(item.id)
        if item.injectable:
            out[item.id] = Standing("injectable" if freed is None else "released", released_from=freed)
        elif reason == "raw":
            out[item.id] = Standing("raw", released_from=freed)
        else:
            is_over = item.expires_at is not None and item.expires_at <= now
            rules = items.load_strings(details)
            out[item.id] = Standing("expired" if is_over else "held", tuple(rules), str(since), freed)
    return out


def find_held(
    db: Database, filters: Filters, *, expired: bool = False, limit: int = -1
) -> tuple[list[MemoryItem], int]:
    """Items in quarantine that pass the filters, those that entered last first, and how many there are without a limit.

    expired  instead those whose time is over, and that nobody archived
    limit    a negative one means all
    """
    # An item that is not injectable for another reason than being raw.
    where, values = filters.replace(archived=expired).where("i")
    where, join, since = f"i.injectable = 0 AND {where}", "", ""
    if expired:
        where += " AND i.archived = 0 AND i.expires_at <= ?"
        values.append(ids.timestamp())
    if "memory_withheld" in db.tables:
        join, since = "LEFT JOIN memory_withheld AS w ON w.item_id = i.id", "w.withheld_at DESC, "
        where += " AND coalesce(w.reason, 'policy') = 'policy'"
    source = f"FROM memory_items AS i {join} WHERE {where}"
    found = db.rows(f"SELECT {items.SELECT} {source} ORDER BY {since}i.updated_at DESC, i.id LIMIT ?", [*values, limit])
    items_found = [items.to_item(row, db.path) for row in found]
    total = len(found) if limit < 0 or len(found) < limit else int(db.value(f"SELECT count(*) {source}", values))
    return items_found, total


def release(db: Database, held: Mapping[str, Standing], reason: str) -> None:
    """Let items be given to models again, in one transaction, each with an event that names the reason and the rules.

    The end of the quarantine was the quarantine's: released items do not expire.
    """
    with db.atomic():
        for item_id, standing in held.items():
            item = items.update(db, item_id, {"injectable": True, "expires_at": None}, "release")
            db.run("DELETE FROM memory_withheld WHERE item_id = ?", (item_id,))
            record_release(db, item_id, reason, standing.rules, item.content_hash if item else "")
        _intend(db, held, "release")


def record_release(db: Database, item_id: str, reason: str, rules: Iterable[str], content_hash: str) -> None:
    """Record that an item is released from these rules with this content."""
    events.log(db, "release", item_id, {"reason": reason, "rules": sorted(rules)}, content_hash)


def purge(db: Database, item_ids: Sequence[str], reason: str, *, bury: bool = False) -> int:
    """Delete items and all that hangs on them, the traces in the index and in freed pages too; returns how many.

    What was done with them stays in the event log, but for the reasons, which may quote them.

    bury  their words leave a tombstone, so that nothing brings them back
    """
    # A search that finds one item held back asks how it stands: it needs neither, and they load `json` and `re`.
    from memctl.store.documents import corpus
    from memctl.store.journal import for_good

    overwrite_deleted(db)
    about = "SELECT id FROM memory_conflicts WHERE a_id IN (?*) OR b_id IN (?*)"
    gone = [str(row[0]) for row in db.rows(about, keys=item_ids)]  # conflicts, which go with their items
    with for_good(db, [*item_ids, *gone], purged=len(item_ids)):
        going = items.get_many(db, item_ids)
        if bury:
            db.run_many(
                "INSERT INTO memory_tombstones(content_hash, item_id, source, purged_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                [(item.content_hash, item.id, item.provenance.source_id, ids.timestamp()) for item in going],
            )
        corpus.drop_items(db, item_ids, (item.provenance.source_id for item in going))
        for table, column in _TABLES:
            db.run_many(f"DELETE FROM {table} WHERE {column} = ?", [(item_id,) for item_id in item_ids])
        events.drop_reasons(db, item_ids)
        for item_id in item_ids:
            events.log(db, "purge", item_id, {"reason": reason})
        _intend(db, item_ids, "purge")
    erase_traces(db)
    return len(going)


def _intend(db: Database, item_ids: Iterable[str], kind: str) -> None:
    """Tell the remotes, if there are any, what a person decided."""
    if "memctl_remotes" in db.tables:
        from memctl.store import remotes

        remotes.intend(db, item_ids, kind)


def overwrite_deleted(db: Database) -> None:
    """Overwrite in the file whatever this handle deletes or changes from now on."""
    db.run("PRAGMA secure_delete = ON")


def erase_traces(db: Database) -> None:
    """Take words that no item has any more out of the full-text index, and old pages out of the write-ahead log."""
    if "memory_items_fts" in db.tables:
        db.run("INSERT INTO memory_items_fts(memory_items_fts) VALUES ('optimize')")
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")


def protected_items(db: Database, given: "Sequence[MemoryItem]") -> dict[str, str]:
    """Those of these items that a model may not change, and why: a person vouches for them, or policy holds them.

    A pin is a person's place for an item.
    """
    from memctl.store.items import attributes

    found = standings(db, given)
    pinned = attributes.pinned_ids(db, [item.id for item in given])
    out = {}
    for item in given:
        if item.validation == "verified":
            out[item.id] = "a person verified it"
        elif item.id in pinned:
            out[item.id] = "a person pinned it"
        elif found[item.id].is_held:
            out[item.id] = "policy holds it back"
    return out


# --- what was purged -------------------------------------------------------------------------------------------------


class Tombstone(NamedTuple):
    """What is left of a purged item: its id, the hash of its content, where it was from, and when it was purged."""

    item_id: str
    content_hash: str
    source: str
    purged_at: str


def purged_hashes(db: Database, hashes: Iterable[str]) -> set[str]:
    """Those of these hashes of contents that stand for something purged."""
    if "memory_tombstones" not in db.tables or db.row("SELECT 1 FROM memory_tombstones LIMIT 1") is None:
        return set()
    sql = "SELECT DISTINCT content_hash FROM memory_tombstones WHERE content_hash IN (?*)"
    return {row[0] for row in db.rows(sql, keys=hashes)}


def purged_ids(db: Database, item_ids: Iterable[str]) -> set[str]:
    """Those of these ids that purged items had, whatever they said earlier."""
    if "memory_tombstones" not in db.tables:
        return set()
    return {row[0] for row in db.rows("SELECT item_id FROM memory_tombstones WHERE item_id IN (?*)", keys=item_ids)}


def list_tombstones(db: Database) -> list[Tombstone]:
    """The tombstones, newest first."""
    if "memory_tombstones" not in db.tables:
        return []
    sql = "SELECT item_id, content_hash, source, purged_at FROM memory_tombstones ORDER BY purged_at DESC, item_id"
    return [Tombstone(*row) for row in db.rows(sql)]


def lift(db: Database, *, item_ids: Iterable[str] = (), hashes: Iterable[str] = ()) -> list[str]:
    """Let what was purged come back, by its items' ids or by its hashes; the ids of those whose tombstone is gone."""
    with db.atomic():
        sql = "SELECT content_hash FROM memory_tombstones WHERE item_id IN (?*)"
        wanted = [*hashes, *(row[0] for row in db.rows(sql, keys=item_ids))]
        found = db.rows("SELECT content_hash, item_id FROM memory_tombstones WHERE content_hash IN (?*)", keys=wanted)
        db.run_many("DELETE FROM memory_tombstones WHERE content_hash = ? AND item_id = ?", found)
    return [row[1] for row in found]
