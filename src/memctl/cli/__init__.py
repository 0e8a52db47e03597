"""The command line: find the command, parse its words, call it, print what it returns."""

import sys
from collections.abc import Callable, Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any
from memctl.cli import parser
from memctl.cli.output import Console, PipeClosed
from memctl.context import Context
from memctl.operation import Operation
from memctl.ops import ALIASES, MEANT, TABLE, commands

if TYPE_CHECKING:
    from memctl.operation import Result


class Terminated(BaseException):
    """SIGTERM arrived: unwind, so that transactions roll back and temporary files go."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's) and return its exit code."""
    return run(list(sys.argv[1:] if argv is None else argv), Console.of_process())


def run(argv: list[str], console: Console) -> int:
    """Run a command line; the exit code. Every exception ends here."""
    try:
        code = _dispatch(argv, console)
        console.finish()
    except PipeClosed:
        console.abandon()
        return 141
    except KeyboardInterrupt:
        console.say("memctl: interrupted")
        console.abandon()
        return 130
    except Terminated:
        console.abandon()
        return 143
    except Exception as exc:  # noqa: BLE001 - the boundary of the program
        return _report(exc, argv, console)
    return code


def _dispatch(argv: list[str], console: Console) -> int:
    given = parser.leading(argv)
    name, rest = (given.words[0], given.words[1:]) if given.words else ("", [])
    if given.version or given.help:
        return _about([name], console, given)
    if name in ("", "help"):
        if rest[:1] == ["--man"]:
            return _manual(rest[1:], console)
        words = [word for word in rest if word not in ("-v", "--verbose")]
        given.verbose = given.verbose or len(words) < len(rest)
        _about(words, console, given)
        return 0 if name else 1
    if name == "hooks" and "safety-guard" in rest:
        return _run_guard(rest, given, console, argv)
    return _run(name, rest, given, console, argv)


def _run_guard(rest: Sequence[str], given: parser.Given, console: Console, argv: list[str]) -> int:
    """The guard of a client's shell: whatever keeps it from judging a call stops the call."""
    try:
        return _run("hooks", rest, given, console, argv)
    except errors.GuardFailed:
        raise
    except errors.MemctlError as exc:
        raise errors.GuardFailed(reason=exc.message) from exc


def _run(name: str, rest: Sequence[str], given: parser.Given, console: Console, argv: list[str]) -> int:
    try:
        op = load(name)
        values = parser.parse(op, rest, given)
    except errors.UsageError as exc:
        meant = load(near) if (near := _nearest(name)) in TABLE else None
        if (
            meant and meant.takes_input and not any(param.positional for param in meant.params())
        ):  # it reads nothing else
            _keep_input(meant, _context(given, console), argv, exc)
        raise
    if values is None:
        return _about([name], console, given)
    return _call(op, values, given, console, argv)


def _about(words: Sequence[str], console: Console, given: parser.Given) -> int:
    """Print the version, the page of a command, what the documentation says of a topic, or the list of commands."""
    if given.version:
        from memctl import __version__

        console.text([f"memctl {__version__}"])
        return 0
    from memctl.cli import help as pages

    name = words[0] if words else ""
    if name in ("", "help") or name.startswith("-"):
        console.page(pages.overview(full=given.verbose))
    elif name in commands():
        console.page(pages.page(load(name), full=given.verbose))
    else:
        from memctl.ops.start.docs import find_topic

        console.page((find_topic(" ".join(words)) or load(name).summary).splitlines())
    return 0


def _manual(words: Sequence[str], console: Console) -> int:
    """Print the manual page of a command, or of memctl, for man."""
    from memctl.cli import help as pages

    if len(words) > 1:
        raise errors.UsageError("help --man takes one command", command="help")
    console.text(pages.manual_page(load(words[0])) if words else pages.manual_overview(), verbatim=True)
    return 0


def load(name: str) -> Operation:
    """A command's operation. Raises UnknownCommand, without importing any operation."""
    near = _nearest(name)
    if near == ALIASES.get(name, name):
        return TABLE[near].load(near)
    raise errors.UnknownCommand(name=name, guess=f"; did you mean '{near}'?" if near else "")


def _nearest(name: str) -> str:
    """The command of this name, else the one that was probably meant, else nothing."""
    name = ALIASES.get(name, name)
    row = TABLE.get(name)
    if row is not None and row.cli:
        return name
    from difflib import get_close_matches

    return MEANT.get(name) or "".join(get_close_matches(name, [*commands(), "help"], 1, cutoff=0.7))


def _context(given: parser.Given, console: Console) -> Context:
    return Context(
        db=given.db, config=given.config, stdin=console.stdin, say=console.say,
        progress=console.progress if "stderr" in console.tty else None, emit=console.piece,
        quiet=given.quiet, verbose=given.verbose, json=given.json, tty=console.tty, actor="person",
    )  # fmt: skip


def _keep_input(op: Operation, ctx: Context, argv: list[str], problem: BaseException) -> None:
    from signal import SIG_IGN, SIGINT, signal

    from memctl.cli import kept_input

    if isinstance(problem, KeyboardInterrupt):  # whoever presses Ctrl-C twice does not want to lose it either
        before = signal(SIGINT, SIG_IGN)
        try:
            kept_input.keep(ctx, op.name, argv, problem)
        finally:
            signal(SIGINT, before)
        return
    kept_input.keep(ctx, op.name, argv, problem)


def _call(op: Operation, values: dict[str, Any], given: parser.Given, console: Console, argv: list[str]) -> int:
    ctx = _context(given, console)
    restore = _unwind_on_sigterm() if op.access in ("write", "create") else None
    result: Result | None = None
    try:
        # What the environment or the config says of parameters nobody gave; the rest is left to its own default.
        params = [param for param in op.params() if param.name not in values and (param.arg.env or param.arg.config)]
        values |= {param.name: ctx.setting(param) for param in params}
        result = op(ctx, **values)
        if ctx.json:
            console.json(result.as_json())
        else:
            show = console.page if result.paged else console.text
            show(op.text(result), verbatim=result.verbatim, color=ctx.color)
        console.finish()
        result.settle()
    except BaseException as exc:
        if op.takes_input and op.takes_input(values):
            _keep_input(op, ctx, argv, exc)
        if op.silent and isinstance(exc, Exception) and not isinstance(exc, errors.UsageError):
            console.abandon()
            return 0
        raise
    else:
        return result.exit_code
    finally:
        result = None  # one that is still reading must let go before the store is closed
        if restore is not None:
            restore()
        ctx.close()


def _unwind_on_sigterm() -> Callable[[], object] | None:
    """Let SIGTERM raise Terminated; what undoes that, or None when it is not ours to decide."""
    import signal

    def stop(_number: int, _frame: object) -> None:
        raise Terminated

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return None
    try:
        signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread of the process: whoever started it deals with signals
        return None
    return lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL)


# --- what a failed run says ----------------------------------------------------------------------------------------


def _report(exc: Exception, argv: list[str], console: Console) -> int:
    """Say what went wrong on stderr; the exit code. The details of an unexpected failure go to a report file."""
    from memctl import faults

    try:
        console.finish()
    except (PipeClosed, errors.MemctlError):
        console.abandon()
    if isinstance(exc, errors.MemctlError):
        error, code = exc.as_dict(), exc.exit_code
    else:
        command = " ".join(["memctl", *(_shape_of_word(word, place) for place, word in enumerate(argv))])
        error, code = faults.answer(exc, command, console.say), 2
    error |= {key: _without_secrets(error[key], argv) for key in ("message", "hint") if key in error}
    # The command line may be what is wrong, so its options are looked for without parsing.
    if "--json" in argv:
        import json

        console.say(json.dumps(error, ensure_ascii=False))
    else:
        console.say(f"memctl: {error['message']}" + (f"\nhint: {error['hint']}" if "hint" in error else ""))
    if "-v" in argv or "--verbose" in argv:
        console.say(_without_secrets(faults.traceback_of(exc), argv))
    return code


def _without_secrets(text: str, argv: list[str]) -> str:
    """What is said of a failure, without what policy would refuse: messages repeat what was typed, and logs keep them.

    Only the built-in rules judge it, because the config file may be what is wrong.
    """
    from memctl.policy import MemoryPolicy

    policy = MemoryPolicy()
    for word in argv:  # as it was typed: what stands around it in the message can make another thing of it
        if len(word) > 7 and word in text:
            text = text.replace(word, policy.redact(word))
    return policy.redact(text)


def _shape_of_word(word: str, place: int) -> str:
    """A word of the command line without what it says: flags and the command stay, values become their length."""
    from memctl import faults

    if word in TABLE and place < 8:
        return word
    flag, equals, value = word.partition("=")
    if flag.startswith("-") and " " not in flag and len(flag) < 24:
        return f"{flag}={faults.shape(value)}" if equals else flag
    return faults.shape(word)
