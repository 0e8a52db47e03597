"""The functions that have the last word on a match: each says whether it counts. Rules name them."""

from __future__ import annotations

from collections.abc import Callable
from re import Match

from memctl.policy.published import is_published


def find(name: str, kind: str) -> Callable[[Match[str]], bool]:
    """The check called `name` for rules of `kind`; no secret is what is published as a sample."""
    if kind == "secret":
        from memctl.policy import checks_credentials, checks_secrets

        home = checks_secrets if hasattr(checks_secrets, name) else checks_credentials
        counts, value_of = getattr(home, name), checks_secrets.value_of
        return lambda match: counts(match) and not is_published(value_of(match))
    if kind == "pii":
        from memctl.policy import checks_pii as home
    else:
        from memctl.policy import checks_injection as home
    check: Callable[[Match[str]], bool] = getattr(home, name)
    return check
