"""memctl backup, vacuum and salvage: a checked copy, a smaller file, and what is left of a damaged store."""

import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from memctl import MemoryItem
from memctl.types import MemoryProvenance
from stores import STORE, add, change, check_index, stored
from support import golden, ok, run


@pytest.fixture
def filled() -> list[str]:
    """A store of some items, and what they say."""
    texts = [f"Statement number {n} says that the worker {n * n} retries." for n in range(40)]
    with change() as db:
        db.close()
    for text in texts[:3]:
        ok("remember", text)
    return texts[:3]


def texts_in(path: str | Path) -> list[str]:
    return sorted(item.content for item in stored(str(path)))


def test_a_backup_is_a_store_with_the_same_items(filled: list[str]) -> None:
    done = ok("backup", "copy.db", "--json")
    assert done.json()["items"] == 3
    assert done.json()["bytes"] == os.path.getsize("copy.db")
    assert stat.S_IMODE(os.stat("copy.db").st_mode) == 0o600
    assert not [name for name in os.listdir() if name.endswith((".part", "-wal", "-shm"))]
    with closing(sqlite3.connect("copy.db")) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert texts_in("copy.db") == sorted(filled)
    assert ok("search", "worker", "--db", "copy.db").text


def test_the_status_says_when_the_last_backup_was(filled: list[str]) -> None:
    assert ok("status", "--json").json()["last_backup"] is None
    ok("backup", "copy.db")
    assert ok("status", "--json").json()["last_backup"]
    assert "Last backup:" in ok("status").text


@pytest.mark.parametrize("command", [("backup",), ("salvage", STORE)])
def test_a_name_that_ends_like_a_folder_makes_no_file(filled: list[str], command: tuple[str, ...]) -> None:
    done = run(*command, "new/")
    assert (done.code, os.path.lexists("new")) == (1, False)
    assert b"a name that ends in / is a folder" in done.err


def test_a_file_that_is_there_is_kept_unless_force_is_said(filled: list[str]) -> None:
    Path("copy.db").write_text("mine")
    done = run("backup", "copy.db")
    assert (done.code, Path("copy.db").read_text()) == (1, "mine")
    ok("backup", "copy.db", "--force")
    assert texts_in("copy.db") == sorted(filled)


@pytest.mark.parametrize("name", [STORE, f"{STORE}-wal", "folder", "missing/copy.db", "pipe"])
def test_some_places_are_refused(filled: list[str], name: str) -> None:
    os.mkdir("folder")
    os.mkfifo("pipe")  # stands for a device, which root could replace
    for more in ((), ("--force",)):
        assert run("backup", name, *more).code == 1
    assert texts_in(STORE) == sorted(filled)


def test_a_damaged_store_makes_no_backup(filled: list[str]) -> None:
    zero(STORE, 3)
    assert run("backup", "copy.db").code != 0
    assert not os.path.exists("copy.db")


def test_a_backup_of_what_is_being_written(filled: list[str]) -> None:
    with closing(sqlite3.connect(STORE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE memory_items SET title = 'half'")
        ok("backup", "copy.db")
        other.execute("ROLLBACK")
    assert "half" not in {item.title for item in stored("copy.db")}


def test_the_report_is_golden(filled: list[str]) -> None:
    shown = ok("backup", "copy.db", "--json").text.replace(str(os.path.getsize("copy.db")), "<bytes>")
    golden("backup-json", shown)
    golden("salvage-json", ok("salvage", "copy.db", "new.db", "--json").text)


def test_the_reports_of_care_are_golden(filled: list[str]) -> None:
    golden("verify-store-json", ok("verify", "--json").text)
    found = ok("vacuum", "--json").json()
    golden("vacuum-json", json.dumps({key: type(value).__name__ for key, value in found.items()}, indent=2) + "\n")
    checks = run("doctor", "--json").json()["checks"]
    golden("doctor-json", "".join(f"{one['name']}: {', '.join(sorted(one))}\n" for one in checks))


# --- vacuum --------------------------------------------------------------------------------------------------------


def test_vacuum_gives_space_back_and_keeps_the_index(filled: list[str]) -> None:
    with change() as db:
        for number in range(200):
            db.write(add_like(f"Filler {number} " + "word " * 200))
        db.run("DELETE FROM memory_items WHERE content LIKE 'Filler 1%'")
    said = ok("vacuum", "--json").json()
    assert said["bytes_after"] < said["bytes_before"]
    with change() as db:
        check_index(db)
    assert "worker 4 retries" in ok("search", "worker 4", "-n", "1").text


def add_like(content: str) -> MemoryItem:
    return MemoryItem(content=content, provenance=MemoryProvenance("chat", "s"))


# --- salvage -------------------------------------------------------------------------------------------------------


def test_a_salvage_takes_away_what_a_killed_one_left(filled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("memctl-salvage-old", "memctl-salvage-new", "others-old")
    for name in names:
        Path("tmp", name).mkdir(parents=True)
        Path("tmp", name, "copy.db").write_bytes(b"")
        if name.endswith("old"):
            os.utime(Path("tmp", name), (1, 1))
    monkeypatch.setattr("tempfile.tempdir", os.path.abspath("tmp"))
    ok("salvage", STORE, "new.db")
    assert sorted(os.listdir("tmp")) == sorted(names[1:])
    assert texts_in("new.db") == sorted(filled)


def page_size(path: str) -> int:
    size = int.from_bytes(Path(path).read_bytes()[16:18], "big")
    return 65536 if size == 1 else size


def zero(path: str, page: int) -> None:
    """Fill a page of a file (the first is 1) with zeros."""
    size = page_size(path)
    with open(path, "rb+") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of 300 items, of some of which no revision keeps a copy, as a file without a log."""
    path = str(tmp_path_factory.mktemp("salvage") / "large.db")
    with change(path) as db:
        for number in range(300):
            item = add_like(f"Item {number}: " + f"the worker {number} retries twice. " * 12)
            item.id = f"MEM-{number:012x}"
            db.write(item)
        db.run("UPDATE memory_revisions SET snapshot = '{}' WHERE rowid % 2")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode = DELETE")
    return path


def readable(path: str, page: int) -> set[str]:
    """The ids of items that stand whole on other pages of the file, or in a whole revision there."""
    data, size = Path(path).read_bytes(), page_size(path)
    kept = data[: (page - 1) * size] + bytes(size) + data[page * size :]
    return {
        f"MEM-{n:012x}"
        for n in range(300)
        if kept.count((f"Item {n}: " + f"the worker {n} retries twice. " * 12).encode())
    }


def test_whatever_page_is_zeroed_what_can_be_read_comes_back(large: str, tmp_path: Path) -> None:
    pages = os.path.getsize(large) // page_size(large)
    for page in sorted({1, 2, *range(3, pages + 1, max(1, pages // 14))}):
        broken, new = str(tmp_path / "broken.db"), str(tmp_path / f"new{page}.db")
        shutil.copyfile(large, broken)
        zero(broken, page)
        said = ok("salvage", broken, new, "--json").json()
        with closing(sqlite3.connect(new)) as conn:  # before a write of ours puts the index right
            conn.execute("INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES ('integrity-check', 1)")
        found = {item.id for item in stored(new)}
        # A text may be in the file without its row: in a revision that is not the item's newest one there is none.
        missing = readable(large, page) - found
        assert missing == set(), (page, sorted(missing)[:3])
        assert found | set(said["lost"]) == {f"MEM-{n:012x}" for n in range(300)}, page
        with change(new) as db:
            check_index(db)


def test_every_page_of_the_items_is_zeroed_in_turn(large: str, tmp_path: Path) -> None:
    """Those are the pages on which rows are lost; there are not many."""
    with closing(sqlite3.connect(large)) as conn:
        try:
            pages = [row[0] for row in conn.execute("SELECT pageno FROM dbstat WHERE name = 'memory_items'")]
        except sqlite3.OperationalError:
            pytest.skip("this SQLite does not tell which page holds what")
    for page in pages[:6]:
        broken, new = str(tmp_path / "broken.db"), str(tmp_path / f"new{page}.db")
        shutil.copyfile(large, broken)
        zero(broken, page)
        done = ok("salvage", broken, new, "--json")
        assert readable(large, page) <= {item.id for item in stored(new)}
        assert done.json()["damaged"]


def test_a_file_that_is_cut_short_is_no_whole_salvage(large: str) -> None:
    data = Path(large).read_bytes()
    Path("cut.db").write_bytes(data[: len(data) * 2 // 3])
    done = ok("salvage", "cut.db", "new.db", "--json")
    assert done.json()["status"] == "incomplete"
    assert f"{len(data) // 8192 - len(data) * 2 // 3 // 8192} pages missing at its end" in done.notes


def test_salvage_reads_no_view(filled: list[str]) -> None:
    with closing(sqlite3.connect(STORE)) as conn:
        conn.executescript(
            "PRAGMA journal_mode = DELETE; DROP TABLE memory_items; "
            "CREATE VIEW memory_items AS SELECT 'MEM-never' AS id, 'Made up.' AS content"
        )
    said = ok("salvage", STORE, "new.db", "--json").json()
    assert (said["items"], said["lost"]) == (3, [])


def test_a_sound_store_is_salvaged_whole(filled: list[str]) -> None:
    ok("workspace", "set", "w", "--read", "a,b")
    said = ok("salvage", STORE, "new.db", "--json").json()
    assert (said["status"], said["items"], said["lost"], said["damaged"]) == ("ok", 3, [], [])
    assert texts_in("new.db") == sorted(filled)
    assert "w" in ok("workspace", "list", "--db", "new.db").text
    with change("new.db") as db, change() as old:
        both = [one.rows("SELECT item_id, snapshot FROM memory_revisions ORDER BY 1, 2") for one in (db, old)]
        assert both[0] == both[1]


def test_what_was_purged_is_not_brought_back(filled: list[str]) -> None:
    held = ok("pull", "--json", stdin="Write to jane.doe@corp-mail.org about the depot.").json()["item_ids"][0]
    ok("quarantine", "purge", held, "--yes")
    said = ok("salvage", STORE, "new.db", "--json").json()
    assert (said["items"], said["lost"]) == (3, [])


def test_salvage_makes_no_file_of_nothing(filled: list[str]) -> None:
    Path("none.db").write_bytes(os.urandom(50_000))
    Path("there.db").write_text("mine")
    assert run("salvage", "none.db", "new.db").code != 0
    assert run("salvage", "missing.db", "new.db").code == 1
    assert run("salvage", STORE, "there.db").code == 1
    assert not os.path.exists("new.db")
    assert Path("there.db").read_text() == "mine"


def test_the_damaged_file_is_left_as_it_is(filled: list[str]) -> None:
    zero(STORE, 4)
    before = Path(STORE).read_bytes()
    run("salvage", STORE, "new.db")
    assert Path(STORE).read_bytes() == before


def test_add_is_used() -> None:
    add("One.")
    assert texts_in(STORE) == ["One."]
