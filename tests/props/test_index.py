"""The full-text index answers truly, whatever renumbers the items or writes to the file, in any order."""

import os
import sqlite3
from contextlib import suppress
from itertools import count
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryItem
from memctl.context import open_context
from stores import change, check_index, empty, restored
from support import examples, operation

search = operation("search")


#: A store of its own for each example.
NUMBERS = count()
WORDS = ("walrus", "granite", "cobalt", "tundra", "saffron")
COLUMNS = "id, tier, type, title, content, created_at, updated_at"
ROW = f"INTO memory_items({COLUMNS}) VALUES (?, 'stm', 'note', '', ?, '2024-01-01', '2024-01-01')"
#: What other programs do to the file: RAGIX and older memctl replace rows and use no recursive triggers.
FOREIGN = {
    "replace": f"INSERT OR REPLACE {ROW}",
    "upsert": f"INSERT {ROW} ON CONFLICT(id) DO UPDATE SET content = excluded.content",
    "count": f"INSERT {ROW} ON CONFLICT(id) DO UPDATE SET usage_count = usage_count + 1",
    "ignore": f"INSERT OR IGNORE {ROW}",
    "fail": f"INSERT OR FAIL {ROW}",
    "purge": "DELETE FROM memory_items WHERE id = ? OR content = ?",
    "update": "WITH given(id, word) AS (VALUES (?, ?)) "
    "UPDATE memory_items SET content = (SELECT word FROM given) WHERE id = (SELECT id FROM given)",
    "rename": "UPDATE OR REPLACE memory_items SET id = 'MEM-0' WHERE id = ? AND ? <> ''",
}
OURS = ("write", "change", "again")
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*FOREIGN, *OURS, "dump", "dump", "vacuum", "look"]),
        st.sampled_from([f"MEM-{n}" for n in range(5)]),
        st.sampled_from(WORDS),
        st.booleans(),
    ),
    max_size=14,
)


def foreign(path: str, sql: str, values: tuple[str, ...], *, recursive: bool) -> None:
    conn = sqlite3.connect(path)
    conn.execute(f"PRAGMA recursive_triggers = {'ON' if recursive else 'OFF'}")
    with suppress(sqlite3.IntegrityError):  # OR FAIL keeps what its triggers did
        conn.execute(sql, values)
    conn.commit()
    conn.close()


def restore(path: str) -> None:
    restored(path, path + ".new")
    for suffix in ("-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)
    os.replace(path + ".new", path)


def ours(path: str, step: str, item: str, word: str) -> None:
    with change(path) as store:
        if step == "write":
            store.write_item(MemoryItem(id=item, content=word))
        else:
            store.update_item(item, {"content": word} if step == "change" else {"tier": "ltm"})
        check_index(store)


def check(path: str) -> None:
    conn = sqlite3.connect(path)
    held = dict(conn.execute("SELECT id, content FROM memory_items"))
    conn.close()
    with open_context(path) as ctx:
        for word in WORDS:
            found = {hit["id"] for hit in search(ctx, word, limit=-1).as_json()}
            assert found == {item for item, text in held.items() if word in text}
    conn = sqlite3.connect(path)
    conn.execute("INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES ('integrity-check', 1)")  # it is mended
    conn.close()


@examples(60)
@given(steps=STEPS)
def test_whatever_writes_in_any_order(scratch: Path, steps: list[tuple[str, str, str, bool]]) -> None:
    path = empty(f"{scratch}/{next(NUMBERS)}.db", f"{scratch}/empty-store")
    for step, item, word, recursive in steps:
        if step in FOREIGN:
            foreign(path, FOREIGN[step], (item, word), recursive=recursive)
        elif step == "dump":
            restore(path)
        elif step == "vacuum":
            foreign(path, "VACUUM", (), recursive=False)
        elif step == "look":
            check(path)
        else:
            ours(path, step, item, word)
    check(path)
