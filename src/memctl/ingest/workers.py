"""Files prepared side by side, and files that other people's code reads: in processes of their own.

A process that takes too long over a file is killed, one that dies takes no other file with it. Results come in the
order of the tasks, whoever is done first.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.extract import needs_worker
from memctl.ingest.prepare import Prepared, Preparer
from memctl.ingest.worker import Worker, start

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Starting processes pays from this many bytes on.
WORTHWHILE = 3_000_000
#: A file of so many bytes is read by a process of its own even where that does not pay: that can be stopped.
LARGE = 500_000
#: Files travel together until they have this many bytes, or there are this many of them.
BUNDLE_BYTES, BUNDLE_FILES = 400_000, 64
#: How many bundles may be done before an earlier one is.
AHEAD = 24


class Job(NamedTuple):
    """A file to prepare. `known`: the hash of the bytes that need no preparing, if there is one."""

    path: str
    size: int
    known: str | None


class Team:
    """Prepares files, itself or through workers; close it, or use it with `with`.

    workers: how many processes at most; 0 means that text is read here, and only foreign formats by one process.
    """

    def __init__(self, preparer: Preparer, workers: int) -> None:
        self._preparer, self._wanted = preparer, workers
        self._pool: Any = None
        self._closed = False
        self._idle: deque[Worker] = deque()
        self._all: list[Worker] = []

    def __enter__(self) -> "Team":  # noqa: PYI034 - typing.Self is 3.11
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all processes, whatever they are doing."""
        self._closed = True
        for worker in list(self._all):
            worker.end()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None

    def is_side_by_side(self, size: int) -> bool:
        """Whether so many bytes are read by several processes."""
        return self._wanted > 0 and size >= WORTHWHILE

    def prepare(self, jobs: Iterable[Job], size: int) -> Iterator[Prepared]:
        """The jobs' files, in order; `size`: the bytes of all of them together."""
        side_by_side = self.is_side_by_side(size)
        bundles = _bundles(jobs, BUNDLE_BYTES if side_by_side else 0)
        if not side_by_side:
            for bundle in bundles:
                yield from self._run(bundle) if _apart(bundle) else self._here(bundle)
            return
        waiting: deque[Future[list[Prepared]]] = deque()
        for bundle in bundles:
            waiting.append(self._threads().submit(self._run, bundle))
            if len(waiting) >= AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def _here(self, bundle: list[Job]) -> list[Prepared]:
        return [self._preparer.read(job.path, job.known) for job in bundle]

    def _threads(self) -> Any:
        """One thread for each process: it writes, waits and reads; the work is done in the process."""
        if self._pool is None:
            self._preparer.warm_up()
            while len(self._idle) < self._wanted:  # before there are threads, so that they can be forks
                self._idle.append(self._started())
            from concurrent.futures import ThreadPoolExecutor  # while they begin

            self._pool = ThreadPoolExecutor(self._wanted)
        return self._pool

    def _run(self, bundle: list[Job]) -> list[Prepared]:
        if self._closed:  # nobody waits for these any more
            return []
        worker = self._worker()
        used, worker.used = worker.used, True
        seconds = self._preparer.options.limits.seconds * (1 if _foreign(bundle) else 10)
        found = worker.ask([(job.path, job.known) for job in bundle], seconds)
        if found is not None:
            if not worker.late:
                self._idle.append(worker)
            return found
        if len(bundle) > 1:  # one of them is to blame
            return [one for job in bundle for one in self._run([job])]
        if used and not worker.late:  # or one that it has read before
            return self._run(bundle)
        took = f"reading it took more than {seconds:.0f} seconds (ingest.max_seconds in config.json)"
        return [Prepared(bundle[0].path, None, problem=took if worker.late else "its reader crashed")]

    def _worker(self) -> Worker:
        try:
            return self._idle.pop()
        except IndexError:
            return self._started()

    def _started(self) -> Worker:
        worker = start(self._preparer, self._all)
        self._all.append(worker)
        if self._closed:
            worker.end()
        return worker


def _foreign(bundle: list[Job]) -> bool:
    return needs_worker(bundle[0].path)


def _apart(bundle: list[Job]) -> bool:
    """Whether these files are read by another process also where text is read here."""
    return _foreign(bundle) or bundle[0].size >= LARGE


def _bundles(jobs: Iterable[Job], size: int) -> Iterator[list[Job]]:
    """Jobs that travel together, in order; a file that other people's code reads travels alone."""
    bundle: list[Job] = []
    total = 0
    for job in jobs:
        alone = needs_worker(job.path)
        if bundle and (alone or total >= size or len(bundle) >= BUNDLE_FILES):
            yield bundle
            bundle, total = [], 0
        bundle.append(job)
        total += job.size
        if alone:
            yield bundle
            bundle, total = [], 0
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
