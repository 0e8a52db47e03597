"""`memctl status`: which store, what is in it, what feeds it."""

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memctl.context import open_context
from support import Result, golden, ok, operation, run

status = operation("status")


def test_without_a_store_it_is_no_error_and_makes_none() -> None:
    done = ok("status", "--json").json()
    assert done == {
        "status": "ok", "eco_mode": "not installed", "db_path": f"{Path.cwd()}/.memory/memory.db", "db_exists": False,
    }  # fmt: skip
    assert "(not created yet)" in ok("status").text
    assert not Path(".memory").exists()


@pytest.mark.usefixtures("frozen")
def test_with_one() -> None:
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# One\n\nThe cache is warm.\n")
    ok("mount", "docs", "--name", "handbook")
    ok("sync")
    os.utime("docs", (1e9, 1e9))
    ok("remember", "We chose SQLite.", "--tier", "ltm")
    ok("workspace", "set", "api")
    golden("status", ok("status").text)
    counts = ok("status", "--json").json()
    assert (counts["db_exists"], counts["total_items"], counts["by_tier"]) == (True, 2, {"ltm": 1, "stm": 1})
    assert (counts["mounts"], counts["workspaces"], counts["sessions"]) == (1, 2, 0)
    assert counts["last_scan"]


def test_mounts_that_need_a_sync_are_marked() -> None:
    for name in ("a", "b", "c", "d"):
        Path(name).mkdir()
        Path(name, "x.md").write_text(f"# {name}\n\nThe cache is warm.\n")
        ok("mount", name, "--name", name)
        if name != "d":
            ok("sync", name)
    os.utime("a", (1e9, 1e9))
    os.utime("b", (4e9, 4e9))
    Path("c").rename("moved")
    done = ok("status")
    marked = re.findall(r"([abcd]) +-> \S+ ?(.*)", done.text)
    assert marked == [("a", ""), ("b", "(changed)"), ("c", "(gone)"), ("d", "(never synced)")]
    assert "memctl sync --dry-run" in done.notes
    reasons = [one["reason"] for one in ok("status", "--json").json()["mounts_behind"]]
    assert reasons == ["changed", "gone", "never synced"]


def test_it_is_a_read() -> None:
    ok("init")
    before = Path(".memory/memory.db").read_bytes()
    Path(".memory/memory.db").chmod(0o400)
    ok("status")
    assert Path(".memory/memory.db").read_bytes() == before


@pytest.mark.parametrize(
    ("files", "mode"),
    [
        ((), "not installed"),
        ((".claude/eco/config.json",), "active"),
        ((".claude/eco/config.json", ".memory/.eco-disabled"), "disabled"),
        ((".claude/eco/.disabled",), "disabled"),
    ],
)
def test_the_eco_mode_of_older_memctl(files: tuple[str, ...], mode: str) -> None:
    for file in files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    assert ok("status", "--json").json()["eco_mode"] == mode


def test_a_damaged_store_is_an_error() -> None:
    Path("m.db").write_bytes(b"no database at all" * 300)
    assert run("status", "--db", "m.db").code == 2


def test_as_a_tool() -> None:
    ok("init")
    with open_context(".memory/memory.db") as ctx:
        assert status(ctx).as_dict()["db_exists"]


@pytest.mark.parametrize("kinds", ["", "a", "ab", "aaab", "abbb", "abcabc", "cccccabd", "dcba" * 3])
def test_every_kind_is_counted(kinds: str) -> None:
    """The kind in the middle is inferred from the sum: wherever it stands, and if there is only one."""
    columns: dict[str, dict[str, Any]] = {
        "a": {"tier": "ltm", "type": "fact", "scope": "project"},
        "b": {"tier": "mtm", "type": "note", "scope": "project", "archived": True},
        "c": {"tier": "mtm", "type": "note", "scope": "team", "injectable": False},
        "d": {"tier": "stm", "type": "todo", "scope": "team"},
    }
    ok("init")
    said = {"provenance": {"source_kind": "chat", "source_id": "s"}}
    lines = (json.dumps({"content": f"The {n}. word.", **columns[kind], **said}) for n, kind in enumerate(kinds))
    ok("import", stdin="\n".join(lines) or "\n")
    found = ok("stats", "--json").json()
    active = [columns[kind] for kind in kinds if kind != "b"]
    assert found["total_items"] == len(active)
    assert (found["archived_items"], found["withheld_items"]) == (kinds.count("b"), kinds.count("c"))
    for column in ("tier", "type", "scope"):
        assert found[f"by_{column}"] == dict(Counter(str(one[column]) for one in active))


def test_in_short_it_is_one_line_for_a_prompt(scratch: Path) -> None:
    assert ok("status", "--short") == Result(0, b"", b"")
    assert not (scratch / ".memory").exists()
    ok("remember", "We deploy on Fridays.")
    assert ok("status", "--short") == Result(0, b"project 1\n", b"")
    ok("remember", "Tabs.", "--scope", "global")
    ok("remember", "Other.", "--scope", "other")
    assert ok("status", "--short").text == "project 1 +1\n"
    assert ok("status", "--short", "--json").json()["items"] == 1
