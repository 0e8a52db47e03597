"""Merging near-duplicates, under the documented name: `memctl consolidate` for programs that hold a `MemoryStore`."""

from typing import Any

from memctl.api import MemoryStore
from memctl.config import ConsolidateConfig
from memctl.lifecycle import consolidate
from memctl.ops.care.consolidate import report
from memctl.policy import MemoryPolicy
from memctl.store.items import merging

__all__ = ["ConsolidationPipeline"]


class ConsolidationPipeline:
    """Consolidates an open store by the rules of a config and the judgement of a policy."""

    def __init__(
        self, store: MemoryStore, config: ConsolidateConfig | None = None, policy: MemoryPolicy | None = None
    ) -> None:
        self.store = store
        how = ConsolidateConfig() if config is None else config
        self.rules = consolidate.Rules(types=tuple(how.auto_promote_types), uses=how.usage_count_for_ltm)
        self.policy = MemoryPolicy() if policy is None else policy

    def run(self, scope: str | None = "project", dry_run: bool = False) -> dict[str, Any]:
        """Merge, promote and archive in a scope, or in each of them (None); the counts and merge chains of the command.

        With `dry_run` they are what would be done, and nothing is written.
        """
        with self.store._lock:
            db = self.store._db
            scopes = merging.list_scopes(db) if scope is None else [scope]
            found = [consolidate.plan(db, self.policy, one, self.rules) for one in scopes]
            if not dry_run:
                found = consolidate.apply(db, self.policy, found)
        return report(found, dry_run=dry_run) | ({"scopes_processed": scopes} if scope is None else {})
