"""Answers as a view shows them (`--redact`): search hits and the items of a block, in every field."""

import json
from collections.abc import Iterable, Mapping

from memctl.ops.context import Context
from memctl.policy.levels import Redaction
from memctl.store.rows import strings
from memctl.store.search import Candidate
from memctl.store.sources import Source
from memctl.types import MemoryItem


def redaction(ctx: Context, view: str) -> Redaction:
    """What a view does to one answer."""
    return Redaction(view, ctx.policy)


def hide(ctx: Context, view: str, candidates: Iterable[Candidate]) -> None:
    """Change search hits to what the view shows of them."""
    show = redaction(ctx, view)
    for c in candidates:
        c.id, c.title, c.content = show.field("id", c.id), show.text(c.title), show.text(c.content)
        c.tags = json.dumps([show.text(tag) for tag in strings(c.tags)], ensure_ascii=False)
        c.scope = show.text(c.scope)


def shown(redaction: Redaction, items: Iterable[MemoryItem]) -> list[MemoryItem]:
    """Items as the view shows them; each keeps its own id, by which its use is counted."""
    out = []
    for item in items:
        copy = MemoryItem.from_dict(redaction.record(item.to_dict()))
        copy.id = item.id
        out.append(copy)
    return out


def places(redaction: Redaction, places: Mapping[str, Source]) -> dict[str, Source]:
    """Places in sources without what the view hides of their headings."""
    return {item_id: place._replace(anchor=redaction.text(place.anchor)) for item_id, place in places.items()}
