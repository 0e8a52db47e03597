"""Consolidation under its documented name: `memctl consolidate` for programs."""

from typing import Any

from memctl.api import MemoryStore
from memctl.config import ConsolidateConfig
from memctl.policy import MemoryPolicy

__all__ = ["ConsolidationPipeline"]


class ConsolidationPipeline:
    """Consolidates a store: near-duplicates become one, what proved itself is promoted, what is over is archived.

    config  when items are promoted; policy: what judges a merged item
    """

    def __init__(
        self, store: MemoryStore, config: ConsolidateConfig | None = None, policy: MemoryPolicy | None = None
    ) -> None:
        self._store, self._config, self._policy = store, config, policy

    def run(self, scope: str | None = "project", dry_run: bool = False) -> dict[str, Any]:
        """Consolidate a scope, or every one (None); the documented counts and merge chains."""
        return self._store.consolidate(scope, dry_run=dry_run, config=self._config, policy=self._policy)
