"""A remote that is removed and added again: the same place, under a new name there."""

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from homes import SHARED, Home, exchange, homes
from memctl import ids
from memctl.remote import merge, segments

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
        assert all(one["title"] == one["content"] for one in home.items()), "a title goes with its text"
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


@pytest.mark.parametrize("first", ["known", "said again"])
def test_what_is_said_again_meanwhile_in_its_first_words_is_a_statement_beside_it(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the two has the smaller id: an edit there is none of what was said after it."""
    anna, bert = homes("anna", "bert")
    numbers = count(1) if first == "known" else count(99, -1)
    real = ids.new_id
    monkeypatch.setattr(ids, "new_id", lambda kind: f"MEM-{next(numbers):012d}" if kind == "MEM" else real(kind))
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    anna.ok("edit", said, "--content", MONDAY)
    exchange(anna, bert)
    anna.ok("remote", "remove", "team")
    assert (said < anna.say(FRIDAY)) == (first == "known")
    anna.join("--trust", "high")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == [FRIDAY, MONDAY]
    assert anna.item(MONDAY)["id"] == said


@contextmanager
def an_hour_ahead(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    real = ids.now_seconds
    with monkeypatch.context() as ahead:
        ahead.setattr(ids, "now_seconds", lambda: real() + 3600)
        yield


def test_an_edit_meanwhile_is_newer_than_what_it_has_seen_whatever_clocks_say(monkeypatch: pytest.MonkeyPatch) -> None:
    anna, bert = homes("anna", "bert")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    with an_hour_ahead(monkeypatch):
        bert.ok("edit", said, "--content", MONDAY)
        bert.sync()
    anna.sync()
    anna.ok("remote", "remove", "team")
    anna.ok("edit", said, "--content", TUESDAY)
    anna.join("--trust", "high")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == [TUESDAY]


def _word_fields(home: Home, item_id: str, number: int) -> None:
    """Edit all but the text of a statement that supports the database's; no number has the value of another."""
    title, kind, tier = ("Banks", "Zones", "Areas"), ("fact", "note", "todo"), ("ltm", "mtm", "stm")
    home.ok("edit", item_id, "--title", title[number], "--type", kind[number], "--tier", tier[number], "--importance",
            f"0.{9 - number}", "--confidence", f"0.{9 - number}", "--expires", f"203{number}-01-01", "--tags",
            ("red,blue", "red,green", "blue,green")[number])  # fmt: skip
    home.run("verify" if number == 0 else "retract", item_id)
    home.run("unlink" if number else "link", item_id, "supports", home.item(DATABASE)["id"])
    home.run("forget" if number else "restore", item_id)


def _fields(home: Home, item_id: str) -> dict[str, Any]:
    (one,) = (one for one in home.items() if one["id"] == item_id)
    names = ("title", "type", "tier", "confidence", "expires_at", "validation", "archived", "superseded_by")
    matters = home.rows("SELECT importance FROM memory_importance WHERE item_id = ?", item_id)
    links = home.rows("SELECT rel, dst_id FROM memory_links WHERE src_id = ?", item_id)
    return {name: one.get(name) for name in names} | {"importance": matters, "links": links, "tags": {*one["tags"]}}


#: Who edits while the remote is removed: here, or there.
_EDITORS = {"nobody": "", "here": "h", "there": "t", "here, then there": "ht", "there, then here": "th"}


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("case", _EDITORS)
def test_of_every_field_the_newest_change_counts(case: str, before: bool) -> None:
    anna, bert = homes("anna", "bert")
    said = anna.say(FRIDAY)
    anna.say(DATABASE)
    if before:
        exchange(anna, bert)
    _word_fields(anna, said, 0)
    exchange(anna, bert)
    anna.ok("remote", "remove", "team")
    for number, who in enumerate(_EDITORS[case], 1):
        _word_fields(anna if who == "h" else bert, said, number)
        bert.sync()
    here, there = _fields(anna, said), _fields(bert, said)
    anna.join("--trust", "high")
    exchange(anna, bert)
    wanted = here if _EDITORS[case].endswith("h") else there
    if len(_EDITORS[case]) == 2:  # one took away blue, the other red, and both said green
        wanted = wanted | {"tags": {"green"}}
    assert _fields(anna, said) == _fields(bert, said) == wanted
    assert len(anna.items()) == len(bert.items()) == 2


def test_a_change_of_a_field_is_newer_than_what_it_has_seen_whatever_clocks_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    anna, bert = homes("anna", "bert")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    with an_hour_ahead(monkeypatch):
        bert.ok("edit", said, "--tier", "ltm", "--type", "fact", "--importance", "0.9", "--tags", "red")
        bert.sync()
    anna.sync()
    anna.ok("remote", "remove", "team")
    anna.ok("edit", said, "--tier", "mtm", "--type", "decision", "--importance", "0.2", "--tags", "")
    anna.join("--trust", "high")
    exchange(anna, bert)
    for home in (anna, bert):
        found = _fields(home, said)
        assert (found["tier"], found["type"], found["importance"], found["tags"]) == (
            "mtm",
            "decision",
            [(0.2,)],
            set(),
        )


@pytest.mark.parametrize("again", [("anna",), ("bert",), ("anna", "bert")])
@pytest.mark.parametrize("taken", ["by another statement there", "by one that is not shared"])
def test_an_item_whose_id_was_taken_is_one_item_still_however_often(taken: str, again: tuple[str, ...]) -> None:
    Path(SHARED).mkdir()
    anna, bert = Home("anna"), Home("bert")
    said = anna.say(FRIDAY)
    bert.say(DATABASE, *(("--scope", "user") if "not shared" in taken else ()))
    bert.change("UPDATE memory_items SET id = ?", said)
    for home in (anna, bert):
        home.join("--trust", "high")
    exchange(anna, bert)
    assert bert.item(FRIDAY)["id"] != said
    anna.ok("edit", anna.item(FRIDAY)["id"], "--content", MONDAY)
    exchange(anna, bert)
    if "there" in taken:
        bert.ok("edit", bert.item(DATABASE)["id"], "--content", "The database is MySQL.")
        exchange(anna, bert)
    before = [[(one["id"], one["content"]) for one in home.items()] for home in (anna, bert)]
    for _ in range(2):
        for home in (anna, bert):
            if home.name in again:
                home.ok("remote", "remove", "team")
                home.join("--trust", "high")
                home.sync()
        exchange(anna, bert)
        assert [[(one["id"], one["content"]) for one in home.items()] for home in (anna, bert)] == before


def test_what_waits_here_for_a_word_is_one_item_still() -> None:
    anna, bert = homes("anna", "bert", trust="medium")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    bert.ok("forget", said)
    exchange(bert, anna)
    for _ in range(2):
        assert [one["id"] for one in anna.json("quarantine", "list")["items"]] == [said]
        anna.ok("remote", "remove", "team")
        anna.join("--trust", "medium")
        exchange(anna, bert)
        assert [one["id"] for one in anna.items()] == [said]
    anna.ok("quarantine", "release", said, "--reason", "It is right.")
    exchange(anna, bert)
    assert [[(one["id"], one["archived"]) for one in home.items()] for home in (anna, bert)] == [[(said, False)]] * 2


# --- what was purged here ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", ["high", "medium"])
@pytest.mark.parametrize("there", ["", TUESDAY])
def test_a_purged_statement_does_not_come_back_in_what_says_its_first_words_again(there: str, trust: str) -> None:
    anna, bert = homes("anna", "bert", trust=trust)
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    anna.ok("edit", said, "--content", MONDAY)
    exchange(anna, bert)
    anna.ok("remote", "remove", "team")
    anna.ok("purge", said, "--yes")
    if there:
        bert.ok("edit", said, "--content", there)
        bert.sync()
    again = anna.say(FRIDAY)
    anna.join("--trust", trust)
    exchange(anna, bert)
    assert anna.texts() == [FRIDAY]
    assert anna.item(FRIDAY)["id"] == again
    assert bert.texts() == [FRIDAY, there or MONDAY]
    anna.ok("edit", again, "--tags", "release")
    exchange(anna, bert)
    assert (anna.texts(), bert.texts()) == ([FRIDAY], [FRIDAY, there or MONDAY])


def test_what_is_said_again_in_the_words_that_others_still_have_is_one_item_with_theirs() -> None:
    anna, bert = homes("anna", "bert")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    anna.ok("remote", "remove", "team")
    anna.ok("purge", said, "--yes")
    anna.say(FRIDAY, "--again")
    anna.join("--trust", "high")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == [FRIDAY]


@pytest.mark.parametrize("how", ["an edit", "a text in conflict"])
def test_a_purged_text_is_not_taken_in_as(how: str) -> None:
    anna, bert, carl = homes("anna", "bert", "carl")
    said = anna.say(FRIDAY)
    exchange(anna, bert, carl)
    anna.ok("purge", anna.say(MONDAY), "--yes")
    bert.ok("edit", said, "--content", MONDAY)
    if how == "a text in conflict":
        carl.ok("edit", said, "--content", TUESDAY)
        bert.sync()
    exchange(carl, bert, anna)
    assert anna.texts() == ([FRIDAY] if how == "an edit" else [TUESDAY])
    assert MONDAY in bert.texts()
    anna.ok("edit", said, "--tags", "release")
    exchange(anna, bert, carl)
    assert MONDAY in bert.texts() and MONDAY in carl.texts(), "what is not taken in here stays with the others"
    assert bert.item(TUESDAY if how != "an edit" else MONDAY)["tags"] == ["release"]


# --- somebody who knows an id ----------------------------------------------------------------------------------------

STRANGER = "ee" * 6


def _forge(*records: tuple[str, merge.State]) -> None:
    """A log of a stranger's with these records."""
    room = Path(SHARED, "memctl", "project", STRANGER)
    room.mkdir(parents=True)
    for name, body in segments.pack("project", STRANGER, "mallory", 0, "", records):
        (room / str(name)).write_bytes(body)


def _claim(*item_ids: str, content: str = "") -> merge.State:
    """That a stranger said something, with these ids."""
    stamps = [merge.make_stamp(1_700_000_000_000_000 + n, STRANGER) for n in range(len(item_ids))]
    state: merge.State = {"born": {at: [one] for at, one in zip(stamps, item_ids, strict=True)}}
    return state | {"text": {stamps[0]: [content, {}]}} if content else state


def _keys_of(home: Home, item_id: str) -> set[str]:
    return {one.key for one in home.known() if one.item_id == item_id}


def test_whoever_knows_an_id_finds_out_no_past_text_by_guessing() -> None:
    (anna,) = homes("anna", trust="medium")
    said = anna.say("Carol earns 91000 a year.", "--scope", "user")
    anna.ok("edit", said, "--content", "Ask the office what somebody earns.")
    anna.ok("scope", "mv", "user", "project")
    guessed = {merge.key_of("project", f"Carol earns {n}000 a year.", 0) for n in range(80, 100)}
    _forge(*((key, _claim(said)) for key in guessed))
    anna.sync()
    assert _keys_of(anna, said) == {merge.key_of("project", "Ask the office what somebody earns.", 0)}


def test_whoever_knows_an_id_and_its_text_puts_it_under_no_other_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    anna, bert = homes("anna", "bert", trust="medium")
    numbers, real = count(1), ids.new_id
    monkeypatch.setattr(ids, "new_id", lambda kind: f"MEM-{next(numbers):012d}" if kind == "MEM" else real(kind))
    said, other = anna.say(FRIDAY), bert.say(DATABASE)
    exchange(anna, bert)
    anna.ok("edit", said, "--content", MONDAY)
    exchange(anna, bert)
    anna.ok("remote", "remove", "team")
    keys = {text: merge.key_of("project", text, 0) for text in (DATABASE, FRIDAY)}
    assert keys[DATABASE] < keys[FRIDAY]
    _forge((keys[DATABASE], _claim(said, content=MONDAY)))
    anna.join("--trust", "medium")
    exchange(anna, bert)
    assert _keys_of(anna, said) == {keys[FRIDAY]}
    assert _keys_of(anna, other) == {keys[DATABASE]}


def test_statements_with_all_our_ids_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (anna,) = homes("anna", trust="medium")
    lines = [json.dumps({"content": f"Fact {n} is about topic {n}.", "scope": "project"}) for n in range(40)]
    Path("facts.jsonl").write_text("\n".join(lines))
    anna.ok("import", "facts.jsonl")
    everything = [one["id"] for one in anna.items()]
    _forge(*((merge.key_of("project", f"Claim {n}", 0), _claim(*everything)) for n in range(5)))
    looks: list[str] = []
    admitted = merge.admitted

    def noted(state: merge.State, *more: Any) -> merge.State:
        looks.append("")
        return admitted(state, *more)

    monkeypatch.setattr(merge, "admitted", noted)
    anna.sync()
    assert len(looks) <= 10
