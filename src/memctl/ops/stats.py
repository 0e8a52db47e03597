"""memctl stats."""

from collections.abc import Iterator

from memctl.annotations import Any
from memctl.operation import READ, Result, operation
from memctl.ops.context import Context


class Stats(Result):
    """The counts, under their documented keys."""

    __slots__ = ("counts", "path")

    def __init__(self, counts: dict[str, Any], path: str) -> None:
        self.counts, self.path = counts, path

    def as_dict(self) -> dict[str, Any]:
        """The counts and `status`."""
        return self.counts | {"db_path": self.path, "status": "ok"}


@operation(
    access=READ,
    tool="memory_stats",
    examples=("memctl stats", "memctl stats --json | jq .by_tier"),
)
def stats(ctx: Context) -> Stats:
    """Count what the store holds.

    Items are counted by tier, type and scope, archived ones apart. The lines about the tokenizer tell how the
    full-text index was built.
    """
    from memctl.store.stats import stats as count

    return Stats(count(ctx.db), ctx.db_path)


def text(result: Stats) -> Iterator[str]:
    """The counts, one a line."""
    n = result.counts
    yield "Memory Store Statistics"
    yield "=" * 40
    yield f"  Total items (active): {n['total_items']}"
    for label, key in (("Archived items", "archived_items"), ("Not injectable", "withheld_items"), ("Files", "files")):
        if n.get(key):
            yield f"  {label}: {n[key]}"
    yield from _index(n)
    yield from _group("By tier", {tier.upper(): count for tier, count in n["by_tier"].items()}, 4)
    yield from _group("By type", n["by_type"], 12)
    if len(n.get("by_scope", ())) > 1:
        yield from _group("By scope", n["by_scope"], 12)
    yield f"  Embeddings:   {n['embeddings_count']}"
    yield f"  Audit events: {n['events_count']}"


def _index(n: dict[str, Any]) -> Iterator[str]:
    yield f"  FTS5:     {'available' if n['fts5_available'] else 'unavailable'}"
    if n["fts_tokenizer"]:
        yield f"  Tokenizer: {n['fts_tokenizer']}"
    if n["fts_tokenizer_mismatch"]:
        yield f"  Stored tokenizer: {n['fts_tokenizer_stored']}  (mismatch)"
    if n["fts_indexed_at"]:
        yield f"  Indexed at: {n['fts_indexed_at']}"
    if n["fts_reindex_count"]:
        yield f"  Reindex count: {n['fts_reindex_count']}"


def _group(title: str, counts: dict[str, int], width: int) -> Iterator[str]:
    if counts:
        yield f"  {title}:"
    for name, count in counts.items():
        yield f"    {name:<{width}}: {count}"
