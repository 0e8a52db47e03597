"""Running a model command: the prompt goes in, the answer comes out, and nothing is left behind.

A command is a line of shell words, run without a shell, in a session of its own. However the call ends (an answer,
the time limit, Ctrl-C, SIGTERM), the prompt's file is removed, and a command that runs too long is stopped with all it
started.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from memctl import errors, ids
from memctl.process import running
from memctl.text.tokens import estimate_tokens

#: Bytes of an answer; a longer one is cut, and the command is stopped.
LIMIT = 16 << 20


class ModelAnswer(NamedTuple):
    """What a model said.

    text       its standard output; bytes that are not UTF-8 became U+FFFD
    truncated  it was longer than the limit, and cut
    seconds    how long it took
    """

    text: str
    truncated: bool
    seconds: float


#: The documented name.
Answer = ModelAnswer


class ModelCommand(NamedTuple):
    """A model command.

    argv     its words; a prompt's file is added as the last one in mode `file`
    mode     how it gets the prompt: `stdin` or `file`
    timeout  seconds it may take for one answer
    """

    argv: tuple[str, ...]
    mode: str = "stdin"
    timeout: float = 300.0

    @classmethod
    def parse(cls, text: str, mode: str = "stdin", timeout: float = 300.0) -> ModelCommand:
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
        error = _program_error(words[0])
        if error is not None:
            raise error
        return cls(words, mode, timeout)

    def __str__(self) -> str:
        import shlex

        return shlex.join(self.argv)


def _program_error(program: str) -> errors.MemctlError | None:
    """Why a program cannot be run, given by its path or by a name on PATH; None when it can.

    shutil.which would import all archive formats.
    """
    folders = [""] if os.sep in program else os.get_exec_path()
    paths = [os.path.join(folder, program) for folder in folders]
    if any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths):
        return None
    if os.path.isfile(program):
        return errors.ModelUnusable(command=program, reason="it may not be executed")
    return errors.ModelMissing(program=program)


class Spend:
    """What a run has spent on models: calls, tokens (four characters each) in and out, seconds."""

    calls = tokens_in = tokens_out = 0
    seconds = 0.0

    def add(self, other: Spend) -> None:
        """Count the calls of another run."""
        self.calls += other.calls
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.seconds += other.seconds

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
    command: ModelCommand,
    prompt: str,
    *,
    on_text: Callable[[str], None] | None = None,
    stderr: Callable[[str], None] | None = None,
    waiting: Callable[[int], None] | None = None,
    limit: int = LIMIT,
    spend: Spend | None = None,
) -> ModelAnswer:
    """Ask a model, and wait for the answer.

    on_text  gets the pieces of the answer while they come
    stderr   gets each line of its stderr; an error repeats the last of them in any case
    waiting  is told each second how long it takes; with on_text, until the first piece comes
    limit    bytes of the answer; a longer one is cut and the command stopped
    spend    where the call is counted, even if it fails
    Raises ModelMissing, ModelUnusable, ModelTimeout and ModelFailed.
    """
    from signal import SIGTERM, Signals

    start = ids.monotonic()
    data = prompt.encode("utf-8", "replace")
    with running(limit, on_text, stderr, waiting) as program, _prompt_file(command, data) as path:
        argv = [*command.argv, path] if path else list(command.argv)
        try:
            program.start(argv, None if path else data)
        except FileNotFoundError as exc:
            unusable = errors.ModelUnusable(command=argv[0], reason="its interpreter is missing")
            raise _program_error(argv[0]) or unusable from exc
        except OSError as exc:
            raise errors.ModelUnusable(command=argv[0], reason=(exc.strerror or str(exc)).lower()) from exc
        try:
            finished = program.exchange(start + command.timeout)
        finally:
            seconds = ids.monotonic() - start
            if spend is not None:  # a call that failed costs as much
                spend.calls += 1
                spend.tokens_in += estimate_tokens(prompt)
                spend.tokens_out += estimate_tokens("".join(program.pieces))
                spend.seconds += seconds
        if not finished:
            program.end(SIGTERM)
    if not (finished or program.truncated):
        raise errors.ModelTimeout(seconds=f"{command.timeout:g}", command=str(command))
    if finished and program.status:
        names = {int(one): one.name for one in Signals}
        killed_by = names.get(-program.status, f"signal {-program.status}")
        how = f"exit {program.status}" if program.status > 0 else f"killed by {killed_by}"
        raise errors.ModelFailed(how=how, said=program.stderr_tail())
    return ModelAnswer("".join(program.pieces), program.truncated, seconds)


@contextmanager
def _prompt_file(command: ModelCommand, data: bytes) -> Iterator[str]:
    """The path of a private file that holds the prompt while the command runs; "" in mode `stdin`."""
    if command.mode != "file":
        yield ""
        return
    import tempfile

    path = ""
    try:
        try:
            number, path = tempfile.mkstemp(prefix="memctl_prompt_", suffix=".txt")  # only the owner may read it
            with open(number, "wb") as file:
                file.write(data)
        except OSError as exc:
            reason = f"its prompt cannot be written to a file: {exc.strerror or exc}"
            raise errors.ModelUnusable(command=str(command), reason=reason) from exc
        yield path
    finally:
        with suppress(OSError):
            os.unlink(path)
