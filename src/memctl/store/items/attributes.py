"""What stands beside items in tables of their own: links (one that stands for another), pins, importance, how long they
keep their worth (kept for good, fading by a rate a day, or until a day), and of each conversation that was told an
item, whether an answer used it.

The day until which is the item's own `expires_at`. What fades is reckoned when it is read and never written back.
"""

from collections.abc import Iterable, Mapping, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.names import LINK_RELATIONS
from memctl.store.database import MANY, Database
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.types import MemoryItem, MemoryLink


def add_link(db: Database, src_id: str, dst_id: str, rel: str, created_at: str | None = None) -> None:
    """Add a link; one that exists is left as it is."""
    with db.atomic():
        db.run(
            "INSERT INTO memory_links(src_id, dst_id, rel, created_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(src_id, dst_id, rel) DO NOTHING",
            (src_id, dst_id, rel, created_at or ids.timestamp()),
        )
        events.log(db, "link", src_id, {"dst_id": dst_id, "rel": rel})
        if rel == "contradicts":
            from memctl.store import conflicts

            conflicts.open_conflicts(db, [(dst_id, src_id, conflicts.SAID)])


def remove_link(db: Database, src_id: str, dst_id: str, rel: str) -> bool:
    """Take a link away, in the table and in what the item says itself; whether there was one."""
    with db.atomic():
        gone = db.run("DELETE FROM memory_links WHERE src_id = ? AND dst_id = ? AND rel = ?", (src_id, dst_id, rel))
        said = _say_links(db, src_id, {"rel": rel, "to": dst_id}, there=False)
        if gone.rowcount or said:
            events.log(db, "unlink", src_id, {"dst_id": dst_id, "rel": rel})
        return bool(gone.rowcount or said)


def say_link(db: Database, src_id: str, dst_id: str, rel: str) -> bool:
    """Add a link to the table and to what the item says itself, which older programs read; whether it is new."""
    with db.atomic():
        known = any((one.src_id, one.dst_id, one.rel) == (src_id, dst_id, rel) for one in links_of(db, src_id))
        if not known:
            add_link(db, src_id, dst_id, rel)
        return _say_links(db, src_id, {"rel": rel, "to": dst_id}, there=True) or not known


def _say_links(db: Database, item_id: str, link: Mapping[str, str], *, there: bool) -> bool:
    item = items.get(db, item_id)
    if item is None or (link in item.links) == there:
        return False
    links = [*item.links, dict(link)] if there else [one for one in item.links if one != link]
    items.update(db, item_id, {"links": links}, "link" if there else "unlink", compact=True)
    return True


def supersede(db: Database, old_id: str, new_id: str, reason: str = "supersede") -> bool:
    """Let a new item stand for an old one: link, archive and pointer in one transaction; False if one is missing.

    The new one gets the importance of the old one, unless it has its own.
    """
    with db.atomic():
        if items.get(db, new_id) is None or not items.archive(db, old_id, reason, superseded_by=new_id):
            return False
        add_link(db, new_id, old_id, "supersedes")
        inherit_importance(db, [(old_id, new_id)])
    return True


def has_conflicts(db: Database) -> bool:
    """Whether any conflict is open (`memctl.store.conflicts`)."""
    sql = "SELECT 1 FROM memory_conflicts WHERE state = 'open' LIMIT 1"
    return "memory_conflicts" in db.tables and db.value(sql) is not None


def links_of(db: Database, item_id: str) -> list[MemoryLink]:
    """The links an item is either end of, the oldest first."""
    return sorted(links_of_items(db, [item_id]), key=lambda one: one.created_at)


def links_of_items(db: Database, item_ids: Iterable[str]) -> list[MemoryLink]:
    """The links that any of these items is either end of, each once, in the order of their ends."""
    wanted = set(item_ids)
    sql = (
        "SELECT CAST(src_id AS TEXT), CAST(dst_id AS TEXT), rel, coalesce(CAST(created_at AS TEXT), '') "
        "FROM memory_links"
    )
    if len(wanted) > MANY:
        found = {row for row in db.rows(sql) if row[0] in wanted or row[1] in wanted}
    else:
        found = set(db.rows(sql + " WHERE src_id IN (?*) OR dst_id IN (?*)", keys=sorted(wanted)))
    # Another program may have written a relation that is no text, which has no order beside texts.
    return [_link(*row) for row in sorted(found, key=lambda row: (*row[:2], str(row[2])))]


def _link(src_id: str, dst_id: str, rel: object, created_at: str) -> MemoryLink:
    """A link in the words of memctl: what another program wrote for a relation may be any text."""
    return MemoryLink(src_id, dst_id, str(rel) if rel in LINK_RELATIONS else "related_to", created_at)


def superseded_by_each(db: Database, item_ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """What these items stand for: item id -> the older ones and when each was made ("" if it is gone), newest first."""
    out: dict[str, list[tuple[str, str]]] = {}
    if "memory_links" in db.tables:
        for src, dst, made in db.rows(
            "SELECT l.src_id, l.dst_id, i.created_at FROM memory_links AS l "
            "LEFT JOIN memory_items AS i ON i.id = l.dst_id WHERE l.src_id IN (?*) "
            "AND l.rel = 'supersedes' ORDER BY l.src_id, i.created_at DESC, l.dst_id",
            keys=item_ids,
        ):
            out.setdefault(src, []).append((dst, str(made or "")))
    return out


# --- pins ------------------------------------------------------------------------------------------------------------


def set_pin(db: Database, item_id: str, place: tuple[str, str, str, str]) -> None:
    """Pin an item to (domain, room, shelf, card)."""
    with db.atomic():
        columns = "item_id domain room shelf card assigned_at"
        db.upsert("memory_palace_locations", columns, [(item_id, *place, ids.timestamp())])


def drop_pin(db: Database, item_id: str) -> None:
    """Take the pin of an item away."""
    with db.atomic():
        db.run("DELETE FROM memory_palace_locations WHERE item_id = ?", (item_id,))


def list_pins(db: Database, **place: str | None) -> list[dict[str, str]]:
    """Pins as dicts, by place; `place` names the values that columns must have, None is any."""
    names = ("item_id", "domain", "room", "shelf", "card", "assigned_at")
    wanted = {name: value for name, value in place.items() if value is not None}
    where, values = " AND ".join(f"{name} = ?" for name in wanted) or "1", list(wanted.values())
    found = db.rows(
        f"SELECT {', '.join(names)} FROM memory_palace_locations WHERE {where} "
        "ORDER BY domain, room, shelf, card, item_id",
        values,
    )
    return [dict(zip(names, row, strict=True)) for row in found]


def pinned_ids(db: Database, item_ids: Iterable[str]) -> set[str]:
    """Those of these items that have a pin, or are kept for good."""
    wanted = list(item_ids)
    sql = "SELECT item_id FROM memory_palace_locations WHERE item_id IN (?*)"
    kept = {item_id for item_id, said in retention_of(db, wanted).items() if said.kind == "keep"}
    return {row[0] for row in db.rows(sql, keys=wanted)} | kept


# --- importance ------------------------------------------------------------------------------------------------------


#: The importance of an item without a row in memory_importance.
NEUTRAL_IMPORTANCE = 0.5


def get_importance(db: Database, item_ids: Iterable[str]) -> dict[str, float]:
    """The importance of these items; those of neutral importance are left out."""
    if "memory_importance" not in db.tables:
        return {}
    sql = "SELECT item_id, importance FROM memory_importance WHERE item_id IN (?*)"
    return dict(db.rows(sql, keys=item_ids))


def set_importance(db: Database, values: Mapping[str, float]) -> None:
    """Set the importance of these items, each 0 to 1; the neutral one removes what was said before."""
    if not values:
        return
    said = [(item_id, value) for item_id, value in values.items() if value != NEUTRAL_IMPORTANCE]
    neutral = [item_id for item_id, value in values.items() if value == NEUTRAL_IMPORTANCE]
    with db.atomic():
        db.upsert("memory_importance", "item_id importance", said)
        db.run_many("DELETE FROM memory_importance WHERE item_id = ?", [(one,) for one in get_importance(db, neutral)])


def inherit_importance(db: Database, replaced: Iterable[tuple[str, str]]) -> None:
    """Give items the importance of those they replace (pairs of old and new), unless they have their own."""
    pairs = list(replaced)
    old = get_importance(db, (old_id for old_id, _ in pairs))
    if not old:
        return
    told = get_importance(db, (new_id for _, new_id in pairs))
    values: dict[str, float] = {}
    for old_id, new_id in pairs:
        if old_id in old and new_id not in told:
            values[new_id] = max(old[old_id], values.get(new_id, 0.0))
    set_importance(db, values)


class ImportanceChanges:
    """The importance that one write gives to items: new ones take it, known ones only a higher one."""

    __slots__ = ("_now", "_there")

    def __init__(self) -> None:
        self._there: dict[str, float] = {}
        self._now: dict[str, float] = {}

    def look(self, db: Database, ids: Iterable[str]) -> None:
        """Read the importance of items that are in the store."""
        self._there.update(get_importance(db, ids))

    def rises(self, item_id: str, value: float | None, *, new: bool = False) -> bool:
        """Give an item this importance: a new one always, a known one if it is higher than what it has; whether it was.

        None says nothing.
        """
        known = -1.0 if new else self._now.get(item_id, self._there.get(item_id, NEUTRAL_IMPORTANCE))
        if value is None or value <= known:
            return False
        self._now[item_id] = value
        return True

    def write(self, db: Database) -> None:
        """Store the changes, and begin again with none."""
        set_importance(db, self._now)
        self._there, self._now = {}, {}


# --- how long items keep their worth ---------------------------------------------------------------------------------


class Retention(NamedTuple):
    """keep: it neither fades nor expires; fade: it loses the share `rate` of its strength a day."""

    kind: str
    rate: float = 0.0


def retention_of(db: Database, item_ids: Iterable[str]) -> dict[str, Retention]:
    """The retention of these items; those of which nobody said it are left out."""
    if "memory_retention" not in db.tables:
        return {}
    sql = "SELECT item_id, kind, rate FROM memory_retention WHERE item_id IN (?*)"
    return {item_id: Retention(kind, rate) for item_id, kind, rate in db.rows(sql, keys=item_ids)}


def list_expiring(db: Database, filters: Filters, limit: int) -> list[MemoryItem]:
    """The items that pass the filters and have an end, the nearest end first."""
    where, values = filters.where()
    sql = (  # their end first: it costs less to look at than whose word they are
        f"SELECT {items.SELECT} FROM memory_items AS i WHERE i.expires_at IS NOT NULL AND {where} "
        f"ORDER BY i.expires_at, {items.ORDERS['newest']} LIMIT ?"
    )
    return [items.to_item(row, db.path) for row in db.rows(sql, [*values, limit])]


def drop_keep(db: Database, item_id: str) -> bool:
    """Let an item be kept for good no more, because it has an end now; whether it was."""
    if retention_of(db, [item_id]).get(item_id) != Retention("keep"):
        return False
    db.run("DELETE FROM memory_retention WHERE item_id = ?", (item_id,))
    return True


def set_retention(
    db: Database, item_ids: Iterable[str], wanted: Retention | None, *, expires_at: str | None = None
) -> list[str]:
    """Say how long items keep their worth, in one transaction; the ids of those for which it was otherwise before.

    wanted      None takes away what was said
    expires_at  the end of the items; what policy holds back keeps the end of its quarantine
    """
    changed = []
    with db.atomic():
        found = items.get_many(db, item_ids)
        there = retention_of(db, [item.id for item in found])
        held = {i for i, why in items.withheld_reasons(db, [item.id for item in found]).items() if why == "policy"}
        for item in found:
            end = item.expires_at if item.id in held else expires_at
            if there.get(item.id) == wanted and item.expires_at == end:
                continue
            if wanted is None:
                db.run("DELETE FROM memory_retention WHERE item_id = ?", (item.id,))
            else:
                row = (item.id, wanted.kind, wanted.rate, ids.timestamp())
                db.upsert("memory_retention", "item_id kind rate set_at", [row])
            if item.expires_at != end:
                items.update(db, item.id, {"expires_at": end}, "retain", compact=True)
            changed.append(item.id)
    return changed


_TABLE = "memory_usefulness"
_SUMS = "count(*), sum(u.used <> ''), sum(u.tokens), sum(iif(u.used = '', u.tokens, 0))"


class Usefulness(NamedTuple):
    """How often an item was told unasked, and what came of it.

    told          conversations that were told it
    used          those of them in which an answer used it
    tokens        that it took in all of them, about
    tokens_unused those that it took where no answer used it
    """

    told: int
    used: int
    tokens: int
    tokens_unused: int


def record(db: Database, session_id: str, tokens: Mapping[str, int], used: Mapping[str, str]) -> int:
    """Note what a conversation was told (item id -> tokens), and what of it was used (item id -> how that shows).

    What was used once stays so; items that are gone are left out. The number of items that are now known to be used,
    and were not before.
    """
    now = ids.timestamp()
    with db.atomic():
        before = _used_in(db, session_id)
        there = {row[0] for row in db.rows("SELECT id FROM memory_items WHERE id IN (?*)", keys=tokens)}
        rows = [(item_id, session_id, count, used.get(item_id, ""), now) for item_id, count in tokens.items()]
        db.run_many(
            f"INSERT INTO {_TABLE}(item_id, session_id, tokens, used, judged_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT(item_id, session_id) DO UPDATE SET tokens = max(tokens, excluded.tokens), "
            f"used = iif({_TABLE}.used = '', excluded.used, {_TABLE}.used), judged_at = excluded.judged_at "
            f"WHERE {_TABLE}.tokens < excluded.tokens OR ({_TABLE}.used = '' AND excluded.used <> '')",
            [row for row in rows if row[0] in there],
        )
        return len(_used_in(db, session_id) - before)


def _used_in(db: Database, session_id: str) -> set[str]:
    sql = f"SELECT item_id FROM {_TABLE} WHERE session_id = ? AND used <> ''"
    return {str(row[0]) for row in db.rows(sql, (session_id,))}


def usefulness_of(db: Database, item_ids: Iterable[str]) -> dict[str, Usefulness]:
    """The usefulness of these items; those that no conversation was told are left out."""
    if _TABLE not in db.tables:
        return {}
    sql = f"SELECT u.item_id, {_SUMS} FROM {_TABLE} AS u WHERE u.item_id IN (?*) GROUP BY u.item_id"
    return {str(item_id): Usefulness(*sums) for item_id, *sums in db.rows(sql, keys=item_ids)}


def list_told(db: Database, filters: Filters) -> dict[str, Usefulness]:
    """The usefulness of every item that passes the filters and was told: what helped most often first, then what cost
    most without.
    """
    if _TABLE not in db.tables:
        return {}
    where, values = filters.where()
    sql = (
        f"SELECT u.item_id, {_SUMS} FROM {_TABLE} AS u CROSS JOIN memory_items AS i ON i.id = u.item_id "
        f"WHERE {where} GROUP BY u.item_id ORDER BY 3 DESC, 5 DESC, u.item_id"
    )
    return {str(item_id): Usefulness(*sums) for item_id, *sums in db.rows(sql, values)}


def count_conversations(db: Database) -> int:
    """How many conversations were told anything."""
    sql = f"SELECT count(DISTINCT session_id) FROM {_TABLE}"
    return int(db.value(sql)) if _TABLE in db.tables else 0


def was_told(db: Database, item_id: str, session_id: str) -> bool:
    """Whether a conversation was told an item unasked."""
    sql = f"SELECT 1 FROM {_TABLE} WHERE item_id = ? AND session_id = ?"
    return _TABLE in db.tables and db.value(sql, (item_id, session_id)) is not None
