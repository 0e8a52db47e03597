"""Questions as they come: typed on a terminal, several lines long, or one a line from a pipe.

On a terminal a blank line sends what was typed, Ctrl-C drops it, Ctrl-D sends it too, or ends the talk when nothing is
typed. Lines are edited with readline where Python has it; what was typed is remembered in a file of the user's own.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from memctl.annotations import TYPE_CHECKING, Any
from memctl.text.clean import clean

if TYPE_CHECKING:
    from typing import BinaryIO

PROMPT, MORE = "> ", ". "


class Piped:
    """One question a line; blank lines are none."""

    def __init__(self, stream: "BinaryIO | None") -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._stream or ()):
            text = clean(line.decode("utf-8-sig" if number == 0 else "utf-8", "replace")).strip()
            if text:
                yield text


class Typed:
    """Questions of several lines, each ended by a blank one; a line that begins with `/` stands for itself.

    read       takes a prompt and gives one line without its end; raises EOFError and KeyboardInterrupt
    cancelled  is called after Ctrl-C
    """

    def __init__(self, read: Callable[[str], str], cancelled: Callable[[], None] = lambda: None) -> None:
        self._read, self._cancelled = read, cancelled

    def __iter__(self) -> Iterator[str]:
        while True:
            lines: list[str] = []
            ended = self._fill(lines)
            question = clean("\n".join(lines)).strip()
            if question:
                yield question
            elif ended:
                return

    def _fill(self, lines: list[str]) -> bool:
        """Read one question into `lines`; whether the input ended."""
        while True:
            try:
                typed = self._read(MORE if lines else PROMPT)
            except EOFError:
                return True
            except KeyboardInterrupt:
                self._cancelled()
                lines.clear()
                return False
            pasted = typed.splitlines() or [""]
            lines += pasted
            if not pasted[-1].strip() or is_command(lines):
                return False


def is_command(lines: list[str]) -> bool:
    """Whether what was typed is one line for the chat itself, which needs no blank line after it."""
    return len(lines) == 1 and lines[0].startswith("/") and not lines[0].startswith("//")


def unedited(stream: "BinaryIO") -> Callable[[str], str]:
    """A reader of lines as the stream gives them; prompts are not shown."""

    def read(_prompt: str) -> str:
        line = stream.readline()
        if not line:
            raise EOFError
        return line.decode("utf-8", "replace").rstrip("\r\n")

    return read


# --- a terminal ---------------------------------------------------------------------------------------------------


@contextmanager
def terminal(history: "History") -> Iterator[Callable[[str], str]]:
    """A reader of lines from the process's own terminal, with line editing; prompts go to stderr.

    Nothing of it reaches stdout, even when that is a file: readline writes what it draws to descriptor 1, so this one
    leads to stderr while a line is typed.
    """
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    readline = _readline(history.lines())
    latest = ""

    def read(prompt: str) -> str:
        nonlocal latest
        with _drawn_on_stderr():
            line = input(prompt)
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


def _readline(lines: Iterable[str]) -> Any:
    try:
        import readline
    except ImportError:
        return None
    readline.set_auto_history(False)
    readline.clear_history()
    for line in lines:
        readline.add_history(line)
    return readline


@contextmanager
def _drawn_on_stderr() -> Iterator[None]:
    if sys.stdout is not None:
        sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


class History:
    """What was typed before: a line each in a file that only its owner may read.

    path   the file, "" for none
    most   so many lines are kept
    safe   whether a line may be remembered (a secret may not)
    older  where older memctl kept its lines: taken over when there is no file at `path`
    """

    def __init__(self, path: str, most: int, safe: Callable[[str], bool], older: str = "") -> None:
        self._path, self._most, self._safe, self._older = path, most, safe, older

    def lines(self) -> list[str]:
        """The lines remembered, oldest first. A file that grew far beyond its limit is cut."""
        lines = _lines_of(self._path)
        before = [] if lines is not None else list(filter(self._safe, _lines_of(self._older) or ()))
        kept = (lines or before)[-self._most :]
        if before or len(lines or ()) > 2 * self._most:
            self._rewrite(kept)
        return kept

    def add(self, line: str) -> None:
        """Remember a line; a file that cannot be written to is no error."""
        if not self._path or not self._safe(line):
            return
        with suppress(OSError):
            self._write(self._path, os.O_APPEND, " ".join(line.split()) + "\n")

    def _rewrite(self, lines: list[str]) -> None:
        with suppress(OSError):
            part = f"{self._path}.{os.getpid()}.part"
            self._write(part, os.O_TRUNC, "".join(line + "\n" for line in lines))
            os.replace(part, self._path)

    @staticmethod
    def _write(path: str, how: int, text: str) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
        with open(number, "w", encoding="utf-8", errors="replace") as file:
            os.fchmod(number, 0o600)
            file.write(text)


def _lines_of(path: str) -> list[str] | None:
    """The lines of a file; None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in file]
    except (OSError, ValueError):
        return None
