"""memctl hooks: what clients run before and after their tools: the hints of eco mode, two guards, a log."""

import json
import os
import re

from memctl import ids
from memctl.annotations import Annotated, Any, Literal
from memctl.clients.eco import CONFIG, eco_state
from memctl.context import Context
from memctl.errors import DocumentUnreadable, GuardFailed
from memctl.operation import NONE, Arg, PlainResult, operation

#: Bytes of a call that are read.
_MOST = 4 << 20
#: A store with fewer items has little to look up; the nudge waits until there are more.
_FEW, _ENOUGH = 10, 200
#: A shorter pattern without a blank is a name that Grep finds better.
_SHORT_PATTERN = 6
_LOG = os.path.join(".agent_logs", "memctl_commands.log")
#: Characters of a call that are logged, those that are judged before, and bytes of the log before it is begun anew.
_LOGGED, _JUDGED, _LOG_BYTES = 120, 20_000, 1 << 20
#: How clients call the tools that write files, and where they keep notes of their own.
_WRITERS = frozenset(["edit", "multiedit", "write", "write_file", "replace", "create"])
_NOTES = re.compile(r"(?:^|[/\\])(?:MEMORY\.md|\.claude[/\\]projects[/\\][^/\\]+[/\\]memory[/\\].+)\Z")
#: How clients call the tool that runs a shell.
_SHELLS = frozenset(
    [
        "bash",
        "shell",
        "local_shell",
        "shell_command",
        "exec_command",
        "run_shell_command",
        "execute_command",
        "run_in_terminal",
        "run_terminal_cmd",
        "run_command",
    ]
)


@operation(
    access=NONE,
    examples=(
        "memctl hooks safety-guard < call.json  # exit 2: the client must not run it",
        "memctl hooks eco-hint",
    ),
    exits={0: "go on", 2: "a guard: the call must not run, or the safety-guard cannot judge it"},
)
def hooks(
    ctx: Context,
    name: Annotated[
        Literal["eco-hint", "eco-nudge", "safety-guard", "memory-guard", "audit-logger"],
        Arg("which hook", metavar="HOOK"),
    ],
) -> PlainResult:
    """Nudge, guard or log what a client's tools do, as its hook.

    A call stands on standard input as the client writes it: a JSON object with tool_name and tool_input. eco-hint tells
    a model, with each prompt, to look into memory before files; eco-nudge says so before a wide search, on stderr
    and to the model of a client that names its event.
    safety-guard ends with 2 for a shell line that runs what can hardly be undone (rm -rf, sudo, curl | sh, git push
    --force and the like); it reads the line as a shell does, and also stops what it cannot read. It is no sandbox.
    memory-guard ends with 2 for a tool that writes a MEMORY.md, or notes that Claude Code keeps of a project, and tells
    the model to use memory's tools; what a shell writes it does not see.
    audit-logger keeps a line for each call in .agent_logs, without secrets, of the newest megabyte.
    """
    call = _read_call(ctx, strict=name == "safety-guard") if name != "eco-hint" or ctx.stdin is not None else {}
    if name == "safety-guard":
        return _guard(ctx, call)
    if name == "memory-guard":
        return _guard_notes(ctx, call)
    if name == "audit-logger":
        return _log(ctx, call)
    return _hint(ctx, call) if name == "eco-hint" else _nudge(ctx, call)


def _read_call(ctx: Context, *, strict: bool) -> dict[str, Any]:
    """The call; an empty one, or GuardFailed with `strict`, when there is none that can be read."""
    if "stdin" in ctx.tty:
        return {}
    data = b"" if ctx.stdin is None else ctx.stdin.read(_MOST + 1)
    try:
        call = json.loads(data[:_MOST].decode("utf-8", "strict" if strict else "replace"))
    except (ValueError, RecursionError):
        call = None
    if not isinstance(call, dict):
        if strict:
            raise GuardFailed(reason="it is no JSON object")
        return {}
    return call


def _tool_of(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool of a call and what it is given, also as Copilot writes it; "" when it names none."""
    tool, given = call.get("tool_name", call.get("toolName")), call.get("tool_input", call.get("toolArgs"))
    if isinstance(given, str):  # Copilot's arguments may be JSON
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = {"input": given}
    return tool if isinstance(tool, str) else "", given if isinstance(given, dict) else {}


# --- the guard --------------------------------------------------------------------------------------------------------


def _guard(ctx: Context, call: dict[str, Any]) -> PlainResult:
    from memctl.clients.shell_guard import denied

    tool, given = _tool_of(call)
    if not tool:
        raise GuardFailed(reason="it names no tool")
    if tool.lower() not in _SHELLS:
        return PlainResult({"status": "ok", "hook": "safety-guard"})
    line = given.get("command", given.get("cmd"))
    if isinstance(line, list) and all(isinstance(word, str) for word in line):  # Codex gives words
        import shlex

        line = shlex.join(line)
    if not isinstance(line, str):
        raise GuardFailed(reason="it gives the shell no text")
    try:
        pattern = denied(line)
    except (ValueError, RecursionError) as exc:
        raise GuardFailed(reason=f"it is no shell line: {exc}") from exc
    if not pattern:
        return PlainResult({"status": "ok", "hook": "safety-guard"})
    ctx.warn(f'[memctl guard] BLOCKED: command matches deny pattern "{pattern}"')
    return PlainResult({"status": "blocked", "hook": "safety-guard", "pattern": pattern}, exit_code=2)


def _guard_notes(ctx: Context, call: dict[str, Any]) -> PlainResult:
    """Keep a model from notes that no other client and no policy sees; a call that cannot be read goes on."""
    tool, given = _tool_of(call)
    path = given.get("file_path", given.get("path"))
    if tool.lower() not in _WRITERS or not isinstance(path, str) or not _NOTES.search(path):
        return PlainResult({"status": "ok", "hook": "memory-guard"})
    ctx.warn(
        "[memctl guard] BLOCKED: what should last is kept by memctl, not in this file. Call memory_propose with one "
        "statement each, or memory_supersede for one that has changed; memory_recall reads."
    )
    return PlainResult({"status": "blocked", "hook": "memory-guard"}, exit_code=2)


# --- the log ----------------------------------------------------------------------------------------------------------


def _log(ctx: Context, call: dict[str, Any]) -> PlainResult:
    """Append a line; whatever stands in the way is no concern of the client's."""
    from memctl.policy import MemoryPolicy
    from memctl.text.clean import one_line

    tool, given = _tool_of(call)
    told = next((value for value in given.values() if isinstance(value, str)), "")
    policy = MemoryPolicy()
    said = one_line(policy.redact(told[:_JUDGED]), _LOGGED + 1)[:_LOGGED]
    name = one_line(policy.redact(tool[:_JUDGED]), 60)  # whatever a client writes there
    path = os.path.join(ctx.cwd, _LOG)
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.realpath(folder) != os.path.join(os.path.realpath(ctx.cwd), os.path.basename(folder)):
            return PlainResult({"status": "skipped", "hook": "audit-logger"})  # a link that leads somewhere else
        if os.path.exists(path) and os.path.getsize(path) > _LOG_BYTES:
            os.replace(path, f"{path}.1")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        number = os.open(path, flags, 0o600)
        try:
            moment = ids.timestamp()[:19].replace("T", " ")
            os.write(number, f"[{moment}] {name}: {said}\n".encode())
        finally:
            os.close(number)
    except OSError:
        return PlainResult({"status": "skipped", "hook": "audit-logger"})
    return PlainResult({"status": "ok", "hook": "audit-logger"})


# --- eco mode ---------------------------------------------------------------------------------------------------------


def _hint(ctx: Context, call: dict[str, Any]) -> PlainResult:
    """What the model is told with a prompt: as the documented object, or as the client that calls reads it."""
    text = "" if eco_state(ctx.cwd) == "disabled" else _ladder(_count(ctx))
    said: dict[str, Any] = {"additionalContext": text}
    if _names_its_event(call):
        return _for_claude(call, text) if text else PlainResult(said, printed=said)
    return PlainResult(said, [json.dumps(said, ensure_ascii=False)], printed=said, verbatim=True)


def _names_its_event(call: dict[str, Any]) -> bool:
    """Whether Claude Code calls, or a client with its dialect."""
    return isinstance(event := call.get("hook_event_name"), str) and event[:1].isupper()


def _for_claude(call: dict[str, Any], text: str) -> PlainResult:
    """What Claude Code gives its model; it drops the same at the top level, and what a hook says on stderr."""
    said = {"hookSpecificOutput": {"hookEventName": call["hook_event_name"], "additionalContext": text}}
    return PlainResult(said, [json.dumps(said, ensure_ascii=False)], printed=said, verbatim=True)


def _ladder(count: int | None) -> str:
    if count is None:
        return "Eco: nothing is indexed here yet. /scan indexes this folder (memctl ingest, memory_inspect)."
    if count < _FEW:
        return (
            f'Eco: memory has {count} items. /scan indexes a folder; memctl push "question" --source PATH adds files.'
        )
    return (
        f"Eco: {count} indexed items. Look there before you read files: ingest > memory_inspect > memory_recall > "
        "Grep/Glob > Read. Answer as Retrieved: (from memory) and Analysis: (yours). Bypass: edits, one known file, "
        "commands."
    )


def _nudge(ctx: Context, call: dict[str, Any]) -> PlainResult:
    line = "" if eco_state(ctx.cwd) == "disabled" else _advice(ctx, *_tool_of(call))
    if line:
        ctx.warn(line)
        if _names_its_event(call):
            return _for_claude(call, line)
    return PlainResult({"status": "ok" if line else "silent", "hook": "eco-nudge"})


def _advice(ctx: Context, tool: str, given: dict[str, Any]) -> str:
    """The line for a wide search; "" for a call that memory cannot spare."""
    from memctl.text.clean import one_line

    pattern, path = (str(given.get(key) or "") for key in ("pattern", "path"))
    if tool not in ("Grep", "Glob") and not (tool == "Bash" and _is_listing(given.get("command"))):
        return ""
    count = _count(ctx)
    if count is None:
        return "[eco] Nothing is indexed here: memctl ingest . makes this folder searchable."
    if count < _FEW:
        return f"[eco] memory is nearly empty ({count} items): memctl ingest . fills it."
    if count < _ENOUGH:
        return ""
    if tool == "Grep":
        if re.search(r"\.[A-Za-z]{1,6}$", path) or (len(pattern) < _SHORT_PATTERN and " " not in pattern):
            return ""
        return f"[eco] {count} indexed items. Try first: /recall {one_line(pattern, 80)}"
    if tool == "Glob" and not any(wide in pattern for wide in ("**", "*.*", "*/")):
        return ""
    return f"[eco] {count} indexed items. memory_inspect shows how the folder is built."


def _is_listing(line: object) -> bool:
    """Whether a shell line looks through folders: find, or ls -R."""
    from memctl.clients.shell_guard import programs

    try:
        run = programs(line) if isinstance(line, str) else []
    except ValueError:
        return False
    deep = ("--recursive",)
    return any(
        name == "find" or (name == "ls" and any(word in deep or re.match(r"-[^-]*R", word) for word in words))
        for name, words in run
    )


def _count(ctx: Context) -> int | None:
    """Items in the store of eco mode: what its config names, else MEMCTL_DB, else that of this folder."""
    from memctl.paths import read_file
    from memctl.store.foreign import count_items

    named = None
    try:
        config = json.loads(read_file(os.path.join(ctx.cwd, CONFIG), _MOST)[0])
        named = config.get("db_path") if isinstance(config, dict) else None
    except (DocumentUnreadable, ValueError, RecursionError):
        pass
    if not (isinstance(named, str) and named):
        named = ctx.db_flag or ctx.env("MEMCTL_DB") or os.path.join(".memory", "memory.db")
    path = ctx.absolute(named)
    return count_items(path) if os.path.isfile(path) else None
