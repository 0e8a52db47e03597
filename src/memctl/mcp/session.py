"""Who is calling: sessions, and the turns in them.

A turn is what a model does for one message of its user. The protocol does not say where one begins, so a call that
asks the memory something (recall, search) begins one; `defence` decides.
"""

from collections import OrderedDict
from threading import Lock

DEFAULT_SESSION_ID = "default"
#: The number of sessions remembered; the one silent for longest is forgotten first.
MAX_SESSIONS = 1024
#: A longer name is cut; names come from clients.
MAX_ID_CHARS = 64


class SessionState:
    """The counters of one session."""

    __slots__ = ("session_id", "turn_count", "writes_this_turn")

    def __init__(self, session_id: str = DEFAULT_SESSION_ID) -> None:
        self.session_id = session_id
        self.turn_count = 0
        self.writes_this_turn = 0

    def increment_turn(self) -> None:
        """A new turn began: nothing was written in it yet."""
        self.turn_count += 1
        self.writes_this_turn = 0

    def record_write(self) -> None:
        """Something was written in this turn."""
        self.writes_this_turn += 1


class SessionTracker:
    """The sessions there are, by id; safe to use from many threads."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._max = max_sessions
        self._lock = Lock()
        self._sessions: OrderedDict[str, SessionState] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def resolve_session_id(self, session_id: str | None = None) -> str:
        """The id to file a call under: what was given in one short line, or "default"."""
        if not session_id or not isinstance(session_id, str):
            return DEFAULT_SESSION_ID
        shown = "".join(c if c.isprintable() else "?" for c in session_id[:MAX_ID_CHARS])
        return shown.strip() or DEFAULT_SESSION_ID

    def get_or_create(self, session_id: str | None = None) -> SessionState:
        """The session of that id, made if it is new."""
        key = self.resolve_session_id(session_id)
        with self._lock:
            state = self._sessions.get(key)
            if state is None:
                state = self._sessions[key] = SessionState(key)
            self._sessions.move_to_end(key)
            while len(self._sessions) > self._max:
                self._sessions.popitem(last=False)
            return state

    def reset(self, session_id: str | None = None) -> None:
        """Forget one session, or all of them."""
        with self._lock:
            if session_id is None:
                self._sessions.clear()
            else:
                self._sessions.pop(self.resolve_session_id(session_id), None)
