"""Connections on which no request has come yet: how long its head may take, and how many of them a peer may have.

uvicorn waits for the head of a request as long as its peer likes, and turns everybody away when it has too many
connections: whoever opens some hundreds and sends half a line keeps the others out. `Door` stands before its protocol.
"""

import asyncio
import ipaddress
from collections import Counter, OrderedDict

from memctl.annotations import Any

#: The head of a request is not waited for any longer.
HEAD_SECONDS = 10.0
#: So many connections a peer may have, and so many on which no request has come; of these the oldest makes room.
MAX_PER_PEER = 128
MAX_WAITING = 32


class Peers:
    """Who is connected; belongs to one event loop."""

    def __init__(
        self, *, head_seconds: float = HEAD_SECONDS, max_open: int = MAX_PER_PEER, max_waiting: int = MAX_WAITING
    ) -> None:
        self.head_seconds, self.max_open, self.max_waiting = head_seconds, max_open, max_waiting
        self._open: Counter[str] = Counter()
        self._waiting: dict[str, OrderedDict[Door, None]] = {}

    def enter(self, peer: str) -> bool:
        """Count a connection; False when the peer has too many."""
        self._open[peer] += 1
        return self._open[peer] <= self.max_open

    def leave(self, peer: str) -> None:
        """Forget a connection."""
        self._open[peer] -= 1
        if not self._open[peer]:
            del self._open[peer]

    def wait(self, door: "Door") -> None:
        """Note that no request has come on a connection; the peer's oldest one of too many is closed."""
        waiting = self._waiting.setdefault(door.peer, OrderedDict())
        waiting[door] = None
        if len(waiting) > self.max_waiting:
            oldest, _ = waiting.popitem(last=False)
            oldest.turn_away(408)

    def go_on(self, door: "Door") -> None:
        """Note that a request has come, or that the connection is gone."""
        waiting = self._waiting.get(door.peer, OrderedDict())
        waiting.pop(door, None)
        if not waiting:
            self._waiting.pop(door.peer, None)


class Door(asyncio.Protocol):
    """One connection: `inner` is uvicorn's protocol for it, which sees everything that comes in time."""

    def __init__(self, peers: Peers, inner: Any) -> None:
        self.peers, self.inner = peers, inner
        self.peer = ""
        self._transport: Any = None
        self._timer: asyncio.TimerHandle | None = None
        self._inside = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let a peer in, unless it has too many connections."""
        self._transport = transport
        self.peer = peer_of(transport.get_extra_info("peername"))
        self.inner.connection_made(transport)
        self._inside = True
        if self.peers.enter(self.peer):
            self._wait()
        else:
            self.turn_away(503)

    def data_received(self, data: bytes) -> None:
        """Hand on what came; from its first byte on the head of a request has a time limit."""
        if self._transport.is_closing():
            return
        if self._timer is None and not self._is_answering():
            self._wait()
        self.inner.data_received(data)
        if self._is_answering():
            self._go_on()

    def eof_received(self) -> bool | None:
        """Hand it on."""
        found: bool | None = self.inner.eof_received()
        return found

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._leave()
        self.inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Hand it on."""
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        """Hand it on."""
        self.inner.resume_writing()

    def turn_away(self, status: int) -> None:
        """Close the connection, with a word about why; it does not count any more."""
        self._leave()
        if not self._transport.is_closing():
            reason = {408: "Request Timeout", 503: "Service Unavailable"}[status]
            self._transport.write(
                f"HTTP/1.1 {status} {reason}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode()
            )
            self._transport.close()

    def _is_answering(self) -> bool:
        """Whether the head of a request is here, and its answer is not out."""
        cycle = self.inner.cycle
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self.peers.head_seconds, self.turn_away, 408)
        self.peers.wait(self)

    def _leave(self) -> None:
        self._go_on()
        if self._inside:
            self._inside = False
            self.peers.leave(self.peer)

    def _go_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.peers.go_on(self)


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
