"""Forms of words: the irregular ones of English, the common beginning of French ones, slips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.retrieve.guesses import edit_distance
from memctl.text.query import analyse, other_forms, stem


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("went", ["go", "goes", "gone"]),
        ("Go", ["goes", "went", "gone"]),
        ("children", ["child"]),
        ("indices", ["index"]),
        ("worst", ["bad", "worse"]),
        ("deploy", []),
        ("|", []),
        ("go goes", []),
        ("été", []),
    ],
)
def test_irregular_forms(word: str, others: list[str]) -> None:
    assert other_forms(word) == others


@pytest.mark.parametrize("forms", ["inspira inspirer inspirait inspirent", "entraîner entraînements entraînait"])
def test_french_forms_share_a_beginning(forms: str) -> None:
    assert len({stem(word, french=True) for word in forms.split()}) == 1


@given(word=st.text())
def test_any_text_has_a_beginning(word: str) -> None:
    assert other_forms(word) == [form for form in other_forms(word) if form != word]
    assert len(stem(word, french=True)) >= min(5, len(word.lower()))


@pytest.mark.parametrize(("text", "french"), [("où est le fichier", True), ("where is the file", False), ("", False)])
def test_the_language_of_a_query(text: str, french: bool) -> None:
    assert analyse(text).french is french


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [("token", "token", 0), ("tokne", "token", 1), ("nourir", "nourrir", 1), ("deplyo", "deploy", 1), ("abc", "xyz", 3),
     ("", "ab", 2), ("rotaet", "rotate", 1), ("authentcaton", "authentication", 2)],
)  # fmt: skip
def test_distance_counts_slips(a: str, b: str, apart: int) -> None:
    assert edit_distance(a, b, 5) == edit_distance(b, a, 5) == apart
    assert edit_distance(a, b, 2) == min(apart, 3)


@given(a=st.text("abc", max_size=8), b=st.text("abc", max_size=8), most=st.integers(0, 3))
def test_distance_is_symmetric_and_bounded(a: str, b: str, most: int) -> None:
    apart = edit_distance(a, b, most)
    assert apart == edit_distance(b, a, most) <= most + 1
    assert (apart == 0) == (a == b)
