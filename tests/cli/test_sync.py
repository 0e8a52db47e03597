"""memctl sync: the flags, the counts, several mounts, what is left out and comes back; see also test_sync_delta."""

import hashlib
import itertools
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

import folders
from folders import changes, check, sync, write
from memctl import folders as mounted_folders
from memctl import ids
from support import ok, run


def report(*argv: str, **how: Any) -> dict[str, str]:
    """`sync --report`: path -> status."""
    lines = ok("sync", *argv, "--report", "--db", "memory.db", **how).text.splitlines()
    return {line.split("\t")[1]: line.split("\t")[0] for line in lines if "\t" in line}


def known() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok("mount", "--list", "--json", "--db", "memory.db").json()
    return found


# --- what it says ------------------------------------------------------------------------------------------------


def test_a_folder_is_mounted_and_read(docs: Path) -> None:
    done = ok("sync", "docs", "--db", "memory.db")
    assert done.out == b""
    assert done.notes.splitlines() == [
        f"[sync] Scanned 2 files in {docs}",
        "[sync] Done: 2 new, 0 changed, 0 unchanged, 3 chunks",
    ]
    (mount,) = known()
    assert mount["path"] == str(docs)
    assert mount["last_sync_at"] is not None
    assert "kingfisher" in folders.recalled("kingfisher")
    check()


def test_the_counts_as_json(docs: Path) -> None:
    assert sync("docs") == {
        "mount_path": str(docs), "files_scanned": 2, "files_new": 2, "files_changed": 0, "files_unchanged": 0,
        "chunks_created": 3, "files_moved": 0, "files_refiled": 0, "files_deleted": 0, "files_failed": [],
        "chunks_kept": 0, "chunks_superseded": 0, "chunks_archived": 0, "chunks_restored": 0, "chunks_redacted": 0,
        "chunks_quarantined": 0,
    }  # fmt: skip


def test_tags_are_the_folders_of_the_mount_and_none_above_it(tmp_path: Path) -> None:
    for name in ("top.md", "api/v2/deep.md"):
        write(tmp_path / "clients" / "acme" / "docs" / name, f"# The {name}\n\nAbout kingfishers.\n")
    sync(str(tmp_path / "clients" / "acme" / "docs"))
    tags = {item["title"]: item["tags"] for item in ok("search", "kingfishers", "--json", "--db", "memory.db").json()}
    assert tags == {"The top.md": ["markdown", "docs"], "The api/v2/deep.md": ["markdown", "api", "v2"]}


@pytest.mark.usefixtures("docs")
def test_a_second_sync_does_nothing() -> None:
    sync("docs")
    before = hashlib.sha256(ok("export", "--db", "memory.db", "-q").out).digest()
    with folders.opened() as store:
        rows = store.rows("SELECT * FROM memory_events")
    done = sync("docs")
    assert (changes(done), done["files_unchanged"]) == ({}, 2)
    assert hashlib.sha256(ok("export", "--db", "memory.db", "-q").out).digest() == before
    with folders.opened() as store:
        assert store.rows("SELECT * FROM memory_events") == rows


@pytest.mark.usefixtures("docs")
def test_quiet_says_nothing_and_a_pipe_sees_no_progress() -> None:
    assert ok("sync", "docs", "--db", "memory.db", "-q").err == b""
    assert b"\r" not in ok("sync", "docs", "--full", "--db", "memory.db").err


@pytest.mark.usefixtures("docs")
def test_progress_is_drawn_on_a_terminal() -> None:
    done = ok("sync", "docs", "--db", "memory.db", tty=frozenset({"stderr"}))
    assert "2/2 files" in done.notes
    assert done.out == b""


def test_every_mount_by_its_path(docs: Path) -> None:
    write(docs.parent / "more" / "a.md", "Words.\n")
    ok("mount", "more", "--db", "memory.db")
    ok("mount", "docs", "--db", "memory.db")
    done = sync()
    assert list(done) == [str(docs.parent / "more"), str(docs)]
    assert [one["files_new"] for one in done.values()] == [1, 2]
    notes = ok("sync", "--db", "memory.db").notes.splitlines()
    assert notes[1::2] == [f"[sync] Done: 0 new, 0 changed, {n} unchanged, 0 chunks" for n in (1, 2)]


def test_without_mounts_there_is_nothing_to_do() -> None:
    ok("init", ".")
    for argv in ([], ["--dry-run"]):
        done = ok("sync", *argv, "--db", "memory.db")
        assert (done.out, done.code) == (b"", 0)
        assert "[sync] No mounts registered." in done.notes
    assert sync() == {}


@pytest.mark.parametrize("key", ["name", "id", "path", "relative path"])
def test_one_mount_by_any_of_its_names(docs: Path, key: str) -> None:
    row = ok("mount", "docs", "--name", "d", "--json", "--db", "memory.db").json()
    words = {"name": "d", "id": row["mount_id"], "path": str(docs), "relative path": "docs/notes/.."}
    assert sync(words[key])["files_new"] == 2
    assert len(known()) == 1


@pytest.mark.parametrize("flags", [[], ["--dry-run"]])
@pytest.mark.parametrize("word", ["nowhere", "docs/guide.md", "MNT-000000000000"])
@pytest.mark.usefixtures("docs")
def test_what_cannot_be_synced(word: str, flags: list[str]) -> None:
    done = run("sync", word, *flags, "--db", "memory.db")
    assert done.code == 1
    assert "Path does not exist" in done.notes or "not a directory" in done.notes
    assert not os.path.exists("memory.db")


def test_nothing_readable_is_a_failure(scratch: Path) -> None:
    write(scratch / "docs" / "image.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    done = run("sync", "docs", "--db", "memory.db")
    assert done.code == 1
    assert "image.md" in done.notes
    write(scratch / "docs" / "good.md", "Words.\n")
    found = sync("docs")
    assert (found["files_new"], [one["path"] for one in found["files_failed"]]) == (1, ["image.md"])


def test_report_says_a_line_for_each_file(docs: Path) -> None:
    write(docs / "image.md", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    write(docs / "photo.jpg", b"\xff\xd8")
    done = ok("sync", "docs", "--report", "--db", "memory.db")
    lines = [line.split("\t") for line in done.text.splitlines()]
    assert [line[:2] for line in lines] == [
        ["new", "guide.md"], ["failed", "image.md"], ["new", "notes/birds.txt"], ["left out", "photo.jpg"],
    ]  # fmt: skip
    assert [line[2] for line in lines] == ["2", "0", "1", "0"]
    assert all(line[3:] for line in lines if line[0] in ("failed", "left out"))
    found = sync("docs", "--report")["files"]
    assert [(one["path"], one["status"], one["chunks"]) for one in found] == [
        ("guide.md", "unchanged", 2), ("image.md", "failed", 0), ("notes/birds.txt", "unchanged", 1),
        ("photo.jpg", "left out", 0),
    ]  # fmt: skip


def test_a_report_on_all_mounts_has_a_heading_for_each(docs: Path) -> None:
    ok("mount", "docs", "--db", "memory.db")
    lines = ok("sync", "--report", "--db", "memory.db").text.splitlines()
    assert lines == [f"# {docs}", "new\tguide.md\t2", "new\tnotes/birds.txt\t1"]


# --- scopes and options ------------------------------------------------------------------------------------------


def scopes() -> dict[str, int]:
    with folders.opened() as store:
        return dict(store.rows("SELECT scope, count(*) FROM memory_items WHERE archived = 0 GROUP BY 1"))


@pytest.mark.usefixtures("docs")
def test_a_scope_is_kept_for_later() -> None:
    sync("docs", "--scope", "team")
    assert scopes() == {"team": 3}
    assert changes(sync("docs")) == {}
    before = folders.item_ids()
    done = sync("--scope", "other")
    assert changes(next(iter(done.values()))) == {"refiled": 2}
    assert scopes() == {"other": 3}
    assert folders.item_ids() == before
    assert changes(sync("docs")) == {}


def test_full_reads_again_and_keeps_what_is_the_same(docs: Path) -> None:
    sync("docs")
    before = folders.item_ids()
    done = sync("docs", "--full")
    assert (changes(done), done["chunks_created"], done["chunks_kept"]) == ({"refiled": 2}, 0, 3)
    assert folders.item_ids() == before
    config = {"policy": {"secret_patterns_enabled": False}}
    write(docs.parent / "config.json", json.dumps(config))
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write(docs / "key.txt", f"token {token} here\n")
    sync("docs")
    assert token in folders.statements()
    os.unlink(docs.parent / "config.json")
    assert changes(sync("docs")) == {"refiled": 3}  # other rules: without --full, too
    assert token not in folders.statements()
    check()


@pytest.mark.usefixtures("docs")
def test_push_and_sync_are_one_path() -> None:
    sync("docs")
    before = folders.item_ids()
    assert "0 chunks from 0 file(s) (2 skipped)" in ok("push", "cache", "--source", "docs", "--db", "memory.db").notes
    assert changes(sync("docs")) == {}
    assert folders.item_ids() == before


@pytest.mark.usefixtures("docs", "hour_ahead")
def test_sync_takes_over_what_was_pushed(monkeypatch: pytest.MonkeyPatch) -> None:
    ok("push", "cache", "--source", "docs", "--db", "memory.db")
    before = folders.item_ids()
    done = sync("docs")
    assert (changes(done), done["files_unchanged"]) == ({}, 2)
    assert folders.item_ids() == before
    with folders.opened() as store:
        assert store.value("SELECT count(*) FROM corpus_hashes WHERE mount_id IS NULL") == 0
    with monkeypatch.context() as shut:
        shut.setattr("memctl.ingest.prepare.read_file", None)  # from now on nothing is opened
        assert changes(sync("docs")) == {}


# --- what is left out ----------------------------------------------------------------------------------------------


def test_the_ignore_rules_hold(docs: Path) -> None:
    write(docs / ".gitignore", "private/\n")
    write(docs / ".memctlignore", "*.log\n")
    for name in ("private/a.md", "b.log", "c.tmp.md", "node_modules/d.md"):
        write(docs / name, "unwanted words\n")
    ok("mount", "docs", "--ignore", "*.tmp.md", "--db", "memory.db")
    found = report("docs")
    assert {path for path, status in found.items() if status == "new"} == {"guide.md", "notes/birds.txt"}
    assert {"private/", "b.log", "c.tmp.md", "node_modules/"} <= set(found)
    assert "unwanted" not in folders.statements()
    assert "kingfisher" in folders.statements()


@pytest.mark.parametrize("how", ["mount", ".gitignore", ".memctlignore"])
def test_ignored_from_now_on_and_wanted_again(docs: Path, how: str) -> None:
    sync("docs")
    before = folders.item_ids()
    if how == "mount":
        ok("mount", "docs", "--ignore", "notes/", "--db", "memory.db")
    else:
        write(docs / how, "notes/\n")
    assert report("docs", "--dry-run")["notes/birds.txt"] == "left out"
    done = sync("docs")
    assert (done["files_deleted"], done["chunks_archived"]) == (1, 1)
    assert "kingfisher" not in folders.statements()
    assert "kingfisher" not in folders.recalled("kingfisher")
    assert changes(sync("docs")) == {}
    if how == "mount":
        ok("mount", "docs", "--ignore", "", "--db", "memory.db")
    else:
        os.unlink(docs / how)
    done = sync("docs")
    assert (changes(done), done["chunks_restored"], done["chunks_created"]) == ({"new": 1}, 1, 0)
    assert "kingfisher" in folders.recalled("kingfisher")
    assert folders.item_ids() == before
    check()


@pytest.mark.parametrize("store", ["docs/.memory/memory.db", "docs/store.txt", "docs/sub/m.md"])
def test_the_store_inside_the_folder_is_never_read(docs: Path, store: str) -> None:
    (docs.parent / store).parent.mkdir(exist_ok=True)
    for _ in range(3):
        done = ok("sync", "docs", "--json", "--db", store).json()
        assert done["files_failed"] == []
        assert done["files_scanned"] == 2
    assert len(folders.passages(docs.parent / store)) == 3


def test_a_missing_folder_loses_nothing(docs: Path) -> None:
    write(docs.parent / "more" / "a.md", "Words.\n")
    sync("docs")
    sync("more")
    before = folders.item_ids()
    docs.rename(docs.parent / "away")
    for flags in ([], ["--dry-run"]):
        done = ok("sync", *flags, "--json", "--db", "memory.db")
        assert list(done.json()) == [str(docs.parent / "more")]
        assert f"[sync] Mount path missing, skipping: {docs}" in done.notes
    assert run("sync", str(docs), "--db", "memory.db").code == 1
    assert folders.item_ids() == before
    (docs.parent / "away").rename(docs)
    assert changes(sync("docs")) == {}


# --- nested mounts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(["docs", "docs/notes", ""])), ids="-".join)
@pytest.mark.parametrize("scope", [None, "team"])
def test_nested_mounts_lose_and_double_nothing(docs: Path, order: tuple[str, ...], scope: str | None) -> None:
    ok("mount", "docs", "--db", "memory.db")
    ok("mount", "docs/notes", *(["--scope", scope] if scope else []), "--db", "memory.db")
    for word in order:
        sync(*([word] if word else []))
        check()
    wanted = [str(docs / "guide.md")] * 2 + [str(docs / "notes" / "birds.txt")]
    assert [path for path, _ in folders.passages()] == wanted
    for _ in range(2):
        assert [changes(one) for one in sync().values()] == [{}, {}]
    assert scopes() == ({"project": 2, "team": 1} if scope else {"project": 3})
    write(docs / "notes" / "birds.txt", "The heron nests by the lake.\n")
    sync()
    assert "heron" in folders.statements()
    assert "kingfisher" not in folders.statements()
    (docs / "notes" / "birds.txt").unlink()
    sync()
    assert "heron" not in folders.statements()
    check()


def test_a_mount_does_not_lose_the_files_of_one_within_that_it_ignores(docs: Path) -> None:
    ok("mount", "docs", "--ignore", "notes/", "--db", "memory.db")
    sync("docs/notes")
    for _ in range(2):
        assert sync("docs")["files_deleted"] == 0
        assert "kingfisher" in folders.statements()
    (docs / "notes" / "birds.txt").unlink()
    sync("docs/notes")
    assert "kingfisher" not in folders.statements()


# --- following: see also tests/pipes/test_sync ---------------------------------------------------------------------


def test_a_change_during_the_first_look_is_not_missed(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    follow = mounted_folders.sync_mount

    def sync_and_change(*args: Any, **how: Any) -> Any:
        done = follow(*args, **how)
        write(docs / "late.md", "The heron nests by the lake.\n")
        return done

    def pause(_least: float, _most: float) -> None:
        looks.append(1)
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(mounted_folders, "sync_mount", sync_and_change)
    monkeypatch.setattr(ids, "pause", pause)
    done = ok("sync", "docs", "--watch", "--db", "memory.db")
    assert "1 new, 0 changed, 2 unchanged" in done.notes
    assert done.notes.splitlines()[-1] == "[sync] Stopped"
    assert "heron" in folders.statements()


# --- what it costs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("files", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_one_changed_file_of_many_costs_little(scratch: Path, files: int, hour_ahead: None) -> None:
    """CPU time as a part of what the whole folder took: so the machine does not matter."""
    for n in range(files):
        write(scratch / "docs" / f"{n % 50}" / f"{n}.md", f"# Page {n}\n\nWhat there is to say about page {n}.\n")

    def cost(wanted: dict[str, int]) -> float:
        before = time.process_time()
        assert changes(sync("docs")) == wanted
        return time.process_time() - before

    whole = cost({"new": files})
    some = []
    for n in range(5):
        write(scratch / "docs" / "7" / "7.md", f"# Page 7\n\nSomething else, number {n}.\n")
        some.append(cost({"changed": 1}))
    assert min(some) < whole / 6
