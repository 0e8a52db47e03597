"""Opening, transactions, and what SQLite's errors become."""

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from memctl import errors
from memctl.store import database
from memctl.store.connect import open_read, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.types import MemoryItem
from stores import check_index
from support import ok, run


def test_reading_a_missing_store_makes_nothing(path: str) -> None:
    with pytest.raises(errors.StoreMissing) as caught:
        open_read(path)
    assert "memctl init" in caught.value.advice()
    with pytest.raises(errors.StoreMissing):
        open_write(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize("content", [b"x" * 5000, b"SQLite format 3\0" + b"\xff" * 4000, b"not a database at all\n"])
def test_what_is_no_database_is_said_so_and_kept(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    for opener in (open_read, open_write):
        with pytest.raises((errors.NotADatabase, errors.StoreCorrupt)):
            opener(path)
    assert Path(path).read_bytes() == content


def test_an_empty_file_becomes_a_store_only_by_writing(path: str) -> None:
    Path(path).touch()
    with pytest.raises(errors.NotADatabase):
        open_read(path)
    open_write(path).close()
    open_read(path).close()


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    for opener in (open_read, open_write):
        with pytest.raises(errors.NotADatabase):
            opener(str(tmp_path))


@pytest.mark.parametrize("name", ["a b", "per%20cent", "q?mode=ro", "hash#tag", "naïve-数据", "quote'\"", "new\nline"])
def test_any_file_name_works(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name / "memory.db")
    db = open_write(path, create=True)
    items.write(db, MemoryItem(id="MEM-1", content="x"))
    db.close()
    assert os.path.exists(path)
    db = open_read(path)
    assert items.get(db, "MEM-1") is not None
    db.close()


def test_creation_leaves_nothing_beside_the_store(path: str) -> None:
    open_write(path, create=True).close()
    assert os.listdir(os.path.dirname(path)) == ["memory.db"]


def test_a_reader_leaves_no_wal_files_behind(path: str) -> None:
    open_write(path, create=True).close()
    db = open_read(path)
    items.count(db, Filters())
    db.close()
    assert os.listdir(os.path.dirname(path)) == ["memory.db"]


def test_a_reader_cannot_write(path: str) -> None:
    open_write(path, create=True).close()
    db = open_read(path)
    with pytest.raises(errors.StoreReadOnly):
        db.run("DELETE FROM memory_items")
    db.close()


def test_reading_while_another_writes(path: str) -> None:
    writer = open_write(path, create=True)
    items.write(writer, MemoryItem(id="MEM-1", content="before"))
    with writer.atomic():
        items.write(writer, MemoryItem(id="MEM-2", content="during"))
        reader = open_read(path)
        assert items.count(reader, Filters()) == 1
        assert items.mark_used(reader, ["MEM-1"]) is False  # busy: bookkeeping gives way
        reader.close()
    writer.close()


def test_a_failed_transaction_leaves_nothing(db: Database) -> None:
    with pytest.raises(RuntimeError, match="stop"), db.atomic():  # noqa: PT012 - the block is the transaction
        items.write(db, MemoryItem(id="MEM-1", content="x"))
        raise RuntimeError("stop")
    assert items.count(db, Filters()) == 0
    assert db.value("SELECT count(*) FROM memory_events") == 0
    check_index(db)


def test_a_failed_inner_transaction_leaves_the_outer(db: Database) -> None:
    with db.atomic():
        items.write(db, MemoryItem(id="MEM-1", content="x"))
        with pytest.raises(RuntimeError, match="stop"), db.atomic():  # noqa: PT012
            items.write(db, MemoryItem(id="MEM-2", content="y"))
            raise RuntimeError("stop")
    assert [i.id for i in items.list_items(db, Filters())] == ["MEM-1"]
    check_index(db)


def test_a_busy_store_is_said_so_and_nothing_is_lost(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    first = open_write(path, create=True)
    second = open_write(path, timeout=0.05)
    with first.atomic(), pytest.raises(errors.StoreBusy) as caught, second.atomic(wait=0.05):
        pass
    assert "writing to" in caught.value.message
    items.write(second, MemoryItem(id="MEM-1", content="x"))
    assert items.count(first, Filters()) == 1
    first.close()
    second.close()


def test_a_writer_waits_for_another(path: str) -> None:
    first = open_write(path, create=True)
    second = open_write(path)
    entered = threading.Event()
    release = threading.Event()

    def hold() -> None:
        with first.atomic():
            entered.set()
            release.wait(10)
            items.write(first, MemoryItem(id="MEM-1", content="x"))

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(10)
    threading.Timer(0.2, release.set).start()
    items.write(second, MemoryItem(id="MEM-2", content="y"))
    thread.join()
    assert items.count(second, Filters()) == 2
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("database is locked", errors.StoreBusy),
        ("attempt to write a readonly database", errors.StoreReadOnly),
        ("database or disk is full", errors.StoreFull),
        ("disk I/O error", errors.StoreFull),
        ("file is not a database", errors.NotADatabase),
        ("database disk image is malformed", errors.StoreCorrupt),
        ("unable to open database file", errors.StoreReadOnly),
        ("no such column: x", errors.StoreIncomplete),
        ("no such table: main.x", errors.StoreIncomplete),
        ("vtable constructor failed: memory_items_fts", errors.StoreCorrupt),
        ("string or blob too big", errors.StoreOversized),
        ("no such function: x", errors.StoreFailed),
    ],
)
def test_sqlite_errors_become_ours(text: str, error: type[errors.MemctlError]) -> None:
    ours = database.translate(sqlite3.OperationalError(text), "m.db")
    assert type(ours) is error
    assert "m.db" in ours.message


def test_a_full_disk_loses_nothing(path: str) -> None:
    db = open_write(path, create=True)
    items.write(db, MemoryItem(id="MEM-1", content="kept"))
    pages = db.value("PRAGMA page_count")
    db.run(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(errors.StoreFull):
        items.write(db, MemoryItem(id="MEM-2", content="x" * 100_000))
    assert [i.id for i in items.list_items(db, Filters())] == ["MEM-1"]
    assert not db.conn.in_transaction
    db.run(f"PRAGMA max_page_count = {pages + 10_000}")
    items.write(db, MemoryItem(id="MEM-3", content="again"))
    check_index(db)
    db.close()


def test_a_read_only_file_answers(path: str) -> None:
    db = open_write(path, create=True)
    items.write(db, MemoryItem(id="MEM-1", content="x"))
    db.close()
    os.chmod(path, 0o444)
    os.chmod(os.path.dirname(path), 0o555)
    try:
        db = open_read(path)
        assert items.get(db, "MEM-1") is not None
        db.close()
    finally:
        os.chmod(os.path.dirname(path), 0o755)


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE memory_items(id INTEGER PRIMARY KEY, what TEXT)",
        "CREATE TABLE memory_items(id TEXT PRIMARY KEY, content TEXT); INSERT INTO memory_items VALUES (1, 2)",
    ],
)
def test_another_programs_table_of_our_name_is_left_alone(path: str, script: str) -> None:
    conn = sqlite3.connect(path)
    conn.executescript(script)
    conn.close()
    before = Path(path).read_bytes()
    for opener in (open_read, open_write):
        with pytest.raises(errors.NotADatabase) as caught:
            opener(path)
        assert "its table memory_items is another program's, without" in caught.value.message
    assert Path(path).read_bytes() == before


def test_a_table_of_theirs_beside_ours_is_no_store_either(old: str) -> None:
    conn = sqlite3.connect(old)
    conn.executescript("DROP TABLE memory_events; CREATE TABLE memory_events(at TEXT)")
    conn.close()
    before = Path(old).read_bytes()
    with pytest.raises(errors.NotADatabase, match="memory_events"):
        open_write(old)
    assert Path(old).read_bytes() == before


@pytest.mark.parametrize(
    ("table", "argv"),
    [
        ("memory_events", ["status"]),
        ("memory_events", ["remember", "x"]),
        ("memory_revisions", ["remember", "x"]),
        ("memory_embeddings", ["stats"]),
        ("corpus_hashes", ["stats"]),
    ],
)
def test_a_table_that_is_gone_is_named(table: str, argv: list[str]) -> None:
    ok("remember", "something")
    conn = sqlite3.connect(".memory/memory.db")
    conn.execute(f"DROP TABLE {table}")
    conn.close()
    said = run(*argv)
    assert (said.code, said.out) == (2, b"")
    assert f"has lost a part: there is no table {table}" in said.notes
    assert "hint: another program has taken it away" in said.notes


@pytest.mark.parametrize("argv", [["list"], ["export"], ["recall", "something"]])
def test_a_damaged_row_is_named_as_damage(argv: list[str]) -> None:
    ok("remember", "something")
    conn = sqlite3.connect(".memory/memory.db")
    conn.executescript("PRAGMA ignore_check_constraints = ON; UPDATE memory_items SET tier = x'00ff'")
    conn.close()
    said = run(*argv)
    assert said.code == 2
    assert "is damaged: item MEM-" in said.notes
    assert "internal error" not in said.notes


@pytest.mark.parametrize("failure", [sqlite3.DataError("string or blob too big"), MemoryError()])
def test_what_is_too_large_is_said_so(db: Database, failure: Exception) -> None:
    class Connection:
        def execute(self, *_args: object) -> None:
            raise failure

    large = Database.__new__(Database)
    large.conn, large.path, large.journal = Connection(), "m.db", None  # type: ignore[assignment]
    for ask in (large.rows, large.row, large.run, large.value, lambda sql: [*large.each(sql)]):
        with pytest.raises(errors.StoreOversized, match="too large to be read"):
            ask("SELECT 1")


def test_a_file_that_was_damaged_is_not_said_to_be_unchanged() -> None:
    assert "not changed" not in errors.StoreCorrupt.hint
