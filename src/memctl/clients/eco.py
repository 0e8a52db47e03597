"""The switch of eco mode: files in the folder of the project."""

import json
import os

#: The switch and the configuration, in the folder of the project; the second was the switch of memctl up to 0.15.
OFF = os.path.join(".memory", ".eco-disabled")
OLD_OFF = os.path.join(".claude", "eco", ".disabled")
CONFIG = os.path.join(".claude", "eco", "config.json")


def eco_state(folder: str) -> str:
    """How eco mode stands in a project: active, disabled, or not installed."""
    if any(os.path.exists(os.path.join(folder, name)) for name in (OFF, OLD_OFF)):
        return "disabled"
    return "active" if os.path.exists(os.path.join(folder, CONFIG)) else "not installed"


def switch_eco(folder: str, *, on: bool) -> None:
    """Switch it on or off; the switch of older memctl gives way to today's. Raises OSError."""
    path, old = os.path.join(folder, OFF), os.path.join(folder, OLD_OFF)
    if not on:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab"):
            pass
    for one in (old, *([path] if on else [])):
        if os.path.lexists(one):
            os.unlink(one)


def note_tokenizer(folder: str, tokenizer: str) -> str:
    """Write the tokenizer into the project's eco configuration; its path, "" when there is none that can be read."""
    path = os.path.join(folder, CONFIG)
    if os.path.realpath(path) != os.path.join(os.path.realpath(folder), CONFIG):
        return ""  # a link, which may lead out of the project
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        if not isinstance(config, dict):
            return ""
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(config | {"fts_tokenizer": tokenizer}, indent=2) + "\n")
    except (OSError, ValueError):
        return ""
    return path
