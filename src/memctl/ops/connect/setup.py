"""memctl setup and teardown: memory in an AI client by one command, and out of it again; memctl eco: a mode of it."""

import os
from contextlib import suppress

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from memctl.clients import eco as mode
from memctl.clients.eco_entries import EcoWiring, GuardWiring
from memctl.clients.entries import Wiring
from memctl.clients.file_edits import FileEdit, apply, finish
from memctl.clients.known import CLIENTS, Scope
from memctl.clients.known import client as known
from memctl.context import Context
from memctl.operation import NONE, WRITE, Arg, PlainResult, operation
from memctl.ops.start.init import init
from memctl.process import own_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Named = Annotated[
    list[str] | None,
    Arg(f"{', '.join(CLIENTS)}; or mcp, eco or hooks, as older memctl has them", metavar="CLIENT"),
]
Asked = Annotated[
    Literal["claude-code", "claude-desktop", "all"], Arg("with mcp: in which of these (all: both)", "--client")
]
#: The words of older memctl that are no client.
FORMS = ("mcp", "eco", "hooks")
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
        "memctl setup list              # which clients are here, and which are set up",
    ),
    exits={1: "a file was refused, or the server did not answer"},
)
def setup(
    ctx: Context,
    clients: Named = None,
    *,
    everyone: Everyone = False,
    scope: Where = "user",
    client: Asked = "claude-code",
    db_root: Annotated[str, Arg("with eco: the folder of the store", "--db-root", metavar="FOLDER", path=True)] = (
        ".memory"
    ),
    no_hooks: Annotated[bool, Arg("only the server: no hooks, no instructions", "--no-hooks")] = False,
    block: Annotated[
        bool, Arg("write instructions for the model into its file of rules, though it has hooks", "--block")
    ] = False,
    dry_run: DryRun = False,
    skills: Annotated[
        bool, Arg("Claude Code: also write skills: fill memory, save a session, put memory in order", "--skills")
    ] = False,
    memory_guard: Annotated[
        bool, Arg("Claude Code: keep it from writing a MEMORY.md of its own", "--memory-guard")
    ] = False,
    listed: Annotated[
        bool, Arg("only list the clients: which are here, and which are set up", "--list", word="list")
    ] = False,
    yes: Yes = False,
    force: Annotated[bool, Arg("replace an entry memctl that runs something else", "--force")] = False,
) -> PlainResult:
    """Put memory into AI clients.

    That is the server, and hooks that tell a model what memory knows. Only memctl's own entry is written; comments,
    order and form of the file stay. A file that cannot be read is left alone. A copy of it stands beside it until
    teardown. A client without hooks gets a block of instructions where it has a file for them in this scope. At the end
    the server is started as the client will start it, and asked for its tools. Without --db it is the store of the
    project that the client works in, or else your personal store, which is made if it is missing.
    """
    from memctl.clients.examine import shake_hands
    from memctl.handover import offer_past

    if listed:
        return _list(ctx)
    command = own_command()
    store = ["--db", ctx.absolute(ctx.db_flag)] if ctx.db_flag else []
    wish = _Wish(command, store, db_root, not no_hooks, block, skills, memory_guard, force)
    wirings = list(_wirings(ctx, clients, scope, asked=client, everyone=everyone))
    if (skills or memory_guard) and not any(one.client.skills for _, one in wirings):
        raise errors.UsageError("--skills and --memory-guard are for Claude Code", command="setup")
    rows, done, code = _each(ctx, "setup", wirings, wish.put, apply, dry_run=dry_run, yes=yes)
    data: dict[str, Any] = {
        "status": "failed" if code else "ok", "dry_run": dry_run, "scope": scope,
        "command": [*command, "serve", *store], "clients": rows,
    }  # fmt: skip
    lines = _lines(done, dry_run=dry_run)
    if dry_run or not done:
        return PlainResult(data, lines, verbatim=True, exit_code=code)
    offered = False
    if scope == "user" and not store and not {"eco", "hooks"} & set(clients or ()):
        # What a client uses where a project has no store of its own.
        offered = init(ctx, personal=True).data["created"]
    if eco := _make_eco_store(ctx, [one for _, one in wirings], db_root):
        data["command"] = [*command, "serve", "--db", eco]
    answer = shake_hands(data["command"])
    data["server"] = answer
    if not answer["ok"]:
        data["status"] = "failed"
        ctx.warn(f"[setup] The server does not work: {answer['problem']}")
        return PlainResult(data, lines, exit_code=1)
    lines.append(f"server: memctl {answer['version']} answers with {len(answer['tools'])} tools")
    _say_what_remains(ctx, [one for _, one in wirings if not (no_hooks and one.client.hooks)])
    if not offered:
        offer_past(ctx, "setup")
    return PlainResult(data, lines, exit_code=code)


def _make_eco_store(ctx: Context, wirings: "list[Wiring]", db_root: str) -> str:
    """Make the store of eco mode, where that is asked; else the command line would go on with the personal store."""
    made = ""
    for eco in wirings:
        if isinstance(eco, EcoWiring):
            made = eco.store(db_root)
            if not os.path.lexists(made):
                init(ctx, os.path.dirname(made))
    return made


class _Wish(NamedTuple):
    """What is to be put into a client; the fields are the options of `setup`."""

    command: list[str]
    store: list[str]
    db_root: str
    hooks: bool
    block: bool
    skills: bool
    memory_guard: bool
    force: bool

    def put(self, name: str, wiring: Wiring) -> None:
        """Enter it all."""
        if isinstance(wiring, EcoWiring):
            wiring.put(self.command, self.db_root, force=self.force)
            return
        if isinstance(wiring, GuardWiring):
            wiring.put(self.command)
            return
        wiring.put_server([*self.command, "serve", *self.store], force=self.force)
        hooks = self.hooks and name != "mcp"
        if hooks:
            wiring.put_hooks([*self.command, "hook", *self.store, "--client", name])
        if self.memory_guard:
            wiring.put_guard(self.command)
        if self.block or (hooks and not (wiring.client.hooks or wiring.client.plugin)):
            wiring.put_block()
        if self.skills:
            wiring.put_texts(wiring.skills())


def _list(ctx: Context) -> PlainResult:
    """Which clients memctl knows, which are installed here, and in which scopes memory is in them."""
    project = project_folder(ctx.cwd)
    rows: list[dict[str, Any]] = []
    for one in CLIENTS.values():
        held: list[str] = []
        for scope in one.servers:
            with suppress(errors.ClientFileRefused, ValueError):  # `doctor --client` says what is wrong with the file
                if Wiring(one, scope, project, ctx.environ).server() is not None:
                    held.append(scope)
        rows.append({
            "client": one.name, "title": one.title, "installed": one.is_installed(ctx.environ), "set_up": held,
            "scopes": list(one.servers), "hooks": bool(one.hooks or one.plugin), "verified": one.version,
            "seen": one.seen,
        })  # fmt: skip
    lines = [
        f"{row['client']:<15} {'installed' if row['installed'] else '-':<10} {', '.join(row['set_up']) or '-'}"
        for row in rows
    ]
    head = f"{'client':<15} {'here':<10} set up"
    return PlainResult({"status": "ok", "clients": rows, "total": len(rows)}, [head, *lines])


def _say_what_remains(ctx: Context, wirings: "list[Wiring]") -> None:
    """Say what a person still has to do that memctl may not do for them."""
    from memctl.clients.examine import TWICE, plugin_name

    plugin = plugin_name(project_folder(ctx.cwd), ctx.environ) if any(one.owner == "claude" for one in wirings) else ""
    if plugin:
        ctx.warn(f"[setup] {TWICE.format(plugin=plugin)}")
    for one in wirings:
        if one.client.note and any(edit.changed for edit in one.edits.values()):
            ctx.note(f"[setup] {one.client.note}")


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
    client: Asked = "claude-code",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> PlainResult:
    """Take memory out of AI clients again.

    That is the server, the hooks and the instructions. A file that nobody changed since setup becomes what it was, byte
    for byte; of one that was changed only memctl's own entries are taken out. The memory itself stays.
    """

    def drop(name: str, wiring: Wiring) -> None:
        if isinstance(wiring, EcoWiring | GuardWiring):
            wiring.drop()
        else:
            wiring.drop_server()
            if name != "mcp":
                wiring.drop_hooks()
                wiring.drop_block()
                wiring.drop_texts(wiring.skills())

    wirings = list(_wirings(ctx, clients, scope, asked=client, everyone=everyone, installed=False))
    rows, looked_at, code = _each(ctx, "teardown", wirings, drop, finish, dry_run=dry_run, yes=yes)
    done = [edit for edit in looked_at if edit.changed]
    if not done and not code:
        ctx.note("[teardown] Nothing of memctl is there.")
    rows = [row | {"files": [one for one in row["files"] if one["change"] != "unchanged"]} for row in rows]
    data = {
        "status": "failed" if code else "ok", "dry_run": dry_run, "scope": scope,
        "clients": [row for row in rows if row["files"] or "error" in row or not everyone],
    }  # fmt: skip
    return PlainResult(data, _lines(done, dry_run=dry_run), verbatim=dry_run, exit_code=code)


def _each(
    ctx: Context,
    command: str,
    wirings: "list[tuple[str, Wiring]]",
    change: "Callable[[str, Wiring], None]",
    make: "Callable[[list[FileEdit], str], None]",
    *,
    dry_run: bool,
    yes: bool,
) -> tuple[list[dict[str, Any]], list[FileEdit], int]:
    """Do it for each client: a row for each, the files, and the exit code. A client that is refused stops no other."""
    rows: list[dict[str, Any]] = []
    done: list[FileEdit] = []
    code = 0
    for name, wiring in wirings:
        try:
            change(name, wiring)
            edits = list(wiring.edits.values())
            if not dry_run:
                confirm(ctx, command, edits, yes=yes)
                make(edits, wiring.noted_as)
        except (errors.ClientFileRefused, errors.ClientFileUnwritable, errors.EntryTaken) as exc:
            if len(wirings) == 1:
                raise
            ctx.warn(f"[{command}] {wiring.owner}: {exc.message}; {exc.advice()}")
            rows.append({"client": wiring.owner, "files": [], **exc.as_dict()})
            code = exc.exit_code
            continue
        done += edits
        rows.append(_row(wiring.owner, edits, dry_run=dry_run))
    return rows, done, code


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


def _wirings(
    ctx: Context, names: list[str] | None, scope: Scope, *, asked: str, everyone: bool, installed: bool = True
) -> "Iterator[tuple[str, Wiring]]":
    """What is meant, by the word that it was called by. Raises UsageError when nothing is."""
    if bool(names) == everyone:
        raise errors.UsageError("name clients, or --all", command="setup")
    project = project_folder(ctx.cwd)
    for name in dict.fromkeys(names or ()):
        if name == "eco":
            yield name, EcoWiring(project, ctx.environ)
        elif name == "hooks":
            yield name, GuardWiring(project, ctx.environ)
        elif name == "mcp":
            for one in ("claude", "claude-desktop") if asked == "all" else (asked,):
                yield name, Wiring(known(one), scope, project, ctx.environ)
        else:
            yield known(name).name, Wiring(known(name), scope, project, ctx.environ)
    if everyone:
        there = [one for one in CLIENTS.values() if scope in one.servers]
        found = [one for one in there if not installed or one.is_installed(ctx.environ)]
        if not found:
            raise errors.UsageError(f"no client is installed here: {', '.join(CLIENTS)}", command="setup")
        yield from ((one.name, Wiring(one, scope, project, ctx.environ)) for one in found)


def _row(name: str, edits: list[FileEdit], *, dry_run: bool) -> dict[str, Any]:
    """What was done for a client, for programs."""
    rows: list[dict[str, Any]] = []
    for edit in edits:
        row: dict[str, Any] = {"path": edit.path, "change": edit.kind}
        if edit.backup:
            row["backup"] = edit.backup
        rows.append(row | ({"diff": edit.diff()} if dry_run else {}))
    return {"client": name, "files": rows}


def _lines(done: list[FileEdit], *, dry_run: bool) -> list[str]:
    """A line for each file, or the diffs."""
    if dry_run:
        return [line for edit in done if edit.changed for line in edit.diff().split("\n")]
    return [f"{edit.kind:<9}  {edit.path}" for edit in done]


# --- eco mode ---------------------------------------------------------------------------------------------------------


#: Beside the packages: the files of eco mode, and scripts under the names of older memctl.
_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SAID = {
    "enabled": "eco mode enabled. Using memory_inspect, memory_recall, and persistent memory.",
    "disabled": "eco mode disabled. Using native Read/View only.",
}


@operation(
    access=WRITE,
    tool="memory_eco",
    about="Switch eco mode of this project on or off, or say how it stands. While it is on, memory is asked before "
    "files are searched.",
    answer={"eco_mode": "string", "action_taken": "string"},
    idempotent=True,
    examples=("memctl eco", "memctl eco off", "memctl eco status --json | jq -r .eco_mode"),
    exits={1: "eco mode is not installed here"},
)
def eco(
    ctx: Context, action: Annotated[Literal["status", "on", "off"], Arg("what to do", metavar="ACTION")] = "status"
) -> PlainResult:
    """Switch eco mode of this project on or off.

    While it is on, a hint with each prompt and a nudge before wide searches send a model to memory first. `memctl setup
    eco` installs it for Claude Code in this project; the switch is the file .memory/.eco-disabled.
    """
    if (
        action == "on"
        and mode.eco_state(ctx.cwd) != "active"
        and not os.path.exists(os.path.join(ctx.cwd, mode.CONFIG))
    ):
        raise errors.UsageError("eco mode not installed; memctl setup eco installs it", command="eco")
    taken = "none"
    if action != "status":
        try:
            mode.switch_eco(ctx.cwd, on=action == "on")
        except OSError as exc:
            path = os.path.join(ctx.cwd, mode.OFF)
            raise errors.ClientFileUnwritable(path=path, reason=exc.strerror or str(exc)) from exc
        taken = "enabled" if action == "on" else "disabled"
    state = mode.eco_state(ctx.cwd)
    data = {"status": "ok", "eco_mode": state, "action_taken": taken}
    return PlainResult(data, [_SAID.get(taken, f"eco mode: {state}")])


@operation(access=NONE, name="hooks-path", examples=("memctl hooks-path", 'ls "$(memctl hooks-path | head -1)"'))
def hooks_path(ctx: Context) -> PlainResult:  # noqa: ARG001 - every operation takes it
    """Print the folders of the hook scripts and of eco mode.

    Each script runs `memctl hooks`, for settings that name a file.
    """
    paths = [os.path.join(_HERE, "templates", name) for name in ("hooks", "eco")]
    return PlainResult({"status": "ok", "hooks_path": paths[0], "eco_path": paths[1]}, paths)


@operation(
    access=NONE,
    name="scripts-path",
    examples=("memctl scripts-path", 'bash "$(memctl scripts-path)/install_eco.sh" --dry-run'),
)
def scripts_path(ctx: Context) -> PlainResult:  # noqa: ARG001 - every operation takes it
    """Print the folder of the install scripts.

    They do what `memctl setup` and `memctl teardown` do, under the names of older memctl.
    """
    path = os.path.join(_HERE, "scripts")
    return PlainResult({"status": "ok", "scripts_path": path}, [path])
