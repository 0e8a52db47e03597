"""The demos run as they stand, and what older memctl's documentation says of ask and chat runs as written there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Shell = Callable[..., Any]
DEMOS = Path(__file__).resolve().parents[2] / "demos"
#: A story, and what must be found in what it prints, in this order.
STORIES = {
    "main-pipe.sh": ["--- End Memory (", "3. What was stored:", "Import complete"],
    "ingest-recall.sh": [
        "[RAW]", "No injectable items matched", "handbook/sessions.md:1-9", "--- End Memory",
        "No matching items",
    ],
    "folder-ask.sh": [
        "0 of them not in the context", "thirty minutes", "one hour", "not in the context: handbook/clock.md:7",
        "Ephemeral: mount removed", "ninth of May", "/handbook  synced=",
    ],
    "loop-trace.sh": [
        "a rollback takes the previous image", '"new_items": 1', '"action": "llm_stop"', '"action": "llm_stop"}',
        "So far I have got to word",
    ],
    "chat-session.sh": [
        "[chat] Stored as note MEM-", "handbook/sessions.md:1-9", "[chat] Archived: MEM-", "Forgotten: /etc/hosts",
        "- A session ends after thirty minutes", "- Deployments run on Tuesdays", "When does a session end?",
        "2 turn(s)",
    ],
    "eco-mode.sh": [
        "eco mode: active", "memory has 0 items", "203 indexed items", "/recall session lifetime", "thirty minutes",
        "eco mode disabled", "eco mode enabled", ".memory:\n", "memory.db",
    ],
    "governed-write.sh": [
        "HARD_BLOCK: secret", "(exit status 1)", "[REDACTED:github-token]", "quarantined: 1 chunks", "Tips",
        "(exit status 1)",
    ],
}  # fmt: skip


def test_every_story_is_told() -> None:
    assert set(STORIES) | {"scratch.sh"} == {path.name for path in DEMOS.glob("*.sh")}
    page = (DEMOS / "README.md").read_text(encoding="utf-8")
    assert [name for name in STORIES if f"]({name})" not in page] == []


@pytest.mark.parametrize("name", STORIES)
def test_a_story_runs_and_leaves_nothing(sh: Shell, name: str, tmp_path: Path, home: Path, here: Path) -> None:
    (tmp_path / "scratch").mkdir()
    done = sh(f"sh {DEMOS / name} 2>&1", TMPDIR=str(tmp_path / "scratch"), MEMCTL_DB=str(home / "mine.db"))
    assert done.code == 0, done.text
    at = 0
    for part in STORIES[name]:
        at = done.text.find(part, at)
        assert at >= 0, f"{part!r} is missing, or in the wrong place:\n{done.text}"
        at += len(part)
    assert "internal error" not in done.text
    assert [list(folder.iterdir()) for folder in (tmp_path / "scratch", here)] == [[], []]
    assert sorted(path.name for path in home.iterdir()) == ["here", "scratch"]


# --- as written -----------------------------------------------------------------------------------------------------


@pytest.fixture
def project(sh: Shell, here: Path, tmp_path: Path) -> Callable[[str], Any]:
    """A project with documents and sources, and the models that older documentation names, played by the script."""
    for path, text in {
        "docs/auth.md": "# Auth\n\nThe largest risk is that tokens live in the browser and do not expire.\n",
        "src/gateway.py": '"""Gateway.\n\nThe gateway takes requests and hands them to one of three workers.\n"""\n',
    }.items():
        (here / path).parent.mkdir(exist_ok=True)
        (here / path).write_text(text)
    tools = tmp_path / "tools"
    tools.mkdir()
    for model in ("claude", "ollama", "llm"):
        (tools / model).write_text(f"#!/bin/sh\nexec python3 -S {DEMOS / 'scripted-llm'} --plain\n")
        (tools / model).chmod(0o755)
    return lambda line: sh(f"PATH={tools}:$PATH; set -o pipefail; {line}")


#: A line as older documentation has it, and what its answer says.
LINES = {
    """memctl ask docs/ "What are the auth risks?" --llm "claude -p" """: "tokens live in the browser",
    """memctl ask src/ "Summarize the architecture" --llm "claude -p" --json -q""": '"was_mounted": true',
    """memctl ask src/ "What does the gateway do" --llm "ollama run qwen2.5:7b" --budget 1500 --inspect-cap 400 \\
        --mount-mode ephemeral --sync always""": "one of three workers",
    """echo "auth risks" | memctl chat --llm "claude -p" --folder docs/ --session --store""": "tokens live in the",
    """echo "gateway requests" | memctl chat --llm "llm -m local" --source src/ --session --history-turns 3 \\
        --session-budget 2000 --tags review --store""": "one of three workers",
}


@pytest.mark.parametrize("line", LINES)
def test_documented_lines_run_as_written(project: Callable[[str], Any], line: str) -> None:
    done = project(line)
    assert done.code == 0, done.notes
    assert LINES[line] in done.text


def test_a_documented_answer_goes_on_into_the_next_command(project: Callable[[str], Any]) -> None:
    done = project('memctl ask docs/ "What are the auth risks?" --llm "claude -p" -q | memctl pull --tags risk -q; '
                   "memctl list --tags risk --json")  # fmt: skip
    (item,) = json.loads(done.out)
    assert item["tags"] == ["risk"]
