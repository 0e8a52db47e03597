"""Stores for tests: empty, and as older programs left them."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.store.connect import open_write
from memctl.store.database import Database

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


@pytest.fixture
def db(path: str) -> Iterator[Database]:
    store = open_write(path, create=True)
    yield store
    store.close()


@pytest.fixture(params=["memctl_v1", "memctl_v2", "ragix"])
def old(request: pytest.FixtureRequest, path: str) -> str:
    """A file that an older program made."""
    conn = sqlite3.connect(path)
    conn.executescript((DATA / f"{request.param}.sql").read_text(encoding="utf-8"))
    conn.close()
    return path
