"""Write governance: what may become memory, what is held back, what is blotted out.

`MemoryPolicy` judges proposals, items and document passages by rules that are rows of data. Importing this package
costs nothing: each name is loaded, and each pattern compiled, on first use.

Where things are: a rule is a row in `rules_*`, a check of a match a function in `checks_*`; `prefilter` picks the rules
that a text may break, `normalise` makes its undisguised forms, `engine` finds the hits, `surroundings` weighs
them by what stands around, `decisions` makes verdicts of them.
"""

from memctl.annotations import TYPE_CHECKING, Any

_HOMES = {
    "Finding": "decisions",
    "Judgement": "decisions",
    "FieldsJudgement": "decisions",
    "PolicyVerdict": "decisions",
    "MemoryPolicy": "decisions",
    "Rule": "rule",
    "RULES": "engine",
    "RULES_VERSION": "version",
}
#: The lists of patterns that the first memctl documented, made of the rules of a kind and action.
_LISTS = {
    "_SECRET_PATTERNS": ("secret", None),
    "_INJECTION_PATTERNS": ("injection", None),
    "_INSTRUCTIONAL_BLOCK_PATTERNS": ("instructional", "reject"),
    "_INSTRUCTIONAL_QUARANTINE_PATTERNS": ("instructional", "quarantine"),
    "_PII_PATTERNS": ("pii", None),
}

__all__ = [  # noqa: RUF022 - grouped by what they are
    "MemoryPolicy", "PolicyVerdict", "Judgement", "FieldsJudgement", "Finding", "Rule", "RULES", "RULES_VERSION",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"memctl.policy.{_HOMES[name]}"), name)
    if name in _LISTS:
        import re

        from memctl.policy.engine import RULES

        kind, action = _LISTS[name]
        return [
            re.compile(rule.pattern, re.MULTILINE)
            for rule in RULES
            if rule.kind == kind and action in {None, rule.action} and rule.pattern
        ]
    raise AttributeError(f"module 'memctl.policy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from memctl.policy.decisions import FieldsJudgement as FieldsJudgement
    from memctl.policy.decisions import Finding as Finding
    from memctl.policy.decisions import Judgement as Judgement
    from memctl.policy.decisions import MemoryPolicy as MemoryPolicy
    from memctl.policy.decisions import PolicyVerdict as PolicyVerdict
    from memctl.policy.engine import RULES as RULES
    from memctl.policy.rule import Rule as Rule
    from memctl.policy.version import RULES_VERSION as RULES_VERSION
