"""One question about a folder, under the documented names: `memctl ask` for programs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from memctl import errors
from memctl.context import open_context
from memctl.inspect import check_modes
from memctl.mount import Path, check_folder
from memctl.ops.recall.ask import ask

__all__ = ["AskResult", "ask_folder"]


class AskResult(NamedTuple):
    """An answer, and how it came about."""

    answer: str
    mount_id: str | None
    was_mounted: bool
    was_synced: bool
    recall_items_used: int
    loop_iterations: int
    converged: bool
    stop_reason: str

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names."""
        return self._asdict()


def ask_folder(
    path: Path,
    question: str,
    llm_cmd: str,
    *,
    db_path: Path,
    sync_mode: str = "auto",
    mount_mode: str = "persist",
    budget: int = 2200,
    inspect_cap: int = 600,
    protocol: str = "passive",
    max_calls: int = 1,
    threshold: float = 0.92,
    query_threshold: float = 0.90,
    stable_steps: int = 2,
    system_prompt: str | None = None,
    llm_mode: str = "stdin",
    timeout: float = 300,
    ignore_patterns: Sequence[str] | None = None,
    log: Callable[[str], None] | None = None,
) -> AskResult:
    """Ask the model that `llm_cmd` runs (shell words, no shell) about a folder; the keywords are the flags.

    Raises FileNotFoundError, NotADirectoryError, ValueError, and RuntimeError when the model fails or takes too long.
    """
    ignore = None if ignore_patterns is None else list(ignore_patterns)
    check_modes(sync_mode, mount_mode)
    try:
        with open_context(db_path, say=log) as ctx:
            done = ask(
                ctx, check_folder(path), question, llm=llm_cmd, sync=sync_mode, mount_mode=mount_mode, budget=budget,
                inspect_cap=inspect_cap, protocol=protocol, max_calls=max_calls, threshold=threshold,
                query_threshold=query_threshold, stable_steps=stable_steps, system_prompt=system_prompt,
                llm_mode=llm_mode, timeout=timeout, ignore=ignore,
            ).as_dict()  # fmt: skip
            return AskResult(**{name: done[name] for name in AskResult._fields})
    except errors.UsageError as exc:
        raise ValueError(exc.message) from exc
    except (errors.ModelMissing, errors.ModelUnusable, errors.ModelFailed, errors.ModelTimeout) as exc:
        raise RuntimeError(exc.message) from exc
