"""The MCP server over HTTP: what stands before the SDK's application, and the server that listens.

A request passes, in this order: the limits of its connection (`LimitedConnection`), and then `Shield`: form, health,
Host and Origin (the SDK's check), CORS (Starlette's), bearer token, session, size of the body.
uvicorn waits for the head of a request as long as its peer likes, and turns everybody away when it has too many
connections: whoever opens some hundreds and sends half a line keeps the others out. Hence the limits of a connection.
"""

import asyncio
import ipaddress
import json
import re
import select
import signal
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import closing, suppress
from functools import partial
from typing import cast
from urllib.parse import parse_qsl

import uvicorn
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from memctl import errors, ids
from memctl.annotations import Any
from memctl.mcp.grants import FULL, Grant, Tokens, granted
from memctl.mcp.protocol import mended

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/health"
MAX_BODY_BYTES = 4 * 1_048_576
#: Seconds that a body may take to arrive.
BODY_SECONDS = 30.0
#: Sessions at once; of more, the one that was silent for longest ends.
MAX_SESSIONS = 4096
#: Seconds after which a session ends in which nothing was asked and no stream is open.
IDLE_SECONDS = 900.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})  # as headers have them
_ALL_ADDRESSES = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to
#: Where an SSE stream tells its client which address to post to.
_ENDPOINT = re.compile(rb"session_id=([0-9a-fA-F-]{16,64})")
#: Headers that a request has once: which of two counts would be a matter of taste.
_SINGLE = frozenset({b"host", b"origin", b"authorization", b"content-length", b"mcp-session-id"})

#: When the server stops, seconds that calls which are being answered have, and streams that stay open.
GRACE_SECONDS = 3
#: Connections at once; further callers are told to come back (503).
MAX_CONNECTIONS = 512
#: Seconds that the head of a request may take.
HEAD_SECONDS = 10.0
#: Connections of one peer; and those of them on which no request has come: of more, the oldest are closed. One on which
#: something waits to be read stays, as of fifty clients that begin at once while the machine is busy, as long as a
#: quarter of the connections is left for others.
MAX_PER_PEER = 128
MAX_WAITING = 32


# --- names and origins -----------------------------------------------------------------------------------------------


def check_binding(host: str, tokens: Tokens | None) -> None:
    """Raise TokensNeeded if the server would listen where others can connect, and let everybody in."""
    if tokens is None and not is_loopback(host):
        raise errors.TokensNeeded(host=host or "all addresses")


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    return host == "::1" or host.lower() in LOOPBACK or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def allowed_names(
    host: str, allow_hosts: Iterable[str] = (), allow_origins: Iterable[str] = ()
) -> TransportSecuritySettings:
    """The Host and Origin headers that are right.

    host           the address the server listens on
    allow_hosts    further names that it goes by, behind a proxy for example
    allow_origins  web pages (`https://host[:port]`) that may call; pages of this machine may when `host` is loopback

    Any name is right when the server listens on all addresses and was told no name. The SDK's check would then let
    every page in as well, so `Shield` looks at Origin itself.
    """
    given = {name.lower() for name in allow_hosts}
    any_name = host in _ALL_ADDRESSES and not given
    if host not in _ALL_ADDRESSES:
        given.add(host.lower())
    names = {f"[{name}]" if ":" in name else name for name in given}  # an IPv6 address stands in brackets there
    origins = {origin.lower().rstrip("/") for origin in allow_origins}
    if host in _ALL_ADDRESSES or is_loopback(host):
        names |= LOOPBACK
    if is_loopback(host):
        origins |= {f"{scheme}://{name}{port}" for scheme in ("http", "https")
                    for name in LOOPBACK for port in ("", ":*")}  # fmt: skip
    hosts = sorted(f"{name}{port}" for name in names for port in ("", ":*"))
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=not any_name, allowed_hosts=hosts, allowed_origins=sorted(origins)
    )


# --- requests --------------------------------------------------------------------------------------------------------


class RequestRefused(Exception):
    """A request that goes no further: its status, what is wrong, and headers to go with it."""

    def __init__(self, status: int, code: str, message: str, *headers: Header) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers


class HttpSession:
    """Whose a session is, how it is reached, and what goes on in it."""

    __slots__ = ("calls", "grant", "path", "used")

    def __init__(self, grant: Grant, path: str) -> None:
        self.grant, self.path = grant, path
        self.calls, self.used = 0, ids.monotonic()

    def begin(self) -> "HttpSession":
        """A request begins in it."""
        self.calls += 1
        return self

    def end(self) -> None:
        """A request is over."""
        self.calls -= 1
        self.used = ids.monotonic()


class Shield:
    """An ASGI application around the SDK's: names, tokens, sessions and bodies.

    names          the Host and Origin headers that are right (`allowed_names`); None = any
    tokens         who may call; None = everybody
    allow_origins  web pages that can read the answers (CORS)
    healthy        what `/health` asks, quickly; False is answered as 503
    idle_seconds   how long a session may be silent
    """

    def __init__(
        self,
        app: Application,
        *,
        names: TransportSecuritySettings | None = None,
        tokens: Tokens | None = None,
        allow_origins: Iterable[str] = (),
        max_body_bytes: int = MAX_BODY_BYTES,
        body_seconds: float = BODY_SECONDS,
        healthy: Callable[[], bool] | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.app, self.tokens, self.healthy = app, tokens, healthy
        self.names = TransportSecurityMiddleware(names)
        #: The origins that are right where any name is; None = the SDK's check knows, or there is none to make.
        self._origins = None if names is None or names.enable_dns_rebinding_protection else names.allowed_origins
        self.max_body_bytes, self.body_seconds = max_body_bytes, body_seconds
        self.stopping = False  # set when the server is about to end: calls that come now are turned away
        self.calls = 0  # those that are being answered
        self.idle_seconds = idle_seconds
        self.sessions: OrderedDict[bytes, HttpSession] = OrderedDict()  # the one that was silent for longest first
        self._sweep: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        pages = [origin.lower().rstrip("/") for origin in allow_origins]
        self._pages: Any = CORSMiddleware(
            cast("Any", self._request), allow_origins=pages, allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id", "mcp-session-id", "mcp-protocol-version",
                           "mcp-method"],
            expose_headers=["mcp-session-id", "www-authenticate"],
        ) if pages else self._request  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the start and end of the server."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":  # no MCP transport here uses one
            await send({"type": "websocket.close", "code": 1008})
        else:
            try:
                if await self._is_admitted(scope, receive, send):
                    await self._pages(scope, receive, send)
            except RequestRefused as no:
                await _answer(send, no.status, {"error": no.code, "message": no.message}, no.headers)

    async def _is_admitted(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Check what holds for a browser's question in advance (CORS) too: form, Host and Origin.

        False for a request that is answered here: about health, or one that the SDK's check refuses.
        """
        headers = _headers(scope)
        if scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            well = True if self.healthy is None else await asyncio.to_thread(self.healthy)
            await _answer(send, 200 if well else 503, {"status": "ok" if well else "failing"})
            return False
        if refusal := await self.names.validate_request(Request(scope)):
            await refusal(scope, cast("Any", receive), cast("Any", send))
            return False
        if self._origins is not None:  # any name is right: a page of another site may not call, token or not
            if not headers.get(b"host"):
                raise RequestRefused(421, "wrong-host", "a request has a Host header")
            if b"origin" in headers and headers[b"origin"].lower() not in self._origins:
                raise RequestRefused(403, "wrong-origin", "pages of this origin may not call this server")
        return True

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        try:
            if self.stopping:
                raise RequestRefused(503, "stopping", "this server is about to stop", (b"retry-after", b"5"))
            grant = FULL if self.tokens is None else self._grant(self.tokens, headers)
            used = self._named_sessions(scope, headers, grant)
            send = self._noting(scope, send, grant, used)
            is_call = scope["method"] not in ("GET", "HEAD", "OPTIONS")
            if is_call:
                receive = await self._body(headers, receive)
        except RequestRefused as no:
            await _answer(send, no.status, {"error": no.code, "message": no.message}, no.headers)
            return
        self.calls += is_call
        for session in used:
            session.begin()
        try:
            with granted(grant):
                await self.app(scope, receive, send)
        finally:
            self.calls -= is_call
            for session in used:
                session.end()

    @staticmethod
    def _grant(tokens: Tokens, headers: dict[bytes, str]) -> Grant:
        """What the caller's token allows."""
        given = headers.get(b"authorization")
        challenge = b'Bearer realm="memctl"'
        if given is None:
            raise RequestRefused(
                401, "token-missing", "this server wants a bearer token", (b"www-authenticate", challenge)
            )
        scheme, _, token = given.partition(" ")
        grant = tokens.grant(token.strip().encode("latin-1")) if scheme.lower() == "bearer" else None
        if grant is None:
            challenge += b', error="invalid_token"'
            raise RequestRefused(
                401, "token-wrong", "this is no token of this server", (b"www-authenticate", challenge)
            )
        return grant

    def _named_sessions(self, scope: Scope, headers: dict[bytes, str], grant: Grant) -> list[HttpSession]:
        """The sessions that a request names. One of another caller is none: it has the rights of who opened it."""
        names = [headers[b"mcp-session-id"].encode("latin-1")] if b"mcp-session-id" in headers else []
        # Parsed as the SDK parses it: `session%5Fid` is the same name.
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        names += [value.encode("utf-8", "replace") for name, value in query if name == "session_id"]
        for name in names:
            if name not in self.sessions or self.sessions[name].grant is not grant:
                raise RequestRefused(404, "session-unknown", "there is no such session")
            self.sessions.move_to_end(name)
        if scope["method"] == "DELETE":  # the client ends it
            return [self.sessions.pop(name) for name in names[:1]]
        return [self.sessions[name] for name in names]

    def _noting(self, scope: Scope, send: Send, grant: Grant, used: list[HttpSession]) -> Send:
        """`send` as it notes which session the answer opens: in a header, or in the first event of an SSE stream.

        It comes to those that the request has `used`.
        """
        is_first_part = scope["method"] == "GET"

        async def noting(message: Message) -> None:
            nonlocal is_first_part
            opened: list[bytes] = []
            if message["type"] == "http.response.start" and scope["method"] != "DELETE":
                headers = message.get("headers", ())
                opened = [bytes(value) for name, value in headers if name.lower() == b"mcp-session-id"]
            elif is_first_part and message["type"] == "http.response.body":
                is_first_part = False
                opened = _ENDPOINT.findall(message.get("body", b"")[:1024])[:1]
            for name in opened:
                if name not in self.sessions:
                    self.sessions[name] = HttpSession(grant, scope["path"])
                    used.append(self.sessions[name].begin())
                self._end_idle()
            await send(message)

        return noting

    def _end_idle(self) -> None:
        """End the sessions that nobody uses any more; look again as long as there are any."""
        now = ids.monotonic()
        over = len(self.sessions) - MAX_SESSIONS
        for name, session in list(self.sessions.items()):
            if over <= 0 and (session.calls or now - session.used < self.idle_seconds):
                continue
            over -= 1
            del self.sessions[name]
            task = asyncio.get_running_loop().create_task(self._end_session(name, session))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
        if self._sweep is not None:
            self._sweep.cancel()
        self._sweep = None
        if self.sessions:
            self._sweep = asyncio.get_running_loop().call_later(self.idle_seconds, self._end_idle)

    async def _end_session(self, name: bytes, session: HttpSession) -> None:
        """Ask the SDK as a client would, whatever it answers. (A session of SSE ends with its stream.)"""
        headers = [(b"mcp-session-id", name), (b"accept", b"application/json, text/event-stream")]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "DELETE", "scheme": "http",
            "path": session.path, "raw_path": session.path.encode(), "query_string": b"", "root_path": "",
            "headers": headers, "client": None, "server": None,
        }  # fmt: skip

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message: Message) -> None:
            """Nobody waits for it."""

        await self.app(scope, receive, send)

    async def _body(self, headers: dict[bytes, str], receive: Receive) -> Receive:
        """A `receive` that gives the whole body first, and then what comes next on the connection."""
        length = headers.get(b"content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise RequestRefused(400, "bad-request", "Content-Length is no number")
        too_large = RequestRefused(413, "body-too-large", f"a request has at most {self.max_body_bytes} bytes")
        if len(length) > 15 or int(length) > self.max_body_bytes:
            raise too_large

        async def collect() -> Message:
            body = bytearray()
            more = True
            while more:
                message = await receive()
                if message["type"] != "http.request":  # the client went away before the end
                    return {"type": "http.disconnect"}
                body += message.get("body", b"")
                if len(body) > self.max_body_bytes:
                    raise too_large
                more = message.get("more_body", False)
            return {"type": "http.request", "body": mended(bytes(body)).encode(), "more_body": False}

        try:
            collected = [await asyncio.wait_for(collect(), self.body_seconds)]
        except asyncio.TimeoutError:
            raise RequestRefused(408, "body-late", "the body of the request did not come in time") from None

        async def replay() -> Message:
            return collected.pop() if collected else await receive()

        return replay


def _headers(scope: Scope) -> dict[bytes, str]:
    """The headers that a request has once. Raises RequestRefused for two of one, and for two lengths of the body."""
    found: dict[bytes, str] = {}
    given = [(name.lower(), value) for name, value in scope["headers"]]
    for name, value in given:
        if name in found:
            raise RequestRefused(400, "bad-request", f"the header {name.decode()} is given more than once")
        if name in _SINGLE:
            found[name] = value.decode("latin-1")
    if b"content-length" in found and any(name == b"transfer-encoding" for name, _ in given):
        # A proxy before us may have gone by the other one.
        message = "a request has Content-Length or Transfer-Encoding, not both"
        raise RequestRefused(400, "bad-request", message, (b"connection", b"close"))
    return found


async def _answer(send: Send, status: int, body: dict[str, str], headers: Iterable[Header] = ()) -> None:
    data = json.dumps(body).encode() + b"\n"
    own = [
        (b"cache-control", b"no-store"), (b"content-type", b"application/json"),
        (b"content-length", str(len(data)).encode()),
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": data})


# --- connections -----------------------------------------------------------------------------------------------------


class PeerLimits:
    """Who is connected, and how much of that a peer may have; belongs to one event loop."""

    def __init__(
        self, *, head_seconds: float = HEAD_SECONDS, max_open: int = MAX_PER_PEER, max_waiting: int = MAX_WAITING
    ) -> None:
        self.head_seconds, self.max_open, self.max_waiting = head_seconds, max_open, max_waiting
        self.open: Counter[str] = Counter()  # connections of each peer
        self.waiting: dict[str, dict[LimitedConnection, None]] = {}  # those without a request, the oldest first


class LimitedConnection(H11Protocol):
    """A connection of uvicorn's whose requests must begin in time; the number of connections per peer is limited."""

    def __init__(self, limits: PeerLimits, **how: Any) -> None:
        super().__init__(**how)
        self._limits = limits
        self._peer = ""
        self._head_timer: asyncio.TimerHandle | None = None
        self._is_counted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let a peer in, unless it has too many connections."""
        super().connection_made(transport)
        self._peer = peer_of(transport.get_extra_info("peername"))
        self._limits.open[self._peer] += 1
        self._is_counted = True
        self._await_head()  # makes room first
        if self._limits.open[self._peer] > self._limits.max_open:
            self.turn_away(503)

    def data_received(self, data: bytes) -> None:
        """Hand on what came; from its first byte on the head of a request has a time limit."""
        if self.transport.is_closing():
            return
        if self._head_timer is None and not self._is_answering():
            self._await_head()
        super().data_received(data)
        if self._is_answering():
            self._end_wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._leave()
        super().connection_lost(exc)

    def turn_away(self, status: int) -> None:
        """Close the connection, with a word about why; it does not count any more."""
        self._leave()
        if not self.transport.is_closing():
            reason = {408: "Request Timeout", 503: "Service Unavailable"}[status]
            head = f"HTTP/1.1 {status} {reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head.encode())
            self.transport.close()

    def _is_answering(self) -> bool:
        """Whether the head of a request is here, and its answer is not out."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _await_head(self) -> None:
        self._head_timer = asyncio.get_running_loop().call_later(self._limits.head_seconds, self.turn_away, 408)
        waiting = self._limits.waiting.setdefault(self._peer, {})
        waiting[self] = None
        excess = list(waiting)[: -self._limits.max_waiting]
        poll = select.poll()
        for one in excess:
            poll.register(one.transport.get_extra_info("socket"), select.POLLIN)
        unread = {number for number, _ in poll.poll(0)} if excess else set()
        for one in excess:
            crowded = 4 * len(waiting) > 3 * self._limits.max_open
            if crowded or one.transport.get_extra_info("socket").fileno() not in unread:
                one.turn_away(408)

    def _end_wait(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        waiting = self._limits.waiting.get(self._peer, {})
        waiting.pop(self, None)
        if not waiting:
            self._limits.waiting.pop(self._peer, None)

    def _leave(self) -> None:
        self._end_wait()
        if self._is_counted:
            self._is_counted = False
            self._limits.open[self._peer] -= 1
            if not self._limits.open[self._peer]:
                del self._limits.open[self._peer]


def peer_of(address: Any) -> str:
    """Who a connection is from: an address, of IPv6 its network, which belongs to one customer as a rule."""
    host = str(address[0]) if address else ""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if found.version == 4 or found.is_loopback or found.ipv4_mapped is not None:
        return str(found)
    return str(ipaddress.ip_network((int(found), 64), strict=False))


# --- listening -------------------------------------------------------------------------------------------------------


class _GracefulServer(uvicorn.Server):
    """Ends when no call is being answered any more, or after the grace; a second signal ends it at once."""

    shield: Shield
    ending: tuple[int, Any] | None = None  # the first signal, until it is obeyed
    deadline = 0.0

    def handle_exit(self, sig: int, frame: Any) -> None:
        if self.shield.stopping:
            self.ending = None
            super().handle_exit(sig, frame)
        else:
            self.shield.stopping, self.ending = True, (sig, frame)
            self.deadline = ids.monotonic() + GRACE_SECONDS

    async def on_tick(self, counter: int) -> bool:
        if self.ending is not None and (not self.shield.calls or ids.monotonic() > self.deadline):
            super().handle_exit(*self.ending)
        return await super().on_tick(counter)


def serve(
    shield: Shield, *, host: str, port: int, started: Callable[[int], None], limits: PeerLimits | None = None
) -> None:
    """Listen until SIGINT or SIGTERM. Raises OSError when the address cannot be had.

    `started` gets the port, once it is open (the one that was found for port 0).
    """
    # What uvicorn has to say beyond "critical" is about streams that the SDKs end in an untidy way.
    config = uvicorn.Config(
        cast("Any", shield), host=host, port=port, log_config=None, log_level="critical", access_log=False,
        server_header=False, proxy_headers=False, http=cast("Any", partial(LimitedConnection, limits or PeerLimits())),
        limit_concurrency=MAX_CONNECTIONS, timeout_graceful_shutdown=GRACE_SECONDS, ws="none",
    )  # fmt: skip
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # uvicorn raises again the signals that ended it: nothing is to happen then, the end was in good order.
    is_main = threading.current_thread() is threading.main_thread()
    ending = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    before = {number: signal.signal(number, lambda *_: None) for number in ending}
    try:
        # Bound here, so that a taken address is an exception and not an exit.
        with suppress(KeyboardInterrupt), closing(socket.socket(family, socket.SOCK_STREAM)) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((host, port))
            sock.listen(2048)
            started(sock.getsockname()[1])
            server = _GracefulServer(config)
            server.shield = shield
            server.run(sockets=[sock])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
