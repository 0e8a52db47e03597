"""Ids: shortened, several, and from standard input, wherever commands take them."""

from pathlib import Path

import pytest

from memctl.cli import load
from memctl.context import Context
from memctl.ops import commands
from memctl.types import MemoryItem
from stores import change
from support import ok, operation, run


@pytest.fixture
def ids() -> list[str]:
    return [ok("remember", f"The zebra number {n} is striped.", "-q").text.strip() for n in range(3)]


def test_a_list_of_ids_is_piped_into_a_command(ids: list[str]) -> None:
    shown = ok("show", "-", "--json", stdin="\n".join(ids)).json()
    assert [row["id"] for row in shown] == ids
    ok("forget", "-", stdin="\n".join(ids[:2]))
    assert [row["id"] for row in ok("list", "--json").json()] == ids[2:]


def test_quarantine_takes_them_so(ids: list[str]) -> None:
    with change() as db:
        for n in range(2):
            db.write(MemoryItem(id=f"MEM-00000000000{n}", title=f"held {n}", content=f"held {n}", injectable=False))
    held = [row["id"] for row in ok("quarantine", "list", "--json").json()["items"]]
    assert len(held) == 2
    assert ok("quarantine", "show", "-", "--json", stdin=" ".join(held)).json()["count"] == 2
    assert ok("quarantine", "show", "-", "--json", stdin="").json()["count"] == 0
    assert "is not in quarantine" in run("quarantine", "show", ids[0][4:10]).notes
    done = ok("quarantine", "release", "-", "--reason", "our own words", "--json", stdin=" ".join(held)).json()
    assert set(done["ids"]) == set(held)


#: A command line for each command about items; ONE is an id, and SOME are several where it takes several.
LINES = {
    "show": "show SOME --json",
    "forget": "forget SOME", "restore": "restore SOME", "tag": "tag SOME +striped", "retract": "retract SOME",
    "verify": "verify SOME", "promote": "promote SOME", "retain": "retain SOME keep", "purge": "purge SOME",
    "edit": "edit ONE --title Zebras", "supersede": "supersede ONE Zebras have spots.",
    "links": "links ONE", "related": "related ONE", "similar": "similar ONE", "history": "history ONE",
    "blame": "blame ONE", "diff": "diff ONE", "link": "link ONE supports 2", "unlink": "unlink ONE supports 2",
    "graph": "graph --around ONE", "browse": "browse a/b --pin ONE", "remember": "remember --supersedes ONE Of spots.",
}  # fmt: skip


def test_each_command_about_items_is_among_these() -> None:
    labels = {"MEM-ID", "ID1", "OLD-ID", "MEM-ID|+TAG"}
    about = {
        name for name in commands() for param in load(name).params()
        if param.arg.cli and (param.label in labels or (param.arg.metavar or "").startswith("MEM-ID"))
    }  # fmt: skip
    assert about - {"quarantine"} == set(LINES)  # it takes what is held back only: see below


@pytest.mark.parametrize("line", LINES.values(), ids=list(LINES))
def test_ids_are_shortened_several_and_from_standard_input(ids: list[str], line: str) -> None:
    many = "SOME" in line
    short = [item_id[4:10] for item_id in ids[:2]]

    def words(*given: str) -> list[str]:
        out: list[str] = []
        for word in line.split():
            out += given if word in ("ONE", "SOME") else [ids[2] if word == "2" else word]
        return out

    assert run(*words("ffff")).code == 1  # there is none
    several = run(*words("-"), stdin="\n".join(ids[:2]))
    assert several.code == (0 if many else 1), several.notes
    assert many or "takes one id here, and standard input names 2" in several.notes
    none = run(*words("-"), stdin="\n")
    assert (none.code, "No ids on standard input" in none.notes) == (0 if many else 1, True)
    ok(*(words(*short) if many else words("-")), stdin=short[0])


@pytest.fixture
def sessions(ctx: Context) -> None:
    for session in ("proj:review-7", "proj:review-8", "other:1"):
        operation("session-store")(ctx, "The zebra is striped.", session)
    ctx.close()


def listed() -> set[str]:
    return {row["session_id"] for row in ok("session", "list", "--json").json()["sessions"]}


@pytest.mark.usefixtures("sessions")
def test_a_session_is_named_by_its_beginning() -> None:
    assert listed() == {"proj:review-7", "proj:review-8", "other:1"}
    assert ok("session", "show", "oth", "--json").json()["session_id"] == "other:1"
    assert run("session", "show", "proj:review").code == 1  # two begin so
    done = ok("session", "delete", "other", "proj:review-7", "--json").json()
    assert (done["status"], done["sessions"]) == ("dry_run", ["other:1", "proj:review-7"])
    assert len(listed()) == 3
    ok("session", "delete", "other", "proj:review-7", "--yes")
    assert listed() == {"proj:review-8"}
    assert run("session", "show", "proj:review-8", "other").code == 1


def test_a_loop_that_recalls_nothing(tmp_path: Path) -> None:
    ask = """printf '%s\\n' '{"need_more": true, "query": "zebra", "stop": false}' '' 'more?'"""
    script = tmp_path / "ask"
    script.write_text(f"#!/bin/sh\ncat > /dev/null\n{ask}\n")
    script.chmod(0o755)
    ok("remember", "The zebra is striped.")
    told = ok("loop", "zebras?", "--llm", str(script), "--json", stdin="what is known").json()
    none = ok("loop", "zebras?", "--llm", str(script), "--json", "--no-recall", stdin="what is known").json()
    assert len(told["item_ids"]) == 1
    assert none["item_ids"] == []
    assert none["stop_reason"] == "no_new_items", none
