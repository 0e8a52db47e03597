"""What a parameter accepts, and how it says no."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.annotations import Annotated, Any
from memctl.cli import output
from memctl.names import Tier
from memctl.operation import (
    MARK_OFF,
    MARK_ON,
    READ,
    WRITE,
    Arg,
    Fields,
    Group,
    Operation,
    Param,
    Result,
    operation,
    utf8,
)


@operation(access=READ)
def sample(
    ctx: Any,
    query: Annotated[str, Arg("words")],
    path: Annotated[str | None, Arg("a file", path=True)] = None,
    *,
    tier: Annotated[Tier | None, Arg("tier", "--tier")] = None,
    limit: Annotated[int, Arg("limit", "-k", "--limit", ge=1, le=1000)] = 10,
    share: Annotated[float, Arg("share", "--share", le=1)] = 0.5,
    floor: Annotated[int, Arg("floor", "--floor", ge=3)] = 3,
    tags: Annotated[list[str] | None, Arg("tags", "--tags", comma=True)] = None,
    source: Annotated[list[str] | None, Arg("sources", "--source", path=True)] = None,
    loud: Annotated[bool, Arg("loud", "--loud")] = False,
) -> Result:
    """Sample things.

    More words.
    """
    return ctx, query, path, tier, limit, share, floor, tags, source, loud  # type: ignore[return-value]


PARAMS = {param.name: param for param in sample.params()}


def test_the_table_is_read_from_the_signature() -> None:
    assert list(PARAMS) == ["query", "path", "tier", "limit", "share", "floor", "tags", "source", "loud"]
    assert sample.name == "sample"
    assert sample.summary == "Sample things"
    assert [p.name for p in PARAMS.values() if p.required] == ["query"]
    assert [p.name for p in PARAMS.values() if p.positional] == ["query", "path"]
    assert PARAMS["tier"].choices == ("stm", "mtm", "ltm")
    assert PARAMS["tags"].many
    assert (PARAMS["limit"].scalar, PARAMS["limit"].default) == (int, 10)
    assert (PARAMS["limit"].label, PARAMS["query"].label) == ("--limit", "QUERY")
    assert (PARAMS["limit"].metavar, PARAMS["tier"].metavar) == ("N", "TIER")


def test_a_parameter_without_words_is_a_programmer_s_error() -> None:
    def bare(ctx: Any, query: str) -> Result:
        """Bare."""
        return ctx, query  # type: ignore[return-value]

    with pytest.raises(TypeError, match=r"query needs memctl.annotations.Annotated"):
        list(operation(access=READ)(bare).params())


class Place(Group):
    """Where."""

    folder: Annotated[str, Arg("the folder", "--folder")] = "here"
    depth: Annotated[int, Arg("how deep", "--depth", ge=1)] = 3
    hidden: Annotated[bool, Arg("hidden too", "--hidden")] = False


@operation(access=READ)
def walk(
    ctx: Any,
    *,
    place: Annotated[Place, Fields("depth loud folder", depth={"help": "levels", "default": 7})],
    loud: Annotated[bool, Arg("loud", "--loud")] = False,
    last: Annotated[bool, Arg("last", "--last")] = False,
) -> Result:
    """Walk."""
    return place, loud, last  # type: ignore[return-value]


def test_a_group_is_shown_field_by_field_and_given_as_one_object() -> None:
    params = {param.name: param for param in walk.params()}
    assert list(params) == ["depth", "loud", "folder", "last"]
    assert (params["depth"].arg.help, params["depth"].arg.ge, params["depth"].default) == ("levels", 1, 7)
    assert Place().depth == 3
    place, loud, _ = walk(Ctx(), folder="there", loud=True)
    assert (vars(place), loud) == ({"depth": 7, "folder": "there"}, True)
    assert not place.hidden
    given = Place(depth=1)
    assert walk(Ctx(), place=given)[0] is given
    with pytest.raises(TypeError, match="Place has no field colour"):
        Place(colour="red")  # type: ignore[call-arg]


class Ctx:
    """A context that notes what the store may be opened for."""

    allowed: tuple[str, ...] = ()

    def allow(self, access: str) -> None:
        self.allowed += (access,)

    def begin_run(self, *_: object) -> bool:
        """Whether the operation is the first one: here it never is."""
        return False


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("limit", "7", 7),
        ("limit", " 7 ", 7),
        ("limit", "+7", 7),
        ("share", "1e-1", 0.1),
        ("share", "-3", -3.0),
        ("tier", "ltm", "ltm"),
        ("tags", "a, b,,é", ["a", "b", "é"]),
        ("tags", "", []),
        ("source", "a,b", ["a,b"]),
        ("loud", "Yes", True),
        ("loud", "0", False),
        ("query", "caf\udce9", "caf�"),
        ("path", "caf\udce9", "caf\udce9"),
        ("source", "caf\udce9", ["caf\udce9"]),
    ],
)
def test_words_become_values(name: str, text: str, value: object) -> None:
    assert PARAMS[name].value(text) == value


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("limit", "ten", "'ten' is not a whole number"),
        ("limit", "1.5", "'1.5' is not a whole number"),
        ("limit", "1_0", "'1_0' is not a whole number"),
        ("limit", "", "'' is not a whole number"),
        ("limit", "--5", "'--5' is not a whole number"),
        ("limit", "٣", "'٣' is not a whole number"),
        ("limit", "0", "must be from 1 to 1000, not 0"),
        ("limit", "-1", "must be from 1 to 1000, not -1"),
        ("limit", "1001", "must be from 1 to 1000, not 1001"),
        ("limit", "9" * 5000, "is too large"),
        ("floor", "2", "must be at least 3, not 2"),
        ("share", "2", "must be at most 1, not 2.0"),
        ("share", "nan", "'nan' is not a number"),
        ("share", "inf", "'inf' is not a number"),
        ("share", "x", "'x' is not a number"),
        ("tier", "xyz", "'xyz' is not one of stm, mtm, ltm"),
        ("tier", "", "'' is not one of stm, mtm, ltm"),
        ("loud", "maybe", "'maybe' is neither yes nor no"),
    ],
)
def test_a_bad_word_is_refused_in_one_sentence(name: str, text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence) + "$"):
        PARAMS[name].value(text)


@given(st.sampled_from(sorted(PARAMS)), st.text())
def test_any_text_gives_a_value_or_a_sentence(name: str, text: str) -> None:
    param: Param = PARAMS[name]
    try:
        value = param.value(text)
    except UnicodeError as exc:
        raise AssertionError(text) from exc
    except ValueError:
        return
    assert param.check(value) == value


@given(st.binary())
def test_command_line_text_can_always_be_stored(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    assert utf8(text) == data.decode("utf-8", "replace") == utf8(utf8(text))


def test_calling_an_operation_tells_the_context_what_it_needs() -> None:
    def write(ctx: Any) -> str:
        """Write."""
        return "done"

    ctx = Ctx()
    made = Operation(write, name="write", tool=None, access=WRITE, examples=(), exits={})
    assert made(ctx) == "done"
    assert ctx.allowed == ("write",)


def test_marks_are_the_same_on_both_sides() -> None:
    assert (output.MARK_ON, output.MARK_OFF) == (MARK_ON, MARK_OFF)


@operation(access=READ)
def pack(
    ctx: Any,
    id: Annotated[list[str] | None, Arg("the ids")] = None,
    *,
    tags: Annotated[list[str] | None, Arg("tags", "--tags", comma=True)] = None,
) -> Result:
    """Pack."""
    return id, tags  # type: ignore[return-value]


def test_a_program_may_give_one_word_where_a_list_belongs() -> None:
    assert pack(Ctx(), "one,two", tags="a, b") == (["one,two"], ["a", "b"])
    assert pack(Ctx(), id="one") == (["one"], None)
    assert pack(Ctx(), ["one", "two"]) == (["one", "two"], None)
