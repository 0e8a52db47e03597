"""Threads: sessions that hang together, and the tools that list sessions, start one and link them."""

from collections.abc import Iterator, Mapping

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Annotated
from memctl.context import Context
from memctl.errors import SessionNotFound, UsageError
from memctl.names import DEFAULT_SCOPE, SESSION_RELATIONS, SessionRelation
from memctl.operation import CREATE, READ, WRITE, Arg, Fields, PlainResult, operation
from memctl.parameters import ReadRequest, WriteIn
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.store.sessions import Session, SessionLink

#: Characters of a title that a person sees; how far a thread is indented at most.
_TITLE, _DEEPEST = 60, 20
_DAY = 86_400


def named_session(ctx: Context, given: str, scope: str | None = None) -> "Session":
    """The session of this id, whole or shortened; with `scope`, only one of it. Raises SessionNotFound."""
    from memctl.store import sessions

    found = sessions.get_session(ctx.db, sessions.expand_session_id(ctx.db, given.strip()))
    if found is None or scope not in (None, found.scope):
        raise SessionNotFound(id=one_line(given, 200))
    return found


def report_sessions(ctx: Context, scopes: tuple[str, ...] | None, limit: int, days: int | None = None) -> PlainResult:
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
