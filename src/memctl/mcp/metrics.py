"""What the server did since it started, per tool, in a bounded amount of memory."""

from collections.abc import Callable
from threading import Lock

from memctl import ids
from memctl.annotations import Any

#: The quantiles are those of a tool's last so many calls.
WINDOW = 512
#: More names than any server has tools; what comes after is counted under one name.
MAX_TOOLS = 128
OTHER = "(other)"


class _Tool:
    __slots__ = ("bytes_in", "bytes_out", "calls", "errors", "latencies", "rate_limited")

    def __init__(self) -> None:
        self.calls = self.errors = self.rate_limited = self.bytes_in = self.bytes_out = 0
        self.latencies: list[float] = []  # milliseconds; a ring once it has WINDOW entries

    def as_dict(self) -> dict[str, Any]:
        ordered = sorted(self.latencies)
        return {
            "calls": self.calls, "errors": self.errors, "rate_limited": self.rate_limited,
            "p50_ms": _quantile(ordered, 0.5), "p95_ms": _quantile(ordered, 0.95),
            "bytes_in": self.bytes_in, "bytes_out": self.bytes_out,
        }  # fmt: skip


class Metrics:
    """Counters by tool; safe to use from many threads.

    An error is a call that was refused or failed; a rate-limited one is counted apart. Bytes are those of the text in
    arguments and answers, without the protocol around it.
    """

    def __init__(self, clock: Callable[[], float] = ids.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._lock = Lock()
        self._tools: dict[str, _Tool] = {}

    def record(self, tool: str, outcome: str, ms: float, bytes_in: int, bytes_out: int) -> None:
        """Count one call; `outcome` is that of the audit line."""
        with self._lock:
            found = self._tools.get(tool)
            if found is None:
                name = tool if len(self._tools) < MAX_TOOLS else OTHER
                found = self._tools.setdefault(name, _Tool())
            if len(found.latencies) < WINDOW:
                found.latencies.append(ms)
            else:
                found.latencies[found.calls % WINDOW] = ms
            found.calls += 1
            found.rate_limited += outcome == "rate_limited"
            found.errors += outcome not in ("ok", "rate_limited")
            found.bytes_in += bytes_in
            found.bytes_out += bytes_out

    def as_dict(self, tool: str | None = None) -> dict[str, Any]:
        """Seconds since the start, the sums, and each tool that was called, by name; or all this of one tool."""
        with self._lock:
            names = sorted(self._tools) if tool is None else [tool] if tool in self._tools else []
            tools = {name: self._tools[name].as_dict() for name in names}
        return {
            "uptime_seconds": round(self._clock() - self._started, 1),
            "calls": sum(one["calls"] for one in tools.values()),
            "errors": sum(one["errors"] for one in tools.values()),
            "rate_limited": sum(one["rate_limited"] for one in tools.values()),
            "tools": tools,
        }


def _quantile(ordered: list[float], share: float) -> float:
    """The value that this share of the calls stayed at or under (nearest rank); 0.0 when there are none."""
    if not ordered:
        return 0.0
    rank = max(1, -(-len(ordered) * round(share * 100) // 100))
    return round(ordered[rank - 1], 1)
