"""`register_memory_tools` puts the memory tools on any object that has `tool()`, as functions that return a dict."""

from memctl.annotations import TYPE_CHECKING, Any
from memctl.mcp import tool_schema
from memctl.mcp.tool_calls import ToolRunner

if TYPE_CHECKING:
    from memctl.api import MemoryStore
    from memctl.config import MemoryConfig
    from memctl.mcp.audit import AuditLogger
    from memctl.mcp.guard import ServerGuard
    from memctl.mcp.rate_limiter import RateLimiter
    from memctl.mcp.session import SessionTracker
    from memctl.policy import MemoryPolicy


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
