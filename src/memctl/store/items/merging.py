"""What consolidation reads and writes: many items at a time, without their texts where these stay as they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memctl import ids
from memctl.annotations import Any, NamedTuple
from memctl.store.database import Database
from memctl.store.filters import IS_PASSAGE
from memctl.store.items import attributes, items
from memctl.store.items.attributes import get_importance, set_importance

#: Why an item is not injectable, as SQL over `memory_withheld` as w: nothing that is recorded counts as policy.
_STANDING = "CASE i.injectable WHEN 0 THEN coalesce(w.reason, 'policy') ELSE '' END"
_WITH_STANDING = "memory_items AS i LEFT JOIN memory_withheld AS w ON w.item_id = i.id"
_IS_PASSAGE = IS_PASSAGE.replace("provenance_json", "i.provenance_json")
#: Active items that no conflict and no retraction speaks against.
_ACTIVE = (
    "i.archived = 0 AND (i.expires_at IS NULL OR i.expires_at > ?) AND i.scope = ? "
    "AND i.validation NOT IN ('contested', 'retracted')"
)


def list_scopes(db: Database) -> list[str]:
    """The scopes of active items, in the order of the alphabet."""
    return [str(row[0]) for row in db.rows("SELECT DISTINCT scope FROM memory_items WHERE archived = 0 ORDER BY scope")]


#: Of a statement: its id, type, standing ("", "raw", "policy"), corpus, rule, provenance as JSON, title and content.
StatementRow = tuple[str, str, str, str | None, str | None, str, str, str]
_STATEMENTS = (
    f"SELECT i.id, i.type, {_STANDING}, i.corpus_id, i.rule_id, CAST(i.provenance_json AS TEXT), "
    f"CAST(i.title AS TEXT), CAST(i.content AS TEXT) FROM {_WITH_STANDING}"
)


def read_statements(db: Database, scope: str, tiers: Sequence[str]) -> Iterator[StatementRow]:
    """The statements of a scope and of these tiers that may be merged, oldest first; no passages of documents."""
    marks = ", ".join("?" * len(tiers))
    where = f"{_ACTIVE} AND i.tier IN ({marks}) AND NOT {_IS_PASSAGE}"
    yield from db.each(f"{_STATEMENTS} WHERE {where} ORDER BY i.created_at, i.id", (ids.timestamp(), scope, *tiers))


def read_these(db: Database, item_ids: Sequence[str]) -> list[StatementRow]:
    """These statements, in the order asked."""
    found = {row[0]: row for row in db.rows(f"{_STATEMENTS} WHERE i.id IN (?*)", keys=item_ids)}
    return [found[item_id] for item_id in item_ids]


class EstablishedItem(NamedTuple):
    """An item that may be promoted: whether it was ingested raw, its source, and how much speaks for it, in uses."""

    id: str
    tier: str
    is_raw: bool
    source: str
    uses: int


def find_established(
    db: Database, scope: str, tiers: Sequence[str], types: Sequence[str], uses: int
) -> list[EstablishedItem]:
    """Items of a scope and of these tiers that were used, are of these types or verified, or are raw, oldest first.

    What is verified, or of such a type, counts as used `uses` times. Nothing that policy holds back or that is to
    expire is among them.
    """
    found = db.rows(
        "SELECT i.id, i.tier, w.reason IS 'raw' AND i.injectable = 0, "
        "CASE WHEN json_valid(i.provenance_json) THEN json_extract(i.provenance_json, '$.source_id') END, "
        f"CASE WHEN i.type IN ({', '.join('?' * len(types))}) OR i.validation = 'verified' THEN max(i.usage_count, ?) "
        f"ELSE i.usage_count END AS uses FROM {_WITH_STANDING} WHERE {_ACTIVE} "
        f"AND i.tier IN ({', '.join('?' * len(tiers))}) AND i.expires_at IS NULL AND {_STANDING} <> 'policy' "
        "AND (uses >= 2 OR w.reason = 'raw') ORDER BY i.created_at, i.id",
        (*types, uses, ids.timestamp(), scope, *tiers),
    )
    return [EstablishedItem(str(i), tier, bool(raw), str(source or ""), int(n)) for i, tier, raw, source, n in found]


def find_expired(db: Database, scope: str) -> list[str]:
    """Active items of a scope whose time is over, oldest first; those in quarantine are left to it."""
    sql = (
        f"SELECT i.id, {_STANDING} AS standing FROM {_WITH_STANDING} WHERE i.archived = 0 AND i.expires_at <= ? "
        "AND i.scope = ? AND standing <> 'policy' ORDER BY i.created_at, i.id"
    )
    return [str(row[0]) for row in db.rows(sql, (ids.timestamp(), scope))]


def find_faded(db: Database, scope: str, left: float) -> list[str]:
    """Active items of a scope that were to fade, and of whose strength less than `left` is left, oldest first.

    An item fades from the day on which it was last used, or made. What a person verified, and what policy holds back,
    is not among them.
    """
    if "memory_retention" not in db.tables:
        return []
    today = ids.now_seconds()
    found = db.rows(
        "SELECT i.id, r.rate, since FROM (SELECT *, CAST(strftime('%s', substr(coalesce(last_used_at, "
        "created_at), 1, 19)) AS REAL) AS since FROM memory_items) AS i "
        "JOIN memory_retention AS r ON r.item_id = i.id LEFT JOIN memory_withheld AS w ON w.item_id = i.id "
        f"WHERE r.kind = 'fade' AND i.archived = 0 AND i.scope = ? AND i.validation <> 'verified' "
        f"AND {_STANDING} <> 'policy' ORDER BY i.created_at, i.id",
        (scope,),
    )
    return [str(i) for i, rate, since in found if since and (1 - rate) ** ((today - since) / 86_400) < left]


def still_active(db: Database, item_ids: Iterable[str]) -> set[str]:
    """Those of these items that nobody has archived, taken back or held back meanwhile."""
    sql = (
        f"SELECT i.id FROM {_WITH_STANDING} WHERE i.id IN (?*) AND i.archived = 0 "
        f"AND i.validation NOT IN ('contested', 'retracted') AND {_STANDING} <> 'policy'"
    )
    return {str(row[0]) for row in db.rows(sql, keys=item_ids)}


def change_rows(db: Database, changes: Mapping[str, Mapping[str, Any]], reason: str) -> None:
    """Set columns of items, none of their texts, each with a revision and an event, in one transaction."""
    now = ids.timestamp()
    with db.atomic():
        hashes = dict(db.rows("SELECT id, content_hash FROM memory_items WHERE id IN (?*)", keys=changes))
        for columns in dict.fromkeys(tuple(change) for change in changes.values()):
            db.run_many(
                f"UPDATE memory_items SET {', '.join(f'{name} = ?' for name in columns)}, updated_at = ? WHERE id = ?",
                [(*change.values(), now, i) for i, change in changes.items() if tuple(change) == columns],
            )
        items.record_writes(db, [(i, items.UNCHANGED, now, hashes.get(i, "")) for i in changes], reason)


def release_rows(db: Database, item_ids: Iterable[str]) -> None:
    """Forget that items were raw; what policy holds back stays held back."""
    db.run_many("DELETE FROM memory_withheld WHERE item_id = ? AND reason = 'raw'", [(i,) for i in item_ids])


def replace_by(db: Database, merged: Mapping[str, Sequence[str]]) -> None:
    """Let items stand for their sources (by their ids): links, importance, pin and vector, in one transaction.

    Each gets a link `supersedes` to every source, the links that the sources have to other items, the highest
    importance, the first pin, the sessions of all, and the vector of the first source, whose text it has.
    """
    now = ids.timestamp()
    by_source = {source: new for new, sources in merged.items() for source in sources}
    importance = get_importance(db, by_source)
    with db.atomic():
        links = [(new, source, "supersedes") for source, new in by_source.items()]
        for src, dst, rel in db.rows(
            "SELECT src_id, dst_id, rel FROM memory_links WHERE src_id IN (?*) OR dst_id IN (?*)", keys=by_source
        ):
            ends = by_source.get(src, src), by_source.get(dst, dst)
            # What replaced a source is no replacement of the item that stands for it now.
            if ends[0] != ends[1] and not (rel == "supersedes" and dst in by_source):
                links.append((*ends, rel))
        db.run_many(
            "INSERT INTO memory_links(src_id, dst_id, rel, created_at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(src_id, dst_id, rel) DO NOTHING",
            [(*link, now) for link in dict.fromkeys(links)],
        )
        set_importance(
            db, {
                new: max(said) for new, sources in merged.items()
                if (said := [importance[source] for source in sources if source in importance])
            },
        )  # fmt: skip
        _inherit_retention(db, merged)
        db.run_many(
            "INSERT INTO memory_session_items(item_id, session_id) SELECT ?, session_id FROM memory_session_items "
            "WHERE item_id = ? ON CONFLICT DO NOTHING",
            [(new, source) for source, new in by_source.items()],
        )
        for table, columns, most in (
            ("memory_embeddings", "model_name, dimension, vector, created_at", 1),
            ("memory_palace_locations", "domain, room, shelf, card, assigned_at", None),
        ):
            db.run_many(
                f"INSERT INTO {table}(item_id, {columns}) SELECT ?, {columns} FROM {table} WHERE item_id = ? "
                "ON CONFLICT(item_id) DO NOTHING",
                [(new, source) for new, sources in merged.items() for source in sources[:most]],
            )


def _inherit_retention(db: Database, merged: Mapping[str, Sequence[str]]) -> None:
    """Let items be kept if one of their sources is, and fade as the slowest of them if all of them do."""
    found = attributes.retention_of(db, (source for sources in merged.values() for source in sources))
    for new, sources in merged.items() if found else ():
        said = [found[source] for source in sources if source in found]
        if any(one.kind == "keep" for one in said):
            attributes.set_retention(db, [new], attributes.Retention("keep"))
        elif said and len(said) == len(sources):
            attributes.set_retention(db, [new], min(said, key=lambda one: one.rate))
