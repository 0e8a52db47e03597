"""What stands around the package: the search for an interpreter, the stand-in for a model, the benchmarks."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import PATIENCE

Shell = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]
FIND = f". '{ROOT}/scripts/lib/find_python.sh'; "


@pytest.fixture
def shims(tmp_path: Path) -> str:
    """A PATH that begins with interpreters that do not work, as version managers leave them."""
    folder = tmp_path / "shims"
    folder.mkdir()
    for name in ("python3", "python3.13", "python3.12", "python3.11", "python3.10"):
        (folder / name).write_text(f"#!/bin/sh\necho 'manager: {name}: command not found' >&2\nexit 127\n")
        (folder / name).chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_a_shim_that_fails_is_passed_over(sh: Shell, shims: str, tmp_path: Path) -> None:
    (tmp_path / "versions" / "3.11.0" / "bin").mkdir(parents=True)
    real = tmp_path / "versions" / "3.11.0" / "bin" / "python3"
    real.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    real.chmod(0o755)
    done = sh(FIND + "find_pythons", PATH=shims, PYENV_ROOT=str(tmp_path))
    assert done.code == 0
    versions = [line.split(" ", 1) for line in done.text.splitlines()]
    assert "{}.{}".format(*sys.version_info[:2]) in dict(versions)
    assert len(dict(versions)) == len(versions)
    assert not any(path.startswith(str(tmp_path / "shims")) for _, path in versions)


def test_a_named_interpreter_is_the_only_choice(sh: Shell, shims: str) -> None:
    assert sh(FIND + "find_python", PATH=shims, PYTHON=sys.executable).text.strip() == sys.executable
    refused = sh(FIND + "find_python", PATH=shims, PYTHON="/nowhere/python3")
    assert refused.code != 0
    assert "PYTHON=/nowhere/python3 will not do" in refused.notes


def test_an_unknown_argument_is_not_passed_over(sh: Shell) -> None:
    done = sh(f"'{ROOT}/scripts/demo' --fast")
    assert (done.code, done.out) == (1, b"")
    assert "--fast" in done.notes


BLOCK = """## Memory (Injected)
used: 50

[1] [STM:unverified] note — Login flow
    [path:docs/login.md chunk:0 lines:3-9]
    # Login

    The login flow uses tokens that expire after an hour. More follows here.
    provenance: doc:/docs/login.md
    tags: none
    confidence: 0.50

--- End Memory (format_version=1, 1 items, 50 tokens) ---
"""
COMPACT = """## Memory (Injected)
format_version: 2, best first
[a3185e] docs/login.md:3-9 > Login flow
 # Login

 The login flow uses tokens that expire after an hour. More follows here.
--- End Memory (1) ---
"""
QUESTION = "\n## Question\n\nHow long?\n"


@pytest.mark.parametrize("block", [BLOCK, COMPACT])
def test_the_stand_in_answers_from_the_block(sh: Shell, block: str) -> None:
    prompt = block + QUESTION
    found = json.loads(sh("scripted-llm --json", stdin=prompt.encode()).out)
    assert [p["title"] for p in found] == ["Login flow"]
    assert found[0]["content"] == "The login flow uses tokens that expire after an hour. (docs/login.md lines 3-9)"
    assert "MEMORY_PROPOSALS" not in sh("scripted-llm", stdin=prompt.encode()).text
    asked = "Propose in <MEMORY_PROPOSALS_JSON>.\n\n" + prompt
    assert sh("scripted-llm", stdin=asked.encode()).text.endswith("</MEMORY_PROPOSALS_JSON>\n")
    assert "no passages" in sh("scripted-llm", stdin=QUESTION.encode()).text
    assert "no question" in sh("scripted-llm", stdin=block.encode()).text


def test_the_stand_in_follows_a_script(sh: Shell, here: Path) -> None:
    (here / "script").write_text("first\n---\nsecond\nline\n")
    said = [sh("scripted-llm --script script").text for _ in range(3)]
    assert said == ["first\n", "second\nline\n", "second\nline\n"]
    failed = sh("scripted-llm --answer oh --stderr trouble --exit 3")
    assert (failed.code, failed.text, failed.notes) == (3, "oh\n", "trouble\n")


@pytest.mark.parametrize(
    ("orders", "code", "out"),
    [
        ("@refuse", 0, b"I am sorry, but I cannot help with that.\n"),
        ("@refuse\nNo.", 0, b"No.\n"),
        ("@exit 4\n@stderr dear me\nBye.", 4, b"Bye.\n"),
        ("@bytes fffe41\nx", 0, b"\xff\xfeAx\n"),
        ("@die\n12345678", -9, b"1234"),
        ("@slow 0.001\none two", 0, b"one two\n"),
        ("@deaf\nfine", 0, b"fine\n"),
        ("@dance", 1, b""),
        ("mail me @home\n@exit 3", 0, b"mail me @home\n@exit 3\n"),
    ],
)
def test_the_stand_in_behaves_badly_on_order(here: Path, orders: str, code: int, out: bytes) -> None:
    (here / "script").write_text(orders)
    command = [sys.executable, str(ROOT / "demos" / "scripted-llm"), "--script", str(here / "script")]
    done = subprocess.run(command, input=b"prompt", capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (code, out)


def test_the_stand_in_prints_megabytes_and_asks_for_ever(sh: Shell) -> None:
    assert len(sh("scripted-llm --do 'megabytes 2'").out) == (2 << 20) + 1
    assert sh("set -o pipefail; scripted-llm --do endless | head -c 5000000 | wc -c").text.strip() == "5000000"
    assert json.loads(sh("scripted-llm --do loop").text.partition("\n")[0])["need_more"] is True
    assert len({sh("echo @loop >s; scripted-llm --script s").text for _ in range(3)}) == 3


@pytest.mark.slow
def test_the_benchmarks_measure_everything(sh: Shell, here: Path) -> None:
    (here / "corpus").mkdir()
    (here / "corpus" / "doc.md").write_text("# Doc\n\nThe gateway retries twice.\n" * 200)
    few = f"--runs 1 --items 200 --large 400 --sessions 20 --corpus '{here}/corpus'"
    done = sh(f"cd '{ROOT}' && '{sys.executable}' -m benchmarks {few}")
    assert done.code == 0, done.notes
    assert "skipped" not in done.text
    assert "| start: `memctl search` |" in done.text
    assert not os.path.exists(here / ".memory")
