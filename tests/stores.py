"""What tests do to a store and ask of one, through public doors alone: `MemoryStore`, and SQL on the documented schema.

When the rooms of the store change, neither this file nor the tests of commands, tools and services follow. `add` and
`change` write as another program does, past all that judges it; whatever a command can do is set up with the command.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import pytest

from memctl import MemoryItem, MemoryStore
from memctl.store import Filters, open_read, open_write, schema
from memctl.store.search import rebuild

__all__ = [
    "STORE",
    "Filters",
    "Store",
    "add",
    "change",
    "check_index",
    "empty",
    "fails_at",
    "open_read",
    "open_write",
    "restored",
    "stored",
]

#: Where `memctl init` makes a store.
STORE = ".memory/memory.db"
ALL = 1_000_000


class Store(MemoryStore):
    """An open store, and a connection of our own to the same file for what only SQL can say.

    path  the file
    conn  the connection; each statement is a transaction
    """

    def __init__(self, path: str = STORE, tokenizer: str | None = None) -> None:
        super().__init__(path, fts_tokenizer=tokenizer)
        self.path = path
        self.conn = sqlite3.connect(path, isolation_level=None, timeout=60)

    def close(self) -> None:
        """Close the file."""
        self.conn.close()
        super().close()

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows that a statement finds."""
        return self.conn.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Change something."""
        self.conn.execute(sql, values)

    def value(self, sql: str, values: Sequence[object] = ()) -> Any:
        """The first field of the first row; None when there is none."""
        return next(iter(self.rows(sql, values)), (None,))[0]

    def item(self, item_id: str) -> MemoryItem:
        """An item, without a use of it."""
        (found,) = (item for item in self.items(archived=True) if item.id == item_id)
        return found

    def items(self, *, archived: bool = False, **filters: Any) -> list[MemoryItem]:
        """The items, the newest change first."""
        return self.list_items(exclude_archived=not archived, limit=ALL, **filters)

    def write(
        self, item: MemoryItem, reason: str = "create", withheld: str = "", rules: Sequence[str] = ()
    ) -> MemoryItem:
        """Store an item as it is, its times too. `withheld`: why it is not injectable, and by which rules."""
        changed = item.updated_at
        self.write_item(item, reason)
        if item.updated_at != changed:
            item.updated_at = changed
            self.run("UPDATE memory_items SET updated_at = ? WHERE id = ?", (changed, item.id))
        if withheld:
            self.withhold(item.id, withheld, rules)
        return item

    def withhold(self, item_id: str, reason: str, rules: Sequence[str] = ()) -> None:
        """Note why an item is not injectable: raw, or policy and by which rules."""
        self.run(
            "INSERT INTO memory_withheld VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%f000+00:00'))",
            (item_id, reason, json.dumps(list(rules))),
        )

    def withheld(self, item_id: str) -> str:
        """Why an item is not injectable: raw, policy, or "" where nobody noted it."""
        return str(self.value("SELECT reason FROM memory_withheld WHERE item_id = ?", (item_id,)) or "")

    def event(self, item_id: str, action: str, content_hash: str = "", **details: Any) -> None:
        """Note that something was done with an item."""
        self.run(
            "INSERT INTO memory_events VALUES ('EVT-' || hex(randomblob(6)), ?, ?, ?, ?, "
            "strftime('%Y-%m-%dT%H:%M:%f000+00:00'))",
            (action, item_id, json.dumps(details), content_hash),
        )

    def place(self, item_id: str, position: int, first: int, last: int, anchor: str = "") -> None:
        """Note where in its source an item stands."""
        self.run(
            "INSERT OR REPLACE INTO memory_sources VALUES (?, ?, ?, ?, ?)", (item_id, position, first, last, anchor)
        )


def add(content: str, *, path: str = STORE, reason: str = "create", withheld: str = "", **fields: Any) -> MemoryItem:
    """Write an item as another program does, past all that judges it; the store is made if it is not there."""
    with change(path) as store:
        return store.write(MemoryItem(content=content, **fields), reason, withheld)


@contextmanager
def change(path: str = STORE, tokenizer: str | None = None) -> Iterator[Store]:
    """The store, to be changed as another program does; it is made if it is not there."""
    with closing(Store(path, tokenizer)) as store:
        yield store


def stored(path: str = STORE, **filters: Any) -> list[MemoryItem]:
    """All items in a store, the newest first."""
    with change(path) as store:
        return store.items(**filters)


def empty(path: str, template: str = "empty-store") -> str:
    """Make an empty store, by a copy after the first time, which costs a tenth; its path."""
    if not os.path.exists(template):
        Store(template).close()
    shutil.copyfile(template, path)
    return path


@contextmanager
def fails_at(error: BaseException, statement: str, times: int = 1) -> Iterator[None]:
    """Raise an error instead of running a statement that begins so, from the `times`-th time on."""
    seen = 0

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            self._look(sql)
            return super().execute(sql, *values)

        def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
            self._look(sql)
            return super().executemany(sql, rows)

        def _look(self, sql: str) -> None:
            nonlocal seen
            if sql.startswith(statement):
                seen += 1
                if seen >= times:
                    raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memctl.store.database.sqlite3.connect", partial(sqlite3.connect, factory=Connection))
        yield
    assert seen >= times, f"{statement} came {seen} times"


def check_index(store: Any) -> None:
    """Fail when the file is damaged or the full-text index does not say exactly what the items say."""
    run = store.conn.execute
    run("INSERT INTO memory_items_fts(memory_items_fts) VALUES ('integrity-check')")
    assert [tuple(row) for row in run("PRAGMA integrity_check")] == [("ok",)]
    # Beside the words of the items it holds pairs of characters: another index is made of the same and compared.
    run(f"CREATE VIRTUAL TABLE temp.fresh USING fts5(a, b, c, d, tokenize='{rebuild.tokenizer_of(store)}')")
    run(f"INSERT INTO fresh(rowid, a, b, c, d) SELECT i.rowid, {schema.indexed_columns('i')} FROM memory_items AS i")
    held = []
    for name, table in (("fresh", "temp"), ("memory_items_fts", "main")):
        run(f"CREATE VIRTUAL TABLE temp.instances USING fts5vocab('{table}', '{name}', 'instance')")
        held.append(sorted((term, doc, offset) for term, doc, _, offset in run("SELECT * FROM temp.instances")))
        run("DROP TABLE temp.instances")
    run("DROP TABLE temp.fresh")
    assert held[0] == held[1]


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
