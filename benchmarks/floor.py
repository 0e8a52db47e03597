"""The floor that ingest is compared with: read each file, hash it, insert it, in one transaction. Nothing else.

`python floor.py FOLDER DATABASE`
"""

import hashlib
import os
import sqlite3
import sys


def main(folder: str, database: str) -> None:
    """Store every file of `folder` as one row."""
    db = sqlite3.connect(database, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE file(path TEXT PRIMARY KEY, sha256 TEXT, text TEXT)")
    db.execute("BEGIN IMMEDIATE")
    for here, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(here, name)
            with open(path, "rb") as file:
                data = file.read()
            row = (path, hashlib.sha256(data).hexdigest(), data.decode("utf-8", "replace"))
            db.execute("INSERT INTO file VALUES (?, ?, ?)", row)
    db.execute("COMMIT")
    db.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
