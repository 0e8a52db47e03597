"""What `setup eco` and `setup hooks` write for Claude Code."""

import json
import os
import re

from memctl import __version__
from memctl.annotations import TYPE_CHECKING
from memctl.clients.eco import CONFIG
from memctl.clients.entries import TEMPLATES, Wiring, command_line
from memctl.clients.json_text import JsonText
from memctl.clients.known import client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memctl.clients.known import Hooks

#: What runs at which event of Claude Code: for eco mode, and for the guard.
_ECO_HOOKS = {"UserPromptSubmit": "eco-hint", "PreToolUse": "eco-nudge"}
_GUARD_HOOKS = {"PreToolUse": "safety-guard", "PostToolUse": "audit-logger"}
_OURS_ECO = re.compile(r"memctl\b.*\bhooks (eco-hint|eco-nudge)\b|\beco-(hint|nudge)\.(sh|py)\b")
_OURS_GUARD = re.compile(r"memctl\b.*\bhooks (safety-guard|audit-logger)\b|\bmemctl_(safety_guard|audit_logger)\.")
#: Commands that a person is asked about, though memctl may be run: there is no way back, or they run other programs,
#: write where they are told, or change who and what is trusted. Claude Code looks at `ask` before `allow`.
ASKED = (
    "archive-sessions", "ask", "backup", "chat", "config", "export", "init", "loop", "purge", "quarantine", "remote",
    "reset", "salvage", "serve", "session", "setup", "teardown", "trust", "untrust",
)  # fmt: skip
_PERMISSIONS = {
    ("permissions", "allow"): ["Bash(memctl *)"],
    ("permissions", "ask"): [
        "Bash(memctl -*)", "Bash(memctl doctor *--prove*)", "Bash(xargs *memctl*)",
        *(f"Bash(memctl {name}*)" for name in ASKED),
    ],
}  # fmt: skip


class EcoWiring(Wiring):
    """Eco mode in the files of a project, for Claude Code."""

    def __init__(self, project: str, environ: "Mapping[str, str]") -> None:
        super().__init__(client("claude"), "local", project, environ, "eco")

    def store(self, db_root: str) -> str:
        """The store of eco mode that is in this folder."""
        return os.path.join(os.path.normpath(os.path.join(self.project, os.path.expanduser(db_root))), "memory.db")

    def put(self, command: "Sequence[str]", db_root: str, *, force: bool) -> None:
        """Enter the server, the hooks and the permissions; write the configuration, ECO.md and the slash commands."""
        store = self.store(db_root)
        root = os.path.dirname(store)
        self.put_server([*command, "serve", "--db", store], force=force)
        self.put_lines(_hooks(), _lines(command, _ECO_HOOKS), _OURS_ECO)
        with self.changing(_hooks().places["local"]) as held:
            for keys, rules in _PERMISSIONS.items():
                there = held.value(keys)
                for rule in rules:
                    if not isinstance(there, list) or rule not in there:
                        held.append(keys, rule)
        inside = os.path.relpath(root, self.project)
        is_inside = not inside.startswith(os.pardir)
        config = {"db_path": os.path.join(inside if is_inside else root, "memory.db"), "version": __version__}
        self.put_texts(self._texts(), force=force)
        self.put_texts([(os.path.join(self.project, CONFIG), json.dumps(config, indent=2) + "\n")], force=True)
        if is_inside:
            line = inside.replace(os.sep, "/") + "/"
            self.file(os.path.join(self.project, ".gitignore")).change(lambda text: _ignoring(text, line))

    def drop(self) -> None:
        """Take it out again; the store stays, and so does a command that a person changed."""
        self.drop_server()
        self.drop_lines(_hooks(), _OURS_ECO, _disallow)
        self.drop_texts(self._texts())
        config = self.file(os.path.join(self.project, CONFIG))
        self.take_out(config)
        if config.before is not None and not config.changed:
            config.after = None
        self.take_out(self.file(os.path.join(self.project, ".gitignore")))
        for name in ("eco-hint.sh", "eco-nudge.sh"):  # of older memctl
            one = self.file(os.path.join(self.project, ".claude", "hooks", name))
            if b"memctl" in (one.before or b"") or b".memory" in (one.before or b""):
                one.after = None

    def _texts(self) -> list[tuple[str, str]]:
        return [(os.path.join(self.project, name), text) for name, text in texts()]


class GuardWiring(Wiring):
    """The safety guard and the audit logger in the settings of Claude Code."""

    def __init__(self, project: str, environ: "Mapping[str, str]") -> None:
        super().__init__(client("claude"), "user", project, environ, "hooks")

    def put(self, command: "Sequence[str]") -> None:
        """Enter both."""
        self.put_lines(_hooks(), _lines(command, _GUARD_HOOKS), _OURS_GUARD)

    def drop(self) -> None:
        """Take both out."""
        self.drop_lines(_hooks(), _OURS_GUARD)


def _hooks() -> "Hooks":
    hooks = client("claude").hooks
    if hooks is None:
        raise ValueError("Claude Code has hooks")
    return hooks


def _lines(command: "Sequence[str]", names: dict[str, str]) -> dict[str, tuple[str, int]]:
    return {event: (command_line([*command, "hooks", name]), 10) for event, name in names.items()}


def texts() -> list[tuple[str, str]]:
    """The files of eco mode by their place in the project."""
    folder = os.path.join(TEMPLATES, "eco")
    commands = [os.path.join("commands", name) for name in sorted(os.listdir(os.path.join(folder, "commands")))]
    places = {
        "ECO.md": os.path.join(".claude", "eco", "ECO.md"),
        "eco.md": os.path.join(".claude", "commands", "eco.md"),
    }
    found = []
    for name in (*places, *commands):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found.append((places.get(name, os.path.join(".claude", name)), file.read()))
    return found


def _disallow(held: JsonText) -> None:
    for keys, rules in _PERMISSIONS.items():
        for rule in rules:
            there = held.value(keys)
            if isinstance(there, list) and rule in there:
                held.remove(keys, there.index(rule))
        for length in (2, 1):
            if held.value(keys[:length]) in ([], {}):
                held.remove(keys[:length])


def _ignoring(text: str, line: str) -> str:
    """A .gitignore that names the folder of the store."""
    if line in text.split() or f"/{line}" in text.split():
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    return text + ("" if not text or text.endswith("\n") else newline) + line + newline
