"""Clients of the server that need nothing but the standard library: JSON-RPC to the core, over pipes, and over HTTP."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memctl.mcp import server
from memctl.mcp.protocol import Request
from support import PATIENCE

Json = dict[str, Any]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def built(*argv: str) -> server.BuiltServer:
    """A server as `memctl serve ARGV` builds it, for this process."""
    words = ["--audit-log", "audit.jsonl", *argv]
    return server.build(*server._from_arguments(server.build_parser().parse_args(words)))


class Client:
    """One connection; `ask` returns the whole answer."""

    def __init__(self) -> None:
        self.number = 0

    def ask(self, method: str, params: Json | None = None) -> Json:
        self.number += 1
        return self._ask({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}})

    def _ask(self, message: Json) -> Json:
        raise NotImplementedError

    def notify(self, method: str) -> None:
        """Tell without an answer."""

    def hello(self) -> Json:
        answer = self.ask("initialize", HELLO)
        self.notify("notifications/initialized")
        return answer

    def call(self, name: str, **arguments: Any) -> Json:
        """The result of a tool."""
        result: Json = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        return result


class CoreClient(Client):
    """Asks the protocol itself, in this process."""

    def __init__(self, core: Any) -> None:
        super().__init__()
        self.core = core

    def _ask(self, message: Json) -> Json:
        answer: Json = self.core.respond(Request(message["id"], message["method"], message["params"]))
        return answer


class PipeClient(Client):
    """Asks `memctl serve` in a process of its own."""

    def __init__(self, *argv: str, stderr: Any = subprocess.PIPE) -> None:
        super().__init__()
        command = [sys.executable, "-m", "memctl", "serve", "--audit-log", "audit.jsonl", *argv]
        self.popen: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )

    def write(self, line: bytes) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(line)
        self.popen.stdin.flush()

    def send(self, message: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def read(self) -> Json:
        assert self.popen.stdout is not None
        answer: Json = json.loads(self.popen.stdout.readline())
        return answer

    def _ask(self, message: Json) -> Json:
        self.send(message)
        while (answer := self.read()).get("id") != message["id"]:
            pass
        return answer

    def notify(self, method: str) -> None:
        self.send({"method": method})

    def close_input(self) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        self.popen.stdin = None

    def end(self) -> tuple[int, str]:
        """The exit code and what was said on stderr, once the process has ended."""
        _, errors = self.popen.communicate(timeout=PATIENCE)
        return self.popen.returncode, (errors or b"").decode()


@contextmanager
def piped(*argv: str) -> Iterator[PipeClient]:
    """A process for the time of a test."""
    made = PipeClient(*argv)
    try:
        yield made
    finally:
        made.popen.kill()
        made.popen.communicate()


class HttpClient(Client):
    """Asks a server over streamable HTTP."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.session = url, ""

    def _ask(self, message: Json) -> Json:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"mcp-session-id": self.session}
        if (message["params"].get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion"):
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": message["method"]}
            if name := message["params"].get("name") or message["params"].get("uri"):
                headers["mcp-name"] = name
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                self.session = answer.headers.get("mcp-session-id") or self.session
                text = answer.read().decode()
        except urllib.error.HTTPError as exc:
            text = exc.read().decode()
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")] or [text]
        answers = [json.loads(line) for line in lines if line.strip()]
        return next((one for one in answers if one.get("id") == message.get("id")), {})

    def notify(self, method: str) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        message = json.dumps({"jsonrpc": "2.0", "method": method}).encode()
        request = urllib.request.Request(self.url, message, headers | {"mcp-session-id": self.session})
        with urllib.request.urlopen(request, timeout=PATIENCE):
            pass


@contextmanager
def listening(*argv: str) -> Iterator[str]:
    """The address of `memctl serve` over HTTP, for the time of a test."""
    with piped("--transport", "streamable-http", "--port", "0", "--no-token", *argv) as process:
        assert process.popen.stderr is not None
        found = None
        while found is None:
            line = process.popen.stderr.readline().decode()
            assert line, "the server did not start"
            found = re.search(r" on (127\.0\.0\.1:\d+)", line)
        yield f"http://{found[1]}/mcp"


def text_of(result: Json) -> str:
    """What a model reads of the result of a tool."""
    (content,) = result["content"]
    return str(content["text"])
