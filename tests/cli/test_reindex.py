"""memctl reindex."""

import json

import pytest

from memctl.store import items
from memctl.store.connect import open_write
from stores import check_index
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
    db = open_write(".memory/memory.db")
    check_index(db)
    assert db.value("SELECT count(*) FROM memory_events WHERE action = 'reindex'") == 2
    db.close()


def test_a_dry_run_changes_nothing() -> None:
    plan = json.loads(ok("reindex", "--tokenizer", "raw", "--dry-run", "--json").out)
    assert plan["status"] == "dry_run"
    assert plan["tokenizer_change"] is True
    assert plan["items_to_reindex"] == 1
    assert json.loads(ok("stats", "--json").out)["fts_reindex_count"] == 0


def test_a_dry_run_counts_active_items_and_a_run_all() -> None:
    item = json.loads(ok("search", "rotating", "--json").out)[0]["id"]
    db = open_write(".memory/memory.db")
    items.archive(db, item)
    db.close()
    assert json.loads(ok("reindex", "--dry-run", "--json").out)["items_to_reindex"] == 0
    assert json.loads(ok("reindex", "--json").out)["items_indexed"] == 1


@pytest.mark.parametrize("name", ["enn", "x'y"])
def test_a_wrong_name_changes_nothing(name: str) -> None:
    said = run("reindex", "--tokenizer", name)
    assert said.code == 1
    assert b"tokenizer" in said.err
    assert json.loads(ok("search", "rotating", "--json").out)


def test_it_needs_a_store() -> None:
    assert run("reindex", "--db", "missing.db").code == 1
