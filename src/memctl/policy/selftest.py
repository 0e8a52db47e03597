"""Whether a rule does what its own examples say."""

from __future__ import annotations

from memctl.policy.engine import Engine
from memctl.policy.rule import Rule


def problem(rule: Rule) -> str:
    """What is wrong with a rule, in a sentence; "" when its examples hold; one that is missing says nothing."""
    engine = Engine((rule,))
    if rule.example and not engine.scan(rule.example):
        return "its example is not caught"
    if rule.counterexample and engine.scan(rule.counterexample):
        return "its counterexample is caught"
    return ""
