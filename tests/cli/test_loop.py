"""memctl loop, with the scripted stand-in for a model."""

import io
import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from memctl.cli import run as run_cli
from memctl.cli.output import Console
from support import Result, ok, run

SCRIPTED = Path(__file__).resolve().parents[2] / "demos" / "scripted-llm"
DONE = '{"need_more": false, "query": null, "stop": true}\n\n'


def more(query: str, answer: str = "I do not know yet.") -> str:
    """An answer that asks for more."""
    return json.dumps({"need_more": True, "query": query}) + f"\n\n{answer}"


#: The n-th call gets the n-th answer, the last one for ever; a quick stand-in for the scripted one.
QUICK = """
n=$(($(wc -c <calls)))
printf x >>calls
{ cat ${1+"$1"}; printf '\\n=====\\n'; } >>prompts
[ -e answer.$n ] || n=last
cat answer.$n
"""


def scripted(*answers: str) -> str:
    """The command line of a model that gives these answers; prompts go to the file `prompts`."""
    for file in [*Path().glob("answer.*"), Path("prompts"), Path("script.calls")]:
        file.unlink(missing_ok=True)
    if any(answer.startswith("@") for answer in answers):  # orders, which need the real one
        Path("script").write_text("\n---\n".join(answers))
        return shlex.join([sys.executable, "-S", str(SCRIPTED), "--script", "script", "--save", "prompts"])
    Path("calls").write_text("")
    for name, answer in [*enumerate(answers), ("last", answers[-1])]:
        Path(f"answer.{name}").write_text(answer + "\n")
    return shlex.join(["sh", "-c", QUICK, "model"])


def prompts() -> list[str]:
    """What the model was given, call by call."""
    return Path("prompts").read_text().split("\n=====\n")[:-1]


def loop(*argv: str, stdin: str = "What is known.", code: int = 0, **how: object) -> Result:
    done = run("loop", "auth flow", *argv, stdin=stdin, **how)  # type: ignore[arg-type]
    assert done.code == code, done.notes
    return done


@pytest.fixture
def store(scratch: Path) -> Path:
    """A store with three folders' worth of statements, one of them in another scope and one held back."""
    ok("init")
    facts = [
        {"content": "The login service issues tokens.", "title": "Login"},
        {"content": "Signing keys rotate every 17 days.", "title": "Rotation"},
        {"content": "Signing keys of the other team rotate every 99 days.", "title": "Other", "scope": "other"},
        {"content": "Signing keys were leaked on 3rd of May.", "title": "Held", "injectable": False},
    ]
    ok("import", stdin="\n".join(map(json.dumps, facts)))
    return scratch


def test_the_answer_goes_to_stdout_and_nothing_else(store: Path) -> None:
    done = loop("--llm", scripted(more("signing keys rotate"), DONE + "Every 17 days."))
    assert done.text == "Every 17 days.\n"
    lines = done.notes.splitlines()
    assert lines[0].startswith("[loop] spent 2 calls, ~")
    assert lines[1:] == ["[loop] 2 iteration(s), stop=llm_stop, converged=True"]
    first, second = prompts()
    assert "17 days" not in first
    assert "17 days" in second
    assert "What is known." in second


def test_refined_queries_keep_to_the_scope_and_to_what_models_may_see(store: Path) -> None:
    answers = (more("signing keys"), DONE + "Found.")
    loop("--llm", scripted(*answers))
    assert "17 days" in prompts()[1]
    assert "99 days" not in prompts()[1]
    assert "leaked" not in prompts()[1]
    loop("--llm", scripted(*answers), "--scope", "other")
    assert ("99 days" in prompts()[1], "17 days" in prompts()[1]) == (True, False)
    ok("workspace", "set", "theirs", "--scope", "other", "--read", "other", "--budget", "300")
    loop("--llm", scripted(*answers), "-w", "theirs", stdin="What is known. " * 100)
    assert ("99 days" in prompts()[1], "17 days" in prompts()[1]) == (True, False)
    assert len(prompts()[1].partition("## Context")[2].partition("## Question")[0]) < 1300
    loop("--llm", scripted(*answers), "--all-scopes")
    assert ("99 days" in prompts()[1], "17 days" in prompts()[1], "leaked" in prompts()[1]) == (True, True, False)


def test_a_recall_that_must_cover_the_query_abstains_here_too(store: Path) -> None:
    Path("c.json").write_text(json.dumps({"recall": {"min_coverage": 0.9}}))
    answers = (more("signing keys harbour"), DONE)
    assert "stop=llm_stop" in loop("--llm", scripted(*answers)).notes
    done = loop("--llm", scripted(*answers), "--config", "c.json", "--db", ".memory/memory.db")
    assert "stop=no_new_items" in done.notes
    assert "[loop] Nothing covers enough of the question" in done.notes


def test_what_is_not_worth_saying_unasked_is_not_said(store: Path) -> None:
    done = loop("--llm", scripted(more("signing harbour lantern quarry"), DONE))
    assert "stop=no_new_items" in done.notes
    assert "[loop] Nothing is worth saying unasked." in done.notes


def test_what_is_recalled_obeys_the_view(store: Path) -> None:
    ok("import", stdin=json.dumps({"content": "Ask mia.long@example.org about signing keys.", "title": "Contact"}))
    loop("--llm", scripted(more("signing keys contact"), DONE), "--redact", "public")
    assert "signing keys" in prompts()[1]
    assert "example.org" not in prompts()[1]


def test_json_has_all_there_is_to_know(store: Path) -> None:
    done = loop("--llm", scripted(more("signing keys rotate"), DONE + "Every 17 days."), "--json").json()
    spend = done.pop("spend")
    ids = done.pop("item_ids")
    assert done == {
        "status": "ok", "answer": "Every 17 days.", "iterations": 2, "converged": True, "stop_reason": "llm_stop",
        "truncated": False,
        "traces": [
            {"iter": 1, "query": "signing keys rotate", "new_items": 1, "sim": None, "action": "continue"},
            {"iter": 2, "query": None, "new_items": 0, "sim": done["traces"][1]["sim"], "action": "llm_stop"},
        ],
    }  # fmt: skip
    assert [ok("show", i, "--json").json()["title"] for i in ids] == ["Rotation"]
    assert spend["calls"] == 2
    assert spend["tokens_in"] > 200
    assert spend["seconds"] > 0


def test_uses_are_counted(store: Path) -> None:
    done = loop("--llm", scripted(more("signing keys rotate"), DONE), "--json").json()
    assert ok("show", done["item_ids"][0], "--json").json()["usage_count"] >= 1


@pytest.mark.parametrize("quiet", [False, True])
def test_the_trace_on_stderr(store: Path, quiet: bool) -> None:
    done = loop("--llm", scripted(more("signing keys rotate"), DONE + "Fine."), "--trace", *["-q"] * quiet)
    traces = [json.loads(line) for line in done.notes.splitlines() if line.startswith("{")]
    assert [t["action"] for t in traces] == ([] if quiet else ["continue", "llm_stop"])
    assert all(list(t) == ["iter", "query", "new_items", "sim", "action"] for t in traces)
    assert (done.notes == "") is quiet


def test_a_replay_prints_the_same_bytes_without_model_and_store(store: Path, tmp_path: Path) -> None:
    answers = (more("signing keys rotate"), more("signing keys rotate!"))
    seen = loop("--llm", scripted(*answers), "--trace").notes
    filed = loop("--llm", scripted(*answers), "--trace-file", "trace.jsonl")
    assert "{" not in filed.notes
    lines = "".join(line + "\n" for line in seen.splitlines() if line.startswith("{"))
    assert lines.count("\n") == 2
    for again in (run("loop", "--replay", "trace.jsonl", "auth flow"), loop("--replay", "trace.jsonl")):
        assert (again.text, again.notes, again.code) == (lines, "", 0)
    found = run("loop", "auth flow", "--replay", "trace.jsonl", "--json", "--db", str(tmp_path / "none.db")).json()
    assert (found["stop_reason"], found["converged"], found["iterations"]) == ("query_cycle", False, 2)
    assert "recorded question was another: auth flow" in run("loop", "x", "--replay", "trace.jsonl").notes


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "Trace file not found: t"), (b"", "nothing is recorded"), (b"\xff\xfe\n", "line 1"), (b"{}\n", "'iter'")],
)
def test_a_trace_that_cannot_be_replayed(scratch: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        Path("t").write_bytes(content)
    done = loop("--replay", "t", code=1)
    assert words in done.notes
    assert done.out == b""


def test_a_folder_is_no_trace(scratch: Path) -> None:
    assert "cannot read ." in loop("--replay", ".", code=1).notes


def test_a_trace_that_cannot_be_written_costs_no_call(store: Path) -> None:
    done = loop("--llm", scripted(DONE), "--trace-file", "no/where.jsonl", code=1)
    assert "cannot write the trace to no/where.jsonl" in done.notes
    assert not Path("prompts").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_trace_that_cannot_be_finished_costs_no_answer(store: Path) -> None:
    done = loop("--llm", scripted(DONE + "Fine."), "--trace-file", "/dev/full")
    assert done.text == "Fine.\n"
    assert "The trace in /dev/full is not whole: No space left" in done.notes


@pytest.mark.parametrize(
    ("answers", "argv", "reason", "calls"),
    [
        ([more("a", "Red."), more("b", "Blue."), more("c")], ["--no-stop-on-no-new"], "max_calls", 3),
        ([more("a"), more("b"), more("c")], ["--no-stop-on-no-new", "--max-calls", "2"], "max_calls", 2),
        ([more("nothing of that")], [], "no_new_items", 1),
        ([more("auth flow")], [], "query_cycle", 1),
        ([more("b a"), more("b a c", "Else.")], ["--no-stop-on-no-new", "--query-threshold", "0.5"], "query_cycle", 2),
        ([more("a", "Blue."), more("b", "Blue.")], ["--no-stop-on-no-new", "--stable-steps", "1"], "fixed_point", 2),
        ([more("a", "Blue."), more("b", "Red.")], ["--no-stop-on-no-new", "--stable-steps", "1", "--threshold", "0"],
         "fixed_point", 2),
        (["Blue.\nQUERY: nothing"], ["--protocol", "regex"], "no_new_items", 1),
        ([more("signing keys")], ["--protocol", "passive"], "llm_stop", 1),
        (["Prose."], [], "unparsable", 1),
    ],
)  # fmt: skip
def test_how_it_ends(store: Path, answers: list[str], argv: list[str], reason: str, calls: int) -> None:
    done = loop("--llm", scripted(*answers), *argv)
    converged = reason in ("llm_stop", "fixed_point")
    assert f"[loop] {calls} iteration(s), stop={reason}, converged={converged}\n" in done.notes
    assert len(prompts()) == calls
    if calls > 1:
        return
    strict = loop("--llm", scripted(*answers), *argv, "--strict", code=0 if converged else 1)
    assert strict.out == (b"" if reason == "unparsable" else done.out)
    assert ("Protocol error" in strict.notes) is (reason == "unparsable")


def test_an_answer_that_follows_no_protocol_is_printed_and_said_to_be_so(store: Path) -> None:
    done = loop("--llm", scripted("Just prose."), "-q")
    assert done.text == "Just prose.\n"
    assert "no JSON object with need_more and stop" in done.notes


@pytest.mark.parametrize("protocol", ["json", "regex", "passive"])
def test_the_prompt(store: Path, protocol: str) -> None:
    Path("own.txt").write_text("Answer in verse.\n")
    for given in ("Answer in verse.", "own.txt"):
        loop("--llm", scripted(DONE), "--protocol", protocol, "--system-prompt", given)
        (prompt,) = prompts()
        assert prompt.endswith("Answer in verse.\n\n## Context\n\nWhat is known.\n\n## Question\n\nauth flow\n")
        assert ("need_more" in prompt, "QUERY:" in prompt) == (protocol == "json", protocol == "regex")


def test_a_system_prompt_file_that_is_not_there_is_pointed_out(store: Path) -> None:
    done = loop("--llm", scripted(DONE), "--system-prompt", "prompts/verse.md")
    assert "there is no file prompts/verse.md" in done.notes
    assert "cannot read ." in loop("--llm", scripted(DONE), "--system-prompt", ".", code=1).notes


def test_a_context_over_the_budget_keeps_its_best_and_says_so(store: Path) -> None:
    context = "Filler line.\n" * 2000 + "The auth flow begins at the gateway.\n" + "Filler line.\n" * 2000
    done = loop("--llm", scripted(DONE), "--budget", "100", stdin=context)
    assert "The context has ~13009 tokens; what is best in it within 100 is used." in done.notes
    assert "begins at the gateway" in prompts()[0]
    assert len(prompts()[0].partition("## Context")[2]) < 500


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"tty": frozenset({"stdin"})}, "No input on stdin. Pipe from 'memctl push' or provide context."),
        ({"stdin": ""}, "Empty input on stdin."),
        ({"stdin": " \n\t"}, "Empty input on stdin."),
    ],
)
def test_without_a_context_nothing_is_asked(store: Path, how: dict[str, object], words: str) -> None:
    assert words in loop("--llm", scripted(DONE), code=1, **how).notes  # type: ignore[arg-type]
    assert not Path("prompts").exists()


def test_without_a_store_nothing_is_asked_unless_none_is_needed(scratch: Path) -> None:
    assert "no store at" in loop("--llm", scripted(DONE), code=1).notes
    assert not Path("prompts").exists()
    loop("--llm", scripted(DONE), "--max-calls", "1")
    loop("--llm", scripted(DONE), "--protocol", "passive")
    assert not Path(".memory").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "cannot run the LLM command '': it names no program"),
        ("no-such-llm -p", "LLM command not found: 'no-such-llm'"),
        ("sh -c 'echo no key >&2; exit 2'", "LLM command failed (exit 2): no key"),
        ("sh -c 'kill -9 $$'", "LLM command failed (killed by SIGKILL)"),
        ("sleep 600", "LLM command timed out after 0.2s: sleep 600"),
    ],
)
def test_a_model_that_fails(store: Path, command: str, words: str) -> None:
    done = loop("--llm", command, "--timeout", "0.2" if "sleep" in command else "60", code=1)
    assert words in done.notes
    assert "hint: " in done.notes
    assert done.out == b""


def test_a_failure_of_the_second_call_still_says_what_was_spent(store: Path) -> None:
    done = loop("--llm", scripted(more("signing keys"), "@exit 3\nOops."), code=1)
    assert "spent 2 calls" in done.notes
    assert json.loads(loop("--llm", "false", "--json", code=1).notes.splitlines()[-1])["error"] == "model-failed"


def test_what_it_says_on_stderr_is_shown_under_verbose_only(store: Path) -> None:
    answers = ("@stderr loading weights\n" + DONE,)
    assert "loading weights" not in loop("--llm", scripted(*answers)).notes
    assert "loading weights\n" in loop("--llm", scripted(*answers), "-v").notes


def test_an_embedder_that_is_none_is_refused_before_a_call_is_paid_for(store: Path) -> None:
    done = loop("--llm", scripted(more("signing keys")), "--embedder", "nonsense", code=1)
    assert "'nonsense' is no embedder" in done.notes
    assert "spent" not in done.notes
    assert not Path("prompts").exists()


def test_an_empty_question(store: Path) -> None:
    done = run("loop", " ", "--llm", scripted(DONE), stdin="What is known.")
    assert (done.code, "the question is empty" in done.notes) == (1, True)


def test_a_prompt_file(store: Path) -> None:
    assert loop("--llm", scripted(DONE + "Fine."), "--llm-mode", "file").text == "Fine.\n"
    assert "What is known." in prompts()[0]


# --- which command -----------------------------------------------------------------------------------------------


def test_the_flag_goes_before_the_variable(store: Path) -> None:
    env = {"MEMCTL_LLM": "printf from-the-variable"}
    assert loop("--protocol", "passive", env=env).text == "from-the-variable\n"
    assert loop("--protocol", "passive", "--llm", "printf from-the-flag", env=env).text == "from-the-flag\n"
    assert "no model command is named" in loop(code=1, env={"MEMCTL_LLM": ""}).notes


def test_a_config_file_that_merely_lies_there_runs_nothing(store: Path) -> None:
    config = Path(".memory/config.json")
    config.write_text(json.dumps({"llm": {"command": "touch pwned", "timeout": 5.0}}))
    done = loop(code=1)
    assert "llm.command is not used" in done.notes
    assert "no model command is named" in done.notes
    assert not Path("pwned").exists()
    loop("--llm", scripted(DONE))
    assert not Path("pwned").exists()
    loop("--config", os.fspath(config))
    assert Path("pwned").exists()


def test_a_named_config_file_gives_mode_and_timeout(store: Path) -> None:
    Path("c.json").write_text(json.dumps({"llm": {"command": "sleep", "mode": "file", "timeout": 0.2}}))
    assert "LLM command failed (exit 1): sleep: " in loop("--config", "c.json", code=1).notes
    Path("c.json").write_text(json.dumps({"llm": {"command": "sleep 600", "timeout": 0.2}}))
    assert "timed out after 0.2s" in loop("--config", "c.json", code=1).notes


# --- streaming ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["json", "regex", "passive"])
def test_a_stream_is_the_same_answer(store: Path, protocol: str) -> None:
    answers = (more("signing keys") + "\nQUERY: signing keys", DONE + "Every 17 days.\n\n  Or so. ")
    plain = loop("--llm", scripted(*answers), "--protocol", protocol)
    assert loop("--llm", scripted(*answers), "--protocol", protocol, "--stream").out == plain.out


def test_a_stream_that_breaks_off_ends_its_line(store: Path) -> None:
    done = loop("--llm", "sh -c 'printf half; exit 3'", "--protocol", "passive", "--stream", code=1)
    assert done.out == b"half\n"
    assert "failed (exit 3)" in done.notes


@pytest.mark.parametrize("argv", [["loop", "q", "--trace"], ["ask", ".", "q", "-v"]])
def test_a_stream_ends_its_line_before_anything_is_said_of_it(store: Path, argv: list[str]) -> None:
    both = io.BytesIO()  # a terminal shows the two in one
    llm = ["--llm", "printf 'It is so.'", "--protocol", "passive", "--stream"]
    assert run_cli([*argv, *llm], Console(io.BytesIO(b"What is known."), both, both)) == 0
    after = both.getvalue().decode().partition("It is so.")[2]
    assert re.match(r'\n\{"iter": 1, .*\}\n\[\w+\] spent 1 call', after)


def test_a_stream_is_no_json(store: Path) -> None:
    assert "--stream" in loop("--llm", "cat", "--stream", "--json", code=1).notes


def test_an_answer_cannot_command_the_terminal(store: Path) -> None:
    for argv in ([], ["--stream"]):
        done = loop("--llm", "printf 'a\\033[2Jb'", "--protocol", "passive", *argv, tty=frozenset({"stdout"}))
        assert done.out == b"a\\x1b[2Jb\n"
