"""The proof that memory reaches the model of a client: the client is run once, against an endpoint of ours.

It runs in a home that is thrown away, with the entry and the hooks that its user has, a store that holds one statement,
and no network. The statement has a word that nothing else could know: if a request of the client holds it, it came from
memory. What is known of how each client is pointed to an endpoint is data below.
"""

import json
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from memctl import ids
from memctl.annotations import Any, NamedTuple
from memctl.clients.endpoint import ModelEndpoint
from memctl.clients.known import Client
from memctl.process import running

#: Seconds that one run may take on a busy machine, and that memctl may take to prepare it.
PATIENCE, PREPARING = 300, 120
_LIMIT = 4 << 20
#: What a client gets of the environment: enough to be found and to run, and nothing that leads out or names an account.
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE")
_NOWHERE = "http://127.0.0.1:9"
_QUIET = {
    "HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE, "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
    "DO_NOT_TRACK": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "TERM": "dumb",
}  # fmt: skip


class Recipe(NamedTuple):
    """How a client is run once against an endpoint: $url is its address, $prompt the question, $home the home.

    argv      its words after the program
    env       variables
    settings  files in the home: objects are merged into what setup wrote there
    before    words of commands that are run first
    toml      a file, what stands before its text, and what stands after it
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    settings: Mapping[str, Any] = {}
    before: tuple[tuple[str, ...], ...] = ()
    toml: tuple[str, str, str] = ("", "", "")


_GOOGLE = {
    "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
}  # fmt: skip
#: opencode asks npm for its plugin package in each folder of settings, a minute long, unless it is noted as installed.
_DEPENDS = {"@opencode-ai/plugin": "$version"}

RECIPES: dict[str, Recipe] = {
    "claude": Recipe(
        ("-p", "$prompt", "--allowedTools", "mcp__memctl"),
        {"ANTHROPIC_BASE_URL": "$url", "ANTHROPIC_API_KEY": "none", "ENABLE_TOOL_SEARCH": "false"},
    ),
    "codex": Recipe(
        ("exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-hook-trust", "$prompt"),
        {"STUB_KEY": "none", "RUST_LOG": "error"},
        toml=(
            ".codex/config.toml",
            'model = "stub-model"\nmodel_provider = "stub"\n',
            (
                '\n[model_providers.stub]\nname = "stub"\nbase_url = "$url/v1"\nenv_key = "STUB_KEY"\n'
                'wire_api = "responses"\n[analytics]\nenabled = false\n'
            ),
        ),
    ),
    "gemini": Recipe(
        ("-p", "$prompt", "--yolo", "--skip-trust", "-m", "gemini-2.5-flash"),
        {
            "GOOGLE_GEMINI_BASE_URL": "$url", "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
        },
        {
            ".gemini/settings.json": _GOOGLE
            | {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}
        },
    ),
    "copilot": Recipe(
        ("-p", "$prompt", "--allow-all-tools", "--no-auto-update"),
        {
            "COPILOT_PROVIDER_BASE_URL": "$url/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "stub-model",
            "COPILOT_OFFLINE": "true", "COPILOT_ALLOW_ALL": "true", "COPILOT_AUTO_UPDATE": "false",
        },
    ),
    "opencode": Recipe(
        ("run", "--format", "json", "$prompt"),
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_SHARE": "1",
        },
        {
            ".config/opencode/opencode.jsonc": {
                "autoupdate": False, "share": "disabled", "model": "stub/stub-model", "small_model": "stub/stub-model",
                "provider": {"stub": {
                    "npm": "@ai-sdk/openai-compatible", "name": "stub",
                    "options": {"baseURL": "$url/v1", "apiKey": "none"},
                    "models": {"stub-model": {
                        "name": "stub", "tool_call": True, "limit": {"context": 100_000, "output": 4_000},
                    }},
                }},
            },
            ".config/opencode/package.json": {"dependencies": _DEPENDS},
            ".config/opencode/package-lock.json": {"lockfileVersion": 3, "packages": {"": {"dependencies": _DEPENDS}}},
            ".config/opencode/node_modules/.package-lock.json": {"lockfileVersion": 3, "packages": {}},
        },
    ),
    "qwen": Recipe(
        ("-p", "$prompt", "--yolo", "--auth-type", "openai"),
        {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "$url/v1", "OPENAI_MODEL": "stub-model"},
        {".qwen/settings.json": _GOOGLE | {"security": {"auth": {"selectedType": "openai"}}}},
    ),
    "cline": Recipe(
        ("--json", "$prompt"),
        {},
        before=(("auth", "-p", "openai", "-k", "none", "-m", "stub-model", "-b", "$url/v1"),),
    ),
    "llm": Recipe(
        ("-m", "stub", "--key", "none", "--no-stream", "--no-log", "-T", "MCP", "$prompt"),
        {},
        {
            ".config/io.datasette.llm/extra-openai-models.yaml": [  # JSON is YAML
                {"model_id": "stub", "model_name": "stub-model", "api_base": "$url/v1", "supports_tools": True},
            ]
        },
    ),
}  # fmt: skip


#: What Claude Code is also told to run with a plugin: to allow its tools, and where it is.
_PLUGGED = ("--allowedTools", "mcp__plugin_memctl_memctl", "--plugin-dir")


class Proof(NamedTuple):
    """What a run has shown.

    version   the client's own
    unasked   the statement was in a request though no tool had been called: the hook brought it
    recalled  it was in the answer of memory's recall
    offered   the names of memory's tools that the model was offered
    requests  how many the client sent
    problem   what kept the client from running; its last words where it sent nothing
    """

    version: str
    unasked: bool = False
    recalled: bool = False
    offered: tuple[str, ...] = ()
    requests: int = 0
    problem: str = ""


class _Enough(Exception):
    """All that can be shown has been seen."""


def prove(
    client: Client,
    program: str,
    memctl: Sequence[str],
    *,
    hooks: bool,
    plugin: str = "",
    environ: Mapping[str, str],
    patience: float,
) -> Proof:
    """Run a client once. Raises OSError when it or memctl cannot be started.

    program  the client
    memctl   the command line that its user's entry runs memctl with
    hooks    whether its user has the hooks
    plugin   the folder of the plugin of Claude Code that stands for entry and hooks; "" for none
    """
    recipe, mark = RECIPES[client.name], os.urandom(4).hex()
    nonce, thing = f"PROOF-{mark}", f"quokka{os.urandom(2).hex()}"
    question = f"What is the release code of the {thing} relay?"
    with tempfile.TemporaryDirectory(prefix="memctl-prove-", ignore_cleanup_errors=True) as folder:
        home, project = os.path.join(folder, "home"), os.path.join(folder, "project")
        os.makedirs(home)
        os.makedirs(project)
        env = {name: environ[name] for name in _KEPT if name in environ} | _QUIET | {"HOME": home, "USERPROFILE": home}
        store = os.path.join(folder, "memory.db")
        here = _Runner(project, env)
        steps = [["--db", store, "remember", f"The release code of the {thing} relay is {nonce}.", "--type", "fact"]]
        if plugin:
            recipe = recipe._replace(argv=(*recipe.argv, *_PLUGGED, plugin), env={**recipe.env, "MEMCTL_DB": store})
        else:
            steps += [["--db", store, "setup", client.name, "--yes", *([] if hooks else ["--no-hooks"])]]
        for words in steps:
            problem = here.run([*memctl, *words], PREPARING)
            if problem:
                return Proof("", problem=f"memctl {words[2]}: {problem}")
        version = here.output([program, "--version"])
        with ModelEndpoint(nonce, question) as endpoint:
            threading.Thread(target=endpoint.serve_forever, daemon=True).start()
            said = {"$url": endpoint.address, "$prompt": question, "$home": home, "$version": version}
            _write_settings(home, recipe, said)
            here.env |= {name: _filled(value, said) for name, value in recipe.env.items()}
            try:
                problem = here.run_client(program, recipe, said, endpoint, patience, hooks=hooks)
            finally:
                endpoint.shutdown()
                _end_left(home)
        return Proof(
            version, endpoint.unasked, endpoint.recalled, tuple(sorted(endpoint.offered)), endpoint.requests,
            "" if endpoint.requests else problem or "it sent no request",
        )  # fmt: skip


class _Runner:
    """Programs in one folder and one environment."""

    def __init__(self, folder: str, env: dict[str, str]) -> None:
        self.folder, self.env = folder, env

    def run(self, argv: Sequence[str], patience: float, watch: Callable[[int], None] | None = None) -> str:
        """Run a program to its end; its last words when that is no good one."""
        with running(_LIMIT, on_wait=watch) as program:
            program.start(argv, None, cwd=self.folder, env=self.env)
            if not program.exchange(ids.monotonic() + patience):
                from signal import SIGTERM

                program.end(SIGTERM)
                return f"it did not end within {patience:g} s"
        return "" if program.status == 0 else f"it ended with {program.status}{program.stderr_tail()}"

    def output(self, argv: Sequence[str]) -> str:
        """The version in what a program prints."""
        import re

        with running(_LIMIT) as program:
            program.start(argv, None, cwd=self.folder, env=self.env)
            program.exchange(ids.monotonic() + PREPARING)
        found = re.search(r"\d+\.\d+(\.\d+)?\S*", "".join(program.pieces))
        return found[0].rstrip(".,") if found else ""

    def run_client(
        self,
        program: str,
        recipe: Recipe,
        said: Mapping[str, str],
        endpoint: ModelEndpoint,
        patience: float,
        *,
        hooks: bool,
    ) -> str:
        """Run the client until all is seen, or it ends; its last words when that is no good end."""

        def watch(_seconds: int) -> None:
            if endpoint.recalled and (endpoint.unasked or not hooks):
                raise _Enough

        for words in recipe.before:
            if problem := self.run([program, *_filled(words, said)], patience):
                return problem
        with suppress(_Enough):
            return self.run([program, *_filled(recipe.argv, said)], patience, watch)
        return ""


def _write_settings(home: str, recipe: Recipe, said: Mapping[str, str]) -> None:
    """Point the client to the endpoint, in the files that setup has written."""
    for name, settings in recipe.settings.items():
        path, held = os.path.join(home, name), _filled(settings, said)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                held = json.load(file) | held
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(held, file)
    name, first, last = recipe.toml
    if name:
        path = os.path.join(home, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(first + text + _filled(last, said))


def _filled(value: Any, said: Mapping[str, str]) -> Any:
    """A value with its words filled in."""
    if isinstance(value, Mapping):
        return {key: _filled(inner, said) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_filled(inner, said) for inner in value]
    if isinstance(value, str):
        for word, text in said.items():
            value = value.replace(word, text)
    return value


def _end_left(home: str) -> None:
    """End what the client has left running in its thrown-away home, as Cline does."""
    from signal import SIGTERM

    with suppress(OSError):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if f"HOME={home}".encode() in file.read().split(b"\0"):
                    os.kill(int(name), SIGTERM)
