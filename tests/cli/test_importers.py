"""memctl import of what other programs keep: recognised by content, mapped, governed, and the same a second time."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memctl import MemoryItem
from stores import STORE, change, stored
from support import golden, ok, run

DATA = Path(__file__).parent.parent / "data"
SECRET = "password=hunter2hunter2"
REKAL_1, REKAL_3 = ((DATA / name).read_text() for name in ("rekal_1.sql", "rekal_3.sql"))


def database(path: str, script: str) -> str:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
    return path


def load(path: str, *argv: str) -> dict[str, Any]:
    counts: dict[str, Any] = ok("import", path, "--json", "-q", *argv).json()
    return counts


def all_items() -> dict[str, MemoryItem]:
    with change() as store:
        return {item.content: item for item in store.items(archived=True)}


def complete() -> bytes:
    return ok("export", "--complete", "-q").out


def links() -> list[tuple[str, str, str]]:
    """The links, by the contents of their ends."""
    with change() as store:
        found = {item.id: item.content for item in store.items(archived=True)}
        rows = store.rows("SELECT src_id, rel, dst_id FROM memory_links")
        return sorted((found[src], rel, found[dst]) for src, rel, dst in rows)


# --- databases ---------------------------------------------------------------------------------------------------


def test_a_rekal_1_database() -> None:
    counts = load(database("rekal.db", REKAL_1))
    assert (counts["imported"], counts["errors"], counts["records"]) == (
        10, 0, {"link": 2, "session": 2, "session_item": 2, "session_link": 1},
    )  # fmt: skip
    found = all_items()
    old, new = found["The port is 8080."], found["The port is 9090."]
    assert (old.archived, old.superseded_by, old.usage_count, old.tags) == (True, new.id, 3, ["port"])
    assert (new.archived, new.type, new.tier, new.scope) == (False, "fact", "mtm", "api")
    assert new.created_at == "2026-03-02T10:00:00.000000+00:00"
    assert new.provenance.source_id == "rekal:c1"
    mine = found["We like short answers."]
    assert (mine.type, mine.scope) == ("constraint", "global")
    assert links() == [
        (new.content, "supersedes", old.content),
        (mine.content, "related_to", new.content),
    ]
    sessions = {one["session_id"]: one for one in ok("session", "list", "--json").json()["sessions"]}
    assert sessions["c1"]["scope"] == "api"
    assert b"follows_up_on" in complete()
    assert [row["content_preview"] for row in ok("search", "port", "--all-scopes", "--session", "c1", "--json").json()]


def test_a_rekal_3_database_that_is_in_use() -> None:
    """What its log holds is imported too; not a file beside it changes."""
    with closing(sqlite3.connect("rekal.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(REKAL_3)
        before = {name: Path(name).read_bytes() for name in sorted(os.listdir()) if name.startswith("rekal")}
        assert Path("rekal.db-wal").stat().st_size
        assert load("rekal.db")["imported"] == 1
        assert {name: Path(name).read_bytes() for name in sorted(os.listdir()) if name.startswith("rekal")} == before
    (item,) = stored()
    assert (item.content, item.scope, item.tags) == ("Brief: the cache is warm.", "api", ["cache"])


def test_an_export_of_rekal() -> None:
    memories = [{"id": "a", "content": "The port is 8080.", "memory_type": "procedure", "project": "api", "tags": ["p"],
                 "created_at": "2026-03-01 10:00:00"}]  # fmt: skip
    Path("rekal.json").write_text(json.dumps(memories, indent=2))
    assert load("rekal.json")["imported"] == 1
    assert (stored()[0].type, stored()[0].scope) == ("pattern", "api")


@pytest.mark.parametrize("name", ["memctl_v1.sql", "memctl_v2.sql", "ragix.sql"])
def test_older_stores_and_those_of_ragix(name: str) -> None:
    """The import of the file is what an import of its export would be, its ids included."""
    database("old.db", (DATA / name).read_text())
    with closing(sqlite3.connect("old.db")) as db:
        wanted = {row[0] for row in db.execute("SELECT id FROM memory_items")}
        ends = set(db.execute("SELECT src_id, rel, dst_id FROM memory_links"))
    before = Path("old.db").read_bytes()
    counts = load("old.db")
    assert counts["errors"] == 0
    with change() as store:
        assert {item.id for item in store.items(archived=True)} == wanted
        assert set(store.rows("SELECT src_id, rel, dst_id FROM memory_links")) == ends
    assert Path("old.db").read_bytes() == before


def test_a_store_of_ours_by_its_file() -> None:
    ok("remember", "We deploy on Fridays.", "--db", "other.db")
    wanted = ok("export", "--complete", "-q", "--db", "other.db").out
    load("other.db")
    assert complete() == wanted


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("CREATE TABLE x(a)", "another program"),
        ("CREATE TABLE memory_items(id); CREATE VIEW v AS SELECT 1", "it declares the view v"),
        ("CREATE TABLE memory_items(id); CREATE VIRTUAL TABLE memory_links USING fts5(x)", "no plain table"),
        (REKAL_3.replace("updated_at TEXT)", "updated_at TEXT, x TEXT AS (content))"), "no plain table"),
    ],
)
def test_databases_that_are_refused(script: str, problem: str) -> None:
    done = run("import", database("odd.db", script))
    assert done.code in (1, 2)
    assert problem in done.notes


def test_a_journal_that_would_delete_a_file_is_not_played_back(scratch: Path) -> None:
    database("odd.db", REKAL_3)
    Path("odd.db-journal").write_bytes(b"x" * 28 + bytes.fromhex("d9d505f920a163d7"))
    assert "would make SQLite delete another file" in run("import", "odd.db").notes


def test_a_damaged_database_is_told_and_nothing_stored() -> None:
    database("bad.db", REKAL_1)
    data = bytearray(Path("bad.db").read_bytes())
    data[4096 * 2 :] = b"\xff" * (len(data) - 4096 * 2)
    Path("bad.db").write_bytes(bytes(data))
    ok("init")
    assert run("import", "bad.db").code in (1, 2)
    assert stored() == []


# --- JSON --------------------------------------------------------------------------------------------------------


MEM_CONTEXT = {
    "_format": "mem-context-export/1", "_exported_at": "2026-04-01T00:00:00+00:00", "_count": 3,
    "memories": [
        {"id": "m1", "type": "semantic", "scope": "proj:0123456789abcdef", "scope_name": "api", "summary": "Port",
         "content": "The port is 8080.", "weight": 0.7, "decay_rate": 0.03, "created_at": "2026-03-01T10:00:00",
         "access_count": 2, "tags": ["gotcha", "port"], "source_session": "s1", "diff_files": ["a.py"],
         "error_trace": "ValueError: no port"},
        {"id": "m2", "type": "permanent", "scope": "global", "summary": "Style", "content": "Short answers.",
         "weight": 1.0, "tags": []},
        {"id": "m3", "type": "episodic", "scope": "global", "summary": "Old", "content": "Forgotten.", "weight": 0,
         "tags": []},
    ],
    "relations": [
        {"source_id": "m2", "target_id": "m1", "relation_type": "strengthens"},
        {"source_id": "m1", "target_id": "would-be-duplicate", "relation_type": "related_to"},
    ],
}  # fmt: skip


def test_an_export_of_mem_context() -> None:
    Path("export.json").write_text(json.dumps(MEM_CONTEXT, indent=2))
    counts = load("export.json")
    assert (counts["imported"], counts["records"]) == (4, {"link": 1})
    found = {item.title: item for item in all_items().values()}
    port = found["Port"]
    assert (port.tier, port.type, port.scope, port.usage_count) == ("mtm", "pattern", "api", 2)
    assert port.entities == ["a.py"]
    assert port.content == "The port is 8080.\n\nerror_trace:\nValueError: no port"
    assert (found["Style"].tier, found["Old"].archived) == ("ltm", True)
    assert [json.loads(line).get("importance") for line in ok("export", "-q").text.splitlines()].count(0.7) == 1
    assert links() == [("Short answers.", "supports", port.content)]


def test_what_another_program_says_contradicts_is_a_conflict() -> None:
    relations = [{"source_id": "m2", "target_id": one, "relation_type": "contradicts"} for one in ("m1", "m2")]
    Path("export.json").write_text(json.dumps(MEM_CONTEXT | {"relations": relations}))
    load("export.json")
    (found,) = ok("conflicts", "--all-scopes", "--json").json()["conflicts"]
    assert found["why"] == "somebody says so"
    assert load("export.json")["imported"] == 0
    assert ok("conflicts", "--all-scopes", "--json").json()["total"] == 1


def test_an_export_of_mem_context_with_tags_that_are_none() -> None:
    memory = {"id": "m1", "content": "The port is 8080.", "type": "semantic", "tags": 5}
    Path("export.json").write_text(json.dumps({"_format": "mem-context-export/1", "memories": [memory]}))
    assert load("export.json")["imported"] == 1


ENTITIES = [
    {"type": "entity", "name": "Alice", "entityType": "person", "observations": ["Works on the API.", "Likes tea."]},
    {"type": "entity", "name": "API", "entityType": "service", "observations": []},
    {"type": "relation", "from": "Alice", "to": "API", "relationType": "works_on"},
]


def test_the_file_of_the_reference_server() -> None:
    Path("memory.jsonl").write_text("\n".join(map(json.dumps, ENTITIES)))
    assert load("memory.jsonl")["imported"] == 4
    found = all_items()
    assert found["Likes tea."].title == "Alice"
    assert found["Likes tea."].tags == ["person"]
    assert found["Alice works on API"].entities == ["Alice", "API"]
    assert "API: service" in found


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"type": "entity", "name": 3, "entityType": "x"}', "expected an entity"),
        ('{"type": "entity", "name": "a", "entityType": "x", "observations": "y"}', "expected a list of strings"),
        ('{"type": "entity", "name": "a", "entityType": "x", "observations": [1]}', "expected a list of strings"),
        ('{"type": "wonder"}', "expected an entity or a relation"),
        ("[1]", "expected an object"),
        ("\0", "Malformed"),
        (
            json.dumps({"type": "entity", "name": "a", "entityType": "x", "observations": [SECRET]}),
            "Rejected by policy",
        ),
    ],
)
def test_a_wrong_entity_is_named_and_the_others_come_in(line: str, problem: str) -> None:
    Path("memory.jsonl").write_text(json.dumps(ENTITIES[0]) + "\n" + line + "\n" + json.dumps(ENTITIES[2]))
    done = ok("import", "memory.jsonl", "--json")
    assert problem in done.notes
    assert SECRET not in done.notes
    assert done.json()["imported"] == 3


# --- notes -------------------------------------------------------------------------------------------------------


@pytest.fixture
def notes(scratch: Path) -> str:
    """A folder as basic-memory has it."""
    folder = scratch / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "coffee.md").write_text(
        "---\ntitle: Coffee Brewing\ntype: note\npermalink: coffee-brewing\ntags:\n- coffee\n- drinks\n"
        "created: 2026-03-01\nextra:\n  nested: yes\n---\n\n# Coffee Brewing\n\nHow I make it.\n\n## Observations\n"
        "- [method] Pour over gives clarity #brewing\n- [decision] We buy beans weekly (since May)\n"
        "- [ ] not an observation\n\n"
        "## Relations\n- relates_to [[Tea]]\n- depends on [[deep/water]] (clean)\n- leads_to [[Nowhere]]\n"
    )
    (folder / "tea.md").write_text("# Tea\n\nGreen tea at 80 degrees.\n")
    (folder / "deep" / "water.md").write_text("---\ntitle: 'Water''s taste'\n---\nUse filtered water.\n")
    (folder / ".hidden.md").write_text("hidden")
    (folder / "page.txt").write_text("no note")
    return str(folder)


def test_a_folder_of_notes(notes: str) -> None:
    done = ok("import", notes, "--json")
    assert done.json()["imported"] == 7
    assert "nested: yes" in done.notes
    assert "1 relation(s) lead to notes that are not there" in done.notes
    found = all_items()
    body = found["How I make it.\n\n- [ ] not an observation"]
    assert (body.title, body.tags, body.created_at[:10]) == ("Coffee Brewing", ["coffee", "drinks"], "2026-03-01")
    assert body.entities == ["Tea", "deep/water", "Nowhere"]
    assert found["Pour over gives clarity"].type == "pattern"
    assert found["Pour over gives clarity"].tags == ["coffee", "drinks", "method", "brewing"]
    assert found["We buy beans weekly (since May)"].type == "decision"
    assert found["Use filtered water."].title == "Water's taste"
    assert links() == [
        (body.content, "depends_on", "Use filtered water."),
        (body.content, "related_to", "Green tea at 80 degrees."),
    ]


def test_the_memory_of_claude_code(scratch: Path) -> None:
    folder = scratch / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(
        "# Memory\n\n- [Answers](feedback_answers.md) — short ones\n- The build needs Java 17.\n"
        "- [Gone](gone.md) is not here\n"
    )
    (folder / "feedback_answers.md").write_text(
        "---\nname: Answers\ndescription: how long they are\ntype: feedback\n---\n\nAnswer in one paragraph.\n"
        "See [the project](project.md).\n"
    )
    (folder / "project.md").write_text("---\nname: Project\ntype: project\n---\nIt is an API.\n")
    assert load(str(folder))["imported"] == 5
    found = {item.title: item for item in all_items().values()}
    assert found["Memory"].content == "- The build needs Java 17.\n- [Gone](gone.md) is not here"
    assert (found["Answers"].type, found["Project"].type) == ("constraint", "fact")
    answers = found["Answers"].content
    assert links() == [
        (found["Memory"].content, "references", answers),
        (answers, "references", "It is an API."),
    ]


def test_an_index_that_says_nothing_else_is_no_item(scratch: Path) -> None:
    folder = scratch / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Memory\n\n- [Answers](answers.md) — short ones\n")
    (folder / "answers.md").write_text("Answer in one paragraph.\n")
    assert load(str(folder))["imported"] == 1
    assert links() == []


def test_hostile_notes(scratch: Path, notes: str) -> None:
    folder = Path(notes)
    (scratch / "secret.md").write_text("My diary.")
    (folder / "link.md").symlink_to(scratch / "secret.md")
    (folder / "away").symlink_to(scratch)
    os.mkfifo(folder / "pipe.md")
    (folder / "bytes.md").write_bytes(b"\xff\xfe\x00")
    (folder / "large.md").write_text("x" * (5 << 20))
    (folder / "key.md").write_text(f"The {SECRET} is it.")
    (folder / "cycle.md").write_text("# Cycle\n\nround\n\n- part_of [[Cycle]]\n- part_of [[Tea]]\n")
    done = ok("import", notes, "--json")
    assert "diary" not in complete().decode()
    assert SECRET not in complete().decode() + done.notes
    assert done.json()["errors"] == 4
    for name in ("link.md", "pipe.md", "bytes.md", "large.md"):
        assert name in done.notes


# --- all of them -------------------------------------------------------------------------------------------------


SOURCES: dict[str, Callable[[], str]] = {
    "rekal1": lambda: database("rekal.db", REKAL_1),
    "rekal3": lambda: database("rekal.db", REKAL_3),
    "ragix": lambda: database("ragix.db", (DATA / "ragix.sql").read_text()),
    "mem-context": lambda: _file("export.json", json.dumps(MEM_CONTEXT)),
    "mcp-memory": lambda: _file("memory.jsonl", "\n".join(map(json.dumps, ENTITIES))),
    "notes": lambda: "notes",
}


def _file(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.usefixtures("notes")
def test_a_second_import_changes_nothing(kind: str) -> None:
    path = SOURCES[kind]()
    first = load(path, "--dry-run")
    assert not Path(STORE).exists()
    again = load(path)
    assert {key: first[key] for key in ("imported", "errors")} == {key: again[key] for key in ("imported", "errors")}
    before = complete()
    counts = load(path)
    assert (counts["imported"], counts["skipped_conflict"], counts["errors"]) == (0, 0, 0)
    assert complete() == before


@pytest.mark.parametrize("argv", [["--from", "rekal"], ["--from", "store"], ["--preserve-ids"]])
def test_what_is_said_of_a_source_must_be_true(argv: list[str], notes: str) -> None:
    assert run("import", notes, *argv).code == 1


def test_the_format_can_be_named(scratch: Path) -> None:
    (scratch / "plain").write_text("# Tea\n\nGreen.\n")
    assert load("plain", "--from", "markdown")["imported"] == 1


def test_the_counts_are_golden() -> None:
    golden("import-json", ok("import", database("rekal.db", REKAL_1), "--json", "-q").text)
    golden("import", ok("import", "rekal.db", "-q", "--db", "b.db").text)


def test_what_ragix_makes_when_it_needs_it() -> None:
    """Its sessions and workspaces come along; its graph, and tables of others, are left."""
    database("ragix.db", (DATA / "ragix.sql").read_text())
    database("ragix.db", """
        CREATE TABLE others(node_id TEXT PRIMARY KEY, kind TEXT);
        DELETE FROM memory_sessions;
        INSERT INTO memory_sessions VALUES ('p:1', 'p', 'team', 3, '2026-01-01', '2026-01-02', '{}');
        INSERT INTO memory_workspaces VALUES ('work', 'team', '', 'ours', '2026-01-01');
    """)  # fmt: skip
    assert load("ragix.db")["records"].keys() >= {"session", "workspace"}
    assert ok("workspace", "show", "work", "--json").json()["workspace"]["scope"] == "team"
