"""The functions that have the last word on a match: each says whether it counts. Rules name them."""

from __future__ import annotations

from collections.abc import Callable
from re import Match


def find(name: str, kind: str) -> Callable[[Match[str]], bool]:
    """The check called `name` for rules of `kind`."""
    if kind == "secret":
        from memctl.policy import checks_secrets as home
    elif kind == "pii":
        from memctl.policy import checks_pii as home  # type: ignore[no-redef]
    else:
        from memctl.policy import checks_injection as home  # type: ignore[no-redef]
    check: Callable[[Match[str]], bool] = getattr(home, name)
    return check
