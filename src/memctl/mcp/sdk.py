"""The Python SDK, first and second generation, and all that differs between the two.

1.x has `FastMCP`, runs plain functions on the event loop, and takes host and port in its constructor; 2.x has
`MCPServer`. Both keep a tool as an object with a schema and `run()`: ours brings its own of both, so that neither
makes a pydantic model for each tool, and calls run in threads under both.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import unquote

import anyio
from mcp.types import CallToolResult, Completion, ToolAnnotations

from memctl import ids

try:
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.server.mcpserver.prompts.base import Prompt, PromptArgument
    from mcp.server.mcpserver.resources import FunctionResource, ResourceTemplate
    from mcp.server.mcpserver.tools.base import Tool as BaseTool
    from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata

    GENERATION = 2
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server  # type: ignore[attr-defined,no-redef]
    from mcp.server.fastmcp.prompts.base import (  # type: ignore[import-not-found,no-redef]
        Prompt,
        PromptArgument,
    )
    from mcp.server.fastmcp.resources import (  # type: ignore[import-not-found,no-redef]
        FunctionResource,
        ResourceTemplate,
    )
    from mcp.server.fastmcp.tools.base import Tool as BaseTool  # type: ignore[import-not-found,no-redef]
    from mcp.server.fastmcp.utilities.func_metadata import (  # type: ignore[import-not-found,no-redef]
        ArgModelBase,
        FuncMetadata,
    )

    GENERATION = 1

#: So many calls of one tool run at a time; further ones wait. Tools do not wait for each other.
THREADS = 8

#: `call(arguments, session, progress)`: the fields of a CallToolResult.
Call = Callable[[dict[str, Any], str | None, Callable[[str], None] | None], dict[str, Any]]


class MemoryTool(BaseTool):
    """A tool with a schema of its own, whose call runs in a thread."""

    async def run(self, arguments: dict[str, Any], context: Any = None, convert_result: bool = False) -> Any:  # noqa: ARG002 - the SDK's signature
        """Call it; what comes back is complete, errors included."""
        call: Call = self.fn
        found = await in_thread(call, arguments, session_of(context), _progress(context), limiter=_limiter(self.name))
        return CallToolResult.model_validate(found)


def add_tool(
    server: Any,
    call: Call,
    *,
    name: str,
    description: str,
    schema: dict[str, Any],
    answer: dict[str, Any] | None,
    annotations: Mapping[str, bool],
) -> None:
    """Give a server of the SDK a tool; one of the same name is replaced."""
    server._tool_manager._tools[name] = MemoryTool.model_construct(
        fn=call, name=name, title=None, description=description, parameters=schema,
        fn_metadata=FuncMetadata.model_construct(arg_model=ArgModelBase, output_schema=answer),
        is_async=False, context_kwarg=None, icons=None, meta=None,
        annotations=ToolAnnotations.model_validate(dict(annotations)),
    )  # fmt: skip


def new_server(name: str, *, instructions: str, version: str, verbose: bool) -> Any:
    """A server without tools. The SDK talks on stderr only with `verbose`."""
    options: dict[str, Any] = {"instructions": instructions, "log_level": "DEBUG" if verbose else "CRITICAL"}
    if GENERATION > 1:
        return Server(name, version=version, **options)
    with warnings.catch_warnings():  # before 1.29 it and a newer pydantic-settings disagree about a forward reference
        warnings.simplefilter("ignore")
        server: Any = Server(name, **options)
    server._mcp_server.version = version
    return server


def listed(server: Any) -> list[str]:
    """The names of the tools, as a client gets them."""
    return [tool.name for tool in anyio.run(server.list_tools)]


def http_app(server: Any, transport: str) -> Any:
    """The ASGI application that serves HTTP. Whose requests it takes is decided before it."""
    from mcp.server.transport_security import TransportSecuritySettings

    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    if GENERATION > 1:
        make = server.streamable_http_app if transport == "streamable-http" else server.sse_app
        return make(transport_security=security)
    server.settings.transport_security = security
    return server.streamable_http_app() if transport == "streamable-http" else server.sse_app()


def run_stdio(server: Any, end: Callable[[int], None]) -> None:
    """Serve on standard input and output until the input ends.

    `end(code)` must end the process: it is called when a signal comes, and when the SDK goes on after the end of the
    input because it waits for a call (1.22 does).
    """
    import signal
    from threading import Thread

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _frame: end(128 + got))
    Thread(target=_end_after_input, args=(os.dup(0), end), daemon=True).start()
    try:
        anyio.run(_serve_stdio, server)
    except BaseException as exc:
        if not all(isinstance(one, _GONE) for one in _leaves(exc)):
            raise  # else: the client does not listen any more, so there is nobody to serve


async def _serve_stdio(server: Any) -> None:
    from memctl.mcp import pipes

    if not pipes.usable():
        await server.run_stdio_async()
        return
    from mcp.server.stdio import stdio_server

    inner = server._lowlevel_server if GENERATION > 1 else server._mcp_server
    with pipes.taken() as (stdin, stdout):
        async with stdio_server(stdin, stdout) as (coming, going):
            await inner.run(coming, going, inner.create_initialization_options())


def _end_after_input(number: int, end: Callable[[int], None]) -> None:
    """Wait until nobody can write to a pipe or socket any more and all was read; then give the SDK a moment to end."""
    import fcntl
    import select
    import termios

    waiting = select.poll()
    waiting.register(number, 0)  # only what is always reported: that the other end is gone
    while True:
        waiting.poll()
        left = fcntl.ioctl(number, termios.FIONREAD, bytes(4))
        ids.pause(_MOMENT, _MOMENT)
        if not any(left):
            end(0)


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    """The exceptions in a group of groups."""
    inside: tuple[BaseException, ...] = getattr(exc, "exceptions", ())
    if not inside:
        yield exc
    for one in inside:
        yield from _leaves(one)


#: Seconds.
_MOMENT = 1.0
#: How the SDK finds out that it has an answer and nobody to give it to.
_GONE = (BrokenPipeError, anyio.ClosedResourceError, anyio.BrokenResourceError)


# --- resources, prompts, completions ---------------------------------------------------------------------------------


def add_template(
    server: Any, uri: str, read: Callable[[str], str], refused: type[Exception], name: str, about: str, kind: str
) -> None:
    """Offer `read(part)` under a URI with one part in braces."""

    async def found(**parts: str) -> str:
        (part,) = parts.values()
        return await _asked(partial(read, part if GENERATION > 1 else unquote(part)), refused)

    fields: dict[str, Any] = {
        "uri_template": uri, "name": name, "title": None, "description": about, "mime_type": kind, "icons": None,
        "annotations": None, "meta": None, "fn": found, "parameters": {}, "context_kwarg": None,
    }  # fmt: skip
    if GENERATION > 1:
        from mcp.server.mcpserver.resources import DEFAULT_RESOURCE_SECURITY
        from mcp.shared.uri_template import UriTemplate

        fields |= {"parsed_template": UriTemplate.parse(uri), "security": DEFAULT_RESOURCE_SECURITY}
    server._resource_manager._templates[uri] = ResourceTemplate.model_construct(**fields)


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
        raise _failure(str(exc)) from exc


def _failure(message: str) -> Exception:
    if GENERATION > 1:
        from mcp.shared.exceptions import MCPError

        return MCPError(code=-32602, message=message)
    return ValueError(message)


# --- threads ---------------------------------------------------------------------------------------------------------

_limiters: dict[str, anyio.CapacityLimiter] = {}


def _limiter(name: str) -> anyio.CapacityLimiter:
    if name not in _limiters:
        _limiters[name] = anyio.CapacityLimiter(THREADS)
    return _limiters[name]


async def in_thread(call: Callable[..., Any], *args: Any, limiter: anyio.CapacityLimiter | None = None) -> Any:
    """Run a function off the event loop; a caller who goes away leaves it to finish by itself."""
    return await anyio.to_thread.run_sync(call, *args, abandon_on_cancel=True, limiter=limiter)


# --- requests --------------------------------------------------------------------------------------------------------


def session_of(context: Any) -> str | None:
    """The HTTP session of a request; None on stdio, where there is one client."""
    request = getattr(_request(context), "request", None)
    headers = getattr(request, "headers", None)
    return headers.get("mcp-session-id") if headers is not None else None


def _request(context: Any) -> Any:
    try:
        return context.request_context
    except (AttributeError, ValueError, LookupError):  # called outside of a request
        return None


def _progress(context: Any) -> Callable[[str], None] | None:
    """What tells the client how far a call is, from its thread; None when it did not ask."""
    request = _request(context)
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


#: A client is told so often at most.
_PROGRESS_SECONDS = 0.1
