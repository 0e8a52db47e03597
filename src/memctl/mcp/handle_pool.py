"""Where the tools work: the store, its settings, and handles that are opened once and then used again.

A handle is never used by two calls at a time; the one that was used last is the next, so a quiet server keeps one. A
store that was replaced, or whose tables changed, is opened anew.

What was delivered is counted as used a moment later, in a thread and for all calls together, and when the pool is
closed. To count it within each call would make a recall in 10,000 items 2 ms longer, and 8 ms at the 95th percentile
(`benchmarks/run --only mcp` prints both). A handle that counts keeps what it found out about the store; the others
have to find it out again. So it is done by the one that was used last, in a pause between calls.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Condition, Timer

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import Context, nearest_store
from memctl.operation import READ, WRITE
from memctl.store import connect
from memctl.store.connect import MEMORY

if TYPE_CHECKING:
    from memctl.api import MemoryStore
    from memctl.config import MemoryConfig
    from memctl.policy import MemoryPolicy
    from memctl.store.database import Database

Say = Callable[[str], None]
#: Seconds from a use to its count; uses that come meanwhile are counted with it. Without a pause between calls it is
#: done after LONGEST.
COUNT_SECONDS, LONGEST = 1.0, 10.0


class CallContext(Context):
    """The surroundings of calls to tools, one after the other: what is said and shown differs from call to call."""

    #: The file and the tables that the open handle looks at.
    stamp: tuple[int, ...] = ()
    _note: Say | None = None
    #: Where uses are gathered; None = each is counted at once.
    gathered: list[Any] | None = None

    def attend(self, say: Say | None = None, note: Say | None = None, progress: Say | None = None) -> None:
        """Let this call's warnings, remarks and progress go there."""
        self._say, self._note, self._progress = say, note, progress

    def note(self, message: str) -> None:
        """A remark is no warning: it is kept apart."""
        if self._note is not None:
            self._note(message)

    def look(self) -> tuple[int, ...]:
        """The file and the tables that the path leads to now; nothing as long as no handle is open."""
        if self._db is None:
            return ()
        try:
            info = os.stat(self.db_path)
        except OSError:
            return (0,)
        return (info.st_dev, info.st_ino, self._db.schema_version())

    def _open(self) -> "Database":
        if self._access == READ and self.db_path != MEMORY and not os.path.exists(self.db_path):
            # Nobody has stored anything yet: there is nothing to find, and no reason to make a store.
            return connect.open_write(connect.SCRATCH, create=True, tokenizer=self.tokenizer)
        db = super()._open()
        if self._access == READ:
            db.uses = self.gathered
        return db


class HandlePool:
    """The handles on a store in a file. `environ` is what settings come from; a server's own flags go into it.

    found  nobody named the store: it was the nearest one
    """

    def __init__(
        self,
        db: str,
        *,
        found: bool = False,
        config: str | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> None:
        self._options: dict[str, Any] = {
            "db": db, "found": found, "config": config, "environ": environ, "cwd": cwd, "json": True,
        }  # fmt: skip
        self.db_path = Context(**self._options).db_path  # absolute
        self._free: dict[bool, list[CallContext]] = {False: [], True: []}
        self._busy: dict[bool, int] = {False: 0, True: 0}
        self._changed = Condition()
        self._uses: list[Any] = []
        self._timer: Timer | None = None
        self._count_by = 0.0  # when the uses are counted at the latest
        self._counting = 0
        self._closed = False
        #: The client's folder, whose project and store are meant, when the server was started somewhere else.
        self.place: str | None = None

    @contextmanager
    def context(
        self, *, writes: bool, say: Say | None = None, note: Say | None = None, progress: Say | None = None
    ) -> Iterator[CallContext]:
        """The surroundings of one call; nobody else has them meanwhile."""
        with self._changed:
            self._busy[writes] += 1
            ctx = self._free[writes].pop() if self._free[writes] else CallContext(**self._options)
        ctx.gathered, ctx.place = self._uses, self.place
        ctx.attend(say, note, progress)
        try:
            if ctx.stamp != ctx.look():
                ctx.close()
            yield ctx
            ctx.stamp = ctx.look()
        except BaseException:
            ctx.close()
            raise
        finally:
            ctx.attend()
            with self._changed:
                self._busy[writes] -= 1
                if self._closed or ctx.db_path != self.db_path:
                    ctx.close()
                else:
                    self._free[writes].append(ctx)
                self._changed.notify_all()
            if self._closed:
                self._count()
            with self._changed:
                if self._uses and self._timer is None and not self._closed:
                    self._count_by = ids.monotonic() + LONGEST
                    self._wait_for_pause()

    def locate(self, folder: str) -> None:
        """Let calls from now on be about the project of this folder, in the store that is found there."""
        found = nearest_store(folder)
        with self._changed:
            self.place = folder
            if found != self.db_path:
                self._options |= {"db": found, "found": True}
                self.db_path = found
                for free in self._free.values():
                    while free:
                        free.pop().close()

    def _wait_for_pause(self) -> None:
        self._timer = Timer(COUNT_SECONDS, self._count)
        self._timer.daemon = True
        self._timer.start()

    def _count(self) -> None:
        """Count the uses that were gathered; they are kept when the store is too busy, to try again later."""
        with self._changed:
            is_pause = bool(self._free[False]) and not self._busy[False]
            if not (is_pause or self._closed or ids.monotonic() >= self._count_by):
                self._wait_for_pause()
                return
            self._timer = None
            uses = self._uses[:]
            del self._uses[: len(uses)]
            self._counting += bool(uses)
        if not uses:
            return
        try:
            with suppress(errors.MemctlError):  # a store that is gone counts nothing
                from memctl.store.items import items

                with self.context(writes=not is_pause) as ctx:
                    ctx.allow(READ if is_pause else WRITE)
                    gathered, ctx.db.uses = ctx.db.uses, uses
                    is_done = items.count_uses(ctx.db)
                    ctx.db.uses = gathered
                    if not is_done and not self._closed:
                        self._uses[:0] = uses
        finally:
            with self._changed:
                self._counting -= 1
                self._changed.notify_all()

    def open(self) -> None:
        """Open the store if there is one: the first writing call finds it open.

        One that is missing is made by the first call that stores something. A store of somebody else is only read, and
        each writing call says so.
        """
        if not os.path.exists(self.db_path):
            return
        with suppress(errors.StoreUntrusted), self.context(writes=True) as ctx:
            ctx.allow(WRITE)
            _ = ctx.db
            return
        with self.context(writes=False) as ctx:
            ctx.allow(READ)
            _ = ctx.db

    def is_readable(self) -> bool:
        """Whether the store can be opened, or may still be made."""
        if not os.path.lexists(self.db_path):
            return True
        try:
            with self.context(writes=False) as ctx:
                ctx.allow(READ)
                return bool(ctx.db.path)
        except errors.MemctlError:
            return False

    def check_folder(self) -> None:
        """Raise StoreUnmakeable when there is no store and none could be made."""
        path = folder = self.db_path
        if os.path.exists(path):
            return
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        if not os.path.isdir(folder):
            raise errors.StoreUnmakeable(path=path, reason=f"{folder} is no folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise errors.StoreUnmakeable(path=path, reason=f"{folder} cannot be written to")

    def close(self, wait: float = 0.0) -> bool:
        """Count the uses that were gathered, and close all handles; those in use when they come back.

        Waits at most `wait` seconds for writes that are going on. Returns whether nothing is going on any more.
        """
        deadline = ids.monotonic() + wait
        with self._changed:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
            for free in self._free.values():
                while free:
                    free.pop().close()
            while (self._busy[True] or self._counting) and (left := deadline - ids.monotonic()) > 0:
                self._changed.wait(left)
        self._count()
        return not any(self._busy.values())


# --- a store that somebody else has opened ---------------------------------------------------------------------------


class LentContext(CallContext):
    """The surroundings that somebody else's open store gives."""

    def __init__(self, store: "MemoryStore", policy: "MemoryPolicy | None", settings: "MemoryConfig | None") -> None:
        super().__init__(db=store._db.path, json=True)
        self._lent, self._policy, self._settings = store._db, policy, settings
        if self._lent.path == MEMORY:  # which is no path to be made absolute
            self._db_path = MEMORY

    def begin_run(self, command: str, reason: str | None = None) -> bool:
        """What an operation writes to the store that was lent is one run, too."""
        first = super().begin_run(command, reason)
        if first and self._db is None:
            self._name_run(self._lent)
        return first

    @property
    def db(self) -> "Database":
        """The store that was lent; its owner closes it."""
        return self._lent if self._db is None else self._db  # `scratch()` puts another one there

    @property
    def config_path(self) -> str | None:
        """None: the settings were lent too."""
        return None

    @property
    def config(self) -> "MemoryConfig":
        """The settings that were lent, else the defaults."""
        return super().config if self._settings is None else self._settings


class LentStore:
    """A `MemoryStore` that a program has opened and shares: one call at a time, on that one handle."""

    def __init__(
        self, store: "MemoryStore", policy: "MemoryPolicy | None" = None, config: "MemoryConfig | None" = None
    ) -> None:
        self._store, self._policy, self._config = store, policy, config
        path = store._db.path
        self.db_path = path if path == MEMORY else os.path.abspath(path)

    @contextmanager
    def context(
        self,
        *,
        writes: bool,  # noqa: ARG002 - the one handle is for reads and writes
        say: Say | None = None,
        note: Say | None = None,
        progress: Say | None = None,
    ) -> Iterator[CallContext]:
        """The surroundings of one call."""
        conn = self._store._conn
        with self._store._lock:
            names, conn.row_factory = conn.row_factory, None  # the documented class has rows that answer to names
            ctx = LentContext(self._store, self._policy, self._config)
            ctx.attend(say, note, progress)
            try:
                yield ctx
            finally:
                conn.row_factory = names
