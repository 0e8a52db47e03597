"""Running a model command: the prompt goes in, the answer comes out, and nothing is left behind.

A command is a line of shell words, run without a shell, in a session of its own. Whatever ends the talk (its answer,
the time limit, Ctrl-C, SIGTERM), the prompt's file is gone afterwards, and what runs too long is stopped with all it
started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors, ids
from memctl.process import Talk, end, unwinding, watched
from memctl.text.tokens import CHARS_PER_TOKEN, estimate

if TYPE_CHECKING:
    from subprocess import Popen

#: An answer is cut after so many bytes, and the command is stopped.
LIMIT = 16 << 20


class Answer(NamedTuple):
    """What a model said.

    text       its standard output; bytes that are not UTF-8 became U+FFFD
    truncated  it was longer than the limit, and cut
    seconds    how long it took
    """

    text: str
    truncated: bool
    seconds: float


class Command(NamedTuple):
    """A model command.

    argv     its words; a prompt's file is added as the last one in mode `file`
    mode     how it gets the prompt: `stdin` or `file`
    timeout  seconds it may take for one answer
    """

    argv: tuple[str, ...]
    mode: str = "stdin"
    timeout: float = 300.0

    @classmethod
    def parse(cls, text: str, mode: str = "stdin", timeout: float = 300.0) -> Command:
        """The command that a line of shell words names. Raises ModelUnusable and ModelMissing."""
        import shlex

        try:
            words = tuple(shlex.split(text))
        except ValueError as exc:
            raise errors.ModelUnusable(command=text, reason=str(exc).lower()) from exc
        if not words or not words[0]:
            raise errors.ModelUnusable(command=text, reason="it names no program")
        if any("\0" in word for word in words):
            raise errors.ModelUnusable(command=text.replace("\0", "\\0"), reason="a NUL is in it")
        if not _is_there(words[0]):
            raise _not_found(words[0])
        return cls(words, mode, timeout)

    def __str__(self) -> str:
        import shlex

        return shlex.join(self.argv)


def _is_there(program: str) -> bool:
    """Whether it can be run, as a path or by its name on PATH (shutil.which would import all archive formats)."""
    folders = [""] if os.sep in program else os.get_exec_path()
    paths = [os.path.join(folder, program) for folder in folders]
    return any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths)


def _not_found(program: str) -> errors.MemctlError:
    if os.path.isfile(program):
        return errors.ModelUnusable(command=program, reason="it may not be executed")
    return errors.ModelMissing(program=program)


class Spend:
    """What a run has spent on models: calls, tokens (four characters each) in and out, seconds."""

    __slots__ = ("calls", "seconds", "tokens_in", "tokens_out")

    def __init__(self) -> None:
        self.calls = self.tokens_in = self.tokens_out = 0
        self.seconds = 0.0

    def add(self, prompt: str, said: int, seconds: float) -> None:
        """Count one call, which brought so many characters; one that failed has cost as much."""
        self.calls += 1
        self.tokens_in += estimate(prompt)
        self.tokens_out += -(-said // CHARS_PER_TOKEN)
        self.seconds += seconds

    def line(self) -> str:
        """The sum in words, for stderr."""
        calls = f"{self.calls} call{'' if self.calls == 1 else 's'}"
        return f"{calls}, ~{self.tokens_in} tokens in, ~{self.tokens_out} tokens out, {self.seconds:.1f} s"

    def as_dict(self) -> dict[str, int | float]:
        """The sum for `--json`."""
        return {
            "calls": self.calls, "tokens_in": self.tokens_in, "tokens_out": self.tokens_out,
            "seconds": round(self.seconds, 3),
        }  # fmt: skip


def run(
    command: Command,
    prompt: str,
    *,
    on_text: Callable[[str], None] | None = None,
    stderr: Callable[[str], None] | None = None,
    limit: int = LIMIT,
    spend: Spend | None = None,
) -> Answer:
    """Ask a model, and wait for the answer.

    on_text  gets the pieces of the answer while they come
    stderr   gets each line of its stderr; without it, the last of them are kept for the error's sentence
    limit    bytes of the answer; a longer one is cut and the command stopped
    spend    where the call is counted, whatever becomes of it
    Raises ModelMissing, ModelUnusable, ModelTimeout and ModelFailed.
    """
    start = ids.monotonic()
    with unwinding(), watched() as here, _prompt_file(command, prompt) as path:
        process = here.process = _started([*command.argv, path] if path else list(command.argv), piped=not path)
        talk = Talk(process, b"" if path else _bytes(prompt), on_text, stderr, limit)
        try:
            finished = talk.until(start + command.timeout)
        except BaseException as exc:
            end(process, politely=2 if isinstance(exc, KeyboardInterrupt) else 15)
            raise
        finally:
            seconds = ids.monotonic() - start
            if spend is not None:
                spend.add(prompt, sum(map(len, talk.pieces)), seconds)
        if not finished:
            end(process, politely=15)
    if not (finished or talk.truncated):
        raise errors.ModelTimeout(seconds=f"{command.timeout:g}", command=str(command))
    if finished and process.returncode:
        raise errors.ModelFailed(how=_how(process.returncode), said=talk.said())
    return Answer("".join(talk.pieces), talk.truncated, seconds)


def _bytes(prompt: str) -> bytes:
    return prompt.encode("utf-8", "replace")


def _started(argv: list[str], *, piped: bool) -> Popen[bytes]:
    from subprocess import DEVNULL, PIPE, Popen

    try:
        return Popen(  # noqa: S603 - the user's own command, and no shell
            argv, stdin=PIPE if piped else DEVNULL, stdout=PIPE, stderr=PIPE, bufsize=0, start_new_session=True
        )
    except FileNotFoundError as exc:
        if _is_there(argv[0]):
            raise errors.ModelUnusable(command=argv[0], reason="its interpreter is missing") from exc
        raise _not_found(argv[0]) from exc
    except OSError as exc:
        raise errors.ModelUnusable(command=argv[0], reason=(exc.strerror or str(exc)).lower()) from exc


def _how(status: int) -> str:
    if status > 0:
        return f"exit {status}"
    import signal

    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


@contextmanager
def _prompt_file(command: Command, prompt: str) -> Iterator[str]:
    """The path of a private file that holds the prompt as long as the command runs; "" in mode `stdin`."""
    if command.mode != "file":
        yield ""
        return
    import tempfile

    path = ""
    try:
        try:
            number, path = tempfile.mkstemp(prefix="memctl_prompt_", suffix=".txt")  # only the owner may read it
            with open(number, "wb") as file:
                file.write(_bytes(prompt))
        except OSError as exc:
            reason = f"its prompt cannot be written to a file: {exc.strerror or exc}"
            raise errors.ModelUnusable(command=str(command), reason=reason) from exc
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)
