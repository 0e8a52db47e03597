"""Which embedder an operation may use: none, as long as none is named."""

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import Context

if TYPE_CHECKING:
    from memctl.retrieve.embedding import Embedder, Meaning

KEY = "embeddings.embedder"
OFF = "none"


def chosen(ctx: Context, named: str | None) -> "Embedder | None":
    """The embedder that the flag or MEMCTL_EMBEDDER names (`named`), else config.json; None when none is, or `none`.

    A config.json that merely stands beside the store may name an embedder on this machine, but neither a command nor
    another host, and gets no key: only a person's own words send MEMCTL_EMBEDDER_KEY anywhere. Raises UsageError and
    SettingInvalid.
    """
    found = named is None and ctx.is_configured(KEY)
    spec = (str(ctx.config.value(KEY)) if found else named or "").strip()
    if not spec or spec == OFF:
        return None
    from memctl.retrieve.embedding import CommandEmbedder, parse

    beside = found and ctx.config_flag is None
    key = None if beside else ctx.env("MEMCTL_EMBEDDER_KEY")
    embedder = parse(spec, ollama_host=ctx.env("OLLAMA_HOST"), key=key)
    if beside and (isinstance(embedder, CommandEmbedder) or not embedder.local):
        raise errors.SettingInvalid(
            origin=f"{ctx.config_path}: {KEY}",
            message="name a command or another host with --embedder, MEMCTL_EMBEDDER, or a file given to --config",
        )
    return embedder


def of_store(path: str) -> dict[str, Any]:
    """What a program that opened a store by its path gives to a search: `meaning`, and the `weights` of its settings.

    The embedder is that of MEMCTL_EMBEDDER, else of the config.json beside the file; what cannot be reached is a
    RuntimeWarning. A store in memory has neither.
    """
    import os
    import warnings

    if path == ":memory:":
        return {}
    ctx = Context(db=os.path.abspath(path), say=lambda said: warnings.warn(said, RuntimeWarning, stacklevel=8))
    from memctl.parameters import ReadRequest
    from memctl.reading.request import Retriever

    retriever = Retriever(ctx, ReadRequest(), "search")
    return {"meaning": retriever.meaning, "weights": retriever.weights}


def meaning(ctx: Context, named: str | None) -> "Meaning | None":
    """What finds by meaning, when an embedder is named; it says on stderr when it cannot."""
    if named is None and not ctx.is_configured(KEY):
        return None
    embedder = chosen(ctx, named)
    if embedder is None:
        return None
    from memctl.retrieve.embedding import Meaning

    return Meaning(embedder, float(ctx.config.value("embeddings.question_seconds")), ctx.warn)
