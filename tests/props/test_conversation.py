"""Any text can be remembered or recorded, or is refused in a sentence; what is stored is text that can be stored."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl import errors
from memctl.context import Context, open_context
from memctl.ingest import turns
from memctl.ops.write.statements import propose, remember
from memctl.policy import MemoryPolicy
from stores import sessions

ANY = st.text(st.characters() | st.sampled_from("\0\r\n\ud800\u202e\u200b:[]{}\"'"), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["title", "content", "tags", "type", "why_store", "provenance_hint", "confidence", "rule_id"])
calmly = settings(max_examples=60)


@pytest.fixture
def ctx() -> Iterator[Context]:
    with open_context(":memory:") as context:
        context.allow("create")
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
@given(session_id=ANY, question=ANY, answer=ANY, sources=st.lists(ANY, max_size=3))
def test_record(ctx: Context, session_id: str, question: str, answer: str, sources: list[str]) -> None:
    policy = MemoryPolicy()
    try:
        name = turns.check_session_id(policy, session_id)
    except errors.SessionInvalid:
        return
    before = sessions.get_session(ctx.db, name)
    done = turns.record_turn(ctx.db, policy, session_id, question, answer, sources)
    assert done.number == (before.turns if before else 0) + 1
    (turn,) = sessions.list_turns(ctx.db, name, 1)
    assert turn.number == done.number
    assert turn.question.encode().decode() == turn.question
    assert len(turn.question) <= len(question) * 4 + 40
