"""Write governance: what may become memory, what is held back, what is blotted out.

`MemoryPolicy` judges proposals, items and document passages by rules that are rows of data. Importing this package
costs nothing: each name is loaded, and each pattern compiled, on first use.
"""

from typing import TYPE_CHECKING, Any

_HOMES = {
    "Finding": "memctl.policy.verdict",
    "Judgement": "memctl.policy.verdict",
    "FieldsJudgement": "memctl.policy.verdict",
    "PolicyVerdict": "memctl.policy.verdict",
    "MemoryPolicy": "memctl.policy.governor",
    "Rule": "memctl.policy.rule",
    "RULES": "memctl.policy.rules",
    "RULES_VERSION": "memctl.policy.version",
    "_SECRET_PATTERNS": "memctl.policy.lists",
    "_INJECTION_PATTERNS": "memctl.policy.lists",
    "_INSTRUCTIONAL_BLOCK_PATTERNS": "memctl.policy.lists",
    "_INSTRUCTIONAL_QUARANTINE_PATTERNS": "memctl.policy.lists",
    "_PII_PATTERNS": "memctl.policy.lists",
}

__all__ = [  # noqa: RUF022 - grouped by what they are
    "MemoryPolicy", "PolicyVerdict", "Judgement", "FieldsJudgement", "Finding", "Rule", "RULES", "RULES_VERSION",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'memctl.policy' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from memctl.policy.governor import MemoryPolicy as MemoryPolicy
    from memctl.policy.rule import Rule as Rule
    from memctl.policy.rules import RULES as RULES
    from memctl.policy.verdict import FieldsJudgement as FieldsJudgement
    from memctl.policy.verdict import Finding as Finding
    from memctl.policy.verdict import Judgement as Judgement
    from memctl.policy.verdict import PolicyVerdict as PolicyVerdict
    from memctl.policy.version import RULES_VERSION as RULES_VERSION
