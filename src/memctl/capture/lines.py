"""Transcripts of one JSON object a line: Claude Code, Codex, Gemini, Copilot, Qwen, and plain messages.

A function takes one record of its client and tells the conversation what is in it; kinds of records that it does not
know are passed over, because clients add some every week. None trusts a record to have the shape it should have.
"""

import json
import re
from collections.abc import Callable

from memctl.annotations import Any
from memctl.capture.turns import Talk, shell_line, texts

Record = dict[str, Any]
#: The conversation of a session id; the one that is being read for "".
TalkOf = Callable[[object], Talk]
_EXIT = re.compile(r"exit(?:ed with)? code:? (\d{1,9})", re.IGNORECASE)


def dig(record: object, *keys: str) -> Any:
    """What stands at the end of a way of keys; None where the way ends."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def records(value: object) -> list[Record]:
    """The objects of a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def exit_code(output: object, *, failed: object) -> int:
    """How a command ended: the code that its output names, else 1 or 0."""
    found = _EXIT.search(output[:2000] if isinstance(output, str) else "")
    return int(found[1]) if found else int(bool(failed))


def claude(record: Record, offset: int, talk_of: TalkOf) -> None:
    """Claude Code: `user` and `assistant` lines, without side chains, meta lines and summaries."""
    kind, message = record.get("type"), record.get("message")
    if kind not in ("user", "assistant") or not isinstance(message, dict):
        return
    if record.get("isSidechain") or record.get("isMeta") or record.get("isCompactSummary") or record.get("agentId"):
        return
    talk = talk_of(record.get("sessionId"))
    talk.set(cwd=record.get("cwd"), branch=record.get("gitBranch"))
    content, at = message.get("content"), record.get("timestamp")
    for part in records(content) if kind == "user" else ():
        if part.get("type") == "tool_result":
            output = texts(part.get("content"))
            talk.got(output)
            talk.ended(
                part.get("tool_use_id"), exit_code(output if part.get("is_error") else "", failed=part.get("is_error"))
            )
    if kind == "user":
        text = texts(content)
        if text.strip():
            talk.user(text, offset, id=record.get("uuid"), time=at)
        return
    if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):  # an error of the service
        return
    talk.set(model=message.get("model"))
    if text := texts(content):
        talk.say(text, offset, id=record.get("uuid"), time=at)
    for part in records(content):
        if part.get("type") == "tool_use":
            talk.call(part.get("name"), part.get("input"), offset, id=part.get("id"), time=at)


def codex(record: Record, offset: int, talk_of: TalkOf) -> None:
    """Codex: what was really said stands in events; `response_item` also has what the client put in between."""
    kind, said, at = record.get("type"), record.get("payload"), record.get("timestamp")
    if not isinstance(said, dict):
        return
    if kind == "session_meta":
        talk = talk_of(said.get("id"))
        talk.set(session=said.get("id"), cwd=said.get("cwd"), branch=dig(said, "git", "branch"))
        talk.left_out = dig(said, "source", "subagent") is not None or said.get("thread_source") == "subagent"
        return
    talk = talk_of("")
    if kind == "turn_context":
        talk.set(cwd=said.get("cwd"), model=said.get("model"))
    elif kind == "response_item":
        output = said.get("output")
        talk.got(output if isinstance(output, str) else texts(output))
    elif kind == "event_msg":
        item = said.get("item")
        if said.get("type") == "item_completed" and isinstance(item, dict):
            _codex_item(item, at, offset, talk)
        elif said.get("type") == "user_message":  # until 2026
            talk.user(texts(said.get("message")), offset, time=at)
        elif said.get("type") == "agent_message":
            talk.say(texts(said.get("message")), offset, time=at)
        elif said.get("type") == "exec_command_end":
            talk.ran(shell_line(said.get("command")), said.get("exit_code"), offset, id=said.get("call_id"), time=at)
        elif said.get("type") == "patch_apply_end":
            talk.wrote(*list(said["changes"] if isinstance(said.get("changes"), dict) else ()))


def _codex_item(item: Record, at: object, offset: int, talk: Talk) -> None:
    kind, named = item.get("type"), item.get("id")
    if kind == "UserMessage":
        talk.user(texts(item.get("content")), offset, id=named, time=at)
    elif kind == "AgentMessage":
        talk.say(texts(item.get("content")), offset, id=named, time=at)
    elif kind == "CommandExecution":
        talk.ran(shell_line(item.get("command")), item.get("exit_code"), offset, id=named, time=at)
    elif kind == "FileChange":
        changes = item.get("changes")
        talk.call("", {}, offset, time=at)
        talk.wrote(*(changes if isinstance(changes, dict) else [one.get("path") for one in records(changes)]))


def gemini(record: Record, offset: int, talk_of: TalkOf) -> None:
    """Gemini CLI: records, of which a later one with the same id takes the place of the earlier, and patches."""
    if isinstance(record.get("sessionId"), str):
        talk_of("").set(session=record["sessionId"])
        talk_of("").left_out = record.get("kind") == "subagent"
    talk, kind, at = talk_of(""), record.get("type"), record.get("timestamp")
    for inner in records(dig(record, "$set", "messages")):
        if "$set" not in inner:
            gemini(inner, offset, talk_of)
    if kind == "user":
        shown = texts(record.get("displayContent")) or texts(record.get("content"))
        if shown.strip():
            talk.user(shown, offset, id=record.get("id"), time=at)
    elif kind == "gemini":
        talk.set(model=record.get("model"))
        talk.say(texts(record.get("content")), offset, id=record.get("id"), time=at)
        for tool in records(record.get("toolCalls")):
            talk.call(tool.get("name"), tool.get("args"), offset, id=tool.get("id"), time=at)
            if isinstance(tool.get("status"), str):
                output = json.dumps(tool.get("result"))
                talk.got(output)
                talk.ended(tool.get("id"), exit_code(output[:4000], failed=tool["status"] != "success"))


def qwen(record: Record, offset: int, talk_of: TalkOf) -> None:
    """Qwen Code: what a person typed is marked as that of a real user."""
    kind, at = record.get("type"), record.get("timestamp")
    talk = talk_of(record.get("sessionId"))
    talk.set(cwd=record.get("cwd"), branch=record.get("gitBranch"))
    parts = dig(record, "message", "parts")
    if kind == "user" and record.get("provenance", "real_user") == "real_user" and not record.get("isSidechain"):
        shown = dig(record, "systemPayload", "displayText")
        talk.user(shown if isinstance(shown, str) else texts(parts), offset, id=record.get("uuid"), time=at)
    elif kind == "assistant" and not record.get("isSidechain"):
        talk.set(model=record.get("model"))
        talk.say(texts(parts), offset, id=record.get("uuid"), time=at)
        for part in records(parts):
            if isinstance(called := part.get("functionCall"), dict):
                talk.call(called.get("name"), called.get("args"), offset, id=called.get("id"), time=at)
    elif kind == "tool_result":
        result = record.get("toolCallResult")
        output = dig(result, "resultDisplay")
        for part in records(parts):
            talk.got(dig(part, "functionResponse", "response", "output"))
        talk.ended(dig(result, "callId"), exit_code(output, failed=dig(result, "status") != "success"))


def copilot(record: Record, offset: int, talk_of: TalkOf) -> None:
    """Copilot CLI: events; `content` of a user's message is what was typed."""
    kind, data, at = record.get("type"), record.get("data"), record.get("timestamp")
    if not isinstance(data, dict) or data.get("parentToolCallId"):  # of a sub-agent
        return
    talk = talk_of("")
    if kind in ("session.start", "session.resume"):
        context = data.get("context")
        talk.set(session=data.get("sessionId"), cwd=dig(context, "cwd"), branch=dig(context, "branch"))
        talk.set(model=data.get("selectedModel"))
    elif kind == "user.message":
        talk.user(texts(data.get("content")), offset, id=data.get("messageId"), time=at)
    elif kind == "assistant.message":
        talk.set(model=data.get("model"))
        talk.say(texts(data.get("content")), offset, id=data.get("messageId"), time=at)
        for tool in records(data.get("toolRequests")):
            talk.call(tool.get("name"), tool.get("arguments"), offset, id=tool.get("toolCallId"), time=at)
    elif kind == "tool.execution_complete":
        output = dig(data, "result", "content")
        talk.got(output)
        talk.ended(data.get("toolCallId"), exit_code(output, failed=data.get("success") is False))


def message(record: Record, offset: int, talk_of: TalkOf) -> None:
    """A message of any program: `role` and `content`, or the `prompt` and `response` of one call."""
    named = next((record[key] for key in ("session_id", "sessionId", "conversation_id") if record.get(key)), "")
    talk = talk_of(named)
    talk.set(cwd=record.get("cwd"), branch=record.get("branch"), model=record.get("model"))
    at = next((record[key] for key in ("timestamp", "time", "ts", "created_at", "datetime_utc") if record.get(key)), "")
    role = record.get("role", record.get("type", record.get("from", record.get("speaker"))))
    if isinstance(record.get("prompt"), str):
        talk.user(record["prompt"], offset, id=record.get("id"), time=at)
        talk.say(texts(record.get("response")), offset, id=record.get("id"), time=at)
        return
    text = texts(record.get("content", record.get("text", record.get("parts", record.get("value")))))
    if role in ("user", "human"):
        if text.strip():
            talk.user(text, offset, id=record.get("id"), time=at)
    elif role in ("assistant", "model", "ai", "gpt", "bot"):
        talk.say(text, offset, id=record.get("id"), time=at)
        for part in records(record.get("content")):
            if part.get("type") == "tool_use":
                talk.call(part.get("name"), part.get("input"), offset, id=part.get("id"), time=at)


#: How a line is read, by the name of its form.
FORMS: dict[str, Callable[[Record, int, TalkOf], None]] = {
    "claude": claude, "codex": codex, "gemini": gemini, "qwen": qwen, "copilot": copilot, "generic": message,
}  # fmt: skip


def form_of(record: Record) -> str:
    """Whose line it is; "" for a line that does not show it."""
    kind = record.get("type")
    if "payload" in record and isinstance(kind, str) and "timestamp" in record:
        return "codex"
    if "projectHash" in record or "$set" in record or kind == "gemini":
        return "gemini"
    if isinstance(record.get("data"), dict) and isinstance(kind, str) and "." in kind:
        return "copilot"
    if isinstance(dig(record, "message", "parts"), list) or "provenance" in record:
        return "qwen"
    if isinstance(record.get("sessionId"), str) and ("uuid" in record or kind in ("queue-operation", "summary")):
        return "claude"
    if isinstance(record.get("prompt"), str):
        return "generic"
    said = any(isinstance(record.get(key), str | list) for key in ("content", "text", "parts", "value"))
    return "generic" if said and ("role" in record or "from" in record) else ""
