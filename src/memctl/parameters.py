"""Parameters that several operations take in the same words."""

from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.names import Tier
from memctl.operation import Arg

if TYPE_CHECKING:
    from memctl.context import Context
    from memctl.store.filters import Filters

#: A saved view, for what is read and for what is written.
ReadIn = Annotated[
    str | None,
    Arg(
        "what this saved view reads, instead of --scope",
        "-w",
        "--workspace",
        metavar="NAME",
        mcp_help="",
    ),
]
WriteIn = Annotated[
    str | None,
    Arg(
        "file it where this saved view writes, instead of --scope",
        "-w",
        "--workspace",
        metavar="NAME",
        mcp_help="",
    ),
]

ByMeaning = Annotated[
    str | None,
    Arg("find by meaning too (memctl embed); none: by words only", "--embedder", env="MEMCTL_EMBEDDER", mcp=False),
]

HowEstablished = Annotated[Tier, Arg("how established it is", "--tier", env="MEMCTL_TIER", config="pull.tier")]

Budget = Annotated[
    int,
    Arg("tokens of the whole block", "--budget", env="MEMCTL_BUDGET", config="recall.budget_tokens", ge=1, le=10**6),
]
#: The same under the name that `memory_recall` has for it.
BudgetTokens = Annotated[
    int,
    Arg(
        "tokens of the whole block", "--budget", env="MEMCTL_BUDGET", config="recall.budget_tokens", ge=1, le=10**6,
        mcp_name="budget_tokens",
    ),
]  # fmt: skip
HowFramed = Annotated[
    Literal["compact", "full", "none"],
    Arg(
        "what stands around passages; full: format_version 1, none: nothing", "--frame", config="recall.frame",
        mcp=False,
    ),
]  # fmt: skip
AsPrompt = Annotated[bool, Arg("end with the question: a whole prompt for a model", "--prompt", mcp=False)]
Proposing = Annotated[
    bool, Arg("tell the model how to propose memories, for `pull` (with --prompt)", "--propose", mcp=False)
]

#: What a tool reads when it names no scope is the same as on the command line; it is documented as null.
ReadScope = Annotated[
    str, Arg("items of this scope and of the scope global", "--scope", mcp_default=None, mcp_help="default: project")
]


def writes(ctx: "Context", workspace: str | None, scope: str) -> tuple[str, str | None]:
    """The scope and the corpus that an operation files under. Opens no store unless a workspace is named."""
    if workspace is None:
        return scope, None
    from memctl.retrieve.view import found

    saved = found(ctx.db, workspace)
    return saved.scope, saved.corpus_id


def seen_through(ctx: "Context", workspace: str | None, filters: "Filters", *, all_scopes: bool = False) -> "Filters":
    """The filters with what a workspace reads instead of a scope; as they are without one."""
    if workspace is None:
        return filters
    from memctl.retrieve.view import reads

    view = reads(ctx.db, workspace, None, all_scopes=all_scopes)
    return filters.replace(scopes=view.scopes, corpus_id=view.corpus_id)
