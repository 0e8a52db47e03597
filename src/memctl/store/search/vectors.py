"""Vectors: what memctl and RAGIX keep beside an item to find it by meaning, one row each.

They are searched by their signs first: two vectors with many equal signs point the same way. The sign of a float is the
first bit of its last byte, so the signs of a stored vector are read off without unpacking it; those that come nearest
are then measured exactly.
"""

import heapq
import json
import math
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store.database import BATCH, Database
from memctl.store.filters import Filters

#: CANDIDATE_FACTOR times the vectors that are wanted, and at least MIN_CANDIDATES, are measured exactly.
CANDIDATE_FACTOR = 4
MIN_CANDIDATES = 200
#: Fewer cosines say nothing about chance.
MIN_SAMPLE = 5
_SIGN_BYTE = 3 if sys.byteorder == "little" else 0
_COLUMNS = "item_id model_name dimension vector created_at"
#: Items that are asked for by their ids. CROSS JOIN keeps the ids in the outer loop; left alone, SQLite, which knows
#: nothing of how many items share a scope or are archived, reads the whole store by such an index.
_CHOSEN = "json_each(?) AS chosen CROSS JOIN memory_items AS i ON i.id = chosen.value"
#: A vector is stale when its item was changed after the text it was made of was read.
_STALE = "e.item_id IS NULL OR e.model_name <> ? OR substr(e.created_at, 1, 26) < substr(i.updated_at, 1, 26)"


def put_vector(db: Database, item_id: str, vector: Sequence[float], model: str, dimension: int) -> None:
    """Store an item's vector (packed float32, native order) and the model that made it."""
    if len(vector) != dimension:
        raise ValueError(f"the vector has {len(vector)} numbers, not {dimension}")
    with db.atomic():
        row = (item_id, model, dimension, array("f", vector).tobytes(), ids.timestamp())
        db.upsert("memory_embeddings", _COLUMNS, [row])


def get_vector(db: Database, item_id: str) -> tuple[list[float], str] | None:
    """An item's vector and its model, or None."""
    row = db.row("SELECT vector, model_name FROM memory_embeddings WHERE item_id = ?", (item_id,))
    return None if row is None else (array("f", row[0]).tolist(), row[1])


def list_vectors(db: Database, active: bool) -> list[tuple[str, list[float]]]:
    """(item id, vector) of all items that have one, by id; `active`: not of archived items."""
    where = "WHERE i.archived = 0" if active else ""
    found = db.rows(
        f"SELECT e.item_id, e.vector FROM memory_embeddings AS e JOIN memory_items AS i ON i.id = e.item_id {where} "
        "ORDER BY e.item_id"
    )
    return [(item_id, array("f", blob).tolist()) for item_id, blob in found]


# --- making them -----------------------------------------------------------------------------------------------------


class EmbeddingText(NamedTuple):
    """What an item says, and the time its vector must carry not to count as stale."""

    id: str
    title: str
    content: str
    time: str


def count_by_model(db: Database) -> dict[str, int]:
    """How many vectors there are of each model."""
    return dict(db.rows("SELECT model_name, count(*) FROM memory_embeddings GROUP BY model_name ORDER BY model_name"))


def dimension_of(db: Database, model: str) -> int | None:
    """The dimension of a model's vectors, None when there are none."""
    found: int | None = db.value("SELECT dimension FROM memory_embeddings WHERE model_name = ? LIMIT 1", (model,))
    return found


def pending_items(db: Database, model: str, filters: Filters) -> list[str]:
    """Ids of the items that pass the filters and have no vector of this model, or one of an older text."""
    condition, values = filters.where("i")
    found = db.rows(
        "SELECT i.id FROM memory_items AS i LEFT JOIN memory_embeddings AS e ON e.item_id = i.id "
        f"WHERE {condition} AND ({_STALE}) ORDER BY i.id",
        [*values, model],
    )
    return [row[0] for row in found]


def texts_to_embed(db: Database, item_ids: Sequence[str], filters: Filters) -> list[EmbeddingText]:
    """What these items say now; those that no longer pass the filters are left out."""
    condition, values = filters.where("i")
    now = ids.timestamp()
    found = db.rows(
        "SELECT i.id, CAST(i.title AS TEXT), CAST(i.content AS TEXT), CAST(i.updated_at AS TEXT) "
        f"FROM {_CHOSEN} WHERE {condition} ORDER BY i.id",
        [json.dumps(list(item_ids)), *values],
    )
    return [EmbeddingText(item_id, title, content, max(now, changed)) for item_id, title, content, changed in found]


def put_vectors(db: Database, made: Iterable[tuple[EmbeddingText, "array[float]"]], model: str) -> None:
    """Store the vectors of these texts, all or none."""
    with db.atomic():
        rows = [(text.id, model, len(vector), vector.tobytes(), text.time) for text, vector in made]
        db.upsert("memory_embeddings", _COLUMNS, rows)


def delete_vectors(db: Database) -> int:
    """Delete every vector, whichever model made it, and what was learnt from them; how many there were."""
    with db.atomic():
        db.run("DELETE FROM schema_meta WHERE key = 'embeddings'")
        return db.run("DELETE FROM memory_embeddings").rowcount


def get_model_note(db: Database, model: str) -> str | None:
    """What was noted about a model's vectors in this store."""
    noted = (db.meta("embeddings") or "").partition("\n")
    return noted[2] if noted[0] == model else None


def set_model_note(db: Database, model: str, what: str) -> None:
    """Note something about a model's vectors in this store, instead of what was noted before."""
    with db.atomic():
        db.set_meta("embeddings", f"{model}\n{what}")


# --- searching them --------------------------------------------------------------------------------------------------


class SignCode(NamedTuple):
    """The signs of an item's vector, as one number, and its scope."""

    id: str
    scope: str
    signs: int


class NearestVectors(NamedTuple):
    """The cosines of the nearest items by rowid, and the cosine that the nearest of all would have by chance.

    spread  the standard deviation of all cosines; 0 when there are too few to tell
    """

    cosines: dict[int, float]
    chance: float
    spread: float

    def beyond(self) -> float:
        """By how many standard deviations the nearest is nearer than by chance; negative when it is not."""
        return (max(self.cosines.values()) - self.chance) / self.spread if self.spread and self.cosines else -math.inf


def nearest(db: Database, query: "array[float]", model: str, filters: Filters, limit: int) -> NearestVectors:
    """The items that come nearest: CANDIDATE_FACTOR times the limit, or all when there are fewer."""
    wanted = max(MIN_CANDIDATES, CANDIDATE_FACTOR * limit)
    asked = signs_of(query)
    apart = [((signs ^ asked).bit_count(), item_id) for item_id, signs in _each_sign_code(db, model, len(query))]
    sample = [item_id for _, item_id in apart[:: max(1, len(apart) // MIN_CANDIDATES)]]
    others = sorted(cosines(db, query, sample, model, filters).values())
    best = heapq.nsmallest(wanted, apart)
    out = cosines(db, query, [item_id for _, item_id in best], model, filters)
    if len(out) < limit and wanted < len(apart):  # the filters leave little of these: the others, nearest first
        apart.sort()
        for at in range(wanted, len(apart), BATCH):
            out |= cosines(db, query, [item_id for _, item_id in apart[at : at + BATCH]], model, filters)
            if len(out) >= limit:
                break
    if len(others) < MIN_SAMPLE:
        return NearestVectors(out, math.inf, 0.0)
    mean, spread = mean_and_deviation(
        others[:-1]
    )  # the nearest may be in the sample, and would hide how far it stands out
    return NearestVectors(out, mean + chance_deviations(len(apart) * len(others) // len(sample)) * spread, spread)


def list_sign_codes(db: Database, model: str, dimension: int, filters: Filters) -> list[SignCode]:
    """The signs of all vectors of a model whose items pass the filters, by id."""
    condition, values = filters.where("i")
    scopes = dict(db.rows(f"SELECT i.id, i.scope FROM memory_items AS i WHERE {condition}", values))
    found = ((item_id, signs) for item_id, signs in _each_sign_code(db, model, dimension) if item_id in scopes)
    return sorted(SignCode(item_id, scopes[item_id], signs) for item_id, signs in found)


def signs_of(vector: "array[float]") -> int:
    """The signs of a vector, as `Code` holds them: the first bit of a byte for each number."""
    mask = int.from_bytes(b"\x80" * len(vector), "little")
    return int.from_bytes(vector.tobytes()[_SIGN_BYTE::4], "little") & mask


def mean_and_deviation(numbers: Sequence[float]) -> tuple[float, float]:
    """The mean of some numbers, and their standard deviation."""
    count = max(1, len(numbers))
    mean = sum(numbers) / count
    return mean, math.sqrt(sum((n - mean) ** 2 for n in numbers) / count)


def chance_deviations(count: int) -> float:
    """By how many standard deviations the nearest of `count` vectors stands out when it is near by chance only."""
    return math.sqrt(2 * math.log(max(2, count)))


def _each_sign_code(db: Database, model: str, dimension: int) -> Iterator[tuple[str, int]]:
    """The id and the signs of each vector of a model."""
    sql = (
        "SELECT CAST(item_id AS TEXT), vector FROM memory_embeddings "
        "WHERE model_name = ? AND dimension = ? AND length(vector) = ?"
    )
    mask, read = int.from_bytes(b"\x80" * dimension, "little"), int.from_bytes
    for item_id, blob in db.each(sql, [model, dimension, 4 * dimension]):
        yield item_id, read(blob[_SIGN_BYTE::4], "little") & mask


def cosines(
    db: Database, query: "array[float]", item_ids: Sequence[str], model: str, filters: Filters
) -> dict[int, float]:
    """The exact cosines of these items' vectors, by rowid.

    Left out are items that do not pass the filters, and those without a vector of this model and length.
    """
    out: dict[int, float] = {}
    asked, form = query.tolist(), f"{len(query)}f"
    condition, values = filters.where("i")
    for at in range(0, len(item_ids), BATCH):
        found = db.rows(
            f"SELECT i.rowid, e.vector FROM {_CHOSEN} CROSS JOIN memory_embeddings AS e ON e.item_id = i.id "
            f"WHERE e.model_name = ? AND length(e.vector) = ? AND {condition}",
            [json.dumps(item_ids[at : at + BATCH]), model, 4 * len(query), *values],
        )
        for row, blob in found:
            vector = struct.unpack(form, blob)
            size = math.hypot(*vector)
            if 0 < size < math.inf:  # by the distance, which Python measures faster than it multiplies
                out[row] = (1 + size * size - math.dist(asked, vector) ** 2) / (2 * size)
    return out


def rows_of(db: Database, item_ids: Sequence[str]) -> dict[str, int]:
    """The rowids of these items."""
    return dict(db.rows("SELECT id, rowid FROM memory_items WHERE id IN (?*)", keys=item_ids))
