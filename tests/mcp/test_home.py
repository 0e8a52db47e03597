"""Which handle a call gets: the one that was used last, as long as its bookkeeping takes no time worth mentioning."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from memctl.mcp import home as module
from memctl.mcp.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(str(tmp_path / "memory.db"))
    yield made
    assert made.close(wait=30)


def test_a_quiet_server_keeps_one_handle(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 30)
    done: list[int] = []
    first = None
    for number in range(20):
        with home.context(writes=False) as ctx:
            first = first or ctx
            assert ctx is first
            ctx.finish(partial(done.append, number), later=True)
    assert home.close(wait=30)
    assert done == list(range(20))


def test_bookkeeping_that_takes_long_holds_nobody_up(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    written = Event()
    with home.context(writes=False) as first:
        first.finish(written.wait, later=True)
    with home.context(writes=False) as second:
        assert second is not first
    written.set()


def test_a_write_waits_for_no_bookkeeping(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 3600)
    written = Event()
    with home.context(writes=False) as first:
        first.finish(written.wait, later=True)
    with home.context(writes=True):
        written.set()
