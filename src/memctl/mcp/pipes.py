"""Standard input and output as pipes or sockets, read and written without a thread for each line.

The SDK hands every line, every write and every flush to a thread and waits for it: on a busy machine that takes longer
than many a tool. Here lines are read when there are some, and an answer that the pipe has room for is written at once;
one that would have to wait for its reader still goes through a thread, so that nothing else waits for it.
"""

import os
import re
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio

_CHUNK = 65_536
#: Escapes of JSON: a whole surrogate pair, half of one (group 1), any other.
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([dD][89a-fA-F])[0-9a-fA-F]{2}|\\."
)


class Lines:
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
                yield sound(b"".join([*begun, line]))
                begun = []
            begun.append(rest)
            if not data:
                break
        if last := b"".join(begun):
            yield sound(last)


def sound(line: bytes) -> str:
    r"""A line of JSON as text; bytes that are not UTF-8, and `\ud83d` without its other half, become U+FFFD.

    JavaScript makes such halves when it cuts an emoji; the SDK's parser refuses the line and answers nobody.
    """
    if b"\\ud" in line or b"\\uD" in line:
        line = _ESCAPES.sub(_whole, line)
    return line.decode("utf-8", "replace")


def _whole(found: "re.Match[bytes]") -> bytes:
    return rb"\ufffd" if found[1] else found[0]


class Out:
    """Where answers go: for `stdio_server(stdout=…)`."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._socket = socket.socket(fileno=os.dup(number)) if _kind(number) == stat.S_IFSOCK else None

    async def write(self, text: str) -> None:
        """Write it: at once, as far as nobody must be waited for."""
        data = text.encode("utf-8", "replace")
        done = self._at_once(data)
        if done < len(data):
            await anyio.to_thread.run_sync(partial(_write, self._number, data[done:]))

    async def flush(self) -> None:
        """Nothing: what was written is written."""

    def _at_once(self, data: bytes) -> int:
        """Write what there is room for; how many bytes."""
        if self._socket is not None:
            try:
                return self._socket.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return 0
        return os.write(self._number, data) if len(data) <= _room(self._number) else 0


def _write(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]


def _room(number: int) -> int:
    """How many bytes a pipe takes for sure without a wait; 0 where the system does not say."""
    import fcntl
    import termios

    size = getattr(fcntl, "F_GETPIPE_SZ", None)
    if size is None or any(fcntl.ioctl(number, termios.FIONREAD, bytes(4))):
        return 0
    return int(fcntl.fcntl(number, size))


def _kind(number: int) -> int:
    return stat.S_IFMT(os.fstat(number).st_mode)


def usable() -> bool:
    """Whether standard input and output are pipes or sockets, and nobody has put something else in their places."""
    try:
        mine = (sys.stdin.fileno(), sys.stdout.fileno()) == (0, 1)
        kinds = {_kind(0), _kind(1)}
    except (AttributeError, OSError, ValueError):
        return False
    return mine and os.name == "posix" and hasattr(anyio, "wait_readable") and kinds <= {stat.S_IFIFO, stat.S_IFSOCK}


@contextmanager
def taken() -> Iterator[tuple[Any, Any]]:
    """Standard input and output for the protocol alone: others that read find nothing, what they write is on stderr."""
    import fcntl

    ends = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1)]
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # there is no stderr
            os.dup2(nothing, 1)
        yield Lines(ends[0]), Out(ends[1])
    finally:  # the copies stay open: a thread may still be writing
        for number, end in enumerate(ends):
            os.dup2(end, number)
        os.close(nothing)
