"""--since, --until and --as-of: which items a read sees, and as what."""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import ids
from memctl.types import MemoryItem
from stores import STORE, add, change
from support import ok, operation, run

NOW = 1795176000.0  # 2026-11-20T12:00:00Z


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time it is, which a test may set."""
    now = [NOW]
    monkeypatch.setattr(ids, "now_seconds", lambda: now[0])
    return now


def made(item_id: str, when: str, content: str = "The gateway retries twice.", **fields: Any) -> None:
    add(content, id=item_id, created_at=when, updated_at=when, **fields)


def found(*argv: str) -> set[str]:
    return {entry["id"] for entry in ok(*argv, "--json").json()}


@pytest.fixture
def four() -> None:
    made("MEM-old", "2024-03-01T08:00:00.000000+00:00")
    made("MEM-space", "2026-11-13 12:00:00")  # as SQLite says it: exactly a week ago
    made("MEM-zone", "2026-11-19T23:30:00-02:00")  # 01:30 of the next day, UTC
    made("MEM-new", "2026-11-20T11:59:59.500000Z")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--since", "2024"], {"MEM-old", "MEM-space", "MEM-zone", "MEM-new"}),
        (["--until", "2024"], {"MEM-old"}),
        (["--since", "2024-03-01", "--until", "2024-03-01"], {"MEM-old"}),
        (["--until", "2024-02"], set()),
        (["--since", "7d"], {"MEM-space", "MEM-zone", "MEM-new"}),
        (["--since", "6d"], {"MEM-zone", "MEM-new"}),
        (["--since", "today"], {"MEM-zone", "MEM-new"}),
        (["--since", "yesterday", "--until", "yesterday"], set()),
        (["--since", "2026-11-20T11:59:59"], {"MEM-new"}),
        (["--until", "2026-11-20T03:30+02:00"], {"MEM-old", "MEM-space", "MEM-zone"}),
        (["--since", "2026-11-20 01:31"], {"MEM-new"}),
        (["--until", "2 years ago"], {"MEM-old"}),
    ],
)
def test_since_and_until(four: None, argv: list[str], expected: set[str]) -> None:
    assert found("search", "gateway", *argv) == expected
    assert found("list", *argv) == expected
    assert found("search", "", *argv) == expected
    assert {i["id"] for i in ok("recall", "gateway", *argv, "--json").json()["items"]} <= expected
    assert bool(ok("push", "gateway", *argv).out) == bool(expected)


def test_a_time_filters_before_the_limit(four: None) -> None:
    for number in range(30):
        made(f"MEM-{number}", "2026-11-20T10:00:00.000000+00:00", "gateway gateway gateway")
    assert found("search", "gateway", "--until", "2025", "-k", "1") == {"MEM-old"}
    assert "MEM-old" in ok("recall", "gateway", "--until", "2025", "--json").json()["items"][0]["id"]


@pytest.mark.parametrize("option", ["--since", "--until", "--as-of"])
@pytest.mark.parametrize("value", ["", "soon", "7m", "2026-13", "2026-02-30", "-3d", "99999999999999", "٣d", "1e3d"])
def test_what_is_no_time_is_an_error_with_a_hint(four: None, option: str, value: str) -> None:
    done = run("search", "gateway", f"{option}={value}")
    assert (done.code, done.out) == (1, b"")
    assert done.notes.startswith(f"memctl: {option}: ")
    assert "hint: for example 2026-11-20" in done.notes


def test_a_range_that_is_none_is_an_error(four: None) -> None:
    done = run("list", "--since", "2d", "--until", "7d")
    assert (done.code, done.out) == (1, b"")
    assert "later than --until" in done.notes


# --- as of -------------------------------------------------------------------------------------------------------

BEFORE, AFTER = "2026-11-20T12:30Z", "2026-11-20T14:00Z"


@pytest.fixture
def history(clock: list[float]) -> None:
    """At 12:00 three statements; at 13:00 one is superseded, one reworded, one archived, and a new one comes."""
    with change() as db:
        for item_id, content in (("MEM-a", "Deploys run on Mondays"), ("MEM-b", "The database is Postgres"),
                                 ("MEM-c", "Ada owns the gateway")):  # fmt: skip
            db.write(MemoryItem(id=item_id, content=content, title=item_id))
        clock[0] = NOW + 3600
        db.write(MemoryItem(id="MEM-d", content="Deploys run on Thursdays"))
        db.supersede_item("MEM-a", "MEM-d")
        db.update_item("MEM-b", {"content": "The database is Oracle", "tags": ["later"]})
        db.delete_item("MEM-c")
    clock[0] = NOW + 7200


def test_the_store_as_it_was(history: None) -> None:
    assert found("search", "deploys") == {"MEM-d"}
    assert found("search", "deploys", "--as-of", BEFORE) == {"MEM-a"}
    assert found("search", "deploys", "--as-of", AFTER) == {"MEM-d"}
    assert found("list") == {"MEM-b", "MEM-d"}
    assert found("list", "--as-of", BEFORE) == {"MEM-a", "MEM-b", "MEM-c"}
    assert found("list", "--as-of", "2026-11-19") == set()
    assert "Ada owns" in ok("recall", "who owns the gateway", "--as-of", BEFORE).text
    assert ok("recall", "who owns the gateway").out == b""
    assert "Mondays" in ok("push", "when do deploys run", "--as-of", BEFORE).text


def test_words_of_then_find_what_they_found(history: None) -> None:
    assert found("search", "postgres") == set()
    assert found("search", "postgres", "--as-of", BEFORE) == {"MEM-b"}
    assert found("search", "oracle", "--as-of", BEFORE) == set()
    assert found("search", "database", "--tags", "later", "--as-of", BEFORE) == set()
    (then,) = ok("search", "database", "--as-of", BEFORE, "--json").json()
    assert then["content_preview"] == "The database is Postgres"
    assert ok("search", "oracle", "--json").json()[0]["id"] == "MEM-b"


def test_looking_back_writes_nothing(history: None) -> None:
    before = Path(STORE).read_bytes()
    for argv in (["search", "postgres"], ["recall", "postgres"], ["list"]):
        ok(*argv, "--as-of", BEFORE)
    assert Path(STORE).read_bytes() == before
    os.chmod(STORE, 0o444)
    assert found("search", "postgres", "--as-of", BEFORE) == {"MEM-b"}


def test_one_handle_sees_today_again(history: None) -> None:
    from memctl.context import open_context

    search = operation("search")

    with open_context() as ctx:
        then = search(ctx, "database", as_of=BEFORE).found.candidates[0].content
        now = search(ctx, "database").found.candidates[0].content
    assert (then, now) == ("The database is Postgres", "The database is Oracle")


def test_expiry_is_told_by_the_moment(clock: list[float]) -> None:
    made("MEM-x", "2026-11-01T00:00:00.000000+00:00", expires_at="2026-11-10T00:00:00.000000+00:00")
    assert found("list") == set()
    assert found("list", "--as-of", "2026-11-05") == {"MEM-x"}
    assert found("list", "--as-of", "2026-11-15") == set()


def test_what_is_held_back_today_is_held_back_in_the_past(history: None) -> None:
    with change() as db:
        db.update_item("MEM-b", {"injectable": False})
        db.update_item("MEM-c", {"validation": "retracted", "archived": False})
    assert ok("recall", "postgres", "--as-of", BEFORE).out == b""
    assert ok("recall", "gateway owns", "--as-of", BEFORE).out == b""
    assert ok("search", "postgres", "--as-of", BEFORE, "--json").json() == []
    shown = ok("search", "postgres", "--as-of", BEFORE, "--json", "--quarantined").json()
    assert shown[0]["quarantined"] is True


def test_what_a_scan_blotted_out_stays_so(clock: list[float]) -> None:
    secret = "ghp_" + "Zk3vQ9wLx7Rt2YbN5mHc8PdJ4sGf6A1uE0oT"
    made("MEM-s", "2026-11-20T12:00:00.000000+00:00", f"the deploy token is {secret} for the gateway")
    clock[0] = NOW + 3600
    assert run("scan", "--store").code == 1  # something was found
    clock[0] = NOW + 7200
    for argv in (["search", "deploy"], ["recall", "deploy"], ["list"]):
        done = ok(*argv, "--as-of", BEFORE)
        assert done.out
        assert secret[:12] not in done.text


def test_an_older_programs_store_can_be_looked_back_into(clock: list[float]) -> None:
    import sqlite3

    script = (Path(__file__).parents[1] / "data" / "memctl_v1.sql").read_text(encoding="utf-8")
    conn = sqlite3.connect("old.db")
    conn.executescript(script)
    conn.close()
    today = found("list", "--all-scopes", "--db", "old.db")
    assert today
    assert found("list", "--all-scopes", "--db", "old.db", "--as-of", "now") == today
    assert found("list", "--all-scopes", "--db", "old.db", "--as-of", "1990") == set()


def test_what_is_ingested_now_was_not_there(history: None) -> None:
    Path("a.md").write_text("gateway")
    done = run("push", "gateway", "--source", "a.md", "--as-of", "1d")
    assert (done.code, done.out) == (1, b"")
    assert "--as-of" in done.notes


@given(
    st.datetimes().filter(lambda moment: 1 < moment.year < 9999), st.sampled_from(["Z", "+00:00", "+02:00", ""]),
    st.sampled_from(["seconds", "microseconds", "milliseconds"]),
)  # fmt: skip
def test_sql_makes_of_a_stored_time_what_python_does(moment: datetime, zone: str, exactness: str) -> None:
    import sqlite3

    from memctl.store.filters import utc, utc_of

    text = moment.isoformat(timespec=exactness) + zone
    conn = sqlite3.connect(":memory:")
    conn.create_function("memctl_utc", 1, utc)
    assert conn.execute(f"SELECT {utc_of('t')} FROM (SELECT ? AS t)", (text,)).fetchone() == (utc(text),)
    conn.close()
