"""Rows of memory_mounts: the folders that feed the store."""

import os
from collections.abc import Sequence

from memctl import ids, registry
from memctl.annotations import Any
from memctl.paths import real_path
from memctl.store.database import Database
from memctl.store.items import events
from memctl.store.items.items import load_strings
from memctl.text import jsons

#: Where schema_meta says how a mount's documents are cut: this and the mount's id.
_CHUNK_TOKENS = "chunk_tokens "
_NAMES = ("mount_id", "path", "name", "ignore_json", "lang_hint", "created_at", "last_sync_at")


def put(
    db: Database,
    path: str,
    name: str | None = None,
    ignore: Sequence[str] | None = None,
    lang_hint: str | None = None,
    scope: str | None = None,
    chunk_tokens: int | None = None,
    *,
    by_tool: bool = False,
) -> str:
    """Register a folder by its canonical path, or bring its options up to date; returns its id.

    What is None stays as it was. `by_tool`: a tool does it that a model called; a person who changes the mount later
    makes it his own.
    """
    with db.atomic():
        known: str | None = db.value("SELECT mount_id FROM memory_mounts WHERE path = ?", (path,))
        mount_id = known or ids.new_id("MNT")
        patterns = None if ignore is None else jsons.encode(list(ignore))
        db.run(
            "INSERT INTO memory_mounts(mount_id, path, name, ignore_json, lang_hint, created_at) "
            "VALUES (?, ?, ?, coalesce(?, '[]'), ?, ?) ON CONFLICT(mount_id) DO UPDATE SET "
            "name = coalesce(excluded.name, name), ignore_json = coalesce(?, ignore_json), "
            "lang_hint = coalesce(excluded.lang_hint, lang_hint)",
            (mount_id, path, name, patterns, lang_hint, ids.timestamp(), patterns),
        )
        if scope is not None:
            db.upsert("memory_mount_options", "mount_id scope", [(mount_id, scope)])
        if chunk_tokens is not None:
            db.set_meta(_CHUNK_TOKENS + mount_id, str(chunk_tokens))
        if lang_hint is not None:
            db.run("UPDATE corpus_hashes SET lang_hint = ? WHERE mount_id = ?", (lang_hint, mount_id))
        if known is None:
            by = {"by": "tool"} if by_tool else {}
            events.log(db, "mount_register", None, {"mount_id": mount_id, "path": path} | by)
        elif not by_tool and events.is_by_tool(db, "mount", mount_id):
            events.log(db, "mount_register", None, {"mount_id": mount_id, "path": path})
    note_folder(db, path)
    return mount_id


def note_folder(db: Database, folder: str) -> None:
    """Note, outside the store, a folder outside its project that feeds it.

    Whoever may write the store can add a mount, and must not choose by that which of the user's folders are read.
    """
    if is_outside(db.path, folder) and not registry.note_folders(db.path, [real_path(folder)]):
        db.tell(f"That {folder} feeds the store cannot be written down: memctl sync must name it each time")


def is_outside(store: str, folder: str) -> bool:
    """Whether a folder is not in the project of the store, links followed."""
    below = os.path.join(real_path(project_folder(store)), "")
    return not os.path.join(real_path(folder), "").startswith(below)


def project_folder(path: str) -> str:
    """The folder that a store belongs to: the one that holds its `.memory`, else its own."""
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.dirname(folder) if os.path.basename(folder) == ".memory" else folder


def resolve_path(store: str, path: str) -> str:
    """The path of a mount: one that is relative, which only other programs write, is seen from the store's project."""
    return os.path.normpath(os.path.join(project_folder(store), path))


def list_mounts(db: Database) -> list[dict[str, Any]]:
    """All mounts, oldest first, `ignore_patterns` decoded; `scope` and `chunk_tokens` are None where the default is."""
    if "memory_mounts" not in db.tables:
        return []
    options: dict[str, str | None] = {}
    if "memory_mount_options" in db.tables:
        options = dict(db.rows("SELECT mount_id, scope FROM memory_mount_options"))
    sizes = dict(
        db.rows(
            "SELECT substr(key, ?), value FROM schema_meta WHERE key LIKE ?",
            (len(_CHUNK_TOKENS) + 1, _CHUNK_TOKENS + "%"),
        )
    )
    out = []
    for row in db.rows(f"SELECT {', '.join(_NAMES)} FROM memory_mounts ORDER BY created_at, mount_id"):
        mount = dict(zip(_NAMES, row, strict=True))
        mount["ignore_patterns"] = load_strings(mount.pop("ignore_json"))
        mount["scope"] = options.get(mount["mount_id"])
        mount["path"] = resolve_path(db.path, mount["path"])
        size = str(sizes.get(mount["mount_id"], ""))
        mount["chunk_tokens"] = int(size) if size.isascii() and size.isdecimal() else None
        out.append(mount)
    return out


def find_mount(db: Database, key: str) -> dict[str, Any] | None:
    """The mount with this id, path or name."""
    for field in ("mount_id", "path", "name"):
        for mount in list_mounts(db):
            if mount[field] == key:
                return mount
    return None


def remove(db: Database, key: str) -> bool:
    """Forget a mount by id, name or path; its items stay. False when there is none."""
    with db.atomic():
        mount = find_mount(db, key)
        if mount is None:
            return False
        for table in ("memory_mounts", "memory_mount_options"):
            db.run(f"DELETE FROM {table} WHERE mount_id = ?", (mount["mount_id"],))
        db.run("DELETE FROM schema_meta WHERE key = ?", (_CHUNK_TOKENS + mount["mount_id"],))
        db.run("UPDATE corpus_hashes SET mount_id = NULL WHERE mount_id = ?", (mount["mount_id"],))
        events.log(db, "mount_remove", None, {"mount_id": mount["mount_id"]})
    return True


def move(db: Database, mount_id: str, path: str) -> None:
    """Give a mount another folder; where that one has a mount of its own, this one goes."""
    with db.atomic():
        if find_mount(db, path) is not None:
            remove(db, mount_id)
        else:
            db.run("UPDATE memory_mounts SET path = ? WHERE mount_id = ?", (path, mount_id))


def mark_synced(db: Database, mount_id: str) -> None:
    """Set the time of the last sync to now."""
    with db.atomic():
        db.run("UPDATE memory_mounts SET last_sync_at = ? WHERE mount_id = ?", (ids.timestamp(), mount_id))
