"""Run the server behind its shield until a signal says to stop; calls that are being answered have a few seconds."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

from memctl import ids
from memctl.annotations import Any
from memctl.mcp.http import Shield
from memctl.mcp.http_connections import Door, Peers

#: Calls that are being answered, and streams that stay open, have so many seconds each when the server stops.
GRACE_SECONDS = 3
#: More callers than this at once are told to come back (503).
MAX_CONNECTIONS = 512


def serve(
    shield: Shield, *, host: str, port: int, started: Callable[[int], None] | None = None, peers: Peers | None = None
) -> None:
    """Listen until SIGINT or SIGTERM. Raises OSError when the address cannot be had.

    `started` gets the port, once it is open (the one that was found for port 0). `peers` has the limits of connections.
    """
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    known = Peers() if peers is None else peers

    def connection(**how: Any) -> Any:  # a class, as uvicorn says it, or what makes an object as well
        return Door(known, H11Protocol(**how))

    class Server(uvicorn.Server):
        """Ends when no call is being answered any more, or after the grace; a second signal ends it at once."""

        def __init__(self, config: uvicorn.Config) -> None:
            super().__init__(config)
            self.signals: list[tuple[int, Any]] = []
            self.deadline = 0.0

        def handle_exit(self, sig: int, frame: Any) -> None:
            self.signals.append((sig, frame))
            shield.stopping = True
            if len(self.signals) > 1:
                super().handle_exit(sig, frame)
            else:
                self.deadline = ids.monotonic() + GRACE_SECONDS

        async def on_tick(self, counter: int) -> bool:
            if len(self.signals) == 1 and (not shield.calls or ids.monotonic() > self.deadline):
                super().handle_exit(*self.signals[0])
            return await super().on_tick(counter)

    # What uvicorn has to say beyond "critical" is about streams that the SDKs end in an untidy way.
    config = uvicorn.Config(
        shield, host=host, port=port, log_config=None, log_level="critical", access_log=False,
        server_header=False, proxy_headers=False, http=cast("Any", connection),
        limit_concurrency=MAX_CONNECTIONS, timeout_graceful_shutdown=GRACE_SECONDS, ws="none",
    )  # fmt: skip
    with _quiet_signals(), suppress(KeyboardInterrupt), _listening(host, port) as sock:
        if started is not None:
            started(sock.getsockname()[1])
        Server(config).run(sockets=[sock])


@contextmanager
def _listening(host: str, port: int) -> Iterator[Any]:
    """The open socket: bound here, so that a taken address is an exception and not an exit."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(2048)
        yield sock
    finally:
        sock.close()


@contextmanager
def _quiet_signals() -> Iterator[None]:
    """uvicorn raises again the signals that ended it: nothing is to happen then, the end was in good order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
