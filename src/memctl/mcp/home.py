"""Where the tools work: the store, its settings, and handles that are opened once and then used again.

A handle is never used by two calls at a time; the one that was used last is the next, so a quiet server keeps one. A
store that was replaced, or whose tables changed, is opened anew.

What was delivered is counted as used when nobody asks anything, so that no call waits for it; under constant calls
every three seconds, and before a handle is closed.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Condition, RLock, Thread

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import Context
from memctl.operation import READ, WRITE
from memctl.store import connect
from memctl.store.connect import MEMORY

if TYPE_CHECKING:
    from memctl.api import MemoryStore
    from memctl.config import MemoryConfig
    from memctl.policy import MemoryPolicy
    from memctl.store.database import Database

Say = Callable[[str], None]
#: Uses are counted when no call came for so many seconds; where calls come all the time, after so many.
QUIET, LATEST = 0.05, 3.0
#: So many seconds a call waits for a single handle whose uses are being counted, before it gets another one.
PATIENCE = 0.2


class Served(Context):
    """The surroundings of calls to tools, one after the other: what is said and shown differs from call to call."""

    stamp: tuple[int, ...] = ()
    #: When the first of its uses was gathered that are not counted yet, and before when it is no use to try again.
    since = rest = 0.0
    _note: Say | None = None

    def attend(self, say: Say | None = None, note: Say | None = None, progress: Say | None = None) -> None:
        """Let this call's warnings, remarks and progress go there."""
        self._say, self._note, self._progress = say, note, progress

    def _open(self) -> "Database":
        if self._access == READ and self.db_path != MEMORY and not os.path.exists(self.db_path):
            # Nobody has stored anything yet: there is nothing to find, and no reason to make a store.
            return connect.open_write(connect.SCRATCH, create=True, tokenizer=self.tokenizer)
        db = super()._open()
        if self._access == READ:
            db.uses = []
        return db

    @property
    def owes(self) -> bool:
        """Whether it has gathered uses that are not counted yet."""
        return self._db is not None and bool(self._db.uses)

    def due(self, last: float) -> float:
        """When they are to be counted, if no call comes any more and the last one came or went then."""
        return max(self.rest, min(last + QUIET, self.since + LATEST))

    def count(self) -> None:
        """Count them; they are kept when the store is too busy, to try again later."""
        if self.owes:
            from memctl.store.items import items

            self.since = self.rest = ids.monotonic() + LATEST
            if items.count_uses(self.db):
                self.since = self.rest = 0.0

    def close(self) -> None:
        """Close the store; uses are counted before."""
        try:
            self.count()
        finally:
            super().close()

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
        return (info.st_dev, info.st_ino, db.schema_version())


class Home:
    """A store in a file. `environ` is what settings come from; a server's own flags go into it.

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
            "db": db, "found": found, "config": config, "environ": environ, "cwd": cwd,
        }  # fmt: skip
        self._free: dict[bool, list[Served]] = {False: [], True: []}
        self._busy: dict[bool, int] = {False: 0, True: 0}
        lock = RLock()
        self._changed, self._owing = Condition(lock), Condition(lock)
        self._keeper: Thread | None = None
        self._sleeping = False  # until somebody owes something
        self._late: list[Served] = []
        self._counting = 0  # handles that the keeper has
        self._last = 0.0  # when a call came or went
        self._closed = False

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
            raise
        finally:
            ctx.attend()
            self._give_back(ctx, writes)

    def _take(self, writes: bool) -> Served:
        with self._changed:
            self._last = ids.monotonic()
            self._busy[writes] += 1
            free = self._free[writes]
            if self._counting == 1 and not writes:  # the handle that knows the store best is about to come back
                self._changed.wait_for(lambda: not self._counting, PATIENCE)
            return free.pop() if free else self._new()

    def _new(self) -> Served:
        return Served(**self._options, json=True)

    def _give_back(self, ctx: Served, writes: bool) -> None:
        with self._changed:
            self._last = now = ids.monotonic()
            self._busy[writes] -= 1
            if ctx.owes and not self._closed:
                ctx.since = ctx.since or now
                late = ctx.due(now) <= now  # calls come all the time
                self._wake(at_once=late)
                if late:
                    self._counting += 1
                    self._late.append(ctx)
                    return
            self._put(ctx, writes=writes)

    def _put(self, ctx: Served, *, writes: bool) -> None:
        if self._closed:
            ctx.close()
        else:
            self._free[writes].append(ctx)
        self._changed.notify_all()

    # --- counting uses: it needs the write lock, and nobody waits long for it ----------------------------------------

    def _wake(self, *, at_once: bool) -> None:
        """Let the keeper see what there is to count; it looks for itself unless it sleeps."""
        if self._keeper is None:
            self._keeper = Thread(target=self._keep, daemon=True)
            self._keeper.start()
        elif at_once or self._sleeping:
            self._owing.notify()

    def _keep(self) -> None:
        while (ctx := self._next()) is not None:
            with suppress(Exception):  # whatever it is, it can wait, and calls need the handle
                ctx.count()
            with self._changed:
                self._counting -= 1
                self._put(ctx, writes=False)

    def _next(self) -> Served | None:
        """The next handle whose uses are to be counted, when it is time to; None when the server ends."""
        with self._owing:
            while not self._closed:
                if self._late:
                    return self._late.pop()
                owing = [ctx for ctx in self._free[False] if ctx.owes]
                left = min([ctx.due(self._last) for ctx in owing], default=0.0) - ids.monotonic()
                if owing and left <= 0:
                    first = min(owing, key=lambda ctx: ctx.due(self._last))
                    self._free[False].remove(first)
                    self._counting += 1
                    return first
                self._sleeping = not owing
                self._owing.wait(left if owing else None)
                self._sleeping = False
        return None

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
        """Close all handles, which counts the uses they have gathered; those in use when they come back.

        Waits so many seconds for writes, and for counting that is going on.

        Returns whether nothing is going on any more.
        """
        deadline = ids.monotonic() + wait
        with self._changed:
            self._closed = True
            self._owing.notify()
            self._counting -= len(self._late)
            for free in (self._late, *self._free.values()):
                while free:
                    free.pop().close()
            while (self._busy[True] or self._counting) and (left := deadline - ids.monotonic()) > 0:
                self._changed.wait(left)
            return not any(self._busy.values())


class Lent(Served):
    """The surroundings that somebody else's open store gives."""

    def __init__(self, store: "MemoryStore", policy: "MemoryPolicy | None", settings: "MemoryConfig | None") -> None:
        super().__init__(db=store._db.path, json=True)
        self._lent, self._policy, self._settings = store._db, policy, settings

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
