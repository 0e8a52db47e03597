"""memctl push: ingest, then recall."""

import os
from collections.abc import Iterator

from memctl import errors
from memctl.annotations import Annotated
from memctl.context import Context
from memctl.folders.documents import ingest_sources, limits, register_corpus
from memctl.ingest.prepare import Options
from memctl.names import Tier
from memctl.operation import CREATE, READ, Arg, operation
from memctl.ops.recall import block as recalling
from memctl.ops.recall.search import View
from memctl.parameters import AsPrompt, Budget, HowFramed, Proposing, ReadIn, writes
from memctl.reading.request import AsOf, MinCoverage, Since, Until


@operation(
    access=CREATE,
    examples=(
        'memctl push "how is the index built" --source docs/ src/ | some-llm | memctl pull --tags note',
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
    budget: Budget = 2200,
    tier: Annotated[Tier | None, Arg("only this tier", "--tier")] = None,
    chunk_tokens: Annotated[
        int, Arg("no passage is longer than this", "--chunk-tokens", config="ingest.chunk_tokens", ge=20, le=100_000)
    ] = 1800,
    tags: Annotated[list[str] | None, Arg("tags for every passage ingested", "--tags", comma=True)] = None,
    scope: Annotated[str, Arg("the scope to store in and to recall from", "--scope")] = "project",
    all_scopes: Annotated[bool, Arg("recall from every scope", "--all-scopes")] = False,
    workspace: ReadIn = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    min_coverage: MinCoverage = 0.0,
    frame: HowFramed = "compact",
    prompt: AsPrompt = False,
    propose: Proposing = False,
    redact: Annotated[View, Arg("who may see the block; RAGIX says S0, S2, S3", "--redact")] = "full",
) -> recalling.Recalled:
    """Ingest sources, then print what answers a question as one block.

    The block on stdout is ready to be piped into an LLM. It never exceeds the budget, holds the passages that answer
    the question best, and says of each where it comes from. Nothing matches: nothing is printed. --prompt makes a whole
    prompt of it, which ends with the question and is printed in any case; --propose tells the model how to answer so
    that pull finds what is worth keeping.
    """
    if source:
        if as_of is not None:
            raise errors.UsageError("--as-of looks back; what --source brings in now was not there", command="push")
        filed, corpus_id = writes(ctx, workspace, scope)
        options = Options(chunk_tokens, tuple(tags or ()), filed, corpus_id=corpus_id, limits=limits(ctx))
        ingest_sources(ctx, "push", source, options)
        register_corpus(ctx, corpus_id, filed)
    else:
        if tags:
            ctx.warn("[push] --tags is for what --source brings in: not used (recall --tags asks by tags)")
        if os.path.exists(ctx.db_path):
            ctx.narrow(READ)  # as recall: a store that may not be written to answers, too
    return recalling.recall_block(
        ctx, query, label="push", budget=budget, tier=tier, scope=scope, all_scopes=all_scopes, workspace=workspace,
        since=since, until=until, as_of=as_of, min_coverage=min_coverage, redact=redact,
        frame=frame, prompt=prompt, propose=propose,
    )  # fmt: skip


def text(result: recalling.Recalled) -> Iterator[str]:
    """The block."""
    return recalling.text(result)
