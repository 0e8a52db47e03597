"""Vectors in the store: what is stale, what is nearest, and files of other programs."""

import math
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import embedders
from memctl import errors
from memctl.context import open_context
from memctl.retrieve.embedding import Embedder, parse
from memctl.store.connect import open_read, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.search import vectors
from memctl.types import MemoryItem
from support import examples, operation

embed = operation("embed")
search = operation("search")

EVERY = Filters()


@pytest.fixture
def db() -> Iterator[Database]:
    made = open_write(":memory:")
    yield made
    made.close()


def put(db: Database, *made: list[float], model: str = "m", **fields: object) -> list[str]:
    """Items with these vectors, by id."""
    out = []
    for n, vector in enumerate(made):
        item = items.write(db, MemoryItem(id=f"MEM-{n:04}", title=str(n), content=f"text {n}", **fields))  # type: ignore[arg-type]
        vectors.put_vector(db, item.id, vector, model, len(vector))
        out.append(item.id)
    return out


def ids_of(db: Database, rows: dict[int, float]) -> dict[str, float]:
    names = dict(db.rows("SELECT rowid, id FROM memory_items"))
    return {names[row]: cosine for row, cosine in rows.items()}


NUMBERS = st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8).filter(lambda v: sum(n * n for n in v) > 1e-6)


@examples(60)
@given(st.lists(NUMBERS, min_size=1, max_size=12), NUMBERS)
def test_the_nearest_have_their_exact_cosines(made: list[list[float]], asked: list[float]) -> None:
    db = open_write(":memory:")
    put(db, *made)
    length = math.sqrt(sum(n * n for n in asked))
    near = vectors.nearest(db, array("f", [n / length for n in asked]), "m", EVERY, 5)
    for name, cosine in ids_of(db, near.cosines).items():
        other = made[int(name[4:])]
        exact = sum(a * b for a, b in zip(asked, other, strict=True)) / length / math.sqrt(sum(n * n for n in other))
        assert cosine == pytest.approx(exact, abs=1e-4)
    assert len(near.cosines) == len(made)
    db.close()


def test_signs_find_the_same_as_exact_search_among_many(db: Database) -> None:
    made = [embedders.vector(f"word{n} word{n + 1} word{n + 2}") for n in range(600)]
    put(db, *made)
    size = math.sqrt(sum(n * n for n in made[77]))
    near = vectors.nearest(db, array("f", [n / size for n in made[77]]), "m", EVERY, 10)
    assert len(near.cosines) == vectors.MIN_CANDIDATES
    best = sorted(ids_of(db, near.cosines).items(), key=lambda pair: -pair[1])[:6]
    assert best[0][0] == "MEM-0077"
    assert best[0][1] == pytest.approx(1, abs=1e-5)
    assert {name for name, _ in best[:5]} == {f"MEM-{n:04}" for n in range(75, 80)}
    assert best[5][1] < near.chance < best[2][1]
    assert near.beyond() > 5


def test_filters_that_leave_little_hold_before_the_limit(db: Database) -> None:
    put(db, *([1.0, 0.001 * n] for n in range(900)))
    items.update(db, "MEM-0899", {"tags": ["a"]})
    found = vectors.nearest(db, array("f", [1, 0]), "m", Filters(tags=("a",)), 10)
    assert list(ids_of(db, found.cosines)) == ["MEM-0899"]


@pytest.mark.parametrize(
    "filters", [Filters(("project",)), Filters(injectable=True), Filters(tier="stm"), Filters(tags=("a",))]
)
def test_filters_hold(db: Database, filters: Filters) -> None:
    put(db, [1.0, 0.0], [0.0, 1.0])
    items.write(db, MemoryItem(id="MEM-x", content="x", scope="other", tier="mtm", injectable=False))
    vectors.put_vector(db, "MEM-x", [1.0, 0.0], "m", 2)
    found = ids_of(db, vectors.nearest(db, array("f", [1, 0]), "m", filters, 5).cosines)
    assert "MEM-x" not in found
    assert len(found) == (0 if filters.tags else 2)


def test_what_other_programs_left(db: Database) -> None:
    """Vectors of other models, of other lengths, cut short, without direction, or not finite are passed over."""
    put(db, [3.0, 4.0], [0.0, 0.0], [math.inf, 1.0], [math.nan, 1.0], [1.0, 0.0])
    db.run("UPDATE memory_embeddings SET vector = x'0011' WHERE item_id = 'MEM-0004'")
    for n, (model, vector) in enumerate([("other", [1.0, 0.0]), ("m", [1.0, 0.0, 0.0])]):
        items.write(db, MemoryItem(id=f"MEM-{n}", content=f"{n}"))
        vectors.put_vector(db, f"MEM-{n}", vector, model, len(vector))
    vectors.put_vector(db, "MEM-gone", [1.0, 0.0], "m", 2)
    found = vectors.nearest(db, array("f", [1, 0]), "m", EVERY, 5).cosines
    assert ids_of(db, found) == {"MEM-0000": pytest.approx(0.6)}


def test_stale_is_what_changed_after_its_text_was_read(db: Database) -> None:
    put(db, [1.0, 0.0])
    assert vectors.pending_items(db, "m", EVERY) == []
    assert vectors.pending_items(db, "other", EVERY) == ["MEM-0000"]
    read = vectors.texts_to_embed(db, ["MEM-0000"], EVERY)
    items.update(db, "MEM-0000", {"content": "meanwhile"})
    vectors.put_vectors(db, zip(read, [array("f", [1, 0])], strict=True), "m")
    assert vectors.pending_items(db, "m", EVERY) == ["MEM-0000"]


def test_a_store_that_cannot_be_written_to_is_searched_by_meaning_too(tmp_path: Path) -> None:
    spec = embedders.command(tmp_path)
    with open_context(db=tmp_path / "m.db") as ctx:
        db = open_write(str(tmp_path / "m.db"), create=True)
        items.write(db, MemoryItem(id="MEM-car", content="an automobile"))
        db.close()
        embed(ctx, embedder=spec)
    (tmp_path / "m.db").chmod(0o400)
    with open_context(db=tmp_path / "m.db") as ctx:
        assert [c.id for c in search(ctx, "automobile", embedder=spec).found.candidates] == ["MEM-car"]


def test_a_crooked_note_counts_as_none(tmp_path: Path) -> None:
    db = open_write(str(tmp_path / "m.db"), create=True)
    items.write(db, MemoryItem(id="MEM-car", content="an automobile"))
    vectors.set_model_note(db, "toy", "nonsense")
    db.close()
    read = open_read(str(tmp_path / "m.db"))
    assert vectors.get_model_note(read, "toy") == "nonsense"
    assert vectors.get_model_note(read, "other") is None
    read.close()
    with open_context(db=tmp_path / "m.db") as ctx:
        assert len(search(ctx, "automobile", embedder="http://127.0.0.1:9/v1#toy").found.candidates) == 1


@given(
    st.one_of(st.text(), st.tuples(st.sampled_from(["ollama:", "http://", "https://", "cmd:"]), st.text()).map("".join))
)
def test_any_text_is_an_embedder_or_an_error(spec: str) -> None:
    try:
        made = parse(spec, key="k")
    except errors.UsageError:
        return
    assert isinstance(made, Embedder)
