"""memctl ingest: documents as raw passages."""

from memctl.annotations import Annotated, Literal
from memctl.context import Context
from memctl.folders.documents import ingest_sources, limits, register_corpus
from memctl.ingest.prepare import Options
from memctl.operation import CREATE, Arg, Fields, PlainResult, operation
from memctl.parameters import WriteTarget


@operation(
    access=CREATE,
    examples=(
        "memctl ingest docs/ src/         # raw: stored and searchable, not injected",
        "memctl ingest notes.md --injectable  # as push does it",
        "pandoc book.epub -t markdown | memctl ingest - --tags book",
    ),
    exits={1: "a source does not exist, or no file could be read"},
    takes_input=lambda values: "-" in values["source"],
)
def ingest(
    ctx: Context,
    source: Annotated[
        list[str], Arg("files, folders, glob patterns, or - for standard input", path=True, aliases=("--source",))
    ],
    *,
    target: Annotated[
        WriteTarget,
        Fields("scope tags injectable chunk_tokens format corpus workspace", tags={"help": "tags for every passage"}),
    ],
    injectable: Annotated[bool, Arg("let recall use the passages at once", "--injectable")] = False,
    chunk_tokens: Annotated[
        int, Arg("no passage is longer than this", "--chunk-tokens", config="ingest.chunk_tokens", ge=20, le=100_000)
    ] = 1800,
    format: Annotated[
        Literal["auto", "text"],
        Arg("auto takes title and tags from the document and its folders, text only what is given", "--format"),
    ] = "auto",
    corpus: Annotated[str | None, Arg("the document set they belong to", "--corpus")] = None,
) -> PlainResult:
    """Store documents as raw passages, kept out of recall until promoted.

    Text, Markdown, source code, tables, data, HTML, notebooks, mail, office documents and PDF are cut along their
    structure, judged by policy (secrets are replaced, injected instructions quarantined) and stored. A file that was
    ingested before is compared: unchanged passages stay, changed ones replace the old, gone ones are archived. A folder
    given as a source also gives up the passages of files deleted from it.
    """
    scope, view_corpus = target.place(ctx)
    corpus = corpus or view_corpus
    options = Options(
        chunk_tokens, tuple(target.tags or ()), scope, injectable, corpus, format == "auto", limits(ctx),
    )  # fmt: skip
    done = ingest_sources(ctx, "ingest", source, options)
    register_corpus(ctx, corpus, scope)
    # Nothing on stdout: the counts are talk, and went to stderr.
    return PlainResult({
        "status": "ok", "scope": scope, "corpus": corpus, "files": done.files, "files_new": done.new,
        "files_changed": done.changed, "files_unchanged": done.unchanged, "files_refiled": done.refiled,
        "files_moved": done.moved, "files_deleted": done.deleted,
        "files_failed": [{"path": t.path, "reason": t.problem} for t in done.failed],
        "chunks_created": len(done.item_ids), **done.passages(),
    })  # fmt: skip
