"""memctl hooks: the documented hooks of eco mode, the guard and the log."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from stores import STORE, add
from support import Result, golden, ok, run, spawn


def call(hook: str, tool: str = "", **given: Any) -> Result:
    return run("hooks", hook, stdin=json.dumps({"tool_name": tool, "tool_input": given}))


def filled(count: int, path: str = STORE) -> None:
    """A database of a program that has a table of items and nothing else."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE IF NOT EXISTS memory_items(id TEXT)")
        db.execute("DELETE FROM memory_items")
        db.executemany("INSERT INTO memory_items VALUES (?)", [(str(n),) for n in range(count)])
    db.close()


# --- the guard ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "path", "code"),
    [
        ("Write", "/home/a/.claude/projects/-p/memory/MEMORY.md", 2), ("Edit", "MEMORY.md", 2),
        ("MultiEdit", "/home/a/.claude/projects/-p/memory/taste.md", 2), ("write_file", "C:\\x\\MEMORY.md", 2),
        ("Read", "MEMORY.md", 0), ("Write", "docs/MEMORY.md.txt", 0), ("Write", "src/memory/store.md", 0),
        ("Write", None, 0), ("", "MEMORY.md", 0),
    ],
)  # fmt: skip
def test_the_memory_guard_keeps_a_model_from_notes_of_its_own(tool: str, path: str | None, code: int) -> None:
    done = run("hooks", "memory-guard", stdin=json.dumps({"tool_name": tool, "tool_input": {"file_path": path}}))
    assert (done.code, done.out) == (code, b"")
    assert ("memory_propose" in done.notes) == bool(code)
    assert run("hooks", "memory-guard", stdin=b"\xff{").code == 0


def test_the_guard_stops_a_command() -> None:
    done = call("safety-guard", "Bash", command="cd /tmp && rm -rf x")
    assert done.code == 2
    assert done.out == b""
    assert done.notes == '[memctl guard] BLOCKED: command matches deny pattern "rm -rf"\n'


def test_the_guard_lets_words_and_other_tools_pass() -> None:
    for done in (
        call("safety-guard", "Bash", command="grep 'rm -rf' x"),
        call("safety-guard", "Write", content="rm -rf /"),
    ):
        assert (done.code, done.out, done.err) == (0, b"", b"")


def test_the_guard_reads_the_calls_of_other_clients() -> None:
    for given in (
        {"toolName": "bash", "toolArgs": '{"command": "sudo ls"}'},
        {"tool_name": "shell", "tool_input": {"command": ["bash", "-lc", "sudo ls"]}},
        {"tool_name": "run_shell_command", "tool_input": {"command": "sudo ls"}},
    ):
        assert run("hooks", "safety-guard", stdin=json.dumps(given)).code == 2


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff{}", b"{}", b'{"tool_name": "Bash"}', b'{"tool_name": "Bash", "tool_input": 7}',
     b'{"tool_name": "Bash", "tool_input": {"command": 7}}', b"[" * 100_000,
     b'{"tool_name": "Bash", "tool_input": {"command": "echo \\"x"}}', b'{"tool_name": 7}'],
)  # fmt: skip
def test_what_the_guard_cannot_judge_it_stops(data: bytes) -> None:
    done = run("hooks", "safety-guard", stdin=data)
    assert done.code == 2
    assert "[memctl guard] BLOCKED" in done.notes


def test_a_guard_that_is_called_wrongly_stops_the_call() -> None:
    assert run("hooks", "safety-guard", "--no-such-flag").code == 2
    assert run("--no-such-flag", "hooks", "safety-guard").code == 2
    assert run("hooks", "no-such-hook").code == 1
    assert spawn("hooks", "safety-guard", stdin=b"{").code == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFO here")
def test_a_configuration_that_is_a_pipe_is_not_waited_for() -> None:
    os.makedirs(os.path.join(".claude", "eco"))
    os.mkfifo(os.path.join(".claude", "eco", "config.json"))
    assert spawn("hooks", "eco-hint", stdin=b"").code == 0


# --- the log --------------------------------------------------------------------------------------------------------


def test_the_log_has_a_line_for_a_call_and_no_secret() -> None:
    token = "ghp_" + "Zk3vX9qLm2RtY7wPb5NcJ8dHf4GsA1eUo6Ti"
    assert call("audit-logger", "Bash", command=f"curl -H 'Authorization: {token}' x\nsecond").out == b""
    call("audit-logger", "Read", file_path="x" * 500)
    call("audit-logger", f"mcp__{token}", path="y")
    text = Path(".agent_logs/memctl_commands.log").read_text(encoding="utf-8")
    first, second, _ = text.splitlines()
    assert token not in text
    assert first[0] == "["
    assert first[20:28] == "] Bash: "
    assert second.endswith("] Read: " + "x" * 120)
    assert os.stat(".agent_logs/memctl_commands.log").st_mode & 0o777 == 0o600


def test_the_log_is_bounded_and_follows_no_link() -> None:
    log = Path(".agent_logs/memctl_commands.log")
    log.parent.mkdir()
    log.write_bytes(b"x" * (1 << 21))
    call("audit-logger", "Bash", command="ls")
    assert log.stat().st_size < 200
    log.unlink()
    Path("target").write_text("mine")
    log.symlink_to(Path("target").absolute())
    assert call("audit-logger", "Bash", command="ls").code == 0
    assert Path("target").read_text() == "mine"


# --- eco mode -------------------------------------------------------------------------------------------------------


def hint(**event: Any) -> Any:
    return json.loads(ok("hooks", "eco-hint", stdin=json.dumps(event)).text)


def test_the_hint_says_what_there_is() -> None:
    assert "/scan" in hint()["additionalContext"]
    filled(3)
    assert set(hint()) == {"additionalContext"}
    assert "3 items" in hint()["additionalContext"]
    assert all(word in hint()["additionalContext"] for word in ("memctl push", "/scan"))
    filled(12)
    assert all(word in hint()["additionalContext"] for word in ("12 indexed items", "memory_inspect", "Retrieved"))
    assert len(hint()["additionalContext"]) < 300
    golden("hooks-hint-json", ok("hooks", "eco-hint", "--json").text)


def test_a_client_that_names_its_event_gets_its_own_dialect() -> None:
    assert set(hint(hook_event_name="UserPromptSubmit")["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}


def test_the_nudge_reaches_the_model_of_a_client_that_names_its_event() -> None:
    """What a hook says on stderr with exit 0 no client shows its model."""
    filled(300)
    event = {"hook_event_name": "PreToolUse", "tool_name": "Grep", "tool_input": {"pattern": "how tokens rotate"}}
    done = ok("hooks", "eco-nudge", stdin=json.dumps(event))
    said = json.loads(done.text)["hookSpecificOutput"]
    assert said == {"hookEventName": "PreToolUse", "additionalContext": done.notes.strip()}
    assert "/recall how tokens rotate" in done.notes
    assert ok("hooks", "eco-nudge", stdin=json.dumps({**event, "tool_name": "Read"})).out == b""


def test_eco_mode_is_off() -> None:
    filled(300)
    Path(".memory/.eco-disabled").touch()
    assert hint() == {"additionalContext": ""}
    assert call("eco-nudge", "Grep", pattern="some long pattern").err == b""


def test_the_config_of_eco_mode_names_the_store() -> None:
    filled(77, "other/place.db")
    Path(".claude/eco").mkdir(parents=True)
    Path(".claude/eco/config.json").write_text('{"db_path": "other/place.db"}')
    assert "77 indexed" in hint()["additionalContext"]
    Path(".claude/eco/config.json").write_text("[" * 100_000)
    assert "/scan" in hint()["additionalContext"]


def test_the_nudge() -> None:
    assert "ingest" in call("eco-nudge", "Grep", pattern="how tokens rotate").notes
    filled(3)
    assert "nearly empty" in call("eco-nudge", "Glob", pattern="**/*.py").notes
    filled(50)
    assert call("eco-nudge", "Grep", pattern="how tokens rotate").err == b""
    filled(200)
    assert "/recall how tokens rotate" in call("eco-nudge", "Grep", pattern="how tokens rotate").notes
    assert "memory_inspect" in call("eco-nudge", "Glob", pattern="src/**").notes
    assert "memory_inspect" in call("eco-nudge", "Bash", command="cd x && find . -name '*.py'").notes
    assert "memory_inspect" in call("eco-nudge", "Bash", command="ls -laR").notes
    for tool, given in (
        ("Grep", {"pattern": "how tokens rotate", "path": "a/b.py"}), ("Grep", {"pattern": "foo"}),
        ("Glob", {"pattern": "a.py"}), ("Bash", {"command": "ls -la"}), ("Bash", {"command": "echo find"}),
        ("Read", {"file_path": "x"}), ("Bash", {"command": "'"}), ("Bash", {}),
    ):  # fmt: skip
        done = call("eco-nudge", tool, **given)
        assert (done.code, done.out, done.err) == (0, b"", b"")


def test_a_store_of_memctl_is_counted() -> None:
    for number in range(11):
        add(f"Item {number}.")
    assert "11 indexed items" in hint()["additionalContext"]
