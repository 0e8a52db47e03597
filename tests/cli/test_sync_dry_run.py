"""memctl sync --dry-run: says what a sync would do, and does nothing; see also tests/props/test_sync."""

import json
import os
from pathlib import Path

import pytest

import folders
from folders import changes, sync, write
from support import Result, ok, run


def said(done: Result) -> list[str]:
    return [line for line in done.text.splitlines() if not line.startswith("#")]


@pytest.mark.usefixtures("docs")
def test_a_dry_run_needs_no_store() -> None:
    done = ok("sync", "docs", "--dry-run", "--report", "--db", "memory.db")
    assert said(done) == ["new\tguide.md\t0", "new\tnotes/birds.txt\t0"]
    assert "[sync] Would be: 2 new, 0 changed, 0 unchanged, 0 moved, 0 read again, 0 deleted" in done.notes
    assert not os.path.exists("memory.db")


def test_a_dry_run_writes_nothing(docs: Path) -> None:
    sync("docs")
    write(docs / "guide.md", folders.GUIDE.replace("twice", "thrice"))
    (docs / "notes" / "birds.txt").unlink()
    before = {path: Path(path).read_bytes() for path in os.listdir(".") if path.startswith("memory.db")}
    found = sync("docs", "--dry-run")
    assert changes(found) == {"changed": 1, "deleted": 1}
    assert {path: Path(path).read_bytes() for path in os.listdir(".") if path.startswith("memory.db")} == before
    os.chmod("memory.db", 0o400)
    assert sync("docs", "--dry-run") == found
    os.chmod("memory.db", 0o600)
    assert changes(sync("docs")) == {"changed": 1, "deleted": 1}


@pytest.mark.parametrize("flags", [["--full"], ["--scope", "team"]])
@pytest.mark.usefixtures("docs")
def test_a_dry_run_knows_the_other_flags(flags: list[str]) -> None:
    sync("docs")
    assert changes(sync("docs", *flags, "--dry-run")) == {"refiled": 2}
    with folders.opened() as store:
        assert store.rows("SELECT DISTINCT scope FROM memory_items") == [("project",)]
    assert changes(sync("docs", *flags)) == {"refiled": 2}


def test_a_dry_run_names_what_cannot_be_read(docs: Path) -> None:
    write(docs.parent / "config.json", json.dumps({"ingest": {"max_file_mb": 1}}))
    sync("docs")
    write(docs / "guide.md", "x" * 1_100_000)
    write(docs / "more.md", "x" * 1_100_000)
    os.mkfifo(docs / "pipe.md")
    dry, wet = sync("docs", "--dry-run"), sync("docs")
    assert dry["files_failed"] == wet["files_failed"]
    assert [one["path"] for one in wet["files_failed"]] == ["pipe.md", "guide.md", "more.md"]
    assert changes(dry) == changes(wet)
    assert "Redis" not in folders.statements()


@pytest.mark.parametrize("seconds", ["0.1", "-1", "nan", "inf", "soon", "100000"])
@pytest.mark.usefixtures("docs")
def test_the_interval_has_bounds(seconds: str) -> None:
    done = run("sync", "docs", "--watch", f"--interval={seconds}", "--db", "memory.db")
    assert done.code == 1
    assert "--interval" in done.notes
    assert not os.path.exists("memory.db")


@pytest.mark.usefixtures("docs")
def test_a_dry_run_does_not_watch() -> None:
    done = run("sync", "docs", "--dry-run", "--watch", "--db", "memory.db")
    assert done.code == 1
    assert "--dry-run and --watch" in done.notes


def test_a_known_file_that_is_ignored_now_has_one_line_in_both_reports(docs: Path) -> None:
    ok("sync", docs, "-q")
    write(docs / ".memctlignore", "guide.md\n")
    foreseen = [line for line in ok("sync", docs, "--dry-run", "--report").text.splitlines() if "guide.md" in line]
    assert foreseen == [line for line in ok("sync", docs, "--report").text.splitlines() if "guide.md" in line]
    assert len(foreseen) == 1


@pytest.mark.parametrize("told_again", [True, False])
def test_a_dry_run_knows_what_became_of_a_file_that_was_emptied_and_renamed(docs: Path, told_again: bool) -> None:
    """It is the same file if a text that it had once is back in it, and another one that was given its inode if not."""
    write(docs / "a.md", "")
    write(docs / "b.md", folders.document("The lamp is lit."))
    sync("docs")
    (docs / "a.md").replace(docs / "b.md")
    sync("docs")
    (docs / "b.md").replace(docs / "a.md")
    write(docs / "a.md", folders.document("The lamp is lit." if told_again else "The stove is cold."))
    foreseen = sync("docs", "--dry-run")
    expected = {"moved": 1} if told_again else {"new": 1, "deleted": 1}
    assert changes(foreseen) == changes(sync("docs")) == expected
    assert changes(sync("docs")) == {}
    folders.check()
