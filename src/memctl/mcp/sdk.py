"""The Python SDK, first and second generation, around our protocol: for HTTP, and for programs that embed the server.

Every request ends in `protocol.Protocol`, as on stdio; the SDK is only how it gets there. 1.x calls its server
`FastMCP`, 2.x `MCPServer`; both have the methods that are overridden here, and call them for what clients ask.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import signature
from typing import Any

import anyio
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.types import (
    CallToolResult,
    CompleteResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
)

from memctl.mcp import protocol
from memctl.mcp.protocol import LANES, Protocol, ProtocolError, Request

try:
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.shared.exceptions import MCPError

    Refused: Callable[[ProtocolError], Exception] = lambda no: MCPError(no.code, no.message, no.data)  # noqa: E731
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[attr-defined,no-redef]
    from mcp.shared.exceptions import McpError  # type: ignore[attr-defined]
    from mcp.types import ErrorData

    Refused = lambda no: McpError(ErrorData(code=no.code, message=no.message, data=no.data))  # noqa: E731


class MemoryServer(Server):
    """The SDK's server, which asks our protocol; each call in a thread, in the lanes of `protocol.LANES`."""

    def __init__(self, core: Protocol, *, verbose: bool = False) -> None:
        offered = {"version": core.info["version"], "subscriptions": False}  # which not all generations take
        known = signature(Server.__init__).parameters
        options: dict[str, Any] = {name: value for name, value in offered.items() if name in known}
        self._core = core
        self._lanes: dict[str, anyio.CapacityLimiter] = {}
        with warnings.catch_warnings():  # before 1.29 it and a newer pydantic-settings disagree about a reference
            warnings.simplefilter("ignore")
            options["log_level"] = "DEBUG" if verbose else "CRITICAL"
            super().__init__(core.info["name"], instructions=core.instructions, **options)
        this: Any = self
        if "version" not in options:
            this._mcp_server.version = core.info["version"]  # no public name leads to it
        this.completion()(self._complete)

    async def _ask(self, method: str, params: dict[str, Any], context: Any = None) -> dict[str, Any]:
        """The result of a request. Raises the SDK's error for a ProtocolError."""
        session, told = _caller(context)
        request = Request(0, method, params)
        ask = partial(self._core.result, method, params, session=session, progress=told)
        try:
            if not (lane := self._core.lane(request)):
                return ask()
            limiter = self._lanes.setdefault(lane, anyio.CapacityLimiter(LANES[lane]))
            return await anyio.to_thread.run_sync(ask, abandon_on_cancel=True, limiter=limiter)
        except ProtocolError as exc:
            raise Refused(exc) from exc

    async def list_tools(self) -> list[Any]:
        """The tools that are offered."""
        return ListToolsResult.model_validate(await self._ask("tools/list", {})).tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool; what comes back is complete, errors included."""
        this: Any = self
        context = context or this.get_context()
        return CallToolResult.model_validate(
            await self._ask("tools/call", {"name": name, "arguments": arguments}, context)
        )

    async def list_resources(self) -> list[Any]:
        """The resources that need nothing filled in."""
        return ListResourcesResult.model_validate(await self._ask("resources/list", {})).resources

    async def list_resource_templates(self) -> list[Any]:
        """The other ones."""
        found: Any = ListResourceTemplatesResult.model_validate(await self._ask("resources/templates/list", {}))
        templates: list[Any] = getattr(found, "resource_templates", None) or found.resourceTemplates
        return templates

    async def read_resource(self, uri: Any, context: Any = None) -> Any:
        """What a resource holds."""
        found = await self._ask("resources/read", {"uri": str(uri)}, context)
        return [ReadResourceContents(content=one["text"], mime_type=one["mimeType"]) for one in found["contents"]]

    async def list_prompts(self) -> list[Any]:
        """The prompts."""
        return ListPromptsResult.model_validate(await self._ask("prompts/list", {})).prompts

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None, context: Any = None) -> Any:
        """A prompt, written out."""
        found = await self._ask("prompts/get", {"name": name, "arguments": arguments or {}}, context)
        return GetPromptResult.model_validate(found)

    async def _complete(self, _ref: Any, argument: Any, _context: Any) -> Any:
        found = await self._ask("completion/complete", {"argument": argument.model_dump()})
        return CompleteResult.model_validate(found).completion


def _caller(context: Any) -> "tuple[str | None, Callable[[str], None] | None]":
    """The HTTP session of a request, None on stdio, and what tells its client how far it is, None if nobody asked."""
    try:
        request = context.request_context
    except (AttributeError, ValueError, LookupError):  # called outside of a request
        return None, None
    headers = getattr(getattr(request, "request", None), "headers", None)
    session = headers.get("mcp-session-id") if headers is not None else None
    # The second generation knows by itself whether anybody wants to be told.
    if hasattr(context, "fastmcp") and getattr(request.meta, "progressToken", None) is None:
        return session, None

    def tell(done: float, words: str) -> None:
        with suppress(RuntimeError):  # the client has gone; the work goes on
            anyio.from_thread.run(context.report_progress, done, None, words)

    return session, protocol.progress(tell)


def http_app(server: Any, transport: str) -> Any:
    """The ASGI application that serves HTTP. `http.Shield` checks Host and Origin: 1.x would begin a session first."""
    from mcp.server.transport_security import TransportSecuritySettings

    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    make = server.streamable_http_app if transport == "streamable-http" else server.sse_app
    if "transport_security" in signature(make).parameters:
        return make(transport_security=security)
    server.settings.transport_security = security
    return make()
