"""JSON: that of the store, fast; that of somebody else, strictly, and named in words when it is the wrong kind.

`json` takes 5 ms of a command's start-up, for regular expressions that its C parts do without: here these are called.
"""

from memctl.annotations import Any

try:
    import _json

    _parts: Any = _json
except ImportError:  # a Python without them
    _parts = None

_BLANKS = " \t\n\r"
#: What stands between a key and its value, and between members: for people, and where room counts.
_SPACED, _COMPACT = (": ", ", "), (":", ",")
#: Keys are written as they come, wrong ones are refused, numbers that are none are written.
_SORT_KEYS, _SKIP_KEYS, _ALLOW_NAN = False, False, True


class _AsUsual:
    """How `json.loads` reads; NaN and infinity are read as `float` reads them."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


_scan = _parts and _parts.make_scanner(_AsUsual)


def decode(text: str) -> Any:
    """The value of a JSON text, as `json.loads` reads it. Raises ValueError, RecursionError."""
    if _scan is None:
        import json

        return json.JSONDecoder().decode(text)
    try:
        value, end = _scan(text, len(text) - len(text.lstrip(_BLANKS)))
    except StopIteration:
        raise ValueError("no JSON value") from None
    if end != len(text) and text[end:].strip(_BLANKS):
        raise ValueError("more than a JSON value")
    return value


def _refused(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _writer(separators: tuple[str, str], *, ascii_only: bool = False) -> Any:
    """What writes a value as the pieces of its JSON; made once, as making one takes as long as writing a short list."""
    if _scan is None:
        import json

        encoder = json.JSONEncoder(ensure_ascii=ascii_only, separators=(separators[1], separators[0]))
        return lambda value, _depth: (encoder.encode(value),)
    write_text = _parts.encode_basestring_ascii if ascii_only else _parts.encode_basestring
    return _parts.make_encoder(None, _refused, write_text, None, *separators, _SORT_KEYS, _SKIP_KEYS, _ALLOW_NAN)


_write, _write_ascii, _write_compact = _writer(_SPACED), _writer(_SPACED, ascii_only=True), _writer(_COMPACT)


def encode(value: object, *, ascii_only: bool = False, compact: bool = False) -> str:
    """A value as JSON in one line, as `json.dumps` writes it; é stays é, so that the full-text index sees it.

    compact  without blanks between its parts
    """
    return "".join((_write_compact if compact else _write_ascii if ascii_only else _write)(value, 0))


def read(text: str, start: int = 0, *, strict: bool = True) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and where it ends; without `strict` texts may hold control characters.

    Raises ValueError when there is none, and for NaN, infinity, and what is nested too deeply to read.
    """
    import json

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
