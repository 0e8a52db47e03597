"""The tools: every operation that has a tool name, behind the middleware, and what a call of one answers.

A tool for programs answers with its structured result, and with the same JSON as text for clients that know no
structure. A tool for models answers in prose: a client that finds structure shows the model only that, so there is
none; what the text leaves out is in `_meta`, which models do not see. An error is a result like any other.

`register_memory_tools` puts the tools on any object that has `tool()`, as plain functions that return a dict.
"""

import json
from typing import NamedTuple

from memctl.annotations import TYPE_CHECKING, Any
from memctl.errors import MemctlError
from memctl.mcp import tool_schema
from memctl.mcp.middleware import error_answer
from memctl.operation import utf8

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.api import MemoryStore
    from memctl.config import MemoryConfig
    from memctl.mcp.audit import AuditLogger
    from memctl.mcp.guard import ServerGuard
    from memctl.mcp.handle_pool import HandlePool, LentStore
    from memctl.mcp.middleware import ToolMiddleware
    from memctl.mcp.rate_limiter import RateLimiter
    from memctl.mcp.session import SessionTracker
    from memctl.mcp.tool_schema import Tool
    from memctl.policy import MemoryPolicy

    Say = Callable[[str], None]

#: Where the structured result is when the model was given prose.
META_KEY = "memctl/result"
#: An argument that is no value of its parameter is the only error that the protocol marks, as documented.
_MARKED = "argument-invalid"
#: Warnings of one call that are passed on.
_WARNINGS = 20


class ToolAnswer(NamedTuple):
    """The structured result, and the prose where the model reads that."""

    data: dict[str, Any]
    prose: str | None = None

    def wire(self) -> dict[str, Any]:
        """The fields of a CallToolResult, by their names on the wire."""
        data, prose = self
        if prose is not None and data.get("status") not in ("error", "rate_limited"):
            _, rest = _sendable({key: value for key, value in data.items() if value != prose})
            text = {"type": "text", "text": utf8(prose)}
            return {"content": [text], "isError": False, "_meta": {META_KEY: rest}}
        json_text, data = _sendable(data)
        out = {"content": [{"type": "text", "text": json_text}], "isError": data.get("code") == _MARKED}
        return out if prose is not None else out | {"structuredContent": data}


def as_json(data: dict[str, Any]) -> str:
    """A result as one line of JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _sendable(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The JSON of a result, and the result as it can be sent: bytes of a path that are no text become U+FFFD."""
    text = as_json(data)
    sound = utf8(text)
    return (text, data) if sound is text or sound == text else (sound, json.loads(sound))


class ToolRunner:
    """Where calls come in: the middleware judges them, the pool lends them a store, and the answer is worded."""

    def __init__(self, pool: "HandlePool | LentStore", middleware: "ToolMiddleware") -> None:
        self.pool, self.middleware = pool, middleware

    def call(
        self, tool: "Tool", arguments: "dict[str, Any]", session: str | None = None, progress: "Say | None" = None
    ) -> ToolAnswer:
        """Run a tool; always an answer, never an exception."""
        given = tool.named(arguments)
        prose: str | None = "" if tool.op.prose else None

        def run() -> dict[str, Any]:
            nonlocal prose
            data, prose = self._run(tool, tool.values(given), progress)
            return data

        names = frozenset(one.name for one in tool.inputs)
        data = self.middleware.call(tool.name, tool.op.access, given, run, session=session, parameters=names)
        return ToolAnswer(data, prose)

    def _run(self, tool: "Tool", values: dict[str, Any], progress: "Say | None") -> ToolAnswer:
        warnings: list[str] = []
        remarks: list[str] = []
        lines: str | None = None
        try:
            with self.pool.context(
                writes=tool.writes, say=warnings.append, note=remarks.append, progress=progress
            ) as ctx:
                ctx.metrics, ctx.bounds = self.middleware.metrics, self.middleware.bounds
                values |= tool.settings(ctx, values)
                result = tool.op(ctx, **values)
                data: dict[str, Any] = {"status": "ok"} | result.as_dict()
                is_json = values.get("output_format") == "json"
                if tool.op.prose and not is_json:
                    lines = "\n".join(tool.op.text(result))
                try:
                    result.settle()
                except MemctlError as exc:  # the counts stand, and what they amount to is said as well
                    data |= error_answer(exc.as_dict())
                if tool.op.prose and is_json:
                    lines = as_json(data)
        except MemctlError as exc:
            if not warnings:
                raise
            data = error_answer(exc.as_dict())  # what was said on the way tells why
        if warnings:
            data["warnings"] = warnings[:_WARNINGS]
        return ToolAnswer(data, None if lines is None else _prose(lines, data, remarks))


def _prose(lines: str, data: dict[str, Any], remarks: list[str]) -> str:
    """What the model reads: the lines; when there are none, what to try; then what went wrong on the way."""
    parts = [lines]
    if not lines:
        said = (one.partition("] ")[2] if one.startswith("[") else one for one in remarks)
        hint = str(data.get("hint") or "Nothing was found.")
        parts = [hint, *(one for one in said if one != hint and not one.startswith("No "))]
    return "\n\n".join([*parts, *(f"Note: {one}" for one in data.get("warnings", ()))])


def register_memory_tools(
    mcp: Any,
    store: "MemoryStore",
    policy: "MemoryPolicy | None" = None,
    config: "MemoryConfig | None" = None,
    *,
    guard: "ServerGuard | None" = None,
    rate_limiter: "RateLimiter | None" = None,
    session_tracker: "SessionTracker | None" = None,
    audit: "AuditLogger | None" = None,
    toolset: str = "full",
) -> None:
    """Put the memory tools on `mcp`, an object with a decorator factory `tool()`, as a server of the SDK is one.

    They work on the store that is given, one call at a time; what is None of the middleware is off.
    """
    from memctl.mcp.handle_pool import LentStore
    from memctl.mcp.middleware import Metrics, ToolMiddleware

    pool = LentStore(store, policy, config)
    runner = ToolRunner(pool, ToolMiddleware(
        guard=guard, rate_limiter=rate_limiter, audit=audit, sessions=session_tracker, metrics=Metrics(),
        db_path=pool.db_path,
    ))  # fmt: skip
    for tool in tool_schema.tools(toolset):
        mcp.tool()(tool.function(lambda tool, arguments: runner.call(tool, arguments).data))
