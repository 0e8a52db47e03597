"""What git adds to what statements cite: renames with other changes are followed, and old text can be shown."""

import os
import subprocess
from pathlib import Path

import pytest

from folders import write
from memctl import git
from stores import change as change_store
from stores import open_read
from support import ok

CODE = "def check(token):\n    return bool(token)\n\n\ndef other(token):\n    return token\n" + "# x\n" * 9
GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]


def commit(folder: Path) -> None:
    for words in (["add", "-A"], ["commit", "-q", "-m", "change"]):
        subprocess.run([*GIT, "-C", str(folder), *words], check=True)


@pytest.fixture
def tree(scratch: Path) -> Path:
    """A work tree with one commit, synced, and a statement about its function."""
    code = scratch / "code"
    write(code / "auth.py", CODE)
    subprocess.run([*GIT, "init", "-q", str(code)], check=True)
    commit(code)
    ok("sync", "code")
    ok("remember", "Tokens are checked by `check` in auth.py.")
    return code


def rows() -> list[tuple[str, str, str]]:
    store = open_read(".memory/memory.db")
    try:
        return store.rows("SELECT path, state, revision FROM memory_citations WHERE text_hash <> ''")
    finally:
        store.close()


def rename_and_change(tree: Path, old: str = "return token\n", new: str = "return not token\n") -> None:
    text = (tree / "auth.py").read_text()
    (tree / "auth.py").unlink()
    write(tree / "login.py", text.replace(old, new))


def test_the_commit_and_the_blob_are_kept(tree: Path) -> None:
    head, blob = (
        subprocess.run([*GIT, "-C", str(tree), "rev-parse", name], check=True, capture_output=True, text=True).stdout
        for name in ("HEAD", "HEAD:auth.py")
    )
    assert [row[1:] for row in rows()] == [("fresh", f"{head.strip()} {blob.strip()}")]


def test_a_rename_with_another_change_is_followed_once_it_is_committed(tree: Path) -> None:
    rename_and_change(tree)
    commit(tree)
    ok("sync")
    assert [(os.path.basename(path), state) for path, state, _ in rows()] == [("login.py", "fresh")]
    ok("undo")
    assert [(os.path.basename(path), state) for path, state, _ in rows()] == [("auth.py", "fresh")]


def test_what_changed_in_a_renamed_file_has_changed_and_is_not_gone(tree: Path) -> None:
    rename_and_change(tree, "bool(token)", "bool(token.strip())")
    commit(tree)
    ok("sync")
    assert [(os.path.basename(path), state) for path, state, _ in rows()] == [("login.py", "changed")]
    (entry,) = ok("review", "--json").json()["entries"]
    assert {"-    return bool(token)", "+    return bool(token.strip())"} <= set(entry["diff"])


def test_a_document_that_moved_before_is_followed_when_it_is_renamed_with_a_change(tree: Path) -> None:
    (tree / "auth.py").rename(tree / "access.py")
    commit(tree)
    ok("sync")
    text = (tree / "access.py").read_text().replace("bool(token)", "bool(token.strip())")
    (tree / "access.py").unlink()
    write(tree / "login.py", text)
    commit(tree)
    ok("sync")
    assert [(os.path.basename(path), state) for path, state, _ in rows()] == [("login.py", "changed")]


def test_what_is_cited_twice_is_shown_once(tree: Path) -> None:
    ok("remember", "-q", "`check` is in auth.py:1-2.")
    write(tree / "auth.py", CODE.replace("bool(token)", "token == 1"))
    ok("sync")
    entries = ok("review", "--kind", "stale", "--json").json()["entries"]
    assert [entry["diff"].count("+    return token == 1") for entry in entries] == [1, 1]


@pytest.mark.parametrize("how", ["no commit", "no program"])
def test_without_git_the_text_is_found_where_it_is_now(tree: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rename_and_change(tree)
    if how == "no program":
        commit(tree)
        monkeypatch.setenv("PATH", str(tree / "nothing"))
    ok("sync")
    assert [row[1] for row in rows()] == ["moved"]


def test_the_old_text_is_shown_from_git_where_the_store_has_it_no_more(tree: Path) -> None:
    write(tree / "auth.py", CODE.replace("bool(token)", "token == 1"))
    ok("sync")
    with change_store(".memory/memory.db") as store:  # as an import without documents leaves it
        store.run("UPDATE memory_citations SET passages = '[]'")
    (entry,) = ok("review", "--json").json()["entries"]
    assert {"-    return bool(token)", "+    return token == 1"} <= set(entry["diff"])


def test_what_was_purged_is_not_shown_from_git(tree: Path) -> None:
    passage = ok("list", "--passages", "--json", "--from", "docs").json()
    write(tree / "auth.py", CODE.replace("bool(token)", "token == 1"))
    ok("sync")
    assert ok("purge", "--yes", *(item["id"] for item in passage)).code == 0
    (entry,) = ok("review", "--json").json()["entries"]
    assert not any("bool(token)" in line for line in entry["diff"])


def test_a_hostile_repository_runs_nothing(tree: Path, scratch: Path) -> None:
    trap = scratch / "trap"
    write(trap, f"#!/bin/sh\necho ran >> '{scratch}/ran'\ncat\n")
    trap.chmod(0o755)
    words = "".join(
        f'[{section}]\n\t{key} = "{trap}"\n'
        for section, key in (
            ("core", "fsmonitor"), ("core", "hooksPath"), ("core", "pager"), ("core", "sshCommand"), ("core", "editor"),
            ("diff", "external"), ('diff "x"', "textconv"), ('diff "x"', "command"), ('filter "x"', "smudge"),
            ('filter "x"', "clean"), ('filter "x"', "process"), ("alias", "cat-file"), ("alias", "diff-tree"),
            ("credential", "helper"), ("uploadpack", "packObjectsHook"), ("include", "path"),
        )
    )  # fmt: skip
    rename_and_change(tree, "bool(token)", "bool(token.strip())")
    commit(tree)
    with (tree / ".git" / "config").open("a") as file:
        file.write(words)
    write(tree / ".gitattributes", "* diff=x filter=x\n")
    write(tree / ".git" / "info" / "attributes", "* diff=x filter=x\n")
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        write(tree / ".git" / "hooks" / hook, trap.read_text())
        (tree / ".git" / "hooks" / hook).chmod(0o755)
    ok("sync")
    ok("remember", "Tokens are checked by `check` in login.py, again.")
    ok("review")
    known = git.work_tree(str(tree))
    assert known is not None and git.read_blob(known, git.blob_id(CODE.encode())) == CODE
    assert [os.path.basename(path) for path, _, _ in rows()] == ["login.py", "login.py"]
    assert not (scratch / "ran").exists()


def test_no_work_tree_and_no_commit_are_met_with_silence(scratch: Path) -> None:
    assert git.work_tree(str(scratch / "is" / "not" / "there")) is None
    subprocess.run([*GIT, "init", "-q", str(scratch / "new")], check=True)
    assert git.work_tree(str(scratch / "new")) is None
    assert git.blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
