"""JSON that somebody else wrote: read strictly, wherever it begins, and named in words when it is the wrong kind."""

from __future__ import annotations

import json

from memctl.annotations import Any


def read(text: str, start: int = 0, *, strict: bool = True) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and where it ends; without `strict` texts may hold control characters.

    Raises ValueError when there is none, and for NaN, infinity, and what is nested too deeply to read.
    """
    try:
        return json.JSONDecoder(parse_constant=_refuse, strict=strict).raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def after_blanks(text: str, start: int = 0) -> int:
    """Where the white space (or byte order mark) that begins at `start` ends."""
    while text[start : start + 1].isspace() or text[start : start + 1] == "\ufeff":
        start += 1
    return start


def loaded(value: object) -> object:
    """The value itself, or what it holds when it is a string of JSON."""
    if not isinstance(value, str):
        return value
    try:
        inner: object = read(value, after_blanks(value))[0]
    except ValueError:
        return value
    return inner


def kind_of(value: object) -> str:
    """A JSON value's kind in words: `null`, `a fraction`, `an object`. Never the value itself, it may be a secret."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        if abs(value) >= 10**18:
            return "a very large number"
        kind = "a whole number" if isinstance(value, int) else "a fraction"
        return "a negative number" if value < 0 else kind
    if isinstance(value, str):
        return "a string"
    return "null" if value is None else "a list" if isinstance(value, list) else "an object"


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no JSON number")
