"""Counters by tool."""

import pytest

from memctl import errors
from memctl.context import Context
from memctl.mcp.middleware import MAX_TOOLS, OTHER, WINDOW, Metrics
from memctl.ops.start import serve as op


def test_nothing_yet() -> None:
    now = [5.0]
    metrics = Metrics(clock=lambda: now[0])
    now[0] = 7.25
    assert metrics.as_dict() == {"uptime_seconds": 2.2, "calls": 0, "errors": 0, "rate_limited": 0, "tools": {}}


def test_calls_are_counted_by_how_they_ended() -> None:
    metrics = Metrics()
    for outcome in ("ok", "error", "rejected", "rate_limited", "ok", "not_found"):
        metrics.record("memory_write", outcome, 2.0, 10, 3)
    metrics.record("memory_read", "ok", 1.0, 1, 1)
    found = metrics.as_dict()
    assert list(found["tools"]) == ["memory_read", "memory_write"]
    assert found["tools"]["memory_write"] == {
        "calls": 6, "errors": 3, "rate_limited": 1, "p50_ms": 2.0, "p95_ms": 2.0, "bytes_in": 60, "bytes_out": 18,
    }  # fmt: skip
    assert (found["calls"], found["errors"], found["rate_limited"]) == (7, 3, 1)


@pytest.mark.parametrize(
    ("latencies", "p50", "p95"),
    [([7.0], 7.0, 7.0), ([1.0, 2.0], 1.0, 2.0), ([float(n) for n in range(1, 101)], 50.0, 95.0)],
)
def test_quantiles(latencies: list[float], p50: float, p95: float) -> None:
    metrics = Metrics()
    for ms in reversed(latencies):
        metrics.record("t", "ok", ms, 0, 0)
    assert (metrics.as_dict()["tools"]["t"]["p50_ms"], metrics.as_dict()["tools"]["t"]["p95_ms"]) == (p50, p95)


def test_old_latencies_are_forgotten_and_room_is_bounded() -> None:
    metrics = Metrics()
    for _ in range(WINDOW):
        metrics.record("t", "ok", 1000.0, 0, 0)
    for _ in range(WINDOW):
        metrics.record("t", "ok", 1.0, 0, 0)
    assert metrics.as_dict()["tools"]["t"]["p95_ms"] == 1.0
    for n in range(MAX_TOOLS * 2):
        metrics.record(f"tool{n}", "ok", 1.0, 0, 0)
    found = metrics.as_dict()
    assert len(found["tools"]) == MAX_TOOLS + 1
    assert found["calls"] == 2 * WINDOW + 2 * MAX_TOOLS
    assert found["tools"][OTHER]["calls"] == MAX_TOOLS + 1


def test_the_operation_shows_them() -> None:
    ctx = Context()
    with pytest.raises(errors.UsageError, match="a running server"):
        op.metrics(ctx)
    ctx.metrics = Metrics()
    ctx.metrics.record("memory_write", "ok", 2.0, 10, 3)
    found = op.metrics(ctx)
    assert found.as_dict() == {"status": "ok"} | ctx.metrics.as_dict()
    assert set(op.metrics.answer) == set(ctx.metrics.as_dict())
    assert list(op.metrics.text(found))[1] == (
        "memory_write: 1 calls, 0 errors, 0 rate-limited, p50 2.0 ms, p95 2.0 ms, 10 bytes in, 3 out"
    )


def test_one_tool_alone() -> None:
    metrics = Metrics()
    for tool in ("memory_recall", "memory_recall", "memory_write"):
        metrics.record(tool, "ok", 1.0, 10, 20)
    found = metrics.as_dict("memory_recall")
    assert (found["calls"], list(found["tools"])) == (2, ["memory_recall"])
    assert metrics.as_dict("memory_none")["tools"] == {}
