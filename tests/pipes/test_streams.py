"""Ends of pipes that are closed, full, endless or not text; and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import PATIENCE

Shell = Callable[..., Any]


@pytest.fixture
def many(sh: Shell, here: Path) -> None:
    """A store whose export is far larger than a pipe holds."""
    lines = (
        json.dumps({"title": f"item {n}", "content": f"statement number {n} " + "word " * 60}) for n in range(1000)
    )
    (here / "many.jsonl").write_text("\n".join(lines))
    assert sh("memctl import many.jsonl -q --db many.db").code == 0


def test_a_reader_that_leaves_early_ends_the_command_quietly(sh: Shell, many: None) -> None:
    done = sh('memctl export --db many.db -q | head -n 1; echo "${PIPESTATUS[0]}"')
    line, status = done.text.splitlines()
    assert json.loads(line)["title"].startswith("item")
    assert status == "141"
    assert done.err == b""


@pytest.mark.parametrize(
    "argv", [["--help"], ["list", "--limit", "200"], ["stats"], ["search", "statement", "-k", "50"]]
)
def test_a_short_answer_is_one_write(many: None, argv: list[str], here: Path) -> None:
    """`| grep -q` leaves at the first line: nothing is left to be written then, even where Python buffers nothing."""
    import socket

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        done = subprocess.run(
            [sys.executable, "-m", "memctl", *argv, "--db", "many.db"], cwd=here, stdout=theirs.fileno(), check=False,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        theirs.close()
        pieces = []
        while piece := ours.recv(1 << 20):
            pieces.append(piece)
    assert (done.returncode, len(pieces)) == (0, 1)
    assert pieces[0].endswith(b"\n")


def test_list_into_head_too(sh: Shell, many: None) -> None:
    done = sh('memctl list --db many.db --limit 1000 -q | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}"')
    assert done.text in ("0\n", "141\n")
    assert done.err == b""


@pytest.mark.parametrize("command", ["memctl pull", "memctl push q --source -", "memctl import"])
def test_closed_stdin_is_one_sentence(sh: Shell, command: str) -> None:
    done = sh(f"{command} <&-")
    assert done.code == 1
    assert done.notes.startswith("memctl: ") or "\nmemctl: " in done.notes
    assert done.out == b""


@pytest.mark.parametrize("command", ["search statement", "export", "list", "stats", "recall statement"])
@pytest.mark.parametrize("end", [">&-", ">/dev/full"])
def test_an_answer_that_cannot_be_written_is_never_a_success(sh: Shell, many: None, command: str, end: str) -> None:
    if "full" in end and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = sh(f"memctl {command} --db many.db {end}")
    assert done.code in (1, 2)
    assert "memctl: " in done.notes


def test_closed_stderr_does_not_stop_the_work(sh: Shell) -> None:
    assert sh("echo 'The cache lives in Redis.' | memctl pull 2>&-").code == 0
    assert len(json.loads(sh("memctl search redis --json").out)) == 1


@pytest.mark.parametrize(
    "data",
    [b"before\x00after the zero byte\n", b"caf\xe9 in latin-1\n", b"half a character \xf0\x9f\n", b"\xff\xfe\x00"],
)
def test_bytes_that_are_not_text(sh: Shell, data: bytes) -> None:
    done = sh("memctl pull --title bytes", stdin=data)
    assert done.code in (0, 1)
    if done.code == 0 and "says nothing: not stored" not in done.notes:  # a replacement character is no statement
        assert len(json.loads(sh("memctl list --json").out)) == 1
        assert sh("memctl export").code == 0


@pytest.mark.parametrize("megabytes", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_megabytes_on_stdin_are_stored_whole(sh: Shell, megabytes: int) -> None:
    paragraph = "Paragraph {:06d} says that the worker retries twice and then gives up for good.\n\n"
    count = megabytes * 1_000_000 // len(paragraph)
    text = "".join(map(paragraph.format, range(count)))
    assert sh("memctl pull --title Long", stdin=text.encode()).code == 0
    exported = sh("memctl export -q").text.splitlines()
    stored = "\n".join(json.loads(line)["content"] for line in exported)
    missing = [n for n in range(0, count, 199 * megabytes // 2) if f"Paragraph {n:06d} " not in stored]
    assert missing == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_reading_stdin(clean_env: dict[str, str], here: Path, signum: signal.Signals) -> None:
    command = [os.path.join(os.path.dirname(sys.executable), "memctl"), "pull"]
    child = subprocess.Popen(
        command, cwd=here, env=clean_env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    # A pipe holds 64 KiB: once a megabyte has gone in, the command is past its start and reading.
    child.stdin.write(b"word " * 200_000)
    child.stdin.flush()
    child.send_signal(signum)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode in (128 + signum, -signum)
    assert (out, b"Traceback" in err) == (b"", False)
    if signum == signal.SIGINT:
        assert child.returncode == 130
