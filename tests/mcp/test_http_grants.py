"""What tokens allow reaches the tools: a real server, asked over real connections."""

import http.client
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import PATIENCE, run

pytest.importorskip("mcp.server")

ALICE, BOB, CAROL = "alice-0123456789abcdef", "bob-0123456789abcdef", "carol-0123456789abcdef"


class Caller:
    """A client with a token and a session."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.session = port, ""
        self.headers = {
            "Authorization": f"Bearer {token}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }  # fmt: skip
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.ask("initialize", about)
        self.headers["Mcp-Session-Id"] = self.session
        self.ask("notifications/initialized", None)

    def ask(self, method: str, params: dict[str, Any] | None) -> Any:
        """The result of a request; None for a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message |= {"id": 1, "params": params}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", "/mcp", json.dumps(message), self.headers)
        got = connection.getresponse()
        body = got.read().decode()
        connection.close()
        self.session = self.session or got.headers.get("Mcp-Session-Id", "")
        found = re.search(r"^(?:data: )?(\{.*)$", body, re.MULTILINE)
        return json.loads(found[1]).get("result") if found and params is not None else None

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers, as a program reads it."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        found: dict[str, Any] = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        return found


@pytest.fixture
def port(scratch: Path) -> Iterator[int]:
    """A server with three tokens, and an audit log."""
    tokens = scratch / "tokens"
    tokens.write_text(f"{ALICE} name=alice\n{BOB} read-only name=bob\n{CAROL} workspace=docs name=carol\n")
    tokens.chmod(0o600)
    command = [
        sys.executable, "-m", "memctl", "serve", "--transport", "streamable-http", "--port", "0", "--toolset", "full",
        "--token-file", str(tokens), "--audit-log", "audit.jsonl",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        found = None
        while found is None:
            line = server.stderr.readline()
            assert line, "the server ended"
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
        yield int(found[1])
        server.terminate()
        _, said = server.communicate(timeout=PATIENCE)
        assert (server.returncode, "Traceback" in said) == (0, False), said


def test_every_token_can_do_what_it_is_for_and_no_more(port: int, scratch: Path) -> None:
    alice, bob, carol = (Caller(port, token) for token in (ALICE, BOB, CAROL))
    assert alice.call("memory_workspace_register", name="docs", scope="docs")["status"] == "ok"
    plan = alice.call("memory_write", title="Plan", content="The launch is on Friday.")["id"]
    alice.call("memory_write", title="Gateway", content="The gateway retries twice.", scope="docs")

    assert bob.call("memory_search", query="launch")["count"] == 1
    assert "may only read" in bob.call("memory_write", title="x", content="y")["message"]

    assert carol.call("memory_search", query="gateway")["count"] == 1
    assert carol.call("memory_search", query="launch", scope="project")["count"] == 0
    assert carol.call("memory_search", query="launch", all_scopes=True)["code"] == "refused"
    assert carol.call("memory_read", ids=plan).get("items", []) == []
    assert "goes beyond workspaces" in carol.call("memory_sync", path=".")["message"]
    stolen = carol.call("memory_write", title="Plan", content="The launch is off.", supersedes=plan)
    assert stolen["code"] == "item-not-found", "what replaces an item stands in its scope"
    assert alice.call("memory_search", query="launch")["items"][0]["id"] == plan
    for tool, how in (("forget", {"id": plan}), ("memory_supersede", {"old_id": plan, "new_content": "Off."})):
        assert "goes beyond workspaces" in carol.call(tool, **how)["message"]
    written = carol.call("memory_write", title="Cache", content="The cache is warm.", scope="project")["id"]
    assert alice.call("memory_search", query="cache", scope="docs")["items"][0]["id"] == written

    lines = [json.loads(line) for line in (scratch / "audit.jsonl").read_text().splitlines()]
    assert {line["sid"] for line in lines} == {"alice", "bob", "carol"}
    assert [line["outcome"] for line in lines if line["sid"] == "bob"] == ["ok", "error"]
    assert ALICE not in (scratch / "audit.jsonl").read_text()


def test_without_a_token_file_a_token_is_made_and_printed() -> None:
    """A server on a loopback address without tokens would be open to every user of the machine."""
    command = [sys.executable, "-m", "memctl", "serve", "-q", "--transport", "streamable-http", "--port", "0"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    command[-1] = str(number)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        made = re.search(r"Bearer ([\w-]{40,})$", server.stderr.readline().strip())
        assert made, "also with -q"
        connection = http.client.HTTPConnection("127.0.0.1", number, timeout=PATIENCE)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200, "a store that is still to be made is no fault"
        connection.close()
        assert Caller(number, made[1]).call("memory_stats")["status"] == "ok"
        for headers in ({}, {"Authorization": "Bearer " + "x" * 43}):
            connection = http.client.HTTPConnection("127.0.0.1", number, timeout=PATIENCE)
            connection.request("POST", "/mcp", b"{}", headers)
            assert connection.getresponse().status == 401
            connection.close()
        server.terminate()
        _, said = server.communicate(timeout=PATIENCE)
    assert made[1] not in said, "it is said once"


def test_one_may_say_that_no_token_is_wanted() -> None:
    done = run("serve", "--check", "--transport", "sse", "--no-token")
    assert done.code == 0
    for argv, why in (
        (["--transport", "sse", "--no-token", "--token-file", "t"], "do not go together"),
        (["--no-token"], "reached over HTTP"),
        (["--transport", "sse", "--no-token", "--host", "0.0.0.0"], "without tokens"),
    ):
        done = run("serve", "--check", *argv)
        assert done.code != 0
        assert why in done.notes
