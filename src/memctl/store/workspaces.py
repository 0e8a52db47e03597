"""Workspaces: named views that RAGIX saves. The table is RAGIX's; a store need not have it."""

from memctl.store.connect import Database


def view(db: Database, name: str) -> tuple[str, str | None] | None:
    """The scope and the corpus (None = any) that a workspace reads; None if no such workspace is saved."""
    if not db.has("memory_workspaces"):
        return None
    row = db.row("SELECT scope, corpus_id FROM memory_workspaces WHERE name = ?", (name,))
    return None if row is None else (str(row[0]), row[1] or None)
