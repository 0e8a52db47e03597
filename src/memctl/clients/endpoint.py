"""A model endpoint on loopback that says little, and notes whether a client sent it a certain text.

It speaks what clients ask: Anthropic's messages, OpenAI's chat completions and responses, Gemini's generateContent,
each as a stream and whole. It asks for memory's recall once, if that tool is offered, and else ends the turn.
"""

import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from memctl.annotations import Any, NamedTuple

#: Bytes of a request that are read; what a client sends at its first turn has 200 KB.
_MOST = 64 << 20
_MODEL, _ID = "stub-model", "memctl-proof"
_USED = 1000


class Offer(NamedTuple):
    """A tool that a request offers: its name, and the server that stands before it where clients say that apart."""

    name: str
    server: str = ""


class Said(NamedTuple):
    """What the model says: a text, or with a `tool` a call of it."""

    text: str = "Done."
    tool: Offer | None = None
    given: Mapping[str, Any] = {}


class ModelEndpoint(ThreadingHTTPServer):
    """The endpoint, and what was seen of `nonce`: `unasked`, before any tool was called, and in a tool's answer.

    query     what recall is asked
    requests  how many were for an answer; `offered`: the names of memory's tools in them
    """

    daemon_threads = True

    def __init__(self, nonce: str, query: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.nonce, self.query = nonce, query
        self.requests, self.calls = 0, 0
        self.offered: set[str] = set()
        self.unasked = self.recalled = False
        self._lock = threading.Lock()
        self._before = 0

    @property
    def address(self) -> str:
        """Its base address, without a path."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def seen(self) -> tuple[bool, bool]:
        """Whether the text came unasked, and whether in the answer of a tool."""
        return self.unasked, self.recalled

    def next(self, body: dict[str, Any]) -> Said:
        """What the model says to a request, whose text is searched before."""
        offers = list(_offers(body.get("tools")))
        text = json.dumps({key: value for key, value in body.items() if key != "tools"}, ensure_ascii=False)
        with self._lock:
            self.requests += 1
            seen = text.count(self.nonce)
            if not self.calls:
                self.unasked = self.unasked or seen > 0
                self._before = max(self._before, seen)
            elif seen > self._before:
                self.recalled = True
            self.offered |= {offer.name for offer in offers if "memory_" in offer.name}
            if self.recalled or not offers:
                return Said()
            said = self._call(offers)
            self.calls += said.tool is not None and "recall" in f"{said.tool.name}{said.given}"
            return said

    def _call(self, offers: list[Offer]) -> Said:
        """The call that brings recall's answer nearer; where tools are deferred, that of the tool that finds them."""
        ask = {"query": self.query}
        recall = next((offer for offer in offers if offer.name.endswith("memory_recall")), None)
        if self.calls > 2:
            return Said()
        if recall is not None:
            return Said(tool=recall, given=ask)
        name = "mcp__memctl__memory_recall"
        search = next((offer for offer in offers if offer.name in ("ToolSearch", "tool_search")), None)
        through = next((offer for offer in offers if offer.name == "tool_call"), None)
        if search is not None and not (through and self.calls):
            return Said(tool=search, given={"query": f"select:{name}"})
        return Said(tool=through, given={"name": name, "arguments": ask}) if through else Said()


def _offers(tools: Any) -> Iterator[Offer]:
    """The tools of a request, in whichever of the four ways it offers them."""
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        if tool.get("type") == "namespace":  # Codex: a server with its tools
            yield from (Offer(inner.name, str(tool.get("name", ""))) for inner in _offers(tool.get("tools")))
        elif "functionDeclarations" in tool:
            yield from _offers(tool["functionDeclarations"])
        else:
            name = tool.get("name") or (tool.get("function") or {}).get("name")
            if isinstance(name, str):
                yield Offer(name)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelEndpoint

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: nobody reads it."""

    def do_HEAD(self) -> None:
        """A client looks whether somebody is there."""
        self._whole(b"")

    def do_GET(self) -> None:
        """The list of models, for whatever asks."""
        self._whole({"object": "list", "data": [{"id": _MODEL, "object": "model", "created": 1, "owned_by": "memctl"}]})

    def do_POST(self) -> None:
        """A request for an answer, or for its size in tokens."""
        path, data = self.path.partition("?")[0], self._body()
        try:
            body = json.loads(data or b"{}")
        except (ValueError, RecursionError):
            body = {}
        if path.endswith(("count_tokens", ":countTokens")):
            self._whole({"input_tokens": _USED, "totalTokens": _USED})
            return
        shape = next((make for end, make in _SHAPES.items() if end in path), None)
        if shape is None or not isinstance(body, dict):
            self._whole({"error": {"type": "not_found_error", "message": "no such path"}}, 404)
            return
        said = self.server.next(body)
        whole, events = shape(said)
        if body.get("stream") or "streamGenerateContent" in path:
            self._stream(events)
        else:
            self._whole(whole)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            data = self.rfile.read(min(int(self.headers.get("content-length") or 0), _MOST))
        else:
            parts = []
            while size := int(self.rfile.readline(100).partition(b";")[0] or b"0", 16):
                parts.append(self.rfile.read(min(size, _MOST)))
                self.rfile.readline(100)
            self.rfile.readline(100)
            data = b"".join(parts)
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def _whole(self, value: Any, status: int = 200) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            kind = event.get("type") if isinstance(event, dict) else None
            text = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write((f"event: {kind}\n" if kind else "").encode() + f"data: {text}\n\n".encode())
        self.close_connection = True


# --- the words of each maker: an answer as a whole, and as events ---


def _anthropic(said: Said) -> tuple[dict[str, Any], list[Any]]:
    usage = {"input_tokens": _USED, "output_tokens": 9}
    block: dict[str, Any] = {"type": "text", "text": said.text}
    delta: dict[str, Any] = {"type": "text_delta", "text": said.text}
    empty: dict[str, Any] = {"type": "text", "text": ""}
    if said.tool:
        block = {"type": "tool_use", "id": f"toolu_{_ID}", "name": said.tool.name, "input": dict(said.given)}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.given)}
        empty = block | {"input": {}}
    stop = "tool_use" if said.tool else "end_turn"
    message: dict[str, Any] = {
        "id": f"msg_{_ID}",
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "stop_sequence": None,
    }
    end = {"stop_reason": stop, "stop_sequence": None}
    events = [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return message | {"content": [block], "stop_reason": stop, "usage": usage}, events


def _chat(said: Said) -> tuple[dict[str, Any], list[Any]]:
    head = {"id": _ID, "created": 1, "model": _MODEL}
    usage = {"prompt_tokens": _USED, "completion_tokens": 9, "total_tokens": _USED + 9}
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    delta = message
    if said.tool:
        call: dict[str, Any] = {"id": f"call_{_ID}", "type": "function"}
        call |= {"function": {"name": said.tool.name, "arguments": json.dumps(said.given)}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        delta = message | {"tool_calls": [{"index": 0, **call}]}
    ending = "tool_calls" if said.tool else "stop"
    chunk = head | {"object": "chat.completion.chunk"}
    events = [
        chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": ending}]},
        chunk | {"choices": [], "usage": usage},
        "[DONE]",
    ]
    choice = {"index": 0, "message": message, "finish_reason": ending}
    return head | {"object": "chat.completion", "choices": [choice], "usage": usage}, events


def _responses(said: Said) -> tuple[dict[str, Any], list[Any]]:
    content = {"type": "output_text", "text": said.text, "annotations": []}
    item: dict[str, Any] = {"type": "message", "id": f"msg_{_ID}", "role": "assistant", "content": [content]}
    if said.tool:
        item = {"type": "function_call", "id": f"fc_{_ID}", "call_id": f"call_{_ID}", "name": said.tool.name}
        item |= {"arguments": json.dumps(said.given)} | ({"namespace": said.tool.server} if said.tool.server else {})
    usage = {
        "input_tokens": _USED, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": _USED + 9,
    }  # fmt: skip
    whole: dict[str, Any] = {
        "id": f"resp_{_ID}",
        "object": "response",
        "created_at": 1,
        "model": _MODEL,
        "usage": usage,
    }
    whole |= {"status": "completed", "output": [item | {"status": "completed"}]}
    begun: dict[str, Any] = whole | {"status": "in_progress", "output": [], "usage": None}
    place = {"output_index": 0, "content_index": 0, "item_id": item["id"]}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"status": "in_progress"}},
        *([] if said.tool else [{"type": "response.output_text.delta", **place, "delta": said.text}]),
        {"type": "response.output_item.done", "output_index": 0, "item": item | {"status": "completed"}},
        {"type": "response.completed", "response": whole},
    ]
    return whole, [event | {"sequence_number": number} for number, event in enumerate(events)]


def _gemini(said: Said) -> tuple[dict[str, Any], list[Any]]:
    part: dict[str, Any] = {"text": said.text}
    if said.tool:
        part = {"functionCall": {"name": said.tool.name, "args": dict(said.given)}}
    usage = {"promptTokenCount": _USED, "candidatesTokenCount": 9, "totalTokenCount": _USED + 9}
    content = {"role": "model", "parts": [part]}
    whole = {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
    return whole, [whole]


#: What a path holds, and who speaks so.
_SHAPES = {
    "/messages": _anthropic, "/chat/completions": _chat, "/responses": _responses, "enerateContent": _gemini,
}  # fmt: skip
