"""How items stand with policy, and the way out of quarantine: released by a person."""

from collections.abc import Iterable, Mapping, Sequence

from memctl import ids
from memctl.annotations import Literal, NamedTuple
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.types import MemoryItem


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
        intend(db, held, "release")


def record_release(db: Database, item_id: str, reason: str, rules: Iterable[str], content_hash: str) -> None:
    """Record that an item is released from these rules with this content."""
    events.log(db, "release", item_id, {"reason": reason, "rules": sorted(rules)}, content_hash)


def intend(db: Database, item_ids: Iterable[str], kind: str) -> None:
    """Tell the remotes, if there are any, what a person decided."""
    if "memctl_remotes" in db.tables:
        from memctl.store import remotes

        remotes.intend(db, item_ids, kind)


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
