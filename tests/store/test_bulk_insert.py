"""Items stored through a temporary table are the same as items stored one by one, and the index is as it was before."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from memctl import errors, ids
from memctl.store.connect import MEMORY, open_write
from memctl.store.database import Database
from memctl.store.documents import passages
from memctl.store.documents.passages import SourcePosition
from memctl.store.items import items
from memctl.types import MemoryItem
from stores import check_index

NOW = "2026-11-21T12:00:00.000000+00:00"
SETTINGS = "SELECT k, v FROM memory_items_fts_config WHERE k <> 'version'"


def made(count: int) -> list[tuple[Any, ...]]:
    words = ("gateway", "élan vital", "no end", "{}", "")
    return [
        items.from_item(MemoryItem(id=f"MEM-{n}", title=f"{words[n % 5]} {n}", content=words[n % 4] * n, tags=[str(n)]))
        for n in range(count)
    ]


def placed(rows: list[tuple[Any, ...]]) -> list[SourcePosition]:
    """A place for each, two of three with lines."""
    return [
        SourcePosition(n, n + 1 if n % 3 else None, n + 9 if n % 3 else None, f"Guide > {n}")
        for n, _ in enumerate(rows)
    ]


def store_one_by_one(db: Database, rows: list[tuple[Any, ...]]) -> None:
    items.write_rows(db, rows, "ingest")
    passages.set_positions(db, dict(zip((row[0] for row in rows), placed(rows), strict=True)))


def store_in_bulk(db: Database, rows: list[tuple[Any, ...]]) -> None:
    passages.bulk_insert(db, rows, placed(rows), "ingest")


def everything(db: Database) -> dict[str, list[tuple[Any, ...]]]:
    """What the tables hold beside ids of revisions and events; and which words the index has for which item."""
    db.run("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, memory_items_fts, instance)")
    return {
        "items": db.rows("SELECT rowid, * FROM memory_items ORDER BY rowid"),
        "revisions": db.rows(
            "SELECT rowid, item_id, revision_num, snapshot, changed_at, reason FROM memory_revisions ORDER BY rowid"
        ),
        "events": db.rows(
            "SELECT rowid, action, item_id, details_json, content_hash, timestamp FROM memory_events ORDER BY rowid"
        ),
        "places": db.rows("SELECT * FROM memory_sources ORDER BY item_id"),
        "words": db.rows("SELECT * FROM temp.words ORDER BY 1, 2, 3, 4"),
    }


def varied(count: int) -> list[tuple[Any, ...]]:
    """Rows of which no two have all in common, and of which no column is the same in all."""
    out = made(count)
    for n, row in enumerate(out):
        values = dict(zip(items.COLUMNS, row, strict=True))
        odd = n % 2 == 1
        values |= {
            "tier": "ltm" if odd else "stm", "type": "fact" if odd else "note", "confidence": n % 3,
            "validation": "verified" if odd else "unverified", "scope": f"s{n % 2}", "updated_at": f"2026-11-2{n % 2}",
            "expires_at": NOW if odd else None, "corpus_id": None if odd else "c", "archived": n % 2,
            "injectable": 1 - n % 2, "rule_id": f"r{n}" if odd else None, "usage_count": n,
        }  # fmt: skip
        out[n] = tuple(values[name] for name in items.COLUMNS)
    return out


def alike(count: int) -> list[tuple[Any, ...]]:
    """Rows that differ in their ids alone."""
    first = items.from_item(MemoryItem(id="", title="the same", content="gateway", tags=["one", "two"]))
    return [(f"MEM-{n}", *first[1:]) for n in range(count)]


@pytest.mark.parametrize("rules", ["", "today's"])
@pytest.mark.parametrize("make", [made, varied, alike])
@pytest.mark.parametrize("first", [170, 1, 299])
def test_they_are_stored_as_one_by_one(
    make: Callable[[int], list[tuple[Any, ...]]], first: int, rules: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ids, "timestamp", lambda *_: NOW)
    stored = []
    for write in (store_one_by_one, store_in_bulk):
        db = open_write(MEMORY)
        db.rules = rules
        with passages.temp_tables_in_memory(db):
            for part in (make(300)[:first], make(300)[first:]):
                with db.atomic():
                    write(db, part)
        check_index(db)
        stored.append(everything(db))
        assert db.value("SELECT count(*) FROM sqlite_temp_master WHERE name = 'memctl_staged'") == 0
        db.close()
    assert stored[0] == stored[1]
    assert len(stored[0]["items"]) == len(stored[0]["places"]) == 300


@pytest.mark.parametrize("theirs", [{}, {"automerge": 2}, {"hashsize": 5000, "automerge": 0}])
def test_the_index_is_set_back(db: Database, theirs: dict[str, int]) -> None:
    for name, value in theirs.items():
        db.run("INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES (?, ?)", (name, value))
    with db.atomic():
        store_in_bulk(db, made(200))
    assert dict(db.rows(SETTINGS)) == {"hashsize": 1 << 20, "automerge": 4} | theirs


def test_what_fails_leaves_nothing(db: Database) -> None:
    items.write_rows(db, made(150)[149:], "ingest")
    with passages.temp_tables_in_memory(db):
        with pytest.raises(errors.StoreFailed), db.atomic():
            store_in_bulk(db, made(150))
        assert db.value("SELECT count(*) FROM memory_items") == 1
        assert db.rows(SETTINGS) == []
        with db.atomic():
            store_in_bulk(db, made(149))
    check_index(db)
    assert db.value("SELECT count(*) FROM memory_items") == 150


def test_another_connection_writes_meanwhile_as_ever(db: Database, path: str) -> None:
    with db.atomic():
        store_in_bulk(db, made(200))
    other = sqlite3.connect(path)
    other.execute("UPDATE memory_items SET title = 'renamed' WHERE id = 'MEM-7'")
    other.commit()
    other.close()
    with db.atomic():
        store_in_bulk(db, made(400)[200:])
    check_index(db)
    found = db.rows("SELECT rowid FROM memory_items_fts WHERE memory_items_fts MATCH 'renamed'")
    assert found == db.rows("SELECT rowid FROM memory_items WHERE id = 'MEM-7'")


def test_stores_of_older_programs_take_them(old: str) -> None:
    db = open_write(old)
    before = db.value("SELECT count(*) FROM memory_items")
    with passages.temp_tables_in_memory(db), db.atomic():
        store_in_bulk(db, made(120))
    check_index(db)
    assert db.value("SELECT count(*) FROM memory_items") == before + 120
    db.close()
