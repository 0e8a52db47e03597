"""Scopes: what is in each, how long its items are, and moving one as a whole."""

from collections.abc import Mapping, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.names import DEFAULT_SCOPE
from memctl.store.database import FTS, Database
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


# --- how long items of scopes are ------------------------------------------------------------------------------------


#: How much the length counts in FTS5's bm25 (its constant b).
B = 0.75
#: Items of a scope, those stored first, whose average length stands for that of all.
SAMPLE = 2000


def strengths_in_scopes(db: Database, strengths: Mapping[int, float], scopes: Sequence[str]) -> Mapping[int, float]:
    """The strengths of a word, by rowid, as they would be if the store held nothing but these scopes."""
    everywhere, here = _average_lengths(db, tuple(scopes))
    if not strengths or everywhere == here:
        return strengths
    before, after = B / everywhere, B / here
    lengths: dict[int, int] = db.cached("lengths")
    unknown = [row for row in strengths if row not in lengths]
    if unknown:
        db.cached("lengths", len(unknown))
        lengths.update(dict.fromkeys(unknown, 0))
        sql = f"SELECT id, sz FROM {FTS}_docsize WHERE id IN (SELECT value FROM json_each(?))"
        lengths.update((row, sum(decode_varints(size))) for row, size in db.rows(sql, [str(unknown)]))
    return {
        row: strength * (1 - B + before * lengths[row]) / (1 - B + after * lengths[row])
        for row, strength in strengths.items()
    }


def _average_lengths(db: Database, scopes: tuple[str, ...]) -> tuple[float, float]:
    """The average length in the store, and in these scopes; twice the same when the index does not say."""
    known = db.cached("averages")
    if scopes not in known:
        known[scopes] = (1.0, 1.0)
        record = db.value(f"SELECT block FROM {FTS}_data WHERE id = 1") if f"{FTS}_docsize" in db.tables else None
        items, *words = decode_varints(record or b"\0")
        if items and sum(words):
            everywhere = sum(words) / items
            lengths = [
                sum(decode_varints(size))
                for scope in scopes
                for (size,) in db.rows(
                    f"SELECT sz FROM {FTS}_docsize "
                    "WHERE id IN (SELECT rowid FROM memory_items WHERE scope = ? LIMIT ?)",
                    (scope, SAMPLE),
                )
            ]
            known[scopes] = (everywhere, sum(lengths) / len(lengths) if any(lengths) else everywhere)
    found: tuple[float, float] = known[scopes]
    return found


def decode_varints(data: bytes) -> list[int]:
    """The numbers in a record of the index: seven bits in a byte, the highest first, the last byte below 128."""
    if data.isascii():  # a byte below 128 is a number
        return list(data)
    out, number = [], 0
    for byte in data:
        number = number << 7 | byte & 127
        if byte < 128:
            out.append(number)
            number = 0
    return out
