"""What stands before the MCP server when it is reached over HTTP: one plain ASGI application around the SDK's.

In this order: health, Host, Origin, bearer token, session, size of the body. It knows nothing of either SDK.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from urllib.parse import parse_qsl

from memctl import errors
from memctl.annotations import Any
from memctl.mcp.grant import FULL, Grant, granted
from memctl.mcp.http_tokens import Tokens

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Header = tuple[bytes, bytes]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/health"
MAX_BODY_BYTES = 4 * 1_048_576
#: A body that is not here after so many seconds is not waited for.
BODY_SECONDS = 30.0
MAX_SESSIONS = 4096
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to
#: Where an SSE stream tells its client which address to post to.
_ENDPOINT = re.compile(rb"session_id=([0-9a-fA-F-]{16,64})")


def check_binding(host: str, tokens: Tokens | None) -> None:
    """Raise TokensNeeded if the server would listen where others can connect, and let everybody in."""
    if tokens is None and not is_loopback(host):
        raise errors.TokensNeeded(host=host or "all addresses")


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    return host.lower() in LOOPBACK or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def protect(
    app: Application,
    *,
    host: str,
    tokens: Tokens | None = None,
    allow_hosts: Iterable[str] = (),
    allow_origins: Iterable[str] = (),
    max_body_bytes: int = MAX_BODY_BYTES,
    body_seconds: float = BODY_SECONDS,
    healthy: Callable[[], bool] | None = None,
) -> "Shield":
    """`app` behind all checks. Raises TokensNeeded when `host` is not loopback and there are no tokens.

    host           the address it listens on; tells which Host headers are right
    allow_hosts    further names that the server goes by, behind a proxy for example
    allow_origins  web pages (`https://host[:port]`) that may call; pages of this machine may when `host` is loopback
    healthy        what `/health` asks, quickly; False is answered as 503
    """
    check_binding(host, tokens)
    return Shield(
        app,
        hosts=_hosts(host, allow_hosts),
        origins=frozenset(origin.lower().rstrip("/") for origin in allow_origins),
        local_pages=is_loopback(host),
        tokens=tokens,
        max_body_bytes=max_body_bytes,
        body_seconds=body_seconds,
        healthy=healthy,
    )


def _hosts(host: str, allowed: Iterable[str]) -> frozenset[str] | None:
    """The names the server goes by; None = any, because it listens everywhere and was told no name."""
    names = frozenset(name.lower() for name in allowed)
    if host in _ANY:
        return names | LOOPBACK if names else None
    return names | {host.lower()} | (LOOPBACK if is_loopback(host) else frozenset())


class Refused(Exception):
    """A request that goes no further: its status, what is wrong, and headers to go with it."""

    def __init__(self, status: int, code: str, message: str, *headers: Header) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers


class Shield:
    """The checks themselves; `protect` says what they are made of."""

    def __init__(
        self,
        app: Application,
        *,
        hosts: frozenset[str] | None,
        origins: frozenset[str],
        local_pages: bool,
        tokens: Tokens | None,
        max_body_bytes: int,
        body_seconds: float,
        healthy: Callable[[], bool] | None,
    ) -> None:
        self.app, self.hosts, self.origins, self.local_pages = app, hosts, origins, local_pages
        self.tokens, self.max_body_bytes, self.body_seconds = tokens, max_body_bytes, body_seconds
        self.healthy = healthy
        self.stopping = False  # set when the server is about to end: calls that come now are turned away
        self.calls = 0  # those that are being answered
        self._owners: OrderedDict[bytes, Grant] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the start and end of the server."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":  # no MCP transport here uses one
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _check_framing(scope)
            if scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
                await self._health(send)
                return
            origin = self._check_host(scope)
            if origin is not None and origin.lower() in self.origins:
                send = _for_page(send, origin)
                if _is_preflight(scope):
                    await _answer(send, 204, None, _PREFLIGHT)
                    return
            if self.stopping:
                raise Refused(503, "stopping", "this server is about to stop", (b"retry-after", b"5"))
            grant = self._grant(scope)
            self._check_session(scope, grant)
            body = await self._body(scope, receive)
        except Refused as no:
            await _answer(send, no.status, {"error": no.code, "message": no.message}, no.headers)
            return
        self.calls += body is not None
        try:
            with granted(grant):
                await self.app(scope, body or receive, self._watched(scope, send, grant))
        finally:
            self.calls -= body is not None

    async def _health(self, send: Send) -> None:
        well = True if self.healthy is None else await asyncio.to_thread(self.healthy)
        await _answer(send, 200 if well else 503, {"status": "ok" if well else "failing"})

    # --- who --------------------------------------------------------------------------------------------------------

    def _check_host(self, scope: Scope) -> str | None:
        """A page of another site that had its name point here (DNS rebinding) says so in Host or Origin.

        Returns the origin of the page that calls, if a page calls.
        """
        host = _header(scope, b"host")
        if host is None or (self.hosts is not None and _name(host) not in self.hosts):
            raise Refused(421, "wrong-host", "this server does not go by the name in the Host header")
        origin = _header(scope, b"origin")
        if origin is not None and not self._is_allowed(origin.lower()):
            raise Refused(403, "wrong-origin", "pages of this origin may not call this server")
        return origin

    def _is_allowed(self, origin: str) -> bool:
        if origin in self.origins:
            return True
        scheme, separator, rest = origin.partition("://")
        return self.local_pages and bool(separator) and scheme in ("http", "https") and _name(rest) in LOOPBACK

    def _grant(self, scope: Scope) -> Grant:
        if self.tokens is None:
            return FULL
        given = _header(scope, b"authorization")
        if given is None:
            raise Refused(401, "token-missing", "this server wants a bearer token", _challenge())
        scheme, _, token = given.partition(" ")
        grant = self.tokens.grant(token.strip().encode("latin-1")) if scheme.lower() == "bearer" else None
        if grant is None:
            raise Refused(401, "token-wrong", "this is no token of this server", _challenge(', error="invalid_token"'))
        return grant

    # --- sessions belong to whoever opened them -----------------------------------------------------------------------

    def _check_session(self, scope: Scope, grant: Grant) -> None:
        """A session runs with the rights of the token that opened it, so no other token may use it."""
        if self.tokens is None:
            return
        named = _header(scope, b"mcp-session-id")
        sessions = [] if named is None else [named.encode("latin-1")]
        # Parsed as the SDK parses it: `session%5Fid` is the same name.
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        sessions += [value.encode("utf-8", "replace") for name, value in query if name == "session_id"]
        for session in sessions:
            if self._owners.get(session) is not grant:
                raise Refused(404, "session-unknown", "there is no such session")
            self._owners.move_to_end(session)

    def _own(self, session: bytes, grant: Grant) -> None:
        self._owners.setdefault(session, grant)
        while len(self._owners) > MAX_SESSIONS:
            self._owners.popitem(last=False)

    def _watched(self, scope: Scope, send: Send, grant: Grant) -> Send:
        """`send`, noting which session the answer opens: in a header, or in the first event of an SSE stream."""
        if self.tokens is None:
            return send
        first = scope["method"] == "GET"

        async def watched(message: Message) -> None:
            nonlocal first
            if message["type"] == "http.response.start":
                for name, value in message.get("headers", ()):
                    if name.lower() == b"mcp-session-id":
                        self._own(bytes(value), grant)
            elif first:
                first = False
                found = _ENDPOINT.search(message.get("body", b"")[:1024])
                if found:
                    self._own(found[1], grant)
            await send(message)

        return watched

    # --- how much -----------------------------------------------------------------------------------------------------

    async def _body(self, scope: Scope, receive: Receive) -> Receive | None:
        """The body, all of it, as `receive` gives it; None for methods that have none."""
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return None
        length = _header(scope, b"content-length")
        if length is not None and not (length.isascii() and length.isdigit()):
            raise Refused(400, "bad-request", "Content-Length is no number")
        if length is not None and (len(length) > 15 or int(length) > self.max_body_bytes):
            raise self._too_large()
        try:
            parts, gone = await asyncio.wait_for(self._collect(receive), self.body_seconds)
        except asyncio.TimeoutError:
            raise Refused(408, "body-late", "the body of the request did not come in time") from None
        return _Replay(b"".join(parts), gone, receive)

    async def _collect(self, receive: Receive) -> tuple[list[bytes], bool]:
        """The parts of the body, and whether the client went away before the end."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return [], True
            part = message.get("body", b"")
            size += len(part)
            if size > self.max_body_bytes:
                raise self._too_large()
            parts.append(part)
            if not message.get("more_body", False):
                return parts, False

    def _too_large(self) -> Refused:
        return Refused(413, "body-too-large", f"a request has at most {self.max_body_bytes} bytes")


class _Replay:
    """A `receive` that gives the body first, and then what comes next on the connection."""

    __slots__ = ("_body", "_gone", "_receive")

    def __init__(self, body: bytes, gone: bool, receive: Receive) -> None:
        self._body: bytes | None = body
        self._gone, self._receive = gone, receive

    async def __call__(self) -> Message:
        if self._gone:
            return {"type": "http.disconnect"}
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        return await self._receive()


def _check_framing(scope: Scope) -> None:
    """Refuse a request that says its length in two ways: a proxy before us may have gone by the other one."""
    names = {name.lower() for name, _ in scope["headers"]}
    if {b"content-length", b"transfer-encoding"} <= names:
        raise Refused(
            400, "bad-request", "a request has Content-Length or Transfer-Encoding, not both", (b"connection", b"close")
        )


def _header(scope: Scope, name: bytes) -> str | None:
    """A header that there may be once. Raises Refused when it is there twice: which one counts is a matter of taste."""
    found = [value for key, value in scope["headers"] if key.lower() == name]
    if len(found) > 1:
        raise Refused(400, "bad-request", f"the header {name.decode()} is given more than once")
    return found[0].decode("latin-1") if found else None


def _name(host: str) -> str:
    """The host of `host[:port]`, lower case; "" when it is none."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/@?#\s]+))(?::\d{1,5})?", host.strip())
    return (found[1] or found[2]).lower().rstrip(".") if found else ""


def _challenge(more: str = "") -> Header:
    return b"www-authenticate", f'Bearer realm="memctl"{more}'.encode()


async def _answer(send: Send, status: int, body: dict[str, str] | None, headers: Iterable[Header] = ()) -> None:
    import json

    data = b"" if body is None else json.dumps(body).encode() + b"\n"
    own = [(b"cache-control", b"no-store")]
    if body is not None:
        own += [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": data})


# --- pages of other origins that may call (CORS) ---------------------------------------------------------------------

#: What a browser may send, when it asks before it does.
_PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method",
    ),
    (b"access-control-max-age", b"600"),
)


def _is_preflight(scope: Scope) -> bool:
    return bool(scope["method"] == "OPTIONS" and _header(scope, b"access-control-request-method"))


def _for_page(send: Send, origin: str) -> Send:
    """`send`, with the headers that let a page of that origin read the answer."""
    more = [
        (b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin"),
        (b"access-control-expose-headers", b"mcp-session-id, www-authenticate"),
    ]  # fmt: skip

    async def readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return readable
