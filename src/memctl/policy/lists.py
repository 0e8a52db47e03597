"""The pattern lists that the first memctl documented, made of the rules."""

from __future__ import annotations

import re

#: List name -> (kind, action).
_LISTS = {
    "_SECRET_PATTERNS": ("secret", None),
    "_INJECTION_PATTERNS": ("injection", None),
    "_INSTRUCTIONAL_BLOCK_PATTERNS": ("instructional", "reject"),
    "_INSTRUCTIONAL_QUARANTINE_PATTERNS": ("instructional", "quarantine"),
    "_PII_PATTERNS": ("pii", None),
}


def __getattr__(name: str) -> list[re.Pattern[str]]:
    if name not in _LISTS:
        raise AttributeError(f"module 'memctl.policy.lists' has no attribute {name!r}")
    kind, action = _LISTS[name]
    from memctl.policy.rules import RULES

    rows = [r for r in RULES if r.kind == kind and action in {None, r.action} and r.pattern]
    return [re.compile(row.pattern, re.MULTILINE) for row in rows]
