"""memctl setup and teardown: odd files, several scopes in one file, and what is the user's own."""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memctl import process
from memctl.clients import examine
from support import golden, ok, run, spawn


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"ok": True, "version": "1", "tools": ["memory_recall"]}
    monkeypatch.setattr(examine, "shake_hands", lambda _argv: answer)


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


@pytest.mark.parametrize("before", [None, '{\n\t"x": 1 // mine\n}\n'])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("changed", [False, True])
def test_one_client_leaves_what_another_uses_in_the_same_file(before: str | None, order: int, changed: bool) -> None:
    path = Path(".mcp.json")
    if before is not None:
        path.write_text(before)
    ok("setup", "claude", "--scope", "project", "--no-hooks")
    ok("setup", "copilot", "--scope", "project", "--no-hooks", *(["--db", "m.db"] if changed else []))
    wired = path.read_text()
    first, second = ("claude", "copilot")[::order]
    assert ok("teardown", first, "--scope", "project", "--json").json()["clients"][0]["files"] == []
    assert path.read_text() == wired
    ok("teardown", second, "--scope", "project")
    assert (path.read_text() if path.exists() else None) == before
    assert not list(Path().glob("*.bak.*"))


def test_a_block_stays_until_the_last_client_that_reads_it_is_gone() -> None:
    rules = Path("AGENTS.md")
    rules.write_text("# Rules\n")
    names = ("codex", "copilot", "opencode")
    for name in names:
        ok("setup", name, "--scope", "project", "--block")
    for name in names:
        assert rules.read_text().count("memctl: begin") == 1
        ok("teardown", name, "--scope", "project")
    assert rules.read_text() == "# Rules\n"
    assert os.listdir() == ["AGENTS.md"]


def test_a_client_that_was_never_set_up_takes_nothing_of_another() -> None:
    ok("setup", "claude", "--scope", "project", "--no-hooks")
    ok("teardown", "copilot", "--scope", "project")
    assert "memctl" in Path(".mcp.json").read_text()
    ok("teardown", "claude", "--scope", "project")
    assert os.listdir() == []


def test_a_refused_client_stops_no_other() -> None:
    broken = Path.home() / ".gemini" / "settings.json"
    broken.parent.mkdir()
    broken.write_text('{"a": ')
    done = run("setup", "gemini", "claude", "qwen", "--json")
    assert done.code == 1
    answer = done.json()
    assert answer["status"] == "failed"
    assert [row.get("error") for row in answer["clients"]] == ["client-file-refused", None, None]
    assert "[setup] gemini: " in done.notes
    assert "memctl" in (Path.home() / ".qwen" / "settings.json").read_text()
    done = run("teardown", "--all", "--json")
    assert (done.code, done.json()["status"]) == (1, "failed")
    assert [row["client"] for row in done.json()["clients"]] == ["claude", "gemini", "qwen"]
    assert broken.read_text() == '{"a": '
    assert not (Path.home() / ".qwen").exists()


def test_of_refused_clients_alone_no_server_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "shake_hands", lambda _argv: pytest.fail("it was started"))
    for name in ("gemini", "qwen"):
        (Path.home() / f".{name}").mkdir()
        (Path.home() / f".{name}" / "settings.json").write_text("[]")
    done = run("setup", "gemini", "qwen", "--json")
    assert (done.code, done.json()["status"], done.notes.count("was left as it is")) == (1, "failed", 2)


def test_no_copy_is_left_when_the_client_changed_its_file_meanwhile() -> None:
    path = Path.home() / ".claude.json"
    path.write_text('{"x": 1}')
    for count in (2, 3):
        ok("setup", "claude", "--no-hooks", "--db", f"{count}.db")
        path.write_text(path.read_text().replace('"x": ', f'"x": {count}'))
    assert list(Path.home().glob("*.bak.*"))
    ok("teardown", "claude")
    assert json.loads(path.read_text()) == {"x": 321}
    assert not list(Path.home().glob("*.bak.*"))


def test_what_setup_and_teardown_tell_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (Path.home() / ".claude.json").write_text('{"theme": "dark"}')

    def told(*argv: str) -> str:
        words = {str(Path.home()): "<home>", os.path.dirname(process.own_command()[0]): "<bin>"}
        text = run(*argv, "--json").text
        for word, shown in words.items():
            text = text.replace(word, shown)
        return re.sub(r"\.bak\.\d+_\d+", ".bak.<moment>", text)

    golden("setup-dry-run-json", told("setup", "claude", "--db", "/m.db", "--dry-run"))
    golden("setup-json", told("setup", "claude", "--db", "/m.db"))
    golden("setup-list-json", told("setup", "list"))
    golden("teardown-dry-run-json", told("teardown", "claude", "--dry-run"))
    golden("teardown-json", told("teardown", "claude"))


@pytest.mark.parametrize("text", ['{\n   "theirs" : { "a":[1,2 ,3] } \n }\n', "{}", '{"hooks": {}, "version": 1}'])
def test_a_file_of_our_name_that_was_there_is_given_back(text: str) -> None:
    path = Path(os.environ["HOME"], ".copilot", "hooks", "memctl.json")
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    ok("setup", "copilot")
    ok("teardown", "copilot")
    assert path.read_text(encoding="utf-8") == text


def test_what_somebody_added_to_our_file_stays_when_ours_goes() -> None:
    path = Path(os.environ["HOME"], ".copilot", "hooks", "memctl.json")
    ok("setup", "copilot")
    path.write_text(path.read_text(encoding="utf-8").replace("{", '{"theirs": 1,', 1), encoding="utf-8")
    ok("teardown", "copilot")
    assert json.loads(path.read_text(encoding="utf-8"))["theirs"] == 1
