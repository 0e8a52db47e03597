"""What a block may hold by today's rules: items that they have not seen are judged again before a model gets them.

Nothing is written: an item that fails is left out, or shown without its secret, and stderr says what puts the store
right. Where the rules have seen all that is delivered, which is the usual case, they are not even loaded. A view
(`--redact`) then shows what is left of it, in every field.
"""

from collections.abc import Mapping, Sequence

from memctl.annotations import TYPE_CHECKING
from memctl.context import Context
from memctl.store.documents.passages import SourcePosition
from memctl.store.items import events
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy.redaction import Redaction
    from memctl.store.items.overview import ItemOutline
    from memctl.store.search.index import Candidate


def judge_items(
    ctx: Context, items: Sequence[MemoryItem], places: Mapping[str, SourcePosition], label: str, *, past: bool = False
) -> tuple[list[MemoryItem], dict[str, SourcePosition]]:
    """The items as they may be given to a model, with their places; stderr says what was left out or changed.

    past  they are states of old, which the rules may not have seen
    """
    shown, put = list(items), dict(places)
    rules = events.name_rules(ctx.policy.switches if ctx.is_configured("policy") else "")
    unseen, passed = events.unseen_items(ctx.db, rules, items, past=past)
    if not unseen:
        return shown, put
    from memctl.item_policy import ItemPolicy
    from memctl.store.quarantine import standings

    policy, found = ItemPolicy(ctx.policy), standings(ctx.db, [item for item in items if item.id in unseen])
    shown = []
    left_out = redacted = 0
    for item in items:
        change = policy.redact(item, found[item.id], put.get(item.id)) if item.id in unseen else None
        if change is None:
            passed[item.id] = True
            shown.append(item)
        elif change.held_by:
            left_out += 1
        else:
            redacted += 1
            shown.append(change.apply_to(item))
            if change.place is not None:
                put[item.id] = change.place
    counts = ((left_out, "left out"), (redacted, "shown without a secret"))
    said = ", ".join(f"{count} item(s) {what}" for count, what in counts if count)
    if said:
        why = "the rules of today have not judged them yet; run memctl scan --store"
        ctx.warn(f"[{label}] {said}: {why if ctx.db.trusted else 'so the rules of today want it'}")
    return shown, put


def items_for_models(
    ctx: Context, items: Sequence[MemoryItem], label: str, *, past: bool = False
) -> dict[str, MemoryItem]:
    """What a model may see of a list of items, by id: what policy holds back is not in it, what is only raw is."""
    from memctl.store.items.items import withheld_reasons

    held = [item.id for item in items if not item.injectable]
    why = withheld_reasons(ctx.db, held) if held else {}
    free = [item for item in items if item.injectable or why.get(item.id) == "raw"]
    shown, _ = judge_items(ctx, free, {}, label, past=past)
    return {item.id: item for item in shown}


def doubtful_ids(ctx: Context, given: "Sequence[ItemOutline]") -> set[str]:
    """Those of these items that a model may not see as they are: `items_for_models` says what of them it may."""
    rules = events.name_rules(ctx.policy.switches if ctx.is_configured("policy") else "")
    return events.unseen_items(ctx.db, rules, given)[0].union(one.id for one in given if not one.injectable)


def items_for_people(ctx: Context, items: Sequence[MemoryItem], label: str) -> list[MemoryItem]:
    """Items as a person's command prints them: those of a store of somebody else as today's rules leave them.

    What these hold back has no words then, but on a terminal: whoever reads a pipe may be a model.
    """
    if ctx.db.trusted or "stdout" in ctx.tty:
        return list(items)
    free = items_for_models(ctx, items, label)
    return [free.get(item.id) or without_words(item) for item in items]


def without_words(item: MemoryItem) -> MemoryItem:
    """An item of which nothing is shown that somebody wrote."""
    silent = {"title": "", "content": "", "tags": [], "entities": [], "injectable": False}
    return MemoryItem.from_dict(item.to_dict() | silent)


def redact_items(
    redaction: "Redaction", items: Sequence[MemoryItem], places: Mapping[str, SourcePosition]
) -> tuple[list[MemoryItem], dict[str, SourcePosition]]:
    """Items and places as a view shows them; each item keeps its own id, by which its use is counted."""
    shown = []
    for item in items:
        copy = MemoryItem.from_dict(redaction.record(item.to_dict()))
        copy.id = item.id
        shown.append(copy)
    return shown, {i: place._replace(anchor=redaction.text(place.anchor)) for i, place in places.items()}


def redact_candidates(ctx: Context, redaction: "Redaction", candidates: "Sequence[Candidate]") -> None:
    """Change search hits to what a view shows of them."""
    import json

    from memctl.store.items.items import get_many, load_strings

    sources = {item.id: item.provenance.source_id for item in get_many(ctx.db, [c.id for c in candidates])}
    for c in candidates:
        line = redaction.record({
            "id": c.id, "title": c.title, "content": c.content, "tags": load_strings(c.tags), "scope": c.scope,
            "provenance": {"source_id": sources.get(c.id, "")},
        })  # fmt: skip
        c.id, c.title, c.content, c.scope = line["id"], line["title"], line["content"], line["scope"]
        c.tags = json.dumps(line["tags"], ensure_ascii=False)
