"""Help pages: complete, on stdout, of a fixed width."""

from collections.abc import Callable

import pytest

from memctl.annotations import Annotated
from memctl.cli import load
from memctl.cli.help import SCREEN
from memctl.context import Context
from memctl.names import Tier
from memctl.operation import READ, Arg, operation
from memctl.ops import GLOBALS, GROUPS, TABLE, commands
from support import Made, golden, ok, run


def test_the_overview_is_golden() -> None:
    golden("help", ok("--help").text)


@pytest.mark.parametrize("name", commands())
def test_each_page_is_golden(name: str) -> None:
    done = ok(name, "--help")
    assert done.err == b""
    assert done.out == ok("help", name).out == ok("-h", name).out
    golden(f"help-{name}", done.text)


@pytest.mark.parametrize("name", commands())
def test_each_page_is_complete(name: str) -> None:
    op, text = load(name), ok("help", name, "-v").text
    assert text == ok(name, "--help", "-v").text
    assert all(max(line.find(example), 0) >= 0 for example in op.examples for line in [text])
    assert op.examples
    for param in op.params():
        if param.arg.cli:
            assert all(f"{flag}" in text for flag in (not param.arg.word and param.arg.flags) or (param.label,))
            assert not param.arg.env or param.arg.env in text
    for code in (0, 1, 2):
        assert f"\n  {code}    " in text


@pytest.mark.parametrize("name", ["", *commands()])
def test_each_page_fits_a_screen_and_says_what_it_left_out(name: str) -> None:
    page = ok("help", *filter(None, [name])).text
    assert len(page.splitlines()) <= SCREEN
    if not name:
        assert set(commands()) <= set(page.split())
        assert all(TABLE[one].summary in " ".join(ok("help", "-v").text.split()) for one in commands())
        return
    op = load(name)
    for param in op.params():
        if param.arg.cli:
            assert param.label in page
    hidden = [example for example in op.examples if example not in page]
    assert not hidden or f"examples ({len(hidden)})" in " ".join(page.split())
    if "Left out: " in page:
        assert f"memctl help {name} -v shows all." in " ".join(page.split())


def test_no_example_is_wider_than_a_terminal() -> None:
    for name in commands():
        assert [one for one in load(name).examples if len(one) + 2 > 80] == [], name


def test_no_flag_hides_a_global_one() -> None:
    taken = {flag for one in GLOBALS for flag in one.flags}
    for name in commands():
        flags = [flag for param in load(name).params() for flag in param.arg.flags]
        assert not taken & set(flags)
        assert len(set(flags)) == len(flags)


def test_groups() -> None:
    assert {row.group for row in TABLE.values()} <= set(GROUPS)


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_the_width_is_the_terminal_s_and_80_otherwise(columns: str) -> None:
    for argv in (["--help"], ["list", "--help"]):
        lines = ok(*argv, env={"COLUMNS": columns}).text.splitlines()
        assert max(len(line) for line in lines if not line.startswith("  memctl")) <= int(columns)
        assert ok(*argv).out == ok(*argv, env={"COLUMNS": "80"}).out


@pytest.mark.parametrize("columns", ["", "x", "-5", "0", "9" * 30, "²"])
def test_an_odd_width_is_no_harm(columns: str) -> None:
    assert ok("--help", env={"COLUMNS": columns}).out


def test_what_a_page_says_of_a_parameter(command: Callable[..., None]) -> None:
    def made(
        ctx: Context,
        query: Annotated[str, Arg("words to look for")],
        files: Annotated[list[str] | None, Arg("files", metavar="FILE")] = None,
        *,
        tier: Annotated[Tier | None, Arg("only this tier", "--tier")] = None,
        budget: Annotated[
            int, Arg("tokens", "--budget", env="MEMCTL_BUDGET", config="recall.budget_tokens", ge=1)
        ] = 2200,
        share: Annotated[float, Arg("a share", "--share", le=1)] = 0.5,
        tags: Annotated[list[str] | None, Arg("tags", "--tags", comma=True)] = None,
        source: Annotated[list[str] | None, Arg("sources", "--source")] = None,
        loud: Annotated[bool, Arg("loud", "-l", "--loud")] = False,
    ) -> Made:
        """Make something up.

        It has a long story that is told in more words than fit into one line of eighty columns.

            laid out
            by hand
        """
        return Made(str((ctx, query, files, tier, budget, share, tags, source, loud)))

    command(made)
    golden("help-of-a-made-up-command", ok("made", "--help").text)


def test_help_of_what_there_is_not() -> None:
    done = run("help", "serch")
    assert (done.code, done.out) == (1, b"")
    assert "did you mean 'search'?" in done.notes
    assert ok("help", "help").out == ok("help").out == ok("--help").out != ok("--help", "-v").out


def test_exits_of_its_own_replace_the_common_words() -> None:
    from memctl.cli.help import page

    def made(ctx: Context) -> Made:
        """Make up."""
        return Made(str(ctx))

    lines = list(page(operation(access=READ, exits={1: "own words", 3: "three"})(made)))
    assert "  1    own words" in lines
    assert "  3    three" in lines
