"""Vectors: what RAGIX keeps beside an item to find it by meaning, one row each."""

from array import array
from collections.abc import Sequence

from memctl import ids
from memctl.store.connect import Database


def put(db: Database, item_id: str, vector: Sequence[float], model: str, dimension: int) -> None:
    """Store an item's vector (packed float32, native order) and the model that made it."""
    if len(vector) != dimension:
        raise ValueError(f"the vector has {len(vector)} numbers, not {dimension}")
    with db.atomic():
        db.run(
            "INSERT INTO memory_embeddings(item_id, model_name, dimension, vector, created_at) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT(item_id) DO UPDATE SET model_name = excluded.model_name, "
            "dimension = excluded.dimension, vector = excluded.vector, created_at = excluded.created_at",
            (item_id, model, dimension, array("f", vector).tobytes(), ids.timestamp()),
        )


def get(db: Database, item_id: str) -> tuple[list[float], str] | None:
    """An item's vector and its model, or None."""
    row = db.row("SELECT vector, model_name FROM memory_embeddings WHERE item_id = ?", (item_id,))
    return None if row is None else (_floats(row[0]), row[1])


def every(db: Database, active: bool) -> list[tuple[str, list[float]]]:
    """(item id, vector) of all items that have one, by id; `active`: not of archived items."""
    where = "WHERE i.archived = 0" if active else ""
    found = db.rows(
        f"SELECT e.item_id, e.vector FROM memory_embeddings AS e JOIN memory_items AS i ON i.id = e.item_id {where} "
        "ORDER BY e.item_id"
    )
    return [(item_id, _floats(blob)) for item_id, blob in found]


def _floats(blob: bytes) -> list[float]:
    numbers = array("f")
    numbers.frombytes(blob)
    return numbers.tolist()
