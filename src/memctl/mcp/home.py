"""Where the tools work: the store, its settings, and handles that are opened once and then used again.

A handle is never used by two calls at a time; the one that was used last is the next, so a quiet server keeps one. A
store that was replaced, or whose tables changed, is opened anew.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Condition, Thread

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.errors import MemctlError
from memctl.ops.context import Context
from memctl.store.connect import MEMORY

if TYPE_CHECKING:
    from memctl.api import MemoryStore
    from memctl.config import MemoryConfig
    from memctl.policy import MemoryPolicy
    from memctl.store.connect import Database

Say = Callable[[str], None]
#: So many handles wait with their bookkeeping; what comes on top of that is dropped.
MOST_WAITING = 16
#: So many seconds a call waits for a single handle that does its bookkeeping, before it gets another one.
PATIENCE = 0.05


class Served(Context):
    """The surroundings of calls to tools, one after the other: what is said and shown differs from call to call."""

    stamp: tuple[int, ...] = ()
    #: What is left to do when the answer is out.
    chore: Callable[[], object] | None = None
    _note: Say | None = None

    def attend(self, say: Say | None = None, note: Say | None = None, progress: Say | None = None) -> None:
        """Let this call's warnings, remarks and progress go there."""
        self._say, self._note, self._progress = say, note, progress

    def finish(self, chore: Callable[[], object], *, later: bool) -> None:
        """Do what an operation leaves to do: now, or (counting the uses of a read) when the answer is out."""
        if later:
            self.chore = chore
        else:
            chore()

    def note(self, message: str) -> None:
        """A remark is no warning: it is kept apart."""
        if self._note is not None:
            self._note(message)

    def is_stale(self) -> bool:
        """Whether the file under the open handle is another one by now, or has other tables."""
        return self._db is not None and self.stamp != self._look(self._db)

    def mark(self) -> None:
        """Remember what the open handle looks at."""
        if self._db is not None:
            self.stamp = self._look(self._db)

    def _look(self, db: "Database") -> tuple[int, ...]:
        try:
            info = os.stat(self.db_path)
        except OSError:
            return (0,)
        return (info.st_dev, info.st_ino, db.value("PRAGMA schema_version"))


class Home:
    """A store in a file. `environ` is what settings come from; a server's own flags go into it."""

    def __init__(
        self, db: str, *, config: str | None = None, environ: Mapping[str, str] | None = None, cwd: str | None = None
    ) -> None:
        self._options: dict[str, Any] = {"db": db, "config": config, "environ": environ, "cwd": cwd}
        self._free: dict[bool, list[Served]] = {False: [], True: []}
        self._busy: dict[bool, int] = {False: 0, True: 0}
        self._changed = Condition()
        self._closed = False
        self._chores: SimpleQueue[tuple[Served, bool]] = SimpleQueue()
        self._waiting = 0
        self._keeper: Thread | None = None

    @property
    def db_path(self) -> str:
        """The store's absolute path."""
        return Context(**self._options).db_path

    @contextmanager
    def context(
        self, *, writes: bool, say: Say | None = None, note: Say | None = None, progress: Say | None = None
    ) -> Iterator[Served]:
        """The surroundings of one call; nobody else has them meanwhile."""
        ctx = self._take(writes)
        ctx.attend(say, note, progress)
        try:
            if ctx.is_stale():
                ctx.close()
            yield ctx
            ctx.mark()
        except BaseException:
            ctx.close()
            ctx.chore = None
            raise
        finally:
            ctx.attend()
            if ctx.chore is None or not self._defer(ctx, writes):
                self._give_back(ctx, writes)

    # --- bookkeeping: use counts wait for the write lock, and nobody waits long for them ----------------------------

    def _defer(self, ctx: Served, writes: bool) -> bool:
        """Do the chore later, and give the handle back then; False when too many are waiting (it is dropped)."""
        with self._changed:
            if self._waiting >= MOST_WAITING or self._closed:
                ctx.chore = None
                return False
            self._waiting += 1
            if self._keeper is None:
                self._keeper = Thread(target=self._keep, daemon=True)
                self._keeper.start()
        self._chores.put((ctx, writes))
        return True

    def _keep(self) -> None:
        while True:
            ctx, writes = self._chores.get()
            chore, ctx.chore = ctx.chore, None
            try:
                if chore is not None:
                    chore()
            except MemctlError:  # it may be dropped: it never changes an answer
                ctx.close()
            finally:
                with self._changed:
                    self._waiting -= 1
                    self._give_back(ctx, writes)

    def _take(self, writes: bool) -> Served:
        with self._changed:
            self._busy[writes] += 1
            free = self._free[writes]
            if self._waiting == 1 and not writes:  # the handle that knows the store best is about to come back
                self._changed.wait_for(lambda: not self._waiting, PATIENCE)
            return free.pop() if free else self._new()

    def _new(self) -> Served:
        return Served(**self._options, json=True)

    def _give_back(self, ctx: Served, writes: bool) -> None:
        with self._changed:
            self._busy[writes] -= 1
            if self._closed:
                ctx.close()
            else:
                self._free[writes].append(ctx)
            self._changed.notify_all()

    def close(self, wait: float = 0.0) -> bool:
        """Close all handles; those in use when they come back.

        Waits so many seconds for writes and bookkeeping that are going on.

        Returns whether nothing is going on any more.
        """
        deadline = ids.monotonic() + wait
        with self._changed:
            self._closed = True
            while (self._busy[True] or self._waiting) and (left := deadline - ids.monotonic()) > 0:
                self._changed.wait(left)
            for free in self._free.values():
                while free:
                    free.pop().close()
            return not any(self._busy.values())


class Lent(Served):
    """The surroundings that somebody else's open store gives."""

    def __init__(self, store: "MemoryStore", policy: "MemoryPolicy | None", settings: "MemoryConfig | None") -> None:
        super().__init__(db=store._db.path, json=True)
        self._lent, self._policy, self._settings = store._db, policy, settings

    def finish(self, chore: Callable[[], object], *, later: bool) -> None:  # noqa: ARG002 - there is one handle
        """Do it now: the handle goes back to its owner."""
        chore()

    @property
    def db(self) -> "Database":
        """The store that was lent; its owner closes it."""
        return self._lent if self._db is None else self._db  # `scratch()` puts another one there

    @property
    def db_path(self) -> str:
        """The path its owner opened."""
        return self._lent.path if self._lent.path == MEMORY else self.absolute(self._lent.path)

    @property
    def config_path(self) -> str | None:
        """None: the settings were lent too."""
        return None

    @property
    def config(self) -> "MemoryConfig":
        """The settings that were lent, else the defaults."""
        return super().config if self._settings is None else self._settings


class Guest:
    """A `MemoryStore` that a program has opened and shares: one call at a time, on that one handle."""

    def __init__(
        self, store: "MemoryStore", policy: "MemoryPolicy | None" = None, config: "MemoryConfig | None" = None
    ) -> None:
        self._store, self._policy, self._config = store, policy, config

    @property
    def db_path(self) -> str:
        """The store's path, or ":memory:"."""
        path = self._store._db.path
        return path if path == MEMORY else os.path.abspath(path)

    @contextmanager
    def context(
        self, *, writes: bool, say: Say | None = None, note: Say | None = None, progress: Say | None = None
    ) -> Iterator[Served]:
        """The surroundings of one call; the one handle is for reads and writes."""
        _ = writes
        conn = self._store._conn
        with self._store._lock:
            names, conn.row_factory = conn.row_factory, None  # the documented class has rows that answer to names
            ctx = Lent(self._store, self._policy, self._config)
            ctx.attend(say, note, progress)
            try:
                yield ctx
            finally:
                conn.row_factory = names

    def close(self, wait: float = 0.0) -> bool:  # noqa: ARG002 - the same door as a Home's
        """Nothing: its owner closes it."""
        return True
