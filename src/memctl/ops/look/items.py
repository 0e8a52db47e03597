"""Items: memctl show and list, and the tool that reads several in full (memory_read)."""

import os
from collections.abc import Iterator, Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, Result, operation
from memctl.parameters import Passages, ReadRequest, Source
from memctl.reading.request import looking_back, read_filters, said_where
from memctl.text.clean import one_line
from memctl.types import MemoryItem, standing_of

if TYPE_CHECKING:
    from memctl.store.documents.corpus import DocumentSum
    from memctl.store.documents.passages import SourcePosition
    from memctl.store.items.attributes import Usefulness


class ShownItem(Result):
    """One item. That somebody opened it counts as a use, noted after it was printed."""

    ctx: Context
    item: MemoryItem
    place: "SourcePosition | None"
    withheld: str
    importance: float | None
    trusted: bool

    def as_dict(self) -> dict[str, Any]:
        """The item as export writes it: `source`, `withheld` and `importance` where there is something to say."""
        from memctl.lifecycle.jsonl import make_line

        more: dict[str, Any] = {"trust": self.stranger} if self.stranger else {}
        if self.usefulness is not None:
            more["usefulness"] = self.usefulness._asdict()
        return make_line(self.item, self.place, self.withheld, self.importance) | more

    @property
    def usefulness(self) -> "Usefulness | None":
        """What came of telling it unasked; None where no conversation was told it."""
        from memctl.store.items.attributes import usefulness_of

        return usefulness_of(self.ctx.db, [self.item.id]).get(self.item.id)

    @property
    def stranger(self) -> str:
        """What is said of an item of a store of somebody else; "" in a store of one's own."""
        from memctl.text.source_trust import STRANGER

        return "" if self.trusted else STRANGER

    def settle(self) -> None:
        """Count the use and log a `read` event; a read-only or busy store is left as it is."""
        from memctl.store.items import items

        items.mark_used(self.ctx.db, [self.item.id], "read")


class ShownItems(Result):
    """Several items, in the order asked."""

    items: list[ShownItem]

    def as_dict(self) -> dict[str, Any]:
        """Each as it is shown alone."""
        return {"status": "ok", "count": len(self.items), "items": self.as_json()}

    def as_json(self) -> list[dict[str, Any]]:
        """An array."""
        return [one.as_dict() for one in self.items]

    def settle(self) -> None:
        """Count the uses."""
        for one in self.items:
            one.settle()


@operation(
    access=READ,
    examples=(
        "memctl show MEM-a3185eaf3928",
        "memctl show a3185e 91b0               # several, as short as is clear",
        "memctl show MEM-a3185eaf3928 --json   # all fields",
    ),
    exits={1: "there is no such item, or no store"},
)
def show(
    ctx: Context,
    id: Annotated[
        list[str],
        Arg("the items' ids, whole or shortened to four digits or more; -: those on standard input", metavar="MEM-ID"),
    ],
    *,
    quarantined: Annotated[
        bool, Arg("show the words of a quarantined item also where no person reads them", "--quarantined")
    ] = False,
) -> "ShownItem | ShownItems":
    """Show one item in full, or several.

    Archived items are shown too; of one that policy holds back, the words only on a terminal. Opening an item counts as
    a use of it; where the store cannot be written, it is shown all the same.
    """
    from memctl.reading.selection import named_items

    found = [_shown(ctx, item, quarantined=quarantined) for item in named_items(ctx, id, "show")]
    return found[0] if len(found) == 1 else ShownItems(items=found)


def _shown(ctx: Context, item: MemoryItem, *, quarantined: bool) -> ShownItem:
    """An item with what is shown beside it."""
    from memctl.reading import delivery
    from memctl.store.documents import passages
    from memctl.store.items import attributes, items

    withheld = "" if item.injectable else items.withheld_reasons(ctx.db, [item.id]).get(item.id, "")
    place, matters = passages.get_positions(ctx.db, [item.id]), attributes.get_importance(ctx.db, [item.id])
    if withheld == "policy" and not quarantined and "stdout" not in ctx.tty:
        ctx.warn("[show] policy holds this item back: --quarantined shows its words where no terminal does")
        item = delivery.without_words(item)
    if not ctx.db.trusted:
        (item,) = delivery.items_for_people(ctx, [item], "show")
    return ShownItem(
        ctx=ctx,
        item=item,
        place=place.get(item.id),
        withheld=withheld,
        importance=matters.get(item.id),
        trusted=ctx.db.trusted,
    )


def show_text(result: "ShownItem | ShownItems") -> Iterator[str]:
    """Label and value, then the content; a blank line between items."""
    for number, one in enumerate(result.items if isinstance(result, ShownItems) else [result]):
        if number:
            yield ""
        yield from _lines(one)


def _how_long(result: ShownItem) -> str | None:
    """What `memctl retain` has said of an item; None when nothing."""
    from memctl.store.items.attributes import retention_of

    said = retention_of(result.ctx.db, [result.item.id]).get(result.item.id)
    return said and ("kept for good" if said.kind == "keep" else f"fades by {said.rate:g} a day")


def _how_useful(result: ShownItem) -> str | None:
    """What came of telling it unasked; None where no conversation was told it."""
    one = result.usefulness
    return one and f"used in {one.used} of {_counted(one.told, 'conversation')} that were told it, ~{one.tokens} tokens"


def _lines(result: ShownItem) -> Iterator[str]:
    item, place = result.item, result.place
    source = item.provenance
    where = ", ".join(source.chunk_ids)
    if place is not None and place.line_start is not None:
        where = f"lines {place.line_start}-{place.line_end}"
    elif place is not None and place.anchor:
        where = place.anchor
    named = f"{source.source_kind} {source.source_id}" + (f" ({where})" if where else "")
    reasons = {
        "quarantined": " (quarantined by policy)", "raw": " (raw; memctl promote releases it)",
        "retracted": ", but retracted: never given to a model",
    }  # fmt: skip
    fields = (
        ("ID", item.id),
        ("Tier", item.tier.upper()),
        ("Type", item.type),
        ("Title", " ".join(item.title.split())),
        ("Validation", item.validation),
        ("Confidence", f"{item.confidence:.2f}"),
        ("Importance", None if result.importance is None else f"{result.importance:.2f}"),
        ("Injectable", str(item.injectable) + reasons.get(standing_of(item, result.withheld), "")),
        ("Tags", ", ".join(item.tags) or "(none)"),
        ("Scope", item.scope),
        ("Created", item.created_at),
        ("Updated", item.updated_at),
        ("Usage", str(item.usage_count)),
        ("Useful", _how_useful(result)),
        ("Entities", ", ".join(item.entities) or None),
        ("Corpus", item.corpus_id or None),
        ("Superseded", item.superseded_by or None),
        ("Expires", item.expires_at or None),
        ("Retention", _how_long(result)),
        ("Archived", "True" if item.archived else None),
        ("Source", named if source.source_id else None),
        ("Trust", result.stranger or None),
    )
    for label, value in fields:
        if value is not None:
            yield f"{label + ':':<12}{value}"
    yield ""
    yield "--- Content ---"
    yield item.content


# --- list  -----------------------------------------------------------------------------------------------------------

#: Folders and files of documents that are told one by one; the counts say the rest.
MOST_DOCUMENTS = 20
#: Counting what is not listed ends here.
MOST_COUNTED = 10_000


def document_lines(ctx: Context, documents: "Sequence[DocumentSum]", most: int = MOST_DOCUMENTS) -> Iterator[str]:
    """A line for each folder, or file that stands alone in one: what is in it, and when it was last read."""
    here = os.path.join(ctx.cwd, "")
    for one in documents[:most]:
        path = one_line(one.path.removeprefix(here) or "./", len(one.path) + 2)
        files = f"{_counted(one.files, 'file')}, " if one.path.endswith(os.sep) else ""
        yield f"{path}  {files}{_counted(one.passages, 'passage')}  {one.updated_at[:10]}"
    left = documents[most:]
    if left:
        passages = _counted(sum(one.passages for one in left), "passage")
        yield f"… and {len(left)} more: {_counted(sum(one.files for one in left), 'file')}, {passages}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


class ItemList(Result):
    """The newest items that pass the filters, and how many pass in all; documents summed up beside the statements."""

    ctx: Context
    items: list[MemoryItem]
    documents: "Sequence[DocumentSum]"
    total: int
    withheld: dict[str, str]
    places: "dict[str, SourcePosition]"  # of passages, for people
    past: bool = False
    by_file: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The items, how many are listed, and how many there are; what policy holds back is named, but not quoted."""
        from memctl.reading import delivery

        free = delivery.items_for_models(self.ctx, self.items, "list", past=self.past)
        silent = {"title": "", "tags": []}
        rows = [self._row(free[item.id]) if item.id in free else self._row(item) | silent for item in self.items]
        documents = [one._asdict() for one in self.documents[: None if self.by_file else MOST_DOCUMENTS]]
        return {"status": "ok", "count": len(rows), "total": self.total, "items": rows, "documents": documents}

    def as_json(self) -> list[dict[str, Any]]:
        """An array of the items without their contents; of the files instead, where these were asked for."""
        return [one._asdict() for one in self.documents] if self.by_file else [self._row(item) for item in self.items]

    def _row(self, item: MemoryItem) -> dict[str, Any]:
        return item.format_catalog_entry() | {
            "updated_at": item.updated_at, "scope": item.scope, "quarantined": not item.injectable,
            "archived": item.archived, "standing": standing_of(item, self.withheld.get(item.id, "")),
        }  # fmt: skip


@operation(
    name="list",
    access=READ,
    tool="memory_list",
    examples=(
        "memctl list",
        "memctl list --tier ltm --type decision",
        "memctl list --tags auth,api --all-scopes -n 200",
        "memctl list --since 7d  # what was remembered in the last week",
        "memctl list --from docs/api  # what they hold, and what was said of them",
        "memctl list --from models --sort used",
        "memctl list --json | jq -r '.[].id'",
    ),
)
def list_(
    ctx: Context,
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "tier type scope all_scopes workspace tags domain session since until as_of archived limit",
            tier={"mcp_help": None},
            scope={"mcp_default": ..., "mcp_help": None},
            all_scopes={"mcp": True},
        ),
    ],
    source: Source = None,
    passages: Passages = False,
    sort: Annotated[
        Literal["newest", "oldest", "used", "title"], Arg("what comes first: used is what was used most", "--sort")
    ] = "newest",
    limit: Annotated[int, Arg("at most this many items", "-n", "--limit", aliases=("-k",), ge=1, le=100_000)] = 50,
) -> ItemList:
    """List items, newest first.

    Statements are listed: what people and models said. Documents are summed up, a line for each folder; --from
    docs tells of them file by file, and --passages lists their passages, one by one. --json without --from lists every
    item, passages too, as scripts know it. "Newest" is the last change. Items that may not be given to a model are
    listed too, and marked.
    """
    from memctl.store.documents import corpus
    from memctl.store.documents.passages import get_positions
    from memctl.store.items import items

    everything = read_filters(ctx, request, "list")
    passages = passages or (ctx.json and source is None)
    filters = said_where(ctx, everything, source, passages=passages)
    by_file = source == "docs" and not passages
    documents: list[DocumentSum] = []
    if by_file or (filters.origin == "statements" and everything.name):  # nothing narrower than scopes was asked for
        single = by_file or filters.source is not None
        documents = corpus.sum_documents(ctx.db, filters.scopes, filters.source, by_file=single)
    found: list[MemoryItem] = []
    total, more = len(documents), False
    if by_file:
        documents = documents[:limit]
    else:
        with looking_back(ctx, filters):
            found = items.list_items(ctx.db, filters, limit, sort)
            most = max(MOST_COUNTED, limit) + 1 if ctx.bounds is None else 2**62  # a tool's answer has the total
            total = len(found) if len(found) < limit else items.count(ctx.db, filters, most)
            more = total == most
    shown, what = (len(documents), "files") if by_file else (len(found), "items")
    if total > shown:
        many = f"more than {total - 1}" if more else total
        ctx.note(f"[list] {shown} of {many} {what}; -n {'lists more' if more else f'{total} lists them all'}")
    elif not (found or documents):
        nothing = "No statements; --passages lists passages of documents too." if filters.origin else "No items."
        ctx.note(f"[list] {nothing}")
    if not ctx.db.trusted:
        from memctl.reading import delivery

        found = delivery.items_for_people(ctx, found, "list")
    held = [item.id for item in found if not item.injectable]
    withheld = items.withheld_reasons(ctx.db, held) if held else {}
    places = get_positions(ctx.db, [i.id for i in found if i.provenance.source_kind == "doc"]) if passages else {}
    return ItemList(
        ctx=ctx, items=found, documents=documents, total=total, withheld=withheld, places=places,
        past=filters.as_of is not None, by_file=by_file,
    )  # fmt: skip


def list_text(result: ItemList) -> Iterator[str]:
    """One line an item: tier, id, type, day of the last change, title; its place and tags. One line a folder."""
    for item in result.items:
        title = " ".join(item.title.split()) or "(untitled)"
        head = f"  [{item.tier.upper()}] {item.id}  {item.type:<12}  {str(item.updated_at)[:10]}"
        standing = standing_of(item, result.withheld.get(item.id, ""))
        mark = "" if standing == "injectable" else f" [{standing.upper()}]"
        yield f"{head}  {title}{mark}{' [ARCHIVED]' if item.archived else ''}"
        if (place := result.places.get(item.id)) is not None:
            path = one_line((item.provenance.source_id or "").removeprefix(os.path.join(result.ctx.cwd, "")), 4096)
            yield f"    {path}" + (f":{place.line_start}" if place.line_start else f" ({one_line(place.anchor)})")
        if item.tags:
            yield f"    tags: {', '.join(item.tags)}"
    most = len(result.documents) if result.by_file else MOST_DOCUMENTS
    for line in document_lines(result.ctx, result.documents, most):
        yield f"  [DOCS] {line}"


# --- read ------------------------------------------------------------------------------------------------------------


#: Items that may be read at once.
MAX_READ = 200


class ReadItems(Result):
    """Items as export writes them; what policy holds back is named, but not quoted."""

    ctx: Context
    items: list[MemoryItem]
    places: "dict[str, SourcePosition]"
    held: set[str]
    raw: set[str]
    requested: int
    importance: dict[str, float]
    trusted: bool

    def as_dict(self) -> dict[str, Any]:
        """The items, how many were found, how many asked for."""
        from memctl.lifecycle.jsonl import make_line
        from memctl.text.source_trust import STRANGER

        rows = []
        for item in self.items:
            matters = self.importance.get(item.id)
            if item.id in self.held:
                row = make_line(item, None, "policy", matters)
                row |= {"title": "", "content": "", "tags": [], "entities": [], "quarantined": True}
            else:
                row = make_line(item, self.places.get(item.id), "raw" if item.id in self.raw else "", matters)
            rows.append(row if self.trusted else row | {"trust": STRANGER})
        return {"status": "ok", "items": rows, "found": len(rows), "requested": self.requested}

    def settle(self) -> None:
        """Count the use of what was given out."""
        from memctl.store.items import items

        items.mark_used(self.ctx.db, [item.id for item in self.items if item.id not in self.held], "read")


@operation(
    access=READ,
    tool="memory_read",
    toolset="core",
    about="Read memories in full, with source, tags and dates, by the ids that recall and search gave.",
    answer={"items": "array", "found": "integer", "requested": "integer"},
)
def read(
    ctx: Context,
    ids: Annotated[list[str], Arg("the items' ids", comma=True)],
    *,
    workspace: Annotated[str | None, Arg("only items that this saved view reads", mcp="full")] = None,
) -> ReadItems:
    """Read items in full.

    They come in the order asked, archived ones too; ids that the store does not know are left out. Being read counts
    as a use.
    """
    from memctl.reading import delivery
    from memctl.reading.selection import whole_id
    from memctl.store.documents import passages
    from memctl.store.items import attributes, items

    wanted = list(dict.fromkeys(word.strip() for word in ids if word.strip()))
    if not wanted:
        raise errors.ArgumentInvalid(name="ids", message="No ids provided")
    if len(wanted) > MAX_READ:
        raise errors.ArgumentInvalid(name="ids", message=f"at most {MAX_READ} at once, not {len(wanted)}")
    whole = dict.fromkeys(whole_id(ctx, word) for word in wanted)
    found = items.get_many(ctx.db, whole)
    if workspace is not None:
        view = ctx.workspace(workspace)
        found = [item for item in found if item.scope in view.reads and view.corpus_id in (None, item.corpus_id)]
    raw = {
        i
        for i, why in items.withheld_reasons(ctx.db, [i.id for i in found if not i.injectable]).items()
        if why == "raw"
    }
    free = [item for item in found if item.injectable or item.id in raw]
    fit, places = delivery.judge_items(ctx, free, passages.get_positions(ctx.db, [item.id for item in free]), "read")
    given = {item.id: item for item in fit}
    shown = [given.get(item.id, item) for item in found]
    held, matter = {item.id for item in found} - given.keys(), attributes.get_importance(ctx.db, [i.id for i in found])
    return ReadItems(
        ctx=ctx,
        items=shown,
        places=places,
        held=held,
        raw=raw,
        requested=len(wanted),
        importance=matter,
        trusted=ctx.db.trusted,
    )


def read_text(result: ReadItems) -> Iterator[str]:
    """Title, id and content of each."""
    for item in result.items:
        if item.id not in result.held:
            yield f"{item.id}  {' '.join(item.title.split())}"
            yield item.content
        else:
            yield f"{item.id}  (held back by policy)"
        yield ""
