"""Embedders for tests: a made-up model that knows a few synonyms, behind an endpoint and as a command."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

SAME = {"automobile": "car", "vehicle": "car", "physician": "doctor", "purchase": "buy"}
DIMENSION = 192

COMMAND = """
import json, sys
sys.path.insert(0, {tests!r})
from embedders import vector
for number, line in enumerate(sys.stdin):
    print(json.dumps(vector(json.loads(line))))
"""


def vector(text: str) -> list[float]:
    """What the made-up model makes of a text: its words, synonyms alike, each in a direction of its own."""
    out = [0.0] * DIMENSION
    for word in {SAME.get(word, word) for word in text.lower().split()} or {""}:
        bits = int.from_bytes(sha256(word.encode()).digest(), "little")
        for at in range(DIMENSION):
            out[at] += 1 if bits >> at & 1 else -1
    return out if any(out) else [1.0] * DIMENSION


class Endpoint:
    """A running endpoint: its address, what it was asked, and what answers."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answer: Callable[[str, dict[str, Any]], tuple[int, bytes]] = usual

    @property
    def texts(self) -> list[str]:
        """All texts it was given."""
        return [text for _, _, asked in self.requests for text in asked["input"]]


def usual(path: str, asked: dict[str, Any]) -> tuple[int, bytes]:
    """What a working endpoint answers: Ollama's form or OpenAI's, by the path."""
    made = [vector(text) for text in asked["input"]]
    if path == "/api/embed":
        return 200, json.dumps({"embeddings": made}).encode()
    rows = [{"index": at, "embedding": one} for at, one in enumerate(made)]
    return 200, json.dumps({"data": rows[::-1]}).encode()


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """An endpoint on this machine, as long as the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.requests.append((self.path, dict(self.headers), asked))
            code, body = made.answer(self.path, asked)
            self.send_response(code)
            if code == 302:
                self.send_header("Location", f"{made.url}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    made = Endpoint(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def command(folder: Path) -> str:
    """The embedder that runs the made-up model as a program."""
    script = folder / "embedder.py"
    script.write_text(COMMAND.format(tests=str(Path(__file__).parent)))
    return f"cmd:{sys.executable} {script}"
