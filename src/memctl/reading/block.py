"""From candidates to what a model is given: what may be delivered, as passages or as one block within a budget."""

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import Context
from memctl.operation import Result
from memctl.parameters import BlockForm, ReadRequest
from memctl.reading.request import Retriever, block_budget, looking_back
from memctl.retrieve.explain import describe, reasons, suggest
from memctl.retrieve.ranking import SearchResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.llm.working import RecalledPassages
    from memctl.policy.redaction import Redaction
    from memctl.retrieve.selection import Ranked
    from memctl.text.block.frames import Frame
    from memctl.text.block.packing import Block
    from memctl.types import MemoryItem, SearchMeta

_FRAME = "recall.frame"


class Recalled(Result):
    """A block and what it holds; the uses are counted when it has been printed, but for a look at the past."""

    __slots__ = (
        "block", "ctx", "items", "matched", "meta", "past", "prompt", "query", "redaction", "trusted", "version",
    )  # fmt: skip
    verbatim = True

    def __init__(
        self, ctx: Context, query: str, block: "Block", items: "Sequence[MemoryItem]", matched: int, meta: "SearchMeta",
        redaction: "Redaction | None", prompt: "Prompt | None", *, version: int, past: bool,
    ) -> None:  # fmt: skip
        self.ctx, self.query, self.block, self.items, self.matched = ctx, query, block, items, matched
        self.meta, self.redaction, self.prompt, self.version, self.past = meta, redaction, prompt, version, past
        self.trusted = ctx.db.trusted

    def as_dict(self) -> dict[str, Any]:
        """The block, a catalog of the items in it, and how the search was answered."""
        from memctl.text.block.packing import format_search_results

        delivered = set(self.block.ids)
        items = format_search_results([i for i in self.items if i.id in delivered], "")
        if not self.trusted:
            from memctl.text.source_trust import STRANGER

            items = [item | {"trust": STRANGER} for item in items]
        hint = suggest(self.query, self.meta, found=bool(self.block.text))
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
            **({"hint": hint} if hint else {}),
        }

    def shown(self) -> str:
        """The block as it is printed, in its prompt where one was asked for."""
        return self.block.text if self.prompt is None else self.prompt.around(self.block.text)

    def settle(self) -> None:
        """Count the use of what was delivered; a store that cannot be written to counts nothing."""
        if self.block.ids and not self.past:
            from memctl.store.items import items

            items.mark_used(self.ctx.db, self.block.ids, action="recall")


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


def recall_block(
    ctx: Context, query: str, request: ReadRequest, form: BlockForm, *, command: str, kind: str = "memory_recall"
) -> Recalled:
    """Find what answers a question and write it as a block, whose injection_type is `kind`."""
    from memctl.retrieve.selection import build_block
    from memctl.text import estimate_tokens

    prompt = Prompt(ctx, query, propose=form.propose) if form.prompt or form.propose else None
    budget = block_budget(ctx, request)
    room = budget if prompt is None else max(0, budget - estimate_tokens(prompt.around("-")))
    retriever = Retriever(ctx, request, command, injectable=True)
    # How many items match: counting them takes a twentieth of the time, and a text that is printed does not say it.
    count = form.frame == "full" or ctx.emit is None or ctx.json
    past = retriever.filters.as_of is not None
    with looking_back(ctx, retriever.filters):
        found, abstained = retriever.find_for_block(query, budget, count=count)
        with ctx.db.snapshot():
            ranked = deliver(retriever, found)
            # What the rules have left out just now does not count: that it has the words would tell what it says.
            matched = found.total - (len(found.candidates) - len(ranked.items))
            frame = _frame(form, kind, room, matched)
            block = build_block(ranked, frame, room)
            meta = describe(ctx.db, found)
        result = Recalled(
            ctx,
            query,
            block,
            ranked.items,
            matched,
            meta,
            retriever.redaction,
            prompt,
            version=frame.version,
            past=past,
        )
        if not abstained:
            _tell(retriever, result, room)
    return result


def configured_form(ctx: Context) -> BlockForm:
    """The form that config.json names, for tools that offer none."""
    return BlockForm(frame=ctx.config.value(_FRAME)) if ctx.is_configured(_FRAME) else BlockForm()


def _frame(form: BlockForm, kind: str, budget: int, matched: int) -> "Frame":
    """The frame that passages are written in."""
    from memctl.text.block import frames
    from memctl.text.block.packing import header_lines

    if form.frame == "none":
        return frames.Bare()
    if form.frame == "compact":
        return frames.Compact(header=not form.no_header)
    return frames.Full(None if form.no_header else header_lines(kind, budget, matched), budget)


def _tell(retriever: Retriever, result: Recalled, budget: int) -> None:
    """Say what the block holds, or why it is empty."""
    ctx, block = retriever.ctx, result.block
    if block.text:
        ctx.note(f"{retriever.prefix}{block.items} items, ~{block.tokens} tokens")
    elif result.items:
        ctx.warn(f"{retriever.prefix}The budget of {budget} tokens is too small for any item.")
    elif retriever.find_any(result.query):
        ctx.note(f"{retriever.prefix}No injectable items matched.")
    else:
        ctx.note(f"{retriever.prefix}No matching items.")
        if retriever.filters.scopes is not None and result.redaction is None:
            retriever.tell_other_scopes(result.query)


def find_passages(retriever: Retriever, query: str, budget: int) -> "RecalledPassages":
    """The passages that a block for a question would choose from, best first: what a loop recalls with.

    All of them, for a caller who has some already, with paths as people read them.
    """
    from memctl.llm.working import RecalledPassages
    from memctl.retrieve.selection import choose_passages

    found, _ = retriever.find_for_block(query, budget)
    return RecalledPassages(choose_passages(deliver(retriever, found, near=True), budget, whole=True), found.total)


def explain_delivery(retriever: Retriever, query: str, budget: int, given: tuple[str, ...]) -> list[str]:
    """How the search for a question was answered, and what the scores of the items that were given are made of."""
    found, _ = retriever.find_for_block(query, budget)
    meta = describe(retriever.ctx.db, found)
    lines = [f"{found.total} item(s) match ({meta.strategy}: {', '.join(meta.effective_terms) or 'no words'})"]
    for c in found.candidates:
        if c.id in given:
            parts = ", ".join(f"{name} {value:g}" for name, value in reasons(found, c).items())
            lines.append(f"{c.score:8.2f}  {c.id}  {c.title}  ({parts})")
    return lines


def deliver(retriever: Retriever, found: SearchResult, *, near: bool = False) -> "Ranked":
    """The candidates that may be given to a model, best first, with what is said around them, as the view shows them.

    What the rules in force have not seen is judged by them before. `near`: see `memctl.retrieve.selection.Labels`.
    """
    from memctl.reading import delivery
    from memctl.retrieve.selection import Ranked, read_labels, weigh_words
    from memctl.store.documents import passages
    from memctl.store.items import items

    ctx, redaction = retriever.ctx, retriever.redaction
    scores = {c.id: c.score for c in found.candidates}
    records = items.get_many(ctx.db, scores, cached=True)
    places = passages.get_positions(ctx.db, scores)
    if ctx.db.trusted:  # of equals, whose word counts more comes first
        from memctl.text import source_trust

        level = {}
        for item in records:
            source = item.provenance
            level[item.id] = source_trust.trust_of(source.source_kind, source.source_id, source.chunk_ids)[0]
        records.sort(key=lambda item: (-scores[item.id], -level[item.id]))
    else:
        records.sort(key=lambda item: -scores[item.id])
        places = {i: passages.UntrustedPosition(*places.get(i, ())) for i in scores}
    judged = delivery.judge_items(ctx, records, places, past=retriever.filters.as_of is not None)
    judged.tell(ctx, retriever.command)
    records, places = judged.items, judged.places
    if redaction is not None:
        records, places = delivery.redact_items(redaction, records, places)
    name = None if redaction is None else (lambda item_id: redaction.field("id", item_id))
    cwd = current_folder(ctx)
    said = read_labels(ctx.db, records, cwd, near=near, name=name)
    return Ranked(records, places, weigh_words(found), scores=scores, labels=said, cwd=cwd)


def current_folder(ctx: Context) -> str:
    """The folder that paths are shown relative to; "" when somebody deleted it."""
    try:
        return ctx.cwd
    except errors.FileMissing:
        return ""
