"""Talking to a running program through its pipes without ever blocking, and ending it with all it started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from memctl import ids

if TYPE_CHECKING:
    from subprocess import Popen

#: Seconds between "please end" and "end".
GRACE = 1.0
#: Seconds between two looks at whether a silent program is still there.
TICK = 0.1
#: What it said last on stderr: kept, and repeated in an error (characters).
TAIL = 4000
SAID = 300
_PIECE = 1 << 16


class Talk:
    """The three pipes of a command: feeds its stdin, keeps its stdout, listens to its stderr; nothing blocks."""

    def __init__(
        self,
        process: Popen[bytes],
        prompt: bytes,
        on_text: Callable[[str], None] | None,
        stderr: Callable[[str], None] | None,
        limit: int,
    ) -> None:
        from codecs import getincrementaldecoder
        from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

        self.process, self.prompt, self.sent = process, memoryview(prompt), 0
        self.on_text, self.on_line, self.room = on_text, stderr, limit
        self.pieces: list[str] = []
        self.truncated = False
        self._tail = self._line = ""
        self._out, self._err = (getincrementaldecoder(name)("replace") for name in ("utf-8-sig", "utf-8"))
        self.selector = DefaultSelector()
        for pipe, event, act in (
            (process.stdin, EVENT_WRITE, self._feed),
            (process.stdout, EVENT_READ, self._hear),
            (process.stderr, EVENT_READ, self._listen),
        ):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self.selector.register(pipe, event, act)

    def until(self, deadline: float) -> bool:
        """Talk until the command has ended; False when the deadline passed, or the answer got too long."""
        try:
            return self._talk(deadline) and self._gone(deadline)
        finally:
            self.selector.close()
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self._listened("", last=True)

    def _talk(self, deadline: float) -> bool:
        """Until both outputs are closed, or the command has ended and left them to somebody who outlives it."""
        ended = 0.0
        while any(key.fileobj is not self.process.stdin for key in self.selector.get_map().values()):
            now = ids.monotonic()
            if now > (ended or deadline):
                return bool(ended)
            ready = self.selector.select(min(TICK, deadline - now))
            for key, _ in ready:
                key.data(key.fileobj)
            if self.truncated:
                return False
            if self.process.poll() is not None:
                if not ready:
                    return True
                ended = ended or ids.monotonic() + GRACE
        return True

    def _gone(self, deadline: float) -> bool:
        from subprocess import TimeoutExpired

        try:
            self.process.wait(max(0.0, deadline - ids.monotonic()))
        except TimeoutExpired:
            return False
        return True

    def _feed(self, pipe: IO[bytes]) -> None:
        try:
            self.sent += os.write(pipe.fileno(), self.prompt[self.sent : self.sent + _PIECE])
        except BlockingIOError:
            return
        except OSError:  # it does not want to read any further, which is its right
            self.sent = len(self.prompt)
        if self.sent >= len(self.prompt):
            self._close(pipe)

    def _hear(self, pipe: IO[bytes]) -> None:
        data = self._read(pipe)
        if data is None:
            return
        if len(data) > self.room:
            data, self.truncated = data[: self.room], True
        self.room -= len(data)
        text = self._out.decode(data, final=not data)
        if text:
            self.pieces.append(text)
            if self.on_text is not None:
                self.on_text(text)

    def _listen(self, pipe: IO[bytes]) -> None:
        data = self._read(pipe)
        if data is not None:
            self._listened(self._err.decode(data, final=not data))

    def _listened(self, text: str, *, last: bool = False) -> None:
        self._tail = (self._tail + text)[-TAIL:]
        if self.on_line is None:
            return
        *lines, self._line = (self._line + text).split("\n")
        if self._line and (last or len(self._line) > TAIL):
            lines.append(self._line)
            self._line = ""
        for line in lines:
            self.on_line(line.rstrip("\r"))

    def _read(self, pipe: IO[bytes]) -> bytes | None:
        try:
            data = os.read(pipe.fileno(), _PIECE)
        except BlockingIOError:
            return None
        if not data:
            self._close(pipe)
        return data

    def _close(self, pipe: IO[bytes]) -> None:
        self.selector.unregister(pipe)
        with suppress(OSError):
            pipe.close()

    def said(self) -> str:
        """The end of what it said on stderr, on one line, with a colon before it; empty when it said nothing."""
        text = " ".join(self._tail.split())
        cut = text if len(text) <= SAID else "…" + text[-SAID:]
        return f": {cut}" if cut else ""


# --- ending ------------------------------------------------------------------------------------------------------


def end(process: Popen[bytes], *, politely: int) -> None:
    """End the command and all it started: asked by a signal first, forced a second later."""
    from signal import SIGKILL
    from subprocess import TimeoutExpired

    try:
        if process.poll() is None:
            _signal(process, politely)
            with suppress(TimeoutExpired):
                process.wait(GRACE)
    finally:
        _signal(process, SIGKILL)
        with suppress(TimeoutExpired):
            process.wait(GRACE)


class _Run:
    """A program that is being talked to, maybe in a thread of its own; `over` once nothing of it is left."""

    def __init__(self) -> None:
        from threading import Event

        self.process: Popen[bytes] | None = None
        self.over = Event()


_RUNS: set[_Run] = set()


@contextmanager
def watched() -> Iterator[_Run]:
    """Let `end_all` know of the program that is started inside."""
    run = _Run()
    _RUNS.add(run)
    try:
        yield run
    finally:
        _RUNS.discard(run)
        run.over.set()


def end_all() -> None:
    """End all programs that other threads are talking to, and wait until these have cleaned up behind them.

    For a process that ends: its threads are not asked, so nobody else would end what they started.
    """
    from signal import SIGTERM

    runs = [run for run in tuple(_RUNS) if run.process is not None]
    for run in runs:
        if run.process is not None and run.process.poll() is None:
            _signal(run.process, SIGTERM)
    for run in runs:
        if not run.over.wait(GRACE) and run.process is not None:
            end(run.process, politely=SIGTERM)
            run.over.wait(GRACE)


def _signal(process: Popen[bytes], number: int) -> None:
    with suppress(OSError):  # they are all gone
        os.killpg(process.pid, number)


class _Signalled(BaseException):
    """A signal that ends this process has arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def unwinding() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind what is inside before they end this process as they would have."""
    import signal

    def stop(number: int, _frame: object) -> None:
        for one in changed:  # a second one must not interrupt the cleaning up
            signal.signal(one, signal.SIG_IGN)
        raise _Signalled(number)

    changed: list[int] = []
    for number in (int(signal.SIGTERM), int(signal.SIGHUP)):
        if signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # not the main thread of the process: whoever started it deals with signals
                signal.signal(number, stop)
                changed.append(number)
    try:
        yield
    except _Signalled as exc:
        signal.signal(exc.number, signal.SIG_DFL)
        os.kill(os.getpid(), exc.number)
        raise
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
