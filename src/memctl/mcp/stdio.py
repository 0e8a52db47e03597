"""The server on standard input and output, a JSON message a line; with the standard library alone.

A thread reads. What costs no time it answers itself; the rest waits its turn in a lane (`protocol.LANES`), so that a
write, a folder or a model holds up no read. Whoever finishes a call writes its answer; while the client does not read,
a thread of its own waits for it, and after `UNREAD` bytes no further call ends. After `WAITING` calls nothing is read.
"""

import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue

from memctl import ids
from memctl.annotations import Any
from memctl.mcp.protocol import INVALID_REQUEST, LANES, Protocol, ProtocolError, Request, encode, guessed_id, parse

#: Calls that wait or run; then nothing more is read.
WAITING = 256
#: Bytes of answers that nobody has read; then no further call ends.
UNREAD = 4_194_304
#: Bytes of the longest line that is kept.
LONGEST = 64 * 1_048_576
#: Bytes that are read at a time.
_CHUNK = 65_536
#: Seconds that a call may take once the input has ended, and nothing else was answered meanwhile.
EOF_GRACE = 5.0
#: Seconds that what runs has after a signal.
SIGNAL_GRACE = 0.7


class Signalled(BaseException):
    """A signal that ends the server."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Job:
    """A request that takes time."""

    __slots__ = ("is_cancelled", "request")

    def __init__(self, request: Request) -> None:
        self.request, self.is_cancelled = request, False


class Output:
    """Where answers go, from any thread, each whole.

    A pipe that has room is written to at once; else a thread of its own writes, and whoever comes waits while more than
    `UNREAD` bytes do. `gone` is called when nobody will ever read again.
    """

    def __init__(self, number: int, gone: Any) -> None:
        self._number, self._gone = number, gone
        self._changed = threading.Condition()
        self._unsent: deque[bytes] = deque()
        self._size = 0
        self._writer: threading.Thread | None = None
        self.is_broken = False

    def send(self, message: dict[str, Any]) -> None:
        """Write a message, now or when there is room."""
        data = encode(message)
        with self._changed:
            while self._size > UNREAD and not self.is_broken:
                self._changed.wait()
            if not self._unsent and not self.is_broken:
                data = self._written_now(data)
            if data and not self.is_broken:
                self._unsent.append(data)
                self._size += len(data)
                if self._writer is None:
                    self._writer = threading.Thread(target=self._write, daemon=True)
                    self._writer.start()
                self._changed.notify_all()

    def flush(self, deadline: float) -> None:
        """Wait until all is written, or the time is over."""
        with self._changed:
            while self._unsent and not self.is_broken and (left := deadline - ids.monotonic()) > 0:
                self._changed.wait(left)

    def _written_now(self, data: bytes) -> bytes:
        """What is left of `data` when the pipe has no more room."""
        most = getattr(select, "PIPE_BUF", 512)  # which a pipe that is ready takes without waiting
        while data:
            try:
                if not select.select([], [self._number], [], 0)[1]:
                    return data
            except (OSError, ValueError):  # no pipe can be asked on this system
                return data
            try:
                data = data[os.write(self._number, data[:most]) :]
            except OSError:
                self._break()
                return b""
        return data

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._unsent:
                    self._changed.wait()
                data = self._unsent[0]
            try:
                while data:
                    data = data[os.write(self._number, data[:_CHUNK]) :]
            except OSError:
                with self._changed:
                    self._break()
                return
            with self._changed:
                self._size -= len(self._unsent.popleft())
                self._changed.notify_all()

    def _break(self) -> None:
        self.is_broken = True
        self._changed.notify_all()
        self._gone()


class StdioServer:
    """One client on two file descriptors."""

    def __init__(self, core: Protocol, source: int, sink: int) -> None:
        self._core, self._source = core, source
        self._over = threading.Event()  # nothing more comes in, or nobody listens
        self._output = Output(sink, self._over.set)
        self._room = threading.Semaphore(WAITING)
        self._changed = threading.Condition()
        self._jobs: dict[Any, Job] = {}  # by the id of their request
        self._lanes: dict[str, SimpleQueue[Job]] = {}
        self._left = self._finished = 0  # calls that wait or run, calls that have ended
        self._running: list[str] = []  # the lanes of calls that run
        self._is_stopping = False

    def run(self) -> int:
        """Serve until the input ends, a signal comes or nobody listens any more; what the process is to end with."""
        try:
            with _signals():
                threading.Thread(target=self._read, daemon=True).start()
                while not self._over.wait(3600):  # without an end to it, no signal could interrupt it on Windows
                    pass
                with self._changed:  # what was asked is answered, as long as answers come
                    while self._left and not self._output.is_broken:
                        before = self._finished
                        self._changed.wait(EOF_GRACE)
                        if self._finished == before:
                            break
                self._output.flush(ids.monotonic() + EOF_GRACE)
        except Signalled as exc:
            self._is_stopping = True  # what runs has a moment; a model is not waited for
            deadline = ids.monotonic() + SIGNAL_GRACE
            with self._changed:
                while any(lane != "model" for lane in self._running) and (left := deadline - ids.monotonic()) > 0:
                    self._changed.wait(left)
            self._output.flush(deadline)
            return 128 + exc.number
        return 0

    # --- what comes in -----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            for line in self._lines():
                if line.strip():
                    self._take(line)
        finally:
            if self._core.roots is not None:
                self._core.roots.said.set()
            self._over.set()

    def _lines(self) -> Iterator[bytes]:
        """The lines that come in. One that is too long is answered here, and only its ends are kept."""
        begun: list[bytes] = []
        size = 0
        while True:
            try:
                data = os.read(self._source, _CHUNK)
            except OSError:
                data = b""
            *ended, rest = data.split(b"\n") if data else (b"", b"")
            for part in ended:
                begun.append(part)
                if size + len(part) > LONGEST:
                    wrong = f"a message has at most {LONGEST} bytes"
                    self._output.send(
                        ProtocolError(INVALID_REQUEST, wrong, id=guessed_id(begun[0] + begun[-1])).answer()
                    )
                else:
                    yield b"".join(begun)
                begun, size = [], 0
            if not data:
                return
            size += len(rest)
            begun += [rest] if rest else []
            if size > LONGEST:
                del begun[1:]

    def _take(self, line: bytes) -> None:
        try:
            request = parse(line)
        except ProtocolError as exc:
            self._output.send(exc.answer())
            return
        if self._core.roots is not None:
            if request is None:
                self._core.roots.take(line)
            else:
                self._core.roots.hear(request, self._output.send)
        if request is None:
            return
        if request.id is None:
            if request.method == "notifications/cancelled":
                with self._changed, suppress(TypeError):  # an id that is a list, say
                    if (job := self._jobs.get(request.params.get("requestId"))) is not None:
                        job.is_cancelled = True
        elif lane := self._core.lane(request):
            self._room.acquire()
            self._queue(lane, Job(request))
        else:
            self._output.send(self._core.respond(request))

    def _queue(self, name: str, job: Job) -> None:
        with self._changed:
            self._jobs[job.request.id] = job
            self._left += 1
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = SimpleQueue()
            for _ in range(LANES[name]):
                threading.Thread(target=self._work, args=(name, lane), daemon=True).start()
        lane.put(job)

    # --- what goes out -----------------------------------------------------------------------------------------------

    def _work(self, name: str, lane: "SimpleQueue[Job]") -> None:
        while True:
            job = lane.get()
            if self._is_stopping:
                return
            with self._changed:
                self._running.append(name)
            try:
                if self._core.roots is not None:
                    self._core.roots.wait()
                if not job.is_cancelled:
                    answer = self._core.respond(job.request, tell=partial(self._tell, job))
                    if not job.is_cancelled:
                        self._output.send(answer)
            finally:
                with self._changed:
                    self._running.remove(name)
                    if self._jobs.get(job.request.id) is job:
                        del self._jobs[job.request.id]
                    self._left -= 1
                    self._finished += 1
                    self._changed.notify_all()
                self._room.release()

    def _tell(self, job: Job, done: float, words: str) -> None:
        if not job.is_cancelled:
            params = {"progressToken": job.request.meta["progressToken"], "progress": done, "message": words}
            self._output.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


# --- the process -----------------------------------------------------------------------------------------------------


def serve(core: Protocol) -> int:
    """Serve on the standard streams of this process; what it is to end with."""
    with _taken_streams() as (source, sink):
        return StdioServer(core, source, sink).run()


@contextmanager
def _taken_streams() -> Iterator[tuple[int, int]]:
    """Standard input and output for the protocol alone: who else reads finds nothing, and writes on stderr."""
    ends = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # there is no stderr
            os.dup2(nothing, 1)
        yield ends
    finally:
        for number, end in enumerate(ends):
            os.dup2(end, number)
        os.close(nothing)


@contextmanager
def _signals() -> Iterator[None]:
    """The first signal that ends the server is an exception; after it none does anything, since the process ends."""

    def end(number: int, _frame: Any) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise Signalled(number)

    is_main = threading.current_thread() is threading.main_thread()
    found = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP") if is_main]
    taken = [one for one in found if one is not None and signal.getsignal(one) is not signal.SIG_IGN]
    before = {one: signal.signal(one, end) for one in taken}
    try:
        yield
    finally:
        if not isinstance(sys.exc_info()[1], Signalled):
            for one, handler in before.items():
                signal.signal(one, handler)
