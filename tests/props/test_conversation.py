"""Any text can be remembered or recorded, or is refused in a sentence; what is stored is text that can be stored."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memctl import errors
from memctl.context import Context, open_context
from stores import empty
from support import examples, operation

propose = operation("propose")
remember = operation("remember")
session = operation("session")
session_inject = operation("session-inject")
session_store = operation("session-store")

ANY = st.text(st.characters() | st.sampled_from("\0\r\n\ud800\u202e\u200b:[]{}\"'"), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["title", "content", "tags", "type", "why_store", "provenance_hint", "confidence", "rule_id"])
calmly = examples(60)


@pytest.fixture
def ctx() -> Iterator[Context]:
    with open_context(empty("m.db")) as context:
        yield context


@calmly
@given(text=ANY, title=ANY, why=ANY, tags=st.lists(ANY, max_size=3))
def test_remember(ctx: Context, text: str, title: str, why: str, tags: list[str]) -> None:
    try:
        done = remember(ctx, [text], title=title, why=why, tags=tags)
    except (errors.NothingStored, errors.UsageError, errors.EmptyInput):
        return
    row = ctx.db.row("SELECT title, content FROM memory_items WHERE id = ?", (done.as_dict()["id"],))
    assert row is not None
    assert all("\0" not in part and part.encode() for part in row)


@calmly
@given(items=st.lists(st.dictionaries(KEYS, JSON, max_size=5), max_size=4))
def test_propose(ctx: Context, items: list[dict[str, object]]) -> None:
    done = propose(ctx, items).as_dict()
    assert len(done["items"]) == len(items)
    assert done["accepted"] + done["rejected"] + done["duplicate"] == len(items)


@calmly
@given(session_id=ANY, question=ANY, answer=ANY)
@example(session_id="\ud800", question="", answer="")
def test_record(ctx: Context, session_id: str, question: str, answer: str) -> None:
    counts = {one["session_id"]: one["turn_count"] for one in session(ctx, "list").as_dict()["sessions"]}
    try:
        number = session_inject(ctx, question, session_id).as_dict()["session_turn"]
    except errors.SessionInvalid:
        return
    newest = session(ctx, "list", limit=1).as_dict()["sessions"][0]["session_id"]
    assert number == counts.get(newest, 0) + 1
    session_store(ctx, answer, session_id)
    (turn,) = session(ctx, "show", newest, limit=1).as_dict()["turns"]
    assert turn["number"] >= number
    for said, kept in ((question, turn["question"]), (answer, turn["answer"])):
        assert kept.encode().decode() == kept
        assert len(kept) <= len(said) * 4 + 40
