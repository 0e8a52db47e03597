"""A transcript of any form, as turns in their order: which form it is, where to go on reading, what was passed over.

A line that cannot be read costs that line; a last line that is not finished yet is left for the next time.
"""

import io
import json
import os
from collections.abc import Iterator

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING
from memctl.capture import documents, lines
from memctl.capture.turns import Talk, Turn
from memctl.store import transcripts

if TYPE_CHECKING:
    from typing import IO

#: Bytes of a line, and of a document that is read whole.
MOST_OF_LINE, MOST_OF_DOCUMENT = 32 << 20, 256 << 20
#: Lines that are looked at to see whose they are.
_SNIFFED = 50
_SNIFFED_BYTES = 1 << 20
#: Conversations that are kept apart in one file; lines of more than these are read as one. Characters of a name.
_MOST_TALKS, _LONGEST_NAME = 500, 200
#: The names by which a form is asked for, and other words for them.
FORMS = ("claude", "codex", "gemini", "copilot", "qwen", "opencode", "cline", "aider", "llm", "generic", "text")
ALIASES = {
    "claude-code": "claude", "gemini-cli": "gemini", "copilot-cli": "copilot", "qwen-code": "qwen", "json": "generic",
    "jsonl": "generic", "chat": "text", "markdown": "text",
}  # fmt: skip


class Transcript:
    """What a file or a pipe holds, read once.

    form     the name of its form; "" when it holds no conversation that we can read
    bad      lines that are no JSON object, or too long
    hidden   prompts and answers that hold nothing but what was injected
    resume   where to go on the next time: where the last prompt begins, of which the answer may grow
    """

    def __init__(self, data: "IO[bytes]", *, form: str = "", session: str = "", cwd: str = "", start: int = 0) -> None:
        self._data, self._start = data, start
        self._session, self._cwd = session, cwd
        self._talks: dict[str, Talk] = {}
        self.form = ALIASES.get(form, form)
        self.bad = 0

    @property
    def hidden(self) -> int:
        """Prompts and answers of which nothing is left without what was injected."""
        return sum(talk.hidden for talk in self._talks.values())

    @property
    def resume(self) -> int:
        """The byte of a file of lines at which the next reading may begin."""
        return min((talk.prompted for talk in self._talks.values() if talk.prompted >= 0), default=self._start)

    def turns(self) -> Iterator[Turn]:
        """The turns as they end; those of one conversation are in their order. No content makes it raise."""
        with self._data:
            yield from self._read()

    def _read(self) -> Iterator[Turn]:
        head = self._data.read(_SNIFFED_BYTES)
        self._data.seek(0)
        found = _line_form(head)
        whole = _begins_document(head) and found in ("", "generic")
        if self.form in lines.FORMS and not whole:
            yield from self._of_lines(self.form)
        elif found and not whole and self.form not in ("text", "aider"):
            yield from self._of_lines(found)
        else:
            yield from self._of_document(is_json=whole)

    def _of_lines(self, form: str) -> Iterator[Turn]:
        self.form = form
        read, offset, header = lines.FORMS[form], 0, self._start > 0
        while line := self._data.readline(MOST_OF_LINE):
            size = len(line)
            while not line.endswith(b"\n") and (more := self._data.readline(MOST_OF_LINE)):  # too long to be a message
                size, line = size + len(more), b"-" + more[-1:]
            record = _object(line)
            if record is not None:
                read(record, offset, self._talk)
            else:  # a last line without its end is still being written
                self.bad += line.endswith(b"\n") and not line.isspace()
            offset += size
            if header:  # it says whose conversation it is; its turns are known
                for talk in self._talks.values():
                    talk.drop()
                header, offset = False, self._start
                self._data.seek(offset)
            for talk in list(self._talks.values()):
                yield from talk.turns()
        yield from self._rest()

    def _of_document(self, *, is_json: bool) -> Iterator[Turn]:
        text = self._data.read(MOST_OF_DOCUMENT).decode("utf-8-sig", "replace")
        if is_json:
            value, whole = documents.loaded(text)
            self.bad += not whole
            self.form = documents.document(value, self._talk)
        elif self.form == "aider" or "# aider chat started at " in text[:_SNIFFED_BYTES]:
            self.form = documents.aider(text, self._talk)
        else:
            self.form = documents.spoken(text, self._talk)
        yield from self._rest()

    def _rest(self) -> Iterator[Turn]:
        for talk in self._talks.values():
            yield from talk.turns(whole=True)

    def _talk(self, session: object) -> Talk:
        """The conversation of this name; what has none is of the one that was begun last."""
        named = session if isinstance(session, str) and len(session) <= _LONGEST_NAME else ""
        if not named and self._talks:
            return next(reversed(self._talks.values()))
        if named not in self._talks and len(self._talks) < _MOST_TALKS:
            full = f"{named} {self._session}".strip() if named.startswith("aider ") else named
            self._talks[named] = Talk(full or self._session, self._cwd)
        return self._talks.get(named) or next(reversed(self._talks.values()))


class Conversations(Transcript):
    """The conversations of a database."""

    def __init__(self, path: str) -> None:
        super().__init__(io.BytesIO())
        self._path = path

    def turns(self) -> Iterator[Turn]:
        """The turns, session by session. Raises NotADatabase, and OSError for one that cannot be read now."""
        try:
            for value in transcripts.foreign_conversations(self._path):
                self.form = "opencode" if "parentID" in value["info"] else "llm"
                self._talks = {}
                documents.document(value, self._talk)
                yield from self._rest()
        except errors.NotADatabase:
            raise
        except errors.MemctlError as exc:  # of the client's database, not of the store
            if not (self.form and isinstance(exc, errors.StoreCorrupt)):
                raise OSError(0, str(exc)) from exc
            self.bad += 1  # what stands before the damage is read


def open_database(path: str) -> Transcript | None:
    """The conversations of an SQLite database; None for another file. Raises OSError."""
    with open(path, "rb") as data:
        return Conversations(path) if data.read(16) == b"SQLite format 3\0" else None


def open_transcript(path: str, *, form: str = "", cwd: str = "", start: int = 0) -> Transcript:
    """A transcript at a path, which names the session where nothing in it does. Raises OSError."""
    data = open(path, "rb")  # noqa: SIM115 - it is read to its end, by whom it is handed to
    name = os.path.splitext(os.path.basename(path))[0].strip(".")[:80]
    mark = ids.bytes_hash(os.fsencode(os.path.realpath(path)))[:8]
    return Transcript(data, form=form, session=f"{name}~{mark}", cwd=cwd, start=start)


def of_bytes(data: bytes, *, form: str = "", session: str = "", cwd: str = "") -> Transcript:
    """A transcript that is here already, as from a pipe."""
    return Transcript(io.BytesIO(data), form=form, session=session, cwd=cwd)


def _object(line: bytes) -> lines.Record | None:
    """The JSON object of a line; None where it is none."""
    try:
        value = json.loads(line.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _line_form(head: bytes) -> str:
    """Whose lines of JSON a file begins with; "" for none that are known."""
    found = [record for line in head.split(b"\n", _SNIFFED)[:_SNIFFED] if (record := _object(line)) is not None]
    forms = [form for form in map(lines.form_of, found) if form]
    return next((form for form in forms if form != "generic"), "generic" if forms else "")


def _begins_document(head: bytes) -> bool:
    """Whether a text begins as JSON of which the first line is not the whole."""
    text = head.removeprefix(b"\xef\xbb\xbf").strip()
    return text[:1] == b"[" or (text[:1] == b"{" and (b"\n" not in text or _object(text.split(b"\n", 1)[0]) is None))
