"""memctl recall: a block on stdout, remarks on stderr, and the uses counted afterwards."""

import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import support
from memctl.types import MemoryItem
from stores import Store, change
from support import ok, run

DB = ".memory/memory.db"


@pytest.fixture
def db(scratch: Path) -> Iterator[Store]:
    with change(DB) as store:
        for position, content in enumerate(
            ("# Auth\n\nTokens are rotated daily.", "Each token is signed.", "Gardens.")
        ):
            put(store, f"MEM-{position}", content, path=f"{scratch}/docs/auth.md", position=position)
        put(store, "MEM-hidden", "zebra", injectable=False)
        put(store, "MEM-team", "giraffe", scope="team")
        yield store


def put(db: Store, item_id: str, content: str, path: str = "", position: int = 0, **fields: object) -> None:
    source = {"source_kind": "doc", "source_id": path, "chunk_ids": [f"{path}:{position}"], "content_hashes": []}
    data = {"id": item_id, "title": f"Part {position}", "content": content, **fields}
    db.write(MemoryItem.from_dict(data | ({"provenance": source} if path else {})))
    if path:
        first = 10 * position + 1
        db.place(item_id, position, first, first + content.count("\n"))


@pytest.mark.usefixtures("db")
def test_the_block() -> None:
    done = ok("recall", "how are tokens rotated")
    support.golden("recall", done.text)
    assert done.notes == f"[recall] 1 items, ~{-(-len(done.text) // 4)} tokens\n"
    assert ok("recall", "how are tokens rotated").text == done.text


@pytest.mark.usefixtures("db")
def test_the_block_of_version_1() -> None:
    done = ok("recall", "how are tokens rotated", "--frame", "full")
    support.golden("recall-full", re.sub(r"(used:|items,) \d+", r"\1 <n>", done.text))  # the path's length is in it
    Path(".memory/config.json").write_text('{"recall": {"frame": "full"}}', encoding="utf-8")
    again = ok("recall", "how are tokens rotated", "--json").json()
    assert again["format_version"] == 1
    assert again["inject_text"].startswith("## Memory (Injected)\nformat_version: 1\n")


@pytest.mark.usefixtures("db")
def test_without_header_only_the_passages() -> None:
    assert ok("recall", "gardens", "--no-header").text == "[MEM-2] docs/auth.md:21 > Part 2\n Gardens.\n"
    done = ok("recall", "gardens", "--no-header", "--frame", "full")
    assert done.text.startswith("[1] [STM:unverified] note — Part 2\n    [path:docs/auth.md chunk:2 lines:21-21]\n")
    assert done.text.endswith("    confidence: 0.50\n")
    assert ok("recall", "gardens", "--frame", "none").text == "Gardens.\n"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("nonsenseword", "[recall] No matching items.\n"),
        ("zebra", "[recall] No injectable items matched.\n"),
        (
            "giraffe",
            "[recall] No matching items.\n[recall] Found in other scopes: team; use --scope NAME or --all-scopes\n",
        ),
    ],
)
@pytest.mark.usefixtures("db")
def test_nothing_to_say_is_success(query: str, said: str) -> None:
    done = ok("recall", query)
    assert (done.out, done.notes) == (b"", said)


@pytest.mark.usefixtures("db")
def test_a_budget_too_small_says_so_even_when_quiet() -> None:
    done = ok("recall", "tokens", "--budget", "20", "-q")
    assert done.out == b""
    assert "budget of 20 tokens is too small" in done.notes


def test_sixty_quarantined_hits_do_not_hide_the_one_that_may_be_shown(db: Store) -> None:
    for n in range(60):
        put(db, f"MEM-q{n}", "zebra zebra", injectable=False)
    put(db, "MEM-free", "a zebra among many other words in a longer sentence")
    done = ok("recall", "zebra", "--frame", "full")
    assert "a zebra among many" in done.text
    assert "matched: 1\n" in done.text


def test_matched_counts_beyond_what_fits(db: Store) -> None:
    for n in range(80):
        put(db, f"MEM-m{n}", f"lemur number {n} " + f"word{n} " * 30)
    assert "matched: 80\n" in ok("recall", "lemur", "--budget", "300", "--frame", "full").text


@pytest.mark.parametrize(
    ("argv", "env", "config", "budget"),
    [
        ([], {}, "", 1500),
        ([], {}, '{"recall": {"budget_tokens": 333}}', 333),
        ([], {"MEMCTL_BUDGET": "444"}, '{"recall": {"budget_tokens": 333}}', 444),
        (["--budget", "555"], {"MEMCTL_BUDGET": "444"}, "", 555),
    ],
)
@pytest.mark.usefixtures("db")
def test_where_the_budget_comes_from(argv: list[str], env: dict[str, str], config: str, budget: int) -> None:
    if config:
        Path(".memory/config.json").write_text(config, encoding="utf-8")
    assert f"budget_tokens: {budget}\n" in ok("recall", "tokens", "--frame", "full", *argv, env=env).text


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        (["--tags", "ops"], False),
        (["--tier", "ltm"], False),
        (["--scope", "team"], True),
        (["--all-scopes"], True),
        (["-w", "crew"], True),
        (["--workspace", "default"], False),
    ],
)
def test_filters_and_views(db: Store, flags: list[str], shown: bool) -> None:
    db.run("INSERT INTO memory_workspaces VALUES ('crew', 'team', '', 'as RAGIX saves it', '')")
    assert ("giraffe" in ok("recall", "giraffe", *flags).text) == shown


@pytest.mark.usefixtures("db")
def test_an_unknown_workspace_is_an_error() -> None:
    done = run("recall", "x", "-w", "nope")
    assert done.code == 1
    assert "workspace not found: nope" in done.notes
    assert ok("recall", "gardens", "-w", "default").out


def test_a_use_is_what_was_delivered(db: Store) -> None:
    ok("recall", "gardens")
    ok("recall", "zebra")
    used = {row[0]: row[1] for row in db.rows("SELECT id, usage_count FROM memory_items")}
    assert used["MEM-2"] == 1
    assert sum(used.values()) == 1


@pytest.mark.usefixtures("db")
def test_json_has_the_block_and_its_items() -> None:
    answer = ok("recall", "gardens", "--json").json()
    assert answer["inject_text"].startswith("## Memory (Injected)")
    assert [item["id"] for item in answer["items"]] == ["MEM-2"]
    assert answer["fts_strategy"] == "AND"
    assert answer["tokens_used"] == -(-(len(answer["inject_text"]) + 1) // 4)


def test_a_read_only_store_still_answers(db: Store) -> None:
    db.close()
    sqlite3.connect(DB).execute("PRAGMA journal_mode = DELETE")
    os.chmod(DB, stat.S_IRUSR)
    os.chmod(".memory", stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert "Gardens." in ok("recall", "gardens").text
    finally:
        os.chmod(".memory", stat.S_IRWXU)
