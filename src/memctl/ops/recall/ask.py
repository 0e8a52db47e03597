"""memctl ask: one question to a folder."""

import os
from functools import partial

from memctl import errors
from memctl.annotations import Annotated
from memctl.answering.answer import GAP, Ground, GroundedAnswer, Model, ModelOptions, least_coverage
from memctl.context import Context
from memctl.folders import Visit, VisitOptions, brought_in, canonical_folder, structure, sync_state
from memctl.llm.citations import REQUEST, Citation, check_citations
from memctl.operation import CREATE, Arg, Fields, PlainResult, operation
from memctl.parameters import Budget, ReadRequest
from memctl.store.items import items
from memctl.text.block.packing import Block
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN

#: What of a model's options ask offers, and where its own stand among them.
_MODEL = Fields(
    "llm cite budget inspect_cap protocol max_calls threshold query_threshold stable_steps visiting system_prompt "
    "llm_mode timeout stream"
)
#: Citations that lead nowhere and are named one by one.
_LINES = 20


@operation(
    access=CREATE,
    tool="memory_ask",
    toolset="standard",
    prose=True,
    destructive=True,
    open_world=True,
    about="Ask the model that this server was given a question about a folder: it reads the folder's structure and the "
    "passages that answer best. Mounts and syncs the folder as far as needed.",
    answer={
        "answer": "string", "mount_id": "string", "was_mounted": "boolean", "was_synced": "boolean",
        "recall_items_used": "integer", "loop_iterations": "integer", "converged": "boolean", "stop_reason": "string",
        "truncated": "boolean", "sources": "array", "citations": "array", "spend": "object",
    },
    examples=(
        'memctl ask docs/ "What are the auth risks?" --llm "claude -p"',
        'memctl ask src/ "Summarize the architecture" --llm "claude -p" --json',
        'memctl ask docs/ "How long are logs kept?" --llm "claude -p" --cite',
        'memctl ask ~/inbox "Who wrote of the fair?" --llm llm --mount-mode ephemeral',
        'memctl ask src/ "Are retries capped?" --llm llm --protocol json --max-calls 4',
    ),
    exits={
        0: "also when nothing in the folder matches, and when a citation leads nowhere",
        1: "the path is missing or no folder, the model failed or is not named, or --inspect-cap leaves no budget",
    },
)  # fmt: skip
def ask(
    ctx: Context,
    path: Annotated[str, Arg("the folder", path=True)],
    question: Annotated[str, Arg("what you want to know")],
    *,
    options: Annotated[ModelOptions, _MODEL],
    cite: Annotated[
        bool, Arg("ask for citations, and check them against what the model was given", "--cite", mcp="full")
    ] = False,
    budget: Budget = 2200,
    inspect_cap: Annotated[
        int,
        Arg(
            "tokens of the budget for the folder's structure at most",
            "--inspect-cap",
            ge=0,
            mcp_help="tokens for the structure",
        ),
    ] = 600,
    visiting: Annotated[VisitOptions, Fields("sync no_sync mount_mode ignore")],
) -> PlainResult:
    """Ask a model about a folder.

    A folder that is not mounted is mounted first, and one with new, changed or deleted files is synced first; stderr
    says so. The model gets the folder's structure and the passages of this folder that answer the question best, both
    together within the budget. With --protocol json or regex and more calls it may ask for other passages, of this
    folder too. --cite asks for citations as `path:line`; those that were not in the context are named on stderr.
    """
    if inspect_cap >= budget:
        raise errors.UsageError(f"inspect_cap ({inspect_cap}) must be less than budget ({budget})", command="ask")
    if not question.strip():
        raise errors.UsageError("the question is empty", command="ask")
    model = Model(ctx, options, "ask")
    plan = model.plan(budget, REQUEST if cite else "")
    folder = canonical_folder(ctx, path, "ask")
    with brought_in(ctx, folder, visiting.when, visiting.mount_mode, {"ignore": visiting.ignore}) as (here, visit):
        first, shape, ground = _look(here, visit, question, budget, inspect_cap)
        try:
            grounded = ground.answer(model, plan, question, first, before=shape)
        finally:
            model.tell_spend()
    model.tell_end(grounded.result)
    done = grounded.result
    data = {
        "status": "ok", "answer": done.answer, "mount_id": visit.mount["mount_id"] if visit.mount else None,
        "was_mounted": visit.made, "was_synced": visit.synced is not None, "was_ephemeral": visit.gone,
        "recall_items_used": len(grounded.ids), "loop_iterations": done.iterations, "converged": done.converged,
        "stop_reason": done.stop_reason, "truncated": done.truncated,
        "sources": [str(source) for source in grounded.sources], "spend": model.spend.as_dict(),
    }  # fmt: skip
    if cite:
        data["citations"] = [found._asdict() for found in _check(ctx, grounded, visit)]
    # What the model was given counts as used when the answer is out; a store that is left as it is counts nothing.
    counted = visiting.mount_mode == "persist"
    after = partial(items.mark_used, ctx.db, grounded.ids, action="recall") if counted else None
    return PlainResult(data, [] if model.streamed else [done.answer], after=after, verbatim=True)


def _look(ctx: Context, visit: Visit, question: str, budget: int, cap: int) -> tuple[Block, str, Ground]:
    """What the folder has for the question, its structure, and where more is to be had, all within the budget.

    `ctx` is the context whose store holds the folder's passages.
    """
    report = structure(ctx, visit.root)
    if visit.mount is not None:
        report.note_syncs([sync_state(ctx, visit.mount, visit.stale)])
    shape = report.block(cap) if cap else ""
    request = ReadRequest(all_scopes=True, below=visit.root.prefix, min_coverage=least_coverage(ctx))
    ground = Ground(ctx, request, "ask")
    taken = len(shape + GAP) if shape else 0
    first = ground.block(question, max(0, budget * CHARS_PER_TOKEN - taken) // CHARS_PER_TOKEN)
    ctx.note(f"[ask] Context: {len(shape)} chars inspect + {len(first.text)} chars recall ({len(first.ids)} items)")
    return first, shape, ground


def _check(ctx: Context, grounded: GroundedAnswer, visit: Visit) -> list[Citation]:
    """The answer's citations; those that were not in the context are named."""
    from memctl.reading.block import current_folder
    from memctl.text.block.packing import Labels, display_path

    below = display_path(
        os.path.join(visit.folder, ""), Labels(current_folder(ctx))
    )  # how the context shows the folder
    found = check_citations(grounded.result.answer, grounded.places, below=below)
    unknown = [citation.source for citation in found if not citation.known]
    for source in unknown[:_LINES]:
        ctx.warn(f"[ask] Citation not in the context: {one_line(source)}")
    if len(unknown) > _LINES:
        ctx.warn(f"[ask] … and {len(unknown) - _LINES} more")
    if not found:
        ctx.warn("[ask] The answer cites nothing")
    else:
        ctx.note(f"[ask] {len(found)} citation(s), {len(unknown)} of them not in the context")
    return found
