"""The audit log: one JSON line for each call, in schema v1.

Keys, in this order: v, ts, rid, tool, sid, db, outcome, d (left out when empty), ms. What policy refused is never in
it, nor its hash; what was stored is there as a preview with secrets blotted out.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from threading import Lock

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any, args_of
from memctl.mcp.guard import count_entries, json_bytes
from memctl.names import TIERS, SearchStrategy
from memctl.text import clean

if TYPE_CHECKING:
    from typing import TextIO

    from memctl.policy import MemoryPolicy

AUDIT_SCHEMA_VERSION = 1
PREVIEW_MAX_CHARS = 120
#: Characters that a preview is made from: a secret that begins in the preview is seen whole, or nearly.
_LOOKED_AT = 4096
#: What is read of a verdict of policy.
_VERDICT = ("action", "rule", "reasons")


class AuditLogger:
    """Writes the lines; safe to use from many threads, and beside other processes on the same file.

    `output` is a file to append to (made with mode 0600), an object with `write`, or None for standard error. A line
    that cannot be written is lost without a word, one on standard error also while nobody reads what is there: a call
    never fails or waits for its log.
    """

    def __init__(self, output: "str | os.PathLike[str] | TextIO | None" = None) -> None:
        self._lock = Lock()
        self._number = -1
        self._is_closed = False
        self._stream: Any = None
        if isinstance(output, str | os.PathLike):
            # Not to wait for the reader of a pipe, at the start or later, is what O_NONBLOCK is for.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
            self._number = os.open(os.path.expanduser(os.fspath(output)), flags, 0o600)
        else:
            self._stream = output

    def close(self) -> None:
        """Close the file that this logger opened."""
        with self._lock:
            number, self._number = self._number, -1
            if number >= 0:
                self._is_closed = True
                os.close(number)

    @staticmethod
    def new_rid() -> str:
        """32 random hex digits, to find one call in two logs."""
        return os.urandom(16).hex()

    def log(
        self,
        tool: str,
        rid: str,
        session_id: str,
        db_path: str,
        outcome: str,
        detail: "Mapping[str, Any] | None" = None,
        latency_ms: float = 0.0,
    ) -> None:
        """Write one line; never raises."""
        line: dict[str, Any] = {
            "v": AUDIT_SCHEMA_VERSION, "ts": ids.timestamp().replace("+00:00", "")[:-3] + "Z", "rid": rid, "tool": tool,
            "sid": session_id, "db": db_path, "outcome": outcome, "d": dict(detail or {}), "ms": round(latency_ms, 1),
        }  # fmt: skip
        encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
        with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
            try:
                text = encode({key: value for key, value in line.items() if key != "d" or value})
            except (TypeError, ValueError, RecursionError):  # what cannot be said of the call is left out, not the call
                text = encode({key: value for key, value in line.items() if key != "d"})
            text += "\n"
            with self._lock:
                if self._number >= 0:
                    # One write on a file opened for appending: lines of several processes do not mix.
                    os.write(self._number, text.encode())
                    return
                stream = sys.stderr if self._stream is None else self._stream
                if self._is_closed or (self._stream is None and _is_clogged(stream)):
                    return
                stream.write(text)
                stream.flush()

    @staticmethod
    def make_content_detail(content: str, policy_result: Any = None) -> dict[str, Any]:
        """What the log says of a content: `{bytes, hash, preview, policy}`.

        `policy_result` is a verdict: a mapping or an object with `action` and `rule` (or `reasons`). What it rejects or
        holds back leaves only its size, and so does what the rules as they come hold back, personal data for example,
        whatever a config switches off. A content with a secret has no hash, from which a short secret could be guessed.
        """
        data = content.encode("utf-8", "surrogatepass")
        detail: dict[str, Any] = {"bytes": len(data)}
        result = policy_result or {}
        said = result if isinstance(result, dict) else {name: getattr(result, name, None) for name in _VERDICT}
        action, rule, reasons = (said.get(name) for name in _VERDICT)
        if not rule and isinstance(reasons, list | tuple) and reasons:
            rule = reasons[0]
        from memctl.item_policy import holding_rules

        policy = _policy()
        if action not in ("reject", "quarantine") and not holding_rules(policy.judge(content, document=False).findings):
            if policy.redact(content) == content:
                detail["hash"] = ids.bytes_hash(data)
            detail["preview"] = one_line(content)
        if action and action != "accept":
            detail["policy"] = {"action": str(action), "rule": one_line(str(rule or ""))}
        return detail


def _is_clogged(stream: "TextIO") -> bool:
    """Whether a line would have to wait: a client that starts a server may never read what it says on stderr.

    A pipe that is not clogged has room for 4096 bytes, and no line is that long.
    """
    try:
        from select import POLLOUT, poll

        waiting = poll()
        waiting.register(stream.fileno(), POLLOUT)
        return not waiting.poll(0)
    except (ImportError, OSError, ValueError):  # no poll on this system, or no file behind the stream
        return False


def one_line(text: str) -> str:
    """A text that somebody else chose, for the log: secrets blotted out, on one line; a cut one ends with "…"."""
    shown = clean.one_line(_policy().redact(text[:_LOOKED_AT]), PREVIEW_MAX_CHARS)
    is_cut = len(text) > _LOOKED_AT and not shown.endswith("…")
    return shown[: PREVIEW_MAX_CHARS - 1] + "…" if is_cut else shown


@cache
def _policy() -> "MemoryPolicy":
    """The policy as it comes, whatever a config switches off: a log is read by others than the store."""
    from memctl.policy import MemoryPolicy

    return MemoryPolicy()


# --- what a line says of its call ------------------------------------------------------------------------------------

#: Texts in `items` that are longer than this are not counted: the guard has refused them.
_LONGEST_ITEMS = 64_000_000
_STRATEGIES = frozenset(args_of(SearchStrategy))

#: For each tool, the keys of `d` that are made of a text among the arguments, as {key: (argument, how)}.
_ASKED: dict[str, dict[str, tuple[str, Callable[[str], object]]]] = {
    "memory_recall": {"query_len": ("query", len)}, "memory_recall_best_effort": {"query_len": ("query", len)},
    "memory_search": {"query_len": ("query", len)}, "memory_ask": {"question_len": ("question", len)},
    "memory_mount": {"action": ("action", one_line), "path": ("path", one_line)},
    "memory_inspect": {"format": ("output_format", one_line), "path": ("path", one_line)},
    "memory_diff": {"id1": ("id1", one_line)},
}  # fmt: skip
#: Those that count the statements in `items`.
_ENTRIES = {"memory_propose": "proposed", "memory_import": "items"}
#: Those that are taken from the answer, as {key: key of the answer}.
_ANSWERS = {
    "memory_recall": {"matched": "matched", "tokens": "tokens_used", "fts_strategy": "fts_strategy"},
    "memory_recall_best_effort": {"matched": "matched", "tokens": "tokens_used", "steps": "steps"},
    "memory_search": {"results": "count", "fts_strategy": "fts_strategy"},
    "memory_propose": {"accepted": "accepted", "rejected": "rejected", "quarantined": "quarantined"},
    "memory_export": {"exported": "count", "truncated": "truncated"},
    "memory_import": {"imported": "imported", "skipped": "skipped_dedup", "errors": "errors"},
    "memory_loop": {"iterations": "iterations", "stop_reason": "stop_reason"},
    "memory_consolidate": {"merged": "items_merged", "archived": "items_expired"},
    "memory_diff": {"identical": "identical"},
    "memory_promote": {"id": "id", "from_tier": "from_tier", "to_tier": "to_tier"},
    "memory_reset": {"dry_run": "dry_run", "preserve_mounts": "preserve_mounts", "total_records": "total_records"},
    "memory_reindex": {
        "dry_run": "dry_run", "tokenizer_change": "tokenizer_change", "tokenizer_changed": "tokenizer_changed",
        "items_indexed": "items_indexed",
    },
}  # fmt: skip


#: Why `memory_promote` did nothing, by the code of its answer.
_NOT_PROMOTED = {"item-not-found": "not_found", "tier-reached": "already_at_tier"}


def audit_outcome(tool: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """What became of a call: ok, error, rejected, rate_limited; of a promotion also why there is nothing to promote."""
    status, code = str(answer.get("status")), answer.get("code")
    if tool == "memory_promote" and status == "error":
        if code == "argument-invalid" and arguments.get("tier", TIERS[0]) not in TIERS:
            return "invalid_tier"
        return _NOT_PROMOTED.get(str(code), status)
    return status if status in ("rejected", "rate_limited", "error") else "ok"


def audit_detail(tool: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The `d` of one call; empty when there is nothing to say.

    Counts come from the answer, so a call that was refused has only what was asked. No content, question or command is
    written down; a written statement is, as a preview, once it has been stored.
    """
    found: dict[str, Any] = {}
    for key, (name, how) in _ASKED.get(tool, {}).items():
        value = arguments.get(name)
        if isinstance(value, str) and (value or how is len):
            found[key] = how(value)
    if tool in _ENTRIES and (entries := arguments.get("items")) is not None:
        found |= {_ENTRIES[tool]: count_entries(entries, _LONGEST_ITEMS), "bytes": json_bytes(entries)}
    found |= _own_detail(tool, arguments, answer)
    if answer.get("status") not in ("error", "rate_limited"):
        for key, name in _ANSWERS.get(tool, {}).items():
            value = answer.get(name)
            if isinstance(value, list | tuple | dict):
                found[key] = len(value)
            elif isinstance(value, bool | int | float) or value in _STRATEGIES:
                found[key] = value
            elif value is not None:
                found[key] = one_line(str(value))
    return found


def _own_detail(tool: str, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """What only the line of this tool says."""
    status = answer.get("status")
    if tool == "memory_write" and isinstance(content := arguments.get("content"), str):
        if status not in ("ok", "duplicate", "rejected"):
            return {"bytes": json_bytes(content)}
        action = "reject" if status == "rejected" else answer.get("action")
        return AuditLogger.make_content_detail(content, {"action": action, "reasons": answer.get("reasons")})
    if tool == "memory_read":
        found = arguments.get("ids", arguments.get("id"))
        if isinstance(found, str):
            found = [part for part in found.split(",") if part.strip()]
        return {"ids": len(found)} if isinstance(found, list | tuple) else {}
    if tool == "memory_sync" and status != "error":
        runs = answer.get("synced")
        folders = list(runs.values()) if isinstance(runs, dict) else [answer]
        counts = [one for one in folders if isinstance(one, dict) and "files_scanned" in one]
        sums = {
            key: sum(n for one in counts if isinstance(n := one.get(name), int))
            for key, name in (("new", "files_new"), ("updated", "files_changed"))
        }
        return {"synced": len(counts)} | sums
    return {}
