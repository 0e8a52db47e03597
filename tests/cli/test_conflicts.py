"""Conflicts: noted, listed, decided, shown by recall, exported, undone."""

import json

import pytest
from support import fail, ok

from stores import open_store

OLD, NEW = "The payment gateway retries a failed call three times.", "In the payment gateway failed calls get 5 retries."


def two() -> tuple[str, str, str]:
    """Two statements that contradict each other, and the conflict."""
    a, b = (ok("remember", text).text.strip() for text in (OLD, NEW))
    (found,) = json.loads(ok("conflicts", "--json").text)["conflicts"]
    return a, b, found["id"]
