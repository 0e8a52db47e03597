"""Files that make SQLite, or us, touch another file, run code, hang, or eat all memory."""

import os
import shutil
import sqlite3
import struct
import sys
from pathlib import Path

import pytest

from memctl.errors import MemctlError, StoreUnsafe
from memctl.store import MemoryStore, database, untrusted
from memctl.types import MemoryItem
from planted import plant
from support import ok, run, spawn

MAGIC = bytes.fromhex("d9d505f920a163d7")


def put_journal(store: Path, victim: Path) -> None:
    """A rollback journal of no pages whose end names a super-journal: SQLite deletes that file after a look at it."""
    name = os.fsencode(victim)
    header = MAGIC + struct.pack(">IIIII", 0, 1, store.stat().st_size // 8192, 512, 8192)
    record = struct.pack(">I", 0) + name + struct.pack(">II", len(name), sum(name)) + MAGIC
    Path(f"{store}-journal").write_bytes(header.ljust(512, b"\0") + record)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "thesis.tex"
    path.write_text("years of work")
    return path


READS = (
    ["recall", "gateway"], ["search", "gateway"], ["status"], ["list"], ["stats"], ["digest"], ["export"],
    ["sync", "--dry-run"], ["show", "MEM-1"], ["serve", "--check"], ["scan", "--store"], ["trust"],
    ["remember", "The gateway is blue."], ["init"], ["reindex", "--dry-run"],
)  # fmt: skip


def test_the_journal_is_what_it_is_said_to_be(victim: Path) -> None:
    store = plant()
    put_journal(store, victim)
    conn = sqlite3.connect(store)
    conn.execute("SELECT count(*) FROM memory_items").fetchone()
    conn.close()
    assert not victim.exists(), "SQLite does not do this any more: the checks may go"


@pytest.mark.parametrize("argv", READS, ids=" ".join)
@pytest.mark.parametrize("named", [False, True])
def test_no_command_lets_a_journal_delete_another_file(victim: Path, argv: list[str], named: bool) -> None:
    store = plant()
    put_journal(store, victim)
    run(*argv, env={"MEMCTL_DB": str(store)} if named else {})
    assert victim.read_text() == "years of work"


def test_a_named_store_with_such_a_journal_is_refused_with_its_name(victim: Path) -> None:
    store = plant()
    put_journal(store, victim)
    done = run("search", "gateway", "--db", store)
    assert (done.code, done.out) == (2, b"")
    assert "memory.db-journal beside it would make SQLite delete another file" in done.notes
    with pytest.raises(StoreUnsafe):
        MemoryStore(str(store))
    assert victim.exists()


def test_a_process_lets_none_delete_another_file(victim: Path) -> None:
    store = plant()
    put_journal(store, victim)
    assert b"retries twice" in spawn("recall", "gateway").out  # found: read without its journal
    assert spawn("recall", "gateway", "--db", str(store)).code == 2
    assert victim.exists()


def test_a_journal_that_a_crash_left_is_played_back() -> None:
    """The check must not refuse what it is not about: the hot journal of one's own interrupted transaction."""
    ok("remember", "The gateway retries twice.", "--db", "m.db")
    conn = sqlite3.connect("m.db", isolation_level=None)
    conn.execute("PRAGMA journal_mode = DELETE")
    conn.execute("PRAGMA cache_size = 1")
    conn.execute("BEGIN")
    conn.execute("UPDATE memory_items SET content = 'torn ' || hex(zeroblob(200000))")
    for suffix in ("", "-journal"):
        shutil.copy(f"m.db{suffix}", f"crashed.db{suffix}")
    conn.execute("ROLLBACK")
    conn.close()
    assert "retries twice" in ok("recall", "gateway", "--db", "crashed.db").text


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_stands_beside_a_store_must_be_a_file(victim: Path, suffix: str, kind: str) -> None:
    store = plant()
    beside = Path(f"{store}{suffix}")
    if kind == "link":
        beside.symlink_to(victim)
    else:
        os.mkfifo(beside)
    for argv in (["search", "gateway"], ["remember", "x is y"]):
        done = run(*argv, "--db", store)
        assert done.code == 2
        assert f"memory.db{suffix} beside it is " in done.notes
    assert victim.read_text() == "years of work"


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_store_that_is_no_file_is_passed_over(kind: str, victim: Path) -> None:
    Path(".memory").mkdir()
    if kind == "link":
        Path(".memory/memory.db").symlink_to(victim)
    else:
        os.mkfifo(".memory/memory.db")
    done = run("search", "gateway")
    assert done.code != 0
    assert "Passed over" in done.notes
    assert run("remember", "x is y").code != 0
    assert victim.read_text() == "years of work"


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("CREATE VIEW memory_extra AS SELECT * FROM memory_items", "the view memory_extra"),
        (
            "CREATE TRIGGER boom AFTER UPDATE ON memory_items BEGIN UPDATE memory_items SET title = 'x'; END",
            "the trigger boom",
        ),
        (
            "CREATE TRIGGER memory_items_fts_ai2 AFTER INSERT ON memory_events BEGIN SELECT 1; END",
            "the trigger memory_items_fts_ai2",
        ),
        (
            "ALTER TABLE memory_items ADD COLUMN burn AS (hex(zeroblob(length(content))))",
            "the generated column memory_items.burn",
        ),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_declarations_that_are_not_ours_are_refused(sql: str, what: str, named: bool) -> None:
    store = plant(sql=[sql])
    env = {"MEMCTL_DB": str(store)} if named else {}
    for argv in (["recall", "gateway"], ["remember", "x is y"]):
        done = run(*argv, env=env)
        assert done.code == 2
        assert what in done.notes
    with pytest.raises(StoreUnsafe, match=what.rpartition(" ")[2]):
        MemoryStore(str(store))


def test_a_found_store_declares_nothing_that_computes() -> None:
    store = plant(sql=["CREATE VIRTUAL TABLE other USING fts5(words)"])
    done = run("recall", "gateway")
    assert done.code == 2
    assert "virtual table other" in done.notes
    assert run("trust").code == 2
    assert ok("search", "gateway", "--db", store).out  # other programs' tables may stand in a named one


def test_a_trigger_under_our_name_with_other_words_is_never_trusted() -> None:
    store = plant(
        sql=[
            "DROP TRIGGER memory_items_fts_bu",
            "CREATE TRIGGER memory_items_fts_bu BEFORE UPDATE ON memory_items BEGIN DELETE FROM memory_items; END",
        ]
    )
    done = run("trust")
    assert done.code == 2
    assert "the trigger memory_items_fts_bu" in done.notes
    assert run("remember", "x is y").code == 1
    assert "the trigger memory_items_fts_bu" in run("remember", "x is y", "--db", store).notes
    assert ok("recall", "gateway", "--db", store).out  # which would count a use, and so runs the trigger
    assert ok("list", "--db", store).out


@pytest.mark.parametrize("column", ["tags", "entities", "links_json", "provenance_json"])
def test_lists_in_lists_in_lists_break_no_read(column: str) -> None:
    store = plant(sql=[f"UPDATE memory_items SET {column} = '{'[' * 50_000}'"])
    for argv in (["recall", "gateway"], ["list"], ["search", "gateway"], ["export"]):
        assert ok(*argv, "--db", store).out


@pytest.mark.parametrize("column", ["title", "scope", "rule_id", "corpus_id", "created_at", "superseded_by"])
def test_bytes_where_text_belongs_break_no_read(column: str) -> None:
    store = plant(sql=[f"UPDATE memory_items SET {column} = x'ff00'"])
    for argv in (["recall", "gateway"], ["list", "--all-scopes"], ["export"]):
        assert run(*argv, "--db", store).code == 0


def test_a_view_in_place_of_a_table_is_not_asked() -> None:
    """Whether it is a view is looked at before anything is read from it."""
    endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n AS key, n AS value FROM c"
    store = plant(sql=["DROP TABLE schema_meta", f"CREATE VIEW schema_meta AS {endless}"])
    for named in ([], ["--db", str(store)]):
        for argv in (["recall", "gateway"], ["remember", "x is y"], ["status"]):
            done = run(*argv, *named)
            assert done.code == 2
            assert "the view schema_meta" in done.notes


@pytest.mark.parametrize("script", ["memctl_v1", "memctl_v2", "ragix"])
def test_stores_of_older_programs_can_be_trusted(script: str) -> None:
    Path(".memory").mkdir()
    conn = sqlite3.connect(".memory/memory.db")
    conn.executescript((Path(__file__).parents[1] / "data" / f"{script}.sql").read_text())
    conn.commit()
    conn.close()
    assert "low (store of somebody else)" in ok("recall", "login session JWT").text
    ok("trust")
    assert "somebody else" not in ok("recall", "login session JWT").text
    ok("remember", "The login page is blue.")
    assert "somebody else" not in ok("recall", "login session JWT").text


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Connection.setlimit is of Python 3.11")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 of Python 3.10 sets no limits")
def test_a_cell_beyond_all_measure_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    store = plant(MemoryItem(id="MEM-1", content="gateway " * 400_000))
    assert run("list", "--db", store).code == 0
    done = run("recall", "gateway")
    assert done.code in (1, 2)
    monkeypatch.setattr(database, "CELL_BYTES", 1 << 20)
    assert run("list", "--db", store).code in (1, 2)
    assert b"Traceback" not in done.err
    assert "internal error" not in done.notes


def test_a_query_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(*(MemoryItem(id=f"MEM-{n}", content=f"gateway {n}") for n in range(50)))
    monkeypatch.setattr(untrusted, "_STEP_OPCODES", 10)
    monkeypatch.setattr(untrusted, "_STEPS", 5)
    with pytest.raises(MemctlError, match="interrupted"):
        untrusted.open_untrusted(".memory/memory.db")
