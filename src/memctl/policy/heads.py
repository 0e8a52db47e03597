"""With which characters a match of an expression can begin: only there it needs to be tried."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

_MANY = 64  # more characters than this are no help
_NOWHERE = ("AT", "ASSERT", "ASSERT_NOT")


def beginnings(pattern: str) -> str:
    """A set of characters, as a regular expression, with one of which every match begins; "" when it may be any."""
    parsed = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse").parse(pattern)
    letters = _first(parsed, bool(parsed.state.flags & re.IGNORECASE))[0]
    return f"[{''.join(re.escape(c) for c in sorted(letters))}]" if letters and len(letters) <= _MANY else ""


def _first(nodes: Iterable[Any], folded: bool) -> tuple[set[str] | None, bool]:
    """The characters a match can begin with (None: any), and whether it may be empty."""
    letters: set[str] = set()
    for op, value in nodes:
        if str(op) in _NOWHERE:
            continue
        found, empty = _of_node(str(op), value, folded)
        if found is None:
            return None, False
        letters |= found
        if not empty:
            return letters, False
    return letters, True


def _of_node(op: str, value: Any, folded: bool) -> tuple[set[str] | None, bool]:
    if op == "LITERAL":
        return _cases(value, folded), False
    if op == "IN":
        return _of_set(value, folded), False
    if op == "SUBPATTERN":
        return _first(value[3], (folded or bool(value[1] & re.IGNORECASE)) and not value[2] & re.IGNORECASE)
    if op == "BRANCH":
        letters, empty = set[str](), False
        for found, nothing in (_first(part, folded) for part in value[1]):
            if found is None:
                return None, False
            letters, empty = letters | found, empty or nothing
        return letters, empty
    if op in ("MAX_REPEAT", "MIN_REPEAT"):
        found, empty = _first(value[2], folded)
        return found, empty or value[0] == 0
    return None, False


def _of_set(items: Iterable[Any], folded: bool) -> set[str] | None:
    letters: set[str] = set()
    for op, value in items:
        if str(op) == "LITERAL":
            letters |= _cases(value, folded)
        elif str(op) == "RANGE" and value[1] - value[0] < _MANY:
            letters |= {c for code in range(value[0], value[1] + 1) for c in _cases(code, folded)}
        else:
            return None
    return letters


def _cases(code: int, folded: bool) -> set[str]:
    """A character, and where case does not count all that are equal to it."""
    c = chr(code)
    return {c, c.lower(), c.upper(), *_EQUAL.get(c.lower(), "")} if folded else {c}


#: What regular expressions hold for a case of these letters, beside the usual two.
_EQUAL = {"k": "\u212a", "s": "\u017f", "i": "\u0130\u0131"}
