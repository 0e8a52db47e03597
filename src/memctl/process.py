"""A program that memctl runs: talked to through its pipes without blocking, and ended with all it started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from memctl import ids

if TYPE_CHECKING:
    from subprocess import Popen

#: Seconds between the signal that asks a program to end and the one that forces it.
GRACE = 1.0
#: Seconds between two checks whether a silent program still runs.
TICK = 0.1
#: Characters of its stderr that are kept, and those that an error repeats.
TAIL = 4000
SAID = 300
#: Bytes that one system call reads or writes: what a pipe holds on Linux.
_PIECE = 1 << 16


class Program:
    """A program and its three pipes: its stdin is fed, its stdout kept, its stderr read; no call blocks.

    pieces     what it wrote on stdout, decoded
    status     what it ended with, negative for a signal
    truncated  it wrote more than `limit` bytes
    """

    def __init__(
        self,
        limit: int,
        on_text: Callable[[str], None] | None = None,
        on_line: Callable[[str], None] | None = None,
        on_wait: Callable[[int], None] | None = None,
    ) -> None:
        from codecs import getincrementaldecoder
        from threading import Event

        self.process: Popen[bytes] | None = None
        self.over = Event()  # set when nothing of it is left
        self.pieces: list[str] = []
        self.status = 0
        self.truncated = False
        self._room, self._on_text, self._on_line = limit, on_text, on_line
        self._on_wait, self._began, self._waited = on_wait, ids.monotonic(), 0
        self._tail = self._line = ""
        self._out, self._err = (getincrementaldecoder(name)("replace") for name in ("utf-8-sig", "utf-8"))

    def start(
        self, argv: Sequence[str], data: bytes | None, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """Run the program in a session of its own, without a shell; `data` goes to its stdin. Raises OSError."""
        from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
        from subprocess import DEVNULL, PIPE, Popen

        self.process = Popen(  # noqa: S603 - the user's own command, and no shell
            argv, stdin=DEVNULL if data is None else PIPE, stdout=PIPE, stderr=PIPE, bufsize=0, start_new_session=True,
            cwd=cwd, env=env,
        )  # fmt: skip
        self._unsent = memoryview(data or b"")
        self._selector = DefaultSelector()
        for pipe, event, act in (
            (self.process.stdin, EVENT_WRITE, self._feed),
            (self.process.stdout, EVENT_READ, self._take_stdout),
            (self.process.stderr, EVENT_READ, self._take_stderr),
        ):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, event, act)

    def exchange(self, deadline: float) -> bool:
        """Feed and read the program until it has ended; False when the deadline passed or it wrote too much."""
        from subprocess import TimeoutExpired

        process = self.process
        if process is None:
            raise ValueError("the program was not started")
        try:
            if not self._exchange_pipes(process, deadline):
                return False
            self.status = process.wait(max(0.0, deadline - ids.monotonic()))
        except TimeoutExpired:
            return False
        finally:
            self._selector.close()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            if self._line and self._on_line is not None:
                self._on_line(self._line.rstrip("\r"))
        return True

    def _exchange_pipes(self, process: Popen[bytes], deadline: float) -> bool:
        """Until both outputs are closed, or the program has ended and left them to a process that outlives it."""
        ended = 0.0
        while any(key.fileobj is not process.stdin for key in self._selector.get_map().values()):
            now = ids.monotonic()
            if now > (ended or deadline):
                return bool(ended)
            self._tell_waiting(int(now - self._began))
            ready = self._selector.select(min(TICK, deadline - now))
            for key, _ in ready:
                pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
                try:
                    done = key.data(pipe)
                except BlockingIOError:
                    continue
                if done:
                    self._selector.unregister(pipe)
                    with suppress(OSError):
                        pipe.close()
            if self.truncated:
                return False
            if process.poll() is not None:
                if not ready:
                    return True
                ended = ended or ids.monotonic() + GRACE
        return True

    def _tell_waiting(self, seconds: int) -> None:
        """Tell each second once that nothing can be shown yet."""
        if self._on_wait is not None and seconds > self._waited and not (self.pieces and self._on_text):
            self._waited = seconds
            self._on_wait(seconds)

    # Each of these acts on a pipe that is ready, and says whether nothing more is to come. All raise BlockingIOError.

    def _feed(self, pipe: IO[bytes]) -> bool:
        try:
            self._unsent = self._unsent[os.write(pipe.fileno(), self._unsent[:_PIECE]) :]
        except BlockingIOError:
            raise
        except OSError:  # the program reads no further: a program may do that
            return True
        return not self._unsent

    def _take_stdout(self, pipe: IO[bytes]) -> bool:
        data = os.read(pipe.fileno(), _PIECE)
        if len(data) > self._room:
            data, self.truncated = data[: self._room], True
        self._room -= len(data)
        text = self._out.decode(data, final=not data)
        if text:
            self.pieces.append(text)
            if self._on_text is not None:
                self._on_text(text)
        return not data

    def _take_stderr(self, pipe: IO[bytes]) -> bool:
        data = os.read(pipe.fileno(), _PIECE)
        text = self._err.decode(data, final=not data)
        self._tail = (self._tail + text)[-TAIL:]
        if self._on_line is not None:
            *lines, self._line = (self._line + text).split("\n")
            if len(self._line) > TAIL:
                lines.append(self._line)
                self._line = ""
            for line in lines:
                self._on_line(line.rstrip("\r"))
        return not data

    def stderr_tail(self) -> str:
        """The end of its stderr on one line, after a colon; empty when it wrote nothing there."""
        text = " ".join(self._tail.split())
        cut = text if len(text) <= SAID else "…" + text[-SAID:]
        return f": {cut}" if cut else ""

    def end(self, polite_signal: int) -> None:
        """End the program and all it started: a signal asks first, SIGKILL forces it after GRACE."""
        from signal import SIGKILL
        from subprocess import TimeoutExpired

        if self.process is None:
            return
        try:
            if self.process.poll() is None:
                self.send_signal(polite_signal)
                with suppress(TimeoutExpired):
                    self.process.wait(GRACE)
        finally:
            self.send_signal(SIGKILL)
            with suppress(TimeoutExpired):
                self.process.wait(GRACE)

    def send_signal(self, number: int) -> None:
        """Send a signal to the program and to what it started."""
        if self.process is not None:
            with suppress(OSError):  # none of them runs any more
                os.killpg(self.process.pid, number)


#: The programs that run now, for `end_all`.
_RUNNING: set[Program] = set()


@contextmanager
def running(
    limit: int,
    on_text: Callable[[str], None] | None = None,
    on_line: Callable[[str], None] | None = None,
    on_wait: Callable[[int], None] | None = None,
) -> Iterator[Program]:
    """A program to start inside. An exception, SIGTERM and SIGHUP end it with all it started.

    limit    bytes of its stdout; what is beyond them is cut
    on_text  is called with the pieces of its stdout while they come
    on_line  is called with each line of its stderr
    on_wait  is called each second with how many it has taken; with on_text, until the first piece comes
    """
    from signal import SIGINT, SIGTERM

    program = Program(limit, on_text, on_line, on_wait)
    with _signals_as_exceptions():
        _RUNNING.add(program)
        try:
            yield program
        except BaseException as exc:
            program.end(SIGINT if isinstance(exc, KeyboardInterrupt) else SIGTERM)
            raise
        finally:
            _RUNNING.discard(program)
            program.over.set()


def end_all() -> None:
    """End all programs that other threads run, and wait until those threads have cleaned up.

    For a process that exits: its threads do not unwind, so nobody else ends what they started.
    """
    from signal import SIGTERM

    programs = [program for program in tuple(_RUNNING) if program.process is not None]
    for program in programs:
        if program.process is not None and program.process.poll() is None:
            program.send_signal(SIGTERM)
    for program in programs:
        if not program.over.wait(GRACE):
            program.end(SIGTERM)
            program.over.wait(GRACE)


class _SignalReceived(BaseException):
    """A signal that ends this process has arrived; its argument is the number."""


@contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind what is inside before they end this process as they would have."""
    import signal

    def stop(number: int, _frame: object) -> None:
        for one in changed:  # a second one must not interrupt the cleaning up
            signal.signal(one, signal.SIG_IGN)
        raise _SignalReceived(number)

    changed: list[int] = []
    for number in (int(signal.SIGTERM), int(signal.SIGHUP)):
        if signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # not the main thread of the process: the main program handles signals
                signal.signal(number, stop)
                changed.append(number)
    try:
        yield
    except _SignalReceived as exc:
        signal.signal(exc.args[0], signal.SIG_DFL)
        os.kill(os.getpid(), exc.args[0])
        raise
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def own_command() -> list[str]:
    """The command line that starts this memctl from anywhere: its script, or Python with the module."""
    import sys

    script = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    beside = os.path.join(os.path.dirname(sys.executable), "memctl")
    for path in (script, beside):
        if os.path.basename(path) in {"memctl", "memctl.exe"} and os.path.isfile(path) and os.access(path, os.X_OK):
            return [path]
    # Without these a folder named memctl, where the client stands, would be taken for the module.
    return [sys.executable, "-P" if sys.version_info >= (3, 11) else "-I", "-m", "memctl"]
