"""memctl mount: folders are registered, changed, listed and forgotten; nothing of them is read."""

import os
from pathlib import Path
from typing import Any

import pytest

import folders
from folders import sync, write
from support import ok, run


@pytest.fixture
def docs(scratch: Path) -> Path:
    write(scratch / "docs" / "guide.md", "# Guide\n\nThe gateway retries twice.\n")
    write(scratch / "docs" / "drafts" / "idea.md", "# Idea\n\nThe heron might nest here.\n")
    return scratch / "docs"


def mounted() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok("mount", "--list", "--json", "--db", "memory.db").json()
    return found


def mount(*argv: str | os.PathLike[str]) -> dict[str, Any]:
    found: dict[str, Any] = ok("mount", *argv, "--json", "--db", "memory.db").json()
    return found


def test_a_folder_is_registered_and_nothing_is_read(docs: Path) -> None:
    done = ok("mount", "docs", "--name", "d", "--ignore", "drafts/", "*.bak", "--lang", "fr", "--scope", "team",
              "--db", "memory.db")  # fmt: skip
    assert done.out == b""
    (row,) = mounted()
    assert done.notes.splitlines() == [f"Mounted: {row['mount_id']} → {docs}"]
    assert list(row) == [
        "mount_id", "path", "name", "lang_hint", "created_at", "last_sync_at", "ignore_patterns", "scope",
        "chunk_tokens",
    ]  # fmt: skip
    assert row["mount_id"].startswith("MNT-")
    assert (row["path"], row["name"], row["ignore_patterns"], row["lang_hint"], row["scope"], row["last_sync_at"]) == (
        str(docs), "d", ["drafts/", "*.bak"], "fr", "team", None,
    )  # fmt: skip
    assert folders.passages() == []


def test_json_is_the_row(docs: Path) -> None:
    found = mount("docs", "--name", "d")
    assert found == {"status": "ok"} | mounted()[0]
    assert found["path"] == str(docs)
    assert mount("--remove", "d") == {"status": "ok", "removed": found["mount_id"]}


def test_the_list_for_people(docs: Path) -> None:
    write(docs.parent / "notes" / "a.md", "Words.\n")
    first, second = mount("docs", "--name", "d"), mount("notes")
    sync("notes")
    lines = ok("mount", "--list", "--db", "memory.db").text.splitlines()
    when = mounted()[1]["last_sync_at"]
    assert lines == [
        f"  {first['mount_id']} (d)  {docs}  synced=never",
        f"  {second['mount_id']}  {docs.parent / 'notes'}  synced={when}",
    ]


def test_the_list_of_one_folder_and_what_is_below_it(docs: Path) -> None:
    (docs.parent / "docs-too" / "deep").mkdir(parents=True)
    mount("docs"), mount("docs-too/deep"), mount("docs-too")

    def listed(path: str) -> list[str]:
        rows = ok("mount", path, "--list", "--json", "--db", "memory.db").json()
        return sorted(os.path.relpath(row["path"]) for row in rows)

    assert listed("docs") == ["docs"]
    assert listed("docs-too") == ["docs-too", "docs-too/deep"]
    assert listed(".") == ["docs", "docs-too", "docs-too/deep"]
    done = ok("mount", "docs/deeper", "--list", "--db", "memory.db")
    assert done.out == b""
    assert "at or below" in done.notes


@pytest.mark.usefixtures("docs")
def test_a_folder_with_a_line_break_in_its_name_is_one_line(scratch: Path) -> None:
    odd = scratch / "two  blanks\nand a line"
    odd.mkdir()
    mount(str(odd))
    assert len(ok("mount", "--list", "--db", "memory.db").text.splitlines()) == 1
    assert mounted()[0]["path"] == str(odd)


def test_an_empty_list_says_so() -> None:
    ok("init", ".")
    done = ok("mount", "--list", "--db", "memory.db")
    assert (done.out, done.notes) == (b"", "No mounts registered.\n")
    assert ok("mount", "--list", "--json", "--db", "memory.db").json() == []


@pytest.mark.parametrize(
    ("argv", "changed"),
    [
        ([], {}),
        (["--name", "e"], {"name": "e"}),
        (["--lang", "en"], {"lang_hint": "en"}),
        (["--scope", "other"], {"scope": "other"}),
        (["--ignore", "x"], {"ignore_patterns": ["x"]}),
        (["--ignore", ""], {"ignore_patterns": []}),
    ],
)
def test_a_second_mount_changes_what_is_named_and_nothing_else(
    docs: Path, argv: list[str], changed: dict[str, Any]
) -> None:
    before = mount("docs", "--name", "d", "--ignore", "drafts/", "--lang", "fr", "--scope", "team")
    after = mount(str(docs) + "/.", *argv)
    assert after == before | changed
    assert len(mounted()) == 1


def test_a_link_to_a_folder_is_the_folder(docs: Path) -> None:
    (docs.parent / "link").symlink_to(docs)
    assert mount("link")["path"] == str(docs)
    assert mount("docs")["mount_id"] == mounted()[0]["mount_id"]
    assert len(mounted()) == 1


def test_a_name_belongs_to_one_mount(docs: Path) -> None:
    write(docs.parent / "notes" / "a.md", "Words.\n")
    mount("docs", "--name", "d")
    done = run("mount", "notes", "--name", "d", "--db", "memory.db")
    assert done.code == 1
    assert done.notes.startswith(f"memctl: Another mount is called d: {docs}\n")
    assert len(mounted()) == 1
    mount("docs", "--name", "d")  # its own name is free for itself


@pytest.mark.parametrize("key", ["id", "name", "path", "relative path"])
def test_removed_by_any_of_its_names(docs: Path, key: str) -> None:
    row = mount("docs", "--name", "d")
    sync("docs")
    before = folders.item_ids()
    word = {"id": row["mount_id"], "name": "d", "path": str(docs), "relative path": "docs"}[key]
    done = ok("mount", "--remove", word, "--db", "memory.db")
    assert (done.out, done.notes) == (b"", f"Removed mount: {word}\n")
    assert mounted() == []
    assert folders.item_ids() == before


def test_a_mount_that_is_not_there_cannot_be_removed(docs: Path) -> None:
    mount(docs)
    done = run("mount", "--remove", "nobody", "--db", "memory.db")
    assert done.code == 1
    assert "nobody" in done.notes
    assert len(mounted()) == 1


def test_removed_while_its_folder_is_gone(docs: Path) -> None:
    mount("docs", "--name", "d")
    docs.rename(docs.parent / "elsewhere")
    ok("mount", "--remove", "docs", "--db", "memory.db")
    assert mounted() == []


@pytest.mark.usefixtures("docs")
def test_mounted_again_it_finds_its_passages() -> None:
    mount("docs")
    sync("docs")
    before = folders.item_ids()
    mount("--remove", "docs")
    again = mount("docs")
    done = sync("docs")
    assert (folders.changes(done), done["chunks_created"]) == ({}, 0)
    assert folders.item_ids() == before
    with folders.opened() as store:
        assert {row[0] for row in store.rows("SELECT mount_id FROM corpus_hashes")} == {again["mount_id"]}


@pytest.mark.usefixtures("docs")
def test_the_language_is_noted_with_each_file() -> None:
    def noted() -> list[tuple[str, str | None]]:
        with folders.opened() as store:
            return list(store.rows("SELECT rel_path, lang_hint FROM corpus_hashes ORDER BY 1"))

    mount("docs", "--lang", "fr")
    sync("docs")
    assert noted() == [("drafts/idea.md", "fr"), ("guide.md", "fr")]
    mount("docs", "--lang", "mix")
    assert noted() == [("drafts/idea.md", "mix"), ("guide.md", "mix")]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "mount needs a folder, list, or remove"),
        (["nowhere"], "Path does not exist: nowhere"),
        (["docs/guide.md"], "Path is not a directory: docs/guide.md"),
        (["docs\0"], "Path does not exist"),
        (["docs", "--lang", "de"], "--lang"),
        (["--list", "--remove", "docs"], "remove and list do not go together"),
        (["docs", "--remove", "docs"], "remove and a folder do not go together"),
        (["docs", "--list", "--name", "n"], "list and --name do not go together"),
        (["list", "--name", "n"], "list and --name do not go together"),
        (["remove"], "remove: MOUNT is missing"),
        (["remove", "a", "b"], "remove and a folder do not go together"),
        (["list", "a", "b"], "unexpected argument 'b'"),
        (["--remove", "docs", "--scope", "s"], "remove and --scope do not go together"),
    ],
)
@pytest.mark.usefixtures("docs")
def test_what_cannot_be_mounted(argv: list[str], words: str) -> None:
    done = run("mount", *argv, "--db", "memory.db")
    assert done.code == 1
    assert words in done.notes
    assert "hint: " in done.notes
    assert not os.path.exists("memory.db") or mounted() == []


@pytest.mark.usefixtures("docs")
def test_a_secret_in_a_pattern_is_refused() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    done = run("mount", "docs", "--ignore", token, "--db", "memory.db")
    assert done.code == 1
    assert token not in done.notes
    ok("init", ".")
    assert mounted() == []


@pytest.mark.usefixtures("docs")
def test_what_is_done_with_mounts_is_said_in_words() -> None:
    found = mount("docs", "--name", "d")
    for argv in (["list"], ["--json", "list"], ["list", "docs"], ["docs", "--list"], ["list", "."]):
        rows = ok("mount", *argv, "--json", "--db", "memory.db").json()
        assert [row["mount_id"] for row in rows] == [found["mount_id"]]
    assert mount("remove", "d") == {"status": "ok", "removed": found["mount_id"]}
    assert ok("mount", "list", "--json", "--db", "memory.db").json() == []


def test_a_folder_may_be_called_as_a_word_is() -> None:
    for argv in (["./list"], ["--", "list"]):
        Path("list").mkdir(exist_ok=True)
        done = ok("mount", "--json", "--db", "memory.db", *argv)
        assert done.json()["path"].endswith("/list")
        assert mount("remove", "./list")["status"] == "ok"
