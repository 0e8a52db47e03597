"""memctl eval: a user's own questions against the store, and this repository's as a gate."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import ok, run

ROOT = Path(__file__).resolve().parents[2]
#: What the questions about this repository must reach, with room for a document that is rewritten.
RECALL, MRR = 0.7, 0.4


@pytest.fixture
def store() -> None:
    Path("docs").mkdir()
    Path("docs/deploy.md").write_text("# Deploying\n\nWe deploy on Tuesdays, with the blue script.\n")
    Path("docs/auth.md").write_text("# Tokens\n\nTokens are rotated every hour.\n")
    ok("ingest", "--source", "docs", "--injectable")
    ok(
        "import",
        "--preserve-ids",
        stdin='{"id": "MEM-00000000000a", "title": "Cache", "content": "The cache is warm."}',
    )


def asked(*lines: object, flags: tuple[str, ...] = ()) -> dict[str, Any]:
    text = "\n".join(json.dumps(line) for line in lines)
    found: dict[str, Any] = ok("eval", "-", "--json", *flags, stdin=text).json()
    return found


def test_this_repository_answers_questions_about_itself() -> None:
    sources = [str(ROOT / name) for name in ("README.md", "SECURITY.md", "docs", "src")]
    ok("ingest", "--source", *sources)
    found = ok("eval", ROOT / "tests/data/questions.jsonl", "--json").json()
    assert found["questions"] >= 30
    assert [miss["question"] for miss in found["misses"] if miss["unknown"]] == []
    assert found["recall"] >= RECALL, found["misses"]
    assert found["mrr"] >= MRR


@pytest.mark.parametrize(
    "expected",
    ["docs/deploy.md", "deploy.md", "./docs/Deploy.md", "deploy.md#deploying", "Deploying", "docs/deploy.md#Deploying"],
)
@pytest.mark.parametrize("key", ["expected", "sources", "source", "relevant", "gold", "answers"])
def test_an_expected_source_has_many_names(store: None, expected: str, key: str) -> None:
    assert asked({"question": "when do we deploy?", key: expected})["recall"] == 1


def test_a_short_section_is_expected_by_its_heading_though_it_shares_a_passage() -> None:
    Path("guide.md").write_text("# Guide\n\nShort.\n\n## Deploying\n\nOn Tuesdays.\n\n## Tokens\n\nEvery hour.\n")
    ok("ingest", "--source", "guide.md", "--injectable")
    assert asked({"question": "how often are tokens rotated?", "expected": "guide.md#Tokens"})["recall"] == 1


@pytest.mark.parametrize("expected", ["MEM-00000000000a", "mem-00000000000A", "cache"])
def test_an_item_is_expected_by_id_or_title(store: None, expected: str) -> None:
    for key in ("question", "query", "q", "text"):
        assert asked({key: "is the cache warm?", "expected": [expected]})["mrr"] == 1


def test_the_block_is_measured_by_what_an_answer_says(store: None) -> None:
    lines = (
        {"question": "when do we deploy?", "answer": ["on  TUESDAYS, with", "never"]},
        {"question": "how often are tokens rotated?", "answer": "every minute", "expected": "auth.md"},
        {"question": "is the cache warm?", "expected": ["cache"]},
    )
    found = asked(*lines)
    assert (found["questions"], found["recall"], found["mrr"]) == (3, 1, 1)
    assert (found["answered"], found["budget"]) == (0.5, 1500)
    assert [(miss["line"], miss["missing"], miss["answered"]) for miss in found["misses"]] == [(2, [], False)]
    small = asked(lines[0], flags=("--budget", "10"))
    assert (small["answered"], small["budget"]) == (0, 10)
    assert "answered" not in asked(lines[2])
    text = ok("eval", "-", stdin="\n".join(json.dumps(line) for line in lines)).text
    assert "  answered   0.500  [############------------]  (in the block at 1500 tokens, of 2)\n" in text
    assert "    not in the block: every minute\n" in text


def test_a_phrase_must_be_text(store: None) -> None:
    done = run("eval", "-", stdin=json.dumps({"question": "q", "answer": [3]}))
    assert done.code == 1
    assert "line 1: a phrase must be text" in done.notes


def test_figures_and_misses(store: None) -> None:
    found = asked(
        {"question": "when do we deploy?", "expected": ["deploy.md", "auth.md", "gone.md"]},
        {"question": "cache", "expected": "MEM-00000000000a"},
        {"question": "zebra", "expected": "auth.md"},
    )
    assert (found["questions"], found["recall"], found["mrr"]) == (3, round((1 / 3 + 1 + 0) / 3, 4), round(2 / 3, 4))
    first, last = found["misses"]
    assert (first["line"], first["missing"], first["unknown"], first["rank"]) == (
        1, ["auth.md", "gone.md"], ["gone.md"], 1,
    )  # fmt: skip
    assert (last["missing"], last["unknown"], last["rank"], last["found"]) == (["auth.md"], [], None, [])


def test_the_place_of_the_first_expected_source(store: None) -> None:
    ok("import", stdin='{"title": "Tuesday", "content": "deploy deploy Tuesdays blue script deploy"}')
    found = asked({"question": "deploy Tuesdays blue script", "expected": "deploy.md"}, flags=("-k", "2"))
    assert found["mrr"] in {1.0, 0.5}
    both = asked({"question": "deploy", "expected": ["deploy.md", "Tuesday"]}, flags=("-k", "1"))
    assert both["recall"] == 0.5


def test_min_recall_is_for_ci(store: None) -> None:
    line = '{"question": "deploy", "expected": ["deploy.md", "gone.md"]}'
    assert ok("eval", "-", "--min-recall", "0.5", stdin=line).code == 0
    done = run("eval", "-", "--min-recall", "0.6", stdin=line)
    assert done.code == 1
    assert "recall@10 is 0.500, below 0.6" in done.notes
    assert "missing: gone.md (not in the store)" in done.text


def test_scopes(store: None) -> None:
    ok("import", stdin='{"title": "Elsewhere", "content": "The zebra is here.", "scope": "other"}')
    line = {"question": "zebra", "expected": "Elsewhere"}
    assert asked(line)["recall"] == 0
    assert asked(line | {"scope": "other"})["recall"] == 1
    assert asked(line, flags=("--scope", "other"))["recall"] == asked(line, flags=("--all-scopes",))["recall"] == 1


def test_what_is_kept_from_models_counts_unless_told_otherwise(store: None) -> None:
    Path("raw.md").write_text("# Raw\n\nA walrus.\n")
    ok("ingest", "--source", "raw.md")
    line = {"question": "walrus", "expected": "raw.md"}
    assert asked(line)["recall"] == 1
    assert asked(line, flags=("--injectable",))["recall"] == 0


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"x", "not JSON"),
        (b"[1]", "must be an object, not a list"),
        (b"{} {}", "more than one JSON value"),
        (b'{"expected": "a"}', "no question: give question (or query, q, text)"),
        (b'{"question": " ", "expected": "a"}', "the question must be text, not an empty one"),
        (b'{"q": 5, "expected": "a"}', "the question must be text, not a whole number"),
        (b'{"q": "a"}', "no expected sources"),
        (b'{"q": "a", "expected": []}', "must be a list of text, not an empty one"),
        (b'{"q": "a", "expected": [1]}', "an expected source must be text, not a whole number"),
        (b'{"q": "a", "expected": "b", "scope": 1}', "scope must be text"),
        (b'{"q": "\xff"}', "byte 8 is not UTF-8"),
        (b"[" * 100_000, "not JSON: nested too deeply"),
    ],
)
def test_a_line_that_is_no_question_is_named(store: None, line: bytes, problem: str) -> None:
    done = run("eval", "-", stdin=b'{"q": "a", "expected": "b"}\n\n' + line)
    assert (done.code, done.out) == (1, b"")
    assert done.notes.startswith("[eval] line 3: ")
    assert problem in done.notes.splitlines()[0]
    assert "1 line(s) are no question with its sources" in done.notes


@pytest.mark.parametrize(
    ("name", "problem"), [("gone.jsonl", "cannot read"), (".", "cannot read"), ("e", "holds none")]
)
def test_a_file_without_questions(store: None, name: str, problem: str) -> None:
    Path("e").write_text("\n \n")
    done = run("eval", name)
    assert done.code == 1
    assert problem in done.notes


VALUES = st.one_of(st.text(), st.lists(st.text()), st.none())
OBJECTS = st.dictionaries(st.sampled_from(["q", "expected", "scope", "x"]), VALUES)


@settings(max_examples=50)
@given(st.lists(st.one_of(st.binary(max_size=60), OBJECTS.map(lambda value: json.dumps(value).encode()))))
def test_any_lines_are_questions_or_told(store: None, lines: list[bytes]) -> None:
    given_lines = [line for line in b"\n".join(lines).split(b"\n") if line.strip()]
    Path("any.jsonl").write_bytes(b"\n".join(lines))
    done = run("eval", "any.jsonl", "--json")
    assert done.code in (0, 1), done.notes
    told = [line for line in done.notes.splitlines() if line.startswith("[eval] ") and "line " in line]
    if done.out:
        assert done.json()["questions"] + len(told) == len(given_lines)
