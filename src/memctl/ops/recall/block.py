"""What answers a question, as one block: memctl recall, push, context and handoff, and recall that tries again."""

import os
from collections.abc import Iterator

from memctl import errors
from memctl.annotations import Annotated, Any, Literal
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, READ, Arg, Fields, PlainResult, operation
from memctl.parameters import BlockForm, ReadRequest, WriteTarget
from memctl.reading.block import Recalled, configured_form, recall_block
from memctl.reading.request import block_budget, read_filters
from memctl.text import query as queries
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN, estimate_tokens

#: What the tools answer with that give a block.
_BLOCK = {"inject_text": "string", "items": "array", "tokens_used": "integer", "matched": "integer"}
#: A word of fewer letters is not worth a search of its own.
_LONG_ENOUGH = 3


@operation(
    access=READ,
    tool="memory_recall",
    toolset="core",
    prose=True,
    about="Recall what earlier sessions and the user's documents say about a question, as one text: each passage with "
    "id, date and source. Use it before you answer or start work on anything that may have been decided or said "
    "before; not for general knowledge, nor for what is in this conversation.",
    answer={
        **_BLOCK, "format_version": "integer", "fts_strategy": "string", "fts_original_terms": "array",
        "fts_effective_terms": "array", "fts_dropped_terms": "array", "hint": "string",
    },
    examples=(
        'memctl recall "how are tokens rotated" | some-llm',
        'memctl recall "deploy steps" --budget 600 --tags ops',
        'memctl recall "open decisions" --all-scopes --no-header',
        'memctl recall "open decisions" --mode catalog  # a line of each item',
    ),
    exits={0: "also when nothing matches: stdout is empty"},
)  # fmt: skip
def recall(
    ctx: Context,
    query: Annotated[str, Arg("the question to answer")],
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "budget tier scope all_scopes tags mount domain session since until as_of min_coverage weigh auto form "
            "workspace embedder redact",
            budget={"mcp_name": "budget_tokens"},
            tier={"mcp": "full"},
            tags={"mcp": "full"},
            workspace={"mcp": "full"},
        ),
    ],
    form: Annotated[BlockForm, Fields("mode no_header frame prompt propose")],
) -> Recalled:
    """Print what answers a question as one block within a token budget.

    The block says of each passage where it comes from. It never costs more than the budget (four characters are one
    token), passages that are too long are cut around what matters, and items kept from models are never in it. With
    --prompt the output is a whole prompt for a model: it ends with the question, and is printed even when nothing
    matches. With --mode catalog it lists the items instead, a line of each: `memctl show` opens one, and only then it
    counts as used.
    """
    return recall_block(ctx, query, request, form, command="recall")


@operation(
    access=CREATE,
    takes_input=lambda values: "-" in (values.get("source") or ()),
    examples=(
        'memctl push "the index" --source docs/ | some-llm | memctl pull --tags note',
        'git log -p -20 | memctl push "what changed in auth" --source -',
        'memctl push "auth flow" --budget 1000  # no source: recall from what is there',
    ),
    exits={1: "a source does not exist, or no file could be read", 0: "also when nothing matches: stdout is empty"},
)
def push(
    ctx: Context,
    query: Annotated[str, Arg("the question to answer")],
    *,
    source: Annotated[
        list[str] | None,
        Arg("files, folders, glob patterns, or - for standard input, ingested first", "--source", path=True),
    ] = None,
    request: Annotated[
        ReadRequest,
        Fields(
            "budget tier chunk_tokens tags scope all_scopes workspace since until as_of min_coverage form redact",
            budget={"default": 2200},
            scope={"help": "the scope to store in and to recall from"},
            all_scopes={"help": "recall from every scope"},
            redact={"help": "who may see the block; RAGIX says S0, S2, S3"},
        ),
    ],
    form: Annotated[BlockForm, Fields("frame prompt propose")],
    chunk_tokens: Annotated[
        int, Arg("no passage is longer than this", "--chunk-tokens", config="ingest.chunk_tokens", ge=20, le=100_000)
    ] = 1800,
    tags: Annotated[list[str] | None, Arg("tags for every passage ingested", "--tags", comma=True)] = None,
) -> Recalled:
    """Ingest sources, then print what answers a question as one block.

    The block on stdout is ready to be piped into an LLM. It never exceeds the budget, holds the passages that answer
    the question best, and says of each where it comes from. Nothing matches: nothing is printed. --prompt makes a whole
    prompt of it, which ends with the question and is printed in any case; --propose tells the model how to answer so
    that pull finds what is worth keeping.
    """
    if source:
        from memctl.folders.documents import ingest_sources, limits, register_corpus
        from memctl.ingest.prepare import Options

        if request.as_of is not None:
            raise errors.UsageError("--as-of looks back; what --source brings in now was not there", command="push")
        filed, corpus_id = WriteTarget(scope=request.scope, workspace=request.workspace).place(ctx)
        options = Options(chunk_tokens, tuple(tags or ()), filed, corpus_id=corpus_id, limits=limits(ctx))
        ingest_sources(ctx, "push", source, options)
        register_corpus(ctx, corpus_id, filed)
    else:
        if tags:
            ctx.warn("[push] --tags is for what --source brings in: not used (recall --tags asks by tags)")
        if os.path.exists(ctx.db_path):
            ctx.narrow(READ)  # as recall: a store that may not be written to answers, too
    return recall_block(ctx, query, request, form, command="push")


@operation(
    name="recall-best-effort",
    access=READ,
    tool="memory_recall_best_effort",
    prose=True,
    about="Recall memories for a question and, when nothing matches, try again with its identifiers and "
    "its longest word. Says what was tried. Only for when memory_recall found nothing.",
    answer={
        **_BLOCK, "query_used": "string", "strategy_used": "string", "steps": "array",
    },
)  # fmt: skip
def recall_best_effort(
    ctx: Context,
    query: Annotated[str, Arg("the question")],
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "budget tier scope workspace max_steps mode",
            budget={"mcp_name": "budget_tokens", "env": None, "config": None},
        ),
    ],
    max_steps: Annotated[int, Arg("how many searches to try at most, 1 to 5")] = 3,
    mode: Annotated[Literal["auto", "strict"], Arg("strict: one search only")] = "auto",
) -> PlainResult:
    """Recall, and try again with less when nothing matches.

    The first search is the one of `recall`, which ranks every item that has any word of the question. The further ones
    help where the words that matter are hidden among others: names from code alone, then the longest word alone.
    """
    parsed = queries.analyse(query)
    plain = queries.normalised(parsed)
    steps: list[dict[str, Any]] = [
        {"step": 1, "action": "normalize", "query_in": query, "query_out": plain, "changed": plain != query}
    ]
    tried: list[str] = []
    most = 1 if mode == "strict" else min(max(max_steps, 1), 5)
    for action, words in _attempts(query, plain):
        if len(tried) >= most or words in tried:
            continue
        tried.append(words)
        found = recall_block(ctx, words, request, configured_form(ctx), command="recall")
        steps.append({"step": len(steps) + 1, "action": action, "query": words, "strategy": found.meta.strategy,
                      "hits": found.matched})  # fmt: skip
        if found.matched:
            break
    hint = "" if found.matched else (
        f"Nothing matches {', '.join(repr(words) for words in tried)}.\n"
        "- Say it in other words, or with a name from the code.\n"
        "- memory_stats shows what the store holds and in which scopes; another scope may have it."
    )  # fmt: skip
    data = {key: value for key, value in found.as_dict().items() if not key.startswith("fts_")}
    data |= {"query_used": tried[-1], "strategy_used": found.meta.strategy, "steps": steps}
    return PlainResult(data | ({"hint": hint} if hint else {}), [found.text or hint], after=found.settle)


def _attempts(query: str, plain: str) -> Iterator[tuple[str, str]]:
    yield "search", plain
    words = query.split()
    names = [word for word in words if queries.is_identifier(word)]
    long = [word for word in plain.split() if len(word) >= _LONG_ENOUGH]
    narrower = " ".join(names) or max(long, key=len, default="")
    if narrower:
        yield "retry_identifiers", narrower
    if words:
        yield "retry_broadest", max(words, key=len)


# --- with what is disputed, and when it was said ----------------------------------------------------------------------


#: The share of the budget that is kept for conflicts and the timeline; what they do not need, they leave.
_RESERVE = 0.2
#: Periods of the timeline in the block.
_PERIODS = 12
_SIDE = 60


@operation(
    access=READ,
    tool="memory_context",
    toolset="standard",
    prose=True,
    about="As memory_recall, with what is disputed, and when it was said.",
    answer={
        "inject_text": "string", "memories": "array", "conflicts": "array", "timeline_summary": "string",
        "timeline": "array", "tokens_used": "integer", "matched": "integer",
    },
    examples=(
        'memctl context "how are tokens rotated"',
        'memctl context "billing" --budget 600 --json | jq .conflicts',
    ),
    exits={0: "also when nothing matches: stdout is empty"},
)  # fmt: skip
def context(
    ctx: Context,
    query: Annotated[str, Arg("the question to answer", mcp_help="the question")],
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "budget scope all_scopes workspace session since until weigh limit",
            budget={"mcp_name": "budget_tokens", "mcp": "full"},
            workspace={"mcp": "full"},
            scope={"mcp_help": "", "mcp": "full"},
        ),
    ],
    limit: Annotated[
        int, Arg("items of the block at most", "-n", "--limit", aliases=("-k",), ge=1, le=1000, mcp="full")
    ] = 50,
) -> PlainResult:
    """Print what answers a question, what of it is disputed, and when it was said, as one block.

    It is the block of `memctl recall`, then the open conflicts between its items, then how many statements were made in
    the time that its items are from, period by period. All of it keeps within the budget; the parts behind the block
    are left out before its items are.
    """
    from memctl.ops.look.timeline import group_days, summary
    from memctl.store.items import items, overview

    budget = block_budget(ctx, request)
    asked = ReadRequest(**vars(request) | {"budget": max(1, budget - int(budget * _RESERVE))})
    found = recall_block(ctx, query, asked, configured_form(ctx), command="context", most=limit)
    filters = read_filters(ctx, request, "context", injectable=True)
    given = items.get_many(ctx.db, found.block.ids)
    days: dict[str, int] = {}
    if given:
        made = sorted(item.created_at for item in given)
        days = overview.count_by_day(
            ctx.db, filters.replace(origin="statements", since=made[0], until=made[-1], tags=())
        )
    period, groups = group_days(days)
    conflicts = _open_conflicts(ctx, found.block.ids, filters) if given else []
    lines = _context_lines(found.text, conflicts, groups, summary(days), budget) if found.text else []
    text = "\n".join(lines)
    data: dict[str, Any] = {
        "status": "ok", "query": query, "inject_text": text, "memories": found.catalog(),
        "conflicts": conflicts, "timeline_summary": summary(days), "by": period,
        "timeline": [{"when": when, "count": count} for when, count in groups.items()],
        "tokens_used": estimate_tokens(text), "matched": found.matched,
    }  # fmt: skip
    return PlainResult(data, lines, after=found.settle)


@operation(
    name="build-context",
    access=READ,
    tool="memory_build_context",
    about="Recall memories for a question with the conflicts between them, as data.",
    answer={"query": "string", "memories": "array", "conflicts": "array", "timeline_summary": "string"},
)
def build_context(
    ctx: Context,
    query: Annotated[str, Arg("the question")],
    *,
    project: Annotated[str | None, Arg("the scope to recall from", mcp_help="")] = None,
    limit: Annotated[int, Arg("memories at most", ge=1, le=1000)] = 10,
    recency: Annotated[float | None, Arg("share of its score that a new item gains", ge=0, le=1)] = None,
    recency_days: Annotated[float | None, Arg("days until half of that is left", ge=0.1, le=100_000)] = None,
) -> PlainResult:
    """Recall memories with the conflicts between them and when they were said, as rekal does."""
    said = {"recency": recency, "recency_days": recency_days}
    weigh = [f"{name}={value}" for name, value in said.items() if value is not None]
    request = ReadRequest(scope=project or DEFAULT_SCOPE, weigh=weigh)
    done: PlainResult = context(ctx, query, request=request, limit=limit)
    return done


def _open_conflicts(ctx: Context, item_ids: "tuple[str, ...]", filters: Any) -> list[dict[str, Any]]:
    """The open conflicts between items of the block."""
    from memctl.ops.look.conflicts import conflict_rows
    from memctl.store import conflicts

    known = set(item_ids)
    return conflict_rows(
        ctx, [one for one in conflicts.conflicts_of(ctx.db, item_ids, filters) if {one.a, one.b} <= known]
    )


def _context_lines(
    block: str, conflicts: list[dict[str, Any]], groups: dict[str, int], said: str, budget: int
) -> list[str]:
    """The block, and of what follows as much as the budget has room for."""
    disputed = [
        f"{row['id']} ({row['why']}): " + " | ".join(one_line(row[side]["content"], _SIDE) for side in ("b", "a"))
        for row in conflicts
    ]
    when = ", ".join(f"{when} {count}" for when, count in list(groups.items())[-_PERIODS:] if count)
    parts = [["## Disputed", *disputed] if disputed else []]
    parts.append(["## When it was said", f"{said}: {when}"] if len(groups) > 1 else [])
    lines, room = [block], budget * CHARS_PER_TOKEN - len(block)
    for part in parts:
        size = sum(len(line) + 1 for line in part)
        if part and size <= room:
            room -= size
            lines += part
    return lines


# --- what a session left ----------------------------------------------------------------------------------------------


@operation(
    access=READ,
    examples=(
        "memctl handoff                # what the last session of this project left",
        "memctl handoff | codex exec -     # goes on with another client",
        "memctl handoff 22222222 --budget 400",
    ),
    exits={1: "no store, or no such session of this project"},
)
def handoff(
    ctx: Context,
    session: Annotated[
        str | None, Arg("the session; the beginning of its id is enough (else the last one)", metavar="SESSION-ID")
    ] = None,
    *,
    budget: Annotated[int, Arg("tokens of the block", "--budget", ge=50, le=10**6)] = 1000,
) -> PlainResult:
    """Print what a session left: what is open, what was decided, where it stopped.

    It is read from the turns that were taken in (memctl capture, or the hooks of a client), by form alone: no model is
    asked. Clients with hooks are told the same when a session begins, and after compaction.
    """
    from memctl import handover

    found = handover.session_named(ctx, session) if session else handover.last_session(ctx)
    if found is None and session:
        raise errors.SessionNotFound(id=session)
    text = handover.told_of(ctx, found, budget) if found else ""
    if not text:
        ctx.note("[handoff] No session of this project left anything. memctl capture takes past ones in.")
    about = {"session_id": found.id, "client": found.client, "updated_at": found.updated_at} if found else {}
    data = {"status": "ok" if text else "empty", **about, "text": text}
    return PlainResult(data, text.splitlines())
