"""The one way into a tool: session, rate limit, sizes, places, then the work; audit and metrics whatever came of it.

Every tool of the server runs through `ToolMiddleware.call`, and always gets an answer: a dict with a `status`. An
`error` has `code`, `message` and often `hint`; a `rate_limited` has `retry_after_ms`. Only the end of the program
(Ctrl-C) passes through as an exception.
"""

import sys
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from memctl import faults, ids
from memctl.annotations import Any
from memctl.context import ToolBounds
from memctl.errors import MemctlError
from memctl.mcp.audit import AuditLogger, audit_detail, audit_outcome
from memctl.mcp.grants import FULL, Grant, current_grant
from memctl.mcp.guard import COMMAND_ARGUMENTS, NO_COMMAND, GuardError, ServerGuard, count_entries, json_bytes
from memctl.mcp.rate_limiter import RateLimiter, RateLimitExceeded
from memctl.mcp.session import SessionTracker
from memctl.operation import Access

#: Asking the memory something is how a model begins its answer to a new message: these begin a turn.
TURN_BEGINNERS = frozenset({"memory_recall", "memory_recall_best_effort", "memory_search", "memory_session_inject"})
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


class ToolMiddleware:
    """What stands around all tools of one server. Every part but the sessions may be None: then it is off.

    db_path  the store's path, for its size and for the audit log
    remote   whether calls come over HTTP: then one without a grant (`grants.Grant`) is refused
    """

    def __init__(
        self,
        *,
        guard: ServerGuard | None,
        rate_limiter: RateLimiter | None,
        audit: AuditLogger | None,
        sessions: SessionTracker | None = None,
        metrics: "Metrics | None" = None,
        db_path: str = "",
        remote: bool = False,
    ) -> None:
        self.guard, self.rate_limiter, self.audit = guard, rate_limiter, audit
        self.sessions = SessionTracker() if sessions is None else sessions
        for part in (guard, rate_limiter):
            if part is not None:
                part.sessions = self.sessions
        self.metrics, self.remote = metrics, remote
        self.bounds = ToolBounds(None if guard is None else guard.roots)
        self.use_store(db_path)

    def use_store(self, path: str) -> None:
        """Let it be this store from now on."""
        self.db_path = self._logged_path = path  # the second as the audit log names it
        if self.guard is not None and path:
            with suppress(GuardError):
                self._logged_path = self.guard.relative_db_path(path)

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
            try:
                is_write = self._admit(tool, access, arguments, sid, grant, parameters)
                answer = run()
                if not isinstance(answer, dict):
                    raise TypeError(f"{tool} answered with {type(answer).__name__}, not with a dict")
            except RateLimitExceeded as exc:
                answer = {
                    "status": "rate_limited", "retry_after_ms": exc.retry_after_ms, "message": exc.message,
                    "code": "rate-limited",
                }  # fmt: skip
            except GuardError as exc:
                hint = next((hint for start, hint in _HINTS.items() if str(exc).startswith(start)), "change the call")
                answer = {"status": "error", "code": "refused", "message": str(exc), "hint": hint}
            except MemctlError as exc:
                answer = error_answer(exc.as_dict())
            except Exception as exc:  # noqa: BLE001 - the boundary of the server
                shown = ", ".join(f"{str(name)[:40]}={faults.shape(arguments[name])}" for name in arguments)
                answer = error_answer(faults.answer(exc, f"tool {tool}({shown})", _say))
            else:
                if is_write and answer.get("status") == "ok":
                    with self.sessions.lock:
                        self.sessions.get_or_create(sid).record_write()
            return answer
        finally:
            self._record(tool, arguments, answer, sid, (ids.monotonic() - started) * 1000)

    def _admit(
        self,
        tool: str,
        access: Access,
        arguments: dict[str, Any],
        sid: str,
        grant: Grant | None,
        parameters: frozenset[str] | None,
    ) -> bool:
        """Raise what is against the call, and count it; returns whether it counts as a write."""
        session = self.sessions.get_or_create(sid)
        kind = RateLimiter.classify_tool(tool, access)
        if tool == "memory_mount" and arguments.get("action") not in (None, "list"):  # only the listing is exempt
            kind = "write"
        writes = kind == "write" or access in ("write", "create")
        if self.remote and grant is None:
            raise GuardError("This call came over the network without a grant")
        if self.rate_limiter is not None:
            self._limit(self.rate_limiter, tool, kind, arguments, sid)
        if tool in TURN_BEGINNERS:
            with self.sessions.lock:
                session.increment_turn()
        if grant is not None:
            grant.check(tool, writes, arguments, frozenset(arguments) if parameters is None else parameters)
        if self.guard is not None:
            # What is documented as reading may have more to say, even if it looks after the store on the way.
            self.guard.check_sizes(tool, arguments, sid, writes=writes and kind != "read")
            if writes:
                self.guard.check_db_size(self.db_path)
            self.guard.check_arguments(arguments, tool)
        elif any(arguments.get(name) for name in COMMAND_ARGUMENTS):  # not even without a guard
            raise GuardError(NO_COMMAND)
        return kind == "write"

    def _limit(self, limiter: RateLimiter, tool: str, kind: str, arguments: dict[str, Any], sid: str) -> None:
        guard = self.guard
        if kind == "read":
            limiter.check_read(sid)
        elif tool == "memory_import":
            entries = count_entries(arguments.get("items"), sys.maxsize if guard is None else guard.max_import_bytes)
            # More than may come at all is refused as such by the guard, not told to wait.
            limiter.check_import(sid, entries if guard is None else min(entries, guard.max_import_items))
        elif kind == "write":
            limiter.check_write(sid)
            if tool == "memory_propose":
                largest = sys.maxsize if guard is None else guard.max_write_bytes
                limiter.check_proposals(sid, count_entries(arguments.get("items"), largest))

    def _record(self, tool: str, arguments: dict[str, Any], answer: dict[str, Any], sid: str, ms: float) -> None:
        outcome = audit_outcome(tool, arguments, answer)
        if self.metrics is not None:
            self.metrics.record(tool, outcome, ms, json_bytes(arguments), json_bytes(answer))
        if self.audit is not None:
            found: dict[str, Any] = {}
            with suppress(Exception):  # the log is about the call, never the other way round
                found = audit_detail(tool, arguments, answer)
            self.audit.log(tool, self.audit.new_rid(), sid, self._logged_path, outcome, found, ms)


class InternalFault(Exception):
    """What nobody foresaw, in a sentence; a report of it is written."""


def unforeseen(what: str, run: Callable[[], Any], foreseen: type[Exception]) -> Any:
    """What `run` returns, for work around the tools. Raises `foreseen` as it is, and InternalFault for all else."""
    try:
        return run()
    except foreseen:
        raise
    except Exception as exc:
        raise InternalFault(faults.answer(exc, what, _say)["message"]) from exc


def error_answer(error: dict[str, str]) -> dict[str, Any]:
    """An error's dict with the keys that it has over MCP."""
    return {"status": "error", "code": error["error"]} | {k: v for k, v in error.items() if k != "error"}


def _say(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text + "\n")


# --- metrics ---------------------------------------------------------------------------------------------------------

#: The last calls of a tool, of which the quantiles are.
WINDOW = 512
#: Names of tools that are counted apart, more than any server has; what comes after is counted under one name.
MAX_TOOLS = 128
OTHER = "(other)"


class Metrics:
    """What the server did since it started, by tool, in a bounded amount of memory; safe to use from many threads.

    An error is a call that was refused or failed; a rate-limited one is counted apart. Bytes are those of the text in
    arguments and answers, without the protocol around it.
    """

    def __init__(self, clock: Callable[[], float] = ids.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._lock = Lock()
        self._counts: dict[str, Counter[str]] = {}
        self._latencies: dict[str, deque[float]] = {}  # milliseconds

    def record(self, tool: str, outcome: str, ms: float, bytes_in: int, bytes_out: int) -> None:
        """Count one call; `outcome` is that of the audit line."""
        with self._lock:
            name = tool if tool in self._counts or len(self._counts) < MAX_TOOLS else OTHER
            found = self._counts.setdefault(name, Counter())
            found["calls"] += 1
            found["rate_limited"] += outcome == "rate_limited"
            found["errors"] += outcome not in ("ok", "rate_limited")
            found["bytes_in"] += bytes_in
            found["bytes_out"] += bytes_out
            self._latencies.setdefault(name, deque(maxlen=WINDOW)).append(ms)

    def as_dict(self, tool: str | None = None) -> dict[str, Any]:
        """Seconds since the start, the sums, and each tool that was called, by name; or all this of one tool.

        `p50_ms` and `p95_ms` are the values that half and 95 % of the last calls stayed at or under (nearest rank).
        """
        tools: dict[str, dict[str, Any]] = {}
        with self._lock:
            for name in sorted(self._counts if tool is None else {tool} & self._counts.keys()):
                n, ms = self._counts[name], sorted(self._latencies[name])
                p50, p95 = (round(ms[-(-len(ms) * percent // 100) - 1], 1) for percent in (50, 95))
                tools[name] = {
                    "calls": n["calls"], "errors": n["errors"], "rate_limited": n["rate_limited"], "p50_ms": p50,
                    "p95_ms": p95, "bytes_in": n["bytes_in"], "bytes_out": n["bytes_out"],
                }  # fmt: skip
        sums = {key: sum(one[key] for one in tools.values()) for key in ("calls", "errors", "rate_limited")}
        return {"uptime_seconds": round(self._clock() - self._started, 1)} | sums | {"tools": tools}
