"""Every form in which a model may write proposals, and what is wrong with some of them."""

import json

import pytest

from memctl.text.proposals import Parsed, parse

A = {"type": "fact", "title": "Port", "content": "The API listens on 8080.", "tags": ["api", "net"]}
B = {"content": "Deploys happen on Tuesday."}


def contents(parsed: Parsed) -> list[str]:
    return [p.proposal.content for p in parsed.proposals]


BOTH = [A["content"], B["content"]]
ITEMS = json.dumps([A, B])
CALL = {"name": "memory.propose", "arguments": json.dumps({"items": [A, B]})}


@pytest.mark.parametrize(
    "text",
    [
        ITEMS,
        "\ufeff\n " + ITEMS + "\n",
        json.dumps({"items": [A, B]}),
        json.dumps(A) + "\n" + json.dumps(B) + "\n",
        f"Done.\n<MEMORY_PROPOSALS_JSON>{ITEMS}</MEMORY_PROPOSALS_JSON>\nBye.",
        "".join(
            f"<MEMORY_PROPOSALS_JSON>{json.dumps(one)}</MEMORY_PROPOSALS_JSON> and " for one in ([A], {"items": [B]})
        ),
        f"<MEMORY_PROPOSALS_JSON>\n```json\n{ITEMS}\n```\n</MEMORY_PROPOSALS_JSON>",
        f"I use <MEMORY_PROPOSALS_JSON> here: <MEMORY_PROPOSALS_JSON>{ITEMS}</MEMORY_PROPOSALS_JSON>",
        f"Cut off: <MEMORY_PROPOSALS_JSON>{ITEMS}",
        f"```json\n{ITEMS}\n```",
        f"~~~\n{ITEMS}\n~~~\n",
        f"\n\n```\n{json.dumps(A)}\n{json.dumps(B)}\n```",
        json.dumps(CALL),
        json.dumps([{"action": "memory_propose", "items": [A, B]}]),
        json.dumps({"name": "memory_propose", "arguments": {"items": json.dumps([A, B])}}),
        json.dumps({"type": "tool_use", "name": "mcp__memctl__memory_propose", "input": {"items": [A, B]}}),
        json.dumps({"content": None, "tool_calls": [{"type": "function", "function": CALL}]}),
        json.dumps([{"name": "memory_propose", "arguments": A}, {"name": "memory_propose", "arguments": B}]),
    ],
)
def test_every_form(text: str) -> None:
    parsed = parse(text)
    assert contents(parsed) == BOTH
    assert parsed.problems == []
    assert parsed.structured
    first = parsed.proposals[0].proposal
    assert (first.type, first.title, first.tags) == ("fact", "Port", ["api", "net"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We chose JWT.",
        "[ ] buy milk\n[x] done",
        "[JWT](https://jwt.io) is what we chose",
        "[1] first source\n[2] second",
        "{not json}",
        '{"port": 8080}',
        "[1, 2, 3]",
        '[{"name": "x"}]',
        "[[[[",
        '{"content": "an example"} is how a message looks',
        'A request looks like this:\n```json\n[{"role": "user", "content": "hi", "type": "x"}]\n```\nas you see.',
        'Send\n```json\n{"content": "hello"}\n```\nto the hook.',
        "```python\n[{'content': 'x', 'title': 'y'}]\n```",
        json.dumps({"name": "memory_search", "arguments": {"query": "x"}}),
        '{"action": "memory.propose.extra", "items": [{"name": "x"}]}',
    ],
)
def test_plain_text_stays_whole(text: str) -> None:
    parsed = parse(text)
    assert parsed.proposals == []
    assert parsed.rest == text.strip()
    assert not parsed.structured


def test_a_fence_among_prose_counts_when_it_can_be_nothing_else() -> None:
    parsed = parse(f"What I learned:\n```json\n{json.dumps([A])}\n```\nMore?")
    assert contents(parsed) == [A["content"]]
    assert parsed.rest == "What I learned:\n\nMore?"


@pytest.mark.parametrize(
    "text", ["[]", ' {"items": []} ', "```json\n[]\n```", "<MEMORY_PROPOSALS_JSON>[]</MEMORY_PROPOSALS_JSON>"]
)
def test_an_empty_list_is_an_answer(text: str) -> None:
    parsed = parse(text)
    assert parsed.structured
    assert (parsed.proposals, parsed.problems, parsed.rest) == ([], [], "")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([A, B])[:-20] + "",
        "Sure.\n<MEMORY_PROPOSALS_JSON>" + json.dumps([A, B])[:-20],
    ],
)
def test_what_is_complete_in_a_cut_off_list_is_kept(text: str) -> None:
    parsed = parse(text)
    assert contents(parsed) == [A["content"]]
    assert len(parsed.problems) == 1
    assert "breaks off after 1 proposal" in parsed.problems[0]


def test_words_after_the_list_are_the_rest() -> None:
    parsed = parse(json.dumps([A]) + "\n\nThat is all I found.")
    assert contents(parsed) == [A["content"]]
    assert (parsed.rest, parsed.problems) == ("That is all I found.", [])


def test_a_block_that_is_no_json_is_named_and_stays_in_the_text() -> None:
    text = "See <MEMORY_PROPOSALS_JSON>[{oops}]</MEMORY_PROPOSALS_JSON>"
    parsed = parse(text)
    assert parsed.rest == text
    assert parsed.problems == ["a block after <MEMORY_PROPOSALS_JSON> holds no JSON list of proposals"]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("auth,db", ["auth", "db"]),
        (" auth , , db,", ["auth", "db"]),
        ("auth", ["auth"]),
        ("", []),
        (None, []),
        (["b", "a", "B", " b "], ["b", "a"]),
        (["two\nlines", "x\x00y"], ["two lines", "xy"]),
    ],
)
def test_tags_are_words_never_letters(tags: object, expected: list[str]) -> None:
    parsed = parse(json.dumps([{"content": "c", "tags": tags}]))
    assert parsed.proposals[0].proposal.tags == expected
    assert parsed.problems == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"content": "c", "tags": [1, "a"]}, "proposal 1: tags: expected a list of strings, got a whole number"),
        ({"content": "c", "tags": {"a": 1}}, "proposal 1: tags: expected a list of strings, got an object"),
        ({"content": "c", "title": 7}, "proposal 1: title: expected a string, got a whole number"),
        ({"content": "c", "type": ["fact"]}, "proposal 1: type: expected a string, got a list"),
        ({"content": "c", "confidence": "high"}, "proposal 1: confidence: expected a number from 0 to 1, got a string"),
        ({"content": "c", "confidence": True}, "proposal 1: confidence: expected a number from 0 to 1, got true"),
        ({"content": "c", "title": 10**400}, "proposal 1: title: expected a string, got a very large number"),
        ({"content": "c", "entities": 1.5}, "proposal 1: entities: expected a list of strings, got a fraction"),
        ({"content": "c", "provenance_hint": "x"}, "proposal 1: provenance_hint: expected an object, got a string"),
        (
            {"content": "c", "provenance_hint": {"chunk_ids": [None]}},
            "proposal 1: provenance_hint: chunk_ids: expected a list of strings, got null",
        ),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_and_left_out(entry: dict[str, object], problem: str) -> None:
    parsed = parse(json.dumps([entry, B]))
    assert contents(parsed) == ["c", B["content"]]
    assert parsed.problems == [problem]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"content": None}, "content: expected a string, got null"),
        ({"content": ["x"]}, "content: expected a string, got a list"),
        ({"content": "  "}, "content is empty"),
        ({"title": "t"}, "content is missing"),
        ("words", "expected an object with content, got a string"),
        (None, "expected an object with content, got null"),
    ],
)
def test_a_proposal_without_content_is_skipped_and_the_others_stay(entry: object, problem: str) -> None:
    parsed = parse(json.dumps([A, entry, B]))
    assert contents(parsed) == BOTH
    assert parsed.problems == [f"proposal 2: {problem}"]


def test_what_a_memory_proposal_has_no_room_for_is_kept() -> None:
    hint = {"source_id": "s", "chunk_ids": ["c1"]}
    more = {"confidence": 0.9, "entities": "Ada, Bob", "rule_id": "R1", "provenance_hint": hint, "why_store": "w"}
    parsed = parse(json.dumps({**B, **more}))
    found = parsed.proposals[0]
    assert (found.confidence, found.entities) == (0.9, ["Ada", "Bob"])
    assert found.proposal.rule_id == "R1"
    assert found.proposal.why_store == "w"
    assert found.proposal.provenance_hint == {"source_id": "s", "chunk_ids": ["c1"]}


def test_titles_are_one_line_and_no_text_is_unstorable() -> None:
    parsed = parse('[{"title": "a\\nb\\u0007c\\u2028d", "content": "half \\ud800 pair\\u0000"}]')
    proposal = parsed.proposals[0].proposal
    assert proposal.title == "a b c d"
    assert proposal.content == "half \ufffd pair"


@pytest.mark.parametrize(
    ("strategy", "delimited", "called"), [("both", True, True), ("delimiter", True, False), ("tool", False, True)]
)
def test_strategy(strategy: str, delimited: bool, called: bool) -> None:
    block = f"x <MEMORY_PROPOSALS_JSON>{ITEMS}</MEMORY_PROPOSALS_JSON>"
    assert bool(parse(block, strategy=strategy).proposals) is delimited
    assert bool(parse(json.dumps(CALL), strategy=strategy).proposals) is called
    assert contents(parse(ITEMS, strategy=strategy)) == BOTH


def test_delimiters_are_a_setting() -> None:
    text = f"x <<{ITEMS}>>"
    assert contents(parse(text, delimiter_open="<<", delimiter_close=">>")) == BOTH
    assert parse(text, delimiter_open="", delimiter_close="").proposals == []
