"""A process that reads files for another one: tasks come in through a pipe, what was read goes out, both as JSON.

It touches no store. It ends when its input does, which also happens when its parent is killed. Where that is safe it is
a fork of its parent, which costs 5 ms; else a new interpreter, which costs 80.
"""

import os
import pickle
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Protocol

from memctl.ingest.answers import receive, send

if TYPE_CHECKING:
    from memctl.extract import Limits

#: In bytes: a reader that wants more address space fails with MemoryError instead of taking the machine down.
MEMORY = 4 << 30

#: In bytes: what a pipe from a worker holds, a bundle of text as its passages; systems allow that without privileges.
ANSWER = 1 << 20

_CHILD = "import sys; sys.path[:] = {path!r}; from memctl.ingest.worker import main; main()"


class Reader(Protocol):
    """Who reads files in the process; it goes there with the fork, or pickled. Nothing comes back from there so."""

    @property
    def limits(self) -> "Limits":
        """What reading may cost."""

    def read(self, path: str, known: str | None) -> Any:
        """What becomes of a file. `known`: the hash of the bytes that need no reading, if there is one."""

    def answer(self, value: Any, path: str) -> Any:
        """The same of the JSON that it became on its way. Raises ValueError when it cannot be an answer."""


class Worker:
    """A process as its parent sees it: files go in, prepared ones come out."""

    def __init__(self, reader: Reader, pid: int, tasks: IO[bytes], answers: IO[bytes]) -> None:
        self.reader, self.pid, self.tasks, self.answers = reader, pid, tasks, answers
        self.late = self.used = False
        self._ended = False

    def ask(self, files: list[tuple[str, str | None]], seconds: float) -> list[Any] | None:
        """What it makes of these files, each with the hash that needs no preparing.

        None when it died over them, or was killed because it took longer than `seconds`.
        """
        from threading import Timer

        watch = Timer(seconds, self._too_late)
        watch.daemon = True
        watch.start()
        try:
            send(files, self.tasks)
            read = receive(self.answers)
            found = [self.reader.answer(one, path) for one, (path, _) in zip(read, files, strict=True)]
        except (OSError, EOFError, ValueError, TypeError):  # it is gone, `end` closed the pipes, or it talks nonsense
            self.end()
            return None
        finally:
            watch.cancel()
        return found

    def end(self) -> None:
        """Stop it at once."""
        if self._ended:
            return
        self._ended = True
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        for pipe in (self.tasks, self.answers):
            with suppress(OSError):  # what it had not read yet
                pipe.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _too_late(self) -> None:
        if self._ended:
            return
        self.late = True
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def start(reader: Reader, siblings: Iterable[Worker] = ()) -> Worker:
    """A new worker. `siblings`: those that run already, whose pipes it must not keep open."""
    return _forked(reader, siblings) if _may_fork() else _spawned(reader)


def _may_fork() -> bool:
    # Another thread may hold a lock that a fork would never see released; elsewhere system libraries forbid it.
    import threading

    return sys.platform == "linux" and threading.active_count() == 1


def _forked(reader: Reader, siblings: Iterable[Worker]) -> Worker:
    child_reads, parent_writes = os.pipe()
    parent_reads, child_writes = os.pipe()
    _widen(child_writes)
    pid = os.fork()
    if pid == 0:
        try:
            for end in (parent_writes, parent_reads, *(w.tasks.fileno() for w in siblings if not w.tasks.closed)):
                os.close(end)
            os.dup2(2, 1)  # a library that prints must not speak in our output
            sys.stdout = sys.stderr
            serve(reader, os.fdopen(child_reads, "rb"), os.fdopen(child_writes, "wb"))
        finally:
            os._exit(0)
    os.close(child_reads)
    os.close(child_writes)
    return Worker(reader, pid, os.fdopen(parent_writes, "wb"), os.fdopen(parent_reads, "rb"))


def _widen(pipe: int) -> None:
    """Let a pipe hold all of an answer, so that its writer can go on reading while its reader does something else."""
    import fcntl

    with suppress(AttributeError, OSError):  # Python's and the system's limits
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, ANSWER)


def _spawned(reader: Reader) -> Worker:
    from subprocess import PIPE, Popen

    child = [sys.executable, "-c", _CHILD.format(path=[os.path.abspath(folder) for folder in sys.path])]
    # In a session of its own: ^C in a terminal reaches it before it can say that it does not mind.
    process = Popen(child, stdin=PIPE, stdout=PIPE, cwd=os.sep, start_new_session=True)  # noqa: S603 - ourselves
    if process.stdin is None or process.stdout is None:
        raise OSError("no pipes to a new process")
    process.returncode = 0  # `Worker.end` waits for it
    worker = Worker(reader, process.pid, process.stdin, process.stdout)
    with suppress(OSError):  # it died at once: `ask` will say so
        pickle.dump(reader, worker.tasks, pickle.HIGHEST_PROTOCOL)
        worker.tasks.flush()
    return worker


# --- in the new process --------------------------------------------------------------------------------------------


def main() -> None:
    """The life of a new interpreter that serves through standard input and output."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    reader: Reader = pickle.load(source)  # noqa: S301 - from the process that started this one
    serve(reader, source, sink)


def serve(reader: Reader, source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; it closes our input
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _bound_memory()
    _give_way()
    _end_with(source.fileno())
    while True:
        try:
            files: list[tuple[str, str | None]] = receive(source)
        except EOFError:
            return
        _bound_time(reader.limits.seconds)
        send([reader.read(path, known) for path, known in files], sink)
        _bound_time(None)


def _give_way() -> None:
    """Let our parent run first: otherwise it is still writing when there is nothing more to read."""
    with suppress(AttributeError, OSError):  # Windows has no such thing, and a sandbox may forbid it
        os.nice(2)


def _end_with(source: int) -> None:
    """End when the other end of a pipe is closed, whatever a reader is doing: our parent may have been killed."""
    import select
    from threading import Thread

    if not hasattr(select, "poll"):  # Windows
        return

    def watch() -> None:
        other_end = select.poll()
        other_end.register(source, 0)  # asks for nothing but its closing
        other_end.poll()
        os._exit(0)

    Thread(target=watch, daemon=True).start()


def _bound_time(seconds: float | None) -> None:
    """The last resort for a reader that hangs and lets no thread of ours run, when no parent is there to stop it."""
    if hasattr(signal, "alarm"):
        signal.alarm(0 if seconds is None else 60 + int(min(20 * seconds, 1e6)))


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # not a Unix
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [limit for limit in (soft, hard, MEMORY) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
