"""What is known of AI clients."""

import pytest

from memctl import errors
from memctl.clients.known import CLIENTS, EVENTS, client


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_has_all_that_setup_needs(name: str) -> None:
    one = client(name)
    assert one.name == name
    assert "user" in one.servers
    assert one.seen.startswith(("run, ", "documents, "))
    assert one.version or one.seen.startswith("documents")
    if one.hooks is not None:
        assert set(one.hooks.places) <= set(one.servers)
        assert set(one.hooks.events) <= set(EVENTS)
        assert all(0 < seconds <= 30 for _, seconds in one.hooks.events.values())


def test_names_and_aliases_mean_one_client_each() -> None:
    words = [word for one in CLIENTS.values() for word in (one.name, *one.aliases)]
    assert len(words) == len(set(words))
    assert client("claude-code") is client("claude")
    with pytest.raises(errors.UsageError, match="'emacs' is no client"):
        client("emacs")


def test_paths_follow_the_system_and_the_environment() -> None:
    home = {"HOME": "/home/ann"}
    desktop = client("claude-desktop").servers["user"]
    assert desktop.path("", {"XDG_CONFIG_HOME": "/x"}, "linux") == "/x/Claude/claude_desktop_config.json"
    assert desktop.path("", {"APPDATA": "/roaming"}, "win32") == "/roaming/Claude/claude_desktop_config.json"
    assert desktop.path("", home, "darwin").endswith("/Library/Application Support/Claude/claude_desktop_config.json")
    assert client("codex").servers["user"].path("", {"CODEX_HOME": "/c"}) == "/c/config.toml"
    assert client("codex").servers["user"].path("", {"CODEX_HOME": "c"}).endswith("/.codex/config.toml")
    assert client("claude").servers["local"].path("/p", {"CLAUDE_CONFIG_DIR": "/k"}) == "/k/.claude.json"
    assert client("vscode").servers["project"].path("/p", {}) == "/p/.vscode/mcp.json"
