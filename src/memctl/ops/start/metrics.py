"""memory_metrics: what the running server did so far. Only the server has it."""

from collections.abc import Iterator

from memctl import errors
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import NONE, Arg, Result, operation


class Measured(Result):
    """The server's counters, as `mcp.metrics` gives them."""

    __slots__ = ("counts",)

    def __init__(self, counts: dict[str, Any]) -> None:
        self.counts = counts

    def as_dict(self) -> dict[str, Any]:
        """The sums, and the tools by name."""
        return {"status": "ok"} | self.counts


@operation(
    access=NONE,
    tool="memory_metrics",
    about="Show how this memory server is doing: calls, errors, latency and bytes of each tool since it started.",
    answer={
        "uptime_seconds": "number",
        "calls": "integer",
        "errors": "integer",
        "rate_limited": "integer",
        "tools": "object",
    },
    idempotent=True,
)
def metrics(ctx: Context, tool_name: Annotated[str | None, Arg("only this tool", "--tool")] = None) -> Measured:
    """Count what the running server did, tool by tool.

    Calls, errors, rate-limited calls, the median and the 95th percentile of the last 512 calls in milliseconds, and
    the bytes of text that came in and went out.
    """
    if ctx.metrics is None:
        raise errors.UsageError("metrics are those of a running server", command="serve")
    return Measured(ctx.metrics.as_dict(tool_name))


def text(result: Measured) -> Iterator[str]:
    """A line for the sums and one for each tool."""
    n = result.counts
    yield f"{n['calls']} calls, {n['errors']} errors, {n['rate_limited']} rate-limited in {n['uptime_seconds']} s"
    for name, one in n["tools"].items():
        yield (
            f"{name}: {one['calls']} calls, {one['errors']} errors, {one['rate_limited']} rate-limited, "
            f"p50 {one['p50_ms']} ms, p95 {one['p95_ms']} ms, {one['bytes_in']} bytes in, {one['bytes_out']} out"
        )
