"""How SQLite carries out the statements of everyday commands: what asks for a few items must not read the whole store.

The statements are those that the commands really run, with the values they are run with, in a store so large that a
plan matters. SQLite plans without statistics, as it does in the stores of users.
"""

import re
import sqlite3
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memctl.store import conflicts, database, sessions
from memctl.store.connect import open_read, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.store.search import index, vectors
from support import ok

STORE = ".memory/memory.db"
ROWS = 5000
IDS = [f"MEM-{n:012x}" for n in range(1, 301)]
HASHES = [f"sha256:{n * 7919:064x}" for n in range(1, 4)]
_FILL = f"""
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {ROWS})
INSERT INTO memory_items(
    id, tier, type, title, content, tags, provenance_json, created_at, updated_at, content_hash, archived, scope
)
SELECT printf('MEM-%012x', x), 'stm', 'note', 'title ' || x, 'common word' || (x % 97) || ' other' || x, '["a"]',
    '{{"source_kind": "doc", "source_id": "/d/' || (x / 9) || '.md", "chunk_ids": ["/d.md:' || (x % 9) || '"]}}',
    '2024-01-01T00:00:00.000000+00:00', printf('2024-01-01T00:00:%09.6f+00:00', x * 0.001),
    'sha256:' || printf('%064x', x * 7919), x % 10 = 0, iif(x % 50, 'project', 'team')
FROM n;
INSERT INTO memory_embeddings SELECT id, 'm', 4, x'0000803f0000803f0000803f0000803f', created_at FROM memory_items;
INSERT INTO memory_events SELECT 'EVT-' || id, 'write', id, '{{}}', content_hash, created_at FROM memory_items;
INSERT INTO memory_revisions SELECT 'REV-' || id, id, 1, '{{}}', created_at, 'create' FROM memory_items;
"""

#: Tables that grow with the store, and indexes that say little: by one of their values much of the store is read.
_LARGE = (
    r"(memory_items|i|m|a|b|memory_events|memory_revisions|memory_embeddings|e|memory_sources|corpus_hashes|c"
    r"|memory_undo|memory_runs|memory_retention|memory_tombstones)"
)
_BROAD = r"(idx_items_\w+|idx_events_action|memctl_items_newest|memctl_items_counts|memctl_items_doubtful)"
_MUCH = re.compile(rf"SCAN {_LARGE}\b|SEARCH {_LARGE} USING (COVERING )?INDEX {_BROAD} ")
#: Those that end early, or read what is rare.
_BOUNDED = re.compile(
    r"EXISTS \(SELECT 1 FROM memory_items WHERE scope|SELECT (1|rowid) FROM memory_items WHERE scope .* LIMIT"
    r"|FROM memory_events WHERE action = 'release'"  # by a person, one by one
    r"|DELETE FROM memory_events WHERE action IN"  # what is too old, once a day
    r"|FROM memory_tombstones LIMIT 1|FROM memory_runs WHERE undone_by IS NULL"
    r"|SELECT run, part, key FROM memory_undo"  # what purge takes out of the journal, which keeps the newest runs only
    r"|pragma_table_xinfo"  # the columns of the schema
)


class Recorder:
    """Stands before a connection, and notes the plan of every statement."""

    def __init__(self, conn: sqlite3.Connection, plans: dict[str, list[str]]) -> None:
        self.__dict__.update(conn=conn, plans=plans)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["conn"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["conn"], name, value)

    def execute(self, sql: str, values: Any = ()) -> Any:
        self._note(sql, values)
        return self.__dict__["conn"].execute(sql, values)

    def executemany(self, sql: str, rows: Any) -> Any:
        given = list(rows)
        if given:
            self._note(sql, given[0])
        return self.__dict__["conn"].executemany(sql, given)

    def _note(self, sql: str, values: Any) -> None:
        if re.match(r"(SELECT|INSERT|UPDATE|DELETE|WITH) ", sql):
            steps = self.__dict__["conn"].execute(f"EXPLAIN QUERY PLAN {sql}", values)
            self.__dict__["plans"][sql] = [row[3] for row in steps]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[str]]]:
    """The statements that were run, and how."""
    db = open_write(STORE, create=True)
    for statement in _FILL.split(";\n"):
        db.run(statement)
    db.close()
    seen: dict[str, list[str]] = {}
    make = Database.__init__

    def recorded(self: Database, *args: Any, **more: Any) -> None:
        make(self, *args, **more)
        self.conn = Recorder(self.conn, seen)  # type: ignore[assignment]

    monkeypatch.setattr(database.Database, "__init__", recorded)
    monkeypatch.setattr(index, "_SMALL", 0)  # these rows stand for a store of any size
    yield seen
    assert seen, "nothing was recorded"


def python(call: Callable[[Database], object]) -> Callable[[], None]:
    def run() -> None:
        db = open_read(STORE)
        call(db)
        db.close()

    return run


def command(*argv: str) -> Callable[[], None]:
    return lambda: void(ok(*argv))


def void(_done: object) -> None:
    return


PROJECT = Filters(("project", "global"), injectable=True)
VECTOR = array("f", [1.0, 1.0, 1.0, 1.0])

FEW: dict[str, Callable[[], None]] = {
    "search": command("search", "common word5"),
    "search in a scope": command("search", "word5", "--scope", "team"),
    "search in vain": command("search", "zebra"),
    "recall": command("recall", "what is common word5?"),
    "remember": command("remember", "quite another statement"),
    "pull": lambda: void(ok("pull", stdin="The zebra crossing is closed.")),
    "push without a source": command("push", "what is common word5?"),
    "recall for nobody who asked": command("recall", "what is common word5?", "--auto"),
    "recall in a scope": command("recall", "what is word5?", "--scope", "team"),
    "recall by tags": command("recall", "what is common word5?", "--tags", "a"),
    "show": command("show", IDS[0]),
    "the same statement again": lambda: void([ok("remember", "said twice") for _ in range(2)]),
    "forget": command("forget", IDS[0]),
    "restore": lambda: void([ok(verb, IDS[0]) for verb in ("forget", "restore")]),
    "edit": command("edit", IDS[0], "--title", "another"),
    "tag": command("tag", IDS[0], "+b"),
    "supersede": command("supersede", IDS[0], "what holds now"),
    "retract": command("retract", IDS[0]),
    "verify": command("verify", IDS[0]),
    "promote": command("promote", IDS[0]),
    "retain": command("retain", IDS[0], "keep"),
    "purge": command("purge", IDS[0], "--yes"),
    "the log": command("log"),
    "undo": lambda: void([ok(*argv) for argv in (["tag", IDS[0], "+b"], ["undo"])]),
    "the story of an item": lambda: void([ok(verb, IDS[0]) for verb in ("history", "blame")]),
    "a turn of a session": python(lambda db: sessions.list_turns(db, "none", 5)),
    "get": python(lambda db: items.get_many(db, IDS)),
    "known hashes": python(lambda db: items.ids_by_hash(db, HASHES)),
    "one known hash": python(lambda db: items.ids_by_hash(db, HASHES[:1])),
    "what a re-ingest asks": python(lambda db: items.get_summaries(db, IDS)),
    "texts to embed": python(lambda db: vectors.texts_to_embed(db, IDS, PROJECT)),
    "one text to embed": python(lambda db: vectors.texts_to_embed(db, IDS[:1], PROJECT)),
    "cosines": python(lambda db: vectors.cosines(db, VECTOR, IDS, "m", PROJECT)),
    "conflicts of some items": python(lambda db: conflicts.conflicts_of(db, IDS, PROJECT)),
    "history": python(lambda db: items.revisions(db, IDS[0])),
    "events of an item": python(lambda db: events.list_events(db, IDS[0])),
    "writes of an item": python(lambda db: events.list_events(db, IDS[0], "write")),
}


@pytest.mark.parametrize("door", FEW)
def test_what_asks_for_a_few_items_reads_a_few(plans: dict[str, list[str]], door: str) -> None:
    FEW[door]()
    much = {sql: plan for sql, plan in plans.items() if any(map(_MUCH.search, plan)) and not _BOUNDED.search(sql)}
    assert much == {}


@pytest.mark.parametrize(
    ("argv", "kind"), [(["--all-scopes"], "doubtful"), (["--scope", "project"], "counts"), ([], "counts")]
)
def test_a_small_store_is_asked_once_which_items_pass_from_an_index_that_covers_it(
    plans: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, argv: list[str], kind: str
) -> None:
    monkeypatch.setattr(index, "_SMALL", ROWS)
    ok("recall", "common word5", *argv)
    much = {sql: plan for sql, plan in plans.items() if any(map(_MUCH.search, plan)) and not _BOUNDED.search(sql)}
    ((sql, plan),) = much.items()
    assert sql.startswith("SELECT i.rowid FROM memory_items AS i WHERE ")
    assert all(f"COVERING INDEX memctl_items_{kind}" in step for step in plan)


def test_a_write_does_not_count_the_store(plans: dict[str, list[str]]) -> None:
    ok("remember", "quite another statement about word5")
    assert [sql for sql in plans if re.match(r"SELECT count\(\*\) FROM (\w+)$", sql)] == []


@pytest.mark.parametrize("argv", [["stats"], ["status"]])
def test_no_count_reads_the_items_themselves(plans: dict[str, list[str]], argv: list[str]) -> None:
    ok(*argv)
    bare = re.compile(r"SCAN (memory_items|i)$|SEARCH (memory_items|i) USING INDEX (?!memctl_items_made|sqlite_auto)")
    assert {sql: plan for sql, plan in plans.items() if any(map(bare.search, plan))} == {}


@pytest.mark.parametrize("argv", [["list"], ["list", "--type", "note"], ["digest"], ["search", ""]])
def test_lists_are_read_in_their_order(plans: dict[str, list[str]], argv: list[str]) -> None:
    ok(*argv)
    lists = {sql: plan for sql, plan in plans.items() if "ORDER BY i.updated_at DESC" in sql}
    assert lists
    assert [plan for plan in lists.values() if any("TEMP B-TREE" in step for step in plan)] == []


@pytest.mark.parametrize("argv", [["list"], ["list", "--from", "people"], ["digest"], ["stats"]])
def test_statements_among_passages_are_read_from_their_own_index(plans: dict[str, list[str]], argv: list[str]) -> None:
    """Where the store holds documents; without this index all their passages would be read to find the statements."""
    db = open_write(STORE)
    db.run("INSERT INTO corpus_hashes(file_path, sha256, chunk_count, ingested_at) VALUES ('/d/1.md', 'a', 9, '2026')")
    db.close()
    plans.clear()
    ok(*argv)
    said = {sql: plan for sql, plan in plans.items() if "AND NOT (instr(i.provenance_json" in sql}
    assert said
    assert [plan for plan in said.values() if not any("memctl_items_statements" in step for step in plan)] == []


@pytest.mark.parametrize("argv", [["list"], ["digest"], ["status"], ["stats"], ["stats", "--scope", "team"]])
def test_what_is_counted_is_read_from_an_index(plans: dict[str, list[str]], argv: list[str]) -> None:
    ok(*argv)
    counts = [
        plan for sql, plan in plans.items() if re.search(r"count\(\*\)( AS n)? FROM (memory_items\b|\(SELECT)", sql)
    ]
    assert counts
    assert [plan for plan in counts if not any("COVERING INDEX" in step for step in plan)] == []
    # One sort for the few rows that are left, none for the items.
    assert [plan for plan in counts if any("TEMP B-TREE" in step for step in plan[:2])] == []
