"""How big arguments and answers are, without trusting them: no recursion, no copy, an end to every count."""

from memctl.annotations import Any

#: A value with more parts than this is not measured further; nothing that a client means has so many.
MAX_PARTS = 2_000_000


def text_bytes(text: str) -> int:
    """The length of a text in UTF-8; half of a surrogate pair counts as three bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def json_bytes(value: Any) -> int:
    """About as many bytes as `value` has in JSON without blanks, escapes not counted.

    A text counts as itself, without its quotes: that is what a `content` argument holds.
    """
    if isinstance(value, str):
        return text_bytes(value)
    total = 0
    pending = [value]
    for _ in range(MAX_PARTS):
        if not pending:
            break
        one = pending.pop()
        if isinstance(one, str):
            total += text_bytes(one) + 3
        elif isinstance(one, dict):
            total += 2
            pending.extend(one)
            pending.extend(one.values())
        elif isinstance(one, list | tuple):
            total += 2
            pending.extend(one)
        elif isinstance(one, int):
            total += one.bit_length() * 3 // 10 + 2
        else:
            total += 8
    return total


def batch(value: Any, max_bytes: int) -> int:
    """How many entries an `items` argument has: an array, one object, or either as JSON text; 1 if that is not clear.

    A text over `max_bytes` is not read at all: it counts as 1, and its size is refused elsewhere.
    """
    if isinstance(value, str):
        if len(value) > max_bytes:
            return 1
        import json

        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return 1
    return len(value) if isinstance(value, list | tuple) else 1
