"""A scope is ranked as if it were alone: neither length, rarity nor number of what other scopes hold changes it."""

import random
from pathlib import Path

import pytest

from memctl.retrieve.find import search
from memctl.store.connect import open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.search import index
from memctl.types import MemoryItem, MemoryProvenance

WORDS = (
    "gateway", "token", "deploy", "window", "schema", "ledger", "invoice", "cache", "retry", "queue", "backup",
    "tenant", "region", "cluster", "router", "latency", "budget", "release", "staging", "canary",
)  # fmt: skip
QUESTIONS = ("gateway token", "deploy window of the ledger", "retry", "which tenant has a backup?", "schema cache")


def statements(count: int, words: int, scope: str, seed: int) -> list[MemoryItem]:
    """Statements of about so many words, turns of a conversation in their scope."""
    some = random.Random(seed)
    return [
        MemoryItem(
            id=f"MEM-{scope}-{n}", scope=scope, title=some.choice(["", "gateway"]),
            content=" ".join(some.choices(WORDS, k=some.randint(words // 2, words * 2))),
            provenance=MemoryProvenance("chat", f"{scope}-talk", [str(n)]),
        )
        for n in range(count)
    ]  # fmt: skip


def found(db: Database, question: str) -> dict[str, float]:
    hits = search(db, question, filters=Filters(("own", "global")), limit=10).candidates
    return {c.id: c.score for c in hits}


@pytest.mark.parametrize("tokenizer", ["en", "raw"])
@pytest.mark.parametrize(("count", "words"), [(40, 3), (400, 4), (300, 200)])
def test_a_scope_is_ranked_as_if_it_were_alone(tmp_path: Path, tokenizer: str, count: int, words: int) -> None:
    own = statements(80, 12, "own", 1)
    alone = open_write(str(tmp_path / "alone.db"), create=True, tokenizer=tokenizer)
    beside = open_write(str(tmp_path / "beside.db"), create=True, tokenizer=tokenizer)
    items.write_many(alone, own, "test")
    items.write_many(beside, [*statements(count, words, "other", 2), *own], "test")
    for question in QUESTIONS:
        assert found(beside, question) == pytest.approx(found(alone, question))
    beside.close()
    alone.close()


def test_an_index_that_does_not_say_how_long_items_are_is_taken_as_it_is(db: Database) -> None:
    items.write_many(db, [*statements(5, 4, "own", 1), *statements(5, 100, "other", 2)], "test")
    before = found(db, "gateway")
    db.tables = db.tables - {"memory_items_fts_docsize"}
    assert found(db, "gateway").keys() == before.keys()


@pytest.mark.parametrize(("data", "numbers"), [(b"", []), (b"\x05\x7f", [5, 127]), (b"\x81\x00\x02", [128, 2])])
def test_the_numbers_of_a_record(data: bytes, numbers: list[int]) -> None:
    assert index.decode_varints(data) == numbers
