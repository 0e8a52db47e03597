"""memctl remember: one statement, from the command line or standard input."""

import os
from collections.abc import Iterator

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE, SOURCE_KINDS, ItemType
from memctl.operation import CREATE, Arg, Result, operation
from memctl.ops.write.pull import own_words, read_input, source_of
from memctl.parameters import HowEstablished, WriteIn, writes
from memctl.text import clean
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.ingest.statements import StatementOutcome

_TITLE_CHARS = 80


class Remembered(Result):
    """What became of one statement: the id of the item that holds it now, and what policy said of it."""

    __slots__ = ("outcome",)

    def __init__(self, outcome: "StatementOutcome") -> None:
        self.outcome = outcome

    def as_dict(self) -> dict[str, Any]:
        """`status` ok, duplicate (the item was there) or rejected; `action` accept, quarantine or reject."""
        done = self.outcome
        if done.kind == "rejected":
            return {"status": "rejected", "action": "reject", "reasons": list(done.reasons)}
        out: dict[str, Any] = {
            "status": "ok" if done.kind == "stored" else "duplicate",
            "id": done.id,
            "action": "quarantine" if done.quarantined else "accept",
            "reasons": list(done.reasons),
        }
        return out if done.kind == "stored" else out | {"message": "content already exists", "changed": done.changed}


@operation(
    access=CREATE,
    examples=(
        'memctl remember "We chose JWT for stateless auth" --type decision --tags auth',
        'memctl remember "Deploys freeze on Fridays" --type constraint --why "two bad weekends" --tier ltm',
        'memctl remember "Retries are capped at 3" --source src/gateway.py:41',
        "git log -1 --format=%B | memctl remember --type fact --tags release",
        "id=$(memctl remember -q The gateway retries twice)",
    ),
    exits={
        0: "stored, quarantined, or known already",
        1: "policy refused it, it is empty, or it is longer than a statement may be",
    },
)
def remember(
    ctx: Context,
    text: Annotated[
        list[str] | None, Arg("the statement, quoted or not; none, or -, reads standard input", metavar="TEXT")
    ] = None,
    *,
    type: Annotated[ItemType, Arg("what sort of statement it is", "--type")] = "note",
    tags: Annotated[list[str] | None, Arg("its tags", "--tags", comma=True)] = None,
    tier: HowEstablished = "stm",
    scope: Annotated[str, Arg("the scope to store in", "--scope")] = DEFAULT_SCOPE,
    workspace: WriteIn = None,
    title: Annotated[str | None, Arg("its title (default: its first line)", "--title")] = None,
    why: Annotated[str | None, Arg("the reason, kept with it as a last paragraph", "--why")] = None,
    source: Annotated[
        str | None,
        Arg(
            "where it is from: FILE, FILE:LINE, an address, or KIND:ID with the kind chat, doc, tool or mixed",
            "--source",
        ),
    ] = None,
    confidence: Annotated[float, Arg("how sure it is", "--confidence", ge=0, le=1)] = 0.5,
    importance: Annotated[
        float | None, Arg("how much it matters; 0.5 is as much as any other", "--importance", ge=0, le=1)
    ] = None,
) -> Remembered:
    """Store one statement and print its id.

    The statement is judged by policy: one with a secret or with instructions to a model is refused, one that policy
    doubts is quarantined (stored, found by search, never given to a model). A statement that is known already is
    stored once: its item's id is printed, and new tags, a higher confidence or importance and another source are added
    to it. What happened is said on stderr. MEMCTL_SESSION names the session in the source where --source names none.
    """
    from memctl.ingest import statements

    given = _statement(ctx, text)
    scope, corpus_id = writes(ctx, workspace, scope)
    item = MemoryItem(
        tier=tier, type=type, title=clean.one_line(title or "") or clean.one_line(given, _TITLE_CHARS),
        content=_with_reason(given, why), tags=clean.union(tags or [], []), confidence=confidence, scope=scope,
        corpus_id=corpus_id, provenance=_named(ctx, source) if source else source_of(ctx, "memctl-remember"),
    )  # fmt: skip
    limit, size = ctx.policy.max_content_length, len(item.content)
    if size > limit and type != "pointer":
        raise errors.TextTooLong(limit=limit, size=size)
    matters = {} if importance is None else {item.id: importance}
    done = statements.store_statements(ctx.db, ctx.policy, [item], reason="remember", importance=matters)[0]
    if done.kind == "rejected":
        ctx.warn(f"[remember] {'; '.join(done.reasons)}")
        raise errors.NothingStored(reason="rejected by policy")
    _tell(ctx, done)
    return Remembered(done)


def _statement(ctx: Context, words: list[str] | None) -> str:
    given = " ".join(words or ())
    if words is None or given == "-":
        return clean.statement(read_input(ctx, "remember"))
    if clean.is_blank(given):
        raise errors.UsageError("the statement is empty", command="remember")
    return clean.statement(own_words(ctx, given, "remember"))


def _with_reason(statement: str, why: str | None) -> str:
    reason = clean.statement(why or "")
    return f"{statement}\n\nWhy: {reason}" if reason else statement


def _named(ctx: Context, source: str) -> MemoryProvenance:
    """The source that `--source` names: `KIND:ID`, an address, or a file with or without a line."""
    kind, colon, name = source.partition(":")
    if colon and kind in SOURCE_KINDS and name.strip():
        return MemoryProvenance(kind, name.strip())
    if source.startswith(("http://", "https://")):
        return MemoryProvenance("doc", source)
    path, line = source, ""
    head, _, tail = source.rpartition(":")
    if head and tail.replace("-", "", 1).isdigit() and not os.path.exists(ctx.absolute(source)):
        path, line = head, f":{tail}"
        first, dash, last = tail.partition("-")
        if not 0 < int(first or 0) <= int(last if dash else first):
            raise errors.UsageError(
                f"--source: '{ctx.policy.redact(source)}': lines count from 1, and a range does not go backwards",
                command="remember",
            )
    if not os.path.exists(ctx.absolute(path)):
        kinds = ", ".join(SOURCE_KINDS)
        raise errors.UsageError(
            f"--source: '{ctx.policy.redact(source)}' is neither an existing file nor one of {kinds} with an id "
            "(chat:session-7)",
            command="remember",
        )
    return MemoryProvenance("doc", clean.one_line(ctx.absolute(path), 1000) + line)


def _tell(ctx: Context, done: "StatementOutcome") -> None:
    if done.quarantined:
        ctx.warn(f"[remember] quarantined, kept out of recall: {'; '.join(done.reasons)}")
    if done.kind == "duplicate":
        ctx.note("[remember] known already" + ("; what is new about it was added" if done.changed else ""))
    elif not done.quarantined:
        ctx.note("[remember] stored")


def text(result: Remembered) -> Iterator[str]:
    """The id, for the next command of a pipe."""
    yield result.outcome.id
