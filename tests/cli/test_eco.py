"""Eco mode, the guard and the other words of older memctl."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.clients import examine
from memctl.clients.eco_entries import ASKED
from memctl.ops import TABLE, commands
from support import ok, run

COMMANDS = ("scan", "recall", "remember", "reindex", "forget", "consolidate", "status", "export", "diff")
TOOLS = ("inspect", "recall", "propose", "reindex", "reset", "consolidate", "status", "export", "diff")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"ok": True, "version": "1", "tools": ["memory_recall"]}
    monkeypatch.setattr(examine, "shake_hands", lambda _argv: answer)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_eco_goes_in_and_comes_out_byte_for_byte(scratch: Path) -> None:
    (scratch / ".claude").mkdir()
    settings = scratch / ".claude" / "settings.local.json"
    settings.write_text('{\n\t// mine\n\t"permissions": {"allow": ["Bash(ls)"]}\n}\n')
    (scratch / ".gitignore").write_text("*.log")
    former = tree(scratch)
    assert ok("setup", "eco", "--dry-run").code == 0
    assert tree(scratch) == former
    ok("setup", "eco")
    names = {name: data for name, data in tree(scratch).items() if not name.startswith(".memory/")}
    assert {f".claude/commands/{name}.md" for name in ("eco", *COMMANDS)} <= set(names)
    assert json.loads(names[".claude/eco/config.json"])["db_path"] == ".memory/memory.db"
    assert names[".gitignore"] == b"*.log\n.memory/\n"
    permissions = json.loads(settings.read_text().replace("// mine", ""))["permissions"]
    assert permissions["allow"] == ["Bash(ls)", "Bash(memctl *)"]
    assert {"Bash(memctl -*)", "Bash(xargs *memctl*)", "Bash(memctl purge*)"} <= set(permissions["ask"])
    assert "hooks eco-hint" in settings.read_text()
    servers = json.loads((scratch.parent / ".claude.json").read_text())["projects"][str(scratch)]["mcpServers"]
    assert servers["memctl"]["args"] == ["serve", "--db", str(scratch / ".memory" / "memory.db")]
    kept = {name: data for name, data in tree(scratch).items() if name.startswith(".memory/")}
    ok("setup", "eco")
    assert tree(scratch) == names | kept
    ok("teardown", "eco")
    assert tree(scratch) == former | kept
    assert sorted(path.name for path in scratch.rglob("*") if path.is_dir()) == [".claude", ".memory"]


def test_eco_mode_and_the_command_line_have_one_store(scratch: Path) -> None:
    ok("init", "--personal")
    done = ok("setup", "eco", "--json").json()
    assert done["command"][-3:] == ["serve", "--db", str(scratch / ".memory" / "memory.db")]
    assert ok("status", "--json").json()["db_path"] == str(scratch / ".memory" / "memory.db")


def test_what_setup_writes_is_nothing_to_remember(scratch: Path) -> None:
    ok("setup", "eco")
    (scratch / "notes.md").write_text("# Sessions\n\nA session ends after thirty minutes.\n")
    for folder in (scratch, scratch.parent):
        assert ok("sync", str(folder)).code == 0
        sources = {one["source"] for one in ok("search", "what should last session memctl serve", "--json").json()}
        assert {Path(one).name for one in sources} <= {"notes.md"}, sources


def test_a_person_is_asked_before_what_has_no_way_back_or_runs_programs() -> None:
    alone = {name for name in commands() if (op := TABLE[name].load(name)).open_world or op.access == "none"}
    free = {"completion", "docs", "hook", "hooks", "hooks-path", "policy", "scan", "scripts-path", "shell-init"}
    assert alone - free <= set(ASKED), "a new command that asks a model, or needs no store: may a model run it unasked?"
    assert {"purge", "reset", "quarantine", "config", "export"} <= set(ASKED) <= {*commands(), "remote"}


def test_what_a_person_changed_stays_and_ours_goes(scratch: Path) -> None:
    ok("setup", "eco", "--db-root", "notes")
    mine = scratch / ".claude" / "commands" / "scan.md"
    mine.write_text("my own scan")
    settings = scratch / ".claude" / "settings.local.json"
    settings.write_text(settings.read_text().replace("{", '{ "theme": "dark",', 1))
    (scratch / ".memory").mkdir()
    ok("setup", "eco", "--db-root", "notes")
    assert mine.read_text() == "my own scan"
    ok("teardown", "eco")
    assert mine.read_text() == "my own scan"
    assert json.loads(settings.read_text()) == {"theme": "dark"}
    assert not (scratch / ".claude" / "eco").exists()
    ok("setup", "eco", "--force")
    assert "memory_inspect" in mine.read_text()


def test_the_switch(scratch: Path) -> None:
    assert ok("eco").text == "eco mode: not installed\n"
    assert "setup eco" in run("eco", "on").notes
    ok("setup", "eco")
    assert ok("eco", "--json").json() == {"status": "ok", "eco_mode": "active", "action_taken": "none"}
    (scratch / ".claude" / "eco" / ".disabled").touch()
    assert ok("status", "--json").json()["eco_mode"] == "disabled"
    assert ok("eco", "off").text == "eco mode disabled. Using native Read/View only.\n"
    assert (scratch / ".memory" / ".eco-disabled").exists()
    assert not (scratch / ".claude" / "eco" / ".disabled").exists()
    assert ok("eco").text == "eco mode: disabled\n"
    assert ok("eco", "on").text.startswith("eco mode enabled.")
    assert ok("status", "--json").json()["eco_mode"] == "active"


def test_reindex_tells_the_eco_config(scratch: Path) -> None:
    ok("setup", "eco")
    ok("remember", "Deploys run on Tuesdays")
    assert "Updated eco config" in ok("reindex", "--tokenizer", "en").notes
    config = json.loads((scratch / ".claude" / "eco" / "config.json").read_text())
    assert config["fts_tokenizer"].startswith("porter")
    assert config["db_path"] == ".memory/memory.db"
    (scratch / ".claude" / "eco" / "config.json").write_text("broken {")
    assert "Updated" not in ok("reindex").notes
    assert (scratch / ".claude" / "eco" / "config.json").read_text() == "broken {"


def test_the_guard_stands_beside_the_hooks_of_setup(scratch: Path) -> None:
    settings = scratch.parent / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}\n")
    ok("setup", "claude")
    ok("setup", "hooks")
    hooks = json.loads(settings.read_text())["hooks"]
    assert hooks["PreToolUse"][0]["hooks"][0]["command"].endswith("hooks safety-guard")
    ok("teardown", "claude")
    hooks = json.loads(settings.read_text())["hooks"]
    assert sorted(hooks) == ["PostToolUse", "PreToolUse"]
    ok("teardown", "hooks")
    assert json.loads(settings.read_text()) == {}


def test_mcp_is_the_server_of_the_named_clients(scratch: Path) -> None:
    ok("setup", "mcp", "--client", "all")
    assert not (scratch.parent / ".claude").exists()
    assert "memctl" in (scratch.parent / ".claude.json").read_text()
    assert "memctl" in (scratch.parent / ".config" / "Claude" / "claude_desktop_config.json").read_text()
    ok("teardown", "mcp", "--client", "claude-desktop")
    assert not (scratch.parent / ".config").exists()
    ok("teardown", "mcp")
    assert not (scratch.parent / ".claude.json").exists()


@pytest.mark.parametrize(("name", "tool"), list(zip(COMMANDS, TOOLS, strict=True)))
def test_each_slash_command_names_its_tool_and_its_command(name: str, tool: str) -> None:
    text = (Path(ok("hooks-path").text.splitlines()[1]) / "commands" / f"{name}.md").read_text()
    assert "$ARGUMENTS" in text
    assert f"memory_{tool}" in text
    assert "`memctl " in text


@pytest.mark.parametrize("words", [["install_eco.sh", "--dry-run"], ["install_mcp.sh", "--client", "all", "--dry-run"],
                                   ["install_mcp.sh", "--python", sys.executable, "--dry-run"],
                                   ["install_claude_hooks.sh", "--dry-run", "--yes"], ["uninstall_eco.sh", "--dry-run"],
                                   ["uninstall_mcp.sh", "--client", "all", "--dry-run"],
                                   ["uninstall_mcp.sh", "--hooks-only", "--dry-run"]])  # fmt: skip
def test_the_scripts_call_setup(words: list[str], scratch: Path) -> None:
    folder = ok("scripts-path").text.strip()
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    argv = [shutil.which("sh") or "sh", os.path.join(folder, words[0]), *words[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, env=os.environ | {"PATH": path}, check=False)
    assert done.returncode == 0, done.stderr
    assert ("+" in done.stdout) == words[0].startswith("install")
    assert tree(scratch) == {}
