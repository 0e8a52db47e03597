"""memctl recall, and the half of push that answers."""

from collections.abc import Iterator

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE, Tier
from memctl.operation import READ, Arg, Result, operation
from memctl.ops.recall.search import View
from memctl.parameters import AsPrompt, BudgetTokens, ByMeaning, HowFramed, Proposing, ReadIn, ReadScope
from memctl.reading.embedding import meaning
from memctl.reading.request import (
    AsOf,
    InMount,
    MinCoverage,
    Since,
    Unasked,
    Until,
    abstains,
    in_mount,
    looking_back,
    weights,
    within,
)
from memctl.retrieve.find import Found
from memctl.retrieve.find import search as find
from memctl.retrieve.view import reads
from memctl.store.filters import Filters

if TYPE_CHECKING:
    from memctl.policy.levels import Redaction
    from memctl.retrieve.pack import Ranked
    from memctl.store.documents.passages import SourcePosition
    from memctl.text.block.block import Block
    from memctl.text.block.frames import Frame, FrameName
    from memctl.types import MemoryItem, SearchMeta

#: How many tokens of budget call for one of the best candidates to be looked at, up to so many; above that, as many as
#: passages of the usual size find room.
POOL = 50
TOKENS_PER_CANDIDATE = 20
TOKENS_OF_PASSAGE = 150
#: A passage with less than this share of the best score is left out: it shares a word or two, and no more.
FLOOR = 0.35
_FRAME = "recall.frame"


class Recalled(Result):
    """A block and what it holds; the uses are counted when it has been printed, but for a look at the past."""

    __slots__ = (
        "block", "ctx", "items", "matched", "meta", "past", "prompt", "query", "redaction", "trusted", "version",
    )  # fmt: skip
    verbatim = True

    def __init__(
        self, ctx: Context, block: "Block", items: "list[MemoryItem]", matched: int, meta: "SearchMeta",
        redaction: "Redaction | None" = None, *, version: int, past: bool = False,
    ) -> None:  # fmt: skip
        self.ctx, self.block, self.items, self.matched = ctx, block, items, matched
        self.meta, self.redaction, self.version, self.past = meta, redaction, version, past
        self.query = ""  # what was asked
        self.prompt: Prompt | None = None
        self.trusted = ctx.db.trusted

    def as_dict(self) -> dict[str, Any]:
        """The block, a catalog of the items in it, and how the search was answered."""
        from memctl.text.block.forms import format_search_results

        delivered = set(self.block.ids)
        items = format_search_results([i for i in self.items if i.id in delivered], "")
        if not self.trusted:
            from memctl.text.trust import STRANGER

            items = [item | {"trust": STRANGER} for item in items]
        return {
            "status": "ok",
            "inject_text": self.shown(),
            "items": items if self.redaction is None else [self.redaction.record(item) for item in items],
            "tokens_used": self.block.tokens,
            "matched": self.matched,
            "format_version": self.version,
            "fts_strategy": self.meta.strategy,
            "fts_original_terms": self.meta.original_terms,
            "fts_effective_terms": self.meta.effective_terms,
            "fts_dropped_terms": self.meta.dropped_terms,
            **self._hint(),
        }

    def _hint(self) -> dict[str, str]:
        from memctl.reading.hints import hint

        words = hint(self.query, self.meta, found=bool(self.block.text))
        return {"hint": words} if words else {}

    def shown(self) -> str:
        """The block as it is printed, in its prompt where one was asked for."""
        return self.block.text if self.prompt is None else self.prompt.around(self.block.text)

    def settle(self) -> None:
        """Count the use of what was delivered; a store that cannot be written to counts nothing."""
        if self.block.ids and not self.past:
            from memctl.store.items import items

            items.mark_used(self.ctx.db, self.block.ids, action="recall")


@operation(
    access=READ,
    tool="memory_recall",
    toolset="core",
    prose=True,
    about="Recall what is known about a question: decisions, conventions, facts and documents of earlier sessions, as "
    "one text with sources, within a token budget. Ask before you answer or start work.",
    answer={
        "inject_text": "string", "items": "array", "tokens_used": "integer", "matched": "integer",
        "format_version": "integer", "fts_strategy": "string", "fts_original_terms": "array",
        "fts_effective_terms": "array", "fts_dropped_terms": "array", "hint": "string",
    },
    examples=(
        'memctl recall "how are tokens rotated" | some-llm',
        'memctl recall "deploy steps" --budget 600 --tags ops',
        'memctl recall "open decisions" --all-scopes --no-header',
    ),
    exits={0: "also when nothing matches: stdout is empty"},
)  # fmt: skip
def recall(
    ctx: Context,
    query: Annotated[str, Arg("the question to answer")],
    *,
    budget: BudgetTokens = 1500,
    tier: Annotated[Tier | None, Arg("only this tier", "--tier", mcp_help="")] = None,
    scope: ReadScope = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("items of every scope", "--all-scopes", mcp="full")] = False,
    tags: Annotated[
        list[str] | None, Arg("items with at least one of these tags", "--tags", comma=True, mcp="full")
    ] = None,
    mount: InMount = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    min_coverage: MinCoverage = 0.0,
    auto: Unasked = False,
    no_header: Annotated[bool, Arg("only the passages, without header and footer", "--no-header", mcp=False)] = False,
    frame: HowFramed = "compact",
    prompt: AsPrompt = False,
    propose: Proposing = False,
    workspace: ReadIn = None,
    embedder: ByMeaning = None,
    redact: Annotated[View, Arg("who may see it; RAGIX says S0, S2, S3", "--redact", mcp=False)] = "full",
) -> Recalled:
    """Print what answers a question as one block within a token budget.

    The block says of each passage where it comes from. It never costs more than the budget (four characters are one
    token), passages that are too long are cut around what matters, and items kept from models are never in it. With
    --prompt the output is a whole prompt for a model: it ends with the question, and is printed even when nothing
    matches.
    """
    return recall_block(
        ctx, query, label="recall", budget=budget, tier=tier, scope=scope, all_scopes=all_scopes,
        tags=tags, mount=mount, since=since, until=until, as_of=as_of, min_coverage=min_coverage, auto=auto,
        header=not no_header, frame=frame, prompt=prompt, propose=propose, workspace=workspace, embedder=embedder,
        redact=redact,
    )  # fmt: skip


def recall_block(
    ctx: Context,
    query: str,
    *,
    label: str,
    budget: int,
    tier: str | None = None,
    scope: str = DEFAULT_SCOPE,
    all_scopes: bool = False,
    tags: list[str] | None = None,
    mount: str | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    min_coverage: float = 0.0,
    auto: bool = False,
    header: bool = True,
    workspace: str | None = None,
    embedder: str | None = None,
    redact: View = "full",
    kind: str = "memory_recall",
    frame: "FrameName | None" = None,
    prompt: bool = False,
    propose: bool = False,
) -> Recalled:
    """Find what answers a question and write it as a block; `[label]` begins what is said on stderr.

    frame  None: as config.json says, else compact
    """
    if frame is None:
        frame = ctx.config.value(_FRAME) if ctx.is_configured(_FRAME) else "compact"
    task = Prompt(ctx, query, propose=propose) if prompt or propose else None
    view = reads(ctx.db, workspace, scope, all_scopes=all_scopes)
    budget = min(budget, view.budget or budget)
    room = budget if task is None else task.room(budget)
    filters = Filters(view.scopes, tier, None, tuple(tags or ()), view.corpus_id, injectable=True)
    filters = in_mount(ctx, within(filters, since, until, as_of), mount, label)
    means = meaning(ctx, embedder or ctx.env("MEMCTL_EMBEDDER"))
    told = frame == "full" or not ctx.prints_text  # how many items match; counting them takes a twentieth of the time
    with looking_back(ctx, filters):
        found = find(
            ctx.db, query, filters=filters, limit=pool_of(budget), count=told, meaning=means, weights=weights(ctx)
        )  # fmt: skip
        abstained = abstains(ctx, found, min_coverage, f"[{label}] ", auto=auto)
        with ctx.db.cached_reads():
            shape = Shape(label, kind, frame, framed=header, past=as_of is not None)
            result = _packed(ctx, found, room, redact, shape)
        if not abstained:
            _say(ctx, result, query, filters, label, room)
    result.query, result.prompt = query, task
    return result


class Prompt:
    """What stands around a block that is a whole prompt: how to propose, where that was asked for, and the question."""

    __slots__ = ("_question", "_task")

    def __init__(self, ctx: Context, question: str, *, propose: bool) -> None:
        self._question = question.strip()
        self._task = ctx.config.proposer.system_instruction.strip() if propose else ""

    def around(self, block: str) -> str:
        """The prompt for a model, without its final line break."""
        from memctl.llm.protocol import build_prompt

        return build_prompt(block, self._question, system_prompt=self._task, protocol="passive").rstrip("\n")

    def room(self, budget: int) -> int:
        """How many tokens of a budget are left for the block."""
        from memctl.text.tokens import estimate

        return max(0, budget - estimate(self.around("-")))


class Shape:
    """How a block is made: what begins its remarks, its injection_type, its frame, with header or without, of now or
    of then.
    """

    __slots__ = ("frame", "framed", "kind", "label", "past")

    def __init__(self, label: str, kind: str, frame: "FrameName", *, framed: bool, past: bool) -> None:
        self.label, self.kind, self.frame, self.framed, self.past = label, kind, frame, framed, past

    def make(self, budget: int, matched: int) -> "Frame":
        """The frame that passages are written in."""
        from memctl.text.block import frames
        from memctl.text.block.block import header_lines

        if self.frame == "none":
            return frames.Bare()
        if self.frame == "compact":
            return frames.Compact() if self.framed else frames.Headless()
        return frames.Full(header_lines(self.kind, budget, matched) if self.framed else None, budget)


def pool_of(budget: int) -> int:
    """How many candidates are looked at for a block of so many tokens."""
    return max(5, min(POOL, budget // TOKENS_PER_CANDIDATE), budget // TOKENS_OF_PASSAGE)


def _packed(ctx: Context, found: Found, budget: int, redact: View, shape: Shape) -> Recalled:
    from memctl.retrieve.find import describe
    from memctl.retrieve.pack import packed

    redaction = redaction_for(ctx, redact)
    records, places = worth_giving(ctx, found, redaction, shape.label, past=shape.past)
    # What today's rules have left out just now does not count: that it has the words would tell what it says.
    matched = found.total - (_worth(found) - len(records))
    frame = shape.make(budget, matched)
    block = packed(ranked(ctx, found, records, places, redaction), frame, budget)
    meta = describe(ctx.db, found)
    return Recalled(ctx, block, records, matched, meta, redaction, version=frame.version, past=shape.past)


def _worth(found: Found) -> int:
    """How many candidates are worth a place in a block."""
    best = found.candidates[0].score if found.candidates else 0.0
    return sum(c.score >= FLOOR * best for c in found.candidates)


def ranked(
    ctx: Context, found: Found, records: "list[MemoryItem]", places: "dict[str, SourcePosition]",
    redaction: "Redaction | None" = None, *, near: bool = False,
) -> "Ranked":  # fmt: skip
    """What a block is made of: the items worth giving, with what is said around them (`near`: see labels.read)."""
    from memctl.retrieve import labels
    from memctl.retrieve.pack import Ranked, weighed

    cwd = cwd_of(ctx)
    name = None if redaction is None else (lambda item_id: redaction.field("id", item_id))
    scores = {c.id: c.score for c in found.candidates}
    said = labels.read(ctx.db, records, cwd, near=near, name=name)
    return Ranked(records, places, weighed(found), scores=scores, labels=said, cwd=cwd)


def redaction_for(ctx: Context, redact: View) -> "Redaction | None":
    """What a view does to an answer; None when it shows all."""
    if redact in ("full", "S3"):
        return None
    from memctl.reading.redaction import redaction

    return redaction(ctx, redact)


def worth_giving(
    ctx: Context, found: Found, redaction: "Redaction | None", label: str = "recall", *, past: bool = False
) -> "tuple[list[MemoryItem], dict[str, SourcePosition]]":
    """The items that are worth a place in a block, best first, and where they stand, as a view shows them.

    What today's rules have not seen is judged by them before; `past`: the items are states of old.
    """
    from memctl.reading import delivery
    from memctl.store.documents import passages
    from memctl.store.items import items

    best = found.candidates[0].score if found.candidates else 0.0
    chosen = {c.id: c.score for c in found.candidates if c.score >= FLOOR * best}
    records = items.get_cached(ctx.db, chosen)
    known = passages.get_positions(ctx.db, chosen)
    if ctx.db.trusted:  # of equals, whose word counts more comes first
        records.sort(key=lambda item: (-chosen[item.id], -_trust(item)))
    else:
        records.sort(key=lambda item: -chosen[item.id])
        known = {i: passages.UntrustedPosition(*known.get(i, ())) for i in chosen}
    fit = delivery.judge_items(ctx, records, known, past=past)
    fit.tell(ctx, label)
    records, places = fit.items, fit.places
    if redaction is None:
        return records, places
    from memctl.reading import redaction as redacting

    return redacting.shown(redaction, records), redacting.places(redaction, places)


def _trust(item: "MemoryItem") -> int:
    from memctl.text import trust

    source = item.provenance
    return trust.level(source.source_kind, source.source_id, source.chunk_ids)


def cwd_of(ctx: Context) -> str:
    """The folder that paths are shown relative to; "" when somebody deleted it."""
    try:
        return ctx.cwd
    except errors.FileMissing:
        return ""


def _say(ctx: Context, result: Recalled, query: str, filters: Filters, label: str, budget: int) -> None:
    block = result.block
    if block.text:
        ctx.note(f"[{label}] {block.items} items, ~{block.tokens} tokens")
    elif result.items:
        ctx.warn(f"[{label}] The budget of {budget} tokens is too small for any item.")
    elif find(ctx.db, query, filters=filters.replace(injectable=False), limit=1).candidates:
        ctx.note(f"[{label}] No injectable items matched.")
    else:
        ctx.note(f"[{label}] No matching items.")
        if filters.scopes is not None and result.redaction is None:
            from memctl.ops.recall.search import note_other_scopes

            note_other_scopes(ctx, query, filters, f"[{label}] ")


def text(result: Recalled) -> Iterator[str]:
    """The block, or nothing."""
    if result.block.text or result.prompt is not None:
        yield result.shown()
