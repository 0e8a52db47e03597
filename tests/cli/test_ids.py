"""Ids: shortened, several, and from standard input, wherever commands take them."""

from pathlib import Path

import pytest

from memctl.context import Context
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
    assert "is not in quarantine" in run("quarantine", "show", ids[0][4:10]).notes
    done = ok("quarantine", "release", "-", "--reason", "our own words", "--json", stdin=" ".join(held)).json()
    assert set(done["ids"]) == set(held)


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
