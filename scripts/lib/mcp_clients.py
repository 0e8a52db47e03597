"""Drive `memctl serve` with the inspector's command line over stdio, and with the conformance suite over HTTP.

Run by scripts/test-mcp-clients with an interpreter that has memctl[http]. Prints a line for each thing that was tried;
ends with 1 when one of them failed.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
CONFORMANCE = "@modelcontextprotocol/conformance@0.1.16"
#: Seconds for one command; the first one downloads.
PATIENCE = 120
SERVE = [sys.executable, "-m", "memctl", "serve"]

#: What the inspector is asked, and what must stand in its answer.
ASKED = (
    (["tools/list"], '"memory_recall"'),
    (
        [
            "tools/call",
            "--tool-name",
            "memory_write",
            "--tool-arg",
            "title=Deploys",
            "--tool-arg",
            "content=We deploy on Tuesdays.",
        ],
        '"action": "accept"',
    ),
    (["tools/call", "--tool-name", "memory_status"], '"db_exists": true'),
    (
        ["tools/call", "--tool-name", "memory_recall", "--tool-arg", "query=when do we deploy?"],
        "We deploy on Tuesdays.",
    ),
    (["resources/list"], '"memory://scope/project/digest"'),
    (["resources/templates/list"], '"memory://item/{id}"'),
    (["resources/read", "--uri", "memory://scope/project/digest"], "Deploys"),
    (["prompts/list"], '"handoff"'),
    (
        ["prompts/get", "--prompt-name", "recall", "--prompt-args", "question=when do we deploy?"],
        "We deploy on Tuesdays.",
    ),
)

#: The scenarios that any server can pass. The others of the suite call tools, resources and prompts of its own example
#: server, or ask for what this one does not offer (log levels, subscriptions, sampling).
PASSED = (
    "server-initialize", "ping", "completion-complete", "tools-list", "resources-list", "prompts-list",
    "server-sse-multiple-streams", "dns-rebinding-protection",
)  # fmt: skip


def said(command: list[str]) -> str:
    """What a command prints; its errors too when it fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"no answer after {PATIENCE} seconds"
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


def npx(package: str) -> list[str]:
    """The start of a command line that runs a program of a package, with a Node that is new enough for both."""
    major = re.match(r"v(\d+)", said(["node", "--version"]))
    newer = [] if major is not None and int(major[1]) > 22 else ["-p", "node@22"]
    return ["npx", "-y", *newer, "-p", package]


def inspected() -> Iterator[tuple[str, bool, str]]:
    """What the inspector was asked, whether it was answered, and how."""
    for (method, *rest), wanted in ASKED:
        answer = said([*npx(INSPECTOR), "mcp-inspector", "--cli", *SERVE, "--method", method, *rest])
        yield f"inspector: {' '.join([method, *rest[:2]])}", wanted in answer, answer


@contextmanager
def listening() -> Iterator[str]:
    """The URL of a server on a free port."""
    command = [*SERVE, "--transport", "streamable-http", "--port", "0", "--no-token", "--audit-log", os.devnull]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = None
        while found is None:
            line = server.stderr.readline()
            if not line:
                raise SystemExit("the server did not start")
            found = re.search(r" on (127\.0\.0\.1:\d+)", line)
        try:
            yield f"http://{found[1]}/mcp"
        finally:
            server.terminate()


def conforming() -> Iterator[tuple[str, bool, str]]:
    """Each scenario that must pass, whether it did, and what was said."""
    for name in PASSED:
        with listening() as url:
            command = [*npx(CONFORMANCE), "conformance", "server", "--url", url, "--scenario", name]
            answer = said(command)
        found = re.search(r"Passed: (\d+)/(\d+), 0 failed", answer)
        yield f"conformance: {name}", found is not None and found[1] != "0", answer


def main() -> int:
    """Try all; 1 when something failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for of in (inspected(), conforming()):
            for what, passed, answer in of:
                print("ok    " if passed else "FAILED", what, flush=True)
                if not passed:
                    failed += 1
                    print(answer[-2000:], file=sys.stderr)
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
