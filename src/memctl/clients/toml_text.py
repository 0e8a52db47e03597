"""A table of a TOML file, written and taken out without touching the rest of it.

The standard library reads TOML from Python 3.11 on, and writes none. A scanner finds statements and their spans; where
tomllib is there, the text must also be right before, and hold what was meant afterwards. Raises ValueError otherwise.
"""

import json
import re

from memctl.annotations import Any, NamedTuple

Keys = tuple[str, ...]

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


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _path(text: str, at: int) -> tuple[Keys, int]:
    """A key with its dots, and where it ends."""
    keys: list[str] = []
    while True:
        at = _end_of(_SPACE, text, at)
        found = _KEY.match(text, at)
        if found is None:
            raise ValueError(f"line {_line(text, at)}: a key is missing")
        word = found[0]
        keys.append(_unquoted(word) if word[0] == '"' else word.strip("'"))
        at = _end_of(_SPACE, text, found.end())
        if text[at : at + 1] != ".":
            return tuple(keys), at
        at += 1


def _unquoted(word: str) -> str:
    """A quoted key. JSON has the escapes of TOML but the long one, and a tab may stand in TOML as it is."""
    word = _LONG_ESCAPE.sub(lambda found: json.dumps(chr(int(found[1], 16)))[1:-1] if found[1] else found[0], word)
    return str(json.loads(word, strict=False))


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _end_of_value(text: str, at: int) -> int:
    """Where a value ends, without the white space after it."""
    depth, end = 0, at
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            raise ValueError(f"line {_line(text, at)}: a string is not closed")
        piece = found[0]
        if depth == 0 and (piece[0] == "#" or piece[-1] == "\n"):
            break
        depth += (piece in ("[", "{")) - (piece in ("]", "}"))
        at = found.end()
        if piece[0] != "#" and piece.strip():
            end = at - (len(piece) - len(piece.rstrip()))
    if depth:
        raise ValueError(f"line {_line(text, at)}: a bracket is not closed")
    return end


def statements(text: str) -> list[TomlStatement]:
    """The statements of a text, in order."""
    found: list[TomlStatement] = []
    table: Keys = ()
    at = _end_of(_BLANK, text, 0)
    while at < len(text):
        start = at
        if text[at] == "[":
            brackets = 2 if text.startswith("[[", at) else 1
            table, at = _path(text, at + brackets)
            if not text.startswith("]" * brackets, at):
                raise ValueError(f"line {_line(text, at)}: a bracket is not closed")
            at += brackets
            found.append(TomlStatement(table, start, at))
        else:
            keys, at = _path(text, at)
            if text[at : at + 1] != "=":
                raise ValueError(f"line {_line(text, at)}: an equals sign is missing")
            value = _end_of(_SPACE, text, at + 1)
            at = _end_of_value(text, value)
            if at == value:
                raise ValueError(f"line {_line(text, at)}: a value is missing")
            found.append(TomlStatement(table + keys, start, at, value))
        if text[_end_of(_SPACE, text, at) :][:1] not in ("", "\n", "\r", "#"):
            raise ValueError(f"line {_line(text, at)}: more follows on the line")
        at = _end_of(_BLANK, text, at)
    return found


def has_table(text: str, path: Keys) -> bool:
    """Whether a table, or a part of it, is there."""
    return any(one.path[: len(path)] == path for one in statements(text))


def string_of(text: str, path: Keys) -> str:
    """The text of the value of a key, as it is written; "" when it is not there."""
    return next((text[one.value : one.end] for one in statements(text) if not one.is_head and one.path == path), "")


def put_table(text: str, path: Keys, values: dict[str, Any]) -> str:
    """The text with a table that has these values; other keys of it stay."""
    before = _read(text)
    found = statements(text)
    head = next((one for one in found if one.is_head and one.path == path), None)
    for one in found:
        in_the_way = one.path == path[: len(one.path)] or one.path[: len(path)] == path
        if in_the_way and not one.is_head and head is None:
            name = ".".join(one.path)
            raise ValueError(f"line {_line(text, one.start)}: {name} is written without a table of its own")
    newline = "\r\n" if "\r\n" in text else "\n"
    written = {key: f"{_written_key(key)} = {_written(value)}" for key, value in values.items()}
    if head is None:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        lines = [f"[{'.'.join(map(_written_key, path))}]", *written.values()]
        new = text + gap + newline.join(lines) + newline
    else:
        new = text
        there = {one.path[-1]: one for one in found if not one.is_head and one.path[:-1] == path}
        for one in sorted((there[key] for key in values if key in there), key=lambda one: -one.start):
            new = new[: one.value] + _written(values[one.path[-1]]) + new[one.end :]
        at = head.end + len(_rest_of_line(new, head.end))
        added = "".join(newline + written[key] for key in values if key not in there)
        new = new[:at] + added + new[at:]
    if before is not None:
        inner: Any = before
        for key in path:
            inner = inner.setdefault(key, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{'.'.join(path)} is no table")  # noqa: TRY004 - what a file holds is no type of ours
        inner.update(values)
    return _checked(new, before)


def drop_table(text: str, path: Keys) -> str:
    """The text without a table and what is below it."""
    before = _read(text)
    found = statements(text)
    new = text
    for one in reversed([one for one in found if one.path[: len(path)] == path]):
        start = new.rfind("\n", 0, one.start) + 1
        if one.is_head and new[:start].strip():  # the blank lines before it go with it
            content = len(new[:start].rstrip())
            start = new.index("\n", content) + 1
        end = one.end + len(_rest_of_line(new, one.end))
        end += 2 if new[end : end + 2] == "\r\n" else len(new[end : end + 1])
        new = new[:start] + new[end:]
    if before is not None:
        _forget(before, path)
    return _checked(new, before)


def _forget(data: dict[str, Any], path: Keys) -> None:
    """Take what is at the end of a path out of the data, and the tables that are empty then."""
    if path[0] in data:
        if len(path) > 1:
            _forget(data[path[0]], path[1:])
        if len(path) == 1 or not data[path[0]]:
            del data[path[0]]


def _rest_of_line(text: str, at: int) -> str:
    return re.split(r"\r?\n", text[at:], maxsplit=1)[0]


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
