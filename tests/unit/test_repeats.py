"""Which texts say the same."""

import pytest

from memctl.retrieve.find import ComparedText, KnownTexts

LONG = " ".join(f"word{n}" for n in range(40))


@pytest.mark.parametrize(
    ("text", "other", "said"),
    [
        ("Use Postgres.", "use  postgres", True),
        ("use postgres", "We agreed on it.\nUse Postgres.\nAnd on Go.", True),
        ("use postgres", "Do not use Postgres.", False),
        ("A depends on B", "B depends on A", False),
        ("it is -5 degrees", "it is 5 degrees", False),
        ("written in C++", "written in C", False),
        ("version 1.5 is out", "version 15 is out", False),
        (LONG, LONG.replace("word7", "other"), False),
        (f"{LONG} and one more", LONG, False),
        (f"{LONG} really", LONG, True),
        (f"{LONG} not", LONG, False),
        (f"{LONG} 8080", LONG, False),
        ("", "anything", False),
    ],
)
def test_what_says_the_same(text: str, other: str, said: bool) -> None:
    assert ComparedText(text).is_within(ComparedText(other)) is said


def test_the_first_of_several_stays() -> None:
    heard = KnownTexts()
    assert [heard.find(text) for text in ("a b c", "a b c.", "c b a", "a b c\nd e")] == [None, "a b c", None, None]


@pytest.mark.parametrize("text", ["short", LONG, LONG.upper(), f"{LONG}.", LONG.replace(" ", "\n", 5)])
def test_what_was_heard_is_heard_again(text: str) -> None:
    heard = KnownTexts()
    assert heard.find(LONG + "\nthe end of short.") is None
    assert (heard.find(text.casefold()) is not None) is (text != "short")
