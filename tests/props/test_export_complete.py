"""A complete export and back is identity, whatever stands beside the items; any record is taken or named."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryItem
from memctl.store.records import KINDS
from stores import change, check_index, empty
from support import examples, run

WORDS = st.sampled_from(["alpha", "béta", "数据库", "\u00a0", "“q”", "🜁", "e\u0301", "0", "-", "'", '"', "\\", "{}"])
LINE = st.lists(WORDS, max_size=4).map(" ".join)
NAME = st.sampled_from(["a", "b", "c", "MEM-000000000001"])
STAMP = st.integers(0, 2**31).map(lambda n: f"{1970 + n % 80}-01-{1 + n % 28:02d}T00:00:00.{n % 10**6:06d}+00:00")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | LINE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LINE, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(LINE, JSON, max_size=3).map(json.dumps)
CHANGES = st.fixed_dictionaries(
    {}, optional={"title": LINE, "tags": st.lists(LINE.filter(str.strip), max_size=2), "archived": st.booleans()}
)
#: Rows beside the items, by table.
BESIDE = st.fixed_dictionaries({
    "memory_links": st.lists(st.tuples(NAME, NAME, LINE, STAMP), max_size=4),
    "memory_palace_locations": st.lists(st.tuples(NAME, LINE, LINE, LINE, LINE, STAMP), max_size=2),
    "memory_events": st.lists(st.tuples(LINE, LINE, st.none() | NAME, OBJECT, LINE, STAMP), max_size=4),
    "memory_sessions": st.lists(
        st.tuples(LINE, st.none() | LINE, LINE, st.integers(0, 9), STAMP, STAMP, OBJECT), max_size=3
    ),
    "memory_turns": st.lists(
        st.tuples(LINE, st.integers(1, 9), LINE, LINE, st.lists(LINE, max_size=2).map(json.dumps),
                  st.integers(0, 1), STAMP), max_size=4,
    ),
    "memory_workspaces": st.lists(st.tuples(LINE, LINE, LINE, LINE, STAMP), max_size=2),
    "memory_workspace_options": st.lists(
        st.tuples(LINE, st.none() | st.lists(LINE, max_size=2).map(json.dumps), st.none() | st.integers(1, 9)),
        max_size=2,
    ),
    "corpus_metadata": st.lists(
        st.tuples(LINE, LINE, st.none() | LINE, st.integers(0, 9), st.integers(0, 9), LINE, STAMP), max_size=2
    ),
    "memory_mounts": st.lists(
        st.tuples(LINE, LINE, st.none() | LINE, st.just("[]"), st.none() | LINE, STAMP, st.none() | STAMP),
        max_size=2, unique_by=lambda row: row[1],
    ),
})  # fmt: skip


@pytest.fixture
def fresh(scratch: Path) -> Callable[[], str]:
    """Paths for stores, which are gone with the test."""
    numbers = count()
    return lambda: empty(f"{next(numbers)}.db")


def complete(db: str) -> bytes:
    done = run("export", "--complete", "-q", "--db", db)
    assert done.code == 0, done.notes
    return done.out


@examples(60)
@given(beside=BESIDE, changes=st.lists(st.tuples(st.integers(0, 2), CHANGES), max_size=6))
def test_there_and_back_is_identity(
    fresh: Callable[[], str], beside: dict[str, list[Any]], changes: list[tuple[int, dict[str, Any]]]
) -> None:
    source, copy = fresh(), fresh()
    with change(source) as store:
        for number in range(3):
            store.write(MemoryItem(id=f"MEM-00000000000{number}", content=f"Statement {number}."))
        for number, fields in changes:
            store.update_item(f"MEM-00000000000{number}", fields)
        for table, rows in beside.items():
            for row in rows:
                store.run(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        # A session counts as many turns as it has.
        store.run(
            "UPDATE memory_sessions SET turn_count = max(turn_count, coalesce((SELECT max(number) FROM memory_turns "
            "AS t WHERE t.session_id = memory_sessions.session_id), 0))"
        )
    wanted = complete(source)
    done = run("import", "--json", "--db", copy, stdin=wanted)
    assert (done.code, done.json()["errors"], done.json()["skipped_policy"]) == (0, 0, 0), done.notes
    assert complete(copy) == wanted
    with change(copy) as store:
        check_index(store)
    for db in (copy, source):
        again = run("import", "--json", "--db", db, stdin=wanted).json()
        assert (again["imported"], again["skipped_conflict"]) == (0, 0)
        assert complete(db) == wanted


def test_there_and_back_of_a_log_without_its_items(fresh: Callable[[], str]) -> None:
    """Events of one moment keep their order where the import brings no item before them."""
    source, copy = fresh(), fresh()
    with change(source) as store:
        for number in (3, 1, 2):
            store.run(
                "INSERT INTO memory_events(id, action, item_id, details_json, content_hash, timestamp) "
                "VALUES (?, 'write', NULL, '{}', '', '2026-01-01T00:00:00.000000+00:00')",
                (f"EVT-{number}",),
            )
    wanted = complete(source)
    assert run("import", "--db", copy, stdin=wanted).code == 0
    assert complete(copy) == wanted


CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | JSON
FIELDS = sorted({kind.field(column) for kind in KINDS for column in kind.columns})
RECORDS = st.tuples(
    st.sampled_from([*(kind.name for kind in KINDS), "export", "wonder"]),
    st.dictionaries(st.sampled_from(FIELDS), CELLS, min_size=4, max_size=len(FIELDS)),
).map(lambda pair: {**dict.fromkeys(FIELDS, "x"), **pair[1], "record": pair[0]})


@examples(150)
@given(lines=st.lists(RECORDS, min_size=1, max_size=4))
def test_any_record_is_taken_or_named(fresh: Callable[[], str], lines: list[dict[str, Any]]) -> None:
    db = fresh()
    done = run("import", "--json", "--db", db, stdin="\n".join(map(json.dumps, lines)))
    assert done.code in (0, 1), done.notes
    counts = done.json()
    assert counts["total_lines"] == sum(
        counts[key] for key in ("imported", "skipped_dedup", "skipped_policy", "skipped_conflict", "errors")
    )
    with change(db) as store:
        check_index(store)
    complete(db)
