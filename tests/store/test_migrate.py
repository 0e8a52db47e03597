"""Older files open, work, and still open in the program that wrote them."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl import errors, ids
from memctl.store import connect, migrate, schema
from memctl.store.connect import open_read, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.search import rebuild
from memctl.types import MemoryItem
from stores import check_index

THEIR_REPLACE = (
    "INSERT OR REPLACE INTO memory_items(id, tier, type, title, content, tags, entities, links_json, provenance_json, "
    "confidence, validation, scope, created_at, updated_at, archived, content_hash, injectable) VALUES "
    "('MEM-000000000001', 'ltm', 'note', 'T', 'their words', '[]', '[]', '[]', '{}', 0.5, 'unverified', 'project', "
    "'2024-01-01', '2024-01-05', 0, '', 1)"
)


def shape(path: str) -> dict[str, list[tuple[object, ...]]]:
    """Tables with their columns, and the names of indexes and triggers."""
    conn = sqlite3.connect(path)
    names = conn.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
    out: dict[str, list[tuple[object, ...]]] = {"names": sorted(names)}
    for kind, name in names:
        if kind == "table":
            columns = conn.execute(f"PRAGMA table_info({name})").fetchall()
            out[name] = sorted((c[1], c[2].upper(), c[3], c[5]) for c in columns)
    conn.close()
    return out


def test_migrated_files_have_the_shape_of_new_ones(old: str, tmp_path: Path) -> None:
    open_write(old).close()
    new = str(tmp_path / "new.db")
    open_write(new, create=True).close()
    migrated, fresh = shape(old), shape(new)
    for table, columns in fresh.items():
        if table != "names":
            assert migrated[table] == columns, table
    assert set(fresh["names"]) <= set(migrated["names"])


def test_items_survive_and_can_be_changed(old: str) -> None:
    with_store = open_write(old)
    assert items.count(with_store, Filters()) == 2
    items.update(with_store, "MEM-000000000002", {"content": "We chose SQLite"})
    check_index(with_store)
    item = items.get(with_store, "MEM-000000000002")
    assert item is not None and item.content == "We chose SQLite" and item.injectable
    assert item.tags == ["sécurité"]
    with_store.close()


def test_opening_twice_changes_nothing(old: str) -> None:
    open_write(old).close()
    once = shape(old)
    db = open_write(old)
    assert migrate.is_current(db)
    db.close()
    assert shape(old) == once


def test_reading_an_old_file_does_not_touch_it(old: str) -> None:
    before = Path(old).read_bytes()
    db = open_read(old)
    assert {i.id for i in items.list_items(db, Filters(injectable=True))} == {"MEM-000000000001", "MEM-000000000002"}
    found = db.rows("SELECT i.id FROM memory_items_fts AS f JOIN memory_items AS i ON i.rowid = f.rowid "
                    "WHERE memory_items_fts MATCH 'postgres'")  # fmt: skip
    assert [row[0] for row in found] == ["MEM-000000000002"]
    db.close()
    assert Path(old).read_bytes() == before


def test_another_programs_replace_loses_no_history(old: str) -> None:
    db = open_write(old)
    passage = MemoryItem(id="MEM-000000000001", content="first words")
    items.write_many(db, [passage], "ingest", compact=True)
    db.close()
    theirs = sqlite3.connect(old)  # no recursive_triggers, as RAGIX and older memctl do it
    theirs.execute(THEIR_REPLACE)
    theirs.commit()
    theirs.close()
    db = open_write(old)
    history = items.revisions(db, "MEM-000000000001")
    assert history[-1]["snapshot"]["content"] == "first words"
    assert history[-1]["snapshot"]["injectable"] is True
    db.close()


@pytest.mark.parametrize("ours", [True, False])
def test_a_newer_file_is_refused_and_left_alone(path: str, ours: bool) -> None:
    db = open_write(path, create=True)
    db.run("UPDATE schema_meta SET value = '3' WHERE key = 'schema_version'")
    if not ours:
        db.run("DELETE FROM memctl_migrations")
    db.close()
    before = Path(path).read_bytes()
    for opener in (open_read, open_write):
        with pytest.raises(errors.StoreTooNew):
            opener(path)
    assert Path(path).read_bytes() == before


def test_a_file_with_a_later_migration_is_refused(path: str) -> None:
    db = open_write(path, create=True)
    db.run("INSERT INTO memctl_migrations VALUES (99, 'from the future', '')")
    db.close()
    for opener in (open_read, open_write):
        with pytest.raises(errors.StoreTooNew):
            opener(path)


def test_another_programs_database_is_refused_and_left_alone(path: str) -> None:
    conn = sqlite3.connect(path)
    conn.execute("CREATE TABLE places(id INTEGER PRIMARY KEY, url TEXT)")
    conn.close()
    before = Path(path).read_bytes()
    for opener in (open_read, open_write):
        with pytest.raises(errors.NotADatabase):
            opener(path)
    assert Path(path).read_bytes() == before


def test_migration_numbers_are_in_order_and_named() -> None:
    assert [m.number for m in migrate.MIGRATIONS] == list(range(1, len(migrate.MIGRATIONS) + 1))
    assert len({m.name for m in migrate.MIGRATIONS}) == len(migrate.MIGRATIONS)
    assert migrate.MIGRATIONS[-1].number == connect.MIGRATION
    assert str(schema.SCHEMA_VERSION) == connect.SCHEMA_VERSION


def test_the_triggers_of_a_new_store_are_known_by_their_hash(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    connect.open_write(path, create=True).close()
    db = connect.open_read(path)
    held = [sql for (sql,) in db.rows("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")]
    db.close()
    assert ids.bytes_hash("\n".join(held).encode()) == connect.TRIGGERS_HASH


@pytest.mark.parametrize("number", [step.number for step in migrate.MIGRATIONS])
def test_a_step_that_fails_leaves_the_file_as_the_step_before(
    old: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shape_with(script: str) -> dict[str, list[tuple[object, ...]]]:
        with monkeypatch.context() as patch:
            steps = [s._replace(script=script) if s.number == number else s for s in migrate.MIGRATIONS]
            patch.setattr(migrate, "MIGRATIONS", tuple(steps))
            with pytest.raises(errors.StoreIncomplete):
                open_write(old)
        return shape(old)

    broken = "SELECT no_such_column;\n"
    assert shape_with(broken) == shape_with(migrate.MIGRATIONS[number - 1].script + broken)
    db = open_write(old)
    assert [row[0] for row in db.rows("SELECT number FROM memctl_migrations")] == [s.number for s in migrate.MIGRATIONS]
    check_index(db)
    db.close()


def test_two_that_migrate_at_once_do_each_step_once(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one has seen an outdated file, and waits at the first step while the first one is in it."""
    waiting, failed = threading.Event(), list[errors.MemctlError]()

    def open_late() -> None:
        try:
            open_write(old).close()
        except errors.MemctlError as exc:
            failed.append(exc)
            waiting.set()

    late = threading.Thread(target=open_late)

    class Steps(tuple[migrate.Migration, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[migrate.Migration]:
            if threading.current_thread() is late:
                waiting.set()
            return super().__iter__()

    def index_slowly(db: Database, tokenizer: str | None) -> bool:
        if threading.current_thread() is not late and not waiting.is_set():
            late.start()
            assert waiting.wait(60)
        return repair_index(db, tokenizer)

    repair_index = rebuild.repair_index
    monkeypatch.setattr(rebuild, "repair_index", index_slowly)
    monkeypatch.setattr(migrate, "MIGRATIONS", Steps(migrate.MIGRATIONS))
    db = open_write(old)
    late.join()
    assert failed == []
    assert [row[0] for row in db.rows("SELECT number FROM memctl_migrations")] == [s.number for s in migrate.MIGRATIONS]
    check_index(db)
    db.close()


def test_an_unknown_tokenizer_changes_nothing(path: str) -> None:
    db = open_write(path, create=True)
    items.write(db, MemoryItem(content="alpha beta"))
    for name in ("enn", "x'; DROP TABLE memory_items; --"):
        with pytest.raises(errors.TokenizerInvalid):
            rebuild.rebuild_index(db, name)
        assert rebuild.tokenizer_of(db) == schema.DEFAULT_TOKENIZER
        check_index(db)
    assert db.value("SELECT count(*) FROM memory_items_fts WHERE memory_items_fts MATCH 'alpha'") == 1
    db.close()


def test_the_tokenizer_can_be_changed_there_and_back(path: str) -> None:
    db = open_write(path, create=True)
    items.write(db, MemoryItem(content="rotating tokens"))

    def hits() -> int:
        return int(db.value("SELECT count(*) FROM memory_items_fts WHERE memory_items_fts MATCH 'rotate'"))

    assert hits() == 1
    assert rebuild.rebuild_index(db, "fr") == 1
    assert (hits(), db.meta("fts_tokenizer")) == (0, "unicode61 remove_diacritics 2")
    assert rebuild.rebuild_index(db, "en") == 1
    assert (hits(), db.meta("fts_reindex_count")) == (1, "2")
    check_index(db)
    db.close()


def test_a_full_disk_while_the_index_is_made_is_our_error(tmp_path: Path) -> None:
    db = open_write(str(tmp_path / "a.db"), create=True)
    for trigger in ("ai", "bd", "bu", "au"):
        db.run(f"DROP TRIGGER IF EXISTS memory_items_fts_{trigger}")
    db.run("DROP TABLE memory_items_fts")
    db.run("VACUUM")
    db.run(f"PRAGMA max_page_count = {db.value('PRAGMA page_count')}")
    with pytest.raises(errors.StoreFull):
        rebuild.repair_index(db, None)
    db.close()


@pytest.mark.parametrize("tokenizer", [None, "raw"])
def test_the_index_is_built_once(tmp_path: Path, tokenizer: str | None) -> None:
    db = open_write(str(tmp_path / "a.db"), create=True, tokenizer="fr")
    items.write(db, MemoryItem(content="words"))
    seen: list[str] = []
    db.conn.set_trace_callback(seen.append)
    assert rebuild.rebuild_index(db, tokenizer) == 1
    db.conn.set_trace_callback(None)
    assert sum(statement.startswith("INSERT INTO memory_items_fts(rowid, title") for statement in seen) == 1
    check_index(db)
    db.close()
