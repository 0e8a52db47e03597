"""The server: what `memctl serve` and `python -m memctl.mcp.server` build and run.

Nothing of a tool's work is imported before a call asks for it; the SDK is when there is something to build.
"""

import os
import sys
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from memctl import __version__, errors
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import DEFAULT_STORE, Context
from memctl.mcp import catalog, instructions
from memctl.mcp.audit import AuditLogger
from memctl.mcp.defence import Defence
from memctl.mcp.guard import GuardError, ServerGuard
from memctl.mcp.home import Home
from memctl.mcp.metrics import Metrics
from memctl.mcp.rate_limiter import RateLimiter
from memctl.mcp.session import SessionTracker
from memctl.operation import READ

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from memctl.api import MemoryStore

    T = TypeVar("T")

NAME = "memctl Memory"
#: So many seconds a server that must end gives to writes that are going on.
GRACE_SECONDS = 5.0
_HTTP = ("streamable-http", "sse")


class Built(NamedTuple):
    """A server that is ready to run, and what it is made of.

    shield  what HTTP reaches it through
    token   what callers need that was made for this run, because nobody named any; "" when none was
    """

    server: Any
    home: Home
    tools: list[catalog.Listed]
    shield: Any = None
    token: str = ""

    def check(self) -> None:
        """Open the store, import every tool's operation, and list the tools as a client would see them."""
        self.home.check_folder()
        self.home.open()
        self.home.close()
        for one in self.tools:
            _ = one.tool
        listed = _sdk().listed(self.server)
        if listed != [tool.name for tool in self.tools]:
            raise RuntimeError(f"the SDK lists {listed}")


def check_named(options: Mapping[str, Any], ctx: Context) -> None:
    """Whether the commands and folders that were named are there: a server starts without them, and refuses later.

    Raises ModelMissing, ModelUnusable and FileMissing.
    """
    from memctl.llm.command import ModelCommand

    for command in _commands(options, ctx):
        ModelCommand.parse(command)
    for root in options["allow_root"] or ():
        if not os.path.isdir(ctx.absolute(root)):
            raise errors.FileMissing(path=root, reason="--allow-root names no folder")


def _sdk() -> Any:
    """Our side of the SDK. Raises SdkMissing and SdkUnusable."""
    try:
        from memctl.mcp import sdk
    except ImportError as exc:
        if not _is_there("mcp"):  # what is missed first may be a library that the SDK would have brought
            raise errors.SdkMissing from exc
        raise errors.SdkUnusable(reason=str(exc)) from exc
    return sdk


def _is_there(module: str) -> bool:
    from importlib import import_module

    try:
        import_module(module)
    except ModuleNotFoundError as exc:
        return exc.name != module
    except ImportError:
        pass
    return True


def build(options: Mapping[str, Any], ctx: Context) -> Built:
    """A server from the parameters of `serve`. Raises what is wrong with them."""
    sdk = _sdk()
    from memctl.mcp import extras, tools

    guard = _guard(options, ctx)
    db = _placed(guard.validate_db_path, _asked(ctx, guard))
    home = Home(db, found=_is_found(ctx, guard), config=ctx.config_flag, environ=_environ(options, ctx), cwd=ctx.cwd)
    limiter = None
    if not options["no_rate_limit"]:
        limiter = RateLimiter(
            options["writes_per_minute"], options["reads_per_minute"], options["burst_factor"],
            options["max_proposals_per_turn"],
        )  # fmt: skip
    defence = Defence(
        guard=guard, rate_limiter=limiter, audit=_audit(options, ctx), sessions=SessionTracker(), metrics=Metrics(),
        db_path=db, remote=options["transport"] in _HTTP,
    )  # fmt: skip
    chosen = catalog.chosen(options["toolset"])
    words = instructions.text({tool.name for tool in chosen})
    server = sdk.new_server(NAME, instructions=words, version=__version__, verbose=ctx.verbose)
    desk = tools.Desk(home, defence)
    tools.put(server, desk, chosen)
    extras.add(server, desk)
    return Built(server, home, chosen, *(_shield(server, home, options, ctx) if defence.remote else ()))


def _shield(server: Any, home: Home, options: Mapping[str, Any], ctx: Context) -> tuple[Any, str]:
    """What stands before the server over HTTP, and the token that was made for this run, "" if there is none.

    Raises what is wrong with the tokens and the address.
    """
    from memctl.mcp import http
    from memctl.mcp.http_tokens import made_token, read_tokens

    token, tokens = "", None
    if options["token_file"] is not None:
        tokens = read_tokens(ctx.absolute(options["token_file"]))
    else:
        http.check_binding(options["host"], None)
        if not options["no_token"]:
            token, tokens = made_token()
    shield = http.protect(
        _sdk().http_app(server, options["transport"]), host=options["host"], tokens=tokens,
        allow_hosts=options["allow_host"] or (), allow_origins=options["allow_origin"] or (),
        healthy=lambda: _is_readable(home),
    )  # fmt: skip
    return shield, token


def _guard(options: Mapping[str, Any], ctx: Context) -> ServerGuard:
    root = options["db_root"] or (ctx.cwd if options["secure"] else None)
    return _placed(
        ServerGuard, root, options["max_write_bytes"], max_db_size_mb=options["max_db_size"],
        allow_roots=options["allow_root"], llm_commands=_commands(options, ctx), cwd=ctx.cwd,
    )  # fmt: skip


def _commands(options: Mapping[str, Any], ctx: Context) -> list[str]:
    """The model commands that the server was given."""
    return options["llm"] or [one for one in [ctx.env("MEMCTL_LLM")] if one]


def _placed(call: "Callable[..., T]", *args: Any, **options: Any) -> "T":
    """`call(...)`, whose GuardError becomes an error of the command."""
    try:
        return call(*args, **options)
    except GuardError as exc:
        raise errors.PlaceRefused(str(exc)) from exc


def _asked(ctx: Context, guard: ServerGuard) -> str:
    """The store that was named; without a name the nearest one, or, inside a --db-root, the one there."""
    named = ctx.db_flag or ctx.env("MEMCTL_DB")
    return named or (ctx.db_path if guard.db_root is None else DEFAULT_STORE)


def _is_found(ctx: Context, guard: ServerGuard) -> bool:
    """Whether nobody named the store: then it is trusted only as this user's own."""
    return not (ctx.db_flag or ctx.env("MEMCTL_DB")) and (guard.db_root is not None or ctx.is_found)


def _environ(options: Mapping[str, Any], ctx: Context) -> dict[str, str]:
    """The settings of the tools: the environment, and over it the server's own flags."""
    llm = options["llm"]
    own = {
        "MEMCTL_FTS": options["fts_tokenizer"],
        "MEMCTL_BUDGET": options["inject_budget"],
        "MEMCTL_LLM": llm[0] if llm else None,
    }
    return dict(ctx.environ) | {name: str(value) for name, value in own.items() if value is not None}


def _audit(options: Mapping[str, Any], ctx: Context) -> AuditLogger:
    path = options["audit_log"]
    if path is None:
        return AuditLogger(None)
    try:
        return AuditLogger(ctx.absolute(path))
    except OSError as exc:
        why = exc.strerror or str(exc)
        raise errors.UsageError(f"--audit-log: cannot write to '{path}': {why}", command="serve") from exc


# --- running ---------------------------------------------------------------------------------------------------------


def run(built: Built, options: Mapping[str, Any], ctx: Context) -> None:
    """Serve until the input ends or a signal comes."""
    if options["transport"] not in _HTTP and (sys.stdin is None or sys.stdout is None):
        raise errors.StreamsClosed
    built.home.open()
    ctx.note(f"memctl MCP server (db={built.home.db_path})")
    try:
        if options["transport"] in _HTTP:
            _serve_http(built, options, ctx)
        else:
            ctx.note("Transport: stdio (local). Press Ctrl+C to stop.")
            _sdk().run_stdio(built.server, lambda code: _end(built.home, code))
    finally:
        _end_models()
        if not built.home.close(GRACE_SECONDS):
            _exit(0)


def _serve_http(built: Built, options: Mapping[str, Any], ctx: Context) -> None:
    from memctl.mcp import http_serve

    host, transport = options["host"], options["transport"]
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - said, not bound to
        ctx.warn("memctl: the server listens on all addresses of this machine")

    def started(port: int) -> None:
        ctx.note(f"Transport: {transport} on {host}:{port}. Press Ctrl+C to stop.")
        if built.token:
            ctx.warn(f"Token of this run, for callers to send as Authorization: Bearer {built.token}")

    try:
        http_serve.serve(built.shield, host=host, port=options["port"], started=started)
    except OSError as exc:
        raise errors.AddressTaken(host=host, port=options["port"], reason=exc.strerror or str(exc)) from exc


def _is_readable(home: Home) -> bool:
    """Whether the store can be opened, or may still be made, for `/health`."""
    if not os.path.lexists(home.db_path):
        return True
    try:
        with home.context(writes=False) as ctx:
            ctx.allow(READ)
            return bool(ctx.db.path)
    except errors.MemctlError:
        return False


def _end(home: Home, code: int) -> None:
    """End the process at once, whatever threads are doing; writes that are going on have a moment to finish."""
    _end_models()
    home.close(GRACE_SECONDS)
    _exit(code)


def _end_models() -> None:
    """Stop the model commands that calls are waiting for; nobody else would."""
    process = sys.modules.get("memctl.process")  # not there as long as no program was asked
    if process is not None:
        process.end_all()


def _exit(code: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


# --- the module's own door -------------------------------------------------------------------------------------------


def build_parser() -> ArgumentParser:
    """The parser of `python -m memctl.mcp.server`: the parameters of `serve`, and those that every command has."""
    from memctl.ops.start.serve import serve

    ctx = Context()
    parser = ArgumentParser(prog="memctl-mcp", description=f"{serve.summary}.", allow_abbrev=False)
    parser.add_argument("--db", default=ctx.env("MEMCTL_DB"), help="the store (else the nearest .memory/memory.db)")
    parser.add_argument("--config", help="the config file (else config.json beside the store)")
    parser.add_argument("-v", "--verbose", action="store_true", help="let the SDK say what it does on stderr")
    for param in serve.params():
        how: dict[str, Any] = {"dest": param.name, "help": param.arg.help, "default": ctx.setting(param)}
        flags: tuple[str, ...] = param.arg.flags
        if param.name == "no_rate_limit":  # documented as --rate-limit / --no-rate-limit
            flags = (flags[0].replace("--no-", "--"),)
            how |= {"dest": "rate_limit", "action": BooleanOptionalAction, "default": not how["default"]}
        elif param.scalar is bool:
            how["action"] = "store_true"
        else:
            how |= {"type": _checked(param), "choices": param.choices or None, "metavar": param.arg.metavar}
            how |= {"nargs": "+"} if param.many else {}
        parser.add_argument(*flags, **how)
    return parser


def _checked(param: Any) -> Any:
    from argparse import ArgumentTypeError

    def value(text: str) -> Any:
        try:
            return param.check(param._scalar(text))
        except ValueError as exc:
            raise ArgumentTypeError(str(exc)) from exc

    return value


def _options(args: Namespace) -> dict[str, Any]:
    """The parameters of `serve` from parsed words; what a caller left out has its default."""
    from memctl.ops.start.serve import serve

    given = dict(vars(args))
    if "rate_limit" in given:
        given["no_rate_limit"] = not given["rate_limit"]
    return {param.name: given.get(param.name, param.default) for param in serve.params()}


def _context(args: Namespace) -> Context:
    def say(line: str) -> None:
        sys.stderr.write(line + "\n")

    return Context(
        db=getattr(args, "db", None), config=getattr(args, "config", None), say=say,
        verbose=getattr(args, "verbose", False),
    )  # fmt: skip


def create_server(args: Namespace) -> "tuple[Any, MemoryStore]":
    """The SDK's server with all tools on it, and the open store, from parsed arguments (`build_parser`).

    The tools use handles of their own; closing the store closes these as well.
    """
    from memctl.api import MemoryStore

    class Store(MemoryStore):
        """The store of a server."""

        def close(self) -> None:
            """Close the server's handles too; what is being written has a moment to finish."""
            built.home.close(GRACE_SECONDS)
            super().close()

    ctx = _context(args)
    options = _options(args)
    built = build(options, ctx)
    with built.home.context(writes=True) as inside:
        inside.allow("create")
        _ = inside.db  # which refuses a store of somebody else
        tokenizer, wal = inside.tokenizer, inside.config.store.wal_mode
    return built.server, Store(built.home.db_path, wal, tokenizer)


def main(argv: list[str] | None = None) -> int:
    """`python -m memctl.mcp.server`; the exit code."""
    try:
        args = build_parser().parse_args(argv)
        from memctl.ops.start.serve import serve, text

        ctx = _context(args)
        result = serve(ctx, **_options(args))
        for line in text(result):
            sys.stdout.write(line + "\n")
    except errors.MemctlError as exc:
        sys.stderr.write(f"memctl-mcp: {exc}\n" + (f"hint: {exc.advice()}\n" if exc.advice() else ""))
        return exc.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
