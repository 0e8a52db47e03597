"""The end of memctl setup: the very command that was written is started, and answers."""

import sys
from pathlib import Path

from memctl.clients.examine import shake_hands
from memctl.process import own_command


def test_the_server_of_this_memctl_answers(scratch: Path) -> None:
    answer = shake_hands([*own_command(), "serve"])
    assert answer["ok"]
    assert "memory_recall" in answer["tools"]
    assert list(scratch.iterdir()) == []


def test_python_with_the_module_is_a_command_too() -> None:
    assert shake_hands([sys.executable, "-m", "memctl", "serve"])["ok"]


def test_what_is_no_server_is_told() -> None:
    assert "cannot be run" in shake_hands(["/nowhere/memctl", "serve"])["problem"]
    assert "no answers" in shake_hands(["echo", "hello"])["problem"]
    assert "no list of tools" in shake_hands(["true"])["problem"]
    assert "within 0.2 s" in shake_hands(["sleep", "60"], 0.2)["problem"]
