"""memctl pull: what an LLM wrote, into the store."""

from collections import Counter
from collections.abc import Iterable, Iterator

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE, ItemType
from memctl.operation import CREATE, Arg, Result, operation
from memctl.parameters import HowEstablished, WriteIn, writes
from memctl.text import clean, echo, trust
from memctl.text.utterance import is_empty_talk
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.ingest.statements import StatementOutcome
    from memctl.text.proposals import Parsed, Proposed


#: So many lines of a kind are printed one by one; the counts say the rest.
_LINES = 20


class Pulled(Result):
    """What became of the input.

    stored, duplicate, rejected  statements; together they are all there were
    quarantined                  stored ones that policy keeps out of recall
    redacted                     stored ones in which policy blotted something out
    problems                     proposals, or parts of them, that could not be used
    empty                        refusals and answers that say nothing, which are not stored
    item_ids                     of what was stored
    """

    __slots__ = ("duplicate", "empty", "item_ids", "problems", "quarantined", "redacted", "rejected", "stored")

    def __init__(self, outcomes: "list[StatementOutcome]", redacted: int, problems: int, *, empty: int = 0) -> None:
        self.empty = empty
        kinds = Counter(outcome.kind for outcome in outcomes)
        self.stored, self.duplicate, self.rejected = kinds["stored"], kinds["duplicate"], kinds["rejected"]
        self.quarantined = sum(o.quarantined and o.kind == "stored" for o in outcomes)
        self.redacted, self.problems = redacted, problems
        self.item_ids = [outcome.id for outcome in outcomes if outcome.kind == "stored"]

    def as_dict(self) -> dict[str, Any]:
        """The counts, and the ids of what was stored."""
        return {
            "status": "ok", "stored": self.stored, "duplicate": self.duplicate, "quarantined": self.quarantined,
            "redacted": self.redacted, "rejected": self.rejected, "problems": self.problems,
            "item_ids": self.item_ids, **({"empty": self.empty} if self.empty else {}),
        }  # fmt: skip


@operation(
    access=CREATE,
    examples=(
        'memctl push "API design" --source docs/ --propose | some-llm | memctl pull --tags api --tee',
        'echo "We chose JWT for stateless auth" | memctl pull --tags auth,decision --title "Auth decision"',
        "some-llm --json < question | MEMCTL_SESSION=review-7 memctl pull --tier mtm",
    ),
    exits={
        0: "also when everything was known already, the model proposed an empty list, or it refused to answer",
        1: "nothing came in, or nothing of it could be stored",
    },
)
def pull(
    ctx: Context,
    *,
    tags: Annotated[list[str] | None, Arg("tags for everything stored, after its own", "--tags", comma=True)] = None,
    title: Annotated[str | None, Arg("title of a note made from plain text", "--title")] = None,
    type: Annotated[ItemType, Arg("type of a note made from plain text", "--type")] = "note",
    scope: Annotated[str, Arg("the scope to store in", "--scope")] = DEFAULT_SCOPE,
    tier: HowEstablished = "stm",
    workspace: WriteIn = None,
    tee: Annotated[bool, Arg("pass the input on to standard output", "--tee")] = False,
) -> Pulled:
    """Store what an LLM wrote, from standard input.

    Proposals are taken from JSON (an array, {"items": [...]}, one object, lines), from tool calls named
    memory.propose, from blocks between <MEMORY_PROPOSALS_JSON> and </MEMORY_PROPOSALS_JSON>, and from fenced json
    blocks (with other text around them, only if each entry has a title, type, tags or the like beside its content:
    a fence among prose may be an example of anything). Anything else becomes a note; one that is longer than policy
    allows a statement is stored in parts, and secrets in it are blotted out. Injected memory that the model repeats is
    left out. A refusal and an answer that says nothing ("I'm sorry, but …", "ok") are not stored. A statement that is
    known already adds its tags and its source to the item that is there. MEMCTL_SESSION names the session in the
    source. Without --json and --tee nothing is printed on stdout; --tee passes the answer on, without the proposals
    in it.
    """
    scope, corpus_id = writes(ctx, workspace, scope)
    if tee and ctx.json:
        raise errors.UsageError("--tee prints the answer, --json what became of it", command="pull")
    given = decoded_input(ctx, "pull")
    if tee:
        _pass_on(ctx, given)
    parsed = _parse(ctx, own_words(ctx, given, "pull"))
    for problem in parsed.problems:
        ctx.warn(f"[pull] {problem}")
    if parsed.structured:
        source = source_of(ctx, "memctl-pull")
        items = [
            proposed_item(
                found, source, door="memctl-pull", tags=tags or [], tier=tier, scope=scope, corpus_id=corpus_id
            )
            for found in parsed.proposals
        ]
        if len(parsed.rest) > 0:
            ctx.note(f"[pull] {len(parsed.rest)} character(s) around the proposals were not stored")
    elif is_empty_talk(parsed.rest):
        ctx.note("[pull] the input is a refusal, or says nothing: not stored")
        items = []
    else:
        ctx.note("[pull] no structured proposals found — storing as single note")
        note = _note(ctx, parsed.rest, title, type, tags or [], tier, scope)
        note.corpus_id = corpus_id
        items = [note]
    return _store(ctx, items, parsed)


def _pass_on(ctx: Context, given: str) -> None:
    """Print an answer without the proposals in it; all of it when it is nothing else. Before anything can go wrong."""
    if ctx.emit is not None:
        ctx.emit((_parse(ctx, given).rest or given).rstrip("\n") + "\n")


def read_input(ctx: Context, label: str) -> str:
    """Standard input as text, without what it repeats of injected memory. Raises EmptyInput and NothingStored."""
    return own_words(ctx, decoded_input(ctx, label), label)


def decoded_input(ctx: Context, label: str) -> str:
    """Standard input as text. Raises EmptyInput."""
    if "stdin" in ctx.tty:
        ctx.note(f"[{label}] reading from the terminal; Ctrl-D ends the input")
    given, notes = _decoded(ctx.stdin_bytes())
    if clean.is_blank(given):
        raise errors.EmptyInput
    for note in notes:
        ctx.warn(f"[{label}] standard input: {note}")
    return given


def own_words(ctx: Context, given: str, label: str) -> str:
    """A text without what it repeats of injected memory. Raises NothingStored when nothing else is in it."""
    kept, count = echo.without_injected(given)
    if count:
        ctx.note(f"[{label}] left out {count} block(s) of injected memory that the input repeats")
    if clean.is_blank(kept):
        raise errors.NothingStored(reason="the input only repeats injected memory")
    return kept


def _decoded(data: bytes) -> tuple[str, tuple[str, ...]]:
    from memctl.text.decoding import decode

    name = "standard input"
    try:
        text, _, notes = decode(data, name)
    except errors.DocumentUnreadable as exc:
        raise errors.InputNotText(name=name, reason=exc.fields["reason"]) from None
    return text, notes


def _parse(ctx: Context, given: str) -> "Parsed":
    from memctl.text.proposals import parse

    how = ctx.config.proposer
    return parse(given, delimiter_open=how.delimiter_open, delimiter_close=how.delimiter_close, strategy=how.strategy)


def source_of(ctx: Context, label: str) -> MemoryProvenance:
    """The source of what a command stores when nobody named another: the command, and MEMCTL_SESSION."""
    session = ctx.env("MEMCTL_SESSION")
    return MemoryProvenance("tool", f"{label}:{session}" if session else label)


def proposed_item(
    found: "Proposed",
    source: MemoryProvenance,
    *,
    door: str,
    tags: list[str],
    tier: str,
    scope: str,
    corpus_id: str | None = None,
) -> MemoryItem:
    """The item that a proposal asks for; `source` stands where the proposal names none.

    What the proposal names is shown as it says, and trusted no more than the model that says it; where in a document
    it stands is not taken from a model at all. `door` is the command or tool that took the proposal.
    """
    proposal = found.proposal
    item = proposal.to_memory_item(tier=tier, scope=scope)
    hint = proposal.provenance_hint
    item.corpus_id = corpus_id
    said = item.provenance
    said.source_kind = trust.claimed(hint.get("source_kind"), source.source_kind)
    said.source_id = hint.get("source_id") or source.source_id
    if said.source_kind.strip().lower() == "doc":
        said.chunk_ids, said.content_hashes = [], []
    said.chunk_ids = [*trust.unmarked(said.chunk_ids), *trust.mark(said.source_kind, said.source_id, door)]
    item.content = echo.without_injected(item.content)[0]
    item.title = item.title or clean.one_line(item.content, 80)
    item.tags = clean.union(item.tags, tags)
    item.entities = list(found.entities)
    if found.confidence is not None:
        item.confidence = min(found.confidence, trust.MODEL_CONFIDENCE)
    return item


def importance_of(proposed: Iterable["tuple[MemoryItem, Proposed]"]) -> dict[str, float]:
    """How much items matter, by their ids, where the proposals they were made from say it."""
    return {item.id: found.importance for item, found in proposed if found.importance is not None}


def _note(
    ctx: Context, content: str, title: str | None, type_: str, tags: list[str], tier: str, scope: str
) -> MemoryItem:
    return MemoryItem(
        tier=tier, type=type_, title=clean.one_line(title or "") or _heading(content) or _capture_title(),
        content=content, tags=clean.union(tags, []), provenance=source_of(ctx, "memctl-pull"),
        scope=scope,
    )  # fmt: skip


def _heading(content: str) -> str:
    """The text of the Markdown heading that the content begins with, if it does."""
    line = content.lstrip().partition("\n")[0]
    marks = len(line) - len(line.lstrip("#"))
    return clean.one_line(line.strip("# \t")) if 1 <= marks <= 6 and line[marks : marks + 1] in (" ", "\t") else ""


def _capture_title() -> str:
    from time import localtime, strftime

    return strftime("LLM capture %Y-%m-%d %H:%M", localtime(ids.now_seconds()))


def _store(ctx: Context, items: list[MemoryItem], parsed: "Parsed") -> Pulled:
    from memctl.ingest import statements

    said = [item for item in items if not clean.is_blank(item.content)]
    if len(said) < len(items):
        ctx.note(f"[pull] {len(items) - len(said)} proposal(s) only repeat injected memory")
    importance = importance_of(zip(items, parsed.proposals, strict=False))  # a note from plain text has no proposal
    kept = statements.StatementOutcomes([], 0)
    if said:
        kept = statements.store_long_statements(ctx.db, ctx.policy, said, reason="pull", importance=importance)
    empty = 0 if items or parsed.structured else 1
    done = Pulled(kept.outcomes, kept.redacted, len(parsed.problems), empty=empty)
    _tell(ctx, done, kept.outcomes, structured=parsed.structured, title=items[0].title if items else "")
    if not (done.stored or done.duplicate) and (done.rejected or done.problems):
        raise errors.NothingStored(reason=_failure(done))
    return done


def _failure(done: Pulled) -> str:
    counts = (("rejected by policy", done.rejected), ("unusable", done.problems))
    return ", ".join(f"{count} {what}" for what, count in counts if count)


def _tell(ctx: Context, done: Pulled, outcomes: "list[StatementOutcome]", *, structured: bool, title: str) -> None:
    for kind, say in (("rejected", ctx.warn), ("duplicate", ctx.note), ("quarantined", ctx.note)):
        lines = [_line(ctx, o) for o in outcomes if kind == ("quarantined" if _is_held(o) else o.kind)]
        for line in lines[:_LINES]:
            say(f"[pull] {line}")
        if len(lines) > _LINES:
            say(f"[pull] … and {len(lines) - _LINES} more {kind}")
    if structured:
        ctx.note(f"[pull] Stored {done.stored} item(s) from proposals ({done.rejected} rejected by policy)")
    elif len(outcomes) == 1 and done.stored:
        ctx.note(f"[pull] Stored as note {done.item_ids[0]}: {ctx.policy.redact(outcomes[0].title)}")
    elif done.stored:
        ctx.note(f"[pull] Stored as {done.stored} note(s): {ctx.policy.redact(clean.one_line(title))}")
    ctx.note(
        f"[pull] {done.stored} stored, {done.duplicate} duplicate, {done.quarantined} quarantined, "
        f"{done.redacted} redacted, {done.rejected} rejected"
    )


def _is_held(outcome: "StatementOutcome") -> bool:
    return outcome.quarantined and outcome.kind == "stored"


def _line(ctx: Context, outcome: "StatementOutcome") -> str:
    # A title may hold the very secret that it was rejected for.
    title, reasons = ctx.policy.redact(outcome.title), "; ".join(outcome.reasons)
    if outcome.kind == "rejected":
        return f"Rejected by policy: '{title}' ({reasons})"
    if outcome.kind == "duplicate":
        return f"skip duplicate: '{title}'" + (" (what is new about it was added)" if outcome.changed else "")
    return f"quarantined, kept out of recall: '{title}' ({reasons})"


def text(_result: Pulled) -> Iterator[str]:
    """Nothing: what a pipe's next command reads must not change with what was stored."""
    return iter(())
