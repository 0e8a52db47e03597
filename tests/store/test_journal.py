"""What a run changed is kept while it is written, whatever writes it."""

import json
import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest

from memctl import MemoryItem, MemoryStore
from memctl.errors import MemctlError
from stores import STORE, open_write
from support import ok, run


def ask(sql: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(STORE)) as conn:
        return list(conn.execute(sql, values))


def runs() -> list[dict[str, Any]]:
    names = ("number", "command", "actor", "session", "reason", "summary")
    found = ask(f"SELECT {', '.join(names)} FROM memory_runs ORDER BY number")
    return [dict(zip(names, row, strict=True)) for row in found]


def parts(run: int) -> dict[str, int]:
    return dict(ask("SELECT part, count(*) FROM memory_undo WHERE run = ? GROUP BY part", run))


def test_a_command_is_one_run_of_the_person_who_gave_it() -> None:
    ok("remember", "We deploy on Fridays.", env={"LOGNAME": "ada"})
    assert [(run["command"], run["actor"]) for run in runs()] == [("remember", "person")]
    assert parts(1) == {"items": 1}


def test_a_command_that_changes_nothing_is_no_run() -> None:
    item_id = ok("remember", "We deploy on Fridays.").text.strip()
    ok("remember", "We deploy on Fridays.")
    ok("search", "deploy")
    ok("show", item_id)
    assert len(runs()) == 1


def test_each_call_of_the_python_interface_is_a_run() -> None:
    with MemoryStore(STORE) as store:
        item = store.write_item(MemoryItem(title="a", content="b"))
        store.update_item(item.id, {"title": "c"})
    assert [run["command"] for run in runs()] == ["MemoryStore.write_item", "MemoryStore.update_item"]


def test_what_a_row_was_is_kept_once_with_every_digit() -> None:
    with MemoryStore(STORE) as store:
        item = store.write_item(MemoryItem(title="a", content="b \x01 é", confidence=0.1 + 0.2))
    db = open_write(STORE)
    with db.atomic():
        db.run("UPDATE memory_items SET confidence = 0.25")
        db.run("UPDATE memory_items SET entities = x'00ff'")
    with db.atomic():
        db.run("UPDATE memory_items SET confidence = 1")
    ((run, key, before),) = db.rows("SELECT run, key, before FROM memory_undo WHERE run = 2")
    values = json.loads(before)
    assert (run, key, values[4], values[9]) == (2, item.id, "b \x01 é", {"real": repr(0.1 + 0.2)})
    db.close()


LONG = "This is said at some length, so that nobody keeps it twice. " * 20


def test_of_an_item_that_keeps_its_text_no_text_is_kept() -> None:
    item_id = ok("remember", LONG).text.strip()
    ok("forget", item_id)
    ((before,),) = ask("SELECT before FROM memory_undo WHERE run = 2")
    assert len(before) < 300 and LONG[:20] not in before
    ok("undo")
    assert LONG.strip() in ok("show", item_id).text


@pytest.mark.parametrize("text", [LONG, "{}", "[]", "null"])
@pytest.mark.parametrize(
    "then",
    [
        ("UPDATE memory_items SET content = 'x'",),
        ("UPDATE memory_items SET content = 'x'", "UPDATE memory_items SET content = 'y', tags = '[\"z\"]'"),
        ("UPDATE memory_items SET title = x'00ff'", "UPDATE memory_items SET title = 'b', content = 'z'"),
        ("DELETE FROM memory_items",),
    ],
)
def test_a_run_that_touches_an_item_twice_is_undone_to_what_came_before_it(text: str, then: tuple[str, ...]) -> None:
    with MemoryStore(STORE) as store:
        item = store.write_item(MemoryItem(title="{}", content=text, tags=["{}"]))
    was = ask("SELECT * FROM memory_items")
    db = open_write(STORE)
    with db.atomic():
        for sql in ("UPDATE memory_items SET archived = 1, tier = 'ltm'", *then):
            db.run(sql)
    db.close()
    changed = ask("SELECT * FROM memory_items")
    undone = ok("undo", "--json").json()
    assert ask("SELECT * FROM memory_items") == was
    ok("undo", undone["run"])
    assert ask("SELECT * FROM memory_items") == changed
    assert item.id


def test_the_text_of_an_item_that_has_gone_since_is_not_made_up() -> None:
    item_id = ok("remember", LONG).text.strip()
    ok("forget", item_id)
    with closing(sqlite3.connect(STORE)) as conn:
        conn.execute("DELETE FROM memory_items")
        conn.commit()
    done = run("undo")
    assert (done.code, "left alone" in done.text, ask("SELECT count(*) FROM memory_items")) == (1, True, [(0,)])


def test_a_transaction_that_is_rolled_back_leaves_no_run_and_the_next_one_is_noted() -> None:
    ok("remember", "We deploy on Fridays.")
    db = open_write(STORE)
    with pytest.raises(MemctlError), db.atomic():
        db.run("UPDATE memory_items SET title = 'x', tier = 'none'")
    with db.atomic():
        db.run("UPDATE memory_items SET title = 'y'")
    db.close()
    assert parts(2) == {"items": 1}
    assert len(runs()) == 2


def test_two_writers_at_once_have_runs_of_their_own() -> None:
    ok("remember", "We deploy on Fridays.")
    first, second = open_write(STORE), open_write(STORE)
    for number, db in enumerate((first, second, first, second)):
        with db.atomic():
            db.run("INSERT INTO memory_links VALUES (?, 'b', 'supports', '')", (f"a{number}",))
    first.close()
    second.close()
    assert (parts(2), parts(3)) == ({"links": 2}, {"links": 2})
    assert len(runs()) == 3


def test_what_is_deleted_for_good_is_in_no_run_but_the_run_is_told() -> None:
    item_id = ok("remember", "A thing that nobody may know any more.").text.strip()
    with MemoryStore(STORE) as store:
        store.update_item(item_id, {"injectable": False, "content": "Another one.", "title": "t"})
    ok("quarantine", "purge", item_id, "--yes")
    assert ask("SELECT count(*) FROM memory_undo") == [(0,)]
    assert [(run["command"], run["summary"]) for run in runs()][-1] == ("quarantine", '{"purged": 1}')


def test_what_is_too_old_or_too_much_is_forgotten_but_still_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    ok("remember", "We deploy on Fridays.")
    item = ok("remember", "We never deploy on Mondays.").text.strip()
    ok("show", item)
    monkeypatch.setattr("memctl.ids.now_seconds", lambda: time.time() + 91 * 86_400)
    ok("remember", "We rest on Sundays.")
    assert (parts(1), parts(2), parts(3)) == ({}, {}, {"items": 1})
    assert ask("SELECT count(*) FROM memory_events WHERE action = 'read'") == [(0,)]
    refused = run("undo", ok("log", "--json").json()["runs"][-1]["run"])
    assert (refused.code, "too long ago" in refused.notes) == (1, True)
    assert ok("log", "--json").json()["runs"][-1]["changes"] == {"made": 1}
    monkeypatch.setattr("memctl.ids.now_seconds", lambda: time.time() + 93 * 86_400)
    with open(".memory/config.json", "w", encoding="utf-8") as file:
        file.write('{"history": {"keep_days": 1000, "share": 0.01}}')
    for number in range(5):
        ok("edit", item, "--content", f"{number} " + "much text. " * 165)
    monkeypatch.setattr("memctl.ids.now_seconds", lambda: time.time() + 95 * 86_400)
    ok("edit", item, "--content", "No more.")
    assert (parts(4), parts(5), parts(9)) == ({}, {}, {"items": 1})
