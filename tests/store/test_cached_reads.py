"""What a handle keeps between searches: the same answers as one that begins with nothing, with less to read."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from memctl import ids
from memctl.errors import StoreFailed
from memctl.retrieve.explain import describe
from memctl.retrieve.find import search
from memctl.store import as_of, database
from memctl.store.connect import open_read, open_write
from memctl.store.database import Database
from memctl.store.documents import passages
from memctl.store.documents.passages import SourcePosition
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.search import index, rebuild
from memctl.types import MemoryItem, MemoryProvenance

QUESTIONS = ("alpha", "beta gamma", "delta in May 2024", "alpah", "alphabeta", "gamma", "psilo")


def turn(number: int, text: str, **fields: object) -> MemoryItem:
    source = MemoryProvenance("chat", "talk", [str(number)])
    return MemoryItem(id=f"MEM-{number}", content=text, provenance=source, **fields)  # type: ignore[arg-type]


@pytest.fixture
def db(path: str) -> Iterator[Database]:
    """A store with twenty turns of a conversation, open to be written to."""
    store = open_write(path, create=True)
    words = ("alpha", "beta", "gamma", "delta", "epsilon")
    items.write_many(store, [turn(n, f"{words[n % 5]} {words[n % 3]} of {n}") for n in range(20)], "create")
    yield store
    store.close()


@pytest.fixture
def reader(db: Database, path: str) -> Iterator[Database]:
    """A handle that has answered everything before, twice."""
    assert db.path == path
    with_answers = open_read(path)
    for _ in range(2):
        answers(with_answers)
    yield with_answers
    with_answers.close()


def answers(db: Database, **filters: object) -> list[list[tuple[str, float]]]:
    """What is found for each question in the scope and everywhere: ids and scores, how many match, and how."""
    out = []
    for question in QUESTIONS:
        for scopes in (None, ("project", "global")):
            found = search(db, question, filters=Filters(scopes, **filters), limit=9, count=True)  # type: ignore[arg-type]
            out.append([(c.id, c.score) for c in found.candidates])
            with db.snapshot():
                meta = describe(db, found)
                shown = [c.id for c in found.candidates]
                texts = [(item.id, len(item.content)) for item in items.get_many(db, shown)]
                places = [(f"{i} at", place.position or 0) for i, place in passages.get_positions(db, shown).items()]
            out.append([(meta.strategy, found.total), *((word, 1.0) for word in meta.effective_terms), *texts, *places])
    return out


def afresh(path: str) -> list[list[tuple[str, float]]]:
    """The answers of a handle that knows nothing yet."""
    fresh = open_read(path)
    try:
        return answers(fresh)
    finally:
        fresh.close()


def _written_in_vain(db: Database) -> None:
    with db.atomic():
        items.write(db, turn(40, "alpha alpha alpha"))
        answers(db)
        raise ZeroDivisionError


def _roll_back(db: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        _written_in_vain(db)


CHANGES: dict[str, Callable[[Database], object]] = {
    "a new item": lambda db: items.write(db, turn(20, "alpha gamma, quite new")),
    "a joined word": lambda db: items.write(db, turn(21, "alphabeta")),
    "a longer word": lambda db: items.write(db, turn(22, "tripsilots, around a piece of a word")),
    "other words": lambda db: items.update(db, "MEM-3", {"content": "alpha alpha"}),
    "another place": lambda db: items.write(db, turn(4, "beta")),
    "another scope": lambda db: items.update(db, "MEM-5", {"scope": "elsewhere"}),
    "archived": lambda db: items.archive(db, "MEM-0"),
    "gone": lambda db: db.run("DELETE FROM memory_items WHERE id = 'MEM-6'"),
    "another day": lambda db: db.run("UPDATE memory_items SET created_at = '2024-05-02T00:00:00' WHERE id = 'MEM-8'"),
    "nothing, after all": _roll_back,
    "another tokenizer": lambda db: rebuild.rebuild_index(db, "fr"),
    "no index": lambda db: db.run("DROP TABLE memory_items_fts"),
    "another line": lambda db: passages.set_positions(db, {"MEM-1": SourcePosition(7), "MEM-2": SourcePosition(8)}),
    "uses": lambda db: items.mark_used(db, ["MEM-1", "MEM-2"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_another_handle_writes_is_seen(db: Database, reader: Database, path: str, change: str) -> None:
    CHANGES[change](db)
    db.look()
    reader.look()
    assert answers(reader) == answers(reader) == afresh(path)


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_handle_itself_writes_is_seen(db: Database, path: str, change: str) -> None:
    for _ in range(2):
        answers(db)
    CHANGES[change](db)
    db.look()
    assert answers(db) == answers(db) == afresh(path)


@pytest.mark.parametrize("scopes", [None, ("project", "global"), ("elsewhere",)])
@pytest.mark.parametrize(
    "kinds", [{}, {"injectable": True}, {"archived": True}, {"archived": True, "injectable": True}]
)
@pytest.mark.parametrize("scope", ["project", "elsewhere"])
def test_what_fails_the_filters_is_not_found(
    db: Database, scopes: tuple[str, ...] | None, kinds: dict[str, bool], scope: str
) -> None:
    """The few items that may fail are read from an index of theirs; that says the same as the filters of each item."""
    db.run("UPDATE memory_items SET archived = 1 WHERE id = 'MEM-1'")
    db.run("UPDATE memory_items SET injectable = 0 WHERE id = 'MEM-2'")
    db.run("UPDATE memory_items SET validation = 'retracted' WHERE id = 'MEM-3'")
    db.run("UPDATE memory_items SET expires_at = '2001-01-01' WHERE id = 'MEM-4'")
    db.run("UPDATE memory_items SET expires_at = '9999-01-01' WHERE id = 'MEM-5'")
    db.run("UPDATE memory_items SET scope = ? WHERE id = 'MEM-6'", (scope,))
    filters = Filters(scopes, **kinds)  # type: ignore[arg-type]
    condition, values = filters.where("i")
    pass_ = {row for (row,) in db.rows(f"SELECT i.rowid FROM memory_items AS i WHERE {condition}", values)}
    with db.snapshot():
        held = index.match_strengths(db, '"of"', filters, 20, 20)
    assert held.keys() == pass_


@pytest.mark.parametrize("scope", ["project", "elsewhere"])
def test_what_expires_is_no_longer_found(db: Database, path: str, monkeypatch: pytest.MonkeyPatch, scope: str) -> None:
    now = datetime.now(timezone.utc)
    late = (now + timedelta(hours=1)).isoformat(timespec="microseconds")
    items.write(db, turn(30, "alpha for an hour", expires_at=late))
    items.write(db, turn(31, "alpha elsewhere", scope=scope))
    before = [answers(db) for _ in range(3)]
    assert before[0] == before[1] == before[2]
    assert any(item_id == "MEM-30" for hits in before[2] for item_id, _ in hits)
    monkeypatch.setattr(ids, "timestamp", lambda: (now + timedelta(hours=2)).isoformat(timespec="microseconds"))
    after = answers(db)
    assert after == afresh(path)
    assert not any(item_id == "MEM-30" for hits in after for item_id, _ in hits)


def test_a_look_back_leaves_nothing_behind(db: Database, reader: Database, path: str) -> None:
    moment = ids.timestamp()
    items.update(db, "MEM-3", {"content": "zeta zeta"})
    before = answers(reader)
    fresh = open_read(path)
    with as_of.view_as_of(reader, moment), as_of.view_as_of(fresh, moment):
        past = answers(reader, as_of=moment)
        assert past == answers(fresh, as_of=moment) != before
    fresh.close()
    assert answers(reader) == before == afresh(path)


def test_counting_uses_forgets_nothing(db: Database, path: str) -> None:
    first = answers(db)
    items.mark_used(db, ["MEM-1"])
    said: list[str] = []
    db.conn.set_trace_callback(said.append)
    again = answers(db)
    db.conn.set_trace_callback(None)
    assert again == afresh(path) != first  # what was used counts at once
    assert not [sql for sql in said if "bm25" in sql or "count(*)" in sql]


def test_what_a_search_makes_of_it_is_not_kept(db: Database, path: str) -> None:
    items.write_many(db, [turn(60, "we go home"), turn(61, "we went away")], "create")
    for _ in range(3):
        search(db, "went", filters=Filters(), limit=5)
    fresh = open_read(path)
    with db.snapshot(), fresh.snapshot():
        here, there = (index.match_strengths(each, '"went"', Filters(), 22, 1) for each in (db, fresh))
        assert len(here) == 1
        assert here == there
    fresh.close()


def test_what_is_kept_has_an_end(db: Database, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_CACHED", 10)
    for number in range(12):
        assert answers(db) == afresh(path), number
    with db.snapshot():
        assert sum(db._cache_sizes.values()) <= 10 * len(db._cache_sizes)


@pytest.mark.parametrize("limit", [1, 3, 8, 50])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_newest_are_those_that_pass(path: str, limit: int, elsewhere: bool) -> None:
    db = open_write(path, create=True)
    items.write_many(db, [turn(n, f"alpha {n}") for n in range(24)], "create")
    for n in (23, 20, 11, 2):
        items.archive(db, f"MEM-{n}")
    items.update(db, "MEM-22", {"injectable": False})
    items.update(db, "MEM-19", {"expires_at": "2020-01-01T00:00:00+00:00"})
    if elsewhere:
        for n in (21, 9):
            items.update(db, f"MEM-{n}", {"scope": "elsewhere"})
    for filters in (Filters(), Filters(("project", "global"), injectable=True), Filters(tags=("none",))):
        condition, values = filters.where("i")
        sql = f"SELECT i.rowid FROM memory_items AS i WHERE {condition} ORDER BY i.rowid DESC LIMIT ?"
        expected = [row[0] for row in db.rows(sql, [*values, limit])]
        for _ in range(3):
            with db.snapshot():
                assert index.newest_matches(db, '"alpha"', filters, limit) == expected
                assert index.count_any_match(db, ['"alpha"', '"none"'], filters) == items.count(db, filters)
    db.close()


@pytest.mark.parametrize("column", ["scope", "archived", "injectable", "validation"])
def test_an_item_that_does_not_say_whether_it_passes_does_not(db: Database, path: str, column: str) -> None:
    db.close()
    with closing(sqlite3.connect(path)) as other, other:  # a table of another program may hold nothing there
        other.execute("PRAGMA writable_schema = ON")
        other.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'memory_items'")
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(f"UPDATE memory_items SET {column} = NULL WHERE id IN ('MEM-0', 'MEM-3')")
    reader = open_read(path)
    for _ in range(2):
        found = search(reader, "alpha", filters=Filters(("project", "global"), injectable=True), limit=-1)
        assert {"MEM-0", "MEM-3", "MEM-5"} & {c.id for c in found.candidates} == {"MEM-5"}
    reader.close()


def test_of_too_much_the_oldest_is_forgotten(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "MAX_CACHED", 40)
    for number in range(100):
        with db.snapshot():
            assert number < 5 or number - 5 in db.cached("a sort")
            db.cached("a sort", 1)[number] = True
    with db.snapshot():
        assert 0 not in db.cached("a sort")
        assert 30 <= len(db.cached("a sort")) <= 40
        db.cached("another", 1000)["all in one"] = True
    with db.snapshot():
        assert db.cached("another") == {}


def test_a_search_leaves_no_transaction_open(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(db)
    assert not db.conn.in_transaction
    monkeypatch.setattr("memctl.store.search.index.index_size", lambda _: db.run("SELECT no_such_column"))
    with pytest.raises(StoreFailed):
        answers(db)
    assert not db.conn.in_transaction
    assert db.cached("counts") == {}


def test_a_search_sees_one_moment_of_the_store(db: Database, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from memctl.retrieve.fts_terms import known_terms

    other = open_write(path)

    def meanwhile(*args: Any, **named: Any) -> object:
        items.write(other, turn(50, "alpha alpha alpha"))
        return known_terms(*args, **named)

    monkeypatch.setattr("memctl.retrieve.candidates.known_terms", meanwhile)
    during = search(db, "alpha", filters=Filters(), limit=30)
    assert "MEM-50" not in [c.id for c in during.candidates]
    monkeypatch.undo()
    assert "MEM-50" in [c.id for c in search(db, "alpha", filters=Filters(), limit=30).candidates]
    other.close()
