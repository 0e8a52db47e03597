"""Rate limits, on a clock that only moves when it is told to."""

import pytest

from memctl.mcp.rate_limiter import EXEMPT_TOOLS, READ_TOOLS, WRITE_TOOLS, RateLimiter, RateLimitExceeded, _Bucket
from memctl.mcp.session import MAX_SESSIONS


class Clock:
    """Seconds, by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> RateLimiter:
    return RateLimiter(clock=clock)


def test_the_documented_sets() -> None:
    def named(*names: str) -> set[str]:
        return {f"memory_{name}" for name in names}

    assert named("write", "propose", "import", "consolidate", "sync", "reindex") == WRITE_TOOLS
    reads = named("recall", "recall_best_effort", "search", "read", "export", "inspect", "ask", "loop")
    assert reads == READ_TOOLS
    assert named("stats", "mount") == EXEMPT_TOOLS


@pytest.mark.parametrize(
    ("tool", "access", "kind"),
    [
        ("memory_write", None, "write"),
        ("memory_loop", "create", "read"),
        ("memory_mount", "create", "exempt"),
        ("memory_status", "read", "exempt"),
        ("memory_metrics", "none", "exempt"),
        ("memory_unheard_of", None, "exempt"),
        ("memory_list", "read", "read"),
        ("memory_diff", "read", "read"),
        ("memory_promote", "write", "write"),
        ("memory_reset", "write", "write"),
        ("memory_session_store", "create", "write"),
        ("memory_policy", "none", "exempt"),
    ],
)
def test_a_tool_in_no_set_goes_by_what_it_does(tool: str, access: str | None, kind: str) -> None:
    assert RateLimiter.classify_tool(tool, access) == kind


def test_writes_come_in_a_burst_and_then_at_their_rate(limiter: RateLimiter, clock: Clock) -> None:
    for _ in range(40):
        limiter.check_write("s")
    with pytest.raises(RateLimitExceeded) as caught:
        limiter.check_write("s")
    assert caught.value.retry_after_ms == 3000
    assert caught.value.message == "Write rate limit exceeded (20/min). Retry after 3000ms."
    clock.now += caught.value.retry_after_ms / 1000
    limiter.check_write("s")
    limiter.check_write("another session")
    limiter.check_read("s")


def test_reads_come_in_a_burst_and_then_at_their_rate(limiter: RateLimiter, clock: Clock) -> None:
    for _ in range(240):
        limiter.check_read("s")
    with pytest.raises(RateLimitExceeded, match=r"^Read rate limit exceeded \(120/min\)\. Retry after 500ms\.$"):
        limiter.check_read("s")
    clock.now += 3600
    for _ in range(240):  # no more than the bucket holds, however long it was quiet
        limiter.check_read("s")
    with pytest.raises(RateLimitExceeded):
        limiter.check_read("s")


@pytest.mark.parametrize("rate", [1, 7, 20, 33, 119])
def test_who_waits_as_long_as_told_gets_in(clock: Clock, rate: int) -> None:
    limiter = RateLimiter(writes_per_minute=rate, clock=clock)
    waits = 0
    for _ in range(rate * 4):
        try:
            limiter.check_write("s")
        except RateLimitExceeded as exc:
            waits += 1
            clock.now += exc.retry_after_ms / 1000
            limiter.check_write("s")
    assert waits >= rate


def test_several_writes_at_once_are_all_or_none(limiter: RateLimiter) -> None:
    limiter.check_write_n("s", 30)
    with pytest.raises(RateLimitExceeded) as caught:
        limiter.check_write_n("s", 11)
    assert caught.value.message == ("Write rate limit exceeded: 11 items would exceed 20/min. Retry after 3000ms.")
    limiter.check_write_n("s", 10)
    with pytest.raises(RateLimitExceeded, match=r"41 items would exceed 20/min\. At most 40 go at once\."):
        limiter.check_write_n("s", 41)


def test_an_import_as_large_as_the_guard_allows_works(limiter: RateLimiter, clock: Clock) -> None:
    limiter.check_import("s", 500)
    limiter.check_import("s", 500)
    with pytest.raises(RateLimitExceeded, match=r"500 items would exceed 20/min\. Retry after 60000ms") as caught:
        limiter.check_import("s", 500)
    clock.now += caught.value.retry_after_ms / 1000
    limiter.check_import("s", 500)


def test_an_import_works_however_small_the_limit_is(clock: Clock) -> None:
    limiter = RateLimiter(writes_per_minute=1, burst_factor=1.0, clock=clock)
    limiter.check_import("s", 10_000)
    with pytest.raises(RateLimitExceeded) as caught:
        limiter.check_import("s", 1)
    assert caught.value.retry_after_ms == 60_000


def test_proposals_are_counted_per_turn(limiter: RateLimiter, clock: Clock) -> None:
    limiter.check_proposals("s", 3)
    clock.now += 59
    limiter.check_proposals("s", 2)
    with pytest.raises(RateLimitExceeded) as caught:
        limiter.check_proposals("s", 1)
    assert caught.value.message.startswith("Proposal limit exceeded: 6 proposals this turn (limit: 5).")
    assert caught.value.retry_after_ms == 60_000, "the turn ends when nobody proposes for so long"
    clock.now += 20
    with pytest.raises(RateLimitExceeded) as caught:
        limiter.check_proposals("s", 1)
    assert caught.value.retry_after_ms == 40_000
    limiter.reset_turn("s")
    limiter.check_proposals("s", 5)
    clock.now += 60  # nobody proposed anything for long enough: that turn is over
    limiter.check_proposals("s", 5)
    limiter.check_proposals("another", 5)


def test_refused_proposals_do_not_count(limiter: RateLimiter) -> None:
    limiter.check_proposals("s", 4)
    with pytest.raises(RateLimitExceeded, match="propose at most 5 at a time"):
        limiter.check_proposals("s", 6)
    with pytest.raises(RateLimitExceeded) as caught:
        limiter.check_proposals("s", 6)
    assert caught.value.retry_after_ms == 0, "so many never go at once"
    limiter.check_proposals("s", 1)


def test_many_sessions_take_no_more_room(limiter: RateLimiter) -> None:
    for n in range(MAX_SESSIONS + 50):
        limiter.check_read(f"s{n}")
    assert len(limiter.sessions) == MAX_SESSIONS


def test_the_bucket(clock: Clock) -> None:
    bucket = _Bucket(capacity=10, tokens=0, last_refill=clock.now, refill_rate=2, clock=clock)
    assert bucket.try_consume(1) == 500
    clock.now += 1
    bucket.refill()
    assert bucket.tokens == 2
    assert bucket.try_consume(2) == 0
    clock.now -= 5  # a clock that went back gives nothing and takes nothing
    assert bucket.try_consume(1) == 500


def test_the_session_has_its_buckets(limiter: RateLimiter) -> None:
    assert limiter._get_buckets("s").write.capacity == 40
    assert limiter._get_buckets("s") is limiter._get_buckets("s")


@pytest.mark.parametrize(
    "wrong", [{"writes_per_minute": 0}, {"reads_per_minute": -1}, {"burst_factor": 0}, {"max_proposals_per_turn": 0}]
)
def test_a_limit_that_lets_nothing_through_is_a_mistake(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        RateLimiter(**wrong)  # type: ignore[arg-type]
