"""memctl embed and reindex: make the vectors, or the full-text index, that items are found by."""

from collections.abc import Iterator, Sequence

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.operation import READ, WRITE, Arg, Fields, Result, operation
from memctl.parameters import Acting
from memctl.reading.request import choose_embedder
from memctl.store import migrate
from memctl.store.documents import passages
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.store.schema import tokenizer as resolve
from memctl.store.search import fts, vectors

if TYPE_CHECKING:
    from memctl.retrieve.embedding import Embedder


#: Only what may be given to a model is given to an embedder.
EMBEDDABLE = Filters(injectable=True)
#: What the vectors may count is learnt again when more than 1 / LEARN_SHARE of them are new.
LEARN_SHARE = 10


class Embedded(Result):
    """What was embedded, what was there already, what is still to do, and what a vector may add to a score."""

    model: str
    done: int = 0
    kept: int = 0
    left: int = 0
    forgotten: int = 0
    weight: float | None = None
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The counts."""
        return {
            "status": "dry_run" if self.dry_run else "ok", "model": self.model, "embedded": self.done,
            "kept": self.kept, "left": self.left, "forgotten": self.forgotten, "weight": self.weight,
        }  # fmt: skip


@operation(
    access=WRITE,
    examples=(
        "memctl embed --embedder ollama:nomic-embed-text",
        "memctl embed --embedder http://127.0.0.1:8080/v1#all-minilm --dry-run  # what would be sent, and where",
        "memctl embed --forget  # and be as before",
    ),
    exits={1: "no store, no embedder is named, or it cannot be used: what was embedded before is kept"},
)
def embed(
    ctx: Context,
    *,
    embedder: Annotated[
        str | None,
        Arg(
            "ollama:MODEL, http(s)://HOST/v1#MODEL, or cmd:PROGRAM ARGS", "--embedder", env="MEMCTL_EMBEDDER", mcp=False
        ),
    ] = None,
    limit: Annotated[int | None, Arg("embed at most this many items now", "-k", "--limit", ge=1)] = None,
    replace: Annotated[bool, Arg("replace the vectors of another model", "--replace")] = False,
    forget: Annotated[bool, Arg("delete all vectors instead", "--forget")] = False,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "send nothing, only say what would be sent"})],
) -> Embedded:
    """Make vectors of the items, so that search also finds by meaning.

    Sends the title and text of each item that has none yet, or was changed since, to the embedder; only items that
    may be given to a model are sent. Interrupted, it goes on where it was. Searches with the same embedder then use
    the vectors, as far as they help in this store.
    """
    if forget:
        return _delete_vectors(ctx, dry_run=acting.dry_run)
    model = choose_embedder(ctx, embedder)
    if model is None:
        raise errors.EmbedderMissing
    _check_one_model(ctx, model.model, replace=replace)
    from memctl.retrieve.embedding import learn_weight, learned_weight

    todo = vectors.pending_items(ctx.db, model.model, EMBEDDABLE)
    result = Embedded(
        model=model.model, kept=items.count(ctx.db, EMBEDDABLE) - len(todo), left=len(todo), dry_run=acting.dry_run
    )
    now = todo if limit is None else todo[:limit]
    if acting.dry_run:
        most = _max_chars(ctx)
        chars = sum(
            len(_text_to_send(text, most))
            for ids in _batches(ctx, now)
            for text in vectors.texts_to_embed(ctx.db, ids, EMBEDDABLE)
        )
        ctx.note(f"[embed] would send {len(now)} texts ({chars} characters) to {model.where}")
        return result
    _embed_items(ctx, model, now, result)
    result.weight = learned_weight(ctx.db, model.model)
    if result.weight is None or LEARN_SHARE * result.done > result.kept:
        result.weight = learn_weight(ctx.db, model, EMBEDDABLE, float(ctx.config.value("embeddings.seconds")))
    events.log(ctx.db, "embed", None, {"model": model.model, "embedded": result.done})
    ctx.note(f"[embed] {result.done} embedded, {result.kept} kept, {result.left} left; weight {result.weight:.2f}")
    return result


def _delete_vectors(ctx: Context, *, dry_run: bool) -> Embedded:
    count = sum(vectors.count_by_model(ctx.db).values())
    if not dry_run:
        with ctx.db.atomic():
            vectors.delete_vectors(ctx.db)
            events.log(ctx.db, "embed", None, {"forgotten": count})
    ctx.note(f"[embed] {'would forget' if dry_run else 'forgot'} {count} vectors")
    return Embedded(model="", forgotten=count, dry_run=dry_run)


def _check_one_model(ctx: Context, model: str, *, replace: bool) -> None:
    """Vectors of two models cannot be compared, and an item has one: none is lost by surprise."""
    others = {name: count for name, count in vectors.count_by_model(ctx.db).items() if name != model}
    if others and not replace:
        told = ", ".join(f"{count} of {name}" for name, count in others.items())
        raise errors.UsageError(f"the store has vectors of another model ({told}); --replace replaces them",
                                command="embed")  # fmt: skip


def _batches(ctx: Context, ids: Sequence[str]) -> Iterator[Sequence[str]]:
    size = int(ctx.config.value("embeddings.batch"))
    return (ids[at : at + size] for at in range(0, len(ids), size))


def _max_chars(ctx: Context) -> int:
    return int(ctx.config.value("embeddings.max_chars"))


def _text_to_send(text: vectors.EmbeddingText, most: int) -> str:
    """What the embedder is given of an item: at most `most` characters."""
    return f"{text.title}\n{text.content}".strip()[:most]


def _embed_items(ctx: Context, embedder: "Embedder", todo: Sequence[str], result: Embedded) -> None:
    """Embed batch by batch, each stored before the next is sent; the store is not locked while the embedder works."""
    seconds = float(ctx.config.value("embeddings.seconds"))
    held, most = vectors.dimension_of(ctx.db, embedder.model), _max_chars(ctx)
    try:
        for ids in _batches(ctx, todo):
            texts = vectors.texts_to_embed(ctx.db, ids, EMBEDDABLE)
            found = embedder.vectors([_text_to_send(text, most) for text in texts], seconds) if texts else []
            size = len(found[0]) if found else held
            if held not in (None, size):  # a model may have changed behind its name
                raise embedder.failed(
                    f"its vectors have {size} numbers, those in the store {held}; "
                    "memctl embed --forget makes room for new ones"
                )
            held = size
            vectors.put_vectors(ctx.db, zip(texts, found, strict=True), embedder.model)
            result.done += len(texts)
            result.left -= len(ids)
            ctx.progress(f"[embed] {result.done} of {len(todo)}")
    except errors.EmbedderFailed:
        if result.done:
            ctx.warn(f"[embed] {result.done} embedded and kept before it failed; the same command goes on from there")
        raise


# --- reindex ---------------------------------------------------------------------------------------------------------


class Reindexed(Result):
    """What was indexed with which tokenizer, or what would be."""

    before: str
    after: str
    count: int
    seconds: float
    dry_run: bool
    steps: list[str]
    placed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The documented keys, which differ between a dry run and a run."""
        if self.dry_run:
            return {
                "status": "dry_run",
                "current_tokenizer": self.before,
                "new_tokenizer": self.after,
                "tokenizer_change": self.before != self.after,
                "items_to_reindex": self.count,
                "steps": self.steps,
            }
        return {"status": "ok"} | self.details()

    def details(self) -> dict[str, Any]:
        """What the event of a run keeps."""
        return {
            "previous_tokenizer": self.before,
            "new_tokenizer": self.after,
            "tokenizer_changed": self.before != self.after,
            "items_indexed": self.count,
            "duration_seconds": round(self.seconds, 2),
            "steps": self.steps,
            "places_completed": self.placed,
        }


@operation(
    access=WRITE,
    tool="memory_reindex",
    toolset="standard",
    idempotent=True,
    about="Rebuild the full-text index of the memory store; another tokenizer: dry run only.",
    answer={"new_tokenizer": "string"},
    examples=(
        "memctl reindex                          # after another program wrote to the file",
        "memctl reindex --tokenizer en --dry-run  # what switching to stemming would do",
    ),
    exits={1: "no store, or a tokenizer that SQLite does not know: nothing is changed"},
)
def reindex(
    ctx: Context,
    *,
    tokenizer: Annotated[
        str | None,
        Arg(
            "fr, en (stems words), raw, or a tokenizer string of FTS5; else the one in use",
            "--tokenizer",
            mcp_help="fr, en or raw; default: the one in use",
        ),
    ] = None,
    acting: Annotated[Acting, Fields("dry_run")],
) -> Reindexed:
    """Make the full-text index anew, with another tokenizer if wanted.

    All in one transaction: interrupted, or given a tokenizer that SQLite does not know, it leaves the index as it was.
    A store that an older program made is brought up to date, which any command that writes begins with, and its
    passages get their places in their sources; what was done is said. Until then it works as it is.

    A dry run counts the items that are not archived; a run indexes, and counts, the archived ones as well.
    """
    from memctl.store.connect import open_read

    db = open_read(ctx.db_path)  # before it is opened to write, which brings it up to date
    try:
        steps = [step.name for step in migrate.pending_steps(db)]
    finally:
        db.close()
    if acting.dry_run:
        ctx.narrow(READ)
    before = fts.tokenizer_of(ctx.db)
    if before is None:
        raise errors.StoreFailed(path=ctx.db.path, reason="this SQLite has no full-text search (FTS5)")
    after = resolve(tokenizer) if tokenizer is not None else before
    if acting.dry_run:
        return _report(
            ctx,
            Reindexed(
                before=before, after=after, count=items.count(ctx.db, Filters()), seconds=0.0, dry_run=True, steps=steps
            ),
        )
    if after != before:
        ctx.refuse_to_tools("change how the memory is indexed", "memctl reindex --tokenizer")
    start = ids.monotonic()

    def progress(done: int, count: int) -> None:
        ctx.progress(f"[reindex] {done}/{count} items, {100 * done // max(1, count)} %")

    with ctx.db.atomic():
        placed = passages.complete_positions(ctx.db)
        count = fts.rebuild_index(ctx.db, after, progress)
        seconds = ids.monotonic() - start
        done = Reindexed(
            before=before, after=after, count=count, seconds=seconds, dry_run=False, steps=steps, placed=placed
        )
        events.log(ctx.db, "reindex", None, done.details())
    return _report(ctx, done)


def _report(ctx: Context, result: Reindexed) -> Reindexed:
    change = result.before != result.after
    if result.dry_run:
        ctx.note(f"Current tokenizer: {result.before}")
        ctx.note(f"New tokenizer:     {result.after}")
        ctx.note(f"Items to reindex:  {result.count}")
        ctx.note(
            "Tokenizer change detected — FTS table will be dropped and recreated."
            if change
            else "No tokenizer change — would rebuild in place."
        )
        if result.steps:
            ctx.note(f"The store would be brought up to date: {'; '.join(result.steps)}")
        return result
    ctx.note(f"Reindexed {result.count} items in {result.seconds:.1f}s")
    ctx.note(f"  Previous: {result.before}")
    ctx.note(f"  Current:  {result.after}")
    ctx.note(
        "  Tokenizer changed — FTS index rebuilt from scratch." if change else "  In-place rebuild (same tokenizer)."
    )
    if result.steps:
        ctx.note(f"  Brought up to date: {'; '.join(result.steps)}")
    if result.placed:
        ctx.note(f"  Passages that now know their place in their source: {result.placed}")
    return result


def text(_result: Embedded | Reindexed) -> Iterator[str]:
    """Nothing on stdout: what was done is talk, and went to stderr."""
    return iter(())
