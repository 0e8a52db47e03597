"""The SDK's own client, of either generation, talking to a server in this process, over stdio or over HTTP."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
from mcp.client.stdio import stdio_client

from mcp import ClientSession, StdioServerParameters
from support import PATIENCE

try:
    from mcp import Client as _Client
except ImportError:
    _Client = None  # type: ignore[assignment,misc]
try:
    from mcp.client.streamable_http import streamable_http_client as _http
except ImportError:  # before 1.24
    from mcp.client.streamable_http import streamablehttp_client as _http  # type: ignore[attr-defined,no-redef]

Scenario = Callable[[Any], Awaitable[Any]]


def said(result: Any) -> dict[str, Any]:
    """What a client got, by its names on the wire."""
    out: dict[str, Any] = result.model_dump(by_alias=True, mode="json")
    return out


def text_of(result: Any) -> str:
    """The text that a client without structure shows its model."""
    (content,) = said(result)["content"]
    assert content["type"] == "text"
    return str(content["text"])


def talk(server: Any, scenario: Scenario) -> Any:
    """Run a conversation with a server in this process."""
    return _run(_inside(server), scenario)


def talk_stdio(
    *argv: str, scenario: Scenario, env: Mapping[str, str] | None = None, errors: Any = None, roots: Any = None
) -> Any:
    """Run a conversation with `memctl serve ARGV` in a process of its own; its stderr goes to the file `errors`.

    roots  what the client answers with when it is asked for its roots; None: it has none
    """
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "memctl", "serve", *argv], env=dict(os.environ) | dict(env or {})
    )
    return _run(_over(stdio_client(command, errlog=errors or sys.stderr), roots), scenario)


def talk_http(url: str, scenario: Scenario) -> Any:
    """Run a conversation over streamable HTTP."""
    return _run(_over(_http(url)), scenario)


def _run(connection: AbstractAsyncContextManager[Any], scenario: Scenario) -> Any:
    async def main() -> Any:
        with anyio.fail_after(PATIENCE):
            async with connection as client:
                return await scenario(client)

    return anyio.run(main)


@asynccontextmanager
async def _inside(server: Any) -> AsyncIterator[Any]:
    if _Client is not None:
        async with _Client(server) as client:
            yield client
        return
    from mcp.shared.memory import create_connected_server_and_client_session  # type: ignore[attr-defined]

    async with create_connected_server_and_client_session(server._mcp_server) as session:
        yield session


@asynccontextmanager
async def _over(streams: AbstractAsyncContextManager[Any], roots: Any = None) -> AsyncIterator[Any]:
    async with streams as (read, write, *_), ClientSession(read, write, list_roots_callback=roots) as session:
        await session.initialize()
        yield session
