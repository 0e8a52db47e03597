"""The tools: every operation that has a tool name, behind the defence.

`register_memory_tools` puts them on a server of the SDK, or on any object that has `tool()`: there they are plain
functions that return a dict.
"""

from memctl.annotations import TYPE_CHECKING, Any
from memctl.errors import MemctlError
from memctl.mcp import catalog, project, results
from memctl.mcp.results import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.api import MemoryStore
    from memctl.config import MemoryConfig
    from memctl.mcp.audit import AuditLogger
    from memctl.mcp.catalog import Listed
    from memctl.mcp.defence import Defence
    from memctl.mcp.guard import ServerGuard
    from memctl.mcp.home import Guest, Home, Served
    from memctl.mcp.project import Tool
    from memctl.mcp.rate_limiter import RateLimiter
    from memctl.mcp.session import SessionTracker
    from memctl.policy import MemoryPolicy

    Say = Callable[[str], None]

#: So many warnings of one call are passed on.
_WARNINGS = 20


class Desk:
    """Where calls come in: it lets the defence judge them, runs them at home, and words the answer."""

    def __init__(self, home: "Home | Guest", defence: "Defence") -> None:
        self.home, self.defence = home, defence

    def call(
        self, tool: "Tool", arguments: "dict[str, Any]", session: str | None = None, progress: "Say | None" = None
    ) -> Answer:
        """Run a tool; always an answer, never an exception."""
        given = tool.named(arguments)
        prose: str | None = "" if tool.op.prose else None

        def run() -> dict[str, Any]:
            nonlocal prose
            values = tool.values(given)
            data, prose = self._run(tool, values, progress)
            return data

        names = frozenset(one.name for one in tool.inputs)
        data = self.defence.call(tool.name, tool.op.access, given, run, session=session, parameters=names)
        return Answer(data, prose)

    def _run(self, tool: "Tool", values: dict[str, Any], progress: "Say | None") -> Answer:
        warnings: list[str] = []
        remarks: list[str] = []
        home = self.home.context(writes=tool.writes, say=warnings.append, note=remarks.append, progress=progress)
        words: str | None = None
        try:
            with home as ctx:
                ctx.metrics, ctx.bounds = self.defence.metrics, self.defence.bounds
                data, words = _done(tool, ctx, values | tool.settings(ctx, values))
        except MemctlError as exc:
            if not warnings:
                raise
            data = _error(exc)  # what was said on the way tells why
        if warnings:
            data["warnings"] = warnings[:_WARNINGS]
        return Answer(data, None if words is None else results.prose_of(words, data, remarks))

    def plain(self, tool: "Tool", arguments: "dict[str, Any]") -> dict[str, Any]:
        """The structured result alone."""
        return self.call(tool, arguments).data


def _done(tool: "Tool", ctx: "Served", values: dict[str, Any]) -> Answer:
    """The result of an operation, and its words where the model reads these."""
    result = tool.op(ctx, **values)
    data: dict[str, Any] = {"status": "ok"} | result.as_dict()
    prose = tool.op.prose and values.get("output_format") != "json"
    words = "\n".join(tool.op.text(result)) if prose else ""
    try:
        result.settle()
    except MemctlError as exc:  # the counts stand, and what they amount to is said as well
        data |= _error(exc)
    if prose:
        return Answer(data, words)
    return Answer(data, results.as_json(data) if tool.op.prose else None)


def _error(exc: MemctlError) -> dict[str, Any]:
    error = exc.as_dict()
    return {"status": "error", "code": error.pop("error")} | error


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
    """Put the memory tools on `mcp`: a server of the SDK, or an object with a decorator factory `tool()`.

    They work on the store that is given, one call at a time; what is None of the defence is off.
    """
    from memctl.mcp.defence import Defence
    from memctl.mcp.home import Guest
    from memctl.mcp.metrics import Metrics

    home = Guest(store, policy, config)
    defence = Defence(
        guard=guard, rate_limiter=rate_limiter, audit=audit, sessions=session_tracker, metrics=Metrics(),
        db_path=home.db_path,
    )  # fmt: skip
    desk = Desk(home, defence)
    if any(kind.__module__.partition(".")[0] == "mcp" for kind in type(mcp).__mro__):
        put(mcp, desk, catalog.chosen(toolset))
    else:
        for tool in project.tools(toolset):
            mcp.tool()(tool.function(desk.plain))


def put(server: Any, desk: Desk, tools: "list[Listed]") -> None:
    """Offer tools on a server of the SDK."""
    from memctl.mcp import sdk

    for listed in tools:
        sdk.add_tool(
            server, _on_the_wire(desk, listed), name=listed.name, description=listed.description, schema=listed.schema,
            answer=listed.answer, annotations=listed.annotations,
        )  # fmt: skip


def _on_the_wire(desk: Desk, listed: "Listed") -> "Callable[..., dict[str, Any]]":
    def call(arguments: dict[str, Any], session: str | None, progress: "Say | None") -> dict[str, Any]:
        return results.wire(desk.call(listed.tool, arguments, session, progress))

    return call
