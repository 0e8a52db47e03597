"""What differs between two items or states, under the documented names: `memctl diff` for programs."""

from typing import Any

from memctl.api import MemoryStore
from memctl.lifecycle.states import item_states
from memctl.ops.change.history import compared
from memctl.store.items import items
from memctl.types import MemoryItem

__all__ = ["compute_diff", "resolve_diff_targets"]


def compute_diff(
    a: MemoryItem, b: MemoryItem, *, label_a: str = "a", label_b: str = "b", context_lines: int = 3
) -> dict[str, Any]:
    """What changes from `a` to `b`: labels, identical, similarity_score, content_diff (lines), metadata_changes."""
    return compared(label_a, label_b, (label_a, a), (label_b, b), context_lines).as_dict()


def resolve_diff_targets(
    store: MemoryStore, id1: str, id2: str = "", revision: int = 0
) -> tuple[MemoryItem, MemoryItem, str, str]:
    """Two items to compare, and their labels: id1 and id2, or id1 as it is and as it was.

    revision  the number of an earlier state; 0: the one before the last change
    Raises ValueError when there is no such item or state.
    """
    with store._lock:
        found = {item.id: item for item in items.get_many(store._db, [id1, id2])}
        missing = next((wanted for wanted in (id1, id2) if wanted and wanted not in found), None)
        if missing is not None:
            raise ValueError(f"Item not found: {missing}")
        if id2:
            return found[id1], found[id2], id1, id2
        states = item_states(store._db, found[id1])
    numbers = [state.number for state in states]
    if not states or (revision and revision not in numbers):
        raise ValueError(f"Revision {revision} not found for {id1}. Available: {numbers}")
    before = states[numbers.index(revision)] if revision else states[max(len(states) - 2, 0)]
    return found[id1], before.item, f"{id1} (current)", f"{id1}@rev{before.number}"
