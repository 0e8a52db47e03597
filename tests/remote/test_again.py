"""A remote that is removed and added again: the same place, under a new name there."""

import zlib
from pathlib import Path

import pytest

from homes import SHARED, exchange, homes

FRIDAY, DATABASE = "We deploy on Fridays.", "The database is PostgreSQL 15."
MONDAY, TUESDAY = "We deploy on Mondays.", "We deploy on Tuesdays."


def test_what_is_not_changed_is_one_item_still_and_the_old_log_can_be_shortened() -> None:
    anna, bert = homes("anna", "bert")
    kept, gone = anna.say(FRIDAY), anna.say(DATABASE)
    exchange(anna, bert)
    removed = anna.run("remote", "remove", "team", "--json")
    old = removed.json()["replica"]
    assert f"memctl remote compact team --log {old}" in removed.notes
    anna.join("--trust", "high")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == [DATABASE, FRIDAY]
    assert {one["id"] for one in anna.items()} == {one["id"] for one in bert.items()} == {kept, gone}
    anna.ok("purge", gone, "--yes")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == [FRIDAY]
    anna.ok("remote", "compact", "team")
    room = Path(SHARED, "memctl", "project")
    assert DATABASE in "".join(zlib.decompress(one.read_bytes()).decode() for one in room.glob("*/*"))
    anna.ok("remote", "compact", "team", "--log", old)
    assert DATABASE not in "".join(zlib.decompress(one.read_bytes()).decode() for one in room.glob("*/*"))
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == [FRIDAY]
    assert bert.json("remote", "verify", "team")["status"] == "ok"


#: What is edited before the remote is removed, here while it is, there while it is; what all have then, and conflicts.
EDITS = {
    "before": (MONDAY, "", "", [MONDAY], 0),
    "meanwhile here": ("", MONDAY, "", [MONDAY], 0),
    "before and here": (MONDAY, TUESDAY, "", [TUESDAY], 0),
    "before and back": (MONDAY, FRIDAY, "", [FRIDAY], 0),
    "before and there": (MONDAY, "", TUESDAY, [TUESDAY], 0),
    "here and there": ("", MONDAY, TUESDAY, [MONDAY, TUESDAY], 1),
}


@pytest.mark.parametrize("trust", ["high", "medium"])
@pytest.mark.parametrize("case", EDITS)
def test_what_was_changed_is_one_item_still(case: str, trust: str) -> None:
    before, here, there, texts, conflicts = EDITS[case]
    anna, bert = homes("anna", "bert", trust=trust)
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    if before:
        anna.ok("edit", said, "--content", before)
        exchange(anna, bert)
    anna.ok("remote", "remove", "team")
    for home, text in (anna, here), (bert, there):
        if text:
            home.ok("edit", said, "--content", text)
    bert.sync()
    anna.join("--trust", trust)
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == texts
    assert said in {one["id"] for one in anna.items()} & {one["id"] for one in bert.items()}
    for home in (anna, bert):
        assert len(home.json("conflicts")["conflicts"]) == conflicts


def test_who_has_it_from_another_and_adds_it_again_has_one_item_too() -> None:
    anna, bert = homes("anna", "bert", trust="medium")
    said = anna.say(FRIDAY)
    anna.sync()
    anna.ok("edit", said, "--content", MONDAY)
    exchange(anna, bert)
    bert.ok("remote", "remove", "team")
    bert.join("--trust", "medium")
    exchange(bert, anna)
    assert anna.texts() == bert.texts() == [MONDAY]


def test_an_id_alone_makes_no_two_statements_one() -> None:
    """Others may say what they like of an id: a text that was never here is another statement."""
    anna, bert = homes("anna", "bert", trust="medium")
    said = anna.say(FRIDAY)
    anna.sync()
    bert.ok("remote", "remove", "team")
    bert.say(TUESDAY)
    bert.change("UPDATE memory_items SET id = ?", said)
    bert.join("--trust", "medium")
    exchange(bert, anna)
    assert anna.texts() == bert.texts() == [FRIDAY, TUESDAY]


def test_what_was_purged_there_takes_no_edit_with_it() -> None:
    anna, bert = homes("anna", "bert", trust="medium")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    anna.ok("purge", said, "--yes")
    anna.sync()
    bert.ok("remote", "remove", "team")
    bert.ok("edit", said, "--content", MONDAY)
    bert.join("--trust", "medium")
    exchange(bert, anna)
    assert bert.items()[0]["content"] == MONDAY
