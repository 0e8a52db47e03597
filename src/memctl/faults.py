"""What a fault in memctl itself leaves behind: two lines for whoever called, and a report file with the details.

Both faces end in this: the command line on stderr, the MCP server in a tool's answer.
"""

import os
import sys

TYPE_CHECKING = False  # no `typing` here: whoever fails should not wait for it
if TYPE_CHECKING:
    from collections.abc import Callable

KEEP_REPORTS = 20


def answer(exc: Exception, command: str, say: "Callable[[str], None]") -> dict[str, str]:
    """What to tell whoever called: the keys of `MemctlError.as_dict`, with the report's path in the hint.

    `command` is what was run, without what its values say (`shape` helps). Where no report can be written, `say` gets
    the traceback.
    """
    message = f"internal error: {type(exc).__name__}: {exc}".split("\n", 1)[0]
    try:
        hint = f"this is a fault in memctl; the details are in {_write_report(exc, command)}"
    except OSError as problem:
        say(traceback_of(exc))
        hint = f"this is a fault in memctl; the details are above ({problem.strerror}: no report file)"
    return {"error": "internal-error", "message": message, "hint": hint}


def shape(value: object) -> str:
    """A value without what it says: `<12 characters>`."""
    return f"<{len(value)} characters>" if isinstance(value, str) else f"<{type(value).__name__}>"


def traceback_of(exc: Exception) -> str:
    """The traceback as Python prints it."""
    from traceback import format_exception

    return "".join(format_exception(type(exc), exc, exc.__traceback__)).rstrip()


def _write_report(exc: Exception, command: str) -> str:
    from contextlib import suppress
    from time import gmtime, strftime

    from memctl import ids, state

    folder = state.folder()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    stamp = strftime("%Y%m%dT%H%M%SZ", gmtime(ids.now_seconds()))
    path = os.path.join(folder, f"report-{stamp}-{os.getpid()}.txt")
    if os.path.exists(path):  # a server may fail twice in a second
        path = f"{path[:-4]}-{os.urandom(3).hex()}.txt"
    part = f"{path}.{os.urandom(3).hex()}.part"
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(number, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(_report_text(exc, command))
    os.replace(part, path)
    reports = sorted(name for name in os.listdir(folder) if name.startswith("report-") and name.endswith(".txt"))
    for name in reports[:-KEEP_REPORTS]:
        with suppress(FileNotFoundError):  # another process tidies up, too
            os.unlink(os.path.join(folder, name))
    return path


def _report_text(exc: Exception, command: str) -> str:
    from memctl import __version__

    sqlite = sys.modules.get("_sqlite3") or sys.modules.get("sqlite3")
    lines = [
        f"memctl   {__version__}",
        f"Python   {sys.version.split()[0]} ({sys.implementation.name}, {sys.platform})",
        f"SQLite   {getattr(sqlite, 'sqlite_version', 'not loaded')}",
        f"command  {command}",
        "",
        traceback_of(exc),
        "",
    ]
    return "\n".join(lines)
