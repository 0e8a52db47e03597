"""Where the client works: what a server that was started in no project asks it for (`roots/list`).

Desktop clients start servers in the home folder. What is stored there would be filed under nobody's project, so the
client is asked, and the calls of its model wait for the answer.
"""

import json
import os
import threading
from collections.abc import Callable

from memctl.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memctl.mcp.protocol import Request

#: The id of our one request.
ID = "memctl-roots"
#: Seconds that calls wait for the answer; then they go on without it.
PATIENCE = 2.0


class Roots:
    """The folders of one client; `locate` is told the first of them that is there."""

    def __init__(self, locate: Callable[[str], None]) -> None:
        self._locate, self._is_able = locate, False
        self._said = threading.Event()  # the answer came, or nobody waits for it
        self._said.set()

    def hear(self, request: "Request", send: "Callable[[dict[str, Any]], None]") -> None:
        """See whether a message of the client says that it has roots, or now is the time to ask for them."""
        if request.method == "initialize":
            able = request.params.get("capabilities")
            self._is_able = isinstance(able, dict) and isinstance(able.get("roots"), dict)
        elif self._is_able and request.method in ("notifications/initialized", "notifications/roots/list_changed"):
            self._said.clear()
            send({"jsonrpc": "2.0", "id": ID, "method": "roots/list"})

    def take(self, line: bytes) -> None:
        """Read an answer of the client, if it is the one to our request; one that names no folder changes nothing."""
        if not self._is_able or ID.encode() not in line:
            return
        folder = None
        try:
            answer = json.loads(line)
            if answer.get("id") != ID:
                return
            folder = next((path for one in answer["result"]["roots"] if (path := _folder(one["uri"]))), None)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass  # an error, or nothing that is known
        if folder is not None:
            self._locate(folder)
        self._said.set()

    def wait(self) -> None:
        """Wait until the client has said where it works, once and not for long."""
        if not self._said.wait(PATIENCE):
            self._said.set()

    def give_up(self) -> None:
        """Nothing more comes from the client."""
        self._said.set()


def _folder(uri: str) -> str:
    """The folder of a root; "" when it is none on this machine."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = unquote(parts.path)
    path = path.lstrip("/") if os.name == "nt" else path
    return path if "\0" not in path and os.path.isabs(path) and os.path.isdir(path) else ""
