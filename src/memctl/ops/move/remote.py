"""memctl remote: one memory on many machines."""

from collections.abc import Iterator

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, NONE, READ, WRITE, Arg, PlainResult, operation
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.remote.exchange import Exchanged, RemoteExchange
    from memctl.store.remotes import Remote

#: Characters of a name, of a title in a line; entries of `remote log` and of lists in an answer.
_NAME, _TITLE, _MOST = 40, 60, 100
#: Ids that a warning names.
_NAMED = 5
_ACTIONS = Literal["list", "add", "init", "status", "sync", "log", "verify", "compact", "remove"]
#: What `remote add` is given of a remote.
SharedScopes = Annotated[
    list[str] | None,
    Arg(
        "add: a scope that is shared, and what it is called there (default: this project's)",
        "--scope",
        metavar="LOCAL[=REMOTE]",
        comma=True,
    ),
]
RemoteTrust = Annotated[
    Literal["low", "medium", "high"],
    Arg("add: how far the word of others goes; high only for machines of your own", "--trust"),
]
Author = Annotated[
    str | None, Arg("add: as whom this store writes there (else the user's name)", "--author", metavar="WHO")
]
SigningKey = Annotated[str | None, Arg("add: the ssh key that signs what leaves", "--sign", metavar="KEY", path=True)]
AllowedSigners = Annotated[
    str | None,
    Arg("add: read only what somebody in this file (allowed_signers of ssh-keygen) has signed", "--signers",
        metavar="FILE", path=True),
]  # fmt: skip
Recipients = Annotated[
    str | None,
    Arg("add: encrypt what leaves for the age or ssh public keys in this file", "--recipients", metavar="FILE",
        path=True),
]  # fmt: skip
Identity = Annotated[
    str | None, Arg("add: the age or ssh key that decrypts what comes", "--identity", metavar="FILE", path=True)
]


@operation(
    access=CREATE,
    examples=(
        "memctl remote add home ~/Sync --trust high       # a folder that both have",
        "memctl remote add team git@host:acme/widget.git  # refs of a git repository",
        "memctl remote init postgresql://admin@host/team  # once, in a database",
        "memctl remote sync --dry-run                     # what would leave",
        "memctl remote sync",
        "memctl remote status",
        "memctl remote log home                         # who wrote what",
    ),
    exits={1: "no such remote, it cannot be reached, or others took away so much that a person must agree (--yes)"},
)
def remote(
    ctx: Context,
    action: Annotated[_ACTIONS, Arg("what to do")] = "list",
    name: Annotated[str | None, Arg("which remote (sync, status: all; init: a URL)", metavar="NAME")] = None,
    url: Annotated[str | None, Arg("add: where it is", metavar="URL")] = None,
    *,
    scope: SharedScopes = None,
    trust: RemoteTrust = "medium",
    read_only: Annotated[bool, Arg("add: only read, send nothing (init: grants for who reads)", "--read-only")] = False,
    dry_run: Annotated[bool, Arg("sync: only print what would leave (init: the tables, too)", "--dry-run")] = False,
    watch: Annotated[bool, Arg("sync: go on until it is stopped", "--watch")] = False,
    interval: Annotated[
        float, Arg("sync --watch: seconds between two exchanges", "--interval", ge=0.2, le=86400)
    ] = 60.0,
    yes: Annotated[bool, Arg("sync: take over what others removed, however much it is", "--yes")] = False,
    log: Annotated[
        str | None,
        Arg("compact: the log of somebody who is gone, as remote status --json names it", "--log", metavar="REPLICA"),
    ] = None,
    limit: Annotated[
        int, Arg("log: at most this many entries", "-n", "--limit", ge=1, le=10_000, aliases=("-k",))
    ] = 20,
    author: Author = None,
    sign: SigningKey = None,
    signers: AllowedSigners = None,
    recipients: Recipients = None,
    identity: Identity = None,
) -> PlainResult:
    """Share statements with other machines, through a folder, a git repository or a database that all of them have.

    What travels is the statements of the scopes that are named, never passages of documents, nor what policy holds
    back. What comes is judged by this store's policy, and stands under its author's name. Who changes the same text at
    the same time is told so (memctl conflicts): nothing is lost. `compact` shortens what this machine has written
    there; `verify` reads all logs anew and checks that nobody has changed or cut them. memctl docs remote has recipes.
    """
    files = {"sign": sign, "signers": signers, "recipients": recipients, "identity": identity}
    options = {key: ctx.absolute(path) for key, path in files.items() if path} | ({"author": author} if author else {})
    given = {"dry_run": dry_run, "watch": watch, "yes": yes, "adds": bool(scope or read_only), "log": bool(log)}
    _refuse_misplaced(action, name, url, **given, keys=bool(options))
    if action == "init":
        return _init(ctx, name or "", scope or [DEFAULT_SCOPE], read_only=read_only, dry_run=dry_run)
    if action != "add":
        ctx.narrow(READ if action in ("list", "status", "log", "verify") else WRITE)
    if action == "add":
        return _add(ctx, name or "", url or "", scope or [DEFAULT_SCOPE], trust, read_only, options)
    chosen = _chosen(ctx, name)
    if action == "sync":
        follows = watch and chosen
        return _follow(ctx, name, interval, yes=yes) if follows else _sync(ctx, chosen, dry_run=dry_run, yes=yes)
    if action == "remove":
        return _remove(ctx, chosen[0])
    if action == "log":
        return _log(ctx, chosen[0], limit)
    if action == "verify":
        return _verify(ctx, chosen[0])
    return _compact(ctx, chosen[0], log) if action == "compact" else _status(ctx, chosen, ask=action == "status")


def _refuse_misplaced(action: str, name: str | None, url: str | None, **given: bool) -> None:
    wrong = ""
    if action == "add" and not (name and url):
        wrong = "add takes a name and a URL: memctl remote add home ~/Sync"
    elif action == "init" and not name:
        wrong = "init takes the URL of a database: memctl remote init postgresql://HOST/DATABASE"
    elif action in ("log", "verify", "compact", "remove") and not name:
        wrong = f"{action} takes the name of a remote"
    elif url and action != "add":
        wrong = f"{action} takes no URL"
    elif action != "sync" and (given["watch"] or given["yes"] or (given["dry_run"] and action != "init")):
        wrong = "--watch and --yes are for sync, --dry-run for sync and init"
    elif (given["adds"] and action not in ("add", "init")) or (given["keys"] and action != "add"):
        wrong = "--scope, --read-only, --author and files with keys are for add, the first two for init"
    elif given["log"] and action != "compact":
        wrong = "--log is for compact only"
    elif given["dry_run"] and given["watch"]:
        wrong = "--dry-run and --watch do not go together"
    if wrong:
        raise errors.UsageError(wrong, command="remote")


def _chosen(ctx: Context, name: str | None) -> "list[Remote]":
    """The remotes that are meant. Raises RemoteNotFound."""
    from memctl.remote.errors import RemoteNotFound
    from memctl.store import remotes

    found = [one for one in remotes.list_remotes(ctx.db) if name in (None, one.name)]
    if name is not None and not found:
        raise RemoteNotFound(name=ctx.policy.redact(one_line(name, 200)))
    return found


# --- init, add, remove -----------------------------------------------------------------------------------------------


def _init(ctx: Context, url: str, scopes: list[str], *, read_only: bool, dry_run: bool) -> PlainResult:
    """Make a database ready; the answer is a script for psql, which admits a member."""
    from memctl.remote import places, postgres
    from memctl.remote.errors import RemoteInvalid

    ctx.narrow(NONE)
    names = [one_line(ctx.scope_named(one.strip()), 200) for one in scopes]
    try:
        made = places.create(url, dry_run=dry_run)
    except OSError as exc:
        raise RemoteInvalid(reason=str(exc)) from exc
    script = postgres.grants(names, writes=not read_only)
    data = {"status": "dry_run", "dry_run": True} if dry_run else {"status": "ok", "changed": made}
    if dry_run:
        data["schema"] = postgres.SCHEMA
        return PlainResult(data | {"grants": script}, [*postgres.SCHEMA.strip().splitlines(), *script])
    ctx.note(f"[remote] {'the tables are made' if made else 'the tables were there'}; for each member, as the one who "
             "made them: psql URL -v member=ROLE -f GRANTS, where GRANTS has these lines")  # fmt: skip
    return PlainResult(data | {"grants": script}, script)


def _add(
    ctx: Context, name: str, url: str, scopes: list[str], trust: str, read_only: bool, options: dict[str, str]
) -> PlainResult:
    from memctl.item_policy import ItemPolicy
    from memctl.remote import places
    from memctl.remote.errors import RemoteInvalid
    from memctl.remote.sealing import RemoteSeal
    from memctl.store import remotes

    judge = ItemPolicy(ctx.policy)
    if judge.refuses(name, url):
        raise RemoteInvalid(reason="there is a secret in it; git's credential helper and ~/.pgpass keep those")
    if not name.replace("-", "").replace("_", "").isalnum() or len(name) > _NAME:
        raise RemoteInvalid(reason=f"its name is one word of at most {_NAME} letters, digits, - and _")
    there = {one.name: one for one in remotes.list_remotes(ctx.db)}
    mapped: dict[str, str] = {}
    for word in scopes:
        local, _, far = word.partition("=")
        local = ctx.scope_named(local.strip())
        mapped[local] = far.strip() or local
        if not local or one_line(mapped[local], 200) != mapped[local] or judge.refuses(local, mapped[local]):
            raise RemoteInvalid(reason=f"'{ctx.policy.redact(one_line(word, 200))}' is no scope")
        for other in there.values():
            if local in other.scopes and other.name != name:
                raise RemoteInvalid(reason=f"the scope {local} is shared through {other.name} already")
    if len(set(mapped.values())) < len(mapped):
        raise RemoteInvalid(reason="two scopes of this store cannot be one there")
    if (who := options.get("author", "")) and (one_line(who, _NAME) != who or judge.refuses(who)):
        raise RemoteInvalid(reason=f"--author takes a name of at most {_NAME} characters")
    seal = RemoteSeal.of(options)
    seal.check()
    if seal.identity and not (seal.recipients or read_only):
        raise RemoteInvalid(
            reason="--identity alone: all would leave unencrypted; add --recipients FILE or --read-only"
        )
    replica = remotes.new_replica()
    new = remotes.Remote(name, places.resolve(url, ctx.absolute), mapped, trust, read_only, replica, (replica,),
                         options=options)  # fmt: skip
    old = there.get(name)
    if old is not None and (*old[1:5], old.options) != (*new[1:5], options):
        raise RemoteInvalid(reason=f"there is another one named {name}: memctl remote remove {name} forgets it")
    if old is None:
        with ctx.at_work("remote"):
            remotes.add_remote(ctx.db, new)
        ctx.note(f"[remote] memctl remote sync {name} --dry-run shows what would leave; without it, it goes")
    shared = ", ".join(here if here == far else f"{here} as {far}" for here, far in mapped.items())
    lines = [f"{name}  {new.url}  shares {shared}; trust {trust}{', read only' if read_only else ''}"]
    return PlainResult({"status": "ok", "changed": old is None, **_described(old or new)}, lines)


def _described(one: "Remote") -> dict[str, Any]:
    return {
        "name": one.name, "url": one.url, "scopes": one.scopes, "trust": one.trust, "read_only": one.read_only,
        "replica": one.replica, **one.options,
    }  # fmt: skip


def _remove(ctx: Context, one: "Remote") -> PlainResult:
    from memctl.remote.places import drop_copy
    from memctl.store import remotes

    remotes.remove_remote(ctx.db, one.name)
    drop_copy(one.url)
    ctx.note("[remote] what came from there stays; what went there stays there")
    if not (one.read_only or one.options.get("signers") or one.url.startswith("postgres")):
        ctx.note("[remote] whoever has read it can shorten it, this store too if it is added again: "
                 f"memctl remote compact {one.name} --log {one.replica}")  # fmt: skip
    return PlainResult({"status": "ok", "name": one.name, "replica": one.replica}, [f"{one.name} is forgotten"])


# --- sync ------------------------------------------------------------------------------------------------------------


def _exchange(ctx: Context, one: "Remote") -> "RemoteExchange":
    from memctl.remote.exchange import RemoteExchange
    from memctl.remote.places import open_carrier

    who = one.options.get("author") or ctx.env("LOGNAME") or ctx.env("USER") or ""
    return RemoteExchange(ctx.db, one.name, open_carrier(one.url), ctx.policy, one_line(who, _NAME))


def _follow(ctx: Context, name: str | None, interval: float, *, yes: bool) -> PlainResult:
    """Exchange again and again, each time as a run of its own, until it is interrupted."""
    from memctl.remote.errors import RemoteUnreachable
    from memctl.remote.places import waiting_at

    ctx.note("[remote] Watching; ^C stops")
    done = PlainResult({"status": "ok", "total": 0, "truncated": False, "remotes": []}, [])
    try:
        wait = waiting_at(one.url for one in _chosen(ctx, name))
        while True:
            try:
                done = _sync(ctx, _chosen(ctx, name), dry_run=False, yes=yes)
            except RemoteUnreachable as exc:  # it may come back
                ctx.warn(f"[remote] {exc}")
            wait(interval)
            ctx.end_run()
            ctx.begin_run("remote")
    except KeyboardInterrupt:
        ctx.note("[remote] Stopped")
    return done


def _sync(ctx: Context, chosen: "list[Remote]", *, dry_run: bool, yes: bool) -> PlainResult:
    if not chosen:
        ctx.note("[remote] there is no remote: memctl remote add NAME URL")
    rows, failed, lines = list[dict[str, Any]](), list[errors.MemctlError](), list[str]()
    for one in chosen:
        try:
            done = _exchange(ctx, one).run(accept=yes, dry_run=dry_run)
        except errors.MemctlError as exc:
            if len(chosen) == 1:
                raise
            failed.append(exc)
            ctx.warn(f"[remote] {exc}")
            continue
        _tell(ctx, one, done, dry_run=dry_run)
        rows.append(_row(one, done, dry_run=dry_run))
        lines += _leaving_lines(done) if dry_run else []
    if failed and not rows:
        raise failed[0]
    data = {"status": "dry_run" if dry_run else "ok", **({"dry_run": True} if dry_run else ctx.run_key())}
    return PlainResult(data | {"total": len(rows), "truncated": False, "remotes": rows}, lines)


def _row(one: "Remote", done: "Exchanged", *, dry_run: bool) -> dict[str, Any]:
    counts = {name: value for name, value in done._asdict().items() if value.__class__ is int}
    waits = [{"id": item_id, "reason": why} for item_id, why in sorted(done.waits.items())]
    row = {"name": one.name, **counts, "waits": waits[:_MOST], "waiting": len(waits), "problems": done.problems,
           "more": done.more}  # fmt: skip
    return row | ({"leaves": done.leaves} if dry_run else {}) | ({"became": done.became} if done.became else {})


def _tell(ctx: Context, one: "Remote", done: "Exchanged", *, dry_run: bool) -> None:
    """Say what an exchange did, or would do."""
    words = {
        "sent": done.sent, "received": done.received, "new": done.new, "changed": done.changed,
        "archived": done.archived, "purged": done.purged, "held back": done.held, "refused": done.refused,
    }  # fmt: skip
    said = ", ".join(f"{count} {word}" for word, count in words.items() if count)
    ctx.note(f"[remote] {one.name}: {'this would be ' if dry_run and said else ''}{said or 'nothing new'}")
    if done.more:
        told = "this is of a first part; the rest is not looked at" if dry_run else "the next sync goes on"
        ctx.note(f"[remote] {one.name}: others have said more than was read: {told}")
    if done.became:
        ctx.warn(f"[remote] {one.name}: this store is a copy of another; it goes on under a name of its own")
    for who, problem in sorted(done.problems.items()):
        ctx.warn(f"[remote] {one.name}: the log of {one_line(who, _TITLE)} {problem}")
    if done.waits:
        named = ", ".join(sorted(done.waits)[:_NAMED]) + (", …" if len(done.waits) > _NAMED else "")
        ctx.warn(f"[remote] {one.name}: policy keeps {len(done.waits)} item(s) here: {named}")


def _leaving_lines(done: "Exchanged") -> Iterator[str]:
    """What would leave, a record a line."""
    import json

    from memctl.text.clean import escaped

    for one in done.leaves:
        yield escaped(json.dumps(one, ensure_ascii=False))


# --- status, log -----------------------------------------------------------------------------------------------------


def _status(ctx: Context, chosen: "list[Remote]", *, ask: bool) -> PlainResult:
    from memctl.remote import places
    from memctl.remote.state import state_of

    rows, lines = [], list[str]()
    for one in chosen:
        carrier = places.open_carrier(one.url) if ask and ctx.db.trusted else None
        found = state_of(ctx.db, one, carrier)
        shown = one if ctx.bounds is None else one._replace(options={})  # where keys are is nothing for a model
        rows.append(_described(shown) | found)
        behind = "" if found["behind"] is None else f", {found['behind']} segment(s) behind"
        behind += f", {found['held']} held back until you decide (memctl review)" if found["held"] else ""
        when = str(one.exchanged_at)[:16].replace("T", " ") or "never"
        lines.append(f"{one.name}  {one.url}  {found['ahead']} ahead{behind}; last exchange {when}")
        if ask:
            lines += [f"    {who['who'] or who['replica']}: {who['records']} record(s)" for who in found["authors"]]
            lines += [f"    ! {problem}" for problem in found["problems"]]
    if not rows:
        ctx.note("[remote] there is no remote: memctl remote add NAME URL")
    return PlainResult({"status": "ok", "total": len(rows), "truncated": False, "remotes": rows}, lines)


@operation(
    name="remote-status",
    access=READ,
    tool="memory_remote_status",
    about="Say with which other machines this memory is shared, and when they last exchanged. It exchanges nothing.",
    answer={"remotes": "array", "total": "integer"},
    idempotent=True,
)
def remote_status(ctx: Context) -> PlainResult:
    """Say with which machines the memory is shared, without asking them.

    Records that wait to be sent, the last exchange, who writes there, and what went wrong.
    """
    return _status(ctx, _chosen(ctx, None), ask=False)


def _log(ctx: Context, one: "Remote", limit: int) -> PlainResult:
    from memctl.remote.state import entries_of

    found = entries_of(ctx.db, one)
    rows = found[:limit]
    lines = [f"{row['at'][:16].replace('T', ' ')}  {row['who']:<12} {row['what']:<10} {row['id']}  "
             f"{one_line(row['title'], _TITLE)}".rstrip() for row in rows]  # fmt: skip
    if len(found) > limit:
        ctx.note(f"[remote] {limit} of {len(found)} entries; -n {len(found)} shows all")
    data = {"status": "ok", "name": one.name, "total": len(found), "truncated": len(found) > limit, "entries": rows}
    return PlainResult(data, lines)


# --- verify, compact -------------------------------------------------------------------------------------------------


def _verify(ctx: Context, one: "Remote") -> PlainResult:
    from memctl.remote.errors import RemoteUnreachable
    from memctl.remote.state import verified

    if not ctx.db.trusted:  # it would be somebody else who says where this machine connects to
        raise errors.StoreUntrusted(path=ctx.db_path)
    try:
        rows = verified(_exchange(ctx, one))
    except OSError as exc:
        raise RemoteUnreachable(name=one.name, reason=exc.strerror or str(exc)) from exc
    lines = [f"{row['scope']}/{row['who'] or row['replica']}: {row['segments']} segment(s), {row['records']} record(s)"
             f"{': ' + row['problem'] if row['problem'] else ''}" for row in rows]  # fmt: skip
    bad = [row for row in rows if row["problem"]]
    ctx.note(f"[remote] {len(rows)} log(s), {len(bad)} with a problem")
    data = {
        "status": "problem" if bad else "ok",
        "name": one.name,
        "total": len(rows),
        "truncated": False,
        "logs": rows,
    }
    return PlainResult(data, lines)


def _compact(ctx: Context, one: "Remote", log: str | None) -> PlainResult:
    from memctl.remote.anew import compacted, compacted_for
    from memctl.remote.errors import RemoteInvalid, RemoteUnreachable
    from memctl.remote.places import drop_copy

    if one.read_only:
        raise errors.UsageError(f"{one.name} is read only", command="remote")
    exchange = _exchange(ctx, one)
    exchange.run()
    if log is not None and log in exchange.remote.mine:
        raise RemoteInvalid(reason=f"{log} is this machine's own log: compact without --log")
    with ctx.at_work("remote"):
        try:
            found = compacted(exchange) if log is None else compacted_for(exchange, log)
            rows = [{"scope": scope, "records": count} for scope, count in found]
        except OSError as exc:
            raise RemoteUnreachable(name=one.name, reason=exc.strerror or str(exc)) from exc
        if log is not None and not rows:
            raise RemoteInvalid(reason=f"{one.name} has no log {ctx.policy.redact(one_line(log, _NAME))}")
        exchange.run()
    drop_copy(one.url)
    lines = [f"{row['scope']}: {row['records']} record(s) in one piece" for row in rows]
    return PlainResult({"status": "ok", "name": one.name, "total": len(rows), "truncated": False, "logs": rows}, lines)
