"""A store that follows its folders, under the documented names: `memctl sync` for programs."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from memctl import folders
from memctl.context import Context, open_context
from memctl.extract import suffix_of
from memctl.ingest.sources import walk
from memctl.mount import Path, check_folder
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, WRITE
from memctl.paths import real_path

__all__ = ["FileInfo", "ScanResult", "SyncResult", "derive_scope", "scan_mount", "sync_all", "sync_mount"]


class FileInfo(NamedTuple):
    """A file of a folder; `sha256` is None as long as nobody has read it."""

    abs_path: str
    rel_path: str
    ext: str
    size_bytes: int
    mtime_epoch: int
    sha256: str | None = None


class ScanResult(NamedTuple):
    """What a sync of a folder would look at; extensions: how many files have each suffix."""

    mount_path: str
    files: list[FileInfo]
    total_size: int
    extensions: dict[str, int]


class SyncResult(NamedTuple):
    """What a sync did, in counts; `chunks_created` are new passages."""

    mount_path: str
    files_scanned: int
    files_new: int
    files_changed: int
    files_unchanged: int
    chunks_created: int

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names."""
        return self._asdict()


def scan_mount(mount_path: Path, ignore_patterns: Sequence[str] | None = None) -> ScanResult:
    """The files of a folder as a sync would take them in; none is opened."""
    root = real_path(check_folder(mount_path))
    files = []
    for target in walk(root, ignore=tuple(ignore_patterns or ())):
        if not target.problem:
            path, info = target.path, os.stat(target.path)
            where = os.path.relpath(path, root)
            files.append(FileInfo(path, where, suffix_of(path), info.st_size, int(info.st_mtime)))
    return ScanResult(root, files, sum(f.size_bytes for f in files), dict(Counter(f.ext for f in files)))


def sync_mount(
    db_path: Path,
    mount_path: Path,
    *,
    delta: bool = True,
    ignore_patterns: Sequence[str] | None = None,
    lang_hint: str | None = None,
    max_tokens: int | None = None,
    quiet: bool = False,
    scope: str | None = None,
) -> SyncResult:
    """Bring what the store has of one folder up to date; a folder that is no mount becomes one.

    delta       False reads every file anew
    max_tokens  no passage is longer; None keeps what the mount says
    quiet       say nothing on stderr
    """
    folder = real_path(check_folder(mount_path))
    with _store(db_path, quiet) as ctx:
        ctx.allow(CREATE)
        ignore = None if ignore_patterns is None else list(ignore_patterns)
        mount = folders.register(ctx, folder, ignore=ignore, lang=lang_hint, chunk_tokens=max_tokens, command="sync")
        return _sync(ctx, mount, delta, scope)


def sync_all(
    db_path: Path, *, delta: bool = True, max_tokens: int | None = None, quiet: bool = False
) -> dict[str, SyncResult]:
    """Bring every mount whose folder is there up to date, by path."""
    with _store(db_path, quiet) as ctx:
        ctx.allow(WRITE)
        found = {}
        for mount in folders.all_mounts(ctx):
            if not os.path.isdir(mount["path"]):
                ctx.note(f"[sync] Mount path missing, skipping: {mount['path']}")
                continue
            current = folders.register(ctx, mount["path"], chunk_tokens=max_tokens, command="sync")
            found[mount["path"]] = _sync(ctx, current, delta)
        return found


def derive_scope(root_path: Path, explicit_scope: str | None = None) -> str:  # noqa: ARG001 - documented
    """The scope that a folder's passages are filed under: the one that is named, else "project"."""
    return explicit_scope or DEFAULT_SCOPE


def _store(db_path: Path, quiet: bool) -> Context:
    return open_context(db_path, quiet=quiet, say=None if quiet else _tell)


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


def _sync(ctx: Context, mount: dict[str, Any], delta: bool, scope: str | None = None) -> SyncResult:
    done = folders.sync_mount(ctx, mount, full=not delta, scope=scope)
    return SyncResult(mount["path"], done.files, done.new, done.changed, done.unchanged, len(done.item_ids))
