"""Which handle a call gets, and when the uses that it gathered are counted: no call waits for it, and none is lost."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from memctl import ids
from memctl.mcp import handle_pool
from memctl.mcp.handle_pool import CallContext, HandlePool
from memctl.operation import READ
from memctl.store.database import Database
from memctl.store.items import items
from stores import add, change


@pytest.fixture
def path(tmp_path: Path) -> str:
    add("alpha", id="MEM-1", path=str(tmp_path / "memory.db"))
    return str(tmp_path / "memory.db")


@pytest.fixture
def pool(path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[HandlePool]:
    """A pool that counts uses when it is closed, unless a test says otherwise."""
    monkeypatch.setattr(handle_pool, "COUNT_SECONDS", 3600)
    made = HandlePool(path)
    yield made
    assert made.close(wait=30)


def use(pool: HandlePool) -> CallContext:
    with pool.context(writes=False) as ctx:
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


def wait_until_counted(path: str, times: int) -> None:
    for _ in range(3000):
        if counted(path) == times:
            return
        ids.pause(0.01, 0.01)
    raise AssertionError(f"{counted(path)} uses are counted, not {times}")


def test_one_handle_is_used_again_and_its_uses_are_counted_at_the_end(pool: HandlePool, path: str) -> None:
    first = use(pool)
    assert all(use(pool) is first for _ in range(9)), "of more, not every event would be kept"
    assert counted(path) == 0
    assert pool.close(wait=30)
    assert counted(path) == 10


def test_uses_are_counted_a_moment_later(pool: HandlePool, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle_pool, "COUNT_SECONDS", 0.01)
    use(pool)
    wait_until_counted(path, 1)
    use(pool)
    wait_until_counted(path, 2)


def test_the_handle_that_counts_in_a_pause_keeps_what_it_found_out(
    pool: HandlePool, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle_pool, "COUNT_SECONDS", 0.01)
    with pool.context(writes=False) as first:
        first.allow(READ)
        with first.db.snapshot():
            first.db.cached("test")["found"] = 1
        items.mark_used(first.db, ["MEM-1"], "recall")
    wait_until_counted(path, 1)
    while pool._counting:
        ids.pause(0.01, 0.01)
    with first.db.snapshot():
        assert first.db.cached("test") == {"found": 1}
    add("beta", path=path)
    with first.db.snapshot():
        assert first.db.cached("test") == {}


def test_uses_are_counted_at_last_when_there_is_no_pause(
    pool: HandlePool, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handle_pool, "COUNT_SECONDS", 0.01)
    with pool.context(writes=False) as busy:
        busy.allow(READ)
        use(pool)
        ids.pause(0.1, 0.1)
        assert counted(path) == 0
        monkeypatch.setattr(pool, "_count_by", 0.0)
        wait_until_counted(path, 1)


def test_uses_of_a_call_that_failed_are_counted(pool: HandlePool, path: str) -> None:
    def fail() -> None:
        with pool.context(writes=False) as ctx:
            ctx.allow(READ)
            items.mark_used(ctx.db, ["MEM-1"], "recall")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert pool.close(wait=30)
    assert counted(path) == 1


def test_uses_of_a_call_that_comes_back_after_the_end_are_counted(pool: HandlePool, path: str) -> None:
    with pool.context(writes=False) as ctx:
        ctx.allow(READ)
        items.mark_used(ctx.db, ["MEM-1"], "recall")
        pool.close()
        items.mark_used(ctx.db, ["MEM-1"], "recall")
    assert counted(path) == 2


def test_a_busy_store_loses_no_use(pool: HandlePool, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, real = Event(), items.count_uses

    def count(db: Database) -> bool:
        done = real(db)
        tried.set()
        return done

    monkeypatch.setattr(items, "count_uses", count)
    monkeypatch.setattr(handle_pool, "COUNT_SECONDS", 0.01)
    with change(path) as other:
        other.run("BEGIN IMMEDIATE")
        use(pool)
        assert tried.wait(60)
        assert counted(path) == 0
    wait_until_counted(path, 1)


@pytest.fixture
def counting(pool: HandlePool, monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """The pool counts a use, until the event is set."""
    begun, go_on = Event(), Event()
    real = items.count_uses

    def slowly(db: Database) -> bool:
        begun.set()
        assert go_on.wait(30)
        return real(db)

    monkeypatch.setattr(items, "count_uses", slowly)
    monkeypatch.setattr(handle_pool, "COUNT_SECONDS", 0)
    use(pool)
    assert begun.wait(30)
    yield go_on
    go_on.set()


@pytest.mark.parametrize("writes", [False, True])
def test_counting_that_takes_long_holds_nobody_up(pool: HandlePool, counting: Event, writes: bool) -> None:
    with pool.context(writes=writes) as ctx:
        ctx.allow(READ)
        assert items.get(ctx.db, "MEM-1") is not None
        assert not counting.is_set()


def test_the_end_waits_for_counting(pool: HandlePool, path: str, counting: Event) -> None:
    counting.set()
    assert pool.close(wait=30)
    assert counted(path) == 1
