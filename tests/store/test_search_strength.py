"""Ranking by what is known beside the words: newness, use, importance, validation; each can be turned off."""

from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryStore
from memctl.names import STRENGTH
from memctl.retrieve.candidates import SearchResult
from memctl.retrieve.explain import reasons
from memctl.retrieve.find import search
from memctl.store.connect import MEMORY, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import attributes, items
from memctl.types import MemoryItem
from support import ok, run

SETTINGS = Path(".memory/config.json")
VALIDATIONS = ("verified", "unverified", "contested", "retracted", "odd")
NONE = {"recency": 0, "recency_days": 1, "use": 0, "importance": 0, "validation": 0}


def ago(days: float) -> str:
    return (datetime.now(timezone.utc) - timedelta(days=days)).isoformat()


def put(db: Database, name: str, **fields: Any) -> str:
    """A statement that answers like any other put here, unless it is told apart by what the fields say."""
    fields.setdefault("created_at", ago(400))
    matters = fields.pop("matters", None)
    item = MemoryItem(id=f"MEM-{name}", content=f"The deploy window was set by {name}.", **fields)
    items.write(db, item)
    if matters is not None:
        attributes.set_importance(db, {item.id: matters})
    return item.id


def find(db: Database, weights: Mapping[str, float] = STRENGTH, **filters: Any) -> SearchResult:
    return search(db, "who set the deploy window?", filters=Filters(**filters), weights=weights)


def parts(found: SearchResult, item_id: str) -> dict[str, float]:
    return reasons(found, next(c for c in found.candidates if c.id == item_id))


@pytest.mark.parametrize(
    ("part", "better", "worse"),
    [
        ("recency", {"created_at": ago(1)}, {"created_at": ago(60)}),
        ("use", {"usage_count": 5, "last_used_at": ago(1)}, {"usage_count": 1, "last_used_at": ago(1)}),
        ("use", {"usage_count": 5, "last_used_at": ago(1)}, {"usage_count": 5, "last_used_at": ago(90)}),
        ("importance", {"matters": 0.9}, {"matters": 0.6}),
        ("importance", {}, {"matters": 0.2}),
        ("validation", {"validation": "verified"}, {}),
        ("validation", {}, {"validation": "contested"}),
        ("validation", {"validation": "contested"}, {"validation": "retracted"}),
    ],
)
def test_of_two_that_answer_as_well_the_stronger_comes_first(
    db: Database, part: str, better: dict[str, Any], worse: dict[str, Any]
) -> None:
    put(db, "Zoe", **better)
    put(db, "Ann", **worse)
    found = find(db)
    assert [c.id for c in found.candidates] == ["MEM-Zoe", "MEM-Ann"]
    first, second = (parts(found, c.id).get(part, 0.0) for c in found.candidates)
    assert first > second
    without = find(db, NONE)
    assert not {"recency", "use", "importance", "validation"} & parts(without, "MEM-Zoe").keys()
    assert {c.score for c in without.candidates} == {without.candidates[0].score}


def test_the_parts_and_the_rest_make_the_score(db: Database) -> None:
    put(db, "Zoe", created_at=ago(0), usage_count=9, last_used_at=ago(0), matters=1.0, validation="verified")
    found = find(db)
    told = parts(found, "MEM-Zoe")
    rest = find(db, NONE).candidates[0].score
    assert told["recency"] == pytest.approx(0.1 * rest, abs=1e-4)
    assert told["use"] == pytest.approx(0.05 * 9 / 13 * rest, abs=1e-4)
    assert told["importance"] == pytest.approx(0.2 * rest, abs=1e-4)
    assert told["validation"] == pytest.approx(0.1 * rest, abs=1e-4)
    assert sum(told.values()) == pytest.approx(found.candidates[0].score, abs=1e-3)


def test_no_part_makes_an_answer_of_what_answers_badly(db: Database) -> None:
    put(db, "Ann", validation="contested", matters=0.0)
    strong: dict[str, Any] = {"usage_count": 999, "last_used_at": ago(0), "validation": "verified"}
    items.write(db, MemoryItem(id="MEM-weak", content="A window of the old house is broken.", **strong))
    attributes.set_importance(db, {"MEM-weak": 1.0})
    assert [c.id for c in find(db).candidates] == ["MEM-Ann", "MEM-weak"]


def test_items_that_are_alike_in_it_keep_their_scores_in_proportion(db: Database) -> None:
    for n in range(12):
        items.write(db, MemoryItem(id=f"MEM-{n}", content="deploy window " + "and other words " * n))
    now, plain = find(db).candidates, find(db, NONE).candidates
    assert [c.id for c in now] == [c.id for c in plain]
    ratios = [one.score / other.score for one, other in zip(now, plain, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * len(now))


def test_half_of_the_newness_is_left_after_recency_days(db: Database) -> None:
    put(db, "Ann", created_at=ago(10))
    weights = STRENGTH | {"recency": 0.4, "recency_days": 10}
    assert parts(find(db, weights), "MEM-Ann")["recency"] == pytest.approx(
        0.2 * find(db, NONE).candidates[0].score, abs=1e-4
    )


def test_a_look_at_the_past_sees_the_newness_of_then(db: Database) -> None:
    put(db, "Ann", created_at=ago(200))
    assert "recency" not in {name for name, share in parts(find(db), "MEM-Ann").items() if share > 0.01}
    then = find(db, as_of=ago(200 - 1 / 24))
    assert parts(then, "MEM-Ann")["recency"] == pytest.approx(0.1 * find(db, NONE).candidates[0].score, abs=1e-2)


@pytest.mark.parametrize(
    "stamp", ["", "yesterday", "9999-99-99", "\x00", "3026-01-01T00:00:00+00:00", 5, b"\xff", None]
)
def test_times_and_counts_that_are_none_are_no_reason_and_no_error(db: Database, stamp: Any) -> None:
    put(db, "Ann")
    with db.atomic():
        db.run(
            "UPDATE memory_items SET created_at = coalesce(?, ''), last_used_at = ?, usage_count = 'x'", (stamp,) * 2
        )
    assert [c.id for c in find(db).candidates] == ["MEM-Ann"]


def test_a_use_counts_at_once(db: Database) -> None:
    put(db, "Ann")
    put(db, "Zoe")  # the newer of equals
    assert [c.id for c in find(db).candidates] == ["MEM-Zoe", "MEM-Ann"]
    items.mark_used(db, ["MEM-Ann"])
    assert [c.id for c in find(db).candidates] == ["MEM-Ann", "MEM-Zoe"]


def test_a_store_without_the_table_of_importance_is_read(db: Database) -> None:
    put(db, "Ann")
    with db.atomic():
        db.run("DROP TABLE memory_importance")
    db.look()
    assert parts(find(db), "MEM-Ann").keys() >= {"words"}


days = st.none() | st.dates().map(str) | st.integers(-(10**9), 10**9).map(str)


@given(days, st.integers(-(2**63), 2**63 - 1), days, st.none() | st.floats(0, 1), st.sampled_from(VALIDATIONS))
def test_no_life_counts_more_than_its_weights(
    made: str | None, uses: int, used: str | None, matters: float | None, validation: str
) -> None:
    with closing(open_write(MEMORY, create=True)) as db:
        put(db, "Ann", matters=matters)
        with db.atomic():
            db.run(
                "UPDATE memory_items "
                "SET created_at = coalesce(?, ''), usage_count = ?, last_used_at = ?, validation = ?",
                (made, uses, used, validation),
            )
        found = parts(find(db), "MEM-Ann")
        before = sum(added for name, added in found.items() if name not in STRENGTH)
        assert {name for name in STRENGTH if abs(found.get(name, 0)) > STRENGTH[name] * before + 0.001} == set()


def test_newer_never_counts_less(db: Database) -> None:
    names = [put(db, f"n{age}", created_at=ago(age)) for age in range(0, 400, 40)]
    found = find(db)
    gained = [parts(found, name).get("recency", 0) for name in names]
    assert gained[0] > gained[3] > gained[-1]
    assert all(newer >= older for newer, older in pairwise(gained))


# --- through the doors ------------------------------------------------------------------------------------------


@pytest.fixture
def two() -> None:
    """An older statement that answers a little better, and a newer one."""
    old, new = ago(300), ago(0)
    lines = (
        f'{{"content": "The deploy window is Friday.", "created_at": "{old}"}}',
        f'{{"content": "The deploy window is Tuesday now, as was agreed.", "created_at": "{new}"}}',
    )
    ok("import", "--preserve-ids", stdin="\n".join(lines))


def first(*argv: str) -> str:
    out = ok(*argv, "when is the deploy window?").text
    return min(("Friday", "Tuesday"), key=lambda day: out.index(day) if day in out else len(out))


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("argv", [("search",), ("recall", "--no-header"), ("push",)])
def test_config_json_turns_it_up_and_off(argv: tuple[str, ...]) -> None:
    SETTINGS.write_text('{"recall": {"recency": 0}}', encoding="utf-8")
    assert first(*argv) == "Friday"
    SETTINGS.write_text('{"recall": {"recency": 1}}', encoding="utf-8")
    assert first(*argv) == "Tuesday"


@pytest.mark.usefixtures("two")
def test_eval_measures_the_search_that_is_set() -> None:
    newer = ok("search", "agreed", "--json").json()[0]["id"]
    question = f'{{"question": "when is the deploy window?", "expected": "{newer}"}}'
    for share, mrr in ((0, 0.5), (1, 1.0)):
        SETTINGS.write_text(f'{{"recall": {{"recency": {share}}}}}', encoding="utf-8")
        assert ok("eval", "-", "--json", stdin=question).json()["mrr"] == mrr


@pytest.mark.usefixtures("two")
def test_a_program_searches_with_the_same_settings() -> None:
    for share, day in ((0, "Friday"), (1, "Tuesday")):
        SETTINGS.write_text(f'{{"recall": {{"recency": {share}}}}}', encoding="utf-8")
        with MemoryStore(".memory/memory.db") as store:
            assert day in store.search_fulltext("when is the deploy window?")[0].content


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("value", ["2", '"much"', "-0.1", "true"])
def test_a_setting_out_of_range_is_an_error_in_words(value: str) -> None:
    SETTINGS.write_text(f'{{"recall": {{"use": {value}}}}}', encoding="utf-8")
    done = run("search", "deploy window")
    assert done.code == 1
    assert "recall.use" in done.err.decode()
