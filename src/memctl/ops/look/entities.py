"""What a store is about: entities, which its items name, and topics, which they share."""

from collections.abc import Iterable, Iterator

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import Passages, ReadRequest, Source
from memctl.reading.request import passages_hint, read_filters, said_where
from memctl.text.clean import bar, one_line
from memctl.text.named import KINDS, LOOKED_AT, NAME_CHARS, EntityKind, Named, NamedThings
from memctl.types import MemoryItem

#: Items that are shown of an entity; of one that was asked for.
_NEWEST, _NEWEST_ASKED = 3, 20
#: Characters before and behind a name that are shown.
_BESIDE = 60
_DAY = 10


@operation(
    access=READ,
    tool="memory_entities",
    about="List what the memory names (files, addresses, code, versions, days, names), each with where it says so.",
    answer={"entities": "array", "counts": "object", "total": "integer", "truncated": "boolean"},
    examples=(
        "memctl entities",
        "memctl entities auth.py                 # where a thing of this name is named",
        "memctl entities --kind url,cve --json | jq -r '.entities[].name'",
    ),
)
def entities(
    ctx: Context,
    name: Annotated[str, Arg("only entities whose name has these words in it", metavar="NAME")] = "",
    *,
    kind: Annotated[list[EntityKind] | None, Arg("only these kinds", "--kind", comma=True)] = None,
    request: Annotated[ReadRequest, Fields("scope all_scopes workspace type tags since until source passages limit")],
    source: Source = None,
    passages: Passages = False,
    limit: Annotated[
        int, Arg("at most this many, those named most", "-n", "--limit", aliases=("-k",), ge=1, le=1000)
    ] = 20,
) -> PlainResult:
    """List what the items name: files, addresses, code, versions, days, names.

    Each entity is listed with how many items name it, and with what the newest of them say. The kinds are identifier
    (of code), path, url, version, commit, cve, date and name. They are found by their form, so the same items give the
    same entities; a name of one word is found within a sentence, and not in German, where every noun begins so. What
    models may not see is left out.
    """
    from memctl.reading import delivery
    from memctl.store.items import items, overview

    filters = said_where(ctx, read_filters(ctx, request, "entities", injectable=True), source, passages=passages)
    rows = overview.iterate_words(ctx.db, filters, LOOKED_AT, "entities")
    most = _NEWEST_ASKED if name else _NEWEST
    found = find_entities(rows, most, set(kind or KINDS), name.casefold())
    order = sorted(found, key=lambda one: (-found[one].count, one))
    newest = items.get_many(ctx.db, dict.fromkeys(i for one in order[:limit] for i in found[one].newest))
    free = delivery.items_for_models(ctx, newest, "entities")
    changed = {item.id for item in newest if free.get(item.id, item) is not item}  # shown without a secret
    things, given = NamedThings(), {i: {("name", one[:NAME_CHARS]) for one in free[i].entities} for i in changed}
    still = {i: given[i].union(things.of(f"{free[i].title}\n{free[i].content}")) for i in changed}
    for one in order[:limit]:
        found[one].newest = [i for i in found[one].newest if i not in still or one in still[i]]
    shown = [row for one in order[:limit] if (row := found[one].as_dict(one, free))["items"]]
    if not found:
        ctx.note(f"[entities] None.{passages_hint(ctx, filters)}")
    elif len(order) > limit:
        ctx.note(f"[entities] {limit} of {len(order)} entities; -n {min(len(order), 1000)} lists more")
    data = {
        "status": "ok", "total": len(order), "truncated": len(order) > limit,
        "counts": {one: count for one in KINDS if (count := sum(named[0] == one for named in order))},
        "entities": shown,
    }  # fmt: skip
    return PlainResult(data, list(_lines(shown, all_items=bool(name))))


class _Mentions:
    """How often something is named, when for the first and the last time, and the newest items that name it."""

    __slots__ = ("count", "first", "latest", "newest")

    def __init__(self, latest: str) -> None:
        self.count, self.first, self.latest = 0, latest, latest
        self.newest: list[str] = []

    def as_dict(self, named: Named, items: dict[str, MemoryItem]) -> dict[str, Any]:
        """An entity with its evidence: what those of its newest items say that may be shown."""
        kind, name = named
        return {
            "name": name, "kind": kind, "count": self.count, "first": self.first, "latest": self.latest,
            "items": [
                {"id": i, "created_at": items[i].created_at, "said": _said(items[i], name)}
                for i in self.newest if i in items
            ],
        }  # fmt: skip


def find_entities(
    rows: Iterable[tuple[str, str, str, list[str]]], most: int, kinds: set[EntityKind], asked: str = ""
) -> dict[Named, _Mentions]:
    """What items (id, when it was made, text, entities that it was given; newest first) name.

    most   items that are kept of each
    asked  folded words that the names have in them
    """
    things, found = NamedThings(), dict[Named, _Mentions]()
    for item_id, made, text, given in rows:
        named = things.of(text)
        if given:
            there = {name for _, name in named}
            named += [("name", one[:NAME_CHARS]) for one in dict.fromkeys(given) if one and one not in there]
        for one in named:
            if one[0] not in kinds or (asked and asked not in one[1].casefold()):
                continue
            mentions = found.get(one)
            if mentions is None:
                mentions = found[one] = _Mentions(made)
            mentions.count += 1
            mentions.first = made
            if mentions.count <= most:
                mentions.newest.append(item_id)
    return found


def _said(item: MemoryItem, name: str) -> str:
    """What an item says around a name, on one line; its beginning where it says it in other words."""
    text = item.content
    at = max(text.find(name), 0)
    start, end = max(at - _BESIDE, 0), at + len(name) + _BESIDE
    if start:
        start = text.find(" ", start, at) + 1 or start
    if end < len(text):
        end = max(text.rfind(" ", at + len(name), end), at + len(name))
    return ("… " if start else "") + one_line(text[start:end], end - start) + (" …" if end < len(text) else "")


def _lines(rows: list[dict[str, Any]], *, all_items: bool) -> Iterator[str]:
    """Each entity, and what its newest item says, or all that are kept of it."""
    width = len(str(max((row["count"] for row in rows), default=0)))
    for row in rows:
        yield f"{row['count']:>{width}}  {row['kind']:<10}  {one_line(row['name'], NAME_CHARS)}"
        for item in row["items"] if all_items else row["items"][:1]:
            yield f"{'':>{width}}    {item['created_at'][:_DAY]}  {item['id']}  {item['said']}"


# --- topics -----------------------------------------------------------------------------------------------------------


#: Characters of an item's content that are looked at beside its title.
_LOOKED_AT = 240
_TITLE = 72
_DAY_CHARS = 10


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
    return PlainResult(data, list(_topic_lines(rows)))


def _topic_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Each topic with a bar, and its newest item."""
    most = max((row["count"] for row in rows), default=0)
    width, wide = len(str(most)), max((len(row["topic"]) for row in rows), default=0)
    for row in rows:
        yield f"{row['count']:>{width}}  {row['topic']:<{wide}}  {bar(row['count'], most)}".rstrip()
        for item in row["items"][:1]:
            yield f"{'':>{width}}    {row['latest'][:_DAY_CHARS]}  {item['id']}  {one_line(item['title'], _TITLE)}"
