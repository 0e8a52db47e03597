"""What tests share: running memctl in-process and as a process, and golden files."""

import io
import json as json_module
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from memctl.cli import run as run_cli
from memctl.cli.output import Console
from memctl.operation import Operation
from memctl.operation import Result as Answer
from memctl.ops import TABLE

GOLDEN = Path(__file__).parent / "golden"
ACCEPT = False
#: Whether the slow sweeps are left out.
QUICK = False
#: Seconds that a test waits for another process. Only what hangs needs them, however busy the machine is.
PATIENCE = 900


def examples(count: int) -> settings:
    """Try so many examples of a property; a third of them in a run without the slow sweeps."""
    return settings(max_examples=max(1, count // 3) if QUICK else count)


class YouForgotToChooseAStore(AssertionError):
    """A test was about to use a store outside its scratch folder."""


class Made(Answer):
    """What a made-up command returns; its text is what it was given, a line each."""

    __slots__ = ("lines", "settled", "value")

    def __init__(self, *lines: str, value: Any = None) -> None:
        self.lines: Iterable[str] = lines
        self.value, self.settled = value, False

    def as_dict(self) -> dict[str, Any]:
        return {"lines": list(self.lines)}

    def as_json(self) -> Any:
        return self.as_dict() if self.value is None else self.value

    def settle(self) -> None:
        self.settled = True


class Data(Made):
    """The same, as data for a program."""

    __slots__ = ()
    verbatim = True


class Result(NamedTuple):
    """How a run ended, in bytes."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """stdout as text."""
        return self.out.decode("utf-8")

    @property
    def notes(self) -> str:
        """stderr as text."""
        return self.err.decode("utf-8", "backslashreplace")

    def json(self) -> Any:
        """stdout as JSON."""
        return json_module.loads(self.out)


def run(
    *argv: str | os.PathLike[str],
    stdin: bytes | str = b"",
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    tty: frozenset[str] = frozenset(),
) -> Result:
    """Run a command line in this process, with buffers for streams; `tty` names the streams that claim a terminal."""
    given = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = io.BytesIO(), io.BytesIO()
    with _surroundings(env or {}, cwd):
        code = run_cli([os.fspath(word) for word in argv], Console(io.BytesIO(given), out, err, tty))
    return Result(code, out.getvalue(), err.getvalue())


@contextmanager
def _surroundings(env: Mapping[str, str], cwd: str | os.PathLike[str] | None) -> Iterator[None]:
    before, folder = dict(os.environ), os.getcwd()
    os.environ.update(env)
    if cwd is not None:
        os.chdir(cwd)
    try:
        yield
    finally:
        if dict(os.environ) != before:  # to put all of them back takes longer than many a command
            os.environ.clear()
            os.environ.update(before)
        os.chdir(folder)


def ok(*argv: str | os.PathLike[str], **how: Any) -> Result:
    """`run`, which must succeed."""
    done = run(*argv, **how)
    assert done.code == 0, done.notes
    return done


def spawn(
    *argv: str | os.PathLike[str],
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run a command line as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "memctl", *argv],
        input=stdin, capture_output=True, env=os.environ | dict(env or {}), timeout=PATIENCE, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def operation(name: str) -> Operation:
    """An operation by its name, as the command line and the server find it."""
    return TABLE[name].load(name)


def other_rules(monkeypatch: pytest.MonkeyPatch, name: str = "99-tomorrow") -> None:
    """Let the rules of policy be of another version from now on."""
    monkeypatch.setattr("memctl.policy.version.RULES_VERSION", name)


# --- golden files ------------------------------------------------------------------------------------------------

#: What differs from run to run, and what stands for it.
SCRUBS = (
    (r"\b(MEM|EVT|REV|MNT|RUN|CON)-[0-9a-f]{12}\b", r"\1-<id>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?", "<time>"),
    (r"\b20\d\d-\d\d-\d\d\b", "<day>"),
    (r"/[\w./-]*/pytest-[\w./-]*?/t\d+/here", "<here>"),
)


def scrubbed(text: str) -> str:
    """Text without ids, times and scratch paths."""
    for pattern, replacement in SCRUBS:
        text = re.sub(pattern, replacement, text)
    return text


def golden(name: str, text: str) -> None:
    """Compare with tests/golden/<name>.txt; `pytest --accept` rewrites the file instead."""
    path = GOLDEN / f"{name}.txt"
    text = scrubbed(text)
    if ACCEPT:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no golden file {path.name}: pytest --accept makes it"
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs: pytest --accept if that is meant"
