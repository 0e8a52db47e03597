"""Guards that hold for every test: a scratch HOME, a scratch folder to stand in, no MEMCTL_* of the user's."""

import gc
import os
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import support
from memctl import context, ids
from memctl.store import migrate, schema
from memctl.store.database import Database

#: No test looks at a clock: how long an example takes says how busy the machine is. A run without the slow sweeps tries
#: a third of the examples; CI tries all of them on its first Python.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("suite", CALM)
settings.register_profile("quick", CALM, max_examples=33)

#: A file system in memory. Nearly every test makes a store, and all cores wait for a disk that must have each of them.
MEMORY = "/dev/shm"
#: What must be free there, in bytes: several times what the largest tests of a run have at one time.
MEMORY_NEEDED = 4 << 30
#: The folders of the test that runs, and whether it failed: then they stay.
FOLDERS: list[Path] = []
FAILED: set[str] = set()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite the golden files with what is printed now")


def has_room(folder: str) -> bool:
    """Whether the files of a run fit there, and programs may be run from there (in containers often neither)."""
    try:
        there = os.statvfs(folder)
    except OSError:
        return False
    return there.f_bavail * there.f_frsize >= MEMORY_NEEDED and not there.f_flag & getattr(os, "ST_NOEXEC", 0)


def pytest_configure(config: pytest.Config) -> None:
    if "TMPDIR" not in os.environ and has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)
    if config.getoption("dist", "no") == "load":  # it deals out long rows of tests: one core would get all slow sweeps
        config.option.dist = "worksteal"
    support.ACCEPT = bool(config.getoption("--accept"))
    support.QUICK = "not slow" in config.getoption("markexpr")
    settings.load_profile("quick" if support.QUICK else "suite")
    # Started in the background or by nohup, we ignore these, and so would the programs that we start and signal.
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            with suppress(ValueError):  # not the main thread
                signal.signal(number, usual)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow sweeps begin first: one that begins last keeps one core busy, and the others wait for it."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    gc.freeze()  # the tests themselves are no garbage: nobody need look through all of them again and again


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        FAILED.add(report.nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """What a test made is gone with it, unless it failed: all of them together are gigabytes, and memory is no disk."""
    if nodeid not in FAILED:
        for folder in FOLDERS:
            shutil.rmtree(folder, ignore_errors=True)
    FOLDERS.clear()


@pytest.fixture(scope="session")
def scratch_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp().resolve()


@pytest.fixture(scope="session")
def folder_numbers() -> Iterator[int]:
    """Numbers for folders: pytest's own factory looks through all that there are to find each next one."""
    return count()


@pytest.fixture
def tmp_path(scratch_root: Path, folder_numbers: Iterator[int]) -> Path:
    """An empty folder of the test's own that is not in its home."""
    folder = scratch_root / f"tmp{next(folder_numbers)}"
    folder.mkdir(mode=0o700)
    FOLDERS.append(folder)
    return folder


@pytest.fixture(autouse=True)
def scratch(monkeypatch: pytest.MonkeyPatch, scratch_root: Path, folder_numbers: Iterator[int]) -> Path:
    """The test's current folder, empty. HOME is above it: a process, too, looks no further for the nearest store."""
    base = scratch_root / f"t{next(folder_numbers)}"
    base.mkdir(mode=0o700)
    FOLDERS.append(base)
    here = base / "here"
    here.mkdir()
    for name in [name for name in os.environ if name.startswith(("MEMCTL_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name in ("COLUMNS", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(base))
    (base / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(base / "tmp"))  # what a user without a home keeps there is read by everybody
    monkeypatch.chdir(here)

    find = context.nearest_store

    def guarded(folder: str, *how: Any) -> str:
        path = find(folder, *how)
        if Path(path).resolve().is_relative_to(scratch_root):
            return path
        if not Path(folder).resolve().is_relative_to(scratch_root):
            raise support.YouForgotToChooseAStore(path)
        return os.path.join(folder, context.DEFAULT_STORE)  # a store above TMPDIR is as if it were not there

    monkeypatch.setattr(context, "nearest_store", guarded)
    return here


@pytest.fixture(autouse=True)
def closed_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close every store that a test left open (Python 3.13 warns of each)."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remember(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    for module in ("sqlite3", "memctl.store.database.sqlite3"):
        monkeypatch.setattr(f"{module}.connect", remember)
    yield
    for conn in opened:
        with suppress(sqlite3.ProgrammingError):  # it is another thread's
            conn.close()


@pytest.fixture(scope="session", autouse=True)
def copied_schema() -> Iterator[None]:
    """Make the tables of a new store once, and give each new store a copy of them, which it migrates like an older one.

    Other steps, another tokenizer, and a connection that a test has its hand in get the real thing alone. So does every
    store that a process makes.
    """
    steps, real, usual = migrate.MIGRATIONS, migrate.migrate, schema.tokenizer(None)
    made = {}
    for page_size in (4096, 8192):  # of a store in memory, and of a file
        made[page_size] = Database("", "")
        made[page_size].run(f"PRAGMA page_size = {page_size}")
        real(made[page_size])

    def copying(db: Database, tokenizer: str | None = None) -> None:
        plain = type(db.conn) is sqlite3.Connection and migrate.MIGRATIONS is steps
        if plain and tokenizer in {None, usual} and not db.value("PRAGMA schema_version"):
            made[db.value("PRAGMA page_size")].conn.backup(db.conn)
        real(db, tokenizer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "migrate", copying)
        yield
    for template in made.values():
        template.close()


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands at 2026-11-20T12:00:00Z, and new ids count up from 1."""
    count = 0

    def new_id(prefix: str = "MEM") -> str:
        nonlocal count
        count += 1
        return f"{prefix}-{count:012x}"

    monkeypatch.setattr(ids, "now_seconds", lambda: 1795176000.0)
    monkeypatch.setattr(ids, "new_id", new_id)


@pytest.fixture
def hour_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is an hour ahead: a file that was written just now has a time stamp that is trusted.

    On any machine: a fast one reads a file so soon that the stamp is too fresh, and the clock that stamps files may be
    another than ours, or be set back meanwhile. Processes that read for us are forks, which have this clock, even where
    a thread of an earlier test is still about to end.
    """
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(ids, "now_seconds", lambda: time.time() + 3600)
