"""The MCP server on standard input and output.

The SDK hands every line, every write and every flush to a thread and waits for it. Here pipes and sockets are read and
written on the event loop: a request that costs nothing else takes 0.25 ms instead of 0.44 (`benchmarks/run --only mcp`
prints both as "a ping over stdio"). And half of a surrogate pair in a line does not leave its sender without an answer.
"""

import os
import re
import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from memctl import ids

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


def run(server: Any, end: Callable[[int], None]) -> None:
    """Serve on standard input and output until the input ends; `server` is one of the SDK's low level.

    `end(code)` must end the process: it is called when a signal comes, and when the SDK goes on after the end of the
    input because it waits for a call (1.22 does).
    """
    import signal
    from threading import Thread

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _frame: end(128 + got))
    Thread(target=_end_after_input, args=(os.dup(0), end), daemon=True).start()
    try:
        anyio.run(_serve, server)
    except BaseException as exc:
        if not all(isinstance(one, _GONE) for one in _leaves(exc)):
            raise  # else: the client does not listen any more, so there is nobody to serve


async def _serve(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    with _taken_streams() as streams:
        async with stdio_server(*streams) as (coming, going):
            await server.run(coming, going, server.create_initialization_options())


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


# --- the streams -----------------------------------------------------------------------------------------------------


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
        yield _Input(ends[0]), _Output(ends[1])
    finally:
        os.set_blocking(ends[1], True)
        for number, end in enumerate(ends):
            os.dup2(end, number)
        os.close(nothing)


class _Input:
    """What comes in, line by line: for `stdio_server(stdin=…)`."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def __aiter__(self) -> AsyncIterator[str]:
        """The lines until the input ends; bytes that are not UTF-8 become U+FFFD."""
        begun: list[bytes] = []
        while True:
            await anyio.wait_readable(self._number)
            data = os.read(self._number, _CHUNK)
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
