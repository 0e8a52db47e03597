"""The bounded loop of answer and recall, its trace, and the replay of one: the model proposes queries, this decides.

`decide` is the state machine, pure: what an answer says goes in, an action comes out. `run_loop` drives it. A trace has
one entry a call, as JSON lines; `replay` takes it through the same state machine again, without model or store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from memctl import errors
from memctl.llm.command import ModelAnswer
from memctl.llm.protocol import AnswerStream, Directive, build_prompt, parse_directive
from memctl.llm.working import RecalledPassages, WorkingContext
from memctl.text import jsons
from memctl.text.similarity import is_query_cycle, similarity

#: The one action that does not end a loop, and all of them.
CONTINUE = "continue"
ACTIONS = (CONTINUE, "llm_stop", "fixed_point", "query_cycle", "no_new_items", "max_calls", "unparsable")
#: What `decide` wants done before it is known how to go on.
RECALL = "recall"
#: Stopping for one of these means that the answer is the model's last word.
CONVERGED = ("llm_stop", "fixed_point")

Recall = Callable[[str, int], RecalledPassages]


class LoopPlan(NamedTuple):
    """The bounds of a loop.

    protocol         how the model says whether it needs more: json, regex, passive
    max_calls        how often the model is asked at most
    threshold        two answers at least this alike are the same
    query_threshold  a query at least this alike to the latest asks the same
    stable_steps     how many answers in a row, each the same as the one before it, end the loop
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


#: The documented name.
Plan = LoopPlan
#: What a trace file says of the plan, with its first entry: a file that has it can be replayed.
_BOUNDS = LoopPlan._fields[:-1]


class LoopState(NamedTuple):
    """What the loop remembers: calls so far, queries so far (the question first), answers in a row that stayed."""

    calls: int
    queries: tuple[str, ...]
    stable: int = 0


class LoopTrace(NamedTuple):
    """What one call led to.

    iter       the number of the call, from 1
    query      what the model wants the store searched for, None when nothing
    new_items  items that reached the next prompt and were not in this one
    sim        how alike the answer is to the one before it (4 decimals), None as long as there is none
    action     continue, or why the loop stopped
    found      the answer had a directive, or needed none
    """

    iter: int
    query: str | None
    new_items: int
    sim: float | None
    action: str
    found: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The five documented keys."""
        return dict(zip(self._fields[:5], self[:5], strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The same, under its older name."""
        return self.as_dict()

    def line(self) -> str:
        """The documented line."""
        return json.dumps(self.as_dict(), ensure_ascii=False)


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
    traces: tuple[LoopTrace, ...] = ()
    stop_reason: str = ""
    context: str = ""
    ids: tuple[str, ...] = ()
    truncated: bool = False


def decide(plan: LoopPlan, state: LoopState, said: Directive, sim: float | None) -> tuple[LoopState, str]:
    """What an answer leads to: RECALL with its query, or the reason to stop.

    sim  how alike it is to the answer before it; None as long as there is none
    """
    stable = state.stable + 1 if sim is not None and sim >= plan.threshold else 0
    queries = (*state.queries, said.query) if said.need_more else state.queries
    after = LoopState(state.calls + 1, queries, stable)
    if not said.found:
        return after, "unparsable"
    if said.stop or not said.need_more:
        return after, "llm_stop"
    if stable >= plan.stable_steps:
        return after, "fixed_point"
    if is_query_cycle(said.query, state.queries, plan.query_threshold):
        return after, "query_cycle"
    return after, RECALL if after.calls < plan.max_calls else "max_calls"


def run_loop(
    plan: LoopPlan,
    context: str,
    query: str,
    *,
    ask: Callable[..., ModelAnswer],
    recall: Recall,
    on_trace: Callable[[LoopTrace], None] | None = None,
    stream: Callable[[str], None] | None = None,
) -> LoopResult:
    """Ask until one of the bounds is reached.

    context   what the first prompt holds; it keeps its best part when it has to make room
    ask       asks the model: `ask(prompt)`, or `ask(prompt, on_text=...)` when there is a `stream`
    recall    what the store has for a query, in about that number of tokens; what the context says already is left out
    on_trace  gets each trace entry when it is made
    stream    gets the answer in pieces, as soon as it is known to be the last one, and a line break after it
    Raises ProtocolBroken, and what `ask` and `recall` raise.
    """
    working = WorkingContext(context, plan.budget, query)
    state, refined, truncated = LoopState(0, (query,)), "", False
    traces: list[LoopTrace] = []
    before: str | None = None
    while True:
        last = state.calls + 1 >= plan.max_calls
        prompt = build_prompt(
            working.text, query, system_prompt=plan.system_prompt, protocol=plan.protocol, refined=refined, last=last
        )
        shown = None if stream is None else AnswerStream(plan.protocol, stream, last=last)
        answer = ask(prompt) if shown is None else ask(prompt, on_text=shown.feed)
        truncated = truncated or answer.truncated
        said = parse_directive(answer.text, plan.protocol)
        if plan.strict and not said.found:
            raise errors.ProtocolBroken(call=state.calls + 1)
        sim = None if before is None else round(similarity(before, said.answer), 4)
        state, action = decide(plan, state, said, sim)
        new = 0
        if action == RECALL:
            new = working.extend(said.query, recall)
            action = CONTINUE if new or not plan.stop_on_no_new else "no_new_items"
        latest = said.answer or before or ""  # a model that only asks for more has not answered better
        if shown is not None and action != CONTINUE:
            shown.finish(latest)
        traces.append(LoopTrace(state.calls, said.query or None, new, sim, action, said.found))
        if on_trace is not None:
            on_trace(traces[-1])
        if action != CONTINUE:
            return LoopResult(
                latest, state.calls, action in CONVERGED, tuple(traces), action, working.text, working.ids,
                truncated,
            )  # fmt: skip
        before, refined = latest or None, said.query


# --- trace files and their replay ---------------------------------------------------------------------------------

_KINDS: dict[str, tuple[type, ...]] = {
    "iter": (int,), "query": (str, type(None)), "new_items": (int,), "sim": (int, float, type(None)),
    "action": (str,), "found": (bool,),
}  # fmt: skip


class RecordedLoop(NamedTuple):
    """A trace file that was read: the entries, and what the loop was given; None in files of older memctl."""

    traces: tuple[LoopTrace, ...]
    plan: LoopPlan | None = None
    question: str = ""


def trace_file_line(trace: LoopTrace, plan: LoopPlan, question: str) -> str:
    """The line of a trace file: the documented keys first, then what a replay needs."""
    entry = trace.as_dict() | {"found": trace.found}
    if trace.iter == 1:
        entry |= {"question": question, "plan": {name: getattr(plan, name) for name in _BOUNDS}}
    return json.dumps(entry, ensure_ascii=False)


def read_trace_file(path: str, lines: Iterable[str]) -> RecordedLoop:
    """What stands in a trace file. Raises TraceInvalid, one sentence that names the line."""
    traces: list[LoopTrace] = []
    first: dict[str, Any] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value, end = jsons.read(line, jsons.after_blanks(line))
            if line[end:].strip():
                raise ValueError("more than one JSON value")
            traces.append(_read_entry(value))
        except ValueError as exc:
            raise errors.TraceInvalid(path=path, reason=f"line {number}: {exc}") from exc
        first = first or value
    plan, default = first.get("plan"), LoopPlan()._asdict()
    if plan is not None and (not isinstance(plan, dict) or set(plan) != set(_BOUNDS)):
        raise errors.TraceInvalid(path=path, reason="'plan' in its first entry is not whole")
    for name, value in (plan or {}).items():
        if not isinstance(value, int | float if isinstance(default[name], float) else type(default[name])):
            raise errors.TraceInvalid(path=path, reason=f"'{name}' in its plan is {jsons.kind_of(value)}")
    question = str(first.get("question") or "")
    return RecordedLoop(tuple(traces), None if plan is None else LoopPlan(**plan), question)


def _read_entry(value: Any) -> LoopTrace:
    entry = value if isinstance(value, dict) else {}
    missing = [key for key in LoopTrace._fields[:5] if key not in entry]
    if missing:
        raise ValueError(f"there is no '{missing[0]}'")
    trace = LoopTrace(**{key: entry[key] for key in LoopTrace._fields if key in entry})
    for name, kinds in _KINDS.items():
        one = getattr(trace, name)
        if not isinstance(one, kinds) or (isinstance(one, bool) and bool not in kinds):
            raise ValueError(f"'{name}' is {jsons.kind_of(one)}")
    if trace.action not in ACTIONS:
        raise ValueError("'action' is none of the known ones")
    return trace


def replay(path: str, recorded: RecordedLoop) -> tuple[LoopTrace, ...]:
    """The trace that the recorded answers lead to.

    Files of older memctl do not say what their loop was given: their entries are taken as they are. Raises
    TraceInvalid when the record does not follow from what was recorded, which means that it was edited or is not whole.
    """
    if not recorded.traces:
        raise errors.TraceInvalid(path=path, reason="nothing is recorded in it")
    plan = recorded.plan
    if plan is None:
        return recorded.traces
    state, action = LoopState(0, (recorded.question,)), CONTINUE
    for was in recorded.traces:
        if action != CONTINUE:
            raise errors.TraceInvalid(path=path, reason=f"entry {state.calls + 1} follows one that ended the loop")
        said = Directive("", bool(was.query), was.query or "", stop=was.action == "llm_stop", found=was.found)
        state, action = decide(plan, state, said, was.sim)
        if action == RECALL:
            action = CONTINUE if was.new_items or not plan.stop_on_no_new else "no_new_items"
        if (state.calls, action) != (was.iter, was.action):
            raise errors.TraceInvalid(
                path=path, reason=f"entry {state.calls} says {was.action}, and what is recorded leads to {action}"
            )
    return recorded.traces
