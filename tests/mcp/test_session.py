"""Sessions and turns."""

import pytest

from memctl.mcp.session import DEFAULT_SESSION_ID, SessionState, SessionTracker


@pytest.mark.parametrize("given", [None, "", "  ", "default"])
def test_a_session_without_a_name_is_the_default_one(given: str | None) -> None:
    sessions = SessionTracker()
    assert sessions.resolve_session_id(given) == DEFAULT_SESSION_ID == "default"
    assert sessions.get_or_create(given) is sessions.get_or_create()


def test_a_turn_begins_with_nothing_written() -> None:
    state = SessionState()
    state.record_write()
    state.record_write()
    assert (state.turn_count, state.writes_this_turn) == (0, 2)
    assert state.increment_turn() == 1
    assert (state.turn_count, state.writes_this_turn) == (1, 0)
    assert state.increment_turn() == 2


def test_a_name_from_a_client_is_one_short_line() -> None:
    sid = SessionTracker().resolve_session_id("a\nb\x1b[31m" + "x" * 1000)
    assert sid.startswith("a?b?[31mxxx")
    assert len(sid) == 64


def test_many_sessions_take_no_more_room_and_the_silent_one_goes_first() -> None:
    sessions = SessionTracker(max_sessions=3)
    first = sessions.get_or_create("first")
    for name in "abcdefg":
        sessions.get_or_create(name)
        assert sessions.get_or_create("first") is first
    assert len(sessions) == 3
    assert sessions.get_or_create("a").turn_count == 0


def test_reset_forgets_one_or_all() -> None:
    sessions = SessionTracker()
    one, two = sessions.get_or_create("one"), sessions.get_or_create("two")
    sessions.reset("one")
    assert sessions.get_or_create("one") is not one
    assert sessions.get_or_create("two") is two
    sessions.reset()
    assert sessions.get_or_create("two") is not two
