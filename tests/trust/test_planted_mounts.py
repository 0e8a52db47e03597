"""Mounts that somebody wrote into the user's own store: who may write the project alone chooses no folder."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memctl import registry, state
from memctl.store import MemoryStore
from stores import change
from support import ok, run

SECRET = "The vault combination is heron."


@pytest.fixture
def private(tmp_path: Path, scratch: Path) -> Path:
    """A folder of the user's outside the project."""
    folder = tmp_path / "private"
    assert not folder.is_relative_to(scratch)
    folder.mkdir()
    (folder / "a.md").write_text(f"# Vault\n\n{SECRET}\n")
    ok("remember", "Staging is rebuilt on Sundays.")
    return folder


def plant_row(path: object, store: str = ".memory/memory.db") -> None:
    with closing(sqlite3.connect(store)) as conn:
        conn.execute(
            "INSERT INTO memory_mounts(mount_id, path, name, ignore_json, created_at) "
            "VALUES ('MNT-x', ?, 'notes', '[]', '2026-01-01')", (str(path),),
        )  # fmt: skip
        conn.commit()


def is_read(*flags: str) -> bool:
    return SECRET in ok("export", *flags).text


@pytest.mark.parametrize("argv", [["sync"], ["sync", "--full"], ["sync", "--dry-run", "--report"]])
@pytest.mark.parametrize("way", ["plain", "relative", "link"])
def test_a_row_in_the_store_has_no_folder_read(argv: list[str], way: str, private: Path, scratch: Path) -> None:
    (scratch / "link").symlink_to(private)
    planted = {"plain": private, "relative": "../" * 20 + str(private)[1:], "link": scratch / "link"}[way]
    plant_row(planted)
    done = ok(*argv)
    assert "Mount MNT-x is of a folder outside the project that memctl has not mounted for you" in done.notes
    assert "a.md" not in done.text
    assert not is_read()


@pytest.mark.parametrize("flags", [[], ["--dry-run"]])
@pytest.mark.parametrize("key", ["notes", "MNT-x"])
def test_its_name_does_not_say_what_would_be_read(flags: list[str], key: str, private: Path) -> None:
    plant_row(private)
    done = run("sync", key, *flags)
    assert (done.code, done.out) == (1, b"")
    assert str(private) in done.notes
    assert not is_read()


@pytest.mark.parametrize("first", [["mount"], ["sync"], ["inspect"]])
def test_what_a_person_mounts_is_read_from_then_on(first: list[str], private: Path) -> None:
    ok(*first, str(private))
    (private / "b.md").write_text("# More\n\nThe second key is under the mat.\n")
    assert "passed over" not in ok("sync").notes
    assert "under the mat" in ok("export").text


def test_naming_a_planted_folder_takes_it_in(private: Path) -> None:
    plant_row(private)
    ok("sync", str(private))
    assert is_read()
    assert "passed over" not in ok("sync").notes


def test_a_program_of_the_user_may_mount(private: Path) -> None:
    with MemoryStore(".memory/memory.db") as store:
        store.write_mount(str(private))
    ok("sync")
    assert is_read()


def test_trusting_a_store_lets_its_mounts_count_and_later_ones_not(private: Path, tmp_path: Path) -> None:
    plant_row(private)
    ok("trust")
    ok("sync")
    assert is_read()
    ok("mount", "--remove", "notes")
    plant_row(tmp_path)
    assert "passed over" in ok("sync").notes


def test_folders_of_the_project_need_no_note(private: Path, scratch: Path) -> None:
    (scratch / "docs").mkdir()
    (scratch / "docs/a.md").write_text("# Docs\n\nThe cache is warm.\n")
    plant_row("docs")
    assert "passed over" not in ok("sync").notes
    assert "The cache is warm." in ok("export").text
    assert not is_read()


def test_a_store_in_no_list_is_answered_for_by_who_names_it(private: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    store = tmp_path / "copy" / "m.db"
    store.write_bytes(Path(".memory/memory.db").read_bytes())
    plant_row(private, str(store))
    ok("sync", "--db", str(store))
    assert is_read("--db", str(store))


def test_looking_at_a_folder_vouches_for_no_planted_mount(private: Path, scratch: Path) -> None:
    """`inspect --mount-mode ephemeral` works in a store of its own, into which it copies mounts."""
    (scratch / "docs").mkdir()
    (scratch / "docs/a.md").write_text("# Docs\n\nThe cache is warm.\n")
    plant_row(private)
    ok("inspect", "docs", "--mount-mode", "ephemeral")
    assert "passed over" in ok("sync").notes


def test_notes_of_stores_that_are_gone_go(private: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for number in range(2):
        store = str(tmp_path / "other" / f"{number}.db")
        with change(store) as db:
            db.write_mount(str(private))
        assert registry.may_feed(store, str(private))
        registry.forget(store)
    with change() as db:
        db.write_mount(str(private))
    lines = (Path(state.folder()) / registry.FOLDERS).read_text().splitlines()
    assert [line.split("\t")[1] for line in lines] == [str(private)]
