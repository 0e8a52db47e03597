"""One question after the other, under the documented names; `memctl chat` is the same with a terminal around it."""

from collections.abc import Callable
from typing import Any

from memctl import loop
from memctl.answering.chat import UNSURE as _UNCERTAINTY_MARKERS
from memctl.llm.working import ChatExchange, session_block
from memctl.mount import Path

__all__ = ["ChatSession", "chat_turn", "format_session_context"]


class ChatSession:
    """The turns so far, (question, answer) each, in memory only; `turn_count`: how many there were."""

    def __init__(self, history: list[tuple[str, str]] | None = None, turn_count: int | None = None) -> None:
        self.history = [] if history is None else history
        self.turn_count = len(self.history) if turn_count is None else turn_count


def format_session_context(session: ChatSession, history_turns: int = 5, budget_chars: int = 4000) -> str:
    """The newest turns that fit, oldest first, under a header; "" when there are none."""
    return session_block([ChatExchange(*turn) for turn in session.history], history_turns, budget_chars)


def chat_turn(
    question: str,
    llm_cmd: str,
    *,
    db_path: Path,
    session: ChatSession | None = None,
    history_turns: int = 5,
    session_budget: int = 4000,
    budget: int = 2200,
    protocol: str = "passive",
    max_calls: int = 1,
    mount_id: str | None = None,
    recaller: Callable[..., list[dict[str, Any]]] | None = None,
    loop_runner: Callable[..., Any] | None = None,
    **bounds: Any,
) -> str:
    """The answer to a question from what a store has; `session` learns the turn.

    recaller, loop_runner  in place of `loop.recall_items` and `loop.run_loop`; bounds: further keywords of the latter
    """
    found = (recaller or loop.recall_items)(db_path, question, 50, mount_id=mount_id)
    context = loop.merge_context("", found, set(), budget * 4)[0]
    before = "" if session is None else format_session_context(session, history_turns, session_budget)
    result = (loop_runner or loop.run_loop)(
        initial_context="\n\n".join(part for part in (before, context) if part), query=question, llm_cmd=llm_cmd,
        db_path=db_path, protocol=protocol, max_calls=max_calls, budget=budget + len(before) // 4, quiet=True, **bounds,
    )  # fmt: skip
    answer = str(result.answer)
    if session is not None:
        session.history.append((question, answer))
        session.turn_count += 1
    return answer


def _has_uncertainty(answer: str) -> bool:
    """Whether an answer says that the context did not suffice."""
    return any(phrase in answer.lower() for phrase in _UNCERTAINTY_MARKERS)
