"""A command's argparse parser, built from what its operation declares; no other command's is ever built.

argparse takes the words apart. What a word means is `Param.value`, the same for a flag, an environment variable and
the config file; help pages are `cli.help`'s.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from memctl.annotations import TYPE_CHECKING, Any
from memctl.errors import GlobalOptionInvalid, UsageError
from memctl.operation import Operation, Param
from memctl.ops import GLOBALS

if TYPE_CHECKING:
    from typing import NoReturn


#: More words than a command line has.
MANY = 1 << 31


class Given(argparse.Namespace):
    """The global options of a command line, and `words`: the command's name and all after it.

    The words given for the command's own parameters are further attributes; only what was given is in `vars()`.
    """

    db: str | None = None
    config: str | None = None
    json = quiet = verbose = help = version = False
    words: Sequence[str] = ()


def leading(argv: Sequence[str]) -> Given:
    """The global options before the command's name; `words` are that name and everything after it."""
    given = Given()
    if argv and not argv[0].startswith("-"):  # nothing stands before the name: no parser for it
        given.words = argv
        return given
    parser = _Parser("", ())
    parser.add_argument("words", nargs=argparse.REMAINDER)
    parser.refuse_options(parser.read(argv, given))
    if given.words[:1] == ["--"]:
        given.words = given.words[1:]
    return given


def parse(op: Operation, words: Sequence[str], given: Given) -> dict[str, Any] | None:
    """The values that the words after a command's name give its operation; global options are added to `given`.

    None with `--help` or `--version`, whatever else is wrong. Raises UsageError.
    """
    params = [param for param in op.params() if param.arg.cli]
    parser = _Parser(op.name, params)
    left = parser.read(words, given)
    if given.help or given.version:
        return None
    parser.refuse_options(left)
    values = {}
    for param in params:
        if param.name in vars(given):
            values[param.name] = parser.value(param, getattr(given, param.name))
        elif param.required:
            greedy = [
                one for one in params if one.many and not one.arg.comma and len(vars(given).get(one.name, ())) > 1
            ]
            takes = f"; {greedy[0].label} takes every word after it, so put {param.label} first" if greedy else ""
            choices = f": {', '.join(param.choices)}" if param.choices else ""
            parser.error(f"{param.label} is missing{choices}{takes if param.positional else ''}")
    if left:
        # The likely reason is a value with blanks that has no quotes around it.
        last = next((param for param in reversed(params) if param.positional), None)
        quotes = f"; put quotes around several words for {last.label}" if last is not None and not last.many else ""
        parser.error(f"unexpected argument '{left[0]}'{quotes}")
    return values


class _Once(argparse.Action):
    """Stores the one value of an option; argparse's own action silently lets the last one win."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, flag: str | None = None
    ) -> None:
        if self.dest in vars(namespace):
            parser.error(f"{flag} is given twice")
        if not values and self.metavar == "PATH":
            raise argparse.ArgumentError(self, "the path is empty")
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """Knows the global options; raises errors as memctl's, for a command or (without name) for what stands before."""

    def __init__(self, command: str, params: Sequence[Param]) -> None:
        super().__init__(
            prog=command,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
            argument_default=argparse.SUPPRESS,
            # With a width, it does not import shutil (3 ms) to ask the terminal for one at every add_argument.
            formatter_class=partial(argparse.HelpFormatter, width=80),
        )
        for one in GLOBALS:
            if one.metavar:
                self.add_argument(*one.flags, action=_Once, metavar=one.metavar)
            else:
                self.add_argument(*one.flags, action="store_true")
        # Nothing is required here: `parse` says what is missing, after the mistyped flag that may be the reason.
        for param in params:
            how: dict[str, Any]
            if param.positional:
                # Words by place and words of an older spelling's option come together.
                how = {"action": "extend"} if param.arg.aliases else {}
                self.add_argument(param.name, nargs="*" if param.many else "?", **how)
                if param.arg.aliases:
                    self.add_argument(*param.arg.aliases, dest=param.name, nargs="+", **how)
                continue
            if param.many:
                how = {"action": "append"} if param.arg.comma else {"action": "extend", "nargs": "+"}
            else:
                how = {"action": "store_true" if param.scalar is bool else _Once}
            self.add_argument(*param.arg.flags, *param.arg.aliases, dest=param.name, **how)
        self.flags = [flag for one in GLOBALS for flag in one.flags]
        self.flags += [flag for param in params if not param.arg.word for flag in param.arg.flags]
        self.words = {param.arg.word: param for param in params if param.arg.word}

    def read(self, words: Sequence[str], given: Given) -> list[str]:
        """Put the words into `given`; returns those that have no place there."""
        try:
            left = self.parse_known_args(self._options_first(words) if self.prog else words, given)[1]
            return left[1:] if left[:1] == ["--"] else left
        except argparse.ArgumentError as exc:
            names = (exc.argument_name or "").split("/")
            dashed = ((flag, word) for flag, word in pairwise(words) if word.startswith("-") and word != "--")
            flag, word = next((pair for pair in dashed if pair[0] in names), ("", ""))
            self.error(f"{exc}" + (f" (one that begins with a dash is written {flag}={word})" if flag else ""))

    def _options_first(self, words: Sequence[str]) -> list[str]:
        """The options with their values, then `--` and the words that go by their place.

        argparse fills all places from the first run of such words, and refuses those that stand behind an option.
        """
        options: list[str] = []
        rest: list[str] = []
        left = 0  # words that the option before may still take
        first_is_plain = False
        for at, word in enumerate(words):
            if word == "--":
                first_is_plain = not rest
                rest += words[at + 1 :]
                break
            if self._parse_optional(word) is not None:
                options.append(word)
                left = self._room(word)
            elif left:
                options.append(word)
                left -= 1
            else:
                rest.append(word)
        if rest and rest[0] in self.words and not first_is_plain:
            options, rest = self._said_by_word(options, rest)
        return [*options, "--", *rest] if rest else options

    def _said_by_word(self, options: list[str], rest: list[str]) -> tuple[list[str], list[str]]:
        """The same with the flag that the first word stands for, and the value behind it."""
        param = self.words[rest[0]]
        flag = param.arg.flags[-1]
        if param.scalar is bool:
            return [*options, flag], rest[1:]
        if len(rest) == 1:
            self.error(f"{rest[0]}: {param.metavar} is missing")
        return [*options, f"{flag}={rest[1]}"], rest[2:]

    def _room(self, word: str) -> int:
        """How many of the words after an option are its values, at most; `-qk` takes as many as its last letter."""
        action = self._option_string_actions.get(word)
        if action is None and word[:2] != "--":
            for place, letter in enumerate(word[1:], 2):
                action = self._option_string_actions.get(f"-{letter}")
                if action is None or (action.nargs != 0 and place < len(word)):
                    return 0
        if action is None or action.nargs == 0:
            return 0
        return 1 if action.nargs is None else MANY

    def value(self, param: Param, words: Any) -> Any:
        """What the words of one parameter mean (True: a switch)."""
        if words is True:
            return True
        try:
            return [one for word in words for one in param.value(word)] if param.many else param.value(words)
        except ValueError as exc:
            self.error(f"{param.label}: {exc}")

    def error(self, message: str) -> "NoReturn":
        raise UsageError(message, command=self.prog) if self.prog else GlobalOptionInvalid(message)

    def refuse_options(self, left: list[str]) -> None:
        """Refuse the first mistyped flag among words that have no place, with a guess at what it should be."""
        flag = next((word.partition("=")[0] for word in left if word.startswith("-")), None)
        if flag in self.flags:
            self.error(f"'{flag}' stands after --, where no word is an option")
        if flag:
            from difflib import get_close_matches

            guess = get_close_matches(flag, self.flags, 1, cutoff=0.7)
            self.error(f"unknown option '{flag}'" + (f"; did you mean '{guess[0]}'?" if guess else ""))
