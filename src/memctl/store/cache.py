"""What searches found out about a store, kept by the handle for as long as nobody writes to the store.

A server is asked many questions between two writes. How many items have a word, how strongly they have it, or where
they stand in their sources, it then finds out once. A new process begins with nothing, and finds the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from memctl.annotations import Any
from memctl.store.connect import Database

#: So many findings of a sort are kept; then the oldest of this sort are forgotten. They take some 5 to 10 MB.
MOST = 50_000
#: One in so many: to forget much at a time would let one question wait for it.
_SOME = 4


class Kept:
    """Findings by sort and key, how many of each sort, and the state of the store in which they hold.

    open  while one may use them
    """

    __slots__ = ("found", "open", "sizes", "state")

    def __init__(self) -> None:
        self.found: dict[str, dict[Any, Any]] = {}
        self.sizes: dict[str, int] = {}
        self.state: tuple[int, ...] = ()
        self.open = False

    def tidy(self, state: tuple[int, ...]) -> None:
        """Forget what no longer holds in this state, and the oldest of what has become too much."""
        if state != self.state:
            self.found, self.sizes, self.state = {}, {}, state
        for sort in list(self.sizes):
            while self.sizes[sort] > MOST:
                self._thin(sort)

    def _thin(self, sort: str) -> None:
        found, size = self.found[sort], self.sizes[sort]
        oldest = list(islice(found, len(found) // _SOME))
        if not oldest:  # few findings, each of which is much
            found.clear()
        for key in oldest:
            del found[key]
        self.sizes[sort] = size - -(-size // _SOME) if oldest else 0


@contextmanager
def reading(db: Database) -> Iterator[None]:
    """Let all reads within be of one moment of the store, and `of` give what was found when it was the same."""
    if db.conn.in_transaction:  # one of these, or a write or a look at the past, of which nothing may be kept
        yield
        return
    known: Kept = db.kept or Kept()
    db.kept = known
    db.run("BEGIN")
    try:
        known.tidy(_state(db))
        known.open = True
        yield
    finally:
        known.open = False
        _end(db)


def _end(db: Database) -> None:
    if db.conn.in_transaction:  # after some errors SQLite has ended it by itself
        db.run("COMMIT")


def of(db: Database, sort: str, more: int = 0) -> dict[Any, Any]:
    """What was found of this sort, to look into and to add to; outside of `reading` a dict for once.

    more  how many findings are being added
    """
    known: Kept | None = db.kept
    if known is None or not known.open:
        return {}
    known.sizes[sort] = known.sizes.get(sort, 0) + more
    found: dict[Any, Any] = known.found.setdefault(sort, {})
    return found


@contextmanager
def harmless(db: Database) -> Iterator[None]:
    """Around writes, in a transaction, that change nothing of what is kept, as counting uses does: it still holds."""
    holds = db.kept is not None and db.kept.state == _state(db)
    yield
    if holds:
        db.kept.state = _state(db)


def _state(db: Database) -> tuple[int, ...]:
    """Another one when another connection has written, and when this one has."""
    version: int = db.value("PRAGMA data_version")
    return version, db.conn.total_changes
