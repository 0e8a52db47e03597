"""Transcripts that are one document: JSON of opencode, Cline, Gemini and others, text with roles, aider's history."""

import json
import re
from contextlib import suppress

from memctl.annotations import Any
from memctl.capture.lines import Record, TalkOf, dig, exit_code, form_of, gemini, message, records
from memctl.capture.turns import Talk, texts
from memctl.text import jsons

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
    """The JSON of a text, and whether it is whole; of one that breaks off, what stands before that."""
    try:
        return json.loads(text), True
    except RecursionError:
        return None, False
    except ValueError:
        pass
    at = jsons.after_blanks(text)
    if text[at : at + 1] == "[":
        return _elements(text, at)[0], False
    found: Record = {}
    while (start := text.find('"', at)) >= 0:
        try:
            key, at = jsons.read(text, start)
            at = text.index(":", at) + 1
            at = jsons.after_blanks(text, at)
            if text[at : at + 1] == "[":
                found[key], at = _elements(text, at)
            else:
                found[key], at = jsons.read(text, at)
        except (ValueError, TypeError):
            break
    return found, False


def _elements(text: str, at: int) -> tuple[list[Any], int]:
    """The elements of the list that begins at `at`, as far as they are whole, and where they end."""
    found: list[Any] = []
    with suppress(ValueError):
        while text[at : at + 1] in ("[", ","):
            value, at = jsons.read(text, jsons.after_blanks(text, at + 1))
            found.append(value)
            at = jsons.after_blanks(text, at)
    return found, at + 1 if text[at : at + 1] == "]" else len(text)


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
