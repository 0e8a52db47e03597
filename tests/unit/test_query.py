"""What a query is taken to ask for."""

import logging

import pytest

from memctl import query as documented
from memctl.query import (
    EN_STOP_WORDS,
    FR_STOP_WORDS,
    QUESTION_WORDS,
    cascade_query,
    classify_mode,
    normalize_query,
    suggest_budget,
)
from memctl.text.query import analyse, grams, pieces, stem


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("comment créer un incident dans le système", "créer incident système"),
        ("how does SomeServiceImpl work", "SomeServiceImpl work"),
        ("the", "the"),
        ("", ""),
        ("what? where?", "what? where?"),
        ("Où est le fichier de configuration ?", "fichier configuration"),
        ("Qu'est-ce que l\u2019authentification", "authentification"),
        ("what's the Ann's token", "Ann token"),
    ],
)
def test_a_question_keeps_the_words_that_say_something(asked: str, kept: str) -> None:
    assert normalize_query(asked) == kept


@pytest.mark.parametrize(
    "asked",
    [
        "car rental pricing", "IT security", "May release", "not null constraint", "no retry policy",
        "son preference", "comment parser", "report May", "mon calendar",
    ],
)  # fmt: skip
def test_words_of_one_language_are_not_stop_words_of_the_other(asked: str) -> None:
    assert normalize_query(asked) == asked


def test_french_stop_words_go_from_french_queries() -> None:
    assert analyse("la voiture car elle est en panne").terms == ("voiture", "panne")
    assert analyse("a car on sale").terms == ("car", "sale")


def test_may_as_an_auxiliary_is_dropped() -> None:
    assert analyse("May I release it").terms == ("release",)


def test_a_query_in_capitals_loses_its_stop_words() -> None:
    assert analyse("WHAT IS THE RETRY POLICY").terms == ("RETRY", "POLICY")


@pytest.mark.parametrize(
    ("term", "inside"),
    [
        ("getUserID", ["get", "User", "ID"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("src/auth/login.py", ["src", "auth", "login", "py"]),
        ("v3.12.1", ["v3"]),
        ("auth-token", ["auth", "token"]),
        ("plain", []),
        ("使用PostgreSQL数据库", ["PostgreSQL"]),
    ],
)
def test_an_identifier_is_also_looked_for_by_its_parts(term: str, inside: list[str]) -> None:
    assert pieces(term) == inside
    asked = analyse(term)
    assert asked.terms == (term,)
    assert list(asked.parts) == inside


@pytest.mark.parametrize("quoted", ['"exact phrase" rest', "“exact phrase” rest", "«exact phrase» rest"])
def test_a_quoted_phrase_is_one_term(quoted: str) -> None:
    assert analyse(quoted).terms == ("exact phrase", "rest")


def test_a_quote_without_a_partner_is_punctuation() -> None:
    assert analyse('say "hello there').terms == ("say", "hello")


def test_terms_are_distinct_and_bounded() -> None:
    assert analyse("Token token TOKEN rotation").terms == ("Token", "rotation")
    assert len(analyse(" ".join(f"word{n}" for n in range(5000))).terms) == 48


@pytest.mark.parametrize(("text", "blank"), [("", True), (" \n\t\x00", True), ("🎉", False), ("!?", False)])
def test_only_an_empty_query_is_blank(text: str, blank: bool) -> None:
    assert analyse(text).blank is blank
    assert analyse(text).terms == ()


def test_runs_without_blanks_are_looked_for_by_pairs() -> None:
    assert analyse("postgres 数据库在哪里\uff1f").runs == ("数据库在哪里",)
    assert grams("数据库在哪里") == ["数据库在哪里", "数据", "据库"]
    assert grams("どこですか")[0] == "どこですか"


@pytest.mark.parametrize(
    ("word", "root"), [("tokens", "token"), ("rotating", "rotat"), ("authentications", "authentic"), ("used", "used")]
)
def test_stem_cuts_endings_but_leaves_four_letters(word: str, root: str) -> None:
    assert stem(word) == root


# --- the documented face ----------------------------------------------------------------------------------------


def test_documented_word_lists() -> None:
    assert (len(FR_STOP_WORDS), len(EN_STOP_WORDS), len(QUESTION_WORDS)) == (56, 70, 15)


@pytest.mark.parametrize("word", ["someName", "snake_case", "HTTP", "MAX_SIZE", "a.b", "v1.2"])
def test_identifiers(word: str) -> None:
    assert documented._is_identifier(word)


@pytest.mark.parametrize("word", ["word", "Word", "end.", "IT", "_", "a_1"])
def test_not_identifiers(word: str) -> None:
    assert not documented._is_identifier(word)


def test_mode_and_budget() -> None:
    assert classify_mode("please refactor, now") == "modification"
    assert classify_mode("what is this") == "exploration"
    assert [suggest_budget(n) for n in (0, 79, 80, 199, 200, 399, 400)] == [600, 600, 800, 800, 1200, 1200, 1500]


def test_drop_order_is_shortest_first_and_later_first_of_equals() -> None:
    assert documented._drop_order(["ccc", "a", "bb", "d"]) == [3, 1, 2, 0]


def test_cascade_drops_terms_until_something_is_found(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="memctl.query"):
        found = cascade_query(["rotation", "of", "keys"], lambda t: ["hit"] if t == ["rotation"] else [], lambda _: [])
    assert found == (["hit"], "REDUCED_AND", ["rotation"], ["of", "keys"])
    assert "AND" in caplog.text
    assert "REDUCED_AND" in caplog.text


def test_cascade_ends_with_any_term(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="memctl.query"):
        found = cascade_query(["a", "b"], lambda _: [], lambda _: ["x"])
    assert found == (["x"], "OR_FALLBACK", ["a", "b"], [])
    assert "OR_FALLBACK" in caplog.text
    assert "0 hits" in caplog.text
    assert cascade_query([], lambda _: ["never"], lambda _: ["never"]) == ([], "AND", [], [])
