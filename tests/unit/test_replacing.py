"""Whether a statement repeats or replaces another one, and times to come."""

import pytest

from memctl.text import times
from memctl.text.contradiction import SAME, find_repeat


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        ("THE CACHE IS IN REDIS!", "the cache is in Redis", SAME),
        ("The port is 8080.", "The port is 9090.", ""),
        ("", "The port is 9090.", ""),
        ("the", "of", ""),
        ("8080", "9090", ""),
    ],
)
def test_what_nearly_repeats(new: str, old: str, why: str) -> None:
    assert find_repeat(new, old) == why


def test_a_long_statement_with_another_word_is_nearly_the_same() -> None:
    text = "gateway cache retries session token login billing kestrel tower mill night backup restore export import"
    assert find_repeat(text.replace("kestrel", "heron"), text) == SAME
    assert find_repeat(text.replace("kestrel", "7"), text) == ""


@pytest.mark.parametrize(
    ("text", "moment"),
    [("2027-01-31", "2027-01-31T23:59:59.999999+00:00"), ("30d", "2026-12-20T00:00:00.000000+00:00"),
     ("in 2 weeks", "2026-12-04T00:00:00.000000+00:00"), ("1d ago", "2026-11-19T00:00:00.000000+00:00")],
)  # fmt: skip
def test_a_time_to_come(text: str, moment: str) -> None:
    assert times.deadline(text, 1_795_132_800) == moment


@pytest.mark.parametrize("text", ["soon", "30", "d", "999999999y"])
def test_what_is_no_time_to_come(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        times.deadline(text, 1_795_132_800)
