"""Saved views: a workspace is a name for what a recall reads. The table is RAGIX's; a store need not have it."""

from memctl import errors
from memctl.names import DEFAULT_SCOPE
from memctl.store.connect import Database


def saved_view(db: Database, name: str) -> tuple[str, str | None]:
    """The scope and the corpus (None = any) that a workspace reads. Raises WorkspaceNotFound.

    `default` is the scope project where the store does not say otherwise.
    """
    row = None
    if db.has("memory_workspaces"):
        row = db.row("SELECT scope, corpus_id FROM memory_workspaces WHERE name = ?", (name,))
    if row is not None:
        return str(row[0]), row[1] or None
    if name == "default":
        return DEFAULT_SCOPE, None
    raise errors.WorkspaceNotFound(name=name)
