"""Sessions: memctl session, the tools that begin and end a turn of one, and the threads that sessions make."""

from collections.abc import Iterator, Mapping

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.context import Context
from memctl.errors import SessionNotFound, UsageError
from memctl.names import DEFAULT_SCOPE, SESSION_RELATIONS, SessionRelation
from memctl.operation import CREATE, READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting, ReadIn, ReadRequest, WriteIn
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.store.sessions import Session, SessionLink

#: How many words each action takes beside it: at least, at most.
_WORDS = {
    "list": (0, 0), "show": (1, 1), "start": (0, 1), "tree": (1, 1), "stale": (0, 0), "link": (3, 3),
    "unlink": (3, 3), "delete": (1, 100_000),
}  # fmt: skip
#: Characters of a title that a person sees.
_TITLE = 60
#: Characters of a line about what a session was held in, and worked on.
_DETAIL = 2000


@operation(
    access=CREATE,
    examples=(
        "memctl session list",
        "memctl session show proj:review-7 -n 5  # the newest five turns",
        "id=$(memctl session start --title Review --follows-up-on proj:review-6)",
        'memctl remember "The gateway retries twice" --session "$id"',
        'memctl session tree "$id"               # what hangs together with it',
        'memctl session link "$id" contradicts proj:plan',
        "memctl session stale --days 60",
        "memctl session delete proj:review-7     # says what would go; --yes does it",
    ),
    exits={1: "no store, no such session, or links would run in a circle"},
)
def session(
    ctx: Context,
    action: Annotated[Literal["list", "show", "start", "tree", "stale", "link", "unlink", "delete"], Arg("what to do")],
    id: Annotated[
        list[str] | None,
        Arg("the sessions, by the beginnings of their ids; link and unlink: A RELATION B", metavar="SESSION-ID"),
    ] = None,
    *,
    title: Annotated[str | None, Arg("start: what it is about", "--title")] = None,
    scope: Annotated[
        str | None, Arg("start: where what is said in it is filed; list and stale: only those of it", "--scope")
    ] = None,
    follows_up_on: Annotated[
        str | None, Arg("start: the session that it goes on with", "--follows-up-on", metavar="SESSION-ID")
    ] = None,
    branches_from: Annotated[
        str | None, Arg("start: the session that it leaves for another way", "--branches-from", metavar="SESSION-ID")
    ] = None,
    days: Annotated[int, Arg("stale: nothing was said for this many days", "--days", ge=0, le=100_000)] = 30,
    limit: Annotated[
        int, Arg("at most this many, the newest", "-n", "--limit", aliases=("-k",), ge=1, le=100_000)
    ] = 50,
    acting: Annotated[
        Acting,
        Fields(
            "dry_run yes",
            dry_run={"help": "delete: only say what would be deleted, as without --yes"},
            yes={"help": "delete: do it; without it, only say what would be deleted"},
        ),
    ],
) -> PlainResult:
    """Look at recorded conversations, link them, start one, or delete one.

    A session is one conversation with a client. Its turns hold the questions and answers as policy left them, and what
    the model was given; its items are what was stored in it. Sessions make threads: one follows_up_on, branches_from,
    merges or contradicts another, and `tree` draws what hangs together. Of an idle session `stale` says since when.
    Deleting a session erases its turns from the file for good; items that were stored in it stay.
    """
    wanted = [word.strip() for word in id or () if word.strip()]
    _check_words(action, wanted, acting)
    doing = acting.yes and not acting.dry_run
    if action not in ("start", "link", "unlink") and not doing:
        ctx.narrow(READ)
    elif action != "start":
        ctx.narrow(WRITE)
    if action in ("list", "stale"):
        scopes = None if scope is None else (ctx.scope_named(scope),)
        return report_sessions(ctx, scopes, limit, days if action == "stale" else None)
    if action == "start":
        filed = None if scope is None else ctx.scope_named(scope)
        before = {"follows_up_on": follows_up_on, "branches_from": branches_from}
        return begin_thread(ctx, next(iter(wanted), None), title, filed, before)
    if action in ("link", "unlink"):
        return change_link(ctx, *wanted, is_link=action == "link")
    found = [named_session(ctx, word) for word in dict.fromkeys(wanted)]
    if action == "tree":
        return report_thread(ctx, found[0])
    return _show_session(ctx, found[0], limit) if action == "show" else _delete_sessions(ctx, found, yes=doing)


def _check_words(action: str, wanted: list[str], acting: Acting) -> None:
    """Raise UsageError for words that an action does not take, and for those that it lacks."""
    least, most = _WORDS[action]
    if len(wanted) > most:
        takes = f"; {action} takes one session" if most == 1 else "" if most else "; show takes a session"
        raise UsageError(f"unexpected argument '{one_line(wanted[most], 60)}'{takes}", command="session")
    if len(wanted) < least:
        what = f"{action} takes A RELATION B" if least == 3 else f"the session to {action} is missing"
        raise UsageError(what, command="session")
    if (acting.yes or acting.dry_run) and action != "delete":
        raise UsageError(f"{'--yes' if acting.yes else '--dry-run'} is for delete only", command="session")


def _show_session(ctx: Context, one: "Session", limit: int) -> PlainResult:
    from memctl.llm.working import indented
    from memctl.ops.change.links import shown_items
    from memctl.store import sessions, transcripts
    from memctl.store.items import items

    details = transcripts.session_details(ctx.db, one.id)
    held = {key: details[key] for key in ("folder", "branch", "model", "files") if details.get(key)}
    turns = sessions.list_turns(ctx.db, one.id, limit)
    said = shown_items(ctx, items.get_many(ctx.db, sessions.items_in(ctx.db, one.id, limit)), "session")
    links = [link for link in sessions.list_links(ctx.db) if one.id in (link.src_id, link.dst_id)]
    data = {
        "status": "ok", **one.as_dict(), **held, "turns": [turn.as_dict() for turn in turns],
        "items": [{"id": item.id, "title": item.title} for item in said.values()],
        "links": [link._asdict() for link in links],
    }  # fmt: skip
    shown = {key: ", ".join(value) if isinstance(value, list) else value for key, value in held.items()}
    lines = [f"{key}: {one_line(value, _DETAIL)}" for key, value in shown.items()]
    lines += [""] if lines else []
    for turn in turns:
        lines.append(
            f"--- {turn.number}, {turn.asked_at[:16]}{'' if turn.injectable else ' (given to no model again)'}"
        )
        lines += [f"{label}: {indented(words)}" for label, words in (("Q", turn.question), ("A", turn.answer)) if words]
        lines += [f"sources: {', '.join(turn.sources)}"] if turn.sources else []
        lines.append("")
    lines += [f"{link.src_id} {link.relation} {link.dst_id}" for link in links]
    lines += [f"{item.id}  {one_line(item.title, _TITLE)}" for item in said.values()]
    return PlainResult(data, lines)


def _delete_sessions(ctx: Context, found: "list[Session]", *, yes: bool) -> PlainResult:
    from memctl.store import sessions

    named = list(dict.fromkeys(one.id for one in found))
    if yes:
        for session_id in named:
            sessions.delete_session(ctx.db, session_id)
    turns = sum(one.turns for one in found)
    ctx.note(f"[session] {turns} turn(s) {'deleted' if yes else 'to delete; --yes does it'}")
    data = {"status": "ok" if yes else "dry_run", "session_id": named[0], "sessions": named, "turns": turns}
    data |= {} if yes else {"dry_run": True}
    return PlainResult(data, [f"{'' if yes else 'would be '}deleted: {session_id}" for session_id in named])


def _judge_use(ctx: Context, session_id: str) -> None:
    """Note which of the items that the newest turn was given its answer used."""
    from memctl.reading.hook_context import Telling, prompt_mark
    from memctl.reading.learning import Answered, judge_conversation
    from memctl.store import sessions

    for turn in sessions.list_turns(ctx.db, session_id, 1):
        told = Telling(prompt_mark(turn.question), 0, turn.sources)
        judge_conversation(ctx.db, session_id, [told], [Answered(turn.question, turn.answer)])


# --- a turn, by a program -----------------------------------------------------------------------------------------


def _filed(ctx: Context, session_id: str, workspace: str | None, scope: str | None = None) -> str | None:
    """The scope that is given of a session; None when it keeps its own. A new one has that of this project."""
    from memctl.names import DEFAULT_SCOPE
    from memctl.store import sessions
    from memctl.text.clean import clean

    if workspace:
        return ctx.workspace(workspace).scope
    return scope or (None if sessions.get_session(ctx.db, clean(session_id)) else ctx.scope_named(DEFAULT_SCOPE))


@operation(
    name="session-inject",
    access=CREATE,
    tool="memory_session_inject",
    about="Begin a turn of a conversation: record the question and get what the memory knows about it, appended to a "
    "system context. memory_session_store ends the turn.",
    answer={
        "augmented_context": "string", "items_injected": "integer", "tokens_used": "integer", "session_turn": "integer",
    },
)  # fmt: skip
def session_inject(
    ctx: Context,
    query: Annotated[str, Arg("the question")],
    session_id: Annotated[str, Arg("the conversation, such as project:conversation")],
    *,
    system_context: Annotated[str, Arg("what the block is appended to")] = "",
    budget_tokens: Annotated[int, Arg("tokens of the whole block", ge=1, le=10**6)] = 1500,
    scope: Annotated[str | None, Arg("what is read and written from now on (else project)")] = None,
    workspace: ReadIn = None,
) -> PlainResult:
    """Begin a turn: record the question, and recall what answers it.

    What the session reads is its scope, which stays from call to call.
    """
    from memctl.ingest import statements
    from memctl.parameters import ReadRequest
    from memctl.reading.block import configured_form, recall_block

    filed = _filed(ctx, session_id, workspace, scope)
    session = statements.begin_session(ctx.db, ctx.policy, session_id, scope=filed, fixed=workspace is not None)
    request = ReadRequest(budget=budget_tokens, scope=session.scope, workspace=workspace)
    found = recall_block(ctx, query, request, configured_form(ctx), command="session", kind="session_inject")
    turn = statements.record_turn(ctx.db, ctx.policy, session.id, query, "", found.block.ids)
    # What was given, then the block.
    context = "\n\n".join(part for part in (system_context, found.text) if part)
    data = {
        "status": "ok", "augmented_context": context, "items_injected": found.block.items,
        "tokens_used": found.block.tokens, "session_turn": turn.number, "format_version": found.version,
    }  # fmt: skip
    return PlainResult(data, [context], after=found.settle)


@operation(
    name="session-store",
    access=CREATE,
    tool="memory_session_store",
    about="End a turn of a conversation: record the answer, and store the memories it proposes between "
    "<MEMORY_PROPOSALS_JSON> and </MEMORY_PROPOSALS_JSON> (a JSON list of {title, content, type, tags, why_store}).",
    answer={
        "accepted": "integer", "rejected": "integer", "quarantined": "integer", "session_turn": "integer",
        "items": "array",
    },
)  # fmt: skip
def session_store(
    ctx: Context,
    response_text: Annotated[str, Arg("the answer, with its proposals")],
    session_id: Annotated[str, Arg("the conversation, as memory_session_inject had it")],
    *,
    source_doc: Annotated[str | None, Arg("the document the proposals are from, where they name no source")] = None,
    workspace: WriteIn = None,
) -> PlainResult:
    """End a turn: record the answer, and store what it proposes.

    Proposals are read in every form that `pull` reads; other text is the answer, and becomes no item. They are filed
    in the session's scope, with the session as their source.
    """
    from memctl.ingest import statements
    from memctl.parameters import WriteTarget
    from memctl.text.block import markers
    from memctl.types import MemoryProvenance
    from memctl.writing import StatementBatch, parse_proposals, store_proposals

    given = markers.without_injected(response_text)[0]
    parsed = parse_proposals(ctx, given)
    entries = [(found.proposal.title, found, ()) for found in parsed.proposals]
    unusable = [("", None, [problem]) for problem in parsed.problems]
    with ctx.db.atomic():
        target = WriteTarget(workspace=workspace)
        filed = _filed(ctx, session_id, workspace)
        session = statements.begin_session(ctx.db, ctx.policy, session_id, scope=filed, fixed=workspace is not None)
        target.scope, target.session = session.scope, session.id
        source = ("doc", source_doc) if source_doc else ("tool", f"memory_propose:{session.id}")
        batch = StatementBatch(ctx, "memory_propose", target, MemoryProvenance(*source))
        done = store_proposals(batch, [*entries, *unusable], "session")
        answer = parsed.rest if parsed.structured else given
        turn = statements.record_answer(ctx.db, ctx.policy, session.id, answer)
        _judge_use(ctx, session.id)
    data = done.as_dict()
    line = f"{data['accepted']} accepted, {data['rejected']} rejected, {data['quarantined']} quarantined"
    return PlainResult(data | {"session_turn": turn.number, "redacted": turn.redacted}, [line])


# --- threads ----------------------------------------------------------------------------------------------------------


#: How far a thread is indented at most.
_DEEPEST = 20
_DAY = 86_400


def named_session(ctx: Context, given: str, scope: str | None = None) -> "Session":
    """The session of this id, whole or shortened; with `scope`, only one of it. Raises SessionNotFound."""
    from memctl.store import sessions

    found = sessions.get_session(ctx.db, sessions.expand_session_id(ctx.db, given.strip()))
    if found is None or scope not in (None, found.scope):
        raise SessionNotFound(id=one_line(given, 200))
    return found


def report_sessions(ctx: Context, scopes: tuple[str, ...] | None, limit: int, days: int | None) -> PlainResult:
    """Sessions, the one used last first; with `days` those that are idle for so long, longest first."""
    from memctl.store import sessions
    from memctl.text import times

    now = ids.now_seconds()
    idle_since = "" if days is None else ids.timestamp(now - days * _DAY)
    found = sessions.list_sessions(ctx.db, scopes=scopes, idle_since=idle_since)
    if not found:
        ctx.note("[session] No sessions.")
    rows, lines = [], []
    today = times.day_of(ids.timestamp(now)) or 0
    for one in found[:limit]:
        used = times.day_of(one.updated_at or one.created_at)
        idle = None if used is None else max(0, today - used)
        rows.append(one.as_dict() | {"days_inactive": idle})
        counts = f"{one.turns} turn(s)" + (f", {one.items} item(s)" if one.items else "")
        when = one.updated_at[:16] + ("" if days is None or idle is None else f", {idle} day(s) ago")
        parts = (one.id, counts, when, one.scope, one.client, one_line(one.title, _TITLE))
        lines.append("  " + "  ".join(part for part in parts if part))
    total = {"total": len(found), "truncated": len(found) > limit}
    return PlainResult({"status": "ok", "count": len(rows), **total, "sessions": rows}, lines)


def begin_thread(
    ctx: Context, given: str | None, title: str | None, scope: str | None, before: Mapping[str, str | None],
    *, fixed: bool = False,
) -> PlainResult:  # fmt: skip
    """Make a session, or say more of one that is there, and link it to the sessions `before` it, by the relation.

    fixed  it and they are of the scope that is given
    """
    from memctl.ingest import statements
    from memctl.store import sessions

    with ctx.db.atomic():
        usual = scope or ctx.scope_named(DEFAULT_SCOPE)
        session_id = given or f"{usual}:{ids.new_id('S').partition('-')[2]}"
        there = sessions.get_session(ctx.db, statements.check_session_id(ctx.policy, session_id))
        filed = usual if there is None else scope
        made = statements.begin_session(ctx.db, ctx.policy, session_id, scope=filed, title=title or "", fixed=fixed)
        for relation, other in before.items():
            if other is not None:
                earlier = named_session(ctx, other, made.scope if fixed else None)
                sessions.link_sessions(ctx.db, made.id, relation, earlier.id)
        links = [link for link in sessions.list_links(ctx.db) if link.src_id == made.id]
    ctx.note(f"[session] {'was there already' if there else 'started'}, in the scope {made.scope}")
    data = {"status": "ok", "session_id": made.id, "created": there is None, "scope": made.scope, "title": made.title}
    return PlainResult(data | {"links": [link._asdict() for link in links]} | ctx.run_key(), [made.id])


def change_link(ctx: Context, src: str, relation: str, dst: str, *, is_link: bool) -> PlainResult:
    """Say how one session relates to another, or take that away again. Raises SessionInvalid for a circle."""
    from memctl.store import sessions

    if relation not in SESSION_RELATIONS:
        said = f"'{one_line(relation, 40)}' is not one of {', '.join(SESSION_RELATIONS)}"
        raise UsageError(said, command="session")
    ends = named_session(ctx, src).id, named_session(ctx, dst).id
    change = sessions.link_sessions if is_link else sessions.unlink_sessions
    changed = change(ctx.db, ends[0], relation, ends[1])
    said = "" if changed and is_link else "taken away" if changed else "it is so already" if is_link else "no such link"
    ctx.note(f"[session] {ends[0]} {relation} {ends[1]}" + (f": {said}" if said else ""))
    data = {"status": "ok" if changed else "unchanged", "src_id": ends[0], "relation": relation, "dst_id": ends[1]}
    return PlainResult(data | ctx.run_key(), [])


def report_thread(ctx: Context, one: "Session") -> PlainResult:
    """What hangs together with a session: the sessions, the oldest first, and all links between them."""
    from memctl.store import sessions

    named, links = sessions.thread_of(ctx.db, one.id)
    found = (sessions.get_session(ctx.db, name) for name in named)
    order = sorted((held for held in found if held is not None), key=lambda held: (held.created_at, held.id))
    data = {
        "status": "ok", "session_id": one.id, "total": len(order), "truncated": False,
        "sessions": [held.as_dict() for held in order], "links": [link._asdict() for link in links],
    }  # fmt: skip
    return PlainResult(data, list(_drawn(one.id, order, links)))


def _drawn(here: str, order: "list[Session]", links: "list[SessionLink]") -> Iterator[str]:
    """A line a session: the older one, and below it, indented, what came after it. A star marks the one asked for.

    What came after several stands below the first of them; its other links follow on its line.
    """
    later: dict[str, list[SessionLink]] = {}
    said: dict[str, list[SessionLink]] = {}
    for link in links:
        said.setdefault(link.src_id, []).append(link)
        if link.relation != "contradicts":
            later.setdefault(link.dst_id, []).append(link)
    known = {one.id: one for one in order}
    has_earlier = {link.src_id for earlier, listed in later.items() for link in listed if earlier in known}
    waiting: list[tuple[int, str, SessionLink | None]]
    waiting = [(0, one.id, None) for one in reversed(order) if one.id not in has_earlier]
    while waiting or known:  # what is left then runs in a circle, which only another program makes
        depth, session_id, via = waiting.pop() if waiting else (0, next(iter(known)), None)
        one = known.pop(session_id, None)  # each is drawn once
        if one is None:
            continue
        also = [f"({link.relation} {link.dst_id})" for link in said.get(session_id, ()) if link != via]
        words = [via.relation if via else "", one.id, one.created_at[:10], one_line(one.title, _TITLE), *also]
        mark = "*" if session_id == here else " "
        yield f"{mark} {'  ' * min(depth, _DEEPEST)}{'  '.join(word for word in words if word)}"
        after = sorted(later.get(session_id, ()), key=lambda link: (link.created_at, link.src_id), reverse=True)
        waiting += [(depth + 1, link.src_id, link) for link in after]


# --- for models ------------------------------------------------------------------------------------------------------


@operation(
    name="session-start",
    access=CREATE,
    tool="memory_session_start",
    idempotent=True,
    about="Begin a session, a conversation that memories can be stored in and recalled from by its session_id; say "
    "which earlier one it follows up on or branches from.",
    answer={"session_id": "string", "created": "boolean", "scope": "string", "title": "string", "links": "array"},
)
def session_start(
    ctx: Context,
    title: Annotated[str | None, Arg("what it is about")] = None,
    *,
    session_id: Annotated[str | None, Arg("its id, such as project:conversation; else one is made")] = None,
    scope: Annotated[str | None, Arg("where what is said in it is filed (else project)")] = None,
    follows_up_on: Annotated[str | None, Arg("the session that it goes on with")] = None,
    branches_from: Annotated[str | None, Arg("the session that it leaves for another way")] = None,
    workspace: WriteIn = None,
) -> PlainResult:
    """Begin a session, and say which earlier ones it comes after."""
    filed = scope and ctx.scope_named(scope)
    if workspace is not None:
        filed = ctx.workspace(workspace).scope
    before = {"follows_up_on": follows_up_on, "branches_from": branches_from}
    return begin_thread(ctx, session_id, title, filed, before, fixed=workspace is not None)


@operation(
    name="session-list",
    access=READ,
    tool="memory_session_list",
    about="List sessions, the one used last first, with how many memories were stored in each; or those that are idle.",
    answer={"sessions": "array", "count": "integer", "total": "integer", "truncated": "boolean"},
)
def session_list(
    ctx: Context,
    *,
    stale_days: Annotated[
        int | None, Arg("only those in which nothing was said for so many days", ge=0, le=100_000)
    ] = None,
    request: Annotated[ReadRequest, Fields("scope all_scopes workspace limit")],
    limit: Annotated[int, Arg("at most this many", ge=1, le=1000)] = 20,
) -> PlainResult:
    """List sessions, with how many items were said in each."""
    from memctl.reading.request import read_filters

    return report_sessions(ctx, read_filters(ctx, request, "session").scopes, limit, stale_days)


@operation(
    name="session-tree",
    access=READ,
    tool="memory_session_tree",
    about="Show the sessions that hang together with one, and the links between them.",
    answer={"session_id": "string", "sessions": "array", "links": "array", "total": "integer", "truncated": "boolean"},
)
def session_tree(ctx: Context, session_id: Annotated[str, Arg("the session")]) -> PlainResult:
    """Show what hangs together with a session."""
    return report_thread(ctx, named_session(ctx, session_id))


@operation(
    name="session-link",
    access=WRITE,
    tool="memory_session_link",
    idempotent=True,
    about="Say how one session relates to another one: src follows_up_on, branches_from, merges or contradicts dst.",
    answer={"src_id": "string", "relation": "string", "dst_id": "string"},
)
def session_link(
    ctx: Context,
    src_id: Annotated[str, Arg("the session that relates to another one")],
    relation: Annotated[SessionRelation, Arg("how")],
    dst_id: Annotated[str, Arg("the other session")],
) -> PlainResult:
    """Say how one session relates to another."""
    return change_link(ctx, src_id, relation, dst_id, is_link=True)
