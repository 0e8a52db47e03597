"""memctl reindex."""

import json
import sqlite3
from pathlib import Path

import pytest

from stores import change, check_index, fails_at
from support import ok, run


@pytest.fixture(autouse=True)
def store() -> None:
    ok("pull", "--title", "Keys", stdin=b"We rotate the signing keys every week.")


def test_it_switches_the_tokenizer_there_and_back() -> None:
    assert json.loads(ok("search", "rotating", "--json").out)
    said = run("reindex", "--tokenizer", "fr")
    assert (said.code, said.out) == (0, b"")
    assert b"Reindexed 1 items" in said.err
    assert b"Tokenizer changed" in said.err
    assert json.loads(ok("stats", "--json").out)["fts_tokenizer"] == "unicode61 remove_diacritics 2"
    back = json.loads(ok("reindex", "--tokenizer", "en", "--json").out)
    assert back["tokenizer_changed"] is True
    assert back["items_indexed"] == 1
    assert back["status"] == "ok"
    stats = json.loads(ok("stats", "--json").out)
    assert stats["fts_tokenizer_mismatch"] is False
    assert stats["fts_reindex_count"] == 2
    with change() as db:
        check_index(db)
        assert db.value("SELECT count(*) FROM memory_events WHERE action = 'reindex'") == 2


def test_a_dry_run_changes_nothing() -> None:
    plan = json.loads(ok("reindex", "--tokenizer", "raw", "--dry-run", "--json").out)
    assert plan["status"] == "dry_run"
    assert plan["tokenizer_change"] is True
    assert plan["items_to_reindex"] == 1
    assert json.loads(ok("stats", "--json").out)["fts_reindex_count"] == 0


def test_a_dry_run_counts_active_items_and_a_run_all() -> None:
    item = json.loads(ok("search", "rotating", "--json").out)[0]["id"]
    with change() as db:
        db.delete_item(item)
    assert json.loads(ok("reindex", "--dry-run", "--json").out)["items_to_reindex"] == 0
    assert json.loads(ok("reindex", "--json").out)["items_indexed"] == 1


def test_a_dry_run_leaves_the_file_alone() -> None:
    before = Path(".memory/memory.db").read_bytes()
    ok("reindex", "--dry-run")
    assert Path(".memory/memory.db").read_bytes() == before


@pytest.fixture
def many() -> None:
    """Beside the one there is, so many items that the index is filled in three steps."""
    with change() as db:
        db.import_jsonl("\n".join(json.dumps({"content": f"statement {n}"}) for n in range(4499)))


def test_it_shows_how_far_it_is(many: None) -> None:
    said = ok("reindex", tty=frozenset({"stderr"})).notes
    assert "[reindex] 2000/4500 items, 44 %" in said
    assert "[reindex] 4000/4500 items, 88 %" in said
    assert "[reindex] 2000/" not in ok("reindex").notes


@pytest.mark.parametrize("flags", [[], ["--tokenizer", "fr"]])
def test_interrupted_it_leaves_the_index_as_it_was(many: None, flags: list[str]) -> None:
    with fails_at(KeyboardInterrupt(), "INSERT INTO memory_items_fts(rowid", 2):
        assert run("reindex", *flags).code == 130
    stats = ok("stats", "--json").json()
    assert (stats["fts_tokenizer"], stats["fts_reindex_count"]) == ("porter unicode61 remove_diacritics 2", 0)
    assert len(ok("search", "statement", "-k", "5000", "--json").json()) == 4499
    with change() as db:
        check_index(db)
    assert ok("reindex", *flags, "--json").json()["items_indexed"] == 4500


def test_an_older_programs_store_is_brought_up_to_date() -> None:
    script = (Path(__file__).parents[1] / "data" / "memctl_v1.sql").read_text(encoding="utf-8")
    conn = sqlite3.connect("old.db")
    conn.executescript(script)
    content = "[path:docs/keys.md chunk:2 lines:10-14]\nThe walrus keeps the keys."
    source = json.dumps({"source_kind": "doc", "source_id": "/w/docs/keys.md", "chunk_ids": ["/w/docs/keys.md:2"]})
    conn.execute(
        "INSERT INTO memory_items(id, tier, type, title, content, tags, entities, provenance_json, scope, "
        "content_hash, created_at, updated_at) VALUES "
        "('MEM-old', 'stm', 'note', 'Keys', ?, '[]', '[]', ?, 'project', '', '2025-01-01', '2025-01-01')",
        (content, source),
    )  # fmt: skip
    conn.commit()
    conn.close()
    assert "MEM-old" in ok("list", "--db", "old.db").text  # which leaves the file as it is
    plan = ok("reindex", "--dry-run", "--json", "--db", "old.db").json()
    assert plan["steps"]
    assert ok("reindex", "--dry-run", "--json", "--db", "old.db").json() == plan
    done = ok("reindex", "--db", "old.db")
    assert f"Brought up to date: {'; '.join(plan['steps'])}" in done.notes
    assert "Passages that now know their place in their source: 1" in done.notes
    assert ok("search", "walrus", "--json", "--db", "old.db").json()[0]["id"] == "MEM-old"
    again = ok("reindex", "--json", "--db", "old.db").json()
    assert (again["steps"], again["places_completed"]) == ([], 0)
    assert "docs/keys.md:10-14" in ok("recall", "walrus", "--db", "old.db").text


@pytest.mark.parametrize("name", ["enn", "x'y"])
def test_a_wrong_name_changes_nothing(name: str) -> None:
    said = run("reindex", "--tokenizer", name)
    assert said.code == 1
    assert b"tokenizer" in said.err
    assert json.loads(ok("search", "rotating", "--json").out)


def test_it_needs_a_store() -> None:
    assert run("reindex", "--db", "missing.db").code == 1
