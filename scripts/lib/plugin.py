"""The plugin for Claude Code, extras/claude-code, from what memctl's own commands write: `scripts/docs` keeps it fresh.

The server and the hooks are what `memctl setup claude` enters, but for the command: a plugin is installed on machines
that its maker does not know, so it runs the memctl on PATH. The slash commands are those of `memctl setup eco`.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from scripts.lib.bundle import DESCRIPTION

from memctl import __version__
from memctl.clients import eco_entries
from memctl.clients.entries import Wiring, put_block, skills
from memctl.clients.known import client

NAME = "memctl"
AUTHOR = {"name": "The memctl authors"}
SKILL = """\
---
name: memory
description: Recall what was decided, learnt and agreed on in earlier conversations, and keep what should last. Use it \
before answering questions about earlier work, decisions or the user's wishes, and when something is decided.
---

"""


def files() -> dict[str, str]:
    """The files of the plugin, by their path in it."""
    found = {
        ".claude-plugin/plugin.json": _json(
            {"name": NAME, "version": __version__, "description": DESCRIPTION, "author": AUTHOR, "license": "MIT"}
        ),
        ".claude-plugin/marketplace.json": _json(
            {
                "name": NAME,
                "owner": AUTHOR,
                "metadata": {"description": "memctl for Claude Code"},
                "plugins": [{"name": NAME, "source": "./", "description": DESCRIPTION}],
            }
        ),
        "skills/memory/SKILL.md": SKILL + _instructions(),
        **{f"skills/{name}/SKILL.md": text for name, text in skills()},
    }
    with tempfile.TemporaryDirectory() as project:
        wiring = Wiring(client("claude"), "project", project, {})
        wiring.put_server([NAME, "serve"])
        wiring.put_hooks([NAME, "hook", "--client", "claude"])
        for path, edit in wiring.edits.items():
            found[".mcp.json" if path.endswith(".mcp.json") else "hooks/hooks.json"] = _json(json.loads(edit.text()))
    commands = {Path(place).stem: text for place, text in eco_entries.texts() if Path(place).parent.name == "commands"}
    calls = re.compile(rf"`/({'|'.join(commands)})\b")  # the commands of a plugin go by its name
    for name, text in commands.items():
        found[f"commands/{name}.md"] = calls.sub(rf"`/{NAME}:\1", text)
    return found


def folder(root: Path) -> Path:
    """Where the plugin stands in the repository."""
    return root / "extras" / "claude-code"


def _instructions() -> str:
    """What `setup` tells a model in its file of rules, without the fences."""
    lines = put_block("", "SKILL.md").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("<!--"))


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
