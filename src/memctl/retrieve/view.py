"""What an operation reads and where it writes: a scope, or a workspace, which is a name for more than that."""

from memctl import errors
from memctl.annotations import TYPE_CHECKING
from memctl.store.filters import Filters

if TYPE_CHECKING:
    from memctl.store.database import Database
    from memctl.store.workspaces import Workspace


class View:
    """What is read: the scopes and the corpus (None = any), and the most tokens a recall may take (None = no limit)."""

    __slots__ = ("budget", "corpus_id", "scopes")

    def __init__(self, scopes: tuple[str, ...] | None, corpus_id: str | None = None, budget: int | None = None) -> None:
        self.scopes, self.corpus_id, self.budget = scopes, corpus_id, budget


def reads(db: "Database", workspace: str | None, scope: str | None, *, all_scopes: bool = False) -> View:
    """What is read in a workspace, else in a scope and global, else (None, or `all_scopes`) everywhere.

    Raises WorkspaceNotFound.
    """
    if workspace is None:
        return View(Filters.read_set(scope, all_scopes))
    saved = found(db, workspace)
    return View(None if all_scopes else saved.reads, saved.corpus_id, saved.budget)


def found(db: "Database", name: str) -> "Workspace":
    """The workspace of this name. Raises WorkspaceNotFound."""
    from memctl.store import workspaces

    saved = workspaces.get_workspace(db, name.strip())
    if saved is None:
        raise errors.WorkspaceNotFound(name=name)
    return saved
