"""All the rules, in the order in which reasons name them."""

from __future__ import annotations

from memctl.policy.rules_credentials import CREDENTIALS
from memctl.policy.rules_injection import INJECTION
from memctl.policy.rules_instructional import INSTRUCTIONAL
from memctl.policy.rules_named import NAMED
from memctl.policy.rules_orders import ORDERS
from memctl.policy.rules_pii import PII
from memctl.policy.rules_recent import RECENT
from memctl.policy.rules_secrets import SECRETS

RULES = (*SECRETS, *RECENT, *NAMED, *CREDENTIALS, *INJECTION, *ORDERS, *INSTRUCTIONAL, *PII)

#: Raised when the engine itself judges differently under the same rows.
_ENGINE = 5


def fingerprint() -> str:
    """What `version.RULES_VERSION` must say: another word when the rules or the engine judge differently."""
    from hashlib import sha256

    from memctl.policy import lexicon

    words = (lexicon.ANYWHERE, lexicon.SPACED, lexicon.DENSE)
    return f"{_ENGINE}-{sha256(repr((RULES, words)).encode()).hexdigest()[:12]}"
