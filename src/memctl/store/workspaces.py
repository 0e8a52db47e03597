"""Workspaces: saved views, by name; and scopes: what is in each, and moving one as a whole.

The table of workspaces is RAGIX's, what it has no column for stands beside it.
"""

from memctl import errors, ids
from memctl.annotations import Any, NamedTuple
from memctl.names import DEFAULT_SCOPE, GLOBAL_SCOPE
from memctl.store.database import Database
from memctl.store.items import events, items
from memctl.text import jsons

#: The workspace that is always there.
DEFAULT_WORKSPACE = "default"
#: The event that says who made a workspace.
_MADE = "workspace_register"


class Workspace(NamedTuple):
    """What is read and written under a name.

    scope        what is written to
    corpus_id    the document set that is read, and that what is written belongs to; None: any, and none
    read_scopes  what is read; empty: `scope` and the scope global
    budget       tokens that a recall may take at most; None: no limit of its own
    created_at   empty for the one that is always there
    """

    name: str
    scope: str = DEFAULT_SCOPE
    corpus_id: str | None = None
    description: str = ""
    read_scopes: tuple[str, ...] = ()
    budget: int | None = None
    created_at: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """The scopes that are read."""
        return self.read_scopes or tuple(dict.fromkeys((self.scope, GLOBAL_SCOPE)))

    def as_dict(self) -> dict[str, Any]:
        """RAGIX's five keys, then ours."""
        return {
            "name": self.name, "scope": self.scope, "corpus_id": self.corpus_id or "",
            "description": self.description, "created_at": self.created_at,
            "read_scopes": list(self.reads), "budget": self.budget,
        }  # fmt: skip


def get_workspace(db: Database, name: str) -> Workspace | None:
    """The workspace of this name; None when there is none."""
    return next((one for one in list_workspaces(db) if one.name == name), None)


def named_workspace(db: Database, name: str) -> Workspace:
    """The workspace of this name. Raises WorkspaceNotFound."""
    found = get_workspace(db, name.strip())
    if found is None:
        raise errors.WorkspaceNotFound(name=name)
    return found


def list_workspaces(db: Database) -> list[Workspace]:
    """All workspaces by name, the one that is always there first."""
    found = {DEFAULT_WORKSPACE: Workspace(DEFAULT_WORKSPACE)}
    if "memory_workspaces" not in db.tables:
        return list(found.values())
    beside = "memory_workspace_options" in db.tables
    more = "o.read_scopes, o.budget" if beside else "NULL, NULL"
    join = "LEFT JOIN memory_workspace_options AS o ON o.name = w.name" if beside else ""
    for name, scope, corpus, words, made, reads, budget in db.rows(
        f"SELECT w.name, w.scope, w.corpus_id, w.description, w.created_at, {more} "
        f"FROM memory_workspaces AS w {join} ORDER BY w.name"
    ):
        found[str(name)] = Workspace(
            str(name), str(scope), corpus or None, str(words or ""), tuple(items.load_strings(reads)),
            budget if isinstance(budget, int) else None, str(made or ""),
        )  # fmt: skip
    return list(found.values())


def put_workspace(db: Database, wanted: Workspace, *, by_tool: bool = False) -> Workspace:
    """Save a workspace, or change the one of this name; when it was made stays. Returns it as it is saved.

    by_tool  a tool does it that a model called; a person who changes the workspace later makes it his own
    """
    with db.atomic():
        if by_tool or events.is_by_tool(db, "workspace", wanted.name):
            events.log(db, _MADE, None, {"name": wanted.name} | ({"by": "tool"} if by_tool else {}))
        db.run(
            "INSERT INTO memory_workspaces(name, scope, corpus_id, description, created_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT(name) DO UPDATE SET scope = excluded.scope, corpus_id = excluded.corpus_id, "
            "description = excluded.description",
            (wanted.name, wanted.scope, wanted.corpus_id or "", wanted.description, ids.timestamp()),
        )
        reads = jsons.encode(list(wanted.read_scopes)) if wanted.read_scopes else None
        db.upsert("memory_workspace_options", "name read_scopes budget", [(wanted.name, reads, wanted.budget)])
        return get_workspace(db, wanted.name) or wanted


def remove_workspace(db: Database, name: str) -> bool:
    """Forget a workspace; its items stay. False for one that is not saved, and for the one that is always there."""
    with db.atomic():
        if name == DEFAULT_WORKSPACE or get_workspace(db, name) is None:
            return False
        for table in ("memory_workspaces", "memory_workspace_options"):
            db.run(f"DELETE FROM {table} WHERE name = ?", (name,))
    return True


# --- scopes ----------------------------------------------------------------------------------------------------------


class ScopeSum(NamedTuple):
    """What is in a scope: active items, archived ones, conversations, mounts, and workspaces that write to it."""

    scope: str
    items: int = 0
    archived: int = 0
    sessions: int = 0
    mounts: int = 0
    workspaces: int = 0


#: Of what is in a scope beside items: the table, and the scopes of its rows. A mount without one has the usual.
_BESIDE = {
    "sessions": ("memory_sessions", "SELECT scope FROM memory_sessions"),
    "mounts": (
        "memory_mount_options",
        "SELECT coalesce(o.scope, 'project') FROM memory_mounts LEFT JOIN memory_mount_options AS o USING (mount_id)",
    ),
    "workspaces": ("memory_workspaces", "SELECT scope FROM memory_workspaces"),
}


def sum_scopes(db: Database) -> list[ScopeSum]:
    """Every scope that something is in, in the order of the alphabet."""
    found: dict[str, dict[str, int]] = {}
    counted = db.rows("SELECT scope, archived, count(*) FROM memory_items GROUP BY scope, archived <> 0")
    for scope, is_archived, count in counted:
        found.setdefault(str(scope), {})["archived" if is_archived else "items"] = count
    for name, (table, scopes) in _BESIDE.items():
        if table in db.tables:
            for (scope,) in db.rows(scopes):
                counts = found.setdefault(str(scope or DEFAULT_SCOPE), {})
                counts[name] = counts.get(name, 0) + 1
    return [ScopeSum(scope, **found[scope]) for scope in sorted(found)]


def move_scope(db: Database, old: str, new: str) -> None:
    """Put all that is in a scope into another one: items, archived ones too, conversations, mounts and workspaces.

    Each item gets a revision and an event; when it was changed last stays, as its words do.
    """
    now = ids.timestamp()
    with db.atomic():
        moved = db.rows("SELECT id, content_hash FROM memory_items WHERE scope = ?", (old,))
        db.run("UPDATE memory_items SET scope = ? WHERE scope = ?", (new, old))
        items.record_writes(db, [(str(i), items.UNCHANGED, now, str(digest or "")) for i, digest in moved], "scope")
        for table in ("memory_sessions", "memory_workspaces", "corpus_metadata"):
            db.run(f"UPDATE {table} SET scope = ? WHERE scope = ?", (new, old))
        db.run(
            "INSERT INTO memory_mount_options(mount_id, scope) SELECT m.mount_id, ? FROM memory_mounts AS m "
            "LEFT JOIN memory_mount_options AS o USING (mount_id) WHERE coalesce(o.scope, ?) = ? "
            "ON CONFLICT(mount_id) DO UPDATE SET scope = excluded.scope",
            (new, DEFAULT_SCOPE, old),
        )
        for name, reads in db.rows("SELECT name, read_scopes FROM memory_workspace_options"):
            scopes = items.load_strings(reads)
            if old in scopes:
                changed = jsons.encode(
                    list(dict.fromkeys(new if one == old else one for one in scopes)), ascii_only=True
                )
                db.run("UPDATE memory_workspace_options SET read_scopes = ? WHERE name = ?", (changed, name))
        events.log(db, "scope_mv", None, {"from": old, "to": new, "items": len(moved)})
