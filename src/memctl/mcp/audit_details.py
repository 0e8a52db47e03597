"""What the audit line says of each tool beyond that it was called: the `d` of schema v1.

Counts come from the answer, so a call that was refused has only what was asked. No content, question or command is
written down; a written statement is, as a preview, once it has been stored.
"""

from collections.abc import Callable, Mapping

from memctl.annotations import Any, args_of
from memctl.mcp.audit import AuditLogger, one_line
from memctl.mcp.sizes import batch, json_bytes
from memctl.names import SearchStrategy

Arguments = Mapping[str, Any]
Answer = Mapping[str, Any]
Detail = dict[str, Any]

#: Our own words for how a search was answered.
_STRATEGIES = frozenset(args_of(SearchStrategy))
#: Text `items` longer than this are not counted: the guard has refused them.
_COUNTED = 64_000_000

#: For each tool, the keys of `d` that are taken from the answer, as {key in `d`: key in the answer}.
_FROM_ANSWER: dict[str, dict[str, str]] = {
    "memory_recall": {"matched": "matched", "tokens": "tokens_used", "fts_strategy": "fts_strategy"},
    "memory_recall_best_effort": {"matched": "matched", "tokens": "tokens_used", "steps": "steps"},
    "memory_search": {"results": "count", "fts_strategy": "fts_strategy"},
    "memory_propose": {"accepted": "accepted", "rejected": "rejected", "quarantined": "quarantined"},
    "memory_consolidate": {"merged": "items_merged", "archived": "items_archived"},
    "memory_diff": {"identical": "identical"},
    "memory_export": {"exported": "count", "truncated": "truncated"},
    "memory_import": {"imported": "imported", "skipped": "skipped_dedup", "errors": "errors"},
    "memory_loop": {"iterations": "iterations", "stop_reason": "stop_reason"},
    "memory_reindex": {
        "dry_run": "dry_run", "tokenizer_change": "tokenizer_change", "tokenizer_changed": "tokenizer_changed",
        "items_indexed": "items_indexed",
    },
    "memory_promote": {"id": "id", "from_tier": "from_tier", "to_tier": "to_tier"},
    "memory_reset": {"dry_run": "dry_run", "preserve_mounts": "preserve_mounts", "total_records": "total_records"},
}  # fmt: skip


def detail(tool: str, arguments: Arguments, answer: Answer) -> Detail:
    """The `d` of one call; empty when there is nothing to say."""
    asked = _FROM_ARGUMENTS.get(tool)
    found = asked(arguments, answer) if asked else {}
    if answer.get("status") not in ("error", "rate_limited"):
        for key, name in _FROM_ANSWER.get(tool, {}).items():
            value = answer.get(name)
            if value is not None:
                found[key] = _small(value)
    return found


def _small(value: object) -> object:
    """A number or a word as it is; of a list or the like, how long it is."""
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple | dict):
        return len(value)
    return value if value in _STRATEGIES else one_line(str(value))


def _length(name: str, key: str) -> Callable[[Arguments, Answer], Detail]:
    def asked(arguments: Arguments, _answer: Answer) -> Detail:
        value = arguments.get(name)
        return {key: len(value)} if isinstance(value, str) else {}

    return asked


def _words(names: dict[str, str]) -> Callable[[Arguments, Answer], Detail]:
    """Short arguments as they are: `{key in d: argument}`."""

    def asked(arguments: Arguments, _answer: Answer) -> Detail:
        return {
            key: one_line(value)
            for key, name in names.items()
            if isinstance(value := arguments.get(name), str) and value
        }

    return asked


def _write(arguments: Arguments, answer: Answer) -> Detail:
    content = arguments.get("content")
    if not isinstance(content, str):
        return {}
    status = answer.get("status")
    reasons = answer.get("reasons")
    if status in ("ok", "duplicate"):
        return AuditLogger.make_content_detail(content, {"action": answer.get("action"), "reasons": reasons})
    if status == "rejected":
        return AuditLogger.make_content_detail(content, {"action": "reject", "reasons": reasons})
    return {"bytes": json_bytes(content)}


def _propose(arguments: Arguments, _answer: Answer) -> Detail:
    items = arguments.get("items")
    return {} if items is None else {"proposed": batch(items, _COUNTED), "bytes": json_bytes(items)}


def _import(arguments: Arguments, _answer: Answer) -> Detail:
    items = arguments.get("items")
    return {} if items is None else {"items": batch(items, _COUNTED), "bytes": json_bytes(items)}


def _read(arguments: Arguments, _answer: Answer) -> Detail:
    found = arguments.get("ids", arguments.get("id"))
    if isinstance(found, str):
        return {"ids": sum(1 for part in found.split(",") if part.strip())}
    return {"ids": len(found)} if isinstance(found, list | tuple) else {}


def _sync(_arguments: Arguments, answer: Answer) -> Detail:
    if answer.get("status") == "error":
        return {}
    runs = answer.get("synced")
    each = list(runs.values()) if isinstance(runs, dict) else [answer]
    counts = [one for one in each if isinstance(one, dict) and "files_scanned" in one]
    return {
        "synced": len(counts),
        "new": sum(_number(one.get("files_new")) for one in counts),
        "updated": sum(_number(one.get("files_changed")) for one in counts),
    }


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


_FROM_ARGUMENTS: dict[str, Callable[[Arguments, Answer], Detail]] = {
    "memory_recall": _length("query", "query_len"),
    "memory_recall_best_effort": _length("query", "query_len"),
    "memory_search": _length("query", "query_len"),
    "memory_propose": _propose,
    "memory_write": _write,
    "memory_read": _read,
    "memory_eco": _words({"action": "action"}),
    "memory_diff": _words({"id1": "id1"}),
    "memory_mount": _words({"action": "action", "path": "path"}),
    "memory_sync": _sync,
    "memory_inspect": _words({"format": "output_format", "path": "path"}),
    "memory_ask": _length("question", "question_len"),
    "memory_import": _import,
    "memory_promote": _words({"id": "id"}),
}
