"""show, list and stats: what they print, and what they leave in the store."""

import os
from pathlib import Path

import pytest

from memctl.types import MemoryItem, MemoryProvenance
from stores import change
from support import golden, ok, run

pytestmark = pytest.mark.usefixtures("frozen")


def store(*made: MemoryItem, withheld: str = "") -> None:
    with change("m.db") as db:
        for item in made:
            db.write(item, withheld=withheld if not item.injectable else "")


def item(n: int, **fields: object) -> MemoryItem:
    given = {
        "id": f"MEM-{n:012x}", "title": f"Title {n}", "content": f"Content {n}",
        "created_at": "2026-11-01T00:00:00", "updated_at": f"2026-11-{n:02}T00:00:00",
    } | fields  # fmt: skip
    return MemoryItem(**given)  # type: ignore[arg-type]


FULL = item(
    3, tier="ltm", type="decision", title="Auth\n decision", content="We chose JWT\nfor auth", tags=["auth", "é"],
    entities=["JWT"], confidence=0.5, injectable=False, corpus_id="C1", superseded_by="MEM-000000000001", archived=True,
    expires_at="2026-12-01T00:00:00", provenance=MemoryProvenance("doc", "/x/a.md", ["/x/a.md:1"]),
)  # fmt: skip


def test_show() -> None:
    store(item(1), FULL, withheld="policy")
    golden("show", ok("show", "MEM-000000000001", "--db", "m.db").text)
    golden("show-full", ok("show", FULL.id, "--db", "m.db", "--quarantined").text)
    golden("show-json", ok("show", FULL.id, "--db", "m.db", "--json", "--quarantined").text)


def test_show_counts_a_use_after_the_answer() -> None:
    store(item(1))
    assert ok("show", item(1).id, "--json", "--db", "m.db").json()["usage_count"] == 0
    assert ok("show", item(1).id, "--json", "--db", "m.db").json()["usage_count"] == 1
    with change("m.db") as db:
        assert [e.action for e in db.read_events(item(1).id)].count("read") == 2


def test_show_of_what_there_is_not() -> None:
    store()
    done = run("show", "MEM-nope", "--db", "m.db")
    assert (done.code, done.out) == (1, b"")
    assert done.notes.startswith("memctl: item not found: MEM-nope\n")


def test_show_while_somebody_writes() -> None:
    store(item(1))
    with change("m.db") as db:
        db.run("BEGIN IMMEDIATE")
        done = ok("show", item(1).id, "--db", "m.db")
    assert "Content 1" in done.text
    assert done.err == b""


def test_show_prints_content_harmlessly() -> None:
    store(item(1, content="a\x1b[31mb\r\nc", title="t\x1b]0;x\x07"))
    out = ok("show", item(1).id, "--db", "m.db").out
    assert b"\x1b" not in out
    assert b"a\\x1b[31mb\nc\n" in out


def test_list() -> None:
    store(item(1), item(2, tags=["auth", "api"], tier="mtm"), item(4, title="", injectable=False), FULL)
    golden("list", ok("list", "--archived", "--db", "m.db").text)
    golden("list-json", ok("list", "--archived", "--db", "m.db", "--json").text)


def test_list_raw_is_not_quarantined() -> None:
    store(item(1, injectable=False), withheld="raw")
    assert ok("list", "--db", "m.db").text.rstrip().endswith("[RAW]")


@pytest.mark.parametrize(
    ("flags", "numbers"),
    [
        ([], [6, 4, 2, 1]),
        (["--tier", "mtm"], [2]),
        (["--type", "fact"], [4]),
        (["--tags", "API,none"], [2]),
        (["--scope", "other"], [6, 5]),
        (["--all-scopes"], [6, 5, 4, 2, 1]),
        (["--archived"], [6, 4, 3, 2, 1]),
        (["-k", "2"], [6, 4]),
        (["--tier", "ltm"], []),
    ],
)
def test_list_filters(flags: list[str], numbers: list[int]) -> None:
    store(
        item(1), item(2, tier="mtm", tags=["api"]), FULL, item(4, type="fact"), item(5, scope="other"),
        item(6, scope="global"),
    )  # fmt: skip
    found = ok("list", "--json", "--db", "m.db", *flags).json()
    assert [int(one["id"][4:], 16) for one in found] == numbers


def test_list_says_when_there_is_more_and_when_there_is_nothing() -> None:
    store(item(1), item(2))
    assert "[list] 1 of 2 items; -n 2 lists them all" in ok("list", "-k1", "--db", "m.db").notes
    assert ok("list", "--tier", "ltm", "--db", "m.db") == (0, b"", b"[list] No items.\n")
    assert ok("list", "--tier", "ltm", "--db", "m.db", "--json", "-q") == (0, b"[]\n", b"")


def test_stats() -> None:
    store(item(1), item(2, type="decision", tier="mtm", scope="other"), item(4, injectable=False), FULL, withheld="raw")
    golden("stats", ok("stats", "--db", "m.db").text)
    golden("stats-json", ok("stats", "--db", "m.db", "--json").text)


def test_a_scope_forges_no_line_of_the_stats() -> None:
    store(item(1), item(2, scope="a\n  Audit events: 0"))
    assert ok("stats", "--db", "m.db").text.count("\n  Audit events:") == 1


def test_stats_of_an_empty_store() -> None:
    ok("init")
    counts = ok("stats", "--json").json()
    assert (counts["total_items"], counts["by_tier"], counts["status"]) == (0, {}, "ok")


@pytest.mark.parametrize("argv", [["stats"], ["list"], ["show", "MEM-1"]])
def test_reading_makes_no_store_and_leaves_no_files(argv: list[str]) -> None:
    assert run(*argv, "--db", "typo.db").code == 1
    assert os.listdir() == []
    store(item(1))
    before = Path("m.db").read_bytes()
    run(*argv, "--db", "m.db")
    assert os.listdir() == ["m.db"]
    assert Path("m.db").read_bytes() == before


@pytest.mark.parametrize("argv", [["stats"], ["list"], ["show", "MEM-1"]])
def test_a_file_that_is_no_store(argv: list[str]) -> None:
    Path("x.db").write_text("not a database at all, and long enough to be looked at" * 20)
    done = run(*argv, "--db", "x.db")
    assert (done.code, done.out) == (2, b"")
    assert "is not a memctl store" in done.notes


def test_a_list_counts_no_further_than_anybody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    store(*(MemoryItem(content=f"Statement {number}.") for number in range(4)))
    monkeypatch.setattr("memctl.ops.look.items.MOST_COUNTED", 2)
    for argv in (("-n1",), ("-n1", "--passages")):
        assert "[list] 1 of more than 2 items; -n lists more" in ok("list", *argv, "--db", "m.db").notes
    assert "[list] 3 of more than 3 items; -n lists more" in ok("list", "-n3", "--db", "m.db").notes
    assert ok("list", "-n4", "--db", "m.db").notes == ""


def test_a_digest_of_documents_names_files_and_passages_have_places(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"# Guide\n\nThe {name} gateway retries.\n")
    ok("sync", "docs", cwd=tmp_path)
    ok("remember", "Deploys run on Fridays.", cwd=tmp_path)
    page = ok("digest", "--from", "docs", cwd=tmp_path).text
    assert "docs/a.md  1 passage" in page
    assert "docs/b.md  1 passage" in page
    assert "MEM-" not in page
    assert "MEM-" in ok("digest", "--from", "docs", "--passages", cwd=tmp_path).text
    listed = ok("list", "--passages", cwd=tmp_path).text
    assert "\n    docs/a.md:1\n" in listed
    assert "\n    docs/b.md:1\n" in listed
    assert listed.count(".md:") == 2
