"""Sessions and the turns in them: what is known of each caller, in one table.

A turn is what a model does for one message of its user. The protocol does not say where one begins, so a call that
asks the memory something (recall, search) begins one; `middleware` decides.
"""

from collections import OrderedDict
from threading import RLock

from memctl.annotations import Any

DEFAULT_SESSION_ID = "default"
#: The number of sessions remembered; the one silent for longest is forgotten first.
MAX_SESSIONS = 1024
#: A longer name is cut; names come from clients.
MAX_ID_CHARS = 64


class SessionState:
    """What is counted of one session.

    proposals      those of this turn; last_proposal: when the last of them came, by the clock of the rate limiter
    counts         what a part of the server (its guard, its rate limiter) counts besides, by the part
    """

    __slots__ = ("counts", "last_proposal", "proposals", "session_id", "turn_count", "writes_this_turn")

    def __init__(self, session_id: str = DEFAULT_SESSION_ID) -> None:
        self.session_id = session_id
        self.turn_count = 0
        self.writes_this_turn = 0
        self.proposals, self.last_proposal = 0, 0.0
        self.counts: dict[object, Any] = {}

    def increment_turn(self) -> int:
        """A new turn began, and nothing was written or proposed in it; returns which turn it is, counted from 1."""
        self.turn_count += 1
        self.writes_this_turn = self.proposals = 0
        return self.turn_count

    def record_write(self) -> None:
        """Something was written in this turn."""
        self.writes_this_turn += 1


class SessionTracker:
    """The sessions there are, by id; safe to use from many threads.

    lock  whoever counts something in a session holds it from looking the session up until it is counted
    """

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._max = max_sessions
        self.lock = RLock()
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
        with self.lock:
            state = self._sessions.get(key)
            if state is None:
                state = self._sessions[key] = SessionState(key)
            self._sessions.move_to_end(key)
            while len(self._sessions) > self._max:
                self._sessions.popitem(last=False)
            return state

    def reset(self, session_id: str | None = None) -> None:
        """Forget one session, or all of them."""
        with self.lock:
            if session_id is None:
                self._sessions.clear()
            else:
                self._sessions.pop(self.resolve_session_id(session_id), None)
