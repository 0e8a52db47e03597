"""memctl scope: which scope is this project's, which there are, and moving one."""

from memctl.annotations import Annotated, Literal
from memctl.context import Context
from memctl.errors import NothingStored, UsageError
from memctl.names import DEFAULT_SCOPE, GLOBAL_SCOPE
from memctl.operation import READ, WRITE, Arg, PlainResult, operation
from memctl.text import clean

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
        return _move(ctx, wanted[0], wanted[1], dry_run=dry_run)
    if dry_run:
        raise UsageError("--dry-run is for mv only", command="scope")
    return _show(ctx) if action == "show" else _list(ctx)


def _show(ctx: Context) -> PlainResult:
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


def _list(ctx: Context) -> PlainResult:
    from memctl.store import workspaces

    found, own = workspaces.sum_scopes(ctx.db), ctx.scope_named(DEFAULT_SCOPE)
    lines = []
    for one in found:
        more = [f"{count} {word}" for word, count in zip(one._fields[2:], one[2:], strict=True) if count]
        mark = "*" if one.scope == own else " "
        lines.append(f"{mark} {clean.one_line(one.scope):<32} {', '.join([f'{one.items} item(s)', *more])}")
    return PlainResult({"status": "ok", "scope": own, "scopes": [one._asdict() for one in found]}, lines)


def _move(ctx: Context, old: str, new: str, *, dry_run: bool) -> PlainResult:
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
