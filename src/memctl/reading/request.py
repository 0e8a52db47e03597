"""What the commands that read items share: times, and when to say nothing rather than little."""

import os
from contextlib import AbstractContextManager, nullcontext

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated
from memctl.context import Context
from memctl.operation import Arg

if TYPE_CHECKING:
    from memctl.retrieve.find import Found
    from memctl.retrieve.strength import Weights
    from memctl.store.filters import Filters

Since = Annotated[
    str | None,
    Arg(
        "only items made at this time or later: 2026-11-20, 7d, yesterday (UTC)", "--since", metavar="WHEN", mcp="full"
    ),
]
Until = Annotated[str | None, Arg("only items made at this time or earlier", "--until", metavar="WHEN", mcp="full")]
AsOf = Annotated[
    str | None,
    Arg(
        "answer as the store was at this time, archived items and old texts too", "--as-of", metavar="WHEN", mcp="full"
    ),
]
InMount = Annotated[
    str | None,
    Arg("only what is from the files of this mount: its name, id or folder", "--mount", metavar="MOUNT", mcp="full"),
]
#: Bytes of a config file that are looked through; a larger one is refused by whoever reads it.
MOST_OF_CONFIG = 5 << 20
_LEAST = "nothing, if the best covers less than this share of the question's weight"
MinCoverage = Annotated[
    float, Arg(_LEAST, "--min-coverage", config="recall.min_coverage", metavar="X", ge=0, le=1, mcp="full")
]
#: The same for `search`, which reads no config file.
MinCoverageHere = Annotated[float, Arg(_LEAST, "--min-coverage", metavar="X", ge=0, le=1, mcp="full")]


def within(filters: "Filters", since: str | None, until: str | None, as_of: str | None) -> "Filters":
    """The filters with the moments that times on a command line mean. Raises TimeInvalid and TimesCrossed."""
    if since is None and until is None and as_of is None:
        return filters
    first = None if since is None else _span("--since", since)[0]
    last = None if until is None else _span("--until", until)[1]
    if first is not None and last is not None and first > last:
        raise errors.TimesCrossed(since=since, until=until)
    then = None if as_of is None else min(_span("--as-of", as_of)[1], ids.timestamp())
    return filters.replace(since=first, until=last, as_of=then)


def in_mount(ctx: Context, filters: "Filters", mount: str | None, command: str) -> "Filters":
    """The filters for what is from one mount's files. Raises UsageError when there is no such mount."""
    if mount is None:
        return filters
    from memctl.folders.registered import mount_named

    return filters.replace(below=os.path.join(mount_named(ctx, mount, command)["path"], ""))


def _span(option: str, text: str) -> tuple[str, str]:
    from memctl.text import times

    try:
        return times.span(text, ids.now_seconds())
    except ValueError:
        raise errors.TimeInvalid(option=option, value=" ".join(text.split())[:40]) from None


def weights(ctx: Context) -> "Weights | None":
    """What config.json says of how much it counts to be new, used, important and verified; None when nothing."""
    if not config_says(ctx, b'"recall"'):
        return None
    from memctl.retrieve.strength import Weights

    value = ctx.config.value
    return Weights(
        recency=value("recall.recency"), recency_days=value("recall.recency_days"), use=value("recall.use"),
        importance=value("recall.importance"), validation=value("recall.validation"),
    )  # fmt: skip


def config_says(ctx: Context, word: bytes) -> bool:
    """Whether the config file has this word in it: reading it as JSON would cost a third of a search."""
    path = ctx.config_path
    if path is None or ctx.config_flag is not None:  # a file that was named is read, whatever it is
        return path is not None
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return word in file.read(MOST_OF_CONFIG)
    except OSError:  # whoever needs it says what is wrong with it
        return True


def looking_back(ctx: Context, filters: "Filters") -> AbstractContextManager[None]:
    """Where reads see the store as it was at the moment the filters name; as it is, when they name none."""
    if filters.as_of is None:
        return nullcontext()
    from memctl.store import as_of

    return as_of.view_as_of(ctx.db, filters.as_of)


Unasked = Annotated[
    bool,
    Arg(
        "only what is worth saying to somebody who did not ask: nothing for talk such as `ok, continue`", "--auto",
        mcp="full",
    ),
]  # fmt: skip


def abstains(ctx: Context, found: "Found", least: float, label: str, *, auto: bool = False) -> bool:
    """Whether what was found covers too little of the question; then it is emptied, and stderr says so.

    auto  nobody asked: the rule for that decides, too (`memctl.retrieve.coverage.worth_saying`)
    """
    if not found.candidates or (least <= 0 and not auto):
        return False
    from memctl.retrieve.coverage import coverage, worth_saying

    if auto and not worth_saying(found):
        found.candidates.clear()
        found.total = 0
        ctx.note(f"{label}Nothing is worth saying unasked.")
        return True
    if least <= 0:
        return False
    share = coverage(found)
    if share >= least:
        return False
    found.candidates.clear()
    found.total = 0
    ctx.note(f"{label}Nothing covers enough of the question (best {share:.2f}, --min-coverage {least:g}).")
    return True
