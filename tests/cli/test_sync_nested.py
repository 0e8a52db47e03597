"""Mounts within mounts: the innermost one says where a file belongs, whoever syncs; see also test_sync."""

import itertools
from pathlib import Path

import pytest

import folders
from folders import changes, check, sync, write
from support import ok

pytestmark = pytest.mark.usefixtures("hour_ahead")  # a file that is as it was is not opened


@pytest.fixture
def nest(scratch: Path) -> Path:
    """A folder with one within, and one within that, mounted with a scope each; not read yet."""
    out = scratch / "out"
    write(out / "a.md", "The anchor holds.\n")
    write(out / "in" / "b.md", "The bell rings.\n")
    write(out / "in" / "deep" / "c.md", "The cable snaps.\n")
    mount("out", "so")
    mount("out/in", "si")
    mount("out/in/deep", "sd")
    return out


def mount(folder: str, scope: str, *more: str) -> None:
    ok("mount", folder, "--scope", scope, *more, "--db", "memory.db", "-q")


def scopes() -> dict[str, str]:
    """The scope of each file's passages, by its name."""
    with folders.opened() as store:
        found = store.rows(
            "SELECT json_extract(provenance_json, '$.source_id'), scope FROM memory_items WHERE archived = 0"
        )
    assert len(dict(found)) == len(found)
    return {Path(path).name: scope for path, scope in found}


def owners() -> dict[str, str | None]:
    """The folder of the mount that each file belongs to, by the file's name."""
    with folders.opened() as store:
        found = store.rows(
            "SELECT c.file_path, m.path FROM corpus_hashes AS c LEFT JOIN memory_mounts AS m USING (mount_id)"
        )
    return {Path(path).name: of and Path(of).name for path, of in found}


def report(*argv: str) -> dict[str, str]:
    """`sync --report`: path -> status."""
    lines = ok("sync", *argv, "--report", "--db", "memory.db").text.splitlines()
    return {line.split("\t")[1]: line.split("\t")[0] for line in lines if "\t" in line}


FILED = {"a.md": "so", "b.md": "si", "c.md": "sd"}


@pytest.mark.parametrize("order", list(itertools.permutations(["out", "out/in", "out/in/deep"])), ids="-".join)
def test_whoever_reads_a_file_first_files_it_under_the_innermost_mount(nest: Path, order: tuple[str, ...]) -> None:
    for folder in order:
        sync(folder)
    assert scopes() == FILED
    assert owners() == {"a.md": "out", "b.md": "in", "c.md": "deep"}
    for folder in order:
        assert changes(sync(folder)) == {}
    check()


@pytest.mark.parametrize("by", ["out", "out/in", "out/in/deep"])
@pytest.mark.parametrize("flags", [[], ["--full"]], ids=["usual", "full"])
def test_a_changed_file_stays_where_it_is_filed(nest: Path, by: str, flags: list[str]) -> None:
    sync()
    write(nest / "in" / "deep" / "c.md", "The cable snaps.\n\nIt was old.\n")
    write(nest / "in" / "b.md", "The bell rings.\n\nIt is loud.\n")
    sync(by, *flags)
    assert scopes() == FILED
    assert all(changes(sync(folder)) == {} for folder in (by, "out/in/deep"))
    sync()
    assert scopes() == FILED
    assert "loud" in folders.statements()
    check()


def test_full_reads_the_files_of_mounts_within_too(nest: Path) -> None:
    sync()
    assert report("out", "--full") == dict.fromkeys(["a.md", "in/b.md", "in/deep/c.md"], "refiled")
    assert report("out/in", "--full") == dict.fromkeys(["b.md", "deep/c.md"], "refiled")
    assert scopes() == FILED


def test_full_of_all_mounts_reads_each_file_once(nest: Path) -> None:
    sync()
    assert [changes(done) for done in sync("--full").values()] == [{"refiled": 1}] * 3
    assert scopes() == FILED


@pytest.mark.parametrize("by", ["out", ""], ids=["outer", "all"])
def test_files_move_from_mount_to_mount(nest: Path, by: str) -> None:
    sync()
    before = {key.partition(": ")[2]: item_id for key, item_id in folders.item_ids().items()}
    (nest / "in" / "deep" / "c.md").rename(nest / "c.md")
    (nest / "a.md").rename(nest / "in" / "deep" / "a.md")
    done = sync(*([by] if by else []))
    assert changes(done if by else done[str(nest)]) == {"moved": 2}
    assert scopes() == {"a.md": "sd", "b.md": "si", "c.md": "so"}
    assert owners() == {"a.md": "deep", "b.md": "in", "c.md": "out"}
    assert {key.partition(": ")[2]: item_id for key, item_id in folders.item_ids().items()} == before
    assert [changes(one) for one in sync().values()] == [{}, {}, {}]
    check()


@pytest.mark.parametrize("first", ["out", "out/in"])
def test_a_file_that_was_moved_between_mounts_keeps_its_items_whoever_looks_first(nest: Path, first: str) -> None:
    sync()
    before = set(folders.item_ids().values())
    (nest / "in" / "b.md").rename(nest / "b.md")
    sync(first)
    sync("out")
    assert scopes() == FILED | {"b.md": "so"}
    assert set(folders.item_ids().values()) == before
    check()


def test_deleted_files_of_a_mount_within_are_gone(nest: Path) -> None:
    sync()
    (nest / "in" / "deep" / "c.md").unlink()
    assert changes(sync("out")) == {"deleted": 1}
    assert scopes() == {"a.md": "so", "b.md": "si"}
    write(nest / "in" / "deep" / "c.md", "The cable snaps.\n")
    sync("out")
    assert scopes() == FILED
    check()


@pytest.mark.parametrize("flags", [[], ["--full"], ["--scope", "sx"]], ids=["usual", "full", "scope"])
def test_a_dry_run_says_what_a_run_does(nest: Path, flags: list[str]) -> None:
    sync()
    write(nest / "in" / "b.md", "The bell rings.\n\nIt is loud.\n")
    (nest / "a.md").rename(nest / "in" / "deep" / "a.md")
    foreseen = report("out", "--dry-run", *flags)
    assert report("out", *flags) == foreseen
    assert scopes() == {"a.md": "sd", "b.md": "si", "c.md": "sd"}


@pytest.mark.parametrize("flags", [[], ["--full"], ["--scope", "sx"]], ids=["usual", "full", "scope"])
def test_a_dry_run_of_all_mounts_counts_each_file_once(nest: Path, flags: list[str]) -> None:
    sync()
    ok("mount", "--remove", "out", "--db", "memory.db")
    mount("out", "so")  # the outer one is the newest now
    if "--full" not in flags:
        write(nest / "in" / "b.md", "The bell rings.\n\nIt is loud.\n")
        write(nest / "in" / "deep" / "d.md", "The deck is wet.\n")
        (nest / "a.md").rename(nest / "in" / "a.md")
    foreseen = {path: changes(done) for path, done in sync("--dry-run", *flags).items()}
    assert foreseen == {path: changes(done) for path, done in sync(*flags).items()}


@pytest.mark.parametrize("by", ["out", "out/in"])
def test_a_mount_that_is_added_within_takes_its_files_over(nest: Path, by: str) -> None:
    ok("mount", "--remove", "out/in", "--db", "memory.db")
    sync("out")
    assert scopes() == FILED | {"b.md": "so"}
    mount("out/in", "si")
    sync(by)
    assert scopes() == FILED
    assert owners()["b.md"] == "in"
    assert [changes(one) for one in sync().values()] == [{}, {}, {}]


def test_a_mount_that_is_removed_gives_its_files_to_the_one_around_it(nest: Path) -> None:
    sync()
    ok("mount", "--remove", "out/in", "--db", "memory.db")
    assert changes(sync("out")) == {"refiled": 1}
    assert scopes() == FILED | {"b.md": "so"}
    assert owners() == {"a.md": "out", "b.md": "out", "c.md": "deep"}
    ok("mount", "--remove", "out", "--db", "memory.db")
    assert changes(sync("out/in/deep")) == {}
    check()


def test_the_scope_of_a_run_is_for_the_mount_that_is_named(nest: Path) -> None:
    sync("out", "--scope", "new")
    assert scopes() == FILED | {"a.md": "new"}
    sync("--scope", "all")
    assert set(scopes().values()) == {"all"}


def test_a_mount_without_a_scope_files_under_project_also_within_another_one(nest: Path) -> None:
    write(nest / "plain" / "p.md", "The plank is dry.\n")
    ok("mount", "out/plain", "--db", "memory.db", "-q")
    sync("out")
    assert scopes() == FILED | {"p.md": "project"}


def test_the_patterns_of_a_mount_within_hold_whoever_syncs(nest: Path) -> None:
    write(nest / "in" / "draft.md", "The dinghy leaks.\n")
    write(nest / "draft.md", "The dock is long.\n")
    mount("out", "so", "--ignore", "b.md")
    mount("out/in", "si", "--ignore", "draft.md")
    for by in ("out", "out/in", "out"):
        done = report(by)
        assert {status for status in done.values() if status != "left out"} in ({"new"}, {"unchanged"})
        assert scopes() == FILED | {"draft.md": "so"}
    assert report("out")["in/draft.md"] == "left out"


def test_what_the_outer_mount_leaves_out_as_a_whole_is_left_to_the_inner_one(nest: Path) -> None:
    mount("out", "so", "--ignore", "in/")
    assert changes(sync("out")) == {"new": 1}
    sync("out/in")
    assert scopes() == FILED
    write(nest / "in" / "b.md", "The bell rings.\n\nIt is loud.\n")
    assert changes(sync("out", "--full")) == {"refiled": 1}
    assert changes(sync("out/in")) == {"changed": 1}
    assert scopes() == FILED


def test_patterns_that_come_later_take_files_out_that_the_outer_mount_brought(nest: Path) -> None:
    ok("mount", "--remove", "out/in", "--db", "memory.db")
    write(nest / "in" / "draft.md", "The dinghy leaks.\n")
    sync("out")
    mount("out/in", "si", "--ignore", "draft.md")
    for by in ("out/in", "out"):
        sync(by)
        assert scopes() == FILED


def test_a_file_that_cannot_be_read_is_not_tried_again_by_the_other_mount(nest: Path) -> None:
    write(nest / "in" / "bad.md", b"\0\1\2" * 400)
    sync("out")
    with folders.opened() as store:
        before = store.rows("SELECT * FROM memory_unread_files")
    assert len(before) == 1
    for by in ("out/in", "out"):
        assert changes(sync(by)) == {"failed": 1}
    with folders.opened() as store:
        assert store.rows("SELECT * FROM memory_unread_files") == before
        store.conn.execute("UPDATE memory_unread_files SET reason = 'as before'")
    for by in ("out/in", "out"):
        assert sync(by)["files_failed"][0]["reason"] == "as before"


def test_a_look_at_the_outer_folder_leaves_the_files_of_a_mount_within_filed(nest: Path) -> None:
    ok("mount", "--remove", "out", "--db", "memory.db")
    ok("inspect", "out", "--mount-mode", "ephemeral", "--scope", "look", "--db", "memory.db")
    assert scopes() == FILED | {"a.md": "look"}
    assert owners() == {"a.md": None, "b.md": "in", "c.md": "deep"}


def test_push_files_where_it_is_told_and_the_next_sync_brings_it_back(nest: Path) -> None:
    sync()
    ok("push", "bell", "--source", "out", "--scope", "mine", "--db", "memory.db")
    assert set(scopes().values()) == {"mine"}
    assert owners() == {"a.md": "out", "b.md": "in", "c.md": "deep"}
    assert changes(sync("out")) == {"refiled": 3}
    assert scopes() == FILED
    check()


def test_folders_whose_names_begin_alike_are_not_within_each_other(nest: Path) -> None:
    write(nest / "inner" / "e.md", "The engine idles.\n")
    sync("out")
    assert scopes() == FILED | {"e.md": "so"}


def test_the_language_of_a_mount_goes_with_its_files_whoever_reads_them(nest: Path) -> None:
    ok("mount", "out/in", "--lang", "fr", "--db", "memory.db")
    sync("out")
    with folders.opened() as store:
        found = store.rows("SELECT rel_path, lang_hint FROM corpus_hashes ORDER BY file_path")
    assert found == [("a.md", None), ("b.md", "fr"), ("c.md", None)]


@pytest.mark.parametrize("mode", ["persist", "ephemeral"])
def test_a_question_to_the_outer_folder_heeds_the_patterns_of_a_mount_within(nest: Path, mode: str) -> None:
    write(nest / "in" / "draft.md", "The dinghy leaks.\n")
    mount("out/in", "si", "--ignore", "draft.md")
    prompt = ok("ask", "out", "dinghy bell", "--llm", "cat", "--mount-mode", mode, "--db", "memory.db").text
    assert "The bell rings" in prompt
    assert "leaks" not in prompt


@pytest.mark.parametrize("gone_before", [False, True], ids=["there until now", "gone before"])
def test_a_dry_run_knows_what_came_from_elsewhere(nest: Path, gone_before: bool) -> None:
    sync()
    (nest / "a.md").rename(nest.parent / "a.md")
    if gone_before:
        assert changes(sync("out")) == {"deleted": 1}
    (nest.parent / "a.md").rename(nest / "in" / "new.md")
    assert changes(sync("out/in", "--dry-run")) == {"moved": 1}
    assert changes(sync("out/in")) == {"moved": 1}
