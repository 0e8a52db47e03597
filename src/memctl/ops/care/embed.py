"""memctl embed: vectors of the items, for finding them by meaning."""

from collections.abc import Iterator, Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.operation import WRITE, Arg, Result, operation
from memctl.reading.embedding import chosen
from memctl.store.filters import Filters
from memctl.store.items import events
from memctl.store.search import vectors

if TYPE_CHECKING:
    from memctl.retrieve.embedding import Embedder

#: Only what may be given to a model is given to an embedder.
GIVEN = Filters(injectable=True)
#: What the vectors may count is learnt again when one in so many is new.
AGAIN = 10


class Embedded(Result):
    """What was embedded, what was there already, what is still to do, and what a vector may add to a score."""

    __slots__ = ("done", "dry_run", "forgotten", "kept", "left", "model", "weight")

    def __init__(
        self, model: str, done: int = 0, kept: int = 0, left: int = 0, *, forgotten: int = 0,
        weight: float | None = None, dry_run: bool = False,
    ) -> None:  # fmt: skip
        self.model, self.done, self.kept, self.left = model, done, kept, left
        self.forgotten, self.weight, self.dry_run = forgotten, weight, dry_run

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
    dry_run: Annotated[bool, Arg("send nothing, only say what would be sent", "--dry-run")] = False,
) -> Embedded:
    """Make vectors of the items, so that search also finds by meaning.

    Sends the title and text of each item that has none yet, or was changed since, to the embedder; only items that
    may be given to a model are sent. Interrupted, it goes on where it was. Searches with the same embedder then use
    the vectors, as far as they help in this store.
    """
    if forget:
        return _forget(ctx, dry_run=dry_run)
    model = chosen(ctx, embedder)
    if model is None:
        raise errors.EmbedderMissing
    _alone(ctx, model.model, replace=replace)
    from memctl.retrieve.embedding import learn_weight, learned_weight

    todo = vectors.pending_items(ctx.db, model.model, GIVEN)
    result = Embedded(model.model, kept=_count(ctx) - len(todo), left=len(todo), dry_run=dry_run)
    now = todo if limit is None else todo[:limit]
    if dry_run:
        most = _max_chars(ctx)
        chars = sum(
            len(_said(text, most)) for ids in _batches(ctx, now) for text in vectors.texts_to_embed(ctx.db, ids, GIVEN)
        )
        ctx.note(f"[embed] would send {len(now)} texts ({chars} characters) to {model.where}")
        return result
    _make(ctx, model, now, result)
    result.weight = learned_weight(ctx.db, model.model)
    if result.weight is None or AGAIN * result.done > result.kept:
        result.weight = learn_weight(ctx.db, model, GIVEN, float(ctx.config.value("embeddings.seconds")))
    events.log(ctx.db, "embed", None, {"model": model.model, "embedded": result.done})
    ctx.note(f"[embed] {result.done} embedded, {result.kept} kept, {result.left} left; weight {result.weight:.2f}")
    return result


def _forget(ctx: Context, *, dry_run: bool) -> Embedded:
    count = sum(vectors.count_by_model(ctx.db).values())
    if not dry_run:
        with ctx.db.atomic():
            vectors.delete_vectors(ctx.db)
            events.log(ctx.db, "embed", None, {"forgotten": count})
    ctx.note(f"[embed] {'would forget' if dry_run else 'forgot'} {count} vectors")
    return Embedded("", forgotten=count, dry_run=dry_run)


def _alone(ctx: Context, model: str, *, replace: bool) -> None:
    """Vectors of two models cannot be compared, and an item has one: none is lost by surprise."""
    others = {name: count for name, count in vectors.count_by_model(ctx.db).items() if name != model}
    if others and not replace:
        told = ", ".join(f"{count} of {name}" for name, count in others.items())
        raise errors.UsageError(f"the store has vectors of another model ({told}); --replace replaces them",
                                command="embed")  # fmt: skip


def _count(ctx: Context) -> int:
    from memctl.store.items import items

    return items.count(ctx.db, GIVEN)


def _batches(ctx: Context, ids: Sequence[str]) -> Iterator[Sequence[str]]:
    size = int(ctx.config.value("embeddings.batch"))
    return (ids[at : at + size] for at in range(0, len(ids), size))


def _max_chars(ctx: Context) -> int:
    return int(ctx.config.value("embeddings.max_chars"))


def _said(text: vectors.EmbeddingText, most: int) -> str:
    """What the embedder is given of an item: at most so many characters."""
    return f"{text.title}\n{text.content}".strip()[:most]


def _make(ctx: Context, embedder: "Embedder", todo: Sequence[str], result: Embedded) -> None:
    """Embed batch by batch, each stored before the next is sent; the store is not locked while the embedder works."""
    seconds = float(ctx.config.value("embeddings.seconds"))
    held, most = vectors.dimension_of(ctx.db, embedder.model), _max_chars(ctx)
    try:
        for ids in _batches(ctx, todo):
            texts = vectors.texts_to_embed(ctx.db, ids, GIVEN)
            found = embedder.vectors([_said(text, most) for text in texts], seconds) if texts else []
            held = _alike(embedder, held, found)
            vectors.put_vectors(ctx.db, zip(texts, found, strict=True), embedder.model)
            result.done += len(texts)
            result.left -= len(ids)
            ctx.progress(f"[embed] {result.done} of {len(todo)}")
    except errors.EmbedderFailed:
        if result.done:
            ctx.warn(f"[embed] {result.done} embedded and kept before it failed; the same command goes on from there")
        raise


def _alike(embedder: "Embedder", held: int | None, found: "Sequence[Sequence[float]]") -> int | None:
    """How long the vectors are: those of the store if there are any. A model may have changed behind its name."""
    size = len(found[0]) if found else held
    if held not in (None, size):
        raise embedder.failed(
            f"its vectors have {size} numbers, those in the store {held}; memctl embed --forget makes room for new ones"
        )
    return size


def text(_result: Embedded) -> Iterator[str]:
    """Nothing on stdout: what was done is talk, and went to stderr."""
    return iter(())
