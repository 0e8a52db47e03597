"""memctl doctor --client, and --prove with a stand-in for a client: what is wrong is said, what works is shown."""

import json
import os
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memctl.clients import examine
from support import ok, run

PLUGIN = Path(__file__).resolve().parents[2] / "extras" / "claude-code"

#: A client as Claude Code and llm are ones, as far as a proof needs it: it runs the hook, offers the tools, calls one,
#: and says all of it to its model. Words leave parts of that out.
CLIENT = """
import json, os, subprocess, sys, urllib.request
if "--version" in sys.argv:
    print("9.9.9 (stand-in)"); sys.exit()
HOW = {how!r}
if HOW == "dies":
    sys.exit("no licence")
home, is_llm = os.environ["HOME"], os.path.basename(sys.argv[0]) == "llm"
prompt = sys.argv[-1] if is_llm else sys.argv[sys.argv.index("-p") + 1]
files = [home + "/.claude/settings.json", home + ("/.llm-tools-mcp/mcp.json" if is_llm else "/.claude.json")]
if "--plugin-dir" in sys.argv:
    assert not any(map(os.path.exists, files))
    files = [sys.argv[sys.argv.index("--plugin-dir") + 1] + name for name in ("/hooks/hooks.json", "/.mcp.json")]
assert "SECRET" not in os.environ
said = [{{"role": "user", "content": prompt}}]
if HOW != "no hooks" and not is_llm:
    hooks = json.load(open(files[0]))["hooks"]["UserPromptSubmit"]
    line = hooks[0]["hooks"][0]["command"]
    event = json.dumps({{"prompt": prompt, "session_id": "s", "hook_event_name": "UserPromptSubmit"}})
    told = subprocess.run(line, shell=True, input=event, capture_output=True, text=True).stdout
    said.append({{"role": "user", "content": json.loads(told)["hookSpecificOutput"]["additionalContext"]}})
entry = json.load(open(files[1]))["mcpServers"]["memctl"]
if is_llm:
    (model,) = json.load(open(home + "/.config/io.datasette.llm/extra-openai-models.yaml"))
    assert [model["model_id"], "MCP"] == [sys.argv[sys.argv.index(word) + 1] for word in ("-m", "-T")]
url = model["api_base"] + "/chat/completions" if is_llm else os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
def ask(body):
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())) as answer:
        return json.load(answer)
body = {{"model": "m", "messages": said, "tools": [{{"name": "mcp__memctl__memory_recall"}}]}}
answer = ask(body)
if is_llm:
    given = json.loads(answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
else:
    given = answer["content"][0]["input"]
if HOW != "no tools":
    hello = {{"protocolVersion": "2025-06-18", "capabilities": {{}}, "clientInfo": {{"name": "x", "version": "1"}}}}
    lines = [
        {{"id": 1, "method": "initialize", "params": hello}}, {{"method": "notifications/initialized"}},
        {{"id": 2, "method": "tools/call", "params": {{"name": "memory_recall", "arguments": given}}}},
    ]
    told = subprocess.run(
        [entry["command"], *entry["args"]], capture_output=True, text=True,
        input="".join(json.dumps({{"jsonrpc": "2.0", **one}}) + "\\n" for one in lines),
    ).stdout
    said.append({{"role": "user", "content": told}})
    ask(body)
"""


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a stand-in for a client on PATH."""
    os.makedirs("bin")
    monkeypatch.setenv("PATH", os.path.abspath("bin") + os.pathsep + os.environ["PATH"])
    monkeypatch.setenv("SECRET", "x")

    def make(how: str = "", name: str = "claude") -> None:
        path = Path("bin", name)
        path.write_text(f"#!{sys.executable}\n{CLIENT.format(how=how)}", encoding="utf-8")
        path.chmod(0o700)

    return make


@pytest.fixture(autouse=True)
def command(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The memctl that entries run, wherever tests run."""
    path = os.path.abspath("memctl")
    Path(path).write_text(f"#!{sys.executable}\nimport sys\nfrom memctl.__main__ import entry\nsys.exit(entry())\n")
    os.chmod(path, 0o700)
    monkeypatch.setattr(examine, "own_command", lambda: [path])
    monkeypatch.setattr("memctl.ops.connect.setup.own_command", lambda: [path])
    return [path]


def checks(name: str, *flags: str) -> dict[str, tuple[str, str]]:
    done = run("doctor", "--client", name, *flags, "--json")
    data: Any = done.json()
    found = {one["name"]: (one["status"], one["message"]) for one in data["checks"]}
    assert done.code == (1 if data["status"] == "fail" else 0)
    return found


def test_a_client_without_an_entry() -> None:
    found = checks("zed")
    assert found["client_entry"] == ("fail", "Zed has no entry of memctl: memctl setup zed makes it")


def test_a_client_that_was_set_up() -> None:
    ok("setup", "claude")
    found = checks("claude-code")
    assert {name for name, (status, _) in found.items() if status != "pass"} <= {"client_program"}
    assert {"client_entry", "client_command", "client_handshake", "client_store", "client_hooks"} <= set(found)


@pytest.mark.parametrize(
    "name", ["codex", "gemini", "opencode", "copilot", "qwen", "cline", "cursor", "windsurf", "llm"]
)
def test_what_setup_writes_doctor_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"ok": True, "version": "1", "tools": ["memory_recall"]}
    monkeypatch.setattr(examine, "shake_hands", lambda _argv: answer)
    ok("--db", "notes.db", "setup", name)
    found = checks(name)
    assert found["client_command"][0] == "pass"
    assert found["client_hooks"][0] == "pass"
    assert found["client_store"] == (
        "warn",
        f"It uses {os.path.abspath('notes.db')}, which is not there yet: the first tool that stores something makes it",
    )
    assert ("client_trust" in found) == (name == "codex")


def test_the_store_that_a_table_below_the_entry_names_is_seen() -> None:
    ok("setup", "codex")
    with (Path(os.environ["HOME"]) / ".codex" / "config.toml").open("a") as file:
        file.write("\n[mcp_servers.memctl.env]\nMEMCTL_DB = '/no/such.db'\n")
    assert "It uses /no/such.db" in checks("codex")["client_store"][1]


def test_codex_trust_is_read() -> None:
    ok("setup", "codex", "--no-hooks")
    home = Path(os.environ["HOME"]) / ".codex"
    assert checks("codex")["client_hooks"][0] == "warn"
    ok("setup", "codex")
    assert checks("codex")["client_trust"][0] == "warn"
    noted = home / "config.toml"
    hooks = json.loads((home / "hooks.json").read_text())["hooks"]
    for theirs, event in (("SessionStart", "session_start"), ("UserPromptSubmit", "user_prompt_submit")):
        line, seconds = (hooks[theirs][0]["hooks"][0][key] for key in ("command", "timeout"))
        one = f'{{"async":false,"command":{json.dumps(line)},"timeout":{seconds},"type":"command"}}'
        trusted = sha256(f'{{"event_name":"{event}","hooks":[{one}]}}'.encode()).hexdigest()
        with noted.open("a") as file:
            file.write(f'\n[hooks.state."{home}/hooks.json:{event}:0:0"]\ntrusted_hash = "sha256:{trusted}"\n')
    assert checks("codex")["client_trust"][0] == "pass"
    noted.write_text(noted.read_text().replace(trusted, "0" * 64))
    assert checks("codex")["client_trust"][0] == "warn"


def test_the_hash_of_a_hook_is_the_one_that_codex_makes() -> None:
    ok("setup", "codex", "--no-hooks")
    home = Path(os.environ["HOME"]) / ".codex"
    line = "'/opt/m\u00e9 \" m/memctl' hook --client codex session-start"
    own = [{"type": "command", "command": "x"}, {"type": "command", "command": line, "timeout": 10}]
    (home / "hooks.json").write_text(json.dumps({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": own}]}}))
    said = "bd28f51fd2cda8b9a6b40a8ed68538c5fd6e027c3e6d65610fbc70cebe77a9e1"  # hooks/list of Codex 0.169.0
    with (home / "config.toml").open("a") as file:
        file.write(f'[hooks.state."{home}/hooks.json:session_start:0:1"]\ntrusted_hash = "sha256:{said}"\n')
    assert checks("codex")["client_trust"][0] == "pass"


def install(name: str) -> None:
    """Note the plugin as Claude Code does that installed it."""
    plugins = Path.home() / ".claude/plugins"
    plugins.mkdir(parents=True)
    place = [{"scope": "user", "installPath": str(PLUGIN)}]
    (plugins / "installed_plugins.json").write_text(json.dumps({"version": 2, "plugins": {name: place}}))


def test_the_plugin_of_claude_code_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{os.getcwd()}{os.pathsep}{os.environ['PATH']}")
    settings = Path(os.environ["HOME"]) / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"enabledPlugins": {"other@x": true, "memctl@memctl": false}}')
    assert checks("claude")["client_entry"][0] == "fail"
    settings.write_text('{"enabledPlugins": {"memctl@memctl": true}}')
    assert checks("claude")["client_entry"][0] == "fail", "it is not installed"
    install("memctl@memctl")
    found = checks("claude")
    assert found["client_entry"] == ("pass", "The plugin memctl@memctl brings the server and the hooks")
    assert {found[name][0] for name in ("client_command", "client_handshake", "client_hooks")} == {"pass"}
    assert "told twice" in ok("setup", "claude").notes
    assert checks("claude")["client_plugin"][0] == "warn"
    Path(".claude").mkdir()
    Path(".claude/settings.json").write_text('{"enabledPlugins": {"memctl@memctl": false}}')
    assert "client_plugin" not in checks("claude")


def test_what_is_broken_is_named(command: list[str]) -> None:
    ok("setup", "claude")
    os.rename(command[0], "elsewhere")
    found = checks("claude")
    assert found["client_command"][0] == "fail"
    assert found["client_hooks"][0] == "fail"
    Path(command[0]).write_text("#!/bin/sh\nexit 3\n")
    os.chmod(command[0], 0o700)
    assert checks("claude")["client_handshake"][0] == "fail"
    (Path(os.environ["HOME"]) / ".claude.json").write_text("{ no json", encoding="utf-8")
    found = checks("claude")
    assert found["client_config"][0] == "fail"
    assert found["client_entry"][0] == "fail"


def test_memory_that_reaches_the_model_is_proven(client: Callable[..., None]) -> None:
    client()
    ok("setup", "claude")
    before = sorted(Path(os.environ["HOME"]).rglob("*"))
    found = checks("claude", "--prove")
    assert found["client_proof_hook"][0] == "pass"
    assert found["client_proof_tools"][0] == "pass"
    assert "9.9.9" in found["client_proof"][1]
    assert [path for path in sorted(Path(os.environ["HOME"]).rglob("*")) if ".local" not in str(path)] == [
        path for path in before if ".local" not in str(path)
    ]


@pytest.mark.parametrize(
    ("how", "failing"),
    [("no hooks", "client_proof_hook"), ("no tools", "client_proof_tools"), ("dies", "client_proof")],
)
def test_what_does_not_reach_the_model_is_not_proven(how: str, failing: str, client: Callable[..., None]) -> None:
    client(how)
    found = checks("claude", "--prove")
    assert {name for name, (status, _) in found.items() if status == "fail"} == {"client_entry", failing}
    if how == "dies":
        assert "no licence" in found["client_proof"][1]


def test_a_client_that_has_tools_alone_is_proven_by_them(client: Callable[..., None]) -> None:
    client(name="llm")
    ok("setup", "llm")
    found = checks("llm", "--prove")
    assert {name for name, (status, _) in found.items() if status != "pass"} == set()
    assert "client_proof_tools" in found
    assert "client_proof_hook" not in found


def test_a_plugin_is_proven_as_it_is_installed(client: Callable[..., None], command: list[str]) -> None:
    client()
    os.symlink(command[0], "bin/memctl")
    install("memctl@shop")
    (Path.home() / ".claude/settings.json").write_text(json.dumps({"enabledPlugins": {"memctl@shop": True}}))
    found = checks("claude", "--prove")
    assert {name: one for name, one in found.items() if one[0] != "pass"} == {}
    assert {"client_proof_hook", "client_proof_tools"} <= set(found)
    assert "plugin" in found["client_proof"][1]


def test_a_proof_that_cannot_be_made_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "not installed" in checks("gemini", "--prove")["client_proof"][1]
    assert checks("zed", "--prove")["client_proof"][0] == "warn"


def test_flags_that_mean_nothing_are_refused() -> None:
    assert run("doctor", "--prove").code == 1
    assert run("doctor", "--client", "claude", "--fix").code == 1
    assert run("doctor", "--client", "nobody").code == 1
    assert json.loads(run("doctor", "--client", "nobody", "--json").notes)["error"] == "usage-error"


@pytest.mark.parametrize("args", [["serve"], ["reset", "--confirm"], ["serve", "--db", "x.db", "--config", "y"]])
def test_a_command_of_a_strangers_project_is_not_run(args: list[str], scratch: Path, command: list[str]) -> None:
    program, shown = scratch / "strangers-memctl", scratch / "ran"
    program.write_text(f"#!/bin/sh\ntouch {shown}\n")
    program.chmod(0o755)
    words = [str(program), *args] if args == ["serve"] else [*command, *args]
    entry = {"command": words[0], "args": words[1:]}
    (scratch / ".mcp.json").write_text(json.dumps({"mcpServers": {"memctl": entry}}))
    for flags in ([], ["--prove"]):
        assert checks("claude", *flags)["client_handshake"][0] == "fail"
        assert not shown.exists()


def test_the_command_that_setup_wrote_for_a_project_is_run(command: list[str]) -> None:
    ok("setup", "claude", "--scope", "project")
    assert checks("claude")["client_handshake"][0] == "pass"


def test_an_entry_with_a_way_of_transport_is_looked_at() -> None:
    entry = {"transport": "http", "url": "http://127.0.0.1:9/"}
    (Path.home() / ".claude.json").write_text(json.dumps({"mcpServers": {"memctl": entry}}))
    assert checks("claude")["client_command"][0] == "fail"
