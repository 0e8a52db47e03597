"""Saved views: a workspace is a name for what a recall reads."""

from memctl import errors
from memctl.names import DEFAULT_SCOPE
from memctl.store import workspaces
from memctl.store.connect import Database


def saved_view(db: Database, name: str) -> tuple[str, str | None]:
    """The scope and the corpus (None = any) that a workspace reads. Raises WorkspaceNotFound.

    `default` is the scope project where the store does not say otherwise.
    """
    view = workspaces.view(db, name)
    if view is not None:
        return view
    if name == "default":
        return DEFAULT_SCOPE, None
    raise errors.WorkspaceNotFound(name=name)
