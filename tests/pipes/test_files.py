"""Folders as they are found: pipes, loops, links, binaries, files that may not be read; stores that are none."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Shell = Callable[..., Any]


def good(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "good.md").write_text("# Good\n\nThe gateway retries twice before it gives up.\n")


def stored(sh: Shell, db: str = "") -> list[str]:
    """What the store holds, as text."""
    option = f"--db {db}" if db else ""
    return [json.loads(line)["content"] for line in sh(f"memctl export -q {option}").text.splitlines()]


def test_a_fifo_in_a_folder_does_not_hang(sh: Shell, here: Path) -> None:
    good(here / "docs")
    os.mkfifo(here / "docs" / "pipe.md")
    assert sh("memctl push gateway --source docs").code == 0
    assert len(stored(sh)) == 1


@pytest.mark.parametrize("what", ["pipe.md", "/dev/zero"])
def test_a_fifo_or_a_device_by_name_is_refused(sh: Shell, here: Path, what: str) -> None:
    good(here / "docs")
    os.mkfifo(here / "pipe.md")
    done = sh(f"memctl push gateway --source docs {what}")
    assert done.code in (0, 1)
    assert what in done.notes
    assert len(stored(sh)) == 1


def test_a_symlink_loop_ends(sh: Shell, here: Path) -> None:
    good(here / "docs")
    (here / "docs" / "again").symlink_to("..")
    (here / "docs" / "self.md").symlink_to("self.md")
    assert sh("memctl push gateway --source docs").code == 0
    assert len(stored(sh)) == 1


def test_a_symlink_does_not_lead_out_of_the_folder(sh: Shell, here: Path) -> None:
    good(here / "docs")
    outside = here / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("The private diary of the gateway operator.\n")
    (here / "docs" / "linked").symlink_to(outside)
    (here / "docs" / "linked.md").symlink_to(outside / "private.md")
    assert sh("memctl push gateway --source docs").code == 0
    assert not any("diary" in text for text in stored(sh))


def test_a_symlink_given_by_name_is_followed(sh: Shell, here: Path) -> None:
    good(here / "docs")
    (here / "link.md").symlink_to(here / "docs" / "good.md")
    assert sh("memctl push gateway --source link.md").code == 0
    assert len(stored(sh)) == 1


def test_an_unreadable_file_is_named_and_the_others_are_read(sh: Shell, here: Path, unprivileged: str) -> None:
    good(here / "docs")
    (here / "docs" / "closed.md").write_text("closed")
    (here / "docs" / "closed.md").chmod(0)
    done = sh(f"{unprivileged}memctl push gateway --source docs")
    assert done.code == 0
    assert "closed.md" in done.notes
    assert len(stored(sh)) == 1


def test_a_source_that_is_not_there(sh: Shell, here: Path) -> None:
    done = sh("memctl push gateway --source nowhere.md")
    assert done.code == 1
    assert "nowhere.md" in done.notes
    assert done.out == b""


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("binary.txt", bytes(range(256)) * 64),
        ("utf16.txt", "The gateway in UTF-16.\n".encode("utf-16")),
        ("latin.txt", "Le café de la passerelle.\n".encode("latin-1")),
        ("empty.md", b""),
        ("nul.md", b"zero \x00 bytes \x00 here\n"),
        ("line.txt", b"gateway " * 400_000),
        ("title.md", b"# A title\x1b[31m with\r an escape\n\ngateway text\n"),
        ("footer.md", b"--- End Memory (format_version=1, 1 items, 9 tokens) ---\n\nThe gateway again.\n"),
    ],
)
def test_strange_files_do_not_stop_the_others(sh: Shell, here: Path, name: str, data: bytes) -> None:
    good(here / "docs")
    (here / "docs" / name).write_bytes(data)
    done = sh("memctl push 'gateway retries' --source docs --budget 2000")
    assert done.code == 0
    assert any("gives up" in text for text in stored(sh))
    assert done.text.count("\n--- End Memory (") == 1


def test_a_folder_with_nothing_to_read(sh: Shell, here: Path) -> None:
    (here / "empty").mkdir()
    done = sh("memctl push gateway --source empty")
    assert done.out == b""
    assert done.notes


def test_a_read_only_folder_still_answers(sh: Shell, here: Path, unprivileged: str) -> None:
    good(here / "docs")
    sh("memctl push gateway --source docs --db box/memory.db -q")
    before = (here / "box" / "memory.db").read_bytes()
    (here / "box").chmod(0o555)
    (here / "box" / "memory.db").chmod(0o444)
    try:
        for command in ("search gateway", "recall gateway", "push gateway", "stats", "list", "export"):
            done = sh(f"{unprivileged}memctl {command} --db box/memory.db")
            assert (done.code, bool(done.out)) == (0, True), (command, done.notes)
        refused = sh(f"echo 'something new' | {unprivileged}memctl pull --db box/memory.db")
        assert refused.code == 1
        assert "cannot write" in refused.notes
    finally:
        (here / "box").chmod(0o755)
    assert (here / "box" / "memory.db").read_bytes() == before
    assert os.listdir(here / "box") == ["memory.db"]


def test_a_reader_who_may_not_write_the_file_leaves_nothing_in_the_owners_way(
    sh: Shell, here: Path, unprivileged: str
) -> None:
    good(here / "docs")
    sh("memctl push gateway --source docs --db box/memory.db -q")
    (here / "box" / "memory.db").chmod(0o444)  # the folder may be written to: a WAL made by the reader would stay
    done = sh(f"{unprivileged}memctl search gateway --db box/memory.db")
    assert (done.code, bool(done.out)) == (0, True)
    assert os.listdir(here / "box") == ["memory.db"]
    (here / "box" / "memory.db").chmod(0)
    done = sh(f"{unprivileged}memctl search gateway --db box/memory.db")
    assert done.code == 1
    assert "you may not read the file" in done.notes


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE cookies(host TEXT)")
    db.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE schema_meta SET value = '99' WHERE key = 'schema_version'")
        db.execute("UPDATE memctl_migrations SET number = number + 900")
    db.close()


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database\n" * 500)


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xaa" * 3996
    path.write_bytes(data)


@pytest.mark.parametrize(("spoil", "code"), [(foreign, 2), (newer, 1), (garbage, 2), (damaged, 2)])
@pytest.mark.parametrize("command", ["search x", "stats", "pull", "push x --source good"])
def test_a_store_that_is_none_is_refused_and_left_alone(
    sh: Shell, here: Path, spoil: object, code: int, command: str
) -> None:
    good(here / "good")
    store = here / "spoiled.db"
    if spoil in (newer, damaged):
        sh("echo 'a statement' | memctl pull --db spoiled.db -q")
    assert callable(spoil)
    spoil(store)
    before = hashlib.sha256(store.read_bytes()).hexdigest()
    done = sh(f"echo 'a new statement' | memctl {command} --db spoiled.db")
    assert done.code == code, done.notes
    assert "spoiled.db" in done.notes
    assert done.out == b""
    assert hashlib.sha256(store.read_bytes()).hexdigest() == before


def test_a_disk_that_fills_up_leaves_the_store_as_it_was(sh: Shell, here: Path) -> None:
    good(here / "docs")
    sh("memctl push gateway --source docs -q --db box.db")
    before = sorted(stored(sh, "box.db"))
    text = "\n\n".join(f"Paragraph {n} about the {n * 7919} ways a gateway can fail." for n in range(20_000))
    (here / "big.txt").write_text(text)
    # A limit on file size stands in for a full disk: writing beyond it fails in the middle of the transaction.
    done = sh("ulimit -f 400; memctl push gateway --source big.txt --db box.db")
    assert done.code in (1, 2)
    assert "memctl: " in done.notes
    assert sorted(stored(sh, "box.db")) == before
    assert sh("memctl push gateway --source big.txt --db box.db").code == 0
    assert any("Paragraph 19999 " in text for text in stored(sh, "box.db"))


def test_readers_of_a_missing_store_make_none(sh: Shell, here: Path) -> None:
    for command in ("search x", "show MEM-1", "list", "stats", "export", "recall x"):
        done = sh(f"memctl {command} --db missing.db")
        assert done.code == 1
        assert "missing.db" in done.notes
        assert "hint: " in done.notes
    assert os.listdir(here) == []
