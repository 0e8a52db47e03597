"""What the token of a remote caller allows, carried from the HTTP layer to the tools.

The HTTP layer sets the grant for the time of a request. Tasks and threads that are started in it inherit it, because
asyncio and anyio copy the context; a thread pool of one's own must run in `contextvars.copy_context()`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memctl.annotations import Any
from memctl.mcp.guard import GuardError

#: Tools that say nothing of what a store holds: open to a caller who is bound to a workspace.
_HARMLESS = frozenset({"memory_metrics"})


class Grant:
    """Who calls, and what he may.

    name       for rate limits and the audit log; never the token itself
    writes     whether tools that change the store may run
    workspace  the one workspace he sees; None = the whole store
    """

    __slots__ = ("name", "workspace", "writes")

    def __init__(self, name: str, *, writes: bool, workspace: str | None = None) -> None:
        self.name, self.writes, self.workspace = name, writes, workspace

    def check(self, tool: str, writes: bool, arguments: dict[str, Any], parameters: frozenset[str]) -> None:
        """Raise GuardError if the call is not allowed; bind `arguments` to the grant's workspace."""
        if writes and not self.writes:
            raise GuardError(f"This token may only read: {tool} changes the store")
        if self.workspace is None or tool in _HARMLESS:
            return
        if "workspace" not in parameters:
            raise GuardError(f"This token sees only the workspace {self.workspace}: {tool} goes beyond workspaces")
        given = arguments.get("workspace")
        if given not in (None, "", self.workspace) or arguments.get("all_scopes"):
            raise GuardError(f"This token sees only the workspace {self.workspace}")
        arguments.pop("scope", None)  # the workspace says which
        arguments["workspace"] = self.workspace


#: Whoever calls over a connection that needs no token: the person whose machine it is.
FULL = Grant("local", writes=True)

_CURRENT: ContextVar[Grant | None] = ContextVar("memctl_grant", default=None)


def current_grant() -> Grant | None:
    """The grant of the request that is being answered; None outside of HTTP."""
    return _CURRENT.get()


@contextmanager
def granted(grant: Grant) -> Iterator[None]:
    """The time of one request."""
    token = _CURRENT.set(grant)
    try:
        yield
    finally:
        _CURRENT.reset(token)
