"""The server: what `memctl serve` and `python -m memctl.mcp.server` build and run.

Nothing of a tool's work is imported before a call asks for it; the SDK is when there is something to build.
"""

import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import NamedTuple

from memctl import __version__, errors, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import DEFAULT_STORE, Context
from memctl.mcp import stdio
from memctl.mcp.audit import AuditLogger
from memctl.mcp.guard import GuardError, ServerGuard
from memctl.mcp.handle_pool import HandlePool
from memctl.mcp.middleware import Metrics, ToolMiddleware
from memctl.mcp.protocol import Protocol, Roots
from memctl.mcp.rate_limiter import RateLimiter
from memctl.mcp.session import SessionTracker
from memctl.mcp.tool_calls import ToolRunner
from memctl.mcp.tool_schema import CatalogTool, catalog
from memctl.operation import READ

if TYPE_CHECKING:
    from memctl.api import MemoryStore

NAME = "memctl Memory"
#: Seconds that an exchange with the remotes may take, and bytes of its answer.
_EXCHANGE_SECONDS, _EXCHANGE_BYTES = 900.0, 1 << 20
#: Seconds that a server which must end gives to writes that are going on.
GRACE_SECONDS = 5.0


class BuiltServer(NamedTuple):
    """A server that is ready to run, and what it is made of.

    core    what answers; a transport brings it the requests
    shield  what HTTP reaches it through; None on stdio
    token   what callers need that was made for this run, because nobody named any; "" when none was
    """

    core: Protocol
    pool: HandlePool
    tools: list[CatalogTool]
    shield: Any = None
    token: str = ""

    def check(self) -> None:
        """Open the store, and import every tool's operation."""
        self.pool.check_folder()
        self.pool.open()
        self.pool.close()
        for entry in self.tools:
            _ = entry.tool


def _sdk() -> Any:
    """Our side of the SDK. Raises SdkMissing and SdkUnusable."""
    try:
        return import_module("memctl.mcp.sdk")
    except ImportError as exc:
        try:  # what is missed first may be a library that the SDK would have brought
            import_module("mcp")
        except ModuleNotFoundError as missing:
            if missing.name == "mcp":
                raise errors.SdkMissing from exc
        except ImportError:
            pass
        raise errors.SdkUnusable(reason=str(exc)) from exc


def build(options: Mapping[str, Any], ctx: Context) -> BuiltServer:
    """A server from the parameters of `serve`. Raises what is wrong with them."""
    llm = options["llm"]
    named = ctx.db_flag or ctx.env("MEMCTL_DB")
    try:
        guard = ServerGuard(
            options["db_root"] or (ctx.cwd if options["secure"] else None), options["max_write_bytes"],
            max_db_size_mb=options["max_db_size"], allow_roots=options["allow_root"],
            llm_commands=model_commands(options, ctx), cwd=ctx.cwd,
        )  # fmt: skip
        # Without a name it is the nearest store or, inside a --db-root, the one there.
        db = guard.validate_db_path(named or (ctx.db_path if guard.db_root is None else DEFAULT_STORE))
    except GuardError as exc:
        raise errors.PlaceRefused(str(exc)) from exc
    # The settings of the tools: the environment, and over it the server's own flags.
    own = {
        "MEMCTL_FTS": options["fts_tokenizer"],
        "MEMCTL_BUDGET": options["inject_budget"],
        "MEMCTL_LLM": llm[0] if llm else None,
    }
    environ = dict(ctx.environ) | {name: str(value) for name, value in own.items() if value is not None}
    found = not named and (guard.db_root is not None or ctx.is_found)
    pool = HandlePool(db, found=found, config=ctx.config_flag, environ=environ, cwd=ctx.cwd)
    limiter = None
    if not options["no_rate_limit"]:
        limiter = RateLimiter(
            options["writes_per_minute"], options["reads_per_minute"], options["burst_factor"],
            options["max_proposals_per_turn"],
        )  # fmt: skip
    is_remote, path = options["transport"] != "stdio", options["audit_log"]
    try:
        audit = AuditLogger(None if path is None else ctx.absolute(path))
    except OSError as exc:
        why = exc.strerror or str(exc)
        raise errors.UsageError(f"--audit-log: cannot write to '{path}': {why}", command="serve") from exc
    middleware = ToolMiddleware(
        guard=guard, rate_limiter=limiter, audit=audit, sessions=SessionTracker(),
        metrics=Metrics(), db_path=db, remote=is_remote,
    )  # fmt: skip
    runner = ToolRunner(pool, middleware)
    models = model_commands(options, ctx)
    chosen = [one for one in catalog(options["toolset"]) if models or not one.annotations["openWorldHint"]]
    with pool.context(writes=False) as inside:
        is_named = inside.is_personal and not _is_nowhere(ctx.cwd)
        core = Protocol(NAME, __version__, chosen, runner, inside.project.scope if is_named else "")
    if found and guard.db_root is None and not is_remote and _is_nowhere(ctx.cwd):

        def locate(folder: str) -> None:
            pool.locate(folder)
            middleware.use_store(pool.db_path)

        core.roots = Roots(locate)
    if not is_remote:
        return BuiltServer(core, pool, chosen)
    return BuiltServer(core, pool, chosen, *_shield(core, pool, options, ctx))


def _is_nowhere(folder: str) -> bool:
    """Whether a folder is nobody's project: desktop clients start servers in the home folder, or in the root."""
    return os.path.realpath(folder) in (os.path.realpath(os.path.expanduser("~")), os.path.abspath(os.sep))


def model_commands(options: Mapping[str, Any], ctx: Context) -> list[str]:
    """The model commands that the server was given."""
    return options["llm"] or [one for one in [ctx.env("MEMCTL_LLM")] if one]


def _shield(core: Protocol, pool: HandlePool, options: Mapping[str, Any], ctx: Context) -> tuple[Any, str]:
    """What stands before the server over HTTP, and the token that was made for this run, "" if there is none.

    Raises what is wrong with the tokens and the address.
    """
    from secrets import token_urlsafe

    sdk = _sdk()
    from memctl.mcp import http
    from memctl.mcp.grants import Grant, Tokens, read_tokens

    host, hosts, origins = options["host"], options["allow_host"] or (), options["allow_origin"] or ()
    token, tokens = "", None
    if options["token_file"] is not None:
        tokens = read_tokens(ctx.absolute(options["token_file"]))
    else:
        http.check_binding(host, None)
        if not options["no_token"]:
            token = token_urlsafe(32)
            tokens = Tokens({token: Grant("this-run", writes=True)})
    shield = http.Shield(
        sdk.http_app(sdk.MemoryServer(core, verbose=ctx.verbose), options["transport"]),
        names=http.allowed_names(host, hosts, origins), tokens=tokens, allow_origins=origins, healthy=pool.is_readable,
    )  # fmt: skip
    return shield, token


# --- running ---------------------------------------------------------------------------------------------------------


def run(built: BuiltServer, options: Mapping[str, Any], ctx: Context) -> None:
    """Serve until the input ends or a signal comes."""
    code: int | None = None
    if built.shield is None and (sys.stdin is None or sys.stdout is None):
        raise errors.StreamsClosed
    if options["sdk"]:
        _sdk()  # or say at once that it is missing
    ctx.note(f"memctl MCP server (db={built.pool.db_path})")
    if options["exchange"]:
        given = built.pool, options["exchange"] * 60, ctx
        Thread(target=_exchange_regularly, args=given, daemon=True).start()
    try:
        if built.shield is not None:
            _serve_http(built, options, ctx)
        elif options["sdk"]:
            ctx.note("Transport: stdio (local), by the SDK. Press Ctrl+C to stop.")
            signal.signal(signal.SIGTERM, lambda number, _frame: _end(built.pool, 128 + number))
            _sdk().MemoryServer(built.core, verbose=ctx.verbose).run("stdio")
        else:
            ctx.note("Transport: stdio (local). Press Ctrl+C to stop.")
            code = stdio.serve(built.core) or None
            if code is None:
                from memctl.ops.care.consolidate import consolidate_at_end

                consolidate_at_end(ctx)
    finally:
        _end(built.pool, code)


def _serve_http(built: BuiltServer, options: Mapping[str, Any], ctx: Context) -> None:
    from memctl.mcp import http

    host, transport = options["host"], options["transport"]
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - said, not bound to
        ctx.warn("memctl: the server listens on all addresses of this machine")

    def started(port: int) -> None:
        ctx.note(f"Transport: {transport} on {host}:{port}. Press Ctrl+C to stop.")
        if built.token:
            ctx.warn(f"Token of this run, for callers to send as Authorization: Bearer {built.token}")

    try:
        http.serve(built.shield, host=host, port=options["port"], started=started)
    except OSError as exc:
        raise errors.AddressTaken(host=host, port=options["port"], reason=exc.strerror or str(exc)) from exc


def _exchange_regularly(pool: HandlePool, pause: int, ctx: Context) -> None:
    """Exchange with the store's remotes, if it has any, now and after each pause in seconds.

    A process of its own does it, which ends with the server: no call waits for the network, or for another's Python.
    """
    said = ""
    while True:
        problem = ""
        try:
            if _has_remotes(pool):
                problem = _exchange_once(pool, ctx)
        except errors.MemctlError as exc:
            problem = f"not exchanged: {exc.message}"
        if problem and problem != said:
            ctx.warn(f"[remote] {problem}")
        said = problem
        ids.pause(0.9 * pause, 1.1 * pause)


def _has_remotes(pool: HandlePool) -> bool:
    """Whether there is anything to exchange; what a store of somebody else names is nobody's remote."""
    from memctl.store import remotes

    with pool.context(writes=False) as inside:
        inside.allow(READ)
        return inside.db.trusted and bool(remotes.list_remotes(inside.db))


def _exchange_once(pool: HandlePool, ctx: Context) -> str:
    """`memctl remote sync`, as a process; what it complained of."""
    from memctl.process import own_command, running

    said: list[str] = []
    config = ["--config", ctx.config_flag] if ctx.config_flag else []
    argv = [*own_command(), "--quiet", "--db", pool.db_path, *config, "remote", "sync"]
    with running(_EXCHANGE_BYTES, on_line=said.append) as program:
        try:
            program.start(argv, None, env=ctx.environ)
        except OSError as exc:
            return f"not exchanged: {exc.strerror or exc}"
        if not program.exchange(ids.monotonic() + _EXCHANGE_SECONDS):
            program.end(signal.SIGTERM)
            return f"not exchanged: it took more than {_EXCHANGE_SECONDS:g} seconds"
    return " ".join(said).removeprefix("[remote] ").removeprefix("memctl: ")


def _end(pool: HandlePool, code: int | None = None) -> None:
    """End what goes on: model commands, for which nobody else cares, at once; writes have a moment to finish.

    With a code, that of a signal, the process ends too, whatever threads are doing: they had their moment. Without one
    it does when something still goes on.
    """
    process = sys.modules.get("memctl.process")  # not there as long as no program was asked
    if process is not None:
        process.end_all()
    if pool.close(GRACE_SECONDS if code is None else 0.0) and code is None:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


# --- the module's own door -------------------------------------------------------------------------------------------


class _ServerParser(ArgumentParser):
    """The command line of `memctl serve`, read as that command reads it, for programs that want a namespace."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The global options and the parameters of `serve`, each with its setting or default."""
        from memctl.cli import help as pages
        from memctl.cli import parser
        from memctl.ops.start.serve import serve

        given = parser.Given()
        words = list(sys.argv[1:] if args is None else args)
        try:
            # --rate-limit, which is how it is anyway, is documented for this door alone.
            values = parser.parse(serve, [word for word in words if word != "--rate-limit"], given)
            if values is None:
                sys.stdout.write("".join(f"{line}\n" for line in pages.page(serve)))
                self.exit()
            ctx = Context(db=given.db, config=given.config)
            values = {param.name: ctx.setting(param) for param in serve.params()} | values
        except errors.MemctlError as exc:
            self.error(exc.message)
        found = Namespace() if namespace is None else namespace
        vars(found).update(values, rate_limit=not values["no_rate_limit"])
        vars(found).update(db=ctx.db_flag or ctx.env("MEMCTL_DB"), config=given.config, verbose=given.verbose)
        return found


def build_parser() -> ArgumentParser:
    """The parser of `python -m memctl.mcp.server`: the parameters of `serve`, and those that every command has."""
    return _ServerParser(prog="memctl-mcp", usage="memctl-mcp [OPTIONS], as of `memctl serve`", add_help=False)


def _from_arguments(args: Namespace) -> tuple[dict[str, Any], Context]:
    """The parameters of `serve` and the surroundings from parsed words; what a caller left out has its default."""
    from memctl.ops.start.serve import serve

    given = dict(vars(args))
    if "rate_limit" in given:
        given["no_rate_limit"] = not given["rate_limit"]

    def say(line: str) -> None:
        sys.stderr.write(f"{line}\n")

    ctx = Context(db=given.get("db"), config=given.get("config"), verbose=given.get("verbose", False), say=say)
    return {param.name: given.get(param.name, param.default) for param in serve.params()}, ctx


def create_server(args: Namespace) -> "tuple[Any, MemoryStore]":
    """The SDK's server with all tools on it, and the open store, from parsed arguments (`build_parser`).

    The tools use handles of their own; closing the store closes these as well.
    """
    from memctl.api import MemoryStore

    class ServerStore(MemoryStore):
        """The store of a server."""

        def close(self) -> None:
            """Close the server's handles too; what is being written has a moment to finish."""
            built.pool.close(GRACE_SECONDS)
            super().close()

    options, ctx = _from_arguments(args)
    built = build(options, ctx)
    server = _sdk().MemoryServer(built.core, verbose=ctx.verbose)
    with built.pool.context(writes=True) as inside:
        inside.allow("create")
        _ = inside.db  # which refuses a store of somebody else
        tokenizer, wal = inside.tokenizer, inside.config.store.wal_mode
    return server, ServerStore(built.pool.db_path, wal, tokenizer)


def main(argv: list[str] | None = None) -> int:
    """`python -m memctl.mcp.server`; the exit code."""
    from memctl.ops.start.serve import serve

    try:
        options, ctx = _from_arguments(build_parser().parse_args(argv))
        for line in serve.text(serve(ctx, **options)):
            sys.stdout.write(f"{line}\n")
    except errors.MemctlError as exc:
        hint = f"hint: {exc.advice()}\n" if exc.advice() else ""
        sys.stderr.write(f"memctl-mcp: {exc}\n{hint}")
        return exc.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
