"""What stands around every tool: it always answers, in order, and always leaves one line in the log."""

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl import errors
from memctl.mcp import tool_schema
from memctl.mcp.audit import AuditLogger
from memctl.mcp.grants import FULL, Grant, current_grant, granted
from memctl.mcp.guard import GuardError, ServerGuard
from memctl.mcp.middleware import Metrics, ToolMiddleware
from memctl.mcp.rate_limiter import RateLimiter, RateLimitExceeded
from memctl.mcp.session import SessionTracker

KEYS = ["v", "ts", "rid", "tool", "sid", "db", "outcome", "d", "ms"]
#: All that `d` may hold, tool by tool, in schema v1.
DETAILS = {
    "memory_recall": "query_len matched tokens fts_strategy",
    "memory_recall_best_effort": "query_len matched tokens steps",
    "memory_search": "query_len results fts_strategy",
    "memory_propose": "proposed accepted rejected quarantined bytes",
    "memory_write": "bytes hash preview policy",
    "memory_read": "ids",
    "memory_mount": "action path",
    "memory_sync": "synced new updated",
    "memory_inspect": "format path",
    "memory_ask": "question_len",
    "memory_export": "exported truncated",
    "memory_import": "items imported skipped errors bytes",
    "memory_loop": "iterations stop_reason",
    "memory_consolidate": "merged archived",
    "memory_diff": "id1 identical",
    "memory_link": "src_id dst_id relation",
    "memory_related": "id total",
    "memory_similar": "id total",
    "memory_promote": "id from_tier to_tier",
    "memory_reset": "dry_run preserve_mounts total_records",
    "memory_reindex": "tokenizer_changed items_indexed dry_run tokenizer_change",
    "memory_stats": "",
    "memory_status": "",
    "memory_metrics": "",
    "memory_new_one": "",
}
OUTCOMES = {"ok", "error", "rejected", "rate_limited", "not_found", "invalid_tier", "already_at_tier"}


class Server:
    """The middleware with everything on, its log, and a clock that stands still."""

    def __init__(self, folder: Path, **how: Any) -> None:
        self.out = io.StringIO()
        self.now = 0.0
        parts: dict[str, Any] = {
            "guard": ServerGuard(cwd=str(folder), clock=lambda: self.now),
            "rate_limiter": RateLimiter(clock=lambda: self.now),
            "audit": AuditLogger(self.out),
            "sessions": SessionTracker(),
            "metrics": Metrics(),
            "db_path": str(folder / "m.db"),
        }
        self.parts = parts | how
        self.middleware = ToolMiddleware(**self.parts)
        self.runs = 0

    def call(
        self,
        tool: str,
        access: Any = "read",
        run: Callable[[], Any] | None = None,
        *,
        session: str | None = None,
        **args: Any,
    ) -> dict[str, Any]:
        def counted() -> Any:
            self.runs += 1
            return {"status": "ok"} if run is None else run()

        return self.middleware.call(tool, access, args, counted, session=session)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line, parse_constant=pytest.fail) for line in self.out.getvalue().splitlines()]


@pytest.fixture
def server(scratch: Path) -> Server:
    return Server(scratch)


def raising(exc: BaseException) -> Callable[[], Any]:
    def run() -> Any:
        raise exc

    return run


def test_a_call_answers_with_what_the_tool_returns(server: Server, scratch: Path) -> None:
    answer = {"status": "ok", "count": 1, "fts_strategy": "AND"}
    assert server.call("memory_search", run=lambda: answer, query="words") is answer
    line = server.lines[0]
    assert list(line) == KEYS
    assert (line["tool"], line["sid"], line["db"], line["outcome"]) == (
        "memory_search", "default", str(scratch / "m.db"), "ok",
    )  # fmt: skip
    assert line["d"] == {"query_len": 5, "results": 1, "fts_strategy": "AND"}


def test_the_log_names_the_store_by_its_root(scratch: Path) -> None:
    server = Server(scratch, guard=ServerGuard(db_root=scratch))
    server.call("memory_stats")
    assert server.lines[0]["db"] == "m.db"


# --- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (
            errors.ItemNotFound(id="MEM-1"),
            {"status": "error", "code": "item-not-found", "message": "item not found: MEM-1",
             "hint": "memctl search or memctl list shows the ids there are"},
        ),
        (errors.MemctlError("plain"), {"status": "error", "code": "memctl-error", "message": "plain"}),
        (
            GuardError("Write size 9 bytes exceeds limit of 8 bytes"),
            {"status": "error", "code": "refused", "message": "Write size 9 bytes exceeds limit of 8 bytes",
             "hint": "split it into several smaller ones"},
        ),
        (
            RateLimitExceeded(7, "Write rate limit exceeded"),
            {"status": "rate_limited", "retry_after_ms": 7, "message": "Write rate limit exceeded",
             "code": "rate-limited"},
        ),
    ],
)  # fmt: skip
def test_known_failures(server: Server, exc: Exception, expected: dict[str, Any]) -> None:
    assert server.call("memory_read", run=raising(exc), id="x") == expected
    assert server.lines[0]["outcome"] == ("rate_limited" if isinstance(exc, RateLimitExceeded) else "error")


def test_the_unexpected_is_two_lines_and_a_report_without_contents(server: Server) -> None:
    answer = server.call(
        "memory_write", "write", raising(ZeroDivisionError("division\nby zero")), content="my secret diary"
    )
    assert answer["message"] == "internal error: ZeroDivisionError: division"
    assert (answer["status"], answer["code"]) == ("error", "internal-error")
    report = Path(answer["hint"].rpartition(" ")[2])
    assert report.is_relative_to(Path(os.environ["HOME"]) / ".local/state/memctl")
    text = report.read_text()
    assert "tool memory_write(content=<15 characters>)" in text
    assert "ZeroDivisionError" in text
    assert "diary" not in text
    assert server.lines[0] | {"ts": 0, "rid": 0, "ms": 0, "db": 0} == {
        "v": 1, "ts": 0, "rid": 0, "tool": "memory_write", "sid": "default", "db": 0, "outcome": "error",
        "d": {"bytes": 15}, "ms": 0,
    }  # fmt: skip


def test_two_faults_in_one_second_leave_two_reports(server: Server, frozen: None) -> None:
    hints = {server.call("memory_read", run=raising(KeyError("x")))["hint"] for _ in range(3)}
    assert len(hints) == 3
    assert all(Path(hint.rpartition(" ")[2]).exists() for hint in hints)


def test_without_a_place_for_the_report_it_goes_to_standard_error(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", os.path.abspath("file"))
    answer = server.call("memory_read", run=raising(KeyError("x")))
    assert answer["hint"].endswith("no report file)")
    assert "KeyError" in capsys.readouterr().err


@pytest.mark.parametrize("nonsense", [None, [], "text", 5])
def test_a_tool_that_answers_nonsense_is_a_fault(server: Server, nonsense: Any) -> None:
    assert server.call("memory_read", run=lambda: nonsense)["code"] == "internal-error"


@pytest.mark.parametrize("exc", [KeyboardInterrupt(), SystemExit(3)])
def test_the_end_of_the_program_passes_through_and_is_logged(server: Server, exc: BaseException) -> None:
    with pytest.raises(type(exc)):
        server.call("memory_read", run=raising(exc))
    assert server.lines[0]["outcome"] == "error"


# --- limits ----------------------------------------------------------------------------------------------------------


def test_limits_come_before_the_work(server: Server) -> None:
    for _ in range(40):
        server.call("memory_write", "write", content="x")
    refused = server.call("memory_write", "write", content="x")
    assert (refused["status"], refused["retry_after_ms"], server.runs) == ("rate_limited", 3000, 40)
    assert server.call("memory_stats")["status"] == "ok"
    assert server.call("memory_metrics", "none")["status"] == "ok"
    assert server.call("memory_write", "write", session="another", content="x")["status"] == "ok"
    server.now += 3
    assert server.call("memory_write", "write", content="x")["status"] == "ok"
    assert server.lines[40]["outcome"] == "rate_limited"


def test_many_threads_get_no_more_than_one(server: Server) -> None:
    answers: list[dict[str, Any]] = []

    def write() -> None:
        answers.extend([server.call("memory_write", "write", content="x") for _ in range(20)])

    threads = [Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in answers if one["status"] == "ok"]) == 40
    assert len(server.lines) == len(answers) == 160
    assert server.parts["metrics"].as_dict()["rate_limited"] == 120


@pytest.mark.parametrize(
    ("question", "access"), [("memory_recall", "read"), ("memory_search", "read"), ("memory_session_inject", "create")]
)
def test_a_turn_ends_with_a_question_and_with_silence(server: Server, question: str, access: str) -> None:
    assert server.call("memory_propose", "write", items="[1,2,3,4,5]")["status"] == "ok"
    assert server.call("memory_propose", "write", items="[1]")["status"] == "rate_limited"
    assert server.call("memory_list")["status"] == "ok"
    assert server.call("memory_propose", "write", items="[1]")["status"] == "rate_limited"
    assert server.call(question, access, query="q")["status"] == "ok"
    assert server.call("memory_propose", "write", items=[1, 2, 3, 4, 5])["status"] == "ok"
    assert server.call("memory_propose", "write", items={"content": "one"})["status"] == "rate_limited"
    server.now += 60
    assert server.call("memory_propose", "write", items={"content": "one"})["status"] == "ok"
    state = server.middleware.sessions.get_or_create()
    assert state.turn_count == 1
    assert state.writes_this_turn == 2 + (access == "create")


def test_six_proposals_at_once_are_told_how_many_may_come(server: Server) -> None:
    answer = server.call("memory_propose", "write", items=[{}] * 6)
    assert answer["message"].startswith("Proposal limit exceeded: 6 proposals this turn (limit: 5).")
    assert server.runs == 0


def test_an_import_of_500_items_works_and_one_of_10_000_does_not(server: Server) -> None:
    items = [{"content": f"fact {n}"} for n in range(10_000)]
    assert server.call("memory_import", "create", items=json.dumps(items[:500]))["status"] == "ok"
    answer = server.call("memory_import", "create", items=items)
    assert answer["message"] == "Import batch of 10000 items exceeds limit of 500"
    assert server.lines[1]["d"]["items"] == 10_000
    assert server.runs == 1


def test_sizes_places_and_programs(server: Server) -> None:
    for arguments, start in (
        ({"content": "x" * 70_000}, "Write size 70000 bytes"),
        ({"path": "/etc"}, "Path outside the allowed folders: '/etc'"),
        ({"path": "a/../../b"}, "Path traversal rejected"),
        ({"llm_cmd": "touch pwned"}, "Command refused"),
    ):
        answer = server.middleware.call(
            "memory_new_one", "write", dict(arguments), lambda: {"status": "ok", "ran": True}
        )
        assert (answer["status"], answer["code"]) == ("error", "refused")
        assert answer["message"].startswith(start)
        assert answer["hint"]
        assert "ran" not in answer


def test_what_is_documented_as_reading_may_say_more_than_a_write(server: Server) -> None:
    assert server.call("memory_ask", "create", question="x" * 70_000)["status"] == "ok"
    assert server.call("memory_ask", "create", question="x" * 270_000)["message"].startswith("Arguments of 270")
    assert server.call("memory_mount", "create", name="x" * 70_000)["message"].startswith("Write size 700")


def test_a_store_over_its_size_is_still_read(scratch: Path) -> None:
    (scratch / "m.db").write_bytes(b"x" * 2_000_000)
    server = Server(scratch, guard=ServerGuard(cwd=str(scratch), max_db_size_mb=1))
    assert server.call("memory_write", "create", content="x")["message"].startswith("Database size 1.9 MB exceeds")
    assert server.call("memory_new_one", "create")["status"] == "error"
    assert server.call("memory_recall", query="x")["status"] == "ok"


def test_what_is_counted_of_a_session_is_in_one_place(scratch: Path) -> None:
    """A session that is forgotten is forgotten whole, and each part counts for itself in the same session."""
    server = Server(scratch, sessions=SessionTracker(max_sessions=2))
    sessions: SessionTracker = server.parts["sessions"]
    for _ in range(8):
        assert server.call("memory_write", "create", content="x" * 60_000, session="s")["status"] == "ok"
    assert server.call("memory_write", "create", content="x" * 60_000, session="s")["code"] == "refused"
    with pytest.raises(RateLimitExceeded):
        server.parts["rate_limiter"].check_write_n("s", 32)
    with pytest.raises(GuardError, match="Write budget"):
        server.parts["guard"].check_write_budget("s", 60_000)
    sessions.reset("s")
    assert server.call("memory_write", "create", content="x" * 60_000, session="s")["status"] == "ok"
    server.parts["rate_limiter"].check_write_n("s", 32)
    for name in "abc":
        assert server.call("memory_write", "create", content="x", session=name)["status"] == "ok"
    assert len(sessions) == 2
    another = RateLimiter(writes_per_minute=1, clock=lambda: server.now)
    another.sessions = sessions
    another.check_write_n("c", 2)
    with pytest.raises(RateLimitExceeded):
        another.check_write("c")
    server.parts["rate_limiter"].check_write("c")


def test_every_part_can_be_left_out(scratch: Path) -> None:
    none = {"guard": None, "rate_limiter": None, "audit": None, "sessions": None, "metrics": None}
    server = Server(scratch, **none)
    for _ in range(50):
        assert server.call("memory_propose", "write", items="x" * 70_000, path="/etc")["status"] == "ok"


def test_a_log_that_fails_breaks_no_call(scratch: Path) -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(28, "No space left on device")

    server = Server(scratch, audit=AuditLogger(Full()))
    assert server.call("memory_read")["status"] == "ok"


def test_everything_is_measured(server: Server) -> None:
    server.call("memory_write", "write", content="x" * 100)
    server.call("memory_write", "write", lambda: {"status": "rejected"}, content="x")
    server.call("memory_write", "write", content="x" * 70_000)
    found = server.parts["metrics"].as_dict()["tools"]["memory_write"]
    assert (found["calls"], found["errors"]) == (3, 2)
    assert 70_100 < found["bytes_in"] < 70_200
    assert 20 < found["bytes_out"] < 400


# --- grants ----------------------------------------------------------------------------------------------------------


def test_a_token_that_may_only_read(server: Server) -> None:
    with granted(Grant("ci", writes=False)):
        assert server.call("memory_search", query="x")["status"] == "ok"
        answer = server.call("memory_write", "write", content="x")
        assert server.call("memory_mount", "create", path=".")["code"] == "refused"
    assert answer["message"] == "This token may only read: memory_write changes the store"
    assert [line["sid"] for line in server.lines] == ["ci", "ci", "ci"]
    assert server.runs == 1


def test_a_token_cannot_have_more_by_opening_sessions(server: Server) -> None:
    with granted(Grant("ci", writes=True)):
        answers = [server.call("memory_write", "write", session=f"s{n}", content="x") for n in range(41)]
    assert answers[40]["status"] == "rate_limited"
    with granted(FULL):
        assert server.call("memory_write", "write", session="s1", content="x")["status"] == "ok"


def test_a_token_that_is_bound_to_a_workspace(server: Server) -> None:
    def call(tool: str = "memory_recall", takes: str = "query scope all_scopes workspace", **arguments: Any) -> Any:
        with granted(Grant("docs", writes=True, workspace="docs")):
            answer = server.middleware.call(
                tool,
                "read",
                arguments,
                lambda: {"status": "ok", "saw": dict(arguments)},
                parameters=frozenset(takes.split()),
            )
        return answer["saw"] if answer["status"] == "ok" else answer["message"]

    assert call(query="x") == {"query": "x", "workspace": "docs"}
    assert call(query="x", workspace="docs", scope="secret") == {"query": "x", "workspace": "docs"}
    assert call(workspace="other") == call(all_scopes=True) == "This token sees only the workspace docs"
    assert "goes beyond workspaces" in call("memory_read", "ids", ids="MEM-1")
    assert "goes beyond workspaces" in call("memory_status", ""), "it counts the whole store"
    assert call("memory_metrics", "") == {}


def test_a_remote_server_lets_no_call_in_without_a_grant(scratch: Path) -> None:
    server = Server(scratch, remote=True)
    assert current_grant() is None
    assert server.call("memory_read")["code"] == "refused"
    with granted(FULL):
        assert server.call("memory_read")["status"] == "ok"


def test_the_document_says_what_the_log_may_hold() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mcp-security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(memory_\w+)` \| ([^|]*) \|$", page, re.MULTILINE)
    documented = {tool: set(re.findall(r"`(\w+)`", cell)) for tool, cell in rows}
    there = {listed.name for listed in tool_schema.catalog("full")}
    assert documented == {tool: set(keys.split()) for tool, keys in DETAILS.items() if keys and tool in there}
    named = set(re.findall(r"`(memory_\w+)`", page))
    assert named <= there | {"memory_complete"}, "it names tools that there are"


# --- anything at all -------------------------------------------------------------------------------------------------

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["query", "content", "items", "title", "path", "source", "file", "ids", "id1", "scope", "workspace", "llm_cmd"]
)
HOSTILE = st.sampled_from(
    [
        "/etc/passwd",
        "../..",
        "~",
        "\0",
        "\ud800",
        "[" * 5000,
        "[1,",
        "x" * 70_000,
        "a\nb",
        "*" * 50,
        '{"a":1}',
        -1,
        10**5000,
    ]
)
ARGUMENTS = st.dictionaries(NAMES | st.text(max_size=8), HOSTILE | JSON, max_size=5)
ANSWERS = st.fixed_dictionaries(
    {"status": st.sampled_from(["ok", "error", "rejected", "duplicate", "dry_run", "rate_limited"]) | JSON},
    optional=dict.fromkeys(("count", "matched", "steps", "reasons", "action", "synced", "id", "tokens_used"), JSON),
)
ACCESS = st.sampled_from(["none", "read", "write", "create"])


@settings(max_examples=100)
@given(st.sampled_from(sorted(DETAILS)), ACCESS, ARGUMENTS, ANSWERS | st.just(None) | st.just(errors.StoreBusy))
def test_any_call_gets_an_answer_and_one_line(
    scratch: Path, tool: str, access: Any, arguments: dict[str, Any], outcome: Any
) -> None:
    server = Server(scratch)

    def run() -> Any:
        if outcome is errors.StoreBusy:
            raise errors.StoreBusy(path="m.db", seconds=3)
        return outcome

    answer = server.middleware.call(tool, access, arguments, run, session="s\n")
    assert isinstance(answer, dict)
    if outcome is None or outcome is errors.StoreBusy:
        assert answer["status"] in {"error", "rate_limited"}
        assert answer["message"]
    assert server.out.getvalue().endswith("\n")
    (line,) = server.lines
    assert [key for key in KEYS if key in line] == list(line)
    assert set(line) >= set(KEYS) - {"d"}
    assert line.get("d") != {}
    assert set(line.get("d", {})) <= set(DETAILS[tool].split())
    assert line["outcome"] in OUTCOMES
    assert len(server.out.getvalue()) < 3000
