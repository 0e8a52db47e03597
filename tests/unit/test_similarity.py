"""How alike two texts are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl.text.similarity import (
    is_fixed_point,
    is_query_cycle,
    jaccard,
    normalize,
    sequence_ratio,
    similarity,
    tokenize,
)


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


def test_its_parts() -> None:
    assert normalize(" It's  A\tTest! ") == "its a test"
    assert tokenize("A b, a B") == {"a", "b"}
    assert jaccard(set(), set()) == 1.0
    assert jaccard({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)
    assert sequence_ratio("abcd", "abxd") == 0.75
    assert similarity("a b", "a c", jaccard_weight=1, sequence_weight=0) == pytest.approx(1 / 3)


@pytest.mark.parametrize("weights", [(-1, 1), (1, -0.1), (0, 0)])
def test_weights_that_make_no_sense(weights: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        similarity("a", "b", jaccard_weight=weights[0], sequence_weight=weights[1])


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


def test_a_fixed_point() -> None:
    assert is_fixed_point("The port is 8080.", "the port is 8080")
    assert not is_fixed_point("The port is 8080.", "I do not know.")
    assert is_fixed_point("a", "b", threshold=0.0)
