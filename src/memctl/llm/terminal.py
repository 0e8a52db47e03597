"""The terminal of a chat: questions as they come, and the commands to the chat itself between them.

Questions are typed on a terminal, or come one a line from a pipe. On a terminal Enter sends what was typed, and a line
that ends with a backslash goes on; Ctrl-C drops what was typed, Ctrl-D sends it too, or ends the chat when nothing is
typed. Lines are edited with readline where Python has it; what was typed is remembered in a file of the user's own.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from memctl.annotations import TYPE_CHECKING
from memctl.text.clean import clean

if TYPE_CHECKING:
    from typing import BinaryIO

PROMPT, MORE = "> ", ". "

#: Each command's words after its name, and what it does.
COMMANDS = {
    "help": ("", "this list"),
    "sources": ("", "where the passages of the last context come from"),
    "why": ("", "why these passages: the search, the scores, the calls of the model"),
    "save": ("[TITLE]", "store the last answer, governed as everything that is stored"),
    "forget": (
        "[MEM-… …]",
        "take the last turn back: out of the session, and what it stored into the archive; or these items",
    ),
    "scope": ("[NAME|all|folder]", "show or change what is recalled"),
    "clear": ("", "forget the turns of the session so far; what is stored stays"),
    "quit": ("", "end the chat (quit, exit and Ctrl-D do too)"),
}
#: Words that end the chat without a slash.
QUIT = ("quit", "exit")


class ChatCommand(NamedTuple):
    """A command to the chat: its name without the slash, and the rest of the line."""

    name: str
    rest: str = ""


def parse_line(line: str) -> "ChatCommand | str":
    """A line as a command or, without the slash that `//` escapes one with, as a question."""
    if line.strip().lower() in QUIT:
        return ChatCommand("quit")
    if line.startswith("//"):
        return line[1:]
    if not line.startswith("/") or "\n" in line:
        return line
    name, _, rest = line[1:].partition(" ")
    return ChatCommand(name.lower(), rest.strip())


def help_lines() -> list[str]:
    """The list that /help prints."""
    names = {f"/{name} {words}".rstrip(): about for name, (words, about) in COMMANDS.items()}
    width = max(map(len, names))
    rows = [f"{name:<{width}}  {about}" for name, about in names.items()]
    return [*rows, "Anything else is a question; // at its beginning stands for a / of its own."]


# --- questions ----------------------------------------------------------------------------------------------------


def piped_questions(stream: "BinaryIO | None") -> Iterator[str]:
    """One question a line; blank lines are none."""
    for number, line in enumerate(stream or ()):
        text = clean(line.decode("utf-8-sig" if number == 0 else "utf-8", "replace")).strip()
        if text:
            yield text


def typed_questions(read: Callable[[str], str], cancelled: Callable[[], None] = lambda: None) -> Iterator[str]:
    """A question a line; a line that ends with a backslash goes on with the next, and what is pasted comes as a whole.

    read       takes a prompt and gives one line without its end; raises EOFError and KeyboardInterrupt
    cancelled  is called after Ctrl-C
    """
    while True:
        lines: list[str] = []
        ended = False
        while True:
            try:
                typed = read(MORE if lines else PROMPT)
            except EOFError:
                ended = True
                break
            except KeyboardInterrupt:
                cancelled()
                lines.clear()
                continue
            pasted = typed.splitlines() or [""]
            lines += pasted
            if not lines[-1].endswith("\\"):
                break
            lines[-1] = lines[-1][:-1]
        question = clean("\n".join(lines)).strip()
        if question:
            yield question
        elif ended:
            return


def unedited_line(stream: "BinaryIO", _prompt: str) -> str:
    """The next line as the stream gives it; the prompt is not shown. Raises EOFError."""
    line = stream.readline()
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace").rstrip("\r\n")


# --- a terminal ---------------------------------------------------------------------------------------------------


@contextmanager
def edited_lines(history: "ChatHistory") -> Iterator[Callable[[str], str]]:
    """A reader of lines from the process's own terminal, with line editing; prompts go to stderr.

    Nothing of it reaches stdout, even when that is a file: readline writes what it draws to descriptor 1, so this one
    leads to stderr while a line is typed.
    """
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    lines = history.lines()
    try:
        import readline
    except ImportError:
        readline = None  # type: ignore[assignment]
    else:
        readline.set_auto_history(False)
        readline.clear_history()
        for line in lines:
            readline.add_history(line)
    latest = ""

    def read(prompt: str) -> str:
        nonlocal latest
        if sys.stdout is not None:
            sys.stdout.flush()
        saved = os.dup(1)
        try:
            os.dup2(2, 1)
            line = input(prompt)
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        if line.strip() and line != latest:
            latest = line
            history.add(line)
            if readline is not None:
                readline.add_history(line)
        return line

    try:
        yield read
    finally:
        if readline is not None:
            readline.clear_history()


class ChatHistory:
    """What was typed before: a line each in a file that only its owner may read.

    path   the file, "" for none
    most   lines that are kept
    safe   whether a line may be remembered (a secret may not)
    older  where older memctl kept its lines: taken over when there is no file at `path`
    """

    def __init__(self, path: str, most: int, safe: Callable[[str], bool], older: str = "") -> None:
        self._path, self._most, self._safe, self._older = path, most, safe, older

    def lines(self) -> list[str]:
        """The lines remembered, oldest first. A file that grew to twice its limit is cut."""
        lines = _read_lines(self._path)
        before = [] if lines is not None else list(filter(self._safe, _read_lines(self._older) or ()))
        kept = (lines or before)[-self._most :]
        if before or len(lines or ()) > 2 * self._most:
            with suppress(OSError):
                part = f"{self._path}.{os.getpid()}.part"
                _write_private(part, os.O_TRUNC, "".join(line + "\n" for line in kept))
                os.replace(part, self._path)
        return kept

    def add(self, line: str) -> None:
        """Remember a line; a file that cannot be written to is no error."""
        if self._path and self._safe(line):
            with suppress(OSError):
                _write_private(self._path, os.O_APPEND, " ".join(line.split()) + "\n")


def _write_private(path: str, flag: int, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    number = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    with open(number, "w", encoding="utf-8", errors="replace") as file:
        os.fchmod(number, 0o600)
        file.write(text)


def _read_lines(path: str) -> list[str] | None:
    """The lines of a file; None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in file]
    except (OSError, ValueError):
        return None
