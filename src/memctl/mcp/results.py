"""What a tool answers, and how that goes over the wire.

A tool for programs answers with its structured result, and with the same JSON as text for clients that know no
structure. A tool for models answers in prose: a client that finds structure shows the model only that, so there is
none; what the text leaves out is in `_meta`, which models do not see. An error is a result like any other.
"""

import json
from typing import NamedTuple

from memctl.annotations import Any
from memctl.operation import utf8

#: Where the structured result is when the model was given prose.
META_KEY = "memctl/result"
#: An argument that is no value of its parameter is the only error that the protocol marks, as documented.
_MARKED = "argument-invalid"


class Answer(NamedTuple):
    """The structured result, and the prose where the model reads that."""

    data: dict[str, Any]
    prose: str | None = None


def wire(answer: Answer) -> dict[str, Any]:
    """The fields of a CallToolResult, by their names on the wire."""
    data, prose = answer
    status = data.get("status")
    if prose is not None and status not in ("error", "rate_limited"):
        rest = {key: value for key, value in data.items() if value != prose}
        text, rest = _sound(rest)
        return {"content": [_text(utf8(prose))], "isError": False, "_meta": {META_KEY: rest}}
    text, data = _sound(data)
    out = {"content": [_text(text)], "isError": data.get("code") == _MARKED}
    return out if prose is not None else out | {"structuredContent": data}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def as_json(data: dict[str, Any]) -> str:
    """A result as one line of JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _sound(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The JSON of a result, and the result as it can be sent: bytes of a path that are no text become U+FFFD."""
    text = as_json(data)
    sound = utf8(text)
    return (text, data) if sound is text or sound == text else (sound, json.loads(sound))


def prose_of(words: str, data: dict[str, Any], remarks: list[str]) -> str:
    """What the model reads: the words; when there are none, what to try; then what went wrong on the way."""
    parts = [words]
    if not words:
        said = (one.partition("] ")[2] if one.startswith("[") else one for one in remarks)
        hint = str(data.get("hint") or "Nothing was found.")
        parts = [hint, *(one for one in said if one != hint and not one.startswith("No "))]
    return "\n\n".join([*parts, *(f"Note: {one}" for one in data.get("warnings", ()))])
