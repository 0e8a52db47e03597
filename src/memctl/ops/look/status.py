"""memctl status, stats and digest: what the store is, and what it holds in numbers and titles."""

import os
from collections.abc import Iterator

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import Passages, ReadIn, ReadRequest, Source, seen_through
from memctl.store.filters import Filters
from memctl.store.search.rebuild import DOUBTS
from memctl.text.clean import bar, one_line
from memctl.text.tokens import CHARS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from memctl.folders import Mount
    from memctl.store.documents.corpus import DocumentSum
    from memctl.types import MemoryItem


_TRUST = {
    "named": "named (--db, MEMCTL_DB or --config chose it)",
    "trusted": "trusted (made here, or memctl trust said so)",
    "found": "found (somebody else's: read at low trust, not written to; memctl trust changes that)",
}


@operation(
    access=READ,
    tool="memory_status",
    toolset="standard",
    about="Say where the memory is, what it holds and what feeds it.",
    answer={"db_path": "string", "db_exists": "boolean", "total_items": "integer", "mounts": "integer"},
    examples=(
        "memctl status",
        "memctl status --json | jq -r .db_path",
        "PS1='$(memctl status --short 2>/dev/null) \\$ '  # in a prompt",
    ),
)
def status(
    ctx: Context,
    *,
    short: Annotated[
        bool, Arg("one line for a prompt: the scope and its items; nothing without a store", "--short", mcp=False)
    ] = False,
) -> PlainResult:
    """Say which store is used, what it holds and what feeds it.

    A store that is not there yet is no error. A mount is `gone`, `never synced`, or `changed` when files were added to
    or taken from its top folder since its last sync; `memctl sync --dry-run` looks at every file. `memctl stats` counts
    more.
    """
    if short:
        from memctl.context import status_in_short

        few, line = status_in_short(ctx)
        return PlainResult(few, [line] if line else [])
    from memctl.clients.eco import eco_state

    path = ctx.db_path
    data = {"status": "ok", "eco_mode": eco_state(ctx.cwd), "db_path": path, "db_exists": os.path.exists(path)}
    if not data["db_exists"]:
        return PlainResult(data, list(_status_lines(data, [], None)))
    from memctl.store import contents, sessions, workspaces
    from memctl.store.documents import mounts
    from memctl.store.items import events

    found, folders = contents.count_contents(ctx.db), mounts.list_mounts(ctx.db)
    keys = (
        "total_items", "by_tier", "by_type", "fts5_available", "fts_tokenizer", "fts_tokenizer_mismatch", "fts_state",
    )  # fmt: skip
    try:
        _ = ctx.config if ctx.config_path else None
    except errors.MemctlError as exc:  # whoever needs it fails; here it is only told
        ctx.warn(str(exc))
    scans = [events.last_time(ctx.db, ["memory_inspect", "sync"]), *(folder.get("last_sync_at") for folder in folders)]
    data |= {key: found[key] for key in keys} | {
        "mounts": len(folders),
        "last_scan": max(filter(None, scans), default=None),
        "last_backup": ctx.db.meta(contents.BACKUP_KEY),
        "last_verify": ctx.db.meta(contents.VERIFIED_KEY),
        "events_count": found["events_count"],
        "sessions": sessions.count_sessions(ctx.db),
        "workspaces": len(workspaces.list_workspaces(ctx.db)),
        "trust": trust_of(ctx), "config_loosens": ctx.loosens, "config_ignored": ctx.ignored,
    }  # fmt: skip
    if found["fts_tokenizer_mismatch"]:
        ctx.warn("Tokenizer mismatch — run: memctl reindex")
    folders = [one | {"reason": _why_behind(ctx, one)} for one in folders]
    data["mounts_behind"] = [{key: one[key] for key in ("mount_id", "reason")} for one in folders if one["reason"]]
    if data["mounts_behind"]:
        ctx.note("[status] memctl sync --dry-run says what is new, memctl sync takes it in")
    return PlainResult(data, list(_status_lines(data, folders, ctx.config_path)))


def _why_behind(ctx: Context, mount: "Mount") -> str | None:
    """Why a mount needs a sync, as far as one look at its folder, and at nothing in it, tells."""
    if not (ctx.db.trusted and ctx.may_read(mount["path"])):
        return None
    try:
        changed = ids.timestamp(os.stat(mount["path"]).st_mtime)
    except OSError:
        return "gone"
    if not mount["last_sync_at"]:
        return "never synced"
    return "changed" if changed > mount["last_sync_at"] else None


def trust_of(ctx: Context) -> str:
    """Why the open store may be believed, or not: `named` by a person, `trusted` as their own, merely `found`."""
    if not ctx.is_found:
        return "named"
    return "trusted" if ctx.db.trusted else "found"


def _status_lines(counts: dict[str, Any], mounts: "list[Mount]", config: str | None) -> Iterator[str]:
    """Label and value, one a line."""
    yield "memctl status"
    yield "=" * 40
    yield f"  Eco mode:  {counts['eco_mode']}"
    yield f"  Database:  {counts['db_path']}" + ("" if counts["db_exists"] else " (not created yet)")
    if not counts["db_exists"]:
        yield "  Hint:      memctl init makes it, and so does the first command that stores something"
        return
    yield f"  Trust:     {_TRUST[counts['trust']]}"
    for word, keys in (("loosens", counts["config_loosens"]), ("not used", counts["config_ignored"])):
        if keys:
            yield f"  Config:    {config} ({word}: {', '.join(keys)})"
    yield f"  Items:     {counts['total_items']} active"
    for tier, count in counts["by_tier"].items():
        yield f"    {tier.upper():<4}: {count}"
    yield f"  FTS5:      {'yes' if counts['fts5_available'] else 'no'}" + (
        f" ({counts['fts_tokenizer']})" if counts["fts_tokenizer"] else ""
    )
    if counts["fts_state"] in DOUBTS:
        yield f"  Index:     {DOUBTS[counts['fts_state']]}"
    yield f"  Mounts:    {counts['mounts']}"
    for mount in mounts:
        behind = f" ({mount['reason']})" if mount["reason"] else ""
        yield f"    {mount['name'] or '(unnamed)':<12} -> {mount['path']}{behind}"
    if counts["last_scan"]:
        yield f"  Last scan: {counts['last_scan']}"
    for label, key in (("Last backup:", "last_backup"), ("Last verify:", "last_verify")):
        if counts[key]:
            yield f"  {label} {counts[key]}"
    yield f"  Events:    {counts['events_count']}"


# --- stats -----------------------------------------------------------------------------------------------------------


@operation(
    access=READ,
    tool="memory_stats",
    about="Count the memories by tier, type and scope, and say how the full-text index was built.",
    answer={
        "total_items": "integer", "by_tier": "object", "by_type": "object", "by_scope": "object",
        "statements": "integer", "passages": "integer", "documents": "array", "events_count": "integer",
        "embeddings_count": "integer", "fts5_available": "boolean", "format_version": "integer",
    },
    examples=("memctl stats", "memctl stats --scope team", "memctl stats --json | jq .by_tier"),
)  # fmt: skip
def stats(
    ctx: Context,
    *,
    scope: Annotated[str | None, Arg("only the items of this scope", "--scope", mcp_help="")] = None,
    workspace: ReadIn = None,
) -> PlainResult:
    """Count what the store holds.

    Statements, which are what people and models said, are counted by tier, type and scope, archived ones apart;
    documents are summed up by folder. The lines about the tokenizer tell how the full-text index was built.
    """
    from memctl.ops.look.items import document_lines
    from memctl.store import contents
    from memctl.store.documents import corpus
    from memctl.store.items import attributes, items
    from memctl.text.block.frames import FORMAT_VERSION

    seen = seen_through(ctx, workspace, Filters(None if scope is None else (scope,)))
    counts = contents.count_contents(ctx.db, seen.scopes, seen.corpus_id)
    counts |= contents.measure_age(ctx.db, seen.scopes, seen.corpus_id)
    documents = []
    tiers, types, passages = counts["by_tier"], counts["by_type"], 0
    if corpus.has_documents(ctx.db):
        said = seen.replace(origin="statements")
        tiers, types = items.count_by(ctx.db, said, "tier"), items.count_by(ctx.db, said, "type")
        passages = items.count(ctx.db, seen) - sum(types.values())
        documents = corpus.sum_documents(ctx.db, seen.scopes)
    counts["corpora"] = [
        {"corpus_id": one.corpus_id, "parent_corpus_id": one.parent_corpus_id, "doc_count": one.doc_count,
         "item_count": one.item_count}
        for one in corpus.list_corpora(ctx.db)
        if seen.scopes is None or one.scope in seen.scopes
    ]  # fmt: skip
    told = list(attributes.list_told(ctx.db, seen).values())
    counts |= {
        "told_items": len(told), "useful_items": sum(one.used > 0 for one in told),
        "told_tokens": sum(one.tokens for one in told),
        "statements": counts["total_items"] - passages, "passages": passages, "statements_by_tier": tiers,
        "statements_by_type": types,
    }  # fmt: skip
    lines = list(_stats_lines(counts, list(document_lines(ctx, documents))))
    counts |= {"documents": [one._asdict() for one in documents], "db_path": ctx.db_path, "status": "ok"}
    return PlainResult(counts | {"format_version": FORMAT_VERSION}, lines, printed=counts)


def _stats_lines(n: dict[str, Any], documents: list[str]) -> Iterator[str]:
    """The counts, one a line."""
    yield "Memory Store Statistics"
    yield "=" * 40
    yield f"  Total items (active): {n['total_items']}"
    if n["passages"]:
        yield f"  Statements: {n['statements']}"
        yield f"  Passages: {n['passages']}"
    for label, key in (("Archived items", "archived_items"), ("Not injectable", "withheld_items"), ("Files", "files")):
        if n.get(key):
            yield f"  {label}: {n[key]}"
    yield from _index_lines(n)
    which = "Statements by" if n["passages"] else "By"
    yield from _count_lines(f"{which} tier", {t.upper(): count for t, count in n["statements_by_tier"].items()}, 4)
    yield from _count_lines(f"{which} type", n["statements_by_type"], 12)
    if documents:
        yield "  Documents:"
        yield from (f"    {line}" for line in documents)
    if n["corpora"]:
        yield from _count_lines("Corpora (documents)", {c["corpus_id"]: c["doc_count"] for c in n["corpora"]}, 12)
    if len(n.get("by_scope", ())) > 1:
        yield from _count_lines("By scope", n["by_scope"], 12)
    if n["oldest"]:
        yield f"  Made: {n['oldest'][:10]} to {n['newest'][:10]}"
    if n["links"]:
        yield f"  Links: {n['links']}"
    if n["told_items"]:
        yield f"  Told: {n['told_items']} items, {n['useful_items']} of them used, ~{n['told_tokens']} tokens"
    yield f"  Embeddings:   {n['embeddings_count']}"
    yield f"  Audit events: {n['events_count']}"


def _index_lines(n: dict[str, Any]) -> Iterator[str]:
    yield f"  FTS5:     {'available' if n['fts5_available'] else 'unavailable'}"
    if n["fts_state"] in DOUBTS:
        yield f"  Index: {DOUBTS[n['fts_state']]}"
    if n["fts_tokenizer"]:
        yield f"  Tokenizer: {n['fts_tokenizer']}"
    if n["fts_tokenizer_mismatch"]:
        yield f"  Stored tokenizer: {n['fts_tokenizer_stored']}  (mismatch)"
    if n["fts_indexed_at"]:
        yield f"  Indexed at: {n['fts_indexed_at']}"
    if n["fts_reindex_count"]:
        yield f"  Reindex count: {n['fts_reindex_count']}"


def _count_lines(title: str, counts: dict[str, int], width: int) -> Iterator[str]:
    """A line for each count; several have bars beside them, to be compared at a glance."""
    most = max(counts.values(), default=0)
    digits = len(str(most))
    if counts:
        yield f"  {title}:"
    for name, count in counts.items():
        drawn = f"{count:<{digits}}  {bar(count, most)}" if len(counts) > 1 else str(count)
        yield f"    {one_line(name):<{width}}: {drawn}".rstrip()


# --- digest ----------------------------------------------------------------------------------------------------------


#: What is decided and what binds comes first.
_TYPE_ORDER = ("constraint", "decision", "pattern", "definition", "fact", "todo", "pointer", "note")
#: Items of a type that are looked at; more would not fit on a page.
_ITEMS_OF_TYPE = 50
_TITLE_CHARS = 160
#: Folders of documents that a digest names.
_FOLDERS = 8


@operation(
    access=READ,
    tool="memory_digest",
    prose=True,
    about="Sum up what is remembered in a scope on one page: how many memories of each type, and the newest titles "
    "with their ids. For a first look at the start of work.",
    answer={
        "scope": "string", "total": "integer", "by_type": "object", "digest": "string", "tokens_used": "integer",
    },
    examples=(
        "memctl digest",
        "memctl digest --scope global --budget 300",
        "memctl digest --from people",
    ),
)  # fmt: skip
def digest(
    ctx: Context,
    *,
    request: Annotated[ReadRequest, Fields("scope workspace budget", budget={"default": 800})],
    source: Source = None,
    passages: Passages = False,
) -> PlainResult:
    """Sum up on one page what a scope holds.

    What people and models said comes first: of each type the newest titles, with ids to read them by, as far as the
    budget goes; types that bind (constraints, decisions) before others. Then the documents, a line for each folder;
    with --passages their passages stand among the statements. --from docs names the files. Items kept from models are
    left out.
    """
    from memctl.ops.look.items import MOST_DOCUMENTS, document_lines
    from memctl.reading import delivery
    from memctl.reading.request import block_budget, read_filters, said_where
    from memctl.store.documents import corpus
    from memctl.store.items import items

    budget, filters = block_budget(ctx, request), read_filters(ctx, request, "digest", injectable=True)
    filters = said_where(ctx, filters, source, passages=passages)
    documents: list[DocumentSum] = []
    only = source == "docs" and not passages
    if only or filters.origin == "statements":
        by_file = only or filters.source is not None
        documents = corpus.sum_documents(ctx.db, filters.scopes, filters.source, by_file=by_file)
    found = {} if only else items.count_by(ctx.db, filters, "type")
    counts = {kind: found[kind] for kind in _TYPE_ORDER if kind in found}
    newest = {kind: items.list_items(ctx.db, filters.replace(type=kind), _ITEMS_OF_TYPE) for kind in counts}
    free = delivery.items_for_models(ctx, [item for found in newest.values() for item in found], "digest")
    newest = {kind: [free[item.id] for item in found if item.id in free] for kind, found in newest.items()}
    name = " and ".join(filters.scopes or ()) or "all scopes"
    if not (counts or documents):
        ctx.note("[digest] Nothing is remembered here.")
    lines = list(_page_lines(name, counts, newest, list(document_lines(ctx, documents, _FOLDERS)), budget))
    page = "\n".join(lines)
    data = {
        "status": "ok", "scope": name, "total": sum(counts.values()), "by_type": counts, "digest": page,
        "documents": [one._asdict() for one in documents[:MOST_DOCUMENTS]],
        "tokens_used": estimate_tokens(page), **({} if page else {"hint": "Nothing is remembered here."}),
    }  # fmt: skip
    return PlainResult(data, lines)


def _page_lines(
    name: str, counts: dict[str, int], newest: "dict[str, list[MemoryItem]]", documents: list[str], budget: int
) -> Iterator[str]:
    """The lines; types take turns, so that each shows its newest before one shows many. Never more than the budget."""
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    head = f"Memory of {name}: {said or 'no statements'}"
    left = budget * CHARS_PER_TOKEN - len(head)
    shown: dict[str, list[str]] = {}
    for kind, item in (
        (kind, newest[kind][row]) for row in range(_ITEMS_OF_TYPE) for kind in counts if row < len(newest[kind])
    ):
        line = f"- {one_line(item.title, _TITLE_CHARS) or '(untitled)'} [{item.id}]"
        left -= len(line) + 1 + (0 if kind in shown else len(kind) + 3)  # line breaks; a blank line and a heading
        if left < 0:
            break
        shown.setdefault(kind, []).append(line)
    fitting = []
    left -= len("\n\ndocuments:")
    for line in documents:
        left -= len(line) + 3
        if left < 0:
            break
        fitting.append(f"- {line}")
    if shown or fitting:
        yield head
    for kind in (kind for kind in counts if kind in shown):
        yield from ("", f"{kind}:", *shown[kind])
    if fitting:
        yield from ("", "documents:", *fitting)
