"""memctl capture as a process: it follows a transcript that grows, and ends when it is interrupted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def line(role: str, text: str, number: int) -> str:
    said = {"role": role, "content": text}
    return json.dumps({"type": role, "uuid": f"{number:032}", "sessionId": "s-1", "message": said}) + "\n"


def test_watch_takes_in_what_is_new_until_interrupted(clean_env: dict[str, str], here: Path) -> None:
    talk = here / "t.jsonl"
    talk.write_text(line("user", "We use tabs.", 1) + line("assistant", "Noted.", 2))
    memctl = [sys.executable, "-m", "memctl", "--db", "memory.db"]
    options: dict[str, Any] = {"cwd": here, "env": clean_env, "text": True, "timeout": PATIENCE}
    subprocess.run([*memctl, "remember", "A store."], **options, check=True, capture_output=True)
    child = subprocess.Popen(
        [*memctl, "capture", "t.jsonl", "--watch", "--interval", "0.2"], cwd=here, env=clean_env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert child.stderr is not None

        def said(words: str) -> None:
            lines = [child.stderr.readline()]  # type: ignore[union-attr]
            while words not in lines[-1]:
                assert lines[-1], lines
                lines.append(child.stderr.readline())  # type: ignore[union-attr]

        said("Watching")
        with talk.open("a") as file:
            file.write(line("user", "And for Make?", 3) + line("assistant", "Tabs, too.", 4)[:-9])
        said("turn(s) taken in")
        with talk.open("a") as file:
            file.write(line("assistant", "Tabs, too.", 4)[-9:])
        said("turn(s) taken in")
        talk.rename(here / "old.jsonl")
        said("No such file")
        talk.write_text(line("user", "Back from rotation.", 5))
        said("turn(s) taken in")
        os.killpg(child.pid, signal.SIGINT)
        child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0
    shown = subprocess.run([*memctl, "session", "show", "s-1", "--json"], **options, check=True, capture_output=True)
    turns = [(turn["question"], turn["answer"]) for turn in json.loads(shown.stdout)["turns"]]
    assert turns == [("We use tabs.", "Noted."), ("And for Make?", "Tabs, too."), ("Back from rotation.", "")]
