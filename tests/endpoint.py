"""A scripted endpoint as OpenAI's chat has it, on this machine only, for tests that drive a real model command."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Endpoint(HTTPServer):
    """Answers the n-th request with the n-th text, the last one for ever; `prompts` is what it was asked."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.prompts = answers, list[str]()

    @property
    def address(self) -> str:
        """Its base address, without a path."""
        return f"http://127.0.0.1:{self.server_port}"

    def reply(self, asked: dict[str, Any]) -> bytes:
        """The whole answer as JSON."""
        said = asked["messages"][-1]["content"]
        self.prompts.append(said if isinstance(said, str) else "".join(part.get("text", "") for part in said))
        text = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"], "choices": [choice]}
        return json.dumps(answer | {"usage": usage}).encode()


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        data = self.server.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
