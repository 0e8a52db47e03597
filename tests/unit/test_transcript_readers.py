"""Readers of transcripts: each client's own file, whole, broken off, mixed up and hostile."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl.capture import transcript
from memctl.capture.turns import Command, Turn
from sessions import llm_database, opencode_database

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "transcripts"
ZEBRA = "On which port does zebra run?"


def read(name: str) -> list[Turn]:
    return list(transcript.open_transcript(str(SAMPLES / name)).turns())


def said(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns]


@pytest.mark.parametrize(
    ("name", "form", "folder"),
    [
        ("gemini.jsonl", "gemini", ""),
        ("qwen.jsonl", "qwen", "/home/me/qwen/proj"),
        ("copilot.jsonl", "copilot", "/home/me/copilot/proj"),
        ("cline.json", "cline", ""),
        ("opencode.json", "opencode", "/home/me/opencode/proj"),
    ],
)
def test_a_short_conversation_is_read_alike_from_each_client(name: str, form: str, folder: str) -> None:
    found = transcript.open_transcript(str(SAMPLES / name))
    turns = list(found.turns())
    assert said(turns) == [("user", ZEBRA), ("assistant", "zebra listens on 7421")]
    assert (found.form, found.bad, {turn.cwd for turn in turns}) == (form, 0, {folder})
    assert all(turn.session and turn.id and turn.time.startswith("2026-11-20T16:") for turn in turns)
    assert turns[1].model and not turns[0].model


@pytest.mark.parametrize(("make", "form"), [(opencode_database, "opencode"), (llm_database, "llm")])
def test_the_databases_of_opencode_and_llm_are_read_like_the_export(
    make: Callable[..., None], form: str, tmp_path: Path
) -> None:
    export = json.loads((SAMPLES / "opencode.json").read_text(encoding="utf-8"))
    child = json.loads(json.dumps(export).replace("ses_e0", "ses_f0").replace("_1f", "_2f"))
    child["info"]["parentID"] = export["info"]["id"]
    make(tmp_path / "x.db", *([export, child] if form == "opencode" else [export]))
    before = (tmp_path / "x.db").read_bytes()
    found = transcript.open_database(str(tmp_path / "x.db"))
    assert found is not None
    turns = list(found.turns())
    assert said(turns) == [("user", ZEBRA), ("assistant", "zebra listens on 7421")]
    assert (found.form, {turn.session for turn in turns}) == (form, {export["info"]["id"]})
    assert all(len(turn.id) >= 16 and turn.time.startswith("2026-11-20T16:3") for turn in turns)
    assert turns[0].time < turns[1].time
    assert turns[1].model == "stub-model"
    assert (tmp_path / "x.db").read_bytes() == before
    assert not list(tmp_path.glob("x.db-*"))


BLOCK = "## Memory (Injected)\nformat_version: 2, best first\n[e6fbec] 2026-11-23\n We deploy [1234ab] on Fridays.\n"
SHELL = {"name": "shell", "id": "c1"}
#: How clients write down what a tool answered.
ANSWERED: dict[str, list[dict[str, Any]]] = {
    "claude": [{"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": BLOCK}]}}],
    "codex": [{"type": "response_item", "timestamp": "", "payload": {"type": "function_call_output", "output": BLOCK}}],
    "gemini": [{"type": "gemini", "content": "", "id": "m2", "toolCalls": [
        {**SHELL, "status": "success", "result": [{"functionResponse": {"response": {"output": BLOCK}}}]}]}],
    "qwen": [{"type": "tool_result", "message": {"parts": [{"functionResponse": {"response": {"output": BLOCK}}}]}}],
    "copilot": [{"type": "tool.execution_complete", "data": {"toolCallId": "c1", "result": {"content": BLOCK}}}],
}  # fmt: skip


@pytest.mark.parametrize("form", ANSWERED)
def test_of_what_tools_answered_the_ids_of_a_block_are_known(form: str) -> None:
    lines = (SAMPLES / f"{form}.jsonl").read_text().splitlines()
    told = "\n".join([*lines, *map(json.dumps, ANSWERED[form]), ""])
    *_, last = transcript.of_bytes(told.encode(), form=form).turns()
    assert (last.role, last.fetched) == ("assistant", ("e6fbec",))
    assert "Fridays" not in str(last)


def test_claude_code_without_side_chains_tools_and_summaries() -> None:
    turns = read("claude.jsonl")
    assert said(turns) == [
        ("user", f"{ZEBRA} Write it to notes.md. My favourite colour is teal."),
        ("assistant", "Zebra runs on port 7421. I wrote notes.md."),
        ("user", "Ask a sub-agent to say hi. Then: we decide to use SQLite, not Postgres."),
        ("assistant", "The agent said hi. We decided to use SQLite."),
        ("user", "What is my favourite colour?"),
        ("assistant", "Teal."),
    ]
    answer = turns[1]
    assert answer.files == ("/home/me/tr_claude/proj/notes.md",)
    assert answer.commands == (Command("echo port=7421 && ls", 0), Command("false", 1))
    assert (answer.cwd, answer.branch, answer.model) == ("/home/me/tr_claude/proj", "master", "claude-opus-5-5")
    assert answer.session == "22222222-2222-4222-8222-222222222222"
    assert read("claude-agent.jsonl") == []


def test_codex_says_what_was_said_and_how_commands_ended() -> None:
    turns = read("codex.jsonl")
    assert said(turns) == [
        ("user", f"{ZEBRA} My favourite colour is teal."),
        ("assistant", "Zebra runs on port 7421."),
        ("user", "We decide to use SQLite, not Postgres."),
        ("assistant", "Noted: SQLite."),
    ]
    assert turns[1].commands == (Command("echo port=7421 && ls", 0),)


def test_aider_sessions_are_kept_apart() -> None:
    turns = read("aider.md")
    assert said(turns) == [
        ("user", f"{ZEBRA}\nWrite it to notes.md."),
        ("assistant", "Zebra runs on port 7421.\n\nI write it down."),
        ("user", "/run make test"),
        ("user", "We decide to use SQLite, not Postgres."),
        ("assistant", "Noted: SQLite."),
    ]
    assert turns[1].files == ("notes.md",)
    assert {turn.session[:25] for turn in turns} == {"aider 2026-11-20 16:15:37", "aider 2026-11-21 09:00:00"}


@pytest.mark.parametrize("mark", ["#", "####", "#### "])
def test_a_line_of_aider_that_is_still_being_written_waits(mark: str) -> None:
    text = f"# aider chat started at 2026-11-20 16:15:37\n\n#### Why?\n{mark}"
    assert said(list(transcript.of_bytes(text.encode()).turns())) == [("user", "Why?")]


def test_a_heading_in_an_answer_of_aider_is_no_prompt() -> None:
    text = (
        "# aider chat started at 2026-11-20 16:15:37\n\n#### How do we log in?  \n####   \n#### Tell me.  \n\n"
        "So:\n\n#### We decided to turn the checks off.\n\nDone.\n\n#### thanks  \n"
    )
    assert said(list(transcript.of_bytes(text.encode()).turns())) == [
        ("user", "How do we log in?\n\nTell me."),
        ("assistant", "So:\n\n#### We decided to turn the checks off.\n\nDone."),
        ("user", "thanks"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "user: a\nassistant: b\n",
        "Human: a\n\nAI: b",
        "## User\n\na\n\n## Assistant\n\nb\n",
        "**You:** a\n**ChatGPT:** b",
        '[{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}]',
        '[\n  {"role": "user", "content": "a"},\n  {"role": "assistant", "content": "b"}\n]\n',
        '{"messages": [{"role": "user", "content": "a"}, {"role": "model", "text": "b"}]}',
        '{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b"}\n',
        '{"prompt": "a", "response": "b"}\n',
        '[{"prompt": "a", "response": "b", "conversation_id": "c"}]',
    ],
)
def test_conversations_of_other_programs(text: str) -> None:
    assert said(list(transcript.of_bytes(text.encode()).turns())) == [("user", "a"), ("assistant", "b")]


@pytest.mark.parametrize("name", ["claude.jsonl", "codex.jsonl", "gemini.jsonl", "qwen.jsonl", "copilot.jsonl"])
def test_reading_goes_on_where_it_ended(name: str, tmp_path: Path) -> None:
    whole = (SAMPLES / name).read_bytes()
    half = tmp_path / "half.jsonl"
    half.write_bytes(whole[: len(whole) // 2])
    first = transcript.open_transcript(str(half))
    begun = list(first.turns())
    half.write_bytes(whole)
    rest = list(transcript.open_transcript(str(half), start=first.resume).turns())
    kept = [turn for turn in begun if turn.offset < first.resume]
    assert [turn._replace(session="") for turn in kept + rest] == [turn._replace(session="") for turn in read(name)]
    assert {turn.session for turn in kept + rest if name != "gemini.jsonl"} <= {turn.session for turn in read(name)}


@pytest.mark.parametrize("name", ["claude.jsonl", "codex.jsonl", "gemini.jsonl", "qwen.jsonl", "copilot.jsonl"])
def test_lines_that_are_none_cost_nothing_else(name: str) -> None:
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    rubbish = [
        b"\xff\xfe\n",
        b"{\n",
        b"[" * 5000 + b"\n",
        b'"text"\n',
        b"\0" * 100 + b"\n",
        b"NaN\n",
        b'{"type": 7}\n',
        b"\n",
    ]
    mixed = b"".join(line + rubbish[at % len(rubbish)] for at, line in enumerate(lines))
    found = transcript.of_bytes(mixed + b'{"type": "user", "message": {"role": "us', session="x")
    turns = list(found.turns())
    assert said(turns) == said(read(name))
    assert found.bad >= len(lines) // 2


@pytest.mark.parametrize("name", ["claude.jsonl", "codex.jsonl", "gemini.jsonl", "qwen.jsonl", "copilot.jsonl"])
@pytest.mark.parametrize(
    "before",
    [b'{"type": "user", "mess\n' * 60, b"\n" * 60, b"{}\n" * 60, b'{"$set": 5}\n', b'{"a": "%s"}\n' % (b"x" * 2**21),
     b'{"role": "tool", "content": "x"}\n' * 60, b'{"a": "%s"}\n' % (b"x" * 2**15) * 40],
    ids=["broken", "blank", "unknown", "another client's", "longer than what is looked at", "of any program", "junk"],
)  # fmt: skip
def test_whose_lines_they_are_may_show_late(name: str, before: bytes) -> None:
    whole = (SAMPLES / name).read_bytes()
    for form in ("", name.removesuffix(".jsonl")):
        assert said(list(transcript.of_bytes(before + whole, form=form).turns())) == said(read(name))


@pytest.mark.parametrize("before", ['{"role": "user", "cont\n', "[1, 2]\n", "[" * 3000 + "\n"])
def test_a_first_line_that_is_broken_makes_no_document_of_lines(before: str) -> None:
    lines = '{"role": "user", "content": "Why?"}\n{"role": "assistant", "content": "So."}\n'
    found = transcript.of_bytes((before + lines).encode(), session="s")
    assert said(list(found.turns())) == [("user", "Why?"), ("assistant", "So.")]
    assert found.bad == 1


def test_a_document_that_breaks_off_keeps_its_whole_messages() -> None:
    text = (SAMPLES / "opencode.json").read_bytes()
    cut = text[: text.index(b"listens on 7421") + 3]
    found = transcript.of_bytes(cut)
    assert said(list(found.turns())) == [("user", ZEBRA)]
    assert (found.form, found.bad) == ("opencode", 1)
    cline = (SAMPLES / "cline.json").read_bytes()
    cut = cline[: cline.index(b'"id": "msg_GQry9CuX"')]
    assert said(list(transcript.of_bytes(cut, form="cline").turns())) == [("user", ZEBRA)]


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "lines"])
@pytest.mark.parametrize("name", ["cline.json", "opencode.json", "generic"])
def test_of_a_damaged_document_the_other_messages_are_kept(name: str, indent: int | None) -> None:
    value: Any = {"messages": [{"role": "user", "content": ZEBRA}, {"role": "assistant", "content": "It is 7421."}]}
    if name != "generic":
        value = json.loads((SAMPLES / name).read_bytes())
    one = json.dumps(value["messages"])
    value["messages"] = [json.loads(one.replace("zebra", f"zebra{n}").replace("7421", f"{n}")) for n in range(5)]
    value["messages"] = [message for pair in value["messages"] for message in pair]
    whole = json.dumps(value, indent=indent).encode()
    prompts = [text for role, text in said(list(transcript.of_bytes(whole).turns())) if role == "user"]
    assert len(prompts) == 5

    def left(damaged: bytes) -> list[str]:
        return [text for role, text in said(list(transcript.of_bytes(damaged).turns())) if role == "user"]

    at = whole.index(b"zebra2")
    assert left(whole[:at] + b'"' + whole[at + 1 :]) == [*prompts[:2], *prompts[3:]]
    for control in (b"\0", b"\n"):
        assert len(left(whole[:at] + control + whole[at + 1 :])) == 5
    at = whole.index(b'"messages"')
    assert left(whole[:at] + b'"x": tru, ' + whole[at:]) == prompts
    if indent:
        assert left(b"Exporting session: x\n" + whole) == prompts
    assert left(whole.decode().encode("utf-16")) == prompts


@pytest.mark.parametrize("name", ["cline.json", "opencode.json"])
@pytest.mark.parametrize("before", [
    '{"type": "user", "message": null}\n', '{"type": "user", "mess\n', '{"log": "begins"}\n{"log": 2}\n', "[1, 2]\n",
    '[{"a": 1}]\n', "{\n", '{"a": 1}\n' * 15,
])  # fmt: skip
def test_a_document_below_other_json_is_read(before: str, name: str) -> None:
    whole = json.dumps(json.loads((SAMPLES / name).read_bytes()), indent=1)
    alone = said(list(transcript.of_bytes(whole.encode()).turns()))
    assert alone
    assert said(list(transcript.of_bytes((before + whole).encode()).turns())) == alone


@pytest.mark.parametrize("text", ['[{"a":' * 100_000, '[{"a":0 ' + ',{"a":"' * 100_000, '{"a":{' * 100_000,
    '{"messages": [' * 50_000, "log\n{\n" * 100_000])  # fmt: skip
def test_a_hostile_document_is_read_in_short_time(text: str) -> None:
    before = time.process_time()
    assert list(transcript.of_bytes(text.encode()).turns()) == []
    assert time.process_time() - before < 5


def test_sessions_in_one_file_stay_apart() -> None:
    lines = (SAMPLES / "claude.jsonl").read_bytes().splitlines(keepends=True)
    other = [line.replace(b"22222222-2222", b"33333333-3333") for line in lines]
    found = transcript.of_bytes(b"".join(pair for both in zip(lines, other, strict=True) for pair in both))
    turns = list(found.turns())
    for name in ("22222222-2222-4222-8222-222222222222", "33333333-3333-4222-8222-222222222222"):
        assert said([turn for turn in turns if turn.session == name]) == said(read("claude.jsonl"))


def test_what_a_client_puts_round_a_prompt_is_not_said() -> None:
    block = "## Memory (Injected)\nformat_version: 2\n[0f1083] 2026-11-22\n We use tabs.\n--- End Memory (1) ---\n"
    prompt = f"<hook_context>{block}</hook_context>\n<system-reminder>\nbe good\n</system-reminder>\nfix it\n{block}"
    talk = json.dumps({"role": "user", "content": prompt}) + "\n" + json.dumps({"role": "assistant", "content": block})
    found = transcript.of_bytes(talk.encode())
    assert said(list(found.turns())) == [("user", "fix it")]
    assert found.hidden == 1
