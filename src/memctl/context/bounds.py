"""What a model may do through a tool, where a person at a terminal may do more.

The server gives every call's context its bounds; a context without bounds is a person's. An operation asks here before
it reads a folder, and before it changes what a person has set.
"""

import os
from collections.abc import Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING
from memctl.paths import real_path

if TYPE_CHECKING:
    from memctl.context import Context


class ToolBounds:
    """The bounds of one server. `roots`: the canonical folders that documents are read from; None: any folder."""

    __slots__ = ("roots",)

    def __init__(self, roots: Sequence[str] | None) -> None:
        self.roots = None if roots is None else tuple(roots)

    def holds(self, folder: str) -> bool:
        """Whether a folder lies in one of the roots, links followed."""
        if self.roots is None:
            return True
        place = os.path.join(real_path(folder), "")
        return any(place.startswith(os.path.join(root, "")) for root in self.roots)


def roots(ctx: "Context") -> tuple[str, ...] | None:
    """The folders that the caller may have read; None: any."""
    return None if ctx.bounds is None else ctx.bounds.roots


def may_read(ctx: "Context", folder: str) -> bool:
    """Whether the caller may have a folder read."""
    return ctx.bounds is None or ctx.bounds.holds(folder)


def check_folder(ctx: "Context", folder: str) -> None:
    """Raise ToolRefused when the caller may not have this folder read."""
    if not may_read(ctx, folder):
        raise errors.ToolRefused(
            what=f"read {ctx.policy.redact(folder)}: it is not in a folder that this server may read",
            remedy="memctl sync in a terminal, or memctl serve --allow-root",
        )


def leave_to_person(ctx: "Context", what: str, command: str) -> None:
    """Raise ToolRefused when a model calls; `command` is what a person does it with."""
    if ctx.bounds is not None:
        raise errors.ToolRefused(what=what, remedy=command)
