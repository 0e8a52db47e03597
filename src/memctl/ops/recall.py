"""memctl recall, and the half of push that answers."""

from collections.abc import Iterator

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.names import DEFAULT_SCOPE, Tier
from memctl.operation import READ, Arg, Result, operation
from memctl.ops.arguments import Budget
from memctl.ops.context import Context
from memctl.ops.meaning import meaning
from memctl.ops.search import View
from memctl.retrieve.find import Found
from memctl.retrieve.find import search as find
from memctl.retrieve.view import saved_view
from memctl.store.filters import Filters

if TYPE_CHECKING:
    from memctl.policy.levels import Redaction
    from memctl.text.block import Block
    from memctl.types import MemoryItem, SearchMeta

#: How many of the best candidates are looked at for one block, at most, and how many tokens of budget call for one.
POOL = 50
TOKENS_PER_CANDIDATE = 40
#: A passage with less than this share of the best score is left out: it shares a word or two, and no more.
FLOOR = 0.35


class Recalled(Result):
    """A block and what it holds; the uses are counted when it has been printed."""

    __slots__ = ("block", "ctx", "header", "items", "matched", "meta", "redaction")
    verbatim = True

    def __init__(
        self, ctx: Context, block: "Block", items: "list[MemoryItem]", matched: int, meta: "SearchMeta", header: bool,
        redaction: "Redaction | None" = None,
    ) -> None:  # fmt: skip
        self.ctx, self.block, self.items, self.matched = ctx, block, items, matched
        self.meta, self.header, self.redaction = meta, header, redaction

    def as_dict(self) -> dict[str, Any]:
        """The block, a catalog of the items in it, and how the search was answered."""
        from memctl.text.block import FORMAT_VERSION
        from memctl.text.block_forms import format_search_results

        delivered = set(self.block.ids)
        items = format_search_results([i for i in self.items if i.id in delivered], "")
        return {
            "status": "ok",
            "inject_text": self.shown(),
            "items": items if self.redaction is None else [self.redaction.record(item) for item in items],
            "tokens_used": self.block.tokens,
            "matched": self.matched,
            "format_version": FORMAT_VERSION,
            "fts_strategy": self.meta.strategy,
            "fts_original_terms": self.meta.original_terms,
            "fts_effective_terms": self.meta.effective_terms,
            "fts_dropped_terms": self.meta.dropped_terms,
        }

    def shown(self) -> str:
        """The block as it is printed: without header and footer when that was asked for."""
        if self.header or not self.block.text:
            return self.block.text
        return "\n".join(self.block.text.split("\n\n", 1)[1].split("\n")[:-2])

    def settle(self) -> None:
        """Count the use of what was delivered; a store that cannot be written to counts nothing."""
        if self.block.ids:
            from memctl.store import items

            items.mark_used(self.ctx.db, self.block.ids, action="recall")


@operation(
    access=READ,
    tool="memory_recall",
    examples=(
        'memctl recall "how are tokens rotated" | some-llm',
        'memctl recall "deploy steps" --budget 600 --tags ops',
        'memctl recall "open decisions" --all-scopes --no-header',
    ),
    exits={0: "also when nothing matches: stdout is empty"},
)
def recall(
    ctx: Context,
    query: Annotated[str, Arg("the question to answer")],
    *,
    budget: Budget = 1500,
    tier: Annotated[Tier | None, Arg("only this tier", "--tier")] = None,
    scope: Annotated[str, Arg("items of this scope and of the scope global", "--scope")] = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("items of every scope", "--all-scopes")] = False,
    tags: Annotated[list[str] | None, Arg("items with at least one of these tags", "--tags", comma=True)] = None,
    no_header: Annotated[bool, Arg("only the passages, without header and footer", "--no-header")] = False,
    workspace: Annotated[
        str | None, Arg("what this saved view reads, instead of --scope", "-w", "--workspace", metavar="NAME")
    ] = None,
    embedder: Annotated[
        str | None,
        Arg("find by meaning too (memctl embed); none: by words only", "--embedder", env="MEMCTL_EMBEDDER", mcp=False),
    ] = None,
    redact: Annotated[View, Arg("who may see it; RAGIX says S0, S2, S3", "--redact")] = "full",
) -> Recalled:
    """Print what answers a question as one block within a token budget.

    The block says of each passage where it comes from. It never costs more than the budget (four characters are one
    token), passages that are too long are cut around what matters, and items kept from models are never in it.
    """
    return recall_block(
        ctx, query, label="recall", budget=budget, tier=tier, scope=scope, all_scopes=all_scopes,
        tags=tags, header=not no_header, workspace=workspace, embedder=embedder, redact=redact,
    )  # fmt: skip


def recall_block(
    ctx: Context,
    query: str,
    *,
    label: str,
    budget: int,
    tier: str | None = None,
    scope: str = DEFAULT_SCOPE,
    all_scopes: bool = False,
    tags: list[str] | None = None,
    header: bool = True,
    workspace: str | None = None,
    embedder: str | None = None,
    redact: View = "full",
) -> Recalled:
    """Find what answers a question and write it as a block; `[label]` begins what is said on stderr."""
    corpus = None
    if workspace is not None:
        scope, corpus = saved_view(ctx.db, workspace)
    scopes = Filters.read_set(scope, all_scopes)
    filters = Filters(scopes, tier, None, tuple(tags or ()), corpus, injectable=True)
    means = meaning(ctx, embedder or ctx.env("MEMCTL_EMBEDDER"))
    found = find(ctx.db, query, filters=filters, limit=_pool(budget), count=True, meaning=means)
    result = _packed(ctx, found, budget, header, redact)
    _say(ctx, result, query, filters, label, budget)
    return result


def _pool(budget: int) -> int:
    return max(5, min(POOL, budget // TOKENS_PER_CANDIDATE))


def _packed(ctx: Context, found: Found, budget: int, header: bool, redact: View) -> Recalled:
    from memctl.retrieve.find import describe
    from memctl.retrieve.pack import pack
    from memctl.store import items, sources

    best = found.candidates[0].score if found.candidates else 0.0
    chosen = [c.id for c in found.candidates if c.score >= FLOOR * best]
    records = items.get_many(ctx.db, chosen)
    places = sources.get_many(ctx.db, chosen)
    redaction = None
    if redact not in ("full", "S3"):
        from memctl.ops import redacted

        redaction = redacted.redaction(ctx, redact)
        records, places = redacted.shown(redaction, records), redacted.places(redaction, places)
    block = pack(records, places, found.query, budget, matched=found.total, cwd=_cwd(ctx))
    return Recalled(ctx, block, records, found.total, describe(ctx.db, found), header, redaction)


def _cwd(ctx: Context) -> str:
    try:
        return ctx.cwd
    except errors.FileMissing:  # somebody deleted the folder we are in: paths are shown whole
        return ""


def _say(ctx: Context, result: Recalled, query: str, filters: Filters, label: str, budget: int) -> None:
    block = result.block
    if block.text:
        ctx.note(f"[{label}] {block.items} items, ~{block.tokens} tokens")
    elif result.items:
        ctx.warn(f"[{label}] The budget of {budget} tokens is too small for any item.")
    elif find(ctx.db, query, filters=filters.but(injectable=False), limit=1).candidates:
        ctx.note(f"[{label}] No injectable items matched.")
    else:
        ctx.note(f"[{label}] No matching items.")
        if filters.scopes is not None and result.redaction is None:
            from memctl.ops.search import note_other_scopes

            note_other_scopes(ctx, query, filters, f"[{label}] ")


def text(result: Recalled) -> Iterator[str]:
    """The block, or nothing."""
    if result.block.text:
        yield result.shown()
