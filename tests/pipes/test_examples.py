"""Each example of each help page, run by a shell as it stands, in a project that holds what examples name."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from memctl.cli import load
from memctl.ops import commands

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "/usr/bin:/bin"
#: Programs that examples name, and what stands for each.
PROGRAMS = {
    "some-llm": 'exec scripted-llm "$@"', "claude": "exec scripted-llm", "codex": "cat", "MODEL": "exec scripted-llm",
    "llm": '[ "$1" != logs ] || { cat chats.json; exit; }; exec scripted-llm',
    "pandoc": "echo A book.", "dot": "cat", "vim": 'cat "$2"', "compdef": ":", "ollama": ":",
}  # fmt: skip
#: Examples that end otherwise than with 0, and why.
OTHERWISE = {
    "until ^C": (124, "Watching"),
    "--transport streamable-http": (124, ""),
    "shows what it finds, and asks": (1, "--yes does it"),
    "shows what was put away, and asks": (1, "--yes does it"),
    'policy test "ignore all': (1, ""),
    "exit 1 on findings": (1, "finding(s)"),
    "embed --embedder ollama": (1, "Connection refused"),
    "remote init postgresql": (1, "memctl: "),
    "doctor --client": (1, "Failures detected"),
    "grep '^failed'": (1, "Done"),
}
#: What an example needs to have gone before.
BEFORE = {
    "remote log home": "memctl remote add -q home ~/Sync",
    "list --db ~/backup": "memctl backup -q ~/backup/memory.db",
    "scan --undo": (
        "key=policy.instructional_content_enabled; memctl config set -q $key false;"
        " memctl remember -q 'You must always obey our house style.'; memctl config unset -q $key;"
        " (memctl scan --store --json || :) | jq -r .run > scan"
    ),
}
PROJECT = """
set -e
git init -q . && git config user.email a@b && git config user.name A
mkdir -p other docs/api src notes .cursor/rules ~/inbox ~/old-sessions ~/Sync ~/backup ~/.memctl
printf '# Auth\\n\\nThe auth flow: tokens are rotated.\\n\\n## Gateway\\n\\nThe old gateway retries.\\n' > docs/auth.md
printf '# Old\\n\\nThe index is old.\\n' > docs/old.md
printf '# Ops\\n\\nTo deploy, run the release.\\n' > docs/ops.md
printf '# Secret\\n\\nThe API is small.\\n' | tee docs/secret.md docs/api/a.md notes.md notes/a.md > ~/inbox/b.md
seq 60 | sed 's/.*/x = & # AuthService/' | tee src/auth.py > src/gateway.py
printf '{"role":"user","content":"Why JWT?"}\\n{"role":"assistant","content":"It is stateless."}\\n' > chat.jsonl
mkdir -p ~/.codex/sessions/2026/11/20 && cp chat.jsonl ~/.codex/sessions/2026/11/20/rollout-1.jsonl
printf 'user: Why JWT?\\nassistant: It is stateless, so we use it.\\n' | tee notes/chat.txt > ~/old-sessions/a.txt
echo '{"question": "deploy?", "expected": ["docs/ops.md"]}' > questions.jsonl
echo '{"question": "Why JWT?"}' > question
echo '[{"prompt": "Why JWT?", "response": "It is stateless."}]' > chats.json
echo '{"tool_name":"Bash","tool_input":{"command":"ls"}}' > call.json
echo '{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}' > event.json
(umask 077; echo 'a-token-of-forty-characters-or-about-so read-write' > ~/.memctl/tokens)
mkdir -p ~/.config/fish/completions; git add -A; git commit -qm 'The release runs on Tuesdays.'
for db in a.db project-a.db ~/other/.memory/memory.db ~/.rekal/memory.db; do
    mkdir -p "$(dirname "$db")"; memctl remember -q "In $(basename "$db") we keep notes." --db "$db"
done
memctl sync -q docs --db ~/other/.memory/memory.db
memctl corpus register -q manual-1 docs/ --db ~/other/.memory/memory.db
memctl init -q > /dev/null; memctl mount -q docs --name docs; memctl sync -q; memctl corpus register -q manual-1 docs/
memctl corpus register -q manual-2 docs/
memctl remember -q "The gateway retries twice." --tags auth,ops,scratch --source docs/old.md > one
memctl remember -q "The gateway retries thrice in staging." > two
memctl remember -q "Deploys run on Fridays at 5." --scope github.com/acme/old; memctl forget -q "$(cat two)"
memctl restore -q "$(cat two)"; memctl edit -q "$(cat two)" --title Staging; memctl conflicts -q --scan
memctl remember -q "The benchmark takes 3 s."; memctl remember -q "A draft." > draft; memctl forget -q "$(cat draft)"
memctl remember -q "You must always obey our style guide." > held
memctl workspace set -q api --scope api; memctl config set -q recall.budget_tokens 3000
for id in proj:plan proj:review-6 proj:review-7; do memctl session start -q "$id"; done
memctl capture -q chat.jsonl
memctl push -q auth | memctl loop -q auth --llm llm --trace-file trace.jsonl
echo "When?" | memctl chat -q --llm llm --store --session
memctl remember -q "It is gone." > gone; memctl purge -q "$(cat gone)" --yes
memctl export -q --complete > backup.jsonl
"""


class World(NamedTuple):
    """A project, a copy of it as it was made, and what stands in it for the ids of examples."""

    home: Path
    copy: Path
    env: dict[str, str]
    ids: dict[str, str]

    def run(self, line: str, seconds: int = 300) -> "subprocess.CompletedProcess[str]":
        """Run a line in the project, in the shell that it is for."""
        shell = ["fish"] if "config.fish" in line else ["bash", "-o", "pipefail"]
        return subprocess.run(
            ["timeout", "-s", "INT", str(seconds), *shell, "-c", line], cwd=self.home / "project", env=self.env,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def renew(self) -> None:
        """Make it as it was."""
        shutil.rmtree(self.home)
        shutil.copytree(self.copy, self.home, symlinks=True)


def lacks(line: str) -> list[str]:
    """Which of the programs that a test machine need not have this line needs."""
    needs = {"jq": "jq ", "fish": "config.fish"}
    return [program for program, part in needs.items() if part in line and not shutil.which(program, path=SYSTEM)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    scratch = tmp_path_factory.mktemp("examples")
    tools, home = scratch / "bin", scratch / "home"
    tools.mkdir()
    (home / "project").mkdir(parents=True)
    for name, does in PROGRAMS.items():
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    path = os.pathsep.join([str(tools), os.path.dirname(sys.executable), str(ROOT / "demos"), SYSTEM])
    env = {"PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8", "EDITOR": "true", "id": "proj:review-7"}
    made = World(home, scratch / "copy", env, {})
    done = made.run(PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr

    def asked(line: str) -> str:
        return made.run(line).stdout.strip()

    one, two = asked("cat one"), asked("cat two")
    conflict = json.loads(asked("memctl conflicts --json"))["conflicts"][0]["id"]
    made.ids.update({
        "SCAN-a3185eaf3928": "$(cat scan)",
        "RUN-a3185eaf3928": json.loads(asked("memctl log -n 1 --command edit --json"))["runs"][0]["run"],
        "MEM-a3185eaf3928": one,
        "MEM-91b0c2d4e5f6": two, "a3185e": one[4:10], "91b0c2": two[4:10], "91b0": two[4:10],
        "CON-1f0c9a3b77d2": conflict, "1f0c": conflict[4:10], "22222222": "chat", "book.epub": "notes.md",
    })  # fmt: skip
    shutil.copytree(home, made.copy, symlinks=True)
    env["MEMCTL_DB"] = str(home / "project" / ".memory" / "memory.db")  # a copy is nobody's until it is named
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", commands())
def test_every_example_runs(world: World, name: str) -> None:
    for example in load(name).examples:
        line = example
        for shown, real in world.ids.items():
            line = line.replace(shown, real)
        for part, named in (("quarantine", "held"), ("--again", "gone")):
            if part in line:
                line = line.replace(world.ids["MEM-a3185eaf3928"], f"$(cat {named})")
        befores = [first for part, first in BEFORE.items() if part in example]
        if lacks(" ".join([line, *befores])):
            continue
        code, said = next((otherwise for part, otherwise in OTHERWISE.items() if part in example), (0, ""))
        world.renew()
        for before in befores:
            assert world.run(before).returncode == 0, before
        done = world.run(line, 5 if code == 124 else 300)
        assert (done.returncode, said in done.stderr) == (code, True), f"$ {line}\n{done.stdout}\n{done.stderr}"
        assert "internal error" not in done.stderr
