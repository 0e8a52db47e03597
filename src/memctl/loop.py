"""The bounded loop of answer and recall, under the documented names: `memctl loop` for programs.

`run_loop` asks through `invoke_llm` and recalls through `recall_items` of this module, so that a program may put its
own in their place.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import IO, Any, NamedTuple

from memctl import errors
from memctl.context import open_context
from memctl.llm import controller, protocol
from memctl.llm.command import ModelAnswer, ModelCommand, run
from memctl.llm.controller import LoopPlan, LoopResult, LoopTrace
from memctl.llm.protocol import PROTOCOL_SYSTEM_PROMPT
from memctl.llm.working import RecalledPassages
from memctl.mount import Path
from memctl.operation import READ
from memctl.parameters import ReadRequest
from memctl.reading.request import Retriever
from memctl.store.items import items
from memctl.text.block.packing import block_entry

__all__ = [
    "PROTOCOL_SYSTEM_PROMPT", "LoopDirective", "LoopResult", "LoopTrace", "build_prompt", "emit_trace", "invoke_llm",
    "merge_context", "parse_directive", "parse_json_directive", "parse_passive_directive", "parse_regex_directive",
    "recall_items", "replay_trace", "run_loop",
]  # fmt: skip

_RECALLED = ("id", "title", "content", "tier", "tags", "confidence")
#: A larger cut than this share of the room is not worth a whole word.
_WHOLE_WORDS = 0.8


class LoopDirective(NamedTuple):
    """What an answer asks for: more, and with which words; or nothing."""

    need_more: bool = False
    query: str | None = None
    rationale: str | None = None
    stop: bool = False


def parse_directive(output: str, protocol: str = "json", *, strict: bool = False) -> tuple[LoopDirective, str]:
    """What an answer asks for by a protocol (json, regex, passive), and the answer without that.

    Raises ValueError for an unknown protocol, and with `strict` for an answer that has no directive.
    """
    found = _protocol(output, protocol)
    if strict and not found.found:
        raise ValueError("the answer has no JSON object with need_more and stop")
    stop = found.stop or not found.need_more
    return LoopDirective(found.need_more, found.query or None, found.rationale or None, stop), found.answer


_protocol = protocol.parse_directive


def parse_json_directive(output: str, *, strict: bool = False) -> tuple[LoopDirective, str]:
    """`parse_directive` with the protocol json."""
    return parse_directive(output, strict=strict)


def parse_regex_directive(output: str) -> tuple[LoopDirective, str]:
    """`parse_directive` with the protocol regex."""
    return parse_directive(output, "regex")


def parse_passive_directive(output: str) -> tuple[LoopDirective, str]:
    """`parse_directive` with the protocol passive."""
    return parse_directive(output, "passive")


def build_prompt(context: str, query: str, *, system_prompt: str | None = None, protocol: str = "json") -> str:
    """The whole prompt of a first call."""
    return _build_prompt(context, query, system_prompt=system_prompt or "", protocol=protocol)


_build_prompt = protocol.build_prompt


def invoke_llm(cmd: str, prompt: str, *, mode: str = "stdin", timeout: float = 300) -> str:
    """What a model command answers; no shell looks at `cmd`. Raises RuntimeError when it fails or takes too long."""
    try:
        return run(ModelCommand.parse(cmd, mode, timeout), prompt).text
    except errors.MemctlError as exc:
        raise RuntimeError(exc.message) from exc


def recall_items(db_path: Path, query: str, limit: int = 50, *, mount_id: str | None = None) -> list[dict[str, Any]]:
    """The items of every scope that answer a query and may be given to a model, best first."""
    with open_context(db_path) as ctx:
        ctx.allow(READ)
        found = Retriever(ctx, ReadRequest(all_scopes=True, mount=mount_id), "loop", injectable=True).find(query, limit)
        chosen = items.get_many(ctx.db, [candidate.id for candidate in found.candidates])
        return [item.to_dict(_RECALLED) for item in chosen]


def merge_context(
    existing_context: str, new_items: Iterable[dict[str, Any]], seen_ids: set[str], budget_chars: int
) -> tuple[str, list[dict[str, Any]], int]:
    """A context with the items that are not in `seen_ids` after it, cut to its room; these items, and their number.

    `seen_ids` learns their ids.
    """
    fresh = [item for item in new_items if item.get("id") not in seen_ids]
    if not fresh:
        return existing_context, [], 0
    seen_ids.update(item.get("id", "") for item in fresh)
    blocks = [f"[{item.get('title', '(untitled)')}]\n{item.get('content', '')}" for item in fresh]
    text = "\n\n".join([*([existing_context.rstrip()] if existing_context.strip() else []), *blocks])
    if len(text) > budget_chars:
        text = text[:budget_chars]
        blank = text.rfind(" ")
        text = text[:blank] if blank > budget_chars * _WHOLE_WORDS else text
    return text, fresh, len(fresh)


def emit_trace(trace: LoopTrace, trace_file: IO[str] | None = None, quiet: bool = False) -> None:
    """Write an entry as a JSON line: to a file, else to stderr unless `quiet`."""
    if trace_file is not None:
        trace_file.write(trace.line() + "\n")
        trace_file.flush()
    elif not quiet:
        sys.stderr.write(trace.line() + "\n")


def run_loop(
    initial_context: str,
    query: str,
    llm_cmd: str,
    *,
    db_path: Path = ".memory/memory.db",
    llm_mode: str = "stdin",
    timeout: float = 300,
    system_prompt: str | None = None,
    trace: bool = False,
    trace_file: IO[str] | None = None,
    quiet: bool = False,
    **bounds: Any,
) -> LoopResult:
    """Ask until one of the bounds is reached: max_calls, threshold, query_threshold, stable_steps, stop_on_no_new,
    protocol, strict, budget (in tokens), each with the default of the command.

    Raises RuntimeError when the model fails, and with `strict` ValueError for an answer without a directive.
    """
    plan = LoopPlan(system_prompt=system_prompt or "", **bounds)

    def ask(prompt: str) -> ModelAnswer:
        text = invoke_llm(llm_cmd, prompt, mode=llm_mode, timeout=timeout)
        return ModelAnswer(text, truncated=False, seconds=0.0)

    def recall(words: str, _budget: int) -> RecalledPassages:
        found = recall_items(db_path, words)
        return RecalledPassages([block_entry(item) for item in found], len(found))

    def on_trace(entry: LoopTrace) -> None:
        if trace or trace_file is not None:
            emit_trace(entry, trace_file, quiet)

    try:
        return controller.run_loop(plan, initial_context, query, ask=ask, recall=recall, on_trace=on_trace)
    except errors.ProtocolBroken as exc:
        raise ValueError(exc.message) from exc


def replay_trace(trace_path: Path) -> Sequence[LoopTrace]:
    """The entries of a trace file. Raises FileNotFoundError, and ValueError for what is no trace."""
    with open(trace_path, encoding="utf-8", errors="replace") as file:
        try:
            return list(controller.read_trace_file(str(trace_path), file).traces)
        except errors.TraceInvalid as exc:
            raise ValueError(exc.message) from exc
