"""memctl doctor: what is in order, what is not, and what it mends."""

import os
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from memctl import MemoryItem
from stores import STORE, change, check_index, stored
from support import ok, run

DOCUMENTED = [
    "python_version", "sqlite3_module", "fts5_support", "db_exists", "wal_mode", "schema_version", "integrity_check",
]  # fmt: skip
OURS = [
    "fts_index", "orphans", "content_hashes", "item_values", "documents", "mounts", "foreign_tables", "policy_patterns",
    "mcp_server", "eco_config",
]  # fmt: skip


def checks(*flags: str, code: int = 0) -> dict[str, Any]:
    """The checks by name."""
    done = run("doctor", "--json", *flags)
    assert done.code == code, done.notes
    return {one["name"]: one for one in done.json()["checks"]}


@pytest.fixture
def store() -> str:
    ok("remember", "The gateway retries twice.")
    return STORE


def test_a_sound_store(store: str) -> None:
    found = checks()
    assert list(found) == [*DOCUMENTED, *OURS]
    assert {one["status"] for name, one in found.items() if name != "eco_config"} == {"pass"}
    done = ok("doctor")
    assert done.text == ""
    assert "[PASS] Every page of the file is sound\n" in done.notes
    assert done.notes.endswith("Some warnings — memctl is functional.\n")


def test_without_a_store_nothing_is_made() -> None:
    found = checks()
    assert {found[name]["status"] for name in ("db_exists", "wal_mode", "schema_version", "integrity_check")} == {
        "warn"
    }
    assert found["wal_mode"]["detail"] == "skipped"
    checks("--fix")
    assert not os.path.exists(STORE)


def test_damage_is_a_failure(store: str) -> None:
    with change() as db:
        db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    size = os.path.getsize(store)
    with open(store, "rb+") as file:
        file.seek(3 * 8192)
        file.write(b"\xff" * (size - 4 * 8192))
    found = checks(code=1)
    assert "fail" in {found["db_exists"]["status"], found.get("integrity_check", {}).get("status")}


def test_an_index_that_lies_is_found_and_made_anew(store: str) -> None:
    with closing(sqlite3.connect(store)) as other, other:
        other.execute("DROP TRIGGER memory_items_fts_au")
        other.execute("INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities) "
                      "SELECT 'delete', rowid, title, content, tags, entities FROM memory_items")  # fmt: skip
        other.execute("INSERT INTO memory_items_fts(rowid, content) SELECT rowid, 'kestrel' FROM memory_items")
        other.execute("CREATE TRIGGER memory_items_fts_au AFTER UPDATE ON memory_items WHEN 0 BEGIN SELECT 1; END")
        other.execute("DROP TRIGGER memory_items_fts_au")
    assert checks(code=1)["fts_index"]["status"] == "fail"
    assert checks("--fix")["fts_index"]["status"] == "pass"
    with change() as db:
        check_index(db)


def test_words_in_the_index_that_no_item_has_are_found_behind_sound_triggers(store: str) -> None:
    with closing(sqlite3.connect(store)) as other, other:
        other.execute("INSERT INTO memory_items_fts(memory_items_fts, rowid, title, content, tags, entities) "
                      "SELECT 'delete', rowid, title, content, tags, entities FROM memory_items")  # fmt: skip
        other.execute("INSERT INTO memory_items_fts(rowid, content) SELECT rowid, 'kestrel' FROM memory_items")
    assert checks(code=1)["fts_index"]["status"] == "fail"
    assert checks("--fix")["fts_index"]["status"] == "pass"


def test_an_index_of_pairs_of_characters_is_sound() -> None:
    ok("remember", "部署在星期五 and the gateway")
    assert checks()["fts_index"]["status"] == "pass"
    with closing(sqlite3.connect(STORE)) as other, other:
        other.execute("INSERT INTO memory_items_fts(memory_items_fts) VALUES ('delete-all')")
        other.execute("INSERT INTO memory_items_fts(rowid, title, content, tags, entities) "
                      "SELECT rowid, title, content, tags, entities FROM memory_items")  # fmt: skip
    assert checks(code=1)["fts_index"]["status"] == "fail"


def test_rows_of_items_that_are_not_there_are_taken_away(store: str) -> None:
    with change() as db:
        db.run("INSERT INTO memory_links VALUES ('MEM-00000000000a', 'MEM-00000000000b', 'supports', 'x')")
        db.run("INSERT INTO memory_importance VALUES ('MEM-00000000000a', 0.9)")
    found = checks()["orphans"]
    assert (found["status"], found["detail"]) == ("warn", "3")
    assert checks("--fix")["orphans"]["status"] == "pass"
    assert len(stored()) == 1


def test_rows_of_sessions_that_are_not_there_are_taken_away(store: str) -> None:
    """As another program leaves them that deletes sessions; threads of sessions that are there stay."""
    for name in ("a", "b", "c"):
        ok("session", "start", name)
    ok("session", "link", "b", "follows_up_on", "a")
    ok("session", "link", "c", "merges", "b")
    ok("remember", "The gateway retries twice.", "--session", "c")
    with change() as db:
        db.run("DELETE FROM memory_sessions WHERE session_id = 'c'")
    found = checks()["orphans"]
    assert (found["status"], found["detail"]) == ("warn", "2")
    assert checks("--fix")["orphans"]["status"] == "pass"
    assert [link["dst_id"] for link in ok("session", "tree", "b", "--json").json()["links"]] == ["a"]


def test_a_wrong_hash_is_set_right(store: str) -> None:
    with change() as db:
        db.run("UPDATE memory_items SET content_hash = ''")
    assert checks()["content_hashes"]["detail"] == "1"
    assert checks("--fix")["content_hashes"]["status"] == "pass"
    (item,) = stored()
    with change() as db:
        assert db.value("SELECT content_hash FROM memory_items") == item.content_hash


def test_values_folders_and_tables_of_others_are_told(store: str, tmp_path: Any) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    ok("mount", str(folder))
    folder.rmdir()
    with change() as db:
        db.run("UPDATE memory_items SET tags = 'no json', validation = 'maybe'")
        db.run("CREATE TABLE notes_of_somebody (x)")
        db.run(
            "INSERT INTO corpus_hashes(file_path, sha256, item_ids, ingested_at) VALUES ('/a', 'x', '[\"MEM-0\"]', 'x')"
        )
    found = checks()
    told = ("item_values", "mounts", "foreign_tables", "documents")
    assert {name: found[name]["status"] for name in told} == dict.fromkeys(told, "warn")


#: What RAGIX does with a file: opens it in its own way, writes rows with REPLACE, merges and archives.
RAGIX_COLUMNS = (
    "id, tier, type, title, content, tags, entities, links_json, provenance_json, confidence, validation, scope, "
    "expires_at, usage_count, last_used_at, created_at, updated_at, rule_id, superseded_by, archived, content_hash, "
    "corpus_id, injectable"
)


def test_a_store_that_ragix_wrote_to_and_consolidated_is_sound() -> None:
    for number in range(6):
        ok("remember", f"The worker {number} retries.", "--tags", "net", "--importance", "0.9")
    before = {item.id: item.content for item in stored()}
    with closing(sqlite3.connect(STORE, detect_types=sqlite3.PARSE_DECLTYPES)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("CREATE TABLE IF NOT EXISTS memory_items (id TEXT PRIMARY KEY)")
        conn.execute("CREATE TABLE IF NOT EXISTS graph_nodes (node_id TEXT PRIMARY KEY, kind TEXT)")
        assert conn.execute(
            "SELECT count(*) FROM memory_items_fts WHERE memory_items_fts MATCH 'worker'"
        ).fetchone() == (6,)
        marks = ", ".join("?" * 23)
        rows = conn.execute(f"SELECT {RAGIX_COLUMNS} FROM memory_items").fetchall()
        merged = list(rows[0])
        merged[0], merged[1], merged[4] = "MEM-ragixmerged", "mtm", "The worker 0 retries, and so do others."
        conn.execute(f"INSERT OR REPLACE INTO memory_items ({RAGIX_COLUMNS}) VALUES ({marks})", merged)
        for row in rows[:3]:
            old = list(row)
            old[18], old[19] = "MEM-ragixmerged", 1
            conn.execute(f"INSERT OR REPLACE INTO memory_items ({RAGIX_COLUMNS}) VALUES ({marks})", old)
            conn.execute("INSERT OR REPLACE INTO memory_links VALUES (?, ?, 'supersedes', 'x')", (merged[0], row[0]))
            conn.execute("INSERT OR REPLACE INTO memory_palace_locations VALUES (?, 'default', 'net', 'note', ?, 'x')",
                         (merged[0], merged[0]))  # fmt: skip
        conn.commit()
    after = checks()
    assert {name: one for name, one in after.items() if one["status"] == "fail"} == {}
    assert after["fts_index"]["status"] == "pass"
    assert [row["id"] for row in ok("search", "others", "--json").json()] == ["MEM-ragixmerged"]
    assert len(stored()) == 4
    with change() as db:
        assert db.value("SELECT count(*) FROM memory_importance") == len(before)
        check_index(db)
    ok("consolidate")


def test_an_item_without_hash_of_another_program(store: str) -> None:
    with change() as db:
        db.write(MemoryItem(content=""))
    assert checks()["content_hashes"]["status"] == "pass"


def test_verify_without_ids_checks_the_store_and_the_status_says_when(store: str) -> None:
    assert ok("status", "--json").json()["last_verify"] is None
    said = ok("verify", "--json").json()
    assert said["status"] == "ok"
    assert [one["name"] for one in said["checks"]] == ["integrity_check", *OURS[:7]]
    assert ok("status", "--json").json()["last_verify"]
    with change() as db:
        db.run("INSERT INTO memory_items_fts(rowid, content) SELECT rowid, 'kestrel' FROM memory_items")
    done = run("verify")
    assert done.code == 1
    assert "[FAIL] The full-text index" in done.text
