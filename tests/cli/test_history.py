"""memctl history, blame and diff, and memory_diff: what an item was, who made it so, and what differs."""

import sqlite3

import pytest

from memctl import MemoryStore
from stores import STORE
from support import golden, ok, run

ADA = {"LOGNAME": "ada"}
BEFORE, AFTER = "We deploy on Fridays.\n\nWe rest on Mondays.", "We deploy on Fridays.\n\nWe rest on Sundays."


@pytest.fixture
def item() -> str:
    """An item with three states: made by a person, changed by a program, changed by a person."""
    made = ok("remember", BEFORE, "--title", "Days", env=ADA).text.strip()
    with MemoryStore(STORE) as store:
        store.update_item(made, {"tags": ["days"]})
    ok("edit", made, "--content", AFTER, env=ADA)
    return made


def test_the_states_of_an_item_with_who_and_what(item: str) -> None:
    states = ok("history", item[4:10], "--json").json()["states"]
    assert [(state["revision"], state["command"], state["actor"]) for state in states] == [
        (1, "remember", "person"), (2, "MemoryStore.update_item", "program"), (3, "edit", "person"),
    ]  # fmt: skip
    assert states[1]["changes"] == [{"field": "tags", "old": [], "new": ["days"]}]
    assert [change["field"] for change in states[2]["changes"]] == ["content"]


def test_an_undo_is_a_state_and_names_what_it_undid(item: str) -> None:
    done = ok("undo", "--json").json()
    newest = ok("history", item, "--json").json()["states"][-1]
    assert (newest["run"], newest["reason"]) == (done["run"], f"undo {done['undone'][0]}")


def test_what_was_undone_and_brought_back_is_of_the_run_that_made_it(item: str) -> None:
    before = ok("history", item, "--json").json()["states"]
    back = ok("undo", "3", "--json").json()["run"]
    assert run("history", item).code == 1
    ok("undo", back)
    assert ok("history", item, "--json").json()["states"][:3] == before


def test_each_part_is_of_the_state_that_brought_it(item: str) -> None:
    parts = ok("blame", item, "--json").json()["parts"]
    by = {(part["field"], str(part["value"])): (part["revision"], part["name"]) for part in parts}
    assert by["content", "We deploy on Fridays."] == (1, "ada")
    assert by["content", "We rest on Sundays."] == (3, "ada")
    assert by["tags", "['days']"] == (2, "")


def test_what_another_program_wrote_is_of_nobody_we_know(item: str) -> None:
    with sqlite3.connect(STORE) as conn:
        conn.execute("UPDATE memory_items SET content = 'theirs', updated_at = '2999-01-01T00:00:00.000000+00:00'")
        conn.execute(
            "INSERT INTO memory_revisions SELECT 'REV-x', item_id, 4, json_set(snapshot, '$.content', 'theirs'), "
            "'2999-01-01T00:00:00.000000+00:00', 'write' FROM memory_revisions WHERE revision_num = 3"
        )
    assert ok("history", item, "--json").json()["states"][-1]["run"] is None
    assert "another program" in ok("blame", item).text


def test_diff_goes_from_then_to_now(item: str) -> None:
    data = ok("diff", item, "--json").json()
    assert (data["label_a"], data["label_b"], data["identical"]) == (f"{item} (current)", f"{item}@rev2", False)
    assert ("-We rest on Mondays.\n" in data["content_diff"], "+We rest on Sundays.\n" in data["content_diff"]) == (
        True, True,
    )  # fmt: skip
    since = ok("diff", item, "--revision", "1", "--json").json()
    assert since["metadata_changes"] == [{"field": "tags", "old": [], "new": ["days"]}]
    assert ok("diff", item, "--latest").text == ok("diff", item).text


def test_two_items_are_compared_from_the_first_to_the_second(item: str) -> None:
    other = ok("remember", AFTER + "\n\nMore.", "--title", "Other").text.strip()
    data = ok("diff", item, other, "--json").json()
    assert {"field": "title", "old": "Days", "new": "Other"} in data["metadata_changes"]
    assert (data["label_a"], data["label_b"]) == (item, other)
    assert 0.5 < data["similarity_score"] < 1
    assert ok("diff", item, item).text == f"Items are identical ({item} vs {item})\n"
    assert ok("diff", item, item, "--json").json()["similarity_score"] == 1.0


@pytest.mark.parametrize(
    ("flags", "said"),
    [(["--revision", "9"], "not 9. Available: [1, 2, 3]"), (["MEM-ffffffffffff"], "item not found"),
     (["x", "--latest"], "leave ID2 out")],
)  # fmt: skip
def test_what_cannot_be_compared_is_said(item: str, flags: list[str], said: str) -> None:
    done = run("diff", item, *flags)
    assert (done.code, said in done.notes) == (1, True)


def test_an_item_without_revisions_is_not_compared(item: str) -> None:
    with sqlite3.connect(STORE) as conn:
        conn.execute("DELETE FROM memory_revisions")
    assert "there are none" in run("diff", item).notes
    assert ok("history", item, "--json").json()["states"] == []


def test_words_that_policy_holds_back_are_shown_to_people_alone(item: str) -> None:
    with MemoryStore(STORE) as store:
        store.update_item(item, {"injectable": False})
    for command in ("history", "blame", "diff"):
        done = ok(command, item)
        assert "Fridays" not in done.text
        assert "holds this item back" in done.notes
        assert "Fridays" in ok("diff", item, "--revision", "1", tty=frozenset({"stdout"})).text
    assert "Fridays" in ok("history", item, "--quarantined").text


def test_the_json_is_as_it_was(item: str) -> None:
    for command in ("history", "blame", "diff"):
        golden(f"{command}-json", ok(command, item, "--json").text)
        golden(command, ok(command, item).text)
