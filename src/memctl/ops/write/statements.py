"""Statements into the store: memctl remember and pull, and the tools memory_propose and memory_write."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.names import ITEM_TYPES, SOURCE_KINDS, ItemType
from memctl.operation import CREATE, Arg, Fields, PlainResult, operation
from memctl.parameters import WriteTarget
from memctl.text import clean, proposals
from memctl.text.utterance import is_empty_talk
from memctl.types import MemoryProvenance
from memctl.writing import (
    Proposals,
    StatementBatch,
    parse_proposals,
    read_stdin,
    standing_words,
    standings_of,
    store_proposals,
    tell_outcomes,
    tell_similar,
    without_injected,
)

if TYPE_CHECKING:
    from memctl.ingest.statements import StatementOutcome, StatementOutcomes
    from memctl.text.proposals import Parsed
    from memctl.text.references import Reference

#: Lines of a kind that `pull` prints one by one; the counts say the rest.
_LINES = 20


Supersedes = Annotated[
    str | None,
    Arg("the item that it replaces, which is archived", "--supersedes", metavar="MEM-ID",
        mcp="full"),
]  # fmt: skip

Cites = Annotated[
    list[str] | None,
    Arg("files, or lines of them, that it speaks of", "--cites", metavar="PATH[:LINES]", path=True, mcp=False),
]

# --- one statement ------------------------------------------------------------------------------------------------


def _report_one(done: "StatementOutcome", row: dict[str, Any], line: str) -> PlainResult:
    """What became of one statement: `status` ok, duplicate (the item was there) or rejected; `action` accept,
    quarantine or reject; how it stands, and when it expires, if it does.
    """
    data: dict[str, Any] = {"status": "rejected", "action": "reject", "reasons": list(done.reasons)}
    if done.kind != "rejected":
        data = {
            "status": "ok" if done.kind == "stored" else "duplicate", "id": done.id,
            "action": "quarantine" if done.quarantined else "accept", "reasons": list(done.reasons),
        }  # fmt: skip
    if done.kind not in ("rejected", "stored"):
        data |= {"message": "content already exists", "changed": done.changed}
    if done.replaced:
        data["replaced"] = done.replaced
    return PlainResult(data | row, [line])


@operation(
    access=CREATE,
    examples=(
        'memctl remember "We chose JWT for stateless auth" --type decision --tags auth',
        'memctl remember "No deploys on Fridays" --why "two bad weekends" --tier ltm',
        'memctl remember "Retries are capped at 3" --source src/gateway.py:41',
        'memctl remember "Tokens expire after 15 minutes" --cites src/auth.py:40-52',
        "git log -1 --format=%B | memctl remember --type fact --tags release",
        "id=$(memctl remember -q The gateway retries twice)",
    ),
    exits={
        0: "stored, quarantined, or known already",
        1: "policy refused it, it is empty, or it is longer than a statement may be",
    },
    takes_input=lambda values: values.get("text") in (None, ["-"]),
)
def remember(
    ctx: Context,
    text: Annotated[
        list[str] | None, Arg("the statement, quoted or not; none, or -, reads standard input", metavar="TEXT")
    ] = None,
    *,
    type: Annotated[ItemType, Arg("what kind of statement it is", "--type")] = "note",
    target: Annotated[WriteTarget, Fields("tags tier scope workspace title why source session")],
    title: Annotated[str | None, Arg("its title (default: its first line)", "--title")] = None,
    why: Annotated[str | None, Arg("the reason, stored as its last paragraph", "--why")] = None,
    confidence: Annotated[float, Arg("how sure it is", "--confidence", ge=0, le=1)] = 0.5,
    importance: Annotated[
        float | None, Arg("how much it matters; 0.5 is as much as any other", "--importance", ge=0, le=1)
    ] = None,
    supersedes: Supersedes = None,
    cites: Cites = None,
    again: Annotated[bool, Arg("store it, though it was purged before", "--again")] = False,
) -> PlainResult:
    """Store one statement and print its id.

    The statement is judged by policy: one with a secret or with instructions to a model is refused, one that policy
    doubts is quarantined (stored, found by search, never given to a model). A statement that the store has already is
    stored once: the id of its item is printed, and new tags, a higher confidence or importance and another source are
    added to the item. Stderr says what happened. Without --source, the source is memctl with the session that
    MEMCTL_SESSION names. With --supersedes, the item of that id is archived in the same step, and the block says that
    this one replaces it; what policy holds back replaces nothing.

    Files, lines and symbols that the statement names are tied to the documents of the store, as are those of --cites.
    When sync sees that what is cited has changed, moved or disappeared, recall says so beside the statement and ranks
    it behind others, until the text is back or `verify` renews it.
    """
    given = " ".join(text or ())
    if text is None or given == "-":
        given = read_stdin(ctx, "remember")
    elif clean.is_blank(given):
        raise errors.UsageError("the statement is empty", command="remember")
    content = clean.statement(without_injected(ctx, given, "remember"))
    if not content:
        raise errors.NothingStored(reason="the input only repeats injected memory")
    source = _named_source(ctx, target.source) if target.source else None
    batch = StatementBatch(ctx, "memctl-remember", target, source)
    item = batch.statement(content, title or "", type=type, confidence=confidence)
    places = [_cited_place(ctx, place) for place in cites or ()]
    replaced = _replaced_id(ctx, supersedes, "remember", batch.scope)
    batch.add(item, importance, supersedes=replaced, cites=places)
    reason = clean.statement(why or "")
    if reason:
        item.content += f"\n\nWhy: {reason}"
    limit, size = ctx.policy.max_content_length, len(item.content)
    if size > limit and type != "pointer":
        raise errors.TextTooLong(limit=limit, size=size)
    done = batch.store("remember", again=again).outcomes[0]
    if done.kind == "rejected":
        from memctl.ingest.statements import PURGED

        if done.reasons == (PURGED,):
            reason, _, remedy = PURGED.partition("; ")
            raise errors.NothingStored(reason=reason, remedy=remedy)
        ctx.warn(f"[remember] {'; '.join(done.reasons)}")
        raise errors.NothingStored(reason="rejected by policy")
    rows = standings_of(ctx, [done.id])
    tell_similar(ctx, "remember", [done], rows)
    _tell_one(ctx, done, standing_words(rows[done.id]))
    return _report_one(done, rows[done.id], done.id)


def _tell_one(ctx: Context, done: "StatementOutcome", stands: str) -> None:
    """Say what became of a statement that was not refused, and how it stands."""
    if done.quarantined:
        ctx.warn(f"[remember] {stands}, kept out of recall: {'; '.join(done.reasons)}")
        ctx.note(f"[remember] memctl quarantine release {done.id} --reason WHY lets it be recalled, and keeps it")
    if done.kind == "duplicate":
        known = "known already" if stands == "injectable" else f"known already, {stands}"
        ctx.note(f"[remember] {known}" + ("; what is new about it was added" if done.changed else ""))
    elif not done.quarantined:
        ctx.note("[remember] stored" + ("" if stands == "injectable" else f", {stands}"))
    if done.replaced:
        ctx.note(f"[remember] {done.replaced} is archived: this one replaces it")


def _replaced_id(ctx: Context, given: str | None, command: str, scope: str) -> str:
    """The id of the item that a statement of a scope is to replace; "" for none. Raises ItemNotFound, ToolRefused.

    A model's statement replaces one of the same scope only: it may be bound to a workspace, and see no other.
    """
    if given is None:
        return ""
    from memctl.reading.selection import named_item, refuse_protected

    found = named_item(ctx, given, command)
    if ctx.bounds is not None and found.scope != scope:
        raise errors.ItemNotFound(id=clean.one_line(given, 60))
    refuse_protected(ctx, [found], "supersede")
    return found.id


def _cited_place(ctx: Context, given: str) -> "Reference":
    """A place of --cites with the absolute path of its file. Raises UsageError where there is no such file."""
    from memctl.citing import has_lines
    from memctl.text.references import parse_place

    place = parse_place(clean.one_line(given, 1000))
    if os.path.isfile(ctx.absolute(given)):  # one whose name ends like a line
        place = place._replace(target=given, lines=None)
    if not place.target.strip() or not os.path.isfile(ctx.absolute(place.target)):
        shown = ctx.policy.redact(clean.one_line(given, 200))
        raise errors.UsageError(f"--cites: '{shown}' is no file, or names lines in another way than FILE:40-52",
                                command="remember")  # fmt: skip
    if place.lines and not has_lines(ctx.absolute(place.target), *place.lines):
        shown = ctx.policy.redact(clean.one_line(given, 200))
        raise errors.UsageError(f"--cites: '{shown}': the file has no such lines, or nothing stands there",
                                command="remember")  # fmt: skip
    return place._replace(target=clean.one_line(ctx.absolute(place.target), 1000))


def _named_source(ctx: Context, source: str) -> MemoryProvenance:
    """The source that `--source` names: `KIND:ID`, an address, or a file with or without a line."""
    kind, colon, name = source.partition(":")
    if colon and kind in SOURCE_KINDS and name.strip():
        return MemoryProvenance(kind, name.strip())
    if source.startswith(("http://", "https://")):
        return MemoryProvenance("doc", source)
    path, line = source, ""
    head, _, tail = source.rpartition(":")
    if head and tail.replace("-", "", 1).isdigit() and not os.path.exists(ctx.absolute(source)):
        path, line = head, f":{tail}"
        first, dash, last = tail.partition("-")
        if not 0 < int(first or 0) <= int(last if dash else first):
            raise errors.UsageError(
                f"--source: '{ctx.policy.redact(source)}': lines count from 1, and a range does not go backwards",
                command="remember",
            )
    if not os.path.exists(ctx.absolute(path)):
        kinds = ", ".join(SOURCE_KINDS)
        raise errors.UsageError(
            f"--source: '{ctx.policy.redact(source)}' is neither an existing file nor one of {kinds} with an id "
            "(chat:session-7)",
            command="remember",
        )
    return MemoryProvenance("doc", clean.one_line(ctx.absolute(path), 1000) + line)


@operation(
    access=CREATE,
    tool="memory_write",
    toolset="standard",
    idempotent=True,
    about="Store one memory that the user told you to remember. What you find worth remembering yourself goes through "
    "memory_propose.",
    answer={"id": "string", "action": "string", "reasons": "array", "message": "string"},
)
def write(
    ctx: Context,
    title: Annotated[str, Arg("one line that says what it is about")],
    content: Annotated[str, Arg("the statement, at most 2000 characters")],
    *,
    target: Annotated[
        WriteTarget,
        Fields(
            "tags tier type scope workspace session",
            tier={"env": None, "config": None, "mcp": "full"},
            workspace={"mcp": "full"},
        ),
    ],
    type: Annotated[ItemType, Arg("what kind of statement it is", "--type")] = "note",
    importance: Annotated[float | None, Arg("how much it matters", "--importance", ge=0, le=1, mcp="full")] = None,
    supersedes: Supersedes = None,
) -> PlainResult:
    """Store one finished item.

    It is judged by policy as `remember` does it; what policy refuses is an answer with status "rejected" and reasons,
    what the store knows already one with status "duplicate".
    """
    from memctl.ingest.statements import StatementOutcome

    batch = StatementBatch(ctx, "memory_write", target)
    item = batch.statement(content, title, type=type)
    batch.add(item, importance, supersedes=_replaced_id(ctx, supersedes, "write", batch.scope))
    if clean.is_blank(content):
        done = StatementOutcome("rejected", item.title, reasons=("Content is empty",))
    else:
        done = batch.store("write").outcomes[0]
    rows = standings_of(ctx, [done.id]) if done.id else {}
    tell_similar(ctx, "write", [done], rows)
    return _report_one(done, rows.get(done.id, {}), done.id or f"rejected: {'; '.join(done.reasons)}")


# --- what a model proposes ----------------------------------------------------------------------------------------


#: What a model is told of a proposal; `memctl.text.proposals` also takes what it is not told of.
_PROPOSAL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "content": {"type": "string", "description": "the statement, understood without this conversation"},
        "title": {"type": "string", "description": "one line"},
        "type": {"type": "string", "enum": [*ITEM_TYPES]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "why_store": {"type": "string", "description": "why it is worth keeping; without it, it goes after some days"},
    },
    "required": ["content", "why_store"],
}


@operation(
    access=CREATE,
    tool="memory_propose",
    toolset="core",
    idempotent=True,
    about="Remember decisions, facts, constraints, preferences or definitions for later sessions, when one comes up "
    "that will still matter then. Not for chatter, secrets, or what the repository says itself.",
    answer={"accepted": "integer", "rejected": "integer", "quarantined": "integer", "items": "array"},
)
def propose(
    ctx: Context,
    items: Annotated[
        list[dict[str, Any]],
        Arg("what to remember, one statement each", mcp_schema=_PROPOSAL),
    ],
    *,
    target: Annotated[WriteTarget, Fields("scope workspace session", workspace={"mcp": "full"})],
    source_doc: Annotated[
        str | None, Arg("the document they are from, where they name no source", "--source", mcp="full")
    ] = None,
) -> Proposals:
    """Store what a model proposes to remember.

    Each proposal is judged alone; one that cannot be used does not stop the others. All are stored in one transaction.
    One without why_store is stored for policy.quarantine_expiry_hours only: said again with a reason, it stays.
    """
    source = MemoryProvenance("doc", source_doc) if source_doc else None
    batch = StatementBatch(ctx, "memory_propose", target, source)
    titles = (entry.get("title") if isinstance(entry, Mapping) else None for entry in items)
    named = (clean.one_line(title) if isinstance(title, str) else "" for title in titles)
    entries = ((title, *proposals.checked(entry)) for title, entry in zip(named, items, strict=True))
    return store_proposals(batch, entries, "propose")


def propose_text(result: Proposals) -> Iterator[str]:
    """One line a proposal."""
    for row in result.rows:
        why = f" ({'; '.join(row['reasons'])})" if row["reasons"] else ""
        yield f"{row['action']}: {row.get('id', '')} {row['title']}{why}"


# --- what a model wrote -------------------------------------------------------------------------------------------


@operation(
    access=CREATE,
    examples=(
        'memctl push "API" --source docs/ --propose | some-llm | memctl pull --tee',
        'echo "We chose JWT for stateless auth" | memctl pull --tags auth --title JWT',
        "some-llm --json < question | MEMCTL_SESSION=review-7 memctl pull --tier mtm",
    ),
    exits={
        0: "also when everything was known already, the model proposed an empty list, refused to answer, or only "
        "repeated injected memory",
        1: "nothing came in, or nothing of it could be stored",
    },
    takes_input=lambda _: True,
)
def pull(
    ctx: Context,
    *,
    target: Annotated[
        WriteTarget,
        Fields(
            "tags title type scope tier workspace session", tags={"help": "tags for everything stored, after its own"}
        ),
    ],
    title: Annotated[str | None, Arg("title of a note made from plain text", "--title")] = None,
    type: Annotated[ItemType, Arg("type of a note made from plain text", "--type")] = "note",
    tee: Annotated[bool, Arg("print the answer on standard output too", "--tee")] = False,
) -> PlainResult:
    """Store what an LLM wrote, from standard input.

    Proposals are taken from JSON (an array, {"items": [...]}, one object, lines), from tool calls named
    memory.propose, from blocks between <MEMORY_PROPOSALS_JSON> and </MEMORY_PROPOSALS_JSON>, and from fenced json
    blocks (with other text around them, only if each entry has a title, type, tags or the like beside its content:
    a fence among prose may be an example of anything). Anything else becomes a note; one that is longer than policy
    allows a statement is stored in parts, and secrets in it are redacted. Injected memory that the model repeats is
    left out. A refusal and an answer that says nothing ("I'm sorry, but …", "ok") are not stored. A statement that the
    store has already adds its tags and its source to that item, unless a person verified or pinned it. MEMCTL_SESSION
    names the session in the source. Without --json and --tee nothing is printed on stdout; --tee passes the answer on,
    without the proposals in it. When it fails, because the store is locked, the disk full or a setting wrong, the input
    is kept in a file; stderr names it.
    """
    batch = StatementBatch(ctx, "memctl-pull", target)
    if tee and ctx.json:
        raise errors.UsageError("--tee prints the answer, --json what became of it", command="pull")
    given = read_stdin(ctx, "pull")
    try:
        if tee and ctx.emit is not None:  # before anything can go wrong; all of it when it is nothing but proposals
            ctx.emit((parse_proposals(ctx, given).rest or given).rstrip("\n") + "\n")
    finally:  # also when nobody reads what is passed on any more
        result = _store_output(batch, given, title, type)
    return result


def _store_output(batch: StatementBatch, given: str, title: str | None, type: ItemType) -> PlainResult:
    """Store what a model wrote, as `pull` says it."""
    ctx = batch.ctx
    text = without_injected(ctx, given, "pull")
    parsed = parse_proposals(ctx, text)
    for problem in parsed.problems:
        ctx.warn(f"[pull] {problem}")
    is_empty = not text or (not parsed.structured and is_empty_talk(parsed.rest))
    if parsed.structured:
        proposed = [(batch.proposed(found), found) for found in parsed.proposals]
        said = [(item, found) for item, found in proposed if not clean.is_blank(item.content)]
        for item, found in said:
            batch.add(item, found.importance)
        if len(parsed.rest) > 0:
            ctx.note(f"[pull] {len(parsed.rest)} character(s) around the proposals were not stored")
        if len(said) < len(proposed):
            ctx.note(f"[pull] {len(proposed) - len(said)} proposal(s) only repeat injected memory")
    elif is_empty:
        why = "is a refusal, or says nothing" if text else "only repeats injected memory"
        ctx.note(f"[pull] the input {why}: not stored")
    else:
        ctx.note("[pull] no structured proposals found — storing as single note")
        batch.add(batch.statement(parsed.rest, clean.one_line(title or "") or _note_title(parsed.rest), type=type))
    return _report_pulled(batch, parsed, batch.store("pull", cut=True), is_empty=is_empty)


def _note_title(content: str) -> str:
    """The text of the Markdown heading that a note begins with; without one, when it was taken."""
    line = content.lstrip().partition("\n")[0]
    marks = len(line) - len(line.lstrip("#"))
    heading = clean.one_line(line.strip("# \t")) if 1 <= marks <= 6 and line[marks : marks + 1] in (" ", "\t") else ""
    if heading:
        return heading
    from time import localtime, strftime

    return strftime("LLM capture %Y-%m-%d %H:%M", localtime(ids.now_seconds()))


def _report_pulled(
    batch: StatementBatch, parsed: "Parsed", kept: "StatementOutcomes", *, is_empty: bool
) -> PlainResult:
    """Say what became of it. Raises NothingStored when nothing of it could be stored."""
    ctx = batch.ctx
    for outcome in kept.outcomes:
        if outcome.replaced:
            ctx.note(f"[pull] {outcome.id} replaces {outcome.replaced}, archived now")
    kinds = Counter(outcome.kind for outcome in kept.outcomes)
    stored, rejected, problems = kinds["stored"], kinds["rejected"], len(parsed.problems)
    rows = standings_of(ctx, [outcome.id for outcome in kept.stored]) if kept.stored else {}
    tell_similar(ctx, "pull", kept.stored, rows)
    data = {
        "status": "ok", "stored": stored, "duplicate": kinds["duplicate"],
        "quarantined": sum(outcome.quarantined for outcome in kept.stored), "redacted": kept.redacted,
        "rejected": rejected, "problems": problems, "item_ids": [outcome.id for outcome in kept.stored],
        "items": list(rows.values()),
        **({"empty": 1} if is_empty else {}),
    }  # fmt: skip

    def line(outcome: "StatementOutcome") -> str:
        # A title may hold the very secret that it was rejected for.
        title, reasons = ctx.policy.redact(outcome.title), "; ".join(outcome.reasons)
        if outcome.kind == "rejected":
            return f"Rejected by policy: '{title}' ({reasons})"
        if outcome.kind == "duplicate":
            return f"skip duplicate: '{title}'" + (" (what is new about it was added)" if outcome.changed else "")
        return f"{standing_words(rows[outcome.id])}, kept out of recall: '{title}' ({reasons})"

    told = (("rejected", ctx.warn), ("duplicate", ctx.note), ("quarantined", ctx.note))
    tell_outcomes("pull", kept.outcomes, line, told, _LINES)
    if parsed.structured:
        ctx.note(f"[pull] Stored {stored} item(s) from proposals ({rejected} rejected by policy)")
    elif len(kept.outcomes) == 1 and stored:
        ctx.note(f"[pull] Stored as note {kept.stored[0].id}: {ctx.policy.redact(kept.outcomes[0].title)}")
    elif stored:
        title = clean.one_line(batch.items[0].title)
        ctx.note(f"[pull] Stored as {stored} note(s): {ctx.policy.redact(title)}")
    if data["quarantined"]:
        ctx.note("[pull] memctl quarantine release MEM-ID --reason WHY lets one be recalled, and keeps it")
    counts = ("stored", "duplicate", "quarantined", "redacted", "rejected")
    ctx.note(f"[pull] {', '.join(f'{data[kind]} {kind}' for kind in counts)}")
    if not (stored or kinds["duplicate"]) and (rejected or problems):
        failed = (("rejected by policy", rejected), ("unusable", problems))
        raise errors.NothingStored(reason=", ".join(f"{count} {what}" for what, count in failed if count))
    return PlainResult(data)  # no lines: what a pipe's next command reads must not change with what was stored
