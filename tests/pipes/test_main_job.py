"""The main job through real pipes: documents in, a block out, a model's answer stored, stores moved."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Shell = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]

GUIDE = """# Guide

## Deployments

Deployments run on Tuesdays, and the release manager signs each of them.

## Sessions

A session ends after thirty minutes without a request. The session store is Redis.
"""


@pytest.fixture
def docs(here: Path) -> Path:
    folder = here / "docs"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    (folder / "notes.txt").write_text("The office coffee machine is cleaned on Fridays.\n")
    return folder


def test_push_a_model_and_pull(sh: Shell, docs: Path) -> None:
    done = sh("""
        set -o pipefail
        memctl push "when do deployments run" --source docs/ --propose |
            scripted-llm --passages 1 | memctl pull --tags note
    """)
    assert (done.code, done.out) == (0, b"")
    found = json.loads(sh("memctl search 'deployments release manager' --tags note --json").out)
    assert len(found) == 1
    item = json.loads(sh(f"memctl show {found[0]['id']} --json").out)
    assert "Tuesdays" in item["content"]
    assert item["tags"] == ["answer", "note"]


def test_a_model_that_answers_in_prose_is_stored_as_a_note(sh: Shell, docs: Path) -> None:
    done = sh("""
        set -o pipefail
        memctl push coffee --source docs --prompt | scripted-llm --plain | memctl pull --title Coffee
    """)
    assert done.code == 0
    assert [i["title"] for i in json.loads(sh("memctl list --tier stm --type note --json").out)].count("Coffee") == 1


def test_a_model_that_says_nothing_is_an_error_of_pull(sh: Shell) -> None:
    done = sh("scripted-llm --answer '' </dev/null | memctl pull")
    assert done.code == 1
    assert "no input" in done.notes


def test_the_block_goes_to_stdout_and_the_talk_to_stderr(sh: Shell, docs: Path) -> None:
    done = sh("memctl push deployments --source docs")
    assert done.text.startswith("## Memory (Injected)\nformat_version: 2, best first\n")
    assert done.text.rstrip("\n").splitlines()[-1].startswith("--- End Memory (")
    assert done.notes
    assert sh("memctl push deployments --source docs -q").err == b""


def test_export_into_import_keeps_everything(sh: Shell, docs: Path) -> None:
    sh(
        "memctl push deployments --source docs/ -q; "
        "echo 'We chose Redis.' | memctl pull --tags b,a --title 'Über Redis'"
    )
    done = sh("set -o pipefail; memctl export --include-archived | memctl import --preserve-ids --db copy.db")
    assert done.code == 0
    there, back = (
        {line["id"]: line for line in map(json.loads, sh(f"memctl export {db} --include-archived").text.splitlines())}
        for db in ("", "--db copy.db")
    )
    assert there
    assert back == there


def test_import_twice_stores_nothing_new(sh: Shell, docs: Path) -> None:
    sh("memctl push deployments --source docs/ -q; memctl export > all.jsonl")
    first, second = (json.loads(sh("memctl import all.jsonl --db copy.db --json").out) for _ in range(2))
    assert first["imported"] == first["total_lines"] > 0
    assert (second["imported"], second["skipped_dedup"]) == (0, first["imported"])


def test_stdin_is_a_source(sh: Shell) -> None:
    done = sh("memctl push 'quiet hours' --source -", stdin=b"Quiet hours start at ten in the evening.\n")
    assert done.code == 0
    assert "Quiet hours start at ten" in done.text


def test_init_prints_a_line_that_any_shell_can_eval(sh: Shell, here: Path) -> None:
    name = """a dir with $(touch HACKED) `touch HACKED` "double" and 'single' quotes; touch HACKED"""
    done = sh('eval "$(memctl init "$NAME")" && memctl stats --json && printf %s "$MEMCTL_DB"', NAME=name)
    assert done.code == 0
    assert done.text.endswith(str(here / name / "memory.db"))
    assert not list(here.rglob("HACKED"))


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
def test_shell_shortcuts(sh: Shell, docs: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    done = sh(f"""
        exec {shell} <<'END'
        set -eu
        . {ROOT}/extras/shell/memctl.sh
        meminit 'my notes' 2>/dev/null
        echo 'We chose JWT for stateless auth.' | mempull auth,decision 'Auth decision' 2>/dev/null
        memq jwt auth
        memp 'when do deployments run' docs
        memq --db=nowhere.db jwt auth
        memp --db=nowhere.db docs
        memp --jwt
        printf '%s\\n' "$MEMCTL_DB"
END
    """)
    assert done.code == 0, done.notes
    assert done.notes.count("rror") == 0
    assert "Auth decision" in done.text
    assert "Tuesdays" in done.text
    assert done.text.splitlines()[-1].endswith("my notes/memory.db")
