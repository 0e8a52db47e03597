"""Going through a recorded loop again, without model or store: the same state machine, hence the same trace."""

from __future__ import annotations

from memctl import errors
from memctl.llm.controller import RECALL, State, after_recall, decide
from memctl.llm.protocol import Directive
from memctl.llm.trace import CONTINUE, LoopTrace, Recording


def replay(path: str, recorded: Recording) -> tuple[LoopTrace, ...]:
    """The trace that the recorded answers lead to.

    Files of older memctl do not say what their loop was given: their entries are taken as they are. Raises
    TraceInvalid when the record does not follow from what was recorded, which means that it was edited or is not whole.
    """
    plan = recorded.plan
    if plan is None:
        return recorded.traces
    state, action = State(0, (recorded.question,)), CONTINUE
    for was in recorded.traces:
        if action != CONTINUE:
            raise errors.TraceInvalid(path=path, reason=f"entry {state.calls + 1} follows one that ended the loop")
        state, action = decide(plan, state, _said(was), was.sim)
        if action == RECALL:
            action = after_recall(plan, was.new_items)
        if (state.calls, action) != (was.iter, was.action):
            raise errors.TraceInvalid(
                path=path, reason=f"entry {state.calls} says {was.action}, and what is recorded leads to {action}"
            )
    return recorded.traces


def _said(was: LoopTrace) -> Directive:
    query = was.query or ""
    return Directive("", bool(query), query, stop=was.action == "llm_stop", found=was.found)
