"""Which of the passages that a model was told its answer used: 84 exchanges judged by hand, and any text at all."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text.usefulness import Told, used_passages
from support import examples

PLANTED = Path(__file__).parents[1] / "data/capture/usefulness.jsonl"
CASES: list[dict[str, Any]] = [json.loads(line) for line in PLANTED.read_text(encoding="utf-8").splitlines()]


def found(case: dict[str, Any]) -> set[str]:
    told = [Told(name, text) for name, text in case["told"].items()]
    return set(used_passages(told, case["a"], [case["q"]], case.get("files", ())))


def measure(cases: Iterable[dict[str, Any]]) -> tuple[float, float]:
    """Precision and recall."""
    right = wrong = missed = 0
    for case in cases:
        here, wanted = found(case), set(case["used"])
        right, wrong, missed = right + len(here & wanted), wrong + len(here - wanted), missed + len(wanted - here)
    return right / (right + wrong), right / (right + missed)


@pytest.mark.parametrize("name", ["tuned", "held", "fresh"])
def test_what_was_used_is_found(name: str) -> None:
    """tuned: the rule was made with these; held: set aside by hash, seen once; fresh: written after the rule."""
    precision, recall = measure(case for case in CASES if case["set"] == name)
    assert precision >= 0.9
    assert recall >= 0.8


def test_an_id_that_the_answer_cites_is_enough() -> None:
    told = [Told("MEM-4f0a91c2d3e4", "Ports are in the wiki."), Told("MEM-000000000001", "Teal is the colour.")]
    assert used_passages(told, "As [4f0a91] has it, no.", []) == {"MEM-4f0a91c2d3e4": "cited"}
    assert used_passages(told, "As MEM-4f0a91c2d3e4 has it, no.", []) == {"MEM-4f0a91c2d3e4": "cited"}
    assert used_passages(told, "As [4f0a92] has it, no.", []) == {}


def test_what_the_prompt_says_already_shows_nothing() -> None:
    told = [Told("a", "The zebra service listens on port 7421.")]
    answer = "The zebra service listens on port 7421, as you said."
    assert used_passages(told, answer, ["Is it true that the zebra service listens on port 7421?"]) == {}
    assert used_passages(told, answer, ["Where is zebra?"]) == {"a": "quoted"}


def test_what_several_passages_say_shows_less_of_each() -> None:
    both = [Told("a", "Gateway retries Kafka."), Told("b", "Gateway retries Kafka.")]
    assert used_passages(both, "Gateway retries Kafka.", []) == {}
    assert used_passages(both[:1], "Gateway retries Kafka.", []) == {"a": "said"}


def test_a_file_that_was_edited_makes_less_enough() -> None:
    told = [Told("a", "Handlers raise domain exceptions; api/errors.py maps them to problem+json bodies.")]
    answer = "It raises NotFound now, with a problem+json body."
    assert used_passages(told, answer, ["Fix the handler"], ["src/api/views.py"]) == {}
    assert used_passages(told, answer, ["Fix the handler"], ["src/api/errors.py"]) == {"a": "said"}


@given(st.text(), st.text(), st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
@examples(150)
def test_any_text_is_accepted(passage: str, answer: str, asked: list[str], files: list[str]) -> None:
    told = [Told("a", passage), Told("b", answer)]
    assert set(used_passages(told, answer, asked, files)) <= {"a", "b"}
