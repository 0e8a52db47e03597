"""All the rules, in the order in which reasons name them."""

from __future__ import annotations

from memctl.policy.rule import Rule
from memctl.policy.rules_injection import INJECTION
from memctl.policy.rules_pii import PII
from memctl.policy.rules_secrets import SECRETS

RULES = (*SECRETS, *INJECTION, *PII)

#: Raised when the engine itself judges differently under the same rows.
_ENGINE = 5


def fingerprint() -> str:
    """What `version.RULES_VERSION` must say: another word when the rules or the engine judge differently."""
    from hashlib import sha256

    from memctl.policy import lexicon

    words = (lexicon.ANYWHERE, lexicon.SPACED, lexicon.DENSE)
    return f"{_ENGINE}-{sha256(repr((RULES, words)).encode()).hexdigest()[:12]}"


def broken_example(rule: Rule) -> str:
    """What is wrong with a rule's own examples, in a sentence; "" when they hold; one that is missing says nothing."""
    from memctl.policy.engine import Engine

    engine = Engine((rule,))
    if rule.example and not engine.scan(rule.example):
        return "its example is not caught"
    if rule.counterexample and engine.scan(rule.counterexample):
        return "its counterexample is caught"
    return ""
