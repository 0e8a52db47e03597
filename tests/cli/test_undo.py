"""memctl log and undo: what happened, by whom, and taking it back."""

import json
import subprocess
import sys

import pytest

from memctl import MemoryStore, ids
from stores import STORE, change
from support import golden, ok, run

ADA = {"LOGNAME": "ada"}
FRIDAY, MONDAY = "We deploy on Fridays.", "We never deploy on Mondays."


def remember(text: str) -> str:
    return ok("remember", text, env=ADA).text.strip()


def log(*flags: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = ok("log", "--json", *flags).json()["runs"]
    return found


def test_the_newest_run_is_undone_and_can_be_brought_back() -> None:
    first, second = remember(FRIDAY), remember(MONDAY)
    done = ok("undo", "--json").json()
    assert (done["status"], done["items"][0]["id"], done["items"][0]["now"]) == ("ok", second, "removed")
    assert run("show", second).code == 1
    assert ok("show", first).text
    assert "No items" in ok("search", "Mondays").notes + ok("list", "--tags", "none").notes
    ok("undo", done["run"])
    assert MONDAY in ok("show", second).text
    assert MONDAY in ok("search", "Mondays").text


def test_undo_goes_on_where_the_last_one_ended() -> None:
    remember(FRIDAY)
    remember(MONDAY)
    ok("undo")
    ok("undo")
    assert ok("list", "--json").json() == []
    assert "nothing to undo" in ok("undo").notes


def test_several_runs_are_undone_at_once() -> None:
    remember(FRIDAY)
    remember(MONDAY)
    assert len(ok("undo", "2", "--json").json()["undone"]) == 2
    assert ok("list", "--json").json() == []


def test_a_dry_run_says_the_same_and_changes_nothing() -> None:
    item = remember(FRIDAY)
    told = ok("undo", "--dry-run", "--json").json()
    assert (told["dry_run"], told["items"][0]["id"], "run" in told) == (True, item, False)
    assert ok("show", item).text
    assert len(log()) == 1


def test_what_was_changed_since_is_left_alone_and_named() -> None:
    first = remember(FRIDAY)
    ok("pull", stdin="We chose JWT.\n\nWe chose Postgres.\n")
    run_id = str(log()[-1]["run"])
    with MemoryStore(STORE) as store:
        store.update_item(first, {"title": "Another title"})
    refused = run("undo", run_id[4:10])
    assert (refused.code, "left alone" in refused.text) == (1, True)
    assert "Another title" in ok("show", first).text
    ok("undo")
    ok("undo", run_id)
    assert run("show", first).code == 1


def test_what_another_program_changed_since_is_left_alone() -> None:
    item = remember(FRIDAY)
    import sqlite3

    with sqlite3.connect(STORE) as conn:  # as RAGIX does
        conn.execute("UPDATE memory_items SET title = 'theirs', updated_at = '2999-01-01T00:00:00.000000+00:00'")
    assert run("undo").code == 1
    assert "theirs" in ok("show", item).text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("RUN-ffffffffffff", "run not found"), ("beef", "run not found"), ("0", "must be from 1"),
        ("", "run not found"),
        ("x' OR 1", "run not found"),
    ],
)  # fmt: skip
def test_what_is_no_run_is_said(given: str, said: str) -> None:
    remember(FRIDAY)
    done = run("undo", given)
    assert (done.code, said in done.notes) == (1, True)


def test_an_undone_run_is_not_undone_again() -> None:
    remember(FRIDAY)
    run_id = str(log()[0]["run"])
    ok("undo", run_id)
    again = ok("undo", run_id)
    assert (again.text, "has undone it already" in again.notes) == ("", True)


def test_what_was_deleted_for_good_stays_so() -> None:
    item = remember(FRIDAY)
    with MemoryStore(STORE) as store:
        store.update_item(item, {"injectable": False})
    ok("quarantine", "purge", item, "--yes")
    done = run("undo")
    assert (done.code, "deleted for good" in done.notes) == (1, True)
    assert log()[0]["changes"] == {"purged": 1}


def test_a_purge_is_passed_over_and_what_came_before_it_is_undone() -> None:
    first, second = remember(FRIDAY), remember(MONDAY)
    ok("purge", second, "--yes")
    done = ok("undo", "--json")
    assert [one["id"] for one in done.json()["items"]] == [first]
    assert "passed over" in done.notes and "(purge)" in done.notes
    assert "deleted for good" in run("undo").notes


def test_several_undos_at_once_take_back_one_run_each() -> None:
    items = [remember(f"The gateway number {n} retries.") for n in range(3)]
    command = [sys.executable, "-m", "memctl", "undo", "--json", "--db", STORE]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in items]
    undone = [json.loads(child.communicate()[0])["items"][0]["id"] for child in children]
    assert sorted(undone) == sorted(items)


@pytest.mark.parametrize("given", ["x\ny", "\u00b2", "\u0663\u0663", "RUN-", "0", "1000", "-5", ""])
def test_what_names_no_run_is_said_on_one_line(given: str) -> None:
    remember(FRIDAY)
    done = run("undo", "--", given)
    assert done.code == (0 if given == "\u0663\u0663" else 1), done.notes
    assert all(line.startswith(("memctl: ", "hint: ", "[undo]", "usage: ")) for line in done.notes.splitlines())


def test_the_log_as_lines_of_json_has_the_runs_of_the_log_as_json() -> None:
    remember(FRIDAY)
    ok("undo")
    lines = ok("log", "--jsonl").text.splitlines()
    assert [json.loads(line) for line in lines] == log()


def test_the_log_says_who_did_what() -> None:
    item = remember(FRIDAY)
    ok("undo")
    newest, first = log()
    assert (newest["command"], newest["undoes"], first["undone_by"]) == ("undo", [first["run"]], newest["run"])
    assert (first["actor"], first["name"], first["changes"], first["total"]) == ("person", "ada", {"made": 1}, 1)
    assert [one["id"] for one in first["items"]] == [item]  # type: ignore[attr-defined]
    assert log("--command", "undo", "-n", "5") == [newest]
    assert log("--since", "2999-01-01") == []
    assert "by person ada" in ok("log").text


def test_the_json_of_log_and_undo_is_as_it_was() -> None:
    remember(FRIDAY)
    remember(MONDAY)
    golden("undo-dry-run-json", ok("undo", "--dry-run", "--json").text)
    golden("undo-json", ok("undo", "--json", env=ADA).text)
    golden("undo", ok("undo", env=ADA).text)
    golden("log-json", ok("log", "--json").text)
    golden("log", ok("log").text)


def test_two_processes_that_change_different_fields_at_once_both_count() -> None:
    item = remember(FRIDAY)
    change = (
        "import sys; from memctl import MemoryStore\n"
        "store = MemoryStore(sys.argv[1])\n"
        "for n in range(40): store.update_item(sys.argv[2], {sys.argv[3]: sys.argv[3] + str(n)})"
    )
    fields = ("title", "rule_id", "corpus_id")
    writers = [subprocess.Popen([sys.executable, "-c", change, STORE, item, field]) for field in fields]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    with MemoryStore(STORE) as store:
        now = store.read_item(item)
    assert now is not None
    assert [getattr(now, field) for field in fields] == [f"{field}39" for field in fields]
    for _ in range(3 * 40):
        assert ok("undo", "-q").code == 0
    with MemoryStore(STORE) as store:
        now = store.read_item(item)
    assert now is not None
    assert [now.rule_id, now.corpus_id] == [None, None]


def test_looking_back_shows_what_was_there_before_it_was_undone() -> None:
    item = remember(FRIDAY)
    ok("edit", item, "--content", "We deploy on Sundays.")
    between = ids.timestamp()
    ok("undo")
    assert item in ok("search", "Sundays", "--as-of", between).text
    assert item not in ok("search", "Sundays").text
    assert item in ok("search", "Fridays").text


def test_a_command_that_corrects_names_its_run() -> None:
    item = remember(FRIDAY)
    done = ok("forget", item, "--why", "we moved", "--json").json()
    assert (log()[0]["run"], log()[0]["reason"]) == (done["run"], "we moved")
    assert "run" not in ok("forget", item, "--json").json()
    ok("undo", done["run"])
    assert item in ok("list").text


def test_what_is_said_beside_an_item_names_the_item() -> None:
    item = remember(FRIDAY)
    ok("retain", item, "keep")
    ok("retain", item, "fade", "0.1")
    assert [one["id"] for one in log()[0]["items"]] == [item]  # type: ignore[attr-defined]
    for _ in range(2):
        assert [one["id"] for one in ok("undo", "--json").json()["items"]] == [item]


@pytest.mark.parametrize("held", ["no row", "{}", "[]", "7", '[{"real": "x"}]'])
def test_a_damaged_journal_is_left_alone_and_named(held: str) -> None:
    item = ok("remember", "-q", "The kestrel nests at the tower.").text.strip()
    ok("edit", item, "--content", "The kestrel nests at the mill.")
    with change() as db:
        db.run("UPDATE memory_undo SET before = ? WHERE part = 'items' AND before IS NOT NULL", (held,))
    done = run("undo")
    assert done.code < 2 and "internal" not in done.notes and item in done.text
