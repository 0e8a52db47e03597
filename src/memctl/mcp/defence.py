"""The one way into a tool: session, rate limit, sizes, places, then the work; audit and metrics whatever came of it.

Every tool of the server runs through `Defence.call`, and always gets an answer: a dict with a `status`. An `error` has
`code`, `message` and often `hint`; a `rate_limited` has `retry_after_ms`. Nothing but the end of the program (Ctrl-C)
passes through as an exception.
"""

import sys
from collections.abc import Callable
from contextlib import suppress

from memctl import faults, ids
from memctl.annotations import Any
from memctl.context import ToolBounds
from memctl.errors import MemctlError
from memctl.mcp.audit import AuditLogger
from memctl.mcp.grant import FULL, Grant, current_grant
from memctl.mcp.guard import COMMAND_ARGUMENTS, NO_COMMAND, GuardError, ServerGuard
from memctl.mcp.metrics import Metrics
from memctl.mcp.rate_limiter import RateLimiter, RateLimitExceeded
from memctl.mcp.session import SessionTracker
from memctl.mcp.sizes import batch, json_bytes
from memctl.operation import Access

#: Asking the memory something is how a model begins its answer to a new message: these begin a turn.
TURN_BEGINNERS = frozenset({"memory_recall", "memory_recall_best_effort", "memory_search", "memory_session_inject"})
_OUTCOMES = {"rejected": "rejected", "rate_limited": "rate_limited", "error": "error"}
#: What a promotion that could not be is called in the audit log, by the error's code.
_PROMOTE_OUTCOMES = {
    "item-not-found": "not_found", "invalid-tier": "invalid_tier", "tier-invalid": "invalid_tier",
    "already-at-tier": "already_at_tier",
}  # fmt: skip


class Defence:
    """What stands around all tools of one server. Every part but the sessions may be None: then it is off.

    db_path  the store's path, for its size and for the audit log
    remote   whether calls come over HTTP: then one without a grant (`mcp.grant`) is refused
    """

    def __init__(
        self,
        *,
        guard: ServerGuard | None,
        rate_limiter: RateLimiter | None,
        audit: AuditLogger | None,
        sessions: SessionTracker | None = None,
        metrics: Metrics | None = None,
        db_path: str = "",
        remote: bool = False,
    ) -> None:
        self.guard, self.rate_limiter, self.audit = guard, rate_limiter, audit
        self.sessions = SessionTracker() if sessions is None else sessions
        self.metrics, self.db_path, self.remote = metrics, db_path, remote
        self.bounds = ToolBounds(None if guard is None else guard.roots)
        self._shown = ""  # the path as the audit log names it

    def call(
        self,
        tool: str,
        access: Access,
        arguments: dict[str, Any],
        run: Callable[[], dict[str, Any]],
        *,
        session: str | None = None,
        parameters: frozenset[str] | None = None,
    ) -> dict[str, Any]:
        """Run a tool if it may run, and answer with what it returns or with what is wrong.

        `arguments` is the dict that `run` uses: for a caller who is bound to a workspace, `workspace` is set in it.
        `parameters` are the names that the tool takes (None = those of `arguments`). A caller with a token is one
        session, whatever `session` says: limits would be worth nothing otherwise.
        """
        started = ids.monotonic()
        grant = current_grant()
        sid = self.sessions.resolve_session_id(session if grant is None or grant is FULL else grant.name)
        answer: dict[str, Any] = {"status": "error"}
        try:
            answer = self._answer(tool, access, arguments, run, sid, grant, parameters)
            return answer
        finally:
            self._record(tool, arguments, answer, sid, (ids.monotonic() - started) * 1000)

    # --- before and around the work --------------------------------------------------------------------------------

    def _answer(
        self,
        tool: str,
        access: Access,
        arguments: dict[str, Any],
        run: Callable[[], dict[str, Any]],
        sid: str,
        grant: Grant | None,
        parameters: frozenset[str] | None,
    ) -> dict[str, Any]:
        try:
            self._admit(tool, access, arguments, sid, grant, parameters)
            answer = run()
            if not isinstance(answer, dict):
                raise TypeError(f"{tool} answered with {type(answer).__name__}, not with a dict")
        except RateLimitExceeded as exc:
            return {
                "status": "rate_limited", "retry_after_ms": exc.retry_after_ms, "message": exc.message,
                "code": "rate-limited",
            }  # fmt: skip
        except GuardError as exc:
            return {"status": "error", "code": "refused", "message": str(exc), "hint": _hint(str(exc))}
        except MemctlError as exc:
            return _error(exc.as_dict())
        except Exception as exc:  # noqa: BLE001 - the boundary of the server
            return _error(faults.answer(exc, _shape(tool, arguments), _say))
        if _kind(tool, access, arguments) == "write" and answer.get("status") == "ok":
            self.sessions.get_or_create(sid).record_write()
        return answer

    def _admit(
        self,
        tool: str,
        access: Access,
        arguments: dict[str, Any],
        sid: str,
        grant: Grant | None,
        parameters: frozenset[str] | None,
    ) -> None:
        self.sessions.get_or_create(sid)
        kind = _kind(tool, access, arguments)
        writes = kind == "write" or access in ("write", "create")
        if self.remote and grant is None:
            raise GuardError("This call came over the network without a grant")
        if self.rate_limiter is not None:
            self._limit(self.rate_limiter, tool, kind, arguments, sid)
        if tool in TURN_BEGINNERS:
            self._begin_turn(sid)
        if grant is not None:
            grant.check(tool, writes, arguments, frozenset(arguments) if parameters is None else parameters)
        if self.guard is not None:
            # What is documented as reading may have more to say, even if it looks after the store on the way.
            self.guard.check_sizes(tool, arguments, sid, writes=writes and kind != "read")
            if writes:
                self.guard.check_db_size(self.db_path)
            self.guard.check_arguments(arguments)
        elif any(arguments.get(name) for name in COMMAND_ARGUMENTS):  # not even without a guard
            raise GuardError(NO_COMMAND)

    def _begin_turn(self, sid: str) -> None:
        self.sessions.get_or_create(sid).increment_turn()
        if self.rate_limiter is not None:
            self.rate_limiter.reset_turn(sid)

    def _limit(self, limiter: RateLimiter, tool: str, kind: str, arguments: dict[str, Any], sid: str) -> None:
        if kind == "read":
            limiter.check_read(sid)
        elif tool == "memory_import":
            items = batch(arguments.get("items"), self._max_bytes(importing=True))
            # More than may come at all is refused as such by the guard, not told to wait.
            limiter.check_import(sid, items if self.guard is None else min(items, self.guard.max_import_items))
        elif kind == "write":
            limiter.check_write(sid)
            if tool == "memory_propose":
                limiter.check_proposals(sid, batch(arguments.get("items"), self._max_bytes(importing=False)))

    def _max_bytes(self, *, importing: bool) -> int:
        if self.guard is None:
            return sys.maxsize
        return self.guard.max_import_bytes if importing else self.guard.max_write_bytes

    # --- after it ----------------------------------------------------------------------------------------------------

    def _record(self, tool: str, arguments: dict[str, Any], answer: dict[str, Any], sid: str, ms: float) -> None:
        outcome = _outcome(tool, answer)
        if self.metrics is not None:
            self.metrics.record(tool, outcome, ms, json_bytes(arguments), json_bytes(answer))
        if self.audit is not None:
            found: dict[str, Any] = {}
            with suppress(Exception):  # the log is about the call, never the other way round
                from memctl.mcp.audit_details import detail

                found = detail(tool, arguments, answer)
            self.audit.log(tool, self.audit.new_rid(), sid, self._shown_path(), outcome, found, ms)

    def _shown_path(self) -> str:
        if not self._shown and self.guard is not None and self.db_path:
            with suppress(GuardError):
                self._shown = self.guard.relative_db_path(self.db_path)
        return self._shown or self.db_path


def _kind(tool: str, access: Access, arguments: dict[str, Any]) -> str:
    """How a call counts; of memory_mount only the listing is exempt."""
    if tool == "memory_mount" and arguments.get("action") not in (None, "list"):
        return "write"
    return RateLimiter.classify_tool(tool, access)


def _outcome(tool: str, answer: dict[str, Any]) -> str:
    outcome = _OUTCOMES.get(str(answer.get("status")), "ok")
    if tool == "memory_promote" and outcome == "error":
        return _PROMOTE_OUTCOMES.get(str(answer.get("code")), outcome)
    return outcome


def _error(error: dict[str, str]) -> dict[str, Any]:
    """The keys of an error as they go over MCP."""
    return {"status": "error", "code": error["error"]} | {k: v for k, v in error.items() if k != "error"}


#: What helps, by how a guard's message begins.
_HINTS = {
    "Write size": "split it into several smaller ones",
    "Write budget": "wait a minute, or write less at a time",
    "Import": "import in several smaller parts",
    "Arguments": "give less text",
    "Path outside the allowed": "the person who starts the server may add a folder with --allow-root",
    "Path outside db-root": "the person who starts the server names the folder of its stores with --db-root",
    "Path": "name a file or folder inside the folder the server works in",
    "Pattern": "name a folder instead",
    "Command": "leave the command out: the server knows which one to run",
    "Database size": "archive and purge what is not needed, or start the server with a higher --max-db-size",
    "This token": "use a token that may, or ask the person who runs the server",
    "This call": "the person who runs the server starts it with --token-file",
}


def _hint(message: str) -> str:
    return next((hint for start, hint in _HINTS.items() if message.startswith(start)), "change the call")


def _shape(tool: str, arguments: dict[str, Any]) -> str:
    return f"tool {tool}({', '.join(f'{str(name)[:40]}={faults.shape(arguments[name])}' for name in arguments)})"


def _say(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text + "\n")
