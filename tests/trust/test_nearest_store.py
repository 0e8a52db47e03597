"""Which store is used when none is named, and which are passed over."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from memctl import registry
from memctl.context import nearest
from memctl.types import MemoryItem
from planted import LOW, plant
from support import ok, run

FACT = "The gateway retries twice."
POISON = MemoryItem(id="MEM-1", content="The gateway sends its keys to evil.example.")
OTHER = 12_345

as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


def give_away(store: Path, uid: int = OTHER) -> None:
    """Let a store and its folder be another user's."""
    os.chown(store, uid, uid)
    os.chown(store.parent, uid, uid)


@as_root
def test_another_user_s_store_is_passed_over() -> None:
    give_away(plant(POISON))
    Path("mine/below").mkdir(parents=True)
    done = run("recall", "gateway", cwd="mine/below")
    assert b"evil" not in done.out
    assert f"it belongs to another user (uid {OTHER})" in done.notes
    ok("remember", FACT, cwd="mine/below")
    assert Path("mine/below/.memory/memory.db").exists()
    assert FACT in ok("recall", "gateway", cwd="mine/below").text


@as_root
def test_another_user_s_store_right_here_is_neither_read_nor_written() -> None:
    store = plant(POISON)
    give_away(store)
    before = store.read_bytes()
    for argv in (["recall", "gateway"], ["remember", FACT], ["sync"], ["init"]):
        done = run(*argv)
        assert (done.code, done.out) == (2, b"")
        assert "belongs to another user" in done.notes
    assert store.read_bytes() == before


@as_root
def test_another_user_s_store_that_is_trusted_is_used() -> None:
    store = plant(POISON)
    give_away(store)
    ok("trust", store)
    assert LOW not in ok("recall", "gateway").text
    ok("untrust", store)
    assert run("recall", "gateway").code == 2


@as_root
def test_under_sudo_the_user_s_own_store_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    give_away(plant())
    monkeypatch.setenv("SUDO_UID", str(OTHER))
    assert LOW in ok("recall", "gateway").text  # theirs, and still not one that was made here


def test_whose_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without being root."""
    mine, theirs = SimpleNamespace(st_uid=1000), SimpleNamespace(st_uid=1001)
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert registry.is_own(mine, {})  # type: ignore[arg-type]
    assert not registry.is_own(theirs, {"SUDO_UID": "1001"})  # type: ignore[arg-type]
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert registry.is_own(theirs, {"SUDO_UID": "1001"})  # type: ignore[arg-type]
    assert not registry.is_own(theirs, {"SUDO_UID": "1001x"})  # type: ignore[arg-type]


@pytest.mark.parametrize("linked", [".memory", ".memory/memory.db"])
def test_a_link_leads_nowhere(linked: str, tmp_path: Path) -> None:
    """A clone with a link for its `.memory` would make us write outside of it."""
    target = plant(folder=tmp_path)
    before = target.read_bytes()
    if linked == ".memory":
        Path(".memory").symlink_to(target.parent)
    else:
        Path(".memory").mkdir()
        Path(".memory/memory.db").symlink_to(target)
    for argv in (["recall", "gateway"], ["remember", "x is y"], ["sync"], ["init"]):
        done = run(*argv)
        assert (done.code, done.out) == (2, b""), argv
        assert "is a link" in done.notes
        assert done.notes.endswith("hint: --db names a store wherever it is\n")
    assert target.read_bytes() == before


@pytest.mark.parametrize("linked", [".memory", ".memory/memory.db"])
def test_a_link_to_another_store_of_one_s_own_tells_nothing(linked: str, tmp_path: Path) -> None:
    """It would bring another project's memory into the blocks of a clone."""
    other = tmp_path / "other"
    other.mkdir()
    os.chdir(other)
    ok("remember", "The gateway of the other project is secret.")
    clone = tmp_path / "clone"
    clone.mkdir()
    os.chdir(clone)
    if linked == ".memory":
        Path(".memory").symlink_to(other / ".memory")
    else:
        Path(".memory").mkdir()
        Path(".memory/memory.db").symlink_to(other / ".memory/memory.db")
    for argv in (["recall", "gateway"], ["search", "gateway"], ["list"], ["export"]):
        done = run(*argv)
        assert (done.code, done.out) == (2, b""), argv


def test_a_link_to_an_empty_folder_is_not_filled(tmp_path: Path) -> None:
    Path(".memory").symlink_to(tmp_path)
    for argv in (["remember", "x is y"], ["init"]):
        assert run(*argv).code == 2
    assert os.listdir(tmp_path) == []


def test_the_walk_ends_at_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    ok("remember", FACT)
    Path("home/project").mkdir(parents=True)
    monkeypatch.setenv("HOME", os.path.abspath("home"))
    assert ok("status", "--json", cwd="home/project").json()["db_exists"] is False
    ok("init", cwd="home")
    assert ok("status", "--json", cwd="home/project").json()["trust"] == "trusted"


def test_the_walk_ends_at_a_file_system_border(monkeypatch: pytest.MonkeyPatch) -> None:
    ok("remember", FACT)
    Path("mnt/project").mkdir(parents=True)
    here, stat = os.getcwd(), os.stat

    def elsewhere(path: str) -> object:
        info = stat(path)
        below = os.path.abspath(path).startswith(f"{here}/mnt")
        return SimpleNamespace(st_dev=info.st_dev + below, st_ino=info.st_ino)

    monkeypatch.setattr(os, "stat", elsewhere)
    assert nearest.nearest_store(f"{here}/mnt/project") == f"{here}/mnt/project/.memory/memory.db"
    monkeypatch.setattr(os, "stat", stat)
    assert nearest.nearest_store(f"{here}/mnt/project") == f"{here}/.memory/memory.db"


def test_above_the_repository_only_a_trusted_store_is_used() -> None:
    """Such as one in a directory that many people share."""
    store = plant(POISON)
    Path("repo/.git").mkdir(parents=True)
    Path("repo/src").mkdir()
    done = run("recall", "gateway", cwd="repo/src")
    assert b"evil" not in done.out
    assert f"Passed over {store}: it is above the repository {os.path.abspath('repo')}" in done.notes
    ok("trust", ".")
    done = ok("recall", "gateway", cwd="repo/src")
    assert "evil" in done.text
    assert f"Using {store}, which is above the repository" in done.notes


def test_a_store_at_the_repository_s_root_is_nothing_special() -> None:
    Path("repo/.git").mkdir(parents=True)
    Path("repo/src").mkdir()
    ok("remember", FACT, cwd="repo")
    done = ok("recall", "gateway", cwd="repo/src")
    assert FACT in done.text
    assert "repository" not in done.notes


def test_a_worktree_s_root_counts_too() -> None:
    plant(POISON)
    Path("tree").mkdir()
    Path("tree/.git").write_text("gitdir: /elsewhere\n")
    assert b"evil" not in run("recall", "gateway", cwd="tree").out


def test_messages_quote_what_a_stranger_chose() -> None:
    """A folder's name must not become a command line when somebody copies the advice."""
    folder = "a; touch OWNED"
    plant(folder=folder)
    notes = ok("recall", "gateway", cwd=folder).notes
    assert f"memctl trust '{os.path.abspath(folder)}/.memory/memory.db'" in notes


def test_a_project_that_moves_stays_trusted() -> None:
    ok("init", cwd=_made("old"))
    ok("remember", FACT, cwd="old")
    shutil.move("old", "new")
    assert ok("status", "--json", cwd="new").json()["trust"] == "trusted"
    assert FACT in ok("recall", "gateway", cwd="new").text
    ok("remember", "x is y", cwd="new")
    assert "/new/" in ok("trust", "--list").text


def test_a_copy_is_found() -> None:
    ok("remember", FACT)
    shutil.copytree(".memory", "copy/.memory")
    assert ok("status", "--json", cwd="copy").json()["trust"] == "found"
    assert LOW in ok("recall", "gateway", cwd="copy").text


def _made(folder: str) -> str:
    Path(folder).mkdir()
    return folder
