"""Whether a statement repeats or replaces another one, and times to come."""

import pytest

from memctl.text import times
from memctl.text.replacing import DATE, NAME, NUMBER, OPPOSITE, SAME, compare


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        ("The port is 8080.", "The port is 9090.", NUMBER),
        ("Releases are on the 2026-12-01", "Releases are on the 2026-11-01", DATE),
        ("La livraison est le lundi.", "La livraison est le mardi.", DATE),
        ("The owner of billing is Alice.", "The owner of billing is Bob Jones.", NAME),
        ("Alice owns the billing service.", "Bob owns the billing service.", ""),  # who it is about
        ("Never deploy on a Friday.", "Deploy on a Friday.", OPPOSITE),
        ("Server Ann listens on port 80.", "Server Bob listens on port 81.", ""),  # two places differ
        ("We chose Redis for queues.", "We chose Redis for sessions.", ""),
        ("THE CACHE IS IN REDIS!", "the cache is in Redis", SAME),
        ("", "The port is 9090.", ""),
        ("the", "of", ""),
        ("8080", "9090", ""),
    ],
)
def test_what_differs_in_one_place(new: str, old: str, why: str) -> None:
    assert compare(new, old) == why


def test_a_long_statement_with_another_word_is_nearly_the_same() -> None:
    text = "gateway cache retries session token login billing kestrel tower mill night backup restore export import"
    assert compare(text.replace("kestrel", "heron"), text) == SAME
    assert compare(text.replace("kestrel", "7"), text) == ""


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
