"""An exchange that is killed at any statement or file: nothing is lost, and the next one ends where it would have."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from homes import SHARED, Home, exchange, homes
from memctl.remote import exchange as exchanging
from memctl.remote.git import GitCarrier
from memctl.store import database
from support import PATIENCE

KILLED = 137
#: Kill points of a quick run, evenly spread over all.
QUICK_POINTS = 12
#: The sweep over all of them is so many tests: as one, it keeps one core busy for minutes while the others wait.
PARTS = 8


def prepare(*, git: bool, said_by_both: bool = False) -> tuple[Home, Home]:
    """Two stores with something to say to each other, as files that can be put back."""
    if git:
        subprocess.run(["git", "init", "--quiet", "--bare", SHARED], check=True)
    anna, bert = homes("anna", "bert")
    said = anna.say("We deploy on Fridays.", "--tags", "ops")
    gone = anna.say("The cache lives in Redis.")
    for number in range(2 * said_by_both):
        bert.say(f"Statement {number} about thing number {number}.")
    exchange(anna, bert)
    anna.ok("edit", said, "--content", "We deploy on Mondays.")
    anna.ok("purge", gone, "--yes")
    anna.say("The API speaks JSON.")
    anna.sync()
    bert.ok("edit", said, "--content", "We deploy on Sundays.")
    bert.say("The queue is RabbitMQ.")
    for name in ("anna", "bert", SHARED):
        shutil.copytree(name, f"before/{name}")
    return anna, bert


def put_back() -> None:
    for name in ("anna", "bert", SHARED):
        shutil.rmtree(name)
        shutil.copytree(f"before/{name}", name)


def killed_sync(home: Home, at: int) -> tuple[int, int]:
    """Exchange in a child that dies at its step number `at` (0: never); its status, and how many steps it took."""
    tally = Path("tally")
    pid = os.fork()
    if pid == 0:
        count = _counter(at, tally)
        connect, replace, fsync = sqlite3.connect, os.replace, os.fsync

        def watched(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            conn: sqlite3.Connection = connect(*args, **kwargs)
            conn.set_trace_callback(lambda _: count())
            return conn

        sqlite3.connect = vars(database)["sqlite3"].connect = watched  # type: ignore[assignment]
        os.replace = lambda *given, **how: (count(), replace(*given, **how), count())[1]
        os.fsync = lambda *given: (count(), fsync(*given))[1]
        call = GitCarrier._git

        def git(carrier: GitCarrier, *words: str, data: bytes = b"") -> bytes:
            count()
            said = call(carrier, *words, data=data)
            count()
            return said

        GitCarrier._git = git  # type: ignore[assignment, method-assign]
        exchanging._PORTION = 1  # each statement is a transaction of its own
        status = 99
        try:
            status = home.run("remote", "sync").code
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, len(tally.read_bytes())


def _counter(at: int, tally: Path) -> Callable[[], None]:
    log = os.open(tally, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    seen = 0

    def count() -> None:
        nonlocal seen
        seen += 1
        os.write(log, b".")
        if seen == at:
            os._exit(KILLED)

    return count


def logs_there() -> int:
    found = [*Path(SHARED).glob("memctl/project/*"), *Path(SHARED).glob("refs/memctl/project/*")]
    return len(found)


def lose(home: Home) -> None:
    """What it has written is gone there."""
    ((replica,),) = home.rows("SELECT replica FROM memctl_remotes")
    shutil.rmtree(Path(SHARED, "memctl", "project", replica))


def some(points: int) -> Callable[[int], range]:
    """So many kill points, evenly spread."""
    return lambda steps: range(1, steps + 1, max(1, steps // points))


def share(part: int) -> Callable[[int], range]:
    """One of `PARTS` shares of all kill points."""
    return lambda steps: range(1 + part, steps + 1, PARTS)


def sweep(kill_points: Callable[[int], range], *, git: bool = False, lost: bool = False) -> None:
    """Kill an exchange at the steps that `kill_points` chooses, of so many as there are."""
    anna, bert = prepare(git=git, said_by_both=lost)
    if lost:
        lose(bert)
    status, steps = killed_sync(bert, 0)
    assert status == 0
    exchange(anna, bert)
    wanted = anna.texts()
    assert wanted == bert.texts()
    assert len(wanted) == 4 + 2 * lost
    for at in kill_points(steps):
        put_back()
        if lost:
            lose(bert)
        assert killed_sync(bert, at)[0] == KILLED
        assert bert.rows("PRAGMA integrity_check") == [("ok",)]
        exchange(anna, bert)
        assert (anna.texts(), bert.texts()) == (wanted, wanted), at
        assert logs_there() == 2, at
        assert bert.json("remote", "verify", "team")["status"] == "ok", at
        if lost:
            carl = Home("carl").join("--trust", "high")
            carl.sync()
            assert carl.texts() == wanted, at
            shutil.rmtree("carl")


@pytest.mark.parametrize(("git", "points"), [(False, QUICK_POINTS), (True, QUICK_POINTS // 3)], ids=["folder", "git"])
def test_an_exchange_that_is_killed_goes_on(git: bool, points: int) -> None:
    sweep(some(points), git=git)


def test_a_log_that_is_written_anew_and_killed_has_everything() -> None:
    sweep(some(QUICK_POINTS), lost=True)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_log_that_is_written_anew_and_killed_anywhere_has_everything(part: int) -> None:
    sweep(share(part), lost=True)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("git", [False, True], ids=["folder", "git"])
def test_an_exchange_that_is_killed_anywhere_goes_on(git: bool, part: int) -> None:
    sweep(share(part), git=git)


def test_two_processes_on_one_store_are_one_machine() -> None:
    anna, bert = homes("anna", "bert")
    for number in range(5):
        anna.say(f"Fact number {number} is about topic {number}.")
    line = [sys.executable, "-m", "memctl", "remote", "sync"]
    started = [subprocess.Popen(line, env=os.environ | anna.env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
               for _ in range(3)]  # fmt: skip
    assert [one.wait(PATIENCE) for one in started] == [0, 0, 0]
    exchange(anna, bert)
    assert len(bert.texts()) == 5
    assert len(list(Path(SHARED, "memctl", "project").iterdir())) == 1
    assert bert.json("remote", "verify", "team")["status"] == "ok"
