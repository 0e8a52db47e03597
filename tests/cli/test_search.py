"""memctl search: what it prints for people, for machines, and when there is nothing to print."""

from typing import Any

import pytest

import support
from memctl.types import MemoryItem
from stores import change
from support import ok, run

NOTES = (
    MemoryItem(id="MEM-1", title="Auth decision", content="We chose JWT.\nTokens are rotated daily.",
               tags=["auth", "é, x"], type="decision", tier="ltm"),
    MemoryItem(id="MEM-2", title="Login flow", content="The login uses JWT tokens.", scope="global"),
    MemoryItem(id="MEM-3", title="Odd\nname", content="zebra\n\x1b[2J stripes", injectable=False),
    MemoryItem(id="MEM-4", title="Elsewhere", content="giraffe", scope="team"),
    MemoryItem(id="MEM-5", title="Elsewhere too", content="giraffe neck", scope="other"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def store() -> None:
    with change() as db:
        for item in NOTES:
            db.write(MemoryItem.from_dict(item.to_dict() | {"created_at": "2026-01-01", "updated_at": "2026-01-01"}))


def found(*argv: str) -> list[str]:
    return [entry["id"] for entry in ok("search", *argv, "--json").json()]


def test_the_human_form() -> None:
    support.golden("search", ok("search", "how are the tokens rotated").text)


@pytest.mark.usefixtures("frozen")  # a score tells how old an item is
def test_the_json_form() -> None:
    done = ok("search", "zebra stripes", "--json", "--quarantined")
    support.golden("search-json", done.text.replace('"score": ', '"score": #'))


def test_json_keys_come_in_the_documented_order() -> None:
    (entry,) = ok("search", "rotated", "--json").json()
    assert list(entry) == [
        "id", "tier", "type", "title", "tags", "confidence", "content_preview", "scope", "score", "snippet",
        "source_kind", "source", "line", "line_start", "line_end", "created_at", "standing",
    ]  # fmt: skip
    assert entry["tags"] == ["auth", "é, x"]


def test_explain_says_what_a_score_is_made_of() -> None:
    first, *rest = ok("search", "rotated tokens", "--json", "--explain").json()
    told = first["explain"]
    assert set(told) == {"reasons", "words"}
    assert sum(told["reasons"].values()) == pytest.approx(first["score"], abs=0.001)
    assert set(told["words"]) == {"rotated", "tokens"}
    assert [set(entry["explain"]["words"]) for entry in rest] == [{"tokens"}]
    assert "explain" not in ok("search", "rotated tokens", "--json").json()[0]


def test_explain_for_people() -> None:
    lines = ok("search", "rotated tokens", "--explain").text.splitlines()
    score = next(line for line in lines if line.startswith("    score "))
    assert " = words " in score
    assert " + coverage " in score
    assert any(line.startswith("    words: rotated ") for line in lines)
    assert not any("score" in line for line in ok("search", "rotated tokens").text.splitlines())


def test_nothing_found_is_success_and_an_empty_array() -> None:
    human, machine = ok("search", "nonsenseword"), ok("search", "nonsenseword", "--json")
    assert (human.out, machine.out) == (b"", b"[]\n")
    assert human.notes == machine.notes == "No results found.\n"
    assert ok("search", "nonsenseword", "-q").notes == ""


@pytest.mark.parametrize("how", [{"tty": frozenset(("stdout",)), "env": {"NO_COLOR": "1"}}, {}])
def test_quarantined_items_are_marked(how: dict[str, Any]) -> None:
    flags = [] if how else ["--quarantined"]
    done = ok("search", "zebra", *flags, **how)
    assert "  [STM] MEM-3  note          Odd name [QUARANTINED]" in done.text.split("\n")
    assert ok("search", "zebra", *flags, "--json", **how).json()[0]["quarantined"] is True
    assert "\x1b" not in done.text


def test_a_pipe_gets_no_words_of_what_is_in_quarantine() -> None:
    done = ok("search", "")
    at = done.text.splitlines().index("  [STM] MEM-3  note          [QUARANTINED]")
    assert done.text.splitlines()[at + 1] == "    held back by policy; --quarantined shows its words"
    assert b"zebra" not in done.out
    (row,) = (row for row in ok("search", "", "--json").json() if row.get("quarantined"))
    assert row["id"] == "MEM-3"
    assert (row["title"], row["tags"], row["content_preview"], row["snippet"]) == ("", [], "", "")


@pytest.mark.parametrize("flags", [[], ["--json"], ["--scope", "team"], ["--json", "--explain"]])
def test_a_pipe_is_not_told_which_words_are_in_quarantine(flags: list[str]) -> None:
    """A model could ask for one word after another."""
    held, unknown = ok("search", "zebra", *flags), ok("search", "xylophone", *flags)
    assert (held.out, held.notes) == (unknown.out, unknown.notes)
    assert b"MEM-3" in ok("search", "zebra", "--quarantined").out


def test_other_scopes_are_named_when_this_one_has_nothing() -> None:
    done = ok("search", "giraffe")
    assert done.out == b""
    assert "Found in other scopes: team, other; use --scope NAME or --all-scopes" in done.notes
    assert found("giraffe", "--scope", "team") == ["MEM-4"]
    assert set(found("giraffe", "--all-scopes")) == {"MEM-4", "MEM-5"}


def test_the_scope_global_is_always_read() -> None:
    assert found("login") == ["MEM-2"]
    assert found("login", "--scope", "team") == ["MEM-2"]


@pytest.mark.parametrize(
    ("flags", "ids"),
    [
        (["--tier", "ltm"], ["MEM-1"]),
        (["--type", "note"], ["MEM-2"]),
        (["--tags", "none,AUTH"], ["MEM-1"]),
        (["-k", "1"], 1),
        (["-k", "0"], 0),
        (["-k", "-1"], 2),
    ],
)
def test_filters(flags: list[str], ids: list[str] | int) -> None:
    got = found("JWT tokens", *flags)
    assert (len(got) if isinstance(ids, int) else got) == ids


def test_an_empty_query_lists_the_newest() -> None:
    assert found("") == ["MEM-1", "MEM-2", "MEM-3"]


def test_matched_words_are_coloured_on_a_terminal_only() -> None:
    tty = frozenset({"stdout"})
    assert "\x1b[1;31mrotated\x1b[0m" in ok("search", "rotating", tty=tty, env={"TERM": "xterm"}).text
    assert "\x1b" not in ok("search", "rotating", tty=tty, env={"NO_COLOR": "1"}).text
    assert "\x1b" not in ok("search", "rotating").text


@pytest.mark.parametrize("flag", [["--tier", "xyz"], ["--type", "xyz"], ["-k", "many"]])
def test_a_wrong_word_is_an_error(flag: list[str]) -> None:
    assert run("search", "x", *flag).code == 1


def test_searching_changes_nothing() -> None:
    ok("search", "JWT")
    assert ok("show", "MEM-1", "--json").json()["usage_count"] == 0


def test_a_hint_for_an_index_that_does_not_stem() -> None:
    with change("old.db", tokenizer="fr") as db:
        db.write(MemoryItem(title="x", content="alpha beta"))
    done = ok("search", "alpha zeta eta", "--db", "old.db")
    assert done.notes.startswith("Found 1 item(s)\nHint: ")
    assert "memctl reindex --tokenizer en" in done.notes
    assert ok("search", "alpha", "--db", "old.db").notes == "Found 1 item(s)\n"
