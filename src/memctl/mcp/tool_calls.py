"""Tool calls: each goes through the middleware to its operation, and the answer is worded for programs or for models.

A tool for programs answers with its structured result, and with the same JSON as text for clients that know no
structure. A tool for models answers in prose: a client that finds structure shows the model only that, so there is
none; what the text leaves out is in `_meta`, which models do not see. An error is a result like any other.

What stands beside the tools (`prompts`: resources, prompts, completions) goes through the same middleware. Nothing here
needs the SDK.
"""

import json

from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.errors import ArgumentInvalid, MemctlError
from memctl.mcp import prompts, tool_schema
from memctl.mcp.grants import current_grant
from memctl.mcp.middleware import error_answer
from memctl.mcp.tool_schema import CURSOR
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, utf8
from memctl.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memctl.mcp.handle_pool import HandlePool, LentStore
    from memctl.mcp.middleware import ToolMiddleware
    from memctl.mcp.tool_schema import Tool

    Say = Callable[[str], None]

#: Where the structured result is when the model was given prose.
META_KEY = "memctl/result"
#: What a model gets of one answer, in tokens and in characters; of a list the rest comes by its cursor.
ANSWER_TOKENS = 20_000
_ANSWER_CHARS = 4 * ANSWER_TOKENS
#: Statuses that the protocol marks as errors.
_MARKED = frozenset({"error", "rate_limited"})
#: Warnings of one call that are passed on.
_WARNINGS = 20
#: Which names complete which argument.
_WORDS = {"id": "ids", "ids": "ids", "scope": "scopes", "tags": "tags", "name": "mounts"}


class ToolAnswer(NamedTuple):
    """The structured result, and the prose where the model reads that."""

    data: dict[str, Any]
    prose: str | None = None

    def wire(self) -> dict[str, Any]:
        """The fields of a CallToolResult, by their names on the wire."""
        data, prose = self
        is_error = data.get("status") in _MARKED
        if prose is not None and not is_error:
            _, rest = _sendable({key: value for key, value in data.items() if value != prose})
            text = {"type": "text", "text": utf8(prose)}
            return {"content": [text], "isError": False, "_meta": {META_KEY: rest}}
        json_text, data = _sendable(data)
        out = {"content": [{"type": "text", "text": json_text}], "isError": is_error}
        return out if prose is not None else out | {"structuredContent": data}


def as_json(data: dict[str, Any]) -> str:
    """A result as one line of JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _sendable(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The JSON of a result, and the result as it can be sent: bytes of a path that are no text become U+FFFD."""
    text = as_json(data)
    sound = utf8(text)
    return (text, data) if sound is text or sound == text else (sound, json.loads(sound))


class NotAnswered(Exception):
    """What the tool behind a resource or a prompt said instead of an answer."""


class ToolRunner:
    """Where calls come in: the middleware judges them, the pool lends them a store, and the answer is worded.

    Resources and prompts call a tool, too, and show what it says.
    """

    def __init__(self, pool: "HandlePool | LentStore", middleware: "ToolMiddleware") -> None:
        self.pool, self.middleware = pool, middleware
        self._tools: dict[str, tool_schema.CatalogTool] = {}

    def call(
        self,
        tool: "Tool",
        arguments: "dict[str, Any]",
        session: str | None = None,
        progress: "Say | None" = None,
        client: str = "",
    ) -> ToolAnswer:
        """Run a tool; always an answer, never an exception. `client` is what the caller calls itself."""
        given = tool.named(arguments)
        prose: str | None = "" if tool.op.prose else None

        def run() -> dict[str, Any]:
            nonlocal prose
            data, prose = self._run(tool, tool.values(given), progress, (session, client))
            return data if tool.op.prose else _page(data, arguments.get(CURSOR))

        names = [one.name for one in tool.inputs]
        data = self.middleware.call(tool.name, tool.op.access, given, run, session=session, parameters=frozenset(names))
        if unknown := tool.unknown(arguments):
            said = ", ".join(clean.one_line(str(name), 40) for name in unknown[:5])
            warning = f"{tool.name} has no argument {said}: not used. It has {', '.join(names) or 'none'}."
            data["warnings"] = [warning, *data.get("warnings", ())]
            prose = f"{prose}\n\nNote: {warning}" if prose else prose
        return ToolAnswer(data, prose)

    def _run(
        self, tool: "Tool", values: dict[str, Any], progress: "Say | None", caller: tuple[str | None, str]
    ) -> ToolAnswer:
        warnings: list[str] = []
        remarks: list[str] = []
        lines: str | None = None
        try:
            with self.pool.context(
                writes=tool.writes, say=warnings.append, note=remarks.append, progress=progress
            ) as ctx:
                ctx.metrics, ctx.bounds = self.middleware.metrics, self.middleware.bounds
                grant, (session, client) = current_grant(), caller
                ctx.actor, ctx.client = "tool", client if grant is None else grant.name
                ctx.session = self.middleware.sessions.resolve_session_id(session)
                values |= tool.settings(ctx, values)
                if (values.get("budget") or 0) > ANSWER_TOKENS:
                    values["budget"] = ANSWER_TOKENS
                    warnings.append(f"an answer has at most {ANSWER_TOKENS} tokens")
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
        if lines is None:
            return ToolAnswer(data, None)
        # What the model reads: the lines; when there are none, what to try; then what went wrong on the way.
        parts = [lines]
        if not lines:
            said = (one.partition("] ")[2] if one.startswith("[") else one for one in remarks)
            hint = str(data.get("hint") or "Nothing was found.")
            parts = [hint, *(one for one in said if one != hint and not one.startswith("No "))]
        return ToolAnswer(data, "\n\n".join([*parts, *(f"Note: {one}" for one in data.get("warnings", ()))]))

    # --- beside the tools --------------------------------------------------------------------------------------------

    def _ask(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        if not self._tools:
            self._tools = {entry.name: entry for entry in tool_schema.catalog("full")}
        answer = self.call(self._tools[name].tool, arguments)
        if answer.data.get("status") not in ("ok", "duplicate"):
            raise NotAnswered(str(answer.data.get("message") or "refused"))
        return answer

    def resource(self, tool: str, argument: str, value: str) -> str:
        """The text of a resource; `value` is the part of its URI that differs. Raises NotAnswered."""
        answer = self._ask(tool, {argument: value})
        if answer.prose is not None:
            return answer.prose
        if not answer.data["items"]:
            raise NotAnswered(f"item not found: {value}")
        return as_json(answer.data["items"][0])

    def prompt(self, name: str, given: "Mapping[str, str]") -> str:
        """The text of a prompt, as a user's message. Raises NotAnswered."""
        said = {key: value for key, value in given.items() if value}
        scope = said.get("scope", "")
        if name == "memory_guide":
            return prompts.instructions({entry.name for entry in tool_schema.catalog("standard")})
        if name == "remember":
            topic = said.get("topic") or "what is worth it"
            return prompts.REMEMBER.format(topic=topic, scope=f", scope {scope}" if scope else "")
        if name == "handoff":
            scope = scope or DEFAULT_SCOPE
            return prompts.HANDOFF.format(page=self._ask("memory_digest", {"scope": scope}).prose or "", scope=scope)
        question = said.pop("question", "")
        block = self._ask("memory_recall", {"query": question, "auto": True} | said).prose or ""
        return (prompts.RECALL if "## Memory" in block else prompts.NOT_RECALLED).format(block=block, question=question)

    def complete(self, argument: str, start: str) -> list[str]:
        """Names that begin like this; none for an argument that is free text, or for somebody who may not know."""
        kind = _WORDS.get(argument)
        if kind is None:
            return []
        head, comma, last = start.rpartition(",") if kind == "tags" else ("", "", start)

        def run() -> dict[str, Any]:
            from memctl.store.search import words

            with self.pool.context(writes=False) as ctx:
                ctx.allow(READ)
                return {"status": "ok", "words": words.complete(ctx.db, kind, last.lstrip())}

        found = self.middleware.call("memory_complete", READ, {"start": start}, run, parameters=frozenset())
        return [f"{head}{comma}{word}" for word in found.get("words", ())]


def _page(data: dict[str, Any], cursor: Any) -> dict[str, Any]:
    """As much of an answer as a model can take: the longest list from `cursor` on. Raises ArgumentInvalid."""
    if cursor not in (None, "") and not (isinstance(cursor, str) and cursor.isascii() and cursor.isdigit()):
        raise ArgumentInvalid(name=CURSOR, message="must be the next_cursor of an answer")
    start = int(cursor[:18]) if cursor else 0
    size = len(as_json(data))
    lists = {name: len(as_json({name: value})) for name, value in data.items() if isinstance(value, list)}
    if not lists or (size <= _ANSWER_CHARS and not start):
        return data
    name = max(lists, key=lambda one: lists[one])
    whole, room = data[name], _ANSWER_CHARS - size + lists[name]
    shown: list[Any] = []
    for one in whole[start:]:
        room -= len(json.dumps(one, ensure_ascii=False)) + 1
        if room < 0 and shown:
            break
        shown.append(one)
    end = start + len(shown)
    more = {"next_cursor": str(end), "hint": "the same call with cursor = next_cursor has the rest"}
    data |= {name: shown, "total": len(whole), "truncated": end < len(whole)} | (more if end < len(whole) else {})
    return data | {"count": len(shown)} if "count" in data else data
