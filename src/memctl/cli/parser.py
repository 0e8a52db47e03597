"""What the words of a command line mean for an operation: from what it declares; no other command's is ever looked at.

Most command lines are plain, and read here. argparse (`cli.grammar`), which costs 6 ms, takes apart the others. What a
word means is `Param.value`, the same for a flag, an environment variable and the config file; help pages are
`cli.help`'s.
"""

from collections.abc import Sequence

from memctl import errors
from memctl.annotations import Any
from memctl.operation import Operation, Param
from memctl.ops import GLOBALS


class Given:
    """The global options of a command line, and `words`: the command's name and all after it.

    The words given for the command's own parameters are further attributes; only what was given is in `vars()`.
    """

    db: str | None = None
    config: str | None = None
    json = quiet = verbose = help = version = False
    words: Sequence[str] = ()


def leading(argv: Sequence[str]) -> Given:
    """The global options before the command's name; `words` are that name and everything after it."""
    given, flags, head = Given(), _flags(()), 0
    while head < len(argv) and argv[head] in flags:
        head += 1 if flags[argv[head]][1] else 2
    if all(map(_is_plain, argv[head : head + 1])) and read_plainly((), argv[:head], given):
        given.words = argv[head:]
        return given
    from memctl.cli.grammar import read_leading

    read_leading(argv, given)
    return given


def parse(op: Operation, words: Sequence[str], given: Given) -> dict[str, Any] | None:
    """The values that the words after a command's name give its operation; global options are added to `given`.

    None with `--help` or `--version`, whatever else is wrong. Raises UsageError.
    """
    params = [param for param in op.params() if param.arg.cli]
    left: list[str] = []
    if not read_plainly(params, words, given):
        from memctl.cli.grammar import read

        left = read(op.name, params, words, given)
    if given.help or given.version:
        return None
    values = {}
    for param in params:
        if param.name in vars(given):
            values[param.name] = _value(op.name, param, getattr(given, param.name))
        elif param.required:
            greedy = [
                one for one in params if one.many and not one.arg.comma and len(vars(given).get(one.name, ())) > 1
            ]
            takes = f"; {greedy[0].label} takes every word after it, so put {param.label} first" if greedy else ""
            choices = f": {', '.join(param.choices)}" if param.choices else ""
            message = f"{param.label} is missing{choices}{takes if param.positional else ''}"
            raise errors.UsageError(message, command=op.name)
    if left:
        # The likely reason is a value with blanks that has no quotes around it.
        last = next((param for param in reversed(params) if param.positional), None)
        quotes = f"; put quotes around several words for {last.label}" if last is not None and not last.many else ""
        raise errors.UsageError(f"unexpected argument '{left[0]}'{quotes}", command=op.name)
    return values


def read_plainly(params: Sequence[Param], words: Sequence[str], given: Given) -> bool:
    """Put plain words into `given`: flags in full, each with its one value behind it, and words that go by their place.

    False, with `given` as it was, for whatever is to be looked at more closely.
    """
    flags = _flags(params)
    found: dict[str, Any] = {}
    rest: list[str] = []
    unread = iter(words)
    for word in unread:
        if _is_plain(word):
            rest.append(word)
            continue
        name, is_switch = flags.get(word, ("", False))
        value = "" if is_switch else next(unread, "")
        if not name or not (is_switch or (_is_plain(value) and name not in found and name not in vars(given))):
            return False
        found[name] = value or True
    places = [param for param in params if param.positional]
    if rest and any(param.arg.word == rest[0] for param in params):
        return False
    if any(param.many for param in places):
        last = places.pop()
        if not last.many or any(param.many for param in places):
            return False
        if rest[len(places) :]:
            found[last.name] = rest[len(places) :]
    elif len(rest) > len(places):
        return False
    vars(given).update(found, **{param.name: word for param, word in zip(places, rest, strict=False)})
    return True


def _flags(params: Sequence[Param]) -> dict[str, tuple[str, bool]]:
    """By each flag that stands for one value: what it gives, and whether it is a switch."""
    flags = {flag: (one.flags[-1][2:], not one.metavar) for one in GLOBALS for flag in one.flags}
    return flags | {flag: (one.name, one.scalar is bool) for one in params if not one.many for flag in one.arg.flags}


def _is_plain(word: str) -> bool:
    """Whether a word is certainly no option; `-` is standard input."""
    return word[:1] not in ("", "-") or word == "-"


def _value(command: str, param: Param, words: Any) -> Any:
    """What the words of one parameter mean (True: a switch)."""
    if words is True:
        return True
    try:
        return [one for word in words for one in param.value(word)] if param.many else param.value(words)
    except ValueError as exc:
        raise errors.UsageError(f"{param.label}: {exc}", command=command) from exc
