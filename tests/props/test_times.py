"""Times and the past: any text is a time or an error, and looking back shows what was seen then."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl import ids
from memctl.retrieve.find import search
from memctl.text import times
from memctl.types import MemoryItem
from stores import MEMORY, Filters, as_of, attributes, items, open_write, utc

NOW = 1795176000.0
PIECES = st.sampled_from(
    ["2026", "-", "11", "20", "T", " ", "15:30", ":26", ".5", "Z", "+02:00", "7", "d", "ago", "mo", "@"]
)


@given(text=st.text(max_size=30) | st.lists(PIECES, max_size=9).map("".join))
def test_any_text_is_a_span_or_an_error(text: str) -> None:
    try:
        first, last = times.span(text, NOW)
    except ValueError:
        return
    assert first <= last
    assert (utc(first), utc(last)) == (first, last)


@given(seconds=st.floats(0, 4e9))
def test_our_own_times_mean_themselves(seconds: float) -> None:
    stamp = ids.timestamp(seconds)
    assert times.span(stamp, NOW) == (stamp, stamp)
    assert utc(stamp.replace("+00:00", "Z").replace("T", " ")) == stamp


WORDS = ("alpha", "beta", "gamma")
STEPS = st.tuples(
    st.sampled_from(["write", "reword", "retag", "archive", "restore", "supersede"]),
    st.integers(0, 4),
    st.sampled_from(WORDS),
)


def seen(db: Any, filters: Filters) -> list[Any]:
    """What reads show: the list, and what each word finds."""
    listed = [(i.id, i.content, i.tags, i.superseded_by) for i in items.list_items(db, filters)]
    found = [sorted((c.id, c.content) for c in search(db, word, filters=filters).candidates) for word in WORDS]
    return [sorted(listed, key=repr), *found]


def do(db: Any, step: tuple[str, int, str], number: int) -> None:
    kind, which, word = step
    there = [item.id for item in items.list_items(db, Filters(archived=True))]
    if kind == "write" or not there:
        items.write_many(db, [MemoryItem(id=f"MEM-{number}", content=f"{word} {number}")], "made", compact=which > 2)
        return
    chosen = sorted(there)[which % len(there)]
    if kind == "supersede":
        attributes.supersede(db, chosen, min(there))
    elif kind in ("archive", "restore"):
        items.update(db, chosen, {"archived": kind == "archive"}, compact=which > 2)
    else:
        items.update(db, chosen, {"content": f"{word} again"} if kind == "reword" else {"tags": [word]})


@settings(max_examples=40)
@given(steps=st.lists(STEPS, min_size=1, max_size=8))
def test_looking_back_shows_what_was_seen(monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int, str]]) -> None:
    clock = [NOW]
    monkeypatch.setattr(ids, "now_seconds", lambda: clock[0])
    db = open_write(MEMORY, create=True)
    past: dict[str, list[Any]] = {}
    for number, step in enumerate(steps):
        clock[0] += 60
        do(db, step, number)
        past[ids.timestamp()] = seen(db, Filters())
    clock[0] += 60
    for moment, shown in past.items():
        with as_of.view_as_of(db, moment):
            assert seen(db, Filters(as_of=moment)) == shown
    db.close()
