"""A git repository as a remote: refs of our own, which nobody sees who does not ask for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from homes import Home, exchange
from memctl import state
from memctl.remote.git import GitCarrier
from support import PATIENCE, run

HUB = "hub.git"


def git(*words: str, cwd: str = ".") -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", *words], cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def pair(*more: str) -> tuple[Home, Home]:
    git("init", "--quiet", "--bare", HUB)
    anna, bert = Home("anna"), Home("bert")
    for one in (anna, bert):
        one.join("--trust", "high", *more, url=HUB)
    return anna, bert


def refs() -> list[str]:
    return git("for-each-ref", "--format=%(refname)", cwd=HUB).split()


def test_statements_travel_through_refs_of_our_own() -> None:
    anna, bert = pair()
    said = anna.say("We deploy on Fridays.")
    exchange(anna, bert)
    bert.ok("edit", said, "--content", "We deploy on Mondays.")
    exchange(bert, anna)
    assert anna.texts() == bert.texts() == ["We deploy on Mondays."]
    assert len(refs()) == 2
    assert all(ref.startswith("refs/memctl/project/") for ref in refs())
    git("clone", "--quiet", HUB, "clone")
    assert git("for-each-ref", cwd="clone") == ""
    assert bert.json("remote", "verify", "team")["status"] == "ok"


def test_refs_that_a_mirror_deleted_are_published_again() -> None:
    anna, bert = pair()
    anna.say("We deploy on Fridays.")
    exchange(anna, bert)
    for ref in refs():
        git("update-ref", "-d", ref, cwd=HUB)
    exchange(anna, bert)
    carl = Home("carl").join(url=HUB)
    carl.sync()
    assert carl.texts() == ["We deploy on Fridays."]


def test_a_compacted_log_is_one_commit_without_the_past() -> None:
    anna, bert = pair()
    said = anna.say("We deploy on Fridays.")
    anna.sync()
    anna.ok("edit", said, "--content", "We deploy on Mondays.")
    anna.sync()
    (ref,) = refs()
    assert git("rev-list", "--count", ref, cwd=HUB).strip() == "2"
    anna.ok("remote", "compact", "team")
    assert git("rev-list", "--count", ref, cwd=HUB).strip() == "1"
    bert.sync()
    assert bert.texts() == ["We deploy on Mondays."]
    anna.say("Something new after that.")
    exchange(anna, bert)
    assert len(bert.texts()) == 2


@pytest.mark.parametrize("action", ["compact", "remove"])
def test_no_copy_of_the_past_stays_on_this_machine(action: str) -> None:
    anna, bert = pair()
    anna.say("We deploy on Fridays.")
    exchange(anna, bert)
    assert [*Path(state.folder(), "remotes").glob("*.git")]
    anna.ok("remote", action, "team")
    assert not [*Path(state.folder(), "remotes").glob("*.git")]
    exchange(bert)
    assert bert.texts() == ["We deploy on Fridays."]


def test_nothing_new_is_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    anna, bert = pair()
    anna.say("We deploy on Fridays.")
    exchange(anna, bert)
    asked: list[str] = []
    call = GitCarrier._git

    def noted(carrier: GitCarrier, *words: str, data: bytes = b"") -> bytes:
        asked.append(words[0])
        return call(carrier, *words, data=data)

    monkeypatch.setattr(GitCarrier, "_git", noted)
    bert.sync()
    assert [word for word in asked if word in ("ls-remote", "fetch", "push")] == ["ls-remote"]


def test_a_reader_without_the_right_to_write_reads() -> None:
    anna, _ = pair()
    anna.say("We deploy on Fridays.")
    anna.sync()
    git("config", "receive.hideRefs", "refs/memctl", cwd=HUB)
    ci = Home("ci").join("--read-only", url=HUB)
    ci.say("Only here.")
    ci.sync()
    assert ci.texts() == ["Only here.", "We deploy on Fridays."]
    writer = Home("writer").join(url=HUB)
    writer.say("It wants to write.")
    refused = writer.run("remote", "sync")
    assert refused.code == 1
    assert "team did not do this" in refused.notes
    git("config", "--unset", "receive.hideRefs", cwd=HUB)
    writer.sync()
    assert "It wants to write." in writer.texts()
    assert len(refs()) == 2


@pytest.mark.parametrize(
    "url",
    [
        "https://anna:xyzzy@example.org/widget.git", "ssh://git:xyzzy@example.org/widget.git",
        "https://anna:@example.org/widget.git", "https://example.org/widget.git?token=xyzzy#refs/heads/memory",
    ],
)  # fmt: skip
def test_no_url_with_a_password_is_kept(url: str) -> None:
    home = Home("anna")
    refused = run("remote", "add", "team", url, env=home.env)
    assert refused.code == 1
    assert "xyzzy" not in refused.notes + refused.text
    assert not Path(home.db).exists() or b"xyzzy" not in Path(home.db).read_bytes()


#: What git, ssh or scp could take for an option or a program.
ODD_URLS = (
    "ext::sh -c touch% ran", "--upload-pack=touch ran", "-x", "-oProxyCommand=touch ran:x", "fd::7", "ftp://host/x",
    "ssh://-oProxyCommand=touch ran/x", "ssh://-oProxyCommand=touch%20ran/x", "ssh://%2DoProxyCommand=touch/x",
    "ssh://git@-oProxyCommand=touch/x", "ssh://-l@host/x", "ssh:///x", "https://-x/y", "git://-x:1/y", "git@-oX:path",
    "-git@host:path", "git@host:-oX", "git@host::x", "file://--upload-pack=touch", "file://-oX/path", "ssh://host:x/y",
    "ssh://a b/y", "ext::sh#refs/heads/memory",
)  # fmt: skip


@pytest.mark.parametrize("url", ODD_URLS)
def test_a_url_that_is_an_option_or_a_program_is_refused(url: str) -> None:
    home = Home("anna")
    assert home.run("remote", "add", "team", "--", url).code == 1
    assert home.json("remote", "list")["total"] == 0
    home.join(url=str(Path("anna").resolve()))
    for planted in (url, f"git:{url}"):
        home.change("UPDATE memctl_remotes SET url = ?", planted)
        refused = home.run("remote", "sync")
        assert refused.code == 1
        assert "cannot use this remote" in refused.notes


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:me/memory.git", "ssh://git@host:22/x.git", "ssh://[::1]:22/x", "https://me@host.example/x.git",
        "https://me%40work@host/x", "git://10.0.0.1/x", "ssh://host/~me/x#refs/heads/memory", "m-e@my_host:x",
    ],
)  # fmt: skip
def test_a_url_that_git_reaches_is_kept(url: str) -> None:
    assert Home("anna").join(url=url).json("remote", "list")["remotes"][0]["url"] == url


def test_no_program_that_a_repository_names_is_run(scratch: Path) -> None:
    git("init", "--quiet", "work")
    marker = scratch / "ran"
    for key in ("core.sshCommand", "core.fsmonitor", "credential.helper", "core.pager", "core.editor"):
        git("config", key, f"!touch {marker}" if key == "credential.helper" else f"touch {marker}", cwd="work")
    hooks = scratch / "work" / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-checkout", "pre-push", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / name).chmod(0o755)
    home = Home("anna")
    for url in ODD_URLS:
        assert run("remote", "add", "team", "--", url, env=home.env, cwd="work").code == 1
    git("init", "--quiet", "--bare", HUB)
    home.join(url=HUB)
    home.say("We deploy on Fridays.")
    assert run("remote", "sync", env=home.env, cwd="work").code == 0
    assert not marker.exists()


def test_no_program_of_a_repository_on_this_machine_is_run_by_a_push(scratch: Path) -> None:
    git("init", "--quiet", "--bare", HUB)
    git("init", "--quiet", "--bare", "other.git")
    marker = scratch / "ran"
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"):
        hook = Path(HUB, "hooks", name)
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    git("config", "core.alternateRefsCommand", f"touch {marker};", cwd=HUB)
    Path(HUB, "objects", "info", "alternates").write_text(f"{scratch / 'other.git' / 'objects'}\n")
    home = Home("anna").join(url=HUB)
    home.say("We deploy on Fridays.")
    home.sync()
    assert len(refs()) == 1
    assert not marker.exists()


def test_what_is_no_log_in_the_repository_is_passed_over() -> None:
    anna, bert = pair()
    anna.say("We deploy on Fridays.")
    anna.sync()
    (ref,) = refs()
    blob = git("hash-object", "-w", "config", cwd=HUB).strip()
    git("update-ref", f"refs/memctl/project/{'ee' * 6}", blob, cwd=HUB)
    git("update-ref", "refs/memctl/project/strange", blob, cwd=HUB)
    tree = git("ls-tree", ref, cwd=HUB)
    assert len(tree.splitlines()) == 1
    bert.sync()
    assert bert.texts() == ["We deploy on Fridays."]


def test_a_place_for_refs_that_a_host_lets_in() -> None:
    git("init", "--quiet", "--bare", HUB)
    anna = Home("anna").join(url=f"{HUB}#refs/heads/memory")
    anna.say("We deploy on Fridays.")
    anna.sync()
    assert [ref.startswith("refs/heads/memory/project/") for ref in refs()] == [True]
    bert = Home("bert").join(url=f"{HUB}#refs/heads/memory")
    exchange(bert, anna)
    assert bert.texts() == ["We deploy on Fridays."]


def test_who_finds_the_repository_in_use_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    anna, bert = pair()
    anna.say("We deploy on Fridays.")
    anna.sync()
    (ref,) = refs()
    lock = Path(HUB, f"{ref}.lock")
    lock.touch()
    anna.say("The API speaks JSON.")
    pauses: list[float] = []

    def free(least: float, _most: float) -> None:
        pauses.append(least)
        lock.unlink()

    monkeypatch.setattr("memctl.ids.pause", free)
    row = anna.sync()
    assert (row["sent"], len(pauses)) == (1, 1)
    bert.sync()
    assert len(bert.texts()) == 2


def test_a_repository_that_stays_in_use_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    anna, _ = pair()
    anna.say("We deploy on Fridays.")
    anna.sync()
    (ref,) = refs()
    lock = Path(HUB, f"{ref}.lock")
    lock.touch()
    anna.say("The API speaks JSON.")
    monkeypatch.setattr("memctl.ids.pause", lambda *_: None)
    refused = anna.run("remote", "sync")
    assert refused.code == 1
    assert "cannot lock ref" in refused.notes
    lock.unlink()
    assert anna.sync()["problems"] == {}
    assert anna.json("remote", "status")["remotes"][0]["ahead"] == 0


def test_many_machines_at_once_all_get_through() -> None:
    git("init", "--quiet", "--bare", HUB)
    everybody = [Home(name).join("--trust", "high", url=HUB) for name in ("anna", "bert", "carl")]
    for one in everybody:
        one.say(f"{one.name} deploys on another day.")
    line = [sys.executable, "-m", "memctl", "remote", "sync"]
    for _ in range(2):
        started = [subprocess.Popen(line, env=os.environ | one.env, stderr=subprocess.PIPE) for one in everybody * 2]
        said = [one.communicate(timeout=PATIENCE)[1] for one in started]
        assert [one.returncode for one in started] == [0] * 6, said
    exchange(*everybody, rounds=1)
    assert len(refs()) == 3
    assert {len(one.texts()) for one in everybody} == {3}
