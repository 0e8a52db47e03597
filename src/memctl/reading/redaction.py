"""Answers as a view shows them (`--redact`): search hits and the items of a block, in every field."""

import json
from collections.abc import Iterable, Mapping

from memctl.context import Context
from memctl.policy.redaction import Redaction
from memctl.store.documents.passages import SourcePosition
from memctl.store.items import items
from memctl.store.items.rows import load_strings
from memctl.store.search.index import Candidate
from memctl.types import MemoryItem


def redaction(ctx: Context, view: str) -> Redaction:
    """What a view does to one answer."""
    return Redaction(view, ctx.policy)


def hide(ctx: Context, view: str, candidates: Iterable[Candidate]) -> None:
    """Change search hits to what the view shows of them."""
    show = redaction(ctx, view)
    candidates = list(candidates)
    sources = {item.id: item.provenance.source_id for item in items.get_many(ctx.db, [c.id for c in candidates])}
    for c in candidates:
        line = show.record({
            "id": c.id, "title": c.title, "content": c.content, "tags": load_strings(c.tags), "scope": c.scope,
            "provenance": {"source_id": sources.get(c.id, "")},
        })  # fmt: skip
        c.id, c.title, c.content, c.scope = line["id"], line["title"], line["content"], line["scope"]
        c.tags = json.dumps(line["tags"], ensure_ascii=False)


def shown(redaction: Redaction, records: Iterable[MemoryItem]) -> list[MemoryItem]:
    """Items as the view shows them; each keeps its own id, by which its use is counted."""
    out = []
    for item in records:
        copy = MemoryItem.from_dict(redaction.record(item.to_dict()))
        copy.id = item.id
        out.append(copy)
    return out


def places(redaction: Redaction, places: Mapping[str, SourcePosition]) -> dict[str, SourcePosition]:
    """Places in sources without what the view hides of their headings."""
    return {item_id: place._replace(anchor=redaction.text(place.anchor)) for item_id, place in places.items()}
