"""memctl setup and teardown: entries go in and come out, and whatever else a file holds stays as it is."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from memctl.clients import examine
from memctl.clients.json_text import JsonText
from memctl.clients.known import CLIENTS, Place, Scope
from memctl.clients.toml_text import TomlText
from support import ok, run

#: What settings look like that people wrote by hand.
JSON = (
    '\ufeff// mine\r\n{\r\n   "theme": "dark", // so\r\n   /* "mcpServers" */\r\n   "odd" :[1,2 , 3],\r\n'
    '   "mcpServers": {\r\n\t"other": {"command": "x"},\r\n   },\r\n   "hooks": {"Notification": []}\r\n}\r\n'
)
TOML = (
    '\ufeff# mine\r\nmodel = "o" # why\r\n\r\n[mcp_servers.other]\r\ncommand = "x"\r\n'
    'args = [ # many\r\n  "]",\r\n]\r\n\r\n[x]\r\ny = """\r\n[mcp_servers.memctl]\r\n"""\r\n'
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handshake has tests of its own: here the server is not started for each file."""
    answer = {"ok": True, "version": "1", "tools": ["memory_recall"]}
    monkeypatch.setattr(examine, "shake_hands", lambda _argv: answer)


def places(name: str, scope: Scope) -> list[tuple[Path, Place]]:
    one = CLIENTS[name]
    found = [one.servers[scope]] + ([one.hooks.places[scope]] if one.hooks and scope in one.hooks.places else [])
    return [(Path(place.path(os.getcwd(), os.environ)), place) for place in found]


def before(place: Place) -> bytes | None:
    return None if place.shape == "own" else (TOML if place.shape == "toml" else JSON).encode()


def tree() -> dict[str, bytes]:
    """All files of the home but the state, which tells what to give back, and the personal store."""
    home = Path(os.environ["HOME"])
    found = (path for path in home.rglob("*") if path.is_file() and "/.local/" not in str(path))
    return {str(path): path.read_bytes() for path in found}


CASES = [(name, scope) for name, one in CLIENTS.items() for scope in one.servers]


@pytest.mark.parametrize(("name", "scope"), CASES)
@pytest.mark.parametrize("there", [True, False], ids=["file", "no file"])
def test_teardown_gives_back_every_byte(name: str, scope: Scope, there: bool) -> None:
    for path, place in places(name, scope):
        if there and (data := before(place)) is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    former = tree()
    more = ["--skills", "--memory-guard"] if name == "claude" else []
    ok("setup", name, "--scope", scope, "--block", *more)
    once = tree()
    assert once != former
    ok("setup", name, "--scope", scope, "--block", *more)
    assert tree() == once
    ok("teardown", name, "--scope", scope)
    assert tree() == former


@pytest.mark.parametrize(("name", "scope"), CASES)
def test_teardown_leaves_what_others_wrote_meanwhile(name: str, scope: Scope) -> None:
    for path, place in places(name, scope):
        if (data := before(place)) is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    ok("setup", name, "--scope", scope)
    expected = {}
    for path, place in places(name, scope):
        if (data := before(place)) is not None:
            path.write_bytes(
                path.read_bytes() + b"\r\n# mine\r\n".replace(b"#", b"//" if place.shape == "json" else b"#")
            )
            expected[path] = data
    ok("teardown", name, "--scope", scope)
    for path, data in expected.items():
        left = path.read_bytes()
        assert left.startswith(data)
        assert b"mine" in left[len(data) :]
        assert b"memctl" not in left.replace(b'\r\n[mcp_servers.memctl]\r\n"""', b"")


@pytest.mark.parametrize(("name", "scope"), CASES)
def test_a_dry_run_shows_the_diff_and_writes_nothing(name: str, scope: Scope) -> None:
    former = tree()
    done = ok("setup", name, "--scope", scope, "--dry-run")
    assert "+" in done.text
    assert "memctl" in done.text
    assert tree() == former
    files = ok("setup", name, "--scope", scope, "--dry-run", "--json").json()["clients"][0]["files"]
    assert {one["change"] for one in files} == {"created"}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("data", [b'{"a": ', b"\xff\xfe{\0}\0", b"[]", b'{"a": 1} x'])
def test_what_cannot_be_read_is_left_alone(name: str, data: bytes) -> None:
    path, _ = places(name, "user")[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    done = run("setup", name)
    assert done.code == 1
    assert "was left as it is" in done.notes
    assert path.read_bytes() == data
    assert list(path.parent.glob("*.bak.*")) == []


def server(name: str) -> Any:
    path, place = places(name, "user")[0]
    text = path.read_text()
    if place.shape == "toml":
        return TomlText(text).value(("mcp_servers", "memctl", "command")), text
    return JsonText(text).value((*place.keys, "memctl"))


def test_the_entry_names_this_memctl_and_the_store() -> None:
    ok("setup", "claude", "--db", "m.db")
    entry = server("claude")
    assert entry["command"] == os.path.join(os.path.dirname(sys.executable), "memctl")
    assert entry["args"] == ["serve", "--db", os.path.abspath("m.db")]
    assert not os.path.exists("m.db")


def test_the_personal_store_is_made_for_the_user_and_stays() -> None:
    store = Path(os.environ["HOME"]) / ".local" / "share" / "memctl" / "memory.db"
    ok("setup", "claude", "--dry-run")
    ok("setup", "claude", "--db", "m.db")
    ok("setup", "claude", "--scope", "project")
    assert not store.exists()
    ok("setup", "claude")
    ok("teardown", "claude")
    assert store.exists()


def test_codex_waits_for_the_server() -> None:
    ok("setup", "codex")
    assert "required = true" in server("codex")[1]


def test_an_entry_of_another_program_is_replaced_by_force_only() -> None:
    for name, text in (
        ("claude", '{"mcpServers": {"memctl": {"url": "https://x"}}}'),
        ("cline", '{"mcpServers": {"memctl": {"transport": {"command": "x"}}}}'),
        ("codex", '[mcp_servers.memctl]\nurl = "https://x"\n'),
        ("codex", "[mcp_servers.memctl]\ncommand = 'node'\nargs = [\n  '/memctl/https://x',\n]\n"),
    ):
        path, _ = places(name, "user")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        notes = run("setup", name).notes
        assert "runs something else" in notes
        assert "node" not in text or "node /memctl/https://x" in notes
        assert path.read_text() == text
        ok("setup", name, "--force")
        assert "https://x" not in path.read_text()
        ok("teardown", name)
        assert path.read_text() == text


def test_what_a_person_added_to_the_entry_stays() -> None:
    path, _ = places("claude", "user")[0]
    path.write_text('{"mcpServers": {"memctl": {"command": "/old/memctl", "args": [], "env": {"A": "1"}}}}')
    ok("setup", "claude")
    assert server("claude")["env"] == {"A": "1"}
    assert server("claude")["args"] == ["serve"]


def test_what_others_changed_between_two_setups_is_no_state_to_go_back_to() -> None:
    path, _ = places("gemini", "user")[0]
    path.parent.mkdir()
    path.write_text('{"a": 1}')
    ok("setup", "gemini")
    path.write_text(path.read_text().replace("1", "2", 1))
    ok("setup", "gemini", "--db", "m.db")
    ok("teardown", "gemini")
    assert path.read_text() == '{"a": 2}'


def test_a_link_of_a_dotfiles_folder_is_followed_and_stays(scratch: Path) -> None:
    real = scratch / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o600)
    path, _ = places("claude", "user")[0]
    path.symlink_to(real)
    ok("setup", "claude")
    assert path.is_symlink()
    assert "memctl" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    ok("teardown", "claude")
    assert path.is_symlink()
    assert real.read_text() == "{}\n"


def test_a_link_of_a_project_may_not_lead_out_of_it(scratch: Path) -> None:
    outside = scratch.parent / "outside.json"
    outside.write_text("{}")
    (scratch / ".mcp.json").symlink_to(outside)
    assert "leads out of the project" in run("setup", "claude", "--scope", "project").notes
    assert outside.read_text() == "{}"


def test_the_project_is_the_folder_with_git(scratch: Path) -> None:
    (scratch / ".git").mkdir()
    (scratch / "a" / "b").mkdir(parents=True)
    ok("setup", "claude", "--scope", "project", cwd=scratch / "a" / "b")
    assert (scratch / ".mcp.json").exists()


def test_a_file_that_changes_meanwhile_is_not_overwritten(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memctl.clients import file_edits

    path = Path(os.environ["HOME"]) / ".claude.json"
    path.write_text("{}")
    back_up = file_edits._backup_path

    def meddle(edit: file_edits.FileEdit) -> str:
        path.write_text('{"new": 1}')
        return back_up(edit)

    monkeypatch.setattr(file_edits, "_backup_path", meddle)
    assert "has just changed it" in run("setup", "claude").notes
    assert path.read_text() == '{"new": 1}'


def test_when_one_file_cannot_be_written_none_is_changed() -> None:
    home = Path(os.environ["HOME"])
    (home / ".claude").write_text("in the way of the hooks")
    done = run("setup", "claude")
    assert done.code == 1
    assert "cannot write" in done.notes
    assert not (home / ".claude.json").exists()


def test_hooks_run_this_memctl_and_those_of_others_stay() -> None:
    path = places("claude", "user")[1][0]
    path.parent.mkdir()
    theirs = {"type": "command", "command": "mine"}
    old = {"type": "command", "command": "/old/memctl hook --client claude prompt"}
    path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [theirs, old]}]}}))
    ok("setup", "claude")
    hooks = json.loads(path.read_text())["hooks"]
    line = f"{os.path.dirname(sys.executable)}/memctl hook --client claude "
    assert [one["hooks"][0]["command"] for one in hooks["SessionStart"]] == [f"{line}session-start"]
    assert [one["hooks"][0]["command"] for one in hooks["UserPromptSubmit"]] == ["mine", f"{line}prompt"]
    path.write_text(path.read_text() + "\n")
    ok("teardown", "claude")
    assert json.loads(path.read_text()) == {"hooks": {"UserPromptSubmit": [{"hooks": [theirs]}]}}


def test_skills_and_the_guard_of_notes_are_claude_codes(tmp_path: Path) -> None:
    ok("setup", "claude", "--skills", "--memory-guard")
    home = Path.home()
    assert {path.parent.name for path in home.glob(".claude/skills/*/SKILL.md")} == {
        "memory-hygiene", "memory-init", "memory-save",
    }  # fmt: skip
    (element,) = json.loads((home / ".claude/settings.json").read_text())["hooks"]["PreToolUse"]
    assert element["matcher"] == "Edit|MultiEdit|Write"
    assert element["hooks"][0]["command"].endswith("hooks memory-guard")
    mine = home / ".claude/skills/memory-save/SKILL.md"
    mine.write_text("mine")
    ok("setup", "claude", "--skills")
    ok("teardown", "claude")
    assert mine.read_text() == "mine"
    assert [path for path in home.glob(".claude/**/*") if path.is_file()] == [mine]
    refused = run("setup", "codex", "--skills")
    assert refused.code == 1
    assert not (home / ".codex").exists()


def test_the_list_says_where_memory_is() -> None:
    ok("setup", "gemini")
    ok("setup", "claude", "--scope", "project")
    (Path.home() / ".qwen").mkdir()
    (Path.home() / ".qwen/settings.json").write_text("no json")
    found = {one["client"]: one for one in ok("setup", "list", "--json").json()["clients"]}
    assert set(found) == set(CLIENTS)
    assert {name: one["set_up"] for name, one in found.items() if one["set_up"]} == {
        "gemini": ["user"], "claude": ["project"], "copilot": ["project"],
    }  # fmt: skip
    assert found["qwen"]["installed"]
    assert "gemini          installed  user\n" in ok("setup", "--list").text


def test_all_means_those_that_are_installed() -> None:
    home = Path(os.environ["HOME"])
    assert "no client is installed" in run("setup", "--all", env={"PATH": ""}).notes
    (home / ".cursor").mkdir()
    (home / ".gemini").mkdir()
    done = ok("setup", "--all", "--json", env={"PATH": ""}).json()
    assert [one["client"] for one in done["clients"]] == ["gemini", "cursor"]
    assert [one["client"] for one in ok("teardown", "--all", "--json").json()["clients"]] == ["gemini", "cursor"]
    assert "Nothing of memctl is there" in ok("teardown", "--all").notes


def test_a_terminal_is_asked() -> None:
    terminal = frozenset({"stdin", "stderr"})
    assert "nothing was changed" in run("setup", "claude", stdin="n\n", tty=terminal).notes
    assert tree() == {}
    ok("setup", "claude", stdin="y\n", tty=terminal)
    ok("teardown", "claude", "--yes", tty=terminal)


def test_names_that_make_no_sense_are_told() -> None:
    assert "no client that memctl knows" in run("setup", "emacs").notes
    assert "name clients, or --all" in run("setup").notes
    assert "no settings of the scope local" in run("setup", "codex", "--scope", "local").notes


def test_the_block_stands_once_and_goes_without_a_trace(scratch: Path) -> None:
    rules = scratch / "AGENTS.md"
    for text in ("", "# Rules\n", "# Rules", "# Rules\r\n\r\nBe brief.\r\n"):
        rules.write_text(text, newline="")
        ok("setup", "codex", "--scope", "project", "--block")
        ok("setup", "codex", "--scope", "project", "--block")
        assert rules.read_text().count("memctl: begin") == 1
        rules.write_bytes(rules.read_bytes() + b"More.\n")
        ok("teardown", "codex", "--scope", "project")
        assert rules.read_bytes().decode() in {text + "More.\n", text + "\nMore.\n"}
    rules.write_text("<!-- memctl: begin -->\nno end\n")
    assert "the fences" in run("setup", "codex", "--scope", "project", "--block").notes


def test_the_json_is_one_object() -> None:
    done = ok("setup", "cursor", "--no-hooks", "--json").json()
    assert list(done) == ["status", "dry_run", "scope", "command", "clients", "server"]
    assert done["server"]["tools"] == ["memory_recall"]
    assert json.dumps(done["clients"][0]["files"][0]["change"]) == '"created"'


_PLAIN = {"memctl": {"command": "M", "args": ["serve"]}}


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("cursor", ".cursor/mcp.json", {"mcpServers": _PLAIN}),
        ("vscode", ".config/Code/User/mcp.json", {"servers": {"memctl": {"type": "stdio", **_PLAIN["memctl"]}}}),
        ("windsurf", ".codeium/windsurf/mcp_config.json", {"mcpServers": _PLAIN}),
        ("zed", ".config/zed/settings.json", {"context_servers": _PLAIN}),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json", {"mcpServers": _PLAIN}),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")
def test_clients_that_cannot_run_here_get_what_their_vendors_document(
    name: str, path: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memctl.ops.connect.setup.own_command", lambda: ["M"])
    ok("setup", name)
    assert json.loads((Path.home() / path).read_text()) == expected
