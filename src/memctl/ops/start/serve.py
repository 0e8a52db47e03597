"""memctl serve, the MCP server; and memory_metrics, what a running server did so far."""

from memctl.annotations import Annotated, Literal
from memctl.context import Context
from memctl.errors import FileMissing, UsageError
from memctl.operation import NONE, Arg, PlainResult, Toolset, operation

#: What a server is started with; each is one of the parameters of `serve`.
Transport = Annotated[Literal["stdio", "streamable-http", "sse"], Arg("how clients reach it", "--transport")]
Host = Annotated[str, Arg("the address to listen on, for HTTP", "--host")]
Port = Annotated[int, Arg("the port to listen on, for HTTP; 0 takes any that is free", "--port", ge=0, le=65535)]
Tools = Annotated[
    Toolset, Arg("which tools models are shown: four, the everyday ones, or all", "--toolset", env="MEMCTL_TOOLSET")
]
Llm = Annotated[
    list[str] | None,
    Arg(
        "commands that memory_ask and memory_loop may run: the first, or in the set full what llm_cmd names",
        "--llm",
        metavar="CMD",
    ),
]
AllowRoot = Annotated[
    list[str] | None,
    Arg("folders that tools may read (else the current one and --db-root)", "--allow-root", metavar="DIR", path=True),
]
DbRoot = Annotated[
    str | None,
    Arg("the folder that the store must be in", "--db-root", env="MEMCTL_DB_ROOT", metavar="DIR", path=True),
]
Tokenizer = Annotated[
    str | None, Arg("tokenizer of a store that is made now: fr, en, raw", "--fts-tokenizer", env="MEMCTL_FTS")
]
InjectBudget = Annotated[
    int | None,
    Arg("tokens of a block when a call names no budget", "--inject-budget", env="MEMCTL_BUDGET", ge=1, le=10**6),
]
WritesPerMinute = Annotated[
    int, Arg("writing calls of a session", "--writes-per-minute", env="MEMCTL_WRITES_PER_MINUTE", ge=1, le=10**6)
]
ReadsPerMinute = Annotated[
    int, Arg("reading calls of a session", "--reads-per-minute", env="MEMCTL_READS_PER_MINUTE", ge=1, le=10**6)
]
BurstFactor = Annotated[
    float, Arg("calls that may come at once, in minutes of the two limits above", "--burst-factor", ge=1, le=1000)
]
Proposals = Annotated[
    int, Arg("statements that memory_propose takes in one turn", "--max-proposals-per-turn", ge=1, le=10**6)
]
WriteBytes = Annotated[
    int, Arg("bytes of one write", "--max-write-bytes", env="MEMCTL_MAX_WRITE_BYTES", ge=1, le=10**9)
]
StoreSize = Annotated[
    float | None, Arg("largest size, in MB, of a store that is written to", "--max-db-size", metavar="MB", ge=0)
]
AuditLog = Annotated[
    str | None, Arg("append a line for each call to this file (else stderr)", "--audit-log", metavar="FILE", path=True)
]
TokenFile = Annotated[
    str | None,
    Arg("who may call over HTTP; needed for any address but this machine's", "--token-file", metavar="FILE", path=True),
]
NoToken = Annotated[
    bool,
    Arg("over HTTP: every user of this machine may call, without a token (else one is made and printed)", "--no-token"),
]
AllowHost = Annotated[
    list[str] | None, Arg("further names that an HTTP server goes by", "--allow-host", metavar="NAME")
]
AllowOrigin = Annotated[
    list[str] | None, Arg("web pages that may call it, as https://host", "--allow-origin", metavar="URL")
]
ExchangeMinutes = Annotated[
    int,
    Arg(
        "exchange with the store's remotes every so many minutes; 0 is never",
        "--exchange",
        env="MEMCTL_EXCHANGE",
        config="remote.minutes",
        metavar="MINUTES",
        ge=0,
        le=1440,
    ),
]


@operation(
    access=NONE,
    examples=(
        "memctl serve             # for a client that starts it: stdin and stdout",
        "memctl serve --db ~/.memctl/memory.db --check    # would it start?",
        "memctl serve --toolset core --llm 'claude -p'",
        "memctl serve --transport streamable-http --token-file ~/.memctl/tokens",
        "memctl serve --exchange 5    # with the store's remotes, every five minutes",
    ),
    exits={1: "HTTP or --sdk without the Python SDK, or the server cannot start as asked"},
)
def serve(
    ctx: Context,
    *,
    transport: Transport = "stdio",
    host: Host = "127.0.0.1",
    port: Port = 8765,
    check: Annotated[bool, Arg("build the server, list its tools, open the store; then end", "--check")] = False,
    toolset: Tools = "standard",
    llm: Llm = None,
    allow_root: AllowRoot = None,
    db_root: DbRoot = None,
    secure: Annotated[bool, Arg("the store must be below the current folder", "--secure")] = False,
    fts_tokenizer: Tokenizer = None,
    inject_budget: InjectBudget = None,
    no_rate_limit: Annotated[bool, Arg("do not limit how often tools are called", "--no-rate-limit")] = False,
    writes_per_minute: WritesPerMinute = 20,
    reads_per_minute: ReadsPerMinute = 120,
    burst_factor: BurstFactor = 2.0,
    max_proposals_per_turn: Proposals = 5,
    max_write_bytes: WriteBytes = 65_536,
    max_db_size: StoreSize = None,
    audit_log: AuditLog = None,
    sdk: Annotated[bool, Arg("speak on stdin and stdout through the Python SDK", "--sdk")] = False,
    token_file: TokenFile = None,
    no_token: NoToken = False,
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
    exchange: ExchangeMinutes = 0,
) -> PlainResult:
    """Serve the memory to AI clients over the Model Context Protocol.

    Without --transport it speaks on standard input and output, as clients that start it expect, and ends when its input
    does. HTTP needs the Python SDK: pip install 'memctl[http]'. A store that is missing is made when something is first
    stored. memctl docs mcp has the tools, and the configuration of each client.
    """
    options = {name: value for name, value in locals().items() if name != "ctx"}
    # A guard of the HTTP server where there is none would only seem to guard something.
    if no_token and token_file is not None:
        raise UsageError("--no-token and --token-file do not go together", command="serve")
    for name in ("token_file", "no_token", "allow_host", "allow_origin"):
        if transport == "stdio" and options[name] not in (None, False):
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} is for a server that is reached over HTTP (--transport)", command="serve")
    if sdk and transport != "stdio":
        raise UsageError("--sdk is for standard input and output: HTTP always goes through it", command="serve")
    from memctl.mcp import server

    built = server.build(options, ctx)
    data = {"status": "ok", "db_path": built.pool.db_path, "tools": [entry.name for entry in built.tools]}
    if check:
        import os

        from memctl import __version__
        from memctl.llm.command import ModelCommand

        # A server starts without the commands and folders that were named, and refuses later; here it is an error.
        for command in server.model_commands(options, ctx):
            ModelCommand.parse(command)
        for folder in allow_root or ():
            if not os.path.isdir(ctx.absolute(folder)):
                raise FileMissing(path=folder, reason="--allow-root names no folder")
        built.check()
        return PlainResult(data, [f"memctl MCP server OK (v{__version__}, db={built.pool.db_path})"])
    server.run(built, options, ctx)
    return PlainResult(data)


# --- memory_metrics --------------------------------------------------------------------------------------------------


@operation(
    access=NONE,
    tool="memory_metrics",
    about="Show how this memory server is doing: calls, errors, latency and bytes of each tool since it started.",
    answer={
        "uptime_seconds": "number",
        "calls": "integer",
        "errors": "integer",
        "rate_limited": "integer",
        "tools": "object",
    },
    idempotent=True,
)
def metrics(ctx: Context, tool_name: Annotated[str | None, Arg("only this tool", "--tool")] = None) -> PlainResult:
    """Count what the running server did, tool by tool.

    Calls, errors, rate-limited calls, the median and the 95th percentile of the last 512 calls in milliseconds, and
    the bytes of text that came in and went out.
    """
    if ctx.metrics is None:
        raise UsageError("metrics are those of a running server", command="serve")
    n = ctx.metrics.as_dict(tool_name)
    lines = [f"{n['calls']} calls, {n['errors']} errors, {n['rate_limited']} rate-limited in {n['uptime_seconds']} s"]
    lines += [
        f"{name}: {one['calls']} calls, {one['errors']} errors, {one['rate_limited']} rate-limited, "
        f"p50 {one['p50_ms']} ms, p95 {one['p95_ms']} ms, {one['bytes_in']} bytes in, {one['bytes_out']} out"
        for name, one in n["tools"].items()
    ]
    return PlainResult({"status": "ok"} | n, lines)
