"""What tests ask of a store file."""

import sqlite3

from memctl.store.database import Database


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
