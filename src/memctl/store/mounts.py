"""Rows of memory_mounts: the folders that feed the store."""

import json
from typing import Any

from memctl import ids
from memctl.store import events, rows
from memctl.store.connect import Database

_NAMES = ("mount_id", "path", "name", "ignore_json", "lang_hint", "created_at", "last_sync_at")


def put(db: Database, path: str, name: str | None, ignore: list[str], lang_hint: str | None) -> str:
    """Register a folder by its canonical path, or bring its options up to date; returns its id."""
    with db.atomic():
        known: str | None = db.value("SELECT mount_id FROM memory_mounts WHERE path = ?", (path,))
        mount_id = known or ids.new_id("MNT")
        db.run(
            "INSERT INTO memory_mounts(mount_id, path, name, ignore_json, lang_hint, created_at) "
            "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(mount_id) DO UPDATE SET name = coalesce(excluded.name, name), "
            "ignore_json = excluded.ignore_json, lang_hint = coalesce(excluded.lang_hint, lang_hint)",
            (mount_id, path, name, json.dumps(ignore), lang_hint, ids.timestamp()),
        )
        if known is None:
            events.log(db, "mount_register", None, {"mount_id": mount_id, "path": path})
    return mount_id


def every(db: Database) -> list[dict[str, Any]]:
    """All mounts, oldest first, `ignore_patterns` decoded."""
    out = []
    for row in db.rows(f"SELECT {', '.join(_NAMES)} FROM memory_mounts ORDER BY created_at, mount_id"):
        mount = dict(zip(_NAMES, row, strict=True))
        mount["ignore_patterns"] = rows.strings(mount.pop("ignore_json"))
        out.append(mount)
    return out


def find(db: Database, key: str) -> dict[str, Any] | None:
    """The mount with this id, path or name."""
    for field in ("mount_id", "path", "name"):
        for mount in every(db):
            if mount[field] == key:
                return mount
    return None


def remove(db: Database, key: str) -> bool:
    """Forget a mount by id, name or path; its items stay. False when there is none."""
    with db.atomic():
        mount = find(db, key)
        if mount is None:
            return False
        db.run("DELETE FROM memory_mounts WHERE mount_id = ?", (mount["mount_id"],))
        events.log(db, "mount_remove", None, {"mount_id": mount["mount_id"]})
    return True


def touch(db: Database, mount_id: str) -> None:
    """Set the time of the last sync to now."""
    with db.atomic():
        db.run("UPDATE memory_mounts SET last_sync_at = ? WHERE mount_id = ?", (ids.timestamp(), mount_id))
