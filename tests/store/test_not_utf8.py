"""Cells that are not UTF-8, as another program or a damaged file leaves them: read they are, and all else works."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from folders import write
from memctl.store.connect import open_read, open_write
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.items.items import COLUMNS
from memctl.store.search import words
from stores import check_index
from support import ok, run

BAD = "\N{REPLACEMENT CHARACTER}"
CELLS = {
    "title": b"Kestrel \xff\xfe",
    "content": b"The kestrel hovers \xff over the field.",
    "tags": b'["bird", "caf\xe9"]',
    "entities": b'["\xff"]',
    "provenance_json": b'{"source_kind": "doc", "source_id": "/d/caf\xe9.md", "chunk_ids": [], "content_hashes": []}',
    "scope": b"caf\xe9",
    "created_at": b"2024-01-01 \xff",
    "validation": b"\xff",
    "content_hash": b"sha256:\xff",
}


@pytest.fixture
def store(scratch: Path) -> str:
    """Three items and a document."""
    for words_, title in (("The kestrel hovers.", "Kestrel"), ("The heron waits.", "Heron"), ("Le héron.", "Héron")):
        ok("remember", words_, "--title", title, "--tags", "bird", "--db", "memory.db")
    write(scratch / "docs" / "a.md", "# Owls\n\nThe owl hunts at night.\n")
    ok("sync", "docs", "--db", "memory.db")
    return str(scratch / "memory.db")


def damage(path: str, column: str, cell: bytes) -> str:
    """Put bytes into a cell of the kestrel's row as text, past everything that would mind; its id."""
    with contextlib.closing(open_write(path)) as db, db.atomic():
        row = db.conn.execute("SELECT id FROM memory_items WHERE title = 'Kestrel'").fetchone()
        db.conn.execute(f"UPDATE memory_items SET {column} = CAST(? AS TEXT) WHERE id = ?", (cell, row[0]))
    return str(row[0])


def raw(path: str) -> list[Any]:
    """What is stored of the items but how often they were used, in bytes."""
    with contextlib.closing(open_read(path)) as db:
        columns = ", ".join(f"CAST({name} AS BLOB)" for name in COLUMNS if name not in ("usage_count", "last_used_at"))
        return db.rows(f"SELECT {columns} FROM memory_items ORDER BY rowid")


READERS = [
    ["search", "kestrel", "--all-scopes"], ["search", "kestrel", "--all-scopes", "--explain"],
    ["search", "kestrel", "--all-scopes", "--json"], ["search", "heron", "--all-scopes", "--tags", "bird"],
    ["search", "héron", "--all-scopes", "--since", "2020"], ["search", "kestrel", "--all-scopes", "--as-of", "1d"],
    ["list", "--all-scopes"], ["list", "--all-scopes", "--json"], ["list", "--all-scopes", "--tags", "bird"],
    ["list", "--all-scopes", "--since", "1d"], ["recall", "where does the kestrel hover", "--all-scopes"],
    ["push", "kestrel heron owl", "--all-scopes"], ["export"], ["export", "--redact", "public"], ["digest"],
    ["digest", "--json"], ["stats"], ["stats", "--json"], ["status"], ["inspect"], ["scan", "--store"],
    ["quarantine", "list"], ["mount", "--list"],
]  # fmt: skip


@pytest.mark.parametrize("column", CELLS)
def test_every_way_to_read_still_works(store: str, column: str) -> None:
    damaged = damage(store, column, CELLS[column])
    before = raw(store)
    for argv in [*READERS, ["show", damaged], ["show", damaged, "--json"]]:
        ok(*argv, "--db", store)
    assert raw(store) == before
    exported = [json.loads(line) for line in ok("export", "--db", store).text.splitlines()]
    assert len(exported) == 4
    assert "The owl hunts" in ok("recall", "owl", "--db", store).text


@pytest.mark.parametrize("column", ["title", "content", "tags", "provenance_json"])
def test_what_is_not_utf8_is_shown_as_such_and_the_rest_of_the_cell_is_kept(store: str, column: str) -> None:
    damaged = damage(store, column, CELLS[column])
    (line,) = (one for one in map(json.loads, ok("export", "--db", store).text.splitlines()) if one["id"] == damaged)
    shown = ok("show", damaged, "--db", store, "--json").text
    wanted = {"title": f"Kestrel {BAD}{BAD}", "content": f"The kestrel hovers {BAD} over the field.",
              "tags": ["bird", f"caf{BAD}"], "provenance_json": f"/d/caf{BAD}.md"}[column]  # fmt: skip
    assert (line["provenance"]["source_id"] if column == "provenance_json" else line[column]) == wanted
    assert BAD in shown
    if column == "title":
        for argv in (["search", "hovers"], ["list"], ["digest"], ["recall", "hovers"]):
            assert BAD in ok(*argv, "--db", store).text


@pytest.mark.parametrize("column", ["title", "content", "tags", "provenance_json", "content_hash"])
def test_every_way_to_write_still_works(store: str, column: str) -> None:
    damaged = damage(store, column, CELLS[column])
    ok("remember", "The kestrel hovers.", "--title", "Kestrel", "--tags", "seen", "--db", store)
    ok("reindex", "--db", store)
    ok("reindex", "--tokenizer", "fr", "--db", store)
    ok("sync", "docs", "--full", "--db", store)
    with contextlib.closing(open_write(store)) as db:  # as `supersede` and `archive` of other callers do
        check_index(db)
        items.update(db, damaged, {"tags": ["mended"]}, "test")
        item = items.get(db, damaged)
        assert item is not None
        assert item.tags == ["mended"]
        items.archive(db, damaged, "test")
        check_index(db)
    lines = ok("export", "--db", store).out
    ok("import", "-", "--preserve-ids", "--db", "other.db", stdin=lines)
    assert ok("export", "--db", "other.db").text.count("\n") == lines.count(b"\n")


def test_a_document_whose_passage_is_damaged_can_be_read_anew(store: str) -> None:
    with contextlib.closing(open_write(store)) as db, db.atomic():
        bad = "CAST(x'54686520ff6f776c' AS TEXT)"
        db.run(f"UPDATE memory_items SET content = {bad}, content_hash = {bad} WHERE title = 'Owls'")
        db.run(f"UPDATE corpus_hashes SET rel_path = {bad}, sha256 = {bad}, size_bytes = {bad}")
        db.run(f"UPDATE memory_files SET recipe = {bad}")
    assert "1 files" in ok("inspect", "docs", "--no-sync", "--db", store).text
    ok("sync", "docs", "--full", "--db", store)
    assert "The owl hunts at night." in ok("recall", "owl", "--db", store).text


def test_other_statements_are_as_strict_as_before(store: str) -> None:
    damage(store, "title", CELLS["title"])
    db = open_read(store)
    assert any(BAD in row[0] for row in db.rows("SELECT title FROM memory_items"))
    assert db.conn.text_factory is str
    assert db.value("SELECT title FROM memory_items WHERE title LIKE 'Kestrel%'") == f"Kestrel {BAD}{BAD}"
    titles = [row[0] for row in db.each("SELECT title FROM memory_items ORDER BY title")]
    assert titles == ["Heron", "Héron", f"Kestrel {BAD}{BAD}", "Owls"]
    assert db.conn.text_factory is str
    db.close()


def test_what_begins_with_the_letters_of_a_damaged_tag(store: str) -> None:
    damage(store, "tags", CELLS["tags"])
    db = open_read(store)
    assert words.complete(db, "tags", "ca") == [f"caf{BAD}"]
    assert words.complete(db, "tags", "bi") == ["bird"]
    assert [item.title for item in items.iterate(db, Filters(tags=("Bird",)))] == ["Héron", "Heron", "Kestrel"]
    db.close()


@pytest.mark.parametrize("command", [("search", "kestrel"), ("recall", "kestrel"), ("status",), ("remember", "x is y")])
def test_a_damaged_schema_whose_name_is_not_utf8_is_named(store: str, command: tuple[str, ...]) -> None:
    """SQLite's message quotes the name, and Python cannot decode the message."""
    with contextlib.closing(sqlite3.connect(store)) as conn:
        conn.execute("PRAGMA writable_schema = ON")
        conn.execute(
            "UPDATE sqlite_master SET name = CAST(x'f4ff' AS TEXT), sql = 'CREATE TABLE t(' "
            "WHERE name = 'memory_mounts'"
        )
        conn.commit()
    before = Path(store).read_bytes()
    done = run(*command, "--db", store)
    assert (done.code, done.out) == (2, b"")
    assert "damaged" in done.notes
    assert "internal" not in done.notes
    assert Path(store).read_bytes() == before
