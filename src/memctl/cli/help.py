"""Help pages and pages for man, written from the operation table.

The width of a help page is fixed: COLUMNS if it is set, else 80. `memctl help --man` prints those for man.
"""

import os
import textwrap
from collections.abc import Iterable, Iterator

from memctl import __version__
from memctl.operation import Operation, Param
from memctl.ops import EVERYDAY, GLOBALS, GROUPS, TABLE, Option, commands

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
#: Lines of a page: what does not fit is named at its end.
SCREEN = 40


def width() -> int:
    """Columns of a help page."""
    text = os.environ.get("COLUMNS", "")
    return min(max(int(text), 50), 120) if text.isascii() and text.isdigit() and len(text) < 6 else 80


def overview(*, full: bool = False) -> Iterator[str]:
    """What `memctl --help` prints: the everyday commands, and the names of all; `full`: all with a line each."""
    yield "usage: memctl [global options] COMMAND [arguments]"
    yield ""
    yield from textwrap.wrap("Memory for LLMs in one SQLite file. Answers go to stdout, remarks to stderr.", width())
    groups = {group: [name for name in commands() if TABLE[name].group == group] for group in GROUPS}
    if full:
        for group, names in groups.items():
            yield from _section(group, [(name, TABLE[name].summary) for name in names], column=14)
        yield from _section("Global options (before or after the command)", map(global_row, GLOBALS))
        yield from _section("Exit status", ((str(code), words) for code, words in EXITS.items()), column=7)
        yield ""
        yield from textwrap.wrap("memctl help COMMAND (or memctl COMMAND --help) tells more about a command.", width())
        return
    yield from _section("Everyday", [(name, TABLE[name].summary) for name in EVERYDAY], column=12)
    yield from _section("All commands", [(group, " ".join(names)) for group, names in groups.items()], column=12)
    yield ""
    yield from _global_line("Global options, before or after the command")
    yield from textwrap.wrap(
        "memctl help COMMAND tells more about a command, memctl help -v a line about each, memctl docs the rest.",
        width(),
    )


def _global_line(title: str) -> Iterator[str]:
    named = (f"{one.flags[-1]}{one.metavar and ' ' + one.metavar}" for one in GLOBALS)
    yield from textwrap.wrap(f"{title}: {', '.join(named)}.", width(), break_on_hyphens=False)


def page(op: Operation, *, full: bool = False) -> Iterator[str]:
    """What `memctl COMMAND --help` prints: what fits a screen, and what it left out; `full`: all of it."""
    options = [row(param) for param in options_of(op)]
    examples = [f"  {line}" for line in op.examples]
    exits = {code: EXITS[code] for code in (0, 1, 2)} | op.exits
    ends = [(str(code), words) for code, words in sorted(exits.items())]
    most, every = len(examples), len(options)
    # How many examples and options it shows, and whether the exit status, the fullest first.
    ways = [(most, every, True), (most, every, False), *((few, every, False) for few in range(most - 1, 1, -1))]
    for few, shown, with_ends in (*ways, *((min(2, most), shown, False) for shown in range(every - 1, -1, -1))):
        left = [param.label for param in options_of(op)[shown:]]
        lines = [*_head(op, brief=bool(left)), *_section("Options", options[:shown])]
        if examples:
            lines += ["", "Examples", *examples[:few]]
        if with_ends:
            lines += _section("Exit status", ends, column=7)
        lines += ["", *_global_line("Global options (memctl --help)")]
        left += [] if few >= len(examples) else [f"examples ({len(examples) - few})"]
        left += [] if with_ends else ["the exit status"]
        if left:
            words = f"Left out: {', '.join(left)}. memctl help {op.name} -v shows all."
            lines += textwrap.wrap(words, width(), break_on_hyphens=False)
        if full or len(lines) <= SCREEN:
            break
    yield from lines


def options_of(op: Operation) -> list[Param]:
    """The parameters that have flags."""
    return [param for param in op.params() if param.arg.cli and not goes_by_place(param)]


def usage(op: Operation, *, brief: bool = False) -> Iterator[str]:
    """How a command is called, `brief` or with every option."""
    placed = [param for param in op.params() if param.arg.cli and goes_by_place(param)]
    parts = [_spelled(p, ()) if p.required else f"[{_spelled(p, ())}]" for p in placed]
    if any(param.arg.word for param in placed):  # either a thing, or a word that says what to do
        parts = [f"[{' | '.join(_spelled(p, ()) for p in placed)}]"]
    for param in () if brief else options_of(op):
        text = _spelled(param, param.arg.flags[:1])
        parts.append(text if param.required else f"[{text}]")
    parts += ["[options]"] * brief
    line = head = f"usage: memctl {op.name}"
    for part in parts:
        if len(line) + len(part) + 1 > width():
            yield line
            line = " " * len(head)
        line += f" {part}"
    yield line


def _head(op: Operation, *, brief: bool) -> Iterator[str]:
    """The usage, what the command does, and what goes by its place."""
    yield from usage(op, brief=brief)
    yield ""
    yield from textwrap.wrap(op.summary + ".", width())
    rest = textwrap.dedent((op.fn.__doc__ or "").partition("\n")[2]).strip()
    for paragraph in rest.split("\n\n") if rest else ():
        yield ""
        if paragraph.startswith(" ") or "\n " in paragraph:  # laid out by hand
            yield from paragraph.splitlines()
        else:
            yield from textwrap.wrap(paragraph, width())
    yield from _section(
        "Arguments", map(row, (param for param in op.params() if param.arg.cli and goes_by_place(param)))
    )


def goes_by_place(param: Param) -> bool:
    """Whether it is given by its place, or by a word."""
    return param.positional or bool(param.arg.word)


def _spelled(param: Param, flags: tuple[str, ...]) -> str:
    names = param.arg.word or ", ".join(flags)
    if param.positional:
        return param.metavar + (" ..." if param.many else "")
    if param.arg.word and param.scalar is not bool:
        return f"{param.arg.word} {param.metavar}"
    if param.scalar is bool:
        return names
    value = ",".join(param.choices)
    value = f"{{{value}}}" if value and len(value) < 40 else param.metavar
    if param.arg.comma:
        value += ",..."
    return f"{names} {value}" + (" ..." if param.many and not param.arg.comma else "")


def row(param: Param) -> tuple[str, str]:
    """A parameter as it is spelled, and its words."""
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


def global_row(one: Option) -> tuple[str, str]:
    """The same of a global option."""
    return ", ".join(one.flags) + (f" {one.metavar}" if one.metavar else ""), one.help


def _section(title: str, rows: "Iterable[tuple[str, str]]", column: int = _COLUMN) -> Iterator[str]:
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


# --- manual pages -----------------------------------------------------------------------------------------------------


def manual_page(op: Operation) -> Iterator[str]:
    """The page of a command, line by line."""
    placed = [param for param in op.params() if param.arg.cli and goes_by_place(param)]
    yield from _manual_head(f"memctl-{op.name}", op.summary)
    yield ".SH SYNOPSIS"
    yield from _as_typed(line[len("usage: ") :] for line in usage(op))
    yield ".SH DESCRIPTION"
    rest = textwrap.dedent((op.fn.__doc__ or "").partition("\n")[2]).strip()
    yield from _paragraphs(f"{op.summary}.\n\n{rest}")
    yield from _terms("ARGUMENTS", map(row, placed))
    yield from _terms("OPTIONS", map(row, options_of(op)))
    yield ".PP"
    yield from _filled("Global options stand in memctl(1).")
    if op.examples:
        yield ".SH EXAMPLES"
        yield from _as_typed(op.examples)
    exits = {code: EXITS[code] for code in (0, 1, 2)} | op.exits
    yield from _terms("EXIT STATUS", ((str(code), words) for code, words in sorted(exits.items())))
    yield ".SH SEE ALSO"
    yield ".BR memctl (1)"


def manual_overview() -> Iterator[str]:
    """The page of memctl itself: the commands by their groups, global options, environment and exit status."""
    yield from _manual_head("memctl", "Memory for LLMs in one SQLite file")
    yield ".SH SYNOPSIS"
    yield from _as_typed(["memctl [global options] COMMAND [arguments]"])
    yield ".SH DESCRIPTION"
    yield from _paragraphs(
        "Stores what people, models and documents say in one SQLite file, finds it again, and packs it into a block "
        "for a model. Answers go to standard output, remarks to standard error.\n\nmemctl help COMMAND tells about a "
        "command as memctl-COMMAND(1) does; memctl docs has the documentation."
    )
    for group in GROUPS:
        names = [name for name in commands() if TABLE[name].group == group]
        yield from _terms(f"{group} commands".upper(), ((f"memctl-{name}(1)", TABLE[name].summary) for name in names))
    yield from _terms("GLOBAL OPTIONS", map(global_row, GLOBALS))
    yield from _terms("EXIT STATUS", ((str(code), words) for code, words in EXITS.items()))


def _manual_head(name: str, summary: str) -> Iterator[str]:
    yield '.\\" Written from the table of operations (memctl help --man).'
    yield f'.TH {_plain(name.upper())} 1 "" "memctl {__version__}" "memctl"'
    yield ".SH NAME"
    yield f"{_plain(name)} \\- {_plain(summary)}"


def _plain(text: str) -> str:
    """Text that man shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")
    text = text.replace("`", "\\(ga").replace("'", "\\(aq")
    return "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)


def _line(text: str) -> str:
    """A line of text, which must not begin like a request."""
    return f"\\&{_plain(text)}" if text[:1] in (".", "'") else _plain(text)


def _filled(text: str) -> Iterator[str]:
    yield from map(_line, textwrap.wrap(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False))


def _as_typed(lines: Iterable[str]) -> Iterator[str]:
    yield ".nf"
    yield from (_line(line) for line in lines)
    yield ".fi"


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        by_hand = paragraph.startswith(" ") or "\n " in paragraph
        yield from _as_typed(paragraph.split("\n")) if by_hand else _filled(paragraph)


def _terms(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A section of terms with their words; nothing without terms."""
    for number, (name, words) in enumerate(rows):
        if not number:
            yield f".SH {_plain(title)}"
        yield ".TP"
        yield f".B {_plain(name)}"
        yield from _filled(words)
