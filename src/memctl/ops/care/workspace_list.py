"""memory_workspace_list: the saved views. People have `memctl workspace list`."""

from collections.abc import Iterator

from memctl.annotations import Annotated
from memctl.context import Context
from memctl.operation import READ, Arg, operation
from memctl.ops.care.workspace import Workspaces, lines


@operation(
    name="workspace-list",
    access=READ,
    tool="memory_workspace_list",
    about="List the workspaces: named views of the memory, with the scopes that each reads and writes.",
    answer={"workspaces": "array"},
)
def workspace_list(
    ctx: Context, name: Annotated[str | None, Arg("only the workspace of this name")] = None
) -> Workspaces:
    """List the workspaces."""
    from memctl.store import workspaces

    return Workspaces([workspaces.named_workspace(ctx.db, name)] if name else workspaces.list_workspaces(ctx.db))


def text(result: Workspaces) -> Iterator[str]:
    """The fields of each."""
    for one in result.found:
        yield from lines(one)
        yield ""
