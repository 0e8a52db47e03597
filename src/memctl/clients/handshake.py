"""Start a server as a client does, shake hands, and ask for its tools."""

import json
import os

from memctl import __version__, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.process import running

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Seconds that the server may take on a busy machine.
PATIENCE = 60.0
_LIMIT = 4 << 20


def own_command() -> list[str]:
    """The command line that starts this memctl from anywhere: its script, or Python with the module."""
    import sys

    script = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    beside = os.path.join(os.path.dirname(sys.executable), "memctl")
    for path in (script, beside):
        if os.path.basename(path) in {"memctl", "memctl.exe"} and os.path.isfile(path) and os.access(path, os.X_OK):
            return [path]
    # Without these a folder named memctl, where the client stands, would be taken for the module.
    return [sys.executable, "-P" if sys.version_info >= (3, 11) else "-I", "-m", "memctl"]


def shake_hands(argv: "Sequence[str]", patience: float = PATIENCE) -> dict[str, Any]:
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
