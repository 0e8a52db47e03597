"""What a sync notices of a folder that changed, and what recall then says: the new statement and never the old one.

Each change is made twice: while the time stamps are still fresh, when hashes decide, and when they can be trusted.
"""

import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import folders
from folders import changes, check, document, sync, write
from memctl import ids
from support import ok

OLD, NEW, OTHER, THIRD = (
    "The gateway retries twice,", "The gateway retries often,", "The cache lives in Redis,", "Backups run at night,"
)  # fmt: skip


@pytest.fixture(params=["fresh", "settled"], autouse=True)
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stamps of a file are trusted some time after they were made, and never while our clock is an hour behind."""
    if request.param == "settled":
        request.getfixturevalue("hour_ahead")
    else:
        monkeypatch.setattr(ids, "now_seconds", lambda: time.time() - 3600)


@pytest.fixture
def docs(scratch: Path) -> Path:
    """Two files of two passages each, known to the store."""
    return made_known(scratch / "docs")


@pytest.fixture
def docs_on_disk(scratch: Path) -> Iterator[Path]:
    """The same where a file system tells of what is written through a map: one in memory, as of scratch, does not."""
    with tempfile.TemporaryDirectory(dir="/var/tmp" if os.path.isdir("/var/tmp") else None) as folder:
        yield made_known(Path(folder) / "docs")


def made_known(docs: Path) -> Path:
    write(docs / "guide.md", document(OLD, OTHER))
    write(docs / "ops" / "backup.md", document(THIRD, "Restore takes an hour,"))
    assert sync(docs)["chunks_created"] == 4
    return docs


def settle(docs: Path) -> None:
    """What is known is right, whole, found by recall, and a further sync does nothing."""
    assert changes(sync(docs)) == {}
    check()


def edited(docs: Path) -> None:
    """The guide says NEW and not OLD any more, in the store and in recall."""
    text = folders.statements()
    assert (NEW in text, OLD in text, OTHER in text) == (True, False, True)
    block = folders.recalled("gateway retries")
    assert (NEW in block, OLD in block) == (True, False)
    settle(docs)


# --- edits -------------------------------------------------------------------------------------------------------


def in_place(path: Path) -> None:
    write(path, document(NEW, OTHER))


def same_mtime(path: Path) -> None:
    stamp = path.stat()
    write(path, document(NEW, OTHER))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def replaced_same_mtime(path: Path) -> None:
    stamp = path.stat()
    beside = write(path.parent / ".guide.tmp", document(NEW, OTHER))
    os.utime(beside, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    beside.replace(path)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (stamp.st_size, stamp.st_mtime_ns)


def mapped(path: Path) -> None:
    import mmap

    before = path.stat()
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        at = view.find(OLD.encode())
        view[at : at + len(OLD)] = NEW.ljust(len(OLD)).encode()
    now = path.stat()
    if (now.st_mtime_ns, now.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns):
        pytest.skip("no file system here tells of what is written through a map")


@pytest.mark.parametrize("edit", [in_place, same_mtime, replaced_same_mtime])
def test_an_edit_of_the_same_size(docs: Path, edit: Callable[[Path], None]) -> None:
    check_edit(docs, edit)


def test_an_edit_of_the_same_size_through_a_map(docs_on_disk: Path) -> None:
    check_edit(docs_on_disk, mapped)


def check_edit(docs: Path, edit: Callable[[Path], None]) -> None:
    before = folders.item_ids()
    assert len(OLD) == len(NEW)
    edit(docs / "guide.md")
    done = sync(docs)
    assert changes(done) == {"changed": 1}
    assert (done["chunks_created"], done["chunks_kept"], done["chunks_superseded"]) == (1, 1, 1)
    assert len(set(before.values()) & set(folders.item_ids().values())) == 3
    edited(docs)


def test_touched_is_not_changed(docs: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    before = folders.item_ids()
    os.utime(docs / "guide.md")
    done = sync("docs")
    assert (changes(done), done["files_unchanged"]) == ({}, 2)
    assert folders.item_ids() == before
    if "settled" in request.node.name:
        monkeypatch.setattr("memctl.ingest.prepare.read_file", None)  # now its times are known, it is not opened
        assert changes(sync("docs")) == {}


def test_appended_and_cut(docs: Path) -> None:
    path = docs / "guide.md"
    write(path, document(OLD, OTHER, NEW))
    assert sync("docs")["chunks_kept"] == 2
    assert NEW in folders.recalled("gateway retries often")
    write(path, document(OLD))
    done = sync("docs")
    assert (done["chunks_kept"], done["chunks_archived"]) == (1, 2)
    assert NEW not in folders.statements()
    settle(docs)


# --- moves -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["manual.md", "ops/guide.md", "deep/er/guide.md", "guide.txt"])
def test_moved(docs: Path, to: str) -> None:
    before = set(folders.item_ids().values())
    (docs / to).parent.mkdir(parents=True, exist_ok=True)
    (docs / "guide.md").rename(docs / to)
    done = sync("docs", "--report")
    assert changes(done) == {"moved": 1}
    assert [(one["path"], one["reason"]) for one in done["files"] if one["status"] == "moved"] == [(to, "was guide.md")]
    with folders.opened() as store:
        held = [i for i in store.items() if OLD in i.content]
    assert [i.provenance.source_id for i in held] == [str(docs / to)]
    assert held[0].provenance.chunk_ids[0].startswith(f"{docs / to}:")
    if to.endswith(".md"):
        assert done["chunks_created"] == 0
        assert set(folders.item_ids().values()) == before
    settle(docs)


def test_moved_and_edited(docs: Path) -> None:
    before = folders.item_ids()
    (docs / "guide.md").rename(docs / "ops" / "manual.md")
    with open(docs / "ops" / "manual.md", "r+b") as file:  # the inode stays
        file.write(document(NEW, OTHER).encode())
    done = sync("docs")
    assert changes(done) == {"moved": 1}
    assert (done["chunks_created"], done["chunks_kept"], done["chunks_superseded"]) == (1, 1, 1)
    assert len(set(before.values()) & set(folders.item_ids().values())) == 3
    edited(docs)


def test_swapped_names(docs: Path) -> None:
    one, two = docs / "guide.md", docs / "ops" / "backup.md"
    texts = one.read_text(), two.read_text()
    one.rename(docs / "x")
    two.rename(one)
    (docs / "x").rename(two)
    assert changes(sync("docs")) == {"changed": 2}
    found = folders.passages()
    assert {path for path, content in found if OLD in content} == {str(two)}
    assert {path for path, content in found if THIRD in content} == {str(one)}
    assert (one.read_text(), two.read_text()) == texts[::-1]
    settle(docs)


def test_a_copy_is_a_file_of_its_own(docs: Path) -> None:
    shutil.copy2(docs / "guide.md", docs / "copy.md")
    assert changes(sync("docs")) == {"new": 1}
    assert [path for path, content in folders.passages() if OLD in content] == [
        str(docs / "copy.md"), str(docs / "guide.md"),
    ]  # fmt: skip
    write(docs / "guide.md", document(NEW, OTHER))
    sync("docs")
    assert [path for path, content in folders.passages() if OLD in content] == [str(docs / "copy.md")]
    settle(docs)


def test_copied_and_then_moved_and_edited(docs: Path) -> None:
    """One lost file, two that might be it: it became one of them, and the other is new."""
    shutil.copy2(docs / "guide.md", docs / "copy.md")
    (docs / "guide.md").rename(docs / "manual.md")
    with open(docs / "manual.md", "r+b") as file:
        file.write(document(NEW, OTHER).encode())
    dry = changes(sync("docs", "--dry-run"))
    assert dry == changes(sync("docs")) == {"moved": 1, "new": 1}
    settle(docs)
    write(docs / "copy.md", "Other words.\n")
    sync("docs")
    edited(docs)


def test_one_lost_file_becomes_one_of_two_that_have_its_bytes(docs: Path) -> None:
    """No item belongs to two files, and each of the two has all passages."""
    text, before = (docs / "guide.md").read_bytes(), folders.item_ids()
    (docs / "guide.md").unlink()
    for name in ("first.md", "second.md"):
        write(docs / name, text)
    done = sync("docs", "--report")
    assert changes(done) == {"moved": 1, "new": 1}
    assert sorted(one["reason"] for one in done["files"] if one["status"] in ("moved", "new")) == ["", "was guide.md"]
    after = folders.item_ids()
    kept = [key for key, item_id in after.items() if item_id in before.values() and "backup.md" not in key]
    assert len({key.partition(": ")[0] for key in kept}) == 1
    assert (len(kept), len(after)) == (2, 6)
    settle(docs)


def test_another_file_that_was_given_the_inode(docs: Path) -> None:
    (docs / "guide.md").rename(docs / "other.md")
    with open(docs / "other.md", "wb") as file:
        file.write(b"Nothing of this was there before.\n")
    assert changes(sync("docs")) == {"deleted": 1, "new": 1}
    assert OLD not in folders.statements()
    settle(docs)


def test_twins_that_both_moved(docs: Path) -> None:
    for name in ("a/same.md", "b/same.md"):
        write(docs / name, document("The twins say the same,"))
    sync("docs")
    before = set(folders.item_ids().values())
    (docs / "a").rename(docs / "c")
    (docs / "b").rename(docs / "d")
    assert changes(sync("docs", "--dry-run")) == changes(sync("docs")) == {"moved": 2}
    assert set(folders.item_ids().values()) == before
    settle(docs)


# --- gone, and back ----------------------------------------------------------------------------------------------


def folder(path: Path) -> None:
    write(path / "inside.md", "A page inside.\n")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_out(path: Path) -> None:
    path.symlink_to(write(path.parent.parent / "outside.md", "Secret plans outside.\n"))


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def binary(path: Path) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)


def nothing(_path: Path) -> None:
    pass


def empty(path: Path) -> None:
    path.touch()


def too_large(path: Path) -> None:
    write(path.parent.parent / "config.json", '{"ingest": {"max_file_mb": 1}}')
    write(path, "x" * 1_100_000)


@pytest.mark.parametrize("what", [nothing, folder, pipe, link_out, link_to_nothing, binary, empty, too_large])
def test_gone_or_no_document_any_more_and_back(docs: Path, what: Callable[[Path], None]) -> None:
    before = folders.item_ids()
    path = docs / "guide.md"
    path.unlink()
    what(path)
    sync("docs")
    text = folders.statements()
    assert OLD not in text and OTHER not in text and "Secret plans" not in text
    assert THIRD in text
    assert OLD not in folders.recalled("gateway retries")
    again = changes(sync("docs"))
    assert set(again) <= {"failed"}
    check()
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    write(path, document(OLD, OTHER))
    done = sync("docs")
    assert (done["chunks_restored"], done["chunks_created"]) == (2, 0)
    assert folders.item_ids() == before
    assert OLD in folders.recalled("gateway retries")
    settle(docs)


@pytest.mark.parametrize("what", ["zip", "words"])
def test_a_document_that_is_damaged_leaves_recall_until_it_is_mended(scratch: Path, what: str) -> None:
    path = scratch / "docs" / "a.odt"
    path.parent.mkdir()

    def good() -> None:
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("mimetype", "application/vnd.oasis.opendocument.text")
            packed.writestr(
                "content.xml",
                '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
                'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text>'
                "<text:p>The kingfisher nests here.</text:p></office:text></office:body></office:document-content>",
            )

    good()
    write(scratch / "docs" / "b.md", "Words.\n")
    sync("docs")
    assert "kingfisher" in folders.statements()
    before = folders.item_ids()
    path.write_bytes(path.read_bytes()[:-40] if what == "zip" else b"no archive at all")
    done = sync("docs")
    assert [one["path"] for one in done["files_failed"]] == ["a.odt"]
    assert "kingfisher" not in folders.statements()
    good()
    assert sync("docs")["chunks_restored"] == 1
    assert folders.item_ids() == before


def test_back_with_an_edit(docs: Path) -> None:
    before = folders.item_ids()
    (docs / "guide.md").unlink()
    sync("docs")
    write(docs / "guide.md", document(NEW, OTHER))
    done = sync("docs")
    assert (changes(done), done["chunks_restored"], done["chunks_created"]) == ({"new": 1}, 1, 1)
    assert len(set(before.values()) & set(folders.item_ids().values())) == 3
    edited(docs)


@pytest.mark.parametrize("gone", ["the file", "the passage"])
def test_what_a_person_put_away_does_not_come_back(docs: Path, gone: str) -> None:
    with folders.opened() as store:
        (item,) = [i for i in store.items() if OTHER in i.content]
        store.delete_item(item.id)
    for text in (None if gone == "the file" else document(OLD), document(OLD, OTHER)):
        if text is None:
            (docs / "guide.md").unlink()
        else:
            write(docs / "guide.md", text)
        sync("docs")
        assert OTHER not in folders.statements()
        assert (OLD in folders.statements()) == (text is not None)
    settle(docs)


@pytest.mark.parametrize("kind", ["files", "edits", "sections", "moves"])
def test_switching_back_and_forth_does_not_grow_the_store(docs: Path, kind: str) -> None:
    def there() -> None:
        if kind == "files":
            (docs / "guide.md").unlink()
            write(docs / "branch.md", document(NEW))
        elif kind == "edits":
            write(docs / "guide.md", document(NEW, OTHER))
        elif kind == "sections":
            write(docs / "guide.md", document(OTHER))
        else:
            (docs / "guide.md").rename(docs / "manual.md")

    def back() -> None:
        (docs / "branch.md").unlink(missing_ok=True)
        (docs / "manual.md").unlink(missing_ok=True)
        write(docs / "guide.md", document(OLD, OTHER))

    def size() -> tuple[int, int]:
        with folders.opened() as store:
            ((items, links),) = store.rows(
                "SELECT (SELECT count(*) FROM memory_items), (SELECT count(*) FROM memory_links)"
            )
        return items, links

    sizes = set()
    for _ in range(10):
        there()
        sync("docs")
        if kind != "moves":
            assert OLD not in folders.statements()
        back()
        sync("docs")
        text = folders.statements()
        assert OLD in text and NEW not in text
        check()
        sizes.add(size())
    assert len(sizes) == 1
    with folders.opened() as store:  # what is active is superseded by nothing
        assert store.value("SELECT count(*) FROM memory_items WHERE archived = 0 AND superseded_by IS NOT NULL") == 0
        assert store.value(
            "SELECT count(*) FROM memory_links AS l JOIN memory_items AS i ON i.id = l.dst_id "
            "WHERE l.rel = 'supersedes' AND i.archived = 0"
        ) == 0  # fmt: skip
    settle(docs)


def test_tags_go_along_when_an_edit_is_taken_back(docs: Path) -> None:
    before = folders.item_ids()
    write(docs / "guide.md", document(NEW, OTHER))
    sync("docs")
    with folders.opened() as store:
        (item,) = [i for i in store.items() if NEW in i.content]
        store.update_item(item.id, {"tags": [*item.tags, "mine"]})
    write(docs / "guide.md", document(OLD, OTHER))
    assert sync("docs")["chunks_restored"] == 1
    assert folders.item_ids() == before
    with folders.opened() as store:
        (item,) = [i for i in store.items() if OLD in i.content]
    assert "mine" in item.tags


def test_tags_a_person_gave_stay_through_it_all(docs: Path) -> None:
    with folders.opened() as store:
        for item in store.items():
            store.update_item(item.id, {"tags": [*item.tags, "mine"]})
    write(docs / "guide.md", document(NEW, OTHER))
    sync("docs")
    (docs / "guide.md").rename(docs / "manual.md")
    sync("docs")
    (docs / "manual.md").rename(docs.parent / "away.md")
    sync("docs")
    (docs.parent / "away.md").rename(docs / "manual.md")
    sync("docs")
    with folders.opened() as store:
        assert all("mine" in item.tags for item in store.items())
    ok("sync", "docs", "--full", "--db", "memory.db")
    edited(docs)
