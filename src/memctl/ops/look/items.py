"""Items: memctl show and list, and the tool that reads several in full (memory_read)."""

import os
from collections.abc import Iterator, Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, PlainResult, Result, operation
from memctl.parameters import Passages, ReadRequest, Source
from memctl.reading.request import looking_back, read_filters, said_where
from memctl.text.clean import one_line
from memctl.types import MemoryItem, standing_of

if TYPE_CHECKING:
    from memctl.store.documents.corpus import DocumentSum
    from memctl.store.documents.passages import SourcePosition


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
) -> PlainResult:
    """Show one item in full, or several.

    Archived items are shown too; of one that policy holds back, the words only on a terminal. Opening an item counts as
    a use of it; where the store cannot be written, it is shown all the same.
    """
    from memctl.reading.selection import named_items
    from memctl.store.items import items

    found = named_items(ctx, id, "show")
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for item in found:
        row, told = _shown(ctx, item, quarantined=quarantined)
        rows.append(row)
        lines += ["", *told] if lines else told

    def settle() -> None:
        for item in found:
            items.mark_used(ctx.db, [item.id], "read")

    if len(rows) == 1:
        return PlainResult(rows[0], lines, after=settle)
    return PlainResult({"status": "ok", "count": len(rows), "items": rows}, lines, printed=rows, after=settle)


def _shown(ctx: Context, item: MemoryItem, *, quarantined: bool) -> tuple[dict[str, Any], list[str]]:
    """An item as export writes it, with what is shown beside it; and the same for people: labels, then the content."""
    from memctl.lifecycle.jsonl import make_line
    from memctl.reading import delivery
    from memctl.store.documents import passages
    from memctl.store.items import attributes, items
    from memctl.text.source_trust import STRANGER

    withheld = "" if item.injectable else items.withheld_reasons(ctx.db, [item.id]).get(item.id, "")
    place = passages.get_positions(ctx.db, [item.id]).get(item.id)
    importance = attributes.get_importance(ctx.db, [item.id]).get(item.id)
    useful = attributes.usefulness_of(ctx.db, [item.id]).get(item.id)
    if withheld == "policy" and not quarantined and "stdout" not in ctx.tty:
        ctx.warn("[show] policy holds this item back: --quarantined shows its words where no terminal does")
        item = delivery.without_words(item)
    stranger = "" if ctx.db.trusted else STRANGER
    if stranger:
        (item,) = delivery.items_for_people(ctx, [item], "show")
    row = make_line(item, place, withheld, importance) | ({"trust": stranger} if stranger else {})
    source, where = item.provenance, ", ".join(item.provenance.chunk_ids)
    if place is not None and (place.line_start is not None or place.anchor):
        where = place.anchor if place.line_start is None else f"lines {place.line_start}-{place.line_end}"
    named = f"{source.source_kind} {source.source_id}" + (f" ({where})" if where else "")
    reasons = {
        "quarantined": " (quarantined by policy)", "raw": " (raw; memctl promote releases it)",
        "retracted": ", but retracted: never given to a model",
    }  # fmt: skip
    said = attributes.retention_of(ctx.db, [item.id]).get(item.id)
    kept = said and ("kept for good" if said.kind == "keep" else f"fades by {said.rate:g} a day")
    fields = (
        ("ID", item.id),
        ("Tier", item.tier.upper()),
        ("Type", item.type),
        ("Title", " ".join(item.title.split())),
        ("Validation", item.validation),
        ("Confidence", f"{item.confidence:.2f}"),
        ("Importance", None if importance is None else f"{importance:.2f}"),
        ("Injectable", str(item.injectable) + reasons.get(standing_of(item, withheld), "")),
        ("Tags", ", ".join(item.tags) or "(none)"),
        ("Scope", item.scope),
        ("Created", item.created_at),
        ("Updated", item.updated_at),
        ("Usage", str(item.usage_count)),
        (
            "Useful",
            useful
            and f"used in {useful.used} of {_counted(useful.told, 'conversation')} that were told it, "
            f"~{useful.tokens} tokens",
        ),
        ("Entities", ", ".join(item.entities) or None),
        ("Corpus", item.corpus_id or None),
        ("Superseded", item.superseded_by or None),
        ("Expires", item.expires_at or None),
        ("Retention", kept),
        ("Archived", "True" if item.archived else None),
        ("Source", named if source.source_id else None),
        ("Trust", stranger or None),
    )
    lines = [f"{label + ':':<12}{value}" for label, value in fields if value is not None]
    return row | ({"usefulness": useful._asdict()} if useful else {}), [*lines, "", "--- Content ---", item.content]


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
) -> PlainResult:
    """Read items in full.

    They come in the order asked, archived ones too; ids that the store does not know are left out. Being read counts
    as a use.
    """
    from memctl.lifecycle.jsonl import make_line
    from memctl.reading import delivery
    from memctl.reading.selection import whole_id
    from memctl.store.documents import passages
    from memctl.store.items import attributes, items
    from memctl.text.source_trust import STRANGER

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
    matters = attributes.get_importance(ctx.db, [item.id for item in found])
    rows, lines = [], []
    for item in found:
        if (shown := given.get(item.id)) is not None:
            row = make_line(shown, places.get(item.id), "raw" if item.id in raw else "", matters.get(item.id))
            lines += [f"{item.id}  {' '.join(shown.title.split())}", shown.content, ""]
        else:  # what policy holds back is named, but not quoted
            row = make_line(item, None, "policy", matters.get(item.id))
            row |= {"title": "", "content": "", "tags": [], "entities": [], "quarantined": True}
            lines += [f"{item.id}  (held back by policy)", ""]
        rows.append(row if ctx.db.trusted else row | {"trust": STRANGER})
    data = {"status": "ok", "items": rows, "found": len(rows), "requested": len(wanted)}
    return PlainResult(data, lines, after=lambda: items.mark_used(ctx.db, list(given), "read"))
