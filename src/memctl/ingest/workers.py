"""Files read in processes of their own: side by side, or because other people's code reads them.

A process that takes too long over a file is killed, one that dies takes no other file with it. Results come in the
order of the tasks, whoever is done first. Tasks go through a pipe, and what was read comes back, both as JSON.

A process touches no store. It ends when its input does, which also happens when its parent is killed. Where that is
safe it is a fork of its parent, which costs 5 ms; else a new interpreter, which costs 80. A file can be made to take
over the library that reads it: what comes back must then be nothing but a wrong text, no object of its choosing, no
other file's name, no value of another kind than is stored. So every field of an answer is checked.
"""

import json
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from memctl.extract import needs_worker
from memctl.ingest.prepare import FileTask, Prepared, PreparedPassage, Preparer
from memctl.store.documents.corpus import IngestedFile
from memctl.store.documents.passages import SourcePosition

if TYPE_CHECKING:
    from concurrent.futures import Future


#: Files travel together until they have this many bytes, or there are this many of them.
BUNDLE_BYTES, BUNDLE_FILES = 400_000, 64
#: In bytes: so much of ordinary text is read before there are processes, each of which would meet its words anew.
READ_HERE = 1_000_000
#: How many bundles may be done before an earlier one is.
AHEAD = 24


#: In bytes: a reader that wants more address space than its process began with, by this much, fails with MemoryError
#: instead of taking the machine down.
MEMORY = 4 << 30
#: In bytes: what a pipe from a worker holds, a bundle of text as its passages; systems allow that without privileges.
ANSWER = 1 << 20
#: How many bytes tell the length of a message.
_LENGTH = 8
#: In bytes: a longer message is none of ours, one file's text is far below.
LONGEST = 2 << 30

_CHILD = "import sys; sys.path[:] = {path!r}; from memctl.ingest.workers import serve_stdin; serve_stdin()"
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


class Team:
    """Prepares files through at most `workers` processes, which `close` ends."""

    def __init__(self, preparer: Preparer, workers: int) -> None:
        self._preparer, self._wanted = preparer, workers
        self._pool: Any = None
        self._closed = False
        self._idle: deque[Worker] = deque()
        self._all: list[Worker] = []

    def close(self) -> None:
        """Stop all processes, whatever they are doing."""
        self._closed = True
        for worker in list(self._all):
            worker.end()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None

    def prepare(self, tasks: Iterable[FileTask]) -> Iterator[Prepared]:
        """The files, in order, read side by side."""
        import hashlib  # noqa: F401 - `ids` hashes with it where it is loaded, which many texts make up for
        from concurrent.futures import ThreadPoolExecutor

        self._preparer.prepare("", b"")  # loads what every text needs: the forks need not load it each
        tasks, read = iter(tasks), 0
        for task in tasks:  # nor compile again the expressions that the first files need, nor meet their words anew
            if read >= READ_HERE or task.size >= READ_HERE or needs_worker(task.path):
                tasks = chain([task], tasks)
                break
            yield self._preparer.read(task.path, task.sha256)
            read += task.size
        while len(self._idle) < self._wanted:  # before there are threads, so that they can be forks
            self._idle.append(self._start())
        # One thread for each process: it writes, waits and reads; the work is done in the process.
        self._pool = ThreadPoolExecutor(self._wanted)
        waiting: deque[Future[list[Prepared]]] = deque()
        for bundle in _bundles(tasks):
            waiting.append(self._pool.submit(self.read, bundle))
            if len(waiting) >= AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def read(self, bundle: list[FileTask]) -> list[Prepared]:
        """Some files, read by one process, and by another one where that fails."""
        if self._closed:  # nobody waits for these any more
            return []
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = self._start()
        used, worker.used = worker.used, True
        seconds = self._preparer.options.limits.seconds * (1 if needs_worker(bundle[0].path) else 10)
        found = worker.ask([(task.path, task.sha256) for task in bundle], seconds)
        if found is not None:
            if not worker.late:
                self._idle.append(worker)
            return found
        if len(bundle) > 1:  # one of them is to blame
            return [one for task in bundle for one in self.read([task])]
        if used and not worker.late:  # or one that it has read before
            return self.read(bundle)
        took = f"reading it took more than {seconds:.0f} seconds (ingest.max_seconds in config.json)"
        return [Prepared(bundle[0].path, None, problem=took if worker.late else "its reader crashed")]

    def _start(self) -> "Worker":
        worker = start(self._preparer, check_prepared, self._all)
        self._all.append(worker)
        if self._closed:
            worker.end()
        return worker


def _bundles(tasks: Iterable[FileTask]) -> Iterator[list[FileTask]]:
    """Tasks that travel together, in order; a file that other people's code reads travels alone."""
    bundle: list[FileTask] = []
    size = 0
    for task in tasks:
        alone = needs_worker(task.path)
        if bundle and (alone or size >= BUNDLE_BYTES or len(bundle) >= BUNDLE_FILES):
            yield bundle
            bundle, size = [], 0
        if alone:
            yield [task]
            continue
        bundle.append(task)
        size += task.size
    if bundle:
        yield bundle


def usual_workers() -> int:
    """How many processes read where nobody says: one for each processor, because the one that writes what they read
    waits for them most of the time; none where there is but one processor.
    """
    try:
        found = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        found = os.cpu_count() or 1
    return found if found > 1 else 0


# --- one process ------------------------------------------------------------------------------------------------------


#: Who reads files in the process: it has `limits`, and `read(path, sha256)`, which says what becomes of a file (sha256:
#: the hash of the bytes that need no reading, if there is one). It goes there with the fork, or pickled; nothing comes
#: back from there so.
FileReader = Any
#: Makes an answer for the file at a path of the JSON that it became on its way. Raises ValueError when it is none.
Check = Callable[[Any, str], Any]


class Worker:
    """A process as its parent sees it: files go in, prepared ones come out."""

    def __init__(self, check: Check, pid: int, tasks: IO[bytes], answers: IO[bytes]) -> None:
        self.check, self.pid, self.tasks, self.answers = check, pid, tasks, answers
        self.late = self.used = False
        self._ended = False

    def ask(self, files: list[tuple[str, str | None]], seconds: float) -> list[Any] | None:
        """What it makes of these files, each with the hash that needs no preparing.

        None when it died over them, or was killed because it took longer than `seconds`.
        """
        from threading import Timer

        def stop() -> None:
            if not self._ended:
                self.late = True
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)

        watch = Timer(seconds, stop)
        watch.daemon = True
        watch.start()
        try:
            send(files, self.tasks)
            read = receive(self.answers)
            found = [self.check(one, path) for one, (path, _) in zip(read, files, strict=True)]
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


def start(reader: FileReader, check: Check, siblings: Iterable[Worker] = ()) -> Worker:
    """A new worker, whose answers `check` takes. `siblings`: those that run already, whose pipes it must not keep open.

    A fork is out of the question where another thread may hold a lock that it would never see released; elsewhere than
    on Linux system libraries forbid it.
    """
    import threading

    if sys.platform == "linux" and threading.active_count() == 1:
        return _forked(reader, check, siblings)
    return _spawned(reader, check)


def _forked(reader: FileReader, check: Check, siblings: Iterable[Worker]) -> Worker:
    import fcntl

    child_reads, parent_writes = os.pipe()
    parent_reads, child_writes = os.pipe()
    with suppress(AttributeError, OSError):  # Python's and the system's limits
        # The pipe holds all of an answer: its writer can go on reading while its reader does something else.
        fcntl.fcntl(child_writes, fcntl.F_SETPIPE_SZ, ANSWER)
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
    return Worker(check, pid, os.fdopen(parent_writes, "wb"), os.fdopen(parent_reads, "rb"))


def _spawned(reader: FileReader, check: Check) -> Worker:
    from subprocess import PIPE, Popen

    child = [sys.executable, "-c", _CHILD.format(path=[os.path.abspath(folder) for folder in sys.path])]
    # In a session of its own: ^C in a terminal reaches it before it can say that it does not mind.
    process = Popen(child, stdin=PIPE, stdout=PIPE, cwd=os.sep, start_new_session=True)  # noqa: S603 - ourselves
    if process.stdin is None or process.stdout is None:
        raise OSError("no pipes to a new process")
    process.returncode = 0  # `Worker.end` waits for it
    worker = Worker(check, process.pid, process.stdin, process.stdout)
    with suppress(OSError):  # it died at once: `ask` will say so
        pickle.dump(reader, worker.tasks, pickle.HIGHEST_PROTOCOL)
        worker.tasks.flush()
    return worker


# --- in the new process --------------------------------------------------------------------------------------------


def serve_stdin() -> None:
    """The life of a new interpreter that serves through standard input and output."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        reader: FileReader = pickle.load(source)  # noqa: S301 - from the process that started this one
    except (EOFError, pickle.UnpicklingError):  # it was stopped before it had sent the whole of it
        return
    serve(reader, source, sink)


def serve(reader: FileReader, source: IO[bytes], sink: IO[bytes]) -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; it closes our input
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(ImportError):  # not a Unix
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        bounds = [limit for limit in (soft, hard, _address_space() + MEMORY) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
    with suppress(AttributeError, OSError):  # Windows has no such thing, and a sandbox may forbid it
        os.nice(2)  # let our parent run first: otherwise it is still writing when there is nothing more to read
    _end_with(source.fileno())
    while True:
        try:
            files: list[tuple[str, str | None]] = receive(source)
        except EOFError:
            return
        _bound_time(reader.limits.seconds)
        send([reader.read(path, sha256) for path, sha256 in files], sink)
        _bound_time(None)


def _address_space() -> int:
    """What the process has of it in bytes: a fork begins with all that its parent has, which can be any amount."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # not Linux, where a new interpreter reads
        return 0


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


# --- what travels -----------------------------------------------------------------------------------------------------


def send(message: object, sink: IO[bytes]) -> None:
    """Write a value as JSON; named tuples become lists."""
    data = _encode(message).encode("utf-8", "surrogatepass")
    sink.write(len(data).to_bytes(_LENGTH, "big"))
    sink.write(data)
    sink.flush()


def receive(source: IO[bytes]) -> Any:
    """The next value. Raises EOFError where there is none, ValueError for what is none of ours."""
    head = source.read(_LENGTH)
    size = int.from_bytes(head, "big")
    if size > LONGEST:
        raise ValueError("the message is too long")
    data = source.read(size)
    if len(head) < _LENGTH or len(data) < size:
        raise EOFError
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


# --- what another process says that it has prepared ---------------------------------------------------------------


def check_prepared(value: Any, path: str) -> Prepared:
    """The answer for the file at `path`. Raises ValueError when it is none."""
    its_path, file, passages, tags, notes, problem, lasting = _checked(list, value)
    if its_path != path:
        raise ValueError("an answer about another file")
    cut: list[PreparedPassage] = []
    for title, content, digest, place, redacted, held_by in () if passages is None else _checked(list, passages):
        position, start, end, anchor = place
        if not title.__class__ is content.__class__ is digest.__class__ is anchor.__class__ is str:
            raise ValueError("a passage that is none")
        for number in (position, start, end):
            _checked(int, 0 if number is None else number)
        where, rules = SourcePosition(position, start, end, anchor), tuple(_checked_texts(held_by))
        cut.append(PreparedPassage(title, content, digest, where, _checked(bool, redacted), rules))
    record = None
    if file is not None:
        record = IngestedFile(*_checked(list, file))
        if record.path != path or record.item_ids:  # which items a file has is not for its reader to say
            raise ValueError("a record of another file")
        for number in (record.size, record.mtime_ns, record.inode, record.ctime_ns):
            _checked(int, 0 if number is None else number)
        for text in (record.ext, record.mount_id, record.rel_path, record.lang_hint):
            _checked(str, "" if text is None else text)
        _checked_texts([record.sha256, record.recipe])
        record = record._replace(item_ids=())
    notes = tuple(_checked_texts(notes))
    given = None if passages is None else cut
    return Prepared(path, record, given, _checked_texts(tags), notes, _checked(str, problem), _checked(bool, lasting))


def _checked_texts(value: Any) -> list[str]:
    found: list[str] = _checked(list, value)
    if any(one.__class__ is not str for one in found):
        raise ValueError("a text that is none")
    return found


def _checked(kind: type, value: Any) -> Any:
    if value.__class__ is not kind:
        raise ValueError(f"no {kind.__name__}")
    return value
