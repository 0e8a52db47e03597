"""How long passages of a mount may be: said once, kept, and what is affected is cut anew."""

import json
from pathlib import Path

import pytest

from folders import write
from support import ok, run

PARAGRAPHS = "\n\n".join(
    f"Paragraph {n} tells something about the gateway and its tokens, at some length." for n in range(30)
)


@pytest.fixture
def docs(scratch: Path) -> Path:
    write(scratch / "docs" / "guide.md", f"# Guide\n\n{PARAGRAPHS}\n")
    return scratch / "docs"


def longest() -> int:
    return max(len(json.loads(line)["content"]) for line in ok("export").text.splitlines())


def kept() -> int | None:
    size: int | None = json.loads(ok("mount", "--list", "--json").text)[0]["chunk_tokens"]
    return size


@pytest.mark.parametrize("command", ["mount", "sync"])
def test_passages_are_cut_as_said_from_then_on(docs: Path, command: str) -> None:
    ok("sync", "docs")
    assert (longest() > 400, kept()) == (True, None)
    ok(command, "docs", "--chunk-tokens", "50")
    ok("sync")
    assert (longest() <= 200, kept()) == (True, 50)
    assert json.loads(ok("sync", "docs", "--json").text)["files_unchanged"] == 1, "it is kept: nothing is left to do"
    write(docs / "more.md", f"# More\n\n{PARAGRAPHS}\n")
    ok("sync", "docs")
    assert longest() <= 200


def test_a_dry_run_says_what_would_be_cut_anew_and_keeps_nothing(docs: Path) -> None:
    ok("sync", "docs")
    done = ok("sync", "docs", "--chunk-tokens", "50", "--dry-run")
    assert "1 read again" in done.notes
    assert (longest() > 400, kept()) == (True, None)


def test_other_options_of_the_mount_stay_and_removing_it_forgets_them(docs: Path) -> None:
    ok("mount", "docs", "--name", "d", "--chunk-tokens", "60")
    ok("mount", "docs", "--scope", "other")
    assert kept() == 60
    ok("mount", "--remove", "d")
    ok("mount", "docs")
    assert kept() is None


@pytest.mark.parametrize("size", ["19", "0", "-3", "x", "100001"])
def test_sizes_that_make_no_passages_are_refused(docs: Path, size: str) -> None:
    assert docs.is_dir()
    assert run("sync", "docs", "--chunk-tokens", size).code == 1


def test_the_list_takes_no_size(docs: Path) -> None:
    assert docs.is_dir()
    done = run("mount", "--list", "--chunk-tokens", "50")
    assert (done.code, "--chunk-tokens" in done.notes) == (1, True)
