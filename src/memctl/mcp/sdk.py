"""The Python SDK, first and second generation, all that differs between the two, and its transports.

1.x has `FastMCP`, runs plain functions on the event loop, and takes host and port in its constructor; 2.x has
`MCPServer`. Both keep a tool as an object with a schema and `run()`: ours brings its own of both, so that neither
makes a pydantic model for each tool, and calls run in threads under both.
"""

import os
import re
import stat
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from inspect import Parameter, Signature
from typing import Any
from urllib.parse import unquote

import anyio
from mcp.types import CallToolResult, Completion, ToolAnnotations

from memctl import ids
from memctl.mcp import tools
from memctl.mcp.tool_schema import CatalogTool

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

_limiters: dict[str, anyio.CapacityLimiter] = {}


class MemoryTool(BaseTool):
    """A tool with schemas of its own, whose call runs in a thread."""

    entry: Any  # a CatalogTool: what is published of it
    runner: Any  # a ToolRunner: where its calls go

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The schema of its structured result."""
        answer: dict[str, Any] | None = self.entry.answer
        return answer

    async def run(self, arguments: dict[str, Any], context: Any = None, convert_result: bool = False) -> Any:  # noqa: ARG002 - the SDK's signature
        """Call it; what comes back is complete, errors included."""
        try:
            request = context.request_context
        except (AttributeError, ValueError, LookupError):  # called outside of a request
            request = None
        # The HTTP session of a request; None on stdio, where there is one client.
        headers = getattr(getattr(request, "request", None), "headers", None)
        session = headers.get("mcp-session-id") if headers is not None else None
        progress = None
        # The second generation knows by itself whether anybody wants to be told; of the first it is asked.
        if request is not None and (GENERATION > 1 or getattr(request.meta, "progressToken", None) is not None):
            progress = _progress(context)
        limiter = _limiters.setdefault(self.name, anyio.CapacityLimiter(THREADS))
        answer = await in_thread(self.runner.call, self.entry.tool, arguments, session, progress, limiter=limiter)
        return CallToolResult.model_validate(answer.wire())


def make_server(name: str, entries: list[CatalogTool], runner: tools.ToolRunner, *, version: str, verbose: bool) -> Any:
    """A server with these tools and all that is offered beside them. The SDK talks on stderr only with `verbose`."""
    made = [
        MemoryTool.model_construct(
            fn=runner.call, name=entry.name, title=None, description=entry.description, parameters=entry.schema,
            entry=entry, runner=runner, is_async=False, context_kwarg=None, icons=None, meta=None,
            annotations=ToolAnnotations.model_validate(entry.annotations),
        )
        for entry in entries
    ]  # fmt: skip
    options: dict[str, Any] = {
        "tools": made, "instructions": tools.instructions({entry.name for entry in entries}),
        "log_level": "DEBUG" if verbose else "CRITICAL",
    }  # fmt: skip
    if GENERATION > 1:
        server: Any = Server(name, version=version, **options)
    else:
        with warnings.catch_warnings():  # before 1.29 it and a newer pydantic-settings disagree about a reference
            warnings.simplefilter("ignore")
            server = Server(name, **options)
        _low_level(server).version = version
    _add_offers(server, tools.Offers(runner))
    return server


def _low_level(server: Any) -> Any:
    """The SDK's server below: the only one that takes streams, and in 1.x a version; no public name leads to it."""
    return server._lowlevel_server if GENERATION > 1 else server._mcp_server


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


def _add_offers(server: Any, offers: tools.Offers) -> None:
    """Offer what there is beside the tools."""
    for uri, name, tool, argument, about, kind in tools.RESOURCES:
        word = uri.partition("{")[2].partition("}")[0]
        # The first generation hands parts of a URI on as they stand there.
        read = _asking(partial(offers.resource, tool, argument), quoted=GENERATION == 1)
        read.__annotations__ = {word: str, "return": str}
        read.__signature__ = Signature(  # type: ignore[attr-defined]
            [Parameter(word, Parameter.KEYWORD_ONLY, annotation=str)], return_annotation=str
        )
        server.resource(uri, name=name, description=about, mime_type=kind)(read)
    make: Any = FunctionResource
    uri, name, tool, argument, about, kind = tools.OWN_DIGEST
    read = _asking(partial(offers.resource, tool, argument))
    server.add_resource(make(uri=uri, name=name, description=about, mime_type=kind, fn=read))
    make = Prompt
    for name, about, arguments in tools.PROMPTS:
        taken = [PromptArgument(name=word, description=words, required=needed) for word, words, needed in arguments]
        write = _asking(partial(offers.prompt, name))
        server.add_prompt(make(name=name, description=about, arguments=taken, fn=write))

    async def complete(_ref: Any, argument: Any, _context: Any) -> Completion:
        words = await in_thread(offers.complete, argument.name, argument.value)
        return Completion.model_validate({"values": words[:100], "hasMore": len(words) >= 100})

    server.completion()(complete)


def _asking(ask: Callable[[dict[str, str]], str], *, quoted: bool = False) -> Callable[..., Awaitable[str]]:
    """A coroutine function that asks in a thread; a refusal is an error whose words both generations hand on."""

    async def found(**given: str) -> str:
        parts = {word: unquote(part) for word, part in given.items()} if quoted else given
        try:
            return str(await in_thread(ask, parts))
        except tools.NotAnswered as exc:
            if GENERATION == 1:
                raise ValueError(str(exc)) from exc
            from mcp.shared.exceptions import MCPError

            raise MCPError(code=-32602, message=str(exc)) from exc

    return found


# --- threads and progress --------------------------------------------------------------------------------------------


async def in_thread(call: Callable[..., Any], *args: Any, limiter: anyio.CapacityLimiter | None = None) -> Any:
    """Run a function off the event loop; a caller who goes away leaves it to finish by itself."""
    return await anyio.to_thread.run_sync(call, *args, abandon_on_cancel=True, limiter=limiter)


def _progress(context: Any) -> Callable[[str], None]:
    """What tells the client how far a call is, from its thread."""
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


# --- standard input and output ---------------------------------------------------------------------------------------
#
# The SDK hands every line, every write and every flush to a thread and waits for it. Here pipes and sockets are read
# and written on the event loop: a request that costs nothing else takes 0.25 ms instead of 0.44 (`benchmarks/run --only
# mcp` prints both as "a ping over stdio"). And half of a surrogate pair in a line does not leave its sender without an
# answer.

#: Bytes that are read at a time.
_CHUNK = 65_536
#: Seconds between the end of the input and the end of the process, for the SDK to end by itself.
_MOMENT = 1.0
#: How the SDK finds out that it has an answer and nobody to give it to.
_GONE = (BrokenPipeError, anyio.ClosedResourceError, anyio.BrokenResourceError)
#: Escapes of JSON: a whole surrogate pair, half of one (group 1), any other.
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([dD][89a-fA-F])[0-9a-fA-F]{2}|\\."
)


def run_stdio(server: Any, end: Callable[[int], None]) -> None:
    """Serve on standard input and output until the input ends.

    `end(code)` must end the process: it is called when a signal comes, and when the SDK goes on after the end of the
    input because it waits for a call (1.22 does).
    """
    import signal
    from threading import Thread

    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        below = _low_level(server)
        with _taken_streams() as streams:
            async with stdio_server(*streams) as (coming, going):
                await below.run(coming, going, below.create_initialization_options())

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _frame: end(128 + got))
    Thread(target=_end_after_input, args=(os.dup(0), end), daemon=True).start()
    try:
        anyio.run(serve)
    except _GONE:
        pass  # the client does not listen any more, so there is nobody to serve
    except BaseException as exc:
        split = getattr(exc, "split", None)  # of a group of exceptions, as anyio raises them
        if split is None or split(_GONE)[1] is not None:
            raise


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


@contextmanager
def _taken_streams() -> Iterator[tuple[Any, ...]]:
    """Standard input and output for the protocol alone: others that read find nothing, what they write is on stderr.

    Nothing, which leaves them to the SDK, unless they are pipes or sockets that nobody has put something else in front
    of.
    """
    try:
        usable = (sys.stdin.fileno(), sys.stdout.fileno()) == (0, 1) and hasattr(anyio, "wait_readable")
        kinds = {stat.S_IFMT(os.fstat(number).st_mode) for number in (0, 1)}
    except (AttributeError, OSError, ValueError):
        usable = False
    if not usable or os.name != "posix" or not kinds <= {stat.S_IFIFO, stat.S_IFSOCK}:
        yield ()
        return
    import fcntl

    ends = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1)]
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # there is no stderr
            os.dup2(nothing, 1)
        os.set_blocking(ends[1], False)
        yield _lines(ends[0]), _Output(ends[1])
    finally:
        os.set_blocking(ends[1], True)
        for number, end in enumerate(ends):
            os.dup2(end, number)
        os.close(nothing)


async def _lines(number: int) -> AsyncIterator[str]:
    """What comes in, line by line until the input ends: for `stdio_server(stdin=…)`."""
    begun: list[bytes] = []
    while True:
        await anyio.wait_readable(number)
        data = os.read(number, _CHUNK)
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield _repaired(b"".join([*begun, line]))
            begun = []
        begun.append(rest)
        if not data:
            break
    if last := b"".join(begun):
        yield _repaired(last)


def _repaired(line: bytes) -> str:
    r"""A line of JSON as text; bytes that are not UTF-8, and `\ud83d` without its other half, become U+FFFD.

    JavaScript makes such halves when it cuts an emoji; the SDK's parser refuses the line and answers nobody.
    """
    if b"\\ud" in line or b"\\uD" in line:
        line = _ESCAPES.sub(lambda found: rb"\ufffd" if found[1] else found[0], line)
    return line.decode("utf-8", "replace")


class _Output:
    """Where answers go: for `stdio_server(stdout=…)`."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def write(self, text: str) -> None:
        """Write it all; what the reader has no room for waits without holding up anything else."""
        data = text.encode("utf-8", "replace")
        with anyio.CancelScope(shield=True):  # an answer is sent whole, also when the input has ended
            while data:
                try:
                    data = data[os.write(self._number, data) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._number)

    async def flush(self) -> None:
        """Nothing: what was written is written."""
