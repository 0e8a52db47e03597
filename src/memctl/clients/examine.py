"""Whether memory would work in a client: its entry and its hooks, and what they run; and the proof that it does."""

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from shutil import which

from memctl import __version__, errors, ids
from memctl.annotations import Any, NamedTuple
from memctl.clients import known
from memctl.clients.entries import SERVER, Wiring, commands_of
from memctl.clients.known import TELLING, Client, Scope
from memctl.process import own_command, running
from memctl.store.check import Check

#: Seconds that the server may take on a busy machine, and bytes that it may answer.
PATIENCE, _LIMIT = 60.0, 4 << 20

#: Said of Claude Code when it has both.
TWICE = "Its plugin {plugin} is enabled, too, so its model is told twice: memctl teardown claude, or disable the plugin"


class Entry(NamedTuple):
    """What a client has of memctl, in the scope that it was found in: the server's command line, and the hooks'.

    plugin  the folder of the plugin that brings both; "" where they stand in files of settings
    """

    wiring: Wiring
    argv: tuple[str, ...]
    db: str
    hooks: dict[str, list[str]]
    plugin: str = ""

    def is_runnable(self) -> bool:
        """Whether its command may be started: a project's file may be a stranger's, so only what setup writes there."""
        own = own_command()
        program = which(self.argv[0]) if self.argv else None
        words = [*map(os.path.realpath, filter(None, [program])), *self.argv[1:]]
        return self.wiring.scope != "project" or words in (
            [os.path.realpath(own[0]), *own[1:], "serve"],
            [os.path.realpath(own[0]), *own[1:], "serve", "--db", self.db],
        )


def examine(client: Client, project: str, environ: Mapping[str, str], *, prove: bool) -> Iterator[Check]:
    """What was looked at, one after the other; with `prove` the client is run at the end."""
    name = client.name
    program = which(client.program, path=environ.get("PATH")) if client.program else None
    if program:
        yield Check("client_program", "pass", program, f"{client.title} is there: {program}")
    elif client.program:
        yield Check("client_program", "warn", "", f"{client.title} is not on PATH (the program {client.program})")
    entry = None
    for scope in client.servers:
        try:
            entry = entry or _entry(client, scope, project, environ)
        except errors.MemctlError as exc:
            yield Check("client_config", "fail", scope, exc.message)
    plugin = plugin_name(project, environ) if name == "claude" else ""
    if entry is not None:
        path = entry.wiring.place(client.servers[entry.wiring.scope])[0].path
        yield Check("client_entry", "pass", entry.wiring.scope, f"The entry stands in {path} ({entry.wiring.scope})")
        if plugin:
            yield Check("client_plugin", "warn", plugin, TWICE.format(plugin=plugin))
    elif plugin:
        lines = {event: [f"{SERVER} hook --client {name} {event}"] for event in TELLING}
        entry = Entry(
            Wiring(client, "user", project, environ), (SERVER, "serve"), "", lines, _plugin_folder(plugin, environ)
        )
        yield Check("client_entry", "pass", plugin, f"The plugin {plugin} brings the server and the hooks")
    else:
        message = f"{client.title} has no entry of memctl: memctl setup {name} makes it"
        yield Check("client_entry", "fail", "", message)
    if entry is not None:
        yield from _server(entry)
        yield from _hooks(entry)
    if prove:
        yield from _proof(client, program, entry, environ)


def plugin_name(project: str, environ: Mapping[str, str]) -> str:
    """The plugin of memctl's that Claude Code has installed and enabled here, as `memctl@memctl`; "" for none."""
    claude = known.client("claude")
    said: dict[str, Any] = {}
    for scope, place in (claude.hooks.places if claude.hooks else {}).items():  # from the widest to the narrowest
        with suppress(errors.ClientFileRefused, ValueError):  # said where the entry is looked for, or no file of ours
            held = Wiring(claude, scope, project, environ).held(place).value(("enabledPlugins",))
            said |= held if isinstance(held, dict) else {}
    enabled = (name for name, on in said.items() if on is True and name.partition("@")[0] == SERVER)
    return next((name for name in enabled if _plugin_folder(name, environ)), "")  # a project's file may name any


def _plugin_folder(name: str, environ: Mapping[str, str]) -> str:
    """Where Claude Code keeps a plugin that its user installed; "" when it does not say."""
    place = known.Place("{claude}/plugins/installed_plugins.json", "plugins")
    with suppress(OSError, ValueError, LookupError, TypeError):
        with open(place.path("", environ), encoding="utf-8") as file:
            folder = json.load(file)["plugins"][name][-1]["installPath"]
        return folder if os.path.isdir(folder) else ""
    return ""


def _entry(client: Client, scope: Scope, project: str, environ: Mapping[str, str]) -> Entry | None:
    """What a scope has; None without an entry. Raises ClientFileRefused for a file that cannot be read."""
    wiring = Wiring(client, scope, project, environ)
    try:
        found = wiring.server()
    except ValueError as exc:
        path = wiring.place(client.servers[scope])[0].path
        raise errors.ClientFileRefused(path=path, reason=str(exc)) from exc
    if not isinstance(found, dict):
        return None
    inner = transport if isinstance(transport := found.get("transport"), dict) else found
    words = [inner.get("command"), inner.get("args")]
    argv = [word for part in words for word in (part if isinstance(part, list) else [part]) if isinstance(word, str)]
    variables = inner.get("env") or inner.get("environment")
    db = variables.get("MEMCTL_DB", "") if isinstance(variables, dict) else ""
    if "--db" in argv[:-1]:
        db = argv[argv.index("--db") + 1]
    return Entry(wiring, tuple(argv), str(db), _hooked(wiring))


def _hooked(wiring: Wiring) -> dict[str, list[str]]:
    """The command lines of our hooks, by event; those of a plugin stand for all."""
    client = wiring.client
    plugin = client.path_of("plugin", wiring.scope, wiring.project, wiring.environ)
    if plugin and os.path.isfile(plugin):
        with open(plugin, encoding="utf-8", errors="replace") as file:
            said = next((line for line in file if line.startswith("const ARGV = ")), "")
        try:
            argv = json.loads(said.partition("= ")[2] or "[]")
        except ValueError:
            argv = []
        return {event: [shlex.join(map(str, argv))] for event in TELLING if argv}
    out: dict[str, list[str]] = {}
    if client.hooks is None or wiring.scope not in client.hooks.places:
        return out
    held = wiring.hooks()
    for event in TELLING:
        theirs = client.hooks.events.get(event, ("", 0))[0]
        of_event = held.get(theirs) if isinstance(held, dict) else None
        lines = [line for one in (of_event if isinstance(of_event, list) else ()) for line in commands_of(one)]
        if ours := [line for line in lines if wiring.is_ours(line)]:
            out[event] = ours
    return out


# --- what the entry runs ----------------------------------------------------------------------------------------------


def _server(entry: Entry) -> Iterator[Check]:
    """Whether the command of the entry runs, answers, and uses a store that is there."""
    name, argv = entry.wiring.client.name, entry.argv
    program = which(argv[0]) if argv else None
    if program is None:
        said = argv[0] if argv else "nothing"
        yield Check("client_command", "fail", said, f"The entry runs {said}, which is not there: memctl setup {name}")
        return
    ours = os.path.realpath(own_command()[0]) == os.path.realpath(program)
    yield (
        Check("client_command", "pass", program, f"It runs this memctl: {program}")
        if ours
        else Check("client_command", "warn", program, f"It runs another memctl than this: {program}")
    )
    if not entry.is_runnable():
        message = (
            f"It is not run: it stands in the project's file, and memctl setup {name} writes another command there"
        )
        yield Check("client_handshake", "fail", " ".join(argv), message)
        return
    # Without its store: one that a stranger names is not to be opened.
    answer = shake_hands([*own_command(), "serve"] if entry.wiring.scope == "project" else argv)
    if answer["ok"]:
        tools = len(answer["tools"])
        yield Check("client_handshake", "pass", str(tools), f"memctl {answer['version']} answers with {tools} tools")
    else:
        yield Check("client_handshake", "fail", "", f"The server does not answer: {answer['problem']}")
    if not entry.db:
        yield Check("client_store", "pass", "", "It uses the store of the folder that the client works in")
    elif os.path.exists(entry.db):
        yield Check("client_store", "pass", entry.db, f"It uses {entry.db}")
    else:
        message = f"It uses {entry.db}, which is not there yet: the first tool that stores something makes it"
        yield Check("client_store", "warn", entry.db, message)


def _hooks(entry: Entry) -> Iterator[Check]:
    """Whether the hooks are there, run, and are trusted where a client asks for that."""
    client = entry.wiring.client
    if client.hooks is None and not client.plugin:
        message = f"{client.title} has no hooks: its model knows memory by its tools alone"
        yield Check("client_hooks", "pass", "none", message)
        return
    missing = [event for event in TELLING if event not in entry.hooks]
    if missing:
        message = f"No hook tells the model what memory knows ({', '.join(missing)}): memctl setup {client.name}"
        yield Check("client_hooks", "warn", ",".join(missing), message)
        if len(missing) == len(TELLING):
            return
    lines = [line for of_event in entry.hooks.values() for line in of_event]
    broken = [line for line in lines if not _is_runnable(line)]
    if broken:
        yield Check("client_hooks", "fail", broken[0], f"A hook runs what is not there: {broken[0]}")
    elif not missing:
        yield Check("client_hooks", "pass", ",".join(entry.hooks), f"Hooks are there: {', '.join(entry.hooks)}")
    if client.name == "codex":
        yield _codex_trust(entry)


def _is_runnable(line: str) -> bool:
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return bool(words) and which(words[0]) is not None


#: How Codex calls our events where it notes what its user trusts.
_CODEX_EVENTS = {"session-start": "session_start", "prompt": "user_prompt_submit"}


def _codex_trust(entry: Entry) -> Check:
    """Whether Codex has noted that its user trusts our hooks as they are; it leaves others out without a word."""
    try:
        noted = entry.wiring.held(entry.wiring.client.servers["user"])
        states = {
            event: {noted.value(("hooks", "state", key, "trusted_hash")) == own
                    for key, own in _codex_keys(entry.wiring, event)}
            for event in entry.hooks
        }  # fmt: skip
    except (errors.ClientFileRefused, ValueError):
        states = {event: {False} for event in entry.hooks}
    silent = [event for event, trusted in states.items() if trusted != {True}]
    if silent:
        message = "Codex runs hooks only as you have trusted them, and leaves these out: start codex once, and agree"
        return Check("client_trust", "warn", ",".join(silent), message)
    return Check("client_trust", "pass", "", "Codex has noted that you trust the hooks")


def _codex_keys(wiring: Wiring, event: str) -> Iterator[tuple[str, str]]:
    """Under which key Codex notes the trust in each of our hooks of an event, and the hash that it notes (0.169)."""
    from hashlib import sha256

    hooks, said = wiring.client.hooks, _CODEX_EVENTS[event]
    assert hooks is not None  # noqa: S101 - Codex has hooks
    path = wiring.place(hooks.places[wiring.scope])[0].path
    for number, group in enumerate(wiring.hooks()[hooks.events[event][0]]):
        inner = group.get("hooks") if isinstance(group, dict) else None
        for at, one in enumerate(inner if isinstance(inner, list) else ()):
            if any(map(wiring.is_ours, commands_of(one))):
                kept = {key: one[key] for key in ("command", "timeout", "type") if key in one}
                identity = {"event_name": said, "hooks": [{"async": False, **kept}]}
                if isinstance(group.get("matcher"), str):
                    identity["matcher"] = group["matcher"]
                text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
                yield f"{path}:{said}:{number}:{at}", f"sha256:{sha256(text.encode()).hexdigest()}"


# --- the proof --------------------------------------------------------------------------------------------------------


def _proof(client: Client, program: str | None, entry: Entry | None, environ: Mapping[str, str]) -> Iterator[Check]:
    """What one run of the client shows."""
    from memctl.clients import prove

    if client.name not in prove.RECIPES:
        message = f"{client.title} has no command that answers one prompt, so it cannot be proven"
        yield Check("client_proof", "warn", "", message)
        return
    if program is None:
        yield Check("client_proof", "fail", "", f"{client.title} is not installed here, so nothing can be proven")
        return
    if entry and not entry.is_runnable():
        message = "The entry stands in the project's file and is not what memctl setup writes, so it is not run"
        yield Check("client_proof", "fail", "", message)
        return
    argv: Sequence[str] = entry.argv[: entry.argv.index("serve")] if entry and "serve" in entry.argv else own_command()
    hooked = bool(entry.hooks) if entry else client.hooks is not None or bool(client.plugin)
    try:
        proof = prove.prove(
            client, program, argv, hooks=hooked, plugin=entry.plugin if entry else "", environ=environ,
            patience=prove.PATIENCE,
        )  # fmt: skip
    except OSError as exc:
        yield Check("client_proof", "fail", "", f"It cannot be run: {exc.strerror or exc}")
        return
    known = "" if proof.version.startswith(client.version[:3]) else f"; what memctl knows is from {client.version}"
    ran = f"{client.title} {proof.version or 'of a version that it does not say'}{known}"
    if proof.problem:
        yield Check("client_proof", "fail", proof.version, f"{ran} sent no request to a model: {proof.problem}")
        return
    assumed = "" if entry else " (it is not set up: this is what memctl setup would write)"
    if entry and entry.plugin:
        assumed = f" with the plugin in {entry.plugin}"
    yield Check("client_proof", "pass", proof.version, f"{ran} was run, and sent {proof.requests} requests{assumed}")
    if hooked:
        waived = "; Codex was told to trust the hooks for this run" if client.name == "codex" else ""
        yield (
            Check("client_proof_hook", "pass", "", f"Proven: what is remembered was in the request, unasked{waived}")
            if proof.unasked
            else Check(
                "client_proof_hook", "fail", "", "What is remembered was not in the request: the hooks do nothing"
            )
        )
    yield (
        Check("client_proof_tools", "pass", str(len(proof.offered)), "Proven: recall's answer was in the next request")
        if proof.recalled
        else Check("client_proof_tools", "fail", str(len(proof.offered)), "The model got no answer from recall")
    )


def shake_hands(argv: Sequence[str], patience: float = PATIENCE) -> dict[str, Any]:
    """How the server answers: `ok`, its `tools` by name and `version`, or in `problem` what went wrong."""
    from signal import SIGTERM

    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "memctl setup", "version": __version__},
    }
    calls = (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    )
    data = "".join(json.dumps({"jsonrpc": "2.0", **call}) + "\n" for call in calls).encode()
    with running(_LIMIT) as program:
        try:
            program.start(argv, data)
        except OSError as exc:
            return {"ok": False, "problem": f"{argv[0]} cannot be run: {exc.strerror or exc}"}
        finished = program.exchange(ids.monotonic() + patience)
        if not finished:
            program.end(SIGTERM)
    answers: dict[Any, Any] = {}
    for line in "".join(program.pieces).splitlines():
        try:
            answer = json.loads(line)
            answers[answer.get("id")] = answer.get("result") or {}
        except (ValueError, AttributeError):
            return {"ok": False, "problem": "it writes lines that are no answers"}
    tools = [one.get("name", "") for one in answers.get(2, {}).get("tools", [])]
    if not tools:
        why = "it gave no list of tools" if finished else f"it did not answer within {patience:g} s"
        return {"ok": False, "problem": why + program.stderr_tail()}
    return {"ok": True, "version": answers.get(1, {}).get("serverInfo", {}).get("version", ""), "tools": tools}
