"""Files that turn up in another folder than the one they left, and paths that mean nothing."""

import os
from pathlib import Path

import pytest

from support import ok, run


def ids_of(word: str) -> list[str]:
    return [item["id"] for item in ok("search", word, "--json").json()]


def sync(*argv: str) -> dict[str, object]:
    return dict(ok("sync", *argv, "--json").json())


@pytest.fixture
def folders(scratch: Path) -> Path:
    for name in ("a", "b"):
        (scratch / name).mkdir()
    (scratch / "a" / "q.md").write_text("# Nightjar\n\nThe nightjar sings at dusk.\n")
    (scratch / "b" / "other.md").write_text("# Other\n\nSomething else.\n")
    ok("sync", "a", "-q")
    ok("sync", "b", "-q")
    return scratch


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_file_moved_to_another_mount_keeps_its_items(folders: Path, order: tuple[str, str]) -> None:
    before = ids_of("nightjar")
    os.rename(folders / "a" / "q.md", folders / "b" / "bird.md")
    for name in order:
        ok("sync", name, "-q")
    assert ids_of("nightjar") == before
    assert "] b/bird.md:1-3" in ok("recall", "nightjar").text
    assert all(sync(name)["files_unchanged"] == n for name, n in (("a", 0), ("b", 2)))


def test_a_mounted_folder_that_was_renamed_keeps_its_items(folders: Path) -> None:
    before = ids_of("nightjar")
    os.rename(folders / "a", folders / "c")
    assert sync("c")["files_moved"] == 1
    assert ids_of("nightjar") == before
    assert ok("recall", "nightjar").text.count("sings at dusk") == 1


def test_a_file_that_left_its_mount_becomes_one_of_its_copies_in_another(folders: Path) -> None:
    before, text = ids_of("nightjar"), (folders / "a" / "q.md").read_bytes()
    (folders / "a" / "q.md").unlink()
    for name in ("one.md", "two.md"):
        (folders / "b" / name).write_bytes(text)
    done = sync("b")
    assert (done["files_moved"], done["files_new"]) == (1, 1)
    after = ids_of("nightjar")
    assert (len(after), len(set(after))) == (2, 2)
    assert set(before) < set(after)


def test_a_copy_is_no_move(folders: Path) -> None:
    before = ids_of("nightjar")
    (folders / "b" / "copy.md").write_bytes((folders / "a" / "q.md").read_bytes())
    assert sync("b")["files_new"] == 1
    assert set(before) < set(ids_of("nightjar"))


@pytest.mark.parametrize("argv", [("sync", ""), ("mount", ""), ("inspect", " "), ("push", "x", "--source", "")])
def test_an_empty_path_is_not_the_current_folder(scratch: Path, argv: tuple[str, ...]) -> None:
    (scratch / "secret.md").write_text("not to be read\n")
    assert run(*argv).code == 1
    assert run("search", "read", "--json").out in (b"", b"[]\n")


def test_a_mount_whose_folder_is_away_says_so(folders: Path) -> None:
    os.rename(folders / "a", folders / "away")
    done = run("sync", "a")
    assert done.code == 1 and "Mount path missing" in done.notes


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "MNT-0123456789ab"])
def test_a_name_that_is_none(folders: Path, name: str) -> None:
    assert run("mount", "a", "--name", name).code == 1
    assert ok("mount", "--list", "--json").json()[0]["name"] is None


def test_names_in_the_report_stay_on_their_line(folders: Path) -> None:
    (folders / "a" / "x\ty.md").write_text("tab\n")
    (folders / "a" / "x\ny.md").write_text("line\n")
    lines = ok("sync", "a", "--report").text.splitlines()
    assert {line.split("\t")[1] for line in lines} == {"q.md", "x\\ty.md", "x\\ny.md"}
