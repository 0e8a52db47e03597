"""The trace of a loop: one entry a call, as JSON lines; what a replay needs stands behind the documented keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl import errors
from memctl.text import jsons

if TYPE_CHECKING:
    from memctl.llm.controller import Plan

#: The one action that does not end a loop, and all of them.
CONTINUE = "continue"
ACTIONS = (CONTINUE, "llm_stop", "fixed_point", "query_cycle", "no_new_items", "max_calls", "unparsable")
#: What of the plan decides; a file that has it in its first entry can be replayed.
_BOUNDS = (
    "protocol", "max_calls", "threshold", "query_threshold", "stable_steps", "stop_on_no_new", "strict", "budget",
)  # fmt: skip


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

    def line(self) -> str:
        """The documented line."""
        return json.dumps(self.as_dict(), ensure_ascii=False)


class Recording(NamedTuple):
    """A trace file that was read: the entries, and what the loop was given; None in files of older memctl."""

    traces: tuple[LoopTrace, ...]
    plan: Plan | None = None
    question: str = ""


def written(trace: LoopTrace, plan: Plan, question: str) -> str:
    """The line of a trace file: the documented keys first, then what a replay needs."""
    entry = trace.as_dict() | {"found": trace.found}
    if trace.iter == 1:
        bounds = {name: value for name, value in plan._asdict().items() if name in _BOUNDS}
        entry |= {"question": question, "plan": bounds}
    return json.dumps(entry, ensure_ascii=False)


def read(path: str, lines: Iterator[str]) -> Recording:
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
            traces.append(_entry(value))
        except ValueError as exc:
            raise errors.TraceInvalid(path=path, reason=f"line {number}: {exc}") from exc
        first = first or value
    if not traces:
        raise errors.TraceInvalid(path=path, reason="nothing is recorded in it")
    return Recording(tuple(traces), _plan(path, first), str(first.get("question") or ""))


def _entry(value: Any) -> LoopTrace:
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


_KINDS: dict[str, tuple[type, ...]] = {
    "iter": (int,), "query": (str, type(None)), "new_items": (int,), "sim": (int, float, type(None)),
    "action": (str,), "found": (bool,),
}  # fmt: skip


def _plan(path: str, first: dict[str, Any]) -> Plan | None:
    from memctl.llm.controller import Plan

    given = first.get("plan")
    if given is None:
        return None
    default = Plan()._asdict()
    if not isinstance(given, dict) or set(given) != set(_BOUNDS):
        raise errors.TraceInvalid(path=path, reason="'plan' in its first entry is not whole")
    for name, value in given.items():
        if not isinstance(value, int | float if isinstance(default[name], float) else type(default[name])):
            raise errors.TraceInvalid(path=path, reason=f"'{name}' in its plan is {jsons.kind_of(value)}")
    return Plan(**given)
