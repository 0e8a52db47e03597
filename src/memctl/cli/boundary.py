"""What a failed run says, and where the details of an unexpected one go."""

import os
import sys

from memctl.cli.output import Console, PipeClosed
from memctl.errors import MemctlError, UnknownCommand

KEEP_REPORTS = 20


def report(exc: Exception, argv: list[str], console: Console) -> int:
    """Say what went wrong on stderr; the exit code."""
    console.settle()
    _flush(console)
    if isinstance(exc, MemctlError):
        _say(exc.as_dict(), argv, console)
        if _is_on(argv, "verbose"):
            console.say(_traceback(exc))
        return exc.exit_code
    _say(_internal(exc, argv, console), argv, console)
    if _is_on(argv, "verbose"):
        console.say(_traceback(exc))
    return 2


def unknown_command(name: str, known: list[str]) -> UnknownCommand:
    """The error for a mistyped command, with the nearest one there is."""
    from difflib import get_close_matches

    guess = get_close_matches(name, known, 1)
    return UnknownCommand(name=name, guess=f"; did you mean '{guess[0]}'?" if guess else "")


def _flush(console: Console) -> None:
    try:
        console.finish()
    except (PipeClosed, MemctlError):
        console.abandon()


def _is_on(argv: list[str], name: str) -> bool:
    # The command line may be what is wrong, so this looks at it without parsing.
    if name == "json":
        return "--json" in argv
    return any(word in ("-v", "--verbose") for word in argv)


def _say(error: dict[str, str], argv: list[str], console: Console) -> None:
    if _is_on(argv, "json"):
        import json

        console.say(json.dumps(error, ensure_ascii=False))
        return
    console.say(f"memctl: {error['message']}")
    if "hint" in error:
        console.say(f"hint: {error['hint']}")


# --- the unexpected ----------------------------------------------------------------------------------------------


def _internal(exc: Exception, argv: list[str], console: Console) -> dict[str, str]:
    message = f"internal error: {type(exc).__name__}: {exc}".split("\n", 1)[0]
    try:
        hint = f"this is a fault in memctl; the details are in {_write_report(exc, argv)}"
    except OSError as problem:
        console.say(_traceback(exc))
        hint = f"this is a fault in memctl; the details are above ({problem.strerror}: no report file)"
    return {"error": "internal-error", "message": message, "hint": hint}


def _traceback(exc: Exception) -> str:
    from traceback import format_exception

    return "".join(format_exception(type(exc), exc, exc.__traceback__)).rstrip()


def state_folder() -> str:
    """Where reports go: `$XDG_STATE_HOME/memctl`, by default `~/.local/state/memctl`."""
    base = os.environ.get("XDG_STATE_HOME") or ""
    return os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.local/state"), "memctl")


def _write_report(exc: Exception, argv: list[str]) -> str:
    from time import gmtime, strftime

    from memctl import ids

    folder = state_folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    stamp = strftime("%Y%m%dT%H%M%SZ", gmtime(ids.now_seconds()))
    path = os.path.join(folder, f"report-{stamp}-{os.getpid()}.txt")
    part = path + ".part"
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(number, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(_report_text(exc, argv))
    os.replace(part, path)
    _forget_old(folder)
    return path


def _forget_old(folder: str) -> None:
    reports = sorted(name for name in os.listdir(folder) if name.startswith("report-") and name.endswith(".txt"))
    for name in reports[:-KEEP_REPORTS]:
        os.unlink(os.path.join(folder, name))


def _report_text(exc: Exception, argv: list[str]) -> str:
    from memctl import __version__

    sqlite = sys.modules.get("sqlite3")
    lines = [
        f"memctl   {__version__}",
        f"Python   {sys.version.split()[0]} ({sys.implementation.name}, {sys.platform})",
        f"SQLite   {getattr(sqlite, 'sqlite_version', 'not loaded')}",
        f"command  memctl {' '.join(_shape(word, i) for i, word in enumerate(argv))}",
        "",
        _traceback(exc),
        "",
    ]
    return "\n".join(lines)


def _shape(word: str, place: int) -> str:
    """A word of the command line without what it says: flags and the command stay, values become their length."""
    from memctl.ops import TABLE

    if word in TABLE and place < 8:
        return word
    flag, equals, value = word.partition("=")
    if flag.startswith("-") and " " not in flag and len(flag) < 24:
        return f"{flag}=<{len(value)} characters>" if equals else flag
    return f"<{len(word)} characters>"
