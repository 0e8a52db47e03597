"""What the MCP server costs: its start, a recall over a warm connection, many HTTP clients, memory over many calls.

The client here is a few lines of JSON over pipes or HTTP, so that what is measured is the server.
"""

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from benchmarks.cases import WORDS, Row, write_items
from benchmarks.house import ROOT, House
from benchmarks.measure import Skipped

BARE = """
try:
    from mcp.server import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server
server = Server("bare")
@server.tool()
def hello(name: str) -> str:
    "Say hello."
    return name
server.run()
"""
#: Calls of one HTTP client.
CALLS = 40
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}


def measure(house: House, items: int, runs: int, calls: int) -> Iterator[Row]:
    """All of it on one store of `items` items; beside the SDK and over HTTP where this interpreter has the SDK."""
    has_sdk = find_spec("mcp") is not None
    db = house.store("mcp")
    path = house.folder / "mcp.jsonl"
    write_items(path, items)
    subprocess.run(house.command("import", str(path), "--db", db, "-q"), env=house.env, check=True)
    options = ["serve", "--db", db, "--no-rate-limit", "--audit-log", os.devnull]
    serve = house.command(*options)
    bare = [sys.executable, "-c", BARE] if has_sdk else []
    yield from _start(serve, bare, house.env, runs)
    yield from _stdio(serve, bare, house.env, min(2000, 2 * calls))
    yield from _warm(serve, house.env, items, calls)
    yield from _counting(serve, [house.python, "-c", AT_ONCE, *options], house.env, items, min(300, calls))
    if not has_sdk:
        raise Skipped("the MCP SDK is not installed for this interpreter: nothing over HTTP")
    env = os.environ | {"HOME": str(house.folder), "PYTHONPATH": str(ROOT / "src")}
    memctl = [sys.executable, "-m", "memctl"]
    yield from _http([*memctl, *options], env, db, memctl, min(50, calls // 25))


class Pipe:
    """A server on two pipes."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self.popen = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        self.number = 0
        self.ask("initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.popen.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        assert self.popen.stdout is not None
        return json.loads(self.popen.stdout.readline())["result"]

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """The result of a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def memory(self) -> float:
        """Resident megabytes."""
        out = subprocess.run(["ps", "-o", "rss=", "-p", str(self.popen.pid)], capture_output=True, check=True).stdout
        return int(out) / 1000

    def end(self) -> float:
        """End it; the CPU milliseconds it took."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        _, status, usage = os.wait4(self.popen.pid, 0)
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        return (usage.ru_utime + usage.ru_stime) * 1000


def _start(serve: list[str], bare: list[str], env: dict[str, str], runs: int) -> Iterator[Row]:
    """From the start to an answer to tools/list, against a server of the SDK with one small tool if there is one."""
    commands = {"bare": bare, "memctl": serve} if bare else {"memctl": serve}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    wall: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            server = Pipe(command, env)
            server.ask("tools/list", {})
            shown = time.perf_counter() - start
            spent = server.end()
            if turn:
                wall[name].append(shown * 1000)
                cpu[name].append(spent)
    for what, found in (("CPU", cpu), ("wall", wall)):
        ours, compared = statistics.median(found["memctl"]), ""
        if bare:
            other = statistics.median(found["bare"])
            compared = f"bare server {other:.0f} ms, {ours / other:.2f} x"
        yield Row(f"mcp: start to tools/list, {what}", f"{ours:.0f} ms", compared, "50 ms" if what == "CPU" else "")


def _stdio(serve: list[str], bare: list[str], env: dict[str, str], pings: int) -> Iterator[Row]:
    """A request that costs nothing else: what our own transport takes, and the SDK's."""
    medians = []
    for command in filter(None, (serve, bare)):
        server = Pipe(command, env)
        times = []
        for _ in range(pings):
            start = time.perf_counter()
            server.ask("ping", {})
            times.append((time.perf_counter() - start) * 1000)
        medians.append(statistics.median(times[pings // 20 :]))
        server.end()
    compared = f"the SDK's transport {medians[1]:.2f} ms" if bare else ""
    yield Row("mcp: a ping over stdio", f"{medians[0]:.2f} ms", compared)


#: A server that counts the uses of each call when it has been answered, not once a second.
AT_ONCE = """
import sys
from memctl.cli import main
from memctl.mcp import handle_pool
handle_pool.COUNT_SECONDS = handle_pool.LONGEST = 0
sys.exit(main(sys.argv[1:]))
"""


def _counting(serve: list[str], at_once: list[str], env: dict[str, str], items: int, calls: int) -> Iterator[Row]:
    """What it is worth to count uses together."""
    found = []
    for command in (serve, at_once):
        server = Pipe(command, env)
        found.append(statistics.quantiles(_recalls(server, calls), n=20))
        server.end()
    (median, p95), (other_median, other_p95) = [(quantiles[9], quantiles[18]) for quantiles in found]
    yield Row(
        f"mcp: recall, {items} items, median", f"{median:.1f} ms, p95 {p95:.1f} ms",
        f"uses counted after each call {other_median:.1f} ms, p95 {other_p95:.1f} ms",
    )  # fmt: skip


def _recalls(server: Pipe, calls: int) -> list[float]:
    """Milliseconds of recalls over one connection."""
    times = []
    for number in range(calls):
        start = time.perf_counter()
        server.call("memory_recall", query=f"how does the {WORDS[number % len(WORDS)]} {WORDS[-number % 7]} work")
        times.append((time.perf_counter() - start) * 1000)
    return times[20:]


def _warm(serve: list[str], env: dict[str, str], items: int, calls: int) -> Iterator[Row]:
    """Recalls over one connection: how long they take, and what memory is like after many calls."""
    server = Pipe(serve, env)
    quantiles = statistics.quantiles(_recalls(server, min(300, calls)), n=20)
    yield Row(f"mcp: recall, {items} items, p95", f"{quantiles[18]:.1f} ms", f"median {quantiles[9]:.1f} ms", "15 ms")
    before = 0.0
    for number in range(calls):
        if number == calls // 5:  # threads, handles and caches are there by then
            before = server.memory()
        if number % 10 == 9:
            server.call("memory_write", title=f"call {number}", content=f"Call {number} wrote this.")
        else:
            server.call("memory_search", query=WORDS[number % len(WORDS)], k=3)
    after = server.memory()
    server.end()
    yield Row(f"mcp: memory after {calls} calls", f"{after:.0f} MB", f"after {calls // 5}: {before:.0f} MB", "flat")


def _http(serve: list[str], env: dict[str, str], db: str, memctl: list[str], clients: int) -> Iterator[Row]:
    """Many clients at once: errors, lost writes, calls a second."""
    before = _count(memctl, env, db)
    with _listening(serve, env) as port:
        start = time.perf_counter()
        with ThreadPoolExecutor(clients) as pool:
            failed = sum(pool.map(lambda number: _client(port, number), range(clients)))
        rate = clients * CALLS / (time.perf_counter() - start)
    lost = before + clients * CALLS // 2 - _count(memctl, env, db)
    what = f"mcp: {clients} HTTP clients, {CALLS} calls each, half of them writes"
    yield Row(what, f"{failed} errors, {lost} lost", f"{rate:.0f} calls/s", "none")


@contextmanager
def _listening(serve: list[str], env: dict[str, str]) -> Iterator[int]:
    command = [*serve, "--transport", "streamable-http", "--port", "0", "--no-token"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    assert server.stderr is not None
    server.stderr.readline()
    try:
        yield int(server.stderr.readline().split()[3].rstrip(".").rpartition(":")[2])
    finally:
        server.terminate()
        server.wait()


def _client(port: int, number: int) -> int:
    """One client's calls; how many went wrong."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def post(message: dict[str, Any]) -> Any:
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | message), headers)
        response = connection.getresponse()
        headers.update({"Mcp-Session-Id": found} if (found := response.headers.get("mcp-session-id")) else {})
        lines = [
            line[5:] for line in response.read().decode().splitlines() if line.startswith("data:") and line[5:].strip()
        ]
        return json.loads(lines[-1]) if lines else None

    post({"id": 0, "method": "initialize", "params": HELLO})
    post({"method": "notifications/initialized"})
    wrong = 0
    for call in range(CALLS):
        if call % 2:
            asked = {"name": "memory_recall", "arguments": {"query": WORDS[call % len(WORDS)]}}
        else:
            content = f"Client {number} says fact {call}."
            asked = {"name": "memory_write", "arguments": {"title": f"{number} {call}", "content": content}}
        answer = post({"id": call + 1, "method": "tools/call", "params": asked})
        text = answer["result"]["content"][0]["text"] if answer and "result" in answer else '"status":"error"'
        wrong += '"status":"error"' in text
    connection.close()
    return wrong


def _count(memctl: list[str], env: dict[str, str], db: str) -> int:
    out = subprocess.run([*memctl, "stats", "--json", "--db", db], env=env, check=True, capture_output=True).stdout
    return int(json.loads(out)["total_items"])
