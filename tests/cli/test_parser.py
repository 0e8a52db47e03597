"""argv to values: what is accepted, what is refused and how."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.annotations import Annotated, Any
from memctl.cli import grammar, load, parser
from memctl.errors import MemctlError
from memctl.names import Tier
from memctl.operation import READ, Arg, Result, operation
from memctl.ops import commands
from support import run


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
    return parser.parse(op, argv, parser.Given()) or {}


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
        (["--", "--"], {"query": "--"}),
        (["-l", "--", "q", "-k"], {"query": "q", "path": "-k", "loud": True}),
        (["--title", "- a list", "q"], {"query": "q", "title": "- a list"}),
        (["--title=--x", "q"], {"query": "q", "title": "--x"}),
        (["--title=", "q"], {"query": "q", "title": ""}),
        (["-5"], {"query": "-5"}),
        (["-.5", "-"], {"query": "-.5", "path": "-"}),
        (["-what is this"], {"query": "-what is this"}),
        ([""], {"query": ""}),
        (["q", "-q", "-q", "--json"], {"query": "q"}),
        (["q", "--db", "x.db"], {"query": "q"}),
        (["q", "--tier", "stm", "p"], {"query": "q", "path": "p", "tier": "stm"}),
        (["q", "-l", "p", "--json"], {"query": "q", "path": "p", "loud": True}),
        (["q", "--title", "a b", "--tags", "a", "p"], {"query": "q", "path": "p", "title": "a b", "tags": ["a"]}),
        (
            ["--title=x", "q", "-lk", "5", "--", "-p"],
            {"query": "q", "path": "-p", "title": "x", "limit": 5, "loud": True},
        ),
        (["q", "-qk5", "p"], {"query": "q", "path": "p", "limit": 5}),
    ],
)
def test_accepted(argv: list[str], values: dict[str, Any]) -> None:
    assert parse(*argv) == values


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "QUERY is missing"),
        (["--source", "a", "q"], "QUERY is missing; --source takes every word after it, so put QUERY first"),
        (["--tags", "a", "--tags", "b"], "QUERY is missing"),
        (["a", "b", "c"], "unexpected argument 'c'; put quotes around several words for PATH"),
        (["q", "--teir", "stm"], "unknown option '--teir'; did you mean '--tier'?"),
        (["q", "--zzzzzz"], "unknown option '--zzzzzz'"),
        (["q", "--secret", "x"], "unknown option '--secret'"),
        (["q", "--lim", "5"], "unknown option '--lim'; did you mean '--limit'?"),
        (["q", "-z"], "unknown option '-z'"),
        (["q", "-db", "x"], "unknown option '-db'; did you mean '--db'?"),
        (["--", "-q", "p", "--limit", "5"], "'--limit' stands after --, where no word is an option"),
        (["q", "--tier", "a", "--tier", "stm"], "--tier is given twice"),
        (["q", "-k", "1", "--limit", "2"], "--limit is given twice"),
        (["q", "--loud=yes"], "argument -l/--loud: ignored explicit argument 'yes'"),
        (["q", "--tier"], "argument --tier: expected one argument"),
        (["q", "--tags", "--"], "argument --tags: expected one argument"),
        (
            ["q", "--title", "-l"],
            "argument --title: expected one argument (one that begins with a dash is written --title=-l)",
        ),
        (
            ["q", "--source", "--x"],
            "argument --source: expected at least one argument (one that begins with a dash is written --source=--x)",
        ),
        (["q", "--tier", "xyz"], "--tier: 'xyz' is not one of stm, mtm, ltm"),
        (["q", "-k", "0"], "--limit: must be from 1 to 1000, not 0"),
        (["q", "-k", "-1"], "--limit: must be from 1 to 1000, not -1"),
        (["q", "-k", "many"], "--limit: 'many' is not a whole number"),
        (["q", "--db", ""], "argument --db: the path is empty"),
    ],
)
def test_refused(argv: list[str], message: str) -> None:
    assert error(*argv) == message


def test_a_list_without_flag_takes_all_words() -> None:
    assert parse("a", "b", op=many) == {"files": ["a", "b"]}
    assert error(op=many) == "FILES is missing"


def test_words_and_options_in_any_order_are_one_list() -> None:
    """Also for an older spelling, the option that gives the same words."""
    assert parse("a", "--db", "x.db", "b", "-q", "c", op=many) == {"files": ["a", "b", "c"]}
    ingest = load("ingest")
    for words in (["a", "b"], ["--source", "a", "b"], ["--source=a", "--source", "b"]):
        assert parser.parse(ingest, [*words, "--tags", "t"], parser.Given()) == {"source": ["a", "b"], "tags": ["t"]}
    assert parser.parse(ingest, ["a", "--source", "b"], parser.Given()) == {"source": ["b", "a"]}


#: Lines whose words stand behind options, and what they come to.
MIXED = {
    "quarantine release --reason x MEM-1": {"action": "release", "id": ["MEM-1"], "reason": "x"},
    "policy test --document hello": {"action": "test", "what": ["hello"], "document": True},
    "workspace set --read a NAME": {"action": "set", "name": "NAME", "read": ["a"]},
    "session show -k 5 ID": {"action": "show", "id": ["ID"], "limit": 5},
    "scan a --strict b": {"path": ["a", "b"], "strict": True},
    "remember The gateway --tags x,y retries -- --twice": {"text": ["The", "gateway", "retries", "--twice"]},
    "push q --source a b -- -x": None,
    "recall -q --budget 5 what": {"query": "what", "budget": 5},
}


@pytest.mark.parametrize("minor", [10, 11, 12, 13])
def test_the_order_is_free_on_every_python(minor: int) -> None:
    """argparse differs from one to the next, so each that is installed is asked."""
    import json
    import os
    import shutil
    import subprocess
    from pathlib import Path

    import memctl

    first = Path(shutil.which(f"python3.{minor}") or "bin/python")
    places = [first, *first.parent.parent.glob(f"versions/3.{minor}.*/bin/python3")]  # where pyenv has them
    runs = [one for one in places if one.exists() and not subprocess.run([one, "-c", ""], check=False).returncode]
    if not runs:
        pytest.skip("not installed")
    asked = (
        "import json, sys\nfrom memctl.cli import load, parser\nfrom memctl.errors import MemctlError\n"
        "def one(line):\n    name, *words = line.split()\n"
        "    try: return parser.parse(load(name), words, parser.Given())\n"
        "    except MemctlError as exc: return exc.message\n"
        "print(json.dumps({line: one(line) for line in sys.argv[1:]}))"
    )
    package = str(Path(memctl.__file__).parents[1])
    done = subprocess.run(
        [runs[0], "-c", asked, *MIXED], env=os.environ | {"PYTHONPATH": package}, capture_output=True, check=True
    )
    found = json.loads(done.stdout)
    assert found.pop("push q --source a b -- -x") == "unknown option '-x'"
    for line, values in found.items():
        assert values | (MIXED[line] or {}) == values, line


def test_global_options_before_and_after() -> None:
    given = parser.leading(["--db", "a.db", "-q", "made", "q", "--json"])
    assert given.words == ["made", "q", "--json"]
    assert parser.parse(sample, given.words[1:], given) == {"query": "q"}
    assert (given.db, given.quiet, given.json, given.verbose) == ("a.db", True, True, False)
    with pytest.raises(MemctlError, match="--db is given twice"):
        parser.parse(sample, ["q", "--db", "b.db"], given)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], []),
        (["-q"], []),
        (["--db=x", "made", "--db", "y"], ["made", "--db", "y"]),
        (["-qv", "made", "-k", "5", "--", "--x"], ["made", "-k", "5", "--", "--x"]),
        (["made", "--", "q"], ["made", "--", "q"]),
        (["--", "made", "-q"], ["made", "-q"]),
        (["--json", "--", "made", "--"], ["made", "--"]),
        (["", "q"], ["", "q"]),
    ],
)
def test_what_is_left_for_the_command(argv: list[str], words: list[str]) -> None:
    assert list(parser.leading(argv).words) == words


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--tier", "stm", "made"], "unknown option '--tier'"),
        (["--json", "--bogus"], "unknown option '--bogus'"),
        (["--verbos", "made"], "unknown option '--verbos'; did you mean '--verbose'?"),
        (["--db"], "argument --db: expected one argument"),
        (["--db", "a", "--db", "b", "made"], "--db is given twice"),
    ],
)
def test_refused_before_the_command(argv: list[str], message: str) -> None:
    with pytest.raises(MemctlError) as caught:
        parser.leading(argv)
    assert caught.value.message == message
    assert "its own options come after its name" in caught.value.advice()


def test_help_wins_over_what_is_wrong() -> None:
    for argv in ([], ["a", "b", "c"], ["--nope"], ["-k", "many"]):
        given = parser.Given()
        assert parser.parse(sample, [*argv, "--help"], given) is None
        assert given.help


@pytest.mark.parametrize("name", commands())
def test_no_parameter_is_called_like_a_global_option(name: str) -> None:
    reserved = {*dir(parser.Given)}
    assert "db" in reserved
    assert reserved.isdisjoint(param.name for param in load(name).params())


WORDS = st.sampled_from(
    ["q", "a b", "-5", "-", "-k", "-k3", "-k=3", "--limit", "--limit=4", "--tier", "stm", "--tier=ltm", "--loud", "-l",
     "-q", "-lq", "--title", "--title=x", "--title=", "--source", "--source=s", "--json", "--db", "d.db", "--nope"]
)  # fmt: skip


@given(st.lists(WORDS | st.text(max_size=4), max_size=6))
def test_any_command_line_parses_or_says_why(argv: list[str]) -> None:
    with contextlib.suppress(MemctlError):
        parse(*argv)


def test_a_word_that_says_what_to_do_is_named_when_it_is_missing() -> None:
    assert "ACTION is missing: list, show, release, purge" in run("quarantine").notes


@given(st.sampled_from([sample, many, load("search"), load("hook"), load("mount")]), st.lists(WORDS, max_size=6))
def test_a_plain_line_means_what_argparse_makes_of_it(op: Any, argv: list[str]) -> None:
    params = [param for param in op.params() if param.arg.cli]
    plain, read = parser.Given(), parser.Given()
    if parser.read_plainly(params, argv, plain):
        assert grammar.read(op.name, params, argv, read) == []
        assert vars(plain) == vars(read)
    else:
        assert vars(plain) == {}


@given(
    st.lists(st.sampled_from(["q", "-", "--", "", "-q", "-qv", "--db", "d.db", "--db=d", "--json", "-x"]), max_size=6)
)
def test_what_stands_before_the_name_means_what_argparse_makes_of_it(argv: list[str]) -> None:
    def by_argparse(argv: list[str]) -> parser.Given:
        read = parser.Given()
        grammar.read_leading(argv, read)
        return read

    def outcome(reader: Any) -> object:
        try:
            read = reader(argv)
        except MemctlError as exc:
            return exc.message
        return {**vars(read), "words": list(read.words)}

    assert outcome(parser.leading) == outcome(by_argparse)


@pytest.mark.parametrize(
    ("argv", "is_plain"),
    [
        (["q", "--db", "d", "-k", "5", "--loud", "--json"], True),
        (["q", "-"], True),
        ([], True),
        (["q", "-k5"], False),
        (["q", "--tags", "a"], False),
        (["q", "-k", "-5"], False),
        (["q", "-k", "5", "-k", "6"], False),
        (["q", "p", "r"], False),
        (["q", "--"], False),
        (["q", "--title", ""], False),
    ],
)
def test_what_is_plain(argv: list[str], is_plain: bool) -> None:
    params = [param for param in sample.params() if param.arg.cli]
    assert parser.read_plainly(params, argv, parser.Given()) is is_plain
