"""Which handle a call gets, and when the uses that it gathered are counted: no call waits for it, and none is lost."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from memctl.mcp import home as module
from memctl.mcp.home import Home, Served
from memctl.operation import READ
from memctl.store.connect import open_write
from memctl.store.database import Database
from memctl.store.items import items
from memctl.types import MemoryItem


@pytest.fixture
def path(tmp_path: Path) -> str:
    db = open_write(str(tmp_path / "memory.db"), create=True)
    items.write(db, MemoryItem(id="MEM-1", content="alpha"))
    db.close()
    return db.path


@pytest.fixture
def home(path: str) -> Iterator[Home]:
    made = Home(path)
    yield made
    assert made.close(wait=30)


def use(home: Home) -> Served:
    with home.context(writes=False) as ctx:
        ctx.allow(READ)
        assert items.mark_used(ctx.db, ["MEM-1"], "recall")
    return ctx


def counted(path: str) -> int:
    db = sqlite3.connect(path)
    events = "(SELECT count(*) FROM memory_events WHERE action = 'recall')"  # in one statement: it is counted meanwhile
    times, told = db.execute(f"SELECT usage_count, {events} FROM memory_items").fetchone()
    db.close()
    assert times == told
    return int(times)


def when(monkeypatch: pytest.MonkeyPatch, quiet: float, latest: float, patience: float = 30) -> None:
    monkeypatch.setattr(module, "QUIET", quiet)
    monkeypatch.setattr(module, "LATEST", latest)
    monkeypatch.setattr(module, "PATIENCE", patience)


def comes(home: Home, path: str, times: int) -> bool:
    """Whether so many uses are counted before long."""
    with home._changed:
        return home._changed.wait_for(lambda: counted(path) == times, 30)


def test_one_handle_gathers_uses_until_the_end(home: Home, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    when(monkeypatch, quiet=3600, latest=3600)
    first = use(home)
    assert all(use(home) is first for _ in range(20))
    assert counted(path) == 0
    assert home.close(wait=30)
    assert counted(path) == 21


def test_uses_are_counted_when_nobody_asks_anything(home: Home, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    when(monkeypatch, quiet=0.01, latest=3600)
    for times in (1, 2):
        use(home)
        assert comes(home, path, times)


def test_uses_are_counted_under_constant_calls(home: Home, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    when(monkeypatch, quiet=3600, latest=0)
    first = use(home)
    for times in range(1, 6):
        assert comes(home, path, times)
        assert use(home) is first


def test_a_handle_that_is_closed_counts_its_uses(home: Home, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    when(monkeypatch, quiet=3600, latest=3600)
    use(home)
    with pytest.raises(ZeroDivisionError), home.context(writes=False):
        raise ZeroDivisionError
    assert counted(path) == 1


def test_a_busy_store_loses_no_use(home: Home, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    when(monkeypatch, quiet=3600, latest=3600)
    ctx = use(home)
    other = open_write(path)
    with other.atomic():
        ctx.count()
        assert counted(path) == 0
        assert ctx.owes
        assert ctx.rest > 0  # it is not tried again at once
    other.close()
    use(home)
    assert home.close(wait=30)
    assert counted(path) == 2


@pytest.fixture
def counting(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """A home whose only handle is counting, until the event is set."""
    go_on = Event()
    real = items.count_uses

    def slowly(db: Database) -> bool:
        assert go_on.wait(30)
        return real(db)

    monkeypatch.setattr(items, "count_uses", slowly)
    when(monkeypatch, quiet=3600, latest=0)
    use(home)
    assert home._counting == 1
    yield go_on
    go_on.set()


def test_counting_that_takes_long_holds_nobody_up(home: Home, counting: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    when(monkeypatch, quiet=3600, latest=3600, patience=0.01)
    with home.context(writes=False) as another:
        assert not counting.is_set()
        assert another.stamp == ()  # a new one


@pytest.mark.usefixtures("counting")
def test_a_write_waits_for_no_counting(home: Home) -> None:
    with home.context(writes=True) as ctx:
        assert ctx.stamp == ()


def test_the_end_waits_for_counting(home: Home, path: str, counting: Event) -> None:
    counting.set()
    assert home.close(wait=30)
    assert counted(path) == 1
