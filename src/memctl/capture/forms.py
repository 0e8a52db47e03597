"""The forms of transcripts: lines of JSON (Claude Code, Codex, Gemini, Copilot, Qwen, plain messages), and documents
(JSON of opencode, Cline, Gemini and others, text with roles, aider's history).

A function takes one record, or a document, and tells the conversation what is in it; kinds of records that it does not
know are passed over, because clients add some every week. None trusts a record to have the shape it should have.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from memctl.annotations import Any
from memctl.capture.turns import Talk, shell_line, texts
from memctl.text import jsons

Record = dict[str, Any]
#: The conversation of a session id; the one that is being read for "".
TalkOf = Callable[[object], Talk]
#: How an object begins, and a document; where the messages of one begin.
_BEGINS, _DOCUMENT = re.compile(r'(\s*)\{\s*"[^"]{1,80}"\s*:'), re.compile(r'^(?:\{\s*"|\[\s*\{)', re.MULTILINE)
_SAID = re.compile(r'"(?:messages|turns|chat|history)"\s*:\s*\[')
#: Damaged messages of one list after which no more is looked for; characters in which a document begins, and how many
#: of its beginnings are tried.
_MOST_DAMAGED, _MOST_BEFORE, _MOST_TRIED = 100, 1 << 16, 20
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
LINES: dict[str, Callable[[Record, int, TalkOf], None]] = {
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


# --- documents -------------------------------------------------------------------------------------------------------

#: Who speaks, at the beginning of a line, in the words of the programs that write so.
_WHO = "user|human|me|you|prompt|q|assistant|ai|bot|model|claude|chatgpt|gpt|gemini|copilot|response|a|system|tool"
_SPEAKER = re.compile(
    rf"^[ \t]*(?:(?:#{{1,4}}[ ]+|\*\*)({_WHO})[ ]*(?:\([^()\n]{{0,60}}\))?(?:\*\*:?|:(?:\*\*)?|$)"
    rf"|(?:>[ ]?)?({_WHO})[ ]*(?:\([^()\n]{{0,60}}\))?:)[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_ASKING = frozenset(["user", "human", "me", "you", "prompt", "q"])
_UNSAID = frozenset(("system", "tool"))
#: How aider begins a session, and what it says of a file that it changed.
_STARTED = re.compile(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[ \t]*$", re.MULTILINE)
_APPLIED = "> Applied edit to "
_HEADING, _PROMPT = re.compile(r"#### "), re.compile(r"^#### .* {2}\r?$", re.MULTILINE)
#: A mark at the end, of a line that is still being written.
_UNFINISHED = re.compile(r"^#{1,4} ?\Z", re.MULTILINE)


def loaded(text: str) -> tuple[Any, bool]:
    """The JSON of a text, and whether it is whole; of a damaged one what can be read, element by element."""
    with suppress(ValueError, RecursionError):
        return json.loads(text, strict=False), True
    at = jsons.after_blanks(text)
    if text[at : at + 1] == "[":
        return _elements(text, at)[0], False
    found: Record = {}
    while (start := text.find('"', at)) >= 0:
        key = ""
        try:
            key, at = jsons.read(text, start)
            at = jsons.after_blanks(text, text.index(":", at) + 1)
            if text[at : at + 1] == "[":
                found[key], at = _elements(text, at)
            else:
                found[key], at = jsons.read(text, at)
        except ValueError:
            if not (said := _SAID.search(text, at)):
                break
            if text[at : at + 1] == "{":
                found[key] = loaded(text[at : said.start()])[0]
            at = said.start()
    return found, False


def _elements(text: str, at: int) -> tuple[list[Any], int]:
    """The elements of the list that begins at `at`, but for damaged ones, and where they end.

    After a damaged one it goes on where the next begins like the first: with the same blanks and the same key.
    """
    found: list[Any] = []
    first, damaged = _BEGINS.match(text, at + 1), 0
    begins = (
        re.compile("," + ("" if first[1].strip(" ") else " *") + re.escape(first[0].lstrip(" "))) if first else None
    )
    while text[at : at + 1] in ("[", ","):
        end = at
        with suppress(ValueError):
            value, end = jsons.read(text, jsons.after_blanks(text, at + 1), strict=False)
            found.append(value)
            end = jsons.after_blanks(text, end)
        if text[end : end + 1] in (",", "]") and end > at:
            at = end
        elif begins and damaged < _MOST_DAMAGED and (one := begins.search(text, max(at + 1, end))):
            damaged, at = damaged + 1, one.start()
        else:
            return found, len(text)
    return found, at + 1 if text[at : at + 1] == "]" else len(text)


def late(text: str, talk_of: TalkOf) -> Iterator[str]:
    """Tell each text below lines of something else that may be a document of JSON; the names of their forms."""
    for begun in islice(_DOCUMENT.finditer(text, 1, _MOST_BEFORE), _MOST_TRIED):
        yield document(loaded(text[begun.start() :])[0], talk_of)


def document(value: Any, talk_of: TalkOf) -> str:
    """Tell the conversations in a document of JSON; the name of its form, "" for one that holds none."""
    if isinstance(value, list):
        for number, one in enumerate(records(value)):
            if isinstance(one.get("messages"), list) or isinstance(one.get("mapping"), dict):
                document(one, talk_of)
            else:
                message(one, number, talk_of)
        return "generic"
    if not isinstance(value, dict):
        return ""
    if isinstance(value.get("info"), dict) and isinstance(value.get("messages"), list):
        _opencode(value, talk_of)
        return "opencode"
    if "messages_path" in value:  # Cline's page about a session, not what was said in it
        return ""
    if "projectHash" in value:
        talk_of("").set(session=value.get("sessionId"))
        talk_of("").left_out = value.get("kind") == "subagent"
        for number, one in enumerate(records(value.get("messages"))):
            gemini(one, number, talk_of)
        return "gemini"
    named = next((value[key] for key in ("sessionId", "session_id", "conversation_id", "id") if value.get(key)), "")
    lists = [value[key] for key in ("messages", "turns", "chat", "history") if isinstance(value.get(key), list)]
    if not lists:
        message(value, 0, talk_of)
        return form_of(value)
    talk = talk_of(named)
    talk.set(cwd=value.get("cwd", value.get("directory")), branch=value.get("branch"), model=value.get("model"))
    cline = "origin" in value or "system_prompt" in value
    for number, one in enumerate(records(lists[0])):
        _cline(one, number, talk) if cline else message(one, number, lambda _named: talk)
    return "cline" if cline else "generic"


def _opencode(value: Record, talk_of: TalkOf) -> None:
    """One session as `opencode export` prints it; one that another session started is a side chain."""
    info = value["info"]
    talk = talk_of(info.get("id"))
    talk.set(session=info.get("id"), cwd=info.get("directory"))
    talk.left_out = bool(info.get("parentID"))
    for number, one in enumerate(records(value["messages"])):
        about = one.get("info") if isinstance(one.get("info"), dict) else {}
        role, named, at = dig(about, "role"), dig(about, "id"), dig(about, "time", "created")
        parts = [part for part in records(one.get("parts")) if not part.get("synthetic") and not part.get("ignored")]
        text = texts([part for part in parts if part.get("type") == "text"])
        if role == "user" and text.strip():
            bare = text.strip()  # what `opencode run` was given has quote marks around it
            talk.user(bare[1:-1] if len(bare) > 2 and bare[0] == bare[-1] == '"' else text, number, id=named, time=at)
        elif role == "assistant" and not dig(about, "summary"):
            talk.set(model=dig(about, "modelID"), cwd=info.get("directory") or dig(about, "path", "cwd"))
            talk.say(text, number, id=named, time=at)
            for part in parts:
                if part.get("type") == "tool":
                    talk.call(part.get("tool"), dig(part, "state", "input"), number, id=part.get("callID"), time=at)
                    status, code = dig(part, "state", "status"), dig(part, "state", "metadata", "exit")
                    talk.got(dig(part, "state", "output"))
                    failed = exit_code(dig(part, "state", "output"), failed=status == "error")
                    talk.ended(part.get("callID"), code if isinstance(code, int) else failed)


def _cline(one: Record, number: int, talk: Talk) -> None:
    content, at = one.get("content"), one.get("ts")
    for part in records(content):
        if part.get("type") == "tool_result":
            talk.got(texts(part.get("content")))
            talk.ended(part.get("tool_use_id"), exit_code(part.get("content"), failed=part.get("is_error")))
    text = texts(content)
    if one.get("role") == "user" and text.strip():
        talk.user(text, number, id=one.get("id"), time=at)
    elif one.get("role") == "assistant":
        talk.set(model=dig(one, "modelInfo", "id"))
        talk.say(text, number, id=one.get("id"), time=at)
        for part in records(content):
            if part.get("type") == "tool_use":
                talk.call(part.get("name"), part.get("input"), number, id=part.get("id"), time=at)


def spoken(text: str, talk_of: TalkOf) -> str:
    """Tell a text whose parts say who speaks; what stands before the first of them is nobody's."""
    found = [(one, (one[1] or one[2]).lower()) for one in _SPEAKER.finditer(text)]
    if not any(who in _ASKING for _, who in found):
        return ""
    talk = talk_of("")
    for number, (one, who) in enumerate(found):
        said = text[one.end() : found[number + 1][0].start() if number + 1 < len(found) else len(text)]
        if who in _ASKING:
            talk.user(said, one.start())
        elif who not in _UNSAID:
            talk.say(said, one.start())
    return "text"


def aider(text: str, talk_of: TalkOf) -> str:
    """Tell aider's chat history: `#### ` before what was asked, `> ` before what aider itself says.

    aider ends the lines of a prompt with two blanks; where any does, a heading `####` of an answer is no prompt.
    """
    prompt = _PROMPT if _PROMPT.search(text) else _HEADING
    text = _UNFINISHED.sub("", text)
    starts = list(_STARTED.finditer(text))
    for number, one in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        talk = talk_of(f"aider {one[1]}")
        _aider_session(text[one.end() : end], one.end(), talk, one[1], prompt)
    return "aider"


def _aider_session(text: str, offset: int, talk: Talk, began: str, prompt: "re.Pattern[str]") -> None:
    """A prompt of several lines has the mark before each of them."""
    role, held, at = "", [""], offset
    for line in [*text.splitlines(keepends=True), "####   "]:
        asked, tool = prompt.match(line) is not None, line.startswith("> ")
        mine = "user" if asked else "tool" if tool else "assistant"
        if (mine != role and (mine != "assistant" or line.strip())) or offset - at > len(text) + 5:
            _told(talk, role, "".join(held), at, began)
            role, held, at = mine, [], offset
        held.append(f"{line[5:].rstrip()}\n" if asked else line)
        if line.startswith(_APPLIED):
            talk.wrote(line[len(_APPLIED) :].strip())
        offset += len(line)
    _told(talk, role, "".join(held), at, began)


def _told(talk: Talk, role: str, text: str, at: int, began: str) -> None:
    if role == "user" and text.strip():
        talk.user(text, at, time=began)
    elif role == "assistant" and text.strip():
        talk.say(text, at, time=began)
