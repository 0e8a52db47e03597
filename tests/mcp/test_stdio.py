"""The server on two pipes, in this process and as one: what waits, what is cancelled, what is too long, how it ends."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memctl.mcp import stdio
from memctl.mcp.protocol import Request
from memctl.mcp.stdio import StdioServer
from support import PATIENCE, ok
from wire import piped


class Core:
    """Answers `slow/LANE` when `go` is set, and everything else at once with `size` characters."""

    roots = None

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self.answered: list[Any] = []
        self.size = 2

    def lane(self, request: Request) -> str:
        return request.method.partition("/")[2]

    def respond(self, request: Request, *, tell: Callable[[float, str], None] | None = None) -> dict[str, Any]:
        if self.lane(request):
            self.begun.release()
            assert self.go.wait(PATIENCE)
            if tell is not None and "_meta" in request.params:
                tell(1.0, "on the way")
        self.answered.append(request.id)
        return {"jsonrpc": "2.0", "id": request.id, "result": {"text": "x" * self.size}}


class Running:
    """A server on two pipes, in a thread."""

    def __init__(self, core: Core) -> None:
        self.core = core
        source, self.into = os.pipe()
        self.out, sink = os.pipe()
        self.file = os.fdopen(self.out, "rb")
        self.code: int | None = None

        def run() -> None:
            self.code = StdioServer(core, source, sink).run()  # type: ignore[arg-type]
            os.close(sink)  # and never the source: the server's reader may still ask for its number

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def send(self, number: Any, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        os.write(self.into, json.dumps(message).encode() + b"\n")

    def read(self) -> Any:
        return json.loads(self.file.readline())

    def end(self) -> int | None:
        if self.into >= 0:
            os.close(self.into)
            self.into = -1
        self.thread.join(PATIENCE)
        return self.code


@pytest.fixture
def served() -> Iterator[Running]:
    made = Running(Core())
    yield made
    made.core.go.set()
    made.file.close()
    made.end()


@pytest.mark.parametrize("lane", ["write", "folder", "model"])
def test_what_takes_long_holds_up_nothing_else(served: Running, lane: str) -> None:
    served.send(1, f"slow/{lane}")
    served.core.begun.acquire()
    served.send(2, "quick")
    assert served.read()["id"] == 2
    served.core.go.set()
    assert served.read()["id"] == 1
    assert served.end() == 0


def test_a_cancelled_call_is_not_answered_nor_spoken_of(served: Running) -> None:
    served.send(1, "slow/write", _meta={"progressToken": 1})
    served.core.begun.acquire()
    served.send(2, "slow/write")  # waits behind it, and never runs
    numbers: tuple[Any, ...] = (1, 2, [], {}, None, "nothing")
    for number in numbers:
        served.send(None, "notifications/cancelled", requestId=number)
    served.send(3, "quick")
    assert served.read()["id"] == 3
    served.core.go.set()
    served.send(4, "slow/write", _meta={"progressToken": "t"})
    told, answer = served.read(), served.read()
    assert told["params"] == {"progressToken": "t", "progress": 1.0, "message": "on the way"}
    assert answer["id"] == 4
    assert served.end() == 0
    assert 2 not in served.core.answered


def test_so_much_waits_and_no_more(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(stdio.WAITING + 3):
        served.send(number, "slow/read")
    served.send("last", "quick")
    served.core.begun.acquire()
    assert served.core.answered == [], "what comes after so many calls is not read"
    served.core.go.set()
    numbers = [served.read()["id"] for _ in range(stdio.WAITING + 4)]
    assert {*numbers} == {*range(stdio.WAITING + 3), "last"}


def test_a_client_that_reads_late_gets_everything(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """And meanwhile no more is kept for it than so much."""
    monkeypatch.setattr(stdio, "UNREAD", 300_000)
    served.core.size = 100_000
    for number in range(20):
        served.send(number, "quick")
    served.core.begun.acquire(timeout=0.2)  # never released: a moment for the server to run ahead
    assert len(served.core.answered) <= 7, "what a pipe holds, what may be kept, and one that waits"
    assert sorted(served.read()["id"] for _ in range(20)) == list(range(20))
    assert served.end() == 0


def test_a_line_that_is_too_long_is_answered_and_not_kept(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST", 200_000)
    served.send(1, "quick", text="x" * 150_000)
    assert served.read()["id"] == 1
    served.send(2, "quick", text="x" * 900_000)
    answer = served.read()
    assert (answer["error"]["code"], answer["id"]) == (-32600, 2)
    os.write(served.into, b'{"jsonrpc":"2.0","id":3,"method":"quick","params":{"x":"' + b"x" * 900_000 + b'"}}\n')
    assert served.read()["id"] == 3
    served.send(4, "quick")
    assert "result" in served.read()


def test_nobody_listens_any_more(served: Running) -> None:
    served.file.close()
    served.send(1, "quick")
    served.thread.join(PATIENCE)
    assert served.code == 0


def test_a_line_without_an_end_is_answered_too(served: Running) -> None:
    os.write(served.into, b'\n\n  \n{"jsonrpc":"2.0","id":1,"method":"quick"}')
    os.close(served.into)
    served.into = -1
    assert served.read()["id"] == 1
    assert served.end() == 0


# --- as a process ----------------------------------------------------------------------------------------------------


def test_a_file_of_requests_is_answered_to_the_last() -> None:
    ok("remember", "We deploy on Tuesdays.", "--db", "m.db")
    with piped("--db", "m.db", "--no-rate-limit") as server:
        for number in range(60):
            server.send({"id": number, "method": "tools/call",
                         "params": {"name": "memory_recall", "arguments": {"query": "deploy"}}})  # fmt: skip
        server.close_input()
        assert server.popen.stdout is not None
        lines = server.popen.stdout.read().splitlines()
        code, _ = server.end()
    assert code == 0
    assert {json.loads(line)["id"] for line in lines} == set(range(60))


def test_a_signal_while_a_folder_is_read_loses_nothing() -> None:
    """The end comes soon, and what the folder had is there when it is read again."""
    Path("docs").mkdir()
    for number in range(300):
        Path(f"docs/{number}.md").write_text(f"# File {number}\n\n" + f"Valve {number} opens at noon. " * 80)
    with piped("--db", "m.db") as server:
        server.hello()
        server.send({"id": "s", "method": "tools/call", "params": {
            "name": "memory_sync", "arguments": {"path": "docs"}, "_meta": {"progressToken": 1}}})  # fmt: skip
        assert server.read()["method"] == "notifications/progress"
        server.popen.send_signal(signal.SIGTERM)
        code, errors = server.end()
    assert (code, "Traceback" in errors) == (128 + signal.SIGTERM, False)
    assert ok("sync", "docs", "--db", "m.db").code == 0
    assert ok("search", "valve 299", "--db", "m.db", "--json", "-n", "1").json()
    assert ok("sync", "docs", "--db", "m.db", "--json").json()["files_changed"] == 0


def test_what_others_print_is_not_in_the_way() -> None:
    """A model's program inherits nothing of the protocol, and the library that prints does so on stderr."""
    Path("llm.sh").write_text("#!/bin/sh\necho noise >&2\necho The answer is 8443.\n")
    Path("llm.sh").chmod(0o755)
    with piped("--llm", str(Path("llm.sh").resolve())) as server:
        server.hello()
        answer = server.call("memory_loop", query="port?", initial_context="none", protocol="passive")
        assert "8443" in answer["content"][0]["text"]
        server.popen.send_signal(signal.SIGHUP)
        assert server.end()[0] == 128 + signal.SIGHUP


_UNIX_ONLY = ("fcntl", "grp", "pwd", "resource", "termios")


def test_the_server_needs_nothing_that_only_unix_has() -> None:
    """Without the modules that Windows lacks it stores, finds, and reads a folder."""
    Path("docs").mkdir()
    Path("docs/port.md").write_text("# Ports\n\nThe valve listens on 7421.\n")
    program = f"import sys; sys.modules |= dict.fromkeys({_UNIX_ONLY!r}); from memctl.cli import main; sys.exit(main())"
    calls = (
        ("memory_write", {"title": "Deploys", "content": "We deploy on Tuesdays."}), ("memory_sync", {"path": "docs"}),
        ("memory_recall", {"query": "deploy"}),
    )  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--db", "m.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    for number, (name, arguments) in enumerate(calls):
        params = {"name": name, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        result = json.loads(server.stdout.readline())["result"]
        assert not result["isError"], result
    assert "Tuesdays" in result["content"][0]["text"]
    assert b"Traceback" not in server.communicate(timeout=PATIENCE)[1]
    assert ok("search", "valve", "--db", "m.db", "--json").json()
