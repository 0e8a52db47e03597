"""The audit log: schema v1, nothing that policy refused, never a reason for a call to fail."""

import io
import json
import os
import re
import stat
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from memctl.mcp.audit import AUDIT_SCHEMA_VERSION, PREVIEW_MAX_CHARS, AuditLogger, audit_detail, audit_outcome

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def logged(**how: Any) -> dict[str, Any]:
    out = io.StringIO()
    how = {"tool": "memory_read", "rid": "r", "session_id": "s", "db_path": "m.db", "outcome": "ok"} | how
    AuditLogger(out).log(**how)
    assert out.getvalue().count("\n") == 1
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_the_keys_in_their_order() -> None:
    found = logged(detail={"ids": 1}, latency_ms=1.2345)
    assert list(found) == ["v", "ts", "rid", "tool", "sid", "db", "outcome", "d", "ms"]
    assert (found["v"], found["d"], found["ms"]) == (AUDIT_SCHEMA_VERSION, {"ids": 1}, 1.2)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["ts"])
    assert re.fullmatch(r"[0-9a-f]{32}", AuditLogger.new_rid())


@pytest.mark.parametrize("nothing", [None, {}])
def test_an_empty_detail_is_left_out(nothing: dict[str, Any] | None) -> None:
    assert "d" not in logged(detail=nothing)


def test_the_line_is_compact_and_cannot_be_forged() -> None:
    out = io.StringIO()
    AuditLogger(out).log("t\n{}", "r", 'a"\u2028b', "m\r.db", "ok")
    assert out.getvalue().isascii()
    assert len(out.getvalue().splitlines()) == 1
    assert '","' in out.getvalue()
    assert ": " not in out.getvalue()


def test_a_file_is_private_and_appended_to(scratch: Path) -> None:
    path = scratch / "audit.jsonl"
    for _ in range(2):
        audit = AuditLogger(path)
        audit.log("t", "r", "s", "m.db", "ok")
        audit.close()
        audit.log("t", "r", "s", "m.db", "ok")  # nowhere, and no file of somebody else who has the number now
    assert len(path.read_text().splitlines()) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_file_it_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    AuditLogger().log("t", "r", "s", "m.db", "ok")
    assert json.loads(capsys.readouterr().err)["tool"] == "t"


def test_nobody_waits_for_a_client_that_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts a server, and never looks at its standard error."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        AuditLogger().log("t", "r", "s", "m.db", "ok")
        with suppress(BlockingIOError):
            while set(os.read(reader, 65536)) == {ord("x")}:
                pass
        AuditLogger().log("after", "r", "s", "m.db", "ok")
        assert json.loads(os.read(reader, 4096))["tool"] == "after"
    os.close(reader)


def test_lines_of_threads_and_processes_do_not_mix(scratch: Path) -> None:
    path = scratch / "audit.jsonl"
    code = (
        "import sys; from memctl.mcp.audit import AuditLogger; audit = AuditLogger(sys.argv[1])\n"
        "for n in range(200): audit.log('t', 'r', 's', 'm.db', 'ok', {'x': 'y' * 3000})"
    )
    others = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(2)]
    audit = AuditLogger(path)

    def write() -> None:
        for _ in range(100):
            audit.log("t", "r", "s", "m.db", "ok", {"x": "z" * 3000})

    threads = [Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait(60) for other in others] == [0, 0]
    lines = path.read_text().splitlines()
    assert len(lines) == 600
    assert {len(json.loads(line)["d"]["x"]) for line in lines} == {3000}
    audit.close()


class Broken(io.StringIO):
    def write(self, _text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("bad", [{"x": object()}, {"x": float("nan")}, {1: {2: {3}}}, {"x": 10**5000}])
def test_a_detail_that_cannot_be_written_is_left_out(bad: dict[Any, Any]) -> None:
    assert list(logged(detail=bad)) == ["v", "ts", "rid", "tool", "sid", "db", "outcome", "ms"]


def test_a_line_that_cannot_be_written_is_lost_without_a_word() -> None:
    AuditLogger(Broken()).log("t", "r", "s", "m.db", "ok")
    closed = io.StringIO()
    closed.close()
    AuditLogger(closed).log("t", "r", "s", "m.db", "ok")


# --- what is said of a content ---------------------------------------------------------------------------------------


def test_of_a_stored_content_there_is_a_preview_and_a_hash() -> None:
    content = "We chose JWT.\nTokens last an hour."
    assert AuditLogger.make_content_detail(content) == {
        "bytes": 34, "hash": sha256(content.encode()).hexdigest(), "preview": "We chose JWT. Tokens last an hour.",
    }  # fmt: skip


@pytest.mark.parametrize("size", [119, 120, 121, 5000, 100_000])
def test_a_preview_has_at_most_120_characters(size: int) -> None:
    preview = AuditLogger.make_content_detail("é" * size)["preview"]
    assert len(preview) <= PREVIEW_MAX_CHARS == 120
    assert preview.endswith("…") is (size > 120)


class Verdict:
    action, reasons = "quarantine", ("instructional: imperative",)


@pytest.mark.parametrize(
    ("verdict", "policy"),
    [
        (None, None),
        ({"action": "accept"}, None),
        ({"action": "quarantine", "rule": "pii.phone"}, {"action": "quarantine", "rule": "pii.phone"}),
        ({"action": "quarantine", "reasons": ["a", "b"]}, {"action": "quarantine", "rule": "a"}),
        (Verdict(), {"action": "quarantine", "rule": "instructional: imperative"}),
        ({"action": "quarantine"}, {"action": "quarantine", "rule": ""}),
    ],
)
def test_the_verdict_is_named_unless_it_is_to_accept(verdict: Any, policy: dict[str, str] | None) -> None:
    found = AuditLogger.make_content_detail("something", verdict)
    assert found.get("policy") == policy
    assert ("preview" in found) is (policy is None)


def test_of_what_policy_refused_only_the_size_is_said() -> None:
    found = AuditLogger.make_content_detail("password=supersecret123 and more", {"action": "reject", "rule": "secret"})
    assert found == {"bytes": 32, "policy": {"action": "reject", "rule": "secret"}}


@pytest.mark.parametrize("content", [f"the token is {SECRET}", "x " * 3000 + SECRET])
def test_a_secret_is_in_no_preview_and_cannot_be_guessed_from_a_hash(content: str) -> None:
    found = AuditLogger.make_content_detail(content, {"action": "accept"})
    assert SECRET not in json.dumps(found)
    assert "hash" not in found


def test_half_a_character_is_no_reason_to_fail() -> None:
    assert AuditLogger.make_content_detail("a\ud800b")["bytes"] == 5


# --- what is said of each tool ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "answer", "expected"),
    [
        (
            "memory_recall", {"query": "how?"},
            {"status": "ok", "matched": 2, "tokens_used": 9, "fts_strategy": "AND", "inject_text": "…"},
            {"query_len": 4, "matched": 2, "tokens": 9, "fts_strategy": "AND"},
        ),
        (
            "memory_recall_best_effort", {"query": "how?"},
            {"status": "ok", "matched": 2, "tokens_used": 9, "steps": [{}, {}]},
            {"query_len": 4, "matched": 2, "tokens": 9, "steps": 2},
        ),
        (
            "memory_search", {"query": "q"}, {"status": "ok", "count": 3, "fts_strategy": "AND"},
            {"query_len": 1, "results": 3, "fts_strategy": "AND"},
        ),
        (
            "memory_propose", {"items": '[{"a":1},{"b":2}]'},
            {"status": "ok", "accepted": 1, "rejected": 1, "quarantined": 0},
            {"proposed": 2, "accepted": 1, "rejected": 1, "quarantined": 0, "bytes": 17},
        ),
        ("memory_propose", {"items": "{"}, {"status": "error"}, {"proposed": 1, "bytes": 1}),
        ("memory_write", {"content": "password=x"}, {"status": "rejected", "reasons": ["secret"]},
         {"bytes": 10, "policy": {"action": "reject", "rule": "secret"}}),
        ("memory_write", {"content": "a"}, {"status": "error", "code": "store-busy"}, {"bytes": 1}),
        ("memory_read", {"ids": "a, b,,c"}, {"status": "ok"}, {"ids": 3}),
        ("memory_read", {"ids": ["a", "b"]}, {"status": "ok"}, {"ids": 2}),
        ("memory_mount", {"action": "list", "path": "docs"}, {"status": "ok"}, {"action": "list", "path": "docs"}),
        (
            "memory_sync", {},
            {"synced": {"a": {"files_scanned": 3, "files_new": 2, "files_changed": 1}, "b": {"files_scanned": 0}}},
            {"synced": 2, "new": 2, "updated": 1},
        ),
        (
            "memory_sync", {"path": "a"}, {"status": "ok", "files_scanned": 1, "files_new": 1, "files_changed": 0},
            {"synced": 1, "new": 1, "updated": 0},
        ),
        ("memory_inspect", {"output_format": "json", "path": "a"}, {"status": "ok"}, {"format": "json", "path": "a"}),
        ("memory_ask", {"question": "why?", "llm_cmd": "x"}, {"status": "ok"}, {"question_len": 4}),
        ("memory_export", {}, {"status": "ok", "count": 7, "truncated": False}, {"exported": 7, "truncated": False}),
        (
            "memory_import", {"items": [1, 2]}, {"status": "ok", "imported": 1, "skipped_dedup": 1, "errors": 0},
            {"items": 2, "bytes": 6, "imported": 1, "skipped": 1, "errors": 0},
        ),
        ("memory_loop", {"query": "q"}, {"status": "ok", "iterations": 2, "stop_reason": "fixed_point"},
         {"iterations": 2, "stop_reason": "fixed_point"}),
        (
            "memory_consolidate", {}, {"status": "ok", "items_merged": 2, "items_expired": 1, "clusters_found": 1},
            {"merged": 2, "archived": 1},
        ),
        ("memory_diff", {"id1": "MEM-1", "id2": ""}, {"status": "ok", "identical": True},
         {"id1": "MEM-1", "identical": True}),
        ("memory_diff", {"id1": "MEM-1"}, {"status": "error"}, {"id1": "MEM-1"}),
        (
            "memory_promote", {"id": "MEM-1"}, {"status": "ok", "id": "MEM-1", "from_tier": "stm", "to_tier": "ltm"},
            {"id": "MEM-1", "from_tier": "stm", "to_tier": "ltm"},
        ),
        ("memory_stats", {"scope": "x"}, {"status": "ok", "total_items": 3}, {}),
        ("memory_status", {}, {"status": "ok"}, {}),
    ],
)  # fmt: skip
def test_details(tool: str, arguments: dict[str, Any], answer: dict[str, Any], expected: dict[str, Any]) -> None:
    assert audit_detail(tool, arguments, answer) == expected


def test_a_stored_write_has_its_preview() -> None:
    found = audit_detail("memory_write", {"content": "We chose JWT."}, {"status": "ok", "action": "accept"})
    assert found["preview"] == "We chose JWT."
    assert set(found) == {"bytes", "hash", "preview"}
    held = audit_detail(
        "memory_write", {"content": "Ring me."}, {"status": "ok", "action": "quarantine", "reasons": ["pii"]}
    )
    assert held["policy"] == {"action": "quarantine", "rule": "pii"}


@pytest.mark.parametrize("tool", ["memory_mount", "memory_inspect"])
def test_short_arguments_are_no_way_into_the_log_for_a_secret(tool: str) -> None:
    arguments = dict.fromkeys(("action", "path", "id1", "id", "output_format"), f"x {SECRET} " + "y" * 10_000)
    shown = json.dumps(audit_detail(tool, arguments, {"status": "error"}))
    assert SECRET not in shown
    assert len(shown) < 600


def test_the_folder_of_the_log_must_be_there(scratch: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        AuditLogger(os.path.join(scratch, "nowhere", "audit.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "code", "outcome"),
    [
        ({"id": "MEM-2"}, "item-not-found", "not_found"),
        ({"id": "MEM-1", "tier": "gold"}, "argument-invalid", "invalid_tier"),
        ({"id": "MEM-1", "tier": ["ltm"]}, "argument-invalid", "invalid_tier"),
        ({"id": 7}, "argument-invalid", "error"),
        ({"id": "MEM-1"}, "tier-reached", "already_at_tier"),
        ({"id": "MEM-1"}, "refused", "error"),
    ],
)
def test_a_promotion_says_why_it_came_to_nothing(arguments: dict[str, Any], code: str, outcome: str) -> None:
    answer = {"status": "error", "code": code}
    assert audit_outcome("memory_promote", arguments, answer) == outcome
    assert audit_outcome("memory_forget", arguments, answer) == "error"
