"""Where in its source an item stands: position, lines, anchor. A side table, so other programs' writes keep it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memctl.store.connect import Database
from memctl.text.trust import STRANGER

#: SQLite's limit on bound values is 999 on old builds.
BATCH = 500


class Source(NamedTuple):
    """A place in a source: its order there, 1-based inclusive lines, and a heading path, definition, page or sheet."""

    position: int | None = None
    line_start: int | None = None
    line_end: int | None = None
    anchor: str = ""


class StrangersSource(Source):
    """The same in a store of somebody else, whose every item is shown as such."""

    __slots__ = ()
    trust = STRANGER


def get_many(db: Database, ids: Iterable[str]) -> dict[str, Source]:
    """The places of these items; those without one are left out."""
    if not db.has("memory_sources"):
        return {}
    out: dict[str, Source] = {}
    for batch in batches(list(ids)):
        for row in db.rows(
            "SELECT item_id, position, line_start, line_end, anchor FROM memory_sources "
            f"WHERE item_id IN ({marks(batch)})",
            batch,
        ):
            out[row[0]] = Source(*row[1:])
    return out


def put_many(db: Database, places: Mapping[str, Source]) -> None:
    """Set the places of these items."""
    with db.atomic():
        db.run_many(
            "INSERT INTO memory_sources(item_id, position, line_start, line_end, anchor) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT(item_id) DO UPDATE SET position = excluded.position, line_start = excluded.line_start, "
            "line_end = excluded.line_end, anchor = excluded.anchor",
            [(item_id, *place) for item_id, place in places.items()],
        )


def complete(db: Database) -> int:
    """Record where passages of older programs stand, which only say it in their first line; returns how many."""
    from memctl.text.block.block import place_line

    places = {}
    for item_id, head, source_id in db.rows(
        "SELECT i.id, CAST(substr(i.content, 1, 2000) AS TEXT), json_extract(i.provenance_json, '$.source_id') "
        "FROM memory_items AS i LEFT JOIN memory_sources AS s ON s.item_id = i.id "
        "WHERE s.item_id IS NULL AND substr(i.content, 1, 6) = '[path:' AND json_valid(i.provenance_json) "
        "AND json_extract(i.provenance_json, '$.source_kind') = 'doc'"
    ):
        found = place_line(head.partition("\n")[0].rstrip("\r"), str(source_id or ""))
        if found:
            places[item_id] = Source(int(found[2]), int(found[3]), int(found[4]))
    put_many(db, places)
    return len(places)


def batches(values: list[str], size: int = BATCH) -> Iterable[list[str]]:
    """Slices that fit into one statement's bound values."""
    return (values[i : i + size] for i in range(0, len(values), size))


def marks(values: list[str]) -> str:
    """`?, ?, ?` for these values."""
    return ", ".join("?" * len(values))


def beyond(prefix: str) -> str:
    """The first text after all that begin with `prefix`: `path >= prefix AND path < beyond(prefix)` uses an index."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
