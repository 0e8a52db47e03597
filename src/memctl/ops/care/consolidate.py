"""memctl consolidate: near-duplicates become one, what proved itself is promoted, what is over is archived."""

from collections.abc import Iterator, Sequence

from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE, Tier
from memctl.operation import READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting, WriteIn

if TYPE_CHECKING:
    from memctl.lifecycle.consolidate import Consolidation

#: Merge chains that a person sees; `--json` has them all.
_CHAINS = 20


@operation(
    access=WRITE,
    tool="memory_consolidate",
    idempotent=True,
    about="Tidy up the memory by fixed rules, without a model: statements that say the same in nearly the same words "
    "become one, what was used often or decided becomes long-term, what has expired is archived. Nothing is lost.",
    answer={
        "items_processed": "integer", "clusters_found": "integer", "items_merged": "integer",
        "items_promoted": "integer", "items_quarantined": "integer", "merge_chains": "array",
    },
    examples=(
        "memctl consolidate --dry-run",
        "memctl consolidate --scope work",
        "memctl consolidate --all-scopes --json | jq .merge_chains",
    ),
)  # fmt: skip
def consolidate(
    ctx: Context,
    *,
    scope: Annotated[str, Arg("the scope to consolidate", "--scope")] = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("each scope, one after the other", "--all-scopes")] = False,
    workspace: WriteIn = None,
    tiers: Annotated[list[Tier] | None, Arg("only items of these tiers", "--tiers", comma=True)] = None,
    acting: Annotated[Acting, Fields("dry_run")],
    no_promote: Annotated[bool, Arg("merge and archive only", "--no-promote", mcp=False)] = False,
    promote: Annotated[bool, Arg("promote and release too", cli=False)] = True,
) -> PlainResult:
    """Merge near-duplicates, promote what proved itself, archive what is over.

    Statements become one when they say the same in nearly the same words: case, punctuation, filler words, the place of
    a phrase, a slip of the pen. Another number, version, name, day or a `not` keeps them apart, and so does another
    type, corpus, document or state; tags and folders say nothing. Passages of documents are never merged. The new item
    has the tags, sources and links of all; the others are archived, and it names them.

    Used 5 times, verified, or a decision, definition or constraint: such an item becomes long-term. Passages that were
    ingested raw are released; what policy holds back never is. Items whose time is over are archived.
    """
    from memctl.lifecycle import consolidate as consolidation
    from memctl.store.items import merging

    if acting.dry_run:
        ctx.narrow(READ)
    if workspace is not None:
        from memctl.store import workspaces

        scope = workspaces.named_workspace(ctx.db, workspace).scope
    rules = consolidation.rules_of(ctx.config.consolidate, tiers, promote=promote and not no_promote)
    scopes = merging.list_scopes(ctx.db) if all_scopes else [scope]
    found = [consolidation.plan(ctx.db, ctx.policy, one, rules) for one in scopes]
    if not acting.dry_run:
        found = consolidation.apply(ctx.db, ctx.policy, found)
    data = _report(found, dry_run=acting.dry_run)
    if all_scopes:
        data["scopes_processed"] = scopes
    return PlainResult(data, list(_lines(data)))


def _report(found: "Sequence[Consolidation]", *, dry_run: bool) -> dict[str, Any]:
    """The documented keys, and what was released and archived."""
    merges = [merge for one in found for merge in one.merges]
    chains: list[dict[str, Any]] = []
    for merge in merges:
        row: dict[str, Any] = {} if dry_run else {"merged_id": merge.item.id}
        row["source_ids"] = [source.id for source in merge.sources]
        row["source_titles"] = [source.title for source in merge.sources]
        chains.append(row | {"dry_run": True} if dry_run else row)
    return {
        "status": "ok", "items_processed": sum(one.processed for one in found), "clusters_found": len(merges),
        "items_merged": sum(len(merge.sources) for merge in merges),
        "items_promoted": sum(len(one.promoted) for one in found),
        "items_quarantined": sum(merge.why == "policy" for merge in merges),
        "items_released": sum(len(one.released) for one in found),
        "items_expired": sum(len(one.expired) for one in found), "merge_chains": chains,
        **({"dry_run": True} if dry_run else {}),
    }  # fmt: skip


def _lines(data: dict[str, Any]) -> Iterator[str]:
    """The counts, then each chain."""
    dry_run = data.get("dry_run", False)
    yield f"Consolidation complete{' (dry run)' if dry_run else ''}:"
    yield f"  Items processed: {data['items_processed']}"
    yield f"  Clusters found:  {data['clusters_found']}"
    yield f"  Items merged:    {data['items_merged']}"
    yield f"  Items promoted:  {data['items_promoted']}"
    for label, key in (
        ("quarantined:", "items_quarantined"),
        ("released:", "items_released"),
        ("expired:", "items_expired"),
    ):
        if data[key]:
            yield f"  Items {label:<11}{data[key]}"
    chains = data["merge_chains"]
    if chains:
        yield from ("", "  Merge chains:")
    for chain in chains[:_CHAINS]:
        yield f"    {', '.join(chain['source_ids'])} → {chain.get('merged_id', '(dry run)')}"
    if len(chains) > _CHAINS:
        yield f"    … and {len(chains) - _CHAINS} more (--json lists all)"
