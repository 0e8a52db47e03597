"""Manual pages in the language of man, written from the operation table: `memctl help --man` prints them."""

import textwrap
from collections.abc import Iterable, Iterator

from memctl import __version__
from memctl.cli import help as pages
from memctl.operation import Operation
from memctl.ops import GLOBALS, GROUPS, TABLE, commands


def manual(op: Operation) -> Iterator[str]:
    """The page of a command, line by line."""
    placed = [param for param in op.params() if param.arg.cli and pages.goes_by_place(param)]
    yield from _head(f"memctl-{op.name}", op.summary)
    yield ".SH SYNOPSIS"
    yield from _as_typed(line[len("usage: ") :] for line in pages.usage(op))
    yield ".SH DESCRIPTION"
    rest = textwrap.dedent((op.fn.__doc__ or "").partition("\n")[2]).strip()
    yield from _paragraphs(f"{op.summary}.\n\n{rest}")
    yield from _terms("ARGUMENTS", map(pages.row, placed))
    yield from _terms("OPTIONS", map(pages.row, pages.options_of(op)))
    yield ".PP"
    yield from _filled("Global options stand in memctl(1).")
    if op.examples:
        yield ".SH EXAMPLES"
        yield from _as_typed(op.examples)
    exits = {code: pages.EXITS[code] for code in (0, 1, 2)} | op.exits
    yield from _terms("EXIT STATUS", ((str(code), words) for code, words in sorted(exits.items())))
    yield ".SH SEE ALSO"
    yield ".BR memctl (1)"


def overview() -> Iterator[str]:
    """The page of memctl itself: the commands by their groups, global options, environment and exit status."""
    yield from _head("memctl", "Memory for LLMs in one SQLite file")
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
    yield from _terms("GLOBAL OPTIONS", map(pages.global_row, GLOBALS))
    yield from _terms("EXIT STATUS", ((str(code), words) for code, words in pages.EXITS.items()))


def _head(name: str, summary: str) -> Iterator[str]:
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
