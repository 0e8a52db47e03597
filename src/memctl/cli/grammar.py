"""argparse for the words of a command line that are not plain: joined flags, lists, what stands after `--`, mistakes.

It takes the words apart into the attributes of a `cli.parser.Given`; what they mean is said there.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any
from memctl.operation import Param
from memctl.ops import GLOBALS

if TYPE_CHECKING:
    from typing import NoReturn


#: More words than a command line has.
MANY = 1 << 31


def read_leading(argv: Sequence[str], given: Any) -> None:
    """Put the global options before a command's name into `given`, and all after them into its `words`."""
    parser = _Parser("", ())
    parser.add_argument("words", nargs=argparse.REMAINDER)
    parser.refuse_options(parser.read(argv, given))
    if given.words[:1] == ["--"]:
        given.words = given.words[1:]


def read(command: str, params: Sequence[Param], words: Sequence[str], given: Any) -> list[str]:
    """Put the words after a command's name into `given`; returns those that have no place. Raises UsageError."""
    parser = _Parser(command, params)
    left = parser.read(words, given)
    if not (given.help or given.version):
        parser.refuse_options(left)
    return left


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

    def read(self, words: Sequence[str], given: Any) -> list[str]:
        """Put the words into `given`; returns those that have no place there."""
        try:
            left: list[str] = self.parse_known_args(self._options_first(words) if self.prog else words, given)[1]
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

    def error(self, message: str) -> "NoReturn":
        raise errors.UsageError(message, command=self.prog) if self.prog else errors.GlobalOptionInvalid(message)

    def refuse_options(self, left: list[str]) -> None:
        """Refuse the first mistyped flag among words that have no place, with a guess at what it should be."""
        flag = next((word.partition("=")[0] for word in left if word.startswith("-")), None)
        if flag in self.flags:
            self.error(f"'{flag}' stands after --, where no word is an option")
        if flag:
            from difflib import get_close_matches

            guess = get_close_matches(flag, self.flags, 1, cutoff=0.7)
            self.error(f"unknown option '{flag}'" + (f"; did you mean '{guess[0]}'?" if guess else ""))
