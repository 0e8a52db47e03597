"""memctl chat on a terminal, a real pty: lines are edited, Ctrl-C and Ctrl-D work, and stdout has answers only.

And memctl review: one key decides.
"""

import os
import pty
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl import ids
from support import PATIENCE

Shell = Callable[..., Any]
SECRET = "ghp_" + "a1B2c3D4e5" * 4
HISTORY = Path(".local/state/memctl/chat_history")

#: The terminal becomes the controlling one of a session of its own, so that Ctrl-C reaches who is meant.
_ON_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
#: What a background job of a shell ignores is heeded again.
_HEEDS_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Talk(NamedTuple):
    """How a chat ended: its exit code, what the terminal showed, and what stdout got, which is a file."""

    code: int
    shown: str
    out: str


Typist = Callable[..., Talk]


@pytest.fixture
def typed(clean_env: dict[str, str], here: Path, sh: Shell) -> Typist:
    """`typed(steps, *flags)`: a chat on a terminal; each step waits for a text to be shown and types another."""
    assert sh("memctl remember -q 'Sessions live in Redis for thirty minutes.'").code == 0
    (here / "hang").write_text("#!/bin/sh\necho $$ > pid\necho begun\necho thinking >&2\nexec sleep 1000\n")
    (here / "hang").chmod(0o755)

    def run(steps: Sequence[tuple[str, str]], *flags: str, llm: str = "echo 'In Redis.'") -> Talk:
        master, slave = pty.openpty()
        with open(here / "out", "wb") as out:
            argv = [sys.executable, "-c", _ON_TERMINAL, "memctl", "chat", "--llm", llm, *flags]
            process = subprocess.Popen(argv, stdin=slave, stdout=out, stderr=slave, cwd=here, env=clean_env)
        os.close(slave)
        shown, left = _typing(master, process, list(steps))
        code = process.wait(20)
        os.close(master)
        assert left == [], shown
        return Talk(code, shown.replace("\r\n", "\n"), (here / "out").read_text())

    return run


def _typing(
    master: int, process: "subprocess.Popen[bytes]", steps: list[tuple[str, str]]
) -> tuple[str, list[tuple[str, str]]]:
    """Type as the steps say until the program has ended; what was shown, and the steps that were not reached."""
    shown, at, latest, quiet = b"", 0, b"", 0
    deadline = ids.monotonic() + PATIENCE
    while ids.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.05)
        quiet = 0 if ready else quiet + 1
        if ready:
            try:
                shown += os.read(master, 65536)
            except OSError:  # nobody holds the other end any more
                return shown.decode(), steps
        elif steps and (found := shown.find(steps[0][0].encode(), at)) >= 0:
            at = found + len(steps[0][0].encode())
            latest = steps.pop(0)[1].encode()
            os.write(master, latest)
        elif process.poll() is not None:
            return shown.decode(), steps
        elif latest == b"\x03" and quiet % 40 == 0:
            os.write(master, latest)  # Python misses one that comes while readline draws; people press it again, too
    process.kill()
    return shown.decode() + "\n(still running)", steps


def test_a_question_of_two_lines_and_its_answer(typed: Typist, home: Path, here: Path) -> None:
    talk = typed([("> ", "where do\\\n"), (". ", "sessions live\n"), ("> ", f"{SECRET}\n"), ("> ", "\x04")],
                 llm="tee -a prompts")  # fmt: skip
    assert talk.code == 0
    assert "where do\nsessions live" in talk.out
    assert "Enter to send" in talk.shown
    assert not any(mark in talk.out for mark in ("> ", "Enter to", "spent", "\x1b"))
    assert (home / HISTORY).read_text() == "where do\\\nsessions live\n"
    assert stat.S_IMODE((home / HISTORY).stat().st_mode) == 0o600
    assert (here / "prompts").read_text().count("## Question") == 2


def test_what_was_typed_before_comes_back_and_can_be_edited(typed: Typist, home: Path) -> None:
    (home / HISTORY).parent.mkdir(parents=True, exist_ok=True)
    (home / HISTORY).write_text("where do sessions leave\n")
    talk = typed([("> ", "\x1b[A"), ("leave", "\x7f" * 4 + "ive\n"), ("> ", "\x04")], llm="cat")
    assert talk.code == 0
    assert talk.out.endswith("## Question\n\nwhere do sessions live\n\n")


def test_ctrl_c_stops_the_model_and_then_the_line_but_not_the_chat(typed: Typist, here: Path) -> None:
    talk = typed([("> ", "sessions?\n"), ("thinking", "\x03"), ("Stopped.", ""), ("> ", "half a"), ("half a", "\x03"),
                  ("> ", "/scope\n"), ("Recalls from", ""), ("> ", "\x04")], "-v", llm="./hang")  # fmt: skip
    assert talk.code == 0
    assert "[chat] Stopped." in talk.shown
    assert "half" not in talk.out
    with pytest.raises(ProcessLookupError):
        os.kill(int((here / "pid").read_text()), 0)


def test_a_session_on_a_terminal(typed: Typist) -> None:
    steps = [
        ("> ", "how many zebras\n"), ("> ", "/forgt\n"), ("did you mean /forget?", ""), ("> ", "stripes\n"),
        ("> ", "quit\n"),
    ]  # fmt: skip
    talk = typed(steps, "--session", llm="cat")
    assert talk.code == 0
    assert "Q: how many zebras" in talk.out.partition("zebras\n\n")[2]


def test_a_slow_model_is_waited_for_aloud(typed: Typist) -> None:
    talk = typed([("> ", "sessions?\n"), ("waiting for the model: 1 s", ""), ("> ", "exit\n")],
                 llm="sh -c 'sleep 1.5; echo late'")  # fmt: skip
    assert talk.code == 0
    assert "waiting" not in talk.out


# --- without a terminal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["chat"], ["ask", ".", "sessions?", "--mount-mode", "ephemeral"]], ids=" ".join)
def test_an_interrupt_stops_the_model_and_the_command(
    typed: Typist, clean_env: dict[str, str], here: Path, argv: list[str]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _HEEDS_CTRL_C, "memctl", *argv, "--llm", "./hang", "-v"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=here, env=clean_env,
    )  # fmt: skip
    assert process.stdin is not None and process.stderr is not None
    process.stdin.write(b"sessions?\nanother?\n")
    process.stdin.close()
    while b"thinking" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert process.stdout is not None and process.stdout.read() == b""
    with pytest.raises(ProcessLookupError):
        os.kill(int((here / "pid").read_text()), 0)
    for pipe in (process.stdout, process.stderr):
        pipe.close()


def test_one_key_decides_what_review_shows(clean_env: dict[str, str], here: Path, sh: Shell) -> None:
    for limit in ("30", "40"):
        sh(f"memctl remember -q 'The limit of the pool is {limit}.'")
    master, slave = pty.openpty()
    argv = [sys.executable, "-c", _ON_TERMINAL, "memctl", "review"]
    process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, cwd=here, env=clean_env)
    os.close(slave)
    shown, left = _typing(master, process, [("quit", "\n"), ("", "x"), ("is none of", "b")])
    os.close(master)
    assert (process.wait(20), left) == (0, []), shown
    assert "keep-b" in shown and "1 decided" in shown
    assert b"None known" in sh("memctl conflicts").err
