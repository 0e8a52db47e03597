"""A model answers within bounds: memctl ask about a folder, memctl loop from standard input."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from memctl import errors
from memctl.annotations import Annotated
from memctl.answering.answer import (
    GAP,
    REQUEST,
    Citation,
    Ground,
    GroundedAnswer,
    Model,
    ModelOptions,
    check_citations,
    least_coverage,
)
from memctl.context import Context
from memctl.folders.mounted import Visit, VisitOptions, brought_in, canonical_folder, structure, sync_state
from memctl.llm.controller import (
    CONVERGED,
    LoopPlan,
    LoopTrace,
    read_trace_file,
    trace_file_line,
)
from memctl.llm.controller import replay as replay_loop
from memctl.llm.working import RecalledPassages
from memctl.operation import CREATE, READ, REQUIRED, Arg, Fields, Group, PlainResult, operation
from memctl.parameters import Budget, ReadRequest
from memctl.reading.request import block_budget
from memctl.store.items import items
from memctl.text.block.packing import Block
from memctl.text.clean import clean, one_line
from memctl.text.tokens import CHARS_PER_TOKEN, estimate_tokens

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


# --- the loop alone ---------------------------------------------------------------------------------------------------


#: What of a model's options the loop offers, and where its own stand among them.
_LOOP_MODEL = Fields(
    "llm llm_mode protocol system_prompt max_calls threshold query_threshold stable_steps no_stop_on_no_new request "
    "strict timeout stream",
    protocol={"default": "json"},
    max_calls={"default": 3},
)
#: What of a read request the loop offers.
_READ = Fields(
    "budget scope all_scopes workspace embedder redact",
    budget={"default": 2200},
    scope={"mcp": "full", "mcp_default": ..., "mcp_help": None},
    redact={"help": "who may see what is recalled; RAGIX says S0, S2, S3"},
)


class TraceOptions(Group):
    """Where the trace of a loop goes, or which recorded one is read instead."""

    trace: Annotated[bool, Arg("a JSON line for each call, on stderr", "--trace", mcp=False)] = False
    trace_file: Annotated[
        str | None,
        Arg("write these lines, and what --replay needs", "--trace-file", metavar="FILE", path=True, mcp=False),
    ] = None
    replay: Annotated[
        str | None,
        Arg("print the trace of a recorded loop; no model is asked", "--replay", metavar="FILE", path=True, mcp=False),
    ] = None


@operation(
    access=READ,
    tool="memory_loop",
    toolset="standard",
    prose=True,
    open_world=True,
    about="Let the model that this server was given answer a question from a context, and ask memory for more until "
    "its answer stays the same.",
    answer={
        "answer": "string", "iterations": "integer", "converged": "boolean", "stop_reason": "string",
        "traces": "array", "item_ids": "array", "truncated": "boolean", "spend": "object",
    },
    examples=(
        'memctl push "auth flow" | memctl loop "auth flow" --llm "claude -p" --trace',
        'memctl recall auth | memctl loop auth --llm llm --protocol passive --stream',
        'memctl push auth | memctl loop auth --llm "claude -p" --trace-file t.jsonl',
        'memctl loop --replay trace.jsonl "auth flow"',
    ),
    exits={
        1: "also when the model failed or took too long, and with --strict when the loop did not converge",
        0: "also when the loop ended at one of its bounds: stderr says which",
    },
)  # fmt: skip
def loop(
    ctx: Context,
    query: Annotated[str, Arg("the question")],
    *,
    initial_context: Annotated[
        str | None, Arg("what is known so far, such as a block of recall", cli=False, mcp_default=REQUIRED)
    ] = None,
    options: Annotated[ModelOptions, _LOOP_MODEL],
    no_stop_on_no_new: Annotated[
        bool, Arg("continue when a query brings nothing new into the context", "--no-stop-on-no-new", mcp="full")
    ] = False,
    no_recall: Annotated[
        bool, Arg("recall nothing: the model has what stands on standard input, and no more", "--no-recall", mcp=False)
    ] = False,
    request: Annotated[ReadRequest, _READ],
    strict: Annotated[
        bool,
        Arg("an answer without directive is an error; so is a loop that does not converge", "--strict", mcp="full"),
    ] = False,
    tracing: Annotated[TraceOptions, Fields("trace trace_file replay")],
) -> PlainResult:
    """Let a model answer from standard input, and ask memory for more, within bounds.

    The model only proposes words to search for; memctl decides what is searched, how often, and when the loop ends. It
    ends when the model says so, repeats its answer, repeats a query, or asks for nothing new, and always after
    --max-calls. What a query finds takes its room from the rest of the context, within --budget, and no passage is
    given twice. Only the answer goes to stdout.
    """
    if tracing.replay is not None:
        return _replay(ctx, tracing.replay, query)
    if not query.strip():
        raise errors.UsageError("the question is empty", command="loop")
    model = Model(ctx, options, "loop")
    context = _read_context(ctx, initial_context)  # up to its end: the command before the pipe may make the store
    plan = model.plan(block_budget(ctx, request), stop_on_no_new=not no_stop_on_no_new, strict=strict)
    if plan.protocol != "passive" and plan.max_calls > 1 and not no_recall:
        _ = ctx.db  # a store that is missing is an error now, not after a call was paid for
    request.auto, request.min_coverage = True, least_coverage(ctx)
    recall = _recall_nothing if no_recall else Ground(ctx, request, "loop").recall
    if (size := estimate_tokens(context)) > plan.budget:
        ctx.warn(f"[loop] The context has ~{size} tokens; what is best in it within {plan.budget} is used.")
    with _trace_taker(ctx, plan, query, tracing) as on_trace:
        try:
            result = model.run(plan, context, query, recall, on_trace)
        finally:
            model.tell_spend()
        model.tell_end(result)
    data = {
        "status": "ok", "answer": result.answer, "iterations": result.iterations, "converged": result.converged,
        "stop_reason": result.stop_reason, "traces": [trace.as_dict() for trace in result.traces],
        "item_ids": list(result.ids), "truncated": result.truncated, "spend": model.spend.as_dict(),
    }  # fmt: skip
    # What was recalled counts as used when the answer is out; a store that cannot be written to counts nothing.
    after = partial(items.mark_used, ctx.db, result.ids, action="recall") if result.ids else None
    lines, failed = [] if model.streamed else [result.answer], strict and not result.converged
    return PlainResult(data, lines, int(failed), after=after, verbatim=True)


def _recall_nothing(_query: str, _budget: int) -> RecalledPassages:
    return RecalledPassages([], 0)


def _read_context(ctx: Context, given: str | None) -> str:
    """What is known so far, from standard input where it is not given. Raises NoContext and EmptyContext."""
    if given is None:
        if "stdin" in ctx.tty or ctx.stdin is None:
            raise errors.NoContext
        given = ctx.stdin_text()
    if not given.strip():
        raise errors.EmptyContext
    return clean(given).strip()


@contextmanager
def _trace_taker(
    ctx: Context, plan: LoopPlan, question: str, tracing: TraceOptions
) -> Iterator[Callable[[LoopTrace], None]]:
    """What takes the entries of the trace: a file, else stderr when that was asked for, else nobody."""
    path = tracing.trace_file
    if path is None:
        yield (lambda entry: ctx.note(entry.line())) if tracing.trace else (lambda _: None)
        return
    try:
        file = open(ctx.absolute(path), "wb", buffering=0)  # noqa: SIM115 - closed below
    except OSError as exc:
        raise errors.TraceUnwritable(path=path, reason=exc.strerror) from exc
    with file:

        def write(entry: LoopTrace) -> None:
            line = (trace_file_line(entry, plan, question) + "\n").encode("utf-8", "replace")
            try:
                while line:  # unbuffered, it takes what it can
                    line = line[file.write(line) :]
            except OSError as exc:  # the answer was paid for, and is worth more than its trace
                ctx.warn(f"[loop] The trace in {path} is not whole: {exc.strerror}")

        yield write


def _replay(ctx: Context, path: str, question: str) -> PlainResult:
    full = ctx.absolute(path)
    if not os.path.exists(full):
        raise errors.TraceMissing(path=path)
    try:
        with open(full, encoding="utf-8", errors="replace") as file:
            recorded = read_trace_file(path, file)
    except OSError as exc:
        raise errors.FileMissing(path=path, reason=exc.strerror) from exc
    if recorded.plan is not None and question != recorded.question:
        ctx.note(f"[loop] The recorded question was another: {recorded.question}")
    traces = replay_loop(path, recorded)
    last = traces[-1].action
    data = {
        "status": "ok", "iterations": len(traces), "converged": last in CONVERGED, "stop_reason": last,
        "traces": [trace.as_dict() for trace in traces],
    }  # fmt: skip
    return PlainResult(data, [trace.line() for trace in traces], verbatim=True)
