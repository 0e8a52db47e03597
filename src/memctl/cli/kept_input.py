"""What was piped in and could not be stored: a model's answer is gone once its pipe has ended, so it is kept in a file.

The file stands in the user's state folder, for nobody else to read, with secrets redacted by the built-in rules: the
config file may be what is wrong.
"""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress

from memctl import errors, ids, state
from memctl.annotations import TYPE_CHECKING
from memctl.cli.output import PipeClosed
from memctl.text.decoding import decode

if TYPE_CHECKING:
    from memctl.context import Context

#: The newest files that stay.
KEPT = 50
#: What policy refuses is not kept, nor what is no text or nothing; when only the answer has no reader, it was stored.
_NOT_KEPT = (errors.EmptyInput, errors.InputNotText, errors.NothingStored, errors.OutputFailed, PipeClosed)


def keep(ctx: "Context", name: str, words: Sequence[str], problem: BaseException) -> None:
    """Keep what a command was given on standard input, and say where; what has not been read yet is read now.

    name   of the command
    words  those of its command line, for trying again
    """
    if isinstance(problem, _NOT_KEPT):
        return
    with suppress(errors.MemctlError, OSError):
        if ctx.input is None and isinstance(problem, Exception) and "stdin" not in ctx.tty:
            ctx.stdin_bytes()
    if not ctx.input or not ctx.input.strip():
        return
    from memctl.policy import MemoryPolicy

    policy = MemoryPolicy()
    try:
        text = decode(ctx.input, "standard input")[0]
    except errors.DocumentUnreadable:
        return
    text = policy.redact(text)
    try:
        path = _write(name, text)
    except OSError as exc:
        ctx.warn(f"[{name}] the input cannot be kept in {state.folder()} ({exc.strerror}); here it is:\n{text}")
        return
    wrong = isinstance(problem, errors.UsageError)
    command = "" if wrong else policy.redact(shlex.join(words))
    again = f"memctl {command or name} < {shlex.quote(path)}"
    ctx.warn(f"[{name}] the input is kept in {path}\n[{name}] when that is put right: {again}")


def _write(name: str, text: str) -> str:
    """The path of a new file with the text; the oldest of more than KEPT go. Raises OSError."""
    folder = os.path.join(state.folder(), "input")
    stamp = "".join(char for char in ids.timestamp()[:19] if char.isdigit())
    path = os.path.join(folder, f"{stamp}-{name}-{os.urandom(3).hex()}.txt")
    state.write(path, text.encode("utf-8", "replace"))
    with suppress(OSError):  # another process tidies up, too
        for old in sorted(one for one in os.listdir(folder) if one.endswith(".txt"))[:-KEPT]:
            os.unlink(os.path.join(folder, old))
    return path
