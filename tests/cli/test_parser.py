"""argv to values: what is accepted, what is refused and how, and the same values as argparse."""

import argparse
import contextlib
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.cli import parser
from memctl.errors import MemctlError
from memctl.names import Tier
from memctl.operation import READ, Arg, Result, operation


@operation(access=READ)
def sample(
    ctx: Any,
    query: Annotated[str, Arg("words")],
    path: Annotated[str | None, Arg("a file", path=True)] = None,
    *,
    tier: Annotated[Tier | None, Arg("tier", "--tier")] = None,
    limit: Annotated[int, Arg("limit", "-k", "--limit", ge=1, le=1000)] = 10,
    tags: Annotated[list[str] | None, Arg("tags", "--tags", comma=True)] = None,
    source: Annotated[list[str] | None, Arg("sources", "--source")] = None,
    loud: Annotated[bool, Arg("loud", "-l", "--loud")] = False,
    title: Annotated[str | None, Arg("title", "--title")] = None,
    secret: Annotated[str, Arg("not for the command line", "--secret", cli=False)] = "",
) -> Result:
    """Sample things."""
    raise NotImplementedError(ctx, query, path, tier, limit, tags, source, loud, title, secret)


@operation(access=READ)
def many(ctx: Any, files: Annotated[list[str], Arg("files")]) -> Result:
    """Take files."""
    raise NotImplementedError(ctx, files)


def parse(*argv: str, op: Any = sample) -> dict[str, Any]:
    return parser.parse(op, list(argv), parser.leading([])).values


def error(*argv: str, op: Any = sample) -> str:
    with pytest.raises(MemctlError) as caught:
        parse(*argv, op=op)
    assert caught.value.advice() == f"memctl {op.name} --help"
    return caught.value.message


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        (["q"], {"query": "q"}),
        (["q", "p"], {"query": "q", "path": "p"}),
        (["-k", "5", "q"], {"query": "q", "limit": 5}),
        (["-k5", "q"], {"query": "q", "limit": 5}),
        (["-k=5", "q"], {"query": "q", "limit": 5}),
        (["--limit=5", "q"], {"query": "q", "limit": 5}),
        (["-lqk5", "q"], {"query": "q", "limit": 5, "loud": True}),
        (["q", "--tags", "a,b", "--tags", "c"], {"query": "q", "tags": ["a", "b", "c"]}),
        (["q", "--source", "a", "b", "-l"], {"query": "q", "source": ["a", "b"], "loud": True}),
        (["q", "--source", "a", "--source", "b", "c"], {"query": "q", "source": ["a", "b", "c"]}),
        (["q", "--source", "-", "x,y"], {"query": "q", "source": ["-", "x,y"]}),
        (["q", "--source=a"], {"query": "q", "source": ["a"]}),
        (["--source", "a", "b", "--", "q"], {"query": "q", "source": ["a", "b"]}),
        (["--", "--loud"], {"query": "--loud"}),
        (["--", "q", "--"], {"query": "q", "path": "--"}),
        (["--title", "- a list", "q"], {"query": "q", "title": "- a list"}),
        (["--title=--x", "q"], {"query": "q", "title": "--x"}),
        (["--title=", "q"], {"query": "q", "title": ""}),
        (["-5"], {"query": "-5"}),
        (["-.5", "-"], {"query": "-.5", "path": "-"}),
        (["-what is this"], {"query": "-what is this"}),
        ([""], {"query": ""}),
        (["q", "-q", "-q", "--json"], {"query": "q"}),
        (["q", "--db", "x.db"], {"query": "q"}),
    ],
)
def test_accepted(argv: list[str], values: dict[str, Any]) -> None:
    assert parse(*argv) == values


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "QUERY is missing"),
        (["--source", "a", "q"], "QUERY is missing; --source takes every word after it, so put QUERY first"),
        (["a", "b", "c"], "unexpected argument 'c'; put quotes around several words for PATH"),
        (["q", "--teir", "stm"], "unknown option '--teir'; did you mean '--tier'?"),
        (["q", "--zzzzzz"], "unknown option '--zzzzzz'"),
        (["q", "--secret", "x"], "unknown option '--secret'"),
        (["q", "--lim", "5"], "unknown option '--lim'; did you mean '--limit'?"),
        (["q", "-z"], "unknown option '-z'"),
        (["q", "-db", "x"], "unknown option '-db'; did you mean '--db'?"),
        (["q", "--tier", "a", "--tier", "stm"], "--tier is given twice"),
        (["q", "-k", "1", "--limit", "2"], "--limit is given twice"),
        (["q", "--loud=yes"], "--loud takes no value"),
        (["q", "--tier"], "--tier needs a value"),
        (["q", "--tags", "--"], "--tags needs a value"),
        (["q", "--title", "-l"], "--title needs a value (one that begins with a dash is written --title=-l)"),
        (["q", "--tier", "xyz"], "--tier: 'xyz' is not one of stm, mtm, ltm"),
        (["q", "-k", "0"], "--limit: must be from 1 to 1000, not 0"),
        (["q", "-k", "-1"], "--limit: must be from 1 to 1000, not -1"),
        (["q", "-k", "many"], "--limit: 'many' is not a whole number"),
        (["q", "--db", ""], "--db: the path is empty"),
    ],
)
def test_refused(argv: list[str], message: str) -> None:
    said = error(*argv)
    assert said == message or (said.startswith(message) and "did you mean" in said)


def test_a_list_without_flag_takes_all_words() -> None:
    assert parse("a", "b", op=many) == {"files": ["a", "b"]}
    assert error(op=many) == "FILES is missing"


def test_global_options_before_and_after() -> None:
    before = parser.leading(["--db", "a.db", "-q", "made", "q", "--json"])
    assert before.words == ["made", "q", "--json"]
    after = parser.parse(sample, before.words[1:], before)
    assert (after.one("db"), after.on("quiet"), after.on("json"), after.on("verbose")) == ("a.db", True, True, False)
    with pytest.raises(MemctlError, match="--db is given twice"):
        parser.parse(sample, ["q", "--db", "b.db"], before)
    with pytest.raises(MemctlError, match="unknown option '--tier'") as caught:
        parser.leading(["--tier", "stm", "made"])
    assert "its own options come after its name" in caught.value.advice()


def test_help_wins_over_what_is_wrong() -> None:
    assert parser.parse(sample, ["--help"], parser.leading([])).on("help")
    assert parser.parse(sample, ["a", "b", "c", "-h"], parser.leading([])).on("help")


# --- argparse as the oracle --------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["q", "a b", "-5", "-", "-k", "-k3", "-k=3", "--limit", "--limit=4", "--tier", "stm", "--tier=ltm", "--loud", "-l",
     "-q", "-lq", "--title", "--title=x", "--title=", "--source", "--source=s", "--json", "--db", "d.db", "--nope"]
)  # fmt: skip


class Loud(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise ValueError(message)


def oracle(argv: list[str]) -> dict[str, Any]:
    """The same command line, declared to argparse."""
    told = Loud(allow_abbrev=False, add_help=False, argument_default=argparse.SUPPRESS)
    told.add_argument("query")
    told.add_argument("--tier", choices=["stm", "mtm", "ltm"])
    told.add_argument("-k", "--limit", type=int)
    told.add_argument("--source", nargs="+", action="extend")
    told.add_argument("-l", "--loud", action="store_true")
    told.add_argument("--title")
    for switch in (["--json"], ["-q", "--quiet"]):
        told.add_argument(*switch, dest="_", action="store_true")
    told.add_argument("--db", dest="_")
    values = vars(told.parse_args(argv))
    values.pop("_", None)
    return values


@operation(access=READ)
def narrow(
    ctx: Any,
    query: Annotated[str, Arg("words")],
    *,
    tier: Annotated[Tier | None, Arg("tier", "--tier")] = None,
    limit: Annotated[int, Arg("limit", "-k", "--limit")] = 10,
    source: Annotated[list[str] | None, Arg("sources", "--source")] = None,
    loud: Annotated[bool, Arg("loud", "-l", "--loud")] = False,
    title: Annotated[str | None, Arg("title", "--title")] = None,
) -> Result:
    """Sample things."""
    raise NotImplementedError(ctx, query, tier, limit, source, loud, title)


def repeated(argv: list[str]) -> bool:
    """Whether an option that takes one word comes twice."""
    spelled = {"-k": "--limit", "-k3": "--limit", "-k=3": "--limit"}
    flags = [spelled.get(word, word).partition("=")[0] for word in argv]
    return any(flags.count(flag) > 1 for flag in ("--limit", "--tier", "--title", "--db"))


@given(st.lists(WORDS, max_size=7))
def test_what_argparse_accepts_means_the_same_here(argv: list[str]) -> None:
    try:
        expected = oracle(argv)
    except ValueError:
        return
    if repeated(argv):  # argparse takes the last one silently
        with pytest.raises(MemctlError, match="is given twice"):
            parse(*argv, op=narrow)
    else:
        assert parse(*argv, op=narrow) == expected


@given(st.lists(WORDS | st.text(max_size=4), max_size=6))
def test_any_command_line_parses_or_says_why(argv: list[str]) -> None:
    with contextlib.suppress(MemctlError):
        parse(*argv)
