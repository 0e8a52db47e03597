"""memory_workspace_remove: forget a saved view. People have `memctl workspace delete`."""

from collections.abc import Iterator

from memctl.annotations import Annotated
from memctl.context import Context
from memctl.context.bounds import leave_to_person
from memctl.operation import WRITE, Arg, operation
from memctl.ops.care.workspace import Removed


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
def workspace_remove(ctx: Context, name: Annotated[str, Arg("its name")]) -> Removed:
    """Forget a workspace; its items stay."""
    from memctl.store import workspaces

    wanted = name.strip()
    there = workspaces.get_workspace(ctx.db, wanted)
    if there is not None and wanted != workspaces.DEFAULT_WORKSPACE and not workspaces.is_by_tool(ctx.db, wanted):
        leave_to_person(ctx, "forget a workspace that a person has made", "memctl workspace delete")
    return Removed(wanted, workspaces.remove_workspace(ctx.db, wanted))


def text(result: Removed) -> Iterator[str]:
    """Whether it was there."""
    yield f"{result.name}: {'removed' if result.removed else 'nothing to remove'}"
