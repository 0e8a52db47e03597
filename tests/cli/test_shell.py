"""`memctl completion` and `shell-init`, in the shells themselves where these are installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.ops import GLOBALS, TABLE, commands
from support import PATIENCE, ok, run

SHELLS = ("bash", "zsh", "fish")
#: What a bash that is asked to complete these words would show.
TRY = """
source <(memctl completion bash)
COMP_WORDS=(%s)
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_memctl
printf '%%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def home(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `memctl` on the PATH and a store."""
    door = scratch / "bin/memctl"
    door.parent.mkdir()
    door.write_text(f'#!/bin/sh\nexec {sys.executable} -m memctl "$@"\n')
    door.chmod(0o755)
    monkeypatch.setenv("PATH", f"{door.parent}{os.pathsep}{os.environ['PATH']}")
    ok("remember", "We deploy on Fridays.", "--tags", "deploy,a b,$(touch pwned)", "--title", "Deploys")
    ok("remember", "Widgets are blue.", "--scope", "github.com/acme/widget")
    ok("workspace", "set", "api")
    return scratch


def shell(name: str, script: str) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    done = subprocess.run(
        [name, *flags, "-c", script], capture_output=True, text=True, check=False, timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("memctl rememb", ["remember"]),
        ("memctl recall --tie", ["--tier"]),
        ("memctl recall x --tier ''", ["stm", "mtm", "ltm"]),
        ("memctl recall --tier = m", ["mtm"]),
        ("memctl list --scope gith", ["github.com/acme/widget"]),
        ("memctl list --tags deploy,a", ["deploy\\,a\\ b"]),
        ("memctl list --tags '$'", ["\\$\\(touch\\ pwned\\)"]),
        ("memctl search x -w a", ["api"]),
        ("memctl -q help scop", ["scope"]),
        ("memctl scope mv proj", ["project"]),
        ("memctl docs glo", ["glossary"]),
        ("memctl --db other.db list --scope gith", []),
        ("memctl import bi", ["bin"]),
        ("memctl recall --budget ''", []),
        ("memctl completion words ta", ["tags"]),
        ("memctl nonsense ''", []),
    ],
)
@pytest.mark.parametrize("strict", ["", "set -euo pipefail; shopt -s failglob"])
def test_bash_completes(home: Path, words: str, found: list[str], strict: str) -> None:
    said = shell("bash", f"{strict}\n{TRY % words}")
    assert said.split("\n")[:-1] == (found or [""])
    assert not (home / "pwned").exists()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("memctl recall --tie", ["--tier"]),
        ("memctl list --scope gith", ["github.com/acme/widget"]),
        ("memctl list --tags deploy,a", ["deploy,a b"]),
        ("memctl docs glo", ["glossary"]),
        ("memctl search x -w a", ["api"]),
    ],
)
@pytest.mark.usefixtures("home")
def test_fish_completes(line: str, found: list[str]) -> None:
    out = shell("fish", f"memctl completion fish | source; complete -C '{line}'")
    assert [one.partition("\t")[0] for one in out.splitlines()] == found


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", SHELLS)
def test_what_is_printed_is_that_shells_language_and_gives_the_shortcuts(name: str) -> None:
    load = {"fish": "memctl shell-init fish | source"}.get(name, f'eval "$(memctl shell-init {name})"')
    assert "Fridays" in shell(name, f"{load}; memq when do we deploy")
    assert "MEM-" in shell(name, f"{load}; echo 'The cache is warm.' | mempull cache 2>&1; memctl list --tags cache")
    there = shell(name, f"{load}; meminit there; memctl status --json; cd there; echo x")
    assert "there/memory.db" in there


@pytest.mark.parametrize("name", SHELLS)
def test_every_command_and_every_option_is_in_it(name: str) -> None:
    script = ok("completion", name).text
    for one in GLOBALS:
        assert one.flags[-1].lstrip("-") in script
    for command in commands():
        op = TABLE[command].load(command)
        line = "".join(
            line for line in script.splitlines() if f"__memctl_is {command}'" in line or f" {command}) " in line
        )
        for param in op.params():
            if param.arg.cli and not param.positional:
                assert all(flag.lstrip("-") in line for flag in param.arg.flags), (command, param.name)


def test_without_a_store_nothing_is_completed_and_nothing_made(scratch: Path) -> None:
    for kind in ("ids", "tags", "scopes", "mounts", "workspaces", "sessions"):
        done = ok("completion", "words", kind)
        assert (done.out, done.err) == (b"", b"")
    assert not (scratch / ".memory").exists()
    (scratch / "bad.db").write_bytes(b"no store" * 999)
    assert ok("completion", "words", "ids", "--db", "bad.db").out == b""


def test_ids_come_with_their_titles() -> None:
    item = ok("remember", "Line one.\nLine two.", "--title", "A title", "-q").text.strip()
    assert ok("completion", "words", "ids", item[:6]).text == f"{item}\tA title\n"
    assert ok("completion", "words", "ids", "--json").json() == {"status": "ok", "words": [item]}


def test_the_shell_is_the_one_that_is_used() -> None:
    assert ok("shell-init", env={"SHELL": "/usr/bin/fish"}).text.startswith(
        "# shortcuts and completion of memctl, printed by `memctl shell-init fish`"
    )
    plain = ok("shell-init", env={"SHELL": "/bin/dash"}).text
    assert "shell-init sh" in plain
    assert "complet" not in plain, "what bash, zsh and fish complete with is a syntax error elsewhere"
    assert run("completion", "tcsh").code == 1


@pytest.mark.parametrize("name", SHELLS)
def test_meminit_evaluates_no_help_page(name: str, home: Path) -> None:
    start = "memctl shell-init fish | source" if name == "fish" else f'eval "$(memctl shell-init {name})"'
    shell(name, f"{start}\nmeminit --help\ntrue")
    assert (home / "--help" / "memory.db").exists()
