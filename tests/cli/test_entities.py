"""memctl entities: what the items name, with where they say so."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import write
from memctl.ops.look.entities import find_entities
from memctl.text.named import KINDS, NamedThings
from stores import add
from support import examples, golden, ok, run

TEXTS = (
    ("2026-01-05", "The Payment Gateway needs Python 3.11, as src/auth.py:40 and `Store.open` say."),
    ("2026-02-06", "CVE-2024-12345 is closed since 3 February 2026; see https://example.org/a_b and retry_count."),
    ("2026-03-02", "We asked Alice Martin about src/auth.py, and she said to look at commit 1f0c9a3d."),
)


@pytest.fixture
def made() -> list[str]:
    """Statements of three months, and one that is kept from models."""
    add(content="The Secret Society met in hidden/cellar.py.", injectable=False, withheld="policy")
    return [add(content=text, created_at=f"{day}T10:00:00.000000+00:00").id for day, text in TEXTS]


def named(text: str) -> list[tuple[str, str]]:
    return list(NamedThings().of(text))


def test_everything_is_listed_with_its_evidence(made: list[str]) -> None:
    found = ok("entities", "--json").json()
    first = found["entities"][0]
    assert (first["kind"], first["name"], first["count"]) == ("path", "src/auth.py", 2)
    assert [item["id"] for item in first["items"]] == [made[2], made[0]]
    assert all("src/auth.py" in item["said"] for item in first["items"])
    assert (first["first"][:10], first["latest"][:10]) == ("2026-01-05", "2026-03-02")
    assert {(one["kind"], one["name"]) for one in found["entities"][1:]} == {
        ("name", "Payment Gateway"), ("version", "Python 3.11"), ("identifier", "Store.open"),
        ("cve", "CVE-2024-12345"), ("date", "2026-02-03"), ("url", "https://example.org/a_b"),
        ("identifier", "retry_count"), ("name", "Alice Martin"), ("commit", "1f0c9a3d"),
    }  # fmt: skip
    assert found["total"] == 10 and found["counts"]["identifier"] == 2
    golden("entities", ok("entities").text)
    golden("entities-json", ok("entities", "--json", "-n", "2").text)


def test_what_is_asked_for_is_shown_with_all_that_names_it(made: list[str]) -> None:
    assert [one["name"] for one in ok("entities", "AUTH", "--json").json()["entities"]] == ["src/auth.py"]
    assert ok("entities", "auth.py").text.count("MEM-") == 2
    assert ok("entities", "--kind", "cve,url", "--json").json()["total"] == 2
    assert ok("entities", "--since", "2026-03-01", "--kind", "path", "--json").json()["entities"][0]["count"] == 1
    assert ok("entities", "-n", "1", "--json").json()["truncated"] is True
    assert "None" in ok("entities", "no such thing").notes


def test_what_models_may_not_see_names_nothing(made: list[str]) -> None:
    assert "cellar" not in ok("entities", "-n", "100").text


def test_where_only_documents_are_it_is_said_that_passages_are_left_out(scratch: Path) -> None:
    ok("init")
    assert "--passages" not in ok("entities").notes
    write(scratch / "guide.md", "# Guide\n\nThe Payment Gateway is in src/auth.py.\n")
    ok("sync", ".")
    for command in ("entities", "graph", "topics", "timeline"):
        assert "--passages takes them in" in ok(command).notes, command
        assert "--passages" not in ok(command, "--passages").notes
        assert "--passages" not in ok(command, "--from", "docs").notes
        assert "--passages" not in ok(command, "--tags", "no such tag").notes


def test_entities_that_an_item_was_given_are_names() -> None:
    add(content="It sings.", entities=["Nightingale"])
    assert ok("entities", "--json").json()["entities"][0]["name"] == "Nightingale"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Am 3. März 2026 sagte Anna Meier, dass der Dienst in Berlin läuft.",
         [("date", "2026-03-03"), ("name", "Anna Meier")]),
        ("Le 4 décembre 2025 nous étions à Paris.", [("date", "2025-12-04"), ("name", "Paris")]),
        ("November 20th, 2026, or 03.04.2026, or 2026-01-02", [("date", "2026-11-20"), ("date", "2026-04-03"),
         ("date", "2026-01-02")]),
        ("31.02.2026 is no day, nor is 2026-13-01; 3.5 users in 2026", []),
        ("SQLite 3.40.1 and v2.3.1 and 1.2.3", [("version", "SQLite 3.40.1"), ("version", "v2.3.1"),
         ("version", "1.2.3")]),
        ("It is cut: src/auth.p… and by Alice Mar…", [("name", "Alice")]),
        ("db1.example.org, db1.example.org:5432 and mail.example.com; notes.org and x.org:3; com.acme.io is code",
         [("url", "db1.example.org"), ("url", "mail.example.com"), ("path", "notes.org"), ("path", "x.org")]),
        ("Ask bob@example.org or bob@mail.example.org; icon@2.py is a file", [("path", "icon@2.py")]),
        ("Deploys freeze on Fridays in Berlin.", [("name", "Berlin")]),
        ("and/or yes/no e.g. i.e. HTTP", []),
    ],
)  # fmt: skip
def test_each_kind_has_its_forms(text: str, expected: list[tuple[str, str]]) -> None:
    assert named(text) == expected


@given(st.lists(st.text(max_size=80) | st.sampled_from([text for _, text in TEXTS]), max_size=6))
@examples(60)
def test_any_text_is_read_to_its_end_and_the_same_way_twice(texts: list[str]) -> None:
    rows = [(f"MEM-{at}", "", text, [text]) for at, text in enumerate(texts)]
    found = find_entities(rows, 3, set(KINDS))
    assert all(one.count >= len(one.newest) > 0 and name for (_, name), one in found.items())
    assert list(find_entities(rows, 3, set(KINDS))) == list(found)


def test_what_is_shown_without_a_secret_does_not_name_it() -> None:
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    for n in range(2):
        add(content=f"Blue widget {n}: `{key}` is the token of src/auth.py.")
    for argv in (["entities"], ["entities", "--json"], ["topics"], ["topics", "--json"]):
        found = ok(*argv).text
        assert key not in found and key.lower() not in found
    assert "src/auth.py" in ok("entities").text
    assert ok("topics", "--json").json()["topics"][0]["count"] == 2


def test_a_title_that_ends_within_a_secret_shows_no_part_of_it() -> None:
    text = "The blue database is at https://admin:hunter2secretpassword@db.example.com/blue, and Redis beside it."
    add(content=text, title=text[:50])
    add(content=text.replace("blue", "green"), title=text.replace("blue", "green")[:50] + "…")
    for argv in (["graph"], ["graph", "--json"], ["recall", "the database"]):
        done = ok(*argv)
        assert "hunter2" not in done.text and "database" in done.text
    assert "2 redacted" in run("scan", "--store").notes
    assert "hunter2" not in ok("list").text and "The blue database" in ok("list").text
