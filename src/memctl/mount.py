"""Folders that feed a store, under the documented names: `memctl mount` for programs."""

import os
from collections.abc import Sequence
from typing import Any

from memctl import errors
from memctl.context import open_context
from memctl.ops.write.folders import mount

__all__ = ["list_mounts", "register_mount", "remove_mount"]

Path = str | os.PathLike[str]


def register_mount(
    db_path: Path,
    folder_path: Path,
    *,
    name: str | None = None,
    ignore_patterns: Sequence[str] | None = None,
    lang_hint: str | None = None,
) -> str:
    """Register a folder, or bring its options up to date; returns the mount id. Nothing is read yet.

    Raises FileNotFoundError and NotADirectoryError.
    """
    ignore = None if ignore_patterns is None else list(ignore_patterns)
    folder = check_folder(folder_path)
    with open_context(db_path) as ctx:
        return str(mount(ctx, folder, name=name, ignore=ignore, lang=lang_hint).as_dict()["mount_id"])


def list_mounts(db_path: Path) -> list[dict[str, Any]]:
    """All mounts, oldest first; none where there is no store."""
    with open_context(db_path) as ctx:
        found: list[dict[str, Any]] = mount(ctx, list=True).as_dict()["mounts"] if os.path.exists(db_path) else []
        return found


def remove_mount(db_path: Path, mount_id_or_name: str) -> bool:
    """Forget a mount; its items stay. False when there is no such mount."""
    with open_context(db_path) as ctx:
        try:
            mount(ctx, remove=mount_id_or_name)
        except (errors.UsageError, errors.StoreMissing):
            return False
        return True


def check_folder(path: Path) -> str:
    """The path of a folder. Raises FileNotFoundError and NotADirectoryError."""
    folder = os.fspath(path)
    if not os.path.exists(folder):
        raise FileNotFoundError(f"Mount path does not exist: {folder}")
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"Mount path is not a directory: {folder}")
    return folder
