"""What one session leaves to the next: taken in at the events of a client, and told where work goes on.

What is told is read from the turns of a session that a store has, so it is there for every client, and after a crash.
"""

import os

from memctl import ids
from memctl.annotations import TYPE_CHECKING
from memctl.capture.record import Capture, Exchange, Taken
from memctl.capture.turns import Turn
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE
from memctl.text.block.markers import COMPACT, FOOTER, HEADER
from memctl.text.clean import one_line
from memctl.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.clients.known import Client, Event
    from memctl.store.sessions import Session, SessionTurn

#: Tokens of what is told at the start of a session; days for which a session is worth telling of.
TOKENS, DAYS = 180, 14
_SECONDS_OF_DAY = 86_400
#: Turns that are looked at, the newest; sessions among which the last one is looked for.
_TURNS, _SESSIONS = 60, 200
#: Characters of a line that is told; files that are named; decisions and open tasks.
_LINE, _FILES, _POINTS = 240, 8, 6
#: Open tasks of earlier sessions.
_OPEN = 3


class SessionScopes:
    """The scope of a session by the folder that it was held in; `given` is that of all."""

    def __init__(self, ctx: Context, given: str | None = None) -> None:
        self.ctx, self.given = ctx, given
        self._known: dict[str, str] = {}

    def of(self, folder: str) -> str:
        """The scope of a folder; of none that of this project."""
        from memctl.context.project import project_of

        if self.given:
            return self.ctx.scope_named(self.given)
        if folder not in self._known:
            here = not folder or self.is_here(folder)
            self._known[folder] = self.ctx.scope_named(DEFAULT_SCOPE) if here else project_of(folder).scope
        return self._known[folder]

    def is_here(self, folder: str) -> bool:
        """Whether a folder is of the current project: below its root, or another copy of its repository."""
        from memctl.context.project import FOLDER, project_of
        from memctl.paths import real_path

        if not folder:
            return False
        mine = self.ctx.project
        place = real_path(folder)
        if place == mine.folder or place.startswith(os.path.join(mine.folder, "")):
            return True
        return mine.kind != FOLDER and os.path.isdir(place) and project_of(place).scope == mine.scope

    def elsewhere(self) -> bool:
        """Whether a session went to another scope than that of this project."""
        return bool({*self._known.values(), self.of("")} - {self.ctx.scope_named(DEFAULT_SCOPE)})


def offer_past(ctx: Context, command: str) -> None:
    """Say what was said before memory was there, and is still on the disk."""
    from memctl.capture.transcript import transcripts_on_disk

    scopes = SessionScopes(ctx)
    found = transcripts_on_disk(ctx.environ, ctx.project.folder)
    mine = [bool(one.folder) and scopes.is_here(one.folder) for one in found]
    if past := sum(mine):
        ctx.note(f"[{command}] {past} past session(s) of this project are still on disk: memctl capture takes them in.")
    if others := len(mine) - past:
        told = f"{others} transcript(s) of other folders are on disk"
        ctx.note(f"[{command}] {told}: memctl capture --all-projects takes all in.")


def take_in(ctx: Context, client: "Client", event: "Event") -> Taken | None:
    """Take in what was said since the last event; None where nothing is to be kept: no store, or not wanted."""
    from memctl.capture.transcript import of_bytes
    from memctl.reading.hook_context import SessionMemory
    from memctl.reading.learning import learn
    from memctl.store import sessions

    if not os.path.exists(ctx.db_path) or not ctx.config.capture.hooks or not ctx.db.trusted:
        return None

    def note(_form: str, session: str, scope: str, said: list[Exchange]) -> "Callable[[], dict[str, int]]":
        return learn(ctx.db, ctx.policy, client.name, session, scope, said)

    taker = Capture(ctx.db, ctx.policy, SessionScopes(ctx).of, learn=note)
    if event.messages:
        taker.transcript(of_bytes(event.messages, session=event.session, cwd=event.folder))
    elif event.transcript and os.path.isfile(event.transcript):
        taker.file(event.transcript, form=client.name, cwd=event.folder)
    if event.name == "stop":  # at the other events its words are about to be lost to it
        SessionMemory(client.name, event.session).hear(sessions.items_in(ctx.db, event.session))
    return taker.taken


# --- what is told -----------------------------------------------------------------------------------------------------


def session_named(ctx: Context, session_id: str) -> "Session | None":
    """The session of an id, or of the beginning of one; None where none is of this project."""
    from memctl.store import sessions

    found = sessions.get_session(ctx.db, sessions.expand_session_id(ctx.db, session_id)) if session_id else None
    return found if found and found.scope in (ctx.read_set(DEFAULT_SCOPE) or ()) else None


def last_session(ctx: Context, but: str = "") -> "Session | None":
    """The session of this project in which something was said last, within `DAYS`; never the one called `but`."""
    from memctl.store import sessions

    scopes = ctx.read_set(DEFAULT_SCOPE) or ()
    oldest = ids.timestamp(ids.now_seconds() - DAYS * _SECONDS_OF_DAY)
    for one in sessions.list_sessions(ctx.db, _SESSIONS):
        if one.turns and one.id != but and one.scope in scopes and one.updated_at >= oldest:
            return one
    return None


def told_of(ctx: Context, session: "Session", tokens: int = TOKENS, known: str = "") -> str:
    """What a session leaves, as a block within so many tokens: what is open, what was decided, where it stopped.

    known  what is told anyway: what stands in it is not said again
    """
    from memctl.ingest import statements
    from memctl.store import sessions, transcripts

    turns = [turn for turn in sessions.list_turns(ctx.db, session.id, _TURNS) if turn.injectable]
    points = _points(turns)
    details = transcripts.session_details(ctx.db, session.id)
    branch = f", branch {details['branch']}" if details.get("branch") else ""
    told = [
        line
        for line in (*points, *_last_words(turns), *_open_before(ctx, points), *_files(details.get("files")))
        if line.partition(": ")[2] not in known and statements.judge_turn(ctx.policy, line, "").injectable
    ]
    client = f"{session.client}, " if session.client else ""
    head = one_line(f"[handover] last session: {client}{session.updated_at[:16].replace('T', ' ')}{branch}", _LINE)
    while told:
        block = "\n".join([HEADER, COMPACT, head, *(f" {line}" for line in told), f"{FOOTER}1) ---"])
        if estimate_tokens(block) <= tokens:
            return f"{block}\n"
        told.pop()
    return ""


def _points(turns: "list[SessionTurn]") -> list[str]:
    """Open tasks and decisions, in the words that were used, the newest first."""
    from memctl.capture.distil import distil

    said = [
        Exchange("", Turn("user", turn.question), Turn("assistant", turn.answer) if turn.answer else None)
        for turn in turns
    ]
    found = distil(said)
    named = {"task": "Open", "decision": "Decided", "preference": "Decided"}
    lines = [f"{named[one.kind]}: {one_line(one.text, _LINE)}" for one in reversed(found) if one.kind in named]
    return sorted(lines[:_POINTS], key=lambda line: not line.startswith("Open"))


def _open_before(ctx: Context, points: list[str]) -> list[str]:
    """Tasks of earlier sessions that nobody has put away, the newest first."""
    from memctl.store.filters import Filters
    from memctl.store.items import items

    filters = Filters(ctx.read_set(DEFAULT_SCOPE), injectable=True, origin="statements", type="todo")
    said = "\n".join(points)
    found = [one_line(item.content, _LINE) for item in items.list_items(ctx.db, filters, _OPEN + len(points))]
    return [f"Still open: {text}" for text in found if text not in said][:_OPEN]


def _last_words(turns: "list[SessionTurn]") -> list[str]:
    """The last prompt that is more than a nod, and how its answer ends."""
    from memctl.text.utterance import is_chatter

    asked = next((turn for turn in reversed(turns) if turn.question and not is_chatter(turn.question)), None)
    if asked is None:
        return []
    lines = [f"Asked last: {one_line(asked.question, _LINE)}"]
    end = turns[-1].answer.strip().rpartition("\n\n")[2]
    return [*lines, f"Answered: {one_line(end, _LINE)}"] if end else lines


def _files(paths: object) -> list[str]:
    """The files that were worked on, those of the end."""
    named = [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
    return [f"Files: {one_line(', '.join(named[-_FILES:]), 2 * _LINE)}"] if named else []
