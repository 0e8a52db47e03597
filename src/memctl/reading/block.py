"""From candidates to a block: what may be delivered, which of it is chosen, and how the block is framed.

`deliver` leaves what a model may see, `choose_passages` what adds most; `memctl.text.block.packing` fits that into the
budget. `recall_block` is the whole way, from a request to the block.
"""

import os
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from itertools import count

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import Context
from memctl.operation import Result
from memctl.parameters import BlockForm, ReadRequest
from memctl.reading.request import Retriever, block_budget, config_mentions, looking_back
from memctl.retrieve.candidates import SearchResult
from memctl.retrieve.find import KnownTexts
from memctl.store.documents import mounts, passages
from memctl.store.items import citations, events
from memctl.store.items import items as stored
from memctl.text import source_trust
from memctl.text.block import packing
from memctl.text.block.excerpt import Weighed, cost, stems
from memctl.text.block.frames import Compact, Frame, Full, format_search_results, header_lines
from memctl.text.block.packing import Block, BlockEntry, Labels
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN, estimate_tokens
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy.redaction import Redaction
    from memctl.types import SearchMeta

_FRAME = "recall.frame"

#: The room is looked through this many times: what is cut leaves some of it to others.
RESERVE = 2.0
#: How much of what a passage is worth depends on the words of the question that it holds and others do not yet.
NEW = 0.3
#: What a passage keeps of its worth for each one of its source that is there already.
SAME_SOURCE = 0.9
#: Statements of at most this many lines are alike when they have this share of their words in common.
STATEMENT_LINES = 3
ALIKE = 0.6
#: Characters of a day, and of a mount's name.
_DAY, _NAME = 10, 60
#: Characters of the line of an item in a catalog.
_LINE = 120
#: What a statement keeps of its worth when what it cites is not as it was: it stands behind a fresh one.
STALE = 0.5
#: Of so many of its references the block says that they are stale.
_MOST_STALE = 3


class Recalled(Result):
    """A block and what it holds; the uses are counted when it has been printed, but for a look at the past.

    text     the block as it is printed: in its prompt, where one was asked for
    meta     how the search was answered; only there where the block is not printed as text, which does not say it
    version  the format_version of the block
    past     the store was seen as it was at some moment
    mode     hybrid, inject (data lists no items) or catalog (the block is a line of each item; data has no text)
    """

    verbatim = True
    ctx: Context
    query: str
    block: Block
    text: str
    lines: list[str]
    items: Sequence[MemoryItem]
    matched: int
    meta: "SearchMeta"
    redaction: "Redaction | None"
    version: int
    past: bool
    mode: str

    def as_dict(self) -> dict[str, Any]:
        """The block, a catalog of the items in it, and how the search was answered."""
        from memctl.retrieve.explain import suggest

        if self.matched and not self.block.text:
            hint = f"{self.matched} passages match; the budget is too small for any of them: give a larger one."
        else:
            hint = suggest(self.query, self.meta, found=bool(self.block.text))
        return {
            "status": "ok",
            "inject_text": "" if self.mode == "catalog" else self.text,
            "items": [] if self.mode == "inject" else self.catalog(),
            "tokens_used": self.block.tokens,
            "matched": self.matched,
            "format_version": self.version,
            "fts_strategy": self.meta.strategy,
            "fts_original_terms": self.meta.original_terms,
            "fts_effective_terms": self.meta.effective_terms,
            "fts_dropped_terms": self.meta.dropped_terms,
            **({"hint": hint} if hint else {}),
        }

    def catalog(self) -> list[dict[str, Any]]:
        """The items in the block, without their whole contents."""
        delivered = set(self.block.ids)
        items = format_search_results([i for i in self.items if i.id in delivered], "")
        if not self.ctx.db.trusted:
            items = [item | {"trust": source_trust.STRANGER} for item in items]
        return items if self.redaction is None else [self.redaction.record(item) for item in items]

    def settle(self) -> None:
        """Count the use of what was delivered; a store that cannot be written to counts nothing.

        A line of an item in a catalog is no use of it.
        """
        if self.block.ids and not self.past and self.mode != "catalog":
            stored.mark_used(self.ctx.db, self.block.ids, action="recall")


def recall_block(
    ctx: Context,
    query: str,
    request: ReadRequest,
    form: BlockForm,
    *,
    command: str,
    kind: str = "memory_recall",
    but: Container[str] = (),
    most: int | None = None,
) -> Recalled:
    """Find what answers a question and write it as a block, whose injection_type is `kind`.

    but   ids of items that it must not hold
    most  candidates that it is made of, at most
    """
    budget = block_budget(ctx, request)
    whole = form.prompt or form.propose
    room = budget if not whole else max(0, budget - estimate_tokens(_prompt(ctx, "-", query, form)))
    retriever = Retriever(ctx, request, command, injectable=True)
    # A text that is printed says neither how many items match nor how: finding that out takes a tenth of the time.
    as_data = ctx.emit is None or ctx.json
    past = retriever.filters.as_of is not None
    with looking_back(ctx, retriever.filters):
        found, abstained = retriever.find_for_block(query, budget, count=as_data or form.frame == "full", but=but)
        found.total -= len(found.candidates[most:]) if most else 0
        del found.candidates[most or len(found.candidates) :]
        with ctx.db.snapshot():
            ranked = deliver(retriever, found, but=but)
            # What the rules have left out just now does not count: that it has the words would tell what it says.
            matched = found.total - (len(found.candidates) - len(ranked.items))
            frame = Frame() if form.frame == "none" else Compact(header=not form.no_header)
            if form.frame == "full":
                head = None if form.no_header else header_lines(kind, room, matched)
                frame = Full(head, room)
            chosen = choose_passages(ranked, room, whole=form.mode == "catalog")
            block = (_list_items if form.mode == "catalog" else packing.build)(chosen, frame, room, ranked.words)
            meta = {}
            if as_data:
                from memctl.retrieve.explain import describe

                meta["meta"] = describe(ctx.db, found)
        text = _prompt(ctx, block.text, query, form) if whole else block.text
        result = Recalled(
            ctx=ctx, query=query, block=block, text=text, lines=[text] if text else [],
            items=ranked.items, matched=matched, redaction=retriever.redaction, version=frame.version,
            past=past, mode=form.mode, **meta,
        )  # fmt: skip
        if not abstained:
            if block.text:
                retriever.tell_guesses(found)
            _tell(retriever, result, room)
    return result


def _list_items(entries: Sequence[BlockEntry], frame: Frame, budget: int, words: Weighed) -> Block:  # noqa: ARG001
    """The block with one line of each passage, for as many as fit: nothing in it is joined, or cut around a word."""
    room, short = budget * CHARS_PER_TOKEN - frame.around(len(entries)), list[BlockEntry]()
    for entry in entries:
        line = entry._replace(lines=[one_line(" ".join(entry.lines), _LINE)])
        room -= frame.cost(line, len(entries)) + cost(line.lines, frame.line_cost)
        if room < 0:
            break
        short.append(line)
    if not short:
        return Block("", (), 0, 0)
    text, used = frame.write(short)
    return Block(text, tuple(i for one in short for i in one.ids), len(short), used, tuple(short))


def configured_form(ctx: Context) -> BlockForm:
    """The form that config.json names, for tools that offer none."""
    return BlockForm(frame=ctx.config.value(_FRAME)) if ctx.is_configured(_FRAME) else BlockForm()


def _prompt(ctx: Context, block: str, question: str, form: BlockForm) -> str:
    """A whole prompt for a model: how to propose, where that was asked for, the block, and the question at its end."""
    from memctl.llm.protocol import build_prompt

    task = ctx.config.proposer.system_instruction.strip() if form.propose else ""
    return build_prompt(block, question.strip(), system_prompt=task, protocol="passive").rstrip("\n")


def _tell(retriever: Retriever, result: Recalled, budget: int) -> None:
    """Say what the block holds, or why it is empty."""
    ctx, block = retriever.ctx, result.block
    if block.text:
        ctx.note(f"{retriever.prefix}{block.items} items, ~{block.tokens} tokens")
    elif result.items:
        ctx.warn(f"{retriever.prefix}The budget of {budget} tokens is too small for any item.")
    elif ctx.quiet:
        return  # finding out why costs another search
    elif retriever.find(result.query, 1, filters=retriever.filters.replace(injectable=False)).candidates:
        ctx.note(f"{retriever.prefix}No injectable items matched.")
    else:
        ctx.note(f"{retriever.prefix}No matching items.")
        if retriever.filters.scopes is not None and result.redaction is None:
            retriever.tell_other_scopes(result.query)


def explain_delivery(retriever: Retriever, query: str, budget: int, given: tuple[str, ...]) -> list[str]:
    """How the search for a question was answered, and what the scores of the items that were given are made of."""
    from memctl.retrieve.explain import describe, reasons

    found, _ = retriever.find_for_block(query, budget)
    meta = describe(retriever.ctx.db, found)
    lines = [f"{found.total} item(s) match ({meta.strategy}: {', '.join(meta.effective_terms) or 'no words'})"]
    for c in found.candidates:
        if c.id in given:
            parts = ", ".join(f"{name} {value:g}" for name, value in reasons(found, c).items())
            lines.append(f"{c.score:8.2f}  {c.id}  {c.title}  ({parts})")
    return lines


# --- what may be delivered ------------------------------------------------------------------------------------------


class Deliverable:
    """What a block may be made of.

    items   in rank order
    places  item id -> where it stands in its source
    words   stems of the question with what each weighs
    scores  item id -> score; none: the items are alike
    labels  what is said around the items
    against item id -> the item that contradicts it
    """

    __slots__ = ("against", "items", "labels", "places", "scores", "words")

    def __init__(
        self,
        items: Sequence[MemoryItem],
        places: Mapping[str, passages.SourcePosition],
        words: Weighed,
        scores: Mapping[str, float] = {},
        labels: Labels = packing.NO_LABELS,
        against: Mapping[str, str] = {},
    ) -> None:
        self.items, self.places, self.words = items, places, words
        self.scores, self.labels, self.against = scores, labels, against


def deliver(retriever: Retriever, found: SearchResult, *, near: bool = False, but: Container[str] = ()) -> Deliverable:
    """The candidates that may be given to a model, best first, with what is said around them, as the view shows them.

    What the rules in force have not seen is judged by them before. `near`: see `Labels`; `but`: ids of items that were
    given already, and are not given again as what contradicts another.
    """
    terms = [term for term in (*found.terms, *found.rest) if term.whole]
    words = {term.root: found.idf(term) for term in terms} or stems(found.query)
    return deliver_scored(retriever, {c.id: c.score for c in found.candidates}, words, near=near, but=but)


def deliver_scored(
    retriever: Retriever,
    scores: Mapping[str, float],
    words: Weighed,
    *,
    near: bool = False,
    but: Container[str] = (),
) -> Deliverable:
    """The same of items with a score each, whatever found them."""
    ctx, redaction = retriever.ctx, retriever.redaction
    stale = citations.stale_facts(ctx.db, scores)
    scores = {item_id: score * (STALE if item_id in stale else 1.0) for item_id, score in scores.items()}
    records: Sequence[MemoryItem] = stored.get_many(ctx.db, scores, cached=True)
    places: Mapping[str, passages.SourcePosition] = passages.get_positions(ctx.db, scores)
    if ctx.db.trusted:  # of equals, whose word counts more comes first
        level = {}
        for item in records:
            source = item.provenance
            level[item.id] = source_trust.trust_of(source.source_kind, source.source_id, source.chunk_ids)[0]
        records = sorted(records, key=lambda item: (-scores[item.id], -level[item.id]))
    else:
        records = sorted(records, key=lambda item: -scores[item.id])
        places = {i: passages.UntrustedPosition(*places.get(i, ())) for i in scores}
    past = retriever.filters.as_of is not None
    against = {} if past or not ctx.db.trusted else find_conflicts(ctx, retriever, records)
    if against:
        records, scores = _with_other_sides(ctx, records, against, scores, but)
    # The policy is made only for a project that has a part of its own in it.
    own_part = config_mentions(ctx, b'"policy"') and ctx.is_configured("policy")
    rules = events.name_rules(ctx.policy.switches if own_part else "")
    if events.unseen_items(ctx.db, rules, records, past=past)[0]:
        from memctl.reading import delivery

        records, places = delivery.judge_items(ctx, records, places, retriever.command, past=past)
    if redaction is not None:
        from memctl.reading import delivery

        records, places = delivery.redact_items(redaction, records, places)
    given = stored.get_many(ctx.db, [item_id for item_id in against if item_id in but])
    labels = _tell_conflicts(read_labels(ctx, records, redaction, near=near), [*records, *given], against)
    return Deliverable(records, places, words, scores, labels, against)


def read_labels(
    ctx: Context, items: Sequence[MemoryItem], redaction: "Redaction | None" = None, *, near: bool = False
) -> Labels:
    """What is said around these items: short ids, mounts and the current folder, what replaced what, what is stale."""
    ids = [item.id for item in items]
    statements = [item for item in items if item.provenance.source_kind != "doc"]
    old: Mapping[str, list[tuple[str, str]]] = {}
    if statements:  # most blocks are of documents alone
        from memctl.store.items import attributes

        old = attributes.superseded_by_each(ctx.db, [item.id for item in statements])
    new = {item.id: item.superseded_by for item in statements if item.superseded_by}
    handles = stored.shorten_ids(ctx.db, {*ids, *new.values(), *(found[0] for many in old.values() for found in many)})
    if redaction is not None:
        shown = {item_id: redaction.field("id", item_id) for item_id in handles}
        handles = {i: shown[i] if shown[i] != i else short for i, short in handles.items()}
    replaced: dict[str, tuple[str, ...]] = {}
    for item_id, many in old.items():
        replaced[item_id] = tuple(f"replaces {handles[i]}" + (f" of {day[:_DAY]}" if day else "") for i, day in many)
    for item_id, facts in citations.stale_facts(ctx.db, [item.id for item in statements]).items():
        said = tuple(one.words if redaction is None else redaction.text(one.words) for one in facts[:_MOST_STALE])
        replaced[item_id] = (*replaced.get(item_id, ()), *said)
    for item_id, newer in new.items():
        replaced[item_id] = (*replaced.get(item_id, ()), f"replaced by {handles[newer]}")
    roots = []
    for mount in mounts.list_mounts(ctx.db):
        path = os.path.join(str(mount["path"] or ""), "")
        roots.append((path, one_line(mount["name"] or os.path.basename(path.rstrip("/")), _NAME)))
    roots.sort(key=lambda root: len(root[0]), reverse=True)
    return Labels(current_folder(ctx), roots, near, handles, replaced)


def find_conflicts(ctx: Context, retriever: Retriever, records: Sequence[MemoryItem]) -> dict[str, str]:
    """Of these items those that are in an open conflict: item id -> the item that contradicts it, and back.

    An item that is in several is shown in one, that of the best of them.
    """
    statements = [item.id for item in records if item.provenance.source_kind != "doc"]
    if not statements:
        return {}
    from memctl.store.items import attributes

    if not attributes.has_conflicts(ctx.db):
        return {}
    from memctl.store import conflicts

    found = conflicts.conflicts_of(ctx.db, statements, retriever.filters)
    rank = {item_id: at for at, item_id in enumerate(statements)}
    out: dict[str, str] = {}
    for one in sorted(found, key=lambda one: (min(rank.get(one.a, len(rank)), rank.get(one.b, len(rank))), one.id)):
        if one.a not in out and one.b not in out:
            out |= {one.a: one.b, one.b: one.a}
    return out


def _with_other_sides(
    ctx: Context,
    records: Sequence[MemoryItem],
    against: Mapping[str, str],
    scores: Mapping[str, float],
    but: Container[str],
) -> tuple[list[MemoryItem], dict[str, float]]:
    """The items, each with the one that contradicts it (unless it was given) behind it, and their scores: it has the
    same.
    """
    known = {item.id: item for item in records}
    wanted = [item_id for item_id in against if item_id not in known and item_id not in but]
    known |= {item.id: item for item in stored.get_many(ctx.db, wanted)}
    out: dict[str, MemoryItem] = {}
    now = dict(scores)
    for item in records:
        for item_id in (item.id, against.get(item.id, item.id)):
            if item_id in known:
                out[item_id] = known[item_id]
                now.setdefault(item_id, now[item.id])
    return list(out.values()), now


def _tell_conflicts(labels: Labels, records: Sequence[MemoryItem], against: Mapping[str, str]) -> Labels:
    """The labels, which say of each side of a conflict what contradicts it, and which of both is newer."""
    shown = {item.id: item for item in records}
    said = dict(labels.replaced)
    for item_id in against:
        other = shown.get(against[item_id])
        if item_id in shown and other is not None:
            this_one = "this" if shown[item_id].created_at > other.created_at else "that"
            handle, day = labels.handles.get(other.id, other.id), other.created_at[:_DAY]
            fact = f"contradicted by {handle} of {day} ({this_one} one is newer)"
            said[item_id] = (*said.get(item_id, ()), fact)
    return labels._replace(replaced=said)


def current_folder(ctx: Context) -> str:
    """The folder that paths are shown relative to; "" when somebody deleted it."""
    try:
        return ctx.cwd
    except errors.FileMissing:
        return ""


# --- what is chosen ------------------------------------------------------------------------------------------------


def choose_passages(ranked: Deliverable, budget: int, *, whole: bool = False) -> list[BlockEntry]:
    """What a block within this budget of tokens chooses from, in the order in which it gives room.

    Repeats are dropped. What ranks first stands first; then comes whatever adds most to those before it. Looking ends
    when there is more than can find room; with `whole` it does not, for a caller who has some already.
    """
    room = budget * CHARS_PER_TOKEN
    texts = KnownTexts()
    items: list[MemoryItem] = []
    entries: list[BlockEntry] = []
    taken = 0
    for item in ranked.items:
        entry = packing.block_entry(item, ranked.places.get(item.id), ranked.labels)
        if texts.find(("\n".join(entry.lines) or entry.title).casefold()) is not None:
            continue
        items.append(item)
        entries.append(entry)
        taken += min(cost(entry.lines), packing.SHARE, int(room * packing.FAIR_SHARE))  # the least that it will get
        if taken > RESERVE * room and not whole:
            break
    chosen = [entries[at] for at in _order_by_gain(ranked, items)]
    chosen = _put_newer_first(chosen) if any(p.date and not p.chunk for p in chosen) else chosen
    return _put_sides_together(chosen, ranked.against) if ranked.against else chosen


def _put_sides_together(passages: Sequence[BlockEntry], against: Mapping[str, str]) -> list[BlockEntry]:
    """The same, with the sides of a conflict beside each other, in the place of the better one."""
    by_id = {p.ids[0]: p for p in passages}
    out: dict[str, BlockEntry] = {}
    for p in passages:
        for item_id in (p.ids[0], against.get(p.ids[0], "")):
            if item_id in by_id:
                out.setdefault(item_id, by_id[item_id])
    return list(out.values())


def _order_by_gain(ranked: Deliverable, items: Sequence[MemoryItem]) -> list[int]:
    """The first of the items, then whichever is worth most beside those before it.

    What it is worth is its score, less for words of the question that others hold already, the rarer the more, and for
    each other passage of its source: its document, while a statement is a source of its own, as a turn is.
    """
    words = ranked.words if isinstance(ranked.words, Mapping) else dict.fromkeys(ranked.words, 1.0)
    every = sum(words.values()) or 1.0
    texts = [f"{item.title}\n{item.content}".lower() for item in items]
    held = [tuple([word for word in words if word in text]) for text in texts]
    named = [item.provenance.source_id if item.provenance.source_kind == "doc" else "" for item in items]
    source = [name or item.id for name, item in zip(named, items, strict=True)]
    scores = [ranked.scores.get(item.id, 1.0) for item in items]
    best = max(scores, default=1.0) or 1.0
    shares, kinds = [score / best for score in scores], set(held)  # many hold the same words
    times: dict[str, int] = {}
    taken: dict[str, int] = {}
    left, order = list(range(len(items))), list[int]()
    while left:
        left_of = {word: weight / (1 + times.get(word, 0)) for word, weight in words.items()}
        new = {kind: 1 - NEW + NEW * (sum([left_of[word] for word in kind]) / every) for kind in kinds}
        worths = [shares[at] * new[held[at]] * SAME_SOURCE ** taken.get(source[at], 0) for at in left]
        chosen = left.pop(worths.index(max(worths)) if order else 0)
        order.append(chosen)
        for word in held[chosen]:
            times[word] = times.get(word, 0) + 1
        taken[source[chosen]] = taken.get(source[chosen], 0) + 1
    return order


def _put_newer_first(passages: list[BlockEntry]) -> list[BlockEntry]:
    """The same, but of statements that are alike the newer one stands in the better place."""
    words: dict[int, int] = {}  # a bit for each, by its number
    bits: dict[str, int] = defaultdict(count().__next__)
    for at, p in enumerate(passages):
        if p.date and not p.chunk:
            said = " ".join((p.heading, *p.lines)).casefold().split() if len(p.lines) <= STATEMENT_LINES else ()
            words[at] = sum([1 << number for number in map(bits.__getitem__, {*said})])
    counts = {at: max(1, held.bit_count()) for at, held in words.items()}
    out = list(passages)
    while words:
        first, mine = next(iter(words.items()))
        most = counts[first]
        alike = [at for at, its in words.items() if (mine & its).bit_count() >= ALIKE * max(most, counts[at])]
        alike = alike or [first]
        newest = sorted(alike, key=lambda at: passages[at].moment, reverse=True)
        for place, at in zip(alike, newest, strict=True):
            out[place] = passages[at]
            del words[place]
    return out
