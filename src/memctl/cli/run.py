"""One run of one command: find it, parse its words, call it, print what it returns."""

from memctl.cli.output import Console, PipeClosed

TYPE_CHECKING = False  # no `typing` here: `memctl --version` would pay 8 ms for it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from memctl.cli.parser import Given
    from memctl.context import Context
    from memctl.operation import Operation, Result


class Terminated(BaseException):
    """SIGTERM arrived: unwind, so that transactions roll back and temporary files go."""


def run(argv: list[str], console: Console) -> int:
    """Run a command line; the exit code. Every exception ends here."""
    try:
        code = _run(argv, console)
        console.settle()
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
        from memctl.cli.boundary import report

        return report(exc, argv, console)
    return code


def _run(argv: list[str], console: Console) -> int:
    if argv == ["--version"]:
        return _version(console)
    from memctl.cli import parser

    given = parser.leading(argv)
    name, rest = (given.words[0], given.words[1:]) if given.words else ("", [])
    if given.version or given.help:
        return _about(name, given, console)
    if name in ("", "help"):
        _help("".join(rest[:1]), console)
        return 0 if name else 1
    op = load(name)
    values = parser.parse(op, rest, given)
    if values is None:
        return _about(name, given, console)
    return _call(op, values, given, console)


def _about(name: str, given: "Given", console: Console) -> int:
    if given.version:
        return _version(console)
    _help(name, console)
    return 0


def _version(console: Console) -> int:
    from memctl import __version__

    console.text([f"memctl {__version__}"])
    return 0


def _help(topic: str, console: Console) -> None:
    from memctl.cli import help as pages

    no_command = topic in ("", "help") or topic.startswith("-")
    console.text(pages.overview() if no_command else pages.page(load(topic)))


def load(name: str) -> "Operation":
    """A command's operation. Raises UnknownCommand, without importing any operation."""
    from memctl.ops import TABLE, commands

    row = TABLE.get(name)
    if row is None or not row.cli:
        from memctl.cli.boundary import unknown_command

        raise unknown_command(name, [*commands(), "help"])
    return row.load(name)


def _call(op: "Operation", values: "dict[str, Any]", given: "Given", console: Console) -> int:
    from memctl.context import Context

    with Context(
        db=given.db, config=given.config, stdin=console.stdin, say=console.say,
        progress=console.progress if "stderr" in console.tty else None, emit=console.piece,
        quiet=given.quiet, verbose=given.verbose, json=given.json, tty=console.tty,
    ) as ctx:  # fmt: skip
        values |= _settings(op, values, ctx)
        restore = _unwind_on_sigterm() if op.access in ("write", "create") else None
        result: Result | None = None
        try:
            result = op(ctx, **values)
            console.settle()
            if ctx.json:
                console.json(result.as_json())
            else:
                console.text(op.text(result), verbatim=result.verbatim, color=ctx.color)
            console.finish()
            result.settle()
            return result.exit_code
        finally:
            result = None  # one that is still reading must let go before the store is closed
            if restore is not None:
                restore()


def _settings(op: "Operation", given: "dict[str, Any]", ctx: "Context") -> "dict[str, Any]":
    """What the environment or the config says of parameters nobody gave; the rest is left to its own default."""
    params = [p for p in op.params() if p.name not in given and (p.arg.env or p.arg.config)]
    return {param.name: ctx.setting(param) for param in params}


def _unwind_on_sigterm() -> "Callable[[], object] | None":
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
