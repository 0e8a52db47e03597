"""What a client writes to a hook, and the answer that it hands to its model: the events and shapes of `known.CLIENTS`.

One answer does not serve all. Codex rejects the whole of it for a key that it does not know, Copilot reads only the
top-level key, Gemini shows plain text to the user, Claude Code drops what does not name the event.
"""

from memctl.annotations import Any
from memctl.clients.known import Client
from memctl.text import jsons

#: Bytes of an event that are read; Gemini's largest have 100 KB.
MOST_OF_EVENT = 4 << 20
#: Characters of a prompt that are read: its beginning and its end, where people say what they want of a long paste.
MOST_OF_PROMPT = 4_000
#: The events at which a client takes context for its model.
TELLING = ("session-start", "prompt")
#: Those at which what was said is taken in.
TAKING = ("pre-compact", "stop", "session-end")

#: How clients call the session, the folder, and the prompt.
_SESSION = ("session_id", "sessionId", "sessionID", "conversation_id")
_FOLDER = ("cwd", "directory")
_TRANSCRIPT = ("transcript_path", "transcriptPath")
_BOM = b"\xef\xbb\xbf"
#: What Gemini puts before the prompt of a hook: what hooks of this session said.
_OWN = ("<hook_context>", "</hook_context>")


class Event:
    """What a hook was told.

    name     memctl's word for the event
    session  the conversation; "" when the client names none
    folder   where the client works; "" when it does not say
    prompt   what the user typed, at the event `prompt`
    source   what began the session: startup, resume, clear, compact
    transcript  where the client writes the conversation down; "" when it does not say
    messages    the messages of the conversation as JSON, from a client without such a file; b"" when it sends none
    """

    __slots__ = ("folder", "messages", "name", "prompt", "session", "source", "transcript")

    def __init__(
        self, name: str, session: str, folder: str, prompt: str, source: str, transcript: str, messages: bytes
    ) -> None:
        self.name, self.session, self.folder, self.prompt = name, session, folder, prompt
        self.source, self.transcript, self.messages = source, transcript, messages


def event_name(client: Client, word: str) -> str:
    """memctl's word for an event that is called so, by memctl or by the client; "" for none."""
    from memctl.clients.known import EVENTS

    if word in EVENTS:
        return word
    said = client.hooks.events.items() if client.hooks else ()
    return next((name for name, (theirs, _) in said if theirs == word), "")


def read_event(name: str, data: bytes) -> Event:
    """The event that a client wrote on standard input. Raises ValueError for what is no JSON object."""
    if len(data) > MOST_OF_EVENT:
        raise ValueError("the event is too large")
    try:
        said = jsons.decode(data.removeprefix(_BOM).decode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("the event is nested too deeply") from None
    if not isinstance(said, dict):
        raise ValueError("the event is no JSON object")  # noqa: TRY004 - of the text, not of the argument
    folder = _word(said, *_FOLDER)
    roots = said.get("workspace_roots")
    if not folder and isinstance(roots, list) and roots and isinstance(roots[0], str):
        folder = roots[0]  # Cursor
    prompt = _word(said, "prompt")
    while prompt.startswith(_OWN[0]) and _OWN[1] in prompt:
        prompt = prompt.partition(_OWN[1])[2].lstrip()
    if len(prompt) > MOST_OF_PROMPT:
        prompt = f"{prompt[: MOST_OF_PROMPT // 2]}\n{prompt[-MOST_OF_PROMPT // 2 :]}"
    messages = said.get("messages")
    told = {"info": {"id": _word(said, *_SESSION), "directory": folder}, "messages": messages}
    return Event(
        name, _word(said, *_SESSION), folder, prompt, _word(said, "source"), _word(said, *_TRANSCRIPT),
        jsons.encode(told, ascii_only=True).encode() if isinstance(messages, list) else b"",
    )  # fmt: skip


def _word(said: dict[str, Any], *keys: str) -> str:
    """The text of the first of these keys that has one, as storable Unicode."""
    text = next((said[key] for key in keys if isinstance(said.get(key), str)), "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def answer(client: Client, event: str, context: str) -> str:
    """What the client is to read so that its model gets the context; "" for nothing to say."""
    if not context:
        return ""
    context = context[: client.limit]
    if client.hooks is None:  # a plugin takes the text
        return context
    theirs = client.hooks.events[event][0]
    said: dict[str, Any]
    if client.name == "copilot":
        said = {"additionalContext": context}
    elif client.name == "cursor":
        said = {"additional_context": context} | ({"continue": True} if event == "prompt" else {})
    else:
        said = {"hookSpecificOutput": {"hookEventName": theirs, "additionalContext": context}}
    return jsons.encode(said)
