"""Scopes: what is in each, and moving one as a whole."""

from collections.abc import Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.names import DEFAULT_SCOPE
from memctl.store.database import Database
from memctl.store.filters import Filters


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


def count_active(db: Database, scopes: Sequence[str]) -> int:
    """How many items of these scopes are neither archived nor expired."""
    where, values = Filters(tuple(scopes)).where()
    return int(db.value(f"SELECT count(*) FROM memory_items AS i WHERE {where}", values))


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
    import json

    from memctl.store.items import events, items

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
                changed = json.dumps(list(dict.fromkeys(new if one == old else one for one in scopes)))
                db.run("UPDATE memory_workspace_options SET read_scopes = ? WHERE name = ?", (changed, name))
        events.log(db, "scope_mv", None, {"from": old, "to": new, "items": len(moved)})
