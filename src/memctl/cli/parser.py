"""The words of a command line, read by what its operation declares.

`argparse` would do most of this for 2 to 5 ms of start-up (a quarter of the budget on Python 3.13) and with messages
that differ between Python versions. A property test compares the two: where argparse accepts, so do we, with the
same values.

An option that takes several words (`--source a b`) takes all words up to the next option. `--` ends the options.
"""

from memctl.errors import GlobalOptionInvalid, MemctlError, UsageError
from memctl.operation import Operation, Param

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Option:
    """How the command line spells one thing: `takes` 0 words (a switch), 1, or any number ("many")."""

    __slots__ = ("flags", "help", "metavar", "name", "repeat", "takes")

    def __init__(
        self,
        name: str,
        flags: tuple[str, ...],
        takes: "int | str",
        help: str = "",
        metavar: str = "",
        repeat: bool = False,
    ) -> None:
        self.name, self.flags, self.takes, self.help, self.metavar = name, flags, takes, help, metavar
        self.repeat = repeat or takes in (0, "many")


#: Understood by every command, before or after its name.
GLOBALS = (
    Option("db", ("--db",), 1, "the store (environment MEMCTL_DB; else the nearest .memory/memory.db upwards)", "PATH"),
    Option("config", ("--config",), 1, "the config file (else config.json beside the store)", "PATH"),
    Option("json", ("--json",), 0, "print the result as JSON, and errors as JSON on stderr"),
    Option("quiet", ("-q", "--quiet"), 0, "no remarks on stderr; warnings and errors stay"),
    Option("verbose", ("-v", "--verbose"), 0, "print the traceback of an internal error"),
    Option("help", ("-h", "--help"), 0, "show help and exit"),
    Option("version", ("--version",), 0, "print the version and exit"),
)


class Given:
    """What a command line gave: raw words by option, the words without option, and the converted values."""

    __slots__ = ("raw", "values", "words")

    def __init__(self) -> None:
        self.raw: dict[str, list[str]] = {}
        self.words: list[str] = []
        self.values: dict[str, Any] = {}

    def on(self, name: str) -> bool:
        """Whether a switch was given."""
        return name in self.raw

    def one(self, name: str) -> str | None:
        """The word given with an option."""
        words = self.raw.get(name)
        return words[-1] if words else None


def leading(argv: list[str]) -> Given:
    """The global options before the command's name; `words` are that name and everything after it."""
    given = Given()
    _Scan(argv, GLOBALS, given, "").run(until_word=True)
    return given


def parse(op: Operation, argv: list[str], before: Given) -> Given:
    """The words after a command's name, with the global options given before it. Raises UsageError."""
    params = [param for param in op.params() if param.arg.cli]
    given = Given()
    given.raw = dict(before.raw)
    _Scan(argv, (*GLOBALS, *map(option, filter(_flagged, params))), given, op.name).run()
    if given.on("help") or given.on("version"):
        return given
    for name in ("db", "config"):
        if given.one(name) == "":
            raise usage(op.name, f"--{name}: the path is empty")
    for param in params:
        _convert(param, given, op.name)
    if given.words:
        raise usage(op.name, f"unexpected argument '{given.words[0]}'{_quoting(op)}")
    return given


def option(param: Param) -> Option:
    """The option that a flagged parameter is."""
    if param.scalar is bool:
        return Option(param.name, param.arg.flags, 0)
    takes: int | str = "many" if param.many and not param.arg.comma else 1
    return Option(param.name, param.arg.flags, takes, repeat=param.many)


def usage(command: str, message: str) -> MemctlError:
    """A usage error of a command, or of what stands before any command."""
    return UsageError(message, command=command) if command else GlobalOptionInvalid(message)


def _flagged(param: Param) -> bool:
    return not param.positional


# --- words to values ---------------------------------------------------------------------------------------------


def _convert(param: Param, given: Given, command: str) -> None:
    words = _taken(param, given)
    if words is None:
        if param.required:
            raise usage(command, _missing(param, given))
        return
    try:
        given.values[param.name] = _value(param, words)
    except ValueError as exc:
        raise usage(command, f"{param.label}: {exc}") from exc


def _taken(param: Param, given: Given) -> list[str] | None:
    if not param.positional:
        return given.raw.get(param.name)
    count = len(given.words) if param.many else 1
    words, given.words = given.words[:count], given.words[count:]
    return words or None


def _value(param: Param, words: list[str]) -> "Any":
    if param.scalar is bool and not param.positional:
        return True
    if not param.many:
        return param.value(words[-1])
    return [value for word in words for value in param.value(word)]


def _missing(param: Param, given: Given) -> str:
    greedy = [name for name, words in given.raw.items() if len(words) > 1]
    if param.positional and greedy:
        return f"{param.label} is missing; --{greedy[0]} takes every word after it, so put {param.label} first"
    return f"{param.label} is missing"


def _quoting(op: Operation) -> str:
    single = [param for param in op.params() if param.positional and param.arg.cli]
    return f"; put quotes around several words for {single[-1].label}" if single and not single[-1].many else ""


# --- argv to words -----------------------------------------------------------------------------------------------


class _Scan:
    """One walk over argv."""

    __slots__ = ("argv", "at", "command", "given", "known")

    def __init__(self, argv: list[str], options: "Iterable[Option]", given: Given, command: str) -> None:
        self.argv, self.at, self.given, self.command = argv, 0, given, command
        self.known = {flag: one for one in options for flag in one.flags}

    def run(self, *, until_word: bool = False) -> None:
        while self.at < len(self.argv):
            part = self.argv[self.at]
            if part == "--" and not until_word:
                self.given.words += self.argv[self.at + 1 :]
                return
            if not self._is_option(part):
                if until_word:
                    self.given.words = self.argv[self.at :]
                    return
                self.given.words.append(part)
                self.at += 1
                continue
            self.at += 1
            if part.startswith("--") or part in self.known:
                self._long(part)
            else:
                self._short(part)

    def _is_option(self, part: str) -> bool:
        if len(part) < 2 or part[0] != "-":
            return False
        if part.partition("=")[0] in self.known:
            return True
        return not (_is_number(part) or " " in part)

    def _long(self, part: str) -> None:
        flag, equals, word = part.partition("=")
        one = self.known.get(flag)
        if one is None:
            raise self._unknown(flag)
        if one.takes == 0 and equals:
            raise usage(self.command, f"{flag} takes no value")
        self._put(one, flag, word if equals else None)

    def _short(self, part: str) -> None:
        """`-k10`, `-k=10`, or switches written together: `-qv`."""
        for place in range(1, len(part)):
            flag = f"-{part[place]}"
            one = self.known.get(flag)
            if one is None:
                raise self._unknown(part)
            if one.takes != 0:
                word = part[place + 1 :]
                self._put(one, flag, word.removeprefix("=") if word else None)
                return
            self._put(one, flag, None)

    def _put(self, one: Option, flag: str, word: str | None) -> None:
        if one.name in self.given.raw and not one.repeat:
            raise usage(self.command, f"{flag} is given twice")
        words = self.given.raw.setdefault(one.name, [])
        if one.takes == 0:
            return
        if word is not None:
            words.append(word)
            return
        most = 1 if one.takes == 1 else len(self.argv)
        start = self.at
        while self.at < len(self.argv) and self.at - start < most and not self._is_option(self.argv[self.at]):
            self.at += 1
        if self.at == start:
            raise usage(self.command, self._needs_value(flag))
        words += self.argv[start : self.at]

    def _needs_value(self, flag: str) -> str:
        if self.at < len(self.argv) and self.argv[self.at] != "--":
            return f"{flag} needs a value (one that begins with a dash is written {flag}={self.argv[self.at]})"
        return f"{flag} needs a value"

    def _unknown(self, flag: str) -> MemctlError:
        from difflib import get_close_matches

        guess = get_close_matches(flag, list(self.known), 1)
        return usage(self.command, f"unknown option '{flag}'" + (f"; did you mean '{guess[0]}'?" if guess else ""))


def _is_number(part: str) -> bool:
    return part[1:].replace(".", "", 1).isdigit()
