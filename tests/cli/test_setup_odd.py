"""memctl setup and teardown: odd files, several scopes in one file, and what is the user's own."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memctl.clients import handshake
from support import ok, run, spawn


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"ok": True, "version": "1", "tools": ["memory_recall"]}
    monkeypatch.setattr(handshake, "shake_hands", lambda _argv: answer)


@pytest.mark.parametrize("everyone", [True, False])
def test_teardown_leaves_an_entry_of_the_users_own(everyone: bool) -> None:
    claude, codex = Path.home() / ".claude.json", Path.home() / ".codex" / "config.toml"
    claude.write_text('{"mcpServers": {"memctl": {"command": "/opt/other/server"}}}')
    codex.parent.mkdir()
    codex.write_text('[mcp_servers.memctl]\nurl = "http://127.0.0.1:9/mcp"\n')
    former = claude.read_bytes(), codex.read_bytes()
    ok("teardown", *(["--all"] if everyone else ["claude", "codex"]))
    assert (claude.read_bytes(), codex.read_bytes()) == former


@pytest.mark.parametrize(
    "hooks",
    [
        5, [], None, {"SessionStart": 5}, {"SessionStart": "memctl"}, {"SessionStart": {"a": 1}},
        {"SessionStart": [{"hooks": 5}]}, {"SessionStart": [5, None, {"hooks": [None, {"command": 7}]}]},
        {"SessionStart": [{"command": "memctl hook --client claude x", "bash": "mine"}]},
    ],
)  # fmt: skip
def test_hooks_of_any_form_are_taken_or_refused(hooks: object) -> None:
    path = Path.home() / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": hooks}))
    former = path.read_bytes()
    done = run("setup", "claude")
    assert done.code in (0, 1)
    assert done.code == 0 or "was left as it is" in done.notes
    ok("teardown", "claude")
    assert "mine" in path.read_text() or path.read_bytes() == former


def test_of_setups_at_once_none_loses_what_another_noted() -> None:
    names = {"cursor": ".cursor/mcp.json", "gemini": ".gemini/settings.json", "qwen": ".qwen/settings.json"}
    odd = b'{ "a":[ 1,2],\n\t"mcpServers" : { } }'
    for name in names.values():
        (Path.home() / name).parent.mkdir()
        (Path.home() / name).write_bytes(odd)
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda name: spawn("setup", name, "--no-hooks").code, names))
    assert done == [0, 0, 0]
    ok("teardown", *names)
    for name in names.values():
        assert (Path.home() / name).read_bytes() == odd
        assert len(os.listdir((Path.home() / name).parent)) == 1


def test_a_file_that_is_read_only_stays_and_has_no_copy() -> None:
    first, second = Path.home() / ".claude.json", Path.home() / ".claude" / "settings.json"
    second.parent.mkdir()
    for path in (first, second):
        path.write_text("{}")
    second.chmod(0o444)
    done = run("setup", "claude")
    assert done.code == 1
    assert "it is read-only" in done.notes
    assert (first.read_text(), second.read_text()) == ("{}", "{}")
    assert sorted(os.listdir(second.parent)) == ["settings.json"]
    assert not [name for name in os.listdir(Path.home()) if ".bak." in name]


@pytest.mark.parametrize("first", ["user", "local"])
@pytest.mark.parametrize("gone", ["user", "local"])
def test_teardown_of_one_scope_leaves_the_other_in_the_same_file(first: str, gone: str) -> None:
    path = Path.home() / ".claude.json"
    path.write_text('{"x": 1}')
    other = {"user": "local", "local": "user"}
    ok("setup", "claude", "--no-hooks", "--scope", first)
    ok("setup", "claude", "--no-hooks", "--scope", other[first])
    ok("teardown", "claude", "--scope", gone)
    held = json.loads(path.read_text())
    assert ("memctl" in held.get("mcpServers", {})) == (gone != "user")
    assert ("projects" in held) == (gone != "local")
    ok("teardown", "claude", "--scope", other[gone])
    assert path.read_text() == '{"x": 1}'


def test_teardown_in_one_project_leaves_another() -> None:
    path = Path.home() / ".claude.json"
    for name in ("one", "two"):
        os.makedirs(f"{name}/.git")
        os.chdir(name)
        ok("setup", "claude", "--no-hooks", "--scope", "local")
        os.chdir("..")
    os.chdir("two")
    ok("teardown", "claude", "--scope", "local")
    assert [os.path.basename(name) for name in json.loads(path.read_text())["projects"]] == ["one"]


@pytest.mark.parametrize("allow", [5, None, "Bash(memctl *)", {"a": 1}])
def test_eco_mode_refuses_permissions_of_another_form(allow: object) -> None:
    path = Path(".claude") / "settings.local.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"permissions": {"allow": allow}}))
    former = path.read_bytes()
    done = run("setup", "eco")
    assert (done.code, "was left as it is" in done.notes) == (1, True)
    ok("teardown", "eco")
    assert path.read_bytes() == former


def test_eco_mode_takes_away_hooks_of_older_memctl_and_no_others() -> None:
    folder = Path(".claude") / "hooks"
    folder.mkdir(parents=True)
    (folder / "eco-hint.sh").write_text("echo my own\n")
    (folder / "eco-nudge.sh").write_text("exec memctl hooks eco-nudge\n")
    ok("setup", "eco")
    ok("teardown", "eco")
    assert os.listdir(folder) == ["eco-hint.sh"]


@pytest.mark.parametrize("home", ["", "here"])
def test_without_a_home_nothing_is_written(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    done = run("setup", "claude", "--dry-run")
    assert (done.code, "HOME is no folder" in done.notes) == (1, True)
