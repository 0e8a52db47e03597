"""The personal store, in which each project has a scope: what is one project, and what another."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import wire
from memctl.context import personal_store
from memctl.context.project import COMMIT, FOLDER, REMOTE, project_of, remote_name
from support import golden, ok, run

FACT = "We deploy on Fridays."


def git(folder: Path, *words: str) -> None:
    who = {f"GIT_{role}_{what}": "a@b.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words], cwd=folder, check=True, capture_output=True,
        env=os.environ | who | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )  # fmt: skip


def repository(folder: Path, remote: str = "", *, commits: int = 1) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for number in range(commits):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"{folder.name} {number}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def scope(folder: Path) -> str:
    return project_of(str(folder)).scope


@pytest.fixture(autouse=True)
def personal() -> None:
    ok("init", "--personal")


# --- what is one project ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("remote", ["", "git@github.com:Acme/Widget.git"])
def test_worktrees_clones_and_renamed_folders_are_one_project(tmp_path: Path, remote: str) -> None:
    first = repository(tmp_path / "first", remote, commits=3)
    name = scope(first)
    assert project_of(str(first)).kind == (REMOTE if remote else COMMIT)
    git(first, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    git(tmp_path, "clone", "-q", "first", "clone")
    git(tmp_path, "clone", "-q", "clone", "of-clone")
    (tmp_path / "tree/inner/deep").mkdir(parents=True)
    for other in ("tree", "tree/inner/deep", "clone", "of-clone", "first/.git"):
        assert scope(tmp_path / other) == name, other
    if remote:
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{first}", "shallow")
        assert scope(tmp_path / "shallow") == name
    git(first, "commit", "-q", "--allow-empty", "-m", "later")
    first.rename(tmp_path / "renamed")
    assert scope(tmp_path / "renamed") == name


def test_a_fork_is_another_project(tmp_path: Path) -> None:
    first = repository(tmp_path / "first", "https://github.com/acme/widget")
    git(tmp_path, "clone", "-q", "first", "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "https://github.com/other/widget")
    git(tmp_path / "fork", "remote", "add", "upstream", "https://github.com/acme/widget")
    assert scope(tmp_path / "fork") == "github.com/other/widget"
    git(tmp_path, "clone", "-q", "--bare", "first", "one.git")
    git(tmp_path, "clone", "-q", "--bare", "one.git", "two.git")
    for of in ("one", "two"):
        git(tmp_path, "clone", "-q", f"{of}.git", f"{of}-a")
        git(tmp_path, "clone", "-q", f"{of}.git", f"{of}-b")
    assert scope(tmp_path / "one-a") == scope(tmp_path / "one-b") == scope(tmp_path / "one.git")
    assert scope(tmp_path / "two-a") == scope(tmp_path / "two-b") != scope(tmp_path / "one-a")
    assert scope(first) == "github.com/acme/widget"


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    part = repository(tmp_path / "part", "git@github.com:acme/part")
    whole = repository(tmp_path / "whole", "git@github.com:acme/whole")
    git(whole, "submodule", "add", "-q", str(part), "lib")
    assert scope(whole / "lib") == scope(part) == "github.com/acme/part"
    assert scope(whole) == "github.com/acme/whole"


def test_a_folder_without_git_is_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "notes").mkdir(parents=True)
    assert project_of(str(tmp_path / "one/notes")).kind == FOLDER
    assert scope(tmp_path / "one/notes") == scope(tmp_path / "one/notes")
    assert scope(tmp_path / "one/notes") != scope(tmp_path / "two/notes")
    assert scope(tmp_path / "one/notes").startswith("notes~")


# --- what a folder may not claim --------------------------------------------------------------------------------------


def planted(tmp_path: Path, kind: str) -> Path:
    """A folder whose .git leads into a repository that is not its own."""
    secret = repository(tmp_path / "secret", "git@github.com:acme/secret")
    evil = tmp_path / "evil"
    evil.mkdir()
    if kind == "a link":
        (evil / ".git").symlink_to(secret / ".git")
    elif kind == "its settings are a link":
        git(evil, "init", "-q")
        (evil / ".git/config").unlink()
        (evil / ".git/config").symlink_to(secret / ".git/config")
    elif kind == "a common folder":
        git(evil, "init", "-q")
        (evil / ".git/commondir").write_text(f"{secret}/.git\n")
    elif kind == "a worktree of its own making":
        (evil / "g").mkdir()
        (evil / "g/commondir").write_text(f"{secret}/.git\n")
        (evil / "g/gitdir").write_text("../.git\n")
        (evil / ".git").write_text("gitdir: g\n")
    elif kind == "a worktree of another":
        git(secret, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
        (evil / ".git").write_bytes((tmp_path / "tree/.git").read_bytes())
    elif kind == "its branch is a link":
        git(secret, "remote", "remove", "origin")
        git(evil, "init", "-q", "-b", "main")
        (evil / ".git/refs/heads/main").symlink_to(secret / ".git/refs/heads/main")
        (evil / ".git/objects/info/alternates").write_text(f"{secret}/.git/objects\n")
    else:
        (evil / ".git").write_text(f"gitdir: {secret}/.git\n")
    return evil


@pytest.mark.parametrize(
    "kind",
    ["a file that names it", "a link", "its settings are a link", "a common folder", "a worktree of its own making",
     "a worktree of another", "its branch is a link"],
)  # fmt: skip
def test_a_folder_does_not_get_the_scope_of_a_repository_that_it_points_into(tmp_path: Path, kind: str) -> None:
    evil = planted(tmp_path, kind)
    assert scope(evil) != scope(tmp_path / "secret")
    assert project_of(str(evil)).kind == FOLDER


@pytest.mark.parametrize("damage", ["gitdir: \0", "gitdir:", "nonsense", "gitdir: .git", "gitdir: " + "x" * 100_000])
def test_a_git_file_that_is_none_makes_a_folder(tmp_path: Path, damage: str) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/.git").write_bytes(damage.encode())
    assert project_of(str(tmp_path / "p")).kind == FOLDER


def test_odd_settings_say_nothing_and_stop_nothing(tmp_path: Path) -> None:
    here = repository(tmp_path / "p", "git@github.com:acme/p")
    config = here / ".git/config"
    usual = config.read_bytes()
    for odd in (b"\xff" * 999, b"[" * 50_000, b'[remote "origin"\n' * 999, b"url = x\n", b"#" * (5 << 20)):
        config.write_bytes(odd)
        assert project_of(str(here)).kind == COMMIT
        config.unlink()
        config.write_bytes(usual)
    config.unlink()
    os.mkfifo(config)
    assert project_of(str(here)).kind == COMMIT


def test_git_is_never_run_with_the_settings_of_a_repository(tmp_path: Path) -> None:
    here = repository(tmp_path / "p")
    mark = tmp_path / "ran"
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "alias.rev-list", "remote.origin.uploadpack"):
        git(here, "config", key, f"touch {mark}")
    git(here, "config", "extensions.partialClone", "origin")
    git(here, "config", "core.repositoryFormatVersion", "1")
    assert project_of(str(here)).kind == COMMIT
    assert not mark.exists()


def test_the_first_commit_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = repository(tmp_path / "p")
    name = scope(here)

    def never(*_words: object, **_how: object) -> None:
        raise AssertionError("a program was run")

    monkeypatch.setattr("subprocess.run", never)
    assert scope(here) == name


# --- names of remotes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["https://github.com/acme/widget", "https://github.com/acme/widget.git/", "http://github.com:8080//acme/./widget",
     "git@github.com:acme/widget.git", "github.com:Acme/Widget", "ssh://git@GitHub.com:2222/acme/widget.git",
     "git://github.com/acme/widget.git", "https://user:ghp_abc@github.com/acme/widget?token=x#y",
     "https://github.com/acme%2Fwidget", "git+ssh://git@github.com/acme/widget"],
)  # fmt: skip
def test_a_remote_has_one_name_however_it_is_written(url: str) -> None:
    assert remote_name(url) == "github.com/acme/widget"


@pytest.mark.parametrize("url", ["", "/srv/x.git", "../x", "ext::sh -c touch% x", "https://", "https://host/", ":"])
def test_what_is_no_remote_elsewhere_has_no_name(url: str) -> None:
    assert remote_name(url) == ""


# --- the personal store -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no modes here")
def test_a_personal_store_that_others_may_replace_is_warned_of(personal: None) -> None:
    ok("remember", FACT)
    folder = Path(personal_store()).parent
    assert "Others may write" not in ok("list").notes
    folder.chmod(0o777)
    assert f"chmod go-w {folder}" in ok("list").notes
    assert ok("hook", "--client", "claude", "session-start", stdin=b"{}").notes == ""


def test_one_store_serves_every_folder_and_keeps_projects_apart(tmp_path: Path) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    ok("remember", FACT, cwd=one)
    ok("remember", "The user likes tabs.", "--scope", "global", cwd=one)
    assert "Fridays" in ok("recall", "when do we deploy", cwd=one).text
    assert ok("recall", "when do we deploy", cwd=two).text == ""
    assert "tabs" in ok("recall", "what does the user like", cwd=two).text
    ok("remember", FACT, "--scope", "project", cwd=two)
    assert ok("recall", "deploy", "-w", "default", cwd=two).text.count("Fridays") == 1
    scopes = ok("stats", "--json", cwd=two).json()["by_scope"]
    assert set(scopes) == {scope(one), scope(two), "global"}
    assert not (one / ".memory").exists()


def test_what_a_project_had_before_it_had_git_or_a_remote_is_still_its_own(tmp_path: Path) -> None:
    here = tmp_path / "p"
    here.mkdir()
    ok("remember", "As a folder: apples.", cwd=here)
    git(here, "init", "-q")
    git(here, "commit", "-q", "--allow-empty", "-m", "x")
    ok("remember", "As a repository: pears.", cwd=here)
    git(here, "remote", "add", "origin", "git@github.com:acme/fruit")
    ok("remember", "With a remote: plums.", cwd=here)
    assert all(word in ok("list", cwd=here).text for word in ("apples", "pears", "plums"))
    assert len(ok("stats", "--json", cwd=here).json()["by_scope"]) == 3
    assert not any(word in ok("list", "--scope", "global", cwd=here).text for word in ("apples", "pears", "plums"))


def test_a_store_of_a_project_or_one_that_is_named_goes_before_it(tmp_path: Path) -> None:
    here = repository(tmp_path / "p")
    ok("init", cwd=here)
    ok("remember", FACT, cwd=here)
    assert ok("status", "--json", cwd=here).json()["db_path"] == str(here / ".memory/memory.db")
    assert ok("stats", "--json", cwd=here).json()["by_scope"] == {"project": 1}
    ok("remember", FACT, "--db", tmp_path / "named.db", cwd=tmp_path)
    assert ok("stats", "--json", "--db", tmp_path / "named.db").json()["by_scope"] == {"project": 1}


def test_only_its_user_may_read_it_and_nothing_makes_it_but_init(tmp_path: Path) -> None:
    store = Path(ok("status", "--json", cwd=tmp_path).json()["db_path"])
    assert store.stat().st_mode & 0o777 == 0o600
    assert store.parent.stat().st_mode & 0o777 == 0o700
    other = {"XDG_DATA_HOME": str(tmp_path / "data")}
    ok("remember", FACT, env=other, cwd=tmp_path)
    assert (tmp_path / ".memory/memory.db").exists()
    assert not (tmp_path / "data").exists()


def test_one_that_is_a_link_is_passed_over(tmp_path: Path) -> None:
    ok("init", cwd=tmp_path)
    (tmp_path / "data/memctl").mkdir(parents=True)
    (tmp_path / "data/memctl/memory.db").symlink_to(tmp_path / ".memory/memory.db")
    (tmp_path / "plain").mkdir()
    (tmp_path / ".memory").rename(tmp_path / "elsewhere")
    done = run("list", env={"XDG_DATA_HOME": str(tmp_path / "data")}, cwd=tmp_path / "plain")
    assert "is a link" in done.notes


def test_init_of_it_takes_no_other_place() -> None:
    for words in (("x",), ("--db", "x")):
        assert run("init", "--personal", *words).code == 1
    assert ok("init", "--personal").text == ""


def test_a_mount_keeps_the_scope_of_where_it_was_made(tmp_path: Path) -> None:
    one, notes = repository(tmp_path / "one"), tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Deploying\n\nWe deploy on Fridays.\n")
    ok("mount", notes, cwd=one)
    ok("sync", cwd=tmp_path)
    assert "Fridays" in ok("recall", "when do we deploy", cwd=one).text
    assert ok("recall", "when do we deploy", cwd=tmp_path).text == ""


# --- memctl scope -----------------------------------------------------------------------------------------------------


def test_scope_says_which_one_is_used_here_and_why(tmp_path: Path) -> None:
    here = repository(tmp_path / "p", "https://me:geheim@github.com/acme/widget")
    assert ok("scope", cwd=here).text.startswith("github.com/acme/widget  (the first remote of ")
    found = ok("scope", "show", "--json", cwd=here).json()
    assert (found["scope"], found["kind"], found["personal"]) == ("github.com/acme/widget", REMOTE, True)
    ok("init", cwd=here)
    assert ok("scope", "--json", cwd=here).json()["scope"] == "project"
    assert "geheim" not in ok("scope", "list", "--json", cwd=here).text


def test_the_json_of_scope() -> None:
    for name in ("a", "b"):
        ok("remember", FACT, "--scope", name)
    named = ("--db", "other.db")
    ok("remember", FACT, *named)
    golden("scope-json", "".join(ok("scope", *words, "--json", *named).text for words in ((), ("list",))))
    golden("scope-mv-json", ok("scope", "mv", "a", "b", "--dry-run", "--json").text)
    golden("scope", ok("scope", "list").text)


def test_a_scope_moves_as_a_whole_and_back(tmp_path: Path) -> None:
    here, notes = repository(tmp_path / "p"), tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Deploying\n\nWe deploy on Fridays.\n")
    ok("remember", FACT, cwd=here)
    gone = ok("remember", "We deploy on Mondays.", "-q", cwd=here).text.strip()
    ok("forget", gone, cwd=here)
    ok("remember", "Tabs.", "--scope", "widget", cwd=here)
    ok("mount", notes, cwd=here)
    ok("sync", cwd=here)
    ok("workspace", "set", "w", "--scope", "project", "--read", f"{scope(here)},x", cwd=here)
    before = ok("export", "--complete", cwd=here).text
    planned = ok("scope", "mv", "project", "widget", "--dry-run", "--json", cwd=here).json()
    assert ok("export", "--complete", cwd=here).text == before
    done = ok("scope", "mv", "project", "widget", "--json", cwd=here).json()
    assert {key: done[key] for key in ("items", "archived", "mounts", "workspaces", "joined")} == {
        "items": 2, "archived": 1, "mounts": 1, "workspaces": 1, "joined": 1,
    }  # fmt: skip
    assert planned | {"run": done["run"]} == done | {"dry_run": True}
    assert "run" not in ok("scope", "mv", "project", "widget", "--json", cwd=here).json()
    ok("sync", cwd=here)
    found = ok("scope", "list", "--json", cwd=here).json()["scopes"]
    assert [(one["scope"], one["items"], one["archived"]) for one in found] == [("widget", 3, 1)]
    assert "widget" in ok("workspace", "show", "w", "--json", cwd=here).json()["workspace"]["read_scopes"]
    ok("undo", done["run"], cwd=here)
    assert {one["scope"] for one in ok("scope", "list", "--json", cwd=here).json()["scopes"]} == {"widget", scope(here)}
    assert "Fridays" in ok("recall", "when do we deploy", cwd=here).text


@pytest.mark.parametrize(
    "words",
    [("mv",), ("mv", "project"), ("mv", "project", ""), ("mv", "nothing", "nowhere"), ("mv", "project", "a\nb"),
     ("list", "x"), ("list", "--dry-run"), ("mv", "project", "AKIAQX3BTJ7WNRPLZ5DK")],
)  # fmt: skip
def test_what_scope_does_not_take_it_says(words: tuple[str, ...]) -> None:
    ok("remember", FACT)
    before = ok("scope", "list").text
    assert run("scope", *words).code == 1
    assert ok("scope", "list").text == before


def test_moving_a_scope_to_itself_changes_nothing() -> None:
    ok("remember", FACT)
    assert "run" not in ok("scope", "mv", "project", "project", "--json").json()


# --- the server -------------------------------------------------------------------------------------------------------


def test_a_server_says_which_scope_is_which_and_files_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path / "p", "git@github.com:acme/widget"))
    client = wire.CoreClient(wire.built().core)
    assert "this project's (github.com/acme/widget) and global" in client.hello()["result"]["instructions"]
    client.call("memory_propose", items=json.dumps([{"content": FACT, "why_store": "it is a rule"}]))
    client.call("memory_session_inject", query="When?", session_id="s:1")
    assert ok("stats", "--json").json()["by_scope"] == {"github.com/acme/widget": 1}
    assert "Fridays" in client.call("memory_recall", query="when do we deploy", scope="project")["content"][0]["text"]
    assert "github.com/acme/widget" in ok("session", "list").text
