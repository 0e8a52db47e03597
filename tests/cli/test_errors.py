"""What a failed run says, what it exits with, and what it leaves behind."""

import errno
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memctl import errors
from memctl.annotations import Annotated, Any
from memctl.cli import run as run_cli
from memctl.cli.output import Console
from memctl.context import Context
from memctl.errors import kinds
from memctl.operation import READ, Arg
from support import Made, ok, run, spawn

Command = Callable[..., None]


def test_an_expected_error_is_two_lines() -> None:
    done = run("stats")
    assert (done.code, done.out) == (1, b"")
    assert re.fullmatch(r"memctl: no store at /\S+/here/\.memory/memory\.db\nhint: memctl init makes .*\n", done.notes)
    assert not os.path.exists(".memory")


def test_with_json_an_error_is_one_object_on_stderr() -> None:
    done = run("stats", "--json")
    assert (done.code, done.out) == (1, b"")
    assert json.loads(done.err).keys() == {"error", "message", "hint"}
    assert json.loads(done.err)["error"] == "store-missing"
    assert json.loads(run("--json", "lst").err)["error"] == "unknown-command"
    assert json.loads(run("list", "--json", "--tier", "x").err)["error"] == "usage-error"


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["serch"], "memctl: unknown command 'serch'; did you mean 'search'?"),
        (["zzz"], "memctl: unknown command 'zzz'"),
        (["help", "pul"], "memctl: unknown command 'pul'; did you mean 'pull'?"),
        (["list", "--teir", "stm"], "memctl: unknown option '--teir'; did you mean '--tier'?"),
        (["list", "extra"], "memctl: unexpected argument 'extra'"),
        (["show"], "memctl: MEM-ID is missing"),
        (["--nope", "list"], "memctl: unknown option '--nope'"),
    ],
)
def test_a_mistyped_command_line_exits_1_and_guesses(argv: list[str], line: str) -> None:
    done = run(*argv)
    assert (done.code, done.out) == (1, b"")
    assert done.notes.splitlines()[0] == line
    assert done.notes.splitlines()[1].startswith("hint: memctl ")


def test_an_unknown_command_imports_no_operation() -> None:
    script = (
        "import sys; from memctl.cli import main; code = main(['xyzzy']); "
        "print(code, [m for m in sys.modules if m.startswith('memctl.ops.') or m == 'sqlite3'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"1 []\n"


def explode(ctx: Context, word: Annotated[str, Arg("word")] = "") -> Made:
    """Explode."""
    raise ValueError(f"boom\nsecond line {len(word)}")


def test_the_unexpected_is_two_lines_and_a_report(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command(explode)
    monkeypatch.setenv("XDG_STATE_HOME", os.path.abspath("state"))
    done = run("--db", "x.db", "made", "password=hunter2", "--config=c.json")
    assert (done.code, done.out) == (2, b"")
    first, second = done.notes.splitlines()
    assert first == "memctl: internal error: ValueError: boom"
    path = Path(second.rpartition(" in ")[2])
    assert path.parent == Path.cwd() / "state" / "memctl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    report = path.read_text()
    assert "command  memctl --db <4 characters> made <16 characters> --config=<6 characters>" in report
    assert "hunter2" not in report
    assert "ValueError: boom" in report
    assert "Python   3." in report
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_verbose_prints_the_traceback(command: Command) -> None:
    command(explode)
    assert "Traceback" not in run("made").notes
    assert "in explode" in run("made", "-v").notes
    assert "in explode" not in run("made", "-q").notes


def test_reports_do_not_pile_up(command: Command) -> None:
    command(explode)
    folder = Path(os.environ["HOME"]) / ".local/state/memctl"
    folder.mkdir(parents=True)
    for n in range(30):
        (folder / f"report-20260101T0000{n:02}Z-1.txt").touch()
    run("made")
    assert len(list(folder.iterdir())) == 20


def test_without_a_place_for_the_report_the_details_are_printed(command: Command) -> None:
    command(explode)
    Path("file").touch()
    done = run("made", env={"XDG_STATE_HOME": os.path.abspath("file")})
    assert done.code == 2
    assert "in explode" in done.notes
    assert done.notes.splitlines()[-1].endswith("no report file)")


@pytest.mark.parametrize(
    ("error", "code"), [(errors.StoreFull(path="x"), 2), (errors.StoreBusy(path="x", seconds=3), 1)]
)
def test_the_error_says_the_exit_code(command: Command, error: errors.MemctlError, code: int) -> None:
    def made(ctx: Context) -> Made:
        """Made up."""
        raise error

    command(made)
    assert run("made").code == code


def test_every_error_has_words_and_a_slug_of_its_own() -> None:
    classes = [c for c in vars(kinds).values() if isinstance(c, type) and issubclass(c, errors.MemctlError)]
    assert len({errors.slug_of(c) for c in classes}) == len(classes)
    assert {c.exit_code for c in classes} <= {1, 2}
    assert all(c.__doc__ for c in classes)


# --- streams that fail -------------------------------------------------------------------------------------------


class Failing(io.BytesIO):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def flush(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


def test_a_full_disk_behind_stdout_is_no_success(command: Command) -> None:
    result = Made("x")
    command(lambda _: result)
    err = io.BytesIO()
    assert run_cli(["made"], Console(None, Failing(errno.ENOSPC), err)) == 1
    assert err.getvalue().startswith(b"memctl: cannot write to standard output: No space left on device\n")
    assert not result.settled


def test_a_closed_pipe_is_141_in_silence(command: Command) -> None:
    result = Made("x")
    command(lambda _: result)
    err = io.BytesIO()
    assert run_cli(["made"], Console(None, Failing(errno.EPIPE), err)) == 141
    assert err.getvalue() == b""
    assert not result.settled


class Unbuffered(io.RawIOBase):
    """What standard output is under `python -u`: it takes what it can of a write, and says how much that was."""

    def __init__(self, disk: int) -> None:
        self.taken, self.disk = b"", disk

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        took = bytes(data)[: min(10, self.disk - len(self.taken))]
        if not took:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.taken += took
        return len(took)


def test_unbuffered_streams_get_every_byte(command: Command) -> None:
    def told(ctx: Context) -> Made:
        ctx.warn("a remark that is longer than ten bytes")
        return Made("an answer that is longer than ten bytes")

    command(told)
    out, err = Unbuffered(disk=1000), Unbuffered(disk=1000)
    assert run_cli(["made"], Console(None, out, err)) == 0  # type: ignore[arg-type]
    assert out.taken == b"an answer that is longer than ten bytes\n"
    assert err.taken == b"a remark that is longer than ten bytes\n"


class Counting(io.BytesIO):
    """Counts the writes that reach it, as a pipe's reader would see them."""

    writes = 0

    def write(self, data: Any) -> int:
        self.writes += 1
        return super().write(data)


@pytest.mark.parametrize("argv", [["stats"], ["list"], ["search", "gateway"], ["recall", "gateway"], ["--help"]])
def test_a_short_answer_is_one_write(argv: list[str]) -> None:
    """Else `memctl … | grep -q word` fails at random under `pipefail`: grep leaves at the first match."""
    for times in ("three", "four", "five"):
        ok("remember", f"The gateway retries {times} times.")
    stream = Counting()
    assert run_cli(argv, Console(None, stream, io.BytesIO())) == 0
    assert stream.writes == 1
    assert stream.getvalue()


def test_half_an_answer_on_a_full_disk_is_no_success(command: Command) -> None:
    command(lambda _: Made("an answer that is longer than ten bytes"))
    err = io.BytesIO()
    assert run_cli(["made"], Console(None, Unbuffered(disk=15), err)) == 1  # type: ignore[arg-type]
    assert err.getvalue().startswith(b"memctl: cannot write to standard output: No space left on device\n")


def test_closed_streams() -> None:
    err = io.BytesIO()
    assert run_cli(["--version"], Console(None, None, err)) == 1
    assert err.getvalue().startswith(b"memctl: cannot write to standard output: it is closed\n")
    assert run_cli(["stats"], Console(None, None, None)) == 1


def test_closed_stdin_is_empty_input(command: Command) -> None:
    command(lambda ctx: Made(repr(ctx.stdin_bytes())))
    out = io.BytesIO()
    assert run_cli(["made"], Console(None, out, None)) == 0
    assert out.getvalue() == b"b''\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("argv", ["--version", "--help"])
def test_a_full_device(argv: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "memctl", argv], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == b"memctl: cannot write to standard output: No space left on device"
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_a_reader_that_leaves() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "memctl", "--help"], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), (">&-", 1), ("2>&-", 0), ("<&- >&- 2>&-", 1)])
def test_a_shell_that_closes_streams(closed: str, code: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m memctl --version {closed}', sys.executable], capture_output=True, check=False
    )
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


def test_what_was_printed_before_an_error_stays(command: Command) -> None:
    def lines() -> Any:
        yield "first"
        raise errors.StoreCorrupt(path="x", reason="y")

    result = Made()
    result.lines = lines()
    command(lambda _: result)
    done = run("made")
    assert (done.code, done.out) == (2, b"first\n")
    assert not result.settled


# --- signals -----------------------------------------------------------------------------------------------------


def test_ctrl_c(command: Command) -> None:
    def made(ctx: Context) -> Made:
        """Made up."""
        raise KeyboardInterrupt

    command(made)
    assert run("made") == (130, b"", b"memctl: interrupted\n")


def test_sigterm_unwinds_a_writer(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    unwound = []

    def made(ctx: Context) -> Made:
        """Made up."""
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            unwound.append(True)
        return Made()

    command(made, access="create")
    assert run("made").code == 143
    assert unwound == [True]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_interrupted_write_leaves_the_store_as_it_was(command: Command) -> None:
    ok("init")

    def made(ctx: Context) -> Made:
        """Made up."""
        with ctx.db.atomic():
            ctx.db.run(
                "INSERT INTO memory_items(id, tier, type, created_at, updated_at) VALUES ('M','stm','note','','')"
            )
            raise KeyboardInterrupt

    command(made, access="write")
    assert run("made").code == 130
    assert ok("stats", "--json").json()["total_items"] == 0


def test_a_reader_cannot_write(command: Command) -> None:
    ok("init")

    def made(ctx: Context) -> Made:
        """Made up."""
        ctx.db.run("DELETE FROM memory_items")
        return Made()

    command(made, access=READ)
    assert run("made").code != 0


def test_the_processes_exit_code_is_the_same() -> None:
    assert spawn("stats").code == 1
    assert spawn("serch").code == 1
    assert spawn("help", "list").code == 0


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_result_that_is_still_reading_lets_go_before_the_store_is_closed(command: Command, flags: list[str]) -> None:
    ok("init")
    seen = []

    def rows(ctx: Context) -> Iterator[str]:
        db = ctx.db
        try:
            while True:
                yield "x" * 1000
        finally:
            seen.append(db.value("SELECT 1"))  # still open

    def made(ctx: Context) -> Made:
        """Made up."""
        reading = rows(ctx)
        result = Made(value=(row for row in reading))
        result.lines = (row for row in reading)
        return result

    class Leaving(io.BytesIO):
        def write(self, _data: Any) -> int:
            raise BrokenPipeError

    command(made, access=READ)
    err = io.BytesIO()
    assert run_cli(["made", *flags], Console(None, Leaving(), err)) == 141
    assert (seen, err.getvalue()) == ([1], b"")


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    "argv",
    [
        (TOKEN,), (f"--{TOKEN}",), ("remember", "x", f"--{TOKEN}"), ("remember", "x", "--type", TOKEN),
        ("remember", "x", "--confidence", TOKEN), ("remember", "x", "--source", TOKEN), ("list", f"--tier={TOKEN}"),
        ("show", TOKEN, TOKEN), ("search", "x", "--as-of", TOKEN), ("recall", "x", "--budget", TOKEN), ("eval", TOKEN),
        ("import", TOKEN), ("import", f"f/{TOKEN}"), ("list", "--config", TOKEN), ("list", "--db", f"{TOKEN}/m.db"),
        ("loop", "x", "--llm", TOKEN), ("quarantine", "show", TOKEN), ("workspace", "set", TOKEN, "--type", TOKEN),
        ("mount", "--remove", TOKEN), ("sync", TOKEN), ("session", "show", TOKEN), ("scan", "--undo", TOKEN),
    ],
    ids=lambda argv: " ".join(argv).replace(TOKEN, "T"),
)  # fmt: skip
@pytest.mark.parametrize("more", [(), ("--json",), ("--verbose",)])
def test_an_error_does_not_repeat_a_secret(argv: tuple[str, ...], more: tuple[str, ...]) -> None:
    ok("init", ".memory")
    done = run(*argv, *more)
    assert done.code
    assert TOKEN not in done.text + done.notes
