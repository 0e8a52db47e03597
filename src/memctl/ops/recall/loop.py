"""memctl loop: a model answers, asks memory for more, and answers again, within bounds."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from memctl import errors
from memctl.annotations import Annotated
from memctl.answering.answer import Ground, Model, ModelOptions, least_coverage
from memctl.context import Context
from memctl.llm.controller import (
    CONVERGED,
    LoopPlan,
    LoopTrace,
    read_trace_file,
    trace_file_line,
)
from memctl.llm.controller import replay as replay_loop
from memctl.llm.working import RecalledPassages
from memctl.operation import READ, REQUIRED, Arg, Fields, Group, PlainResult, operation
from memctl.parameters import ReadRequest
from memctl.reading.request import block_budget
from memctl.store.items import items
from memctl.text.clean import clean
from memctl.text.tokens import estimate_tokens

#: What of a model's options the loop offers, and where its own stand among them.
_MODEL = Fields(
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
    options: Annotated[ModelOptions, _MODEL],
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
