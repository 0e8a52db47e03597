"""The loop's state machine, the context it works with, and its trace; models and memory are functions here."""

import json
from collections.abc import Sequence

import pytest

from memctl import errors
from memctl.llm.command import Answer
from memctl.llm.controller import (
    LoopResult,
    LoopState,
    LoopTrace,
    Plan,
    decide,
    read_trace_file,
    replay,
    run_loop,
    trace_file_line,
)
from memctl.llm.protocol import Directive
from memctl.llm.working import Found, WorkingContext, fitted
from memctl.text.block import packing
from memctl.text.block.excerpt import CUT
from memctl.text.block.frames import Compact, Full, format_injection_block
from memctl.text.block.markers import HEADER
from memctl.text.block.packing import BlockEntry
from memctl.types import MemoryItem, MemoryProvenance

MORE = Directive("Partly.", need_more=True, query="key rotation")
STOP = Directive("Done.", stop=True)


@pytest.mark.parametrize(
    ("said", "sim", "state", "plan", "action"),
    [
        (STOP, None, LoopState(0, ("q",)), Plan(), "llm_stop"),
        (MORE, None, LoopState(0, ("q",)), Plan(), "recall"),
        (MORE, None, LoopState(2, ("q",)), Plan(), "max_calls"),
        (MORE, None, LoopState(0, ("q",)), Plan(max_calls=1), "max_calls"),
        (MORE, 0.95, LoopState(1, ("q",), 1), Plan(), "fixed_point"),
        (MORE, 0.91, LoopState(1, ("q",), 1), Plan(), "recall"),
        (MORE, 0.95, LoopState(1, ("q",), 0), Plan(), "recall"),
        (MORE, 0.95, LoopState(1, ("q",), 0), Plan(stable_steps=1), "fixed_point"),
        (MORE, None, LoopState(0, ("Key rotation?",)), Plan(), "query_cycle"),
        (MORE, 0.95, LoopState(2, ("key rotation",), 1), Plan(), "fixed_point"),  # before query_cycle and max_calls
        (MORE, None, LoopState(2, ("key rotation",)), Plan(), "query_cycle"),  # before max_calls
        (MORE._replace(stop=True), 0.99, LoopState(2, ("key rotation",), 5), Plan(), "llm_stop"),  # before all
        (Directive("Prose.", found=False), 0.99, LoopState(2, ("q",), 5), Plan(), "unparsable"),
        (Directive("Prose."), None, LoopState(0, ("q",)), Plan(), "llm_stop"),
    ],
)
def test_what_an_answer_leads_to(said: Directive, sim: float | None, state: LoopState, plan: Plan, action: str) -> None:
    assert decide(plan, state, said, sim)[1] == action


# --- the loop ----------------------------------------------------------------------------------------------------


def passages(*texts: str, title: str = "Note", first: int = 1) -> list[BlockEntry]:
    """A passage for each text, with ids that count up from `first`."""
    items = [
        MemoryItem(id=f"MEM-{n}", title=f"{title} {n}", content=text, provenance=MemoryProvenance("chat", f"s{n}"))
        for n, text in enumerate(texts, first)
    ]
    return [packing.block_entry(item) for item in items]


def ask_for(*queries: str) -> list[str]:
    """Answers of a model that asks for each query in turn, then says that it is done."""
    asked = [json.dumps({"need_more": True, "query": query}) + f"\n\nAnswer {n}." for n, query in enumerate(queries)]
    return [*asked, '{"need_more": false, "stop": true}\n\nThe last answer.']


class Talk:
    """A model that gives these answers, the last one for ever, and a memory with these passages for each query."""

    def __init__(self, answers: Sequence[str], memory: dict[str, list[BlockEntry]] | None = None) -> None:
        self.answers, self.memory = answers, memory or {}
        self.prompts: list[str] = []
        self.asked: list[tuple[str, int]] = []

    def __call__(self, prompt: str) -> Answer:
        self.prompts.append(prompt)
        return Answer(self.answers[min(len(self.prompts), len(self.answers)) - 1], truncated=False, seconds=0.0)

    def recall(self, query: str, budget: int) -> Found:
        self.asked.append((query, budget))
        return Found(self.memory.get(query, []))

    def run(self, context: str = "What is known.", query: str = "the question", **plan: object) -> LoopResult:
        return run_loop(Plan(**plan), context, query, ask=self, recall=self.recall)  # type: ignore[arg-type]


def test_what_is_recalled_reaches_the_next_prompt() -> None:
    talk = Talk(ask_for("key rotation"), {"key rotation": passages("Keys rotate every 17 days.")})
    done = talk.run()
    assert (done.answer, done.stop_reason, done.converged, done.iterations) == ("The last answer.", "llm_stop", True, 2)
    assert "17 days" not in talk.prompts[0]
    assert "17 days" in talk.prompts[1]
    assert "What is known." in talk.prompts[1]
    assert [t.as_dict() for t in done.traces] == [
        {"iter": 1, "query": "key rotation", "new_items": 1, "sim": None, "action": "continue"},
        {"iter": 2, "query": None, "new_items": 0, "sim": done.traces[1].sim, "action": "llm_stop"},
    ]
    assert done.ids == ("MEM-1",)


def test_the_prompt_keeps_the_question_and_names_the_query() -> None:
    talk = Talk(ask_for("key rotation"), {"key rotation": passages("Keys rotate every 17 days.")})
    talk.run(system_prompt="Be brief.")
    assert all("## Question\n\nthe question\n" in prompt and "Be brief." in prompt for prompt in talk.prompts)
    assert "key rotation" not in talk.prompts[0]
    assert "## Refined query\n\nkey rotation\n" in talk.prompts[1]


@pytest.mark.parametrize("protocol", ["json", "regex", "passive"])
def test_a_model_is_told_when_it_is_asked_for_the_last_time(protocol: str) -> None:
    talk = Talk([json.dumps({"need_more": True, "query": q}) + f"\nQUERY: {q}" for q in ("keys", "dates", "names")])
    talk.run(stop_on_no_new=False, max_calls=2, protocol=protocol)
    assert ["This is the last call" in prompt for prompt in talk.prompts] == (
        [False] if protocol == "passive" else [False, True]
    )


def test_a_model_that_only_asks_for_more_keeps_its_last_answer() -> None:
    done = Talk([*ask_for("keys")[:1], '{"need_more": true, "query": "dates"}']).run(stop_on_no_new=False, max_calls=2)
    assert (done.answer, done.stop_reason) == ("Answer 0.", "max_calls")
    assert Talk(['{"need_more": true, "query": "dates"}']).run().answer == ""


def full_block(budget: int) -> str:
    """A block of recall that fills its budget."""
    texts = [f"Part {n}. " + f"The login flow checks item {n} of the session. " * 12 for n in range(20)]
    items = [MemoryItem(id=f"MEM-a{n}", title=f"Login {n}", content=text) for n, text in enumerate(texts)]
    return format_injection_block(items, budget)


def test_new_context_makes_room_in_a_budget_that_is_full() -> None:
    budget = 800
    context = full_block(budget)
    talk = Talk(ask_for("keys", "dates"), {
        "keys": passages("The needle: keys rotate every 17 days."),
        "dates": passages("The other needle: release on the 9th of May.", first=2),
    })  # fmt: skip
    done = talk.run(context, budget=budget)
    assert [t.new_items for t in done.traces] == [1, 1, 0]
    assert "17 days" in talk.prompts[1]
    assert "9th of May" in talk.prompts[2]
    assert "17 days" in talk.prompts[2]  # there is room for both
    for prompt in talk.prompts:
        held = prompt.partition("## Context\n\n")[2].partition("\n\n## Question")[0]
        assert len(held) <= 4 * budget
        assert "Login 0" in held  # the best passage stays


def test_older_passages_give_way_to_newer_ones() -> None:
    long = ["Old story. " + " ".join(f"w{n}x{k}" for k in range(400)) for n in range(2)]
    talk = Talk(ask_for("old", "new"), {
        "old": passages(*long), "new": passages("Fresh news. " + " ".join(f"v{k}" for k in range(300)), first=9),
    })  # fmt: skip
    done = talk.run("What is known. " * 60, budget=500)
    assert [t.new_items > 0 for t in done.traces] == [True, True, False]
    assert "Fresh news." in talk.prompts[2]
    assert len(done.context) <= 2000
    assert done.context.startswith("What is known.")


def test_what_the_context_says_already_is_not_said_again() -> None:
    item = MemoryItem(id="MEM-1", title="Rotation", content="Keys rotate every 17 days.\n\nThe clock is UTC.")
    context = format_injection_block([item], 500)
    talk = Talk(ask_for("keys"), {"keys": [packing.block_entry(item)]})
    done = talk.run(context)
    assert (done.stop_reason, done.converged) == ("no_new_items", False)
    assert done.answer == "Answer 0."
    talk = Talk(ask_for("keys"), {"keys": [packing.block_entry(item)]})
    assert talk.run(context, stop_on_no_new=False).stop_reason == "llm_stop"
    assert talk.prompts[1].count("17 days") == 1


def test_of_a_passage_that_was_cut_the_rest_is_new() -> None:
    lines = [f"Line {n} speaks of subject {n * 7919}." for n in range(40)]
    context = "## Notes\n\n" + "\n".join(lines[:15])
    whole = passages("\n".join(lines))[0]._replace(path="docs/a.md", chunk="0", span=(1, 40))
    talk = Talk(ask_for("keys"), {"keys": [whole]})
    done = talk.run(context)
    assert done.traces[0].new_items == 1
    assert "] docs/a.md:16-40 > " in talk.prompts[1]
    for line in lines:
        assert talk.prompts[1].count(line) == 1


def test_a_passage_that_is_asked_for_again_goes_on_where_it_was_cut() -> None:
    lines = [f"Line {n} speaks of subject {n * 7919}." for n in range(60)]
    whole = passages("\n".join(lines))[0]._replace(path="docs/a.md", chunk="0", span=(1, 60))
    queries = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta")
    talk = Talk(ask_for(*queries), {query: [whole] for query in queries})
    done = talk.run("What is known.", budget=500, max_calls=9)
    shown = [[n for n, line in enumerate(lines) if line in prompt] for prompt in talk.prompts]
    assert shown[0] == []
    assert shown[1] == list(range(len(shown[1])))
    assert set(shown[2]) - set(shown[1])
    assert [trace.new_items for trace in done.traces][:2] == [1, 1]
    for prompt in talk.prompts:
        assert max(prompt.count(line) for line in lines) <= 1


def test_an_item_that_is_only_a_title_is_new_once() -> None:
    talk = Talk(ask_for("a", "b"), {query: passages("", title="Never on Fridays") for query in "ab"})
    done = talk.run()
    assert [t.new_items for t in done.traces] == [1, 0]
    assert done.stop_reason == "no_new_items"


def test_of_a_long_line_the_rest_is_new() -> None:
    said = [f"Sentence {n} is about subject {n * 7919}." for n in range(12)]
    talk = Talk(ask_for("keys"), {"keys": passages(" ".join(said))})
    talk.run(" ".join(said[:5]))
    for sentence in said:
        assert talk.prompts[1].count(sentence) == 1
    assert "\n […] Sentence 5 is about" in talk.prompts[1]
    long = "\u3002".join(f"{n}{n}" * 30 for n in range(10)) + "\u3002"  # sentences without blanks between them
    talk = Talk(ask_for("keys"), {"keys": passages(long)})
    talk.run(long[:300])
    assert f"\n […] {'44' * 30}\u3002{'55' * 30}\u3002" in talk.prompts[1]


def test_a_short_statement_is_known_only_with_its_title() -> None:
    talk = Talk(ask_for("friday"), {"friday": passages("No, never.", title="Deploy on Fridays?")})
    assert talk.run("Do we shout? No, never.").traces[0].new_items == 1
    assert "Deploy on Fridays?" in talk.prompts[1]


def test_a_budget_too_small_for_anything_new_says_so() -> None:
    talk = Talk(ask_for("keys"), {"keys": passages("Keys rotate every 17 days.")})
    done = talk.run("x " * 50, budget=30)
    assert (done.traces[0].new_items, done.stop_reason) == (0, "no_new_items")


def test_a_statement_that_is_given_in_two_parts_stays_two() -> None:
    first, second = passages("Keys rotate every 17 days.", "The clock is UTC.")
    talk = Talk(ask_for("keys"), {"keys": [first, second._replace(ids=first.ids)]})
    assert talk.run().traces[0].new_items == 1
    assert "17 days" in talk.prompts[1]
    assert "UTC" in talk.prompts[1]


def test_a_model_that_repeats_itself_has_converged() -> None:
    answers = [
        json.dumps({"need_more": True, "query": q}) + "\n\nIt is blue." for q in ("sky", "sea hues", "dye works")
    ]
    done = Talk(answers).run(stop_on_no_new=False, max_calls=9)
    assert (done.stop_reason, done.converged, [t.sim for t in done.traces]) == ("fixed_point", True, [None, 1.0, 1.0])


def test_an_answer_without_directive_has_not_converged() -> None:
    done = Talk(["Just prose."]).run()
    assert (done.answer, done.stop_reason, done.converged) == ("Just prose.", "unparsable", False)
    with pytest.raises(errors.ProtocolBroken, match="Protocol error: the answer of call 1"):
        Talk(["Just prose."]).run(strict=True)


# --- a context that is too long ----------------------------------------------------------------------------------


def test_a_block_loses_its_last_passages_and_says_so() -> None:
    text = full_block(2000)
    cut = fitted(text, 3000)
    assert len(cut) <= 3000
    count = cut.count("] [STM:")
    assert 0 < count < text.count("] [STM:")
    assert cut.endswith(f"{count} items, {-(-len(cut) // 4)} tokens) ---")
    assert f"\nused: {-(-len(cut) // 4)}\n" in cut
    assert text.startswith(cut.partition("used: ")[0])


def test_other_text_keeps_what_speaks_of_the_question() -> None:
    text = "\n".join(f"Line {n} of the log." for n in range(500)) + "\nThe harbour was closed.\n" + "more\n" * 500
    cut = fitted(text, 400, ["harbour"])
    assert "The harbour was closed." in cut
    assert 200 < len(cut) <= 400
    assert fitted(text, 400).startswith("Line 0")


def test_a_short_part_stays_whole_beside_a_long_one() -> None:
    cut = fitted(f"My own words.\n\n{full_block(2000)}\n\nAnd more of them.", 3000)
    assert cut.startswith("My own words.\n\n## Memory (Injected)")
    assert cut.endswith("\n\nAnd more of them.")
    assert len(cut) <= 3000


def block_with_lines(*, compact: bool) -> str:
    """A block whose passages say which lines they are: 8-12, 95-109, 990-1004, the last in two parts."""
    lines = {first: [f"Line {n} is about the weather." for n in range(first, last + 1)]
             for first, last in ((8, 12), (95, 109), (990, 1004))}  # fmt: skip
    shown = [
        passage._replace(lines=lines[first], span=(first, first + len(lines[first]) - 1), path=f"docs/{first}.md",
                         chunk="3", handle=f"a3185e{first}")
        for passage, first in zip(passages("a", "b", "c"), lines, strict=True)
    ]  # fmt: skip
    shown[2] = shown[2]._replace(lines=[*shown[2].lines, CUT, "And more."], spans=((990, 1004), (1020, 1020)))
    frame = Compact() if compact else Full([HEADER, "format_version: 1", "budget_tokens: 9000", "matched: 3"], 9000)
    return packing.build(shown, frame, 9000).text


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize("words", [(), ("105",), ("weather", "1001")])
def test_nothing_is_longer_than_its_room(compact: bool, words: tuple[str, ...]) -> None:
    """Whatever the room is: of a packing, of two with words around them, and of words alone."""
    one = block_with_lines(compact=compact)
    plain = "\n".join(f"Line {n} of the log." for n in range(40)) + "\n" + "x" * 500
    both = f"My own words.\n\n{one}\n\nAnd more of them.\n\n{one}\n\nThe end."
    for text in (one, plain, both, f"{plain}\n\n{one}"):
        rooms = range(len(text) + 2) if text == one else (*range(0, len(text), 13), len(text) - 1, len(text))
        for room in rooms:
            cut = fitted(text, room, words)
            assert len(cut) <= room, (room, cut)
            if len(text) <= room:
                assert cut == text


# --- trace and replay --------------------------------------------------------------------------------------------


def recorded(plan: Plan, done: LoopResult) -> list[str]:
    return [trace_file_line(trace, plan, "the question") + "\n" for trace in done.traces]


def test_a_replay_says_the_same() -> None:
    talk = Talk(ask_for("key rotation", "dates"), {"key rotation": passages("Keys rotate every 17 days.")})
    done = talk.run()
    lines = recorded(Plan(), done)
    assert [list(json.loads(line))[:5] for line in lines] == [["iter", "query", "new_items", "sim", "action"]] * 2
    again = replay("t", read_trace_file("t", iter(lines)))
    assert [t.line() for t in again] == [t.line() for t in done.traces]


def test_traces_of_older_memctl_are_shown_as_they_are() -> None:
    old = '{"iter": 3, "query": "risk 3", "new_items": 0, "sim": 0.79, "action": "max_calls"}\n'
    assert [t.line() + "\n" for t in replay("t", read_trace_file("t", iter([old, "\n"])))] == [old]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"action": "fixed_point"}, "entry 1 says fixed_point, and what is recorded leads to continue"),
        ({"new_items": 0}, "entry 1 says continue, and what is recorded leads to no_new_items"),
        ({"found": False}, "leads to unparsable"),
        ({"iter": 2}, "entry 1 says continue"),
        ({"query": "the question"}, "leads to query_cycle"),
        ({"sim": "x"}, "line 1: 'sim' is a string"),
        ({"iter": True}, "line 1: 'iter' is true"),
        ({"action": "dance"}, "line 1: 'action' is none of the known ones"),
        ({"plan": {"max_calls": 3}}, "'plan' in its first entry is not whole"),
        ({"plan": dict.fromkeys(
            ("protocol", "max_calls", "threshold", "query_threshold", "stable_steps", "stop_on_no_new", "strict",
             "budget"), "x")}, "'max_calls' in its plan is a string"),
    ],
)  # fmt: skip
def test_a_trace_that_was_changed_is_found_out(change: dict[str, object], reason: str) -> None:
    talk = Talk(ask_for("key rotation"), {"key rotation": passages("Keys rotate every 17 days.")})
    first, *rest = recorded(Plan(), talk.run())
    with pytest.raises(errors.TraceInvalid, match=reason):
        replay("t", read_trace_file("t", iter([json.dumps(json.loads(first) | change), *rest])))


@pytest.mark.parametrize("line", ["", "{", "[]", "3", '{"iter": 1}', '{"iter": 1} {}', "null"])
def test_what_is_no_trace_is_named(line: str) -> None:
    with pytest.raises(errors.TraceInvalid, match="t: "):
        replay("t", read_trace_file("t", iter([line])))


def test_a_trace_that_goes_on_after_its_end() -> None:
    entry = LoopTrace(1, None, 0, None, "llm_stop")
    lines = [trace_file_line(entry, Plan(), "q"), trace_file_line(entry._replace(iter=2), Plan(), "q")]
    with pytest.raises(errors.TraceInvalid, match="entry 2 follows one that ended the loop"):
        replay("t", read_trace_file("t", iter(lines)))


def test_the_context_before_any_call_is_within_the_budget() -> None:
    working = WorkingContext("word " * 10_000, 100, "word")
    assert 300 < len(working.text) <= 400
