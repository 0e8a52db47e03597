"""The file in good order: vectors and the full-text index made anew, the store copied, rescued and shrunk."""

import os
from collections.abc import Iterator, Sequence

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.clients.eco import note_tokenizer
from memctl.context import Context
from memctl.operation import NONE, READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting
from memctl.reading.request import choose_embedder
from memctl.store import migrate
from memctl.store.documents import passages
from memctl.store.filters import Filters
from memctl.store.items import events, items
from memctl.store.schema import tokenizer as resolve
from memctl.store.search import rebuild, vectors

if TYPE_CHECKING:
    from memctl.retrieve.embedding import Embedder

#: Only what may be given to a model is given to an embedder.
EMBEDDABLE = Filters(injectable=True)
#: What the vectors may count is learnt again when more than 1 / LEARN_SHARE of them are new.
LEARN_SHARE = 10


@operation(
    access=WRITE,
    examples=(
        "memctl embed --embedder ollama:nomic-embed-text",
        "memctl embed --embedder http://127.0.0.1:8080/v1#minilm --dry-run",
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
    limit: Annotated[
        int | None, Arg("embed at most this many items now", "-n", "--limit", aliases=("-k",), ge=1)
    ] = None,
    replace: Annotated[bool, Arg("replace the vectors of another model", "--replace")] = False,
    forget: Annotated[bool, Arg("delete all vectors instead", "--forget")] = False,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "send nothing, only say what would be sent"})],
) -> PlainResult:
    """Make vectors of the items, so that search also finds by meaning.

    Sends the title and text of each item that has none yet, or was changed since, to the embedder; only items that
    may be given to a model are sent. Interrupted, it goes on where it was. Searches with the same embedder then use
    the vectors, as far as they help in this store.
    """
    counts: dict[str, Any] = {
        "status": "dry_run" if acting.dry_run else "ok", "model": "", "embedded": 0, "kept": 0, "left": 0,
        "forgotten": 0, "weight": None,
    }  # fmt: skip
    if forget:
        count = sum(vectors.count_by_model(ctx.db).values())
        if not acting.dry_run:
            with ctx.db.atomic():
                vectors.delete_vectors(ctx.db)
                events.log(ctx.db, "embed", None, {"forgotten": count})
        ctx.note(f"[embed] {'would forget' if acting.dry_run else 'forgot'} {count} vectors")
        return PlainResult(counts | {"forgotten": count})
    model = choose_embedder(ctx, embedder)
    if model is None:
        raise errors.EmbedderMissing
    # Vectors of two models cannot be compared, and an item has one: none is lost by surprise.
    there = vectors.count_by_model(ctx.db)
    others = ", ".join(f"{count} of {name}" for name, count in there.items() if name != model.model)
    if others and not replace:
        raise errors.UsageError(
            f"the store has vectors of another model ({others}); --replace replaces them", command="embed"
        )
    todo = vectors.pending_items(ctx.db, model.model, EMBEDDABLE)
    now = todo if limit is None else todo[:limit]
    counts |= {"model": model.model, "kept": items.count(ctx.db, EMBEDDABLE) - len(todo), "left": len(todo)}
    if acting.dry_run:
        most = int(ctx.config.value("embeddings.max_chars"))
        chars = sum(
            len(_text_to_send(text, most))
            for ids in _batches(ctx, now)
            for text in vectors.texts_to_embed(ctx.db, ids, EMBEDDABLE)
        )
        ctx.note(f"[embed] would send {len(now)} texts ({chars} characters) to {model.where}")
        return PlainResult(counts)
    from memctl.retrieve.embedding import learn_weight, learned_weight

    done = _embed_items(ctx, model, now)
    weight = learned_weight(ctx.db, model.model)
    if weight is None or LEARN_SHARE * done > counts["kept"]:
        weight = learn_weight(ctx.db, model, EMBEDDABLE, float(ctx.config.value("embeddings.seconds")))
    counts |= {"embedded": done, "left": len(todo) - len(now), "weight": weight}
    events.log(ctx.db, "embed", None, {"model": model.model, "embedded": done})
    ctx.note(f"[embed] {done} embedded, {counts['kept']} kept, {counts['left']} left; weight {weight:.2f}")
    return PlainResult(counts)


def _batches(ctx: Context, ids: Sequence[str]) -> Iterator[Sequence[str]]:
    size = int(ctx.config.value("embeddings.batch"))
    return (ids[at : at + size] for at in range(0, len(ids), size))


def _text_to_send(text: vectors.EmbeddingText, most: int) -> str:
    """What the embedder is given of an item: at most `most` characters."""
    return f"{text.title}\n{text.content}".strip()[:most]


def _embed_items(ctx: Context, embedder: "Embedder", todo: Sequence[str]) -> int:
    """Embed batch by batch, each stored before the next is sent; the store is not locked while the embedder works.

    Returns how many were embedded.
    """
    done = 0
    seconds = float(ctx.config.value("embeddings.seconds"))
    held, most = vectors.dimension_of(ctx.db, embedder.model), int(ctx.config.value("embeddings.max_chars"))
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
            done += len(texts)
            ctx.progress(f"[embed] {done} of {len(todo)}")
    except errors.EmbedderFailed:
        if done:
            ctx.warn(f"[embed] {done} embedded and kept before it failed; the same command goes on from there")
        raise
    return done


# --- reindex ---------------------------------------------------------------------------------------------------------


@operation(
    access=WRITE,
    tool="memory_reindex",
    idempotent=True,
    about="Rebuild the full-text index of the memory store; another tokenizer: dry run only.",
    answer={"new_tokenizer": "string"},
    examples=(
        "memctl reindex                # after another program wrote to the file",
        "memctl reindex --tokenizer en --dry-run  # what stemming would change",
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
) -> PlainResult:
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
    before = rebuild.tokenizer_of(ctx.db)
    if before is None:
        raise errors.StoreFailed(path=ctx.db.path, reason="this SQLite has no full-text search (FTS5)")
    after = resolve(tokenizer) if tokenizer is not None else before
    if acting.dry_run:
        return _preview_index(ctx, before, after, steps)
    if after != before:
        ctx.refuse_to_tools("change how the memory is indexed", "memctl reindex --tokenizer")
    start = ids.monotonic()

    def progress(done: int, count: int) -> None:
        ctx.progress(f"[reindex] {done}/{count} items, {100 * done // max(1, count)} %")

    with ctx.db.atomic():
        placed = passages.complete_positions(ctx.db)
        count = rebuild.rebuild_index(ctx.db, after, progress)
        seconds = ids.monotonic() - start
        details = {
            "previous_tokenizer": before, "new_tokenizer": after, "tokenizer_changed": before != after,
            "items_indexed": count, "duration_seconds": round(seconds, 2), "steps": steps, "places_completed": placed,
        }  # fmt: skip
        events.log(ctx.db, "reindex", None, details)
    ctx.note(f"Reindexed {count} items in {seconds:.1f}s")
    ctx.note(f"  Previous: {before}")
    ctx.note(f"  Current:  {after}")
    changed, same = "Tokenizer changed — FTS index rebuilt from scratch.", "In-place rebuild (same tokenizer)."
    ctx.note(f"  {same if before == after else changed}")
    if steps:
        ctx.note(f"  Brought up to date: {'; '.join(steps)}")
    if placed:
        ctx.note(f"  Passages that now know their place in their source: {placed}")
    if ctx.bounds is None and note_tokenizer(ctx.cwd, after):
        ctx.note(f"  Updated eco config: fts_tokenizer={after}")
    return PlainResult({"status": "ok"} | details)


def _preview_index(ctx: Context, before: str, after: str, steps: list[str]) -> PlainResult:
    """What a run would do."""
    count = items.count(ctx.db, Filters())
    ctx.note(f"Current tokenizer: {before}")
    ctx.note(f"New tokenizer:     {after}")
    ctx.note(f"Items to reindex:  {count}")
    ctx.note(
        "Tokenizer change detected — FTS table will be dropped and recreated."
        if before != after
        else "No tokenizer change — would rebuild in place."
    )
    if steps:
        ctx.note(f"The store would be brought up to date: {'; '.join(steps)}")
    return PlainResult({
        "status": "dry_run", "current_tokenizer": before, "new_tokenizer": after, "tokenizer_change": before != after,
        "items_to_reindex": count, "steps": steps,
    })  # fmt: skip


# --- copies and space -------------------------------------------------------------------------------------------------


#: Ids of lost items that a person sees.
_LOST = 20


@operation(
    access=READ,
    examples=(
        "memctl backup ~/backup/memory.db",
        'memctl backup "$HOME/backup/memory-$(date +%F).db"',
        "memctl list --db ~/backup/memory.db   # a backup is a store like any other",
    ),
    exits={1: "there is a file of this name already, or it cannot be written"},
)
def backup(
    ctx: Context,
    file: Annotated[str, Arg("the file to write", metavar="FILE")],
    *,
    force: Annotated[bool, Arg("replace a file that is there", "--force")] = False,
) -> PlainResult:
    """Copy the store to a file, checked, while others go on using it.

    The copy is of one moment, for you alone, and has its name only once it is whole and sound. To restore it, copy it
    back in the place of the store while nobody uses that. `memctl status` says when the last backup was made.
    """
    from memctl.store import backup as copies
    from memctl.store import check, contents

    path = _named_file(ctx, file)
    with ctx.at_work("backup"):
        made = copies.back_up(ctx.db, path, force=force)
    ctx.note(f"[backup] {made['items']} item(s), {made['bytes']} bytes")
    return PlainResult(
        {"status": "ok", "path": path} | made, [path], after=lambda: check.note_time(ctx.db, contents.BACKUP_KEY)
    )


@operation(
    access=NONE,
    examples=("memctl salvage .memory/memory.db saved.db",),
    exits={1: "no such file, a file of the new name already, or nothing that can be read"},
)
def salvage(
    ctx: Context,
    damaged: Annotated[str, Arg("the damaged store", path=True, metavar="DAMAGED")],
    new: Annotated[str, Arg("the store to make", path=True, metavar="NEW")],
) -> PlainResult:
    """Read what can be read of a damaged store into a new one.

    Tables are read from both ends and row by row between; items and revisions are also looked for page by page, and a
    lost item comes back as its newest readable revision has it. The damaged file is left as it is. What was lost is
    said on stderr, with the ids that are still named somewhere.
    """
    from memctl.store import backup as reading

    path = _named_file(ctx, new)
    with ctx.at_work("salvage"):
        found = reading.salvage(ctx.absolute(damaged), path)
    ctx.note(f"[salvage] {found.items} item(s) saved")
    for count, words in (
        (found.from_revisions, "as their last readable revision has them"),
        (found.from_pages, "from single pages"),
    ):
        if count:
            ctx.note(f"[salvage] {count} of them {words}")
    if found.damaged:
        ctx.warn(f"[salvage] damaged: {', '.join(found.damaged)}")
    if found.lost:
        more = f" … and {len(found.lost) - _LOST} more" if len(found.lost) > _LOST else ""
        ctx.warn(f"[salvage] {len(found.lost)} item(s) lost: {', '.join(found.lost[:_LOST])}{more}")
    data: dict[str, Any] = {
        "status": "incomplete" if found.lost or found.is_cut else "ok", "path": path, "items": found.items,
        "from_revisions": found.from_revisions, "from_pages": found.from_pages, "damaged": found.damaged,
        "lost": found.lost, "total_lost": len(found.lost),
    }  # fmt: skip
    return PlainResult(data, [path])


@operation(access=WRITE, examples=("memctl vacuum",))
def vacuum(ctx: Context) -> PlainResult:
    """Give the space of deleted rows back to the disk.

    The file is written anew, for which the disk must have as much space again, and the full-text index stays right.
    Nothing else changes, so there is nothing to undo.
    """
    from memctl.store import backup as copies

    with ctx.at_work("vacuum"):
        before, after = copies.vacuum(ctx.db)
    ctx.note(f"[vacuum] {before} bytes before, {after} now")
    return PlainResult(
        {"status": "ok", "bytes_before": before, "bytes_after": after}, [f"{before - after} bytes freed"]
    )


def _named_file(ctx: Context, name: str) -> str:
    """The absolute path of a file to write; `backup/` asks for a folder, and a file `backup` would be a surprise."""
    path = ctx.absolute(name)
    if name.endswith(("/", os.sep)):
        raise errors.BackupFailed(path=path, reason="a name that ends in / is a folder")
    return path
