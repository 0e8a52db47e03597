"""Times and the past: any text is a time or an error, and looking back shows what was seen then."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryItem, ids
from memctl.context import Context, open_context
from memctl.store.filters import utc
from memctl.text import times
from stores import Store, change, empty
from support import examples, operation

list_ = operation("list")
search = operation("search")

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


def seen(ctx: Context, **how: Any) -> list[Any]:
    """What reads show: the list, and what each word finds."""
    listed = [(i["id"], i["title"], i["tags"], i["archived"]) for i in list_(ctx, archived=True, **how).as_json()]
    found = [
        sorted((hit["id"], hit["content_preview"]) for hit in search(ctx, word, **how).as_json()) for word in WORDS
    ]
    return [sorted(listed, key=repr), *found]


def do(store: Store, step: tuple[str, int, str], number: int) -> None:
    kind, which, word = step
    there = sorted(item.id for item in store.items(archived=True))
    chosen = there[which % len(there)] if there else f"MEM-{number}"
    if kind == "write" or not there:
        chosen = f"MEM-{number}"
        store.write(MemoryItem(id=chosen, title=word, content=f"{word} {number}"), "made")
    elif kind == "supersede":
        store.supersede_item(chosen, there[0])
    elif kind == "archive":
        store.delete_item(chosen)
    else:
        fields: dict[str, dict[str, Any]] = {
            "restore": {"archived": False},
            "reword": {"title": word, "content": f"{word} again"},
            "retag": {"tags": [word]},
        }
        store.update_item(chosen, fields[kind])
    if which > 2:  # the newest revision says "as the row still is"
        newest = "revision_num = (SELECT max(revision_num) FROM memory_revisions WHERE item_id = ?)"
        store.run(f"UPDATE memory_revisions SET snapshot = '{{}}' WHERE item_id = ? AND {newest}", (chosen, chosen))


@examples(40)
@given(steps=st.lists(STEPS, min_size=1, max_size=8))
def test_looking_back_shows_what_was_seen(monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int, str]]) -> None:
    clock = [NOW]
    monkeypatch.setattr(ids, "now_seconds", lambda: clock[0])
    past: dict[str, list[Any]] = {}
    empty("m.db")
    with change("m.db") as store, open_context("m.db") as ctx:
        for number, step in enumerate(steps):
            clock[0] += 60
            do(store, step, number)
            past[ids.timestamp()] = seen(ctx)
        clock[0] += 60
        for moment, shown in past.items():
            assert seen(ctx, as_of=moment) == shown
