"""Any text at all: parsing never fails, never takes more than linear time, and finds what was put in."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text import clean
from memctl.text.block import markers
from memctl.text.proposals import DELIMITER_CLOSE, DELIMITER_OPEN, parse

PIECES = st.sampled_from(
    [DELIMITER_OPEN, DELIMITER_CLOSE, "```json\n", "\n```\n", "~~~", "[", "]", "{", "}", '"content": "x"', ",", '"',
     "\\", "\n", '{"content": "x", "title": "t"}', "NaN", "\ud800", "\x00", "## Memory (Injected)\n",
     "\n--- End Memory (x) ---"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=30).map("".join) | st.text()

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["content", "tags", "title", "items", "name", "arguments", "x"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(TEXTS)
def test_any_text_parses_the_same_way_twice(text: str) -> None:
    parsed = parse(text)
    assert parse(text) == parsed
    for found in parsed.proposals:
        assert found.proposal.content.strip()
        found.proposal.content.encode("utf-8")
        assert "\n" not in found.proposal.title


@given(JSON)
def test_any_json_parses(value: object) -> None:
    for found in parse(json.dumps(value)).proposals:
        assert all(isinstance(tag, str) and tag for tag in found.proposal.tags)


@given(st.lists(st.text(min_size=1).filter(lambda t: clean.clean(t).strip()), min_size=1, max_size=5), st.text())
def test_what_is_put_in_is_found(contents: list[str], prose: str) -> None:
    block = json.dumps([{"content": content, "title": "t"} for content in contents], ensure_ascii=True)
    text = f"{prose.replace('<', '')}\n{DELIMITER_OPEN}{block}{DELIMITER_CLOSE}"
    if parse(prose).structured:
        return
    expected = [clean.clean(content) for content in contents]
    if not any(DELIMITER_CLOSE in content for content in contents):
        assert [f.proposal.content for f in parse(text).proposals] == expected
    assert [f.proposal.content for f in parse(block).proposals] == expected


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        "{" * 1_000_000,
        '{"a":' * 200_000,
        DELIMITER_OPEN * 40_000,
        (DELIMITER_OPEN + "[") * 40_000,
        (DELIMITER_OPEN + "[" + DELIMITER_CLOSE) * 20_000,
        (DELIMITER_OPEN + '["') * 40_000,
        "```\n" * 200_000,
        "```json\n[\n```\n" * 60_000,
        "```" + "a" * 500_000 + "`" * 500_000,
        "`" * 1_000_000,
        " " * 1_000_000 + "x",
        "{}" * 300_000,
        '[{"content": 1},' * 50_000,
        "## Memory (Injected)\n" * 40_000,
        "## Memory (Injected)\n\n    x\n" * 30_000 + "--- End Memory (x) ---",
        "   ## Memory (Injected)\n\n    ## Memory (Injected)\n" * 20_000,
    ],
    ids=range(17),
)
def test_hostile_text_takes_linear_work(text: str) -> None:
    # Counted in calls, not in seconds: what is quadratic here is quadratic in Python calls or would take minutes.
    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += 1

    old = sys.getprofile()
    sys.setprofile(count)
    try:
        parse(text)
        markers.without_injected(text)
    finally:
        sys.setprofile(old)
    assert calls < 6 * len(text)


@given(TEXTS)
def test_taking_injected_blocks_out_settles(text: str) -> None:
    kept, count = markers.without_injected(text)
    assert len(kept) <= len(text)
    assert (count == 0) == (kept == text)
    rounds = 0
    while count:
        kept, count = markers.without_injected(kept)
        rounds += 1
        assert rounds <= len(text)


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_a_title_is_one_short_line(text: str, limit: int) -> None:
    title = clean.one_line(text, limit)
    assert len(title) <= limit
    assert len(title.splitlines()) <= 1
    assert clean.one_line(title, limit) == title


@given(st.text())
def test_one_form_for_one_statement(text: str) -> None:
    form = clean.statement(text)
    assert clean.statement(form) == form
    assert clean.statement(f"\r\n {text} \n") == form
    form.encode("utf-8")
