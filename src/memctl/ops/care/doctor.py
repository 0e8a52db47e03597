"""memctl doctor: is everything in order, here and in the store."""

import os
import sys
from collections.abc import Iterator, Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated
from memctl.context import Context
from memctl.operation import READ, WRITE, Arg, PlainResult, operation

if TYPE_CHECKING:
    from memctl.store.check import Check

_ECO = os.path.join(".claude", "eco", "config.json")
_ENDS = {
    "pass": "All checks passed.",
    "warn": "Some warnings — memctl is functional.",
    "fail": "Failures detected — see above.",
}


@operation(
    access=WRITE,
    examples=(
        "memctl doctor",
        "memctl doctor --fix",
        "memctl doctor --client claude --prove  # does memory reach its model?",
        "memctl doctor --json | jq '.checks[] | select(.status != \"pass\")'",
    ),
    exits={0: "everything is in order, or works with warnings", 1: "a check failed"},
)
def doctor(
    ctx: Context,
    *,
    fix: Annotated[bool, Arg("mend in the store what can be mended", "--fix")] = False,
    client: Annotated[str | None, Arg("look instead at what this AI client has of memctl", "--client")] = None,
    prove: Annotated[
        bool, Arg("with --client: run it once against a scripted model, in a home of its own, and look", "--prove")
    ] = False,
) -> PlainResult:
    """Check Python, SQLite, the store and its index, and say what is wrong.

    Nothing is changed without --fix. It makes a wrong full-text index anew, takes away rows that stand beside items
    that are not there, sets wrong hashes and brings an older store up to date. A damaged file it leaves alone: that is
    for `memctl salvage`.

    With --client: is our entry there, does it run and answer, which store does it use, are the hooks there and trusted.
    --prove runs the client once, with your entry and hooks, a store of one statement, a model on this machine and no
    network; then it looks whether the statement was in what the client sent to the model. It takes up to a minute.
    """
    if prove and client is None:
        raise errors.UsageError("--prove is for --client", command="doctor")
    if client is not None:
        from memctl.clients import examine, known
        from memctl.ops.connect.setup import project_folder

        if fix:
            raise errors.UsageError("--fix is for the store; memctl setup mends a client", command="doctor")
        one, environ = known.client(client), ctx.environ
        return _report(ctx, [*examine.examine(one, project_folder(ctx.cwd), environ, prove=prove)])
    from memctl.store import check

    mended: list[str] = []
    if not fix:
        ctx.narrow(READ)
    with ctx.at_work("doctor"):
        if fix and os.path.exists(ctx.db_path):
            mended = check.mend(ctx.db, [one for one in check.check_store(ctx.db) if one.mend is not None])
        found = [*_here(), *_store(ctx), *_around(ctx)]
    return _report(ctx, found, mended if fix else None)


def _report(ctx: Context, found: "Sequence[Check]", mended: "Sequence[str] | None" = None) -> PlainResult:
    """What was looked at, and what was mended where that was asked for."""
    worst = next((status for status in ("fail", "warn") if any(one.status == status for one in found)), "pass")
    for one in found:
        ctx.note(f"[{one.status.upper()}] {one.message}")
    for name in mended or ():
        ctx.note(f"[FIXED] {name}")
    ctx.note("")
    ctx.note(_ENDS[worst])
    fixed = {} if mended is None else {"fixed": mended}
    data = {"status": "ok" if worst == "pass" else worst, "checks": _rows(found)} | fixed
    return PlainResult(data, exit_code=1 if worst == "fail" else 0)


def _rows(found: "Sequence[Check]") -> list[dict[str, str]]:
    return [{"name": one.name, "status": one.status, "detail": one.detail, "message": one.message} for one in found]


def verify_store(ctx: Context) -> PlainResult:
    """What `memctl verify` says without ids: whether the whole store is sound; a sound one remembers when that was."""
    from memctl.store import check, contents

    with ctx.at_work("verify"):
        found = check.check_store(ctx.db)
    is_sound = all(one.status != "fail" for one in found)
    data = {"status": "ok" if is_sound else "fail", "checks": _rows(found)}
    lines = [f"[{one.status.upper()}] {one.message}" for one in found]
    note = (lambda: check.note_time(ctx.db, contents.VERIFIED_KEY)) if is_sound else None
    return PlainResult(data, lines, 0 if is_sound else 1, after=note)


def _here() -> "Iterator[Check]":
    from memctl.store.check import Check, has_fts5, sqlite_version

    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python_version", "pass" if sys.version_info >= (3, 10) else "fail", version, f"Python {version}")
    sqlite = sqlite_version()
    yield Check("sqlite3_module", "pass", sqlite, f"sqlite3 available (SQLite {sqlite})")
    yield (
        Check("fts5_support", "pass", "yes", "FTS5 available")
        if has_fts5()
        else Check("fts5_support", "warn", "no", "This SQLite has no FTS5: searches read the text, and rank less well")
    )


def _store(ctx: Context) -> "Iterator[Check]":
    """The store: the documented checks, then those of `memctl verify`."""
    from memctl.store.check import Check, check_store, journal_mode

    path = ctx.db_path
    if not os.path.exists(path):
        yield Check("db_exists", "warn", path, f"There is no store yet at {path}; memctl init makes it")
        for name in ("wal_mode", "schema_version", "integrity_check"):
            yield Check(name, "warn", "skipped", f"{name}: there is no store to look at")
        return
    try:
        db = ctx.db
    except errors.MemctlError as exc:
        yield Check("db_exists", "fail", path, f"The store cannot be opened: {exc.message}")
        return
    yield Check("db_exists", "pass", path, f"Store: {path}")
    mode = journal_mode(db)
    yield (
        Check("wal_mode", "pass", mode, "Write-ahead log: readers do not wait for a writer")
        if mode == "wal"
        else Check(
            "wal_mode", "warn", mode, f"The store is in the mode {mode}; the next write turns on the write-ahead log"
        )
    )
    from memctl.store import migrate

    behind = 0 if migrate.is_current(db) else len(migrate.pending_steps(db))
    number = db.meta("schema_version") or "?"
    yield (
        Check(
            "schema_version",
            "warn",
            number,
            f"The store is {behind} step(s) behind; the next write brings it up to date",
        )
        if behind
        else Check("schema_version", "pass", number, f"Schema version {number}")
    )
    found = check_store(db)
    yield from found
    if found[0].status != "fail":
        yield from _remotes(ctx)


_BEGIN_ANEW = "memctl remote remove {0} and remote add {0} begin anew: all statements stay, here and there"


def _remotes(ctx: Context) -> "Iterator[Check]":
    """What is known of other machines, where there are any; none is asked."""
    from memctl.remote import places
    from memctl.remote.state import damage_of
    from memctl.store import remotes
    from memctl.store.check import Check

    try:
        there = remotes.list_remotes(ctx.db)
    except ValueError:
        yield Check(
            "remotes", "fail", "unreadable", "The list of remotes cannot be read; memctl restore takes a backup"
        )
        return
    damage = {one.name: said for one in there if (said := "; ".join(damage_of(ctx.db, one)))}
    for name, said in damage.items():
        yield Check("remotes", "fail", name, f"Remote {name}: {said}; {_BEGIN_ANEW.format(name)}")
    gone = [one for one in there if places.is_gone(one.url)]
    for one in gone:
        said = f"{one.url.removeprefix('git:')} is not there; memctl remote remove {one.name} forgets it"
        yield Check("remotes", "warn", one.name, f"Remote {one.name}: {said}")
    if there and not (damage or gone):
        yield Check("remotes", "pass", str(len(there)), "What is known of each remote can be read")


def _around(ctx: Context) -> "Iterator[Check]":
    """What stands around the store: policy, the server, older clients."""
    import json
    from importlib.util import find_spec

    from memctl.policy import RULES
    from memctl.store.check import Check

    try:
        _ = ctx.policy
        yield Check("policy_patterns", "pass", str(len(RULES)), f"{len(RULES)} policy rules")
    except errors.MemctlError as exc:
        yield Check("policy_patterns", "fail", "0", exc.message)
    yield (
        Check("mcp_server", "pass", "stdio, http", "The MCP server speaks over stdio and HTTP")
        if find_spec("mcp")
        else Check(
            "mcp_server", "pass", "stdio", "The MCP server speaks over stdio; HTTP needs pip install 'memctl[http]'"
        )
    )
    try:
        with open(os.path.join(ctx.cwd, _ECO), encoding="utf-8") as file:
            json.load(file)
        yield Check("eco_config", "pass", _ECO, "Eco mode is configured")
    except FileNotFoundError:
        yield Check("eco_config", "warn", "", "Eco mode not configured (optional)")
    except (OSError, ValueError) as exc:
        yield Check("eco_config", "warn", _ECO, f"{_ECO} cannot be read: {exc}")
