"""How often a session may call: a bucket for reads, one for writes, and a count of proposals per turn.

A bucket holds `rate * burst_factor` calls and fills with `rate` a minute. The clock is handed in, so that tests need
not wait.
"""

from collections.abc import Callable
from math import ceil

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.mcp.session import SessionTracker

WRITE_TOOLS = frozenset(
    {"memory_write", "memory_propose", "memory_import", "memory_consolidate", "memory_sync", "memory_reindex"}
)
READ_TOOLS = frozenset(
    {
        "memory_recall", "memory_recall_best_effort", "memory_search", "memory_read", "memory_export",
        "memory_inspect", "memory_ask", "memory_loop",
    }
)  # fmt: skip
EXEMPT_TOOLS = frozenset({"memory_stats", "memory_mount"})
#: They must answer whatever else goes on; documented as such, but never in the set above.
_ALWAYS_ANSWERED = frozenset({"memory_status", "memory_eco", "memory_metrics"})

#: An import is one call with many items: this number of them costs as much as one write.
IMPORT_ITEMS_PER_WRITE = 25
#: Seconds without a proposal after which a turn ends.
TURN_SECONDS = 60.0


class RateLimitExceeded(Exception):
    """Too many calls; `retry_after_ms` says when the next one may come, 0 that waiting is not what helps."""

    def __init__(self, retry_after_ms: int, message: str) -> None:
        self.retry_after_ms, self.message = retry_after_ms, message
        super().__init__(message)


class _Bucket:
    """Tokens that come back at `refill_rate` a second, up to `capacity`."""

    __slots__ = ("capacity", "clock", "last_refill", "refill_rate", "tokens")

    def __init__(
        self,
        capacity: float,
        tokens: float,
        last_refill: float,
        refill_rate: float,
        clock: Callable[[], float] = ids.monotonic,
    ) -> None:
        self.capacity, self.tokens, self.last_refill, self.refill_rate = capacity, tokens, last_refill, refill_rate
        self.clock = clock

    def refill(self) -> None:
        """Add what has come back since the last look."""
        now = self.clock()
        self.tokens = min(self.capacity, self.tokens + max(0.0, now - self.last_refill) * self.refill_rate)
        self.last_refill = now

    def try_consume(self, n: float = 1) -> int:
        """Take `n` tokens and return 0; or take none and return the milliseconds until there are enough of them.

        More than the bucket holds never come together: then it is the time until the bucket is full.
        """
        self.refill()
        # A hair less will do: sums of fractions must not turn a caller away who waited as long as he was told.
        if self.tokens >= n - 1e-9:
            self.tokens = max(0.0, self.tokens - n)
            return 0
        missing = min(n, self.capacity) - self.tokens
        return max(1, ceil(missing / self.refill_rate * 1000)) if self.refill_rate > 0 else 60_000


class _Buckets(NamedTuple):
    """Those of one session."""

    read: _Bucket
    write: _Bucket


class RateLimiter:
    """The limits of all sessions; safe to use from many threads. Every check raises RateLimitExceeded.

    sessions  where it counts: a table of its own, until a server lets it use the server's
    """

    def __init__(
        self,
        writes_per_minute: int = 20,
        reads_per_minute: int = 120,
        burst_factor: float = 2.0,
        max_proposals_per_turn: int = 5,
        *,
        clock: Callable[[], float] = ids.monotonic,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        if writes_per_minute < 1 or reads_per_minute < 1 or burst_factor <= 0 or max_proposals_per_turn < 1:
            raise ValueError("rate limits must be positive; leave the limiter out to have none")
        self.writes_per_minute, self.reads_per_minute = writes_per_minute, reads_per_minute
        self.burst_factor, self.max_proposals_per_turn = burst_factor, max_proposals_per_turn
        self.clock, self.turn_seconds = clock, turn_seconds
        self.sessions = SessionTracker()

    @staticmethod
    def classify_tool(tool: str, access: str | None = None) -> str:
        """ "write", "read" or "exempt". A tool that is in no set goes by what its operation does to the store."""
        if tool in WRITE_TOOLS:
            return "write"
        if tool in READ_TOOLS:
            return "read"
        if tool in EXEMPT_TOOLS or tool in _ALWAYS_ANSWERED or access in (None, "none"):
            return "exempt"
        return "read" if access == "read" else "write"

    def check_read(self, session_id: str) -> None:
        """Count one read."""
        self._take(session_id, "read", 1, "", self.reads_per_minute)

    def check_write(self, session_id: str) -> None:
        """Count one write."""
        self._take(session_id, "write", 1, "", self.writes_per_minute)

    def check_write_n(self, session_id: str, n: int) -> None:
        """Count `n` writes at once, all or none."""
        if n > 0:
            self._take(session_id, "write", n, f"{n} items", self.writes_per_minute)

    def check_import(self, session_id: str, items: int) -> None:
        """Count an import as one write per batch of items, never as more writes than the burst allows."""
        cost = max(1, ceil(items / IMPORT_ITEMS_PER_WRITE))
        capacity = self.writes_per_minute * self.burst_factor
        self._take(session_id, "write", min(cost, capacity), f"{items} items", self.writes_per_minute)

    def check_proposals(self, session_id: str, n: int) -> None:
        """Count `n` proposals of this turn, all or none. A turn that was silent for long enough is over."""
        with self.sessions.lock:
            session = self.sessions.get_or_create(session_id)
            now = self.clock()
            left = self.turn_seconds - (now - session.last_proposal)
            if left <= 0:
                session.proposals = 0
            total = session.proposals + n
            if total > self.max_proposals_per_turn:
                # As many as this never go together, however long one waits.
                limit = self.max_proposals_per_turn
                wait = max(1, ceil(left * 1000)) if n <= limit else 0
                raise RateLimitExceeded(
                    wait,
                    f"Proposal limit exceeded: {total} proposals this turn (limit: {limit}). A recall or a search "
                    f"begins a new turn, and so do {self.turn_seconds:g} seconds without a proposal; propose at most "
                    f"{limit} at a time.",
                )
            session.proposals, session.last_proposal = total, now

    def reset_turn(self, session_id: str) -> None:
        """A new turn began: proposals count from nothing."""
        with self.sessions.lock:
            self.sessions.get_or_create(session_id).increment_turn()

    # --- inside ------------------------------------------------------------------------------------------------

    def _take(self, session_id: str, kind: str, n: float, items: str, rate: int) -> None:
        with self.sessions.lock:
            bucket: _Bucket = getattr(self._get_buckets(session_id), kind)
            wait = bucket.try_consume(n)
        if not wait:
            return
        name = kind.capitalize()
        if not items:
            raise RateLimitExceeded(wait, f"{name} rate limit exceeded ({rate}/min). Retry after {wait}ms.")
        advice = f"Retry after {wait}ms." if n <= bucket.capacity else f"At most {int(bucket.capacity)} go at once."
        raise RateLimitExceeded(wait, f"{name} rate limit exceeded: {items} would exceed {rate}/min. {advice}")

    def _get_buckets(self, session_id: str) -> _Buckets:
        counts = self.sessions.get_or_create(session_id).counts
        if self not in counts:
            now, buckets = self.clock(), []
            for rate in (self.reads_per_minute, self.writes_per_minute):
                capacity = max(1.0, rate * self.burst_factor)
                buckets.append(_Bucket(capacity, capacity, now, rate / 60, self.clock))
            counts[self] = _Buckets(*buckets)
        found: _Buckets = counts[self]
        return found
