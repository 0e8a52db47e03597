"""What is known of each AI client, as data: its files, the shape of an entry, its hooks, limits, and how that was seen.

What each writes to a hook, and the answer that it hands to its model, stand below. Clients change weekly: a row says
which version it was verified on, when, and whether by a run or in the vendor's pages.
"""

import os
import sys

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any, Literal
from memctl.text import jsons

if TYPE_CHECKING:
    from collections.abc import Mapping

Scope = Literal["user", "project", "local"]

#: Folders that paths begin with: the environment variable that moves it, and where it is otherwise. `{apps}` is where
#: the system keeps the settings of applications.
_FOLDERS = {
    "claude": ("CLAUDE_CONFIG_DIR", "~/.claude"),
    "claude_json": ("CLAUDE_CONFIG_DIR", "~"),
    "codex": ("CODEX_HOME", "~/.codex"),
    "config": ("XDG_CONFIG_HOME", "~/.config"),
}
_APPS = {"darwin": ("", "~/Library/Application Support"), "win32": ("APPDATA", "~/AppData/Roaming")}


class Place:
    """A part of a file of settings: where a client looks for servers or for hooks.

    paths  where the file may be; the first that is there is meant, else the first
    shape  json (comments are kept), toml, or own: the whole file is ours
    keys   the way to the part inside the file; `{project}` is the project's folder
    entry  what stands there for a server where it is not what the client has elsewhere
    """

    __slots__ = ("entry", "keys", "paths", "shape")

    def __init__(
        self,
        paths: str,
        keys: str,
        shape: Literal["json", "toml", "own"] = "json",
        entry: dict[str, Any] | None = None,
    ) -> None:
        self.paths, self.keys, self.shape, self.entry = paths.split("|"), keys.split(), shape, entry

    def path(self, project: str, environ: "Mapping[str, str]", platform: str = sys.platform) -> str:
        """The file that is meant."""
        found = [_expanded(one, project, environ, platform) for one in self.paths]
        return next((one for one in found if os.path.lexists(one)), found[0])


class Hooks:
    """How a client runs a command at an event.

    places   the file of each scope
    events   memctl's word for an event -> the client's word and the seconds that the command may take
    element  what stands in the list of an event; $hook is the command line, $timeout the time in units of `unit`
    base     what a new file begins with
    writing  the client's word for the event before one of its tools runs, and those that write files
    """

    __slots__ = ("base", "element", "events", "places", "unit", "writing")

    def __init__(
        self,
        places: dict[Scope, Place],
        events: dict[str, tuple[str, int]],
        element: dict[str, Any],
        *,
        unit: int = 1,
        base: dict[str, Any] | None = None,
        writing: tuple[str, str] | None = None,
    ) -> None:
        self.places, self.events, self.element, self.unit, self.base = places, events, element, unit, base or {}
        self.writing = writing


class Client:
    """One AI client.

    title, aliases  its name for people, and other words for it
    program         the program that shows that it is installed; "" where only its folder does
    servers         by scope, where its servers stand
    entry           what stands there for one: $command, $args, $argv are filled in
    hooks           how it runs commands at events; None: it does not, or only through a plugin
    plugin          by scope, the file of a plugin that stands for hooks
    rules           by scope, the file of instructions that it reads: for clients without hooks
    skills          by scope, the folder of the skills that it reads
    version, seen   what the row was verified on: by a run of it, or in documents
    limit           characters of context that it takes whole from one hook
    package         how npm or PyPI names it
    note            what its user has to do after setup
    """

    def __init__(
        self,
        title: str,
        servers: dict[Scope, Place],
        entry: dict[str, Any],
        *,
        aliases: tuple[str, ...] = (),
        program: str = "",
        hooks: Hooks | None = None,
        plugin: dict[Scope, str] | None = None,
        rules: dict[Scope, str] | None = None,
        skills: dict[Scope, str] | None = None,
        version: str = "",
        seen: str = "documents, 2026-11",
        limit: int = 10_000,
        package: str = "",
        note: str = "",
    ) -> None:
        self.name = ""
        self.title, self.servers, self.entry, self.aliases = title, servers, entry, aliases
        self.program, self.hooks = program, hooks
        self.plugin, self.rules, self.skills = plugin or {}, rules or {}, skills or {}
        self.version, self.seen, self.limit, self.package, self.note = version, seen, limit, package, note

    def path_of(
        self, what: Literal["rules", "plugin", "skills"], scope: Scope, project: str, environ: "Mapping[str, str]"
    ) -> str:
        """The file of instructions or of the plugin, or the folder of skills, of a scope; "" when it has none."""
        places: dict[Scope, str] = getattr(self, what)
        return _expanded(places[scope], project, environ, sys.platform) if scope in places else ""

    def is_installed(self, environ: "Mapping[str, str]") -> bool:
        """Whether its program is on PATH, or the folder of its settings is there."""
        from shutil import which

        if self.program and which(self.program, path=environ.get("PATH")):
            return True
        path = self.servers["user"].path("", environ)
        folder = os.path.dirname(path)
        shared = {os.path.expanduser(one) for one in ("~", "~/.config")}
        return os.path.exists(path) or (folder not in shared and os.path.isdir(folder))


def _expanded(template: str, project: str, environ: "Mapping[str, str]", platform: str) -> str:
    """A path with its folders filled in."""
    name, _, rest = template[1:].partition("}/")
    if name == "project":
        return os.path.join(project, rest)
    if not os.path.isabs(environ.get("HOME", os.path.abspath(os.sep))):  # ~ would be the root of the file system
        raise errors.UsageError("HOME is no folder, so the settings of clients cannot be found", command="setup")
    if template[0] != "{":
        return os.path.expanduser(template)
    variable, default = _APPS.get(platform, _FOLDERS["config"]) if name == "apps" else _FOLDERS[name]
    moved = environ.get(variable, "") if variable else ""
    return os.path.join(moved if os.path.isabs(moved) else os.path.expanduser(default), rest)


_PLAIN = {"command": "$command", "args": "$args"}
_STDIO = {"type": "stdio", **_PLAIN}
_NESTED = {"hooks": [{"type": "command", "command": "$hook", "timeout": "$timeout"}]}
#: The events of Claude Code and of those that took them over.
_EVENTS = {
    "session-start": ("SessionStart", 10), "prompt": ("UserPromptSubmit", 5), "pre-compact": ("PreCompact", 10),
    "stop": ("Stop", 10), "session-end": ("SessionEnd", 3),
}  # fmt: skip
#: memctl's words for the events at which `memctl hook` is called.
EVENTS = ("session-start", "prompt", "pre-compact", "post-compact", "stop", "session-end")

CLIENTS: dict[str, Client] = {
    "claude": Client(
        "Claude Code",
        {
            "user": Place("{claude_json}/.claude.json", "mcpServers"),
            "project": Place("{project}/.mcp.json", "mcpServers"),
            "local": Place("{claude_json}/.claude.json", "projects {project} mcpServers"),
        },
        _STDIO,
        aliases=("claude-code",),
        program="claude",
        hooks=Hooks(
            {
                "user": Place("{claude}/settings.json", "hooks"),
                "project": Place("{project}/.claude/settings.json", "hooks"),
                "local": Place("{project}/.claude/settings.local.json", "hooks"),
            },
            _EVENTS,
            _NESTED,
            writing=("PreToolUse", "Edit|MultiEdit|Write"),
        ),
        rules={"user": "{claude}/CLAUDE.md", "project": "{project}/CLAUDE.md"},
        skills={"user": "{claude}/skills", "project": "{project}/.claude/skills"},
        version="2.1.329",
        seen="run, 2026-11",
        package="@anthropic-ai/claude-code",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        {"user": Place("{apps}/Claude/claude_desktop_config.json", "mcpServers")},
        _PLAIN,
        aliases=("desktop",),
    ),
    "codex": Client(
        "Codex",
        {
            "user": Place("{codex}/config.toml", "mcp_servers", "toml"),
            "project": Place("{project}/.codex/config.toml", "mcp_servers", "toml"),
        },
        # Without `required` the first turn has no tools when the server takes longer than a second to start.
        {**_PLAIN, "required": True},
        program="codex",
        hooks=Hooks(
            {
                "user": Place("{codex}/hooks.json", "hooks"),
                "project": Place("{project}/.codex/hooks.json", "hooks"),
            },
            {**_EVENTS, "post-compact": ("PostCompact", 10)},
            _NESTED,
        ),
        rules={"user": "{codex}/AGENTS.md", "project": "{project}/AGENTS.md"},
        version="0.169.0",
        seen="run, 2026-11",
        package="@openai/codex",
        note="Codex runs hooks only when you trust them: start it once, and agree when it asks.",
    ),
    "gemini": Client(
        "Gemini CLI",
        {
            "user": Place("~/.gemini/settings.json", "mcpServers"),
            "project": Place("{project}/.gemini/settings.json", "mcpServers"),
        },
        _PLAIN,
        aliases=("gemini-cli",),
        program="gemini",
        hooks=Hooks(
            {
                "user": Place("~/.gemini/settings.json", "hooks"),
                "project": Place("{project}/.gemini/settings.json", "hooks"),
            },
            # PreCompress runs before every call of the model, so nothing is tied to it.
            {
                "session-start": ("SessionStart", 10), "prompt": ("BeforeAgent", 5), "stop": ("AfterAgent", 10),
                "session-end": ("SessionEnd", 3),
            },
            {"matcher": "*", "hooks": [{"name": "memctl", "type": "command", "command": "$hook",
                                        "timeout": "$timeout"}]},
            unit=1000,
        ),
        rules={"user": "~/.gemini/GEMINI.md", "project": "{project}/GEMINI.md"},
        version="0.61.0",
        seen="run, 2026-11",
        limit=60_000,
        package="@google/gemini-cli",
    ),
    "opencode": Client(
        "opencode",
        {
            "user": Place("{config}/opencode/opencode.jsonc|{config}/opencode/opencode.json", "mcp"),
            "project": Place("{project}/opencode.json|{project}/opencode.jsonc", "mcp"),
        },
        {"type": "local", "command": "$argv", "enabled": True},
        program="opencode",
        plugin={
            "user": "{config}/opencode/plugin/memctl.js",
            "project": "{project}/.opencode/plugin/memctl.js",
        },
        rules={"user": "{config}/opencode/AGENTS.md", "project": "{project}/AGENTS.md"},
        version="1.18.33",
        seen="run, 2026-11",
        package="opencode-ai",
    ),
    "copilot": Client(
        "Copilot CLI",
        {
            "user": Place("~/.copilot/mcp-config.json", "mcpServers"),
            "project": Place("{project}/.mcp.json", "mcpServers", entry=_STDIO),  # Claude Code's, which it reads, too
        },
        {"type": "local", **_PLAIN, "tools": ["*"]},
        aliases=("copilot-cli",),
        program="copilot",
        hooks=Hooks(
            {
                "user": Place("~/.copilot/hooks/memctl.json", "hooks", "own"),
                "project": Place("{project}/.github/hooks/memctl.json", "hooks", "own"),
            },
            {
                "session-start": ("sessionStart", 10), "prompt": ("userPromptSubmitted", 5),
                "stop": ("agentStop", 10), "session-end": ("sessionEnd", 3),
            },
            {"type": "command", "bash": "$hook", "timeoutSec": "$timeout"},
            base={"version": 1},
        ),
        rules={"project": "{project}/AGENTS.md"},
        version="1.0.102",
        seen="run, 2026-11",
        limit=60_000,
        package="@github/copilot",
    ),
    "qwen": Client(
        "Qwen Code",
        {
            "user": Place("~/.qwen/settings.json", "mcpServers"),
            "project": Place("{project}/.qwen/settings.json", "mcpServers"),
        },
        _PLAIN,
        aliases=("qwen-code",),
        program="qwen",
        hooks=Hooks(
            {
                "user": Place("~/.qwen/settings.json", "hooks"),
                "project": Place("{project}/.qwen/settings.json", "hooks"),
            },
            _EVENTS,
            _NESTED,
            unit=1000,
        ),
        rules={"user": "~/.qwen/QWEN.md", "project": "{project}/QWEN.md"},
        version="0.24.4",
        seen="run, 2026-11",
        package="@qwen-code/qwen-code",
    ),
    "cline": Client(
        "Cline",
        {"user": Place("~/.cline/data/settings/cline_mcp_settings.json", "mcpServers")},
        {"transport": _STDIO},
        program="cline",
        rules={"project": "{project}/AGENTS.md"},
        version="3.0",
        seen="run, 2026-11",
        package="cline",
    ),
    "cursor": Client(
        "Cursor",
        {
            "user": Place("~/.cursor/mcp.json", "mcpServers"),
            "project": Place("{project}/.cursor/mcp.json", "mcpServers"),
        },
        _PLAIN,
        program="cursor",
        hooks=Hooks(
            {
                "user": Place("~/.cursor/hooks.json", "hooks"),
                "project": Place("{project}/.cursor/hooks.json", "hooks"),
            },
            {
                "session-start": ("sessionStart", 10), "prompt": ("beforeSubmitPrompt", 5),
                "pre-compact": ("preCompact", 10), "stop": ("stop", 10), "session-end": ("sessionEnd", 3),
            },
            {"command": "$hook", "timeout": "$timeout"},
            base={"version": 1},
        ),
        rules={"project": "{project}/.cursor/rules/memctl.mdc"},
        version="3.20",
    ),
    "vscode": Client(
        "VS Code",
        {
            "user": Place("{apps}/Code/User/mcp.json", "servers"),
            "project": Place("{project}/.vscode/mcp.json", "servers"),
        },
        _STDIO,
        aliases=("vs-code", "code"),
        program="code",
        rules={"project": "{project}/AGENTS.md"},
    ),
    "windsurf": Client(
        "Windsurf",
        {"user": Place("~/.codeium/windsurf/mcp_config.json", "mcpServers")},
        _PLAIN,
        program="windsurf",
        rules={
            "user": "~/.codeium/windsurf/memories/global_rules.md",
            "project": "{project}/.windsurf/rules/memctl.md",
        },
        limit=6_000,
    ),
    "zed": Client(
        "Zed",
        {"user": Place("{config}/zed/settings.json", "context_servers")},
        _PLAIN,
        program="zed",
        rules={"project": "{project}/AGENTS.md"},
    ),
    "llm": Client(
        "llm",
        {"user": Place("~/.llm-tools-mcp/mcp.json", "mcpServers")},
        _PLAIN,
        program="llm",
        version="0.36, llm-tools-mcp 0.4",
        seen="run, 2026-11",
        package="llm",
        note="llm needs its plugin (llm install llm-tools-mcp), and is told with each call: llm -T MCP 'question'.",
    ),
}  # fmt: skip
for _name, _client in CLIENTS.items():
    _client.name = _name


def client(name: str) -> Client:
    """The client of a name or of another word for it. Raises UsageError for one that is not known."""
    found = CLIENTS.get(name) or next((one for one in CLIENTS.values() if name in one.aliases), None)
    if found is None:
        raise errors.UsageError(f"'{name}' is no client that memctl knows; {', '.join(CLIENTS)}", command="setup")
    return found


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
