"""The full-text index: that it knows when it does not fit the items, and what happens then."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from memctl.context import open_context
from memctl.store import connect, database, schema
from memctl.store.connect import open_read, open_write
from memctl.store.search import rebuild
from stores import check_index, restored
from support import ok, operation

search = operation("search")

STORE = ".memory/memory.db"
#: As RAGIX and older memctl keep their triggers: whatever happens to a row, its entry is taken out and put in again.
THEIR_TRIGGERS = """
DROP TRIGGER memory_items_fts_ai;
CREATE TRIGGER memory_items_fts_ai AFTER INSERT ON memory_items BEGIN
    INSERT INTO memory_items_fts(rowid, title, content, tags, entities)
    VALUES (new.rowid, new.title, new.content, new.tags, new.entities);
END;
"""
THEIR_REPLACE = (
    "INSERT OR REPLACE INTO memory_items(id, tier, type, title, content, created_at, updated_at, content_hash) "
    "SELECT id, tier, type, title, ? || rowid, created_at, updated_at, '' FROM memory_items WHERE id = ?"
)


@pytest.fixture(autouse=True)
def store() -> None:
    for words in ("alpha statement", "beta statement", "gamma statement"):
        ok("remember", words)


def edit(script: str, path: str = STORE) -> None:
    """What another program does to the file."""
    conn = sqlite3.connect(path)
    conn.executescript(script)
    conn.close()


def found(words: str, *more: str) -> list[str]:
    return [hit["content_preview"] for hit in ok("search", words, "--json", *more).json()]


def state(path: str = STORE) -> str:
    db = open_read(path)
    try:
        return database.index_state(db)
    finally:
        db.close()


def purge_and_restore() -> None:
    edit("DELETE FROM memory_items WHERE content = 'alpha statement'")
    restored(STORE, "copy.db")
    shutil.copyfile("copy.db", STORE)  # another file in its place would be somebody else's store


def test_rows_that_were_renumbered_are_noticed_and_the_index_is_made_anew() -> None:
    purge_and_restore()
    assert state() == "unsound"
    status = ok("status")
    assert "does not fit the items" in status.text
    assert ok("status", "--json").json()["fts_state"] == ok("stats", "--json").json()["fts_state"] == "unsound"
    said = ok("search", "beta", "--json")
    assert [hit["content_preview"] for hit in said.json()] == ["beta statement"]
    assert "did not fit the items any more and was made anew: 2 items" in said.notes
    assert (found("alpha"), found("gamma")) == ([], ["gamma statement"])
    assert ok("search", "beta").notes == "Found 1 item(s)\n"
    assert (state(), ok("status", "--json").json()["fts_state"]) == ("sound", "sound")
    assert "beta statement" in ok("recall", "what is beta?").text


@pytest.mark.parametrize("more", [3, 1, 2])
def test_later_writes_of_others_do_not_hide_it(more: int) -> None:
    purge_and_restore()
    for n in range(more):
        edit(
            "INSERT INTO memory_items(id, tier, type, content, created_at, updated_at) "
            f"VALUES ('MEM-{n}', 'stm', 'note', 'delta statement', '', '')"
        )
    assert state() == "unsound"
    assert found("beta") == ["beta statement"]
    assert len(found("delta")) == more


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="needs the sqlite3 program")
def test_the_usual_backup_and_restore() -> None:
    edit("DELETE FROM memory_items WHERE content = 'alpha statement'")
    dump = subprocess.run(["sqlite3", STORE, ".dump"], capture_output=True, check=True).stdout
    subprocess.run(["sqlite3", "restored.db"], input=dump, check=True)
    assert found("beta", "--db", "restored.db") == ["beta statement"]
    subprocess.run(["sqlite3", STORE, "VACUUM INTO 'vacuumed.db'"], check=True)
    assert found("beta", "--db", "vacuumed.db") == ["beta statement"]


def test_two_hundred_replacements_by_an_older_program_leave_a_clean_index() -> None:
    ids = [item["id"] for item in ok("list", "--json").json()]
    conn = sqlite3.connect(STORE)  # no recursive_triggers
    for n in range(200):
        conn.execute(THEIR_REPLACE, (f"update{n} ", ids[n % 3]))
        conn.commit()
    conn.close()
    db = open_read(STORE)
    assert database.index_state(db) == "sound"
    db.close()
    assert (len(found("update199")), found("update5")) == (1, [])
    db = open_write(STORE)
    check_index(db)
    db.close()


def test_triggers_that_index_the_same_more_slowly_stay_and_are_believed() -> None:
    slower = schema.what_is_indexed(schema.FTS_TRIGGERS)
    assert slower != schema.FTS_TRIGGERS
    edit("".join(f"DROP TRIGGER {name};" for name in schema.FTS_TRIGGER_NAMES) + slower)
    assert state() == "sound"
    ok("remember", "delta statement of 東京")
    assert found("東京") == ["delta statement of 東京"]
    with closing(open_write(STORE)) as db:
        check_index(db)
        held = db.value("SELECT sql FROM sqlite_master WHERE name = 'memory_items_fts_ai'")
    assert f"{held};" in slower, "nothing was made anew"


def test_triggers_of_an_older_program_are_noticed_and_replaced() -> None:
    edit(THEIR_TRIGGERS)
    assert state() == "unsound"
    ok("remember", "delta statement")
    assert state() == "sound"
    db = open_write(STORE)
    check_index(db)
    db.close()


def test_a_table_of_another_program_is_no_reason_to_index_anew() -> None:
    edit("CREATE TABLE theirs(id); ANALYZE")
    assert state() == "sound"
    said = ok("remember", "delta statement").notes
    assert "anew" not in said
    assert state() == "sound"


def test_vacuum_is_followed_by_a_look() -> None:
    db = open_write(STORE)
    db.run("DELETE FROM memory_items WHERE content = 'alpha statement'")
    db.run("VACUUM")
    assert rebuild.repair_index(db, None)
    check_index(db)
    db.close()


@pytest.mark.parametrize("command", ["search", "recall"])
def test_a_reader_that_gets_no_lock_reads_the_text(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "LOCK_SECONDS", 0.05)
    purge_and_restore()
    writer = open_write_locked()
    said = ok(command, "beta")
    writer.rollback()
    writer.close()
    assert "beta statement" in said.text
    assert "gamma statement" not in said.text
    assert said.notes.count("cannot be made anew now: another program is writing to the store") == 1


def open_write_locked() -> sqlite3.Connection:
    conn = sqlite3.connect(STORE, isolation_level=None)
    conn.execute("BEGIN IMMEDIATE")
    return conn


@pytest.mark.parametrize("attribute", ["writable", "trusted"])
def test_a_store_that_may_not_be_written_to_is_searched_by_its_text(attribute: str) -> None:
    purge_and_restore()
    before = Path(STORE).read_bytes()
    said: list[str] = []
    with open_context(db=STORE, say=said.append) as ctx:
        ctx.allow("read")
        setattr(ctx.db, attribute, False)
        assert [c.content for c in search(ctx, "beta").found.candidates] == ["beta statement"]
        assert [c.content for c in search(ctx, "gamma").found.candidates] == ["gamma statement"]
    # Of a store of somebody else it is said when it is opened.
    told = [line for line in said if not line.startswith("Found ")]
    assert ["cannot be written to here" in line for line in told] == [True] * (attribute == "writable")
    assert Path(STORE).read_bytes() == before


def test_only_a_search_makes_a_reader_write() -> None:
    purge_and_restore()
    before = Path(STORE).read_bytes()
    for argv in (["list"], ["stats"], ["status"], ["export"]):
        ok(*argv)
        assert Path(STORE).read_bytes() == before


def test_an_older_store_is_made_sound_by_the_first_search(old: str) -> None:
    conn = sqlite3.connect(old)
    conn.execute(THEIR_REPLACE, ("walrus ", "MEM-000000000001"))
    conn.commit()
    conn.close()
    assert state(old) == "unknown"
    assert len(found("walrus", "--db", old)) == 1
    assert state(old) == "sound"
    db = open_write(old)
    check_index(db)
    db.close()


def test_a_damaged_state_table_is_made_anew() -> None:
    for script in ("DELETE FROM memory_fts_state", "DROP TABLE memory_fts_state"):
        edit(script)
        assert state() in {"unsound", "unknown"}
        assert found("beta") == ["beta statement"]
        assert state() == "sound"
        ok("remember", f"after {script.split(' ', 1)[0]}")


def test_looking_back_looks_at_the_index_too() -> None:
    purge_and_restore()
    assert found("beta", "--as-of", "2999-01-01") == ["beta statement"]


def test_many_items_at_once_leave_the_index_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read looks into every piece."""

    def pieces() -> int:
        with sqlite3.connect(STORE) as db:
            (count,) = db.execute("SELECT count(DISTINCT segid) FROM memory_items_fts_idx").fetchone()
        return int(count)

    monkeypatch.setattr(rebuild, "FILL", 4)
    for name in ("One", "Two", "Three"):
        ok("remember", f"{name} is a number.")
    assert pieces() > 2
    lines = "\n".join(json.dumps({"content": f"The port of service {number} is 80{number}."}) for number in range(6))
    ok("import", stdin=lines.encode())
    assert pieces() == 1
    with closing(open_write(STORE)) as db:
        check_index(db)
    ok("remember", "What is little leaves it alone.")
    assert pieces() == 2
