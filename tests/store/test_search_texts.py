"""What the texts of the best items, and the time they were made, add to their scores; and that any text is a query."""

import random
from contextlib import closing
from typing import Any

import pytest

from memctl.retrieve.candidates import SearchResult
from memctl.retrieve.explain import reasons, words
from memctl.retrieve.find import search
from memctl.store.connect import MEMORY, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.search import index
from memctl.types import MemoryItem


def put(db: Database, content: str, **fields: Any) -> None:
    items.write(db, MemoryItem(content=content, **fields))


def find(db: Database, text: str, limit: int = 20) -> SearchResult:
    return search(db, text, filters=Filters(), limit=limit)


def ids(found: SearchResult) -> list[str]:
    return [c.id for c in found.candidates]


# --- how an item opens, and how its words are written -------------------------------------------------------------


def test_an_item_that_opens_with_the_words_comes_first(db: Database) -> None:
    put(db, "def rotate_tokens(store):\n    walk(store)\n    close(it)", id="MEM-opens")
    put(db, "def maintain(store):\n    walk(store)\n    # rotate tokens", id="MEM-ends")
    found = find(db, "rotate tokens")
    assert ids(found) == ["MEM-opens", "MEM-ends"]
    assert "opening" in reasons(found, found.candidates[0])
    assert "opening" not in reasons(found, found.candidates[1])


def test_french_words_count_as_they_are_written(db: Database) -> None:
    put(db, "Il faut un bateau, et du vent en mer du Nord.", id="MEM-il")
    put(db, "Une île sous le vent, au large, en mer du Nord.", id="MEM-ile")
    found = find(db, "Où est l'île ?")
    assert ids(found)[0] == "MEM-ile"
    assert "as written" in reasons(found, found.candidates[0])


@pytest.mark.parametrize(
    ("asked", "content"),
    [
        ("les oeuvres de ce peintre", "Ses œuvres sont au musée"),
        ("cœur", "Le coeur de la ville"),
        ("boeuf", "Le bœuf est cuit"),
        ("encyclopaedia", "An encyclopædia of ships"),
    ],
)
def test_a_ligature_and_its_letters_are_one(db: Database, asked: str, content: str) -> None:
    put(db, content, id="MEM-1")
    assert ids(find(db, asked)) == ["MEM-1"]


def test_two_forms_of_a_word_count_once(db: Database) -> None:
    put(db, "a column of numbers", id="MEM-1")
    found = find(db, "join a column with columns")
    assert list(words(found, found.candidates[0])) == ["column"]


@pytest.mark.parametrize("asked", ["Qui aura vu la loutre ?", "Quand la loutre sera-t-elle vue, et serait-elle là ?"])
def test_forms_of_to_be_and_to_have_are_no_words_of_a_french_question(db: Database, asked: str) -> None:
    query = find(db, asked).query
    assert not {"aura", "sera", "serait"} & set(query.terms)


def test_they_are_words_of_an_english_one(db: Database) -> None:
    assert "sera" in find(db, "which sera did the patients receive").query.terms


# --- when it was made ---------------------------------------------------------------------------------------------


@pytest.fixture
def diary(db: Database) -> Database:
    for month in range(1, 13):
        put(db, "Ann spoke of the garden", id=f"MEM-{month:02}", created_at=f"2023-{month:02}-10T10:00:00+00:00")
    return db


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("What did Ann say of the garden on 12 March, 2023?", "MEM-03"),
        ("What did Ann say of the garden in July?", "MEM-07"),
        ("Qu'a dit Ann du garden en novembre 2023 ?", "MEM-11"),
        ("garden 2023-09", "MEM-09"),
    ],
)
def test_what_was_made_at_the_time_that_is_named_comes_first(diary: Database, asked: str, first: str) -> None:
    found = find(diary, asked)
    assert ids(found)[0] == first
    assert len(ids(found)) == 12
    assert reasons(found, found.candidates[0])["time"] > 2 * reasons(found, found.candidates[-1])["time"]


def test_without_a_time_in_the_question_there_is_none_in_the_score(diary: Database) -> None:
    found = find(diary, "may Ann march in the garden?")
    assert "time" not in reasons(found, found.candidates[0])


def test_an_odd_time_in_the_store_stops_no_search(db: Database) -> None:
    put(db, "Ann spoke of the garden", id="MEM-1")
    with db.atomic():
        db.run("UPDATE memory_items SET created_at = 'some day'")
    assert ids(find(db, "the garden in July 2023")) == ["MEM-1"]


# --- any text -----------------------------------------------------------------------------------------------------

_PIECES = [
    '"', "'", "AND", "OR", "NOT", "NEAR(a b, 2)", "title:", "*", "^", "{", "}", "(", ")", "-", "+", ":", "\0", "\ud800",
    "auth", "token", "getUserID", "l'été", "où", "œuvre", "数据库", "ฐาน", "v1.2.3", "a/b.py", "🎉", "٣",
    "16 June 2023", "2023-06", "May", "é" * 40, "%", "_", "!", "\\", "\n", "\u202e", "ﬁ", "ß",
]  # fmt: skip


def _any_text(source: random.Random) -> str:
    """Some pieces that mean something to a search engine, and characters of all of Unicode."""
    pieces = [source.choice(_PIECES) for _ in range(source.randrange(6))]
    pieces += [chr(source.randrange(0x110000)) for _ in range(source.randrange(4))]
    source.shuffle(pieces)
    return source.choice(["", " "]).join(pieces)


@pytest.mark.parametrize("count", [300, pytest.param(25_000, marks=pytest.mark.slow)])
def test_any_text_is_a_legal_query(count: int) -> None:
    source = random.Random(count)
    with closing(open_write(MEMORY, create=True)) as db:
        put(db, "the auth token of getUserID, 16 June 2023", id="MEM-1", title="May")
        put(db, "l'œuvre d'été 数据库 ฐาน a/b.py v1.2.3", id="MEM-2")
        for _ in range(count):
            text = _any_text(source)
            assert len(ids(find(db, text, limit=3))) <= 2, text


# --- how many items a read sees -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [(), ("b",), ("a", "b"), ("b", "c"), ("a", "b", "c"), ("a", "c")])
@pytest.mark.parametrize("read", [("b",), ("b", "a"), ("a", "c"), ("a", "b", "c"), ("x",), ("A", "z")])
def test_the_items_of_the_scopes_are_counted(
    db: Database, kept: tuple[str, ...], read: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(6):
        if kept:
            put(db, f"number {n}", scope=kept[n % len(kept)])
    size = index.index_size(db)
    expected = sum(db.value("SELECT count(*) FROM memory_items WHERE scope = ?", (scope,)) for scope in read)
    assert index.count_in_scopes(db, Filters(read), size) == expected
    monkeypatch.setattr(index, "COUNTED", 2)
    assert index.count_in_scopes(db, Filters(read), size) == min(2, expected)
