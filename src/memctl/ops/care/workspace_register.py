"""memory_workspace_register: make or change a saved view. People have `memctl workspace set`."""

from collections.abc import Iterator

from memctl.annotations import Annotated
from memctl.context import Context
from memctl.operation import CREATE, Arg, operation
from memctl.ops.care.workspace import Saved, lines, save


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
) -> Saved:
    """Make a workspace, or change what is given of one."""
    return Saved(
        save(ctx, name.strip(), scope=scope, read=read_scopes, corpus=corpus_id, budget=budget, description=description)
    )


def text(result: Saved) -> Iterator[str]:
    """Its fields."""
    return lines(result.workspace)
