"""Many items at a time, without making items of them: their texts, and on which days they were made."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from memctl import ids
from memctl.annotations import Any, Literal, NamedTuple
from memctl.store.database import Database
from memctl.store.filters import DEFAULT_DOMAIN, Filters, utc_of
from memctl.store.items.items import ORDERS, load_provenance, load_strings
from memctl.types import MemoryProvenance

#: Many items have the same tags.
_strings = lru_cache(maxsize=1024)(load_strings)


def iterate_texts(db: Database, filters: Filters) -> Iterator[tuple[str, tuple[object, ...], str]]:
    """Of each item that passes the filters its id, its scope and corpus, and its content; oldest first."""
    where, values = filters.where()
    for item_id, scope, corpus_id, content in db.each(
        f"SELECT i.id, i.scope, i.corpus_id, CAST(i.content AS TEXT) FROM memory_items AS i WHERE {where} "
        "ORDER BY i.created_at, i.id",
        values,
    ):
        yield str(item_id), (scope, corpus_id), str(content or "")


def iterate_words(
    db: Database, filters: Filters, most: int, column: Literal["tags", "entities"] = "tags"
) -> Iterator[tuple[str, str, str, list[str]]]:
    """Of each item that passes the filters its id, when it was made, its title (unless that is how the content begins)
    with the first `most` characters of its content, and its tags or entities; newest first.
    """
    where, values = filters.where()
    for item_id, made, text, words in db.each(
        "SELECT i.id, i.created_at, CASE WHEN i.title = '' "
        "OR substr(i.content, 1, length(rtrim(i.title, '…'))) = rtrim(i.title, '…') "
        "THEN '' ELSE CAST(i.title AS TEXT) || char(10) END || substr(CAST(i.content AS TEXT), 1, ?), "
        f"i.{column} FROM memory_items AS i WHERE {where} ORDER BY i.created_at DESC, i.id",
        [most, *values],
    ):
        yield str(item_id), str(made or ""), str(text or ""), _strings(words)


class ItemOutline(NamedTuple):
    """What a drawing needs of an item, under the names of `MemoryItem`."""

    id: str
    type: str
    title: str
    content: str
    entities_json: str
    provenance_json: str
    rule_id: str | None
    updated_at: str
    injectable: int

    @property
    def content_hash(self) -> str:
        """The hash of the content as it is now."""
        return ids.content_hash(self.content)

    @property
    def entities(self) -> list[str]:
        """The names that it was given."""
        return load_strings(self.entities_json) if self.entities_json != "[]" else []

    @property
    def provenance(self) -> MemoryProvenance:
        """Where it stands in a document, or which items it was made from; nothing of other sources."""
        held = self.provenance_json
        return load_provenance(held) if '"doc"' in held or "MEM-" in held else ELSEWHERE


#: The source of an outline that neither stands in a document nor was made from items.
ELSEWHERE = MemoryProvenance(created_at="")
_OUTLINE = (
    "SELECT i.id, i.type, coalesce(CAST(i.title AS TEXT), ''), coalesce(CAST(i.content AS TEXT), ''), i.entities, "
    "CAST(i.provenance_json AS TEXT), i.rule_id, i.updated_at, i.injectable FROM memory_items AS i"
)


def iterate_outlines(db: Database, filters: Filters) -> Iterator[ItemOutline]:
    """The items that pass the filters, newest first."""
    where, values = filters.where()
    return map(ItemOutline._make, db.each(f"{_OUTLINE} WHERE {where} ORDER BY {ORDERS['newest']}", values))


def outlines_of(db: Database, item_ids: Iterable[str]) -> list[ItemOutline]:
    """The items with these ids."""
    return list(map(ItemOutline._make, db.rows(f"{_OUTLINE} WHERE i.id IN (?*) ORDER BY i.id", keys=item_ids)))


class ItemPlace(NamedTuple):
    """Where an item stands: domain, room, shelf and card; and whether somebody pinned it there."""

    id: str
    title: str
    type: str
    tier: str
    path: tuple[str, ...]
    pinned: bool

    def as_dict(self) -> dict[str, Any]:
        """The fields; the path as one text."""
        return self._asdict() | {"path": "/".join(self.path)}


def iterate_places(db: Database, filters: Filters, only: str = "") -> Iterator[ItemPlace]:
    """Where the items that pass the filters stand, newest first: where they are pinned, else by first tag and type.

    only  the id of the one that is asked for
    """
    where, values = filters.where()
    if only:
        where, values = f"{where} AND i.id = ?", [*values, only]
    for item_id, title, kind, tier, tags, entities, *pin in db.each(
        "SELECT i.id, CAST(i.title AS TEXT), i.type, i.tier, i.tags, i.entities, p.domain, p.room, p.shelf, p.card "
        "FROM memory_items AS i LEFT JOIN memory_palace_locations AS p ON p.item_id = i.id "
        f"WHERE {where} ORDER BY i.created_at DESC, i.id",
        values,
    ):
        names = next((found for held in (tags, entities) if held != "[]" and (found := load_strings(held))), ["misc"])
        room = "-".join(names[0].lower().replace("/", " ").split()) or "misc"
        own = (DEFAULT_DOMAIN, room, str(kind), str(item_id))
        path = tuple(str(part or usual) for part, usual in zip(pin, own, strict=True)) if pin[0] is not None else own
        yield ItemPlace(str(item_id), str(title or ""), str(kind), str(tier), path, pin[0] is not None)


def passing_ids(db: Database, filters: Filters, item_ids: Iterable[str]) -> set[str]:
    """Those of these items that pass the filters."""
    where, values = filters.where()
    sql = (  # in this order: the items by their ids first, and none by the index of what the filters say
        "SELECT i.id FROM memory_items AS named CROSS JOIN memory_items AS i ON i.rowid = named.rowid "
        f"WHERE {where} AND named.id IN (?*)"
    )
    return {str(item_id) for (item_id,) in db.rows(sql, values, keys=item_ids)}


def items_of_rules(db: Database, rules: Iterable[str]) -> list[tuple[str, str, str]]:
    """The active items that hold these rules, oldest first: the rule's id, the item's, the hash of its content."""
    sql = (
        "SELECT rule_id, id, content_hash FROM memory_items WHERE archived = 0 AND rule_id IN (?*) "
        "ORDER BY rule_id, created_at, id"
    )
    return [(str(rule), str(item_id), str(digest)) for rule, item_id, digest in db.rows(sql, keys=sorted(rules))]


def count_by_day(db: Database, filters: Filters) -> dict[str, int]:
    """How many items that pass the filters were made on each day (UTC, `2026-11-20`), the first day first."""
    where, values = filters.where()
    # Whatever stands behind the day: a time in UTC, as nearly all programs write it, costs no call.
    utc = f"CASE WHEN i.created_at GLOB '????-??-??T*+00:00' THEN i.created_at ELSE {utc_of('i.created_at')} END"
    found = db.rows(
        f"SELECT substr({utc}, 1, 10) AS day, count(*) FROM memory_items AS i WHERE {where} GROUP BY day ORDER BY day",
        values,
    )
    return {str(day): int(count) for day, count in found if day}
