"""memory_workspace_remove: forget a saved view. People have `memctl workspace delete`."""

from collections.abc import Iterator

from memctl.annotations import Annotated
from memctl.operation import WRITE, Arg, operation
from memctl.ops.context import Context
from memctl.ops.workspace import Removed


@operation(
    name="workspace-remove",
    access=WRITE,
    tool="memory_workspace_remove",
    idempotent=True,
    about="Forget a workspace, which is a saved view. Its memories stay in their scopes; the workspace default stays.",
    answer={"removed": "boolean", "name": "string"},
)
def workspace_remove(ctx: Context, name: Annotated[str, Arg("its name")]) -> Removed:
    """Forget a workspace; its items stay."""
    from memctl.store import workspaces

    wanted = name.strip()
    return Removed(wanted, workspaces.remove(ctx.db, wanted))


def text(result: Removed) -> Iterator[str]:
    """Whether it was there."""
    yield f"{result.name}: {'removed' if result.removed else 'nothing to remove'}"
