"""How alike two texts are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl.text.similarity import is_query_cycle, normalize, similarity


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ("", "", 1.0),
        ("", "word", 0.0),
        ("Same words, same order.", "same WORDS  same order", 1.0),
        ("one two", "three four", 0.21),
        ("The key rotates every hour.", "The key rotates every day.", 0.79),
    ],
)
def test_similarity(a: str, b: str, alike: float) -> None:
    assert similarity(a, b) == similarity(b, a) == pytest.approx(alike, abs=0.01)


def test_case_punctuation_and_blanks_do_not_count() -> None:
    assert normalize(" It's  A\tTest! ") == "its a test"
    assert similarity(" It's  A\tTest! ", "its a test") == 1.0


@given(st.text(max_size=400), st.text(max_size=400))
def test_it_lies_between_nothing_and_all(a: str, b: str) -> None:
    assert 0.0 <= similarity(a, b) <= 1.0
    assert similarity(a, a) == 1.0


@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_megabytes_are_compared_at_their_ends(seed: int) -> None:
    a = f"begin {seed} " + "word " * 1_000_000 + "end"
    b = f"begin {seed} " + "word " * 999_000 + "end"
    assert similarity(a, b) > 0.99
    assert similarity(a, a.replace("end", "another end of it all " * 20_000)) < 0.9


@pytest.mark.parametrize(
    ("query", "history", "cycle"),
    [
        ("", [], True),
        ("  \n", ["x"], True),
        ("Key Rotation!", ["key rotation", "other"], True),
        ("key rotation", ["something else"], False),
        ("how are the signing keys rotated", ["auth", "how are the signing keys rotated?"], True),
        ("how are the signing keys rotated now", ["how are the signing keys rotated"], True),
        ("how are the signing keys rotated now", ["how are the signing keys rotated", "auth"], False),
    ],
)
def test_a_query_that_was_asked_before(query: str, history: list[str], cycle: bool) -> None:
    assert is_query_cycle(query, history) is cycle
