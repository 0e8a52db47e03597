"""Help pages, written from the operation table. The width is fixed: COLUMNS if it is set, else 80."""

import os
import textwrap
from collections.abc import Iterator

from memctl.cli.parser import GLOBALS, Option
from memctl.operation import Operation, Param
from memctl.ops import GROUPS, TABLE

#: Exit codes that every command shares.
EXITS = {
    0: "success; also when nothing was found or nothing had to be done",
    1: "it could not be done as asked: bad arguments, missing store or item, input refused",
    2: "internal error, damaged store or full disk",
    130: "interrupted (Ctrl-C)",
    141: "the reader of standard output went away",
    143: "terminated (SIGTERM)",
}
_COLUMN = 24


def width() -> int:
    """Columns of a help page."""
    text = os.environ.get("COLUMNS", "")
    return min(max(int(text), 50), 120) if text.isascii() and text.isdigit() and len(text) < 6 else 80


def overview() -> Iterator[str]:
    """What `memctl --help` prints: the commands by group."""
    yield "usage: memctl [global options] COMMAND [arguments]"
    yield ""
    yield from textwrap.wrap("Memory for LLMs in one SQLite file. Answers go to stdout, remarks to stderr.", width())
    for group in GROUPS:
        rows = [(name, row.summary) for name, row in TABLE.items() if row.group == group and row.cli]
        if rows:
            yield from _section(group, rows, column=14)
    yield from _section("Global options (before or after the command)", map(_global, GLOBALS))
    yield from _section("Exit status", ((str(code), words) for code, words in EXITS.items()), column=7)
    yield ""
    yield from textwrap.wrap("memctl help COMMAND (or memctl COMMAND --help) tells more about a command.", width())


def page(op: Operation) -> Iterator[str]:
    """What `memctl COMMAND --help` prints."""
    params = [param for param in op.params() if param.arg.cli]
    line = head = f"usage: memctl {op.name}"
    for param in sorted(params, key=lambda param: not param.positional):
        text = _spelled(param, param.arg.flags[:1])
        part = text if param.required else f"[{text}]"
        if len(line) + len(part) + 1 > width():
            yield line
            line = " " * len(head)
        line += f" {part}"
    yield line
    yield ""
    yield from textwrap.wrap(op.summary + ".", width())
    rest = textwrap.dedent((op.fn.__doc__ or "").partition("\n")[2]).strip()
    for paragraph in rest.split("\n\n") if rest else ():
        yield ""
        if paragraph.startswith(" ") or "\n " in paragraph:  # laid out by hand
            yield from paragraph.splitlines()
        else:
            yield from textwrap.wrap(paragraph, width())
    yield from _section("Arguments", (_row(p) for p in params if p.positional))
    yield from _section("Options", (_row(p) for p in params if not p.positional))
    yield from _section("Global options", map(_global, GLOBALS))
    if op.examples:
        yield from ("", "Examples", *(f"  {line}" for line in op.examples))
    exits = {code: EXITS[code] for code in (0, 1, 2)} | op.exits
    yield from _section("Exit status", ((str(code), words) for code, words in sorted(exits.items())), column=7)


def _spelled(param: Param, flags: tuple[str, ...]) -> str:
    names = ", ".join(flags)
    if param.positional:
        return param.metavar + (" ..." if param.many else "")
    if param.scalar is bool:
        return names
    value = ",".join(param.choices)
    value = f"{{{value}}}" if value and len(value) < 40 else param.metavar
    if param.arg.comma:
        value += ",..."
    return f"{names} {value}" + (" ..." if param.many and not param.arg.comma else "")


def _row(param: Param) -> tuple[str, str]:
    name = param.metavar if param.positional else _spelled(param, param.arg.flags)
    more = list(_more(param))
    return name, param.arg.help + (f" ({'; '.join(more)})" if more else "")


def _more(param: Param) -> Iterator[str]:
    arg = param.arg
    if param.choices and "{" not in _spelled(param, ()):
        yield ", ".join(param.choices)
    if arg.ge is not None and arg.le is not None:
        yield f"{arg.ge} to {arg.le}"
    elif arg.ge is not None:
        yield f"at least {arg.ge}"
    elif arg.le is not None:
        yield f"at most {arg.le}"
    if not param.required and param.default not in (None, False, "", [], ()):
        yield f"default {param.default}"
    if arg.env:
        yield f"environment {arg.env}"
    if arg.config:
        yield f"config {arg.config}"


def _global(one: Option) -> tuple[str, str]:
    return ", ".join(one.flags) + (f" {one.metavar}" if one.metavar else ""), one.help


def _section(title: str, rows: "Iterator[tuple[str, str]] | map[tuple[str, str]] | list[tuple[str, str]]",
             column: int = _COLUMN) -> Iterator[str]:  # fmt: skip
    first = True
    for name, words in rows:
        if first:
            yield from ("", title)
            first = False
        lines = textwrap.wrap(words, width() - column) or [""]
        if len(name) + 4 > column:
            yield f"  {name}"
        else:
            yield f"  {name}".ljust(column) + lines.pop(0)
        yield from (" " * column + line for line in lines)
