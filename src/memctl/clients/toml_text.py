"""A table of a TOML file, written and taken out without touching the rest of it.

The standard library reads TOML from Python 3.11 on, and writes none. A scanner finds statements and their spans; where
tomllib is there, the text must also be right before, and hold what was meant afterwards. Raises ValueError otherwise.
"""

import json
import re

from memctl.annotations import Any, NamedTuple
from memctl.clients.json_text import Keys, end_of, line_of

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
#: A character by its number (group 1), or an escape of another kind.
_LONG_ESCAPE = re.compile(r"\\(?:U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})|.)")
#: A piece of a value: a string of the four kinds, a bracket, a comment, or what stands between them.
_PIECE = re.compile(
    r"""
    \"{3}(?:[^\\]|\\[\s\S])*?\"{3,5} | '{3}[\s\S]*?'{3,5} | "(?:[^"\\\n]|\\.)*" | '[^'\n]*'
    | [\[{] | [\]}] | \#[^\n]* | \r?\n | [^"'\[\]{}\#\r\n]+
    """,
    re.VERBOSE,
)


class TomlStatement(NamedTuple):
    """A head of a table, or a key with its value: where it stands, its whole path, and the span of its value."""

    path: Keys
    start: int
    end: int
    value: int = -1

    @property
    def is_head(self) -> bool:
        """Whether it begins a table."""
        return self.value < 0


def _path(text: str, at: int) -> tuple[Keys, int]:
    """A key with its dots, and where it ends."""
    keys: list[str] = []
    while True:
        at = end_of(_SPACE, text, at)
        found = _KEY.match(text, at)
        if found is None:
            raise ValueError(f"line {line_of(text, at)}: a key is missing")
        word = found[0]
        keys.append(_unquoted(word) if word[0] == '"' else word.strip("'"))
        at = end_of(_SPACE, text, found.end())
        if text[at : at + 1] != ".":
            return tuple(keys), at
        at += 1


def _unquoted(word: str) -> str:
    """A quoted key. JSON has the escapes of TOML but the long one, and a tab may stand in TOML as it is."""
    word = _LONG_ESCAPE.sub(lambda found: json.dumps(chr(int(found[1], 16)))[1:-1] if found[1] else found[0], word)
    return str(json.loads(word, strict=False))


def _end_of_value(text: str, at: int) -> int:
    """Where a value ends, without the white space after it."""
    depth, end = 0, at
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            raise ValueError(f"line {line_of(text, at)}: a string is not closed")
        piece = found[0]
        if depth == 0 and (piece[0] == "#" or piece[-1] == "\n"):
            break
        depth += (piece in ("[", "{")) - (piece in ("]", "}"))
        at = found.end()
        if piece[0] != "#" and piece.strip():
            end = at - (len(piece) - len(piece.rstrip()))
    if depth:
        raise ValueError(f"line {line_of(text, at)}: a bracket is not closed")
    return end


def statements(text: str) -> list[TomlStatement]:
    """The statements of a text, in order."""
    found: list[TomlStatement] = []
    table: Keys = ()
    at = end_of(_BLANK, text, 0)
    while at < len(text):
        start = at
        if text[at] == "[":
            brackets = 2 if text.startswith("[[", at) else 1
            table, at = _path(text, at + brackets)
            if not text.startswith("]" * brackets, at):
                raise ValueError(f"line {line_of(text, at)}: a bracket is not closed")
            at += brackets
            found.append(TomlStatement(table, start, at))
        else:
            keys, at = _path(text, at)
            if text[at : at + 1] != "=":
                raise ValueError(f"line {line_of(text, at)}: an equals sign is missing")
            value = end_of(_SPACE, text, at + 1)
            at = _end_of_value(text, value)
            if at == value:
                raise ValueError(f"line {line_of(text, at)}: a value is missing")
            found.append(TomlStatement(table + keys, start, at, value))
        if text[end_of(_SPACE, text, at) :][:1] not in ("", "\n", "\r", "#"):
            raise ValueError(f"line {line_of(text, at)}: more follows on the line")
        at = end_of(_BLANK, text, at)
    return found


class TomlText:
    """A TOML text, and edits of its tables, as `JsonText` has them of objects. All raise ValueError.

    made  always empty: a table needs none of those that it stands in
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.made: list[Keys] = []

    def value(self, keys: Keys) -> Any:
        """The value at the end of the keys, or the table there with what is below it; None when there is none."""
        table: dict[str, Any] | None = None
        for one in statements(self.text):
            if one.path[: len(keys)] != keys:
                continue
            value = {} if one.is_head else _value(self.text[one.value : one.end])
            if one.path == keys and not one.is_head:
                return value
            inner = table = {} if table is None else table
            for key in one.path[len(keys) : -1]:
                inner = inner.setdefault(key, {})
                if not isinstance(inner, dict):
                    raise ValueError(f"line {line_of(self.text, one.start)}: {key} is no table")  # noqa: TRY004
            if one.path != keys:
                inner.setdefault(one.path[-1], value)
        return table

    def put(self, keys: Keys, values: dict[str, Any]) -> None:
        """Let a table hold these values and nothing else."""
        self.remove(keys)
        self.merge(keys, values)

    def merge(self, keys: Keys, values: dict[str, Any]) -> None:
        """Let a table have these values, made when it is missing; other keys of it stay."""
        text, before = self.text, _read(self.text)
        found = statements(text)
        head = next((one for one in found if one.is_head and one.path == keys), None)
        for one in found:
            in_the_way = one.path == keys[: len(one.path)] or one.path[: len(keys)] == keys
            if in_the_way and not one.is_head and head is None:
                name = ".".join(one.path)
                raise ValueError(f"line {line_of(text, one.start)}: {name} is written without a table of its own")
        newline = "\r\n" if "\r\n" in text else "\n"
        written = {key: f"{_written_key(key)} = {_written(value)}" for key, value in values.items()}
        if head is None:
            gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
            lines = [f"[{'.'.join(map(_written_key, keys))}]", *written.values()]
            text += gap + newline.join(lines) + newline
        else:
            there = {one.path[-1]: one for one in found if not one.is_head and one.path[:-1] == keys}
            for one in sorted((there[key] for key in values if key in there), key=lambda one: -one.start):
                text = text[: one.value] + _written(values[one.path[-1]]) + text[one.end :]
            at = head.end + len(_rest_ofline_of(text, head.end))
            text = text[:at] + "".join(newline + written[key] for key in values if key not in there) + text[at:]
        if before is not None:
            inner: Any = before
            for key in keys:
                inner = inner.setdefault(key, {})
                if not isinstance(inner, dict):
                    raise ValueError(f"{'.'.join(keys)} is no table")  # noqa: TRY004 - of what a file holds
            inner.update(values)
        self.text = _checked(text, before)

    def remove(self, keys: Keys) -> None:
        """Take out a table and what is below it, and the blank lines before it; nothing, if it is not there."""
        text, before = self.text, _read(self.text)
        for one in reversed([one for one in statements(text) if one.path[: len(keys)] == keys]):
            start = text.rfind("\n", 0, one.start) + 1
            if one.is_head and text[:start].strip():
                content = len(text[:start].rstrip())
                start = text.index("\n", content) + 1
            end = one.end + len(_rest_ofline_of(text, one.end))
            end += 2 if text[end : end + 2] == "\r\n" else len(text[end : end + 1])
            text = text[:start] + text[end:]
        if before is not None:
            _forget(before, keys)
        self.text = _checked(text, before)


def _forget(data: dict[str, Any], path: Keys) -> None:
    """Take what is at the end of a path out of the data, and the tables that are empty then."""
    if path[0] in data:
        if len(path) > 1:
            _forget(data[path[0]], path[1:])
        if len(path) == 1 or not data[path[0]]:
            del data[path[0]]


def _rest_ofline_of(text: str, at: int) -> str:
    return re.split(r"\r?\n", text[at:], maxsplit=1)[0]


def _value(text: str) -> Any:
    """A value as data; without tomllib only strings and lists of them, any other as it is written."""
    data = _read(f"x = {text}")
    if data is not None:
        return data["x"]
    from ast import literal_eval

    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _written(value: Any) -> str:
    """A value in TOML: JSON says strings, lists and booleans alike, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _written_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _written(key)


def _read(text: str) -> dict[str, Any] | None:
    """The content; None where the standard library cannot read TOML."""
    from importlib import import_module

    try:
        tomllib = import_module("tomllib")
    except ImportError:
        return None
    data: dict[str, Any] = tomllib.loads(text)
    return data


def _checked(text: str, expected: dict[str, Any] | None) -> str:
    """The text, which must hold what was meant."""
    statements(text)
    found = _read(text)
    if found is not None and expected is not None:
        _without_empty(found)
        _without_empty(expected)
        if json.dumps(found, sort_keys=True, default=str) != json.dumps(expected, sort_keys=True, default=str):
            raise ValueError("it is written in a way that cannot be changed without changing more")
    return text


def _without_empty(data: dict[str, Any]) -> None:
    """Take out empty tables: whether one is written is no matter."""
    for key, value in list(data.items()):
        if isinstance(value, dict):
            _without_empty(value)
            if not value:
                del data[key]
