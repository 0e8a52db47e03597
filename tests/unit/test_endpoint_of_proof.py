"""The endpoint of a proof speaks as four makers do, streamed and whole, and notes what it was sent."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from memctl.clients.endpoint import ModelEndpoint

NONCE = "PROOF-1"
TOOL = "mcp__memctl__memory_recall"


@pytest.fixture
def endpoint() -> Iterator[ModelEndpoint]:
    with ModelEndpoint(NONCE, "what is it?") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(endpoint: ModelEndpoint, path: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(endpoint.address + path, json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


WIRES: dict[str, dict[str, Any]] = {
    "/v1/messages": {"tools": [{"name": TOOL}]},
    "/v1/chat/completions": {"tools": [{"type": "function", "function": {"name": TOOL}}]},
    "/v1/responses": {"tools": [{"type": "namespace", "name": "mcp__memctl", "tools": [{"name": "memory_recall"}]}]},
    "/v1beta/models/m:generateContent": {"tools": [{"functionDeclarations": [{"name": TOOL}]}]},
    "/v1beta/models/m:streamGenerateContent": {"tools": [{"functionDeclarations": [{"name": TOOL}]}]},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", WIRES)
def test_it_calls_recall_and_notes_both_ways(endpoint: ModelEndpoint, path: str, stream: bool) -> None:
    body = WIRES[path] | {"stream": stream}
    first = ask(endpoint, path, body | {"messages": [f"told: {NONCE}"]})
    assert "memory_recall" in first
    assert "what is it?" in first
    assert endpoint.seen == (True, False)
    ask(endpoint, path, body | {"messages": [f"told: {NONCE}", "no answer"]})
    assert endpoint.seen == (True, False)
    last = ask(endpoint, path, body | {"messages": [f"told: {NONCE}", f"answer: {NONCE}"]})
    assert endpoint.seen == (True, True)
    assert "Done." in last


def test_a_text_in_a_tool_alone_proves_nothing(endpoint: ModelEndpoint) -> None:
    ask(endpoint, "/v1/messages", {"tools": [{"name": "x", "description": NONCE}], "messages": []})
    assert endpoint.seen == (False, False)


def test_what_it_does_not_know_it_refuses(endpoint: ModelEndpoint) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(endpoint, "/v1/other", {})
    assert ask(endpoint, "/v1/messages/count_tokens", {}).startswith('{"input_tokens"')
    assert endpoint.requests == 0
