"""Conversations into sessions: what was asked and answered, judged turn by turn, each message once.

A turn is treated as a document is: secrets are blotted out of it, and one that speaks to a model is kept for people and
given to no model again. That it begins with a role is no attack: it is how turns are written down.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.capture import turns
from memctl.capture.transcript import Conversations, Transcript, open_database, open_transcript
from memctl.capture.turns import Turn
from memctl.ingest import statements
from memctl.store import sessions, transcripts
from memctl.store.database import Database
from memctl.store.items import items

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: An id of at least this many characters is that of one message in all the world.
_OWN_ID = 16
#: Characters of a session's name that are kept where something is added to it.
_LONGEST_NAME = 180
#: Files of a session that are noted, the newest.
_MOST_FILES = 50
#: Exchanges of which so many are judged before they are written: the store is locked for a short time each.
_BATCH = 500


class Exchange(NamedTuple):
    """A prompt and all that was answered until the next one; `asked` or `answered` is None where there is none."""

    session: str
    asked: Turn | None
    answered: Turn | None

    @property
    def first(self) -> Turn:
        """The turn with which it begins."""
        found = self.asked or self.answered
        assert found is not None  # noqa: S101 - one of them makes an exchange
        return found

    @property
    def origin(self) -> str:
        """What its first message is known by, within its session at least; an id may hold what is not for the store."""
        return ids.bytes_hash(self.first.id.encode())[:24] if self.first.id else f"@{self.first.offset}"


class Taken:
    """What came of taking conversations in.

    sessions   those that got something new, with the number of their new turns
    turns      new ones; `grown` had an answer that went on; `known` were there before
    redacted   those of which policy blotted something out; `quarantined` are given to no model
    bad        lines that could not be read; `hidden` prompts and answers that were injected, not said
    made       how many candidates of statements were stored, and how many are evidence of what was known
    """

    def __init__(self) -> None:
        self.sessions: dict[str, int] = {}
        self.turns = self.grown = self.known = self.redacted = self.quarantined = self.bad = self.hidden = 0
        self.made = {"candidates": 0, "repeats": 0}


class Capture:
    """Takes transcripts into a store.

    scope_of  the scope of a session that is held in a folder ("" where its transcript names none)
    dry       only counts: nothing is written
    only      whether a session of a database that was held in a folder is wanted; None: every one
    form      of the file that was read last; "" where it held no conversation
    learn     finds candidates in new and grown exchanges that models may see, of a client's session in a scope; what
              it gives back stores and counts them, in the transaction of their turns, so that none is lost when the
              program is killed in between
    """

    def __init__(
        self,
        db: Database,
        policy: "MemoryPolicy",
        scope_of: Callable[[str], str],
        *,
        dry: bool = False,
        learn: Callable[[str, str, str, list[Exchange]], Callable[[], dict[str, int]]] | None = None,
    ) -> None:
        self.db, self.policy, self.scope_of, self.dry, self.learn = db, policy, scope_of, dry, learn
        self.files = transcripts.read_files(db)  # as they were taken in last
        self.only: Callable[[str], bool] | None = None
        self.form = ""
        self.taken = Taken()
        self._contents: dict[str, str] = {}
        self._names: dict[str, str] = {}  # of the sessions of the transcript that is being read

    def file(self, path: str, *, form: str = "", cwd: str = "", since: str = "") -> bool:
        """Take in what is new in a file; False when nothing is. Raises DocumentUnreadable."""
        path = os.path.realpath(path)
        try:
            size, changed = _state(path)
            found = open_database(path)
            # Of a database only the sessions of this project may be read.
            key = f"{path}\n{self.scope_of('')}" if found is not None and self.only else path
            known = self.files.get(key)
            if known is not None and (known.size, known.changed_ns) == (size, changed):
                return False
            # What is shorter than it was is another file.
            start = known.resume if known is not None and known.size <= size else 0
            found = found or open_transcript(path, form=form, cwd=cwd, start=start)
            self.transcript(found, since=since)
        except OSError as exc:
            raise errors.DocumentUnreadable(path=self.policy.redact(path), reason=exc.strerror or str(exc)) from exc
        except errors.NotADatabase as exc:
            raise errors.DocumentUnreadable(
                path=self.policy.redact(path), reason="it is no database with conversations that memctl can read"
            ) from exc
        self.form = found.form
        if found.form and not self.dry and not since and self.policy.redact(path) == path:
            read = transcripts.ReadFile(key, found.form, size, changed, found.resume)
            with self.db.atomic():
                transcripts.note_file(self.db, read)
        return True

    def transcript(self, found: Transcript, *, since: str = "") -> None:
        """Take in a transcript: what was said from `since` on (a time in the shape of `ids.timestamp`)."""
        held: dict[str, list[Exchange]] = {}
        before: dict[str, Exchange] = {}
        self._names.clear()
        mixed = isinstance(found, Conversations)  # a file is of one project, wherever a conversation goes from there
        for one in exchanges(found.turns()):
            if mixed and self.only is not None and not self.only(one.first.cwd):
                continue
            if not since or not one.first.time or one.first.time >= since:
                held.setdefault(one.session, []).append(one)
            if len(held.get(one.session, ())) > _BATCH:
                told, held[one.session] = held[one.session][:_BATCH], [one]
                self._session(one.session, told, found.form, before.get(one.session), one)
                before[one.session] = told[-1]
        for session, told in held.items():
            self._session(session, told, found.form, before.get(session))
        self.taken.bad += found.bad
        self.taken.hidden += found.hidden

    def _session(
        self,
        named: str,
        told: list[Exchange],
        client: str,
        before: Exchange | None = None,
        after: Exchange | None = None,
    ) -> None:
        """Take in a part of a session; a secret may be divided between it and what stands before and after it."""
        session = self._names[named] = self._names.get(named) or self._id_of(named, told)
        wanted = self._wanted(session, told)
        beside = (before, *(one for one, _ in wanted), after)
        said = [(self._words(one.asked), self._words(one.answered)) if one else ("", "") for one in beside]
        new: list[transcripts.NewTurn] = []
        fresh: list[Exchange] = []
        for (one, number), judged in zip(wanted, statements.judge_turns(self.policy, said)[1:-1], strict=True):
            if not self._is_new(session, number, judged):
                self.taken.known += 1
                continue
            new.append(transcripts.NewTurn(
                number, one.origin, judged.question, judged.answer, judged.injectable, one.first.time
            ))  # fmt: skip
            self.taken.redacted += judged.redacted
            self.taken.quarantined += not judged.injectable
            self.taken.turns += not number
            self.taken.grown += bool(number)
            self.taken.sessions[session] = self.taken.sessions.get(session, 0) + (not number)
            if judged.injectable:  # of what no model is given again, no sentence is either
                asked = one.asked and one.asked._replace(text=judged.question)
                fresh.append(Exchange(one.session, asked, one.answered and one.answered._replace(text=judged.answer)))
        if new and not self.dry:
            there = sessions.get_session(self.db, session)
            scope = there.scope if there else self.scope_of(_folder_of(told))
            keep = self.learn(client, session, scope, fresh) if self.learn and fresh else None
            with self.db.atomic():
                self._write(session, new, told, client, scope)
                for name, count in (keep() if keep else {}).items():
                    self.taken.made[name] += count

    def _wanted(self, session: str, told: list[Exchange]) -> list[tuple[Exchange, int]]:
        """Exchanges that may be new, with the numbers of known turns; only the last one's answer may have grown."""
        known = transcripts.known_origins(self.db, session)
        elsewhere = transcripts.known_elsewhere(
            self.db, session, (one.origin for one in told if len(one.first.id) >= _OWN_ID)
        )  # fmt: skip
        last = next((one.origin for one in reversed(told) if one.origin in known), "")
        wanted: dict[str, tuple[Exchange, int]] = {}
        for one in told:
            number = known.get(one.origin, 0)
            if one.origin in elsewhere or one.origin in wanted or (number and one.origin != last):
                self.taken.known += 1
            else:
                wanted[one.origin] = one, number
        return list(wanted.values())

    def _is_new(self, session: str, number: int, judged: statements.JudgedTurn) -> bool:
        """Whether a turn is not in the store as it is; one that somebody deleted stays deleted."""
        if not number:
            return bool(judged.question or judged.answer)
        held = transcripts.answer_of(self.db, session, number)
        return held is not None and held != judged.answer and bool(judged.answer)

    def _words(self, turn: Turn | None) -> str:
        return turns.without_known(turn.text, self._content_of) if turn else ""

    def _content_of(self, handle: str) -> str:
        """Title and content of the item that is shown by this id; "" for none."""
        if handle not in self._contents:
            found = items.get_many(self.db, [items.expand_id(self.db, handle)])
            self._contents[handle] = f"{found[0].title}\n{found[0].content}" if found else ""
        return self._contents[handle]

    def _write(
        self, session: str, new: list[transcripts.NewTurn], told: list[Exchange], client: str, scope: str
    ) -> None:
        said = [turn for one in told for turn in (one.asked, one.answered) if turn is not None]
        folder = _folder_of(told)
        there = sessions.get_session(self.db, session)
        statements.begin_session(self.db, self.policy, session, scope=None if there else scope, client=client)
        details = transcripts.session_details(self.db, session)
        for key, value in (("folder", folder), ("branch", said[-1].branch), ("model", said[-1].model)):
            if value:
                details[key] = self.policy.redact(value)
        files = [self.policy.redact(path) for turn in said for path in turn.files]
        if files:
            old = [path for path in details.get("files", []) if isinstance(path, str) and path not in files]
            details["files"] = [*old, *dict.fromkeys(files)][-_MOST_FILES:]
        transcripts.set_details(self.db, session, details, began="" if there else new[0].asked_at)
        transcripts.write_turns(self.db, session, new)

    def _id_of(self, named: str, told: list[Exchange]) -> str:
        """The id of a session; one that has no name, or one that no session may have, is called by its first words.

        A name by which a conversation of another scope is known is that of another one, unless messages of it are here.
        """
        try:
            wanted = statements.check_session_id(self.policy, named)
        except errors.SessionInvalid:
            return f"talk:{ids.content_hash(told[0].first.text or told[0].origin)[7:19]}"
        there = sessions.get_session(self.db, wanted)
        scope = self.scope_of(_folder_of(told))
        if there is None or not there.turns or there.scope == scope:
            return wanted
        known = transcripts.known_origins(self.db, wanted)
        if any(one.origin in known and len(one.first.id) >= _OWN_ID for one in told):
            return wanted
        return f"{wanted[:_LONGEST_NAME]}~{ids.content_hash(scope)[7:15]}"


def _folder_of(told: Iterable[Exchange]) -> str:
    """The folder that exchanges were held in first; "" where none says."""
    return next((turn.cwd for one in told for turn in (one.asked, one.answered) if turn and turn.cwd), "")


def _state(path: str) -> tuple[int, int]:
    """The size and the time of a file and of the log of a database, which has what is newest. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is no regular file; give it to `memctl capture pipe` on standard input")
    found = [os.stat(name) for name in (path, path + "-wal") if name == path or os.path.exists(name)]
    return sum(info.st_size for info in found), max(info.st_mtime_ns for info in found)


def exchanges(turns: Iterable[Turn]) -> Iterator[Exchange]:
    """Turns as prompts with their answers; of sessions that go on side by side each has its own."""
    opened: dict[str, Turn] = {}
    for turn in turns:
        before = opened.pop(turn.session, None)
        if turn.role == "assistant":
            yield Exchange(turn.session, before, turn)
            continue
        if before is not None:
            yield Exchange(before.session, before, None)
        opened[turn.session] = turn
    for turn in opened.values():
        yield Exchange(turn.session, turn, None)
