"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any, AnyStr, cast


class _LazyRegex:
    """An expression whose methods appear when they are first asked for."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._given = pattern, flags

    def __reduce__(self) -> Any:
        """A copy, or what goes to another process, is made of the expression: without it `__getattr__` has no end."""
        return _LazyRegex, self._given

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)  # type: ignore[type-var]
        setattr(self, name, found)
        return found


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The same as `re.compile`, but nothing is compiled before the first use: a short text needs few of all."""
    return cast("re.Pattern[AnyStr]", _LazyRegex(pattern, flags))


def parse_regex(pattern: str) -> Any:
    """An expression as the nodes that the standard library's parser makes of it."""
    return import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse").parse(pattern)
