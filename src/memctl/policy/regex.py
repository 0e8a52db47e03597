"""Regular expressions: compiled when they are first used, and with which characters a match can begin."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

_MOST_CHARACTERS = 64  # more first characters than this are no help
#: Nodes of a parsed expression that match a place, not a character.
_PLACES = ("AT", "ASSERT", "ASSERT_NOT")


class _LazyRegex:
    """An expression whose methods appear when they are first asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The same as `re.compile`, but nothing is compiled before the first use: a short text needs few of all."""
    return cast("re.Pattern[str]", _LazyRegex(pattern, flags))


def first_characters(pattern: str) -> str:
    """A set of characters, as a regular expression, with one of which every match begins; "" when it may be any."""
    parsed = parse_regex(pattern)
    letters = _first(parsed, bool(parsed.state.flags & re.IGNORECASE))[0]
    return f"[{''.join(re.escape(c) for c in sorted(letters))}]" if letters and len(letters) <= _MOST_CHARACTERS else ""


def parse_regex(pattern: str) -> Any:
    """An expression as the nodes that the standard library's parser makes of it."""
    return import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse").parse(pattern)


def _first(nodes: Iterable[Any], folded: bool) -> tuple[set[str] | None, bool]:
    """The characters a match of these nodes can begin with (None: any), and whether it may be empty."""
    letters: set[str] = set()
    for op, value in nodes:
        if str(op) in _PLACES:
            continue
        found, empty = _first_of_node(str(op), value, folded)
        if found is None:
            return None, False
        letters |= found
        if not empty:
            return letters, False
    return letters, True


def _first_of_node(op: str, value: Any, folded: bool) -> tuple[set[str] | None, bool]:
    if op == "LITERAL":
        return _cases(value, folded), False
    if op == "IN":
        letters: set[str] = set()
        for kind, one in value:
            if str(kind) == "LITERAL":
                letters |= _cases(one, folded)
            elif str(kind) == "RANGE" and one[1] - one[0] < _MOST_CHARACTERS:
                letters |= {c for code in range(one[0], one[1] + 1) for c in _cases(code, folded)}
            else:
                return None, False
        return letters, False
    if op == "SUBPATTERN":
        return _first(value[3], (folded or bool(value[1] & re.IGNORECASE)) and not value[2] & re.IGNORECASE)
    if op == "BRANCH":
        letters, empty = set(), False
        for found, nothing in (_first(part, folded) for part in value[1]):
            if found is None:
                return None, False
            letters, empty = letters | found, empty or nothing
        return letters, empty
    if op in ("MAX_REPEAT", "MIN_REPEAT"):
        found, empty = _first(value[2], folded)
        return found, empty or value[0] == 0
    return None, False


def _cases(code: int, folded: bool) -> set[str]:
    """A character, and where case does not count all that are equal to it."""
    c = chr(code)
    return {c, c.lower(), c.upper(), *_EQUAL.get(c.lower(), "")} if folded else {c}


#: What regular expressions hold for a case of these letters, beside the usual two.
_EQUAL = {"k": "\u212a", "s": "\u017f", "i": "\u0130\u0131"}
