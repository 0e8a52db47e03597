"""The times that a question names."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text.times import day_of, named_days

YEARS = 5


def spans(text: str) -> list[tuple[str, str]]:
    """First and last day of each time that is named, as ISO dates; `--` for the year where none is said."""
    start = day_of("2000-01-01")
    assert start is not None

    def told(day: int, yearly: bool) -> str:
        stamp = (date(2000, 1, 1) + timedelta(days=day - start)).isoformat()
        return f"--{stamp[YEARS:]}" if yearly else stamp

    return [(told(span.first, span.yearly), told(span.last, span.yearly)) for span in named_days(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What news did Ann share on 16 June, 2023?", [("2023-06-16", "2023-06-16")]),
        ("on 8th December, 2023", [("2023-12-08", "2023-12-08")]),
        ("taken on December 1,2023", [("2023-12-01", "2023-12-01")]),
        ("in August 2023", [("2023-08-01", "2023-08-31")]),
        ("deployed in February 2024?", [("2024-02-01", "2024-02-29")]),
        ("the plan for 2023-06", [("2023-06-01", "2023-06-30")]),
        ("the log of 2023-06-16", [("2023-06-16", "2023-06-16")]),
        ("what broke in 2021", [("2021-01-01", "2021-12-31")]),
        ("what broke in July", [("--07-01", "--07-31")]),
        ("in May", [("--05-01", "--05-31")]),
        ("between August 11 and August 15 2023", [("2023-08-11", "2023-08-11"), ("2023-08-15", "2023-08-15")]),
        ("le 3 novembre 2005 en Tunisie", [("2005-11-03", "2005-11-03")]),
        ("fin d'août 2003", [("2003-08-01", "2003-08-31")]),
        ("depuis le 1er mars", [("--03-01", "--03-01")]),
        ("Sept 3", [("--09-03", "--09-03")]),
    ],
)
def test_a_time_is_read(text: str, expected: list[tuple[str, str]]) -> None:
    assert spans(text) == expected


@pytest.mark.parametrize(
    "text",
    ["May I ask?", "you may march on", "mars rover", "en mai", "port 8080", "the 3 rules", "dec the counter",
     "version 1.2.3", "2023-99-99", "2023-06-40", "", "é"],
)  # fmt: skip
def test_what_names_no_time(text: str) -> None:
    assert spans(text) == []


def test_how_far_a_day_is_from_a_time_without_a_year() -> None:
    (july,) = named_days("in July")
    for stamp, apart in (
        ("2023-07-15", 0),
        ("1999-07-01", 0),
        ("2024-08-02", 2),
        ("2023-06-29", 2),
        ("2023-01-01", 154),
    ):
        day = day_of(stamp)
        assert day is not None
        assert july.apart(day) == pytest.approx(apart, abs=1)


@given(day=st.dates(), text=st.text())
def test_days_are_counted_as_the_calendar_does_and_any_text_is_read(day: date, text: str) -> None:
    start, then = day_of("2000-01-01"), day_of(f"{day.isoformat()}T10:00:00+00:00")
    assert start is not None
    assert then is not None
    assert then - start == (day - date(2000, 1, 1)).days
    named_days(text)
    day_of(text)
