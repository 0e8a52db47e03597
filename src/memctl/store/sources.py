"""Where in its source an item stands: position, lines, anchor. A side table, so other programs' writes keep it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memctl.store.connect import Database

#: SQLite's limit on bound values is 999 on old builds.
BATCH = 500


class Source(NamedTuple):
    """A place in a source: its order there, 1-based inclusive lines, and a heading path, definition, page or sheet."""

    position: int | None = None
    line_start: int | None = None
    line_end: int | None = None
    anchor: str = ""


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


def batches(values: list[str], size: int = BATCH) -> Iterable[list[str]]:
    """Slices that fit into one statement's bound values."""
    return (values[i : i + size] for i in range(0, len(values), size))


def marks(values: list[str]) -> str:
    """`?, ?, ?` for these values."""
    return ", ".join("?" * len(values))


def beyond(prefix: str) -> str:
    """The first text after all that begin with `prefix`: `path >= prefix AND path < beyond(prefix)` uses an index."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
