"""memctl setup and teardown: memory in an AI client by one command, and out of it again."""

import os

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.clients.files import FileEdit, apply, finish
from memctl.clients.known import CLIENTS, Client, Scope, client
from memctl.clients.wiring import Wiring
from memctl.context import Context
from memctl.operation import NONE, Arg, PlainResult, operation

if TYPE_CHECKING:
    from collections.abc import Iterable

Named = Annotated[list[str] | None, Arg(f"the clients: {', '.join(CLIENTS)}", metavar="CLIENT")]
Everyone = Annotated[bool, Arg("all clients that are installed here", "--all")]
Where = Annotated[Scope, Arg("whose settings: yours, the project's, or yours for the project", "--scope")]
DryRun = Annotated[bool, Arg("only show what would change, as a diff", "--dry-run")]
Yes = Annotated[bool, Arg("do not ask, on a terminal, before files are changed", "--yes", aliases=("-y",))]


@operation(
    access=NONE,
    examples=(
        "memctl setup claude             # server and hooks, for you in every project",
        "memctl setup --all --dry-run    # what it would change, as a diff",
        "memctl setup cursor --scope project",
        "memctl setup codex --db ~/notes/memory.db",
    ),
    exits={1: "a file was refused, or the server did not answer"},
)
def setup(
    ctx: Context,
    clients: Named = None,
    *,
    everyone: Everyone = False,
    scope: Where = "user",
    no_hooks: Annotated[bool, Arg("only the server: no hooks, no instructions", "--no-hooks")] = False,
    block: Annotated[
        bool, Arg("write instructions for the model into its file of rules, though it has hooks", "--block")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    force: Annotated[bool, Arg("replace an entry memctl that runs something else", "--force")] = False,
) -> PlainResult:
    """Put memory into AI clients.

    That is the server, and hooks that tell a model what memory knows. Only memctl's own entry is written; comments,
    order and form of the file stay. A file that cannot be read is left alone. A copy of it stands beside it until
    teardown. A client without hooks gets a block of instructions where it has a file for them in this scope. At the end
    the server is started as the client will start it, and asked for its tools. Without --db it is the store of the
    folder that the client works in.
    """
    from memctl.clients.handshake import own_command, shake_hands

    command = own_command()
    store = ["--db", ctx.absolute(ctx.db_flag)] if ctx.db_flag else []
    done: list[tuple[Client, list[FileEdit]]] = []
    for one in _meant(ctx, clients, scope, everyone=everyone):
        wiring = Wiring(one, scope, project_folder(ctx.cwd), ctx.environ)
        wiring.put_server([*command, "serve", *store], force=force)
        if not no_hooks:
            wiring.put_hooks([*command, "hook", *store, "--client", one.name])
        if block or not (no_hooks or one.hooks or one.plugin):
            wiring.put_block()
        edits = list(wiring.edits.values())
        if not dry_run:
            confirm(ctx, "setup", edits, yes=yes)
            apply(edits, one.name)
        done.append((one, edits))
    data: dict[str, Any] = {"status": "ok", "dry_run": dry_run, "scope": scope, "command": [*command, "serve", *store]}
    data["clients"] = [_row(one, edits, dry_run=dry_run) for one, edits in done]
    lines = _lines(done, dry_run=dry_run)
    if dry_run:
        return PlainResult(data, lines, verbatim=True)
    answer = shake_hands(data["command"])
    data["server"] = answer
    if not answer["ok"]:
        data["status"] = "failed"
        ctx.warn(f"[setup] The server does not work: {answer['problem']}")
        return PlainResult(data, lines, exit_code=1)
    lines.append(f"server: memctl {answer['version']} answers with {len(answer['tools'])} tools")
    for one in (one for one, edits in done if one.name == "codex" and any(e.changed and one.hooks for e in edits)):
        ctx.note(f"[setup] {one.title} runs hooks only when you trust them: start it once, and agree when it asks.")
    return PlainResult(data, lines)


@operation(
    access=NONE,
    examples=("memctl teardown claude", "memctl teardown --all --dry-run", "memctl teardown cursor --scope project"),
    exits={1: "a file was refused"},
)
def teardown(
    ctx: Context,
    clients: Named = None,
    *,
    everyone: Everyone = False,
    scope: Where = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> PlainResult:
    """Take memory out of AI clients again.

    That is the server, the hooks and the instructions. A file that nobody changed since setup becomes what it was, byte
    for byte; of one that was changed only memctl's own entries are taken out. The memory itself stays.
    """
    done: list[tuple[Client, list[FileEdit]]] = []
    for one in CLIENTS.values() if everyone else _meant(ctx, clients, scope, everyone=False):
        if everyone and scope not in one.servers:
            continue
        wiring = Wiring(one, scope, project_folder(ctx.cwd), ctx.environ)
        wiring.drop_server()
        wiring.drop_hooks()
        wiring.drop_block()
        edits = [edit for edit in wiring.edits.values() if edit.changed]
        if not dry_run:
            confirm(ctx, "teardown", edits, yes=yes)
            finish(edits, one.name)
        if edits or not everyone:
            done.append((one, edits))
    if not any(edits for _, edits in done):
        ctx.note("[teardown] Nothing of memctl is there.")
    data = {"status": "ok", "dry_run": dry_run, "scope": scope}
    rows = [_row(one, edits, dry_run=dry_run) for one, edits in done]
    return PlainResult(data | {"clients": rows}, _lines(done, dry_run=dry_run), verbatim=dry_run)


def project_folder(folder: str) -> str:
    """The folder of the project that a folder is in: the nearest with `.git`, else the folder itself."""
    at = folder
    while not os.path.lexists(os.path.join(at, ".git")):
        above = os.path.dirname(at)
        if above == at:
            return folder
        at = above
    return at


def confirm(ctx: Context, command: str, edits: "Iterable[FileEdit]", *, yes: bool) -> None:
    """Ask a person at a terminal before files are changed. Raises UsageError when the answer is no."""
    changed = [edit for edit in edits if edit.changed]
    if yes or not changed or not {"stdin", "stderr"} <= ctx.tty:
        return
    for edit in changed:
        ctx.warn(f"[{command}] {edit.path} will be {edit.kind}")
    ctx.warn(f"[{command}] Go on? y or n:")
    line = (ctx.stdin.readline() if ctx.stdin is not None else b"").decode("utf-8", "replace").strip().lower()
    if line not in {"y", "yes"}:
        raise errors.UsageError(
            "nothing was changed; --dry-run shows what would be, --yes does not ask", command=command
        )


def _meant(ctx: Context, names: list[str] | None, scope: Scope, *, everyone: bool) -> list[Client]:
    """The clients that are meant. Raises UsageError when none is."""
    if bool(names) == everyone:
        raise errors.UsageError("name clients, or --all for those that are installed", command="setup")
    if names:
        return list(dict.fromkeys(map(client, names)))
    found = [one for one in CLIENTS.values() if scope in one.servers and one.is_installed(ctx.environ)]
    if not found:
        raise errors.UsageError(f"no client is installed here that memctl knows; {', '.join(CLIENTS)}", command="setup")
    return found


def _row(one: Client, edits: list[FileEdit], *, dry_run: bool) -> dict[str, Any]:
    """What was done for a client, for programs."""
    rows: list[dict[str, Any]] = []
    for edit in edits:
        row: dict[str, Any] = {"path": edit.path, "change": edit.kind}
        if edit.backup:
            row["backup"] = edit.backup
        rows.append(row | ({"diff": edit.diff()} if dry_run else {}))
    return {"client": one.name, "files": rows}


def _lines(done: list[tuple[Client, list[FileEdit]]], *, dry_run: bool) -> list[str]:
    """A line for each file, or the diffs."""
    if dry_run:
        return [line for _, edits in done for edit in edits if edit.changed for line in edit.diff().split("\n")]
    width = max((len(one.name) for one, _ in done), default=0)
    return [f"{one.name:<{width}}  {edit.kind:<9}  {edit.path}" for one, edits in done for edit in edits]
