"""memctl hook: what a client's model is told unasked, in the client's words, and when it is told nothing."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import ids
from memctl.text.tokens import estimate_tokens
from stores import STORE, add, stored
from support import PATIENCE, Result, golden, ok, run, spawn

PORT = "The zebra service listens on port 7421."
ASKED = "On which port does the zebra service listen?"
#: No process of a test is ended for the seconds that a busy machine takes.
PATIENT = ("--deadline", "60")


def hook(client: str, event: str, *flags: str, **said: Any) -> Result:
    return ok("hook", "--client", client, event, *PATIENT, *flags, stdin=json.dumps(said))


def told(event: str, **said: Any) -> str:
    """What the model of Claude Code is told."""
    return str(hook("claude", event, "--json", **said).json()["context"])


@pytest.fixture
def _store() -> None:
    ok("init")
    ok("remember", PORT, "--type", "fact")


pytestmark = pytest.mark.usefixtures("_store")

NESTED = {
    "claude": "UserPromptSubmit", "codex": "UserPromptSubmit", "qwen": "UserPromptSubmit", "gemini": "BeforeAgent",
}  # fmt: skip


@pytest.mark.parametrize("client", NESTED)
@pytest.mark.parametrize("word", ["prompt", ""])
def test_the_nested_dialect_has_no_other_key(client: str, word: str) -> None:
    done = hook(client, word or NESTED[client], session_id="s", prompt=ASKED)
    said = json.loads(done.text)
    assert set(said) == {"hookSpecificOutput"}
    inner = said["hookSpecificOutput"]
    assert set(inner) == {"hookEventName", "additionalContext"}
    assert inner["hookEventName"] == NESTED[client]
    assert PORT in inner["additionalContext"]
    assert done.notes == ""


def test_the_other_dialects() -> None:
    said = json.loads(hook("copilot", "userPromptSubmitted", sessionId="s", prompt=ASKED).text)
    assert set(said) == {"additionalContext"}
    assert PORT in said["additionalContext"]
    said = json.loads(hook("cursor", "beforeSubmitPrompt", conversation_id="s", prompt=ASKED).text)
    assert set(said) == {"additional_context", "continue"}
    assert said["continue"] is True
    assert hook("opencode", "prompt", session_id="s", prompt=ASKED).text.startswith("Memory (memctl)")


def test_the_json_of_it() -> None:
    golden("hook-json", re.sub(r"\[[0-9a-f]{6,}\]", "[<id>]", hook("claude", "prompt", "--json", prompt=ASKED).text))
    golden("hook-silent-json", hook("claude", "prompt", "--json", prompt="ok, go on").text)


def test_a_session_is_told_nothing_twice() -> None:
    assert PORT in told("prompt", session_id="one", prompt=ASKED)
    assert told("prompt", session_id="one", prompt=ASKED) == ""
    assert told("prompt", session_id="one", prompt="and the port of the zebra service, which one is it?") == ""
    assert PORT in told("prompt", session_id="two", prompt=ASKED)


def test_what_contradicts_an_item_is_told_once() -> None:
    first = told("prompt", session_id="s", prompt=ASKED)
    assert PORT in first
    other = ok("remember", "-q", "The zebra service listens on port 9000, not on another one.").text.strip()
    assert ok("conflicts", "--json").json()["total"] == 1
    second = told("prompt", session_id="s", prompt=f"{ASKED} Tell me again.")
    assert "9000" in second and PORT not in second and "contradicted by" in second
    assert told("prompt", session_id="s", prompt=f"{ASKED} And again.") == ""
    both = told("prompt", session_id="other", prompt=ASKED)
    assert PORT in both and "9000" in both and other[4:8] in both


def test_what_the_start_told_no_prompt_tells_again_until_the_session_is_compacted() -> None:
    assert PORT in told("session-start", session_id="s", source="startup")
    assert told("prompt", session_id="s", prompt=ASKED) == ""
    assert told("session-start", session_id="s", source="resume") == ""
    assert PORT in told("session-start", session_id="s", source="compact")
    hook("claude", "pre-compact", session_id="s")
    assert PORT in told("prompt", session_id="s", prompt=ASKED)


def test_a_prompt_that_repeats_what_hooks_said_is_read_without_it() -> None:
    before = told("session-start", session_id="x")
    assert told("prompt", session_id="g", prompt=f"<hook_context>{before}</hook_context>\n\nok, go on") == ""
    assert PORT in told("prompt", session_id="g", prompt=f"<hook_context>{before}</hook_context>\n\n{ASKED}")


@pytest.mark.parametrize(
    "prompt", ["", "   ", "/compact", "/mcp__memctl__recall zebra port", "thanks", "ok run it again"]
)
def test_talk_is_met_with_silence(prompt: str) -> None:
    assert hook("claude", "prompt", session_id="s", prompt=prompt).out == b""


@pytest.mark.parametrize("event", ["stop", "session-end", "post-compact", "pre-compact", "Stop", "SessionEnd"])
def test_events_that_take_no_context_get_none(event: str) -> None:
    done = hook("codex", event, session_id="s", prompt=ASKED)
    assert (done.out, done.err) == (b"", b"")


def test_blocks_stay_within_their_tokens() -> None:
    for number in range(60):
        add(f"The zebra service number {number} listens on port {number}; " + "it is said at length " * 20,
            type="decision", title=f"Zebra {number}")  # fmt: skip
    start, prompt = told("session-start", session_id="a"), told("prompt", session_id="b", prompt=ASKED)
    assert 300 < estimate_tokens(start) <= 600
    assert 200 < estimate_tokens(prompt) <= 400


def test_what_policy_holds_and_what_is_raw_is_told_to_no_model() -> None:
    add("The zebra service has the backup port 9001.", withheld="policy", injectable=False)
    Path("doc.md").write_text("The zebra service has the raw port 9002.\n", encoding="utf-8")
    ok("ingest", "doc.md")
    asked = "which backup port and which raw port has the zebra service"
    for words in (told("session-start"), told("prompt", prompt=asked)):
        assert "9001" not in words
        assert "9002" not in words


def test_a_store_of_somebody_else_says_nothing_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.path.abspath("other-user"))
    assert told("prompt", prompt=ASKED) == ""
    assert told("session-start") == ""


def test_the_folder_of_the_event_chooses_the_store() -> None:
    os.makedirs("elsewhere/deep")
    ok("init", cwd="elsewhere")
    ok("remember", "The lion service listens on port 12.", cwd="elsewhere")
    question = "on which port does the lion service listen?"
    assert "port 12" in told("prompt", prompt=question, cwd=os.path.abspath("elsewhere/deep"))
    assert "port 12" not in told("prompt", prompt=question)
    assert PORT in told("prompt", prompt=ASKED, cwd="/nowhere/at/all")


HOSTILE = [
    b"", b"{", b"null", b"[]", b'"prompt"', b"\xff\xfe\x00", b"[" * 100_000, b'{"prompt": 7, "cwd": [], "source": {}}',
    b'{"prompt": "\\ud83d on which port \\u0000 does zebra listen?", "session_id": "../../../etc/passwd"}',
    b'{"workspace_roots": [null], "source": 3}', b'{"prompt": "' + b"zebra port " * 500_000 + b'"}',
    b'{"prompt": "' + b"zebra " * 100_000 + b'"}',
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("event", ["prompt", "session-start"])
def test_whatever_stands_on_standard_input_it_ends_well(data: bytes, event: str) -> None:
    done = run("hook", "--client", "claude", event, *PATIENT, stdin=data)
    assert (done.code, done.err) == (0, b"")
    assert not os.path.exists("../../etc")
    if done.out:
        assert set(json.loads(done.text)) == {"hookSpecificOutput"}


@given(prompt=st.text(), session=st.text(), source=st.text(max_size=9))
def test_any_text_is_a_prompt(prompt: str, session: str, source: str) -> None:
    for event in ("prompt", "session-start"):
        done = hook("codex", event, prompt=prompt, session_id=session, source=source)
        assert done.err == b""
        assert done.out == b"" or set(json.loads(done.text)) == {"hookSpecificOutput"}


def test_no_store_is_made_and_none_is_missed(tmp_path: Path) -> None:
    for event in ("prompt", "session-start"):
        done = run("hook", "--client", "claude", event, *PATIENT, stdin=json.dumps({"prompt": ASKED}), cwd=tmp_path)
        assert (done.code, done.out, done.err) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_none_is_met_with_silence() -> None:
    Path("broken.db").write_bytes(b"no database" * 1000)
    done = run(
        "--db", "broken.db", "hook", "--client", "claude", "prompt", *PATIENT, stdin=json.dumps({"prompt": ASKED})
    )
    assert (done.code, done.out, done.err) == (0, b"", b"")


def test_a_locked_store_is_read() -> None:
    other = sqlite3.connect(STORE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        assert PORT in told("prompt", session_id="s", prompt=ASKED)
    finally:
        other.close()


def test_a_home_that_cannot_be_written_to_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_DB", os.path.abspath(STORE))
    Path("file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", os.path.abspath("file"))
    assert PORT in told("prompt", session_id="s", prompt=ASKED)


def test_a_use_is_counted() -> None:
    told("prompt", session_id="s", prompt=ASKED)
    assert [item.usage_count for item in stored()] == [1]


def test_its_process_leaves_nothing_beside_the_store() -> None:
    event = json.dumps({"session_id": "s", "prompt": ASKED}).encode()
    said = spawn("hook", "--client", "claude", "prompt", *PATIENT, stdin=event)
    assert b"7421" in said.out
    assert {path.name for path in Path(STORE).parent.iterdir()} & {"memory.db-wal", "memory.db-shm"} == set()
    assert [item.usage_count for item in stored()] == [1]


def test_it_ends_in_time_whatever_it_waits_for() -> None:
    silent, writer = os.pipe()
    done = subprocess.run(
        [sys.executable, "-m", "memctl", "hook", "--client", "claude", "prompt", "--deadline", "0.5"],
        stdin=silent, capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    os.close(writer)
    os.close(silent)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_wrong_command_line_is_told() -> None:
    for words in (["--client", "nobody", "prompt"], ["--client", "claude", "lunch"], ["prompt"]):
        done = run("hook", *words)
        assert done.code == 1
        assert "hint:" in done.notes


def test_a_reader_that_has_gone_is_no_failure() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "memctl", "hook", "--client", "claude", "prompt", *PATIENT],
        input=json.dumps({"prompt": ASKED}).encode(), stdout=writer, stderr=subprocess.PIPE, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_in_the_personal_store_each_project_is_told_its_own() -> None:
    Path(STORE).unlink()
    ok("init", "--personal")
    for name, port in (("one", "1111"), ("two", "2222")):
        os.makedirs(f"{name}/.git")
        ok("remember", f"The {name} zebra service listens on port {port}.", cwd=name)
    ok("remember", "Every zebra service logs to the journal.", "--scope", "global", cwd="one")
    start = told("session-start", cwd=os.path.abspath("one"))
    assert "1111" in start
    assert "journal" in start
    assert "2222" not in start
    assert "2222" in told("prompt", cwd=os.path.abspath("two"), prompt=ASKED)
    assert "1111" not in told("prompt", cwd=os.path.abspath("two"), prompt=ASKED)


def test_what_a_session_was_given_is_forgotten_after_a_month(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PORT in told("prompt", session_id="first", prompt=ASKED)
    real = ids.now_seconds
    told("session-start", session_id="second")
    assert not told("prompt", session_id="first", prompt="Which port is the zebra service on?")
    monkeypatch.setattr(ids, "now_seconds", lambda: real() + 31 * 86_400)
    told("session-start", session_id="third")
    assert PORT in told("prompt", session_id="first", prompt="Which port is the zebra service on?")
