"""The plugin for Claude Code: each file is there, and what it runs and names exists."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scripts.lib import plugin

from memctl import __version__
from memctl.clients.known import TAKING, TELLING, client
from memctl.mcp import tool_schema
from memctl.ops import TABLE
from support import ok

FOLDER = plugin.folder(Path(__file__).resolve().parents[2])


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def test_it_is_what_is_written_and_nothing_else() -> None:
    found = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*") if path.is_file()}
    assert found == plugin.files(), "scripts/docs writes it; delete what it no longer has"


def test_versions_and_names_agree() -> None:
    manifest, (listed,) = read(".claude-plugin/plugin.json"), read(".claude-plugin/marketplace.json")["plugins"]
    assert manifest["version"] == __version__
    assert listed["name"] == manifest["name"] == "memctl"
    assert "version" not in listed, "the manifest's goes before it"
    assert (FOLDER / listed["source"]).resolve() == FOLDER.resolve()


def test_the_server_and_the_hooks_run_commands_that_are_there() -> None:
    (server,) = read(".mcp.json")["mcpServers"].values()
    assert [server["command"], *server["args"]] == ["memctl", "serve"]
    ok("init")
    ok("remember", "The zebra service listens on port 7421.", "--type", "decision")
    known = client("claude").hooks
    assert known
    hooks = read("hooks/hooks.json")["hooks"]
    tells = {known.events[event][0] for event in TELLING}
    assert set(hooks) == tells | {known.events[event][0] for event in TAKING}
    for event, elements in hooks.items():
        ((one,),) = [element["hooks"] for element in elements]
        words = shlex.split(one["command"])
        assert words[0] == "memctl"
        assert one["timeout"] == dict(known.events.values())[event]
        said = {"hook_event_name": event, "session_id": event, "prompt": "Which port does the zebra service use?"}
        told = ok(*words[1:], "--deadline", "60", stdin=json.dumps(said))
        if event not in tells:  # it takes in what was said, and says nothing
            assert told.text == ""
            continue
        assert "port 7421" in told.json()["hookSpecificOutput"]["additionalContext"]


def test_commands_and_the_skill_name_tools_and_commands_that_are_there() -> None:
    tools = {tool.name for tool in tool_schema.catalog("full")}
    commands = {path.stem for path in (FOLDER / "commands").iterdir()}
    assert {"recall", "remember", "eco"} <= commands
    for path in FOLDER.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("---\n"), path
        assert re.search(r"^description: \S", text, re.MULTILINE), path
        assert set(re.findall(r"`(memory_\w+)", text)) <= tools, path
        assert {name.partition(" ")[0] for name in re.findall(r"`(?:[^`]*\| )?memctl ([a-z-]+)", text)} <= set(TABLE)
        assert set(re.findall(r"`/([\w:-]+)", text)) <= {f"memctl:{name}" for name in commands}, path


@pytest.mark.skipif(not shutil.which("claude"), reason="Claude Code is not installed")
def test_claude_code_accepts_it() -> None:
    done = subprocess.run(
        ["claude", "plugin", "validate", "--strict", str(FOLDER)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
