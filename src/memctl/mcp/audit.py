"""The audit log: one JSON line for each call, in schema v1.

Keys, in this order: v, ts, rid, tool, sid, db, outcome, d (left out when empty), ms. What policy refused is never in
it, nor its hash; what was stored is there as a preview with secrets blotted out.
"""

import os
import sys
from contextlib import suppress
from threading import Lock

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from memctl.policy import MemoryPolicy

AUDIT_SCHEMA_VERSION = 1
PREVIEW_MAX_CHARS = 120
#: A preview is made from so many characters: a secret that begins in the preview is seen whole, or nearly.
_LOOKED_AT = 4096


class AuditLogger:
    """Writes the lines; safe to use from many threads, and beside other processes on the same file.

    `output` is a file to append to (made with mode 0600), an object with `write`, or None for standard error. A line
    that cannot be written is lost without a word, one on standard error also while nobody reads what is there: a call
    never fails or waits for its log.
    """

    def __init__(self, output: "str | os.PathLike[str] | TextIO | None" = None) -> None:
        self._lock = Lock()
        self._number = -1
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
                self._stream = _NOWHERE
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
        with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
            self._write(self._line(tool, rid, session_id, db_path, outcome, detail, latency_ms))

    @staticmethod
    def make_content_detail(content: str, policy_result: Any = None) -> dict[str, Any]:
        """What the log says of a content: `{bytes, hash, preview, policy}`.

        `policy_result` is a verdict: a mapping or an object with `action` and `rule` (or `reasons`). What it rejects or
        holds back leaves only its size, and so does what the rules as they come hold back, personal data for example,
        whatever a config switches off. A content with a secret has no hash, from which a short secret could be guessed.
        """
        data = content.encode("utf-8", "surrogatepass")
        detail: dict[str, Any] = {"bytes": len(data)}
        action, rule = _verdict(policy_result)
        if action not in ("reject", "quarantine") and not _is_held(content):
            shown = _policy().redact(content[:_LOOKED_AT])
            if shown == content[:_LOOKED_AT] and _is_clean(content[_LOOKED_AT:]):
                detail["hash"] = ids.bytes_hash(data)
            detail["preview"] = _preview(shown, cut=len(content) > _LOOKED_AT)
        if action and action != "accept":
            detail["policy"] = {"action": action, "rule": rule}
        return detail

    # --- inside --------------------------------------------------------------------------------------------------

    @staticmethod
    def _line(
        tool: str, rid: str, sid: str, db: str, outcome: str, detail: "Mapping[str, Any] | None", ms: float
    ) -> bytes:
        import json

        line: dict[str, Any] = {
            "v": AUDIT_SCHEMA_VERSION, "ts": _timestamp(), "rid": rid, "tool": tool, "sid": sid, "db": db,
            "outcome": outcome,
        }  # fmt: skip
        if detail:
            line["d"] = dict(detail)
        line["ms"] = round(ms, 1)
        write = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
        try:
            text = write(line)
        except (TypeError, ValueError, RecursionError):  # what cannot be said of the call is left out, not the call
            line.pop("d", None)
            text = write(line)
        return text.encode() + b"\n"

    def _write(self, line: bytes) -> None:
        with self._lock:
            if self._number >= 0:
                # One write on a file opened for appending: lines of several processes do not mix.
                os.write(self._number, line)
                return
            stream = sys.stderr if self._stream is None else self._stream
            if self._stream is None and _is_clogged(stream):
                return
            stream.write(line.decode())
            stream.flush()


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


class _Nowhere:
    def write(self, _text: str) -> None: ...

    def flush(self) -> None: ...


_NOWHERE = _Nowhere()


def one_line(text: str, limit: int = PREVIEW_MAX_CHARS) -> str:
    """A text that a caller chose, for the log: secrets blotted out, on one line, cut."""
    return _preview(_policy().redact(text[:_LOOKED_AT]), cut=len(text) > _LOOKED_AT, limit=limit)


def _preview(text: str, *, cut: bool = False, limit: int = PREVIEW_MAX_CHARS) -> str:
    """At most `limit` characters on one line, the last of them "…" if something was cut off."""
    shown = clean.one_line(text, limit)
    return shown[: limit - 1] + "…" if cut and not shown.endswith("…") else shown


def _verdict(result: Any) -> tuple[str, str]:
    """The action and the rule of a policy verdict in any of its forms."""
    if result is None:
        return "", ""
    if isinstance(result, dict):
        action, rule, reasons = result.get("action"), result.get("rule"), result.get("reasons")
    else:
        action, rule, reasons = (getattr(result, name, None) for name in ("action", "rule", "reasons"))
    if not rule and isinstance(reasons, list | tuple) and reasons:
        rule = reasons[0]
    return str(action or ""), one_line(str(rule or ""))


_POLICY: "list[MemoryPolicy]" = []


def _policy() -> "MemoryPolicy":
    """The policy as it comes, whatever a config switches off: a log is read by others than the store."""
    if not _POLICY:
        from memctl.policy import MemoryPolicy

        _POLICY.append(MemoryPolicy())
    return _POLICY[0]


def _is_held(text: str) -> bool:
    """Whether policy as it comes keeps this text from models."""
    return _policy().judge(text, document=False).action == "quarantine"


def _is_clean(text: str) -> bool:
    return not text or _policy().redact(text) == text


def _timestamp() -> str:
    """UTC with milliseconds: 2026-11-20T15:50:26.980Z."""
    return ids.timestamp().replace("+00:00", "")[:-3] + "Z"
