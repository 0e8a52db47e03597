"""The Python SDK, first and second generation, and all that differs between the two.

1.x has `FastMCP`, runs plain functions on the event loop, and takes host and port in its constructor; 2.x has
`MCPServer`. Both keep a tool as an object with a schema and `run()`: ours brings its own of both, so that neither
makes a pydantic model for each tool, and calls run in threads under both.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from inspect import Parameter, Signature
from typing import Any
from urllib.parse import unquote

import anyio
from mcp.types import CallToolResult, Completion, ToolAnnotations

from memctl import ids

try:
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.server.mcpserver.prompts.base import Prompt, PromptArgument
    from mcp.server.mcpserver.resources import FunctionResource
    from mcp.server.mcpserver.tools.base import Tool as BaseTool

    GENERATION = 2
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[attr-defined,no-redef]
    from mcp.server.fastmcp.prompts.base import (  # type: ignore[import-not-found,no-redef]
        Prompt,
        PromptArgument,
    )
    from mcp.server.fastmcp.resources import FunctionResource  # type: ignore[import-not-found,no-redef]
    from mcp.server.fastmcp.tools.base import Tool as BaseTool  # type: ignore[import-not-found,no-redef]

    GENERATION = 1

#: Calls of one tool that run at a time; further ones wait. Tools do not wait for each other.
THREADS = 8
#: Seconds between two words about the progress of a call.
_PROGRESS_SECONDS = 0.1

#: `call(arguments, session, progress)`: the fields of a CallToolResult.
Call = Callable[[dict[str, Any], str | None, Callable[[str], None] | None], dict[str, Any]]

_limiters: dict[str, anyio.CapacityLimiter] = {}


class MemoryTool(BaseTool):
    """A tool with schemas of its own, whose call runs in a thread."""

    answer: dict[str, Any] | None = None

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The schema of its structured result."""
        return self.answer

    async def run(self, arguments: dict[str, Any], context: Any = None, convert_result: bool = False) -> Any:  # noqa: ARG002 - the SDK's signature
        """Call it; what comes back is complete, errors included."""
        call: Call = self.fn
        limiter = _limiters.setdefault(self.name, anyio.CapacityLimiter(THREADS))
        # The HTTP session of a request; None on stdio, where there is one client.
        headers = getattr(getattr(_request_of(context), "request", None), "headers", None)
        session = headers.get("mcp-session-id") if headers is not None else None
        found = await in_thread(call, arguments, session, _progress(context), limiter=limiter)
        return CallToolResult.model_validate(found)


def make_tool(
    call: Call,
    *,
    name: str,
    description: str,
    schema: dict[str, Any],
    answer: dict[str, Any] | None,
    annotations: Mapping[str, bool],
) -> MemoryTool:
    """A tool for `make_server`."""
    return MemoryTool.model_construct(
        fn=call, name=name, title=None, description=description, parameters=schema, answer=answer, is_async=False,
        context_kwarg=None, icons=None, meta=None, annotations=ToolAnnotations.model_validate(dict(annotations)),
    )  # fmt: skip


def make_server(name: str, tools: list[MemoryTool], *, instructions: str, version: str, verbose: bool) -> Any:
    """A server with these tools. The SDK talks on stderr only with `verbose`."""
    options: dict[str, Any] = {
        "tools": tools, "instructions": instructions, "log_level": "DEBUG" if verbose else "CRITICAL"
    }  # fmt: skip
    if GENERATION > 1:
        return Server(name, version=version, **options)
    with warnings.catch_warnings():  # before 1.29 it and a newer pydantic-settings disagree about a forward reference
        warnings.simplefilter("ignore")
        server: Any = Server(name, **options)
    low_level(server).version = version
    return server


def low_level(server: Any) -> Any:
    """The SDK's server below: the only one that takes streams, and in 1.x a version; no public name leads to it."""
    return server._lowlevel_server if GENERATION > 1 else server._mcp_server


def listed(server: Any) -> list[str]:
    """The names of the tools, as a client gets them."""
    return [tool.name for tool in anyio.run(server.list_tools)]


def http_app(server: Any, transport: str) -> Any:
    """The ASGI application that serves HTTP. `http.Shield` checks Host and Origin: 1.x would begin a session first."""
    from mcp.server.transport_security import TransportSecuritySettings

    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    make = server.streamable_http_app if transport == "streamable-http" else server.sse_app
    if GENERATION > 1:
        return make(transport_security=security)
    server.settings.transport_security = security
    return make()


# --- resources, prompts, completions ---------------------------------------------------------------------------------


def add_template(
    server: Any, uri: str, read: Callable[[str], str], refused: type[Exception], name: str, about: str, kind: str
) -> None:
    """Offer `read(part)` under a URI with one part in braces."""

    async def found(**parts: str) -> str:
        (part,) = parts.values()
        return await _asked(partial(read, part if GENERATION > 1 else unquote(part)), refused)

    word = uri.partition("{")[2].partition("}")[0]
    found.__annotations__ = {word: str, "return": str}
    found.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(word, Parameter.KEYWORD_ONLY, annotation=str)], return_annotation=str
    )
    server.resource(uri, name=name, description=about, mime_type=kind)(found)


def add_resource(
    server: Any, uri: str, read: Callable[[], str], refused: type[Exception], name: str, about: str, kind: str
) -> None:
    """Offer `read()` under a URI."""
    make: Any = FunctionResource
    server.add_resource(make(uri=uri, name=name, description=about, mime_type=kind, fn=partial(_asked, read, refused)))


def add_prompt(
    server: Any,
    name: str,
    about: str,
    arguments: Iterable[tuple[str, str, bool]],
    write: Callable[[dict[str, str]], str],
    refused: type[Exception],
) -> None:
    """Offer a prompt: `write(arguments)` is its text."""

    async def found(**given: str) -> str:
        return await _asked(partial(write, given), refused)

    taken = [PromptArgument(name=word, description=words, required=needed) for word, words, needed in arguments]
    make: Any = Prompt
    server.add_prompt(make(name=name, description=about, arguments=taken, fn=found))


def add_completion(server: Any, complete: Callable[[str, str], list[str]]) -> None:
    """Answer completions with `complete(argument, start)`."""

    async def found(_ref: Any, argument: Any, _context: Any) -> Completion:
        words = await in_thread(complete, argument.name, argument.value)
        return Completion.model_validate({"values": words[:100], "hasMore": len(words) >= 100})

    server.completion()(found)


async def _asked(ask: Callable[[], str], refused: type[Exception]) -> str:
    """What `ask` says; when it refuses, an error that both generations hand on with its words."""
    try:
        return str(await in_thread(ask))
    except refused as exc:
        if GENERATION == 1:
            raise ValueError(str(exc)) from exc
        from mcp.shared.exceptions import MCPError

        raise MCPError(code=-32602, message=str(exc)) from exc


# --- threads and requests --------------------------------------------------------------------------------------------


async def in_thread(call: Callable[..., Any], *args: Any, limiter: anyio.CapacityLimiter | None = None) -> Any:
    """Run a function off the event loop; a caller who goes away leaves it to finish by itself."""
    return await anyio.to_thread.run_sync(call, *args, abandon_on_cancel=True, limiter=limiter)


def _request_of(context: Any) -> Any:
    try:
        return context.request_context
    except (AttributeError, ValueError, LookupError):  # called outside of a request
        return None


def _progress(context: Any) -> Callable[[str], None] | None:
    """What tells the client how far a call is, from its thread; None when it did not ask."""
    request = _request_of(context)
    # The second generation knows by itself whether anybody wants to be told.
    if request is None or (GENERATION == 1 and getattr(request.meta, "progressToken", None) is None):
        return None
    count, shown = 0, 0.0

    def progress(message: str) -> None:
        nonlocal count, shown
        count += 1
        now = ids.monotonic()
        if now - shown < _PROGRESS_SECONDS:
            return
        shown = now
        with suppress(RuntimeError):  # the client has gone; the work goes on
            anyio.from_thread.run(context.report_progress, float(count), None, message)

    return progress
