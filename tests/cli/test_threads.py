"""Threads: sessions that are started and linked, what is said in them, and what rekal's tools of that kind do."""

import json
import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memctl.context import Context
from stores import STORE, change
from support import golden, ok, operation, run

session_start = operation("session-start")
session_list = operation("session-list")
session_store = operation("session-store")
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture(autouse=True)
def made() -> None:
    ok("init")


def start(name: str, *argv: str) -> str:
    return ok("session", "start", name, *argv, "-q").text.strip()


def tree(name: str) -> dict[str, Any]:
    found: dict[str, Any] = ok("session", "tree", name, "--json").json()
    return found


def rows(table: str) -> int:
    with closing(sqlite3.connect(STORE)) as db:
        return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.fixture
def thread() -> None:
    start("p:1", "--title", "Plan of the gateway")
    start("p:2", "--title", "Review", "--follows-up-on", "p:1")
    start("p:3", "--branches-from", "p:2")
    start("p:4", "--follows-up-on", "p:3")
    ok("session", "link", "p:4", "merges", "p:2")
    ok("session", "link", "p:4", "contradicts", "p:1")


@pytest.mark.usefixtures("thread")
def test_a_thread_is_told_from_each_of_its_sessions() -> None:
    start("q:1")
    for name in ("p:1", "p:2", "p:3", "p:4"):
        found = tree(name)
        assert [one["session_id"] for one in found["sessions"]] == ["p:1", "p:2", "p:3", "p:4"]
        assert {(one["src_id"], one["relation"], one["dst_id"]) for one in found["links"]} == {
            ("p:2", "follows_up_on", "p:1"), ("p:3", "branches_from", "p:2"), ("p:4", "follows_up_on", "p:3"),
            ("p:4", "merges", "p:2"), ("p:4", "contradicts", "p:1"),
        }  # fmt: skip
    assert [one["session_id"] for one in tree("q:1")["sessions"]] == ["q:1"]
    golden("session-tree", ok("session", "tree", "p:2").text)
    golden("session-tree-json", ok("session", "tree", "p:2", "--json").text)


@pytest.mark.usefixtures("thread")
@pytest.mark.parametrize("relation", ["follows_up_on", "branches_from", "merges"])
def test_links_never_run_in_a_circle(relation: str) -> None:
    for src, dst in (("p:1", "p:4"), ("p:1", "p:2"), ("p:2", "p:2")):
        refused = run("session", "link", src, relation, dst)
        assert (refused.code, "would make a circle" in refused.notes) == (1, True)
    assert len(tree("p:1")["links"]) == 5
    ok("session", "link", "p:1", "contradicts", "p:4")  # which of two contradicts the other has no direction in time


def test_no_order_of_links_makes_a_circle() -> None:
    """Whatever is linked in whatever order: the older never comes after the newer."""
    chance, names = random.Random(7), [f"p:{n}" for n in range(7)]
    for name in names:
        start(name)
    later: set[tuple[str, str]] = set()
    for _ in range(40):
        src, dst = chance.choice(names), chance.choice(names)
        reach, new = {dst}, {dst}
        while new:
            new = {b for a, b in later if a in new} - reach
            reach |= new
        done = run("session", "link", src, chance.choice(["follows_up_on", "branches_from", "merges"]), dst)
        assert (done.code == 0) == (src not in reach)
        if done.code == 0:
            later.add((src, dst))


def test_starting_again_says_more_and_takes_nothing_away() -> None:
    first = ok("session", "start", "--title", "Plan", "--scope", "team", "--json").json()
    name = first["session_id"]
    assert (first["created"], first["scope"], name.startswith("team:")) == (True, "team", True)
    again = ok("session", "start", name, "--json").json()
    assert (again["created"], again["scope"], again["title"]) == (False, "team", "Plan")
    assert ok("session", "start", name, "--title", "Plans", "--json").json()["title"] == "Plans"
    assert ok("session", "list", "--scope", "team", "--json").json()["total"] == 1
    assert ok("session", "list", "--scope", "deck", "--json").json()["sessions"] == []


def test_items_know_their_session_and_reads_can_be_bound_to_one(ctx: Context) -> None:
    start("p:1")
    one = ok("remember", "The gateway retries twice.", "--session", "p:1").text.strip()
    ok("pull", "--session", "p:2", stdin="The gateway listens on 8080.")
    ok("remember", "The gateway is written in Rust.")
    assert ok("remember", "The gateway retries twice.", "--session", "p:2").text.strip() == one
    assert [row["id"] for row in ok("search", "gateway", "--session", "p:1", "--json").json()] == [one]
    assert "Rust" not in ok("recall", "gateway", "--session", "p:2").text
    assert ok("recall", "", "--session", "p:1").text.count("\n ") == 1
    for command in (["list"], ["timeline"], ["context", "gateway"]):
        text = ok(*command, "--session", "p:1").text
        assert ("retries" in text, "8080" in text, "Rust" in text) == (True, False, False), command
    answer = [{"title": "DB", "content": "We chose SQLite for the gateway.", "why_store": "it matters"}]
    words = f"<MEMORY_PROPOSALS_JSON>{json.dumps(answer)}</MEMORY_PROPOSALS_JSON>"
    session_store(ctx, words, "p:1")
    shown = ok("session", "show", "p:1", "--json").json()
    assert [one["title"] for one in shown["items"]] == ["DB", "The gateway retries twice."]
    assert shown["memory_count"] == 2
    refused = run("recall", "gateway", "--session", "nope")
    assert (refused.code, "session not found: nope" in refused.notes) == (1, True)


def test_what_is_refused_begins_no_session() -> None:
    assert run("remember", f"The token is {TOKEN}.", "--session", "p:9").code == 1
    assert run("remember", "The cache is warm.", "--session", f"p:{TOKEN}").code == 1
    assert run("session", "start", "p:9", "--title", TOKEN).code == 1
    assert run("session", "start", "p:9", "--follows-up-on", "p:0").code == 1
    assert (rows("memory_sessions"), rows("memory_items"), rows("memory_session_items")) == (0, 0, 0)


@pytest.mark.usefixtures("thread")
def test_undo_takes_a_start_a_link_and_what_was_said_back() -> None:
    before = tree("p:1")
    ok("session", "start", "p:5", "--follows-up-on", "p:4")
    ok("undo")
    assert tree("p:1") == before
    ok("session", "unlink", "p:4", "merges", "p:2")
    assert len(tree("p:1")["links"]) == 4
    ok("undo")
    assert tree("p:1") == before
    ok("remember", "The cache is warm.", "--session", "p:1")
    ok("undo")
    assert (ok("session", "show", "p:1", "--json").json()["items"], rows("memory_session_items")) == ([], 0)


@pytest.mark.usefixtures("thread")
def test_what_goes_for_good_leaves_nothing_beside() -> None:
    item = ok("remember", "The cache is warm.", "--session", "p:1").text.strip()
    other = ok("remember", "The disk is full.", "--session", "p:2").text.strip()
    ok("purge", item, "--yes")
    assert rows("memory_session_items") == 1
    ok("session", "delete", "p:2", "--yes")
    assert (rows("memory_session_items"), len(tree("p:4")["links"])) == (0, 2)
    assert ok("show", other, "--json").json()["content"] == "The disk is full."
    assert ok("doctor", "--json").json()["status"] != "fail"
    ok("reset", "--confirm", "--yes")
    assert (rows("memory_sessions"), rows("memory_session_links")) == (0, 0)


def test_a_merged_item_was_said_where_its_sources_were() -> None:
    ok("remember", "For sessions, we chose Redis because it is fast.", "--session", "p:1")
    ok("import", stdin='{"title": "t", "content": "For sessions we chose Redis, because it is fast."}')
    ok("consolidate")
    (item,) = ok("list", "--json").json()
    assert [one["id"] for one in ok("session", "show", "p:1", "--json").json()["items"]] == [item["id"]]


def test_stale_sessions_are_those_in_which_nothing_was_said_since(monkeypatch: pytest.MonkeyPatch) -> None:
    start("p:1")
    start("p:2")
    monkeypatch.setattr("memctl.ids.now_seconds", lambda: time.time() + 40 * 86_400)
    ok("remember", "The cache is warm.", "--session", "p:2")
    found = ok("session", "stale", "--json").json()
    assert [(one["session_id"], one["days_inactive"]) for one in found["sessions"]] == [("p:1", 40)]
    assert ok("session", "stale", "--days", "41").text == ""
    assert ok("session", "list", "--json").json()["sessions"][0]["memory_count"] == 1


def test_a_workspace_gets_no_hold_of_other_sessions(ctx: Context) -> None:
    ok("workspace", "set", "crew", "--scope", "deck")
    start("p:1")
    for how in ({"session_id": "p:1"}, {"session_id": "p:2", "follows_up_on": "p:1"}):
        with pytest.raises(Exception, match=r"another scope|not found"):
            session_start(ctx, "Plan", workspace="crew", **how)
    assert session_start(ctx, "Plan", session_id="d:1", workspace="crew").as_dict()["scope"] == "deck"
    assert [one["session_id"] for one in session_list(ctx, workspace="crew").as_dict()["sessions"]] == ["d:1"]
    assert run("remember", "The cache is warm.", "-w", "crew", "--session", "p:1").code == 1
    assert rows("memory_items") == 0


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["tree"], "the session to tree is missing"),
        (["tree", "nope"], "session not found: nope"),
        (["link", "p:1", "follows_up_on"], "link takes A RELATION B"),
        (["link", "p:1", "replaces", "p:1"], "'replaces' is not one of"),
        (["unlink", "p:1", "merges", "nope"], "session not found: nope"),
        (["stale", "p:1"], "unexpected argument 'p:1'"),
        (["start", "two\nlines"], "an id is one line"),
    ],
)
def test_errors(argv: list[str], said: str) -> None:
    start("p:1")
    done = run("session", *argv)
    assert (done.code, done.out) == (1, b"")
    assert said in done.notes


def test_a_store_from_before_is_read_as_it_is(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old)) as conn:
        conn.executescript((Path(__file__).parents[1] / "data" / "memctl_v2.sql").read_text())
    before = old.read_bytes()
    assert ok("session", "stale", "--db", old).text == ""
    assert run("search", "x", "--session", "p:1", "--db", old).code == 1
    assert old.read_bytes() == before


def test_a_circle_of_another_program_is_drawn_whole() -> None:
    for name in ("x:1", "x:2", "x:3"):
        ok("session", "start", name)
    ok("session", "link", "x:2", "follows_up_on", "x:1")
    ok("session", "link", "x:3", "follows_up_on", "x:2")
    with change() as db:
        db.run("INSERT INTO memory_session_links VALUES ('x:1', 'x:3', 'follows_up_on', '2026-01-01')")
    lines = ok("session", "tree", "x:3").text.splitlines()
    assert [line.split("x:")[1][0] for line in lines] == ["1", "2", "3"] and lines[2].startswith("*")
