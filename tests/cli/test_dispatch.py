"""From argv to an exit code: which command runs, with what, and what happens to what it returns."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

import memctl
import support
from memctl.annotations import Annotated, Any
from memctl.cli import main
from memctl.context import Context, nearest_store
from memctl.operation import MARK_OFF, MARK_ON, Arg
from memctl.ops import commands
from support import Data, Made, ok, run

Command = Callable[..., None]


def test_version() -> None:
    for argv in (["--version"], ["--version", "search"], ["stats", "--version"], ["-q", "--version"]):
        assert run(*argv) == (0, f"memctl {memctl.__version__}\n".encode(), b"")


def test_no_command_prints_help_on_stdout_and_fails() -> None:
    done = run()
    assert (done.code, done.err) == (1, b"")
    assert run("-q").code == 1
    assert done.out == ok("--help").out == ok("-h").out == ok("help").out
    assert set(commands()) <= set(done.text.split())


def test_main_runs_a_list_of_words(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["--version"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"memctl ")


@pytest.mark.parametrize("module", ["memctl", "memctl.cli"])
def test_it_is_a_module_to_run(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, check=True)
    assert done.stdout == f"memctl {memctl.__version__}\n".encode()


def test_the_command_gets_what_was_given_and_nothing_else(command: Command) -> None:
    seen: dict[str, Any] = {}

    def made(
        ctx: Context,
        word: Annotated[str, Arg("word")],
        *,
        limit: Annotated[int, Arg("limit", "-k")] = 3,
        tags: Annotated[list[str] | None, Arg("tags", "--tags", comma=True)] = None,
    ) -> Made:
        """Made up."""
        seen.update(word=word, limit=limit, tags=tags, quiet=ctx.quiet, db=ctx.db_path)
        return Made()

    command(made)
    ok("-q", "made", "w", "--tags", "a,b", "--db", "x.db")
    assert seen["db"].endswith("/here/x.db")
    assert seen | {"db": ""} == {"word": "w", "limit": 3, "tags": ["a", "b"], "quiet": True, "db": ""}


def test_text_and_json(command: Command) -> None:
    command(lambda _: Made("é", "2"))
    assert ok("made").out == "é\n2\n".encode()
    assert ok("made", "--json").out == '{\n  "lines": [\n    "é",\n    "2"\n  ]\n}\n'.encode()


@pytest.mark.parametrize("values", [[], [1], [{"a": "x\ny"}, [], {"b": [1, {"c": None}]}]])
def test_an_iterator_is_printed_as_the_array_it_would_be(command: Command, values: list[Any]) -> None:
    command(lambda _: Made(value=iter(values)))
    done = ok("made", "--json")
    assert done.text == json.dumps(values, indent=2) + "\n"


def test_odd_characters_never_break_the_output(command: Command) -> None:
    command(lambda _: Made("caf\udce9", "half \ud800", value=["caf\udce9", "\ud800é"]))
    assert ok("made").out == b"caf\xe9\nhalf \\ud800\n"
    assert ok("made", "--json").json() == ["caf\udce9", "\ud800é"]


def test_a_title_cannot_command_the_terminal(command: Command) -> None:
    nasty = "\x1b]0;owned\x07 \x9b2J a\tb \x7f\u202egnp\r over\r\nnext \x00"
    command(lambda _: Made(nasty))
    assert ok("made").text == "\\x1b]0;owned\\x07 \\x9b2J a\tb \\x7f\\u202egnp\\x0d over\nnext \\x00\n"
    assert ok("made", tty=frozenset({"stdout"})).text == ok("made").text


def test_data_for_programs_is_left_alone_in_a_pipe_only(command: Command) -> None:
    command(lambda _: Data("a\x1b[1m\r\n"))
    assert ok("made").out == b"a\x1b[1m\r\n\n"
    assert ok("made", tty=frozenset({"stdout"})).out == b"a\\x1b[1m\n\n"


def test_marks_are_colour_on_a_terminal_and_nothing_elsewhere(command: Command) -> None:
    command(lambda _: Made(f"a {MARK_ON}word{MARK_OFF} b", f"open {MARK_ON}end"))
    terminal = frozenset({"stdout"})
    assert ok("made").text == "a word b\nopen end\n"
    coloured = ok("made", tty=terminal).text
    assert coloured == "a \x1b[1;31mword\x1b[0m b\x1b[0m\nopen \x1b[1;31mend\x1b[0m\n"
    assert ok("made", tty=terminal, env={"NO_COLOR": "1"}).text == "a word b\nopen end\n"
    assert ok("made", tty=terminal, env={"NO_COLOR": ""}).text == coloured
    assert ok("made", tty=terminal, env={"TERM": "dumb"}).text == "a word b\nopen end\n"


def test_notes_are_quiet_warnings_are_not_and_neither_reaches_stdout(command: Command) -> None:
    def made(ctx: Context) -> Made:
        """Made up."""
        ctx.note("by the way \x1b")
        ctx.progress("half")
        ctx.warn("beware")
        return Made("answer")

    command(made)
    assert ok("made") == (0, b"answer\n", b"by the way \\x1b\nbeware\n")
    assert ok("made", "-q") == (0, b"answer\n", b"beware\n")


def test_progress_is_for_terminals_and_leaves_nothing_behind(command: Command) -> None:
    def made(ctx: Context) -> Made:
        """Made up."""
        ctx.progress("1 of 2")
        ctx.progress("2 of 2")
        return Made("answer")

    command(made)
    assert ok("made", tty=frozenset({"stderr"})).notes == "\r\x1b[K1 of 2\r\x1b[K2 of 2\r\x1b[K"
    assert ok("made", "-q", tty=frozenset({"stderr"})).err == b""


def test_bookkeeping_comes_after_the_answer_and_the_result_has_the_last_word(command: Command) -> None:
    class Odd(Made):
        __slots__ = ()
        exit_code = 1

    result = Odd("x")
    command(lambda _: result)
    assert run("made") == (1, b"x\n", b"")
    assert result.settled


def test_standard_input(command: Command) -> None:
    command(lambda ctx: Made(repr(ctx.stdin_text())))
    assert ok("made", stdin=b"\xef\xbb\xbfa\x00\xff\r\n").text == repr("a\x00�\r\n") + "\n"


def test_the_standard_library_and_the_command_line_agree_on_streams(command: Command) -> None:
    def made(ctx: Context) -> Iterator[str]:
        """Made up."""
        raise AssertionError(ctx)

    command(made)
    assert run("made", "--help").code == 0


def test_the_guard_against_a_user_s_store_works(scratch_root: Any) -> None:
    from memctl import context

    with pytest.raises(support.YouForgotToChooseAStore):
        context.nearest_store(str(scratch_root.parent))
    assert nearest_store("/").endswith("/.memory/memory.db")
