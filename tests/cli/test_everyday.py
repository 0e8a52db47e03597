"""What a person meets every day: messages that say what to do next, and nothing that surprises."""

import os
from pathlib import Path

import pytest

from support import ok, run

HELD = "Mail bob.smith@company.com, ssn 512-45-6789, about the tulips."


@pytest.mark.parametrize("command", ["import", "eval"])
def test_a_file_that_is_not_there_comes_with_advice(command: str) -> None:
    ok("init")
    done = run(command, "nofile")
    assert done.code == 1
    assert "No such file or directory" in done.notes.splitlines()[0]
    assert done.notes.splitlines()[1].startswith("hint: name a file")
    assert "or - for standard input" in done.notes


def test_a_store_without_a_home_says_where_it_is_noted(scratch: Path) -> None:
    tmp = scratch / "tmp"
    tmp.mkdir()
    env = {"HOME": "", "TMPDIR": str(tmp)}
    done = ok("remember", "We deploy on Fridays.", env=env)
    assert "HOME is not set" in done.notes
    assert str(tmp) in done.notes
    assert "HOME" not in ok("remember", "And on Mondays.", env=env).notes


@pytest.mark.parametrize("command", ["recall", "push"])
def test_an_empty_question_recalls_nothing_unless_it_narrows_something(command: str) -> None:
    ok("remember", "We deploy on Fridays.", "--tags", "ops")
    for question in ("", "  "):
        done = ok(command, question)
        assert done.out == b""
        assert "The question is empty" in done.notes
        assert ok(command, question, "-q").err == b""
    assert "Fridays" in ok("recall", "", "--tags", "ops").text
    assert "Fridays" in ok(command, "", "--tier", "stm").text
    assert "Fridays" in ok("search", "").text


def test_show_prints_no_words_of_a_quarantined_item_into_a_pipe() -> None:
    item = ok("remember", HELD, "--title", "the bulbs", "--tags", "tulip").text.strip()
    piped, data = ok("show", item), ok("show", item, "--json")
    for done in (piped, data):
        assert not any(word in done.text for word in ("bob", "tulip", "bulbs"))
        assert "--quarantined" in done.notes
    assert data.json()["withheld"] == "policy"
    assert HELD in ok("show", item, "--quarantined").text
    assert HELD in ok("show", item, tty=frozenset({"stdout"})).text
    ok("quarantine", "release", item, "--reason", "it is public")
    assert HELD in ok("show", item).text


# --- a project that was moved ----------------------------------------------------------------------------------------


def project() -> Path:
    """A project with a store and a mounted folder in it, which is then moved."""
    old = Path("proj")
    (old / "docs").mkdir(parents=True)
    (old / "docs" / "a.md").write_text("# Kettle\n\nIt boils at 96 degrees.\n")
    ok("init", cwd=old)
    ok("sync", "docs", cwd=old)
    old.rename("moved")
    return Path("moved")


@pytest.mark.parametrize("path", [(), ("docs",)])
def test_the_mounts_in_a_project_move_with_it(path: tuple[str, ...]) -> None:
    new = project()
    assert "memctl sync follows" in ok("mount", "--list", cwd=new).notes
    before = ok("search", "kettle", "--json", cwd=new).json()
    done = ok("sync", *path, cwd=new)
    assert "moved with its project" in done.notes
    (mount,) = ok("mount", "--list", "--json", cwd=new).json()
    assert mount["path"] == str((new / "docs").resolve())
    assert [hit["id"] for hit in ok("search", "kettle", "--json", cwd=new).json()] == [hit["id"] for hit in before]
    assert ok("sync", cwd=new).notes.count("moved with") == 0


def test_a_folder_outside_that_is_away_is_not_taken_for_one_inside() -> None:
    """A disk that is not plugged in has a folder of the same name."""
    Path("disk/docs").mkdir(parents=True)
    new = Path("proj")
    (new / "docs").mkdir(parents=True)
    ok("init", cwd=new)
    ok("sync", os.path.abspath("disk/docs"), cwd=new)
    Path("disk").rename("unplugged")
    assert "Mount path missing" in ok("sync", cwd=new).notes
    (mount,) = ok("mount", "--list", "--json", cwd=new).json()
    assert mount["path"].endswith("disk/docs")


# --- one grammar -----------------------------------------------------------------------------------------------------


def test_options_may_stand_before_the_last_word() -> None:
    ok("init")
    item = ok("remember", "Mail bob.smith@company.com, ssn 512-45-6789.", "-q").text.strip()
    ok("quarantine", "release", "--reason", "it is public", item)
    ok("remember", "The gateway", "--tags", "x", "retries", "twice", "-q")
    assert ok("search", "gateway", "-n", "1", "--json").json()[0]["tags"] == ["x"]
    ok("policy", "test", "--document", "hello")
    ok("workspace", "set", "--read", "a", "team")
    Path("a.md").write_text("hello\n")
    Path("b.md").write_text("hello\n")
    ok("scan", "a.md", "--strict", "b.md")
    ok("ingest", "a.md", "--tags", "t", "b.md")
    assert ok("list", "--tags", "t", "--passages", "--json", "-k", "9").json() != []
    assert ok("pipe", "gateway", "-q").out == ok("push", "gateway", "-q").out


def test_ids_may_be_short_and_several() -> None:
    first = ok("remember", "We deploy on Fridays.", "-q").text.strip()
    second = ok("remember", "The gateway retries twice.", "-q").text.strip()
    text = ok("show", first[4:8], second).text
    assert text.index("Fridays") < text.index("gateway")
    assert [one["id"] for one in ok("show", first, second, first, "--json").json()] == [first, second]
    assert ok("show", second[:9], "--json").json()["id"] == second
    assert run("show", first, "MEM-nothing").code == 1


@pytest.mark.parametrize(
    ("typed", "meant"), [("add", "remember"), ("find", "search"), ("ls", "list"), ("serach", "search"), ("man", "docs")]
)
def test_a_wrong_command_is_guessed(typed: str, meant: str) -> None:
    assert f"did you mean '{meant}'?" in run(typed, "x").notes


def test_a_word_that_is_like_no_command_is_not_guessed() -> None:
    assert "did you mean" not in run("frobnicate", "x").notes


def test_the_safety_guard_of_older_memctl_stops_the_tool_call() -> None:
    """A client takes 2 for no, and 1 for a hook that does not work and lets everything pass."""
    done = run("hooks", "safety-guard", stdin="{}")
    assert (done.code, done.out) == (2, b"")
    assert "safety guard" in done.notes


def test_an_id_that_is_empty_shows_nothing_and_says_so() -> None:
    ok("init", "-q")
    done = run("show", "")
    assert (done.code, done.text) == (1, "")
    assert "the id of the item is missing" in done.notes
