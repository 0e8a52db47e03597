"""memctl stats."""

from collections.abc import Iterator

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import READ, Arg, Result, operation
from memctl.parameters import ReadIn, seen_through
from memctl.store.search.fts import DOUBTS


class Stats(Result):
    """The counts, under their documented keys."""

    __slots__ = ("counts", "path")

    def __init__(self, counts: dict[str, Any], path: str) -> None:
        self.counts, self.path = counts, path

    def as_dict(self) -> dict[str, Any]:
        """The counts, `status`, and the version of the block's format."""
        from memctl.text.block.block import FORMAT_VERSION

        return self.as_json() | {"format_version": FORMAT_VERSION}

    def as_json(self) -> dict[str, Any]:
        """The counts and `status`."""
        return self.counts | {"db_path": self.path, "status": "ok"}


@operation(
    access=READ,
    tool="memory_stats",
    toolset="standard",
    about="Count the memories by tier, type and scope, and say how the full-text index was built.",
    answer={
        "total_items": "integer", "by_tier": "object", "by_type": "object", "by_scope": "object",
        "events_count": "integer", "embeddings_count": "integer", "fts5_available": "boolean",
        "format_version": "integer",
    },
    examples=("memctl stats", "memctl stats --scope team", "memctl stats --json | jq .by_tier"),
)  # fmt: skip
def stats(
    ctx: Context,
    *,
    scope: Annotated[str | None, Arg("only the items of this scope", "--scope", mcp_help="")] = None,
    workspace: ReadIn = None,
) -> Stats:
    """Count what the store holds.

    Items are counted by tier, type and scope, archived ones apart. The lines about the tokenizer tell how the
    full-text index was built.
    """
    from memctl.store.contents import count_contents as count
    from memctl.store.filters import Filters

    seen = seen_through(ctx, workspace, Filters(None if scope is None else (scope,)))
    return Stats(count(ctx.db, seen.scopes, seen.corpus_id), ctx.db_path)


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
    if n["fts_state"] in DOUBTS:
        yield f"  Index: {DOUBTS[n['fts_state']]}"
    if n["fts_tokenizer"]:
        yield f"  Tokenizer: {n['fts_tokenizer']}"
    if n["fts_tokenizer_mismatch"]:
        yield f"  Stored tokenizer: {n['fts_tokenizer_stored']}  (mismatch)"
    if n["fts_indexed_at"]:
        yield f"  Indexed at: {n['fts_indexed_at']}"
    if n["fts_reindex_count"]:
        yield f"  Reindex count: {n['fts_reindex_count']}"


def _group(title: str, counts: dict[str, int], width: int) -> Iterator[str]:
    from memctl.text.clean import one_line

    if counts:
        yield f"  {title}:"
    for name, count in counts.items():
        yield f"    {one_line(name):<{width}}: {count}"
