"""A remote that is removed and added again: the same place, under a new name there."""

import zlib
from pathlib import Path

from homes import SHARED, exchange, homes

FRIDAY, DATABASE = "We deploy on Fridays.", "The database is PostgreSQL 15."


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


def test_what_was_changed_is_two_items_of_which_review_knows() -> None:
    anna, bert = homes("anna", "bert")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    anna.ok("edit", said, "--content", "We deploy on Mondays.")
    exchange(anna, bert)
    anna.ok("remote", "remove", "team")
    anna.join("--trust", "high")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == ["We deploy on Mondays."] * 2
    assert anna.json("review")["counts"]["duplicate"] == 1
