"""What stands before the server on HTTP: names, origins, tokens, sessions, bodies. And that it stops in good order."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl import errors
from memctl.mcp import http as http_module
from memctl.mcp.grants import Tokens, current_grant, read_tokens
from memctl.mcp.http import Shield, allowed_names, check_binding, peer_of
from support import PATIENCE

ALICE, BOB = "alice-0123456789abcdef", "bob-0123456789abcdef"


class Got(NamedTuple):
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Who called, and what was in the body. A GET opens an SSE stream, an `initialize` a session."""
    body, more = b"", True
    while more and scope["method"] == "POST":
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    grant = current_grant()
    headers = [(b"content-type", b"text/plain")]
    if body == b"initialize":
        headers.append((b"Mcp-Session-Id", b"session-of-" + (grant.name if grant else "nobody").encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    said = f"{grant.name if grant else None}:{len(body)}".encode()
    if scope["method"] == "GET":
        said = b"event: endpoint\r\ndata: /messages/?session_id=0123456789abcdef0123456789abcdef\r\n\r\n"
    await send({"type": "http.response.body", "body": said})


def ask(
    app: Any,
    method: str = "POST",
    path: str = "/mcp",
    headers: dict[str, str] | list[tuple[str, str]] | None = None,
    body: list[bytes] | bytes = b"",
    *,
    query: bytes = b"",
    hang: bool = False,
    leave: bool = False,
) -> Got:
    """One request, its body in parts; `hang` never sends the last, `leave` goes away instead."""
    given = dict(headers) if isinstance(headers, dict) else headers or {}
    pairs = list(given.items()) if isinstance(given, dict) else list(given)
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs.append(("Host", "127.0.0.1:8765"))
    scope = {
        "type": "http", "method": method, "path": path, "query_string": query,
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs if value != "(none)"],
    }  # fmt: skip
    parts = [body] if isinstance(body, bytes) else list(body)
    got: dict[str, Any] = {"status": 0, "headers": {}, "body": b""}

    async def receive() -> dict[str, Any]:
        if parts and not (hang and len(parts) == 1):
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}
        if leave:
            return {"type": "http.disconnect"}
        await asyncio.sleep(3600)
        raise AssertionError

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            got["status"] = message["status"]
            got["headers"] = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            got["body"] += message.get("body", b"")

    asyncio.run(app(scope, receive, send))
    return Got(**got)


@pytest.fixture
def token_file(scratch: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = scratch / "tokens"
        path.write_text(text)
        path.chmod(0o600)
        return path

    return write


@pytest.fixture
def tokens(token_file: Callable[[str], Path]) -> Tokens:
    return read_tokens(str(token_file(f"{ALICE} name=alice\n{BOB} read-only name=bob\n")))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# --- where it listens ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.9.1", "LOCALHOST"])
def test_on_this_machine_no_token_is_needed(host: str) -> None:
    check_binding(host, None)
    assert ask(Shield(echo)).body == b"local:0"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "example.org", "127.0.0.1.example.org"])
def test_elsewhere_one_is(host: str, tokens: Tokens) -> None:
    with pytest.raises(errors.TokensNeeded, match=r"will not listen on .* without tokens") as caught:
        check_binding(host, None)
    assert "--token-file" in caught.value.advice()
    check_binding(host, tokens)


# --- names and origins: the SDK looks at them -------------------------------------------------------------------------


def status(host: str = "127.0.0.1", *names: tuple[str, ...], **headers: str) -> int:
    """The status of a request with certain headers to a server that listens on `host`."""
    return ask(Shield(echo, names=allowed_names(host, *names)), headers=headers).status


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "localhost:1", "[::1]:8765"])
def test_names_that_are_ours(host: str) -> None:
    assert status(Host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "(none)", "user@localhost",
        "localhost/x", "::1", "127.0.0.1\t.evil", "\xe9",
    ],
)  # fmt: skip
def test_names_that_are_not(host: str) -> None:
    assert status(Host=host) == 421


@pytest.mark.parametrize(
    ("bound", "allowed", "right", "wrong"),
    [
        ("0.0.0.0", (), ["anything.example"], []),  # it was told no name, and a rebound page has no token
        ("0.0.0.0", ("mem.example",), ["mem.example:443", "localhost"], ["evil.example"]),
        ("10.0.0.5", (), ["10.0.0.5:8765"], ["localhost"]),
        ("10.0.0.5", ("Mem.Example",), ["mem.example"], ["evil.example"]),
        ("127.0.0.1", ("mem.example",), ["mem.example"], ["example"]),
        ("fd00::5", (), ["[fd00::5]:8765"], ["localhost"]),
    ],
)
def test_names_behind_a_proxy(bound: str, allowed: tuple[str, ...], right: list[str], wrong: list[str]) -> None:
    assert [status(bound, allowed, Host=host) for host in right] == [200] * len(right)
    assert [status(bound, allowed, Host=host) for host in wrong] == [421] * len(wrong)


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:6274", 200), ("https://127.0.0.1", 200), ("http://[::1]:3000", 200),
        ("https://app.example", 200),
        ("https://app.example:8443", 403), ("http://app.example", 403), ("https://evil.example", 403), ("null", 403),
        ("file://", 403), ("http://localhost.evil.example", 403), ("http://localhost@evil.example", 403),
        ("chrome-extension://localhost", 403),
    ],
)  # fmt: skip
def test_pages_that_may_call(origin: str, expected: int) -> None:
    assert status("127.0.0.1", (), ("https://App.Example/",), Origin=origin) == expected


def test_pages_of_this_machine_may_not_call_a_server_for_others() -> None:
    assert status("0.0.0.0", ("mem.example",), Origin="http://localhost") == 403
    assert status("0.0.0.0", (), Origin="http://localhost") == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_pages_of_other_sites_may_not_call_a_server_that_takes_any_name(host: str, tokens: Tokens) -> None:
    app = Shield(echo, names=allowed_names(host, (), ["https://App.Example/"]), tokens=tokens,
                 allow_origins=["https://App.Example/"])  # fmt: skip
    for origin in ("https://evil.example", "http://anything.example", "http://localhost", "null", ""):
        page = {"Host": "anything.example", "Origin": origin}
        for token in ({}, bearer(ALICE), bearer("wrong")):
            got = ask(app, headers=page | token)
            assert (got.status, got.json()["error"]) == (403, "wrong-origin")
        asked = ask(app, "OPTIONS", headers=page | {"Access-Control-Request-Method": "POST"})
        assert asked.status == 403
        assert not [name for name in (*got.headers, *asked.headers) if name.startswith("access-control")]
    page = {"Host": "anything.example", "Origin": "https://app.example"}
    assert ask(app, headers=page | bearer(ALICE)).status == 200
    assert ask(app, headers=page).status == 401
    assert ask(app, headers=bearer(ALICE) | {"Host": "anything.example"}).status == 200  # no browser
    assert [ask(app, headers=bearer(ALICE) | {"Host": host}).status for host in ("", "(none)")] == [421, 421]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Host": "evil.example"}, 421), ({"Content-Length": "0", "Transfer-Encoding": "chunked"}, 400),
        ({}, 200),
    ],
)  # fmt: skip
def test_a_browser_s_question_in_advance_has_the_right_form_and_name_too(
    headers: dict[str, str], expected: int
) -> None:
    pages = ["https://app.example"]
    app = Shield(echo, names=allowed_names("127.0.0.1", (), pages), allow_origins=pages)
    page = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    assert ask(app, "OPTIONS", headers=page | headers).status == expected


def test_a_page_that_may_call_can_read_the_answer(tokens: Tokens) -> None:
    app = Shield(echo, tokens=tokens, allow_origins=["https://app.example"])
    page = {"Origin": "https://app.example"}
    asked = ask(app, "OPTIONS", headers=page | {"Access-Control-Request-Method": "POST"})
    assert asked.status == 200
    assert asked.headers["access-control-allow-origin"] == "https://app.example"
    assert "authorization" in asked.headers["access-control-allow-headers"]
    got = ask(app, headers=page | bearer(ALICE), body=b"initialize")
    assert got.body == b"alice:10"
    assert got.headers["access-control-allow-origin"] == "https://app.example"
    assert "mcp-session-id" in got.headers["access-control-expose-headers"]
    refused = ask(app, headers=page)
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, "https://app.example")


def test_other_pages_cannot(tokens: Tokens) -> None:
    app = Shield(echo, tokens=tokens, allow_origins=["https://app.example"])
    for page in ({"Origin": "https://evil.example"}, {"Origin": "http://localhost:3000"}, {}):
        asked = ask(app, "OPTIONS", headers=page | {"Access-Control-Request-Method": "POST"})
        assert asked.status in (400, 401)
        assert "access-control-allow-origin" not in asked.headers
        assert "access-control-allow-origin" not in ask(app, headers=page | bearer(ALICE)).headers
    assert ask(app, "OPTIONS", headers={"Origin": "https://app.example"}).status == 401


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization", "Content-Length", "Mcp-Session-Id"])
def test_a_header_that_is_there_twice(name: str, tokens: Tokens) -> None:
    pairs = [("Host", "localhost"), ("Authorization", f"Bearer {ALICE}")]
    value = {"Host": "localhost", "Authorization": f"Bearer {ALICE}", "Origin": "http://localhost"}.get(name, "0")
    pairs += [(name, value)] * (1 if name in ("Host", "Authorization") else 2)
    got = ask(Shield(echo, tokens=tokens), headers=pairs)
    assert (got.status, got.json()["error"]) == (400, "bad-request")


# --- tokens ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "token-missing"), ("", "token-wrong"), ("Bearer", "token-wrong"), ("Bearer ", "token-wrong"),
        (f"Basic {ALICE}", "token-wrong"), (ALICE, "token-wrong"), (f"Bearer {ALICE}x", "token-wrong"),
        (f"Bearer {ALICE[:-1]}", "token-wrong"), (f"Bearer {ALICE}, {BOB}", "token-wrong"),
        ("Bearer \xff\xfe", "token-wrong"), ("Bearer " + "x" * 100_000, "token-wrong"),
    ],
)  # fmt: skip
def test_without_a_right_token(header: str | None, code: str, tokens: Tokens) -> None:
    app = Shield(echo, tokens=tokens)
    got = ask(app, headers={} if header is None else {"Authorization": header})
    assert (got.status, got.json()["error"]) == (401, code)
    assert got.headers["www-authenticate"].startswith('Bearer realm="memctl"')
    assert ALICE not in got.body.decode()


def test_the_token_says_who_calls(tokens: Tokens) -> None:
    app = Shield(echo, tokens=tokens)
    assert ask(app, headers=bearer(ALICE), body=b"abc").body == b"alice:3"
    assert ask(app, headers={"Authorization": f"bearer  {BOB} "}).body == b"bob:0"
    assert current_grant() is None


def test_every_token_is_compared_with(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def counted(a: bytes, b: bytes) -> bool:
        nonlocal count
        count += 1
        return a == b

    monkeypatch.setattr("hmac.compare_digest", counted)
    for token in (ALICE, BOB, "neither"):
        tokens.grant(token.encode())
    assert count == 6
    assert ALICE.encode() not in repr(tokens._grants).encode()


@pytest.mark.parametrize(
    "text",
    [
        f"# who may\n\n{ALICE} name=alice\n  {BOB}  read-only   workspace=docs\n",
        json.dumps({ALICE: {"name": "alice"}, BOB: {"access": "read-only", "workspace": "docs"}}),
        "\ufeff" + json.dumps({ALICE: {"name": "alice"}, BOB: {"workspace": "docs", "access": "read-only"}}),
    ],
)
def test_what_a_token_file_says(token_file: Callable[[str], Path], text: str) -> None:
    found = read_tokens(str(token_file(text)))
    alice, bob = found.grant(ALICE.encode()), found.grant(BOB.encode())
    assert alice is not None
    assert bob is not None
    assert (alice.name, alice.writes, alice.workspace) == ("alice", True, None)
    assert (bob.name, bob.writes, bob.workspace) == ("token-2", False, "docs")
    assert found.grant(b"") is None


def test_a_json_file_may_say_only_the_access(token_file: Callable[[str], Path]) -> None:
    grant = read_tokens(str(token_file(json.dumps({ALICE: "read-only"})))).grant(ALICE.encode())
    assert grant is not None
    assert not grant.writes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no token in it"), ("# nothing\n", "there is no token"), ("{}", "there is no token"),
        ("short\n", "line 1: the token has fewer than 16"), (f"{ALICE}\n{ALICE}", "line 2: the token stands there"),
        (f"{ALICE} readonly", "line 1: 'readonly' is neither"),
        (f"{ALICE} read-only read-write", "access is given twice"), (f"{ALICE} workspace=", "workspace has no value"),
        (f"{ALICE} colour=red", "'colour' is none of access, name, workspace"),
        (f"{ALICE}\u00e9", "only letters, digits"), ("{", "it is no JSON"), ('{"a": ', "it is no JSON"),
        (json.dumps({ALICE: 5}), "token 1: what a token is for"), (json.dumps({ALICE: [1]}), "token 1: what a token"),
        (json.dumps({ALICE: {"access": ["read-only"]}}), "access has no value"), ("{" * 5000, "it is no JSON"),
        (f'{{"{ALICE}": "read-only", "{ALICE}": "read-write"}}', "token 2: the token stands there twice"),
        ('{"' + "a" * 20 + '": {"access": "read-only", "access": "read-write"}}', "access is given twice"),
    ],
)  # fmt: skip
def test_token_files_that_cannot_be_used(token_file: Callable[[str], Path], text: str, reason: str) -> None:
    with pytest.raises(errors.TokenFileInvalid) as caught:
        read_tokens(str(token_file(text)))
    assert reason in caught.value.message
    assert ALICE not in caught.value.message


def test_a_token_file_that_others_could_read(token_file: Callable[[str], Path], scratch: Path) -> None:
    path = token_file(ALICE)
    path.chmod(0o640)
    with pytest.raises(errors.TokenFileInvalid, match=r"others may use it \(mode 0640\)"):
        read_tokens(str(path))
    for wrong, reason in ((scratch / "none", "No such file"), (scratch, "directory")):
        with pytest.raises(errors.TokenFileInvalid, match=reason):
            read_tokens(str(wrong))
    os.mkfifo(scratch / "fifo", 0o600)
    with pytest.raises(errors.TokenFileInvalid, match="no file"):
        read_tokens(str(scratch / "fifo"))
    path.write_bytes(b"\xff\xfe\x00")
    path.chmod(0o600)
    with pytest.raises(errors.TokenFileInvalid, match="UTF-8"):
        read_tokens(str(path))


# --- sessions --------------------------------------------------------------------------------------------------------


def test_a_session_belongs_to_the_token_that_opened_it(tokens: Tokens) -> None:
    app = Shield(echo, tokens=tokens)
    session = ask(app, headers=bearer(ALICE), body=b"initialize").headers["mcp-session-id"]
    with_it = {"Mcp-Session-Id": session}
    assert ask(app, headers=bearer(ALICE) | with_it).status == 200
    for method in ("POST", "GET", "DELETE"):
        got = ask(app, method, headers=bearer(BOB) | with_it)
        assert (got.status, got.json()["error"]) == (404, "session-unknown")
    assert ask(app, headers=bearer(ALICE) | {"Mcp-Session-Id": "guessed"}).status == 404


def test_so_does_an_sse_stream(tokens: Tokens) -> None:
    app = Shield(echo, tokens=tokens)
    query = b"session_id=0123456789abcdef0123456789abcdef"
    assert ask(app, headers=bearer(ALICE), query=query).status == 404
    assert ask(app, "GET", "/sse", bearer(ALICE)).status == 200
    assert ask(app, headers=bearer(ALICE), query=query).status == 200
    assert ask(app, headers=bearer(BOB), query=query).status == 404


def test_a_session_that_nobody_opened_does_not_exist() -> None:
    assert ask(Shield(echo), headers={"Mcp-Session-Id": "whatever"}).status == 404


def test_a_session_ends_when_nobody_uses_it_any_more() -> None:
    """Not while a request or a stream goes on in it; its client is told by 404, and begins a new one."""
    ended: list[Any] = []

    async def main() -> None:
        begun, done, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def app(scope: Any, _receive: Any, send: Any) -> None:
            named = dict(scope["headers"]).get(b"mcp-session-id")
            if scope["method"] == "DELETE":
                ended.append(named)
                over.set()
            elif scope["method"] == "GET":
                begun.set()
                await done.wait()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"mcp-session-id", b"one")]})
            await send({"type": "http.response.body", "body": b""})

        shield = Shield(app, idle_seconds=0.02)
        answers: list[Any] = []

        async def request(method: str, *headers: tuple[bytes, bytes]) -> None:
            async def receive() -> dict[str, Any]:
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message: Any) -> None:
                answers.append(message.get("status"))

            scope = {"type": "http", "method": method, "path": "/mcp", "query_string": b"",
                     "headers": [(b"host", b"127.0.0.1"), *headers]}  # fmt: skip
            await shield(scope, receive, send)

        named = (b"mcp-session-id", b"one")
        await request("POST")
        stream = asyncio.get_running_loop().create_task(request("GET", named))
        await begun.wait()
        await asyncio.sleep(0.1)
        assert (ended, len(shield.sessions)) == ([], 1)
        done.set()
        await stream
        await over.wait()
        await request("POST", named)
        assert answers[-2:] == [404, None]

    asyncio.run(main())
    assert ended == [b"one"]


def test_sessions_take_no_more_room(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "MAX_SESSIONS", 3)
    opened = 0

    async def opening(_scope: Any, _receive: Any, send: Any) -> None:
        nonlocal opened
        opened += 1
        session = (b"mcp-session-id", str(opened).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [session]})
        await send({"type": "http.response.body", "body": b""})

    app = Shield(opening, tokens=tokens)
    for _ in range(4):
        ask(app, headers=bearer(ALICE))
    assert ask(app, headers=bearer(ALICE) | {"Mcp-Session-Id": "1"}).status == 404  # silent for longest
    assert ask(app, headers=bearer(ALICE) | {"Mcp-Session-Id": "2"}).status == 200


# --- bodies ----------------------------------------------------------------------------------------------------------


def test_a_body_comes_through_in_one_piece() -> None:
    app = Shield(echo, max_body_bytes=10)
    assert ask(app, body=[b"12345", b"", b"67890"]).body == b"local:10"


def test_half_a_character_in_a_body_is_mended() -> None:
    """As on standard input: the SDK's newer parser would call the body no JSON."""
    seen: list[bytes] = []

    async def noting(_scope: Any, receive: Any, send: Any) -> None:
        seen.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    ask(Shield(noting), body=rb'{"a": "\ud83d \ud83d\ude00"}' + b"\xff")
    assert seen == [rb'{"a": "\ufffd \ud83d\ude00"}' + "\ufffd".encode()]


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Length": "11"}, b"12345678901", 413),
        ({"Content-Length": "5"}, [b"123456", b"78901"], 413),  # it lies
        ({"Transfer-Encoding": "chunked"}, [b"x"] * 11, 413),
        ({}, [b"x" * 1_000_000] * 3, 413),
        ({"Content-Length": "9" * 400}, b"", 413),
        ({"Content-Length": "-1"}, b"", 400),
        ({"Content-Length": "1e3"}, b"", 400),
        ({"Content-Length": "\u00b2"}, b"", 400),
        ({"Content-Length": "10"}, b"1234567890", 200),
    ],
)
def test_a_body_has_an_end(headers: dict[str, str], body: Any, status: int) -> None:
    called = 0

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        nonlocal called
        called += 1
        await echo(scope, receive, send)

    got = ask(Shield(counted, max_body_bytes=10), headers=headers, body=body)
    assert (got.status, called) == (status, int(status == 200))


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    app = Shield(echo, body_seconds=0.01)
    got = ask(app, body=[b"1", b"2"], hang=True)
    assert (got.status, got.json()["error"]) == (408, "body-late")


def test_a_client_that_goes_away_before_the_end() -> None:
    assert ask(Shield(echo), body=[], leave=True) == Got(0, {}, b"")


def test_who_waits_for_the_client_to_leave_hears_of_it() -> None:
    heard = []

    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        heard.extend([await receive(), await receive()])

    ask(Shield(app), body=b"x", leave=True)
    assert [one["type"] for one in heard] == ["http.request", "http.disconnect"]


# --- health, other protocols, the end --------------------------------------------------------------------------------


def test_health_says_nothing_but_that(tokens: Tokens) -> None:
    app = Shield(echo, tokens=tokens)
    got = ask(app, "GET", "/health", {"Host": "10.1.2.3"})
    assert (got.status, got.json()) == (200, {"status": "ok"})
    assert ask(app, "POST", "/health").status == 401
    assert ask(app, "GET", "/health/").status == 401
    sick = Shield(echo, healthy=lambda: False)
    assert (ask(sick, "GET", "/health").status, ask(sick, "GET", "/health").json()) == (503, {"status": "failing"})


def test_no_web_socket() -> None:
    sent = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Shield(echo)({"type": "websocket"}, None, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_the_start_and_end_of_the_server_come_through() -> None:
    seen = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["type"])

    asyncio.run(Shield(app)({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert seen == ["lifespan"]


def test_who_comes_while_it_stops_is_told_to_come_back() -> None:
    app: Shield = Shield(echo)
    app.stopping = True
    got = ask(app)
    assert (got.status, got.headers["retry-after"]) == (503, "5")
    assert ask(app, "GET", "/health").status == 200


SERVER = """
import asyncio, sys
from memctl.mcp.http import PeerLimits, Shield, serve

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": message["type"] + ".complete"})
        sys.stderr.write("closed\\n")
        return await send({"type": "lifespan.shutdown.complete"})
    if scope["method"] == "POST":
        sys.stdout.write("called\\n"); sys.stdout.flush()
        await asyncio.sleep(0.3)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})

def started(port):
    sys.stdout.write(f"{port}\\n"); sys.stdout.flush()

limits = PeerLimits(**eval(sys.argv[2]))
serve(Shield(app), host="127.0.0.1", port=int(sys.argv[1]), started=started, limits=limits)
"""


@pytest.fixture
def process() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    pytest.importorskip("uvicorn")
    begun: list[subprocess.Popen[str]] = []

    def start(port: int = 0, **peers: float) -> "subprocess.Popen[str]":
        begun.append(
            subprocess.Popen(
                [sys.executable, "-c", SERVER, str(port), repr(peers)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return begun[-1]

    yield start
    for one in begun:
        one.kill()
        one.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_call_that_is_being_answered_is_answered(
    process: Callable[..., "subprocess.Popen[str]"], number: signal.Signals
) -> None:
    server = process()
    assert server.stdout
    caller = http.client.HTTPConnection("127.0.0.1", int(server.stdout.readline()), timeout=PATIENCE)
    caller.request("POST", "/mcp", b"{}")
    assert server.stdout.readline() == "called\n"
    server.send_signal(number)
    assert caller.getresponse().read() == b"done"
    caller.close()
    _, said = server.communicate(timeout=PATIENCE)
    assert (server.returncode, said) == (0, "closed\n")


def test_an_address_that_is_taken(process: Callable[..., "subprocess.Popen[str]"]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = process(taken.getsockname()[1])
        _, said = server.communicate(timeout=PATIENCE)
    assert "OSError" in said
    assert "in use" in said


# --- connections before there is a request ---------------------------------------------------------------------------

HALF = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def dial(server: "subprocess.Popen[str]", port: list[int], said: bytes = b"") -> socket.socket:
    """A connection to the server on which so much was said."""
    if not port:
        assert server.stdout
        port.append(int(server.stdout.readline()))
    made = socket.create_connection(("127.0.0.1", port[0]), timeout=PATIENCE)
    made.sendall(said)
    return made


def heard(connection: socket.socket) -> bytes:
    """All that comes until the other side ends it, with or without good manners."""
    found = b""
    with connection, suppress(ConnectionResetError):
        while part := connection.recv(65536):
            found += part
    return found


def asked(server: "subprocess.Popen[str]", port: list[int]) -> bytes:
    return heard(dial(server, port, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"))


LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@pytest.mark.parametrize("said", [b"", HALF])
def test_the_head_of_a_request_has_a_time_limit(process: Callable[..., "subprocess.Popen[str]"], said: bytes) -> None:
    """uvicorn would wait for ever; the test ends only because the server hangs up."""
    assert heard(dial(process(head_seconds=0.2), [], said)) == LATE


def test_so_has_the_head_of_the_next_request(process: Callable[..., "subprocess.Popen[str]"]) -> None:
    again = dial(process(head_seconds=0.2), [], b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert b"200 OK" in again.recv(65536)
    again.sendall(HALF)
    assert heard(again).endswith(LATE)


def test_an_answer_has_no_time_limit_of_that_sort(process: Callable[..., "subprocess.Popen[str]"]) -> None:
    body = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}"
    assert b"done" in heard(dial(process(head_seconds=0.1), [], body)), "it takes 0.3 seconds"


def test_half_sent_requests_keep_nobody_out(process: Callable[..., "subprocess.Popen[str]"]) -> None:
    server, port = process(head_seconds=600), list[int]()
    slow = [dial(server, port, HALF) for _ in range(560)]
    for _ in range(5):
        assert b"200 OK" in asked(server, port)
    assert b"200 OK" not in heard(slow[0]), "it is over: the oldest made room"
    for one in slow[1:]:
        one.close()


def test_many_that_begin_at_once_are_all_answered(process: Callable[..., "subprocess.Popen[str]"]) -> None:
    """The server of a busy machine sees them all together, with their requests behind them."""
    server, port = process(max_waiting=5), list[int]()
    assert b"200 OK" in asked(server, port)
    server.send_signal(signal.SIGSTOP)
    request = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    many = [dial(server, port, request) for _ in range(60)]
    server.send_signal(signal.SIGCONT)
    assert all(b"200 OK" in heard(one) for one in many)


def test_a_peer_has_so_many_connections(process: Callable[..., "subprocess.Popen[str]"]) -> None:
    server, port = process(max_open=3, max_waiting=9), list[int]()
    mine = [dial(server, port) for _ in range(3)]
    assert heard(dial(server, port)).startswith(b"HTTP/1.1 503 ")
    mine.pop().close()
    while b"200 OK" not in asked(server, port):  # until the server has seen that one is gone
        pass
    for one in mine:
        one.close()


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        (("127.0.0.1", 5), "127.0.0.1"), (("2001:db8::1:2", 5, 0, 0), "2001:db8::/64"), (("::1", 5, 0, 0), "::1"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::/64"), (("::ffff:10.0.0.1", 5, 0, 0), "::ffff:10.0.0.1"), (None, ""),
    ],
)  # fmt: skip
def test_who_a_connection_is_from(address: Any, peer: str) -> None:
    assert peer_of(address).replace("a00:1", "10.0.0.1") == peer


@pytest.mark.parametrize("order", [1, -1])
def test_a_request_says_its_length_in_one_way(process: Callable[..., "subprocess.Popen[str]"], order: int) -> None:
    server, port = process(), list[int]()
    ways = [b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"][::order]
    smuggled = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"".join(ways) + b"\r\n"
    found = heard(dial(server, port, head + b"0\r\n\r\n" + smuggled))
    assert found.startswith(b"HTTP/1.1 400 ")
    assert b"200 OK" not in found
    assert b"connection: close" in found.lower()


def test_both_lengths_are_refused_whatever_is_in_front() -> None:
    got = ask(Shield(echo), headers={"Content-Length": "0", "Transfer-Encoding": "chunked"})
    assert (got.status, got.headers["connection"]) == (400, "close")


@pytest.mark.parametrize("name", ["session_id", "session%5Fid", "%73ession_id", "session_id=&session%5fid"])
def test_a_session_in_the_query_is_found_however_it_is_spelt(tokens: Tokens, name: str) -> None:
    app = Shield(echo, tokens=tokens)
    assert ask(app, "GET", "/sse", bearer(ALICE)).status == 200
    session = "0123456789abcdef0123456789abcdef"
    query = f"{name}={session}".encode()
    assert ask(app, headers=bearer(BOB), query=query).status == 404
    assert ask(app, headers=bearer(ALICE), query=f"session%5Fid={session}".encode()).status == 200
    assert ask(app, headers=bearer(BOB), query=f"session_id={session.upper()}".encode()).status == 404
