"""The structure of a folder, under the documented names: `memctl inspect` for programs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from memctl.config import InspectConfig
from memctl.context import open_context
from memctl.folders.mounted import root_of
from memctl.ingest.inspect import report
from memctl.mount import Path, check_folder
from memctl.operation import READ
from memctl.ops.look.inspect import inspect
from memctl.store.documents import mounts
from memctl.store.filters import Filters

__all__ = ["InspectResult", "inspect_mount", "inspect_path", "inspect_stats"]

_USUAL = InspectConfig()
DOMINANCE_FRAC = _USUAL.dominance_frac
LOW_DENSITY_THRESHOLD = _USUAL.low_density_threshold
EXT_CONCENTRATION_FRAC = _USUAL.ext_concentration_frac
SPARSE_THRESHOLD = _USUAL.sparse_threshold
OBSERVATION_THRESHOLDS = {
    "dominance_frac": DOMINANCE_FRAC, "low_density_threshold": LOW_DENSITY_THRESHOLD,
    "ext_concentration_frac": EXT_CONCENTRATION_FRAC, "sparse_threshold": SPARSE_THRESHOLD,
}  # fmt: skip


class InspectResult(NamedTuple):
    """What stands in a folder, and what was done for the answer; `text` is the block as the command prints it."""

    stats: dict[str, Any]
    text: str = ""
    mount_id: str | None = None
    mount_label: str = ""
    was_mounted: bool = False
    was_synced: bool = False
    sync_skipped: bool = False
    was_ephemeral: bool = False
    sync_files_new: int = 0
    sync_files_changed: int = 0
    sync_files_unchanged: int = 0
    sync_chunks_created: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The counts, and what was done for the answer."""
        done = self._asdict()
        return self.stats | {key: done[key] for key in done if key not in ("stats", "text")}


def inspect_stats(db_path: Path, mount_id: str | None = None, inspect_config: Any = None) -> dict[str, Any]:
    """The counts of all files of a store, or of one mount; nothing is written. Raises ValueError for no such mount."""
    with open_context(db_path) as ctx:
        ctx.allow(READ)
        row = None if mount_id is None else mounts.find_mount(ctx.db, mount_id)
        if mount_id is not None and row is None:
            raise ValueError(f"Mount not found: {mount_id}")
        root = None if row is None else root_of(row["path"], row)
        limits = ctx.config.inspect if inspect_config is None else inspect_config
        return report(ctx.db, root, limits, ctx.policy, Filters.read_set(None)).as_dict(0)


def inspect_mount(
    db_path: Path, mount_id: str | None = None, mount_label: str | None = None, budget: int = 2200
) -> str:
    """The block about all files of a store, or about one mount, under a name of the caller's."""
    with open_context(db_path) as ctx:
        found = inspect(ctx, mount=mount_id, budget=budget, no_sync=True)
        if mount_label is not None:
            found.report.label = mount_label
        return str(found.report.block(budget))


def check_modes(sync_mode: str, mount_mode: str) -> None:
    """Both are what `inspect_path` knows. Raises ValueError."""
    for name, value, allowed in (
        ("sync_mode", sync_mode, ("auto", "always", "never")), ("mount_mode", mount_mode, ("persist", "ephemeral")),
    ):  # fmt: skip
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def inspect_path(
    db_path: Path,
    path: Path,
    *,
    sync_mode: str = "auto",
    mount_mode: str = "persist",
    budget: int = 2200,
    ignore_patterns: Sequence[str] | None = None,
    log: Callable[[str], None] | None = None,
) -> InspectResult:
    """Mount and sync a folder as far as needed, and report on it.

    sync_mode   auto (if files changed), always or never
    mount_mode  persist, or ephemeral: forget a mount that was made for this
    log         takes what is said meanwhile; None = nobody listens
    Raises ValueError, FileNotFoundError and NotADirectoryError.
    """
    check_modes(sync_mode, mount_mode)
    ignore = None if ignore_patterns is None else list(ignore_patterns)
    with open_context(db_path, say=log) as ctx:
        found = inspect(ctx, check_folder(path), sync=sync_mode, mount_mode=mount_mode, budget=budget, ignore=ignore)
        known = found.as_json()
        own = {key: known.pop(key) for key in InspectResult._fields[2:]}
        return InspectResult(known, found.report.block(budget), **own)
