"""Parameters that several operations take in the same words, and the groups of them: read, write, act.

What an operation says differently of a field stands where it takes the group, in `Fields`.
"""

from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.names import DEFAULT_SCOPE, ItemType, RedactionView, Tier
from memctl.operation import Arg, Group

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
        mcp_help="a saved view, instead of scope",
    ),
]
WriteIn = Annotated[
    str | None,
    Arg(
        "file it where this saved view writes, instead of --scope",
        "-w",
        "--workspace",
        metavar="NAME",
        mcp_help="a saved view, instead of scope",
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
#: What a tool reads when it names no scope is the same as on the command line; it is documented as null.
ReadScope = Annotated[
    str, Arg("items of this scope and of the scope global", "--scope", mcp_default=None, mcp_help="default: project")
]
Tags = Annotated[
    list[str] | None,
    Arg("items with at least one of these tags", "--tags", comma=True, mcp_help="one of these, comma-separated"),
]

#: Whose words are listed, where statements are listed and documents summed up.
Passages = Annotated[bool, Arg("passages of documents too, one by one", "--passages")]
Source = Annotated[
    str | None,
    Arg("only what documents, people or models said (docs, people, models), or what is from this file or folder",
        "--from", metavar="WHO|PATH", mcp_name="source"),
]  # fmt: skip


class ReadRequest(Group):
    """What is read: `memctl.reading.request` makes filters of it, and finds what answers a question.

    workspace  stands for the scopes, the corpus and the most tokens that the saved view has
    below      only passages of files below this folder (its path ends in a separator); no operation offers it
    """

    budget: Budget = 1500
    tier: Annotated[Tier | None, Arg("only this tier", "--tier")] = None
    type: Annotated[ItemType | None, Arg("only this type of item", "--type", metavar="TYPE")] = None
    scope: ReadScope = DEFAULT_SCOPE
    all_scopes: Annotated[bool, Arg("items of every scope", "--all-scopes", mcp="full")] = False
    workspace: ReadIn = None
    tags: Tags = None
    mount: Annotated[
        str | None,
        Arg("only what is from the files of this mount: its name, id or folder", "--mount", metavar="MOUNT",
            mcp="full"),
    ] = None  # fmt: skip
    since: Annotated[
        str | None,
        Arg("only items made at this time or later: 2026-11-20, 7d, yesterday (UTC)", "--since", metavar="WHEN",
            mcp="full"),
    ] = None  # fmt: skip
    until: Annotated[
        str | None, Arg("only items made at this time or earlier", "--until", metavar="WHEN", mcp="full")
    ] = None
    as_of: Annotated[
        str | None,
        Arg("answer as the store was at this time, archived items and old texts too", "--as-of", metavar="WHEN",
            mcp="full"),
    ] = None  # fmt: skip
    domain: Annotated[
        str | None,
        Arg("only what stands in this domain (memctl browse)", "--domain", metavar="DOMAIN", mcp="full"),
    ] = None  # fmt: skip
    session: Annotated[
        str | None,
        Arg("only what was said in this session (memctl session list)", "--session", metavar="SESSION-ID", mcp="full",
            mcp_name="session_id"),
    ] = None  # fmt: skip
    archived: Annotated[bool, Arg("archived and expired items too", "--archived")] = False
    min_coverage: Annotated[
        float,
        Arg("nothing, if the best covers less than this share of the question's weight", "--min-coverage",
            config="recall.min_coverage", metavar="X", ge=0, le=1, mcp="full"),
    ] = 0.0  # fmt: skip
    auto: Annotated[
        bool,
        Arg("only what is worth saying to somebody who did not ask: nothing for talk such as `ok, continue`", "--auto",
            mcp="full"),
    ] = False  # fmt: skip
    embedder: ByMeaning = None
    weigh: Annotated[
        list[str] | None,
        Arg("what newness, use, importance and validation count, this time: recency=0.3,use=0", "--weigh",
            metavar="NAME=X,...", comma=True, mcp="full"),
    ] = None  # fmt: skip
    redact: Annotated[RedactionView, Arg("who may see it; RAGIX says S0, S2, S3", "--redact", mcp=False)] = "full"
    below: str | None = None


class Selection(Group):
    """Which items a command changes that are not named by their ids: `memctl.reading.selection` finds them.

    All of it is for people: a tool is given ids, but for what it takes in the words of another program.
    """

    query: Annotated[
        str | None, Arg("those that these words find, as search does", "--query", metavar="WORDS", mcp=False)
    ] = None
    tags: Annotated[list[str] | None, Arg("those with at least one of these tags", "--tags", comma=True, mcp=False)] = (
        None
    )
    tier: Annotated[Tier | None, Arg("those of this tier", "--tier", mcp=False)] = None
    type: Annotated[ItemType | None, Arg("those of this type", "--type", metavar="TYPE", mcp=False)] = None
    source: Annotated[
        str | None,
        Arg("those of docs, people or models, or from this file or folder", "--from", metavar="WHO|PATH", mcp=False),
    ] = None
    since: Annotated[str | None, Arg("those made at this time or later", "--since", metavar="WHEN", mcp=False)] = None
    until: Annotated[str | None, Arg("those made at this time or earlier", "--until", metavar="WHEN", mcp=False)] = None
    scope: Annotated[str, Arg("of this scope and of the scope global", "--scope", mcp=False)] = DEFAULT_SCOPE
    all_scopes: Annotated[bool, Arg("of every scope", "--all-scopes", mcp=False)] = False
    workspace: Annotated[
        str | None, Arg("of what this saved view reads", "-w", "--workspace", metavar="NAME", mcp=False)
    ] = None
    limit: Annotated[
        int | None,
        Arg("at most this many (with --query 10, otherwise all)", "-n", "--limit", aliases=("-k",), ge=1, le=100_000,
            mcp=False),
    ] = None  # fmt: skip
    dry_run: Annotated[bool, Arg("only say what would be done", "--dry-run", mcp=False)] = False
    yes: Annotated[bool, Arg("do it without asking", "--yes", mcp=False)] = False


class BlockForm(Group):
    """What stands around the passages of a block, and whether it is made of passages or of a line each."""

    mode: Annotated[
        Literal["hybrid", "inject", "catalog"],
        Arg("catalog: a line of each item instead of the passages; inject: with --json, no list of items", "--mode",
            mcp="full", mcp_help="inject: the text only; catalog: a line of each item only"),
    ] = "hybrid"  # fmt: skip

    no_header: Annotated[bool, Arg("only the passages, without header and footer", "--no-header", mcp=False)] = False
    frame: Annotated[
        Literal["compact", "full", "none"],
        Arg("what stands around passages; full: format_version 1, none: nothing", "--frame", config="recall.frame",
            mcp=False),
    ] = "compact"  # fmt: skip
    prompt: Annotated[bool, Arg("end with the question: a whole prompt for a model", "--prompt", mcp=False)] = False
    propose: Annotated[
        bool, Arg("tell the model how to propose memories, for `pull` (with --prompt)", "--propose", mcp=False)
    ] = False


class WriteTarget(Group):
    """Where something is filed, and what is said of it there."""

    scope: Annotated[str, Arg("the scope to store in", "--scope")] = DEFAULT_SCOPE
    workspace: WriteIn = None
    tags: Annotated[list[str] | None, Arg("its tags", "--tags", comma=True)] = None
    tier: HowEstablished = "stm"
    source: Annotated[
        str | None,
        Arg("where it is from: FILE, FILE:LINE, an address, or KIND:ID with the kind chat, doc, tool or mixed",
            "--source"),
    ] = None  # fmt: skip

    session: Annotated[
        str | None,
        Arg("the session that it is said in", "--session", env="MEMCTL_SESSION", metavar="SESSION-ID", mcp="full",
            mcp_name="session_id"),
    ] = None  # fmt: skip

    def place(self, ctx: "Context") -> tuple[str, str | None]:
        """The scope and the corpus that it is filed under. Opens no store unless a workspace is named."""
        if self.workspace is None:
            return ctx.scope_named(self.scope), None
        saved = ctx.workspace(self.workspace)
        return saved.scope, saved.corpus_id


class Acting(Group):
    """Whether an operation does what it says: `--dry-run` only tells it, `--yes` allows what cannot be undone."""

    dry_run: Annotated[bool, Arg("only say what would be done", "--dry-run")] = False
    yes: Annotated[bool, Arg("do it; without this, only say what would go", "--yes")] = False


def seen_through(ctx: "Context", workspace: str | None, filters: "Filters", *, all_scopes: bool = False) -> "Filters":
    """The filters with what a workspace reads instead of a scope; as they are without one."""
    if workspace is None:
        return filters
    saved = ctx.workspace(workspace)
    return filters.replace(scopes=None if all_scopes else saved.reads, corpus_id=saved.corpus_id)


def first_moment(since: str | None) -> str:
    """The first moment that the value of --since means; "" without one. Raises TimeInvalid."""
    from memctl import errors, ids
    from memctl.text import times

    try:
        return "" if since is None else times.span(since, ids.now_seconds())[0]
    except ValueError:
        raise errors.TimeInvalid(option="--since", value=" ".join((since or "").split())[:40]) from None
