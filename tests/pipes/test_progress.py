"""What takes long says on a terminal, a real pty, that it goes on; in a pipe and with --quiet it says nothing."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from support import PATIENCE, ok

#: Each is held up where it works, for SQLite's own work cannot be made slow at will, until something was said of it
#: (where nothing is to be said: for a moment); a second is a tenth of one.
_SLOW = f"""
import sys, threading, time
from memctl.cli import main
from memctl.context import Context
from memctl.lifecycle import consolidate, correct
from memctl.store import backup, check, contents, purge, undo

wait = threading.Event.wait
threading.Event.wait = lambda self, seconds=None: wait(self, 0.1 if seconds == 1 else seconds)

told, progress = threading.Event(), Context.progress
Context.progress = lambda self, message: (progress(self, message), "working" in message and told.set())

def slow(module, name):
    done = getattr(module, name)
    seconds = 0.3 if "--quiet" in sys.argv else {PATIENCE}
    setattr(module, name, lambda *args, **more: (told.wait(seconds), done(*args, **more))[1])

for module, name in (
    (backup, "back_up"), (backup, "vacuum"), (check, "check_store"), (consolidate, "plan"), (contents, "reset_store"),
    (correct, "forget_items"), (correct, "edit_item"), (correct, "promote_items"), (correct, "set_validation"),
    (purge, "purge_items"), (undo, "undo"), (backup, "salvage"),
):
    slow(module, name)
sys.exit(main(sys.argv[1:]))
"""


def shown(*argv: str) -> str:
    """What a terminal shows of a command, which has to succeed."""
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", _SLOW, *argv], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    with suppress(OSError):  # nobody holds the other end any more
        while more := os.read(master, 65536):
            seen += more
    assert process.wait(PATIENCE) == 0, seen
    os.close(master)
    return seen.decode()


@pytest.fixture
def store() -> str:
    ok("init")
    return ok("remember", "The gateway retries twice.").text.strip()


@pytest.mark.parametrize(
    "argv",
    [
        "backup copy.db", "vacuum", "doctor", "verify", "consolidate", "reset --yes", "purge ID --yes", "undo",
        "forget ID", "tag ID +b", "promote ID", "retract ID", "verify ID",
        "salvage .memory/memory.db new.db",
    ],
)  # fmt: skip
def test_work_is_seen_to_go_on(store: str, argv: str) -> None:
    words = argv.replace("ID", store).split()
    assert f"[{words[0]}] working: 1 s" in shown(*words)


def test_quiet_is_quiet(store: str) -> None:
    assert "working" not in shown("vacuum", "--quiet")
    assert store in ok("list").text
    assert Path(".memory/memory.db").exists()
