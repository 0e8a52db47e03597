"""Scopes and workspaces: which parts of the store there are, moving one, and saved views of them."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.context import Context
from memctl.errors import NothingStored, UsageError, WorkspaceNotFound
from memctl.names import DEFAULT_SCOPE, GLOBAL_SCOPE
from memctl.operation import CREATE, READ, WRITE, Arg, PlainResult, operation
from memctl.text import clean

if TYPE_CHECKING:
    from memctl.store.workspaces import Workspace

_KINDS = {
    "remote": "the first remote of {folder}",
    "first commit": "the first commit of {folder}",
    "folder": "the folder {folder}",
    "store": "a store of one project: {folder}",
}


@operation(
    access=WRITE,
    examples=(
        "memctl scope show             # which scope is used here, and why",
        "memctl scope list",
        "memctl scope mv github.com/acme/old github.com/acme/new  # it was renamed",
        "memctl scope mv project global",
    ),
    exits={1: "no store, or nothing is in that scope"},
)
def scope(
    ctx: Context,
    action: Annotated[Literal["show", "list", "mv"], Arg("what to do")] = "show",
    old: Annotated[str | None, Arg("mv: the scope that is moved", metavar="OLD")] = None,
    new: Annotated[str | None, Arg("mv: where to; what is there already stays", metavar="NEW")] = None,
    *,
    dry_run: Annotated[bool, Arg("mv: only say what would be moved", "--dry-run")] = False,
) -> PlainResult:
    """Show the scope of this project, list all, or move one into another.

    `project` means this project's scope everywhere; in the personal store that is the one of the current folder's
    repository (memctl docs scopes). `mv` takes all of a scope along: items, archived ones too, conversations, mounts
    and workspaces; memctl undo takes it back. A scope that is empty by now is no error.
    """
    wanted = [ctx.scope_named(word.strip()) for word in (old, new) if word is not None]
    if (action == "mv") != bool(wanted) or (action == "mv" and not (len(wanted) == 2 and all(wanted))):
        what = "mv takes two scopes: OLD NEW" if action == "mv" else f"{action} takes no scope"
        raise UsageError(what, command="scope")
    if action != "mv" or dry_run:
        ctx.narrow(READ)
    if action == "mv":
        return _move_scope(ctx, wanted[0], wanted[1], dry_run=dry_run)
    if dry_run:
        raise UsageError("--dry-run is for mv only", command="scope")
    return _show_scope(ctx) if action == "show" else _list_scopes(ctx)


def _show_scope(ctx: Context) -> PlainResult:
    import os

    from memctl.store.filters import Filters
    from memctl.store.items import items

    is_personal, project = ctx.is_personal, ctx.project
    own = project.scope if is_personal else DEFAULT_SCOPE
    kind, folder = (project.kind, project.folder) if is_personal else ("store", ctx.db_path)
    reads = ctx.read_set(own) or ()
    exists = os.path.exists(ctx.db_path)
    counts = {name: items.count(ctx.db, Filters((name,))) if exists else 0 for name in reads}
    data = {
        "status": "ok", "scope": own, "kind": kind, "folder": folder, "personal": is_personal,
        "db_path": ctx.db_path, "reads": counts,
    }  # fmt: skip
    lines = [f"{own}  ({_KINDS[kind].format(folder=clean.one_line(folder))})"]
    lines += [f"  reads {name:<24} {count} item(s)" for name, count in counts.items()]
    return PlainResult(data, lines)


def _list_scopes(ctx: Context) -> PlainResult:
    from memctl.store import workspaces

    found, own = workspaces.sum_scopes(ctx.db), ctx.scope_named(DEFAULT_SCOPE)
    lines = []
    for one in found:
        more = [f"{count} {word}" for word, count in zip(one._fields[2:], one[2:], strict=True) if count]
        mark = "*" if one.scope == own else " "
        lines.append(f"{mark} {clean.one_line(one.scope):<32} {', '.join([f'{one.items} item(s)', *more])}")
    return PlainResult({"status": "ok", "scope": own, "scopes": [one._asdict() for one in found]}, lines)


def _move_scope(ctx: Context, old: str, new: str, *, dry_run: bool) -> PlainResult:
    from memctl.item_policy import ItemPolicy
    from memctl.store import workspaces

    if clean.one_line(new, 500) != new:
        raise UsageError("a scope is one short line of words", command="scope")
    if ItemPolicy(ctx.policy).refuses(new):
        raise NothingStored(reason="policy refuses the name of this scope")
    found = {one.scope: one for one in workspaces.sum_scopes(ctx.db)}
    if old not in found and new in found:  # it was moved before
        found[old] = workspaces.ScopeSum(old)
    if old not in found:
        raise UsageError(f"nothing is in the scope '{clean.one_line(old, 80)}'; memctl scope list", command="scope")
    counts = {name: count for name, count in found[old]._asdict().items() if name != "scope"}
    into = found[new].items if new in found and new != old else 0
    if any(found[old][1:]) and new != old and not dry_run:
        workspaces.move_scope(ctx.db, old, new)
    verb = "would be moved" if dry_run else "moved"
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing"
    beside = f", beside {into} item(s)" if into else ""
    if old == ctx.scope_named(DEFAULT_SCOPE) and new not in (old, GLOBAL_SCOPE):
        ctx.note(f"[scope] {old} stays the scope of this project: name the other with --scope {new}")
    data = {"status": "ok", "from": old, "to": new, **counts, "joined": into}
    return PlainResult(
        data | ({"dry_run": True} if dry_run else ctx.run_key()), [f"{said} {verb} from {old} to {new}{beside}"]
    )


# --- saved views ------------------------------------------------------------------------------------------------------


_NAME_CHARS = 100


@operation(
    access=WRITE,
    examples=(
        "memctl workspace set api --scope api --read api,shared,global --budget 1200",
        "memctl workspace list",
        'memctl recall "how are tokens rotated" -w api',
        "memctl workspace set api --budget 0  # no limit of its own any more",
        "memctl workspace delete api          # its items stay",
    ),
    exits={1: "no store, no such workspace, or a name that cannot be one"},
)
def workspace(
    ctx: Context,
    action: Annotated[Literal["list", "show", "set", "delete"], Arg("what to do")],
    name: Annotated[str | None, Arg("the workspace: show, set and delete", metavar="NAME")] = None,
    *,
    scope: Annotated[str | None, Arg("set: what is written to (a new one: its name)", "--scope")] = None,
    read: Annotated[
        list[str] | None, Arg("set: the scopes that are read (else that one and global)", "--read", comma=True)
    ] = None,
    corpus: Annotated[str | None, Arg("set: the document set that is read and written; '': any", "--corpus")] = None,
    budget: Annotated[int | None, Arg("set: most tokens of a recall; 0: no limit", "--budget", ge=0, le=10**6)] = None,
    description: Annotated[str | None, Arg("set: a few words", "--description")] = None,
) -> PlainResult:
    """Save views of the store by name, to read and write through.

    A workspace says which scopes are read, which one is written to, which document set counts, and how many tokens a
    recall may take. Commands take it with -w; the workspace default is always there. `set` makes one, or changes what
    is given of one that is there.
    """
    given = {"scope": scope, "read": read, "corpus": corpus, "budget": budget, "description": description}
    wanted = _workspace_name(action, name, [key for key, value in given.items() if value is not None])
    if action == "set":
        saved = save_workspace(
            ctx, wanted, scope=scope, read=read, corpus=corpus, budget=budget, description=description
        )
        ctx.note(f"[workspace] {saved.name} saved")
        return _report_workspace(saved)
    from memctl.store import workspaces

    if action == "delete":
        if wanted == workspaces.DEFAULT_WORKSPACE:
            raise UsageError("the workspace default is always there", command="workspace")
        if not workspaces.remove_workspace(ctx.db, wanted):
            raise WorkspaceNotFound(name=wanted)
        ctx.note(f"[workspace] {wanted} deleted; its items stay")
        return PlainResult({"status": "ok", "removed": True, "name": wanted})
    ctx.narrow(READ)
    if action == "show":
        return _report_workspace(workspaces.named_workspace(ctx.db, wanted))
    found = workspaces.list_workspaces(ctx.db)
    lines = [
        f"  {one.name:<16} {one.scope:<16} reads {', '.join(one.reads)}"
        + (f"  ({one.description})" if one.description else "")
        for one in found
    ]
    return PlainResult({"status": "ok", "workspaces": [one.as_dict() for one in found]}, lines)


def _workspace_name(action: str, name: str | None, given: list[str]) -> str:
    wanted = (name or "").strip()
    if action == "list" and wanted:
        raise UsageError(f"unexpected argument '{wanted}'; show takes a name", command="workspace")
    if action != "list" and not wanted:
        raise UsageError(f"the workspace to {action} is missing", command="workspace")
    if action != "set" and given:
        raise UsageError(f"--{given[0]} is for set only", command="workspace")
    return wanted


def save_workspace(
    ctx: Context,
    name: str,
    *,
    scope: str | None = None,
    read: list[str] | None = None,
    corpus: str | None = None,
    budget: int | None = None,
    description: str | None = None,
) -> "Workspace":
    """Make a workspace, or change what is given of one. Raises UsageError, NothingStored, and ToolRefused when a tool
    would change one that a person has made.
    """
    from memctl.store import workspaces
    from memctl.store.items import events

    words = (name, scope or "", corpus or "", description or "", *(read or ()))
    if not clean.one_line(name) or any(clean.one_line(word, 500) != word.strip() for word in words):
        raise UsageError("a workspace's words are short lines, and its name is not empty", command="workspace")
    if len(name) > _NAME_CHARS:
        raise UsageError(f"a workspace's name has at most {_NAME_CHARS} characters", command="workspace")
    judged = ctx.policy.judge("\n".join(words), field="workspace", document=False)
    if judged.action in ("reject", "quarantine"):
        ctx.warn(f"[workspace] policy found {', '.join(sorted({found.rule for found in judged.findings}))}")
        raise NothingStored(reason="policy refuses the words of this workspace")
    with ctx.db.atomic():
        there = workspaces.get_workspace(ctx.db, name)
        old = there or workspaces.Workspace(name, scope=name)
        wanted = old._replace(
            scope=old.scope if scope is None else scope.strip() or name,
            corpus_id=old.corpus_id if corpus is None else corpus.strip() or None,
            description=old.description if description is None else description.strip(),
            read_scopes=old.read_scopes if read is None else tuple(dict.fromkeys(read)),
            budget=old.budget if budget is None else budget or None,
        )
        if ctx.bounds is not None and there is not None and not events.is_by_tool(ctx.db, "workspace", name):
            if wanted != there:
                ctx.refuse_to_tools("change a workspace that a person has made", "memctl workspace set")
            return there  # saving it would make it the tool's
        return workspaces.put_workspace(ctx.db, wanted, by_tool=ctx.bounds is not None)


def workspace_lines(one: "Workspace") -> Iterator[str]:
    """Label and value, one a line."""
    yield f"{'Name:':<13}{one.name}"
    yield f"{'Writes to:':<13}{one.scope}"
    yield f"{'Reads:':<13}{', '.join(one.reads)}"
    if one.corpus_id:
        yield f"{'Corpus:':<13}{one.corpus_id}"
    if one.budget:
        yield f"{'Budget:':<13}{one.budget} tokens"
    if one.description:
        yield f"{'About:':<13}{one.description}"


def _report_workspace(one: "Workspace") -> PlainResult:
    return PlainResult({"status": "ok", "workspace": one.as_dict()}, list(workspace_lines(one)))


# --- workspace list --------------------------------------------------------------------------------------------------


@operation(
    name="workspace-list",
    access=READ,
    tool="memory_workspace_list",
    about="List the workspaces: named views of the memory, with the scopes that each reads and writes.",
    answer={"workspaces": "array"},
)
def workspace_list(
    ctx: Context, name: Annotated[str | None, Arg("only the workspace of this name")] = None
) -> PlainResult:
    """List the workspaces."""
    from memctl.store import workspaces

    found = [workspaces.named_workspace(ctx.db, name)] if name else workspaces.list_workspaces(ctx.db)
    lines = [line for one in found for line in (*workspace_lines(one), "")]
    return PlainResult({"status": "ok", "workspaces": [one.as_dict() for one in found]}, lines)


# --- workspace register ----------------------------------------------------------------------------------------------


@operation(
    name="workspace-register",
    access=CREATE,
    tool="memory_workspace_register",
    idempotent=True,
    about="Make a workspace, or change what is given of one that a tool registered: a named view with the scope it "
    "writes to, the scopes it reads, a document set and a budget. Other tools then take it as `workspace`.",
    answer={"workspace": "object"},
)
def workspace_register(
    ctx: Context,
    name: Annotated[str, Arg("its name")],
    *,
    scope: Annotated[str | None, Arg("what is written to (a new one: its name)")] = None,
    corpus_id: Annotated[str | None, Arg("the document set that is read and written; empty: any")] = None,
    description: Annotated[str | None, Arg("a few words")] = None,
    read_scopes: Annotated[list[str] | None, Arg("what is read (else its scope and global)", comma=True)] = None,
    budget: Annotated[int | None, Arg("most tokens of a recall; 0: no limit", ge=0, le=10**6)] = None,
) -> PlainResult:
    """Make a workspace, or change what is given of one."""
    return _report_workspace(
        save_workspace(
            ctx, name.strip(), scope=scope, read=read_scopes, corpus=corpus_id, budget=budget, description=description
        )
    )


# --- workspace remove ------------------------------------------------------------------------------------------------


@operation(
    name="workspace-remove",
    access=WRITE,
    tool="memory_workspace_remove",
    destructive=True,
    idempotent=True,
    about="Forget a workspace that a tool registered, which is a saved view. Its memories stay in their scopes; the "
    "workspace default and those that a person made stay.",
    answer={"removed": "boolean", "name": "string"},
)
def workspace_remove(ctx: Context, name: Annotated[str, Arg("its name")]) -> PlainResult:
    """Forget a workspace; its items stay."""
    from memctl.store import workspaces
    from memctl.store.items import events

    wanted = name.strip()
    there = workspaces.get_workspace(ctx.db, wanted)
    if (
        there is not None
        and wanted != workspaces.DEFAULT_WORKSPACE
        and not events.is_by_tool(ctx.db, "workspace", wanted)
    ):
        ctx.refuse_to_tools("forget a workspace that a person has made", "memctl workspace delete")
    removed = workspaces.remove_workspace(ctx.db, wanted)
    done = "removed" if removed else "nothing to remove"
    return PlainResult({"status": "ok", "removed": removed, "name": wanted}, [f"{wanted}: {done}"])
