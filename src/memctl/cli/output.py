"""Where everything that is printed goes out, as bytes: answers on stdout, remarks on stderr.

Text for people is made harmless (a title may hold terminal commands); JSON and verbatim data are left as they are.
"""

import os
import sys

TYPE_CHECKING = False  # no `typing` here: `memctl --version` would pay 8 ms for it
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO

MARK_ON, MARK_OFF = "\x0e", "\x0f"  # the same as in operation.py; a test holds that
_COLOR_ON, _COLOR_OFF = "\x1b[1;31m", "\x1b[0m"
_CLEAR_LINE = b"\r\x1b[K"
#: Bytes of an answer that go out together, also when Python's own streams are unbuffered: a reader that stops at the
#: first match (`grep -q`) has then got the whole of a short answer, and the command ends with 0.
WRITE_SIZE = 1 << 16


class PipeClosed(Exception):
    """Whoever read our standard output has gone."""


class Console:
    """The three streams of one run, as bytes; a closed one is None. `tty` says which are terminals."""

    __slots__ = ("_pending", "_progress", "_written", "stderr", "stdin", "stdout", "tty")

    def __init__(
        self,
        stdin: "BinaryIO | None",
        stdout: "BinaryIO | None",
        stderr: "BinaryIO | None",
        tty: "frozenset[str]" = frozenset(),
    ) -> None:
        self.stdin, self.stdout, self.stderr, self.tty = stdin, stdout, stderr, tty
        self._progress = False
        self._written = False
        self._pending = bytearray()

    @classmethod
    def of_process(cls) -> "Console":
        """The process's own streams."""
        streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}
        if None in streams.values():
            # A file opened while descriptor 1 or 2 is free would get that number, and stray output would go into it.
            while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
                pass
            os.close(number)
        tty = frozenset(name for name, stream in streams.items() if stream is not None and stream.isatty())
        binary = {name: getattr(stream, "buffer", None) for name, stream in streams.items()}
        return cls(binary["stdin"], binary["stdout"], binary["stderr"], tty)

    # --- answers -------------------------------------------------------------------------------------------------

    def text(self, lines: "Iterable[str]", *, verbatim: bool = False, color: bool = False) -> None:
        """Print lines for people; `verbatim` ones pass a pipe unchanged."""
        raw = verbatim and "stdout" not in self.tty
        try:
            for line in lines:
                self._out((encoded(line) if raw else printable(line, color=color)) + b"\n")
        finally:
            _close(lines)

    def page(self, lines: "Iterable[str]", *, verbatim: bool = False, color: bool = False) -> None:
        """Print long text for people: on a terminal with $PAGER, which shows what fits a screen at once."""
        command = os.environ.get("PAGER") or "less -FRX"
        try:
            is_our_terminal = "stdout" in self.tty and self.stdout is not None and self.stdout.fileno() == 1
        except (OSError, ValueError):  # not a real file: a test's buffer
            is_our_terminal = False
        if not is_our_terminal or os.environ.get("TERM") == "dumb":
            self.text(lines, verbatim=verbatim, color=color)
            return
        from shlex import split
        from signal import SIG_IGN, SIGINT, signal
        from subprocess import PIPE, Popen

        data = b"".join(printable(line, color=color) + b"\n" for line in lines)
        try:
            pager = Popen(split(command), stdin=PIPE)  # noqa: S603 - the user's own pager
        except (OSError, ValueError):
            self._out(data)
            return
        before = signal(SIGINT, SIG_IGN)  # Ctrl-C is the pager's
        try:
            pager.communicate(data)  # says nothing when the pager is left early
        finally:
            signal(SIGINT, before)

    def json(self, value: "Any") -> None:
        """Print JSON, 2 blanks of indent, non-ASCII kept; an iterator becomes an array while it runs."""
        if not hasattr(value, "__next__"):
            for piece in _json(value):
                self._out(piece)
            self._out(b"\n")
            return
        try:
            before = b"[\n  "
            for part in value:
                self._out(before + b"".join(_json(part)).replace(b"\n", b"\n  "))
                before = b",\n  "
            self._out(b"[]\n" if before.startswith(b"[") else b"\n]\n")
        finally:
            _close(value)

    def piece(self, text: str) -> None:
        """Print a piece of an answer at once; the line goes on."""
        self._out(printable(text) if "stdout" in self.tty else encoded(text))
        self._flush()

    def finish(self) -> None:
        """Hand everything over to the system, so that success means that it has arrived; the progress line goes."""
        self._err(b"")
        if self.stdout is None or not self._written:
            return
        self._flush()
        # Network file systems and quotas report a failed write only at close; descriptor 1 itself must stay open.
        try:
            number = self.stdout.fileno()
        except (OSError, ValueError):  # io.UnsupportedOperation is both: a test's buffer
            return
        try:
            os.close(os.dup(number))
        except OSError as exc:
            raise _output_error(exc) from exc

    def _out(self, data: bytes) -> None:
        if self.stdout is None:
            raise _output_error(OSError("it is closed"))
        self._written = True
        if self._progress:
            self._err(b"")
        self._pending += data
        if len(self._pending) >= WRITE_SIZE:
            self._flush()

    def _flush(self) -> None:
        """Write what is gathered."""
        if self.stdout is None:
            return
        data, self._pending = self._pending, bytearray()
        try:
            while data:  # an unbuffered stream (PYTHONUNBUFFERED) takes what it can, and reports a full disk later
                data = data[self.stdout.write(data) :]
            self.stdout.flush()
        except OSError as exc:
            raise _output_error(exc) from exc

    def abandon(self) -> None:
        """Let nothing more reach stdout, not even what Python would flush at its end (which would print an error)."""
        self._pending.clear()
        try:
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, self.stdout.fileno() if self.stdout else 1)
            os.close(devnull)
        except (OSError, ValueError):
            pass  # not a real file: a test's buffer

    # --- remarks -------------------------------------------------------------------------------------------------

    def say(self, message: str) -> None:
        """One or more lines on stderr; nobody listening is no error."""
        self._err(printable(message) + b"\n")

    def progress(self, message: str) -> None:
        """A line on stderr that the next one replaces."""
        self._progress = True
        self._err(printable(message).replace(b"\n", b" "))
        self._progress = True

    def _err(self, data: bytes) -> None:
        """Write to stderr, in place of a progress line that is still there."""
        data = _CLEAR_LINE + data if self._progress else data
        self._progress = False
        if self.stderr is None or not data:
            return
        try:
            while data:
                data = data[self.stderr.write(data) :]
            self.stderr.flush()
        except OSError:
            self.stderr = None


def _close(lines: "Any") -> None:
    """End a generator that was not read to its end now, not when somebody happens to forget it."""
    close = getattr(lines, "close", None)
    if close is not None:
        close()


def _output_error(exc: OSError) -> Exception:
    if isinstance(exc, BrokenPipeError):
        return PipeClosed()
    from memctl.errors import OutputFailed

    return OutputFailed(reason=exc.strerror or str(exc))


# --- making text harmless ----------------------------------------------------------------------------------------


def printable(text: str, *, color: bool = False) -> bytes:
    """Text whose control characters are visible instead of effective; marks become colour, or vanish."""
    if text.isprintable():
        return encoded(text)
    if not _VISIBLE:
        controls = [*range(0x20), *range(0x7F, 0xA0)]  # C0, DEL and C1: the terminal's commands
        directions = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # bidi overrides: text that reads otherwise
        _VISIBLE.update({n: f"\\x{n:02x}" for n in controls if chr(n) not in "\t\n" + MARK_ON + MARK_OFF})
        _VISIBLE.update({n: f"\\u{n:04x}" for n in directions})
    text = text.replace("\r\n", "\n").translate(_VISIBLE)
    if color and (MARK_ON in text or MARK_OFF in text):
        text = text.replace(MARK_ON, _COLOR_ON).replace(MARK_OFF, _COLOR_OFF) + _COLOR_OFF
    return encoded(text.replace(MARK_ON, "").replace(MARK_OFF, ""))


#: What is printed for each character that does something on a terminal.
_VISIBLE: "dict[int, str]" = {}


def encoded(text: str) -> bytes:
    """UTF-8; bytes of file names that are not UTF-8 come out as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


# --- JSON --------------------------------------------------------------------------------------------------------


#: Signs and values of JSON that are written at a time.
_MARKS = 10_000


def _json(value: "Any") -> "Iterator[bytes]":
    """In pieces, because an answer may be larger than what it is made of."""
    import json
    from itertools import islice

    # A lone surrogate (half of a broken file name) becomes its JSON escape: valid JSON, and nothing is lost.
    from memctl.text.clean import escaped

    marks = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value)
    while some := "".join(islice(marks, _MARKS)):
        yield escaped(some).encode("utf-8", "backslashreplace")
