"""The bounded loop of answer and recall: the model only proposes queries, this decides what happens.

`decide` is the state machine, pure: what an answer says goes in, an action comes out. `run_loop` drives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from memctl.errors import ProtocolBroken
from memctl.llm.command import Answer
from memctl.llm.prompt import build_prompt
from memctl.llm.protocol import Directive, parse_directive
from memctl.llm.stream import Gate
from memctl.llm.trace import CONTINUE, LoopTrace
from memctl.llm.working import Found, Working
from memctl.text.similarity import is_query_cycle, similarity

#: What `decide` wants done before it is known how to go on.
RECALL = "recall"
#: Stopping for one of these means that the answer is the model's last word.
CONVERGED = ("llm_stop", "fixed_point")

Recall = Callable[[str, int], Found]


class Plan(NamedTuple):
    """The bounds of a loop.

    protocol         how the model says whether it needs more: json, regex, passive
    max_calls        the model is asked at most so often
    threshold        two answers at least this alike are the same
    query_threshold  a query at least this alike to the latest asks the same
    stable_steps     so many answers in a row that are the same as the one before them end the loop
    stop_on_no_new   end when a query brings nothing into the context that was not there
    strict           an answer that does not follow the protocol is an error
    budget           tokens of the context; what is recalled later makes room for itself
    system_prompt    the caller's own words, before the context
    """

    protocol: str = "json"
    max_calls: int = 3
    threshold: float = 0.92
    query_threshold: float = 0.90
    stable_steps: int = 2
    stop_on_no_new: bool = True
    strict: bool = False
    budget: int = 2200
    system_prompt: str = ""


class State(NamedTuple):
    """What the loop remembers: calls so far, queries so far (the question first), answers in a row that stayed."""

    calls: int
    queries: tuple[str, ...]
    stable: int = 0


class LoopResult(NamedTuple):
    """How a loop ended.

    answer       the last answer that says something, without the directive
    iterations   how often the model was asked
    converged    it stopped of itself, or said the same again; False for everything else
    traces       one entry for each call
    stop_reason  the last entry's action
    context      what the last prompt held as context
    ids          items that were recalled into it while the loop ran
    truncated    an answer was cut, because it was too long
    """

    answer: str
    iterations: int
    converged: bool
    traces: tuple[LoopTrace, ...]
    stop_reason: str
    context: str = ""
    ids: tuple[str, ...] = ()
    truncated: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The documented keys."""
        return {
            "answer": self.answer, "iterations": self.iterations, "converged": self.converged,
            "stop_reason": self.stop_reason, "traces": [trace.as_dict() for trace in self.traces],
        }  # fmt: skip


def decide(plan: Plan, state: State, said: Directive, sim: float | None) -> tuple[State, str]:
    """What an answer leads to: RECALL with its query, or the reason to stop.

    sim  how alike it is to the answer before it; None as long as there is none
    """
    stable = state.stable + 1 if sim is not None and sim >= plan.threshold else 0
    queries = (*state.queries, said.query) if said.need_more else state.queries
    after = State(state.calls + 1, queries, stable)
    if not said.found:
        return after, "unparsable"
    if said.stop or not said.need_more:
        return after, "llm_stop"
    if stable >= plan.stable_steps:
        return after, "fixed_point"
    if is_query_cycle(said.query, state.queries, plan.query_threshold):
        return after, "query_cycle"
    return after, RECALL if after.calls < plan.max_calls else "max_calls"


def after_recall(plan: Plan, new_items: int) -> str:
    """How to go on when a query has brought so many new items into the context."""
    return CONTINUE if new_items or not plan.stop_on_no_new else "no_new_items"


def run_loop(
    plan: Plan,
    context: str,
    query: str,
    *,
    ask: Callable[..., Answer],
    recall: Recall,
    on_trace: Callable[[LoopTrace], None] | None = None,
    stream: Callable[[str], None] | None = None,
) -> LoopResult:
    """Ask until one of the bounds is reached.

    context   what the first prompt holds; it keeps its best part when it has to make room
    ask       asks the model: `ask(prompt)`, or `ask(prompt, on_text=...)` when there is a `stream`
    recall    what the store has for a query, in about so many tokens; what the context says already is left out
    on_trace  gets each trace entry when it is made
    stream    gets the answer in pieces, as soon as it is known to be the last one, and a line break after it
    Raises ProtocolBroken, and what `ask` and `recall` raise.
    """
    working = Working(context, plan.budget, query)
    state, refined, truncated = State(0, (query,)), "", False
    traces: list[LoopTrace] = []
    before: str | None = None
    while True:
        last = state.calls + 1 >= plan.max_calls
        prompt = build_prompt(
            working.text, query, system_prompt=plan.system_prompt, protocol=plan.protocol, refined=refined, last=last
        )
        gate = None if stream is None else Gate(plan.protocol, stream, last=last)
        answer = ask(prompt) if gate is None else ask(prompt, on_text=gate.feed)
        truncated = truncated or answer.truncated
        said = _read(plan, answer.text, state.calls + 1)
        sim = None if before is None else round(similarity(before, said.answer), 4)
        state, action = decide(plan, state, said, sim)
        new = 0
        if action == RECALL:
            new = working.more(said.query, recall)
            action = after_recall(plan, new)
        latest = said.answer or before or ""  # a model that only asks for more has not answered better
        if gate is not None and action != CONTINUE:
            gate.finish(latest)
        traces.append(LoopTrace(state.calls, said.query or None, new, sim, action, said.found))
        if on_trace is not None:
            on_trace(traces[-1])
        if action != CONTINUE:
            return LoopResult(
                latest, state.calls, action in CONVERGED, tuple(traces), action, working.text, working.ids,
                truncated,
            )  # fmt: skip
        before, refined = latest or None, said.query


def _read(plan: Plan, text: str, call: int) -> Directive:
    said = parse_directive(text, plan.protocol)
    if plan.strict and not said.found:
        raise ProtocolBroken(call=call)
    return said
