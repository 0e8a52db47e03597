"""Whatever a model says and whatever memory holds: the loop ends within its bounds, and its record replays."""

import json

from hypothesis import given
from hypothesis import strategies as st

from memctl.llm.command import Answer
from memctl.llm.controller import CONVERGED, Plan, read_trace_file, replay, run_loop, trace_file_line
from memctl.llm.working import Found, fitted
from memctl.text.block import packing
from memctl.text.block.frames import format_injection_block
from memctl.types import MemoryItem

WORDS = st.sampled_from(["keys", "dates", "the question", "rotation", "", "a\nb", "é" * 50, "\x00\ud800"])
DIRECTIVES = st.builds(
    lambda more, query, stop: json.dumps({"need_more": more, "query": query, "stop": stop}),
    st.sampled_from([True, False, None, "yes", 3, []]), st.one_of(WORDS, st.none(), st.integers()), st.booleans(),
)  # fmt: skip
PARTS = st.one_of(
    DIRECTIVES,
    st.builds("```json\n{}\n```".format, DIRECTIVES),
    st.builds("QUERY: {}".format, WORDS),
    st.text(max_size=60),
    st.sampled_from(["{", '"need_more":', "## Context\n", "x" * 3000]),
)
OUTPUTS = st.lists(st.builds("\n\n".join, st.lists(PARTS, max_size=4)), min_size=1, max_size=6)
LONG = st.sampled_from(["fact. " * 90, "a\n" * 60])
ITEMS = st.lists(
    st.builds(
        lambda n, title, content: MemoryItem(id=f"MEM-{n}", title=title, content=content),
        st.integers(1, 9), st.text(max_size=30), st.one_of(st.text(max_size=80), LONG),
    ),
    max_size=5,
)  # fmt: skip
PLANS = st.builds(
    Plan,
    protocol=st.sampled_from(["json", "regex", "passive"]), max_calls=st.integers(1, 7), threshold=st.floats(0, 1),
    query_threshold=st.floats(0, 1), stable_steps=st.integers(1, 3), stop_on_no_new=st.booleans(),
    budget=st.sampled_from([1, 40, 150, 600]), strict=st.just(False),  # noqa: FBT003
)  # fmt: skip
CONTEXTS = st.one_of(
    st.text(max_size=300),
    st.sampled_from(["known. " * 200, "line\n" * 300]),
    st.builds(lambda items: f"Before.\n\n{format_injection_block(items, 900)}\n\nAfter.", ITEMS),
)


@given(PLANS, CONTEXTS, OUTPUTS, st.lists(ITEMS, min_size=1, max_size=3))
def test_a_loop_ends_within_its_bounds(
    plan: Plan, context: str, outputs: list[str], memory: list[list[MemoryItem]]
) -> None:
    prompts: list[str] = []
    asked: list[str] = []
    shown: list[str] = []

    def ask(prompt: str, on_text: object = None) -> Answer:
        prompts.append(prompt)
        output = outputs[(len(prompts) - 1) % len(outputs)]
        assert callable(on_text)
        for at in range(0, len(output), 7):
            on_text(output[at : at + 7])
        return Answer(output, truncated=False, seconds=0.0)

    def recall(query: str, budget: int) -> Found:
        assert budget <= plan.budget
        asked.append(query)
        return Found([packing.block_entry(item) for item in memory[len(asked) % len(memory)]])

    done = run_loop(plan, context, "the question", ask=ask, recall=recall, stream=shown.append)
    assert 1 <= done.iterations == len(prompts) == len(done.traces) <= plan.max_calls
    assert len(asked) <= plan.max_calls - 1
    assert len(set(asked)) == len(asked)  # nothing is asked of memory twice
    assert done.converged is (done.stop_reason in CONVERGED)
    assert len(done.context) <= 4 * plan.budget
    assert "".join(shown) == done.answer + "\n"
    lines = [trace_file_line(trace, plan, "the question") for trace in done.traces]
    again = replay("t", read_trace_file("t", iter(lines)))
    assert [t.line() for t in again] == [t.line() for t in done.traces]


@given(CONTEXTS, st.integers(0, 900), st.lists(st.sampled_from(["known", "fact", "line"]), max_size=2))
def test_a_context_fits_its_room(context: str, room: int, words: list[str]) -> None:
    cut = fitted(context, room, words)
    assert len(cut) <= room
    if len(context) <= room:
        assert cut == context
    assert fitted(cut, room, words) == cut
