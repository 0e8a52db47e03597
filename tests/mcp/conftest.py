"""What the tests of the server share; those of HTTP and of the SDK's face are left out where the SDK is missing."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from memctl import MemoryStore
from standin import StandIn


def _has_sdk() -> bool:
    try:
        return find_spec("mcp.server") is not None  # tests/mcp alone would pass for a package mcp
    except ModuleNotFoundError:
        return False


collect_ignore = [] if _has_sdk() else ["test_server.py", "test_http.py", "test_writes.py"]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore("memory.db")


@pytest.fixture
def plain(store: MemoryStore) -> dict[str, Callable[..., dict[str, Any]]]:
    """All tools as plain functions, with a guard and nothing else around them."""
    from memctl.mcp.guard import ServerGuard
    from memctl.mcp.tools import register_memory_tools

    stand_in = StandIn()
    register_memory_tools(stand_in, store, guard=ServerGuard())
    return stand_in.tools


@pytest.fixture
def server() -> Iterator[Any]:
    """A server of the SDK with all tools, on ./memory.db, without a rate limit."""
    from memctl.mcp.server import build_parser, create_server

    words = ["--db", "memory.db", "--toolset", "full", "--no-rate-limit", "--audit-log", "audit.jsonl"]
    made, store = create_server(build_parser().parse_args(words))
    assert isinstance(store, MemoryStore)
    yield made
    store.close()
