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
    try:
        given = parser.leading(argv)
    except errors.MemctlError as exc:
        if argv[-2:] == ["hooks", "safety-guard"]:  # the guard stops the call where a global option is wrong, too
            raise errors.GuardFailed(reason=exc.message) from exc
        raise
    name, rest = (given.words[0], given.words[1:]) if given.words else ("", [])
    if given.version or given.help:
        return _about([name], console, given)
    if name in ("", "help"):
        if rest[:1] == ["--man"]:
            from memctl.cli import help as pages

            if len(rest) > 2:
                raise errors.UsageError("help --man takes one command", command="help")
            console.text(pages.manual_page(load(rest[1])) if rest[1:] else pages.manual_overview(), verbatim=True)
            return 0
        words = [word for word in rest if word not in ("-v", "--verbose")]
        given.verbose = given.verbose or len(words) < len(rest)
        _about(words, console, given)
        return 0 if name else 1
    try:
        return _run(name, rest, given, console, argv)
    except errors.MemctlError as exc:
        # Whatever keeps the guard of a client's shell from judging a call stops the call.
        if name == "hooks" and "safety-guard" in rest and not isinstance(exc, errors.GuardFailed):
            raise errors.GuardFailed(reason=exc.message) from exc
        raise


def _run(name: str, rest: Sequence[str], given: parser.Given, console: Console, argv: list[str]) -> int:
    try:
        op = load(name)
        values = parser.parse(op, rest, given)
    except errors.UsageError as exc:
        known = ALIASES.get(name, name)
        near = known if known in commands() else _nearest(name)
        meant = load(near) if near in TABLE else None
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


def load(name: str) -> Operation:
    """A command's operation. Raises UnknownCommand, without importing any operation."""
    known = ALIASES.get(name, name)
    row = TABLE.get(known)
    if row is not None and row.cli:
        return row.load(known)
    near = _nearest(name)
    raise errors.UnknownCommand(name=name, guess=f"; did you mean '{near}'?" if near else "")


def _nearest(name: str) -> str:
    """The command that was probably meant by a name that none has, else nothing."""
    from difflib import get_close_matches

    return MEANT.get(name) or "".join(get_close_matches(name, [*commands(), "help"], 1, cutoff=0.7))


def _context(given: parser.Given, console: Console) -> Context:
    return Context(
        db=given.db, config=given.config, stdin=console.stdin, say=console.say,
        progress=console.progress if "stderr" in console.tty else None, emit=console.piece,
        quiet=given.quiet, verbose=given.verbose, json=given.json, tty=console.tty, actor="person",
    )  # fmt: skip


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


# --- what was piped in and could not be stored -----------------------------------------------------------------------

#: The newest files with input that stay.
_KEPT = 50


def _keep_input(op: Operation, ctx: Context, argv: list[str], problem: BaseException) -> None:
    """Keep in a file what a command was given on standard input: a model's answer is gone once its pipe has ended."""
    from signal import SIG_IGN, SIGINT, signal

    if not isinstance(problem, KeyboardInterrupt):
        _write_input(op.name, ctx, argv, problem)
        return
    before = signal(SIGINT, SIG_IGN)  # whoever presses Ctrl-C twice does not want to lose it either
    try:
        _write_input(op.name, ctx, argv, problem)
    finally:
        signal(SIGINT, before)


def _write_input(name: str, ctx: Context, argv: list[str], problem: BaseException) -> None:
    """Write it, and say where; what has not been read yet is read now.

    The file stands in the user's state folder, for nobody else to read, with secrets redacted by the built-in rules:
    the config file may be what is wrong. What policy refuses is not kept, nor what is no text or nothing; when only the
    answer has no reader, it was stored.
    """
    import os
    import shlex
    from contextlib import suppress

    if isinstance(
        problem,
        errors.EmptyInput | errors.InputNotText | errors.NothingStored | errors.OutputFailed | PipeClosed,
    ):
        return
    with suppress(errors.MemctlError, OSError):
        if ctx.input is None and isinstance(problem, Exception) and "stdin" not in ctx.tty:
            ctx.stdin_bytes()
    if not ctx.input or not ctx.input.strip():
        return
    from memctl import ids, state
    from memctl.policy import MemoryPolicy
    from memctl.text.decoding import decode

    policy = MemoryPolicy()
    try:
        text = policy.redact(decode(ctx.input, "standard input")[0])
    except errors.DocumentUnreadable:
        return
    folder = os.path.join(state.folder(), "input")
    stamp = "".join(char for char in ids.timestamp()[:19] if char.isdigit())
    path = os.path.join(folder, f"{stamp}-{name}-{os.urandom(3).hex()}.txt")
    try:
        state.write(path, text.encode("utf-8", "replace"))
    except OSError as exc:
        ctx.warn(f"[{name}] the input cannot be kept in {state.folder()} ({exc.strerror}); here it is:\n{text}")
        return
    with suppress(OSError):  # another process tidies up, too
        for old in sorted(one for one in os.listdir(folder) if one.endswith(".txt"))[:-_KEPT]:
            os.unlink(os.path.join(folder, old))
    command = "" if isinstance(problem, errors.UsageError) else policy.redact(shlex.join(argv))
    again = f"memctl {command or name} < {shlex.quote(path)}"
    ctx.warn(f"[{name}] the input is kept in {path}\n[{name}] when that is put right: {again}")
