"""Paths of files as keys in the store, where a path may hold a secret that must not be stored.

Such a file goes by a stand-in: its path as policy lets it be shown, a #, and the first digits of the path's hash. The
file is told again by that, as long as it is called so; what it is called cannot be read out of the store.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from memctl import ids
from memctl.store.connect import Database

#: So many hex digits of its SHA-256 tell a path again.
_HASH = 12
#: Where paths stand as keys, and where beside them.
_KEYS = ("corpus_hashes", "memory_files", "memory_gone_files", "memory_unread_files")
_OTHERS = (("corpus_hashes", "rel_path"), ("memory_mounts", "path"), ("memory_mounts", "name"))
_LOGGED = "CASE WHEN json_valid(details_json) THEN json_extract(details_json, '$.path') END"


class SecretPath(NamedTuple):
    """A path that is to be replaced in a column of a table, and by what."""

    table: str
    column: str
    path: str
    stand_in: str


def stand_in(path: str, shown: str) -> str:
    """What a file is called in the store: its path, or, where `shown` differs from it, the stand-in."""
    return path if path == shown else f"{shown}#{_hash(path)}"


def stand_ins(stored: Iterable[str]) -> dict[str, str]:
    """Those of these names that are stand-ins, by the hash in them."""
    return {name[-_HASH:]: name for name in stored if "[REDACTED:" in name and name[-_HASH - 1 : -_HASH] == "#"}


def name_of(path: str, hidden: Mapping[str, str]) -> str:
    """The stand-in of a path, of those that `stand_ins` gave; "" if it has none."""
    return hidden.get(_hash(path), "") if hidden else ""


def _hash(path: str) -> str:
    return ids.bytes_hash(path.encode("utf-8", "surrogatepass"))[:_HASH]


def to_hide(db: Database, shown: Callable[[str], str]) -> list[SecretPath]:
    """The paths in the store that may not be there; `shown` says how policy lets one be shown."""
    out = []
    for table, column in (*((table, "file_path") for table in _KEYS), *_OTHERS):
        if db.has(table):
            found = db.rows(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1")
            out += [SecretPath(table, column, path, stand_in(path, shown(path))) for (path,) in found]
    logged = f"SELECT DISTINCT {_LOGGED} FROM memory_events WHERE action = 'mount_register' ORDER BY 1"
    out += [SecretPath("memory_events", "", path, stand_in(path, shown(path))) for (path,) in db.rows(logged) if path]
    return [one for one in out if one.path != one.stand_in]


def hide(db: Database, held: Iterable[SecretPath]) -> None:
    """Put the stand-ins in the place of paths, in one transaction."""
    with db.atomic():
        for table, column, path, name in held:
            if table == "memory_events":
                db.run(
                    "UPDATE memory_events SET details_json = json_set(details_json, '$.path', ?) "
                    f"WHERE action = 'mount_register' AND {_LOGGED} = ?",
                    (name, path),
                )
                continue
            if column == "file_path":  # it may be known by its stand-in already
                db.run(f"DELETE FROM {table} WHERE {column} = ?", (name,))
            db.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (name, path))
