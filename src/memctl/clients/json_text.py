"""JSON that people edit: read with its comments and trailing commas, and changed without touching the rest of it.

An edit is a span of the text. After each, the text is read again and must hold what was meant; otherwise nothing is
changed, and ValueError says why.
"""

import json
import re
from copy import deepcopy

from memctl.annotations import Any
from memctl.text import jsons

#: White space and comments. An unclosed `/*` is left to be found wrong.
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*[\s\S]*?\*/)*")
#: Lists and objects in one another that are read; people have five.
_MOST_DEPTH = 200

Keys = tuple[str, ...]


class JsonItem:
    """A member of an object or an element of a list: its key, where it begins, its value, and its comma (-1: none)."""

    __slots__ = ("comma", "key", "node", "start")

    def __init__(self, key: str, start: int, node: "JsonNode", comma: int = -1) -> None:
        self.key, self.start, self.node, self.comma = key, start, node, comma

    @property
    def end(self) -> int:
        """Where it ends, with its comma."""
        return self.node.end if self.comma < 0 else self.comma + 1


class JsonNode:
    """A value in the text: where it stands, what it is, and the items of an object or a list."""

    __slots__ = ("end", "items", "start", "value")

    def __init__(self, start: int, end: int, value: Any, items: list[JsonItem] | None = None) -> None:
        self.start, self.end, self.value, self.items = start, end, value, items or []


class JsonText:
    """A JSON text, and edits of it. Raises ValueError for what is no object, or cannot be read.

    made  the ways to objects and lists that an edit added
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.made: list[Keys] = []
        if not text.strip():
            self.text = "{}" + self.newline
        self._read()

    def _read(self) -> None:
        start = end_of(_BLANK, self.text, 0)
        self.root = _node(self.text, start, 0)
        end = end_of(_BLANK, self.text, self.root.end)
        if end != len(self.text):
            raise ValueError(f"line {line_of(self.text, end)}: more follows after the end")
        if not isinstance(self.root.value, dict):
            raise ValueError("it holds no object")  # noqa: TRY004 - what a file holds is no type of ours

    # --- looking -----------------------------------------------------------------------------------------------------

    def find(self, keys: Keys) -> JsonNode | None:
        """The value at the end of the keys. ValueError when something else is in the way, or a key is twofold."""
        node = self.root
        for key in keys:
            if not isinstance(node.value, dict):
                where, kind = line_of(self.text, node.start), jsons.kind_of(node.value)
                raise ValueError(f"line {where}: {kind} is in the way of {key}")  # noqa: TRY004
            found = [item for item in node.items if item.key == key]
            if len(found) > 1:
                raise ValueError(f"line {line_of(self.text, found[1].start)}: {key} stands there twice")
            if not found:
                return None
            node = found[0].node
        return node

    def value(self, keys: Keys) -> Any:
        """The value at the end of the keys; None when there is none."""
        node = self.find(keys)
        return None if node is None else node.value

    # --- edits -------------------------------------------------------------------------------------------------------

    def put(self, keys: Keys, value: Any) -> None:
        """Let `value` stand at the end of the keys; objects on the way are made."""
        node = self.find(keys)
        if node is not None:
            if not _same(node.value, value):
                self._become(
                    self._spliced(node.start, node.end, self._written(value, self._indent(node.start))),
                    self._expected(keys, value),
                )
            return
        known = len(keys) - 1
        while self.find(keys[:known]) is None:
            known -= 1
        holder = self.find(keys[:known])
        if holder is None or not isinstance(holder.value, dict):
            raise ValueError(f"{'.'.join(keys[:known])} is no object")
        expected = self._expected(keys, value)
        for key in reversed(keys[known + 1 :]):
            value = {key: value}
        self._insert(holder, value, json.dumps(keys[known], ensure_ascii=False) + ": ", expected)
        self.made += [keys[:length] for length in range(known + 1, len(keys))]

    def merge(self, keys: Keys, values: dict[str, Any]) -> None:
        """Let an object have these values, made when it is missing; other keys of it stay."""
        for key, value in values.items():
            (self.merge if isinstance(value, dict) else self.put)((*keys, key), value)

    def append(self, keys: Keys, value: Any) -> None:
        """Add an element to the list at the end of the keys, which is made when it is missing."""
        node = self.find(keys)
        if node is None:
            self.put(keys, [value])
            self.made.append(keys)
            return
        if not isinstance(node.value, list):
            raise ValueError(f"{'.'.join(keys)} is no list")  # noqa: TRY004
        self._insert(node, value, "", self._expected(keys, [*node.value, value]))

    def replace(self, keys: Keys, index: int, value: Any) -> None:
        """Let another value stand in place of an element of a list."""
        node = self._list(keys)
        old = node.items[index].node
        expected = self._expected(keys, [*node.value[:index], value, *node.value[index + 1 :]])
        self._become(self._spliced(old.start, old.end, self._written(value, self._indent(old.start))), expected)

    def remove(self, keys: Keys, index: int | None = None) -> None:
        """Take out the member at the end of the keys, or an element of the list there; nothing, if it is not there."""
        holder = self.find(keys if index is not None else keys[:-1])
        if holder is None or (index is None and self.find(keys) is None):
            return
        expected = deepcopy(self.root.value)
        inner = expected
        for key in keys if index is not None else keys[:-1]:
            inner = inner[key]
        del inner[keys[-1] if index is None else index]
        at = index if index is not None else next(n for n, item in enumerate(holder.items) if item.key == keys[-1])
        self._become(self._without(holder, at), expected)

    def _list(self, keys: Keys) -> JsonNode:
        node = self.find(keys)
        if node is None or not isinstance(node.value, list):
            raise ValueError(f"{'.'.join(keys)} is no list")
        return node

    def _expected(self, keys: Keys, value: Any) -> Any:
        """The whole content with `value` at the end of the keys."""
        whole = deepcopy(self.root.value)
        inner = whole
        for key in keys[:-1]:
            inner = inner.setdefault(key, {})
        inner[keys[-1]] = value
        return whole

    def _become(self, text: str, expected: Any) -> None:
        before, self.text = self.text, text
        try:
            self._read()
        except ValueError:
            self.text = before
            self._read()
            raise
        if not _same(self.root.value, expected):
            self.text = before
            self._read()
            raise ValueError("it is written in a way that cannot be changed without changing more")

    def _spliced(self, start: int, end: int, new: str) -> str:
        return self.text[:start] + new + self.text[end:]

    def _insert(self, holder: JsonNode, value: Any, key: str, expected: Any) -> None:
        """Put one more item at the end of an object or a list, in the form of those that are there."""
        inside, close = holder.start + 1, holder.end - 1
        body = self.text[inside:close]
        content = inside + len(body.rstrip())
        if not holder.items:
            if not body.strip() and "\n" not in self.text[self.root.start : self.root.end] and holder is not self.root:
                self._become(self._spliced(inside, close, key + json.dumps(value, ensure_ascii=False)), expected)
                return
            outer = self._indent(holder.start)
            inner = outer + self._unit()
            tail = (
                self.text[content:close] if body.strip() and "\n" in self.text[content:close] else self.newline + outer
            )
            self._become(
                self._spliced(content, close, self.newline + inner + key + self._written(value, inner) + tail), expected
            )
            return
        first, last = holder.items[0], holder.items[-1]
        if "\n" in self.text[inside : first.start]:
            inner = self._indent(first.start)
            chunk = self.newline + inner + key + self._written(value, inner)
        elif "\n" in self.text[last.node.end : content] or "//" in self.text[last.node.end : content]:
            chunk = self.newline + key + json.dumps(value, ensure_ascii=False)
        else:
            chunk = " " + key + json.dumps(value, ensure_ascii=False)
        if last.comma >= 0:
            text = self._spliced(content, content, chunk + ",")
        else:
            text = self.text[: last.node.end] + "," + self.text[last.node.end : content] + chunk + self.text[content:]
        self._become(text, expected)

    def _without(self, holder: JsonNode, at: int) -> str:
        """The text without an item, its comma, and the white space before it."""
        text, inside, close = self.text, holder.start + 1, holder.end - 1
        item = holder.items[at]
        start = inside + len(text[inside : item.start].rstrip())
        end = item.end
        if not text[inside:start].strip() and not text[end:close].strip():
            return self._spliced(inside, close, "")
        before = text[holder.items[at - 1].end if at else inside : start].rpartition("\n")[2]
        if "//" in before and re.match(r"[ \t]*\r?\n", text[end:]) is None:  # the comment must not swallow what follows
            start = item.start
        if start in {inside, item.start}:
            end += len(text[end:]) - len(text[end:].lstrip(" \t"))
        last = at == len(holder.items) - 1
        if last and at and item.comma < 0:
            comma = holder.items[at - 1].comma
            return text[:comma] + text[comma + 1 : start] + text[end:]
        return self._spliced(start, end, "")

    # --- form --------------------------------------------------------------------------------------------------------

    def _indent(self, position: int) -> str:
        """The white space that the line of a position begins with."""
        line = self.text[self.text.rfind("\n", 0, position) + 1 : position]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _unit(self) -> str:
        """What a level is indented by: what the first one is, else two blanks."""
        if self.root.items and "\n" in self.text[self.root.start : self.root.items[0].start]:
            return self._indent(self.root.items[0].start) or "  "
        return "  "

    def _written(self, value: Any, indent: str) -> str:
        """A value over several lines, all but the first indented."""
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit()).split("\n")
        return (self.newline + indent).join(lines)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are written alike: 1 is not true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where what fits the pattern at a position ends; the position, if nothing does."""
    found = pattern.match(text, at)
    return at if found is None else found.end()


def line_of(text: str, at: int) -> int:
    """The number of the line of a position."""
    return text.count("\n", 0, at) + 1


def _node(text: str, at: int, depth: int) -> JsonNode:
    """The value that begins at a position."""
    if depth > _MOST_DEPTH:
        raise ValueError("it is nested too deeply")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, depth, "}" if opening == "{" else "]")
    try:
        value, end = jsons.read(text, at)
    except ValueError as exc:
        raise ValueError(f"line {line_of(text, at)}: {getattr(exc, 'msg', exc)}") from None
    return JsonNode(at, end, value)


def _container(text: str, start: int, depth: int, closing: str) -> JsonNode:
    items: list[JsonItem] = []
    at = end_of(_BLANK, text, start + 1)
    while text[at : at + 1] != closing:
        if items and items[-1].comma < 0:
            raise ValueError(f"line {line_of(text, at)}: a comma or {closing} is missing")
        begin, key = at, ""
        if closing == "}":
            named = _node(text, at, _MOST_DEPTH)
            if not isinstance(named.value, str):
                raise ValueError(f"line {line_of(text, at)}: a key must be a string")
            key, at = named.value, end_of(_BLANK, text, named.end)
            if text[at : at + 1] != ":":
                raise ValueError(f"line {line_of(text, at)}: a colon is missing")
            at = end_of(_BLANK, text, at + 1)
        item = JsonItem(key, begin, _node(text, at, depth + 1))
        at = end_of(_BLANK, text, item.node.end)
        if text[at : at + 1] == ",":
            item.comma, at = at, end_of(_BLANK, text, at + 1)
        items.append(item)
    value = {item.key: item.node.value for item in items} if closing == "}" else [item.node.value for item in items]
    return JsonNode(start, at + 1, value, items)
