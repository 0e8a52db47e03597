"""memctl search."""

from collections.abc import Iterator

from memctl import errors
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import MARK_OFF, MARK_ON, READ, Arg, Fields, Result, operation
from memctl.parameters import ReadRequest
from memctl.reading.request import Retriever, looking_back
from memctl.retrieve.candidates import SearchResult
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.store.search.origins import Origin, find_origins
from memctl.text.source_trust import LOW, PLAIN, STRANGER, trust_of

PREVIEW_CHARS = 200
SNIPPET_CHARS = 160
EXPLAIN_CHARS = 1000
PATH_CHARS = 4096


#: What stands in place of an item's words where they are not shown.
BLANK: dict[str, Any] = {"title": "", "tags": [], "content_preview": "", "snippet": "", "source": ""}


class Hits(Result):
    """What a search found, best first."""

    retriever: Retriever
    query: str
    found: SearchResult
    hidden: dict[str, str]  # ids of items whose words are not shown, and why
    origins: dict[str, Origin]
    guessed: dict[str, list[str]]
    stale: dict[str, list[str]]  # of statements whose cited text is not as it was: what became of it
    explain: bool
    places: bool
    ctx: Context
    color: bool
    trusted: bool

    def as_dict(self) -> dict[str, Any]:
        """The items, how many there are, how the search was answered, and what to try next."""
        from memctl.retrieve.explain import describe, suggest

        items = self._for_models()
        # What is left out must not show in how the search was answered either: that would tell which words it has.
        shown = {row["id"] for row in items}
        best = [c for c in self.found.candidates if c.id in shown]
        meta = describe(self.ctx.db, self.found.with_candidates(best, len(best)))
        hint = suggest(self.query, meta, found=bool(items))
        return {
            "status": "ok", "count": len(items), "items": items,
            "fts_strategy": meta.strategy, "fts_original_terms": meta.original_terms,
            "fts_effective_terms": meta.effective_terms, "fts_dropped_terms": meta.dropped_terms,
            **({"guessed": self.guessed} if self.guessed else {}), **({"hint": hint} if hint else {}),
        }  # fmt: skip

    def _for_models(self) -> list[dict[str, Any]]:
        """The array. What policy holds back is named in a list of the newest, but not quoted; to words it does not
        answer at all, because that it has them would tell what it says.
        """
        from memctl.reading import delivery
        from memctl.store.items import items

        found = self.found.candidates
        with looking_back(self.ctx, self.retriever.filters):
            stored = {item.id: item for item in items.get_many(self.ctx.db, [c.id for c in found])}
        past = self.retriever.filters.as_of is not None
        free = delivery.items_for_models(self.ctx, list(stored.values()), "search", past=past)
        rows = []
        for row, c in zip(self.as_json(), found, strict=True):
            row["validation"] = c.validation
            item = free.get(c.id)
            if item is None and self.query.strip():
                continue
            if item is None:
                row.update(BLANK)
                row.pop("stale", None)
            elif item is not stored[c.id]:  # shown without a secret
                preview = item.content[:PREVIEW_CHARS]
                shown = " ".join(preview.split())[:SNIPPET_CHARS]
                row |= {"title": item.title, "tags": item.tags, "content_preview": preview, "snippet": shown}
            rows.append(row)
        return rows

    def as_json(self) -> list[dict[str, Any]]:
        """The documented array; `[]` when nothing was found."""
        rows = []
        for c in self.found.candidates:
            row: dict[str, Any] = {
                "id": c.id, "tier": c.tier, "type": c.type, "title": c.title, "tags": _tags(c),
                "confidence": c.confidence, "content_preview": c.content[:PREVIEW_CHARS], "scope": c.scope,
            }  # fmt: skip
            if not c.injectable:
                row["quarantined"] = True
            line, words = snippet(c, self.found)
            row |= {"score": round(c.score, 6), "snippet": words}
            if (origin := self.origins.get(c.id)) is not None:
                row |= {
                    "source_kind": origin.kind, "source": origin.source, "line": _line_of(origin, c, line),
                    "line_start": origin.first, "line_end": origin.last, "created_at": origin.made,
                    "standing": _standing(c, origin),
                }  # fmt: skip
            if c.id in self.stale:
                row["stale"] = self.stale[c.id]
            if self.explain:
                row["explain"] = _explain_score(c, self.found)
            if c.id in self.hidden:
                row.update(BLANK, quarantined=True)
            if not self.trusted:
                row["trust"] = STRANGER
            rows.append(row)
        return rows


@operation(
    access=READ,
    tool="memory_search",
    toolset="core",
    about="List the memories that have some words, with ids, titles, dates and previews: to find one to open, correct "
    "or forget. To answer a question, use memory_recall.",
    answer={
        "count": "integer", "items": "array", "fts_strategy": "string", "fts_original_terms": "array",
        "fts_effective_terms": "array", "fts_dropped_terms": "array", "guessed": "object", "hint": "string",
    },
    examples=(
        'memctl search "how are tokens rotated"',
        "memctl search AuthService --type decision -n 5",
        "vim -q <(memctl search tokens --places)     # jump from one to the next",
        "memctl search deploy --all-scopes --json | jq -r '.[].id'",
        'memctl search ""  # no words: the newest items',
        'memctl search "who runs the releases" --as-of 2026-03-31',
    ),
    exits={0: "also when nothing is found (--json prints [])"},
)  # fmt: skip
def search(
    ctx: Context,
    query: Annotated[str, Arg("words or a question; an empty one lists the newest")],
    *,
    request: Annotated[
        ReadRequest,
        Fields(
            "tier type scope all_scopes workspace tags mount domain session since until as_of min_coverage weigh "
            "limit places explain quarantined redact embedder",
            tier={"mcp": "full"},
            workspace={"mcp": "full"},
            type={"mcp_name": "type_filter", "mcp_help": "only this type"},
            min_coverage={"config": None},  # search reads no config file
        ),
    ],
    limit: Annotated[
        int,
        Arg("at most this many results; a negative number means all", "-n", "--limit", aliases=("-k",), mcp_name="k",
            mcp_help="at most this many"),
    ] = 10,
    places: Annotated[
        bool, Arg("a line for each item, PATH:LINE: TITLE, as editors read it", "--places", mcp=False)
    ] = False,
    explain: Annotated[bool, Arg("say what each score is made of", "--explain", mcp=False)] = False,
    quarantined: Annotated[
        bool, Arg("show the words of quarantined items also where no person reads them", "--quarantined", mcp=False)
    ] = False,
) -> Hits:  # fmt: skip
    """Search items by words, best first.

    Ranks every item that has any of the words; more of them, rarer ones and ones in the title count more. Function
    words do not count, forms of a word are one word, and identifiers are also found by their parts. Each item is shown
    with its place, PATH:LINE, or with who said it and when. Items that are kept from models have a mark; of those that
    policy holds back, the words are shown only on a terminal.
    """
    retriever = Retriever(ctx, request, "search", prefix="")
    with looking_back(ctx, retriever.filters):
        found = retriever.find(query, limit)
        hidden = {} if quarantined else retriever.held_back(found)
        if hidden and not found.query.blank:  # to a model that asks for a word, a line without words tells enough
            found.total -= len(hidden)
            found.candidates[:] = [c for c in found.candidates if c.id not in hidden]
        guessed: dict[str, list[str]] = {}
        if not retriever.abstains(found):
            guessed = retriever.tell_guesses(found)
            _tell(retriever, query, found, limit)
        origins = find_origins(ctx.db, [c.id for c in found.candidates])
    stale = _stale(retriever, [i for i, origin in origins.items() if origin.stale and i not in hidden])
    if retriever.redaction is not None:
        from memctl.reading.delivery import redact_candidates

        names = [c.id for c in found.candidates]
        redact_candidates(ctx, retriever.redaction, found.candidates)
        shown = {name: c.id for name, c in zip(names, found.candidates, strict=True)}
        hidden = {shown[name]: why for name, why in hidden.items() if name in shown}
        stale = {shown[name]: said for name, said in stale.items()}
        origins = {shown[name]: origin for name, origin in origins.items()}
        for origin in origins.values():
            origin.source = retriever.redaction.field("source_id", origin.source)
            origin.place = retriever.redaction.text(origin.place)
    return Hits(
        retriever=retriever, query=query, found=found, hidden=hidden, origins=origins, guessed=guessed, stale=stale,
        explain=explain, places=places, ctx=ctx, color=ctx.color, trusted=ctx.db.trusted,
    )  # fmt: skip


def _stale(retriever: Retriever, item_ids: list[str]) -> dict[str, list[str]]:
    """What became of what these items cite, in words; nothing of a store as it was once."""
    if not item_ids or retriever.filters.as_of is not None:
        return {}
    from memctl.store.items import citations

    shown = retriever.redaction.text if retriever.redaction is not None else str
    facts = citations.stale_facts(retriever.ctx.db, item_ids)
    return {item_id: [shown(one.words) for one in some] for item_id, some in facts.items()}


def _tell(retriever: Retriever, query: str, found: SearchResult, limit: int) -> None:
    """Say how many items there are, and what could be done about too few of them."""
    ctx, count = retriever.ctx, len(found.candidates)
    if not count:
        ctx.note("No results found.")
        if limit and retriever.filters.scopes is not None and retriever.redaction is None:
            retriever.tell_other_scopes(query)
        return
    more = f"; {found.total} or more match, -n shows more" if found.total > count else ""
    ctx.note(f"Found {count} item(s){more}")
    if len(found.query.terms) > 1 and not index.is_stemming(ctx.db):
        from memctl.retrieve.explain import describe

        hint = describe(ctx.db, found).morphological_hint
        if hint:
            ctx.note(f"Hint: {hint}")


# --- for people and machines ------------------------------------------------------------------------------------


def _explain_score(c: Candidate, found: SearchResult) -> dict[str, dict[str, float]]:
    from memctl.retrieve.explain import reasons, words

    return {"reasons": reasons(found, c), "words": words(found, c)}


def _tags(c: Candidate) -> list[str]:
    if c.tags in {"", "[]"}:
        return []
    if "\\" not in c.tags:  # the form we write; importing a JSON parser would cost more than the search
        plain = c.tags.removeprefix('["').removesuffix('"]').split('", "')
        if len(c.tags) == sum(map(len, plain)) + 4 * len(plain) and '"' not in "".join(plain):
            return plain
    from memctl.store.items.items import load_strings

    return load_strings(c.tags)


def snippet(c: Candidate, found: SearchResult) -> tuple[int, str]:
    """The stretch of the content that speaks most of the query, on one line; and in which of its lines it begins."""
    from memctl.text.block.excerpt import excerpt, stems

    cut = excerpt(c.content.splitlines(), SNIPPET_CHARS, stems(found.query))
    return (cut.first, " ".join(" ".join(cut.lines).split())) if cut else (0, "")


def _line_of(origin: Origin, c: Candidate, at: int) -> int | None:
    """Where in its source a line of the content stands; where the text was made anew, where all of it begins."""
    if origin.first is None or origin.last is None:
        return origin.first
    return origin.first + (at if len(c.content.splitlines()) == origin.last - origin.first + 1 else 0)


def _standing(c: Candidate, origin: "Origin | None") -> str:
    """How an item stands, in the words of `memctl.types.standing_of`."""
    if c.injectable:
        return "retracted" if c.validation == "retracted" else "injectable"
    return "raw" if origin is not None and origin.withheld == "raw" else "quarantined"


def _place(hits: Hits, c: Candidate, at: int) -> str:
    """Where a passage stands in its document, seen from the current folder: `src/login.md:12`; "" for statements."""
    from memctl.text.clean import one_line

    origin = hits.origins.get(c.id)
    if origin is None or origin.kind != "doc" or not origin.source:
        return ""
    line = _line_of(origin, c, at)
    try:
        path = origin.source.removeprefix(f"{hits.ctx.cwd}/")
    except errors.FileMissing:  # the current folder was deleted
        path = origin.source
    return one_line(path, PATH_CHARS) + (f":{line}" if line else f" ({one_line(origin.place)})" if origin.place else "")


def _who_and_when(hits: Hits, c: Candidate) -> str:
    """Who said it, and on which day: `a model, 2026-11-20`."""
    from memctl.text.clean import one_line

    origin = hits.origins.get(c.id)
    if origin is None:
        return ""
    level, trust = trust_of(origin.kind, origin.source, ("model:",) if origin.marked else ())
    who = f"{one_line(origin.kind)} {one_line(origin.source, PATH_CHARS)}" if origin.source else ""
    if trust in ("low (model)", "high (a person)") or (level == PLAIN and origin.kind == "tool"):
        who = "a model" if level == LOW else "a person"
    return (f"{who}, " if who else "") + one_line(origin.made[:10])


def text(hits: Hits) -> Iterator[str]:
    """A short paragraph for each item, or a line for each with its place."""
    from memctl.text.clean import one_line

    for c in hits.found.candidates:
        held = c.id in hits.hidden
        at, line = (0, "") if held else snippet(c, hits.found)
        title = "(held back)" if held else one_line(c.title)
        if hits.places:
            yield f"{(not held and _place(hits, c, at)) or one_line(c.id)}: {title}"
            continue
        standing = "quarantined" if held else _standing(c, hits.origins.get(c.id))
        mark = "" if standing == "injectable" else f"[{standing.upper()}]"
        shown = "" if held else f"{title} " if mark else title
        yield f"  [{one_line(c.tier).upper()}] {one_line(c.id)}  {one_line(c.type):<12}  {shown}{mark}"
        if held:
            yield f"    held back by {one_line(hits.hidden[c.id])}; --quarantined shows its words"
        else:
            yield from _details(hits, c, at, one_line(line, SNIPPET_CHARS))
        yield ""


def _details(hits: Hits, c: Candidate, at: int, line: str) -> Iterator[str]:
    from memctl.text.clean import one_line

    whence = _place(hits, c, at) or _who_and_when(hits, c)
    if whence:
        yield f"    {whence}"
    for said in hits.stale.get(c.id, ()):
        yield f"    {one_line(said)}"
    tags = _tags(c)
    if tags:
        yield f"    tags: {', '.join(map(one_line, tags))}"
    if not hits.trusted:
        yield f"    trust: {STRANGER}"
    if line and line != one_line(c.title):
        yield f"    {marked(line, hits.found) if hits.color else line}"
    if hits.explain:
        parts = _explain_score(c, hits.found)
        reasons = " + ".join(f"{name} {value:g}" for name, value in parts["reasons"].items())
        yield f"    {one_line(f'score {c.score:.4g}' + (f' = {reasons}' if reasons else ''), EXPLAIN_CHARS)}"
        if parts["words"]:
            words = ", ".join(f"{word} {value:g}" for word, value in parts["words"].items())
            yield f"    {one_line(f'words: {words}', EXPLAIN_CHARS)}"


def marked(line: str, found: SearchResult) -> str:
    """The line with the words of the query between marks (see `memctl.operation.MARK_ON`)."""
    from memctl.text.query import stem

    words = {stem(word) for word in (*found.query.terms, *found.query.parts)}
    out, start = [], 0
    while start < len(line):
        end = start
        while end < len(line) and line[end].isalnum():
            end += 1
        word = line[start:end]
        if not word:
            out.append(line[start])
            end = start + 1
        else:
            out.append(f"{MARK_ON}{word}{MARK_OFF}" if stem(word) in words else word)
        start = end
    return "".join(out)
