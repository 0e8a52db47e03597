"""docs/mcp.md: the server as clients see it; the tools from the operations, the rest from the data of `memctl.mcp`."""

import json
from collections.abc import Iterator

from memctl.mcp import tool_schema
from memctl.mcp.prompts import PROMPTS, RESOURCES, instructions
from memctl.mcp.protocol import encode
from memctl.mcp.tool_schema import ALIASES

SOURCE = "the operations and scripts/lib/mcp_page.py"
INTRODUCTION = """\
`memctl serve` offers the memory to AI clients over the [Model Context Protocol](https://modelcontextprotocol.io),
versions 2024-11-05 to 2025-11-25 and 2026-07-28. On standard input and output it needs nothing but Python; over HTTP
the Python SDK, 1.22 to 2.x: `pip install 'memctl[http]'`. The [README](../README.md#in-an-ai-client) has the
configuration of each client; [cli.md](cli.md#serve) has the flags; [mcp-security.md](mcp-security.md) what stands
around the tools.

```sh
memctl serve --check                        # would it start? names the store it would open
memctl serve                                # stdin and stdout, for a client that starts it
memctl serve --sdk                          # the same, spoken by the Python SDK
memctl serve --transport streamable-http    # http://127.0.0.1:8765/mcp, for clients that connect; prints a token
python -m memctl.mcp.server                 # the same, with the flags of older memctl
```

The store is the one the command line would use in the same folder: `--db`, else `MEMCTL_DB`, else the nearest
`.memory/memory.db`; one that is missing is made when something is first stored. Clients that start servers in no
particular folder (desktop ones) need `--db`. Several servers and the command line may use one store at the same time.

The server ends when its input ends: what was asked is still answered, unless nothing is for five seconds. At SIGINT,
SIGTERM and SIGHUP it ends within a second: what was answered is stored, a call that is going on has 0.7 seconds, and
one that is cut stored nothing, or as much as the next sync goes on from. Diagnostics go to stderr, a line of JSON for
each call to `--audit-log` (else stderr).

Calls do not wait for each other where they need not: two that read, one that writes, one that reads a folder and two
that ask a model run at a time. After 256 calls without an answer nothing more is read, and while 4 MiB of answers are
unread no further call ends. A message has at most 64 MiB. Every line that is no request is answered with an error of
JSON-RPC; half of a surrogate pair becomes U+FFFD. What the client cancels is finished, and not answered.

## Sets of tools

| `--toolset` | tools | tokens |
|---|--:|--:|
"""
ANSWERS = """
Tokens are the characters of the answer to `tools/list`, divided by four, without `memory_ask` and `memory_loop`: these
are shown where the server has a model (`--llm`). `full` also shows more parameters. A set is what models are shown; a
client that calls another documented tool, or gives another documented parameter, is answered as well.

## Answers

- A tool that a model reads answers in **text** (recall, inspect, digest, ask, loop). Clients show a model only the
  structured result where there is one, so there is none; what the text leaves out is in `_meta`, under
  `memctl/result`, for programs.
- Every other tool answers with a **structured** result, and repeats the same JSON as text.
- No answer is longer than 20,000 tokens. Of a list comes what fits, with `truncated`, `total` and `next_cursor`: the
  same call with that as `cursor` has the rest. A budget is at most 20,000 tokens; one too small for anything says so.
- `status` is `ok`, `duplicate`, `rejected`, `dry_run`, `error` or `rate_limited`. An error has `code` (see
  [errors.md](errors.md)), `message` and often `hint`; `isError` is set for these and for `rate_limited`. `warnings` are
  what the command line would have said on stderr.
- Argument names that a tool does not know are not used, and `warnings` names them; `null` means "not given". Lists may
  be texts with commas, arrays of objects may be their JSON as text; the long flags of the command line are understood
  as names too.
- What a person has set (mounts, workspaces, the tokenizer) a tool does not change; [mcp-security.md](mcp-security.md)
  says what each tool may.
- `memory_sync` and `memory_import` tell a client that asks for it how far they are.
- What policy holds back, or what today's rules would hold back and have not seen yet, is named at most, never quoted; a
  search for words does not even count it, because that would tell which words it has.
- A use is counted for what a recall delivered or a read opened, when the answer is out and nobody asks anything, at the
  latest three seconds later; a server that ends counts what is left. While the store is busy, uses wait.

## Tools
"""
HINTS = {
    "readOnlyHint": ("reads only", "writes"),
    "destructiveHint": ("may take away", ""),
    "idempotentHint": ("", ""),
    "openWorldHint": ("asks a model", ""),
}


def lines() -> Iterator[str]:
    """The page, piece by piece."""
    yield f"# The MCP server\n\n<!-- Written by scripts/docs from {SOURCE}; change it there. -->\n\n"
    yield INTRODUCTION
    for name in ("core", "standard", "full"):
        tools = _shown(name)
        yield f"| `{name}`{' (default)' if name == 'standard' else ''} | {len(tools)} | {_cost(tools)} |\n"
    yield ANSWERS
    for listed in tool_schema.catalog("full"):
        yield from _tool(listed)
    yield from _aliases()
    yield from _offers()


def _shown(toolset: str) -> list[tool_schema.CatalogTool]:
    """The tools of a set, as a server without a model shows them."""
    return [one for one in tool_schema.catalog(toolset) if not one.annotations["openWorldHint"]]


def _cost(tools: list[tool_schema.CatalogTool]) -> int:
    """Tokens of what a client gets."""
    return len(encode({"tools": [one.listing() for one in tools]})) // 4


def _tool(listed: tool_schema.CatalogTool) -> Iterator[str]:
    op = listed.tool.op
    small = {one.name: one.schema for one in tool_schema.catalog("standard")}.get(listed.name, {"properties": {}})
    words = [words[0] if listed.annotations[hint] else words[1] for hint, words in HINTS.items()]
    if not listed.annotations["readOnlyHint"] and listed.annotations["idempotentHint"]:
        words.append("again changes nothing more")
    yield f"\n### {listed.name}\n\n{listed.description}\n\n"
    yield f"Set `{op.toolset}`; {', '.join(filter(None, words))}; answers in {'text' if op.prose else 'structure'}.\n"
    if listed.schema["properties"]:
        yield "\n| parameter | type | default | |\n|---|---|---|---|\n"
    for name, schema in listed.schema["properties"].items():
        about = [schema.get("description", "")]
        if op.toolset != "full" and name not in small["properties"]:
            about.append("only in `full`")
        default = "required" if name in listed.schema.get("required", ()) else f"`{json.dumps(schema.get('default'))}`"
        yield f"| `{name}` | {_type(schema)} | {default} | {'; '.join(filter(None, about))} |\n"
    if op.answer:
        yield f"\nGives `status`, {', '.join(f'`{key}`' for key in op.answer)}.\n"


def _aliases() -> Iterator[str]:
    yield "\n## Names of other programs\n\nThe tools of rekal and mem-context are answered by their own names, and "
    yield "listed nowhere. Each is a call of the tool beside\nit; of their arguments these are called otherwise here. "
    yield "Nothing is deleted for good: what deletes there archives here,\nand the answer says so.\n"
    yield "\n| called | is | arguments |\n|---|---|---|\n"
    for name, alias in ALIASES.items():
        words = [f"`{theirs}`: {f'`{ours}`' if ours else 'not used'}" for theirs, ours in alias.names.items()]
        words += [f"`{alias.within}`: its fields"] * bool(alias.within)
        words += [f"always `{key}`" for key, value in alias.fixed.items() if value is True]
        yield f"| `{name}` | `{alias.tool}` | {', '.join(words)} |\n"


def _type(schema: dict[str, object]) -> str:
    kinds = schema.get("anyOf", [schema])
    assert isinstance(kinds, list)
    words = []
    for kind in kinds:
        closed = kind.get("enum")
        words.append(" ".join(f"`{word}`" for word in closed) if closed else str(kind["type"]))
    low, high = schema.get("minimum"), schema.get("maximum")
    bounds = f", {low} to {high}" if high is not None else f", at least {low}" if low is not None else ""
    return " or ".join(words) + bounds


def _offers() -> Iterator[str]:
    yield "\n## Resources\n\n| URI | what | type | as the tool |\n|---|---|---|---|\n"
    for uri, _, tool, _, about, kind in RESOURCES:
        yield f"| `{uri}` | {about} | `{kind}` | `{tool}` |\n"
    yield "\nNames in braces are percent-encoded where they have other characters than letters, digits and `-._~`.\n"
    yield "\n## Prompts\n\n| prompt | what | arguments |\n|---|---|---|\n"
    for name, about, arguments in PROMPTS:
        taken = ", ".join(f"`{word}`{'' if needed else ' (optional)'}" for word, _, needed in arguments)
        yield f"| `{name}` | {about} | {taken} |\n"
    yield "\nScopes, tags, ids and the names of mounts are completed in both.\n"
    yield "\n## Instructions\n\nWhat clients tell their model about the server, in the set `standard`:\n\n"
    for line in instructions({one.name for one in _shown("standard")}).splitlines():
        yield f"> {line}\n>\n"
