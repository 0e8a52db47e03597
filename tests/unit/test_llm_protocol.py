"""What an answer says about going on, in every form that models write it, and what of it may be shown early."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.llm.protocol import AnswerStream, Directive, build_prompt, parse_directive

ASK = '{"need_more": true, "query": "key rotation", "rationale": "not there", "stop": false}'
DONE = '{"need_more": false, "query": null, "stop": true}'


@pytest.mark.parametrize(
    "output",
    [
        f"{ASK}\n\nSo far so good.",
        f"\ufeff\n {ASK}\nSo far so good.\n",
        f"```json\n{ASK}\n```\n\nSo far so good.",
        f"~~~~\n{ASK}\n~~~~\nSo far so good.",
        f"Here is my directive:\n\n```json\n{ASK}\n```\nSo far so good.",
        f"Directive: {ASK}\n\nSo far so good.",
        f"\n<think>\nMaybe {DONE}?\nNo.</think>\n\n{ASK}\n\nSo far so good.",
        f"So far so good.\n\n{ASK}",
        f"So far so good.\n\n```\n{ASK}\n```\n",
        '{\n  "need_more": true,\n  "query": "key  rotation",\n  "rationale": "not there"\n}\n\nSo far so good.',
        '{"need_more": "yes", "query": "key rotation\\n", "rationale": "not there"} So far so good.',
        '{"rationale": "not there", "need_more": 1, "query": "key rotation"} So far so good.',
        '{"directive": {"need_more": true, "query": "key rotation", "rationale": "not there"}}\nSo far so good.',
        '{"query": "key rotation", "rationale": "not there"}\n\nSo far so good.',
        '{"query": "key rotation", "rationale": "not there", "answer": "So far so good."}',
        '{"need_more": true, "query": "key rotation", "rationale": "not there", "answer": "So far so good."}',
    ],
)
def test_a_request_for_more(output: str) -> None:
    assert parse_directive(output) == Directive("So far so good.", need_more=True, query="key rotation",
                                                rationale="not there")  # fmt: skip


@pytest.mark.parametrize(
    "output",
    [
        f"{DONE}\n\nThe answer.",
        f"```json\n{DONE}\n```\nThe answer.",
        '{"need_more": false}\n\nThe answer.',
        '{"need_more": true, "query": "  ", "stop": false}\n\nThe answer.',
        '{"need_more": true}\n\nThe answer.',
        '{"need_more": null, "query": "x"}\nThe answer.',
        '{"stop": true, "query": "x"}\nThe answer.',
        '{"need_more": "no", "query": "x"}\nThe answer.',
    ],
)
def test_an_answer_that_is_the_last(output: str) -> None:
    said = parse_directive(output)
    assert (said.answer, said.need_more, said.query, said.stop, said.found) == ("The answer.", False, "", True, True)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "   \n",
        "Just prose.",
        '{"need_more": true, "query": "cut o',
        "need_more: true",
        '{"need_more": "perhaps", "query": "x"}',
        '{"answer": "yes"}',
        '{"query": {"match_all": {}}, "size": 10}',
        'Elasticsearch takes {"query": "words"} as its body.',
        "[1, 2, 3]",
        "```\ncode\n```",
        '{"need_more":' * 5000,
        '{"need_more": [' * 300,
        "x" * 40_000 + ASK + "y" * 40_000,
    ],
)
def test_what_holds_no_directive_is_taken_as_it_is(output: str) -> None:
    assert parse_directive(output) == Directive(output.strip(), found=False)


@pytest.mark.parametrize("protocol", ["json", "regex"])
def test_a_model_that_repeats_its_prompt_asks_for_nothing(protocol: str) -> None:
    said = parse_directive(build_prompt("What is known.", "the question", protocol=protocol), protocol)
    assert (said.need_more, said.query) == (False, "")
    assert said.found is (protocol == "regex")


def test_a_directive_at_the_very_end_of_a_long_answer_is_found() -> None:
    said = parse_directive("word " * 100_000 + "\n" + ASK)
    assert said.query == "key rotation"
    assert said.answer == ("word " * 100_000).strip()


def test_the_first_directive_counts() -> None:
    said = parse_directive(f"{DONE}\n\nA loop is told so:\n\n```json\n{ASK}\n```")
    assert not said.need_more
    assert said.answer.endswith("```")


@pytest.mark.parametrize(
    ("output", "query", "rationale"),
    [
        ("An answer.", "", ""),
        ("An answer.\nNEED_MORE: dates\nQUERY: release dates", "release dates", "dates"),
        ("query: release dates\n\nAn answer.", "release dates", ""),
        ("**QUERY:** release dates", "release dates", ""),
        ("- `NEED_MORE`: dates\n- `QUERY`: release dates", "release dates", "dates"),
        ("NEED_MORE: dates", "", "dates"),
        ("QUERY:   ", "", ""),
        ("The QUERY: is in the middle", "", ""),
        ("QUERY: first\nQUERY: second", "first", ""),
    ],
)
def test_marked_lines(output: str, query: str, rationale: str) -> None:
    said = parse_directive(output, "regex")
    assert (said.answer, said.query, said.rationale) == (output.strip(), query, rationale)
    assert said.need_more is bool(query)
    assert said.stop is not bool(query)


def test_a_passive_answer_is_the_last() -> None:
    assert parse_directive(f"{ASK}\n", "passive") == Directive(ASK, stop=True)


def test_an_unknown_protocol() -> None:
    with pytest.raises(ValueError, match="xml"):
        parse_directive("", "xml")


def test_a_query_is_one_line_of_bounded_length() -> None:
    query = parse_directive(json.dumps({"need_more": True, "query": "a\n\x1b[31m" + "b" * 10_000})).query
    assert len(query) == 1000
    assert query.isprintable()


PIECES = st.one_of(
    st.sampled_from(
        [ASK, DONE, "```json\n", "\n```", "\n\n", " ", "QUERY: x\n", "{", "}", "\ufeff", '"need_more":', "é"]
    ),
    st.text(max_size=20),
)


@given(st.lists(PIECES, max_size=12), st.sampled_from(["json", "regex", "passive"]), st.booleans())
def test_what_is_shown_early_and_late_is_the_answer(pieces: list[str], protocol: str, last: bool) -> None:
    shown: list[str] = []
    gate = AnswerStream(protocol, shown.append, last=last)
    for piece in pieces:
        gate.feed(piece)
    said = parse_directive("".join(pieces), protocol)
    early = "".join(shown)
    assert said.answer.startswith(early)
    if said.need_more and not last:
        assert early == ""  # it may not be the last, and then nobody is to see it
    gate.finish(said.answer)
    assert "".join(shown) == said.answer + "\n"


@pytest.mark.parametrize(
    ("protocol", "last", "output", "early"),
    [
        ("passive", False, ["  The ans", "wer. ", "\n"], "The answer."),
        ("json", False, [DONE, "\n\nThe", " answer."], "The answer."),
        ("json", False, [DONE[:20], DONE[20:] + "\nThe", " answer."], "The answer."),
        ("json", False, [ASK, "\n\nThe answer."], ""),
        ("json", True, [ASK, "\n\nThe answer."], "The answer."),
        ("json", True, ["```json\n", DONE, "\n```\nThe answer."], ""),
        ("regex", False, ["The answer."], ""),
        ("regex", True, ["The answer."], "The answer."),
    ],
)
def test_what_is_shown_before_the_end(protocol: str, last: bool, output: list[str], early: str) -> None:
    shown: list[str] = []
    gate = AnswerStream(protocol, shown.append, last=last)
    for piece in output:
        gate.feed(piece)
    assert "".join(shown) == early
