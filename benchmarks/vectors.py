"""What finding by meaning costs beside the embedder: a search of the vectors in a store."""

import random
import time
from array import array
from collections.abc import Iterator

from benchmarks.cases import Row, write_items
from benchmarks.house import House
from benchmarks.measure import check, spawn
from memctl.store.connect import open_read, open_write
from memctl.store.filters import Filters
from memctl.store.search import vectors

#: Numbers of a vector, as the usual small models have them, and candidates of one search.
DIMENSION = 384
POOL = 100
RUNS = 30


def measure(house: House, count: int) -> Iterator[Row]:
    """Searches of random vectors, all of length 1, in a store of `count` items."""
    source = random.Random(count)
    path = house.folder / "vectors.jsonl"
    write_items(path, count)
    db = house.store("vectors")
    check(spawn(house.command("import", str(path), "--db", db, "-q"), house.env), "import")
    path.unlink()
    store = open_write(db)
    known = vectors.texts_to_embed(store, vectors.pending_items(store, "m", Filters()), Filters())
    vectors.put_vectors(store, ((text, _vector(source)) for text in known), "m")
    store.close()
    store = open_read(db)
    times = []
    for _ in range(RUNS):
        asked = _vector(source)
        start = time.process_time()
        vectors.nearest(store, asked, "m", Filters(("project",)), POOL)
        times.append((time.process_time() - start) * 1e3)
    store.close()
    yield Row(f"{len(known):,} vectors of {DIMENSION}: a search", f"{sorted(times)[RUNS // 2]:.1f} ms CPU")


def _vector(source: random.Random) -> "array[float]":
    numbers = [source.gauss(0, 1) for _ in range(DIMENSION)]
    size = sum(n * n for n in numbers) ** 0.5
    return array("f", [n / size for n in numbers])
