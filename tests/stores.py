"""What tests do to a store and ask of one.

Tests of commands, tools and services take all they need of the store from here: when its rooms change, this file
follows and they do not. `add` and `change` are for set-up; whatever a command can do is set up with the command.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from memctl.reading.block import Deliverable, choose_passages
from memctl.store import as_of, quarantine, sessions
from memctl.store.connect import MEMORY, open_read, open_write
from memctl.store.database import Database
from memctl.store.documents import corpus, mounts, passages
from memctl.store.documents.corpus import IngestedFile
from memctl.store.documents.passages import SourcePosition
from memctl.store.filters import Filters, utc
from memctl.store.items import attributes, events, items
from memctl.store.search import fts
from memctl.text.block.excerpt import stems
from memctl.text.block.packing import Block, Compact, Frame, Labels, build
from memctl.text.query import Query
from memctl.types import MemoryItem, MemoryProvenance

__all__ = [
    "MEMORY",
    "STORE",
    "Database",
    "Filters",
    "IngestedFile",
    "MemoryItem",
    "MemoryProvenance",
    "SourcePosition",
    "add",
    "as_of",
    "attributes",
    "change",
    "check_index",
    "corpus",
    "events",
    "fts",
    "items",
    "mounts",
    "open_read",
    "open_write",
    "pack",
    "passages",
    "quarantine",
    "restored",
    "sessions",
    "stored",
    "utc",
]

#: Where `memctl init` makes a store.
STORE = ".memory/memory.db"


def add(content: str, *, path: str = STORE, reason: str = "create", withheld: str = "", **fields: Any) -> MemoryItem:
    """Write an item as another program does, past all that judges it; the store is made if it is not there."""
    with closing(open_write(path, create=True)) as db:
        return items.write(db, MemoryItem(content=content, **fields), reason, withheld)


@contextmanager
def change(path: str = STORE, *, create: bool = False) -> Iterator[Database]:
    """The store, to be changed as another program does."""
    with closing(open_write(path, create=create)) as db:
        yield db


def stored(path: str = STORE, **filters: Any) -> list[MemoryItem]:
    """All items in a store, the newest first."""
    with closing(open_read(path)) as db:
        return items.list_items(db, Filters(**filters), 10_000)


def check_index(db: Database) -> None:
    """Fail when the file is damaged or the full-text index does not say exactly what the items say."""
    db.conn.execute("INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES ('integrity-check', 1)")
    assert db.value("PRAGMA integrity_check") == "ok"


def restored(path: str, copy: str) -> None:
    """Make a copy as `sqlite3 path .dump | sqlite3 copy` does: the rows are numbered anew."""
    old, new = sqlite3.connect(path), sqlite3.connect(copy, isolation_level=None)
    found = old.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    schema = found.fetchall()
    new.execute("BEGIN")
    new.execute("PRAGMA writable_schema = ON")
    for kind, name, sql in schema:
        if sql.startswith("CREATE VIRTUAL TABLE"):
            new.execute("INSERT INTO sqlite_master VALUES ('table', ?, ?, 0, ?)", (name, name, sql))
        elif kind == "table":
            new.execute(sql)
            for row in old.execute(f"SELECT * FROM {name}"):
                new.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    for kind, _, sql in schema:
        if kind in {"index", "trigger"}:
            new.execute(sql)
    new.execute("COMMIT")
    old.close()
    new.close()


def pack(
    ranked: Sequence[MemoryItem], places: Mapping[str, SourcePosition], query: Query, budget: int, *,
    frame: Frame | None = None, cwd: str = "",
) -> Block:  # fmt: skip
    """The block for items in rank order that are alike; `cwd` shortens paths below it."""
    found = Deliverable(ranked, places, stems(query), labels=Labels(cwd))
    return build(choose_passages(found, budget), frame or Compact(), budget, found.words)
