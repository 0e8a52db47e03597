"""Topics: memctl topics, and the tool (memory_topics)."""

from collections.abc import Iterator
from typing import Any

from memctl.annotations import Annotated
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import Passages, ReadRequest, Source
from memctl.reading.request import passages_hint, read_filters, said_where
from memctl.text.clean import bar, one_line

#: Characters of an item's content that are looked at beside its title.
_LOOKED_AT = 240
_TITLE = 72
_DAY = 10


@operation(
    access=READ,
    tool="memory_topics",
    about="List what the memory is about: topics by their words, how many memories each has, and its newest ones.",
    answer={"topics": "array", "by_type": "object", "items": "integer", "latest": "string", "total": "integer"},
    examples=("memctl topics", "memctl topics --since 30d", "memctl topics --json | jq -r '.topics[].topic'"),
)
def topics(
    ctx: Context,
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "scope all_scopes workspace type tags session since until source passages limit",
            scope={"mcp_name": "project"},
        ),
    ],
    source: Source = None,
    passages: Passages = False,
    limit: Annotated[int, Arg("at most this many, the largest", "-n", "--limit", aliases=("-k",), ge=1, le=1000)] = 20,
) -> PlainResult:
    """List what the store is about, as topics named by their words.

    A topic is a group of items that share a word which many items have, and nearly all have not. Each item is in one
    topic at most; the same items give the same topics, in English, German and French. What is looked at are the title,
    the beginning and the tags of statements; with --passages of passages too. What models may not see is left out.
    """
    from memctl.lifecycle.topics import find_topics
    from memctl.reading import delivery
    from memctl.store.items import items, overview

    filters = said_where(ctx, read_filters(ctx, request, "topics", injectable=True), source, passages=passages)
    found, count, alone = find_topics(overview.iterate_words(ctx.db, filters, _LOOKED_AT))
    shown = found[:limit]
    told = [i for topic in shown for some in (topic.newest, *topic.told) for i in some]
    named = items.get_many(ctx.db, dict.fromkeys(told))
    free = delivery.items_for_models(ctx, named, "topics")
    unchanged = {item.id for item in named if free.get(item.id) is item}
    rows: list[dict[str, Any]] = [
        {
            "topic": ", ".join(words), "words": words, "count": topic.size, "latest": topic.latest,
            "items": [{"id": i, "title": free[i].title} for i in topic.newest if i in free],
        }
        for topic in shown
        if (words := [
            word for word, some in zip(topic.words, topic.told, strict=True)
            if any(i in unchanged or word in f"{free[i].title}\n{free[i].content}".lower() for i in some if i in free)
        ])
    ]  # fmt: skip
    if not found:
        why = "no word is shared by some items, and not by nearly all."
        ctx.note(f"[topics] No topics: {why}{passages_hint(ctx, filters)}")
    elif len(found) > len(shown):
        ctx.note(f"[topics] {len(shown)} of {len(found)} topics; -n {min(len(found), 1000)} lists more")
    data = {
        "status": "ok", "items": count, "alone": alone, "latest": max((t.latest for t in found), default=None),
        "by_type": items.count_by(ctx.db, filters, "type"), "total": len(found), "truncated": len(found) > len(shown),
        "topics": rows,
    }  # fmt: skip
    return PlainResult(data, list(_lines(rows)))


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Each topic with a bar, and its newest item."""
    most = max((row["count"] for row in rows), default=0)
    width, wide = len(str(most)), max((len(row["topic"]) for row in rows), default=0)
    for row in rows:
        yield f"{row['count']:>{width}}  {row['topic']:<{wide}}  {bar(row['count'], most)}".rstrip()
        for item in row["items"][:1]:
            yield f"{'':>{width}}    {row['latest'][:_DAY]}  {item['id']}  {one_line(item['title'], _TITLE)}"
